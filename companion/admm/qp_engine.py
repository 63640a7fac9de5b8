r"""The order in which the methods for quadratic programs are tried, and the ADMM among them.

Each method only has to find out which bounds are active: the exact finish (:mod:`companion.admm.active_set`) does
the rest, and a certificate decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dsymv

from companion.admm.active_set import ActiveSet, Answer, active_set_newton, read_state
from companion.admm.coarse import Pair, SolveFrom, coarse_to_fine, solve_for_undecided
from companion.admm.factor_interior_point import factor_interior_point
from companion.admm.interior_point import Iterate, interior_point
from companion.admm.kkt import BoxQP, FactoredKKT, factor_kkt
from companion.admm.low_rank import LowRank, low_rank_factor
from companion.admm.presolve import Presolved
from companion.admm.row_matrix import RowMatrix
from companion.certificates import Certificate, bound_multipliers, certify_qp

__all__ = [
    "MAX_ITER",
    "ROWS_FROM",
    "Neighbour",
    "Proof",
    "Search",
    "XStep",
    "prove",
    "solve_reduced",
]

# ADMM iterations before each attempt of the exact finish.
_ROUNDS = (10, 20, 40, 80)
MAX_ITER = 1000
_FEW_VARIABLES = 120  # for so few ADMM works with an inverse matrix
_COARSE_FROM = 500  # number of variables from which on a coarse problem is solved first
ROWS_FROM = 2000  # number of variables from which on rows of P are computed one by one
_CARRIED = 25  # programs through which a product P x is carried
_COARSE_STEPS = 20  # Newton steps from a guess that a coarse solution suggests
_PROXIMAL = (1e-8, 1e-6, 1e-4)  # weights of the proximal term, in units of trace(P)/n
_PROXIMAL_STEPS = 8
_LARGE_RANK = 40  # a large P of at most this rank is factored before anything else is tried
# The interior-point method tries the exact finish each time that its error falls below one of these.
_MILESTONES = (1e-5, 1e-8, 1e-10, 1e-12)
_EARLY_MILESTONES = (1e-5, 1e-7, 1e-9, 1e-11, 1e-13)  # where the guess of the active set is better
_QUICK = 3  # Newton steps of each of these attempts


class Neighbour:
    """The last solution of several programs with the same P, q and A: the next one starts from it.

    Between values of b and of the bounds where the active set changes, the solution is an affine function of them.
    So the first Newton step, from the old active set with its old factor, predicts the new solution, and the signs
    there the new active set. The product P x goes along, changed by the rows of P for what changed in x; for every
    25th program it is computed anew, before its rounding adds up.
    """

    def __init__(self) -> None:
        self.answer: Answer | None = None
        self._presolved: Presolved | None = None
        self._age = 0

    def has_met(self, P: np.ndarray | LowRank | RowMatrix) -> bool:
        """Return whether the last program had this very matrix."""
        return self._presolved is not None and self._presolved.original.P is P

    def meet(self, problem: BoxQP) -> Presolved | None:
        """Return what presolve found for the last program if `problem` is of the same family; forget all otherwise."""
        last = self._presolved
        if last is None or not problem.learn_from(last.original):
            self.answer = self._presolved = None
            return None
        self._age = (self._age + 1) % _CARRIED
        if self._age == 0 and self.answer is not None:
            self.answer = self.answer._replace(Px=problem.product(self.answer.x))
        return last

    def keep(self, presolved: Presolved, answer: Answer) -> None:
        """Remember the solution of a program."""
        self._presolved, self.answer = presolved, answer


class Proof(NamedTuple):
    """What a certificate needs beside the point and the multipliers of the equations, and the certificate."""

    Px: np.ndarray
    z_lower: np.ndarray
    z_upper: np.ndarray
    certificate: Certificate


def prove(
    p: BoxQP, x: np.ndarray, y: np.ndarray, tol: float, Px: np.ndarray | None = None
) -> Proof:
    """Certify a point, with the multipliers of the bounds that the gradient asks for."""
    Px = p.product(x) if Px is None else Px
    z_lower, z_upper = bound_multipliers(Px + p.q + y @ p.A, x, p.lower, p.upper)
    certificate = certify_qp(
        p.P, p.q, p.A, p.b, p.lower, p.upper, x, y, z_lower, z_upper, tol, Px=Px
    )
    return Proof(Px, z_lower, z_upper, certificate)


class Search:
    """The best point so far, the proof, and the iterations that it took."""

    def __init__(self, problem: BoxQP, tol: float, cap: int) -> None:
        self.problem, self.tol, self.cap = problem, tol, cap
        self.x, self.y = problem.origin(), np.zeros(problem.b.size)
        self.proof: Proof | None = None
        self.active: ActiveSet | None = None
        self.n_iter = 0
        self.history: dict[str, list[float]] = {"primal_residual": [], "dual_residual": []}

    @property
    def left(self) -> int:
        """Number of iterations that may still be done."""
        return self.cap - self.n_iter

    def count(self, primal_residuals: Iterable[float], dual_residuals: Iterable[float]) -> None:
        """Record iterations by their residuals."""
        self.history["primal_residual"].extend(primal_residuals)
        self.history["dual_residual"].extend(dual_residuals)
        self.n_iter = len(self.history["primal_residual"])

    def offer(
        self,
        x: np.ndarray,
        y: np.ndarray,
        Px: np.ndarray | None = None,
        active: ActiveSet | None = None,
    ) -> bool:
        """Certify a point of the box, keep it if it is the best; return whether it is a solution."""
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            return False
        p = self.problem
        if p.mean_curvature == 0.0 and not p.q.any():
            y = np.zeros_like(y)  # nothing to minimise: no multipliers, whatever rounding left
        proof = prove(p, x, y, self.tol, Px)
        if self.proof is None or proof.certificate.worst < self.proof.certificate.worst:
            self.x, self.y, self.active, self.proof = x, y, active, proof
        return proof.certificate.ok

    def adopt(self, part: Search) -> tuple[np.ndarray, np.ndarray] | None:
        """Count the iterations of the search for a part; return its solution, None if there is none."""
        self.n_iter += part.n_iter
        for key, values in part.history.items():
            self.history[key] += values
        return (part.x, part.y) if part.proof is not None and part.proof.certificate.ok else None

    def finish(
        self,
        x: np.ndarray,
        y: np.ndarray,
        state: np.ndarray,
        *,
        ridge: float = 1e-10,
        max_steps: int = 40,
        Px: np.ndarray | None = None,
        kkt: FactoredKKT | None = None,
    ) -> bool:
        """Try the exact finish; return whether it gave a solution."""
        answer = active_set_newton(
            self.problem, x, y, state, ridge=ridge, max_steps=max_steps, Px=Px, kkt=kkt
        )
        return answer is not None and self.offer(*answer)


def solve_reduced(
    search: Search,
    rho: float | None,
    alpha: float,
    start: Answer | tuple[np.ndarray, np.ndarray] | None,
) -> None:
    """Try the methods in turn, the cheapest first, until a point is certified."""
    problem = search.problem
    if isinstance(problem.P, RowMatrix) and problem.q.size < ROWS_FROM:
        search.problem = problem = replace(problem, P=problem.P.toarray())
    y = np.zeros(problem.b.size)
    if not (problem.b.any() or problem.q.any() or problem.origin().any()):
        search.offer(problem.origin(), y)
        return
    penalty = rho if rho is not None else problem.mean_curvature
    if start is None:
        v = problem.origin()
    else:
        if not isinstance(start, Answer):
            start = Answer(*start, problem.product(start[0]))
        if _from_neighbour(search, start, penalty, _finisher(search, rho, alpha)):
            return
        v, y = _splitting_variable(problem, start, penalty), start.y
    if not _has_bounds(problem) or problem.b.size == problem.q.size:
        if search.finish(v, y, np.zeros(v.size, dtype=np.int8)):
            return
    elif not isinstance(problem.P, LowRank) and penalty > 0.0:
        if v.size >= _COARSE_FROM and (
            _as_low_rank(search, _LARGE_RANK)
            or (_can_fix(problem) and _coarse_to_fine(search, rho, alpha))
        ):
            return
        if isinstance(problem.P, RowMatrix):
            search.problem = problem = replace(problem, P=problem.P.toarray())
        if _admm_rounds(search, v, penalty, alpha):
            return
    _interior_rounds(search, problem)


def _from_neighbour(search: Search, near: Answer, penalty: float, solve_from: SolveFrom) -> bool:
    """Guess the active set from the solution of a neighbouring problem; return whether that gave a solution."""
    problem, (x, y, Px, active) = search.problem, near
    if active is None:
        v = _splitting_variable(problem, near, penalty)
        state, kkt = read_state(problem, v), None
    else:
        state, kkt = active
    if not isinstance(problem.P, RowMatrix) and search.finish(x, y, state, Px=Px, kkt=kkt):
        return True
    if x.size < _COARSE_FROM or not _can_fix(problem):
        return False
    answer = solve_for_undecided(problem, x, y, state, solve_from)
    return answer is not None and search.offer(*answer)


def _splitting_variable(problem: BoxQP, near: Answer, penalty: float) -> np.ndarray:
    """Return the variable v = z + u of ADMM that belongs to a solution."""
    gradient = near.Px + problem.q + near.y @ problem.A
    return near.x - gradient / (penalty if penalty > 0.0 else 1.0)


def _as_low_rank(search: Search, max_rank: int) -> bool:
    """Solve with a factor of P instead, if P is an array and turns out to have one of low rank."""
    P = search.problem.P
    G = low_rank_factor(P, max_rank) if isinstance(P, np.ndarray) else None
    return G is not None and _interior_rounds(search, replace(search.problem, P=LowRank(G)))


def _has_bounds(problem: BoxQP) -> bool:
    return bool(np.isfinite(problem.lower).any() or np.isfinite(problem.upper).any())


def _can_fix(problem: BoxQP) -> bool:
    """Return whether blocks of P can be had, and every variable can be fixed at either bound."""
    finite = np.isfinite(problem.lower).all() and np.isfinite(problem.upper).all()
    return bool(finite) and not isinstance(problem.P, LowRank)


def _coarse_to_fine(search: Search, rho: float | None, alpha: float) -> bool:
    """Solve smaller programs first; see :mod:`companion.admm.coarse`."""

    def solve(problem: BoxQP) -> Pair | None:
        part = Search(problem, search.tol, min(sum(_ROUNDS), search.left))
        solve_reduced(part, rho, alpha, None)
        return search.adopt(part)

    def newton(problem: BoxQP, x: np.ndarray, y: np.ndarray, state: np.ndarray) -> Answer | None:
        return active_set_newton(problem, x, y, state, max_steps=_COARSE_STEPS)

    answer = coarse_to_fine(search.problem, solve, newton, _finisher(search, rho, alpha))
    return answer is not None and search.offer(*answer)


def _finisher(search: Search, rho: float | None, alpha: float) -> SolveFrom:
    """Return a function that solves a part of the problem from a guess of its active set."""

    def solve_from(problem: BoxQP, x: np.ndarray, y: np.ndarray, state: np.ndarray) -> Pair | None:
        part = Search(problem, search.tol, min(sum(_ROUNDS), search.left))
        if not part.finish(x, y, state, max_steps=_COARSE_STEPS):
            penalty = rho if rho is not None else problem.mean_curvature
            _admm_rounds(part, x, penalty, alpha)
        return search.adopt(part)

    return solve_from


def _admm_rounds(search: Search, v: np.ndarray, rho: float, alpha: float) -> bool:
    """ADMM with the exact finish after each round; return whether that gave a solution."""
    problem = search.problem
    splitting = _Splitting(problem, v, rho, alpha)
    start = v
    for number, length in enumerate(_ROUNDS):
        if number > 0 and splitting.step.is_rough:
            splitting.make_step(rough=False)
            splitting.v = v if np.isfinite(v).all() else start
        v, y = splitting.run(max(min(length, search.left), 1), search)
        x = np.minimum(np.maximum(v, problem.lower), problem.upper)
        if search.finish(x, y, read_state(problem, v)):
            return True
        if search.left <= 0:
            return search.offer(x, y)
        untried = number == 0 and 60 <= v.size < _COARSE_FROM
        if untried and _as_low_rank(search, max_rank=min(v.size // 4, 100)):
            return True
    return False


class XStep:
    """The step ``x = argmin { f(x) + rho/2 |x - w|^2 : A x = b }`` of ADMM, with one factorisation.

    It is affine: ``x = rho S w + x0``. For few variables S is worth having as a matrix. For others seven digits do
    at first, since nothing but the active set is wanted.

    Parameters
    ----------
    problem : BoxQP
    rho : float
    rough : bool
        Whether single precision is good enough.
    """

    def __init__(self, problem: BoxQP, rho: float, *, rough: bool = False) -> None:
        self.problem, self.rho = problem, rho
        few = problem.q.size <= _FEW_VARIABLES
        kkt = FactoredKKT.in_single_precision(problem, rho) if rough and not few else None
        self.is_rough = kkt is not None
        self.kkt = factor_kkt(problem, rho, independent=True) if kkt is None else kkt
        self.S = None
        if few:
            self.S = self.kkt.matrix_of_solutions()
            self.x0, _ = self.kkt.solve(-problem.q, problem.b)

    def __call__(self, w: np.ndarray) -> np.ndarray:
        """Return x."""
        if self.S is not None:
            return dsymv(self.rho, self.S, w, beta=1.0, y=self.x0, lower=1)
        return self.solve(w)[0]

    def solve(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return x and the multipliers of ``A x = b``."""
        return self.kkt.solve(self.rho * w - self.problem.q, self.problem.b)


