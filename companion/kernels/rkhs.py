r"""Functions of a reproducing kernel Hilbert space: finite expansions :math:`f = \sum_j \alpha_j \kappa_{x_j}`."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Number
from typing import Any

import numpy as np
from scipy import linalg

from companion.arguments import check_kind
from companion.arithmetic import EPS, ratio
from companion.checks import array_or_list, as_points, check_range, real_or_complex
from companion.exceptions import complain
from companion.kernels.functions import Kernel
from companion.kernels.gram import is_positive_definite
from companion.kernels.vectors import as_kernel
from companion.results import FEW_DIGITS, TOLERANCE


class RKHSFunction:
    r"""A function :math:`f = \sum_{j=1}^p \alpha_j \kappa_{x_j}`, where :math:`\kappa_x(y) = \kappa(x, y)`.

    Functions of the same kernel form a vector space (``f + g``, ``2 * f``, ``f - g``) with the inner product

    .. math::

        \langle f, g \rangle &= \sum_{j,k} \alpha_j \overline{\beta_k}\, \kappa(x_j, y_k), \\
        \langle f, \kappa_x \rangle &= f(x).

    Parameters
    ----------
    kernel : str, Kernel or callable
        A positive definite kernel.
    points : array-like of shape (p, d), or a list of p other points
        The centres :math:`x_j`.
    coefficients : array-like of shape (p,)
        The :math:`\alpha_j`, real or complex.

    Raises
    ------
    ValueError
        If the lengths differ, a coefficient is not finite, or the kernel is known not to be positive
        definite.

    Notes
    -----
    Source: Theorem 17.1 (the space :math:`H_0`), Corollary 17.1; SP Definition 2. The same function has
    many expansions; values, inner products and norms do not depend on which one is at hand.

    Examples
    --------
    >>> from companion.kernels import Gaussian
    >>> f = RKHSFunction(Gaussian(1.0), [[0.0], [1.0]], [2.0, -1.0])
    >>> round(f([0.0]), 6), f([[0.0], [1.0]]).round(6)
    (1.393469, array([1.393469, 0.213061]))
    >>> round(f.norm() ** 2, 6)
    2.573877
    >>> kx = RKHSFunction.section(Gaussian(1.0), [0.5])
    >>> round(f.inner(kx) - f([0.5]), 12)
    0.0
    """

    __array_ufunc__ = None

    def __init__(self, kernel: str | Kernel | Callable, points: Any, coefficients: Any) -> None:
        self.kernel = as_kernel(kernel)
        if self.kernel.positive_definite is False or self.kernel.is_precomputed:
            raise ValueError(f"an RKHS needs a positive definite kernel, got {self.kernel!r}")
        points, single = as_points(points)
        if single:
            raise ValueError("points must be a list of points (a matrix), got a single point")
        coefficients = real_or_complex(coefficients, "coefficients", ndim=1)
        if (given := len(coefficients)) != (p := len(points)):
            raise ValueError(f"{p} points need {p} numbers, got {given}")
        check_range(float(np.abs(coefficients).max()), "coefficients")
        self.points, self.coefficients = points.copy(), coefficients.copy()

    @classmethod
    def section(cls, kernel: str | Kernel | Callable, x: Any) -> RKHSFunction:
        r"""Return :math:`\kappa_x`, the image of the point x under the feature map :math:`\varphi(x) = \kappa_x`.

        Parameters
        ----------
        kernel : str, Kernel or callable
            A positive definite kernel.
        x : array-like of shape (d,), or another point
            One point.

        Examples
        --------
        >>> RKHSFunction.section("linear", [1.0, 2.0])([3.0, 4.0])
        11.0
        """
        return cls(kernel, as_points(x)[0], [1.0])

    @classmethod
    def interpolate(cls, kernel: str | Kernel | Callable, points: Any, values: Any) -> RKHSFunction:
        r"""Return the function of least norm with given values at the points.

        It lies in the span of the :math:`\kappa_{x_i}`. The coefficients solve :math:`K_S \beta = f(S)`
        with the text's Gram matrix :math:`K_S = (\kappa(x_j, x_i))`; where it is singular, be it by rounding
        as for a wide Gaussian on many points, the pseudo-inverse gives the least-squares fit, and a warning says by
        how much it misses the values.

        Parameters
        ----------
        kernel : str, Kernel or callable
            A positive definite kernel.
        points : array-like of shape (p, d), or a list of p other points
            The points.
        values : array-like of shape (p,)
            The values there.

        Raises
        ------
        ValueError
            If the kernel matrix is not positive semidefinite.

        Warns
        -----
        ConvergenceWarning
            If the function misses the values: no function of the space has them, or float64 does not tell.

        Examples
        --------
        >>> f = RKHSFunction.interpolate("rbf", [[0.0], [2.0]], [1.0, -1.0])
        >>> f([[0.0], [2.0], [1.0]]).round(6) + 0.0
        array([ 1., -1.,  0.])
        """
        f = cls(kernel, points, values)
        K, values = f.kernel(f.points).T, f.coefficients
        if not (answer := is_positive_definite(K, TOLERANCE)):
            raise ValueError(f"the kernel is not positive definite here: {answer.reason}")
        f.coefficients = linalg.pinvh(K, rtol=10 * len(K) * EPS) @ values
        size, off = np.abs(values), np.abs(K @ f.coefficients - values)
        reach = np.sqrt(np.abs(K.diagonal())) * f.norm()  # Cauchy-Schwarz: |f(x)| is not larger
        missed = ratio(off, np.minimum(np.maximum(reach, size), size.max())).max()
        if missed > FEW_DIGITS:
            complain(f"the values are missed by {missed:.0e}: the kernel matrix is near singular")
        return f

    def __call__(self, X: Any) -> Any:
        r"""Return the values :math:`f(x) = \sum_j \alpha_j \kappa(x_j, x)`.

        Parameters
        ----------
        X : array-like of shape (n, d), or (d,) for one point, or a list of n other points
            Where to evaluate.

        Returns
        -------
        ndarray of shape (n,), or a number for one point
            The values.
        """
        values = self.coefficients @ self.kernel(self.points, X)
        return values.item() if np.ndim(values) == 0 else values

    def inner(self, other: RKHSFunction) -> Any:
        r"""Return :math:`\langle f, g \rangle = \sum_k \overline{\beta_k} f(y_k)`.

        Parameters
        ----------
        other : RKHSFunction
            g, of the same kernel.

        Returns
        -------
        float or complex
            Linear in f, conjugate-linear in g.

        Examples
        --------
        >>> f = RKHSFunction.section("linear", [1.0, 2.0])
        >>> f.inner(RKHSFunction.section("linear", [3.0, 4.0]))
        11.0
        """
        self._check_same_space(other)
        return np.vdot(other.coefficients, self(other.points)).item()

    def norm(self) -> float:
        r"""Return :math:`\|f\| = \langle f, f \rangle^{1/2}`.

        Where terms cancel, what is below about 1e-8 of them is rounding; 1e-15 for a kernel with explicit features.

        Raises
        ------
        ValueError
            If :math:`\langle f, f \rangle` is negative: the kernel is not positive definite.

        Examples
        --------
        >>> RKHSFunction.section("linear", [3.0, 4.0]).norm()
        5.0
        """
        Phi = self.kernel.features(self.points, limit=1000)  # 8 kB a point
        if Phi is not None:  # the function is a vector, and nothing is squared before it cancels
            return float(np.linalg.norm(self.coefficients @ Phi))
        square = complex(self.inner(self)).real
        lengths = np.sqrt(np.abs(self.kernel.diagonal(self.points)))
        if square < -TOLERANCE * float(np.abs(self.coefficients) @ lengths) ** 2:
            raise ValueError(f"{self.kernel!r} is not positive definite: <f, f> = {square:.3g}")
        return math.sqrt(max(square, 0.0))

    def distance(self, other: RKHSFunction) -> float:
        r"""Return :math:`\|f - g\|`, zero when f and g are the same function.

        Functions that differ by less than about 1e-8 of their norms are the same up to rounding; 1e-15 for a kernel
        with explicit features.

        Parameters
        ----------
        other : RKHSFunction
            g, of the same kernel.

        Examples
        --------
        Two expansions of one function, since :math:`\kappa_{(1,0)} + \kappa_{(0,1)} = \kappa_{(1,1)}` for
        the linear kernel:

        >>> f = RKHSFunction("linear", [[1, 0], [0, 1]], [1, 1])
        >>> f.distance(RKHSFunction.section("linear", [1, 1]))
        0.0
        """
        return (self - other).norm()

    def project(self, points: Any) -> RKHSFunction:
        r"""Return the projection :math:`f_S` of f onto the span of :math:`\kappa_{x_1}, \dots, \kappa_{x_n}`.

        It has the values of f at the points, and no function with these values has a smaller norm. This is
        the step that proves the representer theorem: replacing f by :math:`f_S` changes no loss at the data
        and does not raise the norm.

        Parameters
        ----------
        points : array-like of shape (n, d), or a list of n other points
            The data.

        Notes
        -----
        Source: SP Theorem 1.5.

        Examples
        --------
        >>> f = RKHSFunction("rbf", [[0.0], [3.0]], [1.0, 1.0])
        >>> S = [[1.0], [2.0]]
        >>> fS = f.project(S)
        >>> abs(f(S) - fS(S)).round(10), fS.norm() <= f.norm()
        (array([0., 0.]), True)
        """
        return RKHSFunction.interpolate(self.kernel, points, self(points))

    # -- the vector space

    def _check_same_space(self, other: RKHSFunction) -> None:
        check_kind(other, "other", "an RKHSFunction", lambda f: isinstance(f, RKHSFunction))
        if other.kernel != self.kernel:
            raise ValueError(f"functions of two spaces, with {self.kernel!r} and {other.kernel!r}")

    def __add__(self, other: RKHSFunction) -> RKHSFunction:
        self._check_same_space(other)
        points = array_or_list([*self.points, *other.points])
        return RKHSFunction(self.kernel, points, np.append(self.coefficients, other.coefficients))

    def __mul__(self, a: complex) -> RKHSFunction:
        check_kind(a, "the factor of a function", "a number", lambda a: isinstance(a, Number))
        return RKHSFunction(self.kernel, self.points, a * self.coefficients)

    __rmul__ = __mul__

    def __sub__(self, other: RKHSFunction) -> RKHSFunction:
        return self + -1.0 * other

    def __repr__(self) -> str:
        p = len(self.coefficients)
        return f"RKHSFunction: {p} term{'s' * (p != 1)} a_j k(x_j, .), k(x, y) = {self.kernel!r}"
