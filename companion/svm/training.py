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
from functools import cached_property
from typing import Any

import numpy as np

from companion.admm import LowRank
from companion.checks import as_matrix, as_scalar
from companion.engine.arithmetic import EPS, largest
from companion.exceptions import ConvergenceWarning
from companion.kernels import Kernel, as_kernel
from companion.results import Certificate, History, Problem, Record
from companion.svm.dual import DualProgram
from companion.svm.model import KernelLike
from companion.svm.points import Points, as_signs, make_points

__all__ = [
    "Callback",
    "Task",
    "TrainingResult",
    "augment",
    "augmented_dual",
    "read_task",
    "stopping",
]

Callback = Callable[[int, np.ndarray], Any]

_LOSSES = {"hinge": 1, "quadratic": 2}
_PRINTED_EPS = 1e-4  # the accuracy of ZM's examples
_SAMPLE = 20  # points on which a kernel shows whether it sees the coordinate 1


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
class Task:
    """The points with the coordinate 1 as the kernel sees them, and the loss: hinge (1) or quadratic (2)."""

    points: Points
    C: float
    power: int

    @cached_property
    def dual(self) -> DualProgram:
        """The dual program. Its P is not formed where there are few features."""
        ridge, upper = (0.0, self.C) if self.power == 1 else (0.5 / self.C, np.inf)
        signed = self.points.signed_kernel(keep_origin=True, ridge=ridge)
        G = signed.factor()
        P = signed.toarray() if G is None else LowRank(G, diagonal=ridge)
        return DualProgram.of(P, -1.0, upper=upper)

    def primal(self, norm2: float, margins: np.ndarray) -> float:
        """Return J for the squared norm of w and the numbers y_i h(x_i)."""
        slack = np.maximum(1.0 - margins, 0.0)
        return float(0.5 * norm2 + self.C * (slack**self.power).sum())

    def result(
        self, beta: np.ndarray, alpha: np.ndarray, objective: float, tol: float, status: str, history: dict[str, list],
        cycle: int = 0, w: np.ndarray | None = None, *, by_certificate: bool,
    ) -> TrainingResult:  # fmt: skip
        """Certify the multipliers by the dual program of the loss, whatever the method did; collect, and warn."""
        points, dual = self.points, self.dual
        Pa, total = dual.P @ alpha, float(alpha.sum())
        value = total - 0.5 * float(alpha @ Pa)
        certificate = dual.certify(alpha, np.zeros(0), Pa, tol)
        if certificate.ok and total > 0.0:  # is w as good as alpha?
            rounding = EPS * self.C * np.count_nonzero(alpha) if self.power == 1 else 0.0
            gap = (abs(objective - value) + rounding) / max(objective, total)
            certificate = replace(certificate, gap=max(certificate.gap, gap))
        if w is None and points.Phi is not None:
            w = beta @ points.Phi
        found = TrainingResult(
            w=w, alpha=alpha, beta=beta, objective=objective, dual_objective=value, n_iter=len(history["change"]),
            converged=status == "converged", status=status, cycle=cycle, certificate=certificate,
            history={key: np.array(values) for key, values in history.items()}, kernel=points.kernel, points=points.X,
            problem=Problem("training", {"y": points.s, "C": self.C, "power": self.power}),
        )  # fmt: skip
        if text := _complaint(found, by_certificate):
            warnings.warn(text, ConvergenceWarning, stacklevel=3)
        return found


def _complaint(result: TrainingResult, by_certificate: bool) -> str:
    """Return what a user should hear about a result: nothing, if it is what was asked for."""
    if result.status == "cycle":
        return f"Newton's full steps repeat every {result.cycle} steps and never end; line_search=True helps"
    if result.status == "max_iter":
        return f"no stopping rule was met in {result.n_iter} steps"
    if result.certificate.ok or not (by_certificate and result.converged):
        return ""
    return (
        f"the solution misses tol = {result.certificate.tolerance:g} ({result.certificate}): slacks are lost in the "
        "rounding of the margins; scale the data, or lower C"
    )


def stopping(tol: float, eps: float | None, as_printed: bool) -> tuple[float, float | None]:
    """Return the checked tolerances: ZM's rule with 1e-4 stops an algorithm that runs as it is printed."""
    eps = _PRINTED_EPS if as_printed and eps is None else eps
    tol = as_scalar(tol, "tol", above=0.0)
    return tol, None if eps is None else as_scalar(eps, "eps", above=0.0)


def read_task(
    X: Any, y: Any, C: float, loss: str, kernel: KernelLike, params: dict[str, Any] | None, as_printed: bool = False
) -> Task:  # fmt: skip
    """Check the arguments; add the coordinate 1; ask the kernel for features or for the Gram matrix.

    A kernel that does not see the coordinate gets the constant 1, unless the algorithm shall run as it is printed.
    """
    X = as_matrix(X, "X")
    y = as_signs(y, len(X))
    if loss not in _LOSSES:
        raise ValueError(f"loss must be 'hinge' or 'quadratic', got {loss!r}")
    C = as_scalar(C, "C", above=0.0)
    named = as_kernel(kernel, **(params or {}))
    if named.is_precomputed:
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"a precomputed kernel needs a square Gram matrix, got shape {X.shape}"
            )
        return Task(make_points(X, y, named), C, _LOSSES[loss])
    Z = augment(X)
    if not as_printed and not _sees_last(named, Z):
        named = named + 1.0
    return Task(make_points(Z, y, named), C, _LOSSES[loss])


def _sees_last(kernel: Kernel, Z: np.ndarray) -> bool:
    """Return whether the kernel depends on the last coordinate, which all points share."""
    few = Z[:_SAMPLE]
    moved = few + largest(few) * np.eye(few.shape[1])[-1]
    K, far = kernel(few), kernel(moved)  # rounding grows with the distance from the origin
    return float(np.abs(far - K).max()) > 1e-6 * float(np.abs(K).max())


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
    return read_task(X, y, C, loss, kernel, kernel_params).dual