class _Splitting:
    """ADMM for the vector v = z + u."""

    def __init__(self, problem: BoxQP, v: np.ndarray, rho: float, alpha: float) -> None:
        self.problem, self.v, self.rho, self.alpha = problem, v, rho, alpha
        self.make_step(rough=True)

    def make_step(self, rough: bool) -> None:
        """Factor the matrix, in single or in double precision."""
        try:
            self.step = XStep(self.problem, self.rho, rough=rough)
        except np.linalg.LinAlgError:
            raise ValueError(
                f"P must be positive semidefinite, but P + {self.rho:g} I has no Cholesky factor"
            ) from None

    def run(self, length: int, search: Search) -> tuple[np.ndarray, np.ndarray]:
        """Do some iterations, record them; return v and the multipliers of A x = b."""
        lower, upper = self.problem.lower, self.problem.upper
        v, z = self.v, np.minimum(np.maximum(self.v, lower), upper)
        xs, zs = [], [z]
        for _ in range(length):
            w = 2.0 * z - v
            x = self.step(w)
            v = v + self.alpha * (x - z)
            z = np.minimum(np.maximum(v, lower), upper)
            xs.append(x)
            zs.append(z)
        self.v = v
        Z = np.array(zs)
        r, s = np.array(xs) - Z[1:], Z[1:] - Z[:-1]
        search.count(_row_norms(r), self.rho * _row_norms(s))
        return v, self.step.solve(w)[1]


