r"""Mehrotra's predictor-corrector method where P is given by a factor: :math:`P = G G^\top + \operatorname{diag}(d)`.

With :math:`w = G^\top x` as an unknown of its own, the multipliers of all equations are the short vector
:math:`v = (w, y)`, and with :math:`H = (G, A^\top)` the conditions are

.. math::

    H v + d \circ x + q = z_\ell - z_u, \qquad G^\top x = w, \qquad A x = b, \qquad
    s_\ell z_\ell = s_u z_u = \mu .

A step costs one Cholesky factorisation of :math:`H^\top D^{-1} H + \operatorname{diag}(I, 0)`, whatever the number of
variables. That w need not fit x at first allows a good start: v solves the least-squares problem
:math:`H v \approx -q`, and each x takes the place between its bounds that its multipliers ask for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from companion.admm.interior_point import Iterate
from companion.admm.kkt import BoxQP
from companion.admm.low_rank import LowRank
from companion.certificates import max_norm

__all__ = ["factor_interior_point"]

_STEP_TO_BOUNDARY = 0.995
_REGULARISATION = 1e-14
_DISTANCE = 2.0  # of the start from the boundary: multipliers in units of the mean slope
_FLOOR = 1e-6  # w = 0 is compared with this part of the terms that cancel in it
_PATIENCE = 10  # iterations without progress


class _Bounds:
    """The finite bounds in one list, lower ones first: slacks ``s = E x + constant``."""

    def __init__(self, lower: np.ndarray, upper: np.ndarray) -> None:
        self.lower, self.upper = lower, upper
        self.below, self.above = (
            np.flatnonzero(np.isfinite(lower)),
            np.flatnonzero(np.isfinite(upper)),
        )
        self.split, self.size = self.below.size, self.below.size + self.above.size
        self.boxed = self.size == 2 * lower.size

    def select(self, x: np.ndarray) -> np.ndarray:
        """E x."""
        return np.concatenate([x, -x] if self.boxed else [x[self.below], -x[self.above]])

    def spread(self, w: np.ndarray, sign: float = -1.0) -> np.ndarray:
        """E'w; with ``sign=1``, the sum of both bounds' entries."""
        if self.boxed:
            low, high = w[: self.split], w[self.split :]
            return low - high if sign < 0.0 else low + high
        out = np.zeros(self.lower.size)
        out[self.below] = w[: self.split]
        out[self.above] += sign * w[self.split :]
        return out

    def slack(self, x: np.ndarray) -> np.ndarray:
        """Return x - lower and upper - x, where these are finite."""
        return np.concatenate([(x - self.lower)[self.below], (self.upper - x)[self.above]])

    def place(self, g: np.ndarray, unit: float) -> tuple[np.ndarray, np.ndarray]:
        """Return multipliers with ``z_lower - z_upper = g``, and the x where all ``s z`` are alike."""
        z_lower, z_upper = np.maximum(g, 0.0) + unit, np.maximum(-g, 0.0) + unit
        low, high = np.isfinite(self.lower), np.isfinite(self.upper)
        both = low & high
        width = np.where(both, self.upper - self.lower, 0.0)
        mu = float((width * z_lower * z_upper / (z_lower + z_upper)).sum()) / max(
            int(both.sum()), 1
        )
        x = np.where(low, self.lower + (mu or unit) / z_lower, 0.0)
        x = np.where(high & ~low, self.upper - (mu or unit) / z_upper, x)
        x = np.where(both, self.lower + width * (z_upper / (z_lower + z_upper)), x)
        return x, np.concatenate([z_lower[self.below], z_upper[self.above]])


class _System:
    """The equations ``D dx + H dv = rhs, H'dx - (dw, 0) = -rows`` of a step."""

    def __init__(self, Ht: np.ndarray, D: np.ndarray, identity: np.ndarray) -> None:
        self.Ht, self.D = Ht, D
        W = Ht / np.sqrt(D)
        M = W @ W.T + identity
        self.factor, info = dpotrf(M, lower=1, clean=0)
        if info != 0 or not np.isfinite(M).all():
            raise np.linalg.LinAlgError("H' D^-1 H is not positive definite")

    def solve(self, rhs: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        dv = dpotrs(self.factor, self.Ht @ (rhs / self.D) + rows, lower=1)[0]
        return (rhs - dv @ self.Ht) / self.D, dv


def factor_interior_point(problem: BoxQP, *, max_iter: int = 100) -> Iterator[Iterate]:
    """Yield the iterates of Mehrotra's method for a LowRank P; stop when no progress is made.

    Parameters
    ----------
    problem : BoxQP
        With ``lower < upper`` in every entry, at least one finite bound, and independent rows of A.
    max_iter : int
        Largest number of iterates.
    """
    P, q, b = problem.P, problem.q, problem.b
    assert isinstance(P, LowRank)
    bounds = _Bounds(problem.lower, problem.upper)
    r, Ht = P.G.shape[1], np.vstack([P.G.T, problem.A])
    identity = np.diag(1.0 * (np.arange(len(Ht)) < r))  # diag(I, 0)
    x, v, z = _start(problem, bounds, Ht, identity)
    s = bounds.slack(x)
    before = (s, z)
    steepest = float(P.diagonal().max(initial=0.0))
    slope_of_q, size_of_b = max_norm(q), max_norm(b)
    floor = 0.0 if slope_of_q > 0.0 else _FLOOR * steepest  # the optimal value may be 0
    best, least, stalled = np.inf, np.inf, 0

    for _ in range(max_iter):
        Hx, g = Ht @ x, v @ Ht + P.d * x + q
        r_dual, r_rows = g - bounds.spread(z), Hx.copy()
        r_rows[:r] -= v[:r]
        r_rows[r:] -= b
        sz = s * z
        total = float(sz.sum())

        far = max(max_norm(x), 1e-300)
        slope = max(max_norm(g), slope_of_q, floor * far, 1e-300)
        value = max(
            float(Hx[:r] @ Hx[:r]), abs(float(q @ x)), abs(float(b @ v[r:])), floor * float(x @ x)
        )
        length = max(max_norm(v[:r]), max_norm(Hx[:r]), _FLOOR * math.sqrt(steepest) * far, 1e-300)
        rows = max(max_norm(r_rows[:r]) / length, max_norm(r_rows[r:]) / max(far, size_of_b))
        dual = max_norm(r_dual) / slope
        error = max(rows, dual, min(total / max(value, 1e-300), 1.0))
        if not math.isfinite(error + total):
            return
        inside = np.minimum(np.maximum(x, problem.lower), problem.upper)
        yield Iterate(inside, v[r:], rows, dual, error, partial(_guess, bounds, s, z, *before))
        stalled = 0 if error < 0.9 * best or total < 0.9 * least else stalled + 1
        best, least = min(best, error), min(least, total)
        if stalled > _PATIENCE or best < 1e-15 or total == 0.0:
            return

        curvature = z / s
        D = bounds.spread(curvature, 1.0) + P.d
        D += _REGULARISATION * steepest
        try:
            system = _System(Ht, D, identity)
        except np.linalg.LinAlgError:
            return

        # Predictor: aim at s z = 0. It shows how far one can go, hence which mu to aim at.
        dx, _ = system.solve(-g, r_rows)
        ds = bounds.select(dx) / s  # relative changes, here and below; dz = -1 - ds
        step = min(
            1.0, 1.0 / max(-float(ds.min()), 1e-300), 1.0 / max(1.0 + float(ds.max()), 1e-300)
        )
        second = sz * ds * (-1.0 - ds)  # the product of the changes of s and z
        ahead = max((1.0 - step) * total + step * step * float(second.sum()), 0.0)
        # Corrector: aim at s z = mu, with the second-order term.
        change = (ahead / total) ** 3 * total / s.size - sz - second
        dx, dv = system.solve(bounds.spread(change / s) - r_dual, r_rows)
        ds = bounds.select(dx) / s
        dz = change / sz - ds
        step = min(1.0, _STEP_TO_BOUNDARY / max(-float(ds.min()), -float(dz.min()), 1e-300))
        before = (s, z)
        x, v, s, z = x + step * dx, v + step * dv, s * (1.0 + step * ds), z * (1.0 + step * dz)


def _start(
    problem: BoxQP, bounds: _Bounds, Ht: np.ndarray, identity: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x, v and z: v by least squares, x and z such that all products ``s z`` are alike."""
    q, b = problem.q, problem.b
    width = problem.upper - problem.lower
    typical = float(np.median(width))
    ridge = max_norm(q) / typical if np.isfinite(typical) else 0.0
    M = Ht @ Ht.T + ridge * identity
    v = np.linalg.lstsq(M, -(Ht @ q), rcond=1e-12)[0]
    g = v @ Ht + q
    unit = float(np.abs(g).sum()) / g.size
    if unit == 0.0:
        middle, _ = bounds.place(g, 1.0)
        A = problem.A
        at = middle + np.linalg.lstsq(A @ A.T, b - A @ middle, rcond=None)[0] @ A
        unit = float(np.abs(problem.product(at)).sum()) / g.size or 1.0
    x, z = bounds.place(g, _DISTANCE * unit)
    return x, v, z


def _guess(
    bounds: _Bounds, s: np.ndarray, z: np.ndarray, s_before: np.ndarray, z_before: np.ndarray
) -> np.ndarray:
    """Read an active set: near a solution the slack of an active bound shrinks, and its multiplier does not."""
    active = s * z_before < z * s_before
    return -np.sign(bounds.spread(np.where(active, 1.0 / s, 0.0))).astype(np.int8)
