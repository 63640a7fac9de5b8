r"""The dual programs of the chapter in m variables, and where their solutions put the tube.

A pair :math:`\lambda, \mu` enters the dual objective through :math:`\delta = \mu - \lambda` alone. Of all pairs with
the same difference, :math:`\lambda = \delta_-` and :math:`\mu = \delta_+` have the smallest sums. So each dual program
is one in :math:`\delta \in \mathbb R^m`,

.. math:: \min_\delta \; \tfrac12 \delta^\top P \delta - y^\top \delta + \epsilon_0 \|\delta\|_1
    \quad \text{subject to} \quad \mathbf 1^\top \delta = 0, \quad |\delta_i| \le c, \quad \|\delta\|_1 \le \tau,

with a quarter of the text's variables. Let :math:`s = y - P\delta`. The KKT conditions speak of a tube of the levels
:math:`\ell = b - \epsilon` (blue margin) and :math:`u = b + \epsilon` (red margin):

.. math::

    \begin{array}{ll}
    \delta_i = -c: & s_i \le \ell, \\ -c < \delta_i < 0: & s_i = \ell, \\ \delta_i = 0: & \ell \le s_i \le u, \\
    0 < \delta_i < c: & s_i = u, \\ \delta_i = c: & s_i \ge u .
    \end{array}

Without the balance :math:`\mathbf 1^\top \delta = 0` they hold with b = 0. If :math:`\|\delta\|_1 < \tau`, then
:math:`\epsilon = \epsilon_0`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from companion.admm import LowRank
from companion.admm.kkt import symmetric_product
from companion.certificates import Certificate, max_norm
from companion.results import Record
from companion.svm.slab import Interval, multiplier_interval

__all__ = [
    "Levels",
    "TubeProgram",
    "certify",
    "find_levels",
    "hinge",
    "least_value",
    "middle",
    "snap",
    "tube_between",
]

_ROUNDING = 1e-12  # multipliers nearer than this part to a bound are at the bound
_INSIDE = 1e-11  # the l1 norm is below tau if it is so by more than this part
_EPS = 16.0 * float(np.finfo(float).eps)
_FLOOR = 1e-5  # a gap is compared with at least this part of |y| |delta|_1
_LOSS = 1e-4  # and of C |y|: the loss is a sum of m numbers with the rounding of C/m |y|


@dataclass(frozen=True, eq=False)
class TubeProgram:
    r"""The program of the module's formula.

    Parameters
    ----------
    P : ndarray of shape (m, m) or LowRank
        Gram matrix, plus 1 where b is penalized, plus a multiple of the identity where slacks are squared.
    y : ndarray of shape (m,)
        Values.
    upper : float
        The bound c = C/m; infinite where slacks are squared.
    radius : float
        :math:`\tau = C\nu`; infinite where :math:`\epsilon` is fixed.
    epsilon : float
        The fixed :math:`\epsilon_0`, 0 where the radius is finite.
    balanced : bool
        Whether b is free, so that :math:`\mathbf 1^\top \delta = 0`.
    reach : float
        Largest of the numbers that y was computed from: it has their rounding.
    """

    P: np.ndarray | LowRank
    y: np.ndarray
    upper: float
    radius: float
    epsilon: float = 0.0
    balanced: bool = True
    reach: float = 0.0

    @property
    def m(self) -> int:
        """Number of points."""
        return self.y.size

    @property
    def ball_is_idle(self) -> bool:
        r"""Whether the box alone implies :math:`\|\delta\|_1 \le \tau`: always for :math:`\nu \ge 1`."""
        return self.radius >= self.m * self.upper * (1.0 - 1e-15)

    def residual(self, delta: np.ndarray) -> np.ndarray:
        """Return ``s = y - P delta``."""
        return self.y - symmetric_product(self.P, delta)

    def scaled(self, unit: float) -> TubeProgram:
        """Return the program for ``delta / unit``."""
        return replace(
            self,
            y=self.y / unit,
            upper=self.upper / unit,
            radius=self.radius / unit,
            epsilon=self.epsilon / unit,
            reach=self.reach / unit,
        )


@dataclass(frozen=True, eq=False, repr=False)
class Levels(Record):
    r"""The tube: its middle b, half of its width, and all values in optimal solutions.

    Parameters
    ----------
    b, epsilon : float
        The solution chosen.
    b_interval, epsilon_interval, blue_interval, red_interval : (float, float)
        Ranges of b, :math:`\epsilon`, :math:`b - \epsilon` and :math:`b + \epsilon`.
    """

    b: float
    epsilon: float
    b_interval: Interval
    epsilon_interval: Interval
    blue_interval: Interval
    red_interval: Interval

    def scaled(self, unit: float) -> Levels:
        """Return the tube in another unit of y."""
        return Levels(
            self.b * unit,
            self.epsilon * unit,
            *(
                (low * unit, high * unit)
                for low, high in (
                    self.b_interval,
                    self.epsilon_interval,
                    self.blue_interval,
                    self.red_interval,
                )
            ),
        )

    def moved(self, distance: float) -> Levels:
        """Return the tube moved upwards by `distance`."""
        low, high = self.b_interval
        return replace(
            self,
            b=self.b + distance,
            b_interval=(low + distance, high + distance),
            blue_interval=(self.blue_interval[0] + distance, self.blue_interval[1] + distance),
            red_interval=(self.red_interval[0] + distance, self.red_interval[1] + distance),
        )


def snap(delta: np.ndarray, upper: float) -> np.ndarray:
    """Return delta with the entries moved to 0 and to the bounds that differ from it by rounding only."""
    size = np.abs(delta)
    delta = np.where(size <= _ROUNDING * size.max(initial=0.0), 0.0, delta)
    if math.isfinite(upper):
        delta = np.where(upper - size <= _ROUNDING * upper, np.copysign(upper, delta), delta)
    return delta


def middle(interval: Interval) -> float:
    """Return the midpoint, or the finite end, or 0."""
    low, high = interval
    if math.isfinite(low) and math.isfinite(high):
        return low + (high - low) / 2.0
    return low if math.isfinite(low) else high if math.isfinite(high) else 0.0


def find_levels(program: TubeProgram, s: np.ndarray, delta: np.ndarray) -> Levels:
    r"""Return b and :math:`\epsilon` from the KKT conditions, with the freedom that they leave.

    Parameters
    ----------
    program : TubeProgram
    s : ndarray of shape (m,)
        ``y - P delta``.
    delta : ndarray of shape (m,)
        The solution; entries at a bound are equal to it.
    """
    tight = float(np.abs(delta).sum()) >= program.radius * (1.0 - _INSIDE)
    if tight:
        return _both(program, s, delta) if program.balanced else _epsilon_alone(program, s, delta)
    e = program.epsilon
    if program.balanced:
        b_interval = _b_alone(program, s, delta)
        b = middle(b_interval)
    else:
        b, b_interval = 0.0, (0.0, 0.0)
    low, high = b_interval
    return Levels(b, e, b_interval, (e, e), (low - e, high - e), (low + e, high + e))


def _both(program: TubeProgram, s: np.ndarray, delta: np.ndarray) -> Levels:
    r"""Both levels are free: u belongs to the points with :math:`\delta_i > 0`, l to those with :math:`\delta_i < 0`.

    The optimal pairs form a rectangle; when :math:`\nu = 1`, its part with :math:`\ell \le u`.
    """
    c = program.upper
    blue = multiplier_interval(s, at_zero=delta >= 0.0, at_upper=delta <= -c)
    red = multiplier_interval(s, at_zero=delta >= c, at_upper=delta <= 0.0)
    return tube_between(blue, red)


def tube_between(blue: Interval, red: Interval) -> Levels:
    r"""Return the tube for the ranges of :math:`b - \epsilon` and of :math:`b + \epsilon`.

    Examples
    --------
    >>> tube = tube_between((0.0, 1.0), (2.0, 2.0))
    >>> tube.b, tube.epsilon, tube.b_interval, tube.epsilon_interval
    (1.25, 0.75, (1.0, 1.5), (0.5, 1.0))
    """
    with np.errstate(invalid="ignore"):
        b_interval = (
            (max(red[0], blue[0]) + blue[0]) / 2.0,
            (red[1] + min(blue[1], red[1])) / 2.0,
        )
    width = max(red[0] - blue[1], 0.0) / 2.0, max(red[1] - blue[0], 0.0) / 2.0
    if (
        red[0] < blue[1]
    ):  # not every pair is in order: the midpoints of the ranges of b and epsilon are
        return Levels(middle(b_interval), middle(width), b_interval, width, blue, red)
    u, low = middle(red), middle(blue)
    return Levels((u + low) / 2.0, (u - low) / 2.0, b_interval, width, blue, red)


def _epsilon_alone(program: TubeProgram, s: np.ndarray, delta: np.ndarray) -> Levels:
    r"""The tube's middle is given: every point bounds :math:`\epsilon` by its distance to it."""
    distance = np.where(delta != 0.0, np.sign(delta) * s, np.abs(s))
    low, high = multiplier_interval(distance, np.abs(delta) >= program.upper, delta == 0.0)
    low, high = max(low, 0.0), max(high, 0.0)
    return Levels(
        0.0, middle((low, high)), (0.0, 0.0), (low, high), (-high + 0.0, -low + 0.0), (low, high)
    )


