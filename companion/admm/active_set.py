r"""The exact finish: semismooth Newton on the active set.

At a solution each variable is at its lower bound, at its upper bound, or free. If one knew which, the solution
would be that of a linear system in the free variables. Newton's method guesses the three sets, solves the system,
reads new sets from the signs of its solution, and stops when the sets reproduce themselves.
"""

from __future__ import annotations

import numpy as np

from companion.admm.kkt import BoxQP, FactoredKKT, factor_kkt

__all__ = ["active_set_newton", "read_state"]

LOWER, FREE, UPPER = -1, 0, 1

_SIGN_TOLERANCE = 1e-12  # a wrong sign by this part of the largest term is rounding
_REFINEMENTS = 6
_SETTLEMENTS = 4


def read_state(problem: BoxQP, v: np.ndarray) -> np.ndarray:
    """Return -1, 0, 1 where `v` is at or below the lower bound, inside, at or above the upper bound."""
    return (v >= problem.upper).astype(np.int8) - (v <= problem.lower).astype(np.int8)


def _norm(vector: np.ndarray) -> float:
    return float(np.abs(vector).max(initial=0.0))


def active_set_newton(
    problem: BoxQP,
    x: np.ndarray,
    y: np.ndarray,
    state: np.ndarray,
    *,
    ridge: float = 1e-10,
    max_steps: int = 40,
) -> tuple[np.ndarray, np.ndarray] | None:
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

    Returns
    -------
    (x, y) or None
        A point in the box, entries at a bound equal to it, with signs of the gradient that are right up to
        rounding; or None if the sets run in a circle.
    """
    x, y, state = x.copy(), y.copy(), state.copy()
    curvature = problem.mean_curvature()
    relative_ridge = ridge
    seen: set[bytes] = set()
    for _ in range(max_steps):
        key = state.tobytes()
        if key in seen:
            return None
        seen.add(key)
        x = np.where(state == LOWER, problem.lower, np.where(state == UPPER, problem.upper, x))
        free = np.flatnonzero(state == FREE)
        g = problem.gradient(x, y)
        ridge = relative_ridge * curvature
        if ridge == 0.0:  # a linear program: any ridge will do that balances the two units
            ridge = (_norm(g) or 1.0) / (_norm(x) or 1.0)
        weight = max(curvature, ridge)
        try:
            kkt = factor_kkt(problem, ridge, free, weight)
        except np.linalg.LinAlgError:
            return None
        x, y, g = _correct(problem, kkt, free, x, y, g)
        if not (np.isfinite(x).all() and np.isfinite(g).all()):
            return None
        forced = state
        if kkt.null is not None:
            y, g, forced = _place_multipliers(problem, kkt.null, x, y, g, state)
        new_state = _next_state(problem, x, y, g, forced, curvature)
        if np.array_equal(new_state, state):
            return _settle(problem, kkt, free, x, y, g, ridge, weight)
        state = new_state
        x = np.clip(x, problem.lower, problem.upper)
    return None


def _correct(
    problem: BoxQP, kkt: FactoredKKT, free: np.ndarray, x: np.ndarray, y: np.ndarray, g: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add the solution of the KKT system for the present residuals."""
    dx, dy = kkt.solve(-g[free], problem.b - problem.A @ x)
    x = x.copy()
    x[free] += dx
    y = y + dy
    return x, y, problem.gradient(x, y)


def _settle(
    problem: BoxQP,
    kkt: FactoredKKT,
    free: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    g: np.ndarray,
    ridge: float,
    weight: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Refine; bind the variables that rounding leaves outside the box, and refine the others again."""
    for _ in range(_SETTLEMENTS):
        x, y = _refine(problem, kkt, free, x, y, g)
        inside = (x[free] >= problem.lower[free]) & (x[free] <= problem.upper[free])
        x = np.clip(x, problem.lower, problem.upper)
        if inside.all():
            break
        free = free[inside]
        try:
            kkt = factor_kkt(problem, ridge, free, weight)
        except np.linalg.LinAlgError:
            break
        g = problem.gradient(x, y)
    return x, y


def _refine(
    problem: BoxQP, kkt: FactoredKKT, free: np.ndarray, x: np.ndarray, y: np.ndarray, g: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Repeat the correction while it reduces the residual."""

    def residual(x: np.ndarray, g: np.ndarray) -> tuple[float, float]:
        return _norm(g[free]), _norm(problem.b - problem.A @ x)

    now = residual(x, g)
    for _ in range(_REFINEMENTS):
        trial = _correct(problem, kkt, free, x, y, g)
        then = residual(trial[0], trial[2])
        if not (then[0] < now[0] or then[1] < now[1]) or then[0] > 2 * now[0] + 1e-300:
            break
        (x, y, g), now = trial, then
    return x, y


def _next_state(
    problem: BoxQP,
    x: np.ndarray,
    y: np.ndarray,
    g: np.ndarray,
    state: np.ndarray,
    curvature: float,
) -> np.ndarray:
    """Read the three sets from the signs: multipliers on the bounds, positions of the free variables."""
    small_g = _SIGN_TOLERANCE * max(_norm(g), _norm(problem.q), _norm(y @ problem.A))
    small_x = _SIGN_TOLERANCE * _norm(x)
    new = state.copy()
    free = state == FREE
    new[free & (x < problem.lower - small_x)] = LOWER
    new[free & (x > problem.upper + small_x)] = UPPER
    leaves_lower = (state == LOWER) & (g < -small_g)
    leaves_upper = (state == UPPER) & (g > small_g)
    new[leaves_lower | leaves_upper] = FREE
    if curvature > 0.0:
        far = np.abs(g) >= curvature * (problem.upper - problem.lower)
        new[leaves_lower & far] = UPPER
        new[leaves_upper & far] = LOWER
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
    state = state.copy()
    for t in null.T:
        d = t @ problem.A
        active = (state != FREE) & (np.abs(d) > 1e-12 * (np.abs(t) @ np.abs(problem.A)).max())
        if not active.any():
            continue
        ratio = np.divide(-g, d, out=np.zeros_like(g), where=active)
        raises = active & (
            (d > 0) == (state == LOWER)
        )  # switching raises t'Ax; asks theta >= ratio
        lowers = active & ~raises
        mismatch = float(t @ (problem.b - problem.A @ x))
        terms = float(np.abs(t) @ (np.abs(problem.A) @ np.abs(x) + np.abs(problem.b)))
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
