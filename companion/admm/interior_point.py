r"""A primal-dual interior-point method (Mehrotra's predictor-corrector) for box-constrained quadratic programs.

With slacks :math:`s_\ell = x - \ell`, :math:`s_u = u - x`, each step solves one KKT system whose leading block is
:math:`P + \operatorname{diag}(z_\ell / s_\ell + z_u / s_u)`. With ``P = G G'`` of rank r and p equality rows, the work
per step is that of an r x r and a p x p matrix, whatever the number of variables: this is the method of choice for
linear kernels, and the fallback wherever active sets run in a circle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from companion.admm.kkt import BoxQP, factor_kkt

__all__ = ["Iterate", "interior_point"]

_STEP_TO_BOUNDARY = 0.995
_REGULARISATION = 1e-12
_REFINED = 1e-2  # error from which on linear systems are refined


@dataclass(frozen=True, eq=False)
class Iterate:
    """One point of the central path's neighbourhood."""

    x: np.ndarray
    y: np.ndarray
    primal_residual: float
    dual_residual: float
    error: float
    guess: Callable[[], np.ndarray]

    @property
    def state(self) -> np.ndarray:
        """The active set that the point suggests.

        A slack that is small beside its multiplier, relative to the typical sizes of slacks and multipliers, is an
        active bound.
        """
        return self.guess()


def _norm(vector: np.ndarray) -> float:
    return float(np.abs(vector).max()) if vector.size else 0.0


def _start(problem: BoxQP) -> tuple[np.ndarray, float, float]:
    """Return a point well inside the box, and typical sizes of a slack and of a multiplier."""
    lower, upper, A, b = problem.lower, problem.upper, problem.A, problem.b
    steepest = float(problem.P.diagonal().max(initial=0.0))
    x = np.linalg.lstsq(A, b, rcond=None)[0] if b.size else np.zeros(problem.q.size)
    width = upper - lower
    typical = _norm(x)
    if steepest > 0.0:
        typical = max(typical, _norm(problem.q) / steepest)
    if typical == 0.0:
        finite = width[np.isfinite(width)]
        typical = float(np.median(finite)) if finite.size else 1.0
    margin = np.minimum(typical, width / 2.0)
    x = np.clip(x, lower + margin, upper - margin)
    force = max(_norm(problem.product(x) + problem.q), steepest * typical * 1e-3)
    return x, typical, force if force > 0.0 else 1.0


def _room(value: np.ndarray, change: np.ndarray) -> float:
    """Return the largest step in [0, 1] that keeps ``value + step * change`` nonnegative."""
    if not value.size:
        return 1.0
    return min(1.0, 1.0 / max(float((-change / value).max()), 1e-300))


def interior_point(problem: BoxQP, *, max_iter: int = 100) -> Iterator[Iterate]:
    """Yield the iterates of Mehrotra's method; stop when no progress is made.

    Parameters
    ----------
    problem : BoxQP
        With ``lower < upper`` in every entry; infinite bounds are allowed.
    max_iter : int
        Largest number of iterates.

    Notes
    -----
    The finite bounds are kept in one list, lower ones first: slacks ``s = E x + constant`` and multipliers
    ``z``, where E selects ``x_i`` for a lower bound and ``-x_i`` for an upper one.
    """
    q, A, b, lower, upper = problem.q, problem.A, problem.b, problem.lower, problem.upper
    has_lower, has_upper = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
    split, pairs = has_lower.size, has_lower.size + has_upper.size
    boxed = pairs == 2 * q.size

    def select(x: np.ndarray) -> np.ndarray:
        """E x."""
        return np.concatenate([x, -x] if boxed else [x[has_lower], -x[has_upper]])

    def spread(w: np.ndarray, sign: float = -1.0) -> np.ndarray:
        """E'w; with ``sign=1``, the sum of both bounds' entries."""
        if boxed:
            return w[:split] + sign * w[split:]
        out = np.zeros(q.size)
        out[has_lower] = w[:split]
        out[has_upper] += sign * w[split:]
        return out

    x, typical, force = _start(problem)
    y = np.zeros(b.size)
    s = np.concatenate([(x - lower)[has_lower], (upper - x)[has_upper]])
    z = np.full(pairs, force)
    steepest = float(problem.P.diagonal().max(initial=0.0))
    ridge = _REGULARISATION * max(steepest, force / typical)
    absA = np.abs(A)
    best, least, stalled = np.inf, np.inf, 0

    for _ in range(max_iter):
        Px, Aty = problem.product(x), y @ A
        r_dual = Px + q + Aty - spread(z)
        r_primal = A @ x - b
        sz = s * z
        total = float(sz.sum())

        slope = max(_norm(Px), _norm(q), _norm(Aty), 1e-300)
        value = max(abs(float(x @ Px)), abs(float(q @ x)), abs(float(b @ y)), 1e-300)
        if not q.any():  # the optimal value may be 0
            slope, value = (
                max(slope, 1e-6 * steepest * _norm(x)),
                max(value, 1e-6 * steepest * float(x @ x)),
            )
        row_scale = float(np.maximum(absA @ np.abs(x), np.abs(b)).max(initial=0.0)) or 1.0
        primal, dual = _norm(r_primal) / row_scale, _norm(r_dual) / slope
        error = max(primal, dual, min(total / value, 1.0))
        if not np.isfinite(error):
            return
        inside = np.minimum(np.maximum(x, lower), upper)
        guess = partial(_guess, s, z, typical / force, spread)
        yield Iterate(inside, y, primal, dual, error, guess)
        stalled = 0 if error < 0.9 * best or total < 0.9 * least else stalled + 1
        best, least = min(best, error), min(least, total)
        if stalled >= 15 or best < 1e-15:
            return

        curvature = spread(z / s, 1.0)
        kkt = None
        for boost in (1.0, 1e2, 1e4, 1e6):
            try:
                kkt = factor_kkt(problem, curvature + boost * ridge, independent=True)
                break
            except np.linalg.LinAlgError:
                continue
        if kkt is None:
            return

        # Predictor: aim at s z = 0. It shows how far one can go, hence which mu to aim at.
        dx, dy = kkt.solve(-r_dual - spread(z), -r_primal)
        change = -sz
        if pairs:
            ds = select(dx)
            dz = -z - z / s * ds
            step = min(_room(s, ds), _room(z, dz))
            ahead = max(float((s + step * ds) @ (z + step * dz)), 0.0)
            change = (ahead / total) ** 3 * total / pairs - sz - ds * dz if total > 0.0 else change
        # Corrector: aim at s z = mu, with the second-order term; near the end, one refinement of the linear system.
        rhs = spread(change / s) - r_dual
        dx, dy = kkt.solve(rhs, -r_primal)
        if error < _REFINED:
            left = rhs - (problem.product(dx) + curvature * dx + dy @ A)
            ddx, ddy = kkt.solve(left, -r_primal - A @ dx)
            dx, dy = dx + ddx, dy + ddy
        ds = select(dx)
        dz = (change - z * ds) / s
        step = min(_room(s, ds), _room(z, dz))
        if pairs:
            step = min(1.0, _STEP_TO_BOUNDARY * step)
        x, y, s, z = x + step * dx, y + step * dy, s + step * ds, z + step * dz


def _guess(
    s: np.ndarray, z: np.ndarray, unit: float, spread: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Read an active set: bounds whose slack is small beside the multiplier, in typical units."""
    active = np.where(s < unit * z, 1.0 / np.maximum(s, 1e-300), 0.0)
    return -np.sign(spread(active)).astype(np.int8)