def _row_norms(rows: np.ndarray) -> np.ndarray:
    return np.sqrt(np.einsum("ij,ij->i", rows, rows))


def _interior_rounds(search: Search, problem: BoxQP) -> bool:
    """Interior-point methods with the exact finish at each milestone."""
    P, has_bounds = problem.P, _has_bounds(problem)
    if isinstance(P, LowRank) and problem.q.size > 2 * P.G.shape[1] and has_bounds:
        iterates = factor_interior_point(problem, max_iter=max(min(search.left, 60), 1))
        if _follow(search, iterates, _EARLY_MILESTONES)[0]:
            return True
    iterates = interior_point(problem, max_iter=max(min(search.left, 200), 1))
    solved, last = _follow(search, iterates, _MILESTONES)
    if solved or last is None:
        return solved
    if search.finish(last.x, last.y, last.state):
        return True
    on_bounds = np.choose(last.state + 1, [search.problem.lower, last.x, search.problem.upper])
    if search.offer(on_bounds, last.y):
        return True
    return _proximal_rounds(search, last.x, last.y, last.state)


def _follow(
    search: Search, iterates: Iterator[Iterate], milestones: Sequence[float]
) -> tuple[bool, Iterate | None]:
    """Try the exact finish at each milestone; return whether that gave a solution, and the last iterate."""
    left = list(milestones)
    last = None
    for iterate in iterates:
        search.count([iterate.primal_residual], [iterate.dual_residual])
        last = iterate
        if left and iterate.error <= left[0]:
            while left and iterate.error <= left[0]:
                left.pop(0)
            if search.finish(iterate.x, iterate.y, iterate.state, max_steps=_QUICK):
                return True, last
    return False, last


