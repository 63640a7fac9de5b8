r"""General quadratic programs: a library guesses, the finishing loop solves linear systems, a certificate proves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from companion.arithmetic import EPS, largest
from companion.engine.certificate import BoxProgram, Certificate, bound_multipliers, certify
from companion.engine.finish import REFINEMENTS, Proximal, settle_near
from companion.engine.guess import PIQP_ITERATIONS, ask, in_arrays, read_state
from companion.engine.kkt import factor

# Parts of its terms below which a number may be nothing but rounding: 1e-17 in place of 0 is no optimum where rows and
# columns are measured by their own terms. Without them 24 of 153 tests of quadratic programs have no proof.
_PARTS = (0.0, 1e-14, 1e-11, 1e-8)
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
    program: BoxProgram, *, tol: float = 1e-9, max_iter: int = PIQP_ITERATIONS
) -> Solution:
    r"""Solve a program whose data are known to be good.

    A variable is at a bound where its multiplier exceeds its distance from it. With these sets known, the solution is
    that of a linear system,

    .. math::

        \begin{pmatrix} P_{FF} & A_F^\top \\ A_F & 0 \end{pmatrix} \begin{pmatrix} x_F \\ y \end{pmatrix}
            = \begin{pmatrix} -q_F - P_{FB} x_B \\ b - A_B x_B \end{pmatrix},

    which is regularised, factored once and refined from the guess: where it is singular, the solution stays next to
    the guess. Variables that leave the box go to the bound, those whose multiplier has the wrong sign become free, and
    the next system follows, with proximal steps where the sets run in a circle.

    Parameters
    ----------
    program : BoxProgram
        A `LowRank` matrix P is never formed.
    tol : float
        Tolerance of the certificate.
    max_iter : int
        Largest number of iterations of PIQP, and of systems that follow.

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
    units = _units(P, A, lower, upper)
    if largest(np.concatenate(units)) <= _SPREAD:
        return _solve(program, tol, max_iter)
    t, r = map(np.exp2, units)
    D = P * np.outer(t, t) if isinstance(P, np.ndarray) else P.scaled(t)
    scaled = BoxProgram(D, q * t, A * t / r[:, None], b / r, lower / t, upper / t)
    s = _solve(scaled, tol, max_iter)
    z_lower, z_upper, Px = s.z_lower / t, s.z_upper / t, s.Px / t  # all without rounding
    back = s._replace(x=s.x * t, y=s.y / r, z_lower=z_lower, z_upper=z_upper, Px=Px)
    if s.certificate.ok:
        return back
    return min(back, _solve(program, tol, max_iter), key=lambda found: found.certificate.worst)


