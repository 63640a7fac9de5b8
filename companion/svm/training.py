r"""Three ways to train a machine whose bias is one more weight: along one multiplier at a time, and by Newton's method.

The points get a last coordinate 1, so that the bias is the last weight and no equation :math:`y^\top \alpha = 0`
remains. With the loss :math:`\xi_i = \max(0, 1 - y_i h(x_i))` all three solve

.. math:: \min_w \; J(w) = \tfrac12 \|w\|^2 + C \sum_i \xi_i^k, \qquad h(x) = \langle w, \varphi(x) \rangle,

for the hinge loss k = 1 or the quadratic loss k = 2. It is not the program with a free bias: here the bias costs
what a weight costs. A kernel that does not see the coordinate 1, such as the Gaussian kernel, gets the constant 1
added: :math:`\kappa + 1` is the kernel of features whose last one is 1. The dual program, with
:math:`Q_{ij} = y_i y_j \kappa(x_i, x_j)`, is

.. math:: \max_\alpha \; \mathbf 1^\top \alpha - \tfrac12 \alpha^\top Q \alpha \quad (k = 1, \; 0 \le \alpha \le C),
    \qquad Q + \tfrac1{2C} I \text{ in place of } Q \quad (k = 2, \; 0 \le \alpha) .
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from companion.admm import LowRank
from companion.certificates import Certificate, certify_qp, max_norm
from companion.checks import as_matrix, as_scalar, as_vector, check_count
from companion.engine.certificate import bound_multipliers
from companion.exceptions import ConvergenceWarning
from companion.kernels import Kernel, as_kernel
from companion.results import History, Problem, Record
from companion.svm.dual import DualProgram
from companion.svm.model import KernelLike

__all__ = [
    "TrainingResult",
    "augment",
    "augmented_dual",
    "dual_coordinate_ascent",
    "primal_kernel_newton",
    "primal_newton",
]

Callback = Callable[[int, np.ndarray], Any]

_LOSSES = {"hinge": 1, "quadratic": 2}
_ORDERS = ("cyclic", "shuffled")
_PRINTED_EPS = 1e-4  # the accuracy of ZM's examples
_SAMPLE = 20  # points on which a kernel shows whether it sees the coordinate 1
_FEW = 100  # explicit features are worth having up to this number, or up to one per point
_SUFFICIENT = 1e-4  # part of the predicted decrease that the line search insists on
_EPS = float(np.finfo(float).eps)
_NOISE = 1e-14  # a predicted decrease below this part of J is rounding


@dataclass(frozen=True, eq=False, repr=False)
class TrainingResult(Record):
    r"""What a training algorithm found: weights, multipliers, how it got there, and how good they are.

    Parameters
    ----------
    w : ndarray of shape (N,) or None
        Weights of the explicit features; for the linear kernel the last one is the bias. None where the kernel has
        no explicit features.
    alpha : ndarray of shape (n,)
        Multipliers. The Newton methods have :math:`\alpha = 2 C \xi`.
    beta : ndarray of shape (n,)
        Coefficients of :math:`h(x) = \sum_i \beta_i \kappa(x_i, x)`.
    objective : float
        The primal objective J at the end.
    dual_objective : float
        The dual objective at `alpha`.
    n_iter : int
        Number of epochs, or of Newton steps.
    converged : bool
        Whether the stopping rule was met.
    status : str
        ``"converged"``, ``"max_iter"``, ``"cycle"`` or ``"stopped by callback"``.
    cycle : int
        Number of steps after which the iterates repeat for ever; 0 if they do not.
    certificate : Certificate
        Residuals and gap of the dual program at `alpha`; where they meet the tolerance, also the gap between the two
        objectives.
    history : dict of ndarray
        One entry per epoch or step: ``objective`` (that of the program the method works on), ``change`` (the norm of
        the change of :math:`\alpha`, w or :math:`\beta`), and ``active`` (coordinate ascent: the number of positive
        multipliers; Newton: which points are inside the margin, a row of n flags). Coordinate ascent adds
        ``primal_objective``, Newton's methods ``step`` and the points ``w`` or ``beta``.
    kernel : Kernel
        The kernel.
    points : ndarray
        The training points as the kernel sees them, with the last coordinate 1.
    problem : Problem or None
        What was solved, so that the answer can be examined.
    """

    w: np.ndarray | None
    alpha: np.ndarray
    beta: np.ndarray
    objective: float
    dual_objective: float
    n_iter: int
    converged: bool
    status: str
    cycle: int
    certificate: Certificate
    history: History = field(default_factory=dict)
    kernel: Kernel = field(default_factory=as_kernel, repr=False)
    points: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)), repr=False)
    problem: Problem | None = field(default=None, repr=False)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return h(x) for each row of X.

        Parameters
        ----------
        X : array-like of shape (k, d), or (k, n) for a precomputed kernel
            Points, without the coordinate 1.

        Returns
        -------
        ndarray of shape (k,)
        """
        X = as_matrix(X, "X")
        if self.kernel.is_precomputed:
            return as_matrix(X, "X", (None, self.beta.size)) @ self.beta
        Z = augment(as_matrix(X, "X", (None, self.points.shape[1] - 1)))
        if self.w is not None:
            features: Any = self.kernel.features(Z)
            return features @ self.w
        return self.kernel(Z, self.points) @ self.beta

    def predict(self, X: Any) -> np.ndarray:
        """Return +1 or -1 for each row of X; on the hyperplane +1.

        Parameters
        ----------
        X : array-like of shape (k, d), or (k, n) for a precomputed kernel
            Points, without the coordinate 1.

        Returns
        -------
        ndarray of shape (k,)
        """
        return np.where(self.decision_function(X) >= 0.0, 1.0, -1.0)


