r"""The linear program (SVM_s2l), which leaves the norm of w out of (SVM_s2)."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

from companion.engine.arithmetic import EPS, largest, ratio
from companion.results import Certificate
from companion.svm.estimator import HyperplaneClassifier
from companion.svm.slab import place_points, snap

__all__ = ["SVMs2l"]


@dataclass(eq=False, repr=False)
class SVMs2l(HyperplaneClassifier):
    r"""The linear program (SVM_s2l): (SVM_s2) without the term :math:`\tfrac12 \|w\|^2`.

    .. math::

        & \min_{w, b, \epsilon, \xi} \; \sum_i \epsilon_i + \sum_j \xi_j \\
        & \text{subject to} \quad \epsilon, \xi \ge 0, \\
        & \quad \langle w, \varphi(u_i) \rangle - b \ge 1 - \epsilon_i, \\
        & \quad -\langle w, \varphi(v_j) \rangle + b \ge 1 - \xi_j .

    Its dual is :math:`\max \mathbf 1^\top a` subject to :math:`\sum_i s_i a_i \varphi(x_i) = 0`,
    :math:`s^\top a = 0`, :math:`0 \le a \le 1`.

    Parameters
    ----------
    kernel, kernel_params, tol, max_iter
        As for :class:`SVMs2prime`. Without explicit features :math:`w = \sum_j c_j \varphi(x_j)` with free c.

    Attributes
    ----------
    lambda_, mu_ : ndarray of shape (p,), (q,)
        Multipliers of the two families of inequalities. They do not give w.
    w_, b_, eta_, epsilon_, xi_, point_classes_, certificate_
        As for :class:`SVMs2prime`. The solution is a vertex that the simplex method found; others may be as
        good. w = 0 is possible.
    degenerate_ : bool
        Whether w = 0.

    Notes
    -----
    Source: the remark at the end of Section 18.3. The text says that the program minimises the number of misclassified
    points; it minimises their total slack. Solved by HiGHS.

    Examples
    --------
    The best hyperplane misclassifies one point, the linear program's three:

    >>> import numpy as np
    >>> u, v = np.array([[1.0], [2.0], [3.0], [-20.0]]), np.array([[-1.0], [-2.0], [-3.0]])
    >>> machine = SVMs2l().fit_uv(u, v)
    >>> round(machine.objective_, 6), machine.w_, round(machine.b_, 6)
    (6.0, array([0.]), -1.0)
    """

    _: KW_ONLY
    max_iter: int = 100_000

    _balanced = False  # w has coefficients of its own

    def _fit(self, X: Any, y: Any) -> list[Warning]:
        """Solve the linear program; read the multipliers from its dual solution."""
        points = self._points(*self._read(X, y))
        s, n = points.s, points.n
        F = points.gram if points.Phi is None else points.Phi
        mean = F.mean(axis=0)  # b takes it; HiGHS does not see small differences of large numbers
        unit = largest(F - mean) or 1.0
        B = (F - mean) / unit
        # variables (w, b, slack):  -s_i (B_i w - b) - slack_i <= -1
        N = B.shape[1]
        inequalities = np.hstack([-s[:, None] * B, s[:, None], -np.eye(n)])
        cost = np.concatenate([np.zeros(N + 1), np.ones(n)])
        bounds = [(None, None)] * (N + 1) + [(0.0, None)] * n
        answer = linprog(
            cost, A_ub=inequalities, b_ub=-np.ones(n), bounds=bounds, method="highs-ds",
            options={"maxiter": self.max_iter},
        )  # fmt: skip
        if answer.x is None:
            raise RuntimeError(f"HiGHS could not solve the linear program: {answer.message}")
        w, b = answer.x[:N] + 0.0, float(answer.x[N])
        a = snap(np.clip(-answer.ineqlin.marginals, 0.0, 1.0) + 0.0, 1.0)
        inner = s * (B @ w - b)
        slack = np.maximum(1.0 - inner, 0.0)
        size = 1.0 + largest(B @ w) + abs(b)
        self.K_, self.n_iter_ = 1.0, int(answer.nit)
        self.point_classes_ = place_points(a, 1.0, inner, 1.0, size, squared=False)
        self._store_points(points, a, np.where(slack > 1e-9 * size, slack, 0.0), 1.0)
        w, self.w_ = w / unit, None
        if points.Phi is None:
            self.dual_coef_, square = w, float(w @ F @ w)
        else:
            self.w_, square = w, float(w @ w)
        self.norm_ = math.sqrt(max(square, 0.0))
        self.b_, self.eta_ = b + float(w @ mean), 1.0
        self.delta_, self.degenerate_ = float(ratio(1.0, self.norm_)), self.norm_ == 0.0
        told = np.maximum(1.0 - s * (F @ w - self.b_), 0.0)
        rounding = n * EPS * (largest(np.abs(F) @ np.abs(w)) + abs(self.b_))
        self.objective_, self.dual_objective_ = float(slack.sum()), float(a.sum())
        balance = max(largest((s * a) @ B), abs(float(s @ a)))
        gap = max(abs(float(told.sum()) - self.dual_objective_), rounding)
        self.certificate_ = Certificate(
            primal_residual=0.0,
            dual_residual=balance / max(self.dual_objective_, 1.0),
            complementarity=largest(a * (inner + slack - 1.0)) / size,
            gap=gap / max(self.objective_, 1.0),
            tolerance=float(self.tol),
        )
        return self._complaints()
