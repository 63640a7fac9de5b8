r"""Hilbert bases (Appendix A): waves and Legendre polynomials, Fourier coefficients, Bessel, Parseval.

Everything here holds for orthogonal families that need not be orthonormal: the sums carry the weights
:math:`\|u_k\|^2`. (The text states Bessel's inequality, Parseval's identity and the isometry with
:math:`\ell^2` without them; that is true for orthonormal families only.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import eval_legendre

from companion.arguments import check_kind
from companion.checks import as_array, as_scalar, check_count
from companion.exceptions import complain
from companion.results import Record

Function = Callable[[Any], Any]


class _Family:
    """Functions on an interval with the inner product scale * integral of f conj(g)."""

    interval: tuple[float, float]
    scale: float

    def inner(self, f: Function, g: Function) -> Any:
        r"""Return :math:`\langle f, g \rangle` by adaptive Gauss-Kronrod quadrature.

        Parameters
        ----------
        f, g : callable
            Functions of one point.

        Returns
        -------
        float or complex
            Linear in f, conjugate-linear in g.

        Warns
        -----
        ConvergenceWarning
            If the integral is not found to twelve digits.

        Examples
        --------
        >>> round(Legendre().inner(np.exp, np.exp), 6)
        3.62686
        >>> round(Fourier().inner(np.sign, np.sign), 6)
        1.0
        """
        f, g = check_kind(f, "f"), check_kind(g, "g")
        pairs = ((f, g), (f, f), (g, g))  # the squares say which size is small
        found = self.integrals(lambda x: np.array([u(x) * np.conj(v(x)) for u, v in pairs]))
        return found[0].item()

    def integrals(self, integrand: Function) -> np.ndarray:
        """Return scale times the integral of each entry of a vector of functions."""
        from scipy.integrate import quad_vec  # a third of the time to import this chapter

        asked: Any = {"epsabs": 1e-200, "epsrel": 1e-12, "norm": "max", "limit": 1000}
        found, error, report = quad_vec(integrand, *self.interval, **asked, full_output=True)
        if not report.success:
            complain(f"the integrals may be off by {self.scale * error:.0e}")
        return self.scale * found


@dataclass(frozen=True)
class Fourier(_Family):
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

    >>> wave = expand(np.sign, Fourier(), 3)
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
        return np.exp(1j * np.multiply.outer(as_array(x, "x"), as_array(k, "k")))

    def indices(self, order: int) -> np.ndarray:
        """Return -order, ..., order."""
        return np.arange(-check_count(order, "order", at_least=0), order + 1)

    def norm_squared(self, indices: Any) -> np.ndarray:
        """Return 2 pi times the scale, for each index."""
        return np.full(np.shape(indices), 2.0 * np.pi * self.scale)


@dataclass(frozen=True)
class Legendre(_Family):
    r"""The Legendre polynomials :math:`P_0, P_1, \dots` on [-1, 1], a Hilbert basis of :math:`L^2([-1, 1])`.

    They have :math:`P_n(1) = 1` and :math:`\|P_n\|^2 = 2/(2n+1)`: they are orthogonal, not orthonormal.

    Notes
    -----
    Source: Section A.2. Values come from SciPy, by a stable recurrence: the text's
    explicit sum cancels in floating point.

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
        x, orders = as_array(x, "x"), as_array(k, "k").astype(int)
        return eval_legendre(orders, x.reshape(x.shape + (1,) * orders.ndim))

    def indices(self, order: int) -> np.ndarray:
        """Return 0, ..., order."""
        return np.arange(check_count(order, "order", at_least=0) + 1)

    def norm_squared(self, indices: Any) -> np.ndarray:
        """Return 2/(2n + 1) for each index n."""
        return 2.0 / (2.0 * as_array(indices, "indices") + 1.0)


class Expansion(Record):
    r"""The Fourier coefficients :math:`c_k = \langle v, u_k \rangle / \|u_k\|^2` of v over finitely many :math:`u_k`.

    Calling it gives the partial sum :math:`u_I = \sum_{k \in I} c_k u_k` at points x.

    Parameters
    ----------
    family : Fourier or Legendre
        The family.
    indices : ndarray of int
        The finite index set I.
    coefficients : ndarray
        The :math:`c_k`.
    norm_squared : float
        :math:`\|v\|^2`.

    Examples
    --------
    >>> e = expand(np.abs, Legendre(), 2)
    >>> e.coefficients.round(4) + 0.0, round(e.energy, 4), round(e.norm_squared, 4)
    (array([0.5  , 0.   , 0.625]), 0.6562, 0.6667)
    """

    family: Fourier | Legendre
    indices: np.ndarray
    coefficients: np.ndarray
    norm_squared: float

    def __call__(self, x: Any) -> np.ndarray:
        """Return the partial sum at the points `x`."""
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


def expand(v: Function, family: Fourier | Legendre, order: int) -> Expansion:
    r"""Return the Fourier coefficients of a function over the first vectors of an orthogonal family.

    Parameters
    ----------
    v : callable
        A function of one point. It may have jumps.
    family : Fourier or Legendre
        The family.
    order : int
        The largest index.

    Returns
    -------
    Expansion

    Warns
    -----
    ConvergenceWarning
        If the integrals are not found to twelve digits of the largest.

    Notes
    -----
    Source: Definition A.1 and Proposition A.2.

    Examples
    --------
    >>> e = expand(np.exp, Legendre(), 3)
    >>> e.coefficients.round(4)
    array([1.1752, 1.1036, 0.3578, 0.0705])
    >>> e.energy < e.norm_squared, round(e.squared_distance(), 6)
    (True, 2.2e-05)
    """
    check_kind(v, "v")
    check_kind(family, "family", "Fourier() or Legendre()", lambda f: isinstance(f, _Family))
    indices = family.indices(order)

    def products(x: float) -> np.ndarray:
        value = v(x)
        return value * np.conj(np.append(family(indices, x), value))

    *found, norm_squared = family.integrals(products)
    coefficients = found / family.norm_squared(indices)
    return Expansion(family, indices, coefficients, float(norm_squared.real))
