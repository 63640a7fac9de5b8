r"""The dual programs of lasso and elastic net, as quadratic programs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from companion.admm.quadratic import LowRank, solve_qp
from companion.arguments import check_choice
from companion.checks import as_scalar
from companion.regression.intercept import INTERCEPTS
from companion.regression.regressor import as_data
from companion.results import QPResult, Record


class DualSolution(Record):
    r"""Outcome of a dual program: :func:`lasso_dual`, :func:`elastic_net_dual`.

    Parameters
    ----------
    lambda_ : ndarray of shape (m,)
        The dual solution, equal to the residual vector.
    w : ndarray of shape (n,)
        The weights that belong to it.
    b : float
        The intercept.
    objective : float
        The maximum of the dual function, equal to the minimum of the primal problem.
    qp : QPResult
        What the quadratic programming solver returned, with its certificate.
    """

    lambda_: np.ndarray
    w: np.ndarray
    b: float
    objective: float
    qp: QPResult


def lasso_dual(
    X: ArrayLike, y: ArrayLike, tau: float, *, intercept: str = "free", C: float = 1.0
) -> DualSolution:
    r"""Solve the dual program of the lasso: Dlasso2, Dlasso3, or the one of lasso4.

    .. math:: & \min_{\lambda, v} \; \tfrac12 \|y - \lambda\|_2^2 \; [\, + \tfrac1{2C} (\mathbf 1^\top\lambda)^2 \,] \\
        & \text{subject to} \quad X^\top\lambda = v, \; -\tau \le v_j \le \tau \\
        & \qquad [\, , \; \mathbf 1^\top \lambda = 0 \,]

    The multipliers of the equations are w and, for a free b, b.

    Parameters
    ----------
    X : array-like of shape (m, n)
    y : array-like of shape (m,)
    tau : float
        > 0.
    intercept : {"free", "none", "penalized"}
        Dlasso3 (with the equation), Dlasso2, or the dual of lasso4 (with the square).
    C : float
        The penalty on a penalized b.

    Returns
    -------
    DualSolution

    Notes
    -----
    Source: Section 19.5, programs Dlasso2 and Dlasso3. The text's dual of lasso4 lacks the square. The text finds w
    from the dual solution by a second optimisation; the multipliers save it.

    Examples
    --------
    >>> solution = lasso_dual([[2.0, 0.0], [0.0, 1.0]], [3.0, 1.0], 1.0, intercept="none")
    >>> solution.lambda_.round(6), solution.w.round(6) + 0.0
    (array([0.5, 1. ]), array([1.25, 0.  ]))
    """
    X, y = as_data(X, y)
    tau, C = as_scalar(tau, "tau", above=0), as_scalar(C, "C", above=0)
    intercept = check_choice(intercept, "intercept", INTERCEPTS)
    m, n = X.shape
    A, square = np.hstack([X.T, -np.eye(n)]), np.r_[np.ones(m), np.zeros(n)]
    if intercept == "free":
        A = np.vstack([A, square])
    column = square[:, None] / np.sqrt(C) if intercept == "penalized" else np.zeros((m + n, 1))
    P, q = LowRank(column, square), np.r_[-y, np.zeros(n)]
    bound = np.r_[np.full(m, np.inf), np.full(n, tau)]
    qp = solve_qp(P, q, A, np.zeros(len(A)), lower=-bound, upper=bound)
    lambda_, v = qp.x[:m], qp.x[m:]
    w = np.where(np.abs(v) < tau, 0.0, qp.y[:n]) + 0.0
    b = {"none": 0.0, "free": float(qp.y[-1]), "penalized": float(lambda_.sum() / C)}[intercept]
    return DualSolution(lambda_, w, b, -qp.objective, qp)


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
    X, y = as_data(X, y)
    K, tau = as_scalar(K, "K", above=0), as_scalar(tau, "tau", at_least=0)
    n = X.shape[1]
    G, q, A, c = _program(X, y, K, tau)
    P = G @ G.T
    if huber:
        P[: 2 * n, : 2 * n] += K * np.kron([[1.0, -1.0], [-1.0, 1.0]], np.eye(n))
    return P, q, A, c


def elastic_net_dual(X: ArrayLike, y: ArrayLike, K: float, tau: float) -> DualSolution:
    r"""Solve the text's program Dual Elastic Net, and recover w and b.

    Parameters
    ----------
    X : array-like of shape (m, n)
    y : array-like of shape (m,)
    K, tau : float
        Penalties, K > 0 and tau >= 0.

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
    >>> solution = elastic_net_dual([[-2.0], [0.0], [2.0]], [1.0, 2.0, 6.0], K=1.0, tau=1.0)
    >>> solution.w.round(6), solution.b, solution.lambda_.round(6)
    (array([1.]), 3.0, array([ 0., -1.,  1.]))
    """
    X, y = as_data(X, y)
    K, tau = as_scalar(K, "K", above=0), as_scalar(tau, "tau", at_least=0)
    m, n = X.shape
    G, q, A, c = _program(X, y, K, tau)
    qp = solve_qp(LowRank(G), q, A, c)
    beta_plus, beta_minus, mu_plus, mu_minus = np.split(qp.x, [n, 2 * n, 2 * n + m])
    mu = mu_plus - mu_minus
    w = np.where((beta_plus > 0.0) & (beta_minus > 0.0), 0.0, -beta_plus + beta_minus + X.T @ mu)
    return DualSolution(K * mu, w, float((y - X @ w).mean()), -K * qp.objective, qp)


def _program(
    X: np.ndarray, y: np.ndarray, K: float, tau: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    r"""Return G with P = G G', and q, A, c of Dual Elastic Net.

    The columns of G give :math:`-\beta_+ + \beta_- + X^\top\mu` and :math:`\sqrt K \mu`.
    """
    m, n = X.shape
    beta, mu = np.eye(n, n + m), np.hstack([X, np.sqrt(K) * np.eye(m)])
    sums, ones = np.hstack([np.eye(n), np.eye(n), np.zeros((n, 2 * m))]), np.ones(m)
    A = np.vstack([sums, np.r_[np.zeros(2 * n), ones, -ones]])
    q, c = np.r_[np.zeros(2 * n), -y, y], np.r_[np.full(n, tau / K), 0.0]
    return np.vstack([-beta, beta, mu, -mu]), q, A, c
