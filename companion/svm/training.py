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

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from companion.arguments import check_choice
from companion.arithmetic import EPS
from companion.checks import as_matrix, as_scalar, check_count
from companion.engine.certificate import bound_multipliers, certify
from companion.exceptions import complain
from companion.kernels import as_kernel
from companion.results import Certificate, Outcome, Problem
from companion.svm.hyperplanes import KernelLike, proper_points
from companion.svm.program import DualProgram, Points, SignedKernel, as_signs

_LOSSES = {"hinge": 1, "quadratic": 2}
_SUFFICIENT = 1e-4  # part of the predicted decrease that the line search insists on


class TrainingResult(Outcome):
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
    status : str
        ``"converged"`` where the stopping rule was met, or ``"max_iter"``.
    certificate : Certificate
        Residuals and gap of the dual program at `alpha`; where they meet the tolerance, also the gap between the two
        objectives.
    history : dict of ndarray
        One entry per epoch or step: ``objective`` (that of the program the method works on), ``change`` (the norm of
        the change of :math:`\alpha`, w or :math:`\beta`), and ``active`` (coordinate ascent: the number of positive
        multipliers; Newton: which points are inside the margin, a row of n flags). Coordinate ascent adds
        ``primal_objective``, Newton's methods ``step`` and the points ``w`` or ``beta``.
    problem : Problem or None
        What was solved, so that the answer can be examined; its X has the training points as the kernel sees them, with
        the last coordinate 1.
    """

    w: np.ndarray | None
    alpha: np.ndarray
    beta: np.ndarray
    objective: float
    dual_objective: float
    certificate: Certificate


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
    """The points with the coordinate 1 as the kernel sees them, and the loss: hinge (1) or quadratic (2)."""

    points: Points
    C: float
    power: int

    @property
    def signed(self) -> SignedKernel:
        """The matrix of the dual program."""
        return SignedKernel(self.points, ridge=0.0 if self.power == 1 else 0.5 / self.C)

    @cached_property
    def dual(self) -> DualProgram:
        """The dual program. Its P is not formed where there are few features."""
        P, upper = self.signed.factor(), self.C if self.power == 1 else np.inf
        return DualProgram.of(self.signed.toarray() if P is None else P, -1.0, upper=upper)

    def primal(self, norm2: float, slack: np.ndarray) -> float:
        """Return J for the squared norm of w and the slacks."""
        return float(0.5 * norm2 + self.C * (slack**self.power).sum())

    def certify(self, alpha: np.ndarray, Pa: np.ndarray, tol: float) -> Certificate:
        """Return the certificate of multipliers, for the product of P and these."""
        box = self.dual.in_box()
        z = bound_multipliers(Pa + box.q, alpha, box.lower, box.upper)
        return certify(box, alpha, box.b, *z, tol, Pa)

    def result(
        self, beta: np.ndarray, alpha: np.ndarray, objective: float, tol: float, status: str,
        steps: list[dict[str, Any]], by_rule: bool = False, w: np.ndarray | None = None,
    ) -> TrainingResult:  # fmt: skip
        """Certify the multipliers by the dual program of the loss, whatever the method did; collect, and warn.

        Where ZM's rule has stopped the method, nothing is promised about the certificate.
        """
        points, dual = self.points, self.dual
        Pa, total = dual.P @ alpha, float(alpha.sum())
        value = total - 0.5 * float(alpha @ Pa)
        certificate = self.certify(alpha, Pa, tol)
        if certificate.ok and total > 0.0:  # is w as good as alpha?
            rounding = EPS * self.C * np.count_nonzero(alpha) if self.power == 1 else 0.0
            gap = (abs(objective - value) + rounding) / max(objective, total)
            certificate = replace(certificate, gap=max(certificate.gap, gap))
        if w is None and points.Phi is not None:
            w = beta @ points.Phi
        if status == "max_iter" or not (by_rule or certificate.ok):
            why = f"no stopping rule was met in {len(steps)} steps"
            if status == "converged":
                why = (
                    f"the solution misses tol = {tol:g} ({certificate}): slacks are lost in the rounding of the "
                    "margins; scale the data, or lower C"
                )
            complain(why)
        given = {"X": points.X, "y": points.s, "kernel": points.kernel}
        given |= {"C": self.C, "power": self.power}
        return TrainingResult(
            w, alpha, beta, objective, value, certificate, status=status, n_iter=len(steps),
            history={key: np.array([step[key] for step in steps]) for key in steps[0]},
            problem=Problem("training", given),
        )  # fmt: skip


def _read_task(X: Any, y: Any, C: float, loss: str, kernel: KernelLike) -> _Task:
    """Check the arguments; add the coordinate 1; ask the kernel for features or for the Gram matrix."""
    X = as_matrix(X, "X")
    y = as_signs(y, len(X))
    check_choice(loss, "loss", _LOSSES)
    C = as_scalar(C, "C", above=0.0)
    named = as_kernel(kernel)
    if not named.is_precomputed:
        pair = np.eye(2, X.shape[1])  # two points, to be seen with a coordinate 0 and with 1
        at_0, at_1 = (named(np.column_stack([pair, (last, last)])) for last in (0.0, 1.0))
        X = augment(X)
        if np.allclose(at_0, at_1, rtol=1e-9, atol=1e-12):  # the kernel does not see it
            named = named + 1.0
    return _Task(proper_points(Points(X, y, named), False, "the program"), C, _LOSSES[loss])


def augmented_dual(
    X: Any, y: Any, C: float = 1.0, *, loss: str = "hinge", kernel: KernelLike = "linear"
) -> DualProgram:
    r"""Return the dual program that the training algorithms solve, for :func:`companion.admm.solve_qp`.

    Parameters
    ----------
    X, y, C, loss, kernel
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
    >>> from companion.datasets import iris
    >>> data = iris("uci")
    >>> X, y = data.X[:, :2], np.where(data.y == 0, -1, 1)  # sepals; setosa against the rest
    >>> program = augmented_dual(X, y, C=10.0)
    >>> result = solve_qp(program.P, program.q, upper=program.upper)
    >>> ((result.x * y) @ augment(X)).round(4)
    array([ 2.7463, -3.7479, -3.0868])
    """
    return _read_task(X, y, C, loss, kernel).dual


# ---------------------------------------------------------------------------------------------
# One multiplier at a time
# ---------------------------------------------------------------------------------------------


def dual_coordinate_ascent(
    X: Any,
    y: Any,
    C: float = 1.0,
    *,
    loss: str = "hinge",
    kernel: KernelLike = "linear",
    order: str = "cyclic",
    tol: float = 1e-6,
    eps: float | None = None,
    max_iter: int = 100_000,
    rng: np.random.Generator | None = None,
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
    kernel : str, Kernel or callable
        See :func:`companion.kernels.as_kernel`; the kernel sees points with the coordinate 1. One that does not depend
        on it, such as the Gaussian kernel, gets the constant 1 added, so that there is a bias.
    order : str
        ``"cyclic"``, or ``"shuffled"`` for a new order in each epoch, which `rng` draws.
    tol : float
        Stop when the certificate meets it, and the two objectives differ by at most this part of
        :math:`\sum_i \alpha_i`.
    eps : float, optional
        Stop by ZM's rule instead: the change of :math:`\alpha` in an epoch has norm at most `eps`.
    max_iter : int
        Largest number of epochs.
    rng : numpy Generator, optional
        For ``order="shuffled"``; seed 0 by default.

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
    Source: ZM Algorithm 23.1, (23.65) to (23.71); as it is printed it cuts multipliers at C with the quadratic loss
    too, and has no bias with a Gaussian kernel. :math:`Q \alpha` is kept up to date, so that a multiplier that stays
    at its bound costs a comparison.

    Examples
    --------
    >>> from companion.datasets import iris
    >>> data = iris("uci")
    >>> X, y = data.X[:, :2], np.where(data.y == 0, -1, 1)  # sepals; setosa against the rest
    >>> result = dual_coordinate_ascent(X, y, C=10.0)
    >>> result.w.round(4), result.certificate.ok
    (array([ 2.7463, -3.7479, -3.0868]), True)
    """
    task = _read_task(X, y, C, loss, kernel)
    tol = as_scalar(tol, "tol", above=0.0)
    check_choice(order, "order", ("cyclic", "shuffled"))
    eps = None if eps is None else as_scalar(eps, "eps", at_least=0.0)
    rng = np.random.default_rng(0) if rng is None else rng
    Q, n, upper, ridge = task.signed.toarray(), task.points.n, task.dual.upper, task.signed.ridge
    rates = 1.0 / np.maximum(Q.diagonal(), np.finfo(float).tiny)  # Q_kk = 0: no curvature
    status, alpha, visits = "max_iter", np.zeros(n), np.arange(n)
    least_gap = 8.0 * EPS * n * task.C  # of margins that are right to rounding
    steps: list[dict[str, Any]] = []
    for _ in range(check_count(max_iter, "max_iter")):
        if order == "shuffled":
            visits = rng.permutation(n)
        old, alpha = alpha, _epoch(Q, alpha, rates, upper, visits)
        gradient = 1.0 - Q @ alpha
        margins = 1.0 - gradient - ridge * alpha
        dual = 0.5 * float(alpha @ (1.0 + gradient))
        J = task.primal(float(alpha @ margins), np.maximum(1.0 - margins, 0.0))
        change, active = float(np.linalg.norm(alpha - old)), np.count_nonzero(alpha)
        steps.append({"objective": dual, "primal_objective": J, "change": change, "active": active})
        close = J - dual <= max(tol * float(alpha.sum()), least_gap)
        proved = close and task.certify(alpha, Q @ alpha, tol).ok
        if change <= eps if eps is not None else proved:
            status = "converged"
            break
    return task.result(alpha * task.points.s, alpha, J, tol, status, steps, eps is not None)


