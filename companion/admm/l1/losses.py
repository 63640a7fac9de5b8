"""Smooth convex losses: least squares, logistic, and one of your own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import entr, expit

from companion.admm.l1.loop import largest, rows_of
from companion.checks import as_matrix, as_scalar, as_vector

__all__ = ["LeastSquaresLoss", "LogisticLoss", "SmoothLoss"]


class SmoothLoss(ABC):
    r"""A convex, twice differentiable loss l on R^n, for :func:`l1_regularized`.

    Define :meth:`value`, :meth:`gradient` and :meth:`hessian`, and set `n`. The rest has defaults.

    Attributes
    ----------
    n : int
        Number of coefficients.
    curvature : float
        Typical eigenvalue of the Hessian: the default penalty parameter rho.
    """

    n: int
    curvature: float = 1.0

    def _point(self, x: Any, name: str = "x") -> np.ndarray:
        """Return a point of R^n as an array; what an iteration makes is one, and may have diverged."""
        if type(x) is np.ndarray and x.dtype == np.float64 and x.shape == (self.n,):
            return x
        return as_vector(x, name, self.n)

    @abstractmethod
    def value(self, x: np.ndarray) -> float:
        """Return l(x)."""

    @abstractmethod
    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return the gradient of l at x, of shape (n,)."""

    @abstractmethod
    def hessian(self, x: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Return the rows and columns S (an integer array) of the Hessian of l at x."""

    def dual_value(self, x: np.ndarray, shrink: float) -> float:
        r"""Return a dual objective value at x.

        The default is :math:`-l^*(\nabla l(x)) = l(x) - \nabla l(x)^\top x`. A loss of the form
        :math:`\phi(A x)` can do better and return :math:`-\phi^*(t \nabla\phi(A x))`, t = `shrink`, which makes the
        multiplier exactly feasible.
        """
        return float(self.value(x) - self.gradient(x) @ x)

    def gain(self, x: np.ndarray, S: np.ndarray) -> float:
        """Return by how much l falls, as far as its Hessian tells, when the entries S of x are chosen anew.

        The certificate adds it to the gap for entries without penalty: their gradient has to be 0, and how small it
        must be depends on the curvature along them.
        """
        H, g = self.hessian(x, S), self.gradient(x)[S]
        root = np.sqrt(np.abs(H.diagonal()))
        root = np.where(root > 0, root, 1.0)
        H, g = H / root / root[:, None], g / root
        return float(g @ linalg.lstsq(H, g, lapack_driver="gelsy", check_finite=False)[0]) / 2

    def prox(self, v: np.ndarray, rho: float) -> np.ndarray:
        r"""Return :math:`\arg\min_x l(x) + (\rho/2)\|x - v\|_2^2`, by Newton's method with step halving."""
        v, rho = as_vector(v, "v", self.n), as_scalar(rho, "rho", above=0.0)
        x, everything = v.copy(), np.arange(v.size)

        def F(x: np.ndarray) -> float:
            return self.value(x) + rho / 2 * float((x - v) @ (x - v))

        for _ in range(50):
            g = self.gradient(x) + rho * (x - v)
            H = self.hessian(x, everything)
            H[np.diag_indices_from(H)] += rho
            d = -linalg.solve(H, g, assume_a="pos")
            slope, t, now = float(g @ d), 1.0, F(x)
            while F(x + t * d) > now + 1e-4 * t * slope and t > 1e-10:
                t /= 2
            x = x + t * d
            if -slope <= 1e-20 * abs(now) or t <= 1e-10:
                break
        return x


class LeastSquaresLoss(SmoothLoss):
    r"""The loss ``l(x) = 1/2 |A x - b|^2``.

    Parameters
    ----------
    A : array-like of shape (m, n)
        Data.
    b : array-like of shape (m,)
        Targets.

    Notes
    -----
    Source: Section 16.8(4). The x-update :math:`(A^\top A + \rho I)^{-1}(A^\top b + \rho v)` looks like a ridge
    regression. The matrix is factored once for each value of rho. For fewer rows than columns the
    m x m matrix :math:`A A^\top + \rho I` is factored instead, by

    .. math:: & (A^\top A + \rho I)^{-1} w \\
              & \quad = \bigl(w - A^\top (A A^\top + \rho I)^{-1} A w\bigr) / \rho.

    Examples
    --------
    >>> loss = LeastSquaresLoss([[2, 0], [0, 1]], [3, 1])
    >>> loss.prox(np.zeros(2), 1.0).round(4)
    array([1.2, 0.5])
    """

    def __init__(self, A: Any, b: Any) -> None:
        self.A = as_matrix(A, "A")
        self.b = as_vector(b, "b", rows_of(self.A))
        self.m, self.n = self.A.shape
        check_squares(self.A, "A")
        check_squares(self.b, "b")
        self.A_b = self.A.T @ self.b
        self.skinny = self.m >= self.n
        self.gram = self.A.T @ self.A if self.skinny else self.A @ self.A.T
        self.curvature = float(np.trace(self.gram)) / self.n
        self._factor: tuple[float, Any] = (np.nan, None)

    def value(self, x: np.ndarray) -> float:
        """Return ``1/2 |A x - b|^2``."""
        r = self.A @ self._point(x) - self.b
        return float(r @ r) / 2

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return A'(A x - b)."""
        return self.A.T @ (self.A @ self._point(x) - self.b)

    def hessian(self, x: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Return the rows and columns S of A'A."""
        return self.gram[np.ix_(S, S)] if self.skinny else self.A[:, S].T @ self.A[:, S]

    def gain(self, x: np.ndarray, S: np.ndarray) -> float:
        """Return by how much l falls when the entries S of x are chosen anew."""
        A = self.A[:, S]
        norms = np.sqrt(np.einsum("ij,ij->j", A, A))
        A, r = A / np.where(norms > 0, norms, 1.0), self.b - self.A @ x
        fit = A @ linalg.lstsq(A, r, lapack_driver="gelsy", check_finite=False)[0]
        return float(fit @ fit) / 2

    def dual_value(self, x: np.ndarray, shrink: float) -> float:
        """Return ``1/2 |b|^2 - 1/2 |b - t r|^2`` at the residual ``r = b - A x``, with t = shrink."""
        r = shrink * (self.b - self.A @ x)
        return float(r @ (self.b - r / 2))

    def prox(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return the x-update (A'A + rho I)^{-1} (A'b + rho v)."""
        v, rho = self._point(v, "v"), as_scalar(rho, "rho", above=0.0)
        if self._factor[0] != rho:
            ridge = self.gram + rho * np.eye(len(self.gram))
            self._factor = rho, factored(ridge, rho)
        w = self.A_b + rho * v
        if self.skinny:
            return linalg.cho_solve(self._factor[1], w, check_finite=False)
        return (
            w - self.A.T @ linalg.cho_solve(self._factor[1], self.A @ w, check_finite=False)
        ) / rho


class LogisticLoss(SmoothLoss):
    r"""The logistic loss l(x) = sum_i log(1 + exp(-y_i a_i'x)) with labels y_i = +1 or -1.

    Parameters
    ----------
    A : array-like of shape (m, n)
        Data, one point :math:`a_i` per row.
    y : array-like of shape (m,)
        Labels, +1 or -1.

    Notes
    -----
    Source: Section 16.8(3) names a general loss and a version of Newton's method; this is the example worked here.

    Examples
    --------
    >>> loss = LogisticLoss([[1.0], [2.0], [-1.0]], [1, 1, -1])
    >>> round(loss.value(np.zeros(1)), 4), loss.gradient(np.zeros(1))
    (2.0794, array([-2.]))
    """

    def __init__(self, A: Any, y: Any) -> None:
        A = as_matrix(A, "A")
        self.y = as_vector(y, "y", rows_of(A))
        if not np.isin(self.y, (-1.0, 1.0)).all():
            bad = self.y[~np.isin(self.y, (-1.0, 1.0))][0]
            raise ValueError(f"y must hold labels +1 and -1, got {bad:g}")
        check_squares(A, "A")
        self.A = self.y[:, None] * A  # rows y_i a_i
        self.n = A.shape[1]
        self.curvature = float(np.sum(A**2)) / (4 * self.n)

    def value(self, x: np.ndarray) -> float:
        """Return sum_i log(1 + exp(-y_i a_i'x))."""
        return float(np.logaddexp(0, -(self.A @ self._point(x))).sum())

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return -sum_i p_i y_i a_i with p_i = 1 / (1 + exp(y_i a_i'x))."""
        return -self.A.T @ expit(-(self.A @ self._point(x)))

    def hessian(self, x: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Return the rows and columns S of A' diag(p (1 - p)) A."""
        t, A = self.A @ x, self.A[:, S]
        return (A.T * (expit(t) * expit(-t))) @ A

    def dual_value(self, x: np.ndarray, shrink: float) -> float:
        """Return the sum of the entropies of t p_i, with t = shrink."""
        p = shrink * expit(-(self.A @ x))
        return float((entr(p) + entr(1 - p)).sum())


def factored(ridge: np.ndarray, rho: float) -> Any:
    """Return the Cholesky factor of A'A + rho I in its place, or raise an error if rho is lost in rounding."""
    size = float(np.trace(ridge)) / max(len(ridge), 1)
    try:
        return linalg.cho_factor(ridge, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        raise ValueError(
            f"rho = {rho:g} is too small: beside A'A, whose diagonal is about {size:.3g}, it is lost in rounding; "
            "raise rho, or leave it out"
        ) from None


class ProximalLoss:
    """A loss of which only the proximal operator is known."""

    def __init__(self, prox: Callable[[np.ndarray, float], np.ndarray], n: int) -> None:
        self.prox, self.n, self.curvature = prox, n, 1.0


def check_squares(data: np.ndarray, name: str, *, smallest: float = 1e-150) -> None:
    """Raise an error if the squares of the data are beyond the floating-point numbers."""
    size = largest(data)
    if size and not smallest <= size <= 1e150:
        low = f"between {smallest:g} and" if smallest else "at most"
        raise ValueError(
            f"{name} is squared, so its largest entry must be {low} 1e150 in size, got {size:.3g}; "
            f"multiply {name} by a constant"
        )
