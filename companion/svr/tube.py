r"""The four regressions of chapter 20, and their way from data to multipliers to the tube.

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

=========================  =========================================  ============================  ================
class                      P                                          constraints                   bounds
=========================  =========================================  ============================  ================
`NuSVR`                    K                                          1'delta = 0, |delta|_1 <= Cv  |delta_i| <= C/m
`NuSVRPenalizedBias`       K + 11'                                    |delta|_1 <= Cv               |delta_i| <= C/m
`QuadraticNuSVR`           K + (m/2C) I                               1'delta = 0, |delta|_1 <= Cv
=========================  =========================================  ============================  ================

with :math:`\delta = \mu - \lambda` and v for :math:`\nu`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from companion.arithmetic import EPS, ROUNDING, Bounds, largest
from companion.checks import as_scalar, as_vector, as_weights, check_range, renamed
from companion.engine.finish import Finished
from companion.engine.guess import Guess, at_bounds, guess_tube
from companion.kernels.vectors import KernelMixin
from companion.svm import hyperplanes
from companion.svm.hyperplanes import TIGHT, Interval, Slab, Solved, middle, slab_of
from companion.svm.program import DualProgram, Points, SignedKernel


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
        low, high = _from_above(np.abs(s - as_scalar(b, "b")), s.size * nu)
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
        return self._fit(X, y)

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

    def _fit(self, X: Any, y: Any, weight: Any = None) -> Self:
        """Solve the dual program and recover the tube."""
        points, y = self._read(X, y)
        weight = 1.0 if weight is None else as_weights(weight, points.n)
        # where b is free, w does not see the middle of y; to subtract it spares digits
        seen = y[np.broadcast_to(weight, y.size) > 0.0]
        centre = 0.0 if self._penalized else float(seen.min() + (seen.max() - seen.min()) / 2.0)
        points = replace(points, middle=centre, weight=weight)
        points = hyperplanes.proper_points(points, not self._penalized, type(self).__name__)
        dual = self._dual(points, y - centre)
        solved = hyperplanes.refine(self, *self._solved(dual), norm_is_shown=False)
        self._store(solved, y - centre, dual.total)
        return hyperplanes.complain(self, points, norm_is_shown=False, price="C")

    def _solved(self, dual: DualProgram) -> tuple[Solved, list[DualProgram]]:
        """Solve with the sum of the multipliers as an equation; and without, where epsilon = 0."""
        m, n, radius = dual.P.m, dual.q.size, dual.total * dual.P.unit**2
        free = int(not self._penalized)
        idle, programs = dual, [dual]
        if dual.eta is None:
            idle = replace(dual, A=dual.A[:free], c=dual.c[:free], eta=0.0, largest_sum=radius)
            programs = [idle] if radius >= m * dual.upper * (1.0 - 4.0 * EPS) else [dual, idle]

        def split(_: DualProgram, done: Finished) -> tuple[DualProgram, Finished]:
            a = dual.P.separate(done.a)
            tight = a.sum() >= radius * (1.0 - ROUNDING)
            Pa = done.Pa + dual.P.ridge * (a - done.a)
            return dual if tight else idle, done._replace(a=a, Pa=Pa)

        if radius == 0.0 or np.array_equal(dual.q[:m], dual.q[m:]):  # y = 0
            nothing = Finished(np.zeros(n), np.zeros(2), np.zeros(n), 1)
            program = idle if radius else dual
            return hyperplanes.judge(self, program, nothing), [program]
        found = hyperplanes.solve(self, programs, _libsvm, split)
        return found, sorted(programs, key=lambda program: program is not found.dual)

    # -- fitted attributes

    def _store(self, solved: Solved, y: np.ndarray, radius: float) -> None:
        """Set the fitted attributes."""
        dual, a, weights, slab = solved[:4]
        m, square = dual.P.m, dual.P.unit**2
        a, bound, ridge = a / square, dual.upper / square, dual.P.ridge * square
        moved, _ = hyperplanes.store(self, solved, -weights.shift)
        self.epsilon_, self.epsilon_interval_ = moved.epsilon, moved.epsilon_interval
        self.C_, self.residuals_ = dual.price, y - weights.inner - slab.b
        self.offsets_ = self.residuals_ + self.b_
        left = radius - float(a.sum())
        self.gamma_ = left if math.isfinite(left) and left > ROUNDING * radius else 0.0

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

    support_vectors_ = renamed(lambda model: model.X_fit_[model.support_], "The support vectors")
    intercept_ = renamed(lambda model: model.b_, "The constant b")
    coef_ = renamed(hyperplanes.linear_weights, "The weights w")


def _libsvm(dual: DualProgram, limit: float) -> Guess | None:
    """Guess as libsvm does, within this number of iterations for each point."""
    m, radius, upper = dual.P.m, dual.total * dual.P.unit**2, dual.upper
    y, penalized = (dual.q[:m] - dual.q[m:]) / 2.0, dual.P.constant
    upper = upper[:m] if np.ndim(upper) else upper
    if math.isinf(min(radius, float(np.max(upper)))):
        return None
    if penalized:  # b = 0 for points with their mirror images; the constant is a feature
        y, upper = np.concatenate([y, -y]), upper / 2.0
    X, options = dual.P.for_libsvm()
    given = {"upper": upper, "radius": radius, "epsilon": -(dual.eta or 0.0), "limit": limit}
    delta = guess_tube(X, y, options, **given)
    if delta is None:
        return None
    delta = delta[:m] - delta[m:] if penalized else delta
    return at_bounds(np.maximum(np.concatenate([-delta, delta]), 0.0), dual.upper)


class NuRegression(SupportVectorRegression):
    """Base of the regressions with nu: b free or penalized, slacks as they are or squared."""

    nu: float = 0.5

    _squared = False  # the objective contains the squares of the slacks

    def _dual(self, points: Points, y: np.ndarray) -> DualProgram:
        C, nu, m = self._price(points), as_scalar(self.nu, "nu", at_least=0.0), points.n
        ridge, upper = (0.5 * m / C, np.inf) if self._squared else (0.0, C / m)
        P = SignedKernel(points, penalize_b=self._penalized, ridge=ridge, tube=True)
        balance = [] if self._penalized else [(P.s, 0.0)]
        return DualProgram.of(P, np.append(y, -y), *balance, (1.0, C * nu), upper=upper, price=C)


class NuSVR(NuRegression):
    r"""nu-SV regression: fit a tube around an affine function, and let :math:`\nu` choose its width.

    .. math::

        & \min_{w, b, \epsilon, \xi, \xi'} \; \tfrac12 \|w\|^2 \\
        & \quad + C \Bigl( \nu\epsilon + \frac1m \sum_{i=1}^m (\xi_i + \xi'_i) \Bigr) \\
        & \text{subject to} \\
        & \quad \langle w, \varphi(x_i) \rangle + b - y_i \le \epsilon + \xi_i, \\
        & \quad -\langle w, \varphi(x_i) \rangle - b + y_i \le \epsilon + \xi'_i, \\
        & \quad \xi_i, \xi'_i, \epsilon \ge 0 .

    Its dual, with :math:`\mathbf K_{ij} = \kappa(x_i, x_j)`, is

    .. math::

        & \min_{\lambda, \mu} \; \tfrac12 (\lambda - \mu)^\top \mathbf K (\lambda - \mu) \\
        & \quad + y^\top (\lambda - \mu) \\
        & \text{subject to} \quad \mathbf 1^\top \lambda = \mathbf 1^\top \mu, \\
        & \quad \mathbf 1^\top (\lambda + \mu) \le C\nu, \\
        & \quad 0 \le \lambda_i, \mu_i \le \tfrac Cm,

    and :math:`w = \sum_i (\mu_i - \lambda_i) \varphi(x_i)`.

    Parameters
    ----------
    nu : float
        At least 0. At most :math:`m\nu/2` points lie below the tube and at most as many above it. For
        :math:`\nu \ge 1`, :math:`\epsilon = 0` is optimal, for :math:`\nu > 1` nothing else.
    C : float or None
        Price of the errors, the text's C; scikit-learn's is C/m. None is m.
    kernel : str, Kernel or callable
        See :func:`companion.kernels.as_kernel`; ``"precomputed"`` takes ``k(X)`` in `fit` and ``k(X_new, X)`` in
        `predict`.
    kernel_params : dict or None
        The parameters of a kernel given by its name, for example ``{"sigma": 2.0}``.
    tol : float
        Tolerance of the certificate.
    max_iter : int
        Largest number of iterations.

    Attributes
    ----------
    lambda_, mu_ : ndarray of shape (m,)
        Multipliers of the two families of inequalities. ``== 0`` and ``== C_ / m`` are exact, and
        :math:`\lambda_i \mu_i = 0`.
    w_ : ndarray of shape (N,) or None
        Weights, where the kernel has explicit features and few.
    norm_ : float
        The norm of w.
    norm_error_ : float
        A bound of what rounding has changed of the norm, relative to it. Where only inner products are known, and the
        images of the points nearly coincide, few digits may be left.
    b_, epsilon_ : float
        Intercept and half of the tube's width.
    b_interval_, epsilon_interval_, blue_interval_, red_interval_ : (float, float)
        All values of b, :math:`\epsilon`, :math:`b - \epsilon` and :math:`b + \epsilon` in optimal solutions. Where
        they differ, b and :math:`\epsilon` are made of midpoints; where an interval is unbounded, of its finite end.
    xi_, xi_prime_ : ndarray of shape (m,)
        Slacks of the points below and above the tube.
    gamma_ : float
        Multiplier :math:`C\nu - \mathbf 1^\top(\lambda + \mu)` of :math:`\epsilon \ge 0`.
    I_lambda_, I_mu_, K_lambda_, K_mu_, E_lambda_, E_mu_ : ndarray of int
        Indices of the support vectors of type 1, of the points that fail the margin, and of the errors: blue ones
        (:math:`\lambda`) and red ones (:math:`\mu`).
    numsvl1_, numsvm1_, p_f_, q_f_, p_m_, q_m_, p_sf_, q_sf_ : int
        Numbers of blue and red points: support vectors of type 1; points that fail the margin (multiplier = C/m), that
        have margin at most epsilon (multiplier > 0), and that are errors (slack > 0).
    point_classes_ : ndarray of str, shape (m,)
        ``"inside"`` the tube; on a margin ``"type 1"`` (multiplier between the bounds), ``"type 2"`` (C/m) or
        ``"exceptional"`` (0); ``"error"``.
    offsets_, residuals_ : ndarray of shape (m,)
        :math:`y_i - \langle w, \varphi(x_i)\rangle` and :math:`y_i - f(x_i)`.
    support_vectors_, n_support_ : ndarray
        The points with a positive multiplier, and their number.
    support_, dual_coef_ : ndarray
        Indices with a positive multiplier; coefficients of w in the images of the points: :math:`\mu - \lambda`, or
        where these are large numbers that cancel, others that give the same w with more digits.
    objective_, dual_objective_ : float
        Values of the primal program at the stored tube, and of the dual program at the stored multipliers.
    certificate_ : Certificate
        Residuals and duality gap, for the stored tube and with what rounding may have added. The gap is relative to the
        sum of the terms of the primal objective.
    C_ : float
        The constant used.
    n_features_in_, n_iter_, kernel_, X_fit_
        As in scikit-learn; the kernel; the training points.

    Raises
    ------
    ValueError
        If nu < 0, C <= 0, or the kernel is not positive definite on the training points.

    Notes
    -----
    Source: Sections 20.1 to 20.4. The dual is solved in the m variables :math:`\mu - \lambda`. If :math:`m\nu/2` is no
    integer and :math:`\epsilon > 0`, then b and :math:`\epsilon` are unique, and there are support vectors of type 1 of
    both colours. If it is one, the optimal pairs may form a rectangle in :math:`b - \epsilon` and
    :math:`b + \epsilon`. Proposition 20.2 needs :math:`\gamma = 0`. For :math:`\nu = 0` the narrowest tube around all
    points is returned, with w = 0.

    Examples
    --------
    >>> from companion.datasets import example_19_1
    >>> data = example_19_1()
    >>> model = NuSVR(nu=0.7, C=8.0).fit(data.X, data.y)
    >>> model.w_ * 68, round(model.b_ * 68, 6), round(model.epsilon_ * 340, 6)
    (array([77.8, 76.2]), -77.1, 84.5)
    >>> model.p_f_, model.q_f_, model.p_m_, model.q_m_, model.certificate_.ok
    (2, 1, 3, 4, True)
    """


class NuSVRPenalizedBias(NuRegression):
    r"""nu-SV regression, version 2: the program of :class:`NuSVR` with :math:`\tfrac12 b^2` added to the objective.

    Its dual is

    .. math::

        & \min_{\lambda, \mu} \; \tfrac12 (\lambda - \mu)^\top (\mathbf K + \mathbf 1\mathbf 1^\top) (\lambda - \mu) \\
        & \quad + y^\top (\lambda - \mu) \\
        & \text{subject to} \quad \mathbf 1^\top (\lambda + \mu) \le C\nu, \\
        & \quad 0 \le \lambda_i, \mu_i \le \tfrac Cm,

    and :math:`b = \mathbf 1^\top (\mu - \lambda)`.

    Parameters
    ----------
    nu : float
        At least 0. At most :math:`m\nu` points lie outside the tube.
    C, kernel, kernel_params, tol, max_iter
        As for :class:`NuSVR`, and so are the attributes; b is unique.

    Notes
    -----
    Source: Section 20.5 and Problems 20.7 to 20.10. The text omits :math:`\epsilon \ge 0`, which changes nothing for
    :math:`\nu \le 1`; for larger :math:`\nu` it would allow :math:`\epsilon < 0`, and for :math:`\nu > 2` an objective
    without lower bound, so the constraint is kept here. Always :math:`|b| \le C\nu`. Proposition 20.6 needs
    :math:`\gamma = 0`.

    Examples
    --------
    >>> from companion.datasets import example_19_1
    >>> data = example_19_1()
    >>> model = NuSVRPenalizedBias(nu=0.3, C=8.0).fit(data.X, data.y)
    >>> model.w_ * 560, round(model.b_ * 560, 6), round(model.epsilon_ * 560, 6)
    (array([579.5, 550. ]), -508.0, 253.0)
    """

    _penalized = True


class QuadraticNuSVR(NuRegression):
    r"""nu-SV regression with squared slacks.

    The program of :class:`NuSVR` with :math:`\sum_i (\xi_i^2 + \xi_i'^2)` in place of :math:`\sum_i (\xi_i + \xi'_i)`.
    Its dual is

    .. math::

        & \min_{\lambda, \mu} \; \tfrac12 (\lambda - \mu)^\top \mathbf K (\lambda - \mu) \\
        & \quad + \frac{m}{4C} \bigl( \|\lambda\|^2 + \|\mu\|^2 \bigr) + y^\top (\lambda - \mu) \\
        & \text{subject to} \quad \mathbf 1^\top \lambda = \mathbf 1^\top \mu, \\
        & \quad \mathbf 1^\top (\lambda + \mu) \le C\nu, \quad \lambda, \mu \ge 0,

    and :math:`\xi = \frac{m}{2C} \lambda`, :math:`\xi' = \frac{m}{2C} \mu`.

    Parameters
    ----------
    nu : float
        At least 0. Here :math:`\nu` is in the unit of y: :math:`\epsilon = 0` exactly if
        :math:`\nu \ge \frac2m \sum_i |r_i|` for the residuals r of the solution with :math:`\epsilon = 0`.
    C, kernel, kernel_params, tol, max_iter
        As for :class:`NuSVR`, and so are the attributes. No multiplier has an upper bound, so ``p_f_`` and ``q_f_``
        are 0; a positive multiplier means a positive slack, so no point is of type 1 or 2.

    Notes
    -----
    Source: the second remark of Section 20.4; Problems 20.5 and 20.6. The text says that :math:`\gamma = 0` always;
    that is so only for :math:`\epsilon > 0`. The solution is unique.

    Examples
    --------
    >>> model = QuadraticNuSVR(nu=0.5, C=2.0).fit([[0.0], [1.0]], [0.0, 0.0])
    >>> model.epsilon_, model.gamma_, model.lambda_
    (0.0, 1.0, array([0., 0.]))
    """

    _squared = True


class EpsilonSVR(SupportVectorRegression):
    r"""epsilon-SV regression: errors below a fixed :math:`\epsilon` cost nothing.

    .. math::

        & \min_{w, b, \xi, \xi'} \; \tfrac12 \|w\|^2 + \frac Cm \sum_{i=1}^m (\xi_i + \xi'_i) \\
        & \text{subject to} \\
        & \quad \langle w, \varphi(x_i) \rangle + b - y_i \le \epsilon + \xi_i, \\
        & \quad -\langle w, \varphi(x_i) \rangle - b + y_i \le \epsilon + \xi'_i, \\
        & \quad \xi_i, \xi'_i \ge 0 .

    Its dual is

    .. math::

        & \min_{\lambda, \mu} \; \tfrac12 (\lambda - \mu)^\top \mathbf K (\lambda - \mu) \\
        & \quad + y^\top (\lambda - \mu) + \epsilon\, \mathbf 1^\top (\lambda + \mu) \\
        & \text{subject to} \quad \mathbf 1^\top \lambda = \mathbf 1^\top \mu, \\
        & \quad 0 \le \lambda_i, \mu_i \le \tfrac Cm .

    Parameters
    ----------
    epsilon : float
        Half of the tube's width, at least 0, in the unit of y.
    C, kernel, kernel_params, tol, max_iter
        As for :class:`NuSVR`, and so are the attributes; there is no ``gamma_``.

    Attributes
    ----------
    nu_ : float
        :math:`\mathbf 1^\top (\lambda + \mu)/C`: nu-SV regression with this :math:`\nu` has the same solution.

    Notes
    -----
    Source: the first remark of Section 20.4. nu-SV regression with the result :math:`\epsilon > 0` has the w of this
    program for the same :math:`\epsilon`, and its b is one of the optimal ones, ``b_interval_``. The value of this
    program is less by :math:`C\nu\epsilon`.

    Examples
    --------
    >>> from companion.datasets import example_19_1
    >>> data = example_19_1()
    >>> model = EpsilonSVR(epsilon=1.0, C=8.0).fit(data.X, data.y)
    >>> model.w_ * 26, round(model.b_, 6), round(model.objective_, 6)
    (array([23., 21.]), -1.0, 0.717456)
    """

    epsilon: float = 0.1

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        r"""Solve the dual program, and read the tube from its multipliers.

        Parameters
        ----------
        X : array-like of shape (m, n), or (m, m) for a precomputed kernel
            Points.
        y : array-like of shape (m,)
            Values.
        sample_weight : array-like of shape (m,), optional
            What :math:`\tfrac Cm` is multiplied by for each point. The weight 2 says as much as the point given twice
            for the same :math:`\tfrac Cm`, 0 as much as the point left out.

        Returns
        -------
        estimator
            Itself.
        """
        return self._fit(X, y, sample_weight)

    def _dual(self, points: Points, y: np.ndarray) -> DualProgram:
        C, P = self._price(points), SignedKernel(points, tube=True)
        epsilon = as_scalar(self.epsilon, "epsilon", at_least=0.0)
        q, upper = np.append(y, -y) + epsilon, C / P.m * points.weight
        upper = np.tile(upper, 2) if np.ndim(upper) else upper
        return DualProgram.of(P, q, (P.s, 0.0), upper=upper, price=C, eta=-epsilon)

    @property
    def nu_(self) -> float:
        """The nu of nu-SV regression that has this solution."""
        return float(np.abs(self.mu_ - self.lambda_).sum()) / self.C_