def _epoch(
    Q: np.ndarray, alpha: np.ndarray, rates: np.ndarray, upper: float, visits: np.ndarray
) -> np.ndarray:
    """Return the multipliers after one step each; Q alpha is kept up to date."""
    a, products = alpha.tolist(), Q @ alpha
    for k, rate in zip(visits.tolist(), rates[visits].tolist()):
        value = min(max(a[k] + rate * (1.0 - float(products[k])), 0.0), upper)
        if value != a[k]:
            products += (value - a[k]) * Q[k]
            a[k] = value
    return np.array(a)


# ---------------------------------------------------------------------------------------------
# Newton's method
# ---------------------------------------------------------------------------------------------


def primal_newton(
    X: Any,
    y: Any,
    C: float = 1.0,
    *,
    kernel: KernelLike = "linear",
    tol: float = 1e-9,
    max_iter: int = 100,
) -> TrainingResult:
    r"""Train by Newton's method on the primal program with the quadratic loss.

    .. math:: & \nabla = H w - 2 C v, \quad H = I + 2 C S, \\
        & S = \sum_{i \in A} x_i x_i^\top, \quad v = \sum_{i \in A} y_i x_i, \\
        & A = \{ i : y_i \langle w, x_i \rangle < 1 \} .

    J is quadratic as long as A does not change, so that a full step is the minimiser for the present A. When the new
    point has the same A, it is the solution, exactly. A step that does not decrease J enough is halved: full steps can
    run in a circle.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points; the coordinate 1 is added here.
    y : array-like of shape (n,)
        Labels +1 and -1.
    C : float
        Price of the loss.
    kernel : str, Kernel or callable
        The linear kernel, or another one with few explicit features.
    tol : float
        Tolerance of the certificate, and relative change of w that counts as none.
    max_iter : int
        Largest number of steps.

    Returns
    -------
    TrainingResult

    Raises
    ------
    ValueError
        If the kernel has no explicit features; :func:`primal_kernel_newton` needs none.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` is reached, or the certificate misses `tol`.

    Notes
    -----
    Source: ZM Algorithm 23.2, (23.72) to (23.77), with a line search.

    Examples
    --------
    >>> from companion.datasets import iris
    >>> data = iris("uci")
    >>> X, y = data.X[:, :2], np.where(data.y == 0, -1, 1)  # sepals; setosa against the rest
    >>> result = primal_newton(X, y, C=1000.0)
    >>> result.w.round(4), round(result.objective, 4), result.certificate.ok
    (array([  7.4737,  -6.3402, -19.9082]), 285.0407, True)
    """
    task = _read_task(X, y, C, "quadratic", kernel)
    F, y, C = task.points.Phi, task.points.s, task.C
    if F is None:
        raise ValueError(
            f"{task.points.kernel!r} has no explicit features, or too many; use primal_kernel_newton"
        )

    def minimum(A: np.ndarray) -> np.ndarray:
        H, v = np.eye(F.shape[1]) + 2.0 * C * F[A].T @ F[A], y[A] @ F[A]
        return _solve_positive(H, 2.0 * C * v)

    return _newton(task, "w", F, minimum, tol, max_iter)


