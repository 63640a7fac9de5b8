r"""The algebra of positive definite kernels: kernels that compose as the propositions of Chapter 17 do.

A kernel is an object ``k``. Calling it evaluates :math:`\kappa`:

* ``k(x, y)`` with two points is the number :math:`\kappa(x, y)`;
* ``k(X)`` and ``k(X, Y)`` with many points is the matrix with entries ``k(X, Y)[i, j]``
  :math:`= \kappa(x_i, y_j)`.

A two-dimensional array is a list of points, one per row. A one-dimensional array is *one* point of
:math:`\mathbb{R}^n`, and its axis is dropped from the result, as in a matrix product. Any other list (of
sets, of strings) is a list of points. (The text's Gram matrix has the transposed index order,
:math:`K_S = (\kappa(x_j, x_i))`; :func:`companion.kernels.gram` returns that one. For real kernels both
agree.)

Matrices are computed in square blocks that stay in the processor's cache. A Hermitian kernel computes the
blocks on and above the diagonal only, and mirrors them. So a whole expression such as ``(Gaussian(2.0) +
Linear()) ** 3`` needs no other array of the size of its result.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, cast, dataclass_transform

import numpy as np
from scipy.special import comb

from companion.checks import as_scalar, as_vector, check_count
from companion.engine.arithmetic import EPS, largest
from companion.kernels.arithmetic import (
    base,
    check_callable,
    conj,
    images,
    name_of,
    nonnegative,
    number,
    power,
    term,
    within,
)
from companion.kernels.features import polynomial_features
from companion.kernels.points import (
    Points,
    as_points,
    as_vectors,
    check_match,
    count,
    is_number,
    take,
)

__all__ = [
    "Composed",
    "Constant",
    "Exp",
    "GaussianOf",
    "Kernel",
    "Normalized",
    "PolynomialOf",
    "Product",
    "Scaled",
    "Sum",
]

# Rows and columns of a block: 1 MB; not powers of two, whose strides collide in the cache.
_BLOCK_ROWS, _BLOCK_COLUMNS = 120, 1080
_LOST = 1e-3  # rounding of a distance, in units of sigma^2, that leaves no digits of a Gaussian


def _freeze(value: Any) -> Any:
    """Make a field comparable and hashable."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    return tuple(value.items()) if isinstance(value, dict) else value


# --- the base class -------------------------------------------------------------------------------


