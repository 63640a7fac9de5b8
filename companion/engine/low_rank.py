r"""Matrices given by a factor, :math:`P = G G^\top + \operatorname{diag}(d)`: an interior-point method guesses.

The linear kernel has such a matrix. With :math:`w = G^\top x` as an unknown of its own, the multipliers of all
equations are the short vector :math:`v = (w, y)`, and with :math:`H = (G, A^\top)` the conditions for an optimum are

.. math::

    H v + d \circ x + q = z_\ell - z_u, \qquad G^\top x = w, \qquad A x = b, \qquad
    s_\ell z_\ell = s_u z_u = 0 .

A step of Mehrotra's method costs one Cholesky factorisation of :math:`H^\top D^{-1} H + \operatorname{diag}(I, 0)`,
whatever the number of variables.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from companion.engine.arithmetic import largest, ratio

__all__ = ["InteriorPoint", "guess_low_rank"]

_ITERATIONS = 60
_ENOUGH = 1e-10  # relative error of a guess
_BOUNDARY = 0.995  # the part of the way to the boundary that a step goes
_RIDGE = 1e-14  # on D, in units of the largest diagonal entry of P
_FLOOR = 1e-6  # |w|^2 may be 0, and a feature nothing but rounding: they count up to this part of what they are made of
_DISTANCE = 2.0  # of the start from the boundary: multipliers in units of the mean slope


class InteriorPoint(NamedTuple):
    """A point, the multipliers of the equations, and the state of each variable: -1, 1 at a bound, 0 free."""

    x: np.ndarray
    y: np.ndarray
    state: np.ndarray


class _Bounds:
    """The finite bounds in one list, lower ones first, with slacks ``s = sign (x - bound)``."""

    def __init__(self, lower: np.ndarray, upper: np.ndarray) -> None:
        below, above = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
        self.lower, self.upper = lower, upper
        self.n, self.index = lower.size, np.concatenate([below, above])
        self.sign = np.repeat([1.0, -1.0], [below.size, above.size])
        self.bound = np.concatenate([lower[below], upper[above]])

    def slack(self, x: np.ndarray) -> np.ndarray:
        return self.sign * (x[self.index] - self.bound)

    def total(self, values: np.ndarray) -> np.ndarray:
        """Return for each variable the sum over its bounds."""
        return np.bincount(self.index, values, minlength=self.n)


@np.errstate(over="ignore", invalid="ignore")  # it guesses; what overflows ends it
def guess_low_rank(
    G: np.ndarray,
    d: np.ndarray,
    q: np.ndarray,
    A: np.ndarray,
    b: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
) -> InteriorPoint:
    r"""Guess the solution of ``min 1/2 x'Px + q'x  s.t. A x = b, lower <= x <= upper`` for P = GG' + diag(d).

    Parameters
    ----------
    G : ndarray of shape (n, r)
    d, q, lower, upper : ndarray of shape (n,)
        d is nonnegative; at least one bound is finite, and ``lower < upper``.
    A : ndarray of shape (p, n)
    b : ndarray of shape (p,)

    Examples
    --------
    >>> one = np.ones(2)
    >>> guess = guess_low_rank(np.eye(2), 0 * one, np.array([-3.0, -0.5]), one[None], one[:1], 0 * one, one)
    >>> guess.state
    array([ 1, -1], dtype=int8)
    """
    r, H, bounds = G.shape[1], np.vstack([G.T, A]), _Bounds(lower, upper)
    core = np.diag((np.arange(len(H)) < r).astype(float))
    target = np.concatenate([np.zeros(r), b])
    roots, sizes = np.sqrt(np.einsum("ij,ij->i", G, G)), np.abs(H)
    ridge = _RIDGE * float((roots**2 + d).max(initial=0.0))
    x, v, z = _start(bounds, H, core, q, target)
    s = bounds.slack(x)
    best, found, s_before, z_before = np.inf, None, s, z
    for _ in range(_ITERATIONS):
        slope = v @ H + d * x + q
        wrong = slope - bounds.total(bounds.sign * z)
        miss = H @ x - target - core @ v
        products = s * z
        gap = float(products.sum())
        floor = _FLOOR * float(roots @ np.abs(x)) ** 2
        terms = sizes @ np.abs(x) + np.abs(target) + core @ np.abs(v)
        error = max(
            ratio(largest(wrong), max(largest(slope), largest(z))),
            largest(ratio(np.abs(miss), np.maximum(terms, _FLOOR * largest(terms)))),
            ratio(gap, max(float(v[:r] @ v[:r]), abs(float(q @ x)), abs(float(target @ v)), floor)),
        )
        if found is None or error < best:
            best = error
            found = InteriorPoint(x, v[r:], _read_state(bounds, s, z, s_before, z_before))
        if error < _ENOUGH or gap == 0.0 or np.isnan(error):
            break
        D = bounds.total(z / s) + d + ridge
        factor, info = dpotrf((H / D) @ H.T + core, lower=1, overwrite_a=1)
        if info != 0:
            break
        # Predictor: aim at s z = 0. It shows how far one can go, hence which mu to aim at.
        dx, _ = _step(factor, H, D, -slope, miss)
        ds = bounds.sign * dx[bounds.index] / s
        step = min(1.0, 1.0 / max(float((-ds).max()), float((1.0 + ds).max()), 1e-300))
        second = products * ds * (-1.0 - ds)
        ahead = max((1.0 - step) * gap + step * step * float(second.sum()), 0.0)
        # Corrector: aim at s z = mu, with the second-order term.
        change = (ahead / gap) ** 3 * gap / s.size - products - second
        dx, dv = _step(factor, H, D, bounds.total(bounds.sign * change / s) - wrong, miss)
        ds = bounds.sign * dx[bounds.index] / s
        dz = change / products - ds
        step = min(1.0, _BOUNDARY / max(float((-ds).max()), float((-dz).max()), 1e-300))
        s_before, z_before = s, z
        x, v, s, z = x + step * dx, v + step * dv, s * (1.0 + step * ds), z * (1.0 + step * dz)
    assert found is not None
    return found


def _step(
    factor: np.ndarray, H: np.ndarray, D: np.ndarray, right: np.ndarray, miss: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Solve ``D dx + H'dv = right, H dx - core dv = -miss``."""
    dv = dpotrs(factor, H @ (right / D) + miss, lower=1)[0]
    return (right - dv @ H) / D, dv


