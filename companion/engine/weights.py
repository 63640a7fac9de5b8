r"""The finish of a machine where w is a difference of large terms: w is a variable of its own, and nothing cancels.

With the signed images of the points as the rows of R, a machine and its dual program are

.. math::

    & \min_{w, y} \; F(w, y) = \tfrac12 \|w\|^2 + c^\top y + \sum_i \theta(u_i), \qquad u = -R w - q - A^\top y, \\
    & \min_a \; \tfrac12 \|R^\top a\|^2 + \tfrac12 r \|a\|^2 + q^\top a \quad \text{subject to} \quad
    A a = c, \; 0 \le a \le K,

with the price of slack :math:`\theta` of :func:`companion.engine.certificate.weak_duality`. Where
:math:`K \|R_i\|^2` is large, :math:`w = R^\top a` has no digit that is right, whatever the multipliers. The primal
program has its digits.

The guess is made by the method of multipliers of chapter 16: :math:`\theta` is replaced by its Moreau envelope around
the present multipliers :math:`\bar a`, with a parameter :math:`\rho` that grows. That leaves a convex, piecewise
quadratic function of (w, y), which Newton's method with an exact line search minimises in finitely many steps. The new
multipliers say which are 0, at K, free; with these sets F the solution is that of one system,

.. math::

    \begin{pmatrix} I & 0 & -R_F^\top \\ 0 & 0 & A_F \\ R_F & A_F^\top & r I \end{pmatrix}
    \begin{pmatrix} w \\ y \\ a_F \end{pmatrix}
    = \begin{pmatrix} R_B^\top a_B \\ c - A_B a_B \\ -q_F \end{pmatrix} .
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular

from companion.arithmetic import EPS, Bounds, largest, ratio
from companion.engine.certificate import weak_duality
from companion.engine.finish import System, settle

_NEWTON = 60  # steps for one envelope
_GROWTH = 32.0  # of rho: each envelope starts from the multipliers of the one before
_ENVELOPES = 40  # 32^40 spans more than the exponents that data may have here
_CORRECTIONS = 20  # systems for one guess of the sets
_PROVED = 1e-13  # a relative gap below this is not worth another envelope

_Pair = tuple[np.ndarray, np.ndarray]  # x = (w, y) in the units of the columns, and a


class Carried(NamedTuple):
    """Weights, levels and multipliers, and the gap between their two values relative to the terms of the objective."""

    w: np.ndarray
    y: np.ndarray
    a: np.ndarray
    gap: float
    n_systems: int


class WeightsProgram(System[_Pair]):
    r"""A machine with w as a variable of its own, in units in which the largest entry of each column is near 1.

    Parameters
    ----------
    R : ndarray of shape (n, r)
        The signed images of the points, and a column for b where it is penalised.
    ridge : float
        The multiple r of the identity in the dual program.
    q : ndarray of shape (n,)
    A : ndarray of shape (p, n)
    c : ndarray of shape (p,)
    upper : float
        The bound K, or infinity.

    Examples
    --------
    Two classes that overlap, with a price of slack of 1e18; in the dual program w would be a sum of terms 1e18.

    >>> s, x = np.array([1.0, -1.0, 1.0, -1.0]), np.array([[3.0], [2.0], [1.0], [0.0]])
    >>> program = WeightsProgram(s[:, None] * x, 0.0, -np.ones(4), s[None], np.zeros(1), 1e18)
    >>> found = program.solve(np.zeros(4))
    >>> found.w.round(12), found.y.round(12), found.gap < 1e-12
    (array([0.66666667]), array([-1.]), True)
    """

    def __init__(
        self, R: np.ndarray, ridge: float, q: np.ndarray, A: np.ndarray, c: np.ndarray, upper: Bounds
    ) -> None:  # fmt: skip
        peak = np.abs(R).max(axis=0, initial=0.0)
        self.unit = np.exp2(np.round(np.log2(np.where(peak > 0.0, peak, 1.0))))
        self.Z, self.A, self.q, self.c = R / self.unit, A, q, c
        self.r, self.p, self.ridge, self.upper = R.shape[1], len(c), ridge, upper
        self.largest_bound = float(np.max(upper))
        self.D = np.concatenate([self.unit**-2.0, np.zeros(self.p)])
        self.M = np.hstack([self.Z, A.T])
        self.cost = np.concatenate([np.zeros(self.r), c])
        self.n_systems = 0

    def missed(self, x: np.ndarray) -> np.ndarray:
        """Return u."""
        return np.asarray(-(self.M @ x) - self.q)

    def solve(self, a: np.ndarray) -> Carried:
        """Return the solution, from multipliers to start with."""
        x = np.zeros(self.r + self.p)
        best = self.finished(x, np.clip(a, 0.0, self.upper))
        length = float(self.unit.max(initial=0.0)) or 1.0
        # the price of squared slack is smooth: around the multipliers 0, its envelope is the price itself
        rho = 1.0 / self.ridge if self.ridge else min(self.largest_bound, 1.0 / length**2)
        a = 0.0 * a
        for _ in range(_ENVELOPES):
            if best.gap <= _PROVED:
                break
            x, a = self.envelope(x, a, rho)
            best = min(best, self.finished(x, a), key=lambda each: each.gap)
            if self.ridge or rho > self.largest_bound / EPS:
                break
            rho *= _GROWTH
        # what no margin can show beside its own rounding is 0
        seen = np.abs(best.w) > EPS * (largest(best.y) + largest(self.q))
        return best._replace(w=np.where(seen, best.w / self.unit, 0.0), n_systems=self.n_systems)

    def finished(self, x: np.ndarray, a: np.ndarray) -> Carried:
        """Return the better of a point and the solution for its sets, which are corrected."""
        found = settle(self, (x, a), self.state_of(a), _CORRECTIONS)
        return min(self.judged(x, a), self.judged(*found.point), key=lambda each: each.gap)

    def judged(self, x: np.ndarray, a: np.ndarray) -> Carried:
        """Return a point with its gap, which is infinite where a number is not finite."""
        v, y, u = x[: self.r], x[self.r :], self.missed(x)
        a = np.clip(a, 0.0, self.upper)
        w = v / self.unit
        misfit = float(np.linalg.norm(w - (a @ self.Z) * self.unit))
        norm = float(np.linalg.norm(w))
        gap, _ = weak_duality(
            a, u, 0.0 * u, upper=self.upper, ridge=self.ridge, norm=norm, misfit=misfit
        )
        gap += float(np.abs(y) @ np.abs(self.c - self.A @ a))
        size = 0.5 * norm * norm + float(np.abs(self.c) @ np.abs(y) + a @ np.maximum(u, 0.0))
        return Carried(v, y, a, gap / size if gap >= 0.0 and 0.0 < size < math.inf else math.inf, 0)

    def state_of(self, a: np.ndarray) -> np.ndarray:
        """Return -1 for a multiplier 0, 1 for one at K, 0 for a free one."""
        return np.where(a <= 0.0, -1, np.where(a >= self.upper, 1, 0)).astype(np.int8)

    # -- the guess

    def envelope(self, x: np.ndarray, centre: np.ndarray, rho: float) -> _Pair:
        """Minimise the Moreau envelope around the multipliers `centre`; return the point and the new multipliers."""
        over = centre / rho

        def multipliers(u: np.ndarray) -> np.ndarray:
            return np.clip(rho * (u + over), 0.0, self.upper)

        a = multipliers(self.missed(x))
        for _ in range(_NEWTON):
            inside = (a > 0.0) & (a < self.upper)
            step = self.newton(self.D * x + self.cost - self.M.T @ a, inside, rho)
            if not np.isfinite(step).all():
                break
            line = step @ (self.D * x + self.cost), step @ (self.D * step), self.M @ step
            t = self.length(*line, self.missed(x) + over, rho)
            x = x + t * step
            a, before = multipliers(self.missed(x)), self.state_of(a)
            if t == 1.0 and (self.state_of(a) == before).all():
                break
        return x, a

    def newton(self, g: np.ndarray, inside: np.ndarray, curvature: float) -> np.ndarray:
        """Return Newton's step, by a QR factorisation of a root of the Hessian."""
        self.n_systems += 1
        B = math.sqrt(curvature) * self.M[inside]
        y_rows = 1e-10 * math.sqrt(curvature) * np.abs(self.A).max(axis=1, initial=0.0)
        B = np.vstack([B, np.diag(np.concatenate([np.sqrt(self.D[: self.r]), y_rows]))])
        scale = np.sqrt((B * B).sum(axis=0))
        scale = np.where(scale > 0.0, scale, 1.0)
        (T,) = qr(B / scale, mode="r", check_finite=False)
        T = T[: scale.size]
        with np.errstate(all="ignore"):
            half = solve_triangular(T, -g / scale, trans="T", check_finite=False)
            return np.asarray(solve_triangular(T, half, check_finite=False) / scale)

    def length(
        self, first: float, second: float, move: np.ndarray, shifted: np.ndarray, curvature: float
    ) -> float:
        """Return where the slope along a step vanishes: it is piecewise linear and increasing."""

        def slope(t: float) -> float:
            a = np.clip(curvature * (shifted - t * move), 0.0, self.upper)
            return float(first + t * second - move @ a)

        start, full = slope(0.0), slope(1.0)
        if start >= 0.0 or abs(full) <= 1e-6 * abs(start):
            return 1.0
        with np.errstate(all="ignore"):
            knots = np.concatenate([shifted, shifted - self.upper / curvature]) / np.tile(move, 2)
        knots = np.unique(knots[np.isfinite(knots) & (knots > 0.0)])
        # the slope is negative before knot low, and not from there on
        low = bisect_left(knots, True, key=lambda knot: slope(float(knot)) >= 0.0)
        left = float(knots[low - 1]) if low else 0.0
        right = float(knots[low]) if low < knots.size else max(2.0 * left, 1.0)
        at, then = slope(left), slope(right)
        return left - at * (right - left) / (then - at) if then > at else right

    # -- the finish

    def corrected(self, point: _Pair, state: np.ndarray) -> np.ndarray:
        """Return the state with what is off moved."""
        x, a = point
        u, free, new = self.missed(x), state == 0, state.copy()
        rounding = 64.0 * EPS * (np.abs(self.M) @ np.abs(x) + np.abs(self.q))
        new[free & (a < 0.0)] = -1
        new[free & (a > self.upper)] = 1
        new[(state < 0) & (u > rounding) & (self.upper > 0.0)] = 0
        new[(state > 0) & (u < -rounding)] = 0
        return new

    def minimum(self, point: _Pair, state: np.ndarray) -> _Pair | None:
        """Return the solution for these sets that is nearest to the point; None if it overflows."""
        self.n_systems += 1
        x, a = point
        a = np.where(state < 0, 0.0, np.where(state > 0, self.upper, a))
        F, r, p = np.flatnonzero(state == 0), self.r, self.p
        k = F.size
        S = np.zeros((r + p + k, r + p + k))
        S[np.arange(r), np.arange(r)] = self.D[:r]
        S[: r + p, r + p :] = -self.M[F].T
        S[r + p :, : r + p] = self.M[F]
        S[np.arange(r + p, r + p + k), np.arange(r + p, r + p + k)] = self.ridge
        rows, columns = scales = np.ones((2, len(S)))
        for side in (0, 1) * 3:
            peak = np.abs(S).max(axis=1 - side, initial=0.0)
            t = np.exp2(-np.round(np.log2(np.where(peak > 0.0, peak, 1.0)) / 2.0))
            S = S * (t if side else t[:, None])
            scales[side] *= t
        best, error = (x.copy(), a.copy()), math.inf
        Q, T, order = qr(S, pivoting=True, check_finite=False)
        diagonal = np.abs(T.diagonal())
        rank = int(np.count_nonzero(diagonal > 1e-14 * largest(diagonal)))
        for _ in range(4):
            first = self.M.T @ a - self.cost - self.D * x
            second = self.missed(x)[F] - self.ridge * a[F]
            # each block in its own unit: with a high price the rounding of the first exceeds all of the second
            sizes = np.abs(self.M).T @ np.abs(a), np.abs(self.M) @ np.abs(x) + np.abs(self.q)
            now = max(ratio(largest(r), largest(size)) for r, size in zip((first, second), sizes))
            if not now < 0.9 * error:
                break
            best, error = (x.copy(), a.copy()), now
            right = Q.T[:rank] @ (rows * np.concatenate([first, second]))
            head = solve_triangular(T[:rank, :rank], right, check_finite=False)
            step = np.zeros(len(S))
            step[order[:rank]] = head
            step *= columns
            x = x + step[: r + p]
            a[F] += step[r + p :]
        return best if np.isfinite(best[0]).all() and np.isfinite(best[1]).all() else None
