r"""Quadratic programs: the text's ADMM routine, and one that solves to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lu_factor
from scipy.linalg.lapack import dgetrs

from companion.admm.affine import AffineSet, as_rows
from companion.admm.splitting import Iterate, admm
from companion.arithmetic import EPS
from companion.checks import as_matrix, as_scalar, as_vector, check_count, count_axes
from companion.engine.certificate import BoxProgram, LowRank, accurate_square, certify
from companion.engine.finish import is_psd
from companion.engine.quadratic import solve_box
from companion.engine.refusals import check_bounds, refuse
from companion.exceptions import InfeasibleProblemError, complain
from companion.results import TOLERANCE, Problem, QPResult


def qsolve1(
    P: np.ndarray, q: np.ndarray, A: np.ndarray, b: np.ndarray, rho: float = 10.0, tol_primal: float = 1e-10,
    tol_dual: float = 1e-10, max_iter: int = 80_000,
) -> QPResult:  # fmt: skip
    r"""Solve ``min 1/2 x'Px + q'x  s.t. A x = b, x >= 0`` by the text's ADMM.

    One iteration, in scaled form:

    .. math::

        & \begin{pmatrix} P + \rho I & A^\top \\ A & 0 \end{pmatrix} \begin{pmatrix} x^{k+1} \\ y \end{pmatrix} \\
        & \qquad = \begin{pmatrix} -q + \rho (z^k - u^k) \\ b \end{pmatrix}, \\
        & z^{k+1} = (x^{k+1} + u^k)_+, \\
        & u^{k+1} = u^k + x^{k+1} - z^{k+1},

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
        If an input is unusable.

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
    data = {"P": P, "q": q, "A": A, "b": b, "lower": 0.0, "upper": np.inf}
    P, q, A, b = _check_data(as_matrix(P, "P"), q, A, b)
    tol_primal = as_scalar(tol_primal, "tol_primal", at_least=0.0)
    tol_dual = as_scalar(tol_dual, "tol_dual", at_least=0.0)
    rho, n, rows = as_scalar(rho, "rho", above=0.0), q.size, np.sort(AffineSet(A, b).kept)
    m, y = rows.size, np.zeros(b.size)
    factors = lu_factor(np.block([[P + rho * np.eye(n), A[rows].T], [A[rows], np.zeros((m, m))]]))

    def x_update(v: np.ndarray, rho: float) -> np.ndarray:
        xy, _ = dgetrs(*factors, np.concatenate([rho * v - q, b[rows]]))
        y[rows] = xy[n:]
        return xy[:n]

    def z_update(v: np.ndarray, rho: float) -> np.ndarray:
        return np.maximum(-v, 0.0)

    def stop(step: Iterate) -> bool:
        small = step.primal_residual <= tol_primal and step.dual_residual <= tol_dual
        return small or step.k == max_iter

    u0 = np.ones(n)
    u0[0] = 0.0
    run = admm(
        x_update, z_update, 1, -1, np.zeros(n), rho=rho, z0=np.ones(n), u0=u0, max_iter=max_iter,
        tol_abs=0.0, tol_rel=0.0, callback=stop,
    )  # fmt: skip

    x, z, z_lower, z_upper = run.x, run.z, -rho * np.minimum(run.u, 0.0), np.zeros(n)
    history = {name: run.history[name] for name in ("primal_residual", "dual_residual")}
    r, s = (float(values[-1]) for values in history.values())
    tol = max(tol_primal, tol_dual)
    program = BoxProgram(P, q, A, b, np.zeros(n), np.full(n, np.inf))
    certificate = certify(program, z, y, z_lower, z_upper, tol)
    rounding = rho * EPS * float(np.linalg.norm(z))  # of s = rho (z - previous z)
    status = "solved" if r <= tol_primal and s <= tol_dual else "max_iter"
    if status == "solved" and rounding > tol_dual and certificate.worst > max(tol, TOLERANCE):
        status = "rounding"
    if status != "solved":
        complain(
            f"qsolve1 stopped by {status} after {run.n_iter} iterations, with residuals {r:.1e} and {s:.1e} and not at "
            f"a solution ({certificate}): raise max_iter, change rho (now {rho:g}), or use solve_qp"
        )
    return QPResult(
        x, y, z_lower, z_upper,
        objective=float(0.5 * x @ (P @ x) + q @ x), n_iter=run.n_iter, status=status,
        certificate=certificate, history={**history, "z": z, "u": run.u}, problem=Problem("quadratic program", data),
    )  # fmt: skip