@dataclass_transform(frozen_default=True, eq_default=False)
class Kernel(ABC):
    r"""A function :math:`\kappa: X \times X \to \mathbb{C}` that is evaluated on pairs, rows and matrices.

    Kernels are immutable values: they compare by structure, hash, pickle and copy, and print as their
    formula. They are valid ``kernel=`` arguments of every estimator here and of scikit-learn's.

    ==========================  ==============================================  =======================
    expression                  kernel                                          source
    ==========================  ==============================================  =======================
    ``k1 + k2``, ``k + c``      sum (a number is a constant kernel)             Proposition 17.6 (1)
    ``a * k``                   multiple, a >= 0                                Proposition 17.6 (2)
    ``k1 * k2``                 product                                         Proposition 17.5
    ``k ** m``                  power                                           Example 17.4
    ``k.polynomial(c)``         c[0] + c[1] k + c[2] k^2 + ..., all c >= 0      Proposition 17.7 (1)
    ``k.exp()``                 exp(k)                                          Proposition 17.7 (2)
    ``k.gaussian(sigma)``       Gaussian of the distance in feature space       remark after Def. 17.4
    ``k.compose(psi)``          k(psi(x), psi(y))                               Proposition 17.6 (4)
    ``k.normalized()``          k(x, y) / sqrt(k(x, x) k(y, y))                 Propositions 17.5, 17.6 (3)
    ==========================  ==============================================  =======================

    Examples
    --------
    >>> from companion.kernels import Linear
    >>> k = (Linear() + 1) ** 2
    >>> k
    (<x, y> + 1)^2
    >>> k([1, 2], [3, 4])
    144.0
    >>> k([[1, 2], [0, 1]])
    array([[36.,  9.],
           [ 9.,  4.]])
    """

    # NumPy scalars and arrays leave `a * k` to Kernel.__rmul__.
    __array_ufunc__ = None

    is_linear = False  # whether this is the inner product of the input space itself
    is_precomputed = False  # whether the "points" are rows of a Gram matrix
    _hermitian = True  # whether k(y, x) = conj(k(x, y)) by construction: half of the blocks suffice

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, eq=False, repr=False)(cls)  # an immutable value

    # -- what a kernel has to say about itself

    def _points(self, X: Any) -> Points:
        """Turn a sequence of points into what `_block` reads, once per call."""
        return as_vectors(X)

    @abstractmethod
    def _block(self, P: Points, Q: Points) -> np.ndarray:
        """Return a new array with the entries k(p_i, q_j); the caller may overwrite it."""

    def _diagonal(self, P: Points) -> np.ndarray:
        """Return a new array with the entries k(p_i, p_i)."""
        single = (take(P, slice(i, i + 1)) for i in range(count(P)))
        return np.array([self._block(p, p)[0, 0] for p in single])

    @abstractmethod
    def _formula(self, x: str, y: str) -> str:
        """Return the formula of k(x, y)."""

    def _features(self, P: Points, limit: float) -> np.ndarray | None:
        """Return the features of the points, if at most `limit` many are known."""
        return None

    @property
    def positive_definite(self) -> bool | None:
        """True if a proposition says so, False if it is known not to be, None if neither.

        Examples
        --------
        >>> from companion.kernels import Gaussian, Sigmoid
        >>> Gaussian(1.0).exp().positive_definite, Sigmoid().positive_definite
        (True, False)
        """
        return True

    # -- evaluation

    def __call__(self, X: Any, Y: Any = None) -> Any:
        r"""Evaluate the kernel: ``k(X, Y)[i, j]`` :math:`= \kappa(x_i, y_j)`.

        Parameters
        ----------
        X : array-like of shape (n, d), or (d,) for one point, or a list of n other points
            Points.
        Y : the same with m points, optional
            More points; default `X`.

        Returns
        -------
        ndarray of shape (n, m), (n,), (m,) or a number
            The axis of a single point is dropped.

        Raises
        ------
        ValueError
            If the points are not finite, live in different spaces, or make the kernel overflow.
        """
        X, x_single = as_points(X)
        P = self._points(X)
        if Y is None:
            K, y_single = self._matrix(P, None), x_single
        else:
            Y, y_single = as_points(Y)
            Q = self._points(Y)
            check_match(P, Q)
            K = self._matrix(P, Q)
        if x_single and y_single:
            return K[0, 0].item()
        return K[0] if x_single else K[:, 0] if y_single else K

    def _matrix(self, P: Points, Q: Points | None) -> np.ndarray:
        """Return (k(p_i, q_j)) block by block, or (k(p_i, p_j)) when Q is None."""
        mirror = Q is None and self._hermitian
        Q = P if Q is None else Q
        K = np.empty((count(P), count(Q)))
        for rows in _slices(0, len(K), _BLOCK_ROWS):
            P_block = take(P, rows)
            for columns in _slices(rows.start if mirror else 0, K.shape[1], _BLOCK_COLUMNS):
                block = self._finite_block(P_block, take(Q, columns))
                if np.iscomplexobj(block) and not np.iscomplexobj(K):
                    K = K.astype(np.complex128)
                K[rows, columns] = block
                if mirror:  # what this writes into the rows to come is written again
                    K[columns, rows] = conj(block).T
            if mirror:
                _make_hermitian(K[rows, rows], self._diagonal(P_block))
        return K

    def _finite_block(self, P: Points, Q: Points) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            return self._finite(self._block(P, Q))

    def _finite(self, values: np.ndarray) -> np.ndarray:
        if not np.isfinite(values).all():
            raise ValueError(
                f"the values of {self!r} overflow at these points; scale the data down"
            )
        return values

    def diagonal(self, X: Any) -> Any:
        r"""Return the numbers :math:`\kappa(x_i, x_i) = \|\varphi(x_i)\|^2` without the rest of the matrix.

        Parameters
        ----------
        X : array-like of shape (n, d), or (d,) for one point, or a list of n other points
            Points.

        Returns
        -------
        ndarray of shape (n,), or a number for one point
            Real for a Hermitian kernel.

        Examples
        --------
        >>> from companion.kernels import Polynomial
        >>> Polynomial(2, R=1.0).diagonal([[1, 2], [0, 1]])
        array([36.,  4.])
        """
        X, single = as_points(X)
        with np.errstate(over="ignore", invalid="ignore"):
            diagonal = self._finite(self._diagonal(self._points(X)))
        return diagonal[0].item() if single else diagonal

    def features(self, X: Any, limit: float = math.inf) -> np.ndarray | None:
        r"""Return explicit features: the matrix :math:`\Phi` with rows :math:`\varphi(x_i)`, where one is known.

        ``k(X, Y)`` equals :math:`\Phi_X \Phi_Y^*`. A solver that gets a :math:`\Phi` with fewer columns
        than rows works with this factor and never forms the Gram matrix.

        Parameters
        ----------
        X : array-like of shape (n, d), or a list of n other points
            Points.
        limit : float
            The largest number N of features that is of use. Nothing larger is formed.

        Returns
        -------
        ndarray of shape (n, N), or None
            None when no finite feature map is known, or N would exceed `limit`.

        Notes
        -----
        Sums concatenate features (Example 17.1), products multiply them in pairs (Example 17.3, Problem
        17.1), powers take the monomials (Example 17.4, Problem 17.2).

        Examples
        --------
        >>> from companion.kernels import Linear, Gaussian
        >>> ((Linear() + 1) ** 2).features([[1.0, 2.0]]).round(4)
        array([[1.    , 2.8284, 1.4142, 4.    , 2.8284, 1.    ]])
        >>> Gaussian(1.0).features([[1.0, 2.0]]) is None
        True
        """
        X, _ = as_points(X)
        return self._features(self._points(X), limit)

    # -- the closure rules

    def __add__(self, other: Kernel | float) -> Kernel:
        if is_number(other):
            other = Constant(cast(float, other))
        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum((*_parts(self, Sum), *_parts(other, Sum)))

    def __radd__(self, other: float) -> Kernel:
        return Constant(other) + self if is_number(other) else NotImplemented

    def __mul__(self, other: Kernel | float) -> Kernel:
        if is_number(other):
            return self.__rmul__(cast(float, other))
        if not isinstance(other, Kernel):
            return NotImplemented
        return Product((*_parts(self, Product), *_parts(other, Product)))

    def __rmul__(self, other: float) -> Kernel:
        if not is_number(other):
            return NotImplemented
        a = nonnegative(other, "the factor of a kernel", "Proposition 17.6 (2)")
        return Scaled(self.kernel, a * self.a) if isinstance(self, Scaled) else Scaled(self, a)

    def __truediv__(self, other: float) -> Kernel:
        if not is_number(other):
            return NotImplemented
        return self.__rmul__(1.0 / as_scalar(other, "the divisor of a kernel", above=0.0))

    def __pow__(self, exponent: int) -> Kernel:
        m = check_count(exponent, "the exponent of a kernel", at_least=0)
        return self.polynomial([0.0] * m + [1.0])

    def __neg__(self) -> Kernel:
        raise ValueError("-k is not a kernel: Proposition 17.6 (2) needs a factor >= 0")

    def __sub__(self, other: Any) -> Kernel:
        raise ValueError(
            "a difference of positive definite kernels need not be positive definite: Proposition 17.6 "
            "covers sums and nonnegative multiples (subtract the matrices to see it fail)"
        )

    __rsub__ = __sub__

    def polynomial(self, coefficients: Sequence[float]) -> Kernel:
        r"""Return :math:`c_0 + c_1 \kappa + \dots + c_m \kappa^m` (Proposition 17.7 (1)).

        Parameters
        ----------
        coefficients : sequence of float
            ``[c0, c1, ..., cm]``, all nonnegative.

        Raises
        ------
        ValueError
            If a coefficient is negative: the result need not be positive definite.

        Examples
        --------
        >>> from companion.kernels import Linear
        >>> Linear().polynomial([1, 0, 2])
        1 + 2 <x, y>^2
        >>> Linear().polynomial([1, -1])
        Traceback (most recent call last):
        ...
        ValueError: Proposition 17.7 (1) needs nonnegative coefficients, got c_1 = -1
        """
        c = as_vector(coefficients, "coefficients")
        if c.size == 0:
            raise ValueError("coefficients must hold at least c_0, got none")
        for j in np.flatnonzero(c < 0)[:1]:
            raise ValueError(
                f"Proposition 17.7 (1) needs nonnegative coefficients, got c_{j} = {c[j]:g}"
            )
        return PolynomialOf(self, tuple(np.trim_zeros(c, "b").tolist()) or (0.0,))

    def exp(self) -> Kernel:
        r"""Return :math:`e^{\kappa}` (Proposition 17.7 (2)).

        Examples
        --------
        >>> from companion.kernels import Linear
        >>> k = Linear().exp()
        >>> k, round(k([1.0, 0.0], [1.0, 5.0]), 6)
        (exp(<x, y>), 2.718282)
        """
        return Exp(self)

    def gaussian(self, sigma: float) -> Kernel:
        r"""Return :math:`\exp(-(\kappa(x,x) + \kappa(y,y) - 2\kappa(x,y)) / (2\sigma^2))`.

        Parameters
        ----------
        sigma : float
            Width, positive, in units of the distance in feature space.

        Notes
        -----
        Source: the remark after Definition 17.4; Problem 17.5. For a real kernel the exponent is
        :math:`-\|\varphi(x) - \varphi(y)\|^2 / (2\sigma^2)`. For a complex one :math:`\kappa(x, y)` enters
        as it is, not by its real part, as in the text; the result is Hermitian and positive definite.

        Examples
        --------
        >>> from companion.kernels import Polynomial
        >>> k = Polynomial(2, R=0.0).gaussian(3.0)
        >>> k
        exp(-(<x, x>^2 + <y, y>^2 - 2 <x, y>^2)/(2*3^2))
        >>> round(k([1.0, 0.0], [0.0, 1.0]), 6), k([1.0, 2.0], [1.0, 2.0])
        (0.894839, 1.0)
        """
        return GaussianOf(self, as_scalar(sigma, "sigma", above=0.0))

    def compose(self, psi: Callable, *, batch: bool = False) -> Kernel:
        r"""Return :math:`\kappa(\psi(x), \psi(y))` (Proposition 17.6 (4)).

        Parameters
        ----------
        psi : callable
            Maps one point to a point of this kernel's space.
        batch : bool
            Whether `psi` takes all points at once: an array of shape (n, d) to one of shape (n, N).

        Examples
        --------
        >>> from companion.kernels import Gaussian
        >>> def length(word):
        ...     return len(word)
        >>> k = Gaussian(1.0).compose(length)
        >>> k
        exp(-|length(x) - length(y)|^2/(2*1^2))
        >>> k(["a", "bb", "cc"]).round(4)
        array([[1.    , 0.6065, 0.6065],
               [0.6065, 1.    , 1.    ],
               [0.6065, 1.    , 1.    ]])
        """
        return Composed(self, check_callable(psi, "psi"), bool(batch))

    def normalized(self) -> Kernel:
        r"""Return :math:`\kappa(x, y) / \sqrt{\kappa(x, x)\,\kappa(y, y)}`, the cosine of the angle in feature space.

        Notes
        -----
        It is :math:`f(x)\,\kappa(x, y)\,\overline{f(y)}` with :math:`f(x) = \kappa(x, x)^{-1/2}`:
        Propositions 17.5 and 17.6 (3). By Proposition 17.4 its values have modulus at most 1. Where
        :math:`\kappa(x, x) = 0` all :math:`\kappa(x, y)` are 0; so is the result.

        Examples
        --------
        >>> from companion.kernels import Linear
        >>> k = Linear().normalized()
        >>> k([[3.0, 4.0], [0.0, 2.0], [0.0, 0.0]])
        array([[1. , 0.8, 0. ],
               [0.8, 1. , 0. ],
               [0. , 0. , 0. ]])
        """
        return Normalized(self)

    # -- a value among values

    def __repr__(self) -> str:
        return self._formula("x", "y")

    def _key(self) -> tuple:
        return tuple(_freeze(getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))


