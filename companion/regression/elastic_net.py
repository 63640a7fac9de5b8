r"""The elastic net: ridge regression and lasso blended, and its dual program."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from companion.admm.quadratic import LowRank, solve_qp
from companion.checks import as_matrix, as_scalar, as_vector
from companion.regression.intercept import Shifted, check_intercept
from companion.regression.lasso import DualSolution, L1Regression

__all__ = ["ElasticNet", "elastic_net_dual", "elastic_net_qp"]


class ElasticNet(L1Regression):
    r"""Least squares with a penalty on the squared norm and one on the sum of the absolute weights.

    .. math:: & \min_{w, b, \xi} \; \tfrac12 \|\xi\|_2^2 + \tfrac K2 \|w\|_2^2 + \tau \|w\|_1 \\
        & \text{subject to} \quad y - Xw - b\mathbf 1 = \xi

    with a free b; or without b, or with the further term :math:`\tfrac C2 b^2`. It is the lasso on the data
    :math:`\binom{\hat X}{\sqrt K I}, \binom{\hat y}{0}`, where the hats stand for centring.

    Parameters
    ----------
    K : float
        The penalty on the squared norm, >= 0. K = 0 is the lasso.
    tau : float
        The penalty on the absolute weights, >= 0. tau = 0 is ridge regression.
    intercept : {"free", "none", "penalized"}
        What happens to b. The text has a free b.
    C : float
        The penalty on b, > 0, for ``intercept="penalized"``.
    solver : {"newton", "admm", "dual"}
        As in :class:`Lasso`. ``"dual"`` solves the text's program Dual Elastic Net and needs K > 0.
    tol : float
        Tolerance of the duality gap relative to the objective.
    max_iter : int
        Largest number of linear systems (or ADMM steps).

    Attributes
    ----------
    w_ : ndarray of shape (n,)
        Weights, with exact zeros. Also ``coef_``.
    b_ : float
        Intercept. Also ``intercept_``.
    xi_ : ndarray of shape (m,)
        Residuals :math:`y - Xw - b\mathbf 1`.
    lambda_ : ndarray of shape (m,)
        The dual solution :math:`\lambda = K\mu`; equal to the residuals.
    support_ : ndarray of int
        Indices of the nonzero weights.
    tau_max_ : float
        The smallest tau with w = 0. It does not depend on K.
    unique_ : bool
        Whether w is proved to be the only solution. It always is for K > 0; but below about 1e-10 of the squared norm
        of a column, K does not tell in float64 how repeated columns share their weight, and then this is False.
    objective_ : float
        The minimum.
    n_iter_ : int
        Number of linear systems (or ADMM steps).
    certificate_ : Certificate
        Residuals and duality gap.
    n_features_in_ : int
        n.

    Raises
    ------
    ValueError
        If a penalty is negative, an option is unknown, or ``"dual"`` meets K = 0.

    Warns
    -----
    ConvergenceWarning
        If the gap misses `tol`, or the certificate its tolerance.

    Notes
    -----
    Source: Section 19.6. scikit-learn divides the objective by m: its alpha is (K + tau)/m, its l1_ratio
    tau/(K + tau). :meth:`blend` takes the text's C and theta.

    Examples
    --------
    >>> X = [[-10, 11], [-6, 5], [-2, 4], [0, 0], [1, 2], [2, -5], [6, -4], [10, -6]]
    >>> y = [0, -2.5, 0.5, -2, 2.5, -4.2, 1, 4]
    >>> model = ElasticNet(K=5, tau=10).fit(X, y)
    >>> model.w_.round(4), round(model.b_, 4), model.certificate_.ok
    (array([0.4868, 0.3943]), -0.4934, True)
    """

    def __init__(
        self,
        K: float = 1.0,
        tau: float = 1.0,
        *,
        intercept: str = "free",
        C: float = 1.0,
        solver: str = "newton",
        tol: float = 1e-10,
        max_iter: int = 10_000,
    ) -> None:
        self.K = K
        self.tau = tau
        self.intercept = intercept
        self.C = C
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    @classmethod
    def blend(cls, C: float, theta: float, **options: object) -> ElasticNet:
        r"""Return the elastic net with :math:`K = C (1 - \theta)` and :math:`\tau = C \theta`.

        Parameters
        ----------
        C : float
            Size of the two penalties together, >= 0. (Not the penalty on b: that is ``b_penalty`` here.)
        theta : float
            Between 0 (ridge regression) and 1 (lasso).
        **options
            The other parameters of the class; ``b_penalty`` stands for its parameter C.

        Examples
        --------
        >>> ElasticNet.blend(4.0, 0.25)
        ElasticNet(K=3.0)
        """
        C = as_scalar(C, "C", at_least=0)
        theta = as_scalar(theta, "theta", at_least=0, at_most=1)
        if "b_penalty" in options:
            options["C"] = options.pop("b_penalty")
        return cls(C * (1.0 - theta), C * theta, **options)  # type: ignore[arg-type]

    def _penalties(self) -> tuple[float, float]:
        return as_scalar(self.K, "K", at_least=0), as_scalar(self.tau, "tau", at_least=0)

    def _dual(self, data: Shifted, K: float, tau: float) -> DualSolution:
        if K == 0.0:
            raise ValueError("solver='dual' needs K > 0; for K = 0 use Lasso")
        return elastic_net_dual(data.X, data.y, K, tau, intercept="none")


def elastic_net_qp(
    X: ArrayLike, y: ArrayLike, K: float, tau: float, *, huber: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    r"""Return the matrices P, q, A, c of the text's program Dual Elastic Net.

    .. math:: & \min_z \; \tfrac12 z^\top P z + q^\top z \\
        & \text{subject to} \quad A z = c, \; z \ge 0, \\
        & z = (\beta_+, \beta_-, \mu_+, \mu_-)

    Parameters
    ----------
    X : array-like of shape (m, n)
    y : array-like of shape (m,)
    K, tau : float
        Penalties, K > 0 and tau >= 0.
    huber : bool
        Whether the block :math:`K \begin{pmatrix} I & -I \\ -I & I \end{pmatrix}` is added to the :math:`\beta` part
        of P. The text's formulas do not have it. The program behind its printed results did: this is what gives the
        weights it prints for K = 0.01, tau = 0.99 and its 140520 steps. It solves another problem, with the Huber
        function of w in place of :math:`|w|`.

    Returns
    -------
    P : ndarray of shape (2(n + m), 2(n + m))
        Of rank n + m.
    q : ndarray of shape (2(n + m),)
    A : ndarray of shape (n + 1, 2(n + m))
        Of rank n + 1.
    c : ndarray of shape (n + 1,)

    Notes
    -----
    Source: Section 19.6.

    Examples
    --------
    >>> P, q, A, c = elastic_net_qp([[1.0], [2.0]], [1.0, 3.0], K=0.5, tau=1.0)
    >>> P.shape, np.linalg.matrix_rank(P).item(), np.linalg.matrix_rank(A).item()
    ((6, 6), 3, 2)
    """
    X, y, K, tau = _check(X, y, K, tau)
    m, n = X.shape
    G = _factor(X, K)
    P = G @ G.T
    if huber:
        i, j = np.arange(n), np.arange(n, 2 * n)
        P[np.r_[i, j], np.r_[i, j]] += K
        P[np.r_[i, j], np.r_[j, i]] -= K
    q = np.r_[np.zeros(2 * n), -y, y]
    A = np.zeros((n + 1, 2 * (n + m)))
    A[:n, :n] = A[:n, n : 2 * n] = np.eye(n)
    A[n, 2 * n : 2 * n + m], A[n, 2 * n + m :] = 1.0, -1.0
    return P, q, A, np.r_[np.full(n, tau / K), 0.0]


def elastic_net_dual(
    X: ArrayLike,
    y: ArrayLike,
    K: float,
    tau: float,
    *,
    intercept: str = "free",
    tol: float = 1e-9,
) -> DualSolution:
    r"""Solve the text's program Dual Elastic Net, and recover w and b.

    Parameters
    ----------
    X : array-like of shape (m, n)
    y : array-like of shape (m,)
    K, tau : float
        Penalties, K > 0 and tau >= 0.
    intercept : {"free", "none"}
        Without b, the equation :math:`\mathbf 1^\top \mu_+ = \mathbf 1^\top \mu_-` is left out.
    tol : float
        Tolerance of the certificate.

    Returns
    -------
    DualSolution
        With :math:`\lambda = K (\mu_+ - \mu_-)` and :math:`w = -\beta_+ + \beta_- + X^\top (\mu_+ - \mu_-)`.

    Notes
    -----
    Source: Section 19.6, ``(*_w)``. P is never formed: it is :math:`GG^\top` with n + m columns.
    :math:`w_j = 0` exactly where both :math:`(\beta_+)_j` and :math:`(\beta_-)_j` are positive, by complementarity.

    Examples
    --------
    >>> solution = elastic_net_dual([[2.0, 0.0], [0.0, 1.0]], [3.0, 1.0], 1.0, 1.0, intercept="none")
    >>> solution.w.round(6) + 0.0, solution.lambda_.round(6)
    (array([1., 0.]), array([1., 1.]))
    """
    X, y, K, tau = _check(X, y, K, tau)
    if check_intercept(intercept) == "penalized":
        raise ValueError("the dual program is for intercept='free' or 'none', got 'penalized'")
    m, n = X.shape
    q = np.r_[np.zeros(2 * n), -y, y]
    A = np.hstack([np.eye(n), np.eye(n), np.zeros((n, 2 * m))])
    c = np.full(n, tau / K)
    if intercept == "free":
        A = np.vstack([A, np.r_[np.zeros(2 * n), np.ones(m), -np.ones(m)]])
        c = np.append(c, 0.0)
    qp = solve_qp(LowRank(_factor(X, K)), q, A, c, tol=tol)
    beta_plus, beta_minus, mu_plus, mu_minus = np.split(qp.x, [n, 2 * n, 2 * n + m])
    mu = mu_plus - mu_minus
    inside = (beta_plus > 0.0) & (beta_minus > 0.0)
    w = np.where(inside, 0.0, -beta_plus + beta_minus + X.T @ mu)
    b = float((y - X @ w).mean()) if intercept == "free" else 0.0
    return DualSolution(K * mu, w, b, -K * qp.objective, qp)


def _check(
    X: ArrayLike, y: ArrayLike, K: float, tau: float
) -> tuple[np.ndarray, np.ndarray, float, float]:
    X = as_matrix(X, "X")
    y = as_vector(y, "y", X.shape[0])
    return X, y, as_scalar(K, "K", above=0), as_scalar(tau, "tau", at_least=0)


def _factor(X: np.ndarray, K: float) -> np.ndarray:
    r"""Return G with P = G G': its columns give :math:`-\beta_+ + \beta_- + X^\top\mu` and :math:`\sqrt K \mu`."""
    m, n = X.shape
    return np.block(
        [
            [-np.eye(n), np.zeros((n, m))],
            [np.eye(n), np.zeros((n, m))],
            [X, np.sqrt(K) * np.eye(m)],
            [-X, -np.sqrt(K) * np.eye(m)],
        ]
    )
