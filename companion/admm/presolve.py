"""What can be said about a quadratic program before solving it, and what must be said after failing to.

`presolve` removes fixed variables, rows that leave no choice and rows that depend on others, and scales what is
left. `diagnose` looks for a proof that no solution exists. Both raise errors that carry such a proof.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dpotrf
from scipy.optimize import linprog

from companion.admm.kkt import BoxQP
from companion.admm.low_rank import LowRank
from companion.admm.row_matrix import RowMatrix
from companion.certificates import max_norm
from companion.exceptions import InfeasibleProblemError, UnboundedProblemError

__all__ = [
    "Presolved",
    "diagnose",
    "is_infeasibility_witness",
    "is_unbounded_ray",
    "presolve",
    "row_ranges",
]

_EQUAL = 1e-12  # sums that differ by less than this part of their terms are equal
_DEPENDENT = 1e-11  # a row whose part orthogonal to the others is this small depends on them
_FAINT_SQUARE = 1e-200  # squares above this have all their digits
_UNEVEN = 1e4  # a spread of the diagonal of P from which on the variables are rescaled


@dataclass
class Presolved:
    """A smaller equivalent program and the way back."""

    original: BoxQP
    problem: BoxQP
    columns: np.ndarray | None = None  # variables that are left; None for all
    column_scale: np.ndarray | None = None  # x = column_scale * (the small x)
    rows: np.ndarray | None = None
    row_map: np.ndarray | None = None  # y[rows] = row_map @ (the small y)
    x_fixed: np.ndarray | None = None
    forced: list[tuple[int, float, np.ndarray]] = field(default_factory=list)

    @property
    def trivial(self) -> bool:
        """Whether nothing was changed."""
        return self.problem is self.original

    def shrink(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Translate a point and multipliers of the original program (a warm start)."""
        if self.trivial:
            return x, y
        if self.columns is not None:
            x = x[self.columns]
        if self.column_scale is not None:
            x = x / self.column_scale
        if self.rows is not None:
            y = y[self.rows]
        if self.row_map is not None:
            y = np.linalg.lstsq(self.row_map, y, rcond=None)[0]
        return np.clip(x, self.problem.lower, self.problem.upper), y

    def restore(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Translate a point and multipliers of the small program back."""
        if self.trivial:
            return x, y
        original = self.original
        if self.column_scale is not None:
            x = x * self.column_scale
        if self.columns is not None and self.x_fixed is not None:
            full = self.x_fixed.copy()
            full[self.columns] = x
            x = full
        if self.row_map is not None:
            y = self.row_map @ y
        if self.rows is not None:
            all_y = np.zeros(original.b.size)
            all_y[self.rows] = y
            y = all_y
        if self.forced:
            y = self._multipliers_of_forced_rows(x, y)
        return np.clip(x, original.lower, original.upper), y

    def _multipliers_of_forced_rows(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """A row that forces variables onto bounds gets the multiplier that holds all of them there."""
        original = self.original
        g = original.gradient(x, y)
        for row, side, pushed in reversed(self.forced):
            a = original.A[row, pushed]
            if not a.size:
                continue
            # side = +1: the row is at its largest value. x_j is at its upper bound where a_j > 0 and
            # needs g_j + y a_j <= 0, at its lower where a_j < 0: in both cases y <= -g_j / a_j.
            ratio = -g[pushed] / a
            value = min(0.0, float(ratio.min())) if side > 0 else max(0.0, float(ratio.max()))
            y[row] += value
            g = g + value * original.A[row]
        return y


def _power_of_two(values: np.ndarray) -> np.ndarray:
    """Round to powers of two: scaling by them is exact."""
    return np.exp2(np.round(np.log2(values)))


def row_ranges(
    A: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest value that each row of A takes on the box."""
    if np.isfinite(lower).all() and np.isfinite(upper).all():
        positive, negative = np.maximum(A, 0.0), np.minimum(A, 0.0)
        return positive @ lower + negative @ upper, positive @ upper + negative @ lower
    with np.errstate(invalid="ignore"):
        low = np.where(A > 0, A * lower, np.where(A < 0, A * upper, 0.0)).sum(axis=1)
        high = np.where(A > 0, A * upper, np.where(A < 0, A * lower, 0.0)).sum(axis=1)
    return low, high


def _check_bounds(problem: BoxQP) -> None:
    lower, upper = problem.lower, problem.upper
    wrong = (lower > upper) | (lower == np.inf) | (upper == -np.inf)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InfeasibleProblemError(
            f"no number lies between the bounds of x[{i}]: lower = {lower[i]:g}, "
            f"upper = {upper[i]:g}; lower <= upper is needed"
        )


def presolve(problem: BoxQP, like: Presolved | None = None) -> Presolved:
    """Reduce and scale a quadratic program.

    Parameters
    ----------
    problem : BoxQP
    like : Presolved, optional
        What came out for a program with the same P and A. Where nothing had to be done, the bounds alone are looked at.

    Raises
    ------
    InfeasibleProblemError
        If bounds cross, or a row (or a combination of rows) cannot meet its right-hand side.
    """
    has_room = _has_room(problem)
    if has_room and like is not None and like.trivial:
        return Presolved(problem, problem)
    A, b, lower, upper = problem.A, problem.b, problem.lower, problem.upper
    fixed, x_fixed = np.zeros(problem.q.size, dtype=bool), np.zeros(problem.q.size)
    open_rows = np.ones(b.size, dtype=bool)
    forced: list[tuple[int, float, np.ndarray]] = []
    if not has_room:
        _check_bounds(problem)
        fixed = lower == upper
        x_fixed = np.where(fixed, lower, 0.0)
        open_rows, forced = _force_rows(problem, fixed, x_fixed)
    any_fixed = bool(fixed.any())
    result = Presolved(problem, problem, forced=forced)

    P, q = problem.P, problem.q
    if any_fixed:
        columns = np.flatnonzero(~fixed)
        result.columns, result.x_fixed = columns, x_fixed
        q = (q + problem.product(x_fixed))[columns]
        b = b - A @ x_fixed
        A = A[:, columns]
        P = P[np.ix_(columns, columns)] if isinstance(P, np.ndarray) else P.restricted(columns)
        lower, upper = lower[columns], upper[columns]
    if not open_rows.all():
        result.rows = np.flatnonzero(open_rows)
        A, b = A[open_rows], b[open_rows]

    scale = _evening_scale(P, upper - lower)
    if scale is not None:
        result.column_scale = scale
        P = P * scale * scale[:, None] if isinstance(P, np.ndarray) else P.scaled(scale)
        q, A, lower, upper = q * scale, A * scale, lower / scale, upper / scale

    if b.size:
        A, b = _independent_rows(result, A, b)
    if (
        any_fixed
        or result.rows is not None
        or result.column_scale is not None
        or (result.row_map is not None)
    ):
        result.problem = BoxQP(P, q, np.ascontiguousarray(A), b, lower, upper)
    return result


def _evening_scale(P: np.ndarray | LowRank | RowMatrix, width: np.ndarray) -> np.ndarray | None:
    """Return factors that bring the diagonal of P to one size, or None if it is so already."""
    diagonal = P.diagonal()
    peak = float(diagonal.max(initial=0.0))
    if peak <= _UNEVEN * float(diagonal.min(initial=np.inf)):
        return None
    positive = diagonal > 1e-14 * peak
    positive |= _alone(P, ~positive & (diagonal > 0.0) & np.isinf(width))
    if peak <= 0.0 or peak <= _UNEVEN * diagonal[positive].min():
        return None
    return _power_of_two(1.0 / np.sqrt(np.where(positive, diagonal, peak) / peak))


def _alone(P: np.ndarray | LowRank | RowMatrix, faint: np.ndarray) -> np.ndarray:
    """Return which of these variables have no part in the curvature of others: theirs is no rounding of a sum."""
    alone, j = np.zeros(faint.size, dtype=bool), np.flatnonzero(faint)
    if isinstance(P, np.ndarray):
        alone[j] = np.count_nonzero(P[j], axis=1) == 1
    elif isinstance(P, LowRank):
        alone[j] = ~P.G[j].any(axis=1)
    return alone


def _has_room(problem: BoxQP) -> bool:
    """Return whether the bounds are finite and apart, and each row stays clear of the ends of its range."""
    A, b, lower, upper = problem.A, problem.b, problem.lower, problem.upper
    with np.errstate(over="ignore", invalid="ignore"):
        width = upper - lower
        if not (width.min(initial=np.inf) > 0.0 and max_norm(width) < np.inf):
            return False
        if not b.size:
            return True
        middle, absolute = (lower + upper) / 2.0, problem.absolute_rows
        # The values of a row are within `reach` of its value in the middle.
        reach = absolute @ width / 2.0
        terms = absolute @ np.abs(middle) + reach + np.abs(b)
        return bool((reach - np.abs(b - A @ middle) > _EQUAL * terms).all())


def _force_rows(
    problem: BoxQP, fixed: np.ndarray, x_fixed: np.ndarray
) -> tuple[np.ndarray, list[tuple[int, float, np.ndarray]]]:
    """Test each row against the box; fix the variables of a row that is only just feasible."""
    A, b = problem.A, problem.b
    open_rows = np.ones(b.size, dtype=bool)
    forced: list[tuple[int, float, np.ndarray]] = []
    lower, upper = problem.lower, problem.upper
    changed = True
    while changed and open_rows.any():
        changed = False
        low, high = row_ranges(A, np.where(fixed, x_fixed, lower), np.where(fixed, x_fixed, upper))
        for i in np.flatnonzero(open_rows):
            for side, reach in ((1.0, high[i]), (-1.0, low[i])):
                if not np.isfinite(reach):
                    continue
                at = np.where((A[i] > 0) == (side > 0), upper, lower)
                at = np.where(fixed, x_fixed, at)
                terms = float(np.abs(A[i] * np.where(A[i] == 0.0, 0.0, at)).sum()) + abs(b[i])
                if side * (b[i] - reach) > _EQUAL * terms:
                    if forced or not is_infeasibility_witness(problem, side * _unit(i, b.size)):
                        continue  # leave the proof to the diagnosis
                    word = "at most" if side > 0 else "at least"
                    raise InfeasibleProblemError(
                        f"row {i} of A x = b cannot be met within the bounds: (A x)[{i}] is {word} "
                        f"{reach:g}, but b[{i}] = {b[i]:g}",
                        witness=side * _unit(i, b.size),
                    )
                if side * (reach - b[i]) <= _EQUAL * terms and open_rows[i]:
                    pushed = np.flatnonzero((A[i] != 0.0) & ~fixed)
                    x_fixed[pushed] = at[pushed]
                    fixed[pushed] = True
                    open_rows[i] = False
                    forced.append((int(i), side, pushed))
                    changed = True
            if changed:
                break
    return open_rows, forced


def _unit(i: int | np.integer, size: int) -> np.ndarray:
    e = np.zeros(size)
    e[i] = 1.0
    return e


def _independent_rows(
    result: Presolved, A: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Bring the rows to comparable length and drop those that depend on others."""
    if b.size == 1:
        return A, b  # one row, not zero (that was tested before): its length does not matter
    products = A @ A.T
    squares = products.diagonal()
    if squares.min() > _FAINT_SQUARE and squares.max() <= 256.0 * squares.min():
        norms = np.sqrt(squares)
        factor, info = dpotrf(products / (norms * norms[:, None]), lower=1)
        if info == 0 and factor.diagonal().min() > 0.1:
            return A, b  # clearly independent
    peaks = np.abs(A).max(axis=1)  # first, since squares may underflow
    norms = peaks * np.linalg.norm(A / peaks[:, None], axis=1)
    scale = _power_of_two(1.0 / norms)
    Q, R, order = qr((A * scale[:, None]).T, mode="economic", pivoting=True)
    sizes = np.abs(np.diagonal(R))
    rank = int((sizes > _DEPENDENT * sizes[0]).sum())
    if rank == b.size and sizes[-1] > 1e-2 * sizes[0] and norms.max() <= 16.0 * norms.min():
        return A, b
    rows = result.rows if result.rows is not None else np.arange(b.size)
    kept, dropped = order[:rank], order[rank:]
    R11 = R[:rank, :rank]
    scaled_b = scale * b
    if dropped.size:
        combination = solve_triangular(R11, R[:rank, rank:])  # row_dropped = combination' rows_kept
        expected = combination.T @ scaled_b[kept]
        miss = scaled_b[dropped] - expected
        weights = (
            np.abs(combination.T) + 1e-4
        )  # rounding in a coefficient that should be 0 counts too
        size = np.abs(scaled_b[dropped]) + weights @ np.abs(scaled_b[kept])
        for j in np.argsort(-np.abs(miss)):
            if abs(miss[j]) > 1e-10 * size[j]:
                witness = np.zeros(result.original.b.size)
                sign = np.sign(miss[j])
                witness[rows[dropped[j]]] = sign * scale[dropped[j]]
                witness[rows[kept]] -= sign * combination[:, j] * scale[kept]
                if is_infeasibility_witness(result.original, witness):
                    raise InfeasibleProblemError(
                        f"the equations A x = b contradict each other: row {rows[dropped[j]]} is a "
                        "combination of other rows, but its right-hand side is not",
                        witness=witness,
                    )
    result.rows = rows[kept]
    if sizes[rank - 1] > 1e-2 * sizes[0]:
        result.row_map = np.diag(scale[kept])
        return A[kept] * scale[kept, None], scaled_b[kept]
    # Nearly dependent rows: go on with an orthonormal basis of their span, R11' (Q'x) = b.
    result.row_map = scale[kept, None] * solve_triangular(R11, np.eye(rank))
    return np.ascontiguousarray(Q[:, :rank].T), solve_triangular(R11, scaled_b[kept], trans="T")


def is_infeasibility_witness(problem: BoxQP, y: np.ndarray) -> bool:
    """Whether ``max { y'A x : lower <= x <= upper } < y'b``, with room for rounding."""
    w = y @ problem.A
    w = np.where(np.abs(w) <= 1e-11 * (np.abs(y) @ np.abs(problem.A)), 0.0, w)
    at = np.where(w > 0, problem.upper, problem.lower)
    products = w * np.where(w == 0.0, 0.0, at)
    terms = float(np.abs(y) @ np.abs(problem.b)) + float(np.abs(products).sum())
    return bool(float(y @ problem.b) - float(products.sum()) > 1e-12 * terms)


def is_unbounded_ray(problem: BoxQP, d: np.ndarray) -> bool:
    """Whether ``P d = 0``, ``A d = 0``, ``q'd < 0``, and no finite bound is met along d."""
    size = np.abs(d)
    if not size.any():
        return False
    if ((d < 0) & np.isfinite(problem.lower)).any() or ((d > 0) & np.isfinite(problem.upper)).any():
        return False
    roots = np.sqrt(np.maximum(problem.P.diagonal(), 0.0))
    flat = np.abs(problem.product(d)) <= 1e-9 * roots * float(roots @ size)
    rows = np.abs(problem.A @ d) <= 1e-9 * np.abs(problem.A).sum(axis=1) * size.max()
    descends = float(problem.q @ d) < -1e-8 * float(np.abs(problem.q) @ size)
    return bool(flat.all() and rows.all() and descends)


def diagnose(problem: BoxQP) -> None:
    """Raise an error with a proof if the program is infeasible or unbounded; return otherwise."""
    if problem.b.size:
        y = _find_witness(problem)
        if y is not None:
            raise InfeasibleProblemError(
                "no x within the bounds satisfies A x = b: with y = error.witness, y'A x stays below "
                "y'b for every x within the bounds",
                witness=y,
            )
    d = _find_ray(problem)
    if d is not None:
        raise UnboundedProblemError(
            "the objective decreases without limit: with d = error.ray, P d = 0, A d = 0 and q'd < 0, "
            "and no bound is met along d",
            ray=d,
        )


def _find_witness(problem: BoxQP) -> np.ndarray | None:
    """Minimise the misfit of A x = b on the box; the multipliers of a positive minimum are a proof."""
    norms = np.linalg.norm(problem.A, axis=1)
    scale = 1.0 / np.where(norms > 0.0, norms, 1.0)
    A, b = problem.A * scale[:, None], problem.b * scale
    k, n = A.shape
    eye, cost = np.eye(k), np.concatenate([np.zeros(n), np.ones(2 * k)])
    slack = np.column_stack([np.zeros(2 * k), np.full(2 * k, np.inf)])
    sizes = np.abs(np.concatenate([problem.lower, problem.upper]))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0.0)]
    for unit in (float(np.abs(b).max()), float(sizes.min(initial=np.inf))):
        if not (np.isfinite(unit) and unit > 0.0):
            continue
        bounds = np.vstack([np.column_stack([problem.lower, problem.upper]) / unit, slack])
        answer = linprog(
            cost, A_eq=np.hstack([A, eye, -eye]), b_eq=b / unit, bounds=bounds, method="highs"
        )
        if answer.status == 0:
            y = answer.eqlin.marginals * scale
            if is_infeasibility_witness(problem, y):
                return y
    return None


def _find_ray(problem: BoxQP) -> np.ndarray | None:
    """Minimise q'd over the directions of the feasible set along which P is flat."""
    down, up = np.isinf(problem.lower), np.isinf(problem.upper)
    for j in np.flatnonzero((problem.P.diagonal() == 0.0) & np.where(problem.q < 0.0, up, down)):
        d = -np.sign(problem.q[j]) * _unit(j, problem.q.size)  # however faint the slope
        if d.any() and not problem.A[:, j].any() and is_unbounded_ray(problem, d):
            return d
    movable = np.flatnonzero(down | up)
    if not movable.size or not problem.q[movable].any():
        return None
    scale = np.sqrt(np.maximum(problem.P.diagonal()[movable], 0.0))
    steepest = scale.max() if scale.any() else 1.0
    scale = 1.0 / np.where(scale > 1e-9 * steepest, scale, steepest)
    if isinstance(problem.P, LowRank):
        part = problem.P.restricted(movable)
        flat = np.vstack([part.G.T, np.diag(np.sqrt(part.d))[part.d > 0.0]])
    else:
        values, vectors = np.linalg.eigh(problem.block(movable, movable) * np.outer(scale, scale))
        flat = (vectors[:, values > 1e-11 * values[-1]] / scale[:, None]).T
    rows = np.vstack([flat, problem.A[:, movable]]) * scale
    norms = np.abs(rows).max(axis=1, initial=0.0)
    rows = rows[norms > 0.0] / norms[norms > 0.0, None]
    cost = problem.q[movable] * scale
    cost = cost / np.abs(cost).max()
    bounds = np.column_stack([-1.0 * down[movable], 1.0 * up[movable]])
    answer = linprog(cost, A_eq=rows, b_eq=np.zeros(rows.shape[0]), bounds=bounds, method="highs")
    if answer.status != 0 or answer.fun > -1e-7:
        return None
    d = np.zeros(problem.q.size)
    d[movable] = np.clip(answer.x, bounds[:, 0], bounds[:, 1]) * scale
    return d if is_unbounded_ray(problem, d) else None