def _units(
    P: Any, A: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return exponents of powers of two to measure variables and rows in: P's diagonal and rows' peaks are near 1.

    Where it is 0 the width of the box counts, or else the largest entry of A's column, in rows whose others are near 1.
    """
    t, curved = upper - lower, (diagonal := P.diagonal()) > 0.0
    t[curved] = 1.0 / np.sqrt(diagonal[curved])
    known = (t > 0.0) & (t < np.inf)
    if not known.all():
        rows = (np.abs(A) * np.where(known, t, 0.0)).max(axis=1)
        rows = np.where(rows > 0.0, rows, np.abs(A).max(axis=1))
        peaks = (np.abs(A) / np.where(rows > 0.0, rows, 1.0)[:, None]).max(axis=0, initial=0.0)
        t = np.where(known, t, 1.0 / np.where(peaks > 0.0, peaks, 1.0))
    t = _exponents(t)
    return t, _exponents(np.abs(np.ldexp(A, t)).max(axis=1))


def _exponents(values: np.ndarray) -> np.ndarray:
    """Return the exponents of the powers of two that are nearest to these numbers, 0 for the number 0."""
    return np.frexp(math.sqrt(0.5) * values)[1]


def _solve(program: BoxProgram, tol: float, max_iter: int) -> Solution:
    """Solve in the units that the data have."""
    n, p, data, tried = program.q.size, program.b.size, in_arrays(program), list[Solution]()

    def accept(at: _Kkt) -> bool:
        x = np.clip(at.x[:n], program.lower, program.upper)
        tried.append(_judged(program, x, at.y[:p], tol))
        return tried[-1].certificate.ok

    with np.errstate(all="ignore"):  # a failed attempt may overflow; the certificate judges
        x, y, z, n_iter, verdict = ask(data, max_iter)
        if not math.isfinite(x @ x + y @ y):
            x, y, z = np.zeros(x.size), np.zeros(y.size), np.zeros(z.size)
        start, state = _Kkt(x, y), read_state(data, x, z)
        settled = settle_near(_Arrays(data), start, state, max_iter, accept)
        if not settled.ok:
            accept(settled.point)
    best = min(tried, key=lambda found: found.certificate.worst)
    verdict = "solved" if best.certificate.ok else verdict
    return best._replace(n_iter=n_iter, n_systems=settled.n_systems, verdict=verdict)


def _judged(program: BoxProgram, x: np.ndarray, y: np.ndarray, tol: float) -> Solution:
    """Return a point with its certificate; where that is no proof, without what may be nothing but rounding."""
    (P, q, A, _, lower, upper), tried = program, list[Solution]()
    for part in _PARTS:
        at, prices = _without_rounding(program, x, y, part) if part else (x, y)
        if tried and np.array_equal(at, tried[-1].x) and np.array_equal(prices, tried[-1].y):
            continue
        gradient = (Px := P @ at) + q
        # at a minimum of the objective itself all multipliers are 0
        prices = prices * bool(gradient.any())
        z = bound_multipliers(gradient + prices @ A, at, lower, upper)
        proof = certify(program, at, prices, *z, tol, Px)
        tried.append(Solution(at, prices, *z, Px, proof, 0, 0, ""))
        if proof.ok:
            return tried[-1]
    return min(tried, key=lambda found: found.certificate.worst)


def _without_rounding(
    program: BoxProgram, x: np.ndarray, y: np.ndarray, part: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y with 0 for the entries that move the gradient by a small part of its terms only.

    The multiplier 1e-17 of a row that is slack, say, or a variable 1e-17 whose gradient has terms of size 1. Where
    there is nothing to compare with, it is the largest of them.
    """
    P, q, A, _, lower, upper = program
    roots, absolute = np.sqrt(np.maximum(P.diagonal(), 0.0)), np.abs(A)
    mass = roots * float(roots @ np.abs(x)) + np.abs(q)
    width = np.maximum(np.abs(lower), np.abs(upper))
    width = np.where(width < np.inf, width, largest(x))
    small = (np.abs(x) * roots**2 <= part * (mass + np.abs(y) @ absolute)) & (roots > 0.0)
    small |= np.abs(x) <= part * width
    x = np.where(small & (lower <= 0.0) & (upper >= 0.0), 0.0, x)
    mass = roots * float(roots @ np.abs(x)) + np.abs(q)
    terms, rows = part * (mass + np.abs(y) @ absolute), absolute[:, mass > 0.0]
    small = (np.abs(y)[:, None] * rows <= terms[mass > 0.0]).all(axis=1)
    small &= rows.any(axis=1) | (np.abs(y) <= part * largest(y))
    return x, np.where(small, 0.0, y)


class _Kkt(NamedTuple):
    """A point, the multipliers of its equations, and the gradient of the Lagrangian."""

    x: np.ndarray
    y: np.ndarray
    gradient: Any = None


@dataclass(frozen=True)
class _Arrays(Proximal[_Kkt]):
    """The linear algebra of a program in arrays, dense or sparse; see `companion.engine.guess.in_arrays`."""

    data: BoxProgram

    def minimum(self, point: _Kkt, state: np.ndarray) -> _Kkt | None:
        """Solve the system of the free variables, from the point on, which is clipped to the box."""
        P, q, A, b, lower, upper = self.data
        free, step = (state == 0).nonzero()[0], np.zeros(state.size)
        face = np.where(state > 0, upper, lower), np.where(state < 0, lower, upper)
        x, y, f = np.clip(point.x, *face), point.y, free.size
        try:
            solve = factor(P, A, free, np.zeros(f))
        except RuntimeError:  # SuperLU met an exact singularity
            return None
        best, found = (np.inf, np.inf), None
        for k in range(REFINEMENTS):
            g = P @ x + q + A.T @ y
            missing = np.concatenate([-g[free], b - A @ x])
            each = np.abs(missing)
            sizes = each[:f].max(initial=0.0), each[f:].max(initial=0.0)
            if k and not (sizes[0] < 0.5 * best[0] or sizes[1] < 0.5 * best[1]):
                break
            best, found = sizes, _Kkt(x, y, g)
            both = solve(missing)
            step[free] = both[:f]
            x, y = x + step, y + both[f:]
            # a correction that is larger than the number: nothing but rounding. Of 48 small programs with columns of
            # all sizes that had no proof without this, 26 have one
            if k:
                x[np.abs(x) <= np.abs(step)] = 0.0
        return found

    def near(self, point: _Kkt, delta: float) -> _Arrays:
        """Return the system with a proximal term."""
        P, q, _, _, lower, upper = self.data
        diagonal = P.diagonal()
        prox = delta * np.where(diagonal > 0.0, diagonal, 1.0)
        more = sparse.diags(prox, format="csc") if sparse.issparse(P) else np.diag(prox)
        return _Arrays(self.data._replace(P=P + more, q=q - prox * np.clip(point.x, lower, upper)))

    def corrected(self, point: _Kkt, state: np.ndarray) -> np.ndarray:
        """Return the state with variables that left the box at their bound, and those of a wrong sign free."""
        P, q, A, _, lower, upper = self.data
        x, y, g = point
        new = np.where(x < lower, -1, np.where(x > upper, 1, state))
        if (wrong := (state * g > 0.0) & (lower < upper)).any():
            # as the certificate has them
            terms = abs(P) @ np.abs(x) + np.abs(q) + np.abs(A.T @ y)
            new[wrong & (state * g > 16.0 * EPS * terms)] = 0
        return new
