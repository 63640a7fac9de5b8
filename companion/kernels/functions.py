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
from numbers import Number
from typing import Any, TypeVar, cast, dataclass_transform

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.special import comb

from companion.checks import as_scalar, as_vector, check_count
from companion.kernels.features import polynomial_features, real_or_complex_matrix

__all__ = ["Constant", "FeatureMap", "FromFunction", "Kernel"]

# Rows and columns of a block: 1 MB; not powers of two, whose strides collide in the cache.
_BLOCK_ROWS, _BLOCK_COLUMNS = 120, 1080
_EPS = float(np.finfo(float).eps)
_FAR = 1e4  # squared lengths, in units of sigma, from which on distances are made of differences
_FEW = 1000  # features are worth having up to this number, where kernel values lost the distances
_LOST = (
    1e-3  # rounding of a squared distance, in units of sigma^2, that leaves no digits of a Gaussian
)
_FAINT = 1e-290  # numbers below may have lost digits to underflow
_SUM, _PRODUCT, _POWER, _ATOM = range(4)  # how tightly a formula binds, for parentheses

Formula = tuple[str, int]
Points = (
    Any  # what a kernel makes of the data: an array, a list, or a tuple of these (one per part)
)


# --- points ---------------------------------------------------------------------------------------


def _sequence(X: Any) -> tuple[Any, bool]:
    """Return `X` as a sequence of points, and whether it was a single point."""
    if sparse.issparse(X):
        return np.atleast_2d(X.toarray()), X.ndim == 1
    if isinstance(X, Number):
        return _widened(np.array([[X]])), True
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    elif isinstance(X, (list, tuple)):
        X = _array_or_list(X)
    if isinstance(X, list):
        single = False
    elif not isinstance(X, np.ndarray):  # a set, a string: one point
        X, single = [X], True
    elif X.ndim > 2:
        raise ValueError(f"points must be the rows of a matrix, got an array of shape {X.shape}")
    elif X.ndim == 2:
        single = False
    elif X.ndim == 1 and (X.dtype == object or X.dtype.kind in "US"):
        X, single = list(X), False
    else:
        X, single = np.atleast_2d(X), True
    if len(X) == 0 or (single and np.size(X) == 0):
        raise ValueError("a kernel needs at least one point, got none")
    return (_widened(X) if isinstance(X, np.ndarray) else X), single


def _widened(X: np.ndarray) -> np.ndarray:
    """Return numbers of few bits in 64: those of an image, 0 to 255, wrap around in a reader's function."""
    if X.dtype.kind in "iu":
        return X.astype(np.int64) if np.can_cast(X.dtype, np.int64) else _signed(X)
    return X.astype(np.float64) if X.dtype in (np.float16, np.float32) else X


def _signed(X: np.ndarray) -> np.ndarray:
    """Return unsigned integers of 64 bits as signed ones, or as floats where these are too short."""
    return X.astype(np.int64 if X.max() <= np.iinfo(np.int64).max else np.float64)


def _array_or_list(X: Sequence) -> np.ndarray | list:
    """Return numbers and rows of numbers as an array, anything else as a list of points."""
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths
        return list(X)
    return array if array.dtype.kind in "biufc" and array.ndim <= 2 else list(X)


def _vectors(X: Any) -> np.ndarray:
    """Return points of R^n or C^n as the rows of a float64 or complex128 matrix."""
    if not isinstance(X, np.ndarray):
        X = _array_or_list(X)
    if isinstance(X, np.ndarray) and X.ndim == 1:  # the images of points under a scalar function
        X = X[:, None]
    return real_or_complex_matrix(X, "X")


def _rows(points: Points, rows: slice) -> Points:
    return tuple(_rows(p, rows) for p in points) if isinstance(points, tuple) else points[rows]


def _enlarged(points: Points) -> Points:
    """Return vectors times powers of two that bring them to a size of about 1, and other points as they are."""
    if isinstance(points, tuple):
        return tuple(map(_enlarged, points))
    if not isinstance(points, np.ndarray) or points.dtype.kind not in "fc":
        return points
    exponents = np.frexp(np.abs(points).max(axis=1, initial=0.0))[1]
    half = exponents // 2
    return points * np.exp2(-half)[:, None] * np.exp2(half - exponents)[:, None]