def _slices(start: int, stop: int, length: int) -> Iterator[slice]:
    return (slice(i, min(i + length, stop)) for i in range(start, stop, length))


def _make_hermitian(block: np.ndarray, diagonal: np.ndarray) -> None:
    """Put the exact diagonal into a diagonal block and mirror its upper triangle."""
    block += 0.0  # -0 becomes 0
    np.copyto(block, conj(block).T, where=_below_diagonal(len(block)))
    np.fill_diagonal(block, diagonal)


@lru_cache(maxsize=8)
def _below_diagonal(n: int) -> np.ndarray:
    """Return which entries of an n x n block are below its diagonal."""
    return np.tri(n, k=-1, dtype=bool)


def _parts(kernel: Kernel, kind: type) -> tuple[Kernel, ...]:
    return kernel.parts if isinstance(kernel, kind) else (kernel,)  # type: ignore[attr-defined]


# --- combinations ---------------------------------------------------------------------------------


class Constant(Kernel):
    r"""The constant kernel :math:`\kappa(x, y) = c`, on any set.

    Parameters
    ----------
    c : float
        Nonnegative.

    Notes
    -----
    Source: Example 17.5; the feature map is :math:`\varphi(x) = \sqrt{c}`.

    Examples
    --------
    >>> Constant(3)(["any", "points"])
    array([[3., 3.],
           [3., 3.]])
    """

    c: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", nonnegative(self.c, "a constant kernel", "Example 17.5"))

    def _points(self, X: Any) -> np.ndarray:
        return np.empty((len(X), 0))

    def _block(self, P: np.ndarray, Q: np.ndarray) -> np.ndarray:
        return np.full((len(P), len(Q)), self.c)

    def _diagonal(self, P: np.ndarray) -> np.ndarray:
        return np.full(len(P), self.c)

    def _features(self, P: np.ndarray, limit: float) -> np.ndarray | None:
        return within(np.full((len(P), 1), math.sqrt(self.c)), limit)

    def _formula(self, x: str, y: str) -> str:
        return number(self.c)


