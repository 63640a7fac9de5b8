r"""The exact finish: semismooth Newton on the active set.

At a solution each variable is at its lower bound, at its upper bound, or free. If one knew which, the solution
would be that of a linear system in the free variables. Newton's method guesses the three sets, solves the system,
reads new sets from the signs of its solution, and stops when the sets reproduce themselves.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from companion.admm.kkt import BoxQP, FactoredKKT, factor_kkt
from companion.certificates import max_norm

__all__ = ["active_set_newton", "read_state"]

LOWER, FREE, UPPER = -1, 0, 1

_SIGN_TOLERANCE = 1e-12  # a wrong sign by this part of the largest term is rounding
_EPS = float(np.finfo(float).eps)
_ROUNDING = 8.0 * _EPS  # a residual below this part of its terms is rounding
_REFINEMENTS = 6
_SETTLEMENTS = 4


class ActiveSet(NamedTuple):
    """Which variables are at a bound, and the factored system of the others."""

    state: np.ndarray
    kkt: FactoredKKT


class Answer(NamedTuple):
    """A point, its multipliers, the product of P and the point, and what is known of its active set."""

    x: np.ndarray
    y: np.ndarray
    Px: np.ndarray
    active: ActiveSet | None = None


def read_state(problem: BoxQP, v: np.ndarray) -> np.ndarray:
    """Return -1, 0, 1 where `v` is at or below the lower bound, inside, at or above the upper bound."""
    return (v >= problem.upper).astype(np.int8) - (v <= problem.lower).astype(np.int8)


def active_set_newton(
    problem: BoxQP,
    x: np.ndarray,
    y: np.ndarray,
    state: np.ndarray,
    *,
    ridge: float = 1e-10,
    max_steps: int = 40,
    Px: np.ndarray | None = None,
    kkt: FactoredKKT | None = None,
) -> Answer | None:
    """Solve a box-constrained quadratic program from a good guess of its active set.

    Parameters
    ----------
    problem : BoxQP
    x, y : ndarray
        A point and multipliers near the solution. Where the solution is not unique, the one found is near them.
    state : ndarray of int8
        The guess: -1 at the lower bound, 0 free, 1 at the upper bound.
    ridge : float
        Added to P on the free variables, in units of trace(P)/n; refinement removes its effect. The larger
        it is, the nearer to the given point the solution stays where P is nearly singular.
    max_steps : int
        Number of systems that may be solved.
    Px : ndarray, optional
        The product of P and x, where it is known.
    kkt : FactoredKKT, optional
        The factored system of the free variables, where it is known from a program with the same P and A. With it
        comes the product Px, which is then carried along, by the rows of P for what changes.

    Returns
    -------
    Answer or None
        A point in the box, entries at a bound equal to it, with signs of the gradient that are right up to
        rounding; or None if the sets run in a circle.
    """
    carried = kkt is not None and Px is not None
    moved = _on_bounds(problem, x, state)
    Px = problem.product(moved) if Px is None else Px + problem.product_of_change(moved - x)
    x, yA = moved, y @ problem.A
    g = Px + problem.q + yA
    curvature, slope_of_q = problem.mean_curvature, max_norm(problem.q)
    seen: set[bytes] = set()
    for _ in range(max_steps):
        key = state.tobytes()
        if key in seen:
            return None
        seen.add(key)
        free = (state == FREE).nonzero()[0]
        shift = ridge * curvature
        if shift == 0.0:  # a linear program: any ridge will do that balances the two units
            shift = (max_norm(g) or 1.0) / (max_norm(x) or 1.0)
        weight = max(curvature, shift)
        try:
            kkt = kkt or factor_kkt(problem, shift, free, weight)
        except np.linalg.LinAlgError:
            return None
        step, dy = kkt.solve(-g[free], problem.b - problem.A @ x)
        x[free] += step
        y, change = y + dy, dy @ problem.A
        yA += change
        g += change
        g += kkt.product(problem, step, free)
        forced = state
        if kkt.null is not None:
            y, g, forced = _place_multipliers(problem, kkt.null, x, y, g, state)
            yA = y @ problem.A
        terms = max(max_norm(g), slope_of_q, max_norm(yA))
        if not math.isfinite(terms):
            return None
        new_state = _next_state(problem, x, g, forced, free, terms, curvature)
        changed = (new_state != state).nonzero()[0]
        if changed.size == 0:
            return _settle(problem, ActiveSet(state, kkt), free, x, y, g, shift, weight, carried)
        state = new_state
        _bind(problem, x, g, state, changed)
        kkt = None  # no factor is held beside the next one
    return None


def _on_bounds(problem: BoxQP, x: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Return x with the entries that are not free at their bounds, and the others within them."""
    x = np.minimum(np.maximum(x, problem.lower), problem.upper)
    x = np.where(state == LOWER, problem.lower, x)
    return np.where(state == UPPER, problem.upper, x)