def augment(X: Any) -> np.ndarray:
    """Return the points with a last coordinate 1, shape (n, d + 1).

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points.

    Notes
    -----
    Source: ZM (23.61).

    Examples
    --------
    >>> augment([[5.1, 3.5]])
    array([[5.1, 3.5, 1. ]])
    """
    X = as_matrix(X, "X")
    return np.column_stack([X, np.ones(len(X))])


@dataclass(frozen=True, eq=False)
class _Task:
    """The points, their labels, and the kernel's view of them."""

    Z: np.ndarray
    y: np.ndarray
    C: float
    power: int
    kernel: Kernel
    F: np.ndarray | None  # explicit features
    K: np.ndarray | None  # Gram matrix, where there are no features

    @property
    def n(self) -> int:
        return self.y.size

    @property
    def ridge(self) -> float:
        return 0.5 / self.C if self.power == 2 else 0.0

    @property
    def upper(self) -> float:
        return self.C if self.power == 1 else np.inf

    def gram(self) -> np.ndarray:
        return self.K if self.F is None else self.F @ self.F.T  # type: ignore[return-value]

    def matrix(self) -> np.ndarray | LowRank:
        """Return Q, with I/(2C) for the quadratic loss."""
        if self.F is not None and 2 * self.F.shape[1] <= max(self.n, 2):
            return LowRank(self.F * self.y[:, None], diagonal=self.ridge)
        Q = self.gram() * np.outer(self.y, self.y)
        Q[np.diag_indices_from(Q)] += self.ridge
        return Q

    def primal(self, norm2: float, margins: np.ndarray) -> float:
        """Return J for the squared norm of w and the numbers y_i h(x_i)."""
        slack = np.maximum(1.0 - margins, 0.0)
        return float(0.5 * norm2 + self.C * (slack**self.power).sum())