class _Combination(Kernel):
    """A kernel made of several kernels on the same points."""

    parts: tuple[Kernel, ...]

    def _points(self, X: Any) -> tuple:
        return tuple(k._points(X) for k in self.parts)

    @property
    def positive_definite(self) -> bool | None:
        """True if all parts are."""
        return True if all(k.positive_definite for k in self.parts) else None

    @property
    def _hermitian(self) -> bool:  # type: ignore[override]
        return all(k._hermitian for k in self.parts)


def _accumulate(arrays: Iterator[np.ndarray], operation: np.ufunc) -> np.ndarray:
    """Combine arrays in place where the type allows."""
    total = next(arrays)
    for array in arrays:
        in_place = np.iscomplexobj(total) or not np.iscomplexobj(array)
        total = operation(total, array, out=total if in_place else None)
    return total


class Sum(_Combination):
    """The sum of kernels, ``k1 + k2`` (Proposition 17.6 (1)); its feature map concatenates (Example 17.1)."""

    def _block(self, P: tuple, Q: tuple) -> np.ndarray:
        return _accumulate((k._block(p, q) for k, p, q in zip(self.parts, P, Q)), np.add)

    def _diagonal(self, P: tuple) -> np.ndarray:
        return _accumulate((k._diagonal(p) for k, p in zip(self.parts, P)), np.add)

    def _features(self, P: tuple, limit: float) -> np.ndarray | None:
        found = []
        for k, p in zip(self.parts, P):
            Phi = k._features(p, limit)
            if Phi is None:
                return None
            limit -= Phi.shape[1]
            found.append(Phi)
        return np.hstack(found) if limit >= 0 else None

    def _formula(self, x: str, y: str) -> str:
        return " + ".join(k._formula(x, y) for k in self.parts)


