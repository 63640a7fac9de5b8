"""Smooth convex losses: least squares, logistic, squared hinge, and one of your own.

:func:`companion.admm.l1_regularized` takes one loss, :func:`companion.admm.consensus` one for each block of rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy import linalg, special

from companion.admm.affine import as_data
from companion.arithmetic import EPS, apart, largest
from companion.checks import as_scalar, as_vector, check_range


class SmoothLoss(ABC):
    r"""A convex, twice differentiable loss l >= 0 on R^n, for :func:`l1_regularized` and :func:`consensus`.

    Define :meth:`value`, :meth:`gradient` and :meth:`hessian`, and set `n`. The rest has defaults. A loss may remember
    a factorisation or its last answer to go faster, but its answers must not depend on that.

    Attributes
    ----------
    n : int
        Number of coefficients.
    m : int
        Number of terms that the loss is a sum of.
    curvature : float or ndarray of shape (n,)
        Typical size of the diagonal of the Hessian, of which the default penalty parameter rho is made.
    """

    n: int
    m: int = 1
    curvature: Any = 1.0
    _last: np.ndarray | None = None

    @abstractmethod
    def value(self, x: np.ndarray) -> float:
        """Return l(x)."""

    @abstractmethod
    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return the gradient of l at x, of shape (n,)."""

    @abstractmethod
    def hessian(self, x: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Return the rows and columns S (an integer array) of the Hessian of l at x."""

    def prox(self, v: np.ndarray, rho: Any) -> np.ndarray:
        r"""Return :math:`\arg\min_x l(x) + \frac12 \sum_j \rho_j (x_j - v_j)^2`, rho being a number or a vector.

        Newton's method with step halving, from the last answer.
        """
        w = np.broadcast_to(rho, v.shape)
        x, everything = v if self._last is None else self._last, np.arange(v.size)

        def F(x: np.ndarray) -> float:
            return self.value(x) + half_square(np.sqrt(w) * (x - v))

        now, H = F(x), self.hessian(x, everything)
        for _ in range(100):
            g = self.gradient(x) + w * (x - v)
            d = -linalg.cho_solve(factored(H + np.diag(w)), g, check_finite=False)
            slope, t, before = float(g @ d), 1.0, now * (1 + 4 * EPS)
            if -slope <= 1e-20 * abs(now):
                break
            while (now := F(x + t * d)) > before + 1e-4 * t * slope and t > 1e-10:
                t /= 2
            x, H_before = x + t * d, H
            H = self.hessian(x, everything)
            if t == 1 and np.array_equal(H, H_before):
                break  # a full step where the loss is quadratic ends at the minimum
        self._last = x
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
    regression. The matrix is factored once for each value of rho, which may be a diagonal matrix W. For fewer rows
    than columns the m x m matrix :math:`A W^{-1} A^\top + I` is factored instead:

    .. math:: & (A^\top A + W)^{-1} (A^\top b + W v) \\
        & = v + W^{-1} A^\top (A W^{-1} A^\top + I)^{-1} (b - A v).

    Examples
    --------
    >>> loss = LeastSquaresLoss([[2, 0], [0, 1]], [3, 1])
    >>> loss.prox(np.zeros(2), 1.0).round(4)
    array([1.2, 0.5])
    """

    def __init__(self, A: Any, b: Any) -> None:
        self.A, self.b = as_data(A, b)
        check_range(largest(self.b), "b")
        self.m, self.n = self.A.shape
        self.A_b = self.A.T @ self.b
        self.gram = self.A.T @ self.A if self.m >= self.n else None
        self._key = b""  # the rho of the last factor
        self.curvature = np.einsum("ij,ij->j", self.A, self.A)

    def value(self, x: np.ndarray) -> float:
        """Return ``1/2 |A x - b|^2``."""
        return half_square(self.A @ x - self.b)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return A'(A x - b)."""
        return self.A.T @ (self.A @ x - self.b)

    def hessian(self, x: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Return the rows and columns S of A'A."""
        return self.A[:, S].T @ self.A[:, S] if self.gram is None else self.gram[np.ix_(S, S)]

    def prox(self, v: np.ndarray, rho: Any) -> np.ndarray:
        """Return the x-update (A'A + W)^{-1} (A'b + W v), W = rho I or diag(rho)."""
        if self._key != np.asarray(rho).tobytes():
            w, gram = np.broadcast_to(rho, v.shape), self.gram
            H = (self.A / w) @ self.A.T + np.eye(len(self.A)) if gram is None else gram + np.diag(w)
            self._key, self._factor = np.asarray(rho).tobytes(), factored(H)
        if self.gram is None:
            right = self.b - self.A @ v
            return v + self.A.T @ linalg.cho_solve(self._factor, right, check_finite=False) / rho
        return v + linalg.cho_solve(self._factor, self.A_b - self.gram @ v, check_finite=False)


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
        self.A = _signed_rows(A, y)
        self.m, self.n = self.A.shape
        self.curvature = np.einsum("ij,ij->j", self.A, self.A) / 4

    def value(self, x: np.ndarray) -> float:
        """Return sum_i log(1 + exp(-y_i a_i'x))."""
        return float(np.logaddexp(0, -(self.A @ as_vector(x, "x", self.n))).sum())

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return -sum_i p_i y_i a_i with p_i = 1 / (1 + exp(y_i a_i'x))."""
        return -self.A.T @ special.expit(-(self.A @ as_vector(x, "x", self.n)))

    def hessian(self, x: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Return the rows and columns S of A' diag(p (1 - p)) A."""
        t, A = self.A @ x, self.A[:, S]
        return (A.T * (special.expit(t) * special.expit(-t))) @ A


class SquaredHingeLoss(SmoothLoss):
    r"""The squared hinge loss :math:`l(w) = K \sum_i \max(0, 1 - y_i a_i^\top w)^2` with labels y_i = +1 or -1.

    Parameters
    ----------
    A : array-like of shape (m, n)
        Data, one point :math:`a_i` per row.
    y : array-like of shape (m,)
        Labels, +1 or -1.
    K : float
        Weight, > 0.

    Notes
    -----
    The loss is quadratic between the hinges: Newton's method finds the right piece in a few steps and is then exact.

    Examples
    --------
    >>> loss = SquaredHingeLoss([[1.0], [2.0], [-1.0]], [1, 1, -1], K=0.5)
    >>> loss.value(np.zeros(1)), loss.gradient(np.zeros(1))
    (1.5, array([-4.]))
    """

    def __init__(self, A: Any, y: Any, K: float) -> None:
        self.A, self.K = _signed_rows(A, y), as_scalar(K, "K", above=0.0)
        self.m, self.n = self.A.shape
        self.curvature = 2 * self.K * np.einsum("ij,ij->j", self.A, self.A)

    def value(self, x: np.ndarray) -> float:
        """Return ``K |xi|^2`` with the slacks xi."""
        return 2 * self.K * half_square(np.maximum(1 - self.A @ x, 0))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return -2K sum_i xi_i y_i a_i."""
        return -2 * self.K * (self.A.T @ np.maximum(1 - self.A @ x, 0))

    def hessian(self, x: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Return the rows and columns S of 2K A_I'A_I, I being the rows that violate the margin."""
        active = self.A[self.A @ x < 1][:, S]
        return 2 * self.K * (active.T @ active)


def _signed_rows(A: Any, y: Any) -> np.ndarray:
    """Return the rows y_i a_i, the labels being +1 or -1."""
    A, y = as_data(A, y, "y")
    strange = y[np.abs(y) != 1]
    if strange.size:
        given, _ = apart(strange[0], np.sign(strange[0]))
        raise ValueError(f"y must hold labels +1 and -1, got {given}")
    return y[:, None] * A


def half_square(v: np.ndarray) -> float:
    """Return half the squared length of v."""
    return float(v @ v) / 2


def factored(H: np.ndarray) -> Any:
    """Return the Cholesky factor of H = A'A + W, in its place, or raise an error if rho is lost in rounding."""
    size = float(np.trace(H)) / max(len(H), 1)
    try:
        return linalg.cho_factor(H, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        raise ValueError(
            f"rho is too small: beside A'A, whose diagonal is about {size:.3g}, it is lost in rounding; "
            "raise rho, or leave it out"
        ) from None


def newton_step(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Return the shortest minimiser d of g'd + d'H d/2, in units in which the diagonal of H is 1."""
    unit = 1 / np.sqrt(np.where(H.diagonal() > 0, H.diagonal(), 1.0))
    scaled = unit * H * unit[:, None]
    return -unit * linalg.lstsq(scaled, unit * g, lapack_driver="gelsy", check_finite=False)[0]
