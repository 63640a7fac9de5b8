r"""The duals of the kernel machines: from a guess of the active set to the solution.

A machine is a program

.. math:: \min_a \tfrac12 a^\top P a + q^\top a \quad \text{subject to} \quad A a = c, \quad 0 \le a \le K,

in which each variable belongs to one equation, with the coefficient +1 or -1. Once it is known which multipliers are
0, at K, or free, the optimum is the solution of a linear system of the free ones. It needs the rows of P that belong
to support vectors, and keeps those of the free ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from companion.engine.arithmetic import EPS, Bounds, apart, is_symmetric, largest, ratio

__all__ = ["Finished", "Rows", "equations", "finish", "is_psd"]

_STEPS = 40  # systems that may be solved in a row
_DELTA = 1e-2  # the first proximal parameter, in units of the mean diagonal of P
_PROXIMAL_STEPS = 30
_REFINEMENTS = 10
_RIDGES = (1e-13, 1e-11, 1e-9)  # added to the matrix of a system, in units of its mean diagonal
_SIGN = 1e-14  # a wrong sign by this part of the terms is rounding
_MISS = 1e-12  # and an equation is met up to this part
_BLOCK = 2**22  # entries of rows that are computed at once and not kept
_TINY = float(np.finfo(float).tiny)


class Rows(Protocol):
    """A symmetric positive semidefinite matrix of which rows can be had, and products, if these are cheap."""

    @property
    def product(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """Return P a for a, if that is cheap."""

    def rows(self, index: np.ndarray) -> np.ndarray:
        """Return the rows with these indices as a new array."""

    def diagonal(self) -> np.ndarray:
        """Return the diagonal."""


class Finished(NamedTuple):
    """A point, the multipliers of the equations, the product P a, and the number of systems solved."""

    a: np.ndarray
    y: np.ndarray
    Pa: np.ndarray
    n_systems: int


class _Equations(NamedTuple):
    """The equations: sign_j a_j summed over the variables of group i gives c_i. `back` takes multipliers to A's."""

    group: np.ndarray
    sign: np.ndarray
    c: np.ndarray
    back: np.ndarray

    def sums(self, a: np.ndarray) -> np.ndarray:
        """Return the left sides."""
        return np.bincount(self.group, self.sign * a, minlength=self.c.size)


def equations(A: np.ndarray, c: np.ndarray) -> _Equations:
    r"""Write :math:`A a = c` such that each variable is in one equation: :math:`s, \mathbf 1` become the two classes.

    Parameters
    ----------
    A : ndarray of shape (0, n), (1, n) or (2, n)
        Nothing, one row with entries +1 and -1, or such a row and :math:`\mathbf 1^\top`.
    c : ndarray
        Right side.

    Examples
    --------
    >>> equations(np.array([[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]]), np.array([0.0, 2.0])).c
    array([1., 1.])
    """
    n = A.shape[1]
    if not len(A):
        return _Equations(np.zeros(n, dtype=int), np.zeros(n), np.zeros(1), np.zeros((0, 1)))
    if len(A) == 1:
        return _Equations(np.zeros(n, dtype=int), A[0], c, np.ones((1, 1)))
    half = np.array([[0.5, 0.5], [-0.5, 0.5]])  # (1 + s)/2 and (1 - s)/2
    return _Equations((A[0] < 0.0).astype(int), np.ones(n), half @ c, half.T)


