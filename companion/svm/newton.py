"""Training by Newton's method on the primal program with the quadratic loss: for w, or for a kernel expansion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from companion.checks import as_scalar, check_count
from companion.svm.model import KernelLike
from companion.svm.training import Task, TrainingResult, read_task, stopping

__all__ = ["primal_kernel_newton", "primal_newton"]

_SUFFICIENT = 1e-4  # part of the predicted decrease that the line search insists on
_NOISE = 1e-14  # a predicted decrease below this part of J is rounding


def primal_newton(
    X: Any,
    y: Any,
    C: float = 1.0,
    *,
    kernel: KernelLike = "linear",
    kernel_params: dict[str, Any] | None = None,
    line_search: bool = True,
    tol: float = 1e-9,
    eps: float | None = None,
    max_iter: int = 100,
    as_printed: bool = False,
) -> TrainingResult:
    r"""Train by Newton's method on the primal program with the quadratic loss.

    .. math:: & \nabla = H w - 2 C v, \quad H = I + 2 C S, \\
        & S = \sum_{i \in A} x_i x_i^\top, \quad v = \sum_{i \in A} y_i x_i, \\
        & A = \{ i : y_i \langle w, x_i \rangle < 1 \} .

    J is quadratic as long as A does not change, so that a full step is the minimiser for the present A. When the new
    point has the same A, it is the solution, exactly.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points; the coordinate 1 is added here.
    y : array-like of shape (n,)
        Labels +1 and -1.
    C : float
        Price of the loss.
    kernel, kernel_params
        The linear kernel, or another one with few explicit features.
    line_search : bool
        Whether a step that does not decrease J enough is halved. Without it the iterates can run in a circle, which
        is noticed and reported.
    tol : float
        Tolerance of the certificate, and relative change of w that counts as none.
    eps : float, optional
        Stop by ZM's rule instead: the change of w has norm at most `eps`.
    max_iter : int
        Largest number of steps.
    as_printed : bool
        Run Algorithm 23.2 as it is printed: no line search, and `eps`, 1e-4 if none is given.

    Returns
    -------
    TrainingResult
        With ``status`` ``"cycle"`` and the length ``cycle`` if the iterates repeat.

    Raises
    ------
    ValueError
        If the kernel has no explicit features; :func:`primal_kernel_newton` needs none.

    Warns
    -----
    ConvergenceWarning
        If the iterates repeat, `max_iter` is reached, or the certificate misses `tol`.

    Notes
    -----
    Source: ZM Algorithm 23.2, (23.72) to (23.77).

    Examples
    --------
    >>> from companion.datasets import iris_sepals
    >>> data = iris_sepals()
    >>> result = primal_newton(data.X, data.y, C=1000.0)
    >>> result.w.round(4), round(result.objective, 4), result.certificate.ok
    (array([  7.4737,  -6.3402, -19.9082]), 285.0407, True)
    """
    task = read_task(X, y, C, "quadratic", kernel, kernel_params, as_printed)
    if task.points.Phi is None:
        raise ValueError(
            f"{task.points.kernel!r} has no explicit features, or too many; use primal_kernel_newton"
        )
    F, y, C = task.points.Phi, task.points.s, task.C

    def minimum(A: np.ndarray, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        H, v = np.eye(F.shape[1]) + 2.0 * C * F[A].T @ F[A], y[A] @ F[A]
        return _solve_positive(H, 2.0 * C * v)

    rule = (*stopping(tol, eps, as_printed), line_search and not as_printed, True)
    return _newton(task, "w", F, minimum, rule, max_iter)


def primal_kernel_newton(
    X: Any,
    y: Any,
    C: float = 1.0,
    *,
    kernel: KernelLike = "linear",
    kernel_params: dict[str, Any] | None = None,
    ridge: float | None = None,
    line_search: bool = True,
    tol: float = 1e-9,
    eps: float | None = None,
    max_iter: int = 100,
    as_printed: bool = False,
) -> TrainingResult:
    r"""Train by Newton's method on the coefficients of :math:`h(x) = \sum_i \beta_i \kappa(x_i, x)`, quadratic loss.

    .. math:: & \nabla = H \beta - 2 C v, \quad H = K + 2 C S, \\
        & S = \sum_{i \in A} K_i K_i^\top, \quad v = \sum_{i \in A} y_i K_i, \\
        & A = \{ i : y_i (K \beta)_i < 1 \} .

    H has the null space of K: whenever K is singular, so is H, and the printed step does not exist. Among its
    minimisers the quadratic model has one that vanishes outside of A,

    .. math:: (K_{AA} + \tfrac1{2C} I)\, \beta_A = y_A,

    and the default step leads to it. It costs :math:`|A|^3` instead of :math:`n^3`.

    Parameters
    ----------
    X : array-like of shape (n, d), or (n, n) for a precomputed kernel
        Points; the coordinate 1 is added here. A Gram matrix is taken as it is: add 1 to it for a bias.
    y : array-like of shape (n,)
        Labels +1 and -1.
    C : float
        Price of the loss.
    kernel, kernel_params
        See :func:`companion.kernels.as_kernel`; the kernel sees points with the coordinate 1. One that does not depend
        on it, such as the Gaussian kernel, gets the constant 1 added, so that there is a bias.
    ridge : float, optional
        Take the step :math:`-(H + \lambda I)^{-1} \nabla` with this :math:`\lambda > 0` instead.
    line_search, tol, eps, max_iter
        As for :func:`primal_newton`, with :math:`\beta` in place of w.
    as_printed : bool
        Run Algorithm 23.3 as it is printed: the step :math:`-H^{-1} \nabla` (or with `ridge`), no line search, no bias
        with a Gaussian kernel, and `eps`, 1e-4 if none is given.

    Returns
    -------
    TrainingResult

    Raises
    ------
    ValueError
        If the printed step is asked for and K is singular.

    Warns
    -----
    ConvergenceWarning
        If the iterates repeat, `max_iter` is reached, or the certificate misses `tol`.

    Notes
    -----
    Source: ZM Algorithm 23.3, (23.78) to (23.88); the step in :math:`\beta_A` is Chapelle's (2007).

    Examples
    --------
    >>> from companion.datasets import iris_components
    >>> from companion.kernels import Polynomial
    >>> data = iris_components()
    >>> result = primal_kernel_newton(data.X, data.y, C=10.0, kernel=Polynomial(2, R=0.0))
    >>> round(result.objective, 4), int((result.predict(data.X) != data.y).sum())
    (136.8543, 5)
    """
    task = read_task(X, y, C, "quadratic", kernel, kernel_params, as_printed)
    y, C, Phi = task.points.s, task.C, task.points.Phi
    K, n = task.points.gram if Phi is None else Phi @ Phi.T, y.size
    ridge = None if ridge is None else as_scalar(ridge, "ridge", above=0.0)
    if as_printed and ridge is None and (rank := int(np.linalg.matrix_rank(K))) < n:
        raise ValueError(
            f"the printed step needs the inverse of H = K + 2CS, but K has rank {rank} < n = {n}, and so H is "
            "singular; give a ridge, or use as_printed=False"
        )

    def minimum(A: np.ndarray, beta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        if as_printed or ridge is not None:
            H = K + 2.0 * C * K[:, A] @ K[:, A].T + (ridge or 0.0) * np.eye(n)
            return beta - np.linalg.solve(H, gradient)
        target = np.zeros(n)
        target[A] = _solve_positive(K[np.ix_(A, A)] + 0.5 / C * np.eye(A.size), y[A])
        return target

    rule = (*stopping(tol, eps, as_printed), line_search and not as_printed, ridge is None)
    return _newton(task, "beta", K, minimum, rule, max_iter)


def _solve_positive(H: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve with a positive definite matrix."""
    try:
        return cho_solve(cho_factor(H), right)
    except ValueError as error:  # a LinAlgError is one, too
        raise ValueError(
            "the kernel must be positive definite on the training points: the matrix of the Newton step is not, unless "
            "C or the inner products are so large that it overflows, or that 1/(2C) is lost in rounding beside them; "
            "then scale the data, or lower C"
        ) from error


