r"""The solver of the dual programs: ADMM finds the active set, Newton's method the solution.

ADMM splits the quadratic from everything else. Its second step is the proximal operator of
:math:`\epsilon_0\|\delta\|_1` with the box and the l1 ball,

.. math:: z_i = \operatorname{sgn}(v_i) \min(\max(|v_i| - t, 0), c),

where the threshold t is :math:`\epsilon_0/\rho`, or larger if the ball asks for it: :math:`\rho t` tends to the tube's
:math:`\epsilon`. After a few iterations v says which multipliers are zero, free or at c; then semismooth Newton steps
on these sets end at the solution. If t = 0, the ball is idle, :math:`\epsilon = 0`, and the program has a plain box.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from companion.admm import LowRank
from companion.admm.kkt import BoxQP, FactoredKKT, factor_kkt, symmetric_product
from companion.admm.low_rank import low_rank_factor
from companion.admm.qp_engine import XStep
from companion.admm.quadratic import solve_box_qp
from companion.admm.row_matrix import RowMatrix
from companion.certificates import Certificate, max_norm
from companion.engine.guess import Guess
from companion.exceptions import ConvergenceWarning, InfeasibleProblemError
from companion.svr.tube import Levels, TubeProgram, certify, find_levels, snap

__all__ = ["TubeSolution", "newton", "prox_tube", "solve_tube"]

_ROUNDS = (10, 10, 20, 40, 80, 160, 320)  # ADMM iterations before each attempt of Newton's method
_SHARE_OF_Y = 0.1  # guess of the residuals, in units of the spread of y
_SHARE_OUTSIDE = 0.5  # guess of the share of points outside of the tube
_WIDELY = 1e6  # by this part the penalty may differ from trace(P)/m
_ROUGH = sum(_ROUNDS[:2])  # iterations for which seven digits will do
_RELAXATION = 1.6
_RIDGE = (
    1e-10  # added to P on the free variables, in units of trace(P)/m; refinement removes its effect
)
_REFINEMENTS = 6
_ROUNDING = 8.0 * float(np.finfo(float).eps)  # a residual below this part of its terms is rounding
_SIGN_TOLERANCE = 1e-12  # a wrong sign by this part of the largest term is rounding
_NEGLIGIBLE = 1e-3  # P delta below this part of y decides between ties at most
_TIED = 4.0  # values are tied if they differ by this much times the largest that P delta can be
_FIT = 1e-9  # residuals below this part of y may be rounding
_PATIENCE = 40  # ADMM iterations before a threshold 0 is taken for the solution's


@dataclass(frozen=True, eq=False)
class TubeSolution:
    """A solution of a `TubeProgram`: delta, s = y - P delta, the tube, the proof, the iterations."""

    delta: np.ndarray
    s: np.ndarray
    levels: Levels
    certificate: Certificate
    n_iter: int

    def scaled(self, unit: float) -> TubeSolution:
        """Return the solution for y times a power of two, which changes no digit and no relative number."""
        return replace(
            self, delta=self.delta * unit, s=self.s * unit, levels=self.levels.scaled(unit)
        )


class _Search:
    """The best point so far."""

    def __init__(self, program: TubeProgram, tol: float, cap: int) -> None:
        self.program, self.tol, self.cap, self.n_iter = program, tol, cap, 0
        self.best: TubeSolution | None = None

    @property
    def left(self) -> int:
        return self.cap - self.n_iter

    def offer(self, delta: np.ndarray | None) -> bool:
        """Certify a point, keep it if it is the best; return whether it is a solution."""
        if delta is None or not np.isfinite(delta).all():
            return False
        program = self.program
        delta = snap(delta, program.upper)
        s = program.residual(delta)
        levels = find_levels(program, s, delta)
        certificate = certify(program, s, delta, levels, self.tol)
        if self.best is None or certificate.worst < self.best.certificate.worst:
            self.best = TubeSolution(delta, s, levels, certificate, self.n_iter)
        return certificate.ok


def solve_tube(
    program: TubeProgram, *, tol: float = 1e-9, max_iter: int = 1000, guess: Guess | None = None
) -> TubeSolution:
    """Solve a dual program; warn if the certificate misses `tol`.

    Parameters
    ----------
    program : TubeProgram
        P positive semidefinite.
    tol : float
        Tolerance of the certificate.
    max_iter : int
        Largest number of iterations, of ADMM and of the interior-point method together.
    guess : Guess, optional
        What libsvm says about the active set.

    Returns
    -------
    TubeSolution
    """
    diagonal = program.P.diagonal()
    steepest, largest = float(diagonal.max(initial=0.0)), max_norm(program.y)
    power = 0.0
    if steepest > 0.0 and largest > 0.0:
        power = min(max(math.log2(largest) - math.log2(steepest), -900.0), 900.0)
    unit = 2.0 ** round(power)
    search = _Search(program.scaled(unit), tol, max_iter)
    with np.errstate(all="ignore"):  # a failed attempt may overflow; the certificate judges
        _search(search, guess and guess._replace(a=guess.a / unit))
    best = search.best
    assert best is not None
    solution = best.scaled(unit)
    certificate = solution.certificate
    if not certificate.ok:
        warnings.warn(
            f"the dual program did not reach tol = {tol:g} within {search.n_iter} iterations: {certificate}",
            ConvergenceWarning,
            stacklevel=3,
        )
    return replace(solution, n_iter=search.n_iter)


def _search(search: _Search, guess: Guess | None) -> bool:
    """Try the methods in turn, the cheapest first."""
    program, y = search.program, search.program.y
    spread = float(np.ptp(y)) if program.balanced else 2.0 * float(np.abs(y).max())
    if spread <= 2.0 * program.epsilon or program.radius == 0.0 or program.m == program.balanced:
        return search.offer(np.zeros(program.m))
    dense = not isinstance(program.P, LowRank)
    most = min(program.radius, program.m * program.upper)
    negligible = most * float(program.P.diagonal().max()) <= _NEGLIGIBLE * spread
    if negligible and _without_quadratic(search):
        return True
    if guess and not negligible and search.offer(newton(program, guess.a, guess.state)):
        return True
    if program.ball_is_idle and program.epsilon == 0.0:
        return _box(search) or (_by_factor(search, program.m) if dense else _pairs(search))
    if dense:
        return _admm_rounds(search) or _by_factor(search, program.m) or _pairs(search)
    return _pairs(search) or _box(search)


# -- ADMM


def prox_tube(v: np.ndarray, upper: float, radius: float, t: float) -> tuple[np.ndarray, float]:
    r"""Shrink v by t, and by more if :math:`|z_i| \le c, \|z\|_1 \le \tau` ask for it.

    Parameters
    ----------
    v : ndarray of shape (m,)
    upper, radius : float
        The bounds c and :math:`\tau`; infinite ones are allowed.
    t : float
        Least threshold.

    Returns
    -------
    z : ndarray of shape (m,)
    threshold : float
        ``z = sign(v) clip(|v| - threshold, 0, c)``.

    Examples
    --------
    >>> z, threshold = prox_tube(np.array([3.0, -2.0, 0.5]), 1.5, 2.0, 0.0)
    >>> z.tolist(), threshold
    ([1.5, -0.5, 0.0], 1.5)
    """
    a = np.abs(v)
    z = np.minimum(np.maximum(a - t, 0.0), upper)
    if z.sum() > radius:
        t = _threshold(a, upper, radius)
        z = np.minimum(np.maximum(a - t, 0.0), upper)
    return np.copysign(z, v), t


def _threshold(a: np.ndarray, upper: float, radius: float) -> float:
    """Return t with ``sum clip(a - t, 0, upper) = radius``: the sum is piecewise linear in t."""
    knots = a
    if math.isfinite(upper):  # from a - upper on downwards, an entry grows no more
        knots = np.concatenate([a, a - upper])
    order = (-knots).argsort()
    knots, slope = knots[order], np.where(order < a.size, 1.0, -1.0).cumsum()
    sums = np.zeros(knots.size)
    ((knots[:-1] - knots[1:]) * slope[:-1]).cumsum(out=sums[1:])
    j = max(int(sums.searchsorted(radius)) - 1, 0)
    return float(knots[j] - (radius - sums[j]) / max(slope[j], 1.0))


def _rows(program: TubeProgram) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the right-hand side of the balance, if there is one."""
    k = int(program.balanced)
    return np.ones((k, program.m)), np.zeros(k)