def _check_data(P: Any, q: Any, A: Any, b: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """Validate shapes and numbers, and that P is symmetric positive semidefinite."""
    q = as_vector(q, "q")
    n = q.size
    if n == 0:
        raise ValueError("q must have at least one entry, got an empty vector")
    if not isinstance(P, LowRank):
        P = np.ascontiguousarray(as_matrix(P, "P", (n, n)))
        if not is_psd(P, "P"):
            smallest = float(np.linalg.eigvalsh(P)[0])
            raise ValueError(
                f"P must be positive semidefinite, got the negative eigenvalue {smallest:.6g}"
            )
        P = (P + P.T) / 2.0  # rounding may have made it unsymmetric
    if P.shape != (n, n):
        raise ValueError(f"P must have shape ({n}, {n}) to go with q, got {P.shape}")
    return P, q, *as_rows(A, b, "A", "b", n)


def solve_qp(
    P: np.ndarray | LowRank, q: np.ndarray, A: np.ndarray | None = None, b: np.ndarray | None = None, *,
    G: np.ndarray | None = None, h: np.ndarray | None = None, lower: float | np.ndarray = 0.0,
    upper: float | np.ndarray = np.inf, tol: float = 1e-9, max_iter: int = 100,
) -> QPResult:  # fmt: skip
    r"""Solve ``min 1/2 x'Px + q'x  s.t. A x = b, G x <= h, lower <= x <= upper``, exactly.

    PIQP, an interior-point method, guesses which variables are at a bound; then a linear system gives the solution to
    rounding, and a certificate proves it (``companion.engine.quadratic``). An entry of ``x`` whose bound has a
    positive multiplier is ``==`` to that bound; where the multiplier is 0 as well (a degenerate program), the entry may
    miss the bound by a rounding error.

    Parameters
    ----------
    P : array-like of shape (n, n) or LowRank
        Symmetric positive semidefinite; zero is allowed. A :class:`LowRank` matrix is never formed.
    q : array-like of shape (n,)
    A : array-like of shape (p, n), optional
        Any number of rows of any rank.
    b : array-like of shape (p,), optional
    G : array-like of shape (k, n), optional
    h : array-like of shape (k,), optional
        Inequalities. Each gets a slack variable, ``G x + s = h`` with s >= 0, whose bound is met exactly.
    lower, upper : float or array-like of shape (n,)
        Bounds. They may be infinite, and may be equal (a fixed variable).
    tol : float
        Tolerance of the certificate.
    max_iter : int
        Largest number of iterations of PIQP for one guess.

    Returns
    -------
    QPResult
        With ``P x + q + A'y + G'z - z_lower + z_upper = 0``, the z's nonnegative, and zero where there is slack; z
        itself is None without a G. `status` is ``"solved"``, ``"max_iter"``, or ``"inaccurate"`` where the certificate
        misses `tol` for another reason; `n_iter` counts the iterations of PIQP.

    Raises
    ------
    InfeasibleProblemError
        No x satisfies the constraints. ``witness`` is a y with ``max { y'A x : lower <= x <= upper } < y'b`` in exact
        arithmetic, or None where no floating-point vector was found that is exact. Rows and slack variables of a G are
        rows and columns of A there.
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
    Source: Section 16.6, "Quadratic programming". The text's :func:`qsolve1` finds the active set by ADMM, and goes on
    until its residuals are small.

    Examples
    --------
    The point nearest to (0.9, 0.5, -0.2) with nonnegative coordinates of sum 1:

    >>> import numpy as np
    >>> from companion.admm import solve_qp
    >>> result = solve_qp(P=np.eye(3), q=[-0.9, -0.5, 0.2], A=[[1, 1, 1]], b=[1])
    >>> print(result.x)
    [0.7 0.3 0. ]
    >>> print(result.certificate)
    every residual <= 1e-09

    The point of the unit square nearest to (2, 1/2), on the line through two of its corners:

    >>> result = solve_qp(np.eye(2), [-2.0, -0.5], upper=1.0)
    >>> result.x, result.z_upper
    (array([1. , 0.5]), array([1., 0.]))
    >>> solve_qp(np.eye(2), [-2.0, -0.5], [[1.0, 1.0]], [1.0], upper=1.0).x
    array([1., 0.])
    >>> result.certificate.ok
    True

    The point of the half plane x1 + x2 <= 1 nearest to (2, 0), and the multiplier of that inequality:

    >>> result = solve_qp(np.eye(2), [-2.0, 0.0], G=[[1, 1]], h=[1], lower=-np.inf)
    >>> result.x, result.z
    (array([ 1.5, -0.5]), array([0.5]))
    """
    data = {"P": P, "q": q, "A": A, "b": b, "G": G, "h": h, "lower": lower, "upper": upper}
    P, q, A, b = _check_data(P, q, A, b)
    G, h = as_rows(G, h, "G", "h", q.size)
    n, p, k = q.size, b.size, h.size
    tol, max_iter = as_scalar(tol, "tol", above=0.0), check_count(max_iter, "max_iter")
    low, high = _bounds(lower, "lower", n), _bounds(upper, "upper", n)
    check_bounds(low, high)
    program = BoxProgram(P, q, A, b, low, high)
    if k:
        program = BoxProgram(
            _padded(P, k), np.r_[q, np.zeros(k)], np.block([[A, np.zeros((p, k))], [G, np.eye(k)]]),
            np.r_[b, h], np.r_[low, np.zeros(k)], np.r_[high, np.full(k, np.inf)],
        )  # fmt: skip
    solution = solve_box(program, tol=tol, max_iter=max_iter)
    x, status = solution.x, solution.verdict
    if not solution.certificate.ok:
        status = "max_iter" if status == "max_iter" else "inaccurate"
        try:
            refuse(program)
        except InfeasibleProblemError as error:
            hint = "" if not k else " (the rows of G x + s = h, s >= 0, follow those of A)"
            raise InfeasibleProblemError(f"{error}{hint}", error.witness) from None
        complain(
            f"solve_qp did not reach tol = {tol:g} within {solution.n_iter} iterations: {solution.certificate}"
        )
    return QPResult(
        x[:n], solution.y[:p], solution.z_lower[:n], solution.z_upper[:n],
        objective=float(0.5 * accurate_square(program.P, x, solution.Px) + program.q @ x),
        status=status, n_iter=solution.n_iter, certificate=solution.certificate, z=solution.y[p:] if k else None,
        Px=solution.Px[:n], problem=Problem("quadratic program", data),
    )  # fmt: skip


def _padded(P: np.ndarray | LowRank, k: int) -> np.ndarray | LowRank:
    """Return P with k more rows and columns of zeros."""
    if isinstance(P, LowRank):
        return LowRank(np.pad(P.G, ((0, k), (0, 0))), np.pad(P.d, (0, k)))
    return np.pad(P, (0, k))


def _bounds(value: float | np.ndarray, name: str, n: int) -> np.ndarray:
    same = count_axes(value, name) == 0
    vector = as_vector(value, name, None if same else n, finite=False)
    return np.full(n, vector[0]) if same else vector
