r"""General quadratic programs: PIQP guesses, one linear system finishes, a certificate proves.

The guess comes from PIQP (BSD licence, wheels for Linux, macOS and Windows, released several times a year), a proximal
interior-point method with a dense and a sparse backend. On programs with 10 to 800 variables it was the fastest of the
candidates. Clarabel (Apache) proves infeasibility, but takes ten times as long for small programs and twice as long for
dense ones. DAQP (MIT) is as fast for few variables, but its active sets grow one variable at a time, and it needs a
positive definite P. HiGHS (MIT) is the choice for linear programs; its quadratic solver is an active-set method that
does not regularise a singular P. PIQP's regularisation takes dependent rows, linear programs and singular matrices as
they come, and interior points lie in the middle of a face of solutions, so that the active set can be read off.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import piqp
from scipy import sparse
from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.sparse.linalg import splu

from companion.engine.arithmetic import EPS, largest
from companion.engine.certificate import Matrix, bound_multipliers, certify
from companion.results import Certificate

__all__ = ["Solution", "solve_box"]

_GUESSES = (1e-7, 1e-13)  # tolerances of PIQP
_ITERATIONS = 100  # of PIQP
_FEW = 8  # systems that may be solved after each guess
_ROUNDS = 30  # the same with a pull towards the guess
_PULLS = (1e-2, 1e-4, 1e-6, 1e-8, 0.0)  # in units of the diagonal of P
_RIDGE = 1e-13  # on the diagonal of a system whose rows have the largest entry 1
_REFINEMENTS = 8
_FAINT = (1e-14, 1e-11, 1e-8)  # parts of its terms below which a number may be nothing but rounding
_NOTHING = 1e-150  # a smaller number is 0
_SPARSE = 0.15  # a smaller share of nonzeros is worth a sparse factorisation
_SPREAD = (
    10  # powers of two: variables and rows whose units are further from natural ones are scaled
)
_MANY = 100  # variables from which on one looks for that


class Solution(NamedTuple):
    """A point with its multipliers, the proof, the number of systems solved, and what PIQP said about the program."""

    x: np.ndarray
    y: np.ndarray
    z_lower: np.ndarray
    z_upper: np.ndarray
    Px: np.ndarray
    certificate: Certificate
    n_iter: int
    n_systems: int
    verdict: str


class _Program(NamedTuple):
    """The program in arrays, dense or sparse; `n` and `p` count the variables and rows that were there before."""

    P: Any
    q: np.ndarray
    A: Any
    b: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    n: int
    p: int


def solve_box(
    P: Any,
    q: np.ndarray,
    A: np.ndarray,
    b: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    *,
    guess: tuple[np.ndarray, np.ndarray] | None = None,
    tol: float = 1e-9,
    max_iter: int = _ITERATIONS,
) -> Solution:
    r"""Solve ``min 1/2 x'Px + q'x  s.t. A x = b, lower <= x <= upper`` for data that are known to be good.

    A variable is at a bound where its multiplier exceeds its distance from it. With these sets known, the solution is
    that of a linear system,

    .. math::

        \begin{pmatrix} P_{FF} & A_F^\top \\ A_F & 0 \end{pmatrix} \begin{pmatrix} x_F \\ y \end{pmatrix}
            = \begin{pmatrix} -q_F - P_{FB} x_B \\ b - A_B x_B \end{pmatrix},

    which is regularised, factored once and refined from the guess: where it is singular, the solution stays next to
    the guess. Variables that leave the box go to the bound, those whose multiplier has the wrong sign become free, and
    the next system follows. If no proof comes of that, PIQP tries once more with a smaller tolerance, and the best
    point counts.

    Parameters
    ----------
    P : ndarray of shape (n, n), or an object with a factor
        Symmetric positive semidefinite. An object has ``G`` and ``d`` with
        :math:`P = G G^\top + \operatorname{diag}(d)` (and ``@``, ``diagonal()``); it is never formed.
    q, lower, upper : ndarray of shape (n,)
    A : ndarray of shape (p, n)
    b : ndarray of shape (p,)
    guess : (x, y), optional
        A point near the solution and its multipliers. It is tried before PIQP.
    tol : float
        Tolerance of the certificate.
    max_iter : int
        Largest number of iterations of PIQP for one guess.

    Returns
    -------
    Solution
        ``verdict`` is ``"solved"``, or ``"infeasible"``, ``"unbounded"``, ``"max_iter"`` or ``"inaccurate"`` where the
        certificate failed: what PIQP says about the program, which is no proof.

    Examples
    --------
    >>> solution = solve_box(np.eye(2), np.array([-2.0, -0.5]), np.ones((1, 2)), np.ones(1), np.zeros(2), np.ones(2))
    >>> solution.x, solution.certificate.ok
    (array([1., 0.]), True)
    """
    t = _units(P, A, lower, upper)
    r = _power(np.abs(A * t).max(axis=1, initial=0.0))
    if np.abs(np.log2(np.concatenate([t, r]))).max() <= _SPREAD:
        return _solve(P, q, A, b, lower, upper, guess, tol, max_iter)
    scaled = (
        P * np.outer(t, t) if isinstance(P, np.ndarray) else type(P)(P.G * t[:, None], P.d * t**2)
    )
    rows, near = A * t / r[:, None], None if guess is None else (guess[0] / t, guess[1] * r)
    s = _solve(scaled, q * t, rows, b / r, lower / t, upper / t, near, tol, max_iter)
    scaled_back = s._replace(
        x=s.x * t, y=s.y / r, z_lower=s.z_lower / t, z_upper=s.z_upper / t, Px=s.Px / t
    )  # all without rounding
    if s.certificate.ok:
        return scaled_back
    plain = _solve(P, q, A, b, lower, upper, guess, tol, max_iter)
    return min(scaled_back, plain, key=lambda found: found.certificate.worst)


def _power(values: np.ndarray) -> np.ndarray:
    """Return the nearest power of two of each number, and 1 for those that are not positive or not finite."""
    good = (values > 0.0) & (values < np.inf)
    return np.exp2(np.round(np.log2(np.where(good, values, 1.0))))


def _units(P: Any, A: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return powers of two to measure the variables in, such that the diagonal of P is near 1.

    Where it is 0 the width of the box counts, or else the largest entry of A's column, in rows whose others are near 1.
    """
    t, curved = upper - lower, (diagonal := P.diagonal()) > 0.0
    t[curved] = 1.0 / np.sqrt(diagonal[curved])
    known = (t > 0.0) & np.isfinite(t)
    if not known.all() and A.size:
        rows = (np.abs(A) * np.where(known, t, 0.0)).max(axis=1)
        rows = np.where(rows > 0.0, rows, np.abs(A).max(axis=1))
        peaks = (np.abs(A) / np.where(rows > 0.0, rows, 1.0)[:, None]).max(axis=0)
        t = np.where(known, t, 1.0 / np.where(peaks > 0.0, peaks, 1.0))
    return _power(t)