def _count(points: Points) -> int:
    return _count(points[0]) if isinstance(points, tuple) else len(points)


def _check_match(P: Points, Q: Points) -> None:
    """Raise an error when two sets of points do not live in the same space."""
    if isinstance(P, tuple):
        for p, q in zip(P, Q):
            _check_match(p, q)
    elif isinstance(P, np.ndarray) and isinstance(Q, np.ndarray) and P.shape[1:] != Q.shape[1:]:
        raise ValueError(
            f"the points of X have {P.shape[1]} coordinates and those of Y have {Q.shape[1]}; "
            "a kernel compares points of one space"
        )


def _slices(start: int, stop: int, length: int) -> Iterator[slice]:
    return (slice(i, min(i + length, stop)) for i in range(start, stop, length))


def _conj(A: np.ndarray) -> np.ndarray:
    return A.conj() if np.iscomplexobj(A) else A


def _within(features: np.ndarray, limit: float) -> np.ndarray | None:
    return features if features.shape[1] <= limit else None


# --- formulas -------------------------------------------------------------------------------------


def _wrap(formula: Formula, level: int) -> str:
    text, binds = formula
    return text if binds >= level else f"({text})"


def _number(value: float) -> str:
    return f"{value:.6g}"


def _name(function: Any, default: str) -> str:
    name = getattr(function, "__name__", default)
    return default if name == "<lambda>" else name


