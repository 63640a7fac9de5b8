"""Smooth convex losses: least squares, logistic, and one of your own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import expit

from companion.admm.l1.problem import rows_of
from companion.checks import as_matrix, as_scalar, as_vector
from companion.engine.arithmetic import largest

__all__ = ["LeastSquaresLoss", "LogisticLoss", "SmoothLoss"]


class SmoothLoss(ABC):
    r"""A convex, twice differentiable loss l >= 0 on R^n, for :func:`l1_regularized`.

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

    @abstractmethod
    def value(self, x: np.ndarray) -> float:
        """Return l(x)."""

    @abstractmethod
    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return the gradient of l at x, of shape (n,)."""

    @abstractmethod
    def hessian(self, x: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Return the rows and columns S (an integer array) of the Hessian of l at x."""

    def gain(self, x: np.ndarray, S: np.ndarray) -> float:
        """Return by how much l falls, as far as its Hessian tells, when the entries S of x are chosen anew.

        The certificate adds it to the gap for entries without penalty: their gradient has to be 0, and how small it
        must be depends on the curvature along them.
        """
        g = self.gradient(x)[S]
        return -float(g @ newton_step(self.hessian(x, S), g)) / 2

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
        self.A_b = self.A.T @ self.b
        self.skinny = self.m >= self.n
        self.gram = self.A.T @ self.A if self.skinny else self.A @ self.A.T
        self.curvature = float(np.trace(self.gram)) / self.n
        self._factor: tuple[float, Any] = (np.nan, None)

    def value(self, x: np.ndarray) -> float:
        """Return ``1/2 |A x - b|^2``."""
        r = self.A @ x - self.b
        return float(r @ r) / 2

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return A'(A x - b)."""
        return self.A.T @ (self.A @ x - self.b)

    def hessian(self, x: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Return the rows and columns S of A'A."""
        return self.gram[np.ix_(S, S)] if self.skinny else self.A[:, S].T @ self.A[:, S]

    def prox(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return the x-update (A'A + rho I)^{-1} (A'b + rho v)."""
        v, rho = as_vector(v, "v", self.n), as_scalar(rho, "rho", above=0.0)
        if self._factor[0] != rho:
            ridge = self.gram + rho * np.eye(len(self.gram))
            self._factor = rho, factored(ridge, rho)
        w = self.A_b + rho * v
        if self.skinny:
            return linalg.cho_solve(self._factor[1], w, check_finite=False)
        inner = linalg.cho_solve(self._factor[1], self.A @ w, check_finite=False)
        return (w - self.A.T @ inner) / rho


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
        self.A = self.y[:, None] * A  # rows y_i a_i
        self.n = A.shape[1]
        self.curvature = float(np.sum(A**2)) / (4 * self.n)

    def value(self, x: np.ndarray) -> float:
        """Return sum_i log(1 + exp(-y_i a_i'x))."""
        return float(np.logaddexp(0, -(self.A @ as_vector(x, "x", self.n))).sum())

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return -sum_i p_i y_i a_i with p_i = 1 / (1 + exp(y_i a_i'x))."""
        return -self.A.T @ expit(-(self.A @ as_vector(x, "x", self.n)))

    def hessian(self, x: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Return the rows and columns S of A' diag(p (1 - p)) A."""
        t, A = self.A @ x, self.A[:, S]
        return (A.T * (expit(t) * expit(-t))) @ A


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


def newton_step(
    H: np.ndarray, g: np.ndarray, noise: float = np.inf, reach: float = 0.0
) -> np.ndarray:
    """Return the shortest minimiser d of g'd + d'H d/2, in units in which the diagonal of H is 1.

    There is none if g has a part of more than the noise in the null space of H. Then return a step downhill there, far
    beyond `reach`.
    """
    unit = 1 / np.sqrt(np.where(H.diagonal() > 0, H.diagonal(), 1.0))
    scaled = unit * H * unit[:, None]
    d = -unit * linalg.lstsq(scaled, unit * g, lapack_driver="gelsy", check_finite=False)[0]
    rest = g + H @ d
    if largest(unit * rest) <= max(noise * float(unit.min(initial=1.0)), 1e-6 * largest(unit * g)):
        return d
    return -1e10 * (reach or 1.0) / largest(rest) * rest


def first_zero(v: np.ndarray, step: np.ndarray, s: np.ndarray) -> tuple[float, np.ndarray]:
    """Return how much of the step the signs s of v allow (at most 1), and the entries that stop it."""
    crossing = np.flatnonzero(((v + step) * s < 0) & (step * s < 0))
    if crossing.size == 0:
        return 1.0, crossing
    parts = np.maximum(-v[crossing] / step[crossing], 0.0)
    return float(parts.min()), crossing[parts == parts.min()]
