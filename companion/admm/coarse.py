r"""From coarse to fine: most variables of a large program are at a bound, and a quarter of them tells which.

First every fourth variable is kept, and stands for four equal ones. The gradient at this coarse solution says for
each variable of the fine program how firmly it is held at a bound. That is enough for Newton's method to start from.
Where P is too large for that, only the undecided variables are solved for, exactly, with the others fixed. Fixed
variables whose gradient has the wrong sign join them, until there are none.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from companion.admm.active_set import FREE, LOWER, UPPER, Answer, read_state
from companion.admm.kkt import BoxQP
from companion.admm.presolve import row_ranges

__all__ = ["Pair", "SolveFrom", "coarse_to_fine", "representatives", "solve_for_undecided"]

Pair = tuple[np.ndarray, np.ndarray]  # x and y
SolveFrom = Callable[[BoxQP, np.ndarray, np.ndarray, np.ndarray], Pair | None]

_FREE_SHARE = 0.5  # guess of the share of free variables, in units of the coarse solution's
_UNDECIDED = 3.0  # undecided variables for each one that is guessed to be free, at first ...
_MARGIN = 1.5  # ... and later
_AT_LEAST = 50  # undecided variables
_ROOM = 0.05  # part of what the undecided variables can add up to that must be left on both sides
_ROUNDS = 20
_WRONG_SIGN = 1e-11  # a wrong sign by this part of the gradient's terms is rounding
_ROWS_SEEN = 8  # rows of A whose signs tell variables apart
_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


def representatives(A: np.ndarray) -> np.ndarray:
    """Return a quarter of the indices: one of any four neighbours with the same signs in A.

    Which one of the four changes irregularly, so that a period in the data does no harm.
    """
    signs = np.sign(A[:_ROWS_SEEN])
    kinds = 3.0 ** np.arange(len(signs)) @ signs  # one number for each pattern of signs
    chosen = []
    for kind in np.unique(kinds):
        alike = np.flatnonzero(kinds == kind)
        groups = np.arange(-(-alike.size // 4))
        places = 4 * groups + np.floor(4.0 * ((groups * _GOLDEN) % 1.0)).astype(int)
        chosen.append(alike[np.minimum(places, alike.size - 1)])
    return np.sort(np.concatenate(chosen))


def coarse_to_fine(
    fine: BoxQP,
    solve: Callable[[BoxQP], Pair | None],
    newton: Callable[[BoxQP, np.ndarray, np.ndarray, np.ndarray], Answer | None],
    solve_from: SolveFrom,
) -> Answer | Pair | None:
    """Solve a program with finite bounds by way of a coarse one.

    Parameters
    ----------
    fine : BoxQP
        With a dense P, or one whose rows are computed when needed.
    solve, newton, solve_from : callable
        Solve a program; the last two from a point, multipliers and a guess of the active set, by Newton's method
        alone and by whatever is needed. They return None when that fails.

    Returns
    -------
    (x, y) or Answer or None
        A point and multipliers; None if one of the smaller programs was not solved.
    """
    few = representatives(fine.A)
    coarse = BoxQP(
        fine.part(few),
        fine.q[few] / 4.0,
        np.ascontiguousarray(fine.A[:, few]),
        fine.b / 4.0,
        fine.lower[few],
        fine.upper[few],
    )
    answer = solve(coarse)
    if answer is None:
        return None
    x, y = answer[0], 4.0 * answer[1]
    spread = np.zeros(fine.q.size)
    spread[few] = 4.0 * x
    inside = float(np.mean((x > coarse.lower) & (x < coarse.upper)))
    g = fine.gradient(spread, y)
    order = np.argsort(np.abs(g))
    state = np.where(g > 0.0, LOWER, UPPER).astype(np.int8)
    free = order[: max(int(_FREE_SHARE * inside * g.size), 1)]
    state[free] = FREE
    x = np.where(state == UPPER, fine.upper, fine.lower)
    if isinstance(fine.P, np.ndarray):
        exact = newton(fine, x, y, state)
        if exact is not None:
            return exact
    W = _enough(fine, x, order, int(_UNDECIDED * free.size))
    return _rounds(fine, W, order, x, y, state, solve_from)


def solve_for_undecided(
    fine: BoxQP, x: np.ndarray, y: np.ndarray, state: np.ndarray, solve_from: SolveFrom
) -> Pair | None:
    """Solve a program from a good guess of its active set, for the variables alone whose state is in doubt."""
    x = np.where(state == LOWER, fine.lower, np.where(state == UPPER, fine.upper, x))
    order = _by_doubt(fine.gradient(x, y), state)
    W = _enough(fine, x, order, int(_MARGIN * (state == FREE).sum()))
    return _rounds(fine, W, order, x, y, state, solve_from)


def _by_doubt(g: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Return the free variables first, then the others, those with a small gradient first."""
    return np.argsort(np.where(state == FREE, 0.0, np.abs(g)))


def _rounds(
    fine: BoxQP,
    W: np.ndarray,
    order: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    state: np.ndarray,
    solve_from: SolveFrom,
) -> Pair | None:
    """Solve for the variables W alone; let in the wrongly fixed ones, until there are none.

    The objective decreases from round to round, so no set W comes back.
    """
    x, y, state = x.copy(), y.copy(), state.copy()
    x[W] = 0.0  # so that no row of P is computed for them before the solution is known
    g = fine.gradient(x, y)
    for _ in range(_ROUNDS):
        answer = solve_from(_restricted(fine, W, x, y, g), x[W], y, state[W])
        if answer is None:
            if 2 * W.size > order.size:
                return None
            W = np.sort(order[: 2 * W.size])
            continue
        x[W], y = answer
        g = fine.gradient(x, y)
        state = read_state(fine, x)
        wrong = _wrongly_fixed(fine, W, x, y, g)
        if not wrong.size:
            return x, y
        state[wrong] = FREE
        order = _by_doubt(g, state)
        W = np.sort(order[: max(int(_MARGIN * (state == FREE).sum()), _AT_LEAST)])
    return None


def _restricted(fine: BoxQP, W: np.ndarray, x: np.ndarray, y: np.ndarray, g: np.ndarray) -> BoxQP:
    """Return the program in the variables W, with the others fixed at x; g is the gradient at (x, y)."""
    P, A = fine.block(W, W), np.ascontiguousarray(fine.A[:, W])
    q = g[W] - y @ A - P @ x[W]
    b = fine.b - (fine.A @ x - A @ x[W])
    return BoxQP(P, q, A, b, fine.lower[W], fine.upper[W])


def _enough(fine: BoxQP, x: np.ndarray, order: np.ndarray, count: int) -> np.ndarray:
    """Return the first indices in `order`: `count`, or more if the equations leave these no choice."""
    while True:
        W = np.sort(order[: max(count, _AT_LEAST)])
        A = fine.A[:, W]
        b = fine.b - (fine.A @ x - A @ x[W])
        low, high = row_ranges(A, fine.lower[W], fine.upper[W])
        room = _ROOM * (high - low)
        if W.size == order.size or ((low + room < b) & (b < high - room)).all():
            return W
        count = 2 * W.size


def _wrongly_fixed(
    fine: BoxQP, W: np.ndarray, x: np.ndarray, y: np.ndarray, g: np.ndarray
) -> np.ndarray:
    """Return the variables outside W that the gradient pushes off their bound."""
    terms = max(float(np.abs(v).max(initial=0.0)) for v in (g, fine.q, y @ fine.A))
    push = np.where(x <= fine.lower, -g, g)
    push[W] = 0.0
    return np.flatnonzero(push > _WRONG_SIGN * terms)