def _proximal_rounds(search: Search, x: np.ndarray, y: np.ndarray, state: np.ndarray) -> bool:
    """Proximal point method from a nearly optimal point, for a P that is nearly singular.

    Minimise f + (delta/2) |x - center|^2 exactly and move the center to the solution. Each of these
    programs is well conditioned, and its solution misses optimality by delta times the move only.
    """
    problem = search.problem
    unit = problem.mean_curvature
    if unit == 0.0:
        return False
    for delta in _PROXIMAL:
        center, multipliers, guess = x, y, state
        P = _plus_identity(problem.P, delta * unit)
        for _ in range(_PROXIMAL_STEPS):
            nearby = replace(problem, P=P, q=problem.q - delta * unit * center)
            answer = active_set_newton(nearby, center, multipliers, guess)
            if answer is None:
                break
            center, multipliers = answer[:2]
            if search.offer(center, multipliers):
                return True
            guess = read_state(problem, center - nearby.gradient(center, multipliers) / unit)
    return False


def _plus_identity(P: np.ndarray | LowRank | RowMatrix, multiple: float) -> np.ndarray | LowRank:
    """Return ``P + multiple * I``."""
    if isinstance(P, LowRank):
        return LowRank(P.G, P.d + multiple)
    P = P.toarray() if isinstance(P, RowMatrix) else P
    return P + multiple * np.eye(P.shape[0])
