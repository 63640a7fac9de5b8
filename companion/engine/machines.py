r"""The duals of the kernel machines: libsvm guesses which multipliers are at a bound, one exact system finishes.

A machine is a program

.. math:: \min_a \tfrac12 a^\top P a + q^\top a \quad \text{subject to} \quad A a = c, \quad 0 \le a \le K,

in which each variable belongs to one equation, with the coefficient +1 or -1. Once it is known which multipliers are
0, at K, or free, the optimum is the solution of a linear system of the free ones, for which only the rows of P that
belong to support vectors are needed.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

__all__ = ["Dense", "Finished", "Rows", "equations", "finish"]

_STEPS = 25  # systems that may be solved
_REFINEMENTS = 4
_RIDGE = 1e-12  # added to the matrix of the free variables, in units of its mean diagonal
_SIGN = 1e-11  # a wrong sign by this part of the terms is rounding
_EPS = float(np.finfo(float).eps)


class Rows(Protocol):
    """A symmetric matrix of which rows can be had."""

    def rows(self, index: np.ndarray) -> np.ndarray:
        """Return the rows with these indices."""


class Dense:
    """An array as `Rows`."""

    def __init__(self, P: np.ndarray) -> None:
        self.P = P

    def rows(self, index: np.ndarray) -> np.ndarray:
        """Return rows of the array."""
        return self.P[index]


class Finished(NamedTuple):
    """A point, the multipliers of the equations, the product P a, and the number of systems solved."""

    a: np.ndarray
    y: np.ndarray
    Pa: np.ndarray
    n_systems: int


class _Equations(NamedTuple):
    """Equations ``sum of sign_j a_j over group_j = i`` = c_i, and the matrix that takes their multipliers to A's."""

    group: np.ndarray
    sign: np.ndarray
    c: np.ndarray
    back: np.ndarray


def equations(A: np.ndarray, c: np.ndarray) -> _Equations:
    r"""Write :math:`A a = c` such that each variable is in one equation: :math:`s, \mathbf 1` become the two classes.

    Parameters
    ----------
    A : ndarray of shape (1, n) or (2, n)
        One row with entries +1 and -1, or such a row and :math:`\mathbf 1^\top`.
    c : ndarray
        Right side.

    Examples
    --------
    >>> equations(np.array([[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]]), np.array([0.0, 2.0])).c
    array([1., 1.])
    """
    n = A.shape[1]
    if len(A) == 1:
        return _Equations(np.zeros(n, dtype=int), A[0], c, np.ones((1, 1)))
    half = np.array([[0.5, 0.5], [-0.5, 0.5]])  # (1 + s)/2 and (1 - s)/2
    return _Equations((A[0] < 0.0).astype(int), np.ones(n), half @ c, half.T)


def finish(
    P: Rows,
    q: np.ndarray,
    A: np.ndarray,
    c: np.ndarray,
    upper: float,
    a: np.ndarray,
    state: np.ndarray,
) -> Finished | None:
    """Solve a machine from a guess of its active set.

    Parameters
    ----------
    P : Rows
        A positive semidefinite matrix.
    q : ndarray of shape (n,)
    A, c : ndarray
        See :func:`equations`.
    upper : float
        The bound K, or infinity.
    a : ndarray of shape (n,)
        A point near the solution.
    state : ndarray of int, shape (n,)
        -1 for a multiplier 0, 1 for one at K, 0 for a free one.

    Returns
    -------
    Finished or None
        None if the sets do not settle.
    """
    system, seen = _System(P, q, equations(A, c), upper), set()
    fewest = q.size
    for step in range(1, _STEPS + 1):
        key = state.tobytes()
        if key in seen:
            return None
        seen.add(key)
        a = np.where(state == 0, np.clip(a, 0.0, upper), np.where(state > 0, upper, 0.0))
        found = system.solve(a, state)
        if found is None:
            return None
        a, y, Pa, levels = found
        new = system.corrected(a, Pa, levels, state)
        if new is None:
            return Finished(np.clip(a, 0.0, upper), system.e.back @ y, Pa, step)
        changes = int(np.count_nonzero(new != state))
        if changes > 2 * fewest + 10:  # the sets drift away
            return None
        fewest, state = min(fewest, changes), new
    return None


