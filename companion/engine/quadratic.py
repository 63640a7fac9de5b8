r"""General quadratic programs: a library guesses, the finishing loop solves linear systems, a certificate proves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from companion.arithmetic import EPS, largest
from companion.engine.certificate import (
    BoxProgram,
    LowRank,
    absolute_product,
    bound_multipliers,
    certify,
)
from companion.engine.finish import System, settle
from companion.engine.guess import PIQP_ITERATIONS, ask, in_arrays, read_state
from companion.engine.kkt import factor
from companion.results import Certificate

__all__ = ["Solution", "solve_box"]

_GUESSES = (1e-7, 1e-13)  # tolerances of PIQP
_FEW = 8  # systems that may be solved after each guess
_ROUNDS = 60  # the same with a proximal term
_PROXIMAL = (1e-2, 1e-4, 1e-6, 1e-8, 0.0)  # weights of that term, in units of the diagonal of P
_REFINEMENTS = 8
# Parts of its terms below which a number may be nothing but rounding: 1e-17 in place of 0 is no optimum where rows and
# columns are measured by their own terms. Without them 24 of 153 tests of quadratic programs have no proof.
_PARTS = (1e-14, 1e-11, 1e-8)
_SPREAD = 10  # powers of two: units that are further from natural ones are changed


class Solution(NamedTuple):
    """A point with its multipliers, the proof, the number of systems solved, and what PIQP said about the program."""

    x: np.ndarray
    y: np.ndarray
    z_lower: np.ndarray
    z_upper: np.ndarray
    Px: np.ndarray
    certificate: Certificate
    n_iter: int
    n_systems: int
    verdict: str


def solve_box(
    program: BoxProgram, *, guess: tuple[np.ndarray, np.ndarray] | None = None, tol: float = 1e-9,
    max_iter: int = PIQP_ITERATIONS,
) -> Solution:  # fmt: skip
    r"""Solve a program whose data are known to be good.

    A variable is at a bound where its multiplier exceeds its distance from it. With these sets known, the solution is
    that of a linear system,

    .. math::

        \begin{pmatrix} P_{FF} & A_F^\top \\ A_F & 0 \end{pmatrix} \begin{pmatrix} x_F \\ y \end{pmatrix}
            = \begin{pmatrix} -q_F - P_{FB} x_B \\ b - A_B x_B \end{pmatrix},

    which is regularised, factored once and refined from the guess: where it is singular, the solution stays next to
    the guess. Variables that leave the box go to the bound, those whose multiplier has the wrong sign become free, and
    the next system follows. If no proof comes of that, PIQP tries once more with a smaller tolerance, and the best
    point counts.

    Parameters
    ----------
    program : BoxProgram
        A `LowRank` matrix P is never formed.
    guess : (x, y), optional
        A point near the solution and its multipliers. It is tried before PIQP.
    tol : float
        Tolerance of the certificate.
    max_iter : int
        Largest number of iterations of PIQP for one guess.

    Returns
    -------
    Solution
        ``verdict`` is ``"solved"``, or ``"infeasible"``, ``"unbounded"``, ``"max_iter"`` or ``"inaccurate"`` where the
        certificate failed: what PIQP says about the program, which is no proof.

    Examples
    --------
    >>> P, q, one = np.eye(2), np.array([-2.0, -0.5]), np.ones(2)
    >>> solution = solve_box(BoxProgram(P, q, one[None], one[:1], 0 * one, one))
    >>> solution.x, solution.certificate.ok
    (array([1., 0.]), True)
    """
    P, q, A, b, lower, upper = program
    t = _units(P, A, lower, upper)
    r = _power(np.abs(A * t).max(axis=1, initial=0.0))
    if np.abs(np.log2(np.concatenate([t, r]))).max() <= _SPREAD:
        return _solve(program, guess, tol, max_iter)
    D = P * np.outer(t, t) if isinstance(P, np.ndarray) else P.scaled(t)
    scaled = BoxProgram(D, q * t, A * t / r[:, None], b / r, lower / t, upper / t)
    s = _solve(scaled, None if guess is None else (guess[0] / t, guess[1] * r), tol, max_iter)
    z_lower, z_upper, Px = s.z_lower / t, s.z_upper / t, s.Px / t  # all without rounding
    back = s._replace(x=s.x * t, y=s.y / r, z_lower=z_lower, z_upper=z_upper, Px=Px)
    if s.certificate.ok:
        return back
    unscaled = _solve(program, guess, tol, max_iter)
    return min(back, unscaled, key=lambda found: found.certificate.worst)


def _power(values: np.ndarray) -> np.ndarray:
    """Return the nearest power of two of each number, and 1 for those that are not positive or not finite."""
    good = (values > 0.0) & (values < np.inf)
    return np.exp2(np.round(np.log2(np.where(good, values, 1.0))))


def _units(P: Any, A: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return powers of two to measure the variables in, such that the diagonal of P is near 1.

    Where it is 0 the width of the box counts, or else the largest entry of A's column, in rows whose others are near 1.
    """
    t, curved = upper - lower, (diagonal := P.diagonal()) > 0.0
    t[curved] = 1.0 / np.sqrt(diagonal[curved])
    known = (t > 0.0) & np.isfinite(t)
    if not known.all() and A.size:
        rows = (np.abs(A) * np.where(known, t, 0.0)).max(axis=1)
        rows = np.where(rows > 0.0, rows, np.abs(A).max(axis=1))
        peaks = (np.abs(A) / np.where(rows > 0.0, rows, 1.0)[:, None]).max(axis=0)
        t = np.where(known, t, 1.0 / np.where(peaks > 0.0, peaks, 1.0))
    return _power(t)