def _read(
    X: Any,
    y: Any,
    C: float,
    loss: str,
    kernel: KernelLike,
    params: dict[str, Any] | None,
    as_printed: bool = False,
) -> _Task:
    """Check the arguments; add the coordinate 1; ask the kernel for features or for the Gram matrix.

    A kernel that does not see the coordinate gets the constant 1, unless the algorithm shall run as it is printed.
    """
    X = as_matrix(X, "X")
    y = as_vector(y, "y", len(X))
    wrong = y[(y != 1.0) & (y != -1.0)]
    if wrong.size:
        raise ValueError(f"y must hold +1 and -1, got {wrong[0]:g}")
    if loss not in _LOSSES:
        raise ValueError(f"loss must be 'hinge' or 'quadratic', got {loss!r}")
    C = as_scalar(C, "C", above=0.0)
    named = as_kernel(kernel, **(params or {}))
    if named.is_precomputed and X.shape[0] != X.shape[1]:
        raise ValueError(f"a precomputed kernel needs a square Gram matrix, got shape {X.shape}")
    Z = X if named.is_precomputed else augment(X)
    if not (named.is_precomputed or as_printed or _sees_last(named, Z)):
        named = named + 1.0
    F = named.features(Z, limit=np.inf if named.is_linear else max(len(Z), _FEW))
    K = None if F is not None else np.array(named(Z))
    if (F is not None and np.iscomplexobj(F)) or (K is not None and np.iscomplexobj(K)):
        raise ValueError(f"training needs a real kernel, got {named!r}")
    return _Task(Z, y, C, _LOSSES[loss], named, F, K)


def _sees_last(kernel: Kernel, Z: np.ndarray) -> bool:
    """Return whether the kernel depends on the last coordinate, which all points share."""
    if kernel.is_linear:
        return True
    few = Z[:_SAMPLE]
    moved, gone = few.copy(), few.copy()
    moved[:, -1] += max_norm(few.ravel())
    gone[:, -1] = 0.0
    with np.errstate(all="ignore"):
        try:
            K, far, without = (np.asarray(kernel(points)) for points in (few, moved, gone))
        except ValueError:  # it overflows
            return True
        peak = float(np.abs(K).max())
        # rounding grows with the distance from the origin
        unseen = np.abs(far - K).max() <= 1e-6 * peak and np.abs(without - K).max() <= 1e-12 * peak
    return not unseen


def augmented_dual(
    X: Any,
    y: Any,
    C: float = 1.0,
    *,
    loss: str = "hinge",
    kernel: KernelLike = "linear",
    kernel_params: dict[str, Any] | None = None,
) -> DualProgram:
    r"""Return the dual program that the training algorithms solve, for :func:`companion.admm.solve_qp`.

    Parameters
    ----------
    X, y, C, loss, kernel, kernel_params
        As for :func:`dual_coordinate_ascent`.

    Returns
    -------
    DualProgram
        Without equations: ``min 1/2 a'Pa + q'a  s.t. 0 <= a <= upper``.

    Notes
    -----
    Source: ZM (23.65), without the constraint of (23.54), and (23.56).

    Examples
    --------
    >>> from companion.admm import solve_qp
    >>> from companion.datasets import iris_sepals
    >>> data = iris_sepals()
    >>> program = augmented_dual(data.X, data.y, C=10.0)
    >>> result = solve_qp(program.P, program.q, upper=program.upper)
    >>> ((result.x * data.y) @ augment(data.X)).round(4)
    array([ 2.7463, -3.7479, -3.0868])
    """
    task = _read(X, y, C, loss, kernel, kernel_params)
    n = task.n
    return DualProgram(task.matrix(), -np.ones(n), np.zeros((0, n)), np.zeros(0), task.upper)