def _solve(
    P: Any,
    q: np.ndarray,
    A: np.ndarray,
    b: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    guess: tuple[np.ndarray, np.ndarray] | None,
    tol: float,
    max_iter: int,
) -> Solution:
    """Solve in the units that the data have."""
    program = _in_arrays(P, q, A, b, lower, upper)
    best, n_iter, n_systems, verdict = None, 0, 0, "inaccurate"

    def offer(x: np.ndarray, y: np.ndarray) -> bool:
        nonlocal best
        x, y = x[: program.n], np.where(np.abs(y) < _NOTHING, 0.0, y)[: program.p]
        x = np.where((np.abs(x) < _NOTHING) & (lower <= 0.0) & (upper >= 0.0), 0.0, x)
        Px = P @ x
        z = bound_multipliers(Px + q + y @ A, x, lower, upper)
        certificate = certify(P, q, A, b, lower, upper, x, y, *z, tol, Px)
        if best is None or certificate.worst < best.certificate.worst:
            best = Solution(x, y, *z, Px, certificate, 0, 0, verdict)
        return certificate.ok

    def offer_cleaned(x: np.ndarray, y: np.ndarray) -> bool:
        x, y = x[: program.n], y[: program.p]
        return offer(x, y) or any(
            offer(*_without_rounding(P, q, A, lower, upper, x, y, faint)) for faint in _FAINT
        )

    def settle(
        x: np.ndarray, y: np.ndarray, state: np.ndarray, delta: float, careful: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Correct the sets until they stay; return None where a point came out that is proved."""
        nonlocal n_systems
        pull, centre, seen = delta * unit, np.clip(x, program.lower, program.upper), set()
        for _ in range(_ROUNDS if delta or careful else _FEW):
            if state.tobytes() in seen:
                break
            seen.add(state.tobytes())
            start = x
            try:
                x, y, g = _minimum(program, x, y, state, pull, centre)
            except RuntimeError:  # SuperLU met an exact singularity
                break
            n_systems += 1
            if careful:
                x, new = _walk(program, start, x, g, y, state)
            else:
                new = _corrected(program, x, g, y, state)
            x = np.clip(x, program.lower, program.upper)
            if (not delta or (new == state).all()) and offer_cleaned(x, y):
                return None
            state = new
        return x, y, state

    def finish(x: np.ndarray, y: np.ndarray, z: np.ndarray, pulls: tuple[float, ...]) -> bool:
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            return False
        state = _read_state(program, x, z)
        for delta in pulls:
            settled = settle(x, y, state, delta, delta == 0.0 and len(pulls) > 1)
            if settled is None:
                return True
            x, y, state = settled
        return False

    diagonal = program.P.diagonal()
    unit = np.where(diagonal > 0.0, diagonal, 1.0)
    with np.errstate(all="ignore"):  # a failed attempt may overflow; the certificate judges
        solved = not (q.any() or b.any()) and offer(np.clip(0.0, lower, upper), np.zeros(b.size))
        if guess is None and not np.isfinite([lower, upper]).any():
            guess = np.zeros(q.size), np.zeros(b.size)  # one system is all
        if guess is not None and not solved:
            x, y = _extended(program, P, q, *guess)
            solved = finish(x, y, -_gradient(program, x, y), (0.0,))
        for eps in _GUESSES:
            if solved:
                break
            answer, iterations, verdict = _guess(program, eps, max_iter)
            n_iter += iterations
            solved = finish(*answer, (0.0,))
            if not solved and np.isfinite(answer[0]).all():
                x, y, z = answer
                state = _read_state(program, x, z)
                x = np.where(state < 0, program.lower, np.where(state > 0, program.upper, x))
                solved = offer_cleaned(np.clip(x, program.lower, program.upper), y)
        solved = solved or finish(*answer, _PULLS)
    if best is None:
        offer(np.clip(np.zeros(program.n), lower, upper), np.zeros(program.p))
    assert best is not None
    verdict = "solved" if best.certificate.ok else verdict
    return best._replace(n_iter=n_iter, n_systems=n_systems, verdict=verdict)


def _in_arrays(
    P: Any, q: np.ndarray, A: np.ndarray, b: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> _Program:
    """Return the program; sparse arrays where P is low rank, with the variables w = G'x, or mostly zeros."""
    n, p = q.size, b.size
    if isinstance(P, np.ndarray):
        few = np.count_nonzero(P) + np.count_nonzero(A) < _SPARSE * (n + 2 * p) * n
        if n >= _MANY and few:
            P, A = sparse.csc_matrix(P), sparse.csc_matrix(A)
        return _Program(P, q, A, b, lower, upper, n, p)
    r = P.G.shape[1]
    free = np.full(r, np.inf)
    return _Program(
        sparse.diags(np.concatenate([P.d, np.ones(r)]), format="csc"),
        np.concatenate([q, np.zeros(r)]),
        sparse.bmat([[sparse.csc_matrix(A), None], [P.G.T, -sparse.identity(r)]], format="csc"),
        np.concatenate([b, np.zeros(r)]),
        np.concatenate([lower, -free]),
        np.concatenate([upper, free]),
        n,
        p,
    )


def _extended(
    program: _Program, P: Any, q: np.ndarray, x: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return a point and multipliers with those of the additional variables and rows."""
    if program.q.size == q.size:
        return x, y
    w = P.G.T @ x
    return np.concatenate([x, w]), np.concatenate([y, w])


def _guess(
    program: _Program, eps: float, max_iter: int
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], int, str]:
    """Ask PIQP for x, y and the multipliers of the bounds, those of upper ones being positive."""
    is_sparse = sparse.issparse(program.P)
    solver = piqp.SparseSolver() if is_sparse else piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_duality_gap_abs = eps
    solver.settings.eps_rel = solver.settings.eps_duality_gap_rel = eps
    solver.settings.max_iter = max_iter
    P, A = program.P, program.A
    if is_sparse:
        P, A = sparse.csc_matrix(P), sparse.csc_matrix(A)
    else:
        P, A = P.T, np.asfortranarray(A)
    rows = (A, program.b) if program.b.size else (None, None)
    solver.setup(P, program.q, *rows, x_l=program.lower, x_u=program.upper)
    status = solver.solve()
    verdict = {
        piqp.PIQP_PRIMAL_INFEASIBLE: "infeasible",
        piqp.PIQP_DUAL_INFEASIBLE: "unbounded",
        piqp.PIQP_MAX_ITER_REACHED: "max_iter",
    }.get(status, "inaccurate")
    r = solver.result
    return (r.x, r.y, r.z_bu - r.z_bl), r.info.iter, verdict


def _read_state(program: _Program, x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return -1 and 1 for variables at their lower and upper bound: the multiplier exceeds the distance."""
    state = np.zeros(x.size, dtype=np.int8)
    state[-z > x - program.lower] = -1
    state[z > program.upper - x] = 1
    state[program.lower == program.upper] = -1
    return state


def _gradient(program: _Program, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return program.P @ x + program.q + program.A.T @ y


def _minimum(
    program: _Program,
    x: np.ndarray,
    y: np.ndarray,
    state: np.ndarray,
    pull: np.ndarray,
    centre: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Solve the system of the free variables; return x, y and the gradient of the Lagrangian.

    The objective has the additional term ``1/2 sum_j pull_j (x_j - centre_j)^2``.
    """
    free = np.flatnonzero(state == 0)
    x = np.where(state < 0, program.lower, np.where(state > 0, program.upper, x))
    solve = _factor(program, free, pull[free])
    best, found = (np.inf, np.inf), (x, y, _gradient(program, x, y) + pull * (x - centre))
    for k in range(_REFINEMENTS):
        g = _gradient(program, x, y) + pull * (x - centre)
        miss = program.b - program.A @ x
        sizes = largest(g[free]), largest(miss)
        if k and not (sizes[0] < 0.5 * best[0] or sizes[1] < 0.5 * best[1]):
            break
        best, found = sizes, (x, y, g)
        step = solve(np.concatenate([-g[free], miss]))
        x, y = x.copy(), y + step[free.size :]
        x[free] += step[: free.size]
        if k:  # a correction that is larger than the number: nothing but rounding
            x[free[np.abs(x[free]) <= np.abs(step[: free.size])]] = 0.0
    return found


def _factor(program: _Program, free: np.ndarray, pull: np.ndarray) -> Any:
    """Factor the regularised system of the free variables, with rows and columns scaled to the largest entry 1."""
    p, f = program.b.size, free.size
    if p + f == 0:
        return lambda v: v
    if sparse.issparse(program.P):
        AF = program.A[:, free]
        K = sparse.bmat(
            [
                [program.P[free][:, free] + sparse.diags(pull), AF.T],
                [AF, sparse.csc_matrix((p, p))],
            ],
            format="csc",
        )
        d = np.ones(f + p)
        for _ in range(3):
            peak = np.asarray(abs(K).max(axis=1).todense()).ravel()
            s = 1.0 / np.sqrt(np.where(peak > 0.0, peak, 1.0))
            S = sparse.diags(s)
            K, d = (S @ K @ S).tocsc(), d * s
        K = K + sparse.diags(np.r_[np.full(f, _RIDGE), np.full(p, -_RIDGE)], format="csc")
        factors = splu(K.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.01)
        return lambda v: d * factors.solve(d * v)
    K = np.zeros((f + p, f + p), order="F")
    whole = f == program.n
    K[:f, :f] = program.P if whole else program.P[np.ix_(free, free)]
    K[np.arange(f), np.arange(f)] += pull
    AF = program.A[:, free]
    K[f:, :f], K[:f, f:] = AF, AF.T
    peak = np.abs(K).max(axis=1, initial=0.0)
    d = 1.0 / np.sqrt(np.where(peak > 0.0, peak, 1.0))
    K *= d
    K *= d[:, None]
    K[np.arange(f + p), np.arange(f + p)] += np.r_[np.full(f, _RIDGE), np.full(p, -_RIDGE)]
    lu, piv, _ = dgetrf(K, overwrite_a=1)
    return lambda v: d * dgetrs(lu, piv, d * v)[0]


def _corrected(
    program: _Program, x: np.ndarray, g: np.ndarray, y: np.ndarray, state: np.ndarray
) -> np.ndarray:
    """Return the state with variables that left the box at their bound, and those of a wrong sign free."""
    new = state.copy()
    new[(state == 0) & (x < program.lower)] = -1
    new[(state == 0) & (x > program.upper)] = 1
    roots = np.sqrt(np.maximum(program.P.diagonal(), 0.0))
    terms = roots * float(roots @ np.abs(x)) + np.abs(program.q) + np.abs(program.A.T @ y)
    wrong = (state * g > 16.0 * EPS * terms) & (program.lower < program.upper)
    new[wrong] = 0
    return new


def _walk(
    program: _Program,
    start: np.ndarray,
    x: np.ndarray,
    g: np.ndarray,
    y: np.ndarray,
    state: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Go from a point of the box towards a minimum, to the first bound that is met; return point and state."""
    step, new = x - start, state.copy()
    room = np.where(step > 0.0, program.upper - start, start - program.lower)
    share = np.where((state == 0) & (step != 0.0), np.maximum(room, 0.0) / np.abs(step), np.inf)
    most = float(share.min(initial=np.inf))
    if most >= 1.0:
        return x, _corrected(program, x, g, y, state)
    met = share <= most * (1.0 + 16.0 * EPS)
    new[met] = np.sign(step[met])
    return start + most * step, new


def _without_rounding(
    P: Matrix,
    q: np.ndarray,
    A: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    faint: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y with 0 for the entries that move the gradient by a faint part of its terms only.

    The multiplier 1e-17 of a row that is slack, say, or a variable 1e-17 whose gradient has terms of size 1.
    """
    roots, absolute = np.sqrt(np.maximum(P.diagonal(), 0.0)), np.abs(A)
    mass = roots * float(roots @ np.abs(x)) + np.abs(q)
    terms = faint * (mass + np.abs(y) @ absolute)
    width = np.maximum(np.abs(lower), np.abs(upper))
    small = (np.abs(x) * roots**2 <= terms) & (roots > 0.0)
    small |= (np.abs(x) <= faint * width) & (width < np.inf) & (roots == 0.0)
    x = np.where(small & (lower <= 0.0) & (upper >= 0.0), 0.0, x)
    rows = absolute[:, mass > 0.0]
    small = (np.abs(y)[:, None] * rows <= terms[mass > 0.0]).all(axis=1) & rows.any(axis=1)
    return x, np.where(small, 0.0, y)