def _b_alone(program: TubeProgram, s: np.ndarray, delta: np.ndarray) -> Interval:
    """The tube's width is given: every point bounds b from one side, or from both."""
    c, e = program.upper, program.epsilon
    free = (np.abs(delta) < c) & ((delta != 0.0) | (e == 0.0))
    if free.any():
        value = float((s - np.sign(delta) * e)[free].mean())
        return value, value
    low = max((s - e)[delta == 0.0].max(initial=-np.inf), (s + e)[delta <= -c].max(initial=-np.inf))
    high = min((s - e)[delta >= c].min(initial=np.inf), (s + e)[delta == 0.0].min(initial=np.inf))
    if low > high:  # rounding
        low = high = (low + high) / 2.0
    return float(low), float(high)


def least_value(program: TubeProgram, norm: float) -> float:
    r"""Return the value below which the rounding of the objective is not relative to it.

    Parameters
    ----------
    program : TubeProgram
    norm : float
        :math:`\|\delta\|_1`.
    """
    largest = max_norm(program.y)
    C = program.m * program.upper if math.isfinite(program.upper) else 0.0
    return largest * max(_FLOOR * norm, _LOSS * C)


def hinge(residuals: np.ndarray, epsilon: float, largest: float) -> np.ndarray:
    r"""Return :math:`\max(|r_i| - \epsilon, 0)`, and 0 for what is the rounding of numbers up to `largest`."""
    slack = np.abs(residuals) - epsilon
    return np.where(slack > _EPS * largest, slack, 0.0)