def _freeze(value: Any) -> Any:
    """Make a field comparable and hashable."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    return tuple(value.items()) if isinstance(value, dict) else value


def _known(*flags: bool | None) -> bool | None:
    """Positive definite if all parts are; otherwise nothing is known."""
    return True if all(flags) else None


# --- the base class -------------------------------------------------------------------------------


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

    _linear = False
    _precomputed = False

    # -- what a kernel has to say about itself

    @abstractmethod
    def _points(self, X: Any) -> Points:
        """Turn a sequence of points into what `_block` reads, once per call."""

    @abstractmethod
    def _block(self, P: Points, Q: Points) -> np.ndarray:
        """Return a new array with the entries k(p_i, q_j); the caller may overwrite it."""

    @abstractmethod
    def _diagonal(self, P: Points) -> np.ndarray:
        """Return a new array with the entries k(p_i, p_i)."""

    @abstractmethod
    def _formula(self, x: str, y: str) -> Formula:
        """Return the formula of k(x, y) and how tightly it binds."""

    def _features(self, P: Points, limit: float) -> np.ndarray | None:
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
        return self._definite

    @property
    def is_linear(self) -> bool:
        """Whether this is the inner product of the input space itself.

        Examples
        --------
        >>> from companion.kernels import Linear, Polynomial, Gaussian
        >>> Linear().is_linear, Polynomial(1, R=0.0).is_linear, Gaussian(1.0).is_linear
        (True, False, False)
        """
        return self._linear

    @property
    def is_precomputed(self) -> bool:
        """Whether the "points" are rows of a Gram matrix.

        Examples
        --------
        >>> from companion.kernels import Linear, as_kernel
        >>> as_kernel("precomputed").is_precomputed, Linear().is_precomputed
        (True, False)
        """
        return self._precomputed

    @property
    def _definite(self) -> bool | None:
        return True

    @property
    def _hermitian(self) -> bool:
        """Whether k(y, x) = conj(k(x, y)) by construction, so that half of the blocks suffice."""
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
        X, x_single = _sequence(X)
        P = self._points(X)
        if Y is None:
            K, y_single = self._matrix(P, None), x_single
        else:
            Y, y_single = _sequence(Y)
            Q = self._points(Y)
            _check_match(P, Q)
            K = self._matrix(P, Q)
        if x_single and y_single:
            return K[0, 0].item()
        return K[0] if x_single else K[:, 0] if y_single else K

    def _matrix(self, P: Points, Q: Points | None) -> np.ndarray:
        """Return (k(p_i, q_j)) block by block, or (k(p_i, p_j)) when Q is None."""
        mirror = Q is None and self._hermitian
        Q = P if Q is None else Q
        K = np.empty((_count(P), _count(Q)))
        for rows in _slices(0, len(K), _BLOCK_ROWS):
            P_block = _rows(P, rows)
            for columns in _slices(rows.start if mirror else 0, K.shape[1], _BLOCK_COLUMNS):
                block = self._finite_block(P_block, _rows(Q, columns))
                if np.iscomplexobj(block) and not np.iscomplexobj(K):
                    K = K.astype(np.complex128)
                K[rows, columns] = block
                if mirror:  # what this writes into the rows to come is written again
                    K[columns, rows] = _conj(block).T
            if mirror:
                _make_hermitian(K[rows, rows], self._diagonal(P_block))
        return K

    def _finite_block(self, P: Points, Q: Points) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            block = self._block(P, Q)
        if not np.isfinite(block).all():
            raise ValueError(
                f"the values of {self!r} overflow at these points; scale the data down"
            )
        return block

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
        X, single = _sequence(X)
        with np.errstate(over="ignore", invalid="ignore"):
            diagonal = self._diagonal(self._points(X))
        if not np.isfinite(diagonal).all():
            raise ValueError(
                f"the values of {self!r} overflow at these points; scale the data down"
            )
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
        X, _ = _sequence(X)
        return self._features(self._points(X), limit)

    # -- the closure rules

    def __add__(self, other: Kernel | float) -> Kernel:
        if _is_number(other):
            other = Constant(cast(float, other))
        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum((*_parts(self, Sum), *_parts(other, Sum)))

    def __radd__(self, other: float) -> Kernel:
        return Constant(other) + self if _is_number(other) else NotImplemented

    def __mul__(self, other: Kernel | float) -> Kernel:
        if _is_number(other):
            return self.__rmul__(cast(float, other))
        if not isinstance(other, Kernel):
            return NotImplemented
        return Product((*_parts(self, Product), *_parts(other, Product)))

    def __rmul__(self, other: float) -> Kernel:
        if not _is_number(other):
            return NotImplemented
        a = _nonnegative(other, "the factor of a kernel", "Proposition 17.6 (2)")
        return Scaled(a * self.a, self.kernel) if isinstance(self, Scaled) else Scaled(a, self)

    def __truediv__(self, other: float) -> Kernel:
        if not _is_number(other):
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
        return Composed(self, _check_callable(psi, "psi"), bool(batch))

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
        return self._formula("x", "y")[0]

    def _key(self) -> tuple:
        return tuple(_freeze(getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))


def _make_hermitian(block: np.ndarray, diagonal: np.ndarray) -> None:
    """Put the exact diagonal into a diagonal block and mirror its upper triangle."""
    block += 0.0  # -0 becomes 0
    np.copyto(block, _conj(block).T, where=_below_diagonal(len(block)))
    np.fill_diagonal(block, diagonal)


@lru_cache(maxsize=8)
def _below_diagonal(n: int) -> np.ndarray:
    """Return which entries of an n x n block are below its diagonal."""
    return np.tri(n, k=-1, dtype=bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Number) or (isinstance(value, np.ndarray) and value.ndim == 0)


def _parts(kernel: Kernel, kind: type) -> tuple[Kernel, ...]:
    return kernel.parts if isinstance(kernel, kind) else (kernel,)  # type: ignore[attr-defined]


def _nonnegative(value: Any, name: str, source: str) -> float:
    try:
        return as_scalar(value, name, at_least=0.0)
    except ValueError as error:
        raise ValueError(f"{error} ({source})") from None


def _check_callable(function: Any, name: str) -> Callable:
    if not callable(function):
        raise TypeError(f"{name} must be callable, got {type(function).__name__} {function!r}")
    return function


_T = TypeVar("_T")


@dataclass_transform(frozen_default=True, eq_default=False)
def _value(kind: type[_T]) -> type[_T]:
    """Make a class an immutable value; comparison and repr come from `Kernel`."""
    return dataclass(frozen=True, eq=False, repr=False)(kind)


class _VectorKernel(Kernel):
    """A kernel whose points are vectors of R^n or C^n."""

    def _points(self, X: Any) -> np.ndarray:
        return _vectors(X)


def _inner(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Return the matrix of the inner products <p_i, q_j>, linear in the first argument."""
    return P @ _conj(Q).T


