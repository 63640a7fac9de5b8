r"""The way from data to multipliers to the tube, which the four regressions of the chapter share.

A class says which dual program it has (`_dual`), in the text's 2m multipliers :math:`a = (\lambda, \mu)` with
:math:`s = (\mathbf 1_m, -\mathbf 1_m)`:

.. math:: \min_a \tfrac12 a^\top P a + q^\top a \quad \text{subject to} \quad
    s^\top a = 0, \quad \mathbf 1^\top a \le C\nu, \quad 0 \le a \le \tfrac Cm .

If the sum is less than :math:`C\nu`, then :math:`\epsilon = 0`, and the program is the one without that row.

By the quantile lemma the margins are, for the optimal w, order statistics of the offsets.

For fixed w and :math:`s_i = y_i - \langle w, \varphi(x_i)\rangle`, the objective is, up to a constant, C times

.. math:: \frac{\nu}{2}(u - \ell) + \frac1m \sum_i \max(s_i - u, 0) + \frac1m \sum_i \max(\ell - s_i, 0),
    \qquad u = b + \epsilon, \quad \ell = b - \epsilon,

a sum of a function of u and of one of :math:`\ell`. With :math:`k = m\nu/2`, the first is least where at most k of
the numbers :math:`s_i` exceed u, and at least k are u or more.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from companion.arithmetic import EPS, Bounds, largest
from companion.checks import as_scalar, as_vector, as_weights, check_range
from companion.engine.finish import Finished
from companion.engine.guess import Guess, guess_tube
from companion.kernels.vectors import KernelMixin
from companion.svm import hyperplanes
from companion.svm.hyperplanes import ROUNDING, TIGHT, Interval, Slab, middle, slab_of
from companion.svm.program import DualProgram, Points

__all__ = [
    "TUBE_CLASSES",
    "SupportVectorRegression",
    "tube_between",
    "tube_from_offsets",
]  # fmt: skip


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


TUBE_CLASSES = ("inside", "exceptional", "type 1", "type 2", "error")

_INSIDE = 1e-11  # the sum of the multipliers is below C nu if it is so by more than this part


@dataclass(eq=False, repr=False)
class SupportVectorRegression(KernelMixin, RegressorMixin, BaseEstimator):
    """Base of the regressions of chapter 20; see :class:`NuSVR` for the attributes."""

    _: KW_ONLY
    C: float | None = None
    kernel: hyperplanes.KernelLike = "linear"
    kernel_params: dict[str, Any] | None = None
    tol: float = 1e-9
    max_iter: int = 1000

    _penalized = False  # the objective contains b
    _unit_normal = False

    # -- what each regression says about itself

    @abstractmethod
    def _dual(self, points: Points, y: np.ndarray) -> DualProgram:
        r"""Return the dual program with :math:`C\nu` as the sum of the multipliers, where it has one."""

    def _price(self, points: Points) -> float:
        """Return C."""
        return float(points.n) if self.C is None else as_scalar(self.C, "C", above=0.0)

    def _slab(self, dual: DualProgram, h: np.ndarray, a: np.ndarray, b: float | None) -> Slab:
        """Return the tube as a slab with eta = -epsilon."""
        slab, free = slab_of(dual.P.s, h, a, dual.upper, b, dual.eta), dual.eta is None
        if b is not None:
            low, high = slab.eta_interval
            slab = Slab.of_b(slab.b, (min(low, 0.0), min(high, 0.0)))
        elif free:
            slab = tube_between(slab.blue_interval, slab.red_interval)
        if free and dual.c[-1] < dual.upper:  # no point may fail the margin, not by rounding either
            slack = 16.0 * EPS * (largest(dual.q) + abs(slab.b) + abs(slab.eta))
            eta, (low, high) = slab.eta - slack, slab.eta_interval
            slab = replace(slab, eta=eta, eta_interval=(min(low, eta), high))
        return slab

    # -- fitting

    def fit(self, X: Any, y: Any) -> Self:
        """Solve the dual program, and read the tube from its multipliers.

        Parameters
        ----------
        X : array-like of shape (m, n), or (m, m) for a precomputed kernel
            Points.
        y : array-like of shape (m,)
            Values.

        Returns
        -------
        estimator
            Itself.
        """
        return hyperplanes.warned(self, self._fit(X, y))

    def dual_program(self, X: Any, y: Any) -> DualProgram:
        """Return the dual program for the given data, as the text writes it; nothing is solved.

        Parameters
        ----------
        X : array-like of shape (m, n), or (m, m) for a precomputed kernel
            Points.
        y : array-like of shape (m,)
            Values.

        Returns
        -------
        DualProgram
        """
        dual = self._dual(*self._read(X, y, remember=False))
        return replace(dual, P=dual.P.toarray())

    def _read(self, X: Any, y: Any, remember: bool = True) -> tuple[Points, np.ndarray]:
        """Validate data and parameters; return the points, without features, and the values."""
        X, y, kernel = hyperplanes.read(self, X, y, remember, y_numeric=True)
        y = as_vector(y, "y")  # labels that are None have become nan
        check_range(largest(y), "y")
        return Points(X, np.ones(len(y)), kernel), y

    def _fit(self, X: Any, y: Any, weight: Any = None) -> list[Warning]:
        """Solve the dual program and recover the tube; return the warnings."""
        points, y = self._read(X, y)
        weight = as_weights(weight, points.n)
        points = hyperplanes.proper_points(points, not self._penalized, type(self).__name__)
        # where b is free, w does not see the middle of y; to subtract it spares digits
        centre = 0.0 if self._penalized else float(y.min() + (y.max() - y.min()) / 2.0)
        points = replace(points, middle=centre, weight=1.0 if weight is None else weight)
        dual = self._dual(points, y - centre)
        solved = hyperplanes.refine(self, points, *self._solved(points, dual), norm_is_shown=False)
        self._store(points, solved, y - centre, dual.total)
        return hyperplanes.complaints(self, points, norm_is_shown=False, price="C")

    def _solved(
        self, points: Points, dual: DualProgram
    ) -> tuple[hyperplanes.Solved, list[DualProgram]]:
        """Solve with the sum of the multipliers as an equation; and without, where epsilon = 0."""
        m, n, radius = points.n, dual.q.size, dual.total * points.unit**2
        free = int(not self._penalized)
        idle, programs = dual, [dual]
        if dual.eta is None:
            idle = replace(dual, A=dual.A[:free], c=dual.c[:free], eta=0.0, largest_sum=radius)
            programs = [dual, idle]
            if radius >= m * dual.upper * (1.0 - 4.0 * EPS):
                programs = [idle]

        def split(_: DualProgram, done: Finished) -> tuple[DualProgram, Finished]:
            a = dual.P.separate(done.a)
            tight = a.sum() >= radius * (1.0 - _INSIDE)
            Pa = done.Pa + dual.P.ridge * (a - done.a)
            return dual if tight else idle, done._replace(a=a, Pa=Pa)

        if radius == 0.0 or np.array_equal(dual.q[:m], dual.q[m:]):  # y = 0
            nothing = Finished(np.zeros(n), np.zeros(2), np.zeros(n), 1)
            program = idle if radius else dual
            return hyperplanes.judge(self, points, program, nothing), [program]
        guess = partial(hyperplanes.guess_active_set, points, libsvm=_libsvm)
        found, _ = hyperplanes.solve(self, points, programs, guess, split)
        return found, sorted(programs, key=lambda program: program is not found.dual)

    # -- fitted attributes

    def _store(
        self, points: Points, solved: hyperplanes.Solved, y: np.ndarray, radius: float,
    ) -> None:  # fmt: skip
        """Set the fitted attributes."""
        dual, a, weights, slab = solved[:4]
        m, square = points.n, points.unit**2
        a, bound, ridge = a / square, dual.upper / square, dual.P.ridge * square
        moved, _ = hyperplanes.store(self, points, solved, -weights.shift)
        self.epsilon_, self.epsilon_interval_ = moved.epsilon, moved.epsilon_interval
        self.C_, self.residuals_ = dual.price, y - weights.inner - slab.b
        self.offsets_ = self.residuals_ + self.b_
        left = radius - float(a.sum())
        self.gamma_ = left if math.isfinite(left) and left > _INSIDE * radius else 0.0

        size = largest(y) + largest(weights.inner) + abs(slab.b)
        upper = bound[:m] if np.ndim(bound) else bound
        self._store_points(a[m:] - a[:m], upper, self.residuals_, ridge, TIGHT * size)

    def _store_points(
        self, delta: np.ndarray, upper: Bounds, residuals: np.ndarray, ridge: float, tight: float
    ) -> None:
        """Set what belongs to single points, by Definitions 20.1 and 20.2, and the counts."""
        size, beyond = np.abs(delta), np.abs(residuals) - self.epsilon_
        if ridge:
            slack = ridge * size
        else:  # only points that fail the margin have slack; less is rounding
            slack = np.where((size >= upper) & (beyond > tight), beyond, 0.0)
        blue, red = delta < 0.0, delta > 0.0
        self.lambda_, self.mu_ = np.where(blue, size, 0.0), np.where(red, size, 0.0)
        below = blue | (~red & (residuals < 0.0))  # a point of weight 0 has no multiplier
        self.xi_, self.xi_prime_ = np.where(below, slack, 0.0), np.where(below, 0.0, slack)
        self.support_ = size.nonzero()[0]
        full, free = (size >= upper) & (size > 0.0), (size > 0.0) & (size < upper) & (not ridge)
        self.I_lambda_, self.I_mu_ = (free & blue).nonzero()[0], (free & red).nonzero()[0]
        self.K_lambda_, self.K_mu_ = (full & blue).nonzero()[0], (full & red).nonzero()[0]
        self.E_lambda_, self.E_mu_ = self.xi_.nonzero()[0], self.xi_prime_.nonzero()[0]
        self.numsvl1_, self.numsvm1_ = self.I_lambda_.size, self.I_mu_.size
        self.p_f_, self.q_f_ = self.K_lambda_.size, self.K_mu_.size
        self.p_m_, self.q_m_ = int(np.count_nonzero(blue)), int(np.count_nonzero(red))
        self.n_support_ = np.array([self.p_m_ + self.q_m_])
        self.p_sf_, self.q_sf_ = self.E_lambda_.size, self.E_mu_.size

        classes = np.full(size.size, "inside", dtype="<U11")
        classes[(size == 0.0) & (np.abs(beyond) <= tight)] = "exceptional"
        classes[free] = "type 1"
        classes[full] = "type 2"
        classes[slack > 0.0] = "error"
        self.point_classes_ = classes

    # -- using the regression estimate

    def predict(self, X: Any) -> np.ndarray:
        r"""Return :math:`f(x) = \sum_i (\mu_i - \lambda_i) \kappa(x_i, x) + b` for each row of X.

        Parameters
        ----------
        X : array-like of shape (k, n), or (k, m) for a precomputed kernel
            Points.

        Returns
        -------
        ndarray of shape (k,)
        """
        return hyperplanes.inner_products(self, X) + self.b_

    @property
    def support_vectors_(self) -> np.ndarray:
        """The support vectors, or their rows of a Gram matrix, by scikit-learn's name."""
        check_is_fitted(self)
        return self.X_fit_[self.support_]

    @property
    def intercept_(self) -> float:
        """The constant b, by scikit-learn's name."""
        check_is_fitted(self)
        return self.b_

    @property
    def coef_(self) -> np.ndarray:
        """The weights w, by scikit-learn's name; linear kernel only."""
        return hyperplanes.linear_weights(self)