def certify(
    program: TubeProgram, s: np.ndarray, delta: np.ndarray, levels: Levels, tolerance: float
) -> Certificate:
    r"""Measure how well delta, b and :math:`\epsilon` satisfy the KKT conditions; all residuals are relative.

    The primal residual is that of :math:`\mathbf 1^\top\delta = 0` and :math:`\|\delta\|_1 \le \tau`, the dual one
    that of the five conditions on s, and the gap that of the regression program with the slacks
    :math:`\max(|s_i - b| - \epsilon, 0)`. The gap is divided by the largest term of the objective, or by
    :func:`least_value` where that is larger: in an exact fit, rounding is all that is left of the loss.
    """
    c, tau, b, epsilon = program.upper, program.radius, levels.b, levels.epsilon
    if not (np.isfinite(delta).all() and math.isfinite(b + epsilon)):
        return Certificate(np.inf, np.inf, np.inf, np.inf, tolerance)
    size, sign = np.abs(delta), np.sign(delta)
    norm = float(size.sum())
    balance = abs(float(delta.sum())) if program.balanced else 0.0
    excess = max(norm - tau, 0.0) / tau if tau > 0.0 else norm

    r = s - b
    fitted = program.y - s
    largest = max(max_norm(program.y), max_norm(fitted), abs(b), epsilon)
    slack = hinge(r, epsilon, max(largest, program.reach))
    beyond = sign * r - epsilon
    misfit = np.where(
        size >= c, np.maximum(-beyond, 0.0), np.where(size > 0.0, np.abs(beyond), slack)
    )
    quadratic, linear = float(delta @ fitted), float(program.y @ delta)
    price = tau * epsilon if math.isfinite(tau) else program.epsilon * norm
    loss = c * float(slack.sum()) if math.isfinite(c) else 0.0
    value = max(abs(quadratic), price, loss, least_value(program, norm))
    idle = (tau - norm) * epsilon if math.isfinite(tau) else 0.0
    gap = abs(quadratic + price + loss - linear)
    return Certificate(
        primal_residual=max(_ratio(balance, norm), excess),
        dual_residual=_ratio(float(misfit.max(initial=0.0)), largest),
        complementarity=_ratio(max(idle, 0.0), value),
        gap=_ratio(gap, value),
        tolerance=tolerance,
    )


def _ratio(value: float, scale: float) -> float:
    """Return ``value / scale`` with 0/0 = 0."""
    if value == 0.0:
        return 0.0
    return value / scale if scale > 0.0 else float("inf")