class _System:
    """The linear systems of the free variables."""

    def __init__(self, P: Rows, q: np.ndarray, e: _Equations, upper: float) -> None:
        self.P, self.q, self.e, self.upper = P, q, e, upper
        self.size = 0.0  # of the terms of the gradient
        self.place = np.full(q.size, -1)
        self.store = np.zeros((0, q.size))

    def rows(self, index: np.ndarray) -> np.ndarray:
        """Return rows of P, and keep them."""
        missing = index[self.place[index] < 0]
        if missing.size:
            new = self.P.rows(missing)
            self.place[missing] = len(self.store) + np.arange(missing.size)
            self.store = np.concatenate([self.store, new]) if len(self.store) else new
        place = self.place[index]
        if place.size == len(self.store) and (place == np.arange(place.size)).all():
            return self.store
        return self.store[place]

    def solve(
        self, a: np.ndarray, state: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[tuple[float, float]]] | None:
        """Return a, the multipliers, P a, and the interval of each multiplier."""
        e, q = self.e, self.q
        free = np.flatnonzero(state == 0)
        used = np.flatnonzero((a != 0.0) | (state == 0))
        R = self.rows(used)
        at = np.searchsorted(used, free)
        R_free = R[at] if at.size < used.size else R
        Pa = a[used] @ R
        self.size = _size(Pa) + _size(q)
        groups = range(e.c.size)
        y = np.zeros(e.c.size)
        present = [i for i in groups if (e.group[free] == i).any()]
        if free.size:
            H = R_free[:, free]
            ridge = _RIDGE * float(H.trace()) / free.size
            H[np.diag_indices_from(H)] += ridge
            try:
                factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
            except LinAlgError:
                return None
            B = np.array([e.sign[free] * (e.group[free] == i) for i in present]).T
            W = cho_solve(factor, B, check_finite=False)
            schur = B.T @ W
            best = math.inf
            for _ in range(_REFINEMENTS):
                r = -(Pa[free] + q[free]) - e.sign[free] * y[e.group[free]]
                miss = e.c - np.bincount(e.group, e.sign * a, minlength=e.c.size)
                error = max(_size(r) / self.size, _size(miss[present]) / max(_size(a), 1e-300))
                if (error >= 0.5 * best and error < 1e-13) or error <= _EPS:
                    break
                best = min(error, best)
                t = cho_solve(factor, r, check_finite=False)
                dy = np.linalg.solve(schur, B.T @ t - miss[present])
                d = t - W @ dy
                a = a.copy()
                a[free] += d
                y[present] += dy
                Pa = Pa + d @ R_free
            if not np.isfinite(a).all():
                return None
            self.size = _size(Pa) + _size(q)
        miss = np.abs(e.c - np.bincount(e.group, e.sign * a, minlength=e.c.size))
        if _size(miss) > 1e-13 * max(float(np.abs(a).sum()), _size(e.c)):
            return None
        levels = [(y[i], y[i]) for i in groups]
        g = Pa + q
        for i in groups:
            if i in present:
                continue
            # at 0: g + sign y >= 0;  at K: g + sign y <= 0
            mine = e.group == i
            bound, positive = -g * e.sign, e.sign > 0.0
            from_below = mine & ((state < 0) == positive)
            from_above = mine & ~from_below
            low = float(bound[from_below].max(initial=-math.inf))
            high = float(bound[from_above].min(initial=math.inf))
            levels[i] = low, high
            y[i] = _middle(low, high)
        return a, y, Pa, levels

    def corrected(
        self,
        a: np.ndarray,
        Pa: np.ndarray,
        levels: list[tuple[float, float]],
        state: np.ndarray,
    ) -> np.ndarray | None:
        """Return the state with what is off moved, or None if nothing is."""
        e, small = self.e, _SIGN * self.size
        y = np.array([_middle(*level) for level in levels])
        g = Pa + self.q + e.sign * y[e.group]
        new = state.copy()
        free = state == 0
        tiny = _SIGN * _size(a)
        new[free & (a < -tiny)] = -1
        new[free & (a > self.upper + tiny)] = 1
        new[(state < 0) & (g < -small)] = 0
        new[(state > 0) & (g > small)] = 0
        return None if (new == state).all() else new


def _middle(low: float, high: float) -> float:
    if math.isfinite(low) and math.isfinite(high):
        return low + (high - low) / 2.0
    return low if math.isfinite(low) else high if math.isfinite(high) else 0.0


def _size(values: np.ndarray) -> float:
    return float(np.abs(values).max(initial=0.0))
