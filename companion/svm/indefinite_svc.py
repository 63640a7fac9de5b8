r"""The support vector machine with an indefinite kernel, as an estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from companion.checks import as_scalar, as_symmetric
from companion.svm.estimator import HyperplaneClassifier
from companion.svm.indefinite import solve_indefinite
from companion.svm.model import KernelLike
from companion.svm.points import Points
from companion.svm.slab import slab_b, snap

__all__ = ["IndefiniteSVC"]

_ZERO = 1e-12  # eigenvalues below this part of the largest are zero


@dataclass(eq=False, repr=False)
class IndefiniteSVC(HyperplaneClassifier):
    r"""Support vector machine whose kernel need not be positive definite.

    .. math:: & \max_{\alpha \in Q_1} \min_{K \succeq 0} \; \mathbf 1^\top \alpha - \tfrac12 \alpha^\top Y K Y \alpha \\
        & \quad + \rho \|K - K_0\|_F^2, \\
        & Q_1 = \{\alpha : y^\top \alpha = 0, \; 0 \le \alpha \le C\}

    for the kernel matrix :math:`K_0` of the training points. The machine is then that of (SVM_s2) with the proxy
    kernel :math:`K(\alpha)`.

    Parameters
    ----------
    C : float
        Price of a unit of slack.
    rho : float
        Price of the distance between the proxy kernel and the given one.
    kernel, kernel_params
        See :func:`companion.kernels.as_kernel`; symmetric, and otherwise free.
    method : str
        ``"smm"``, ``"spgm"`` or ``"accelerated"``: see :func:`solve_indefinite`.
    tol : float
        Relative gap to reach.
    change : float or None
        Stop also at this relative change of the objective in one step, the paper's rule.
    max_iter : int
        Largest number of steps.

    Attributes
    ----------
    alpha_ : ndarray of shape (l,)
        The maximiser found.
    objective_ : float
        Its value of f.
    gap_ : float
        Upper bound of what is missing to the maximum.
    multipliers_ : ndarray of shape (l,)
        Multipliers of the machine with the proxy kernel; at the maximum they are as good as ``alpha_``.
    proxy_kernel_ : ndarray of shape (l, l)
        :math:`K(\alpha)`.
    dual_coef_ : ndarray of shape (l,)
        Coefficients c of the decision function :math:`\sum_i c_i k_0(x_i, x) - b`.
    b_ : float
        The constant of the decision function.
    lambda_min_, lambda_max_ : float
        Extreme eigenvalues of :math:`K_0`.
    lambda_, mu_, support_
        The multipliers of blue and of red points, and where they are positive.
    n_iter_ : int
        Number of steps.
    certificate_ : Certificate
        Residuals and gap.

    Raises
    ------
    ValueError
        If the kernel matrix is not symmetric.

    Warns
    -----
    ConvergenceWarning
        If `tol` is not met within `max_iter` steps.

    Notes
    -----
    Source: YCG. The paper does not say how it treats new points. Here the row :math:`k_0(x)` of a new point's values
    with the training points is taken to the positive eigenvectors of :math:`K_0 + \tfrac1{4\rho} Y\alpha\alpha^\top Y`,
    as the proxy does with those of the training points. A training point that is passed to `predict` counts as a new
    one; its own decision value is in ``decision_``.

    Examples
    --------
    >>> from companion.datasets import xor
    >>> data = xor()
    >>> machine = IndefiniteSVC(C=10.0, kernel="sigmoid", kernel_params={"coef0": -1.0})
    >>> machine.fit(data.X, data.y).lambda_min_ < 0
    True
    """

    C: float = 1.0
    rho: float = 1.0
    _: KW_ONLY
    kernel: KernelLike = "rbf"
    tol: float = 1e-6
    max_iter: int = 10_000
    method: str = "accelerated"
    change: float | None = None

    def _fit(self, X: Any, y: Any) -> list[Warning]:
        """Find the saddle point; read b from the machine with the proxy kernel."""
        X, s = self._read(X, y)
        C = as_scalar(self.C, "C", above=0.0)
        gram = Points(X, s, self.kernel_, None).gram
        K0 = as_symmetric(gram, "the kernel matrix of the training points", len(s))
        result = solve_indefinite(
            K0, s, C, self.rho, method=self.method, tol=self.tol, change=self.change, max_iter=self.max_iter
        )  # fmt: skip
        a = snap(result.multipliers, C)
        values, z = result.K @ (s * a), s * result.alpha
        d, V = np.linalg.eigh(K0 + np.outer(z, z) / (4.0 * self.rho))
        V = V[:, d > _ZERO * max(float(d[-1]), 0.0)]
        self.X_fit_, self.w_ = X, None
        self.b_ = slab_b(s, s * values - 1.0, a, C, eta=1.0).b
        self.alpha_, self.multipliers_ = result.alpha, a
        self.proxy_kernel_, self.dual_coef_ = result.K, V @ ((s * a) @ V)
        self.decision_ = values - self.b_
        self.lambda_, self.mu_, self.support_ = a[s > 0], a[s < 0], np.flatnonzero(a)
        d = np.linalg.eigvalsh(K0)
        self.lambda_min_, self.lambda_max_ = float(d[0]), float(d[-1])
        self.objective_, self.gap_, self.n_iter_ = result.objective, result.gap, result.n_iter
        self.certificate_ = result.certificate
        return []