def finish(
    P: Rows,
    q: np.ndarray,
    A: np.ndarray,
    c: np.ndarray,
    upper: Bounds,
    a: np.ndarray,
    state: np.ndarray,
    max_iter: int = 1000,
) -> Finished | None:
    r"""Solve a machine from a guess of its active set.

    Each system gives the minimum for the present sets; variables beyond a bound go there, and those whose multiplier
    has the wrong sign become free. Where P is nearly singular and the guess rough, the sets may never settle. Then
    the proximal point algorithm leads to the solution: the minimum of
    :math:`\tfrac12 a^\top P a + q^\top a + \tfrac{\delta}2 \|a - a_0\|^2` is the next :math:`a_0`, and
    :math:`\delta` becomes smaller as long as the sets settle.

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
    max_iter : int
        Largest number of systems.

    Returns
    -------
    Finished or None
        None if the sets do not settle.
    """
    system = _System(P, q, equations(A, c), upper, a, max_iter)
    state = np.asarray(state, dtype=np.int8)
    settled = system.settle(a, state) or system.by_proximal_points(a, state)
    if settled is None:
        return None
    point, _ = settled
    a = np.clip(point.a, 0.0, upper)
    if system.missed(a).any():
        return None
    return Finished(a, system.e.back @ point.y, point.Pa, system.n_systems)


class _Point(NamedTuple):
    a: np.ndarray
    y: np.ndarray
    Pa: np.ndarray


