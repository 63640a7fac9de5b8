r"""Dual ascent and the method of multipliers, for :math:`\min J(u)` subject to :math:`A u = b`.

Both methods climb the dual function
:math:`G(\lambda) = \inf_u L(u, \lambda)`, whose gradient is the residual :math:`A u_\lambda - b` at
the minimiser. They differ in the Lagrangian that is minimised: the plain one, or the augmented one

.. math:: L_\rho(u, \lambda) = J(u) + \lambda^\top (A u - b) + \tfrac{\rho}{2} \|A u - b\|_2^2 .

Source: Sections 16.1 and 16.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.linalg import norm
from numpy.typing import ArrayLike

from companion.admm.affine import as_data
from companion.admm.splitting import DIVERGED, repeat
from companion.arguments import as_schedule, check_kind, value_of
from companion.arithmetic import EPS, largest
from companion.checks import as_matrix, as_scalar, as_symmetric, as_vector
from companion.exceptions import UnboundedProblemError
from companion.results import MultiplierResult

Argmin = Callable[[np.ndarray], np.ndarray]
Objective = Callable[[np.ndarray], float]
Step = float | Callable[[int], float]


def dual_ascent(
    argmin: Argmin, A: ArrayLike, b: ArrayLike, lambda0: ArrayLike, step: Step, **loop: Any
) -> MultiplierResult:
    r"""Solve ``min J(u)  s.t.  A u = b`` by gradient ascent on the dual function.

    .. math::
        u^{k+1} &= \arg\min_u\; J(u) + (\lambda^k)^\top (A u - b) \\
        \lambda^{k+1} &= \lambda^k + \alpha^k (A u^{k+1} - b)

    Parameters
    ----------
    argmin : callable
        ``argmin(lambda_)`` returns a minimiser u, of shape (n,), of
        :math:`J(u) + \lambda^\top (A u - b)`.
    A : array-like of shape (m, n)
        Constraint matrix.
    b : array-like of shape (m,)
        Right-hand side.
    lambda0 : array-like of shape (m,)
        Starting multiplier.
    step : float or callable
        Step size :math:`\alpha^k > 0`: a constant, or a function of ``k = 0, 1, ...``.
    **loop
        Options of both methods of this module. `J`: the objective; with it the history records ``J(u)`` and the
        dual function. `tol` (1e-8): stop as soon as ``||A u - b|| <= tol * ||b||`` (``tol``, if b = 0); nothing else
        needs a check, since a minimiser of the Lagrangian that satisfies the constraint is optimal. `max_iter` (1000):
        largest number of updates.

    Returns
    -------
    MultiplierResult
        In its history row k of ``u``, ``primal_residual`` (and ``objective``) belongs to
        :math:`u^{k+1}`, row k of ``lambda_`` is :math:`\lambda^k` (one row more, since
        :math:`\lambda^0` is there too), and row k of ``dual_objective`` is :math:`G(\lambda^k)`.

    Raises
    ------
    UnboundedProblemError
        If `argmin` raises it, as :func:`quadratic_argmin` does where the Lagrangian has no minimum.

    Warns
    -----
    ConvergenceWarning
        If the residual did not meet the tolerance, or u or the multiplier exceeded 1e10 times
        ``max(1, ||b||, ||lambda0||)`` in norm.

    Notes
    -----
    Source: Section 16.1, Example 16.1. For :math:`J(u) = \tfrac12 u^\top Q u + c^\top u` with Q
    positive definite, a constant step converges if and only if
    :math:`0 < \alpha < 2 / \lambda_{\max}(A Q^{-1} A^\top)` (A of rank m); in Example 16.1 that is
    :math:`0 < \beta < 2`, twice the range given there.

    Examples
    --------
    Example 16.1: minimize ``(x^2 + y^2) / 2`` subject to ``2 x - y = 5``.

    >>> import numpy as np
    >>> from companion.admm import dual_ascent
    >>> result = dual_ascent(lambda l: l * np.array([-2.0, 1.0]), [[2, -1]], [5], [3.0], step=0.1)
    >>> result.converged, result.u.round(4), result.lambda_.round(4)
    (True, array([ 2., -1.]), array([-1.]))
    >>> result.history["lambda_"][:4, 0].round(4)  # 4 / 2^k - 1
    array([ 3. ,  1. ,  0. , -0.5])
    """
    alpha = as_schedule(step, "step", above=0)
    return _ascend(argmin, A, b, lambda0, alpha, "a smaller step may help", **loop)


def method_of_multipliers(
    argmin: Argmin, A: ArrayLike, b: ArrayLike, lambda0: ArrayLike, rho: float, **loop: Any
) -> MultiplierResult:
    r"""Solve ``min J(u)  s.t.  A u = b`` by dual ascent on the augmented Lagrangian with step rho.

    .. math::
        u^{k+1} &= \arg\min_u\; L_\rho(u, \lambda^k) \\
        \lambda^{k+1} &= \lambda^k + \rho\, (A u^{k+1} - b)

    With the step equal to rho every pair :math:`(u^{k+1}, \lambda^{k+1})` is dual feasible:
    :math:`\nabla J(u^{k+1}) + A^\top \lambda^{k+1} = 0`.

    Parameters
    ----------
    argmin : callable
        ``argmin(lambda_)`` returns a minimiser u, of shape (n,), of the augmented Lagrangian
        :math:`L_\rho(u, \lambda)`.
    A : array-like of shape (m, n)
        Constraint matrix.
    b : array-like of shape (m,)
        Right-hand side.
    lambda0 : array-like of shape (m,)
        Starting multiplier.
    rho : float
        Penalty parameter > 0; the same as in `argmin`.
    **loop
        As for :func:`dual_ascent`.

    Returns
    -------
    MultiplierResult
        History as for :func:`dual_ascent`; ``dual_objective`` is the dual function
        :math:`\inf_u L_\rho(u, \lambda^k)` of the augmented problem, which has the same optimum.

    Raises
    ------
    UnboundedProblemError
        If `argmin` raises it.

    Warns
    -----
    ConvergenceWarning
        If the residual did not meet the tolerance, or the iterates grew without bound.

    Notes
    -----
    Source: Section 16.2, Definition 16.1, Examples 16.2 and 16.3. The method can work where J is
    not convex, once rho is large enough; in Example 16.3 it converges if and only if
    :math:`\rho > \beta` (or the start is optimal).

    Examples
    --------
    Example 16.2, where dual ascent has nothing to minimise: ``y^2 + 2 x`` subject to
    ``2 x - y = 0``.

    >>> import numpy as np
    >>> from companion.admm import method_of_multipliers, quadratic_argmin
    >>> A, b, rho = [[2, -1]], [0], 1.0
    >>> argmin = quadratic_argmin(np.diag([0, 2]), [2, 0], A, b, rho)
    >>> result = method_of_multipliers(argmin, A, b, [7.0], rho)
    >>> result.n_iter, result.u.round(4), result.lambda_.round(4)
    (2, array([-0.25, -0.5 ]), array([-1.]))
    """
    rho = as_scalar(rho, "rho", above=0)
    return _ascend(argmin, A, b, lambda0, lambda k: rho, "a larger rho may help", rho=rho, **loop)


def augmented_lagrangian(
    J: Objective, A: ArrayLike, b: ArrayLike, rho: float = 0.0
) -> Callable[[ArrayLike, ArrayLike], float]:
    r"""Return the function ``L_rho(u, lambda_) = J(u) + lambda_'(A u - b) + rho/2 ||A u - b||^2``.

    Parameters
    ----------
    J : callable
        The objective.
    A : array-like of shape (m, n)
        Constraint matrix.
    b : array-like of shape (m,)
        Right-hand side.
    rho : float
        Penalty parameter >= 0; 0 gives the ordinary Lagrangian.

    Returns
    -------
    callable
        Of u, of shape (n,), and the multiplier, of shape (m,).

    Notes
    -----
    Source: Definition 16.1.

    Examples
    --------
    >>> from companion.admm import augmented_lagrangian
    >>> L = augmented_lagrangian(lambda u: u @ u / 2, [[2, -1]], [5], rho=2)
    >>> L([2, -1], [9]), L([0, 0], [1])
    (2.5, 20.0)
    """
    A, b = as_data(A, b)
    m, n = A.shape
    J, rho = check_kind(J, "J"), as_scalar(rho, "rho", at_least=0)

    def L_rho(u: ArrayLike, lambda_: ArrayLike) -> float:
        u, lambda_ = as_vector(u, "u", n), as_vector(lambda_, "lambda_", m)
        r = A @ u - b
        return float(value_of(J, "J", (), u) + lambda_ @ r + 0.5 * rho * (r @ r))

    return L_rho


def dual_function(
    argmin: Argmin, J: Objective, A: ArrayLike, b: ArrayLike, rho: float = 0.0
) -> Callable[[ArrayLike], float]:
    r"""Return the dual function :math:`G(\lambda) = \inf_u L_\rho(u, \lambda)`.

    Parameters
    ----------
    argmin : callable
        ``argmin(lambda_)`` returns a minimiser of :math:`L_\rho(u, \lambda)`, or raises
        :class:`~companion.exceptions.UnboundedProblemError`.
    J, A, b, rho
        As for :func:`augmented_lagrangian`; ``rho = 0`` gives the ordinary dual function.

    Returns
    -------
    callable
        Of the multiplier, of shape (m,). Its value is ``-inf`` where `argmin` reports that there is
        no minimum.

    Notes
    -----
    Source: Section 16.1, where it is expressed by the conjugate:
    :math:`G(\lambda) = -b^\top \lambda - J^*(-A^\top \lambda)`.

    Examples
    --------
    Example 16.1, where it is ``-5/2 l^2 - 5 l``:

    >>> import numpy as np
    >>> from companion.admm import dual_function, quadratic_argmin
    >>> A, b = [[2, -1]], [5]
    >>> G = dual_function(quadratic_argmin(np.eye(2), [0, 0], A), lambda u: u @ u / 2, A, b)
    >>> G([-1]), G([1])
    (2.5, -7.5)
    """
    L_rho, (m, n) = augmented_lagrangian(J, A, b, rho), np.shape(A)
    check_kind(argmin, "argmin")

    def G(lambda_: ArrayLike) -> float:
        lambda_ = as_vector(lambda_, "lambda_", m)
        try:
            return L_rho(value_of(argmin, "argmin", (n,), lambda_), lambda_)
        except UnboundedProblemError:
            return -np.inf

    return G


def quadratic_argmin(
    Q: ArrayLike, c: ArrayLike, A: ArrayLike, b: ArrayLike | None = None, rho: float = 0.0
) -> Argmin:
    r"""Return ``lambda_ -> argmin_u L_rho(u, lambda_)`` for ``J(u) = 1/2 u'Q u + c'u``.

    It solves :math:`(Q + \rho A^\top A)\, u = \rho A^\top b - c - A^\top \lambda` with a matrix
    that is factored once. Where the minimiser is not unique it returns the shortest one.

    Parameters
    ----------
    Q : array-like of shape (n, n)
        Symmetric matrix; it need not be positive semidefinite, but :math:`Q + \rho A^\top A` must
        be.
    c : array-like of shape (n,)
        Linear part.
    A : array-like of shape (m, n)
        Constraint matrix.
    b : array-like of shape (m,), optional
        Right-hand side; needed when ``rho > 0``.
    rho : float
        Penalty parameter >= 0; 0 gives the ordinary Lagrangian.

    Returns
    -------
    callable
        Of the multiplier, of shape (m,); returns u of shape (n,).

    Raises
    ------
    UnboundedProblemError
        At once if :math:`Q + \rho A^\top A` has a negative eigenvalue; by the returned function if
        the matrix is singular and the Lagrangian decreases without limit along its null space. The
        error carries that direction.
    ValueError
        If shapes do not match.

    Notes
    -----
    Source: Sections 16.1, 16.2. The x-step of ADMM in Example 16.9 is the same system: with f = J
    it is ``quadratic_argmin(P, q, A, v, rho)(np.zeros(m))``.

    Examples
    --------
    >>> import numpy as np
    >>> from companion.admm import quadratic_argmin
    >>> argmin = quadratic_argmin([[2, 0], [0, 4]], [-2, 0], [[1, 1]])
    >>> argmin([0]), argmin([4])
    (array([1., 0.]), array([-1., -1.]))
    """
    Q = as_symmetric(Q, "Q")
    A = as_matrix(A, "A", (None, len(Q)))
    m, n = A.shape
    c = as_vector(c, "c", n)
    rho = as_scalar(rho, "rho", at_least=0)
    if b is None and rho > 0:
        raise ValueError("b is needed when rho > 0: the penalty is rho/2 ||A u - b||^2")
    b = np.zeros(m) if b is None else as_vector(b, "b", m)
    M, h = Q + rho * (A.T @ A), rho * (A.T @ b) - c
    eigenvalues, V = np.linalg.eigh(M)
    rounding = n * EPS * float(np.abs(Q.diagonal()).sum() + rho * (A * A).sum())
    if eigenvalues[0] < -rounding:
        raise UnboundedProblemError(
            f"Q + rho A'A must be positive semidefinite, got the eigenvalue {eigenvalues[0]:.3g} "
            f"for rho = {rho:g}: the Lagrangian has no minimum for any multiplier",
            ray=V[:, 0],
        )
    flat = eigenvalues <= rounding
    N, V, eigenvalues = V[:, flat], V[:, ~flat], eigenvalues[~flat]

    def argmin(lambda_: ArrayLike) -> np.ndarray:
        forced = A.T @ as_vector(lambda_, "lambda_", m)
        slope = N.T @ (h - forced)  # the Lagrangian is linear on the null space
        if largest(slope) > 10 * n * EPS * float(norm(np.abs(h) + np.abs(forced))):
            raise UnboundedProblemError(
                "the Lagrangian has no minimum for this multiplier: it is linear and not constant "
                "on the null space of Q + rho A'A",
                ray=N @ slope / norm(slope),
            )
        return V @ ((V.T @ (h - forced)) / eigenvalues)

    return argmin


def _ascend(
    argmin: Argmin, A: ArrayLike, b: ArrayLike, lambda0: ArrayLike, alpha: Callable[[int], float], advice: str, *,
    rho: float = 0.0, J: Objective | None = None, tol: float = 1e-8, max_iter: int = 1000,
) -> MultiplierResult:  # fmt: skip
    """The two lines of both methods; rho only enters the recorded dual function."""
    A, b = as_data(A, b)
    lambda_, n = as_vector(lambda0, "lambda0", len(A)).copy(), A.shape[1]
    eps = as_scalar(tol, "tol", at_least=0) * (float(norm(b)) or 1.0)
    bound = DIVERGED * max(1.0, float(norm(b)), float(norm(lambda_)))
    start, u = lambda_, np.full(n, np.nan)

    def step(k: int) -> tuple[str, tuple[Any, ...]]:
        nonlocal u, lambda_
        u_next = value_of(argmin, "argmin", (n,), lambda_.copy())
        r = A @ u_next - b
        lambda_next = lambda_ + alpha(k - 1) * r
        if not norm(np.concatenate([u_next, lambda_next])) <= bound:  # also when it is NaN
            return "diverged", ()
        values: tuple[float, ...] = ()
        if J is not None:
            value = float(value_of(J, "J", (), u_next))
            values = value, value + float(lambda_ @ r + 0.5 * rho * (r @ r))
        u, lambda_ = u_next, lambda_next
        return "converged" if norm(r) <= eps else "", (u, lambda_, float(norm(r)), *values)

    names = "u", "lambda_", "primal_residual", "objective", "dual_objective"
    status, history = repeat(step, names, max_iter, advice)
    history["u"] = history["u"].reshape(-1, n)
    history["lambda_"] = np.array([start, *history["lambda_"]])
    return MultiplierResult(u, lambda_, status=status, n_iter=len(history["u"]), history=history)
