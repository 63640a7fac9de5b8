r"""Quadratic programs: the text's ADMM routine, and the engine that every dual problem of the package uses."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from scipy.linalg import lu_factor
from scipy.linalg.lapack import dgetrs

from companion.admm.active_set import Answer
from companion.admm.kkt import BoxQP, factor_kkt
from companion.admm.low_rank import LowRank
from companion.admm.presolve import diagnose, presolve
from companion.admm.qp_engine import MAX_ITER, Neighbour, Search, prove, solve_reduced
from companion.admm.row_matrix import RowMatrix
from companion.certificates import certify_qp
from companion.checks import as_matrix, as_scalar, as_vector, check_count, count_axes
from companion.exceptions import ConvergenceWarning
from companion.results import Problem, QPResult

__all__ = ["LowRank", "check_matrix", "qsolve1", "solve_box_qp", "solve_qp"]

_STALLED = 1e-9  # a certificate that is worse, where rounding met the stopping rule, is no solution


def qsolve1(
    P: np.ndarray,
    q: np.ndarray,
    A: np.ndarray,
    b: np.ndarray,
    rho: float = 10.0,
    tol_primal: float = 1e-10,
    tol_dual: float = 1e-10,
    max_iter: int = 80_000,
) -> QPResult:
    r"""Solve ``min 1/2 x'Px + q'x  s.t. A x = b, x >= 0`` by the text's ADMM.

    One iteration, in scaled form:

    .. math::

        \begin{pmatrix} P + \rho I & A^\top \\ A & 0 \end{pmatrix} \begin{pmatrix} x^{k+1} \\ y \end{pmatrix}
            = \begin{pmatrix} -q + \rho (z^k - u^k) \\ b \end{pmatrix}, \qquad
        z^{k+1} = (x^{k+1} + u^k)_+, \qquad u^{k+1} = u^k + x^{k+1} - z^{k+1},

    from ``z = (1, ..., 1)`` and ``u = (0, 1, ..., 1)``, until the norms of ``r = x - z`` and of
    ``s = rho (z - previous z)`` are at most `tol_primal` and `tol_dual`.

    Parameters
    ----------
    P : array-like of shape (n, n)
        Symmetric positive semidefinite.
    q : array-like of shape (n,)
    A : array-like of shape (m, n)
        Any rank; rows that depend on others are left out of the linear system.
    b : array-like of shape (m,)
    rho : float
        Penalty parameter, positive. The number of iterations depends on it a lot.
    tol_primal, tol_dual : float
        Absolute tolerances of the two stopping tests.
    max_iter : int
        Largest number of iterations.

    Returns
    -------
    QPResult
        ``x`` is the text's x, which satisfies ``A x = b`` and may be negative by at most the primal
        residual. ``history`` holds ``primal_residual`` and ``dual_residual`` per iteration, and the last
        ``z`` (nonnegative) and ``u``. The certificate is made from z, y and ``z_lower = -rho u``; it is
        relative, so it may call a run good that missed a small absolute tolerance, and the reverse.
        ``converged`` is the stopping rule's verdict, unless rounding met it: then `status` is ``"rounding"``.

    Raises
    ------
    InfeasibleProblemError
        If ``A x = b`` has no solution.
    ValueError
        If an input is unusable, or rho is so large that numbers overflow.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` iterations were not enough, or rho is so large that rounding stops the iteration.

    Notes
    -----
    Source: Section 16.6, program ``qsolve1`` of Appendix B.1. The text refactors the KKT matrix in each
    iteration and makes one iteration more than its cap; here the matrix is factored once, and the cap is a
    cap. See :func:`solve_qp` for a method that is faster by orders of magnitude.

    Examples
    --------
    Example 16.11:

    >>> import numpy as np
    >>> P = np.array([[4.0, 1.0, 0.0], [1.0, 4.0, 1.0], [0.0, 1.0, 4.0]])
    >>> A = np.array([[1.0, 1.0, -1.0], [1.0, -1.0, -1.0]])
    >>> result = qsolve1(P, [-4.0, -4.0, -4.0], A, [0.0, 0.0], tol_primal=1e-12, tol_dual=1e-12)
    >>> result.n_iter, f"{result.x[0]:.15f}"
    (83, '1.000000000000149')
    """
    problem = _remember(P, q, A, b, 0.0, np.inf)
    P = as_matrix(P, "P")
    _, q, A, b = _check_data(P, q, A, b)
    rho = as_scalar(rho, "rho", above=0.0)
    tol_primal = as_scalar(tol_primal, "tol_primal", at_least=0.0)
    tol_dual = as_scalar(tol_dual, "tol_dual", at_least=0.0)
    max_iter = check_count(max_iter, "max_iter")
    n, no_bound = q.size, np.full(q.size, np.inf)
    reduced = presolve(BoxQP(P, q, A, b, -no_bound, no_bound))
    rows = np.arange(b.size) if reduced.rows is None else reduced.rows
    m = rows.size
    with np.errstate(over="ignore"):
        shifted = P + rho * np.eye(n)
        _require_range(shifted, rho)
    KKT = np.block([[shifted, A[rows].T], [A[rows], np.zeros((m, m))]])
    factors = lu_factor(KKT)

    z, u = np.ones(n), np.ones(n)
    u[0] = 0.0
    primal: list[float] = []
    dual: list[float] = []
    converged = False
    while not converged and len(primal) < max_iter:
        previous = z
        with np.errstate(over="ignore", invalid="ignore"):
            right = rho * (z - u) - q
        xy, _ = dgetrs(*factors, np.concatenate([right, b[rows]]))
        x = xy[:n]
        _require_range(x, rho)
        z = np.maximum(x + u, 0.0)
        u = u + x - z
        primal.append(float(np.linalg.norm(x - z)))
        dual.append(rho * float(np.linalg.norm(z - previous)))
        converged = primal[-1] <= tol_primal and dual[-1] <= tol_dual

    y = np.zeros(b.size)
    y[rows] = xy[n:]
    z_lower, z_upper = -rho * np.minimum(u, 0.0), np.zeros(n)
    certificate = certify_qp(
        P, q, A, b, 0.0, np.inf, z, y, z_lower, z_upper, max(tol_primal, tol_dual)
    )
    status = "solved" if converged else "max_iter"
    rounding = rho * float(np.finfo(float).eps * np.linalg.norm(z))  # of s = rho (z - previous z)
    if not converged:
        warnings.warn(
            f"qsolve1 stopped after max_iter = {max_iter} iterations with residuals {primal[-1]:.1e} and "
            f"{dual[-1]:.1e}; raise max_iter, change rho, or use solve_qp",
            ConvergenceWarning,
            stacklevel=2,
        )
    elif rounding > tol_dual and certificate.worst > max(certificate.tolerance, _STALLED):
        converged, status = False, "rounding"
        warnings.warn(
            f"qsolve1 stopped by rounding, not at a solution ({certificate}): P and q are lost beside rho = {rho:g}; "
            "lower rho, or use solve_qp",
            ConvergenceWarning,
            stacklevel=2,
        )
    return QPResult(
        x=x,
        y=y,
        z_lower=z_lower,
        z_upper=z_upper,
        objective=float(0.5 * x @ (P @ x) + q @ x),
        n_iter=len(primal),
        converged=converged,
        status=status,
        certificate=certificate,
        history={
            "primal_residual": np.array(primal),
            "dual_residual": np.array(dual),
            "z": z,
            "u": u,
        },
        problem=problem,
    )


def _require_range(values: np.ndarray, rho: float) -> None:
    """Raise an error if the iterates of qsolve1 have left the range of float64."""
    if not np.isfinite(values).all():
        raise ValueError(
            f"the iterates of qsolve1 overflow for rho = {rho:g}; lower rho, or scale P, q, A and b"
        )


def _remember(P: Any, q: Any, A: Any, b: Any, lower: Any, upper: Any) -> Problem:
    """Keep the data as they were given."""
    data = {"P": P, "q": q, "A": A, "b": b, "lower": lower, "upper": upper}
    return Problem("quadratic program", data)


def _check_data(
    P: np.ndarray | LowRank | RowMatrix,
    q: np.ndarray,
    A: np.ndarray | None,
    b: np.ndarray | None,
    *,
    assume_psd: bool = False,
) -> tuple[np.ndarray | LowRank | RowMatrix, np.ndarray, np.ndarray, np.ndarray]:
    """Validate shapes and numbers, and that P is symmetric positive semidefinite."""
    q = as_vector(q, "q")
    n = q.size
    if n == 0:
        raise ValueError("q must have at least one entry, got an empty vector")
    P = check_matrix(P, n, assume_psd=assume_psd)
    if (A is None) != (b is None):
        raise ValueError("A and b must be given together, got only " + ("b" if A is None else "A"))
    if A is None or b is None:
        return P, q, np.zeros((0, n)), np.zeros(0)
    if count_axes(A, "A") == 1:
        A = np.reshape(A, (1, -1))
    A = as_matrix(A, "A", (None, n))
    return P, q, np.ascontiguousarray(A), as_vector(b, "b", A.shape[0])


def check_matrix(
    P: np.ndarray | LowRank | RowMatrix, n: int, *, assume_psd: bool
) -> np.ndarray | LowRank | RowMatrix:
    """Return P as a matrix of order n that is symmetric positive semidefinite, or raise an error."""
    if isinstance(P, (LowRank, RowMatrix)):
        if P.shape != (n, n):
            raise ValueError(f"P must have shape ({n}, {n}) to go with q, got {P.shape}")
    elif assume_psd:
        P = np.ascontiguousarray(P, dtype=float)
        if P.shape != (n, n):
            raise ValueError(f"P must have shape ({n}, {n}) to go with q, got {P.shape}")
        # The diagonal of a semidefinite P bounds its other entries.
        if not np.isfinite(P.diagonal()).all():
            P = as_matrix(P, "P")  # raises an error that names the entry
    else:
        P = _symmetric_psd(as_matrix(P, "P", (n, n)))
    return P


def _symmetric_psd(P: np.ndarray) -> np.ndarray:
    """Return P, symmetrised if rounding made it unsymmetric; raise if it is not positive semidefinite."""
    P = np.ascontiguousarray(P)
    peak = float(np.abs(P).max())
    skew = np.abs(P - P.T)
    worst = float(skew.max())
    if worst > 1e-10 * peak:
        i, j = np.unravel_index(int(np.argmax(skew)), P.shape)
        raise ValueError(
            f"P must be symmetric, got P[{i}, {j}] = {P[i, j]:g} and P[{j}, {i}] = {P[j, i]:g}"
        )
    if worst > 0.0:
        P = (P + P.T) / 2.0
    if peak > 0.0:
        n = P.shape[0]
        allowed = 1e-10 * max(float(np.trace(P)), 0.0) + 1e-300
        whole = BoxQP(P, np.zeros(n), np.zeros((0, n)), np.zeros(0), np.zeros(n), np.zeros(n))
        try:
            factor_kkt(whole, allowed)
        except np.linalg.LinAlgError:
            smallest = float(np.linalg.eigvalsh(P)[0])
            raise ValueError(
                f"P must be positive semidefinite, got the negative eigenvalue {smallest:.6g}"
            ) from None
    return P


def solve_qp(
    P: np.ndarray | LowRank | RowMatrix,
    q: np.ndarray,
    A: np.ndarray | None = None,
    b: np.ndarray | None = None,
    *,
    lower: float | np.ndarray = 0.0,
    upper: float | np.ndarray = np.inf,
    rho: float | None = None,
    alpha: float = 1.6,
    tol: float = 1e-9,
    max_iter: int | None = None,
    warm_start: QPResult | tuple[np.ndarray, np.ndarray] | Neighbour | None = None,
    assume_psd: bool = False,
) -> QPResult:
    r"""Solve ``min 1/2 x'Px + q'x  s.t. A x = b, lower <= x <= upper``, exactly.

    Every dual problem of the package is such a program. A few iterations of ADMM, or of an interior-point
    method, find out which variables are at a bound; then a linear system gives the solution to rounding.
    Entries of ``x`` at a bound are ``==`` to it.

    Parameters
    ----------
    P : array-like of shape (n, n), LowRank or RowMatrix
        Symmetric positive semidefinite; zero is allowed. A :class:`LowRank` matrix is never formed, and of a
        ``RowMatrix`` (:mod:`companion.admm.row_matrix`) mostly the rows of the nonzero variables only.
    q : array-like of shape (n,)
    A : array-like of shape (p, n), optional
        Any number of rows of any rank.
    b : array-like of shape (p,), optional
    lower, upper : float or array-like of shape (n,)
        Bounds. They may be infinite, and may be equal (a fixed variable).
    rho : float, optional
        Penalty parameter of ADMM. Default: trace(P)/n.
    alpha : float
        Over-relaxation of ADMM, in (0, 2).
    tol : float
        Tolerance of the certificate.
    max_iter : int, optional
        Largest number of iterations, of ADMM and of the interior-point method together. Default: 1000.
    warm_start : QPResult, (x, y) or Neighbour, optional
        Solution of a neighbouring problem. A ``Neighbour`` (:mod:`companion.admm.qp_engine`) remembers the solution
        of each program for the next, with its factored system and the product P x.
    assume_psd : bool
        Trust that P is finite, symmetric and positive semidefinite. The test costs one Cholesky
        factorisation, which is as much as solving the problem. (A LowRank needs no test.)

    Returns
    -------
    QPResult
        With ``P x + q + A'y - z_lower + z_upper = 0``, multipliers nonnegative, and zero off their bound.

    Raises
    ------
    InfeasibleProblemError
        No x satisfies the constraints. ``witness`` is a y with ``max { y'A x : lower <= x <= upper } < y'b``.
    UnboundedProblemError
        The objective has no lower bound. ``ray`` is a d with ``P d = 0``, ``A d = 0``, ``q'd < 0``.
    ValueError
        P is not symmetric or has a negative eigenvalue, or shapes do not match.

    Warns
    -----
    ConvergenceWarning
        If the certificate misses `tol`; ``converged`` is then False.

    Notes
    -----
    Source: Section 16.6, "Quadratic programming". Three things differ from the text's :func:`qsolve1`. Upper
    bounds are part of the projection, so that they need no slack variables and no equations. The matrix is
    factored once, with :math:`\rho = \operatorname{trace}(P)/n` and over-relaxation :math:`\alpha`. And ADMM only
    has to find the active set: with :math:`v` for the sum :math:`z + u`, its iteration is

    .. math::

        z = \min(\max(v, \ell), u), \quad
        x = \arg\min \{ f(x) + \tfrac{\rho}{2} \|x - (2z - v)\|^2 : A x = b \}, \quad v \leftarrow v + \alpha (x - z),

    and a semismooth Newton method (:mod:`companion.admm.active_set`) does the rest. For a
    LowRank P, for linear programs, and where active sets run in a circle, an interior-point method
    (:mod:`companion.admm.interior_point`) takes the place of ADMM.

    Examples
    --------
    The point of the unit square nearest to (2, 1/2), on the line through two of its corners:

    >>> import numpy as np
    >>> result = solve_qp(np.eye(2), [-2.0, -0.5], upper=1.0)
    >>> result.x, result.z_upper
    (array([1. , 0.5]), array([1., 0.]))
    >>> solve_qp(np.eye(2), [-2.0, -0.5], [[1.0, 1.0]], [1.0], upper=1.0).x
    array([1., 0.])
    >>> result.certificate.ok
    True
    """
    given = _remember(P, q, A, b, lower, upper)
    P, q, A, b = _check_data(P, q, A, b, assume_psd=assume_psd)
    n = q.size
    tol = as_scalar(tol, "tol", above=0.0)
    neighbour = warm_start if isinstance(warm_start, Neighbour) else None
    result = solve_box_qp(
        BoxQP(P, q, A, b, _bounds(lower, "lower", n), _bounds(upper, "upper", n)),
        rho=None if rho is None else as_scalar(rho, "rho", above=0.0),
        alpha=as_scalar(alpha, "alpha", above=0.0, below=2.0),
        tol=tol,
        max_iter=MAX_ITER if max_iter is None else check_count(max_iter, "max_iter"),
        start=neighbour or _warm_point(warm_start, n, b.size),
        given=given,
    )
    if not result.converged:
        warnings.warn(
            f"solve_qp did not reach tol = {tol:g} within {result.n_iter} iterations: {result.certificate}",
            ConvergenceWarning,
            stacklevel=2,
        )
    return result


def solve_box_qp(
    program: BoxQP,
    *,
    tol: float,
    max_iter: int,
    rho: float | None = None,
    alpha: float = 1.6,
    start: Neighbour | tuple[np.ndarray, np.ndarray] | None = None,
    given: Problem | None = None,
) -> QPResult:
    """Solve a program whose data are known to be good, as :func:`solve_qp` does; nobody is warned."""
    near: Answer | tuple[np.ndarray, np.ndarray] | None
    if isinstance(start, Neighbour):
        like, near = start.meet(program), start.answer
    else:
        like, near = None, start
    presolved = presolve(program, like)
    search = Search(presolved.problem, tol, max_iter)
    if presolved.problem.q.size == 0:
        search.offer(np.zeros(0), np.zeros(presolved.problem.b.size))
    else:
        if near is not None and not presolved.trivial:
            near = presolved.shrink(*near[:2])
        with np.errstate(all="ignore"):  # a failed attempt may overflow; the certificate judges
            solve_reduced(search, rho, alpha, near)

    x, y, proof = search.x, search.y, search.proof
    if proof is None or not presolved.trivial:
        x, y = presolved.restore(x, y)
        proof = prove(program, x, y, tol)
    Px, certificate = proof.Px, proof.certificate
    if not certificate.ok:
        diagnose(program)
    elif isinstance(start, Neighbour):
        active = search.active if presolved.trivial else None
        start.keep(presolved, Answer(x, y, Px, active))
    return QPResult(
        x=x,
        y=y,
        z_lower=proof.z_lower,
        z_upper=proof.z_upper,
        objective=float(0.5 * (x @ Px) + program.q @ x),
        n_iter=search.n_iter,
        converged=certificate.ok,
        status="solved" if certificate.ok else "max_iter",
        certificate=certificate,
        history={key: np.array(values) for key, values in search.history.items()},
        problem=given,
        Px=Px,
    )


def _bounds(value: float | np.ndarray, name: str, n: int) -> np.ndarray:
    if isinstance(value, float) and not math.isnan(value):
        return np.full(n, value)
    same = count_axes(value, name) == 0
    vector = as_vector(value, name, None if same else n, finite=False)
    return np.full(n, vector[0]) if same else vector


def _warm_point(
    warm_start: QPResult | tuple[np.ndarray, np.ndarray] | Neighbour | None, n: int, p: int
) -> tuple[np.ndarray, np.ndarray] | None:
    if warm_start is None or isinstance(warm_start, Neighbour):
        return None
    if isinstance(warm_start, QPResult):
        warm_start = (warm_start.x, warm_start.y)
    x, y = warm_start
    x = as_vector(x, "warm_start x", n)
    return x, (as_vector(y, "warm_start y", p) if p else np.zeros(0))