def _squared_norms(P: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", P, _conj(P)).real


def _gaussian(P: np.ndarray, Q: np.ndarray, sigma: float) -> np.ndarray:
    """Return exp(-|p - q|^2 / (2 sigma^2)) for the rows p and q of two real matrices."""
    centre = Q.mean(axis=0)
    Z, Y = (P - centre) / sigma, (Q - centre) / sigma
    z, y = _squared_norms(Z), _squared_norms(Y)
    if not max(z.max(), y.max()) <= _FAR:  # one outlier would take the digits of all distances
        e = math.frexp(sigma)[1]
        K = cdist(np.ldexp(P, -e), np.ldexp(Q, -e), "sqeuclidean")
        K *= -0.5 / math.ldexp(sigma, -e) ** 2
        return np.exp(K, out=K)
    z, y = -0.5 * z[:, None], -0.5 * y[:, None]
    # <z, y> - |z|^2/2 - |y|^2/2 = -|z - y|^2/2, all in one product
    K = np.hstack([Z, z, np.ones_like(z)]) @ np.hstack([Y, np.ones_like(y), y]).T
    np.minimum(K, 0.0, out=K)  # rounding can leave a tiny negative squared distance
    return np.exp(K, out=K)


def _power(K: np.ndarray, m: int) -> np.ndarray:
    """Return K^m entry by entry, by repeated squaring."""
    if m == 0:
        return np.ones_like(K)
    half = _power(K, m // 2) if m > 1 else None
    if half is None:
        return K
    half = half * half
    if m % 2:
        half *= K
    return half


# --- kernels of anything --------------------------------------------------------------------------


def _images(function: Callable, X: Any, batch: bool) -> Any:
    return function(X) if batch else [function(x) for x in X]


@_value
class FeatureMap(Kernel):
    r"""The kernel :math:`\kappa(x, y) = \langle \varphi(x), \varphi(y) \rangle` of a feature map.

    Parameters
    ----------
    phi : callable
        The feature map: takes one point, returns a vector of :math:`\mathbb{R}^N` or :math:`\mathbb{C}^N`
        (or a number, N = 1). Points may be anything.
    batch : bool
        Whether `phi` takes all points at once: an array of shape (n, d) to one of shape (n, N).

    Notes
    -----
    Source: Definition 17.1, Proposition 17.1. With a number-valued :math:`\varphi = f` it is
    :math:`f(x)\overline{f(y)}`, Proposition 17.6 (3).

    Examples
    --------
    The quadratic kernel through :math:`\mathbb{R}^3` (Example 17.2):

    >>> from companion.kernels import Polynomial
    >>> k = FeatureMap(lambda x: (x[0]**2, x[1]**2, 2**0.5 * x[0] * x[1]))
    >>> k
    <phi(x), phi(y)>
    >>> round(k([1.0, 2.0], [3.0, 4.0]), 6), Polynomial(2, R=0.0)([1.0, 2.0], [3.0, 4.0])
    (121.0, 121.0)
    """

    phi: Callable
    batch: bool = False

    def __post_init__(self) -> None:
        _check_callable(self.phi, "phi")

    def _points(self, X: Any) -> np.ndarray:
        Phi = _vectors(_images(self.phi, X, self.batch))
        if len(Phi) != len(X):
            raise ValueError(f"phi returned {len(Phi)} rows for {len(X)} points")
        return Phi

    def _block(self, P: np.ndarray, Q: np.ndarray) -> np.ndarray:
        return _inner(P, Q)

    def _diagonal(self, P: np.ndarray) -> np.ndarray:
        return _squared_norms(P)

    def _features(self, P: np.ndarray, limit: float) -> np.ndarray | None:
        return _within(P, limit)

    def _formula(self, x: str, y: str) -> Formula:
        phi = _name(self.phi, "phi")
        return f"<{phi}({x}), {phi}({y})>", _ATOM


@_value
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
        object.__setattr__(self, "c", _nonnegative(self.c, "a constant kernel", "Example 17.5"))

    def _points(self, X: Any) -> np.ndarray:
        return np.empty((len(X), 0))

    def _block(self, P: np.ndarray, Q: np.ndarray) -> np.ndarray:
        return np.full((len(P), len(Q)), self.c)

    def _diagonal(self, P: np.ndarray) -> np.ndarray:
        return np.full(len(P), self.c)

    def _features(self, P: np.ndarray, limit: float) -> np.ndarray | None:
        return _within(np.full((len(P), 1), math.sqrt(self.c)), limit)

    def _formula(self, x: str, y: str) -> Formula:
        return _number(self.c), _ATOM


class _PairKernel(Kernel):
    """A kernel that is known through a Python function of two points: one call per pair."""

    known: bool | None

    def _pair(self, x: Any, y: Any) -> complex:
        raise NotImplementedError

    def _points(self, X: Any) -> list:
        return list(X)

    def _block(self, P: list, Q: list) -> np.ndarray:
        values = np.array([[self._pair(x, y) for y in Q] for x in P])
        if values.ndim != 2 or values.dtype.kind not in "biufc":
            raise TypeError(f"{self!r} must return one number per pair of points")
        return values.astype(np.complex128 if np.iscomplexobj(values) else np.float64)

    def _diagonal(self, P: list) -> np.ndarray:
        return np.array([self._block([x], [x])[0, 0] for x in P])

    @property
    def _definite(self) -> bool | None:
        return self.known

    @property
    def _hermitian(self) -> bool:
        return False  # the function may be anything: evaluate it on both halves


@_value
class FromFunction(_PairKernel):
    r"""A kernel given by its formula on a pair of points.

    Parameters
    ----------
    function : callable
        ``function(x, y)`` returns the number :math:`\kappa(x, y)`. It is called once per pair.
    positive_definite : bool or None
        What is known about it.

    Examples
    --------
    >>> k = FromFunction(lambda x, y: min(x[0], y[0]))
    >>> k([[1.0], [3.0], [2.0]])
    array([[1., 1., 1.],
           [1., 3., 2.],
           [1., 2., 2.]])
    """

    function: Callable
    known: bool | None

    def __init__(self, function: Callable, positive_definite: bool | None = None) -> None:
        object.__setattr__(self, "function", _check_callable(function, "function"))
        object.__setattr__(self, "known", positive_definite)

    def _pair(self, x: Any, y: Any) -> complex:
        return self.function(x, y)

    def _formula(self, x: str, y: str) -> Formula:
        return f"{_name(self.function, 'k')}({x}, {y})", _ATOM


# --- combinations ---------------------------------------------------------------------------------


class _Combination(Kernel):
    """A kernel made of several kernels on the same points."""

    parts: tuple[Kernel, ...]

    def _points(self, X: Any) -> tuple:
        return tuple(k._points(X) for k in self.parts)

    @property
    def _definite(self) -> bool | None:
        return _known(*(k.positive_definite for k in self.parts))

    @property
    def _hermitian(self) -> bool:
        return all(k._hermitian for k in self.parts)


def _accumulate(arrays: Iterator[np.ndarray], operation: np.ufunc) -> np.ndarray:
    """Combine arrays in place where the type allows."""
    total = next(arrays)
    for array in arrays:
        in_place = np.iscomplexobj(total) or not np.iscomplexobj(array)
        total = operation(total, array, out=total if in_place else None)
    return total


@_value
class Sum(_Combination):
    """The sum of kernels, ``k1 + k2`` (Proposition 17.6 (1)); its feature map concatenates (Example 17.1)."""

    parts: tuple[Kernel, ...]

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

    def _formula(self, x: str, y: str) -> Formula:
        return " + ".join(_wrap(k._formula(x, y), _SUM) for k in self.parts), _SUM


@_value
class Product(_Combination):
    """The pointwise product of kernels, ``k1 * k2`` (Proposition 17.5); features multiply in pairs (Example 17.3)."""

    parts: tuple[Kernel, ...]

    def _block(self, P: tuple, Q: tuple) -> np.ndarray:
        return _accumulate((k._block(p, q) for k, p, q in zip(self.parts, P, Q)), np.multiply)

    def _diagonal(self, P: tuple) -> np.ndarray:
        return _accumulate((k._diagonal(p) for k, p in zip(self.parts, P)), np.multiply)

    def _features(self, P: tuple, limit: float) -> np.ndarray | None:
        Phi = np.ones((_count(P), 1))
        for k, p in zip(self.parts, P):
            factor = k._features(p, limit)
            if factor is None or Phi.shape[1] * factor.shape[1] > limit:
                return None
            Phi = np.einsum("ij,ik->ijk", Phi, factor).reshape(len(Phi), -1)
        return Phi

    def _formula(self, x: str, y: str) -> Formula:
        return " * ".join(_wrap(k._formula(x, y), _POWER) for k in self.parts), _PRODUCT


class _OfOne(Kernel):
    """A kernel made from one kernel."""

    kernel: Kernel

    def _points(self, X: Any) -> Points:
        return self.kernel._points(X)

    @property
    def _definite(self) -> bool | None:
        return _known(self.kernel.positive_definite)

    @property
    def _hermitian(self) -> bool:
        return self.kernel._hermitian


@_value
class Scaled(_OfOne):
    """A nonnegative multiple of a kernel, ``a * k`` (Proposition 17.6 (2))."""

    a: float
    kernel: Kernel

    def _block(self, P: Points, Q: Points) -> np.ndarray:
        K = self.kernel._block(P, Q)
        K *= self.a
        return K

    def _diagonal(self, P: Points) -> np.ndarray:
        return self.a * self.kernel._diagonal(P)

    def _features(self, P: Points, limit: float) -> np.ndarray | None:
        Phi = self.kernel._features(P, limit)
        return None if Phi is None else math.sqrt(self.a) * Phi

    def _formula(self, x: str, y: str) -> Formula:
        return f"{_number(self.a)} {_wrap(self.kernel._formula(x, y), _POWER)}", _PRODUCT

    @property
    def _definite(self) -> bool | None:
        return True if self.a == 0 else self.kernel.positive_definite


@_value
class PolynomialOf(_OfOne):
    """A polynomial with nonnegative coefficients of a kernel (Proposition 17.7 (1)); a power is one of these."""

    kernel: Kernel
    coefficients: tuple[float, ...]

    def _evaluate(self, K: np.ndarray) -> np.ndarray:
        *lower, leading = self.coefficients
        if not any(lower):
            power = _power(K, len(lower))
            return power if leading == 1.0 else leading * power
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

    def _formula(self, x: str, y: str) -> Formula:
        base = _wrap(self.kernel._formula(x, y), _ATOM)
        terms = []
        for m, c in enumerate(self.coefficients):
            power = base if m == 1 else f"{base}^{m}"
            if c > 0:
                terms.append(_number(c) if m == 0 else power if c == 1 else f"{_number(c)} {power}")
        level = _SUM if len(terms) > 1 else _PRODUCT if self.coefficients[-1] != 1 else _POWER
        return " + ".join(terms) or "0", level


@_value
class Exp(_OfOne):
    """The exponential of a kernel, ``k.exp()`` (Proposition 17.7 (2))."""

    kernel: Kernel

    def _block(self, P: Points, Q: Points) -> np.ndarray:
        K = self.kernel._block(P, Q)
        return np.exp(K, out=K)

    def _diagonal(self, P: Points) -> np.ndarray:
        return np.exp(self.kernel._diagonal(P))

    def _formula(self, x: str, y: str) -> Formula:
        return f"exp({self.kernel._formula(x, y)[0]})", _ATOM


@_value
class GaussianOf(_OfOne):
    """The Gaussian of the distance in a kernel's feature space, ``k.gaussian(sigma)`` (Problem 17.5)."""

    kernel: Kernel
    sigma: float

    def _block(self, P: Points, Q: Points) -> np.ndarray:
        p, q = self.kernel._diagonal(P), self.kernel._diagonal(Q)
        rounding = _EPS * max(np.abs(p).max(), np.abs(q).max()) / self.sigma / self.sigma
        if _EPS * _FAR < rounding < math.inf:
            F, G = self.kernel._features(P, _FEW), self.kernel._features(Q, _FEW)
            if F is not None and G is not None and not np.iscomplexobj(F):
                return _gaussian(F, G, self.sigma)
            if rounding > _LOST:
                raise ValueError(
                    f"the distances of {self!r} are lost in rounding: the numbers k(x, x) are too large "
                    "beside sigma^2; move the points to the origin, or raise sigma"
                )
        K = self.kernel._block(P, Q)
        K -= 0.5 * p[:, None]
        K -= 0.5 * q
        if not np.iscomplexobj(K) and self.kernel.positive_definite is True:
            np.minimum(K, 0.0, out=K)  # rounding can leave a tiny negative squared distance
        K /= self.sigma * self.sigma  # infinite where the square is too large
        return np.exp(K, out=K)

    def _diagonal(self, P: Points) -> np.ndarray:
        return np.ones_like(self.kernel._diagonal(P))

    def _formula(self, x: str, y: str) -> Formula:
        xx, yy = self.kernel._formula(x, x)[0], self.kernel._formula(y, y)[0]
        xy = _wrap(self.kernel._formula(x, y), _POWER)
        return f"exp(-({xx} + {yy} - 2 {xy})/(2*{_number(self.sigma)}^2))", _ATOM


@_value
class Composed(_OfOne):
    """A kernel of the images of the points, ``k.compose(psi)`` (Proposition 17.6 (4))."""

    kernel: Kernel
    psi: Callable
    batch: bool = False

    def _points(self, X: Any) -> Points:
        P = self.kernel._points(_images(self.psi, X, self.batch))
        if _count(P) != len(X):
            raise ValueError(f"psi returned {_count(P)} points for {len(X)}")
        return P

    def _block(self, P: Points, Q: Points) -> np.ndarray:
        return self.kernel._block(P, Q)

    def _diagonal(self, P: Points) -> np.ndarray:
        return self.kernel._diagonal(P)

    def _features(self, P: Points, limit: float) -> np.ndarray | None:
        return self.kernel._features(P, limit)

    def _formula(self, x: str, y: str) -> Formula:
        psi = _name(self.psi, "psi")
        return self.kernel._formula(f"{psi}({x})", f"{psi}({y})")


@_value
class Normalized(_OfOne):
    """The cosine in a kernel's feature space, ``k.normalized()``."""

    kernel: Kernel

    def _scale(self, P: Points) -> np.ndarray:
        """Return k(x, x)^(-1/2), and 0 where k(x, x) = 0."""
        diagonal = self.kernel._diagonal(P).real
        if (diagonal < 0).any():
            raise ValueError(
                f"{self.kernel!r} has k(x, x) = {diagonal.min():.4g} < 0 at a point; a positive definite "
                "kernel has k(x, x) >= 0 (Proposition 17.2), and only such a kernel has angles"
            )
        faint = diagonal < _FAINT
        if faint.any() and (diagonal[faint].any() or self._vanishes_only_here(P, faint)):
            raise ValueError(
                f"the values of {self.kernel!r} underflow at these points; scale the data up"
            )
        scale = np.zeros_like(diagonal)
        np.divide(1.0, np.sqrt(diagonal), out=scale, where=diagonal > 0)
        return scale

    def _vanishes_only_here(self, P: Points, zero: np.ndarray) -> bool:
        """Return whether k(x, x) = 0 is underflow: it is not 0 for a multiple of x."""
        diagonal = self.kernel._diagonal(_enlarged(P)).real
        return bool(diagonal[zero].any())

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

    def _formula(self, x: str, y: str) -> Formula:
        k = self.kernel._formula
        return (
            f"{_wrap(k(x, y), _POWER)}/sqrt({_wrap(k(x, x), _POWER)} {_wrap(k(y, y), _POWER)})",
            _PRODUCT,
        )
