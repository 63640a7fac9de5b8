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

Every kernel computes whole matrices, by the formula that defines it. The two arguments of ``k(X)`` are one object, so
that its features are computed once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from typing import Any, dataclass_transform

import numpy as np
from scipy.special import comb

from companion.arguments import check_kind
from companion.arithmetic import EPS, largest
from companion.checks import as_points, as_scalar, both, check_count, check_range
from companion.kernels.features import polynomial_features
from companion.results import FEW_DIGITS


class NoFeatures(Exception):
    """No finite feature map is known, or it has more features than are of use."""


# --- parameters and formulas ----------------------------------------------------------------------


def name_of(function: Any, default: str) -> str:
    """Return the name of a function in a formula."""
    name = getattr(function, "__name__", default)
    return default if name == "<lambda>" else name


def term(formula: str, signs: str = " /") -> str:
    """Return a formula as a factor: in parentheses if one of the signs stands outside all of its brackets."""
    depth, outside = 0, ""
    for character in formula:
        depth += (character in "(<") - (character in ")>")
        outside += character if depth == 0 else ""
    return f"({formula})" if set(signs) & set(outside) else formula


# --- the base class -------------------------------------------------------------------------------


def parameter(check: Callable[[Any, str], Any], *, default: Any = MISSING) -> Any:
    """Return a field of a kernel; `check` turns what is given for it, and its name, into its value."""
    return field(default=default, metadata={"check": check})


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(parameter,))
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

    formula = ""  # that of k(x, y), in which parameters stand by their names
    is_linear = False  # whether this is the inner product of the input space itself
    is_precomputed = False  # whether the "points" are rows of a Gram matrix

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, eq=False, repr=False)(cls)  # an immutable value

    def __post_init__(self) -> None:
        for f in fields(self):  # type: ignore[arg-type]
            if "check" in f.metadata:
                value = f.metadata["check"](getattr(self, f.name), f.name)
                object.__setattr__(self, f.name, value)

    # -- what a kernel has to say about itself

    @abstractmethod
    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        """Return the matrix (k(x_i, y_j)); X and Y are matrices of points or lists of them."""

    def _diagonal(self, X: Any) -> np.ndarray:
        """Return the numbers k(x_i, x_i)."""
        step = math.isqrt(len(X))  # as many matrices as each has rows
        blocks = [X[i : i + step] for i in range(0, len(X), step)]
        return np.concatenate([self._matrix(B, B).diagonal() for B in blocks])

    def _formula(self, x: str, y: str) -> str:
        """Return the formula of k(x, y)."""
        return self.formula.format(x=x, y=y, **self._named())

    def _features(self, X: Any, limit: float) -> np.ndarray:
        """Return the features of the points; raise `NoFeatures` rather than form many more than `limit`."""
        raise NoFeatures

    @property
    def positive_definite(self) -> bool | None:
        """True if a proposition says so, False if it is known not to be, None if neither.

        Examples
        --------
        >>> from companion.kernels import Gaussian, Sigmoid
        >>> Gaussian(1.0).exp().positive_definite, Sigmoid().positive_definite
        (True, False)
        """
        kernels = [part for part in self._named().values() if isinstance(part, Kernel)]
        return True if all(k.positive_definite for k in kernels) else None

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
        Y, y_single = (X, x_single) if Y is None else as_points(Y)
        K = self._finite(self._matrix, X, Y)
        if x_single and y_single:
            return K[0, 0].item()
        return K[0] if x_single else K[:, 0] if y_single else K

    def _finite(self, compute: Callable, *points: Any) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            values = compute(*points)
        if not np.isfinite(values).all():
            raise ValueError(f"the values of {self!r} overflow here; scale the data down")
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
        diagonal = self._finite(self._diagonal, X)
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
        limit = limit if limit == math.inf else as_scalar(limit, "limit", at_least=0)
        try:
            Phi = self._finite(self._features, as_points(X)[0], limit)
        except NoFeatures:
            return None
        return Phi if Phi.shape[1] <= limit else None

    # -- the closure rules

    def __add__(self, other: Kernel | float) -> Kernel:
        return Sum(self, other if isinstance(other, Kernel) else Constant(other))

    def __radd__(self, other: float) -> Kernel:
        return Constant(other) + self

    def __mul__(self, other: Kernel | float) -> Kernel:
        return Product(self, other) if isinstance(other, Kernel) else self.__rmul__(other)

    def __rmul__(self, other: float) -> Kernel:
        a = as_scalar(other, "the factor of a kernel (Proposition 17.6 (2))", at_least=0.0)
        return self.polynomial([0.0, a])

    def __truediv__(self, other: float) -> Kernel:
        return self.__rmul__(1.0 / as_scalar(other, "the divisor of a kernel", above=0.0))

    def __pow__(self, exponent: int) -> Kernel:
        m = check_count(exponent, "the exponent of a kernel", at_least=0)
        return self.polynomial([0.0] * m + [1.0])

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
        ValueError: c_1 of Proposition 17.7 (1) must be a finite number >= 0, got -1
        """
        return PolynomialOf(self, coefficients)

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
        return GaussianOf(self, sigma)

    def compose(self, psi: Callable) -> Kernel:
        r"""Return :math:`\kappa(\psi(x), \psi(y))` (Proposition 17.6 (4)).

        Parameters
        ----------
        psi : callable
            Maps one point to a point of this kernel's space.

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
        return Composed(self, psi)

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

    # -- its parameters, by scikit-learn's names

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, with those of the kernels that it is made from: ``"kernel__sigma"``.

        Those of a sum or of a product are ``"k1"`` and ``"k2"``.

        Parameters
        ----------
        deep : bool
            Whether the parameters of parts are included.

        Examples
        --------
        >>> from companion.kernels import Gaussian, Linear
        >>> (Linear() + Gaussian(2.0)).get_params()
        {'k1': <x, y>, 'k2': exp(-|x - y|^2/(2*2^2)), 'k2__sigma': 2.0}
        """
        own = self._named()
        parts = {name: part for name, part in own.items() if deep and isinstance(part, Kernel)}
        inner = [(name, key, v) for name, k in parts.items() for key, v in k.get_params().items()]
        return own | {f"{name}__{key}": value for name, key, value in inner}

    def with_params(self, **params: Any) -> Kernel:
        """Return the kernel with other values of some parameters. A kernel itself never changes.

        An estimator's ``set_params(kernel__sigma=2.0)``, and so a grid search, calls this.

        Parameters
        ----------
        **params
            By the names of :meth:`get_params`.

        Examples
        --------
        >>> from companion.kernels import Gaussian
        >>> (3 * Gaussian(2.0)).with_params(kernel__sigma=1.0)
        3 exp(-|x - y|^2/(2*1^2))
        """
        own = self._named()
        for path, value in params.items():
            name, _, rest = path.partition("__")
            if name not in own or (rest and not isinstance(own[name], Kernel)):
                known = ", ".join(self.get_params()) or "no parameter"
                raise ValueError(f"the kernel {self!r} has {known}, got {path}")
            own[name] = own[name].with_params(**{rest: value}) if rest else value
        return type(self)(**own)

    def _named(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

    def __sklearn_clone__(self) -> Kernel:
        return self

    # -- a value among values

    def __repr__(self) -> str:
        return self._formula("x", "y")

    def __eq__(self, other: Any) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        pairs = zip(self._named().values(), other._named().values())
        return all(np.array_equal(one, another) for one, another in pairs)

    def __hash__(self) -> int:
        return hash((type(self), repr(self)))


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

    formula = "{c:.6g}"
    c: float = parameter(
        lambda c, _: as_scalar(c, "a constant kernel (Example 17.5)", at_least=0.0), default=1.0
    )

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        return np.full((len(X), len(Y)), self.c)

    def _features(self, X: Any, limit: float) -> np.ndarray:
        return np.full((len(X), 1), math.sqrt(self.c))


class Sum(Kernel):
    """The sum of kernels, ``k1 + k2`` (Proposition 17.6 (1)); its feature map concatenates (Example 17.1)."""

    k1: Kernel
    k2: Kernel

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        return self.k1._matrix(X, Y) + self.k2._matrix(X, Y)

    def _features(self, X: Any, limit: float) -> np.ndarray:
        return np.hstack([k._features(X, limit) for k in (self.k1, self.k2)])

    def _formula(self, x: str, y: str) -> str:
        return f"{self.k1._formula(x, y)} + {self.k2._formula(x, y)}"


class Product(Kernel):
    """The pointwise product of kernels, ``k1 * k2`` (Proposition 17.5); features multiply in pairs (Example 17.3)."""

    k1: Kernel
    k2: Kernel

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        return self.k1._matrix(X, Y) * self.k2._matrix(X, Y)

    def _features(self, X: Any, limit: float) -> np.ndarray:
        A, B = (k._features(X, limit) for k in (self.k1, self.k2))
        if A.shape[1] * B.shape[1] > limit:
            raise NoFeatures
        return np.einsum("ij,ik->ijk", A, B).reshape(len(A), -1)

    def _formula(self, x: str, y: str) -> str:
        return f"{term(self.k1._formula(x, y))} * {term(self.k2._formula(x, y))}"


class _OfOne(Kernel):
    """A kernel made from one kernel."""

    kernel: Kernel


def _nonnegative(value: Any, name: str) -> tuple[float, ...]:
    """Return the coefficients of a polynomial of kernels, without zeros at the end."""
    check_kind(value, name, "a list of numbers", np.iterable)
    c = [as_scalar(t, f"c_{j} of Proposition 17.7 (1)", at_least=0.0) for j, t in enumerate(value)]
    return tuple(np.trim_zeros(c, "b")) or (0.0,)


class PolynomialOf(_OfOne):
    """A polynomial with nonnegative coefficients of a kernel (Proposition 17.7 (1)); a multiple, a power is one."""

    coefficients: Sequence[float] = parameter(_nonnegative)

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        return np.polynomial.polynomial.polyval(self.kernel._matrix(X, Y), self.coefficients)

    def _features(self, X: Any, limit: float) -> np.ndarray:
        Phi = self.kernel._features(X, limit)
        terms = [(m, c) for m, c in enumerate(self.coefficients) if c > 0]
        if sum(comb(Phi.shape[1] + m - 1, m) for m, _ in terms) > limit:
            raise NoFeatures
        weighted = [math.sqrt(c) * polynomial_features(Phi, m) for m, c in terms]
        return np.hstack(weighted or [np.zeros((len(Phi), 1))])

    def _formula(self, x: str, y: str) -> str:
        inner = self.kernel._formula(x, y)
        terms = []
        for m, c in enumerate(self.coefficients):
            factor = term(inner) if m == 1 else f"{term(inner, ' /^')}^{m}"
            if c > 0:
                terms.append(f"{c:.6g}" if m == 0 else factor if c == 1 else f"{c:.6g} {factor}")
        return " + ".join(terms) or "0"


class Exp(_OfOne):
    """The exponential of a kernel, ``k.exp()`` (Proposition 17.7 (2))."""

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        return np.exp(self.kernel._matrix(X, Y))

    def _formula(self, x: str, y: str) -> str:
        return f"exp({self.kernel._formula(x, y)})"


class GaussianOf(_OfOne):
    """The Gaussian of the distance in a kernel's feature space, ``k.gaussian(sigma)`` (Problem 17.5)."""

    sigma: float = parameter(partial(as_scalar, above=0.0))

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        p, q = both(self.kernel._diagonal, X, Y)
        if EPS * max(largest(p.real), largest(q.real)) > FEW_DIGITS * self.sigma**2:
            cause = "k(x, x) is too large beside sigma^2; centre the points, or raise sigma"
            raise ValueError(f"the distances of {self!r} are lost in rounding: {cause}")
        squares = p[:, None] + q - 2.0 * self.kernel._matrix(X, Y)
        if not np.iscomplexobj(squares) and self.kernel.positive_definite is True:
            squares = np.maximum(squares, 0.0)  # rounding can make it negative
        return np.exp(-squares / (2.0 * self.sigma**2))

    def _formula(self, x: str, y: str) -> str:
        xx, yy = self.kernel._formula(x, x), self.kernel._formula(y, y)
        return f"exp(-({xx} + {yy} - 2 {term(self.kernel._formula(x, y))})/(2*{self.sigma:.6g}^2))"


