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

from companion.certificates import Certificate, certify_qp
from companion.engine.certificate import bound_multipliers
from companion.engine.guess import Guess
from companion.engine.low_rank import guess_low_rank
from companion.engine.machines import Finished, finish, solve_generally
from companion.results import Record
from companion.svm.points import SignedKernel
from companion.svm.slab import Interval, multiplier_interval

__all__ = ["Levels", "Tube", "TubeProgram", "find_levels", "middle", "solve_tube", "tube_between"]

_ROUNDING = 1e-12  # multipliers nearer than this part to a bound are at the bound
_INSIDE = 1e-11  # the l1 norm is below tau if it is so by more than this part
_LOOSE = 1e-6  # a guess whose l1 norm is below tau by this part says that the ball is idle


class TubeKernel:
    r"""The matrix of the text's 2m multipliers :math:`(\lambda, \mu)`, row by row: K and -K, and the ridge.

    Parameters
    ----------
    K : SignedKernel
        Gram matrix, plus 1 where b is penalized, plus a multiple of the identity where slacks are squared.
    """

    __array_ufunc__ = None  # NumPy asks this class, not itself

    def __init__(self, K: SignedKernel) -> None:
        self.K, self.m = K, K.shape[0]
        self.product = self._by_weights if K.product is not None else None
        self.shape = (2 * self.m, 2 * self.m)

    def rows(self, index: np.ndarray) -> np.ndarray:
        """Return the rows with these indices as a new array."""
        at, sign = index % self.m, np.where(index < self.m, 1.0, -1.0)
        R, here = self.K.rows(at), np.arange(index.size)
        R[here, at] -= self.K.ridge
        out = np.hstack([R, -R]) * sign[:, None]
        out[here, index] += self.K.ridge
        return out

    def _by_weights(self, a: np.ndarray) -> np.ndarray:
        """Return the product with a from the weights w."""
        assert self.K.product is not None
        delta = a[self.m :] - a[: self.m]
        inner = self.K.product(delta) - self.K.ridge * delta
        return np.concatenate([-inner, inner]) + self.K.ridge * a

    def diagonal(self) -> np.ndarray:
        """Return the diagonal."""
        return np.tile(self.K.diagonal(), 2)

    def factor(self) -> np.ndarray | None:
        """Return G with P = GG' and the ridge, if the kernel has few features."""
        G = self.K.factor()
        return None if G is None else np.vstack([-G, G])

    def toarray(self) -> np.ndarray:
        """Return the whole matrix."""
        return self.rows(np.arange(2 * self.m))


@dataclass(frozen=True, eq=False)
class TubeProgram:
    r"""The program of the module's formula.

    Parameters
    ----------
    K : SignedKernel
        The matrix P.
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
    """

    K: SignedKernel
    y: np.ndarray
    upper: float
    radius: float
    epsilon: float
    balanced: bool

    @property
    def m(self) -> int:
        """Number of points."""
        return self.y.size

    @property
    def q(self) -> np.ndarray:
        """The linear term of the text's program."""
        return np.concatenate([self.epsilon + self.y, self.epsilon - self.y])

    def equations(self, tight: bool) -> tuple[np.ndarray, np.ndarray]:
        r"""Return the text's equations, with the sum of the multipliers if the ball is tight."""
        signs, ones = np.repeat([1.0, -1.0], self.m), np.ones(2 * self.m)
        rows = [signs] * self.balanced + [ones] * tight
        return np.array(rows).reshape(-1, 2 * self.m), np.array(
            [0.0] * self.balanced + [self.radius] * tight
        )


@dataclass(frozen=True, eq=False)
class Tube:
    """A solved program: the multipliers, ``s = y - P delta``, P delta, the tube, and the certificate."""

    delta: np.ndarray
    s: np.ndarray
    fitted: np.ndarray
    levels: Levels
    certificate: Certificate
    n_systems: int