def _admm_rounds(search: _Search) -> bool:
    """ADMM with Newton's method after each round; return whether that gave a solution."""
    program, P = search.program, search.program.P
    if not P.diagonal().any():
        return False
    rho = _penalty(program)
    steps = _admm(program, rho)
    box_is_tried = False
    for number, length in enumerate(_ROUNDS):
        length = min(length, search.left)
        if length <= 0:
            return False
        for _ in range(length):
            v, z, t = next(steps)
        search.n_iter += length
        if t > 0.0:
            a = np.abs(v) - t
            state = (np.sign(v) * ((a > 0.0) + 1.0 * (a >= program.upper))).astype(np.int8)
            if search.offer(newton(program, z, state)):
                return True
        elif search.n_iter >= _PATIENCE and not box_is_tried:
            box_is_tried = True
            if _box(search):
                return True
        few = min(program.m // 4, 100)
        if number == 0 and program.m >= 60 and _by_factor(search, few):
            return True
    return search.offer(z)


def _penalty(program: TubeProgram) -> float:
    r"""Return the penalty parameter for which residuals over rho have about the size of the multipliers.

    ADMM's variable v is the sum of both, and its first iterations find the active set best if neither hides the other.
    """
    curvature = float(program.P.diagonal().mean())
    multiplier = min(program.radius / program.m, _SHARE_OUTSIDE * program.upper)
    residual = _SHARE_OF_Y * float(np.abs(program.y - program.y.mean()).mean())
    if not (0.0 < multiplier < np.inf and residual > 0.0):
        return curvature
    return min(max(residual / multiplier, curvature / _WIDELY), curvature * _WIDELY)


def _admm(program: TubeProgram, rho: float) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Yield v = z + u, z and the threshold; one factorisation, and a rough one for the first rounds."""
    y, (A, b) = program.y, _rows(program)
    free = np.full(program.m, np.inf)
    problem = BoxQP(program.P, -y, A, b, -free, free)
    step = XStep(problem, rho, rough=True)
    v = np.zeros(program.m)
    least = program.epsilon / rho
    z, t = v, least
    for k in count():
        if k == _ROUGH and step.is_rough:
            step = XStep(problem, rho)
        x = step(2.0 * z - v)
        v = v + _RELAXATION * (x - z)
        z, t = prox_tube(v, program.upper, program.radius, least)
        yield v, z, t


# -- Newton's method


class _Sets:
    r"""The equations that a guess of the active sets leaves: rows ``A delta = b`` and the levels ``u, l``.

    The levels depend on the unknown multipliers theta of the rows: u and l themselves, if both are free; b, if
    :math:`\epsilon` is fixed; :math:`\epsilon`, if b is penalized.
    """

    def __init__(self, program: TubeProgram) -> None:
        tau, e = program.radius, program.epsilon
        self.program, self.base = program, e
        if math.isfinite(tau) and program.balanced:
            self.up, self.down = np.array([1.0, 0.0]), np.array([0.0, 1.0])
            self.rhs = np.array([tau / 2.0, -tau / 2.0])
        elif math.isfinite(tau):
            self.up, self.down, self.rhs = np.array([1.0]), np.array([-1.0]), np.array([tau])
        else:
            k = int(program.balanced)
            self.up, self.down, self.rhs = np.ones(k), np.ones(k), np.zeros(k)

    def rows(self, state: np.ndarray) -> np.ndarray:
        """Return A: the coefficient of theta in the level of each point."""
        A: np.ndarray = np.where(state > 0, self.up[:, None], self.down[:, None])
        A[:, state == 0] = 0.0
        return A

    def levels(self, theta: np.ndarray) -> tuple[float, float]:
        """Return u and l; the middle of both if they come in the wrong order."""
        u = float(self.up @ theta) + self.base
        low = float(self.down @ theta) - self.base
        return (u, low) if u >= low else ((u + low) / 2.0, (u + low) / 2.0)

    def place(self, j: int, s: np.ndarray) -> tuple[float, int]:
        """Choose theta_j, on which no free point depends, as an order statistic; return the point to free, or -1."""
        c, tau, e = self.program.upper, self.program.radius, self.base
        if not math.isfinite(tau):  # b: as many points above u as below l
            return _order_statistic(np.concatenate([s - e, s + e]), float(s.size))[0], -1
        if self.rhs.size == 1:
            return _order_statistic(np.abs(s), tau / c)
        sign = 1.0 - 2.0 * j
        value, i = _order_statistic(sign * s, tau / (2.0 * c))
        return sign * value, i


def _order_statistic(values: np.ndarray, k: float) -> tuple[float, int]:
    """Return a number that k of the values exceed; if k is no integer, one of them, and its index."""
    order = np.argsort(-values, kind="stable")
    whole = round(k)
    if abs(k - whole) <= _SIGN_TOLERANCE * max(k, 1.0):
        if whole <= 0 or whole >= values.size:
            return float(values[order[0 if whole <= 0 else -1]]), -1
        return float(values[order[whole - 1]] + values[order[whole]]) / 2.0, -1
    i = int(order[min(int(k), values.size - 1)])
    return float(values[i]), i


def newton(
    program: TubeProgram, delta: np.ndarray, state: np.ndarray, *, max_steps: int = 40
) -> np.ndarray | None:
    r"""Solve the program from a good guess of its active set, by semismooth Newton steps.

    Parameters
    ----------
    program : TubeProgram
        Where the radius is finite, :math:`\|\delta\|_1 = \tau` is imposed.
    delta : ndarray of shape (m,)
        A point near the solution.
    state : ndarray of int8, shape (m,)
        The guess: 0 for zero, 1 and -1 for free and positive or negative, 2 and -2 for the bounds c and -c.
    max_steps : int
        Number of systems that may be solved.

    Returns
    -------
    ndarray of shape (m,) or None
        A point whose sets reproduce themselves; None if they run in a circle or change more and more.
    """
    sets = _Sets(program)
    curvature = float(program.P.diagonal().mean())
    theta = np.zeros(sets.rhs.size)
    seen: set[bytes] = set()
    fewest = program.m
    for _ in range(max_steps):
        key = state.tobytes()
        if key in seen or curvature <= 0.0:
            return None
        seen.add(key)
        delta = _on_sets(delta, state, program.upper)
        system = _System(sets, state, curvature)
        if system.kkt is None:
            return None
        delta, theta = system.correct(delta, theta, system.residuals(delta, theta))
        s = program.residual(delta)
        freed = -1
        for j in np.flatnonzero(~system.present):
            theta[j], i = sets.place(int(j), s)
            freed = i if i >= 0 else freed
        if not (np.isfinite(delta).all() and np.isfinite(theta).all()):
            return None
        u, low = sets.levels(theta)
        new = _next_state(program, delta, s, u, low, state, curvature)
        if freed >= 0:
            new[freed] = 1 if s[freed] >= (u + low) / 2.0 else -1
        changes = int(np.count_nonzero(new != state))
        if changes > 2 * fewest + 10:
            return None
        fewest = min(fewest, changes)
        if changes == 0:
            delta = system.refine(delta, theta)
            sign = np.sign(state)
            return sign * np.clip(sign * delta, 0.0, program.upper)
        state = new
    return None


def _on_sets(delta: np.ndarray, state: np.ndarray, upper: float) -> np.ndarray:
    """Return delta with the entries of its sets; a free entry keeps its value if the sign fits."""
    sign = np.sign(state)
    size = np.clip(sign * delta, 0.0, upper)
    size = np.where(np.abs(state) == 2, upper if math.isfinite(upper) else size, size)
    return sign * size


class _System:
    """The linear system of the free variables and of the multipliers theta that they determine."""

    def __init__(self, sets: _Sets, state: np.ndarray, curvature: float) -> None:
        program = sets.program
        self.sets, self.free = sets, np.flatnonzero(np.abs(state) == 1)
        self.sign = np.sign(state[self.free])
        A = sets.rows(state)
        self.present = A[:, self.free].any(axis=1)
        self.A, self.b = A[self.present], sets.rhs[self.present]
        box = np.full(program.m, np.inf)
        problem = BoxQP(program.P, -program.y, self.A, self.b, -box, box)
        self.kkt: FactoredKKT | None = None
        try:
            self.kkt = factor_kkt(problem, _RIDGE * curvature, self.free, curvature)
        except np.linalg.LinAlgError:
            return

    def residuals(self, delta: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what is missing to ``s = level`` on the free points, and to ``A delta = b``."""
        s = self.sets.program.residual(delta)[self.free]
        level = theta[self.present] @ self.A[:, self.free] + self.sets.base * self.sign
        return s - level, self.b - self.A @ delta

    def correct(
        self, delta: np.ndarray, theta: np.ndarray, residuals: tuple[np.ndarray, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Add the solution of the system for the present residuals."""
        assert self.kkt is not None
        delta, theta = delta.copy(), theta.copy()
        change, of_theta = self.kkt.solve(*residuals)
        delta[self.free] += change
        theta[self.present] += of_theta
        return delta, theta

    def refine(self, delta: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Repeat the correction while it reduces the residuals."""
        program, now = self.sets.program, self.residuals(delta, theta)
        size = max_norm(now[0]), max_norm(now[1])
        enough = _ROUNDING * max_norm(program.y), _ROUNDING * max_norm(self.b)
        for _ in range(_REFINEMENTS):
            if size[0] <= enough[0] and size[1] <= enough[1]:
                break
            trial = self.correct(delta, theta, now)
            then = self.residuals(*trial)
            left = max_norm(then[0]), max_norm(then[1])
            if not (left[0] < size[0] or left[1] < size[1]) or left[0] > 2.0 * size[0] + 1e-300:
                break
            (delta, theta), now, size = trial, then, left
        return delta


def _next_state(
    program: TubeProgram,
    delta: np.ndarray,
    s: np.ndarray,
    u: float,
    low: float,
    state: np.ndarray,
    curvature: float,
) -> np.ndarray:
    """Read the sets from the signs: positions of the free variables, sides of the tube of the others."""
    largest = max(max_norm(program.y), max_norm(program.y - s), u, -low)
    small = _SIGN_TOLERANCE * largest
    c, sign, size = program.upper, np.sign(state).astype(np.int8), np.abs(state)
    a = sign * delta
    outside = np.where(sign > 0, s - u, low - s)  # distance beyond the point's own margin
    new = state.copy()
    small_a = _SIGN_TOLERANCE * float(a.max(initial=0.0))
    new[(size == 1) & (a < -small_a)] = 0
    over = (size == 1) & (a > c + small_a)
    new[over] = 2 * sign[over]
    leaves = (size == 2) & (outside < -small)
    new[leaves] = sign[leaves]
    new[leaves & (-outside >= curvature * c)] = 0
    new[(size == 0) & (s > u + small)] = 1
    new[(size == 0) & (s < low - small)] = -1
    return new


# -- other ways


def _without_quadratic(search: _Search) -> bool:
    r"""Solve as if P = 0: the largest and the smallest values take all that the box and the ball allow.

    P decides between values that are equal, or differ by no more than :math:`P\delta` can make up for.
    """
    program, y = search.program, search.program.y
    most = min(program.radius, program.m * program.upper)
    band = _TIED * most * float(program.P.diagonal().max())
    if not math.isfinite(program.radius):
        e = program.epsilon
        b = _order_statistic(np.concatenate([y - e, y + e]), float(y.size))[0]
        delta, u, low = np.zeros(y.size), b + e, b - e
        delta[y > u + band], delta[y < low - band] = program.upper, -program.upper
        totals = [-float(delta.sum())]
    else:
        sums = most / 2.0 if program.balanced else most

        def greedy(values: np.ndarray) -> np.ndarray:
            order = np.argsort(-values, kind="stable")
            before = np.arange(values.size) * (
                program.upper if math.isfinite(program.upper) else sums
            )
            share = np.empty(values.size)
            share[order] = np.clip(sums - before, 0.0, program.upper)
            return share

        if program.balanced:
            above, below = greedy(y), greedy(-y)
            delta = above - below
            u, low = float(y[above > 0.0].min()), float(y[below > 0.0].max())
        else:
            size = greedy(np.abs(y))
            delta = np.sign(y) * size
            u = float(np.abs(y[size > 0.0]).min())
            low = -u
        totals = [sums] * (1 + program.balanced)
    if u - low <= 2.0 * band:  # the tube is no wider than the ties
        middle = (u + low) / 2.0 if program.balanced else 0.0
        divided = _divide_inside(search, middle, np.abs(y - middle) <= 3.0 * band)
        return divided is not None and search.offer(divided)
    red, blue = np.abs(y - u) <= band, np.abs(y - low) <= band
    divided = _divide(search, delta, red, blue, (u, low), totals)
    return divided is not None and search.offer(divided)


def _divide(
    search: _Search,
    delta: np.ndarray,
    red: np.ndarray,
    blue: np.ndarray,
    levels: tuple[float, float],
    totals: list[float],
) -> np.ndarray | None:
    """Divide what the red and the blue points share among them, so that the objective is least; None if that fails.

    `totals` has the sums of all positive and of all negative multipliers, or of their sizes, or, where epsilon is
    fixed, what the other multipliers lack to the sum 0.
    """
    program, y = search.program, search.program.y
    tied = np.flatnonzero(red | blue)
    if tied.size == 0:
        return delta
    sign = np.where(red[tied], 1.0, -1.0)
    fixed = delta.copy()
    fixed[tied] = 0.0
    if not math.isfinite(program.radius):
        rows, rest = np.ones((1, tied.size)), totals
    elif program.balanced:
        rows = np.array([sign > 0.0, -1.0 * (sign < 0.0)], dtype=float)
        rest = [totals[0] - fixed[fixed > 0.0].sum(), totals[1] + fixed[fixed < 0.0].sum()]
    else:
        rows, rest = sign[None], [totals[0] - np.abs(fixed).sum()]
    P, fitted, unit = _part(program, tied, fixed)
    qp = BoxQP(
        P,
        (fitted - (y[tied] - np.where(red[tied], *levels))) / unit,
        rows,
        np.array(rest) / unit,
        np.where(sign > 0.0, 0.0, -program.upper / unit),
        np.where(sign > 0.0, program.upper / unit, 0.0),
    )
    x = _solved(search, qp)
    if x is not None:
        fixed[tied] = unit * x
    return None if x is None else fixed


def _divide_inside(search: _Search, middle: float, tied: np.ndarray) -> np.ndarray | None:
    """Solve for the tied points, of which each may be red or blue; the others are at their bounds."""
    program, y = search.program, search.program.y
    fixed = np.where(tied, 0.0, np.sign(y - middle) * program.upper)
    if not (np.isfinite(fixed).all() and tied.any()):
        return None
    tied = np.flatnonzero(tied)
    P, fitted, unit = _part(program, tied, fixed)
    qp = _in_pairs(
        P,
        (y[tied] - middle - fitted) / unit,
        program.epsilon / unit,
        program.upper / unit,
        (program.radius - float(np.abs(fixed).sum())) / unit,
        -float(fixed.sum()) / unit if program.balanced else None,
    )
    x = _solved(search, qp)
    if x is not None:
        fixed[tied] = unit * (x[tied.size : 2 * tied.size] - x[: tied.size])
    return None if x is None else fixed


def _part(
    program: TubeProgram, index: np.ndarray, fixed: np.ndarray
) -> tuple[np.ndarray | LowRank | RowMatrix, np.ndarray, float]:
    """Return the part of P, the part of P delta that the other points give, and a unit for the multipliers."""
    box = np.full(program.m, program.upper)
    whole = BoxQP(program.P, -program.y, *_rows(program), -box, box)
    fitted = symmetric_product(program.P, fixed)[index]
    return whole.part(index), fitted, min(program.radius, program.m * program.upper)


def _solved(search: _Search, qp: BoxQP) -> np.ndarray | None:
    """Return the solution of a smaller program, None if there is none or it is not found."""
    try:
        result = solve_box_qp(qp, tol=search.tol, max_iter=max(search.left, 1))
    except InfeasibleProblemError:  # by rounding
        return None
    search.n_iter += result.n_iter
    return result.x if result.converged else None


def _by_factor(search: _Search, max_rank: int) -> bool:
    """Solve with a factor of P in place of P, if P turns out to have one of low rank."""
    program = search.program
    factor = low_rank_factor(program.P, max_rank) if isinstance(program.P, np.ndarray) else None
    if factor is None:
        return False
    return _pairs(search, LowRank(factor)) or _box(search, LowRank(factor))


def _exact_fit(search: _Search, P: LowRank) -> bool:
    r"""Where nothing but rounding is left of the residuals, take the shortest delta for the shortest w.

    Others are as good, but an interior-point method finds one whose sum cancels, or none.
    """
    best, program = search.best, search.program
    if best is None or P.d.any() or program.epsilon > 0.0:
        return False
    small = _FIT * float(np.abs(program.y).max())
    fits = max(best.levels.epsilon, float(np.abs(best.s - best.levels.b).max())) <= small
    if best.certificate.ok and not fits:
        return False
    target = program.y - (program.y.mean() if program.balanced else 0.0)
    w = np.linalg.lstsq(P.G, target, rcond=_FIT)[0]
    delta = np.linalg.lstsq(P.G.T, w, rcond=_FIT)[0]
    size = np.abs(delta)
    inside = float(size.max()) <= program.upper and float(size.sum()) <= program.radius
    return inside and search.offer(delta)


def _box(search: _Search, factor: LowRank | None = None) -> bool:
    r"""Solve without the ball and with :math:`\epsilon = 0`: a program with a plain box."""
    program = search.program
    P = program.P if factor is None else factor
    if program.epsilon > 0.0:
        return False
    box = np.full(program.m, program.upper)
    qp = BoxQP(P, -program.y, *_rows(program), -box, box)
    result = solve_box_qp(qp, tol=search.tol, max_iter=max(search.left, 1))
    search.n_iter += result.n_iter
    solved = search.offer(result.x)
    return (isinstance(P, LowRank) and _exact_fit(search, P)) or solved


def _pairs(search: _Search, factor: LowRank | None = None) -> bool:
    r"""Solve for the pairs :math:`\lambda, \mu`, by an interior-point method if P is low rank.

    The last variable is the multiplier :math:`\gamma` of :math:`\epsilon \ge 0`.
    """
    program, m = search.program, search.program.m
    P = program.P if factor is None else factor
    lack = 0.0 if program.balanced else None
    qp = _in_pairs(P, program.y, program.epsilon, program.upper, program.radius, lack)
    result = solve_box_qp(qp, tol=min(search.tol, 1e-9), max_iter=max(search.left, 1))
    search.n_iter += result.n_iter
    delta = snap(result.x[m : 2 * m] - result.x[:m], program.upper)
    solved = search.offer(delta)
    if (isinstance(P, LowRank) and _exact_fit(search, P)) or solved:
        return True
    state = np.sign(delta) * (1 + (np.abs(delta) >= program.upper))
    return search.offer(newton(program, delta, state.astype(np.int8)))


def _in_pairs(
    P: np.ndarray | LowRank | RowMatrix,
    y: np.ndarray,
    epsilon: float,
    upper: float,
    total: float,
    balance: float | None,
) -> BoxQP:
    r"""Return the program in :math:`(\lambda, \mu, \gamma)`, where :math:`\mu - \lambda` has a given sum."""
    m = y.size
    one, gamma = np.ones(m), int(math.isfinite(total))
    pad = np.zeros(gamma)
    rows = [] if balance is None else [np.concatenate([-one, one, pad])]
    rhs = [] if balance is None else [balance]
    if gamma:
        rows.append(np.ones(2 * m + 1))
        rhs.append(total)
    q = np.concatenate([epsilon + y, epsilon - y, pad])
    bounds = np.concatenate([np.full(2 * m, upper), np.full(gamma, np.inf)])
    double: LowRank | np.ndarray
    if isinstance(P, LowRank):
        G = np.vstack([-P.G, P.G, np.zeros((gamma, P.G.shape[1]))])
        double = LowRank(G, np.concatenate([P.d, P.d, pad]))
    else:
        P = P.toarray() if isinstance(P, RowMatrix) else P
        double = np.zeros((q.size, q.size))
        double[: 2 * m, : 2 * m] = np.block([[P, -P], [-P, P]])
    A, b = np.array(rows).reshape(-1, q.size), np.array(rhs)
    return BoxQP(double, q, A, b, np.zeros(q.size), bounds)