def _bind(
    problem: BoxQP, x: np.ndarray, g: np.ndarray, state: np.ndarray, changed: np.ndarray
) -> None:
    """Move the variables that are newly at a bound there, and the gradient with them, in place."""
    bound = changed[state[changed] != FREE]
    if bound.size:
        target = np.where(state[bound] == LOWER, problem.lower[bound], problem.upper[bound])
        g += problem.product_of_part(target - x[bound], bound)
        x[bound] = target


def _settle(
    problem: BoxQP,
    active: ActiveSet,
    free: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    g: np.ndarray,
    shift: float,
    weight: float,
    carried: bool,
) -> Answer:
    """Refine; bind the variables that rounding leaves outside the box, and refine the others again."""
    state, kkt = active
    for _ in range(_SETTLEMENTS):
        x, y, Px, _ = _refine(problem, kkt, free, x, y, g, carried)
        x_free = x[free]
        inside = (x_free >= problem.lower[free]) & (x_free <= problem.upper[free])
        if inside.all():
            break
        x = np.minimum(np.maximum(x, problem.lower), problem.upper)
        Px, carried = problem.product(x), False
        g = Px + problem.q + y @ problem.A
        state = state.copy()
        state[free[~inside]] = read_state(problem, x)[free[~inside]]
        free = free[inside]
        try:
            kkt = factor_kkt(problem, shift, free, weight)
        except np.linalg.LinAlgError:
            return Answer(x, y, Px)
    return Answer(x, y, Px, ActiveSet(state, kkt))