def primal_kernel_newton(
    X: Any,
    y: Any,
    C: float = 1.0,
    *,
    kernel: KernelLike = "linear",
    tol: float = 1e-9,
    max_iter: int = 100,
) -> TrainingResult:
    r"""Train by Newton's method on the coefficients of :math:`h(x) = \sum_i \beta_i \kappa(x_i, x)`, quadratic loss.

    .. math:: & \nabla = H \beta - 2 C v, \quad H = K + 2 C S, \\
        & S = \sum_{i \in A} K_i K_i^\top, \quad v = \sum_{i \in A} y_i K_i, \\
        & A = \{ i : y_i (K \beta)_i < 1 \} .

    H has the null space of K: whenever K is singular, so is H, and the printed step does not exist. Among its
    minimisers the quadratic model has one that vanishes outside of A,

    .. math:: (K_{AA} + \tfrac1{2C} I)\, \beta_A = y_A,

    and the step leads to it. It costs :math:`|A|^3` instead of :math:`n^3`.

    Parameters
    ----------
    X, y, C, kernel
        As for :func:`dual_coordinate_ascent`.
    tol, max_iter
        As for :func:`primal_newton`, with :math:`\beta` in place of w.

    Returns
    -------
    TrainingResult

    Warns
    -----
    ConvergenceWarning
        If `max_iter` is reached, or the certificate misses `tol`.

    Notes
    -----
    Source: ZM Algorithm 23.3, (23.78) to (23.88), with a line search; the step in :math:`\beta_A` is Chapelle's (2007).

    Examples
    --------
    >>> from companion.datasets import iris_components
    >>> from companion.kernels import Polynomial
    >>> data = iris_components()
    >>> result = primal_kernel_newton(data.X, data.y, C=10.0, kernel=Polynomial(2, R=0.0))
    >>> round(result.objective, 4), result.certificate.ok
    (136.8543, True)
    """
    task = _read_task(X, y, C, "quadratic", kernel)
    K, y = task.points.gram, task.points.s

    def minimum(A: np.ndarray) -> np.ndarray:
        target = np.zeros(y.size)
        target[A] = _solve_positive(K[np.ix_(A, A)] + 0.5 / task.C * np.eye(A.size), y[A])
        return target

    return _newton(task, "beta", K, minimum, tol, max_iter)