def _libsvm(points: Points, dual: DualProgram) -> Guess | None:
    """Guess as libsvm does."""
    m, radius, upper = points.n, dual.total * points.unit**2, dual.upper
    y, penalized = (dual.q[:m] - dual.q[m:]) / 2.0, dual.P.constant
    upper = upper[:m] if np.ndim(upper) else upper
    if math.isinf(min(radius, float(np.max(upper)))):
        return None
    if penalized:  # b = 0 for points with their mirror images; the constant is a feature
        G, y, upper = points.gram + 1.0, np.concatenate([y, -y]), upper / 2.0
        X, options = np.block([[G, -G], [-G, G]]), {"kernel": "precomputed"}
    elif dual.P.ridge:
        X, options = points.gram + dual.P.ridge * np.eye(m), {"kernel": "precomputed"}
    else:
        X, options = points.for_libsvm()
    delta = guess_tube(X, y, options, upper=upper, radius=radius, epsilon=-(dual.eta or 0.0))
    if delta is None:
        return None
    delta = delta[:m] - delta[m:] if penalized else delta
    a = np.concatenate([np.maximum(-delta, 0.0), np.maximum(delta, 0.0)])
    state = np.where(a <= 0.0, -1, np.where(a >= dual.upper, 1, 0))
    return Guess(np.where(state > 0, dual.upper, a), state)