class Product(_Combination):
    """The pointwise product of kernels, ``k1 * k2`` (Proposition 17.5); features multiply in pairs (Example 17.3)."""

    def _block(self, P: tuple, Q: tuple) -> np.ndarray:
        return _accumulate((k._block(p, q) for k, p, q in zip(self.parts, P, Q)), np.multiply)

    def _diagonal(self, P: tuple) -> np.ndarray:
        return _accumulate((k._diagonal(p) for k, p in zip(self.parts, P)), np.multiply)

    def _features(self, P: tuple, limit: float) -> np.ndarray | None:
        Phi = np.ones((count(P), 1))
        for k, p in zip(self.parts, P):
            factor = k._features(p, limit)
            if factor is None or Phi.shape[1] * factor.shape[1] > limit:
                return None
            Phi = np.einsum("ij,ik->ijk", Phi, factor).reshape(len(Phi), -1)
        return Phi

    def _formula(self, x: str, y: str) -> str:
        return " * ".join(term(k._formula(x, y)) for k in self.parts)


class _OfOne(Kernel):
    """A kernel made from one kernel."""

    kernel: Kernel

    def _points(self, X: Any) -> Points:
        return self.kernel._points(X)

    @property
    def positive_definite(self) -> bool | None:
        """True if the kernel is that this one is made from."""
        return True if self.kernel.positive_definite else None

    @property
    def _hermitian(self) -> bool:  # type: ignore[override]
        return self.kernel._hermitian


