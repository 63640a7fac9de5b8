"""Training along one multiplier at a time: coordinate ascent on the dual program."""

from __future__ import annotations

from typing import Any

import numpy as np

from companion.admm import LowRank
from companion.checks import as_vector, check_count
from companion.engine.arithmetic import EPS
from companion.svm.model import KernelLike
from companion.svm.training import Callback, TrainingResult, read_task, stopping

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

    .. math:: & \alpha_k \leftarrow \\
        & \; \min\bigl(U, \max(0, \alpha_k + \eta_k (1 - (Q' \alpha)_k))\bigr), \\
        & \eta_k = 1 / Q'_{kk},

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
    Source: ZM Algorithm 23.1, (23.65) to (23.71). With few features w is kept up to date and Q is never formed;
    otherwise the gradient is, and a multiplier that stays at its bound costs a comparison.

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
    Q, n = task.dual.P, task.points.n
    ridge = 0.0 if task.power == 1 else 0.5 / task.C
    steps, upper = _steps(step, Q.diagonal()), task.C if as_printed else task.dual.upper
    status, alpha, visits = "max_iter", np.zeros(n), np.arange(n)
    least_gap = 8.0 * EPS * n * task.C  # of margins that are right to rounding
    keys = ("objective", "primal_objective", "change", "active")
    history: dict[str, list[Any]] = {key: [] for key in keys}
    for epoch in range(1, max_iter + 1):
        if order == "shuffled":
            visits = rng.permutation(n)
        old, alpha = alpha, _epoch(Q, alpha, steps, upper, visits)
        gradient = 1.0 - Q @ alpha
        margins = 1.0 - gradient - ridge * alpha
        J, dual = (
            task.primal(float(alpha @ margins), margins),
            0.5 * float(alpha @ (1.0 + gradient)),
        )
        change = float(np.linalg.norm(alpha - old))
        for key, value in zip(keys, (dual, J, change, np.count_nonzero(alpha))):
            history[key].append(value)
        # what of the gradient a multiplier may follow
        free = np.where(alpha <= 0.0, np.maximum(gradient, 0.0), gradient)
        free = np.where(alpha >= upper, np.minimum(free, 0.0), free)
        close = J - dual <= max(tol * float(alpha.sum()), least_gap)
        if change <= eps if eps is not None else close and np.abs(free).max() <= tol:
            status = "converged"
            break
        if callback is not None and callback(epoch, alpha.copy()):
            status = "stopped by callback"
            break
    beta = alpha * task.points.s
    return task.result(beta, alpha, J, tol, status, history, by_certificate=eps is None)


def _epoch(
    Q: Any, alpha: np.ndarray, steps: np.ndarray, upper: float, visits: np.ndarray
) -> np.ndarray:
    """Return the multipliers after one step each. With few features w is kept up to date, otherwise Q alpha."""
    few = isinstance(Q, LowRank)
    rows, ridge = (Q.G, Q.d.tolist()) if few else (Q, [])
    a, step, state = alpha.tolist(), steps.tolist(), alpha @ rows
    for k in visits.tolist():
        row = rows[k]
        product = float(row @ state) + ridge[k] * a[k] if few else float(state[k])
        value = min(max(a[k] + step[k] * (1.0 - product), 0.0), upper)
        if value != a[k]:
            state += (value - a[k]) * row
            a[k] = value
    return np.array(a)


def _steps(step: float | np.ndarray | None, diagonal: np.ndarray) -> np.ndarray:
    """Return one step per multiplier; 1/Q_kk by default, and a huge one where Q_kk = 0: there J is linear."""
    if diagonal.min() < 0.0:
        k = int(np.argmin(diagonal))
        raise ValueError(
            f"the kernel must be positive definite; its value at point {k} with itself is {diagonal[k]:g}"
        )
    if step is None:
        return 1.0 / np.maximum(diagonal, np.finfo(float).tiny)
    steps = as_vector(step, "step", None if np.ndim(step) == 0 else diagonal.size)
    if steps.min() <= 0.0:
        raise ValueError(f"step must be positive, got {steps.min():g}")
    return np.broadcast_to(steps, diagonal.shape)