def _solve_positive(H: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve with a positive definite matrix."""
    try:
        return cho_solve(cho_factor(H), right)
    except ValueError as error:  # a LinAlgError is one, too
        raise ValueError(
            "the matrix of the Newton step is not positive definite in float64: C or the inner products are too large; "
            "scale the data, or lower C"
        ) from error


def _newton(
    task: _Task, name: str, M: np.ndarray, minimum: Callable[[np.ndarray], np.ndarray], tol: float, max_iter: int
) -> TrainingResult:  # fmt: skip
    """Go from minimiser to minimiser of the quadratic model, until one has the set A that it was computed from.

    The unknown x is w, with the values M x = F w at the points, or beta, with M = K.
    """
    tol, y, C = as_scalar(tol, "tol", above=0.0), task.points.s, task.C

    def at(x: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        h = M @ x
        of_w = x if name == "w" else h  # the gradient of |w|^2/2
        slack = np.maximum(1.0 - y * h, 0.0)
        return slack, task.primal(float(x @ of_w), slack), of_w - 2.0 * C * ((y * slack) @ M)

    x, status = np.zeros(M.shape[1]), "max_iter"
    (slack, J, gradient), steps = at(x), list[dict[str, Any]]()
    for _ in range(check_count(max_iter, "max_iter")):
        old, A, before, step = x, slack > 0.0, J, 1.0
        target = minimum(np.flatnonzero(A))
        slope = float(gradient @ (target - old))
        settled = -slope <= 64.0 * EPS * before  # what is left to gain is rounding
        x, (slack, J, gradient) = target, at(target)
        while not settled and before + _SUFFICIENT * step * slope < J:
            step /= 2.0
            x = old + step * (target - old)
            slack, J, gradient = at(x)
        change = float(np.linalg.norm(x - old))
        now = {"objective": J, "change": change, "active": slack > 0.0, "step": step, name: x}
        steps.append(now)
        same = step == 1.0 and np.array_equal(slack > 0.0, A)
        if same or settled or change <= tol * float(np.linalg.norm(x)):
            status = "converged"
            break
    alpha = 2.0 * C * slack
    if name == "w":
        return task.result(y * alpha, alpha, J, tol, status, steps, w=x)
    if status == "converged":
        alpha = np.maximum(y * x, 0.0)  # 2 C xi, without the cancellation in xi
    return task.result(x, alpha, J, tol, status, steps)