# ---------------------------------------------------------------------------------------------
# Dual: one multiplier at a time
# ---------------------------------------------------------------------------------------------


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
    task = _read(X, y, C, loss, kernel, kernel_params, as_printed)
    if order not in _ORDERS:
        raise ValueError(f"order must be one of {_ORDERS}, got {order!r}")
    tol = as_scalar(tol, "tol", above=0.0)
    eps = _PRINTED_EPS if as_printed and eps is None else eps
    eps = None if eps is None else as_scalar(eps, "eps", above=0.0)
    max_iter = check_count(max_iter, "max_iter")
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
    least_gap = 8.0 * _EPS * n * task.C  # of margins that are right to rounding
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
    if status in ("max_iter", "diverged"):
        _complain(f"coordinate ascent met no stopping rule in {epoch} epochs")
    arrays = {key: np.array(values) for key, values in history.items()}
    arrays["active"] = arrays["active"].astype(int)
    beta = alpha * task.y
    w = None if task.F is None else beta @ task.F
    value = arrays["primal_objective"][-1]
    return _result(task, w, alpha, beta, value, status, 0, tol, arrays, eps is None)


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


# ---------------------------------------------------------------------------------------------
# Primal: Newton's method, quadratic loss
# ---------------------------------------------------------------------------------------------


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
    callback: Callback | None = None,
) -> TrainingResult:
    r"""Train by Newton's method on the primal program with the quadratic loss.

    .. math:: \nabla = H w - 2 C v, \quad H = I + 2 C S, \quad S = \sum_{i \in A} x_i x_i^\top, \quad
        v = \sum_{i \in A} y_i x_i, \quad A = \{ i : y_i \langle w, x_i \rangle < 1 \} .

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
    callback : callable, optional
        ``callback(step, w)``; a true answer stops.

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
    task = _read(X, y, C, "quadratic", kernel, kernel_params, as_printed)
    if task.F is None:
        raise ValueError(
            f"{task.kernel!r} has no explicit features, or too many; use primal_kernel_newton"
        )
    F, y = task.F, task.y
    G, identity = F * y[:, None], np.eye(F.shape[1])

    def model(point: _Point) -> tuple[np.ndarray, np.ndarray]:
        inside = G[point.margins < 1.0]
        H, v = identity + 2.0 * task.C * inside.T @ inside, inside.sum(axis=0)
        gradient = H @ point.x - 2.0 * task.C * v
        return gradient, _cholesky_solve(H, 2.0 * task.C * v)

    def at(w: np.ndarray) -> _Point:
        margins = G @ w
        return _Point(w, margins, task.primal(float(w @ w), margins))

    run = _newton(model, at, np.zeros(F.shape[1]), line_search, tol, eps, max_iter, as_printed, callback)  # fmt: skip
    run.history["w"] = run.history.pop("point")
    alpha = 2.0 * task.C * np.maximum(1.0 - run.point.margins, 0.0)
    return _result(
        task,
        run.point.x,
        alpha,
        alpha * y,
        run.point.value,
        run.status,
        run.cycle,
        tol,
        run.history,
        eps is None and not as_printed,
    )


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
    callback: Callback | None = None,
) -> TrainingResult:
    r"""Train by Newton's method on the coefficients of :math:`h(x) = \sum_i \beta_i \kappa(x_i, x)`, quadratic loss.

    .. math:: \nabla = H \beta - 2 C v, \quad H = K + 2 C S, \quad S = \sum_{i \in A} K_i K_i^\top, \quad
        v = \sum_{i \in A} y_i K_i, \quad A = \{ i : y_i (K \beta)_i < 1 \} .

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
    line_search, tol, eps, max_iter, callback
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
    task = _read(X, y, C, "quadratic", kernel, kernel_params, as_printed)
    y, K, n = task.y, task.gram(), task.n
    ridge = None if ridge is None else as_scalar(ridge, "ridge", above=0.0)
    if as_printed and ridge is None:
        rank = int(np.linalg.matrix_rank(K))
        if rank < n:
            raise ValueError(
                f"the printed step needs the inverse of H = K + 2CS, but K has rank {rank} < n = {n}, and so H is "
                "singular; give a ridge, or use as_printed=False"
            )

    def model(point: _Point) -> tuple[np.ndarray, np.ndarray]:
        A = np.flatnonzero(point.margins < 1.0)
        residual = point.x.copy()
        residual[A] -= 2.0 * task.C * y[A] * (1.0 - point.margins[A])
        gradient = K @ residual
        if as_printed or ridge is not None:
            H = K + 2.0 * task.C * K[:, A] @ K[:, A].T
            H[np.diag_indices(n)] += ridge or 0.0
            return gradient, point.x - _solve(H, gradient)
        target = np.zeros(n)
        if A.size:
            block = K[np.ix_(A, A)]
            block[np.diag_indices_from(block)] += 0.5 / task.C
            target[A] = _cholesky_solve(block, y[A])
        return gradient, target

    def at(beta: np.ndarray) -> _Point:
        h = K @ beta
        return _Point(beta, y * h, task.primal(float(beta @ h), y * h))

    run = _newton(
        model, at, np.zeros(n), line_search, tol, eps, max_iter, as_printed, callback, ridge is None
    )
    run.history["beta"] = run.history.pop("point")
    if run.status == "converged" and ridge is None and not as_printed:
        alpha = np.maximum(y * run.point.x, 0.0)  # 2 C xi, without the cancellation in xi
    else:
        alpha = 2.0 * task.C * np.maximum(1.0 - run.point.margins, 0.0)
    w = None if task.F is None else run.point.x @ task.F
    return _result(
        task,
        w,
        alpha,
        run.point.x,
        run.point.value,
        run.status,
        run.cycle,
        tol,
        run.history,
        eps is None and not as_printed,
    )


