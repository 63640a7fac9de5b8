r"""From multipliers to hyperplanes: b and eta with the freedom that the optimum leaves, and the place of each point.

Let :math:`h = P a + q` be the gradient of the dual program at its solution a. The KKT conditions compare :math:`h_i`
with the hyperplanes of the slab: for a program in which b and :math:`\eta` are free,

.. math::

    \eta + s_i b \;\begin{cases} \le h_i & a_i = 0, \\ = h_i & 0 < a_i < K, \\ \ge h_i & a_i = K. \end{cases}

So the blue points alone bound :math:`\eta + b`, and the red points alone bound :math:`\eta - b`. A support vector of
type 1 turns the interval into a number. Without one an interval remains, every point of it belongs to an optimal
solution, and the midpoint is chosen. The tube of a regression is such a slab, with :math:`\eta = -\epsilon`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from companion.engine.arithmetic import Bounds, largest
from companion.results import Record

__all__ = [
    "POINT_CLASSES", "ROUNDING", "TIGHT", "Interval", "Slab", "balance", "middle", "multiplier_interval",
    "place_points", "slab_of", "snap",
]  # fmt: skip

Interval = tuple[float, float]

POINT_CLASSES = (
    "outside", "type 1", "type 2", "exceptional", "in slab", "on hyperplane", "misclassified", "undetermined",
)  # fmt: skip

ROUNDING = 1e-12  # numbers that differ by this part are equal: a multiplier and its bound, a parameter and its limit
_ZERO_SUM = 4e-15  # the sum s'a is zero up to rounding below this part of its terms
TIGHT = 1e-9  # a constraint is active when it misses equality by this part of its terms: the tolerance of a fit


@dataclass(frozen=True, eq=False, repr=False)
class Slab(Record):
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

    b: float = 0.0
    eta: float = 0.0
    b_interval: Interval = (0.0, 0.0)
    eta_interval: Interval = (0.0, 0.0)
    blue_interval: Interval = (0.0, 0.0)
    red_interval: Interval = (0.0, 0.0)

    @classmethod
    def of_b(cls, b: float, eta_interval: Interval) -> Slab:
        r"""Return the slab for a known b and the range of :math:`\eta`."""
        low, high = eta_interval
        edges = (b + low, b + high), (b - high, b - low)
        return cls(b, middle(eta_interval), (b, b), eta_interval, *edges)

    @property
    def epsilon(self) -> float:
        r"""Half of the width of a tube, which is a slab with :math:`\eta = -\epsilon`."""
        return 0.0 - self.eta

    @property
    def epsilon_interval(self) -> Interval:
        r"""The smallest and the largest :math:`\epsilon`."""
        low, high = self.eta_interval
        return 0.0 - high, 0.0 - low

    def moved(self, distance: float, unit: float = 1.0) -> Slab:
        """Return the slab for another origin of feature space, in another unit of w."""

        def move(interval: Interval, by: float = distance) -> Interval:
            return (interval[0] + by) / unit, (interval[1] + by) / unit

        b, eta = (self.b + distance) / unit, self.eta / unit
        edges = move(self.blue_interval), move(self.red_interval)
        return Slab(b, eta, move(self.b_interval), move(self.eta_interval, 0.0), *edges)


def snap(a: np.ndarray, upper: Bounds, lengths: np.ndarray | None = None) -> np.ndarray:
    """Return the multipliers with those moved to a bound that differ from it by rounding only.

    With the lengths of the features, a small multiplier of a long one stays if its part of w is no rounding.
    """
    small = a <= ROUNDING * largest(a)
    if lengths is not None:
        parts = a * lengths
        small &= parts <= ROUNDING * largest(parts)
    a = np.where(small, 0.0, a)
    return np.where(a >= (1.0 - ROUNDING) * upper, upper, a)  # an infinite bound is never met


def multiplier_interval(h: np.ndarray, at_zero: np.ndarray, at_upper: np.ndarray) -> Interval:
    """Return the interval that the conditions "<= h at zero, >= h at the upper bound, = h between" leave.

    Examples
    --------
    >>> h, a = np.array([1.0, 2.0, 5.0]), np.array([1.0, 0.5, 0.0])
    >>> multiplier_interval(h, a == 0.0, a == 1.0)
    (2.0, 2.0)
    >>> multiplier_interval(h[[0, 2]], a[[0, 2]] == 0.0, a[[0, 2]] == 1.0)
    (1.0, 5.0)
    """
    between = h[~(at_zero | at_upper)]
    if between.size:  # numbers that differ by rounding only
        low = high = float(between.sum()) / between.size
    else:
        low, high = float(h[at_upper].max(initial=-np.inf)), float(h[at_zero].min(initial=np.inf))
    if low > high:  # rounding
        low = high = (low + high) / 2.0
    return low, high


def middle(interval: Interval) -> float:
    """Return the midpoint, or the finite end, or 0."""
    low, high = interval
    if math.isfinite(low) and math.isfinite(high):
        return low + (high - low) / 2.0
    return low if math.isfinite(low) else high if math.isfinite(high) else 0.0


def slab_of(
    s: np.ndarray, h: np.ndarray, a: np.ndarray, upper: Bounds, b: float | None = None, eta: float | None = None
) -> Slab:  # fmt: skip
    r"""Return the slab for the multipliers a and the gradient h = P a + q.

    Where b and :math:`\eta` are free, the blue points bound :math:`\eta + b` and the red ones :math:`\eta - b`, and the
    optimal pairs are a rectangle in these coordinates. If :math:`\eta` is given, a blue point bounds b by :math:`h_i`,
    and a red one, with the sense reversed, by :math:`-h_i`. If b is given, it is in h, and every point bounds
    :math:`\eta`.
    """
    if np.ndim(upper):  # points whose slack costs nothing bound nothing
        s, h, a, upper = np.array([s, h, a, upper])[:, np.asarray(upper) > 0.0]
    zero, full, blue = a <= 0.0, a >= upper, s > 0.0
    if b is not None:
        return Slab.of_b(b, multiplier_interval(h, zero, full) if eta is None else (eta, eta))
    if eta is not None:
        at_low, at_high = np.where(blue, zero, full), np.where(blue, full, zero)
        low, high = multiplier_interval(s * h, at_low, at_high)
        edges = (low + eta, high + eta), (low - eta, high - eta)
        return Slab(middle((low, high)), eta, (low, high), (eta, eta), *edges)
    plus, minus = (multiplier_interval(h[c], zero[c], full[c]) for c in (blue, ~blue))
    top, bottom = middle(plus), middle(minus)
    return Slab(
        b=(top - bottom) / 2.0,
        eta=(top + bottom) / 2.0,
        b_interval=((plus[0] - minus[1]) / 2.0, (plus[1] - minus[0]) / 2.0),
        eta_interval=((plus[0] + minus[0]) / 2.0, (plus[1] + minus[1]) / 2.0),
        blue_interval=plus,
        red_interval=(-minus[1] + 0.0, -minus[0] + 0.0),
    )


def balance(s: np.ndarray, a: np.ndarray, upper: float) -> float:
    r"""Return :math:`-\sum_i s_i a_i`, the b of a program in whose matrix it is, or 0 if that is rounding.

    Multipliers near a bound were moved there; without a bound the sum has the rounding of its terms only.
    """
    b, rounding = float(-(s @ a)), ROUNDING if math.isfinite(upper) else _ZERO_SUM
    return b if abs(b) > rounding * float(a.sum()) else 0.0


def place_points(
    a: np.ndarray, upper: Bounds, margin: np.ndarray, eta: float, size: float, squared: bool
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
    tight = TIGHT * size
    conditions = {
        "outside": (a <= 0.0) & (margin > eta + tight),
        "exceptional": (a <= 0.0) & (a < upper),
        "type 1": (a < upper) & (not squared),
        "type 2": (np.abs(margin - eta) <= tight) & (not squared),
        "misclassified": margin < -tight,
        "on hyperplane": margin <= tight,
    }
    return np.select(list(conditions.values()), list(conditions), default="in slab")