def solve_tube(program: TubeProgram, guess: np.ndarray | None, tol: float, max_iter: int) -> Tube:
    r"""Solve a regression's program from a guess of :math:`\delta`.

    Where the ball :math:`\|\delta\|_1 \le \tau` is idle, :math:`\epsilon = 0` and the equation for the sum is no part
    of the program. Which of the two cases it is, the guess says, and the certificate confirms.
    """
    m, tau = program.m, program.radius
    if tau == 0.0 or not program.y.any():
        return _tube(program, Finished(np.zeros(2 * m), np.zeros(2), np.zeros(2 * m), 1), tol)
    idle = tau >= m * program.upper * (1.0 - 1e-15)
    cases = [False] if idle else [True, False]
    if guess is not None and np.abs(guess).sum() < tau * (1.0 - _LOOSE):
        cases.reverse()
    tube = None
    for tight in cases:
        tube = _best(program, tight, guess, tol, max_iter)
        if tube.certificate.ok:
            break
    assert tube is not None
    return tube


def _best(
    program: TubeProgram, tight: bool, delta: np.ndarray | None, tol: float, max_iter: int
) -> Tube:
    """Finish from the guess; where that is not certified, solve the program as any other quadratic program."""
    P, q, (A, c) = TubeKernel(program.K), program.q, program.equations(tight)
    G, zero, tube = P.factor(), np.zeros(q.size), None
    guess = None if delta is None else _as_guess(delta, program.upper)
    if G is not None:
        found = guess_low_rank(G, zero + program.K.ridge, q, A, c, zero, zero + program.upper)
        guess = Guess(found.x, found.state)
    if guess is not None:
        done = finish(P, q, A, c, program.upper, guess.a, guess.state, max_iter)
        tube = None if done is None else _tube(program, done, tol)
    if tube and tube.certificate.ok:
        return tube
    return _tube(program, solve_generally(P.toarray(), q, A, c, program.upper, tol, max_iter), tol)


def _as_guess(delta: np.ndarray, upper: float) -> Guess:
    """Return the guess of the text's 2m multipliers."""
    a = np.concatenate([np.maximum(-delta, 0.0), np.maximum(delta, 0.0)])
    state = np.where(a >= upper, 1, np.where(a > 0.0, 0, -1))
    return Guess(a, state.astype(np.int8))


def _tube(program: TubeProgram, done: Finished, tol: float) -> Tube:
    """Read the tube from the multipliers, and certify both."""
    m, ridge = program.m, program.K.ridge
    delta = done.a[m:] - done.a[:m]
    fitted = ridge * done.a[:m] - done.Pa[:m]  # K delta, without the ridge
    exact = snap(delta, program.upper)
    moved = np.flatnonzero(exact != delta)
    if moved.size:
        change = (exact - delta)[moved]
        fitted += change @ program.K.rows(moved)
        fitted[moved] -= ridge * change
        delta = exact
    fitted += ridge * delta
    s = program.y - fitted
    levels = find_levels(program, s, delta)
    return Tube(
        delta, s, fitted, levels, _certificate(program, delta, fitted, levels, tol), done.n_systems
    )


def _certificate(
    program: TubeProgram, delta: np.ndarray, fitted: np.ndarray, levels: Levels, tol: float
) -> Certificate:
    """Certify the multipliers of the text's program with b and epsilon, which are those of its equations."""
    n, ridge = 2 * program.m, program.K.ridge
    a = np.concatenate([np.maximum(-delta, 0.0), np.maximum(delta, 0.0)])
    inner = fitted - ridge * delta
    Pa = np.concatenate([-inner, inner]) + ridge * a
    tight = levels.epsilon != program.epsilon or (
        math.isfinite(program.radius) and float(a.sum()) >= program.radius * (1.0 - _INSIDE)
    )
    A, c = program.equations(tight)
    y = np.array([-levels.b] * program.balanced + [levels.epsilon - program.epsilon] * tight)
    zero, upper = np.zeros(n), np.full(n, program.upper)
    z_lower, z_upper = bound_multipliers(Pa + program.q + y @ A, a, zero, upper)
    return certify_qp(
        TubeKernel(program.K), program.q, A, c, zero, upper, a, y, z_lower, z_upper, tol, Px=Pa
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