def _solve(H: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve with a symmetric matrix that may be singular but for rounding."""
    try:
        return np.linalg.solve(H, right)
    except np.linalg.LinAlgError as error:
        raise ValueError("the matrix of the step is singular; give a larger ridge") from error


def _cholesky_solve(H: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve with a positive definite matrix."""
    if not np.isfinite(H).all():
        raise ValueError(
            "C or the inner products of the points are so large that the matrix of the Newton step overflows; scale "
            "the data, or lower C"
        )
    try:
        return cho_solve(cho_factor(H), right)
    except LinAlgError as error:
        raise ValueError(
            "the kernel must be positive definite on the training points: the matrix of the Newton step is not, unless "
            "C is so large that 1/(2C) is lost in rounding beside the inner products; then scale the data, or lower C"
        ) from error


@dataclass(frozen=True, eq=False)
class _Point:
    x: np.ndarray
    margins: np.ndarray
    value: float


@dataclass(frozen=True, eq=False)
class _Run:
    point: _Point
    status: str
    cycle: int
    history: History


def _newton(
    model: Callable[[_Point], tuple[np.ndarray, np.ndarray]],
    at: Callable[[np.ndarray], _Point],
    start: np.ndarray,
    line_search: bool,
    tol: float,
    eps: float | None,
    max_iter: int,
    as_printed: bool,
    callback: Callback | None,
    exact: bool = True,
) -> _Run:
    """Go from minimiser to minimiser of the quadratic model; `exact` when a full step depends on A alone."""
    tol, max_iter = as_scalar(tol, "tol", above=0.0), check_count(max_iter, "max_iter")
    eps = _PRINTED_EPS if as_printed and eps is None else eps
    eps = None if eps is None else as_scalar(eps, "eps", above=0.0)
    line_search = line_search and not as_printed
    point, status, cycle = at(start), "max_iter", 0
    history: dict[str, list[Any]] = {
        k: [] for k in ("objective", "change", "active", "step", "point")
    }
    seen = {(point.margins < 1.0).tobytes(): 0}
    for t in range(1, max_iter + 1):
        gradient, target = model(point)
        slope = float(gradient @ (target - point.x))
        settled = -slope <= _NOISE * point.value  # what is left to gain is rounding
        search = line_search and not settled
        old, (point, step) = point, _step(point, target, slope, at, search)
        inside, change = point.margins < 1.0, float(np.linalg.norm(point.x - old.x))
        for key, value in zip(history, (point.value, change, inside, step, point.x)):
            history[key].append(value)
        if eps is not None:
            done = change <= eps
        else:
            same = exact and step == 1.0 and np.array_equal(inside, old.margins < 1.0)
            done = same or settled or change <= tol * float(np.linalg.norm(point.x))
        if done:
            status = "converged"
            break
        first = seen.setdefault(inside.tobytes(), t)
        # the same set twice in a row is not a circle: the next step changes nothing, and ends the run
        if exact and not line_search and first < t - 1:
            status, cycle = "cycle", t - first
            break
        if callback is not None and callback(t, point.x.copy()):
            status = "stopped by callback"
            break
    if status == "cycle":
        _complain(
            f"Newton's full steps repeat every {cycle} steps and never end; line_search=True helps",
            stacklevel=4,
        )
    elif status == "max_iter":
        _complain(f"Newton's method met no stopping rule in {t} steps", stacklevel=4)
    return _Run(point, status, cycle, {key: np.array(values) for key, values in history.items()})


def _step(
    point: _Point,
    target: np.ndarray,
    slope: float,
    at: Callable[[np.ndarray], _Point],
    line_search: bool,
) -> tuple[_Point, float]:
    """Return the next point and the step: 1, or the first of 1/2, 1/4, ... with a sufficient decrease."""
    new, step, direction = at(target), 1.0, target - point.x
    while line_search and new.value > point.value + _SUFFICIENT * step * slope and step > 1e-10:
        step /= 2.0
        new = at(point.x + step * direction)
    return new, step


# ---------------------------------------------------------------------------------------------


def _blur(task: _Task, alpha: np.ndarray) -> float:
    """Return what the rounding of the margins 1 of support vectors does to J."""
    return _EPS * task.C * np.count_nonzero(alpha) if task.power == 1 else 0.0


def _complain(message: str, stacklevel: int = 3) -> None:
    warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel)


