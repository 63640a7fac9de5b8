r"""Hilbert bases (Appendix A): orthogonal families, Fourier coefficients, Bessel, Parseval, best approximation.

Everything here holds for orthogonal families that need not be orthonormal: the sums carry the weights
:math:`\|u_k\|^2`. (The text states Bessel's inequality, Parseval's identity and the isometry with
:math:`\ell^2` without them; that is true for orthonormal families only.)
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import factorial
from typing import Any

import numpy as np
from scipy.integrate import fixed_quad
from scipy.linalg import null_space
from scipy.special import eval_legendre

from companion.arithmetic import apart, ratio
from companion.checks import (
    as_array,
    as_scalar,
    as_vector,
    check_count,
    check_range,
    real_or_complex,
)
from companion.exceptions import ConvergenceWarning
from companion.results import Record

__all__ = [
    "Expansion", "Fourier", "Legendre", "VectorFamily", "expand", "largest_finite_sum",
    "orthogonal_complement", "orthogonalize", "rearranged",
]  # fmt: skip

Function = Callable[[np.ndarray], Any]

_RESOLVED = 1e-6  # relative change of an integral with the number of nodes that raises no warning


def _as_indices(value: Any, least: int = -(2**53)) -> np.ndarray:
    """Return indices as integers, or raise an error that says what they must be."""
    number = as_array(value, "indices")
    wrong = (number != np.round(number)) | (number < least) | (number > 2**53)
    if wrong.any():
        given = number[wrong].flat[0]
        text, _ = apart(given, float(np.round(given)))
        raise ValueError(f"indices must be integers >= {least}, got {text}")
    return number.astype(np.int64)


# --- families -------------------------------------------------------------------------------------


class _FunctionFamily(ABC):
    """Functions on an interval with the inner product scale * integral of f conj(g)."""

    interval: tuple[float, float]
    scale: float

    @abstractmethod
    def __call__(self, k: Any, x: Any) -> np.ndarray:
        """Return u_k(x), with an axis for each argument that is an array."""

    def inner(
        self, f: Function, g: Function, *, degree: int = 64, breaks: Sequence[float] = ()
    ) -> Any:
        r"""Return :math:`\langle f, g \rangle` by Gauss-Legendre quadrature.

        Parameters
        ----------
        f, g : callable
            Functions of an array of points.
        degree : int
            How fast they oscillate: the index of the fastest :math:`u_k` that resolves them.
        breaks : sequence of float
            Where they or their derivatives jump. Quadrature between the breaks keeps its accuracy.

        Returns
        -------
        float or complex
            Linear in f, conjugate-linear in g.

        Warns
        -----
        ConvergenceWarning
            If twice as many nodes change the result.

        Examples
        --------
        >>> round(Legendre().inner(np.exp, np.exp), 6)
        3.62686
        >>> round(Fourier().inner(np.sign, np.sign, breaks=[0.0]), 6)
        1.0
        """
        degree = check_count(degree, "degree", at_least=0)
        products, _ = self._integrate(f, lambda x: _values(g, x)[:, None], degree, breaks, 3)
        return products[0].item()

    def _inner_products(
        self, v: Function, indices: np.ndarray, breaks: Sequence[float]
    ) -> tuple[np.ndarray, float]:
        degree = int(np.abs(indices).max(initial=16))
        return self._integrate(v, lambda x: self(indices, x), degree, breaks, 4)

    def _integrate(
        self, v: Function, u: Function, degree: int, breaks: Sequence[float], stacklevel: int
    ) -> tuple[np.ndarray, float]:
        r"""Return :math:`\langle v, u_k \rangle` for the columns of u, and :math:`\|v\|^2`, by quadrature."""
        a, b = self.interval
        inside = [as_scalar(c, "breaks", above=a, below=b) for c in as_vector(breaks, "breaks")]
        ends = np.unique([a, *inside, b])

        def integrands(x: np.ndarray) -> np.ndarray:
            """Return the products with v, a row for each, and below them their absolute values."""
            values = _values(v, x)
            products = self.scale * values * np.vstack([u(x).T, values]).conj()
            return np.vstack([products, np.abs(products)])

        def integrals(n: int) -> np.ndarray:
            """Return the integrals of the products and of their absolute values, with n nodes between the breaks."""
            pieces = [fixed_quad(integrands, *piece, n=n)[0] for piece in pairwise(ends)]
            return np.sum(pieces, axis=0).reshape(2, -1)

        (found, size), (finer, finer_size) = integrals(64 + 4 * degree), integrals(128 + 8 * degree)
        scale = np.maximum(size.real, finer_size.real)
        change = float(ratio(np.abs(finer - found), scale).max())
        if change > _RESOLVED:
            warnings.warn(
                f"integrals are known to {change:.0e} of their size: give breaks at jumps and kinks",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )
        return found[:-1], float(found[-1].real)


def _values(f: Function, x: np.ndarray) -> np.ndarray:
    values = np.asarray(f(x))
    if values.shape not in ((), x.shape):
        raise ValueError(f"a function must have one value per point, got shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("the function must be finite at the points of the quadrature")
    check_range(float(np.abs(values).max()), "the function", tiny=True)
    return np.broadcast_to(values, x.shape)


@dataclass(frozen=True)
class Fourier(_FunctionFamily):
    r"""The family :math:`u_k(x) = e^{ikx}`, :math:`k \in \mathbb{Z}`, on :math:`[-\pi, \pi]`: a Hilbert basis.

    Parameters
    ----------
    scale : float
        Factor of the inner product :math:`\langle f, g \rangle = s \int_{-\pi}^{\pi} f \bar g`. The default
        :math:`1/(2\pi)` makes the family orthonormal; with 1, the text's choice, :math:`\|u_k\|^2 = 2\pi`.

    Notes
    -----
    Source: Section A.2, the space :math:`L^2(\mathbb{T})`. The :math:`c_k` do not depend on the scale.

    Examples
    --------
    The square wave: :math:`c_k = 2/(i \pi k)` for odd k.

    >>> wave = expand(np.sign, Fourier(), 3, breaks=[0.0])
    >>> wave.coefficients[4:].imag.round(4) + 0.0
    array([-0.6366,  0.    , -0.2122])
    >>> round(float(wave(np.pi / 2).real), 4)
    0.8488
    """

    scale: float = 1.0 / (2.0 * np.pi)
    interval = (-np.pi, np.pi)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", as_scalar(self.scale, "scale", above=0.0))

    def __call__(self, k: Any, x: Any) -> np.ndarray:
        """Return exp(i k x), with an axis for each argument that is an array."""
        return np.exp(1j * np.multiply.outer(as_array(x, "x"), _as_indices(k)))

    def indices(self, order: int) -> np.ndarray:
        """Return -order, ..., order."""
        order = check_count(order, "order", at_least=0)
        return np.arange(-order, order + 1)

    def norm_squared(self, indices: Any) -> np.ndarray:
        """Return 2 pi times the scale, for each index."""
        return np.full(np.shape(indices), 2.0 * np.pi * self.scale)


@dataclass(frozen=True)
class Legendre(_FunctionFamily):
    r"""The Legendre polynomials :math:`P_0, P_1, \dots` on [-1, 1], a Hilbert basis of :math:`L^2([-1, 1])`.

    They have :math:`P_n(1) = 1` and :math:`\|P_n\|^2 = 2/(2n+1)`: they are orthogonal, not orthonormal.

    Notes
    -----
    Source: Section A.2. Values come from SciPy, by a stable recurrence. The text's explicit sum
    (:meth:`polynomial`) is exact but cancels in floating point.

    Examples
    --------
    >>> Legendre()(np.arange(4), 0.5)
    array([ 1.    ,  0.5   , -0.125 , -0.4375])
    >>> series = expand(np.exp, Legendre(), 4)
    >>> round(float(series(0.5)), 4), round(float(np.exp(0.5)), 4)
    (1.6486, 1.6487)
    """

    interval = (-1.0, 1.0)
    scale = 1.0

    def __call__(self, k: Any, x: Any) -> np.ndarray:
        """Return the polynomials k at x, with an axis for each argument that is an array."""
        x, k = as_array(x, "x"), _as_indices(k, least=0)
        return eval_legendre(k, x[(..., *[None] * k.ndim)])

    def indices(self, order: int) -> np.ndarray:
        """Return 0, ..., order."""
        return np.arange(check_count(order, "order", at_least=0) + 1)

    def norm_squared(self, indices: Any) -> np.ndarray:
        """Return 2/(2n + 1) for each index n."""
        return 2.0 / (2.0 * np.asarray(indices) + 1.0)

    @staticmethod
    def polynomial(n: int) -> list[Fraction]:
        r"""Return the exact coefficients of :math:`P_n`, that of :math:`x^0` first.

        .. math::

            & P_n(x) = \sum_{0 \le k \le n/2} (-1)^k \\
            & \qquad \frac{(2(n-k))!}{2^n (n-k)!\, k!\, (n-2k)!}\, x^{n-2k}

        Examples
        --------
        >>> [str(c) for c in Legendre.polynomial(3)]
        ['0', '-3/2', '0', '5/2']
        """
        n = check_count(n, "n", at_least=0)
        c = [Fraction(0)] * (n + 1)
        for k in range(n // 2 + 1):
            below = 2**n * factorial(n - k) * factorial(k) * factorial(n - 2 * k)
            c[n - 2 * k] = Fraction((-1) ** k * factorial(2 * (n - k)), below)
        return c


class VectorFamily:
    r"""Orthogonal vectors of :math:`\mathbb{R}^n` or :math:`\mathbb{C}^n`, the rows of a matrix.

    Parameters
    ----------
    U : array-like of shape (m, n)
        Nonzero, pairwise orthogonal rows.

    Raises
    ------
    ValueError
        If a row is zero or two rows are not orthogonal.

    Examples
    --------
    The family need not be orthonormal. Here :math:`c_0 = 2`, and Bessel's inequality needs the weight
    :math:`\|u_0\|^2 = 1/4`:

    >>> e = expand([1.0, 0.0], VectorFamily([[0.5, 0.0]]))
    >>> e.coefficients, e.energy, e.norm_squared
    (array([2.]), 1.0, 1.0)
    """

    def __init__(self, U: Any) -> None:
        self.U = real_or_complex(U, "U").copy()
        if self.U.size == 0:
            raise ValueError(
                f"U must have at least one row, and a column, got shape {self.U.shape}"
            )
        norms = np.linalg.norm(self.U, axis=1)
        if (norms == 0).any():
            raise ValueError(
                f"vectors of an orthogonal family are not 0, row {np.argmin(norms)} is zero"
            )
        V = self.U / norms[:, None]
        cosines = np.abs(V @ V.conj().T - np.eye(len(V)))
        if cosines.max() > 1e-10:
            i, j = np.unravel_index(np.argmax(cosines), cosines.shape)
            raise ValueError(
                f"rows {i} and {j} are not orthogonal, with cosine {cosines[i, j]:.3g}"
            )

    def __call__(self, k: Any, x: None = None) -> np.ndarray:
        """Return the vectors u_k, one per column."""
        return self.U[k].T

    def indices(self, order: int | None = None) -> np.ndarray:
        """Return the first `order` indices, or all."""
        return np.arange(len(self.U))[:order]

    def norm_squared(self, indices: Any) -> np.ndarray:
        """Return the squared norms of the rows."""
        return (np.abs(self.U[indices]) ** 2).sum(axis=-1)

    def _inner_products(
        self, v: Any, indices: np.ndarray, breaks: Sequence[float]
    ) -> tuple[np.ndarray, float]:
        v = real_or_complex(v, "v", ndim=1)
        if v.shape != self.U.shape[1:]:
            raise ValueError(f"v must have length {self.U.shape[1]}, got shape {v.shape}")
        return self.U[indices].conj() @ v, float(np.vdot(v, v).real)


# --- expansions -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Expansion(Record):
    r"""The Fourier coefficients :math:`c_k = \langle v, u_k \rangle / \|u_k\|^2` of v over finitely many :math:`u_k`.

    Calling it gives the partial sum :math:`u_I = \sum_{k \in I} c_k u_k`: at points x for functions, as a
    vector without argument.

    Parameters
    ----------
    family : Fourier, Legendre or VectorFamily
        The family.
    indices : ndarray of int
        The finite index set I.
    coefficients : ndarray
        The :math:`c_k`.
    norm_squared : float
        :math:`\|v\|^2`.

    Examples
    --------
    >>> e = expand([3.0, 4.0], VectorFamily([[1.0, 1.0]]))
    >>> e(), e.energy, e.norm_squared, e.squared_distance()
    (array([3.5, 3.5]), 24.5, 25.0, 0.5)
    """

    family: Fourier | Legendre | VectorFamily
    indices: np.ndarray
    coefficients: np.ndarray
    norm_squared: float

    def __call__(self, x: Any = None) -> np.ndarray:
        """Return the partial sum, at the points `x` for functions."""
        return self.family(self.indices, x) @ self.coefficients

    @property
    def energy(self) -> float:
        r""":math:`\|u_I\|^2 = \sum_{k \in I} |c_k|^2 \|u_k\|^2`, at most :math:`\|v\|^2` (Bessel, Proposition A.2)."""
        return float(np.abs(self.coefficients) ** 2 @ self.family.norm_squared(self.indices))

    def squared_distance(self) -> float:
        r"""Return :math:`\|v - u_I\|^2 = \|v\|^2 - \sum_{k \in I} |c_k|^2 \|u_k\|^2`.

        No other combination of the :math:`u_k` is nearer to v. What is below about 1e-15 of :math:`\|v\|^2` is
        rounding.

        Notes
        -----
        Source: the proof of Proposition A.2: :math:`v - u_I` is orthogonal to all :math:`u_k`, so the
        squared distance to any other combination is larger by :math:`\sum_k |\lambda_k - c_k|^2 \|u_k\|^2`.
        """
        return max(self.norm_squared - self.energy, 0.0)

    def inner(self, other: Expansion) -> Any:
        r"""Return :math:`\sum_k c_k \overline{d_k} \|u_k\|^2`, by Parseval equal to :math:`\langle v, w \rangle`.

        For v and w in the closed span of the family (Proposition A.4, with the weights it needs).

        Parameters
        ----------
        other : Expansion
            The expansion of w over the same family and index set.

        Examples
        --------
        >>> U = VectorFamily([[2.0, 0.0], [0.0, 3.0]])
        >>> expand([1.0, 2.0], U).inner(expand([3.0, 4.0], U))
        11.0
        """
        if self.family != other.family or not np.array_equal(self.indices, other.indices):
            raise ValueError("both expansions must have the same family and the same index set")
        weights = self.family.norm_squared(self.indices)
        return np.vdot(other.coefficients, weights * self.coefficients).item()

    def restrict(self, indices: Iterable[int]) -> Expansion:
        """Return the expansion over a part of the index set.

        Parameters
        ----------
        indices : iterable of int
            The part to keep.

        Examples
        --------
        >>> expand([3.0, 4.0], VectorFamily(np.eye(2))).restrict([1])()
        array([0., 4.])
        """
        wanted = list(indices)
        if strange := set(wanted) - set(self.indices.tolist()):
            raise ValueError(f"indices must be in the index set of the expansion, got {strange}")
        kept = np.isin(self.indices, wanted)
        return replace(self, indices=self.indices[kept], coefficients=self.coefficients[kept])


def expand(
    v: Any,
    family: Fourier | Legendre | VectorFamily,
    order: int | None = None,
    *,
    breaks: Sequence[float] = (),
) -> Expansion:
    r"""Compute the Fourier coefficients :math:`c_k = \langle v, u_k \rangle / \|u_k\|^2`.

    Parameters
    ----------
    v : callable, or array-like of shape (n,)
        A function of an array of points for a family of functions; a vector for a `VectorFamily`.
    family : Fourier, Legendre or VectorFamily
        The family.
    order : int
        :math:`|k| \le` order for `Fourier`, :math:`k \le` order for `Legendre`, the first `order` vectors
        (default all) for a `VectorFamily`.
    breaks : sequence of float
        Points inside the interval where the function or a derivative jumps.

    Returns
    -------
    Expansion
        The coefficients and, by calling it, the partial sum.

    Warns
    -----
    ConvergenceWarning
        If twice as many nodes change an integral: a jump or a kink that is no break, or a function that varies fast.

    Notes
    -----
    Source: Definition A.1, Propositions A.2 and A.5. Integrals are computed by Gauss-Legendre quadrature
    between the breaks, with enough nodes for the fastest :math:`u_k`: 64 + 4 max|k|.

    Examples
    --------
    >>> e = expand(np.exp, Legendre(), 6)
    >>> e.energy <= e.norm_squared, e.squared_distance() < 1e-8
    (True, True)
    """
    if isinstance(family, _FunctionFamily):
        if not callable(v):
            raise TypeError(f"v must be a function for {family}, got {type(v).__name__}")
        if order is None:
            raise TypeError("order is needed: a family of functions is infinite")
    indices = family.indices(order)  # type: ignore[arg-type]
    products, norm_squared = family._inner_products(v, indices, breaks)
    return Expansion(family, indices, products / family.norm_squared(indices), norm_squared)


# --- finite dimension -----------------------------------------------------------------------------


def orthogonalize(V: Any, *, tol: float = 1e-10) -> np.ndarray:
    r"""Return orthonormal rows with the span of the rows of V (Gram-Schmidt), dropping dependent ones.

    ``orthogonalize([*U, *np.eye(n)])`` extends an orthonormal family U to a Hilbert basis: Proposition A.7
    in finite dimension.

    Parameters
    ----------
    V : array-like of shape (m, n)
        Vectors, one per row, real or complex.
    tol : float
        A vector counts as dependent when less than this fraction of it remains.

    Returns
    -------
    ndarray of shape (rank, n)
        Orthonormal rows.

    Examples
    --------
    >>> orthogonalize([[3, 4], [6, 8], [0, 1]]).round(6)
    array([[ 0.6,  0.8],
           [-0.8,  0.6]])
    """
    V = real_or_complex(V, "V")
    Q = np.empty((0, V.shape[1]), dtype=V.dtype)
    for v in V:
        rest = v
        for _ in range(2):  # the second pass removes what rounding left of the first
            rest = rest - (Q.conj() @ rest) @ Q
        size = np.linalg.norm(rest)
        if size > tol * np.linalg.norm(v):
            Q = np.vstack([Q, rest / size])
    return Q


def orthogonal_complement(V: Any) -> np.ndarray:
    r"""Return orthonormal rows that span :math:`V^\perp`, the vectors orthogonal to all rows of V.

    Parameters
    ----------
    V : array-like of shape (m, n)
        Any vectors, one per row.

    Returns
    -------
    ndarray of shape (n - rank, n)
        An orthonormal basis; no rows when V spans the space.

    Notes
    -----
    Source: Problem A.2. :math:`V^{\perp\perp}` is the closure of the *span* of V. The text says the closure
    of V, which is right for a subspace only: :math:`\{e_1\}^{\perp\perp} = \mathbb{R} e_1`.

    Examples
    --------
    >>> complement = orthogonal_complement([[1.0, 0.0]])
    >>> abs(complement), abs(orthogonal_complement(complement))
    (array([[0., 1.]]), array([[1., 0.]]))
    """
    V = real_or_complex(V, "V")
    sizes = np.linalg.norm(V, axis=1)  # lengths do not matter
    return null_space(V[sizes > 0.0] / sizes[sizes > 0.0, None]).conj().T


# --- summable families ----------------------------------------------------------------------------


def largest_finite_sum(terms: Any) -> float:
    r"""Return :math:`\max_J |\sum_{j \in J} u_j|` over all subsets J of finitely many real terms.

    A family is a Cauchy family when this is small for the terms outside some finite set.

    Parameters
    ----------
    terms : array-like of shape (n,)
        Real numbers.

    Notes
    -----
    Source: Definition A.2, Proposition A.1. The best J takes all positive terms or all negative ones: so a
    real family is summable if and only if it is absolutely summable. The tails of :math:`1/k^2` pass, those
    of :math:`(-1)^k/k` do not, although the series converges.

    Examples
    --------
    >>> k = np.arange(101, 100001)
    >>> round(largest_finite_sum(1 / k**2), 4), round(largest_finite_sum((-1.0)**k / k), 4)
    (0.0099, 3.4539)
    """
    terms = as_vector(terms, "terms")
    return float(max(terms[terms > 0].sum(), -terms[terms < 0].sum(), 0.0))


def rearranged(terms: Any, target: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Rearrange a conditionally convergent series so that it converges to a target.

    While the sum is at most the target, take the next unused nonnegative term, otherwise the next negative
    one.

    Parameters
    ----------
    terms : array-like of shape (n,)
        The first terms of the series.
    target : float
        Where the rearranged series is to converge.
    count : int
        Number of terms to take.

    Returns
    -------
    order : ndarray of int of shape (count,)
        Indices of the terms taken, each at most once.
    partial_sums : ndarray of shape (count,)
        Their running sums.

    Raises
    ------
    ValueError
        If the terms of one sign run out.

    Examples
    --------
    >>> k = np.arange(1, 10001)
    >>> order, sums = rearranged((-1.0)**k / k, 1.0, 500)
    >>> (order[:5] + 1).tolist(), round(float(sums[-1]), 2)
    ([2, 4, 6, 8, 1], 0.98)
    """
    terms, target = as_vector(terms, "terms"), as_scalar(target, "target")
    count = check_count(count, "count")
    waiting = {
        below: np.flatnonzero((terms >= 0) == below).tolist()[::-1] for below in (True, False)
    }
    order, total = np.empty(count, dtype=np.intp), 0.0
    for step in range(count):
        below = total <= target
        if not waiting[below]:
            sign = "nonnegative" if below else "negative"
            raise ValueError(f"the {sign} terms ran out after {step} steps; give more terms")
        order[step] = waiting[below].pop()
        total += terms[order[step]]
    return order, np.cumsum(terms[order])