class Scaled(_OfOne):
    """A nonnegative multiple of a kernel, ``a * k`` (Proposition 17.6 (2))."""

    a: float

    def _block(self, P: Points, Q: Points) -> np.ndarray:
        K = self.kernel._block(P, Q)
        K *= self.a
        return K

    def _diagonal(self, P: Points) -> np.ndarray:
        return self.a * self.kernel._diagonal(P)

    def _features(self, P: Points, limit: float) -> np.ndarray | None:
        Phi = self.kernel._features(P, limit)
        return None if Phi is None else math.sqrt(self.a) * Phi

    def _formula(self, x: str, y: str) -> str:
        return f"{number(self.a)} {term(self.kernel._formula(x, y))}"

    @property
    def positive_definite(self) -> bool | None:
        """What is known about the kernel that this one is a multiple of."""
        return True if self.a == 0 else self.kernel.positive_definite


class PolynomialOf(_OfOne):
    """A polynomial with nonnegative coefficients of a kernel (Proposition 17.7 (1)); a power is one of these."""

    coefficients: tuple[float, ...]

    def _evaluate(self, K: np.ndarray) -> np.ndarray:
        *lower, leading = self.coefficients
        if not any(lower):
            highest = power(K, len(lower))
            return highest if leading == 1.0 else leading * highest
        value = np.full_like(K, leading)
        for c in reversed(lower):  # Horner's rule
            value *= K
            value += c
        return value

    def _block(self, P: Points, Q: Points) -> np.ndarray:
        return self._evaluate(self.kernel._block(P, Q))

    def _diagonal(self, P: Points) -> np.ndarray:
        return self._evaluate(self.kernel._diagonal(P))

    def _features(self, P: Points, limit: float) -> np.ndarray | None:
        Phi = self.kernel._features(P, limit)
        if Phi is None:
            return None
        degrees = [m for m, c in enumerate(self.coefficients) if c > 0]
        if sum(comb(Phi.shape[1] + m - 1, m) for m in degrees) > limit:
            return None
        weighted = [
            math.sqrt(self.coefficients[m]) * polynomial_features(Phi, m, R=0.0) for m in degrees
        ]
        return np.hstack(weighted or [np.zeros((len(Phi), 1))])

    def _formula(self, x: str, y: str) -> str:
        inner = base(self.kernel._formula(x, y))
        terms = []
        for m, c in enumerate(self.coefficients):
            factor = inner if m == 1 else f"{inner}^{m}"
            if c > 0:
                terms.append(number(c) if m == 0 else factor if c == 1 else f"{number(c)} {factor}")
        return " + ".join(terms) or "0"


