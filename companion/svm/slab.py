r"""From multipliers to hyperplanes: b and eta with the freedom that the optimum leaves, and the place of each point.

Let :math:`g = P a` for the matrix P of the dual program at its solution a. The KKT conditions compare :math:`g_i`
with the hyperplanes of the slab: for a program in which b and :math:`\eta` are free,

.. math::

    \eta + s_i b \;\begin{cases} \le g_i & a_i = 0, \\ = g_i & 0 < a_i < K, \\ \ge g_i & a_i = K. \end{cases}

So the blue points alone bound :math:`\eta + b`, and the red points alone bound :math:`\eta - b`. A support vector of
type 1 turns the interval into a number. Without one an interval remains, every point of it belongs to an optimal
solution, and the midpoint is chosen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from companion.engine.arithmetic import largest

__all__ = [
    "POINT_CLASSES",
    "Interval",
    "Slab",
    "multiplier_interval",
    "place_points",
    "slab_both",
    "slab_eta",
    "slab_unit",
    "snap",
]

Interval = tuple[float, float]

POINT_CLASSES = (
    "outside",
    "type 1",
    "type 2",
    "exceptional",
    "in slab",
    "on hyperplane",
    "misclassified",
    "undetermined",
)

_NAMES = np.array(POINT_CLASSES)
_OUTSIDE, _TYPE_1, _TYPE_2, _EXCEPTIONAL, _IN_SLAB, _ON_HYPERPLANE, _MISCLASSIFIED = range(7)

_ROUNDING = 1e-12  # multipliers nearer than this part to a bound are at the bound
_ZERO_SUM = 4e-15  # the sum s'a is zero up to rounding below this part of its terms
_TIGHT = 1e-9  # a constraint is active when it misses equality by this part of its terms


@dataclass(frozen=True, eq=False)
class Slab:
    r"""Positions of the hyperplanes :math:`H_{w,b}`, :math:`H_{w,b+\eta}` and :math:`H_{w,b-\eta}`.

    Parameters
    ----------
    b, eta : float
        The solution chosen.
    b_interval, eta_interval : (float, float)
        The smallest and the largest value in any optimal solution.
    blue_interval, red_interval : (float, float)
        The same for :math:`b + \eta` and :math:`b - \eta`.
    """

    b: float
    eta: float
    b_interval: Interval
    eta_interval: Interval
    blue_interval: Interval
    red_interval: Interval

    def moved(self, distance: float, scale: float = 1.0) -> Slab:
        """Return the slab for another origin of feature space, in another unit of w."""
        if distance == 0.0 and scale == 1.0:
            return self

        def move(interval: Interval) -> Interval:
            return (interval[0] + distance) * scale, (interval[1] + distance) * scale

        low, high = self.eta_interval
        return Slab(
            (self.b + distance) * scale,
            self.eta * scale,
            move(self.b_interval),
            (low * scale, high * scale),
            move(self.blue_interval),
            move(self.red_interval),
        )

    def with_bias(self, b: float) -> Slab:
        """Return the slab for a b that is known from elsewhere."""
        low, high = self.eta_interval
        return Slab(b, self.eta, (b, b), (low, high), (b + low, b + high), (b - high, b - low))


NO_SLAB = Slab(0.0, 0.0, (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0))


def snap(a: np.ndarray, upper: float, lengths: np.ndarray | None = None) -> np.ndarray:
    """Return the multipliers with those moved to a bound that differ from it by rounding only.

    With the lengths of the features, a small multiplier of a long one stays if its part of w is no rounding.
    """
    small = a <= _ROUNDING * largest(a)
    if lengths is not None and (small & (a > 0.0)).any():
        parts = a * lengths
        small &= parts <= _ROUNDING * largest(parts)
    a = np.where(small, 0.0, a)
    return np.where(upper - a <= _ROUNDING * upper, upper, a) if math.isfinite(upper) else a


def multiplier_interval(g: np.ndarray, at_zero: np.ndarray, at_upper: np.ndarray) -> Interval:
    """Return the interval that the conditions "<= g at zero, >= g at the upper bound, = g between" leave.

    Examples
    --------
    >>> g, a = np.array([1.0, 2.0, 5.0]), np.array([1.0, 0.5, 0.0])
    >>> multiplier_interval(g, a == 0.0, a == 1.0)
    (2.0, 2.0)
    >>> multiplier_interval(g[[0, 2]], a[[0, 2]] == 0.0, a[[0, 2]] == 1.0)
    (1.0, 5.0)
    """
    between = (~(at_zero | at_upper)).nonzero()[0]
    if between.size:
        return _mean_of(g[between])
    low = float(g[at_upper].max(initial=-np.inf))
    high = float(g[at_zero].min(initial=np.inf))
    if low > high:  # rounding
        low = high = (low + high) / 2.0
    return low, high


def _mean_of(values: np.ndarray) -> Interval:
    """Return the mean of numbers that differ by rounding only, as an interval."""
    mean = float(values.sum()) / values.size
    return mean, mean


def _interval_of(g: np.ndarray, a: np.ndarray, upper: float) -> Interval:
    """Return the interval that multipliers a and the numbers g of the same points leave."""
    return multiplier_interval(g, a <= 0.0, a >= upper)


def _middle(interval: Interval) -> float:
    """Return the midpoint, or the finite end, or 0."""
    low, high = interval
    if math.isfinite(low) and math.isfinite(high):
        return low + (high - low) / 2.0
    return low if math.isfinite(low) else high if math.isfinite(high) else 0.0


def _minus(interval: Interval) -> Interval:
    return -interval[1] + 0.0, -interval[0] + 0.0


def slab_both(s: np.ndarray, g: np.ndarray, a: np.ndarray, upper: float) -> Slab:
    r"""Return the slab when b and :math:`\eta` are free: (SVM_s1), (SVM_s2'), (SVM_s4).

    The optimal pairs are a rectangle in the coordinates :math:`\eta + b` and :math:`\eta - b`.
    """
    free = ((a > 0.0) & (a < upper)).nonzero()[0]
    s_free, g_free = s[free], g[free]

    def interval(sign: float) -> Interval:
        values = g_free[s_free == sign]
        if values.size:  # support vectors of type 1
            return _mean_of(values)
        colour = s == sign
        return _interval_of(g[colour], a[colour], upper)

    blue, red = interval(1.0), interval(-1.0)
    plus, minus = _middle(blue), _middle(red)
    return Slab(
        b=(plus - minus) / 2.0,
        eta=(plus + minus) / 2.0,
        b_interval=((blue[0] - red[1]) / 2.0, (blue[1] - red[0]) / 2.0),
        eta_interval=((blue[0] + red[0]) / 2.0, (blue[1] + red[1]) / 2.0),
        blue_interval=blue,
        red_interval=_minus(red),
    )


def slab_unit(s: np.ndarray, g: np.ndarray, a: np.ndarray, upper: float) -> Slab:
    r"""Return the slab when :math:`\eta = 1` and b is free: the hard margin and (SVM_s2).

    For a blue point the conditions bound b by :math:`g_i - 1`, for a red one, with the sense reversed, by
    :math:`1 - g_i`.
    """
    zero, full, blue = a <= 0.0, a >= upper, s > 0
    bound = np.where(blue, g - 1.0, 1.0 - g)
    interval = multiplier_interval(bound, np.where(blue, zero, full), np.where(blue, full, zero))
    b = _middle(interval)
    low, high = interval
    return Slab(b, 1.0, interval, (1.0, 1.0), (low + 1.0, high + 1.0), (low - 1.0, high - 1.0))


def slab_eta(s: np.ndarray, g: np.ndarray, a: np.ndarray, upper: float) -> Slab:
    r"""Return the slab when :math:`b = -\sum_i s_i a_i` is part of the matrix: (SVM_s3), (SVM_s5)."""
    b = float(-(s @ a))
    # Multipliers near a bound were moved there; without a bound the sum has the rounding of its terms only.
    rounding = _ROUNDING if math.isfinite(upper) else _ZERO_SUM
    b = b if abs(b) > rounding * float(a.sum()) else 0.0
    interval = _interval_of(g, a, upper)
    low, high = interval
    return Slab(b, _middle(interval), (b, b), interval, (b + low, b + high), (b - high, b - low))


def place_points(
    a: np.ndarray, upper: float, margin: np.ndarray, eta: float, size: float, squared: bool
) -> np.ndarray:
    r"""Return the place of each point, by Definitions 18.1 to 18.3.

    Parameters
    ----------
    a : ndarray of shape (l,)
        Multipliers; ``a == upper`` and ``a == 0`` are meant exactly.
    upper : float
        Their bound, infinite in the hard margin and with squared slacks.
    margin : ndarray of shape (l,)
        :math:`s_i f(x_i)`.
    eta : float
        Half of the slab's width, in the same unit.
    size : float
        Size of the terms that `margin` is the sum of.
    squared : bool
        Whether the slacks are squared, so that every positive multiplier means a positive slack.

    Returns
    -------
    ndarray of str, shape (l,)
        Entries from ``POINT_CLASSES``.
    """
    tight = _TIGHT * size
    inside = np.where(margin <= tight, _ON_HYPERPLANE, _IN_SLAB)
    positive = np.where(margin < -tight, _MISCLASSIFIED, inside)
    if not squared:
        positive = np.where(np.abs(margin - eta) <= tight, _TYPE_2, positive)
        positive = np.where(a < upper, _TYPE_1, positive)
    zero = np.where(margin > eta + tight, _OUTSIDE, _EXCEPTIONAL)
    return _NAMES[np.where(a > 0.0, positive, zero)]
