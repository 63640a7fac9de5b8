"""Training along one multiplier at a time: coordinate ascent on the dual program."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from companion.admm import LowRank
from companion.checks import as_vector, check_count
from companion.engine.arithmetic import EPS
from companion.exceptions import ConvergenceWarning
from companion.svm.model import KernelLike
from companion.svm.training import Callback, TrainingResult, complaint, read_task, stopping

__all__ = ["dual_coordinate_ascent"]

_ORDERS = ("cyclic", "shuffled")


def dual_coordinate_ascent(
    X: Any,
    y: Any,
    C: float = 1.0,
    *,
    loss: str = "hinge",
    kernel: KernelLike = "linear",
    kernel_params: dict[str, Any] | None = None,
    step: float | np.ndarray | None = None,
    order: str = "cyclic",
    tol: float = 1e-6,
    eps: float | None = None,
    max_iter: int = 100_000,
    as_printed: bool = False,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
) -> TrainingResult:
    r"""Train by coordinate ascent on the dual program: one multiplier at a time, with the best step.

    .. math:: \alpha_k \leftarrow \min\bigl(U, \max(0, \alpha_k + \eta_k (1 - (Q' \alpha)_k))\bigr), \qquad
        \eta_k = 1 / Q'_{kk},

    with :math:`Q' = Q, \; U = C` for the hinge loss and :math:`Q' = Q + I/(2C), \; U = \infty` for the quadratic one.
    An epoch visits every k once. No step lowers the objective.

    Parameters
    ----------
    X : array-like of shape (n, d), or (n, n) for a precomputed kernel
        Points; the coordinate 1 is added here. A Gram matrix is taken as it is: add 1 to it for a bias.
    y : array-like of shape (n,)
        Labels +1 and -1.
    C : float
        Price of the loss.
    loss : str
        ``"hinge"`` or ``"quadratic"``.
    kernel, kernel_params
        See :func:`companion.kernels.as_kernel`; the kernel sees points with the coordinate 1. One that does not depend
        on it, such as the Gaussian kernel, gets the constant 1 added, so that there is a bias.
    step : float or array-like of shape (n,), optional
        :math:`\eta`. Default: the best one. Convergence needs :math:`\eta_k Q'_{kk} < 2`.
    order : str
        ``"cyclic"``, or ``"shuffled"`` for a new order in each epoch, which `rng` draws.
    tol : float
        Stop when each component of the gradient that a multiplier may follow is at most this (margins are 1), and
        the two objectives differ by at most this part of :math:`\sum_i \alpha_i`.
    eps : float, optional
        Stop by ZM's rule instead: the change of :math:`\alpha` in an epoch has norm at most `eps`.
    max_iter : int
        Largest number of epochs.
    as_printed : bool
        Run Algorithm 23.1 as it is printed: it cuts multipliers at C with the quadratic loss too, which changes the
        answer, has no bias with a Gaussian kernel, and stops by `eps`, 1e-4 if none is given.
    rng : numpy Generator, optional
        For ``order="shuffled"``; seed 0 by default.
    callback : callable, optional
        ``callback(epoch, alpha)``; a true answer stops.

    Returns
    -------
    TrainingResult

    Raises
    ------
    ValueError, TypeError
        For unusable data or options; in particular when a diagonal entry of the Gram matrix is negative.

    Warns
    -----
    ConvergenceWarning
        If the stopping rule is not met within `max_iter` epochs, or the certificate misses `tol`.

    Notes
    -----
    Source: ZM Algorithm 23.1, (23.65) to (23.71). A multiplier that would stay at its bound need not be looked at:
    with explicit features, no :math:`(Q'\alpha)_k` moves by more than :math:`\|\varphi(x_k)\|` times the way that w
    went, so most points are skipped for a whole epoch, and the iterates stay the same.

    Examples
    --------
    >>> from companion.datasets import iris_sepals
    >>> data = iris_sepals()
    >>> result = dual_coordinate_ascent(data.X, data.y, C=10.0)
    >>> result.w.round(4), result.certificate.ok
    (array([ 2.7463, -3.7479, -3.0868]), True)
    """
    task = read_task(X, y, C, loss, kernel, kernel_params, as_printed)
    if order not in _ORDERS:
        raise ValueError(f"order must be one of {_ORDERS}, got {order!r}")
    (tol, eps), max_iter = stopping(tol, eps, as_printed), check_count(max_iter, "max_iter")
    rng = np.random.default_rng(0) if rng is None else rng
    Q = task.matrix()
    upper = task.C if as_printed else task.upper
    steps = _steps(step, Q.diagonal())
    ascent: _FeatureSweep | _GramSweep
    if isinstance(Q, LowRank):
        ascent = _FeatureSweep(Q, steps, upper)
    else:
        ascent = _GramSweep(Q, steps, upper)

    n, status, forward = task.n, "max_iter", np.arange(task.n)
    alpha, gradient = np.zeros(n), np.ones(n)
    least_gap = 8.0 * EPS * n * task.C  # of margins that are right to rounding
    history: dict[str, list[float]] = {
        k: [] for k in ("objective", "primal_objective", "change", "active")
    }
    for epoch in range(1, max_iter + 1):
        visits = rng.permutation(n) if order == "shuffled" else forward
        old, alpha = alpha, ascent.sweep(alpha, gradient, visits)
        gradient = 1.0 - Q @ alpha
        change = float(np.linalg.norm(alpha - old))
        norm2 = float(alpha @ (1.0 - gradient - task.ridge * alpha))
        history["objective"].append(0.5 * float(alpha.sum() + alpha @ gradient))
        history["primal_objective"].append(task.primal(norm2, 1.0 - gradient - task.ridge * alpha))
        history["change"].append(change)
        history["active"].append(float(np.count_nonzero(alpha)))
        free = np.where(alpha <= 0.0, np.maximum(gradient, 0.0), gradient)
        free = np.where(alpha >= upper, np.minimum(free, 0.0), free)
        gap = history["primal_objective"][-1] - history["objective"][-1]
        close = gap <= max(tol * float(alpha.sum()), least_gap)
        if change <= eps if eps is not None else close and np.abs(free).max() <= tol:
            status = "converged"
            break
        if not np.isfinite(change):
            status = "diverged"
            break
        if callback is not None and callback(epoch, alpha.copy()):
            status = "stopped by callback"
            break
    arrays = {key: np.array(values) for key, values in history.items()}
    arrays["active"] = arrays["active"].astype(int)
    value = history["primal_objective"][-1]
    result = task.result(alpha * task.y, alpha, value, tol, status, arrays)
    if text := complaint(result, by_certificate=eps is None):
        warnings.warn(text, ConvergenceWarning, stacklevel=2)
    return result


def _steps(step: float | np.ndarray | None, diagonal: np.ndarray) -> np.ndarray:
    """Return one step per multiplier; 1/Q_kk by default, and infinity where Q_kk = 0: there J is linear."""
    if diagonal.min() < 0.0:
        k = int(np.argmin(diagonal))
        raise ValueError(
            f"the kernel must be positive definite; its value at point {k} with itself is {diagonal[k]:g}"
        )
    if step is None:
        with np.errstate(divide="ignore"):
            return 1.0 / diagonal
    steps = as_vector(step, "step", None if np.ndim(step) == 0 else diagonal.size)
    if steps.min() <= 0.0:
        raise ValueError(f"step must be positive, got {steps.min():g}")
    return np.broadcast_to(steps, diagonal.shape)


class _GramSweep:
    """An epoch with the matrix Q at hand: the gradient is kept up to date."""

    def __init__(self, Q: np.ndarray, step: np.ndarray, upper: float) -> None:
        self.Q, self.step, self.upper = Q, step, upper

    def sweep(self, alpha: np.ndarray, gradient: np.ndarray, order: np.ndarray) -> np.ndarray:
        alpha, g, place = alpha.copy(), gradient.copy(), 0
        while True:
            rest = order[place:]
            movable = (g[rest] > 0.0) & (alpha[rest] < self.upper)
            movable |= (g[rest] < 0.0) & (alpha[rest] > 0.0)
            ahead = int(np.argmax(movable)) if movable.any() else rest.size
            if ahead == rest.size:
                return alpha
            place += ahead + 1
            k = rest[ahead]
            value = min(max(alpha[k] + self.step[k] * g[k], 0.0), self.upper)
            g -= (value - alpha[k]) * self.Q[k]
            alpha[k] = value


class _FeatureSweep:
    """An epoch with explicit features: w is kept up to date, and points that must stay are skipped."""

    def __init__(self, Q: LowRank, step: np.ndarray, upper: float) -> None:
        self.Q, self.upper = Q, upper
        self.length = np.sqrt(np.einsum("ij,ij->i", Q.G, Q.G))
        # lists of rows and numbers: the loop over single points runs on them
        self.rows, self.lengths = list(Q.G), self.length.tolist()
        self.step, self.ridge = step.tolist(), Q.d.tolist()
        self.allowance = (
            np.inf
        )  # how far w may go before the points that were skipped are looked at again

    def sweep(self, alpha: np.ndarray, gradient: np.ndarray, order: np.ndarray) -> np.ndarray:
        values, w = alpha.tolist(), alpha @ self.Q.G
        way, g, rest = 0.0, gradient, order
        while rest.size:
            a, reach = np.asarray(values)[rest], self.allowance * self.length[rest]
            stays = (a <= 0.0) & (g[rest] < -reach) | (a >= self.upper) & (g[rest] > reach)
            awake = rest[~stays]
            seen, gone = self._visit(values, w, awake)
            way += gone
            if seen == awake.size:
                break
            rest = rest[int(np.flatnonzero(rest == awake[seen - 1])[0]) + 1 :]
            g = 1.0 - self.Q @ np.asarray(values)
            self.allowance *= 2.0
        self.allowance = 2.0 * way
        return np.array(values)

    def _visit(self, values: list[float], w: np.ndarray, awake: np.ndarray) -> tuple[int, float]:
        """Improve the multipliers in turn, until w has used up its allowance; return how many, and the way of w."""
        rows, lengths, step, ridge = self.rows, self.lengths, self.step, self.ridge
        upper, way = self.upper, 0.0
        for seen, k in enumerate(awake.tolist(), 1):
            old, row = values[k], rows[k]
            value = old + step[k] * (1.0 - float(row @ w) - ridge[k] * old)
            value = 0.0 if value < 0.0 else upper if value > upper else value
            if value != old:
                values[k] = value
                w += (value - old) * row
                way += abs(value - old) * lengths[k]
                if way > self.allowance:
                    return seen, way
        return awake.size, way
