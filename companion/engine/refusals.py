"""Why a quadratic program has no solution: a vector that proves it, tested without rounding."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from companion.arithmetic import EPS, apart, exact_product, linear_program
from companion.engine.certificate import BoxProgram
from companion.exceptions import InfeasibleProblemError, UnboundedProblemError

_CLEARLY = 1e-9  # part of its terms by which a sum has to differ from 0 where no vector is exact


def check_bounds(lower: np.ndarray, upper: np.ndarray) -> None:
    """Raise an error if no number lies between the bounds of a variable."""
    empty = (lower > upper) | (lower == np.inf) | (upper == -np.inf)
    if empty.any():
        i = int(np.argmax(empty))
        low, high = apart(float(lower[i]), float(upper[i]), -1.0)
        raise InfeasibleProblemError(
            f"no number lies between the bounds of x[{i}]: lower = {low}, upper = {high}; "
            "lower <= upper is needed"
        )


def refuse(program: BoxProgram) -> None:
    """Raise an error if the program is infeasible or unbounded; return if there is no proof of that.

    Raises
    ------
    InfeasibleProblemError
        Its witness y has ``max { y'A x : lower <= x <= upper } < y'b`` in exact arithmetic. It is None where y'A x has
        no finite maximum because y'A misses 0 by rounding.
    UnboundedProblemError
        Its ray d has ``P d = 0, A d = 0, q'd < 0`` to rounding, and meets no bound.
    """
    A = program.A
    if program.b.size:
        _refuse_row(program)
        y = _find_witness(program)
        if y is not None:
            exact = next((v for v in _simple(y) if _is_witness(program, v)), None)
            reason = "no x within the bounds satisfies A x = b"
            if exact is not None:
                if not exact_product(A.T, exact).any():
                    reason = "the equations A x = b contradict each other"
                reason += "; with y = error.witness, y'A x is below y'b for every x in the bounds"
            raise InfeasibleProblemError(reason, witness=exact)
    d = _find_ray(program)
    if d is not None:
        raise UnboundedProblemError(
            "the objective decreases without limit: with d = error.ray, P d = 0, A d = 0 and q'd < 0, "
            "and no bound is met along d",
            ray=d,
        )


def _refuse_row(program: BoxProgram) -> None:
    """Raise an error for a row that is out of reach by itself."""
    _, _, A, b, lower, upper = program
    with np.errstate(invalid="ignore"):
        ends = np.where(A != 0.0, A * lower, 0.0), np.where(A != 0.0, A * upper, 0.0)
    least, most = np.minimum(*ends).sum(axis=1), np.maximum(*ends).sum(axis=1)
    for i in np.flatnonzero((b < least) | (b > most)):
        sign = 1.0 if b[i] > most[i] else -1.0
        witness = sign * (np.arange(b.size) == i)
        end = most[i] if sign > 0 else least[i]
        clear = abs(b[i] - end) > _CLEARLY * max(abs(end), abs(b[i]))
        if clear and _is_witness(program, witness):
            word = "at most" if sign > 0 else "at least"
            right, most_of_all = apart(b[i], end, -sign)
            raise InfeasibleProblemError(
                f"row {i} of A x = b cannot be met within the bounds: (A x)[{i}] is {word} {most_of_all}, "
                f"but b[{i}] = {right}",
                witness=witness,
            )


def _find_witness(program: BoxProgram) -> np.ndarray | None:
    """Minimise the misfit of A x = b on the box; the multipliers of a clearly positive minimum."""
    _, _, A, b, lower, upper = program
    peak = np.abs(A).max(axis=1, initial=0.0)
    scale = 1.0 / np.where(peak > 0.0, peak, 1.0)
    p, n = A.shape
    unit = float(np.abs(scale * b).max()) or 1.0
    rows = np.hstack([A * scale[:, None], np.eye(p), -np.eye(p)])
    slack = np.column_stack([np.zeros(2 * p), np.full(2 * p, np.inf)])
    bounds = np.vstack([np.column_stack([lower, upper]) / unit, slack])
    cost = np.concatenate([np.zeros(n), np.ones(2 * p)])
    answer = linear_program(cost, A_eq=rows, b_eq=scale * b / unit, bounds=bounds)
    if answer.status != 0:
        return None
    y = answer.eqlin.marginals * scale
    w = y @ A
    w = np.where(np.abs(w) <= _CLEARLY * (np.abs(y) @ np.abs(A)), 0.0, w)
    most = np.where(w == 0.0, 0.0, w * np.where(w > 0.0, upper, np.where(w < 0.0, lower, 0.0)))
    terms = float(np.abs(y) @ np.abs(b)) + float(np.abs(most).sum())
    return y if float(y @ b) - float(most.sum()) > _CLEARLY * terms else None


def _simple(y: np.ndarray) -> Iterator[np.ndarray]:
    """Yield y, and near it the multiples of simple units, for which sums can vanish without rounding."""
    yield y
    size = np.abs(y[y != 0.0])
    for unit in (float(size.min()), float(size.max())):
        for k in (1.0, 12.0, 2.0**10, 2.0**20):
            v = np.round(k * y / unit)
            if np.isfinite(v).all() and v.any():
                yield v


def _is_witness(program: BoxProgram, y: np.ndarray) -> bool:
    """Return whether ``max { y'A x : lower <= x <= upper } < y'b``, by more than rounding may hide."""
    w = exact_product(program.A.T, y)
    used, ends = w != 0.0, np.where(w > 0.0, program.upper, program.lower)
    most, value = w[used] * ends[used], float(exact_product(program.b[None], y)[0])
    return math.fsum((value, *-most)) > 2.0 * EPS * (float(np.abs(most).sum()) + abs(value))


def _find_ray(program: BoxProgram) -> np.ndarray | None:
    """Minimise q'd over the directions of the feasible set along which P is flat."""
    P, q, A, _, lower, upper = program
    down, up = np.isinf(lower), np.isinf(upper)
    movable = np.flatnonzero(down | up)
    if not q[movable].any():
        return None
    diagonal = np.maximum(P.diagonal(), 0.0)[movable]
    unit = np.where(diagonal > 0.0, np.sqrt(diagonal), 1.0)
    if isinstance(P, np.ndarray):
        values, vectors = np.linalg.eigh(P[np.ix_(movable, movable)] / np.outer(unit, unit))
        flat = vectors[:, values > 1e-11 * max(values[-1], 0.0)].T
    else:
        flat = np.vstack([P.G[movable].T, np.diag(np.sqrt(P.d[movable]))]) / unit
    rows = np.vstack([flat, A[:, movable] / unit])
    norms = np.abs(rows).max(axis=1, initial=0.0)
    rows = rows[norms > 0.0] / norms[norms > 0.0, None]
    cost = q[movable] / unit
    peak = np.abs(rows).max(axis=0, initial=0.0)
    column = 1.0 / np.where(peak > 0.0, peak, 1.0)
    cost = cost * column / np.abs(cost * column).max()
    bounds = np.column_stack([-1.0 * down[movable], 1.0 * up[movable]])
    answer = linear_program(cost, A_eq=rows * column, b_eq=np.zeros(len(rows)), bounds=bounds)
    if answer.status != 0 or answer.fun > -1e-7:
        return None
    d = np.zeros(q.size)
    d[movable] = np.clip(answer.x, bounds[:, 0], bounds[:, 1]) * column / unit
    for rough in (4.0 * EPS, _CLEARLY):
        for v in _simple(d):
            if _is_ray(program, v, rough):
                return v
    return None


def _is_ray(program: BoxProgram, d: np.ndarray, rough: float) -> bool:
    """Return whether ``P d = 0``, ``A d = 0`` and ``q'd < 0``, to a part of their terms."""
    P, q, A = program[:3]
    size, roots = np.abs(d), np.sqrt(np.maximum(P.diagonal(), 0.0))
    flat = np.abs(P @ d) <= rough * roots * float(roots @ size)
    level = np.abs(A @ d) <= rough * (np.abs(A) @ size)
    return bool(flat.all() and level.all() and float(q @ d) < -rough * float(np.abs(q) @ size))