class Composed(_OfOne):
    """A kernel of the images of the points, ``k.compose(psi)`` (Proposition 17.6 (4))."""

    psi: Callable = parameter(check_kind)

    def _images(self, X: Any) -> Any:
        return [self.psi(x) for x in X]

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        return self.kernel._matrix(*both(self._images, X, Y))

    def _features(self, X: Any, limit: float) -> np.ndarray:
        return self.kernel._features(self._images(X), limit)

    def _formula(self, x: str, y: str) -> str:
        psi = name_of(self.psi, "phi")
        return self.kernel._formula(f"{psi}({x})", f"{psi}({y})")


class Normalized(_OfOne):
    """The cosine in a kernel's feature space, ``k.normalized()``."""

    def _scale(self, X: Any) -> np.ndarray:
        """Return k(x, x)^(-1/2), and 0 where k(x, x) = 0."""
        diagonal = self.kernel._diagonal(X).real
        if (diagonal < 0).any():
            given = f"{self.kernel!r} has k(x, x) = {diagonal.min():.4g}"
            raise ValueError(f"angles need k(x, x) >= 0 (Proposition 17.2), but {given}")
        if isinstance(X, np.ndarray):  # is k(x, x) zero, or has it underflowed?
            check_range(float(np.abs(X[diagonal < 1e-290]).max(initial=0.0)), "X")
        return np.divide(1.0, np.sqrt(diagonal), out=np.zeros(len(X)), where=diagonal > 0)

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        f, g = both(self._scale, X, Y)
        return f[:, None] * self.kernel._matrix(X, Y) * g

    def _features(self, X: Any, limit: float) -> np.ndarray:
        return self._scale(X)[:, None] * self.kernel._features(X, limit)

    def _formula(self, x: str, y: str) -> str:
        k = self.kernel._formula
        return f"{term(k(x, y))}/sqrt({term(k(x, x))} {term(k(y, y))})"