def _solve(
    program: BoxProgram, guess: tuple[np.ndarray, np.ndarray] | None, tol: float, max_iter: int
) -> Solution:
    """Solve in the units that the data have."""
    search = _Search(program, tol)
    with np.errstate(all="ignore"):  # a failed attempt may overflow; the certificate judges
        if not search.succeeds(guess, max_iter) and search.best is None:
            search.offer(np.clip(0.0, program.lower, program.upper), 0.0 * program.b)
    assert search.best is not None
    return search.best._replace(
        n_iter=search.n_iter,
        n_systems=search.n_systems,
        verdict="solved" if search.best.certificate.ok else search.verdict,
    )


class _Kkt(NamedTuple):
    """A point, the multipliers of its equations, the gradient of the Lagrangian, and where a walk met a bound."""

    x: np.ndarray
    y: np.ndarray
    gradient: Any = None
    met: np.ndarray | None = None


@dataclass(frozen=True)
class _Arrays(System[_Kkt]):
    """The linear algebra of a program in arrays, dense or sparse; see `companion.engine.guess.in_arrays`.

    The objective has the additional term ``1/2 sum_j prox_j (x_j - centre_j)^2``.
    """

    data: BoxProgram
    prox: np.ndarray
    centre: np.ndarray
    walks: bool = False

    def gradient(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the gradient of the Lagrangian."""
        P, q, A, *_ = self.data
        return np.asarray(P @ x + q + A.T @ y + self.prox * (x - self.centre))

    def minimum(self, point: _Kkt, state: np.ndarray) -> _Kkt | None:
        """Solve the system of the free variables, from the point on, which is clipped to the box."""
        P, _, A, b, lower, upper = self.data
        start, y = np.clip(point.x, lower, upper), point.y
        free = np.flatnonzero(state == 0)
        x = np.where(state < 0, lower, np.where(state > 0, upper, start))
        try:
            solve = factor(P, A, free, self.prox[free])
        except RuntimeError:  # SuperLU met an exact singularity
            return None
        best, found = (np.inf, np.inf), _Kkt(x, y, self.gradient(x, y))
        for k in range(_REFINEMENTS):
            g, miss = self.gradient(x, y), b - A @ x
            sizes = largest(g[free]), largest(miss)
            if k and not (sizes[0] < 0.5 * best[0] or sizes[1] < 0.5 * best[1]):
                break
            best, found = sizes, _Kkt(x, y, g)
            step = solve(np.concatenate([-g[free], miss]))
            x, y = x.copy(), y + step[free.size :]
            x[free] += step[: free.size]
            # a correction that is larger than the number: nothing but rounding. Of 48 small programs with columns of
            # all sizes that had no proof without this, 26 have one
            if k:
                x[free[np.abs(x[free]) <= np.abs(step[: free.size])]] = 0.0
        return self.walked(start, found, state) if self.walks else found

    def walked(self, start: np.ndarray, found: _Kkt, state: np.ndarray) -> _Kkt:
        """Go from a point of the box towards a minimum, to the first bound that is met."""
        step = found.x - start
        distance = np.where(step > 0.0, self.data.upper - start, start - self.data.lower)
        distance = np.maximum(distance, 0.0)
        share = np.where((state == 0) & (step != 0.0), distance / np.abs(step), np.inf)
        least = float(share.min(initial=np.inf))
        if least >= 1.0:
            return found
        met = np.where(share <= least * (1.0 + 16.0 * EPS), np.sign(step), 0.0)
        return found._replace(x=start + least * step, met=met)

    def corrected(self, point: _Kkt, state: np.ndarray) -> np.ndarray:
        """Return the state with variables that left the box at their bound, and those of a wrong sign free."""
        P, q, A, _, lower, upper = self.data
        x, y, g, met = point
        if met is not None:
            return np.where(met != 0.0, met, state).astype(np.int8)
        new = state.copy()
        new[(state == 0) & (x < lower)] = -1
        new[(state == 0) & (x > upper)] = 1
        # as the certificate has them
        terms = absolute_product(P, np.abs(x)) + np.abs(q) + np.abs(A.T @ y)
        new[(state * g > 16.0 * EPS * terms) & (lower < upper)] = 0
        return new


class _Search:
    """The way from guesses to a proof, and the best point so far."""

    def __init__(self, program: BoxProgram, tol: float) -> None:
        self.program, self.tol = program, tol
        self.n, self.p = program.q.size, program.b.size
        data = in_arrays(program)
        zero = np.zeros(data.q.size)
        self.arrays = _Arrays(data, zero, zero)
        self.best: Solution | None = None
        self.n_iter, self.n_systems, self.verdict = 0, 0, "inaccurate"

    def succeeds(self, guess: tuple[np.ndarray, np.ndarray] | None, max_iter: int) -> bool:
        """Go from the given guess, or from those of PIQP, to a point that is proved; return whether there is one."""
        P, q, _, b, lower, upper = self.program
        if not (q.any() or b.any()) and self.offer(np.clip(0.0, lower, upper), np.zeros(b.size)):
            return True
        if guess is None and not np.isfinite([lower, upper]).any():
            guess = np.zeros(q.size), np.zeros(b.size)  # one system is all
        if guess is not None:
            w = P.G.T @ guess[0] if isinstance(P, LowRank) else np.zeros(0)
            x, y = (np.concatenate([part, w]) for part in guess)
            if self.finish(x, y, -self.arrays.gradient(x, y), (0.0,)):
                return True
        data = self.arrays.data
        for eps in _GUESSES:
            x, y, z, n_iter, self.verdict = ask(data, eps, max_iter)
            self.n_iter += n_iter
            if self.finish(x, y, z, (0.0,)):
                return True
        return self.finish(x, y, z, _PROXIMAL)

    def finish(self, x: np.ndarray, y: np.ndarray, z: np.ndarray, steps: tuple[float, ...]) -> bool:
        """Settle the sets under each weight of a proximal term; return whether a point came out that is proved."""
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            return False
        data = self.arrays.data
        diagonal = data.P.diagonal()
        unit = np.where(diagonal > 0.0, diagonal, 1.0)
        point, state = _Kkt(x, y), read_state(data, x, z)
        for delta in steps:
            walks = delta == 0.0 and len(steps) > 1
            centre = np.clip(point.x, data.lower, data.upper)
            system = replace(self.arrays, prox=delta * unit, centre=centre, walks=walks)

            def accept(at: _Kkt, stays: bool, every: bool = not delta) -> bool:
                x = np.clip(at.x, data.lower, data.upper)
                return (stays or every) and self.offer_cleaned(x, at.y)

            rounds = _ROUNDS if delta or walks else _FEW
            found = settle(system, point, state, rounds, accept, walks)
            self.n_systems += found.n_systems
            if found.ok:
                return True
            point, state = found.point, found.state
        return False

    # -- proof

    def offer(self, x: np.ndarray, y: np.ndarray) -> bool:
        """Certify a point, keep it if it is the best; return whether it is proved."""
        P, q, A, _, lower, upper = self.program
        x, Px = x[: self.n], P @ x[: self.n]
        # A point that minimises the objective itself has multipliers 0.
        y = y[: self.p] * bool((Px + q).any())
        z = bound_multipliers(Px + q + y @ A, x, lower, upper)
        certificate = certify(self.program, x, y, *z, self.tol, Px)
        if self.best is None or certificate.worst < self.best.certificate.worst:
            self.best = Solution(x, y, *z, Px, certificate, 0, 0, "")
        return certificate.ok

    def offer_cleaned(self, x: np.ndarray, y: np.ndarray) -> bool:
        """Offer a point, and then without what may be nothing but rounding."""
        x, y = x[: self.n], y[: self.p]
        if self.offer(x, y):
            return True
        return any(self.offer(*self.without_rounding(x, y, part)) for part in _PARTS)

    def without_rounding(
        self, x: np.ndarray, y: np.ndarray, part: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return x and y with 0 for the entries that move the gradient by a small part of its terms only.

        The multiplier 1e-17 of a row that is slack, say, or a variable 1e-17 whose gradient has terms of size 1. Where
        there is nothing to compare with, it is the largest of them.
        """
        P, q, A, _, lower, upper = self.program
        roots, absolute = np.sqrt(np.maximum(P.diagonal(), 0.0)), np.abs(A)
        mass = roots * float(roots @ np.abs(x)) + np.abs(q)
        terms = part * (mass + np.abs(y) @ absolute)
        width = np.maximum(np.abs(lower), np.abs(upper))
        width = np.where(width < np.inf, width, largest(x))
        small = (np.abs(x) * roots**2 <= terms) & (roots > 0.0)
        small |= (np.abs(x) <= part * width) & (roots == 0.0)
        x = np.where(small & (lower <= 0.0) & (upper >= 0.0), 0.0, x)
        rows = absolute[:, mass > 0.0]
        small = (np.abs(y)[:, None] * rows <= terms[mass > 0.0]).all(axis=1)
        small &= rows.any(axis=1) | (np.abs(y) <= part * largest(y))
        return x, np.where(small, 0.0, y)