class _Point(NamedTuple):
    x: np.ndarray
    margins: np.ndarray
    value: float
    gradient: np.ndarray

    @property
    def inside(self) -> np.ndarray:
        """Which points are inside the margin: the set A."""
        return self.margins < 1.0


def _newton(
    task: Task,
    name: str,
    M: np.ndarray,
    minimum: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
    rule: tuple[float, float | None, bool, bool],
    max_iter: int,
) -> TrainingResult:
    """Go from minimiser to minimiser of the quadratic model, until the certificate's tolerance or ZM's eps says stop.

    The unknown x is w, with the values M x = F w at the points, or beta, with M = K. The rule is tol, eps, whether
    there is a line search, and whether a full step depends on the set A alone.
    """
    (tol, eps, line_search, exact), y = rule, task.points.s

    def at(x: np.ndarray) -> _Point:
        h = M @ x
        pull = x if name == "w" else h  # the gradient of |w|^2/2
        slack = np.maximum(1.0 - y * h, 0.0)
        gradient = pull - 2.0 * task.C * ((y * slack) @ M)
        return _Point(x, y * h, task.primal(float(x @ pull), y * h), gradient)

    point, status, cycle = at(np.zeros(M.shape[1])), "max_iter", 0
    keys = ("objective", "change", "active", "step", name)
    history: dict[str, list[Any]] = {key: [] for key in keys}
    seen = {point.inside.tobytes(): 0}
    for t in range(1, check_count(max_iter, "max_iter") + 1):
        target = minimum(np.flatnonzero(point.inside), point.x, point.gradient)
        slope = float(point.gradient @ (target - point.x))
        settled = -slope <= _NOISE * point.value  # what is left to gain is rounding
        old, (point, step) = point, _step(point, target, slope, at, line_search and not settled)
        change = float(np.linalg.norm(point.x - old.x))
        for key, value in zip(keys, (point.value, change, point.inside, step, point.x)):
            history[key].append(value)
        same = exact and step == 1.0 and np.array_equal(point.inside, old.inside)
        small = change <= tol * float(np.linalg.norm(point.x))
        if change <= eps if eps is not None else same or settled or small:
            status = "converged"
            break
        first = seen.setdefault(point.inside.tobytes(), t)
        # the same set twice in a row is not a circle: the next step changes nothing, and ends the run
        if exact and not line_search and first < t - 1:
            status, cycle = "cycle", t - first
            break
    alpha = 2.0 * task.C * np.maximum(1.0 - point.margins, 0.0)
    beta = y * alpha if name == "w" else point.x
    if name == "beta" and exact and eps is None and status == "converged":
        alpha = np.maximum(y * beta, 0.0)  # 2 C xi, without the cancellation in xi
    w = point.x if name == "w" else None
    return task.result(
        beta, alpha, point.value, tol, status, history, cycle, w, by_certificate=eps is None
    )


def _step(
    point: _Point, target: np.ndarray, slope: float, at: Callable[[np.ndarray], _Point], line_search: bool
) -> tuple[_Point, float]:  # fmt: skip
    """Return the next point and the step: 1, or the first of 1/2, 1/4, ... with a sufficient decrease."""
    new, step, direction = at(target), 1.0, target - point.x
    while line_search and new.value > point.value + _SUFFICIENT * step * slope and step > 1e-10:
        step /= 2.0
        new = at(point.x + step * direction)
    return new, step