def _refine(
    problem: BoxQP,
    kkt: FactoredKKT,
    free: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    g: np.ndarray,
    carried: bool,
) -> Answer:
    """Correct x and y while that reduces the residuals, until nothing but rounding is left of them.

    The gradient g comes with the rounding of the steps that led to x; each later one is computed anew, but for the
    first one if it may be carried along.
    """
    q, A, b = problem.q, problem.A, problem.b
    yA, size = y @ A, np.abs(x)
    slope = max(max_norm(q), max_norm(yA))
    # The terms |P_ij x_j| of a product P x are at most roots[i] roots[j] |x_j|.
    rounding_of_product = _EPS * max_norm(problem.roots) * float(problem.roots @ size)
    rounding = max(_ROUNDING * slope, min(rounding_of_product, _SIGN_TOLERANCE * slope))
    rounding_of_rows = _ROUNDING * max(max_norm(problem.absolute_rows @ size), max_norm(b))

    def corrected(
        x: np.ndarray, y: np.ndarray, g: np.ndarray, miss: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        dx, dy = kkt.solve(-g[free], miss)
        x = x.copy()
        x[free] += dx
        return x, y + dy, dx

    Px, miss = g - q - yA, b - A @ x
    if max_norm(g[free]) > rounding or max_norm(miss) > rounding_of_rows:
        x, y, dx = corrected(x, y, g, miss)
        Px = Px + kkt.product(problem, dx, free) if carried else Px
    Px, miss = Px if carried else problem.product(x), b - A @ x
    g = Px + q + y @ A
    dual, primal = max_norm(g[free]), max_norm(miss)
    for _ in range(_REFINEMENTS):
        if dual <= rounding and primal <= rounding_of_rows:
            break
        trial_x, trial_y, _ = corrected(x, y, g, miss)
        trial_Px, trial_miss = problem.product(trial_x), b - A @ trial_x
        trial_g = trial_Px + q + trial_y @ A
        trial_dual, trial_primal = max_norm(trial_g[free]), max_norm(trial_miss)
        if not (trial_dual < dual or trial_primal < primal) or trial_dual > 2 * dual + 1e-300:
            break
        x, y, Px, g, miss = trial_x, trial_y, trial_Px, trial_g, trial_miss
        dual, primal = trial_dual, trial_primal
    return Answer(x, y, Px)


def _next_state(
    problem: BoxQP,
    x: np.ndarray,
    g: np.ndarray,
    state: np.ndarray,
    free: np.ndarray,
    terms: float,
    curvature: float,
) -> np.ndarray:
    """Read the three sets from the signs: multipliers on the bounds, positions of the free variables.

    `free` are the variables that were free in the last system, `terms` is the largest of what the gradient is the
    sum of.
    """
    lower, upper = problem.lower, problem.upper
    new = state.copy()
    small_x = _SIGN_TOLERANCE * max_norm(x)
    x_free = x[free]
    new[free] = (x_free > upper[free] + small_x).view(np.int8) - (
        x_free < lower[free] - small_x
    ).view(np.int8)
    leaving = (state * g > _SIGN_TOLERANCE * terms).nonzero()[0]  # pushed off its bound
    new[leaving] = FREE
    if leaving.size and curvature > 0.0:
        reach = curvature * (upper[leaving] - lower[leaving])
        far = leaving[np.abs(g[leaving]) >= reach]
        new[far] = -state[far]
    return new


def _place_multipliers(
    problem: BoxQP,
    null: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    g: np.ndarray,
    state: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Choose the multipliers that the free variables leave open.

    Along a combination t of rows without free variables, y + theta t is optimal for every theta in an
    interval that the signs at the bounds leave: take its midpoint. If moreover ``t'(A x - b)`` is not
    zero, no point with these sets is feasible: variables switch, those nearest to it first, until the
    sum fits, and the last one becomes free.
    """
    state, absolute = state.copy(), np.abs(problem.A)
    for t in null.T:
        d = t @ problem.A
        active = (state != FREE) & (np.abs(d) > 1e-12 * (np.abs(t) @ absolute).max())
        if not active.any():
            continue
        ratio = np.divide(-g, d, out=np.zeros_like(g), where=active)
        raises = active & (
            (d > 0) == (state == LOWER)
        )  # switching raises t'Ax; asks theta >= ratio
        lowers = active & ~raises
        mismatch = float(t @ (problem.b - problem.A @ x))
        terms = float(np.abs(t) @ (absolute @ np.abs(x) + np.abs(problem.b)))
        if abs(mismatch) > 1e-12 * terms:
            movable = np.flatnonzero(raises if mismatch > 0 else lowers)
            if not movable.size:
                continue
            order = movable[np.argsort(-ratio[movable] if mismatch > 0 else ratio[movable])]
            room = np.cumsum(np.abs(d[order]) * (problem.upper[order] - problem.lower[order]))
            last = min(int(np.searchsorted(room, abs(mismatch))), order.size - 1)
            state[order[:last]] *= -1
            state[order[last]] = FREE
            theta = ratio[order[last]]
        else:
            low = float(ratio[raises].max(initial=-np.inf))
            high = float(ratio[lowers].min(initial=np.inf))
            if np.isinf(low) or np.isinf(high):
                theta = min(max(0.0, low), high)
            else:
                theta = (low + high) / 2.0
        y = y + theta * t
        g = g + theta * d
    return y, g, state
