r"""The lasso: programs lasso1 to lasso4, by the text's ADMM and by the finishing loop, and the path over tau."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from companion.admm.proximal import soft_threshold
from companion.admm.splitting import admm
from companion.arithmetic import beyond, largest
from companion.checks import as_scalar, as_vector, check_count
from companion.exceptions import complain
from companion.regression.intercept import Shifted, shift
from companion.regression.regressor import Regressor, as_data
from companion.regression.ridge import solve_ridge, warn_if_missed
from companion.regression.signs import Columns, SparseSolution, product
from companion.results import TOLERANCE, ADMMResult, Problem, Record

# ---------------------------------------------------------------------------------------------
# The text's ADMM
# ---------------------------------------------------------------------------------------------


def lasso_admm(
    X: ArrayLike, y: ArrayLike, tau: float, *, K: float = 0.0, intercept: str = "free", C: float = 1.0,
    rho: float | None = None, tol: float = 1e-8, max_iter: int = 10_000, **options: Any,
) -> ADMMResult:  # fmt: skip
    r"""Solve the lasso, or the elastic net, by the text's ADMM.

    On the shifted data (centred, when b is free), with the scaled multiplier u,

    .. math::

        x^{k+1} &= (\hat X^\top \hat X + (K + \rho) I)^{-1} \\
                & \qquad (\hat X^\top \hat y + \rho (z^k - u^k)) \\
        z^{k+1} &= S_{\tau/\rho}(x^{k+1} + u^k) \\
        u^{k+1} &= u^k + x^{k+1} - z^{k+1}.

    Parameters
    ----------
    X : array-like of shape (m, n)
    y : array-like of shape (m,)
    tau, K : float
        Penalties, tau > 0, K >= 0.
    intercept : {"free", "none", "penalized"}
        As in :class:`Lasso`.
    C : float
        The penalty on a penalized b.
    rho : float, optional
        Penalty parameter of ADMM. Default: the mean square norm of the columns.
    tol : float
        The run stops when the norms of the primal and of the dual residual are at most this.
    max_iter : int
        Largest number of steps.
    **options
        ``z0``, ``u0`` and ``keep_iterates`` of :func:`companion.admm.admm`.

    Returns
    -------
    ADMMResult
        The weights, with exact zeros, are `z`. The certificate is made from them, and is relative; the stopping rule is
        absolute. ``converged`` says that both are met. Where only the rule is, `status` is ``"not certified"``.

    Notes
    -----
    Source: Section 16.8 (4), Problem 16.7, Example 19.3. The elastic net needs no larger system than the lasso; the
    text solves it through a dual program in 2(n + m) variables.

    Examples
    --------
    >>> result = lasso_admm([[2.0, 0.0], [0.0, 1.0]], [3.0, 1.0], 1.0, intercept="none", rho=1.0)
    >>> result.z.round(6), result.converged, result.certificate.ok
    (array([1.25, 0.  ]), True, True)
    """
    data = _shifted(X, y, intercept, C)
    K, tau = as_scalar(K, "K", at_least=0), as_scalar(tau, "tau", above=0)
    tol = as_scalar(tol, "tol", above=0)
    Z, target, n = data.X, data.y, data.X.shape[1]
    rho = (float(np.vdot(Z, Z)) / n + K or 1.0) if rho is None else as_scalar(rho, "rho", above=0)
    factor, Zy = linalg.cho_factor(Z.T @ Z + (K + rho) * np.eye(n)), Z.T @ target

    def objective(x: np.ndarray, z: np.ndarray) -> float:
        r = target - Z @ z
        return float(0.5 * (r @ r + K * (z @ z)) + tau * np.abs(z).sum())

    run = admm(
        lambda v, rho: linalg.cho_solve(factor, Zy + rho * v),
        lambda v, rho: soft_threshold(-v, tau / rho), A=1, B=-1, c=np.zeros(n), rho=rho,
        tol_abs=tol / np.sqrt(n), tol_rel=0.0, max_iter=max_iter, objective=objective, **options,
    )  # fmt: skip
    certificate = Columns(data, K).prove(run.z, tau, tol, refine=False).certificate
    status = run.status if certificate.ok or not run.converged else "not certified"
    given = {"X": X, "y": y, "K": K, "tau": tau, "C": C, "intercept": intercept}
    problem = Problem("lasso by ADMM", given)
    return replace(run, status=status, certificate=certificate, problem=problem)


def _shifted(X: ArrayLike, y: ArrayLike, intercept: str, C: float) -> Shifted:
    """Check the data and shift them."""
    return shift(*as_data(X, y), intercept, as_scalar(C, "C", above=0))


# ---------------------------------------------------------------------------------------------
# The estimators
# ---------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class L1Regression(Regressor):
    r"""What :class:`Lasso` and :class:`ElasticNet` share.

    .. math:: & \min_{w, b, \xi} \; \tfrac12 \|\xi\|_2^2 + \tfrac K2 \|w\|_2^2 + \tau \|w\|_1 \\
        & \text{subject to} \quad y - Xw - b\mathbf 1 = \xi
    """

    K: float = 1.0
    tau: float = 1.0
    _: KW_ONLY
    intercept: str = "free"
    C: float = 1.0
    tol: float = 1e-10
    max_iter: int = 10_000

    def fit(self, X: Any, y: Any) -> Self:
        """Solve the program.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Points.
        y : array-like of shape (m,)
            Values.

        Returns
        -------
        L1Regression
            Itself.
        """
        K, tau = as_scalar(self.K, "K", at_least=0), as_scalar(self.tau, "tau", at_least=0)
        tol, max_iter = as_scalar(self.tol, "tol", above=0), check_count(self.max_iter, "max_iter")
        C = as_scalar(self.C, "C", above=0)
        X, y = self._read(X, y)
        data = shift(X, y, self.intercept, C)
        columns = Columns(data, K)
        if tau > 0.0:
            found = columns.solve(tau, tol, max_iter)
        else:
            ridge = solve_ridge(data.X, data.y, K, "none")
            c = data.X.T @ ridge.xi - K * ridge.w
            proof = replace(ridge.certificate, tolerance=max(tol, TOLERANCE))
            found = SparseSolution(ridge.w, ridge.xi, c, 0.5 * ridge.objective, proof, 1)

        self.w_, self.b_ = found.w, data.intercept(found.w)
        self.support_ = self.w_.nonzero()[0]
        self.xi_ = y - product(X, self.w_) - self.b_
        self.lambda_ = data.unshift(found.lambda_)
        self.unique_ = columns.is_unique(found.c, tau)
        self.tau_max_ = largest(columns.correlation)
        self.objective_, self.n_iter_ = found.objective, max(found.n_iter, 1)
        self.certificate_ = found.certificate
        if tau > 0.0:
            _warn_if_missed([found], tol, max_iter)
        else:
            warn_if_missed(self.certificate_, K, ridge.w_error)
        return self


class Lasso(L1Regression):
    r"""Least squares with a penalty on the sum of the absolute weights.

    .. math:: & \min_{w, b, \xi} \; \tfrac12 \|\xi\|_2^2 + \tau \|w\|_1 \\
        & \text{subject to} \quad y - Xw - b\mathbf 1 = \xi

    with b = 0 (``intercept="none"``), b free (``"free"``), or the further term :math:`\tfrac C2 b^2` in the
    objective (``"penalized"``). The dual problem projects y on a polytope,

    .. math:: & \min_\lambda \; \tfrac12 \|y - \lambda\|_2^2 \\
        & \text{subject to} \quad \|X^\top \lambda\|_\infty \le \tau,

    with the further constraint :math:`\mathbf 1^\top\lambda = 0` for a free b, or the further term
    :math:`(\mathbf 1^\top\lambda)^2 / (2C)` in the objective for a penalized one; and :math:`\xi = \lambda`.

    Parameters
    ----------
    tau : float
        The penalty, >= 0. From ``tau_max_`` on, w = 0. At tau = 0, the least-squares solution of smallest norm.
    intercept : {"free", "none", "penalized"}
        What happens to b: programs lasso3, lasso2 and lasso4.
    C : float
        The penalty on b, > 0, for ``intercept="penalized"``.
    tol : float
        Tolerance of the duality gap relative to the objective.
    max_iter : int
        Largest number of linear systems.

    Attributes
    ----------
    w_ : ndarray of shape (n,)
        Weights, with exact zeros. Also ``coef_``.
    b_ : float
        Intercept. Also ``intercept_``.
    xi_ : ndarray of shape (m,)
        Residuals :math:`y - Xw - b\mathbf 1`.
    lambda_ : ndarray of shape (m,)
        The dual solution; equal to the residuals.
    support_ : ndarray of int
        Indices of the nonzero weights.
    tau_max_ : float
        The smallest tau with w = 0: :math:`\|X^\top y\|_\infty`, of the centred data when b is free.
    unique_ : bool
        Whether w is proved to be the only solution (Xw always is the only fit). False with repeated columns, for
        example.
    objective_ : float
        The minimum.
    n_iter_ : int
        Number of linear systems.
    certificate_ : Certificate
        Residuals and duality gap.
    n_features_in_ : int
        n.

    Raises
    ------
    ValueError
        If tau < 0 or an option is unknown.

    Warns
    -----
    ConvergenceWarning
        If the gap misses `tol`, or the certificate its tolerance.

    Notes
    -----
    Source: Section 19.5, programs lasso1, lasso2, Dlasso2, lasso3, Dlasso3, lasso4. The text gives lasso4 the dual of
    lasso2; the term :math:`(\mathbf 1^\top\lambda)^2/(2C)` is missing there. scikit-learn divides the objective by m:
    its alpha is tau/m.

    Examples
    --------
    >>> X = [[-10, 11], [-6, 5], [-2, 4], [0, 0], [1, 2], [2, -5], [6, -4], [10, -6]]
    >>> y = [0, -2.5, 0.5, -2, 2.5, -4.2, 1, 4]
    >>> model = Lasso(tau=10).fit(X, y)
    >>> model.w_.round(4), round(model.b_, 4), round(model.tau_max_, 6)
    (array([0.6103, 0.5282]), -0.626, 54.1875)
    >>> Lasso(tau=54.1875).fit(X, y).w_
    array([0., 0.])
    """

    def __init__(
        self, tau: float = 1.0, *, intercept: str = "free", C: float = 1.0, tol: float = 1e-10,
        max_iter: int = 10_000,
    ) -> None:  # fmt: skip
        super().__init__(0.0, tau, intercept=intercept, C=C, tol=tol, max_iter=max_iter)


def _warn_if_missed(solutions: list[SparseSolution], tol: float, max_iter: int) -> None:
    """Warn if a gap misses its tolerance."""
    worst = max(solutions, key=lambda each: each.certificate.gap)
    if worst.certificate.ok:
        return
    message = "the relative duality gap is {}, not {}".format(*beyond(worst.certificate.gap, tol))
    faint = ": tau is so small beside X'y that the rest is rounding of y; scale the columns, or raise tau"
    out_of_time = worst.n_iter >= max_iter
    complain(f"within max_iter = {max_iter} {message}" if out_of_time else message + faint)


# ---------------------------------------------------------------------------------------------
# The path
# ---------------------------------------------------------------------------------------------


class L1Path(Record):
    """The lasso or elastic net solutions for many tau.

    Parameters
    ----------
    tau : ndarray of shape (k,)
        The penalties.
    w : ndarray of shape (k, n)
        One solution per row, with exact zeros.
    b : ndarray of shape (k,)
        The intercepts.
    n_nonzero : ndarray of shape (k,)
        Number of nonzero weights.
    objective : ndarray of shape (k,)
        The minima.
    gap : ndarray of shape (k,)
        Bounds of the duality gaps, relative to the objective.
    n_iter : ndarray of shape (k,)
        Number of linear systems.
    converged : bool
        Whether all gaps met the tolerance.
    tau_max : float
        The smallest tau with w = 0.
    problem : Problem or None
        What was solved, so that the answer can be examined.
    """

    tau: np.ndarray
    w: np.ndarray
    b: np.ndarray
    n_nonzero: np.ndarray
    objective: np.ndarray
    gap: np.ndarray
    n_iter: np.ndarray
    converged: bool
    tau_max: float
    problem: Problem | None = field(default=None, repr=False)


def tau_max(X: ArrayLike, y: ArrayLike, *, intercept: str = "free", C: float = 1.0) -> float:
    r"""Return the smallest tau for which the lasso has w = 0: :math:`\|\hat X^\top \hat y\|_\infty`.

    Parameters
    ----------
    X : array-like of shape (m, n)
    y : array-like of shape (m,)
    intercept : {"free", "none", "penalized"}
        As in :class:`Lasso`; for a free b the data are centred first.
    C : float
        The penalty on a penalized b.

    Returns
    -------
    float

    Notes
    -----
    Source: Section 19.5. It is the same for the elastic net, whatever K.

    Examples
    --------
    >>> X, y = [[1.0], [2.0], [3.0]], [1.0, 2.0, 4.0]
    >>> round(tau_max(X, y), 6), round(tau_max(X, y, intercept="none"), 6)
    (3.0, 17.0)
    """
    data = _shifted(X, y, intercept, C)
    return largest(data.X.T @ data.y)


def lasso_path(
    X: ArrayLike, y: ArrayLike, tau: ArrayLike | None = None, *, n_taus: int = 100, eps: float = 1e-3,
    K: float = 0.0, intercept: str = "free", C: float = 1.0, tol: float = 1e-10, max_iter: int = 10_000,
) -> L1Path:  # fmt: skip
    r"""Solve the lasso, or the elastic net with a fixed K, for many tau.

    Each solution starts from the one before, and all share one Gram matrix.

    Parameters
    ----------
    X : array-like of shape (m, n)
        Points.
    y : array-like of shape (m,)
        Values.
    tau : array-like of shape (k,), optional
        Penalties, each > 0, in any order. Default: `n_taus` values from ``tau_max`` to ``eps * tau_max`` with a
        constant ratio.
    n_taus : int
        Number of values when `tau` is not given.
    eps : float
        Ratio of the last to the first of them.
    K : float
        The penalty on ``||w||^2 / 2``.
    intercept : {"free", "none", "penalized"}
        As in :class:`Lasso`.
    C : float
        The penalty on a penalized b.
    tol : float
        Tolerance of each relative duality gap.
    max_iter : int
        Largest number of linear systems for each tau.

    Returns
    -------
    L1Path
        In the order of `tau`.

    Raises
    ------
    ValueError
        If a shape does not fit or a penalty is out of range.

    Warns
    -----
    ConvergenceWarning
        If some gap misses `tol`.

    Notes
    -----
    Source: Section 19.5, Example 19.3. Between the values of tau where a weight becomes zero or stops to be zero, the
    solution of the lasso is an affine function of tau, by the text's ``(**_4)``.

    Examples
    --------
    >>> path = lasso_path([[2.0, 0.0], [0.0, 1.0]], [3.0, 1.0], [6.0, 2.0, 0.5], intercept="none")
    >>> path.w.round(4)
    array([[0.   , 0.   ],
           [1.   , 0.   ],
           [1.375, 0.5  ]])
    """
    data = _shifted(X, y, intercept, C)
    K = as_scalar(K, "K", at_least=0)
    tol, max_iter = as_scalar(tol, "tol", above=0), check_count(max_iter, "max_iter")
    columns = Columns(data, K)
    top = largest(columns.correlation)
    if tau is None:
        eps = as_scalar(eps, "eps", above=0, below=1)
        if top == 0.0:
            raise ValueError("w = 0 for every tau: y is constant or orthogonal to X; give tau")
        taus = top * np.geomspace(1.0, eps, check_count(n_taus, "n_taus"))
    else:
        taus = np.array([as_scalar(value, "tau", above=0) for value in as_vector(tau, "tau")])
        if taus.size == 0:
            raise ValueError("tau must hold at least one value, got none")

    found, near = dict[int, SparseSolution](), None
    for i in np.argsort(-taus, kind="stable").tolist():
        found[i] = columns.solve(float(taus[i]), tol, max_iter, near)
        near = found[i].w
    solutions = [found[i] for i in range(taus.size)]
    _warn_if_missed(solutions, tol, max_iter)
    w, proofs = np.array([s.w for s in solutions]), [s.certificate for s in solutions]
    given = {"X": X, "y": y, "K": K, "C": C, "intercept": intercept, "tol": tol}
    return L1Path(
        taus, w, b=np.array([data.intercept(row) for row in w]), n_nonzero=np.count_nonzero(w, axis=1),
        objective=np.array([s.objective for s in solutions]), gap=np.array([p.gap for p in proofs]),
        n_iter=np.array([s.n_iter for s in solutions]), converged=all(p.ok for p in proofs), tau_max=top,
        problem=Problem("lasso path", given),
    )  # fmt: skip
