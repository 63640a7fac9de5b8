r"""A primal-dual interior-point method (Mehrotra's predictor-corrector) for box-constrained quadratic programs.

With slacks :math:`s_\ell = x - \ell`, :math:`s_u = u - x`, each step solves one KKT system whose leading block is
:math:`P + \operatorname{diag}(z_\ell / s_\ell + z_u / s_u)`. With ``P = G G'`` of rank r and p equality rows, the work
per step is that of an r x r and a p x p matrix, whatever the number of variables: this is the method of choice for
linear kernels, and the fallback wherever active sets run in a circle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from companion.admm.kkt import BoxQP, FactoredKKT, factor_kkt

__all__ = ["Iterate", "interior_point"]

_STEP_TO_BOUNDARY = 0.995
_REGULARISATION = 1e-12
_REFINED = 1e-2  # error from which on linear systems are refined


class Iterate(NamedTuple):
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


class _Bounds:
    """The finite bounds in one list, lower ones first: slacks ``s = E x + constant`` and multipliers z.

    E selects ``x_i`` for a lower bound and ``-x_i`` for an upper one.
    """

    def __init__(self, problem: BoxQP) -> None:
        self.lower, self.upper = problem.lower, problem.upper
        self.has_lower = np.flatnonzero(np.isfinite(self.lower))
        self.has_upper = np.flatnonzero(np.isfinite(self.upper))
        self.split, self.size = self.has_lower.size, self.has_lower.size + self.has_upper.size
        self.boxed = self.size == 2 * problem.q.size

    def select(self, x: np.ndarray) -> np.ndarray:
        """Return E x."""
        parts = [x, -x] if self.boxed else [x[self.has_lower], -x[self.has_upper]]
        return np.concatenate(parts)

    def spread(self, w: np.ndarray, sign: float = -1.0) -> np.ndarray:
        """Return E'w; with ``sign=1``, the sum of both bounds' entries."""
        if self.boxed:
            return w[: self.split] + sign * w[self.split :]
        out = np.zeros(self.lower.size)
        out[self.has_lower] = w[: self.split]
        out[self.has_upper] += sign * w[self.split :]
        return out

    def slacks(self, x: np.ndarray) -> np.ndarray:
        """Return the distances of x from the bounds."""
        below, above = (x - self.lower)[self.has_lower], (self.upper - x)[self.has_upper]
        return np.concatenate([below, above])

    def guess(self, s: np.ndarray, z: np.ndarray, unit: float) -> np.ndarray:
        """Read an active set: bounds whose slack is small beside the multiplier, in typical units."""
        active = np.where(s < unit * z, 1.0 / np.maximum(s, 1e-300), 0.0)
        return -np.sign(self.spread(active)).astype(np.int8)


class _Measure:
    """How far a point is from optimal, relative to the terms that its conditions are the sums of."""

    def __init__(self, problem: BoxQP) -> None:
        self.problem, self.absA = problem, np.abs(problem.A)
        self.steepest = float(problem.P.diagonal().max(initial=0.0))

    def errors(
        self,
        x: np.ndarray,
        y: np.ndarray,
        Px: np.ndarray,
        r_primal: np.ndarray,
        r_dual: np.ndarray,
        complementarity: float,
    ) -> tuple[float, float, float]:
        """Return the relative primal and dual residual, and the largest error."""
        p = self.problem
        slope = max(_norm(Px), _norm(p.q), _norm(y @ p.A), 1e-300)
        value = max(abs(float(x @ Px)), abs(float(p.q @ x)), abs(float(p.b @ y)), 1e-300)
        if not p.q.any():  # the optimal value may be 0
            slope = max(slope, 1e-6 * self.steepest * _norm(x))
            value = max(value, 1e-6 * self.steepest * float(x @ x))
        rows = float(np.maximum(self.absA @ np.abs(x), np.abs(p.b)).max(initial=0.0)) or 1.0
        primal, dual = _norm(r_primal) / rows, _norm(r_dual) / slope
        return primal, dual, max(primal, dual, min(complementarity / value, 1.0))


def _factored(problem: BoxQP, curvature: np.ndarray, ridge: float) -> FactoredKKT | None:
    """Factor the KKT matrix, with more regularisation where it takes more; None if nothing helps."""
    for boost in (1.0, 1e2, 1e4, 1e6):
        try:
            return factor_kkt(problem, curvature + boost * ridge, independent=True)
        except np.linalg.LinAlgError:
            continue
    return None


def interior_point(problem: BoxQP, *, max_iter: int = 100) -> Iterator[Iterate]:
    """Yield the iterates of Mehrotra's method; stop when no progress is made.

    Parameters
    ----------
    problem : BoxQP
        With ``lower < upper`` in every entry; infinite bounds are allowed.
    max_iter : int
        Largest number of iterates.
    """
    q, A, b = problem.q, problem.A, problem.b
    bounds, measure = _Bounds(problem), _Measure(problem)
    select, spread, pairs = bounds.select, bounds.spread, bounds.size
    x, typical, force = _start(problem)
    y, s, z = np.zeros(b.size), bounds.slacks(x), np.full(pairs, force)
    ridge = _REGULARISATION * max(measure.steepest, force / typical)
    best, least, stalled = np.inf, np.inf, 0

    for _ in range(max_iter):
        Px = problem.product(x)
        r_dual = Px + q + y @ A - spread(z)
        r_primal = A @ x - b
        sz = s * z
        total = float(sz.sum())

        primal, dual, error = measure.errors(x, y, Px, r_primal, r_dual, total)
        if not np.isfinite(error):
            return
        inside = np.minimum(np.maximum(x, problem.lower), problem.upper)
        guess = partial(bounds.guess, s, z, typical / force)
        yield Iterate(inside, y, primal, dual, error, guess)
        stalled = 0 if error < 0.9 * best or total < 0.9 * least else stalled + 1
        best, least = min(best, error), min(least, total)
        if stalled >= 15 or best < 1e-15:
            return

        curvature = spread(z / s, 1.0)
        kkt = _factored(problem, curvature, ridge)
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
