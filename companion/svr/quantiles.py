r"""The quantile lemma: for the optimal w, the margins are order statistics of the offsets.

For fixed w and :math:`s_i = y_i - \langle w, \varphi(x_i)\rangle`, the objective is, up to a constant, C times

.. math:: \frac{\nu}{2}(u - \ell) + \frac1m \sum_i \max(s_i - u, 0) + \frac1m \sum_i \max(\ell - s_i, 0),
    \qquad u = b + \epsilon, \quad \ell = b - \epsilon,

a sum of a function of u and of one of :math:`\ell`. With :math:`k = m\nu/2`, the first is least where at most k of
the numbers :math:`s_i` exceed u, and at least k are u or more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from companion.checks import as_scalar, as_vector
from companion.svm.slab import ROUNDING, Interval, Slab, middle

__all__ = ["tube_between", "tube_from_offsets"]


def tube_from_offsets(offsets: Any, nu: float, b: float | None = None) -> Slab:
    r"""Return b and :math:`\epsilon` of nu-SV regression for a given w, with all their optimal values.

    Parameters
    ----------
    offsets : array-like of shape (m,)
        The numbers :math:`s_i = y_i - \langle w, \varphi(x_i)\rangle`.
    nu : float
        At least 0.
    b : float, optional
        The intercept, where the program with a penalized b has determined it.

    Returns
    -------
    Slab
        For :math:`k = m\nu/2`, the red margin :math:`b + \epsilon` is the (k+1)-th largest offset, k rounded down, and
        any number from there to the k-th largest if k is an integer; the blue margin :math:`b - \epsilon` likewise
        from below. With b given, :math:`\epsilon` is the (k+1)-th largest :math:`|s_i - b|`, :math:`k = m\nu`. For
        :math:`\nu > 1`, :math:`\epsilon = 0` and b is a median.

    Notes
    -----
    Source: made precise here; it implies Propositions 20.2 and 20.6 and gives b and :math:`\epsilon` where there is no
    support vector of type 1.

    Examples
    --------
    >>> tube = tube_from_offsets([5.0, 1.0, 4.0, -2.0, 3.0, 0.0], nu=0.5)
    >>> tube.red_interval, tube.blue_interval, tube.b, tube.epsilon
    ((4.0, 4.0), (0.0, 0.0), 2.0, 2.0)
    >>> tube_from_offsets([5.0, 1.0, 4.0, -2.0, 3.0, 0.0], nu=2 / 3).red_interval
    (3.0, 4.0)
    """
    s = as_vector(offsets, "offsets")
    if s.size == 0:
        raise ValueError("offsets must have at least one entry, got an empty vector")
    nu = as_scalar(nu, "nu", at_least=0.0)
    if b is not None:
        distance = np.abs(s - as_scalar(b, "b"))
        low, high = _from_above(distance, s.size * nu)
        return Slab.of_b(b, (-max(high, 0.0), -max(low, 0.0)))
    if nu > 1.0:
        median = _from_above(s, s.size / 2.0)
        return Slab(middle(median), 0.0, median, (0.0, 0.0), median, median)
    k = s.size * nu / 2.0
    low, high = _from_above(-s, k)
    return tube_between((-high + 0.0, -low + 0.0), _from_above(s, k))


def _from_above(values: np.ndarray, k: float) -> Interval:
    """Return the numbers that at most k of the values exceed and at least k reach."""
    ordered = np.concatenate([[np.inf], np.sort(values)[::-1], [-np.inf]])
    m, whole = values.size, round(k)
    if abs(k - whole) <= ROUNDING * max(k, 1.0):
        return float(ordered[min(whole, m) + 1]), float(ordered[min(whole, m)])
    level = float(ordered[min(int(k), m) + 1])
    return level, level


def tube_between(blue: Interval, red: Interval) -> Slab:
    r"""Return the tube for the ranges of :math:`b - \epsilon` and of :math:`b + \epsilon`.

    Where some pairs are not in order, the midpoints of the ranges of b and :math:`\epsilon` are optimal all the same.

    Examples
    --------
    >>> tube = tube_between((0.0, 1.0), (2.0, 2.0))
    >>> tube.b, tube.epsilon, tube.b_interval, tube.epsilon_interval
    (1.25, 0.75, (1.0, 1.5), (0.5, 1.0))
    """
    b_interval = (max(red[0], blue[0]) + blue[0]) / 2.0, (red[1] + min(blue[1], red[1])) / 2.0
    eta_interval = -max(red[1] - blue[0], 0.0) / 2.0, -max(red[0] - blue[1], 0.0) / 2.0
    b, eta = middle(b_interval), middle(eta_interval)
    if red[0] >= blue[1]:
        b, eta = (middle(blue) + middle(red)) / 2.0, (middle(blue) - middle(red)) / 2.0
    return Slab(b, eta, b_interval, eta_interval, blue, red)