def _start(
    bounds: _Bounds, H: np.ndarray, core: np.ndarray, q: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return v by least squares, ``H'v = -q`` or nearly, and x and z such that all products ``s z`` are alike."""
    lower, upper = bounds.lower, bounds.upper
    width = float(np.median(upper - lower))
    M = H @ H.T + (largest(q) / width) * core
    v = np.linalg.lstsq(M, -(H @ q), rcond=1e-12)[0]
    g = v @ H + q
    unit = float(np.abs(g).mean())
    if unit == 0.0:  # q = 0: the slope at a point that meets the equations
        G, A = np.split(H, [int(core.trace())])
        x = np.clip(0.0, lower, upper)
        x = x + np.linalg.lstsq(A, target[len(G) :] - A @ x, rcond=None)[0]
        unit = float(np.abs((G @ x) @ G).mean())
    unit = _DISTANCE * (unit or 1.0)
    z_lower, z_upper = np.maximum(g, 0.0) + unit, np.maximum(-g, 0.0) + unit
    low, high = np.isfinite(lower), np.isfinite(upper)
    both = low & high
    w = np.where(both, upper - lower, 0.0)
    share = w * (z_upper / (z_lower + z_upper))
    mu = float((z_lower * share).sum()) / max(int(both.sum()), 1) or unit
    x = np.where(low, lower + mu / z_lower, np.where(high, upper - mu / z_upper, 0.0))
    x = np.where(both, lower + share, x)
    return x, v, np.concatenate([z_lower[low], z_upper[high]])


def _read_state(
    bounds: _Bounds, s: np.ndarray, z: np.ndarray, s_before: np.ndarray, z_before: np.ndarray
) -> np.ndarray:
    """Read the sets: near a solution the slack of an active bound shrinks, and its multiplier does not."""
    active = s * z_before < z * s_before
    return -np.sign(bounds.total(np.where(active, bounds.sign / s, 0.0))).astype(np.int8)
