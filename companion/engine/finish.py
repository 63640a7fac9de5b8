r"""The finishing loop: from a guess of the active set to the solution, by linear systems; and those of kernel machines.

Once it is known which variables are at a bound and which are free, the optimum is the solution of a linear system of
the free ones. :func:`settle` solves it, looks at bounds and signs, corrects the sets, and ends when they stay as they
are. The linear algebra is that of a `System`: dense or sparse factors of any program (`companion.engine.quadratic`),
the system with w as a variable (`companion.engine.weights`), the Gram matrix of the columns with a sign
(`companion.regression.signs`), or, here, Cholesky factors for the dual of a machine,

.. math:: \min_a \tfrac12 a^\top P a + q^\top a \quad \text{subject to} \quad A a = c, \quad 0 \le a \le K,

in which each variable belongs to one equation, with the coefficient +1 or -1. That needs the rows of P that belong to
support vectors, and keeps those of the free ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from companion import arithmetic
from companion.arithmetic import EPS, ROUNDING, TINY, Bounds, apart, is_symmetric, largest, ratio

_STEPS = 40  # systems that may be solved in a row
_DELTA = 1e-2  # the first proximal parameter, in units of the mean diagonal of P
_PROXIMAL_STEPS = 100
REFINEMENTS = 10  # of the solution of a system, while they help
_RIDGES = (1e-13, 1e-11, 1e-9)  # added to the matrix of a system, in units of its mean diagonal
_SIGN = 1e-14  # a wrong sign by this part of the terms, 45 eps, is rounding


Point = TypeVar("Point")
Solve = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]  # of two right sides


class System(Protocol[Point]):
    """The linear algebra of a program, for :func:`settle`. A state is -1 at the lower bound, 0 free, 1 at the upper."""

    def minimum(self, point: Point, state: np.ndarray) -> Point | None:
        """Solve the system of the free variables, and refine the solution; return None if there is none."""

    def corrected(self, point: Point, state: np.ndarray) -> np.ndarray:
        """Return the state with variables beyond a bound at it, and those whose multiplier has the wrong sign free."""


class Proximal(System[Point], Protocol[Point]):
    """A system that has one with a proximal term, for :func:`settle_near`."""

    def near(self, point: Point, delta: float) -> System[Point]:
        """Return the system with a proximal term whose centre is the point; delta is in units of the diagonal."""


class Settled(NamedTuple, Generic[Point]):
    """The last point and its state, whether this stayed as it was, and the number of systems."""

    point: Point
    state: np.ndarray
    ok: bool
    n_systems: int


def settle(
    system: System[Point], point: Point, state: np.ndarray, rounds: int,
    accept: Callable[[Point], bool] = lambda point: True,
) -> Settled[Point]:  # fmt: skip
    """Solve systems until the sets stay as they are; give up if they run in a circle or change more and more.

    Parameters
    ----------
    system : System
    point, state
        The guess.
    rounds : int
        Largest number of systems.
    accept : callable
        Says of a point whose sets stay if it is the solution.
    """
    seen, fewest, n = set[bytes](), state.size, 0
    while n < rounds and state.tobytes() not in seen:
        seen.add(state.tobytes())
        found, n = system.minimum(point, state), n + 1
        if found is None:
            break
        point, new = found, system.corrected(found, state)
        changes = int(np.count_nonzero(new != state))
        if changes == 0:
            return Settled(point, new, accept(point), n)
        if changes > 2 * fewest + 10:
            break
        fewest, state = min(fewest, changes), new
    return Settled(point, state, False, n)


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
    P: Rows, q: np.ndarray, A: np.ndarray, c: np.ndarray, upper: Bounds, a: np.ndarray, state: np.ndarray,
    max_iter: int = 1000,
) -> Finished | None:  # fmt: skip
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
    mean = float(P.diagonal().mean()) or 1.0
    system = _Machine(_Store(P, a, upper), q, equations(A, c), upper, mean)
    point = _Point(a, np.zeros(system.e.c.size), 0.0 * a)
    settled = settle_near(system, point, np.asarray(state, dtype=np.int8), max_iter)
    a = np.clip(settled.point.a, 0.0, upper)
    if not settled.ok or system.missed(a).any():
        return None
    return Finished(a, system.e.back @ settled.point.y, settled.point.Pa, settled.n_systems)


def settle_near(
    system: Proximal[Point], point: Point, state: np.ndarray, most: int,
    accept: Callable[[Point], bool] = lambda point: True,
) -> Settled[Point]:  # fmt: skip
    r"""Settle the sets, by the proximal point algorithm where they do not settle by themselves.

    The minimum of the objective plus :math:`\tfrac{\delta}2 \|x - x_0\|^2` is the next :math:`x_0`. These systems are
    well conditioned; and :math:`\delta` becomes smaller as long as the sets settle.
    """
    found = settle(system, point, state, min(_STEPS, most), accept)
    n, delta, less = found.n_systems, _DELTA, 0.01
    for _ in range(_PROXIMAL_STEPS):
        if found.ok or n >= most:
            break
        near = settle(system.near(point, delta), point, state, min(_STEPS, most - n))
        n += near.n_systems
        if not near.ok:
            delta, less = 4.0 * delta, 0.5
            continue
        point, state, delta = near.point, near.state, delta * less
        if near.n_systems == 1:  # the sets stay as they are: they may be the right ones
            less *= 0.1
            found = settle(system, point, state, min(_STEPS, most - n), accept)
            n += found.n_systems
    return (found if found.ok else Settled(point, state, False, n))._replace(n_systems=n)


class _Point(NamedTuple):
    """Multipliers, those of the equations, and P a."""

    a: np.ndarray
    y: np.ndarray
    Pa: np.ndarray


class _Store:
    """The rows of P that were asked for, and products with P."""

    def __init__(self, P: Rows, a: np.ndarray, upper: Bounds) -> None:
        self.P, n = P, a.size
        self.place = np.full(n, -1)  # of each variable in the store
        self.index = np.zeros(0, dtype=int)  # of each row of the store
        self.rows = np.zeros((0, n))
        self.base = np.zeros(n)  # P a of the variables that are not in the store
        self.fixed = np.zeros(n)  # and these variables
        if P.product is not None:
            return
        support = a.nonzero()[0]
        full = support[(a >= upper)[support] & (support.size * n > arithmetic.BLOCK)]
        self.fixed[full] = a[full]
        self.keep((a != self.fixed).nonzero()[0])
        if full.size:
            for part in np.array_split(full, full.size * n // arithmetic.BLOCK + 1):
                self.base += a[part] @ P.rows(part)

    def keep(self, index: np.ndarray) -> None:
        """Have these rows in the store."""
        new = index[self.place[index] < 0]
        if not new.size:
            return
        rows, old = self.P.rows(new), self.index.size
        self.place[new] = old + np.arange(new.size)
        self.index = np.concatenate([self.index, new])
        self.rows = np.concatenate([self.rows, rows]) if old else rows
        known = self.fixed[new]
        if known.any():
            self.base -= known @ rows
            self.fixed[new] = 0.0

    def product(self, a: np.ndarray) -> np.ndarray:
        """Return P a, from explicit features if P has them: there less cancels."""
        if self.P.product is not None:
            return self.P.product(a)
        self.keep((a != self.fixed).nonzero()[0])
        return self.base + a[self.index] @ self.rows

    def block(self, free: np.ndarray) -> np.ndarray:
        """Return the part of P that belongs to these variables, as a new array."""
        self.keep(free)
        return np.asarray(self.rows[self.place[free][:, None], free])


@dataclass(frozen=True)
class _Machine(Proximal[_Point]):
    """The linear algebra of a machine, with the distance from a centre as a proximal term, if delta is positive."""

    store: _Store
    q: np.ndarray
    e: _Equations
    upper: Bounds
    mean: float  # of the diagonal of P
    delta: float = 0.0
    centre: np.ndarray | float = 0.0

    def near(self, point: _Point, delta: float) -> _Machine:
        """Return the system with a proximal term."""
        return replace(self, delta=delta * self.mean, centre=np.clip(point.a, 0.0, self.upper))

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
        return np.asarray(np.abs(self.e.c - self.e.sums(a)) > ROUNDING * size)

    def minimum(self, point: _Point, state: np.ndarray) -> _Point | None:
        """Return the minimum over the free variables, which may miss their bounds; None if there is none.

        The correction is repeated while it helps.
        """
        bounds, free = np.where(state > 0, self.upper, 0.0), (state == 0).nonzero()[0]
        a = np.where(state == 0, np.clip(point.a, 0.0, self.upper), bounds)
        point = _Point(a, np.zeros(self.e.c.size), self.store.product(a))
        solve = self.factor(free) if free.size else None
        if solve is None:
            return None if free.size else self.with_levels(point, state)
        missing, error = self.residuals(point, free), math.inf
        for _ in range(REFINEMENTS):
            da, dy = solve(*missing)
            a = point.a.copy()
            a[free] += da
            better = _Point(a, point.y + dy, self.store.product(a))
            missing = r, miss = self.residuals(better, free)
            missed = ratio(largest(miss), float(np.abs(a).sum()))
            then = max(largest(r) / self.size(better), missed)
            if not then < 0.5 * error:
                break
            point, error = better, then
            if error <= EPS:
                break
        return self.with_levels(point, state) if error < math.inf else None

    def factor(self, free: np.ndarray) -> Solve | None:
        """Factor the matrix of the free variables; None if it is not positive definite."""
        e = self.e
        present = np.bincount(e.group[free], np.abs(e.sign[free])).nonzero()[0]
        B = e.sign[free, None] * (e.group[free, None] == present)
        gamma = self.mean / float(free.size)
        for ridge in _RIDGES if self.store.P.product is None else _RIDGES[1:]:
            H = self.store.block(free)
            H += gamma * (B @ B.T)
            diagonal = H.reshape(-1)[:: free.size + 1]  # a view
            diagonal += ridge * diagonal.mean() + self.delta
            cholesky, missing = dpotrf(H.T, lower=1, clean=0, overwrite_a=1)
            if not missing:
                break
        else:
            return None
        W = dpotrs(cholesky, B, lower=1)[0]
        inverse = np.linalg.inv(B.T @ W)

        def solve(r: np.ndarray, miss: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            dy, miss = np.zeros(e.c.size), miss[present]
            t = dpotrs(cholesky, r + gamma * (B @ miss), lower=1)[0]
            dy[present] = inverse @ (B.T @ t - miss)
            return t - W @ dy[present], dy

        return solve

    def residuals(self, point: _Point, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what the free variables' gradient and the equations miss."""
        r = -self.gradient(point)[free] - self.e.sign[free] * point.y[self.e.group[free]]
        return r, self.e.c - self.e.sums(point.a)

    def with_levels(self, point: _Point, state: np.ndarray) -> _Point:
        """Set the multipliers of equations without a free variable to the middle of what the others allow."""
        e, y = self.e, point.y.copy()
        for i in self.without_free(state):
            mine = e.group == i
            bound = -self.gradient(point) * e.sign
            below = (state < 0) == (e.sign > 0.0)
            least = bound[mine & below].max(initial=-np.inf)
            ends = np.array([least, bound[mine & ~below].min(initial=np.inf)])
            known = ends[np.isfinite(ends)]
            y[i] = known.mean() if known.size else 0.0
        return point._replace(y=y)

    def without_free(self, state: np.ndarray) -> np.ndarray:
        """Return the equations that have no free variable."""
        free = (state == 0) & (self.e.sign != 0.0)
        return np.flatnonzero(np.bincount(self.e.group, free, self.e.c.size) == 0.0)

    def corrected(self, point: _Point, state: np.ndarray) -> np.ndarray:
        """Return the state with what is off moved."""
        e, a, new = self.e, point.a, state.copy()
        g = self.gradient(point) + e.sign * point.y[e.group]
        free, tiny = state == 0, _SIGN * largest(a)
        new[free & (a < -tiny)] = -1
        new[free & (a > self.upper + tiny)] = 1
        wrong = state * g > max(_SIGN * self.size(point), 2.0 * largest(g[free]))  # that is noise
        new[wrong & (self.upper > 0.0)] = 0
        for i in self.without_free(state):
            if self.missed(a)[i]:  # nothing is free to meet the equation: take what is nearest
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
        i, j = np.unravel_index(int(np.abs(P - P.T).argmax()), P.shape)
        one, two = apart(P[i, j], P[j, i])
        places = f"{one} at [{i}, {j}] and {two} at [{j}, {i}]"
        raise ValueError(f"{name} must be symmetric, got {places}")
    shifted = P.copy()
    diagonal = shifted.reshape(-1)[:: n + 1]  # a view
    diagonal += 1e-10 * max(float(diagonal.sum()), 0.0) + TINY
    return bool(dpotrf(shifted.T, lower=1, clean=0, overwrite_a=1)[1] == 0)
