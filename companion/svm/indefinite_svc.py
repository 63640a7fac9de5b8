r"""The support vector machine with an indefinite kernel, as an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from companion.checks import as_scalar, as_symmetric, reject_masked
from companion.engine.guess import Guess
from companion.svm.dual import DualProgram
from companion.svm.estimator import KernelLike, SupportVectorMachine
from companion.svm.indefinite import INDEFINITE_METHODS, solve_indefinite
from companion.svm.points import Points
from companion.svm.slab import Slab, slab_unit, snap
from companion.svm.spectrum import RankOneSpectrum

__all__ = ["IndefiniteSVC"]

_EXTENSIONS = ("projected", "plain")
_ZERO = 1e-12  # eigenvalues below this part of the largest are zero


class IndefiniteSVC(SupportVectorMachine):
    r"""Support vector machine whose kernel need not be positive definite.

    .. math:: \max_{\alpha \in Q_1} \min_{K \succeq 0} \; \mathbf 1^\top \alpha - \tfrac12 \alpha^\top Y K Y \alpha
        + \rho \|K - K_0\|_F^2, \qquad Q_1 = \{\alpha : y^\top \alpha = 0, \; 0 \le \alpha \le C\}

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
    extension : str
        What the kernel of a new point x is: ``"projected"`` takes the row :math:`k_0(x)` of values with the training
        points to the positive eigenvectors of :math:`K_0 + \tfrac1{4\rho} Y\alpha\alpha^\top Y`, as the proxy does;
        ``"plain"`` leaves it as it is.
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
    history_ : dict of ndarray
        See :class:`IndefiniteResult`.
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
    Source: YCG. The paper does not say how it treats new points. A training point that is passed to `predict` counts
    as a new one; its own decision value is in ``decision_``.

    Examples
    --------
    >>> from companion.datasets import xor
    >>> data = xor()
    >>> machine = IndefiniteSVC(C=10.0, kernel="sigmoid", kernel_params={"coef0": -1.0})
    >>> machine.fit(data.X, data.y).lambda_min_ < 0
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        rho: float = 1.0,
        *,
        kernel: KernelLike = "rbf",
        kernel_params: dict[str, Any] | None = None,
        method: str = "accelerated",
        extension: str = "projected",
        tol: float = 1e-6,
        change: float | None = None,
        max_iter: int = 10_000,
    ) -> None:
        self.C = C
        self.rho = rho
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.method = method
        self.extension = extension
        self.tol = tol
        self.change = change
        self.max_iter = max_iter

    def _dual(self, points: Points) -> DualProgram:
        raise ValueError("the program of an indefinite kernel is no quadratic program")

    def _slab(self, s: np.ndarray, g: np.ndarray, a: np.ndarray, upper: float) -> Slab:
        return slab_unit(s, g, a, upper)

    def _checked(self, points: Points) -> Points:
        return points

    def _fit_points(self, points: Points, guess: Guess | None = None) -> list[Warning]:
        """Find the saddle point; read b from the machine with the proxy kernel."""
        if self.method not in INDEFINITE_METHODS:
            raise ValueError(
                f"method must be one of {', '.join(INDEFINITE_METHODS)}, got {self.method!r}"
            )
        if self.extension not in _EXTENSIONS:
            raise ValueError(
                f"extension must be one of {', '.join(_EXTENSIONS)}, got {self.extension!r}"
            )
        C, s = as_scalar(self.C, "C", above=0.0), points.s
        K0 = as_symmetric(points.gram, "the kernel matrix of the training points", points.n)
        spectrum = RankOneSpectrum(K0)
        result = solve_indefinite(
            K0,
            s,
            C,
            self.rho,
            method=self.method,
            tol=self.tol,
            change=self.change,
            max_iter=self.max_iter,
            spectrum=spectrum,
        )
        a = snap(result.multipliers, C)
        values = result.K @ (s * a)
        slab = self._slab(s, s * values, a, C)
        coefficients = s * a
        if self.extension == "projected":
            z = s * result.alpha
            d, V = np.linalg.eigh(K0 + np.outer(z, z) / (4.0 * self.rho))
            V = V[:, d > _ZERO * max(float(d[-1]), 0.0)]
            coefficients = V @ (coefficients @ V)
        self.X_fit_, self.w_ = points.X, None
        self.alpha_, self.multipliers_ = result.alpha, a
        self.proxy_kernel_, self.dual_coef_, self.b_ = result.K, coefficients, slab.b
        self.decision_ = values - slab.b
        self.lambda_, self.mu_, self.support_ = a[s > 0], a[s < 0], np.flatnonzero(a)
        self.lambda_min_, self.lambda_max_ = float(spectrum.d[0]), float(spectrum.d[-1])
        self.objective_, self.gap_, self.n_iter_ = result.objective, result.gap, result.n_iter
        self.history_, self.certificate_ = result.history, result.certificate
        return []

    def decision_function(self, X: Any) -> np.ndarray:
        r"""Return :math:`\sum_i c_i k_0(x_i, x) - b` for each row of X.

        Parameters
        ----------
        X : array-like of shape (k, d), or (k, l) for a precomputed kernel
            New points.

        Returns
        -------
        ndarray of shape (k,)
            Positive on the blue side.
        """
        check_is_fitted(self)
        reject_masked(X, "X")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        rows = X if self.kernel_.is_precomputed else self.kernel_(X, self.X_fit_)
        return rows @ self.dual_coef_ - self.b_