class Exp(_OfOne):
    """The exponential of a kernel, ``k.exp()`` (Proposition 17.7 (2))."""

    def _block(self, P: Points, Q: Points) -> np.ndarray:
        K = self.kernel._block(P, Q)
        return np.exp(K, out=K)

    def _diagonal(self, P: Points) -> np.ndarray:
        return np.exp(self.kernel._diagonal(P))

    def _formula(self, x: str, y: str) -> str:
        return f"exp({self.kernel._formula(x, y)})"


class GaussianOf(_OfOne):
    """The Gaussian of the distance in a kernel's feature space, ``k.gaussian(sigma)`` (Problem 17.5)."""

    sigma: float

    def _block(self, P: Points, Q: Points) -> np.ndarray:
        p, q = self.kernel._diagonal(P), self.kernel._diagonal(Q)
        if EPS * max(largest(p.real), largest(q.real)) > _LOST * self.sigma**2:
            raise ValueError(
                f"the distances of {self!r} are lost in rounding: the numbers k(x, x) are too large "
                "beside sigma^2; move the points to the origin, or raise sigma"
            )
        K = self.kernel._block(P, Q)
        K -= 0.5 * p[:, None]
        K -= 0.5 * q
        if not np.iscomplexobj(K) and self.kernel.positive_definite is True:
            np.minimum(K, 0.0, out=K)  # rounding can leave a tiny negative squared distance
        K /= self.sigma**2
        return np.exp(K, out=K)

    def _diagonal(self, P: Points) -> np.ndarray:
        return np.ones_like(self.kernel._diagonal(P))

    def _formula(self, x: str, y: str) -> str:
        xx, yy = self.kernel._formula(x, x), self.kernel._formula(y, y)
        xy = term(self.kernel._formula(x, y))
        return f"exp(-({xx} + {yy} - 2 {xy})/(2*{number(self.sigma)}^2))"


class Composed(_OfOne):
    """A kernel of the images of the points, ``k.compose(psi)`` (Proposition 17.6 (4))."""

    psi: Callable
    batch: bool = False

    def _points(self, X: Any) -> Points:
        P = self.kernel._points(images(self.psi, X, self.batch))
        if count(P) != len(X):
            raise ValueError(f"psi returned {count(P)} points for {len(X)}")
        return P

    def _block(self, P: Points, Q: Points) -> np.ndarray:
        return self.kernel._block(P, Q)

    def _diagonal(self, P: Points) -> np.ndarray:
        return self.kernel._diagonal(P)

    def _features(self, P: Points, limit: float) -> np.ndarray | None:
        return self.kernel._features(P, limit)

    def _formula(self, x: str, y: str) -> str:
        psi = name_of(self.psi, "psi")
        return self.kernel._formula(f"{psi}({x})", f"{psi}({y})")


class Normalized(_OfOne):
    """The cosine in a kernel's feature space, ``k.normalized()``."""

    def _scale(self, P: Points) -> np.ndarray:
        """Return k(x, x)^(-1/2), and 0 where k(x, x) = 0."""
        diagonal = self.kernel._diagonal(P).real
        if (diagonal < 0).any():
            raise ValueError(
                f"{self.kernel!r} has k(x, x) = {diagonal.min():.4g} < 0 at a point; a positive definite "
                "kernel has k(x, x) >= 0 (Proposition 17.2), and only such a kernel has angles"
            )
        scale = np.zeros_like(diagonal)
        np.divide(1.0, np.sqrt(diagonal), out=scale, where=diagonal > 0)
        return scale

    def _block(self, P: Points, Q: Points) -> np.ndarray:
        K = self.kernel._block(P, Q)
        K *= self._scale(P)[:, None]
        K *= self._scale(Q)
        return K

    def _diagonal(self, P: Points) -> np.ndarray:
        return (self._scale(P) > 0).astype(np.float64)

    def _features(self, P: Points, limit: float) -> np.ndarray | None:
        Phi = self.kernel._features(P, limit)
        return None if Phi is None else self._scale(P)[:, None] * Phi

    def _formula(self, x: str, y: str) -> str:
        k = self.kernel._formula
        return f"{term(k(x, y))}/sqrt({term(k(x, x))} {term(k(y, y))})"