class _System:
    """The linear systems of the free variables, and the rows of P that they need."""

    def __init__(
        self, P: Rows, q: np.ndarray, e: _Equations, upper: Bounds, a: np.ndarray, max_iter: int
    ) -> None:
        self.P, self.q, self.e, self.upper, n = P, q, e, upper, q.size
        self.max_iter = max_iter
        self.place = np.full(n, -1)  # of each variable in the store
        self.index = np.zeros(0, dtype=int)  # of each row of the store
        self.store = np.zeros((0, n))
        self.base = np.zeros(n)  # P a of the variables that are not in the store
        self.fixed = np.zeros(n)  # and these variables
        self.delta, self.centre = 0.0, a
        self.n_systems, self.mean = 0, float(P.diagonal().mean()) or 1.0
        self._start(a)

    def stay_near(self, a: np.ndarray, delta: float) -> None:
        """Add the distance from a to the objective, in units of the mean diagonal of P."""
        self.delta, self.centre = delta * self.mean, a

    def inside(self, a: np.ndarray, state: np.ndarray) -> np.ndarray:
        """Return a with its entries within the bounds, and at them where the state says so."""
        return np.where(
            state == 0, np.clip(a, 0.0, self.upper), np.where(state > 0, self.upper, 0.0)
        )

    def settle(self, a: np.ndarray, state: np.ndarray) -> tuple[_Point, np.ndarray] | None:
        """Return the minimum and its sets; None if they run in a circle or change more and more."""
        seen, fewest = set(), a.size
        for _ in range(_STEPS):
            if (key := state.tobytes()) in seen or self.n_systems >= self.max_iter:
                return None
            seen.add(key)
            found = self._minimum(self.inside(a, state), state)
            if found is None:
                return None
            new = self._corrected_state(found, state)
            if (new == state).all():  # and now without the rounding of one solution
                found = self.refined(found, state)
                new = self._corrected_state(found, state)
            changes = int(np.count_nonzero(new != state))
            if changes == 0:
                return found, state
            if changes > 2 * fewest + 10:
                return None
            fewest, a, state = min(fewest, changes), found.a, new
        return None

    def by_proximal_points(
        self, a: np.ndarray, state: np.ndarray
    ) -> tuple[_Point, np.ndarray] | None:
        """Return the end of proximal steps, whose systems are well conditioned; None if there is none."""
        delta, less, found = _DELTA, 0.01, None
        for _ in range(_PROXIMAL_STEPS):
            self.stay_near(a, delta)
            before, settled = self.n_systems, self.settle(a, state)
            if settled is None:
                if self.n_systems >= self.max_iter:
                    break
                delta, less = 10.0 * delta, 0.5
                continue
            if self.n_systems == before + 1:  # the sets stay as they are: on with longer steps
                less *= 0.1
            found, state = settled
            step, a = largest(found.a - a), self.inside(found.a, state)
            if self.delta * step <= EPS * self.size(found):
                break
            delta *= less
        self.stay_near(a, 0.0)
        if found is None:
            return None
        return self.settle(a, state) or (self.refined(found, state), state)

    # -- rows and products

    def _start(self, a: np.ndarray) -> None:
        """Compute the rows of the support vectors; keep those of the free ones, and all if they are few."""
        support = np.flatnonzero(a)
        if self.P.product is not None:
            return
        if support.size * a.size <= _BLOCK:
            self.keep(support)
            return
        full = np.flatnonzero(a >= self.upper)
        self.keep(np.flatnonzero((a > 0.0) & (a < self.upper)))
        for part in np.array_split(full, full.size * a.size // _BLOCK + 1):
            if part.size:
                self.base += a[part] @ self.P.rows(part)
        self.fixed[full] = a[full]

    def keep(self, index: np.ndarray) -> None:
        """Have these rows in the store."""
        new = index[self.place[index] < 0]
        if not new.size:
            return
        rows, old = self.P.rows(new), self.index.size
        self.place[new] = old + np.arange(new.size)
        self.index = np.concatenate([self.index, new])
        if old + new.size > len(self.store):
            more = np.empty((max(0, 2 * old - new.size) if old else 0, rows.shape[1]))
            self.store = np.concatenate([self.store[:old], rows, more]) if old else rows
        else:
            self.store[old : old + new.size] = rows
        known = self.fixed[new]
        if known.any():
            self.base -= known @ rows
            self.fixed[new] = 0.0

    def product(self, a: np.ndarray) -> np.ndarray:
        """Return P a, from explicit features if P has them: there less cancels."""
        if self.P.product is not None:
            return self.P.product(a)
        self.keep(np.flatnonzero(a != self.fixed))
        return self.base + a[self.index] @ self.store[: self.index.size]

    def gradient(self, point: _Point) -> np.ndarray:
        """Return the gradient of the objective."""
        g = point.Pa + self.q
        return np.asarray(g + self.delta * (point.a - self.centre) if self.delta else g)

    def size(self, point: _Point) -> float:
        """Return the size of the terms of the gradient."""
        return max(largest(point.Pa) + largest(self.q), math.ulp(0.0))

    def missed(self, a: np.ndarray) -> np.ndarray:
        """Return for each equation whether a misses it by more than rounding."""
        size = max(float(np.abs(a).sum()), largest(self.e.c))
        return np.asarray(np.abs(self.e.c - self.e.sums(a)) > _MISS * size)

    # -- the systems

    def _minimum(self, a: np.ndarray, state: np.ndarray) -> _Point | None:
        """Return the minimum over the free variables, which may miss their bounds; None if there is none."""
        free = np.flatnonzero(state == 0)
        self.keep(free)
        point = _Point(a, np.zeros(self.e.c.size), self.product(a))
        self.n_systems += 1
        self.free, self.present = free, np.unique(self.e.group[free][self.e.sign[free] != 0.0])
        if free.size:
            if not self._factorise():
                return None
            point = self._corrected(point)
            if not np.isfinite(point.a).all():
                return None
        return self._with_levels(point, state)

    def _factorise(self) -> bool:
        """Factor the matrix of the free variables; return whether it is positive definite."""
        if self.free.size == self.index.size:
            self.free = self.index.copy()  # all rows, in their order
        free, e = self.free, self.e
        self.B = e.sign[free, None] * (e.group[free, None] == self.present)
        self.gamma = self.mean / max(float(free.size), 1.0)
        for ridge in _RIDGES if self.P.product is None else _RIDGES[1:]:
            H = self._matrix()
            H += self.gamma * (self.B @ self.B.T)
            diagonal = np.einsum("ii->i", H)  # a view that can be written
            diagonal += ridge * diagonal.mean() + self.delta
            self.factor, missing = dpotrf(H.T, lower=1, clean=0, overwrite_a=1)
            if missing:
                continue
            self.W = dpotrs(self.factor, self.B, lower=1)[0]
            self.schur = self.B.T @ self.W
            return True
        return False

    def _matrix(self) -> np.ndarray:
        """Return the part of P that belongs to the free variables, as a new array."""
        if self.free.size == self.index.size:
            return self.store[: self.index.size, self.index]
        return np.asarray(self.store[np.ix_(self.place[self.free], self.free)])

    def _residuals(self, point: _Point) -> tuple[np.ndarray, np.ndarray]:
        free, e = self.free, self.e
        r = -self.gradient(point)[free] - e.sign[free] * point.y[e.group[free]]
        return r, e.c - e.sums(point.a)

    def _corrected(self, point: _Point) -> _Point:
        """Add the solution of the system for the present residuals."""
        r, miss = self._residuals(point)
        r = r + self.gamma * (self.B @ miss[self.present])
        t = dpotrs(self.factor, r, lower=1)[0]
        dy = np.linalg.solve(self.schur, self.B.T @ t - miss[self.present])
        a, y = point.a.copy(), point.y.copy()
        a[self.free] += t - self.W @ dy
        y[self.present] += dy
        return _Point(a, y, self.product(a))

    def refined(self, point: _Point, state: np.ndarray) -> _Point:
        """Repeat the correction while it helps."""
        if not self.free.size:
            return point
        error = math.inf
        for _ in range(_REFINEMENTS):
            better = self._corrected(point)
            r, miss = self._residuals(better)
            missed = ratio(largest(miss), float(np.abs(better.a).sum()))
            then = max(largest(r) / self.size(better), missed)
            if not then < error:
                break
            point, error = better, then
            if error <= EPS:
                break
        return self._with_levels(point, state)

    def _with_levels(self, point: _Point, state: np.ndarray) -> _Point:
        """Set the multipliers of equations without a free variable to the middle of what the others allow."""
        e, y = self.e, point.y.copy()
        for i in range(y.size):
            if i in self.present:
                continue
            mine = e.group == i
            bound = -self.gradient(point) * e.sign
            below = (state < 0) == (e.sign > 0.0)
            least = bound[mine & below].max(initial=-np.inf)
            ends = np.array([least, bound[mine & ~below].min(initial=np.inf)])
            known = ends[np.isfinite(ends)]
            y[i] = known.mean() if known.size else 0.0
        return point._replace(y=y)

    def _corrected_state(self, point: _Point, state: np.ndarray) -> np.ndarray:
        """Return the state with what is off moved."""
        e, a, new = self.e, point.a, state.copy()
        g = self.gradient(point) + e.sign * point.y[e.group]
        free, tiny = state == 0, _SIGN * largest(a)
        new[free & (a < -tiny)] = -1
        new[free & (a > self.upper + tiny)] = 1
        noise = 2.0 * largest(self._residuals(point)[0])
        wrong = state * g > max(_SIGN * self.size(point), noise)
        new[wrong & (self.upper > 0.0)] = 0
        for i in np.flatnonzero(self.missed(a)):
            if i not in self.present:  # nothing is free to meet the equation: take what is nearest
                new[np.where(e.group == i, np.abs(g), np.inf).argmin()] = 0
        return new


def is_psd(P: np.ndarray, name: str) -> bool:
    """Return whether a matrix is positive semidefinite up to rounding, by a Cholesky factor.

    Raises
    ------
    ValueError
        If it is not symmetric.
    """
    n = len(P)
    if not is_symmetric(P):
        skew = np.abs(P - P.T)
        i, j = np.unravel_index(int(skew.argmax()), P.shape)
        one, two = apart(P[i, j], P[j, i])
        places = f"{one} at [{i}, {j}] and {two} at [{j}, {i}]"
        raise ValueError(f"{name} must be symmetric, got {places}")
    shifted = P.T.copy(order="F")
    shifted[np.diag_indices(n)] += 1e-10 * max(float(np.trace(P)), 0.0) + _TINY
    return bool(dpotrf(shifted, lower=1, clean=0, overwrite_a=1)[1] == 0)
