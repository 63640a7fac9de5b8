r"""One proof for all convex programs, in exact arithmetic.

The program is

.. math:: \min h(x) + \sum_g \tau_g \|x_g\| \quad \text{subject to} \quad A x = b, \quad l \le x \le u,

with h convex and differentiable: a quadratic or linear program, the dual program of a machine or a tube, ridge
regression, lasso, group lasso, logistic regression. Each is known here by its gradient at one point.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from flint import arb

from tests.exact.numbers import exact, floats, length, product, ratio


@dataclass
class Candidate:
    r"""A point x of the program, with multipliers y of its equations.

    For every feasible t, convexity gives
    :math:`f(x) - f(t) \le |y|^\top |A x - b| + \sum_g [e_g^\top (x_g - t_g) + \tau_g (\|x_g\| - \|t_g\|)]` with
    :math:`e = \nabla h(x) + A^\top y`. No part of the sum is negative at the worst t, which is a bound where tau is
    zero, and 0 elsewhere. Where that bound is infinite, e has to vanish; where tau is positive, :math:`\|e_g\|` must
    not exceed it.
    """

    x: np.ndarray  # of arb, as y and the gradient of h at x
    gradient: np.ndarray
    terms: np.ndarray  # size of what adds up to the gradient
    columns: np.ndarray  # what is left of e is compared with these
    value: Any  # size of the terms of f(x), which the gap is compared with
    A: np.ndarray | None = None
    b: np.ndarray | None = None
    y: np.ndarray = field(default_factory=lambda: exact([]))
    lower: Any = -np.inf
    upper: Any = np.inf
    tau: Any = 0.0  # of each variable
    groups: np.ndarray | None = None  # of each variable; without them, every variable is alone
    plus: Any = 0.0  # a part of the gap that its maker knows
    norm: Any = 0.0  # of the values that least squares fit

    def __post_init__(self) -> None:
        n = len(self.x)
        self.A = np.zeros((0, n)) if self.A is None else np.asarray(self.A, dtype=float)
        self.b = np.zeros(0) if self.b is None else np.asarray(self.b, dtype=float)
        given = (np.asarray(v, dtype=float) for v in (self.lower, self.upper, self.tau))
        self.lower, self.upper, self.tau = (np.broadcast_to(v, n) for v in given)
        self.size = np.abs(floats(self.x))
        self.reach = np.abs(self.A) @ self.size + np.abs(self.b)
        self.e = self.gradient + product(self.A.T, self.y)
        self.scale = self.columns + np.abs(self.A).T @ np.abs(floats(self.y))

    @property
    def infeasibility(self) -> float:
        """The largest miss of an equation or of a bound, in the unit of its row or variable."""
        miss = product(self.A, self.x) - exact(self.b)
        worst = max(map(ratio, miss, self.reach), default=0.0)
        for bound, sign in ((self.lower, 1), (self.upper, -1)):
            for j in np.flatnonzero(np.isfinite(bound)):
                beyond = sign * (arb(bound[j]) - self.x[j])
                if not beyond <= 0:
                    worst = max(worst, ratio(beyond, max(self.size[j], abs(float(bound[j])))))
        return worst

    def penalized(self) -> list[np.ndarray]:
        """Return the indices of each group with a penalty."""
        labels = np.arange(len(self.x)) if self.groups is None else self.groups
        some = np.flatnonzero(self.tau > 0.0)
        return [some[labels[some] == g] for g in np.unique(labels[some])]

    def _terms_of_the_gap(self) -> tuple[Any, float]:
        """Return the sum, and the largest violation of a dual constraint."""
        gap, worst = arb(self.plus), 0.0
        for j in np.flatnonzero(self.tau == 0.0):
            bound = float(self.lower[j] if self.e[j] > 0 else self.upper[j])
            if not math.isinf(bound):
                gap += abs(self.e[j]) * abs(self.x[j] - bound)
            elif self.e[j] != 0:
                worst = max(worst, ratio(self.e[j], self.scale[j]))
        for m in self.penalized():
            tau, steep = arb(self.tau[m[0]]), length(self.e[m])
            gap += abs(tau * length(self.x[m]) + sum(self.e[m] * self.x[m], arb(0)))
            if not steep <= tau:
                size = max(float(tau), float(self.scale[m].max()))
                worst = max(worst, ratio(steep - tau, size))
        return gap, worst

    @property
    def missed(self) -> float:
        """The largest violation of a dual constraint."""
        return self._terms_of_the_gap()[1]

    @property
    def worst(self) -> float:
        """The largest of infeasibility, violated dual constraint and relative gap."""
        if not all(v.is_finite() for v in (*self.x, *self.y, *self.e)):
            return math.inf
        gap, worst = self._terms_of_the_gap()
        miss = abs(product(self.A, self.x) - exact(self.b))
        gap += sum(abs(self.y) * miss, arb(0))
        told = ratio(gap, self.value)
        if (
            self.norm and not self.size[self.tau > 0.0].any()
        ):  # the least value may be 0: a distance of fits, relative to what is fitted
            told = min(told, ratio((2 * gap).sqrt(), self.norm))
        return max(self.infeasibility, worst, told)

    def beside(self, times: Callable[[np.ndarray], np.ndarray], P: np.ndarray) -> "Candidate":
        r"""Return x with the multipliers at (x + d, y + dy), where less is left of e.

        The tangent of a quadratic h at x + d is below h, and :math:`\tfrac12 d^\top P d` below it at x. d and dy solve
        the equations of the free variables, refined with exact residuals; `times` is the exact product with P. Of those
        with a penalty, the free ones are not 0, and e is to be :math:`-\tau x_g / \|x_g\|`. A variable without any
        terms, as of a column of zeros, stays as it is.
        """
        x, d, y, aim = floats(self.x), exact(np.zeros(len(self.x))), self.y, exact(0.0 * self.tau)
        for m in self.penalized():
            size = length(self.x[m])
            aim[m] = arb(self.tau[m[0]]) * self.x[m] / size if size > 0 else aim[m]
        some = (self.tau == 0.0) | np.array([v != 0 for v in aim])
        some &= (self.columns > 0.0) | self.A.any(axis=0)
        free = np.flatnonzero((x > self.lower) & (x < self.upper) & some)
        A, k = self.A[:, free], len(free)
        kkt = np.block([[P[np.ix_(free, free)], A.T], [A, np.zeros((len(A), len(A)))]])
        peak = np.abs(kkt).max(axis=1, initial=0.0)
        unit = np.where(peak > 0.0, peak, 1.0) ** -0.5
        kkt *= np.outer(unit, unit)
        for _ in range(3):
            e = floats((self.gradient + times(d) + product(self.A.T, y) + aim)[free])
            step = unit * np.linalg.lstsq(kkt, unit * np.r_[-e, 0 * self.b])[0]
            d[free], y = d[free] + exact(step[:k]), y + exact(step[k:])
        Pd = times(d)
        square = abs(sum(d * Pd, arb(0)))
        return replace(self, gradient=self.gradient + Pd, y=y, plus=square / 2)

    def nearby(self, times: Callable[[np.ndarray], np.ndarray], P: np.ndarray) -> float:
        """Return the worst of this candidate, or of the one beside it."""
        return min(self.worst, self.beside(times, P).worst)
