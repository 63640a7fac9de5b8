r"""General quadratic programs: PIQP guesses, one linear system finishes, a certificate proves.

The guess comes from PIQP (BSD licence, wheels for Linux, macOS and Windows, released several times a year), a proximal
interior-point method with a dense and a sparse backend. On programs with 10 to 800 variables it was the fastest of the
candidates. Clarabel (Apache) proves infeasibility, but takes ten times as long for small programs and twice as long for
dense ones. DAQP (MIT) is as fast for few variables, but its active sets grow one variable at a time, and it needs a
positive definite P. HiGHS (MIT) is the choice for linear programs; its quadratic solver is an active-set method that
does not regularise a singular P. PIQP's regularisation takes dependent rows, linear programs and singular matrices as
they come, and interior points lie in the middle of a face of solutions, so that the active set can be read off.
Where it is not installed, as in a browser, the text's ADMM guesses.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.sparse.linalg import splu

from companion.engine.arithmetic import EPS, largest
from companion.engine.certificate import BoxProgram, absolute_product, bound_multipliers, certify
from companion.results import Certificate

try:
    import piqp
except ImportError:  # there is no wheel for each platform
    piqp = None
if os.environ.get("COMPANION_NO_PIQP"):
    piqp = None

__all__ = ["Solution", "guess_state", "solve_box"]

_GUESSES = (1e-7, 1e-13)  # tolerances of PIQP
_CLOSE = 1e-9  # its tolerance where the active set alone is asked for
_ITERATIONS = 100  # of PIQP
_FEW = 8  # systems that may be solved after each guess
_ROUNDS = 60  # the same with a proximal term
_PROXIMAL = (1e-2, 1e-4, 1e-6, 1e-8, 0.0)  # weights of that term, in units of the diagonal of P
_RIDGE = 1e-13  # on the diagonal of a system whose rows have the largest entry 1
_REFINEMENTS = 8
_PARTS = (1e-14, 1e-11, 1e-8)  # parts of its terms below which a number may be nothing but rounding
_NOTHING = 1e-150  # a smaller number is 0
_SPARSE = 0.15  # a smaller share of nonzeros is worth a sparse factorisation
_SPREAD = 10  # powers of two: units that are further from natural ones are changed
_MANY = 100  # variables from which on one looks for that
_STEPS = 30  # of ADMM that may take the place of one iteration of PIQP, which factors a matrix
_RELAXATION = 1.6  # of ADMM; 1.5 to 1.8 is the usual advice
_EACH = 25  # steps of ADMM from one look at its penalty to the next
_UNBALANCED = 5.0  # ratio of the residuals from which on the penalty is changed
_ROUGH = 1e-6  # tolerance of ADMM at most: the system that follows costs less than the last digits
_EQUILIBRATIONS = 5  # each takes the root of what is missing
_STIFF = 1e3  # penalty of a fixed variable, in that of the others
_FREE = 1e-6  # penalty of a variable without bounds: a proximal term


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


def solve_box(
    program: BoxProgram,
    *,
    guess: tuple[np.ndarray, np.ndarray] | None = None,
    tol: float = 1e-9,
    max_iter: int = _ITERATIONS,
) -> Solution:
    r"""Solve a program whose data are known to be good.

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
    program : BoxProgram
        A `LowRank` matrix P is never formed.
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
    >>> P, q, one = np.eye(2), np.array([-2.0, -0.5]), np.ones(2)
    >>> solution = solve_box(BoxProgram(P, q, one[None], one[:1], 0 * one, one))
    >>> solution.x, solution.certificate.ok
    (array([1., 0.]), True)
    """
    P, q, A, b, lower, upper = program
    t = _units(P, A, lower, upper)
    r = _power(np.abs(A * t).max(axis=1, initial=0.0))
    if np.abs(np.log2(np.concatenate([t, r]))).max() <= _SPREAD:
        return _solve(program, guess, tol, max_iter)
    D = P * np.outer(t, t) if isinstance(P, np.ndarray) else P.scaled(t)
    scaled = BoxProgram(D, q * t, A * t / r[:, None], b / r, lower / t, upper / t)
    s = _solve(scaled, None if guess is None else (guess[0] / t, guess[1] * r), tol, max_iter)
    z_lower, z_upper, Px = s.z_lower / t, s.z_upper / t, s.Px / t  # all without rounding
    back = s._replace(x=s.x * t, y=s.y / r, z_lower=z_lower, z_upper=z_upper, Px=Px)
    if s.certificate.ok:
        return back
    unscaled = _solve(program, guess, tol, max_iter)
    return min(back, unscaled, key=lambda found: found.certificate.worst)


def guess_state(program: BoxProgram) -> tuple[np.ndarray, np.ndarray]:
    """Ask PIQP for a point near the solution, and the state of each variable.

    Returns
    -------
    x : ndarray of shape (n,)
    state : ndarray of int8, shape (n,)
        -1 and 1 for a variable at its lower and upper bound, 0 for a free one.

    Examples
    --------
    >>> P, q, one = np.eye(2), np.array([-3.0, -0.5]), np.ones(2)
    >>> guess_state(BoxProgram(P, q, one[None], one[:1], 0 * one, one))[1]
    array([ 1, -1], dtype=int8)
    """
    search, n = _Search(program, tol=0.0), program.q.size
    x, _, z = search.ask(_CLOSE, _ITERATIONS, sweeps=2)
    return x[:n], search.read_state(x, z)[:n]


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
    program: BoxProgram, guess: tuple[np.ndarray, np.ndarray] | None, tol: float, max_iter: int
) -> Solution:
    """Solve in the units that the data have."""
    search = _Search(program, tol)
    with np.errstate(all="ignore"):  # a failed attempt may overflow; the certificate judges
        if not search.succeeds(guess, max_iter) and search.best is None:
            search.offer(np.clip(0.0, search.lower, search.upper), 0.0 * search.b)
    assert search.best is not None
    return search.best._replace(
        n_iter=search.n_iter,
        n_systems=search.n_systems,
        verdict="solved" if search.best.certificate.ok else search.verdict,
    )


class _Search:
    """The program in arrays, dense or sparse, and the best point so far.

    Arrays are sparse where they are mostly zeros, and where P is low rank: then w = G'x are more variables.
    """

    def __init__(self, program: BoxProgram, tol: float) -> None:
        self.program, self.tol = program, tol
        self.P, self.q, self.A, self.b, self.lower, self.upper = P, q, A, b, lower, upper = program
        self.n, self.p = n, p = q.size, b.size
        if not isinstance(P, np.ndarray):
            r = P.G.shape[1]
            zero, free = np.zeros(r), np.full(r, np.inf)
            d, k = np.concatenate([P.d, zero + 1.0]), np.arange(n + r + 1)
            self.P = sparse.csc_matrix((d, k[:-1], k))
            self.A = sparse.csc_matrix(np.block([[A, np.zeros((p, r))], [P.G.T, -np.eye(r)]]))
            self.q, self.b = np.concatenate([q, zero]), np.concatenate([b, zero])
            self.lower, self.upper = np.concatenate([lower, -free]), np.concatenate([upper, free])
        elif n >= _MANY and sum(map(np.count_nonzero, (P, A))) < _SPARSE * (n + 2 * p) * n:
            self.P, self.A = sparse.csc_matrix(P), sparse.csc_matrix(A)
        self.diagonal = self.P.diagonal()
        self.best: Solution | None = None
        self.n_iter, self.n_systems, self.verdict = 0, 0, "inaccurate"

    def succeeds(self, guess: tuple[np.ndarray, np.ndarray] | None, max_iter: int) -> bool:
        """Go from the given guess, or from those of PIQP, to a point that is proved; return whether there is one."""
        P, q, _, b, lower, upper = self.program
        if not (q.any() or b.any()) and self.offer(np.clip(0.0, lower, upper), np.zeros(b.size)):
            return True
        if guess is None and not np.isfinite([lower, upper]).any():
            guess = np.zeros(q.size), np.zeros(b.size)  # one system is all
        if guess is not None:
            w = np.zeros(0) if self.q.size == q.size else P.G.T @ guess[0]
            x, y = (np.concatenate([part, w]) for part in guess)
            if self.finish(x, y, -self.gradient(x, y), (0.0,)):
                return True
        for eps in _GUESSES:
            x, y, z = self.ask(eps, max_iter)
            if self.finish(x, y, z, (0.0,)):
                return True
            at_bounds = self.placed(x, self.read_state(x, z))
            if np.isfinite(x).all() and self.offer_cleaned(at_bounds, y):
                return True
        return self.finish(x, y, z, _PROXIMAL)

    def ask(self, eps: float, max_iter: int, sweeps: int = 10) -> tuple[np.ndarray, ...]:
        """Ask for x, y and the multipliers of the bounds, those of upper ones positive; PIQP scales in sweeps."""
        data = BoxProgram(self.P, self.q, self.A, self.b, self.lower, self.upper)
        if piqp is None:
            *found, n_iter, self.verdict = guess_admm(data, eps, _STEPS * max_iter)
        else:
            *found, n_iter, self.verdict = guess_piqp(data, eps, max_iter, sweeps)
        self.n_iter += n_iter
        return tuple(found)

    # -- proof

    def offer(self, x: np.ndarray, y: np.ndarray) -> bool:
        """Certify a point, keep it if it is the best; return whether it is proved."""
        P, q, A, _, lower, upper = self.program
        x, y = x[: self.n], np.where(np.abs(y) < _NOTHING, 0.0, y)[: self.p]
        x = np.where((np.abs(x) < _NOTHING) & (lower <= 0.0) & (upper >= 0.0), 0.0, x)
        Px = P @ x
        z = bound_multipliers(Px + q + y @ A, x, lower, upper)
        certificate = certify(self.program, x, y, *z, self.tol, Px)
        if self.best is None or certificate.worst < self.best.certificate.worst:
            self.best = Solution(x, y, *z, Px, certificate, 0, 0, "")
        return certificate.ok

    def offer_cleaned(self, x: np.ndarray, y: np.ndarray) -> bool:
        """Offer a point, and then without what may be nothing but rounding."""
        x, y = x[: self.n], y[: self.p]
        if self.offer(x, y):
            return True
        x, y = self.without_idle(x, y)
        return self.offer(x, y) or any(
            self.offer(*self.without_rounding(x, y, part)) for part in _PARTS
        )

    def without_idle(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return x and y with 0 for what has to vanish, because it is alone in its equation.

        A variable in a row ``a'x = 0`` whose others are 0; a multiplier in the column of a free variable without costs,
        as the slack of a row is.
        """
        P, q, A, b, lower, upper = self.program
        free = (lower < x) & (x < upper) & (q == 0.0) & (P.diagonal() <= 0.0)
        may_vanish = (lower <= 0.0) & (upper >= 0.0)
        return _vanish(A[b == 0.0].T, x, may_vanish), _vanish(A[:, free], y, True)

    def without_rounding(
        self, x: np.ndarray, y: np.ndarray, part: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return x and y with 0 for the entries that move the gradient by a small part of its terms only.

        The multiplier 1e-17 of a row that is slack, say, or a variable 1e-17 whose gradient has terms of size 1. Where
        there is nothing to compare with, it is the largest of them.
        """
        P, q, A, _, lower, upper = self.program
        roots, absolute = np.sqrt(np.maximum(P.diagonal(), 0.0)), np.abs(A)
        mass = roots * float(roots @ np.abs(x)) + np.abs(q)
        terms = part * (mass + np.abs(y) @ absolute)
        width = np.maximum(np.abs(lower), np.abs(upper))
        width = np.where(width < np.inf, width, largest(x))
        small = (np.abs(x) * roots**2 <= terms) & (roots > 0.0)
        small |= (np.abs(x) <= part * width) & (roots == 0.0)
        x = np.where(small & (lower <= 0.0) & (upper >= 0.0), 0.0, x)
        rows = absolute[:, mass > 0.0]
        small = (np.abs(y)[:, None] * rows <= terms[mass > 0.0]).all(axis=1)
        small &= rows.any(axis=1) | (np.abs(y) <= part * largest(y))
        return x, np.where(small, 0.0, y)

    # -- finish

    def finish(self, x: np.ndarray, y: np.ndarray, z: np.ndarray, steps: tuple[float, ...]) -> bool:
        """Correct the sets under each weight of a proximal term; return whether a point came out that is proved."""
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            return False
        state = self.read_state(x, z)
        for delta in steps:
            careful = delta == 0.0 and len(steps) > 1
            prox = delta * np.where(self.diagonal > 0.0, self.diagonal, 1.0)
            centre, seen = np.clip(x, self.lower, self.upper), set()
            for _ in range(_ROUNDS if delta or careful else _FEW):
                if state.tobytes() in seen and not careful:
                    break
                seen.add(state.tobytes())
                start = x
                try:
                    x, y, g = self.minimum(x, y, state, prox, centre)
                except RuntimeError:  # SuperLU met an exact singularity
                    break
                self.n_systems += 1
                if careful:
                    x, new = self.walk(start, x, g, y, state)
                else:
                    new = self.corrected(x, g, y, state)
                x = np.clip(x, self.lower, self.upper)
                if (not delta or (new == state).all()) and self.offer_cleaned(x, y):
                    return True
                state = new
        return False

    def read_state(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return -1 and 1 for variables at their lower and upper bound: the multiplier exceeds the distance."""
        state = np.zeros(x.size, dtype=np.int8)
        state[-z > x - self.lower] = -1
        state[z > self.upper - x] = 1
        state[self.lower == self.upper] = -1
        return state

    def placed(self, x: np.ndarray, state: np.ndarray) -> np.ndarray:
        """Return x with the variables that are not free at their bound."""
        return np.where(state < 0, self.lower, np.where(state > 0, self.upper, x))

    def gradient(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the gradient of the Lagrangian."""
        return np.asarray(self.P @ x + self.q + self.A.T @ y)

    def minimum(
        self, x: np.ndarray, y: np.ndarray, state: np.ndarray, prox: np.ndarray, centre: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Solve the system of the free variables; return x, y and the gradient of the Lagrangian.

        The objective has the additional term ``1/2 sum_j prox_j (x_j - centre_j)^2``.
        """
        free, x = np.flatnonzero(state == 0), self.placed(x, state)
        solve = _factor(self.P, self.A, free, prox[free])
        best, found = (np.inf, np.inf), (x, y, self.gradient(x, y) + prox * (x - centre))
        for k in range(_REFINEMENTS):
            g = self.gradient(x, y) + prox * (x - centre)
            miss = self.b - self.A @ x
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

    def corrected(
        self, x: np.ndarray, g: np.ndarray, y: np.ndarray, state: np.ndarray
    ) -> np.ndarray:
        """Return the state with variables that left the box at their bound, and those of a wrong sign free."""
        new = state.copy()
        new[(state == 0) & (x < self.lower)] = -1
        new[(state == 0) & (x > self.upper)] = 1
        # as the certificate has them
        terms = absolute_product(self.P, np.abs(x)) + np.abs(self.q) + np.abs(self.A.T @ y)
        wrong = (state * g > 16.0 * EPS * terms) & (self.lower < self.upper)
        new[wrong] = 0
        return new

    def walk(
        self, start: np.ndarray, x: np.ndarray, g: np.ndarray, y: np.ndarray, state: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Go from a point of the box towards a minimum, to the first bound that is met; return point and state."""
        step, new = x - start, state.copy()
        distance = np.maximum(np.where(step > 0.0, self.upper - start, start - self.lower), 0.0)
        share = np.where((state == 0) & (step != 0.0), distance / np.abs(step), np.inf)
        most = float(share.min(initial=np.inf))
        if most >= 1.0:
            return x, self.corrected(x, g, y, state)
        met = share <= most * (1.0 + 16.0 * EPS)
        new[met] = np.sign(step[met])
        return start + most * step, new


def guess_piqp(
    program: BoxProgram, eps: float, max_iter: int, sweeps: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, str]:
    """Return x, y and the multipliers of the bounds from PIQP, its number of iterations and what it says."""
    P, q, A, b, lower, upper = program
    is_sparse = sparse.issparse(P)
    solver = piqp.SparseSolver() if is_sparse else piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_duality_gap_abs = eps
    solver.settings.eps_rel = solver.settings.eps_duality_gap_rel = eps
    solver.settings.max_iter, solver.settings.preconditioner_iter = max_iter, sweeps
    P = sparse.csc_matrix(P) if is_sparse else P.T
    A = sparse.csc_matrix(A) if is_sparse else np.asfortranarray(A)
    solver.setup(P, q, *((A, b) if b.size else (None, None)), x_l=lower, x_u=upper)
    verdict = {
        piqp.PIQP_PRIMAL_INFEASIBLE: "infeasible",
        piqp.PIQP_DUAL_INFEASIBLE: "unbounded",
        piqp.PIQP_MAX_ITER_REACHED: "max_iter",
    }.get(solver.solve(), "inaccurate")
    r = solver.result
    return r.x, r.y, r.z_bu - r.z_bl, r.info.iter, verdict


def guess_admm(
    program: BoxProgram, eps: float, max_iter: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, str]:
    """Return the same as `guess_piqp` by the text's ADMM: x in the affine set, z in the box, over-relaxed.

    Rows and columns are scaled first. A matrix is factored for each penalty, which follows the residuals' ratio.
    """
    P, q, A, b, lower, upper = program
    t, r = np.ones(q.size), np.ones(b.size)
    for _ in range(_EQUILIBRATIONS):
        d = _scales(np.maximum(_peaks(P, 0), _peaks(A, 0)))
        e = _scales(_peaks(A, 1))
        P, A, t, r = _between(d, P, d), _between(e, A, d), t * d, r * e
    cost = 1.0 / max(float(_peaks(P, 0).mean()), largest(q * t), _NOTHING)
    P, q, b, lower, upper = P * cost, q * t * cost, b * r, lower / t, upper / t
    bounded = np.isfinite(lower) | np.isfinite(upper)
    # low rank: w = G'x is a variable
    plain = sparse.issparse(P) and P.nnz == np.count_nonzero(P.diagonal())
    free, rho, k = np.arange(q.size), 1.0, 0
    z, u = np.clip(0.0, lower, upper), np.zeros(q.size)
    while k < max_iter:
        weights = np.where(bounded, np.where(lower == upper, _STIFF * rho, rho), _FREE)
        diagonal = P.diagonal() + weights
        solve = _factor_diagonal(diagonal, A) if plain else _factor(P, A, free, weights)
        for _ in range(_EACH):
            k, old = k + 1, z
            xy = solve(np.concatenate([weights * (z - u) - q, b]))
            x = xy[: q.size]
            v = _RELAXATION * x + (1.0 - _RELAXATION) * z + u
            z = np.clip(v, lower, upper)
            u = v - z
        r_size, s_size = largest(x - z), largest(weights * (z - old))
        of_r = max(largest(x), largest(z), _NOTHING)
        of_s = max(largest(P @ x), largest(q), largest(weights * u), _NOTHING)
        r_size, s_size = r_size / of_r, s_size / of_s
        if not max(r_size, s_size) > max(eps, _ROUGH):
            break
        change = np.sqrt(r_size / max(s_size, _NOTHING))
        if not 1.0 / _UNBALANCED < change < _UNBALANCED:
            change = np.clip(change, 1e-3, 1e3)
            rho, u = rho * change, u / change
    y = xy[q.size :] * r / cost
    return z * t, y, weights * u / (t * cost), k, "max_iter" if k >= max_iter else "inaccurate"


def _peaks(M: Any, axis: int) -> np.ndarray:
    """Return the largest absolute value of each column (axis 0) or row (axis 1)."""
    if sparse.issparse(M):
        return np.asarray(abs(M).max(axis=axis).todense()).ravel()
    return np.asarray(np.abs(M).max(axis=axis, initial=0.0))


def _between(left: np.ndarray, M: Any, right: np.ndarray) -> Any:
    """Return M with rows and columns multiplied by these numbers."""
    if sparse.issparse(M):
        return (sparse.diags(left) @ M @ sparse.diags(right)).tocsc()
    return left[:, None] * M * right


def _vanish(M: np.ndarray, v: np.ndarray, allowed: Any) -> np.ndarray:
    """Return v with 0 for an entry that is alone in a column of v'M = 0, one after the other."""
    there, v = (M != 0.0) & (v != 0.0)[:, None], v.copy()
    while (alone := there[:, there.sum(axis=0) == 1].any(axis=1) & allowed).any():
        there[alone], v[alone] = False, 0.0
    return v


def _factor(P: Any, A: Any, free: np.ndarray, prox: np.ndarray) -> Any:
    """Factor the regularised system of the free variables, with rows and columns scaled to the largest entry 1."""
    p, f = A.shape[0], free.size
    if p + f == 0:
        return lambda v: v
    ridge, AF = np.repeat([_RIDGE, -_RIDGE], [f, p]), A[:, free]
    if sparse.issparse(P):
        top = P[free][:, free] + sparse.diags(prox)
        K = sparse.bmat([[top, AF.T], [AF, sparse.csc_matrix((p, p))]], format="csc")
        d = np.ones(f + p)
        for _ in range(3):
            s = _scales(np.asarray(abs(K).max(axis=1).todense()).ravel())
            S = sparse.diags(s)
            K, d = (S @ K @ S).tocsc(), d * s
        K = (K + sparse.diags(ridge, format="csc")).tocsc()
        factors = splu(K, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.01)
        return lambda v: d * factors.solve(d * v)
    K = np.zeros((f + p, f + p), order="F")
    K[:f, :f] = P if f == len(P) else P[np.ix_(free, free)]
    K[f:, :f], K[:f, f:] = AF, AF.T
    K[np.arange(f), np.arange(f)] += prox
    d = _scales(np.abs(K).max(axis=1, initial=0.0))
    K *= d
    K *= d[:, None]
    K[np.arange(f + p), np.arange(f + p)] += ridge
    lu, piv, _ = dgetrf(K, overwrite_a=1)
    return lambda v: d * dgetrs(lu, piv, d * v)[0]


def _factor_diagonal(diagonal: np.ndarray, A: Any) -> Any:
    """Factor the same system where its first block is diagonal: what remains is as small as A has rows."""
    f = diagonal.size
    K = (A @ sparse.diags(1.0 / diagonal) @ A.T).toarray()
    d = _scales(K.diagonal())
    K *= np.outer(d, d)
    K[np.diag_indices_from(K)] += _RIDGE
    lu, piv, _ = dgetrf(K, overwrite_a=1)

    def solve(v: np.ndarray) -> np.ndarray:
        y = d * dgetrs(lu, piv, d * (A @ (v[:f] / diagonal) - v[f:]))[0]
        return np.concatenate([(v[:f] - A.T @ y) / diagonal, y])

    return solve


def _scales(peak: np.ndarray) -> np.ndarray:
    """Return one over the root of the largest entry of each row, and 1 for a row of zeros."""
    return np.asarray(1.0 / np.sqrt(np.where(peak > 0.0, peak, 1.0)))
