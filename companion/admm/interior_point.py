r"""A primal-dual interior-point method (Mehrotra's predictor-corrector) for box-constrained quadratic programs.

With slacks :math:`s_\ell = x - \ell`, :math:`s_u = u - x`, each step solves one KKT system whose leading block is
:math:`P + \operatorname{diag}(z_\ell / s_\ell + z_u / s_u)`. With ``P = G G'`` of rank r and p equality rows, the work
per step is that of an r x r and a p x p matrix, whatever the number of variables: this is the method of choice for
linear kernels, and the fallback wherever active sets run in a circle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from companion.admm.kkt import BoxQP, factor_kkt

__all__ = ["Iterate", "interior_point"]

_STEP_TO_BOUNDARY = 0.995
_REGULARISATION = 1e-12


@dataclass(frozen=True, eq=False)
class Iterate:
    """One point of the central path's neighbourhood.

    ``state`` is the active set that it suggests: a slack that is small beside its multiplier, relative to
    the typical sizes of slacks and multipliers, is an active bound.
    """

    x: np.ndarray
    y: np.ndarray
    state: np.ndarray
    primal_residual: float
    dual_residual: float
    error: float


def _norm(vector: np.ndarray) -> float:
    return float(np.abs(vector).max(initial=0.0))


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


def interior_point(problem: BoxQP, *, max_iter: int = 100) -> Iterator[Iterate]:
    """Yield the iterates of Mehrotra's method; stop when no progress is made.

    Parameters
    ----------
    problem : BoxQP
        With ``lower < upper`` in every entry; infinite bounds are allowed.
    max_iter : int
        Largest number of iterates.
    """
    q, A, b, lower, upper = problem.q, problem.A, problem.b, problem.lower, problem.upper
    has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)
    pairs = int(has_lower.sum() + has_upper.sum())
    x, typical, force = _start(problem)
    s_l, s_u = np.where(has_lower, x - lower, 1.0), np.where(has_upper, upper - x, 1.0)
    z_l, z_u = np.where(has_lower, force, 0.0), np.where(has_upper, force, 0.0)
    y = np.zeros(b.size)
    ridge = _REGULARISATION * max(float(problem.P.diagonal().max(initial=0.0)), force / typical)
    absA = np.abs(A)
    best, stalled = np.inf, 0

    for _ in range(max_iter):
        Px, Aty = problem.product(x), y @ A
        r_dual = Px + q + Aty - z_l + z_u
        r_primal = A @ x - b
        mu = float(s_l @ z_l + s_u @ z_u) / max(pairs, 1)

        slope = max(_norm(Px), _norm(q), _norm(Aty), 1e-300)
        value = max(abs(float(x @ Px)), abs(float(q @ x)), abs(float(b @ y)), 1e-300)
        row_scale = float(np.maximum(absA @ np.abs(x), np.abs(b)).max(initial=0.0)) or 1.0
        primal, dual = _norm(r_primal) / row_scale, _norm(r_dual) / slope
        error = max(primal, dual, min(pairs * mu / value, 1.0))
        if not np.isfinite(error):
            return
        active_lower = has_lower & (s_l * force < z_l * typical)
        active_upper = has_upper & (s_u * force < z_u * typical)
        both = active_lower & active_upper
        active_lower &= ~both | (s_l <= s_u)
        active_upper &= ~both | (s_l > s_u)
        state = active_upper.astype(np.int8) - active_lower.astype(np.int8)
        yield Iterate(np.clip(x, lower, upper), y, state, primal, dual, error)
        stalled = 0 if error < 0.9 * best else stalled + 1
        best = min(best, error)
        if stalled >= 15 or best < 1e-15:
            return

        curvature = z_l / s_l + z_u / s_u
        kkt = None
        for boost in (1.0, 1e2, 1e4, 1e6):
            try:
                kkt = factor_kkt(problem, curvature + boost * ridge)
                break
            except np.linalg.LinAlgError:
                continue
        if kkt is None:
            return

        def direction(c_l: np.ndarray, c_u: np.ndarray) -> tuple[np.ndarray, ...]:
            """Newton step towards s_l z_l = s_l z_l + c_l (and u), both residuals zero."""
            rhs = -r_dual + c_l / s_l - c_u / s_u
            dx, dy = kkt.solve(rhs, -r_primal)
            left = rhs - (problem.product(dx) + curvature * dx + dy @ A)
            ddx, ddy = kkt.solve(left, -r_primal - A @ dx)
            dx, dy = dx + ddx, dy + ddy
            return dx, dy, (c_l - z_l * dx) / s_l, (c_u + z_u * dx) / s_u

        def longest(dx: np.ndarray, dz_l: np.ndarray, dz_u: np.ndarray) -> float:
            """Largest step in [0, 1] that keeps slacks and multipliers nonnegative."""
            step = 1.0
            for value, change, mask in (
                (s_l, dx, has_lower),
                (s_u, -dx, has_upper),
                (z_l, dz_l, has_lower),
                (z_u, dz_u, has_upper),
            ):
                falling = mask & (change < 0.0)
                if falling.any():
                    step = min(step, float((-value[falling] / change[falling]).min()))
            return step

        dx, dy, dz_l, dz_u = direction(-s_l * z_l, -s_u * z_u)
        if pairs:
            step = longest(dx, dz_l, dz_u)
            ahead = float(
                ((s_l + step * dx) * (z_l + step * dz_l))[has_lower].sum()
                + ((s_u - step * dx) * (z_u + step * dz_u))[has_upper].sum()
            )
            target = (max(ahead, 0.0) / (pairs * mu)) ** 3 * mu if mu > 0.0 else 0.0
            dx, dy, dz_l, dz_u = direction(
                np.where(has_lower, target - s_l * z_l - dx * dz_l, 0.0),
                np.where(has_upper, target - s_u * z_u + dx * dz_u, 0.0),
            )
        step = longest(dx, dz_l, dz_u)
        step = 1.0 if step == 1.0 and not pairs else min(1.0, _STEP_TO_BOUNDARY * step)
        x = x + step * dx
        y = y + step * dy
        s_l = np.where(has_lower, s_l + step * dx, 1.0)
        s_u = np.where(has_upper, s_u - step * dx, 1.0)
        z_l = np.where(has_lower, z_l + step * dz_l, 0.0)
        z_u = np.where(has_upper, z_u + step * dz_u, 0.0)