def _result(
    task: _Task,
    w: np.ndarray | None,
    alpha: np.ndarray,
    beta: np.ndarray,
    objective: float,
    status: str,
    cycle: int,
    tol: float,
    history: History,
    exact: bool,
) -> TrainingResult:
    """Certify the multipliers with the dual program of the loss, whatever the method did, and collect.

    `exact` says that the method stopped by `tol`, and not by ZM's rule, which promises nothing.
    """
    Q = task.matrix()
    lower, upper = np.zeros(task.n), np.full(task.n, task.upper)
    Qa = Q @ alpha
    z_lower, z_upper = bound_multipliers(Qa - 1.0, alpha, lower, upper)
    none = np.zeros(0)
    certificate = certify_qp(
        Q, -np.ones(task.n), None, None, lower, upper, alpha, none, z_lower, z_upper, tol
    )
    dual_objective = float(alpha.sum() - 0.5 * alpha @ Qa)
    if certificate.ok and alpha.any():  # is w as good as alpha?
        gap = abs(objective - dual_objective) + _blur(task, alpha)
        gap /= max(objective, float(alpha.sum()))
        certificate = replace(certificate, gap=max(certificate.gap, gap))
    if exact and status == "converged" and not certificate.ok:
        _complain(
            f"the solution misses tol = {tol:g} ({certificate}): C or the inner products are so large that the slacks "
            "are lost in the rounding of the margins; scale the data, or lower C",
            stacklevel=4,
        )
    return TrainingResult(
        w=w,
        alpha=alpha,
        beta=beta,
        objective=objective,
        dual_objective=dual_objective,
        n_iter=len(history["change"]),
        converged=status == "converged",
        status=status,
        cycle=cycle,
        certificate=certificate,
        history=history,
        kernel=task.kernel,
        points=task.Z,
        problem=Problem("training", {"y": task.y, "C": task.C, "power": task.power}),
    )
