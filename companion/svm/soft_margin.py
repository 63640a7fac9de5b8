r"""Soft margin support vector machines: programs (SVM_s1), (SVM_s2), (SVM_s2l), (SVM_s2'), (SVM_s3) to (SVM_s5).

Each class states its dual program. The four with nu are that of `SVMs2prime` with two switches: whether b is penalized,
and whether slacks are squared. That is what differs in the text.

============  =====================  ==========================================  ==============  =====================
class         P                      constraints                                 bounds          from P a come
============  =====================  ==========================================  ==============  =====================
`SVMs1`       K                      s'a = 0, 1'a = 1                            0 <= a <= K     b and delta
`SVMs2`       K                      s'a = 0  (and q = -1)                       0 <= a <= K     b
`SVMs2l`      none                   s'a = 0, F'Sa = 0  (and q = -1)             0 <= a <= 1     nothing
`SVMs2prime`  K                      s'a = 0, 1'a = Km                           0 <= a <= Ks    b and eta
`SVMs3`       K + ss'                1'a = Km                                    0 <= a <= Ks    eta; b = -s'a
`SVMs4`       K + I/(2Ks)            s'a = 0, 1'a = Km                           0 <= a          b and eta
`SVMs5`       K + ss' + I/(2Ks)      1'a = Km                                    0 <= a          eta; b = -s'a
============  =====================  ==========================================  ==============  =====================

with :math:`K_m = (p+q) K_s \nu`, the features F and S = diag(s). What is free (b where s'a = 0, :math:`\eta` where
1'a = Km) is the multiplier of that equation.

From the points of two classes to hyperplanes: `_fit` goes from points to the program (`_dual`, which changes nothing),
to multipliers with a proof (`companion.svm.hyperplanes`), and to the fitted attributes.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from functools import cache, partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from companion.arithmetic import ROUNDING, Bounds, apart, exact_product, largest, linear_program
from companion.checks import as_matrix, as_scalar, as_weights, check_count, renamed
from companion.engine.certificate import certify_terms, relative, rounding_of
from companion.engine.guess import Guess, guess_machine
from companion.exceptions import InfeasibleProblemError
from companion.kernels import as_kernel
from companion.kernels.vectors import KernelMixin
from companion.svm import hyperplanes
from companion.svm.hyperplanes import TIGHT, Slab, Solved, place_points, slab_of
from companion.svm.program import DualProgram, Points, SignedKernel, make_points


class DegenerateSolutionWarning(UserWarning):
    """The optimum is w = 0: the program says nothing about a separating hyperplane."""


class HyperplaneClassifier(KernelMixin, ClassifierMixin, BaseEstimator):
    """Base of all that separates two classes by a hyperplane: the points and their labels, and new points."""

    _: KW_ONLY
    kernel: hyperplanes.KernelLike = "linear"
    kernel_params: dict[str, Any] | None = None
    tol: float = 1e-9
    max_iter: int = 1000

    # -- the points of two classes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Solve the dual program, and read the hyperplanes from its multipliers.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) for a precomputed kernel
            Points.
        y : array-like of shape (n,)
            Two labels, of which the larger one (``classes_[1]``) belongs to the text's blue points u.

        Returns
        -------
        estimator
            Itself.
        """
        return self._fit(X, y)

    @abstractmethod
    def _fit(self, X: Any, y: Any) -> Self:
        """Fit."""

    def fit_uv(self, u: Any, v: Any) -> Self:
        """Fit to the text's blue points u (label +1) and red points v (label -1).

        Parameters
        ----------
        u : array-like of shape (p, d)
            Blue points.
        v : array-like of shape (q, d)
            Red points.

        Returns
        -------
        estimator
            Itself.
        """
        if self._named_kernel().is_precomputed:
            raise ValueError("fit_uv needs points; with a precomputed kernel use fit(K, y)")
        u = as_matrix(u, "u")
        v = as_matrix(v, "v", (None, u.shape[1]))
        return self._fit(np.vstack([u, v]), np.repeat([1, -1], [len(u), len(v)]))

    def _read(self, X: Any, y: Any, remember: bool = True) -> Points:
        """Validate parameters and data; return the points of two classes, without features."""
        X, y, kernel = hyperplanes.read(self, X, y, remember)
        kinds = {type(label).__name__ for label in y} if y.dtype == object else {"str"}
        if kinds - {"str", "str_"}:
            given = ", ".join(sorted(kinds))
            raise TypeError(
                f"Unknown label type: y must hold two labels, both numbers or both strings, got objects: {given}"
            )
        labels = np.unique(y)
        whole = y.dtype.kind == "f" and not (labels % 1.0).any()
        if not whole and y.dtype.kind not in "biuUO":  # that takes a tenth of a small fit
            check_classification_targets(y)
        if len(labels) == 1:
            raise ValueError(f"y must have two classes, got one class only: {labels.tolist()[0]!r}")
        if len(labels) > 2:  # in scikit-learn's words, which its checks look for
            what = "Only binary classification is supported. The type of the target is multiclass."
            raise ValueError(what)
        return Points(X, np.where(y == labels[1], 1.0, -1.0), kernel, classes=labels)

    def _store_points(
        self, points: Points, a: np.ndarray, slack: np.ndarray, upper: Bounds, squared: bool = False
    ) -> None:
        """Set what belongs to single points, and their numbers."""
        (blue, red), free = points.classed, (a > 0.0) & (a < upper) & (not squared)
        self.lambda_, self.mu_ = a[blue], a[red]
        self.epsilon_, self.xi_ = slack[blue], slack[red]
        self.support_, self.support_type1_ = a.nonzero()[0], free.nonzero()[0]
        full = (a >= upper) & (a > 0.0)
        self.p_f_, self.q_f_ = _count(full[blue]), _count(full[red])
        self.p_m_, self.q_m_ = _count(self.lambda_), _count(self.mu_)
        self.n_support_ = np.array([self.q_m_, self.p_m_])
        self.p_sf_, self.q_sf_ = _count(self.epsilon_), _count(self.xi_)
        self.classes_ = points.classes

    # -- using the hyperplane

    def decision_function(self, X: Any) -> np.ndarray:
        r"""Return :math:`f(x) = \langle w, \varphi(x) \rangle - b` for each row of X.

        Parameters
        ----------
        X : array-like of shape (k, d), or (k, l) for a precomputed kernel
            Points.

        Returns
        -------
        ndarray of shape (k,)
            Positive on the blue side.
        """
        return hyperplanes.inner_products(self, X) - self.b_

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of each row of X; on the hyperplane it is the blue one (sgn(0) = +1).

        Parameters
        ----------
        X : array-like of shape (k, d), or (k, l) for a precomputed kernel
            Points.

        Returns
        -------
        ndarray of shape (k,)
        """
        blue = self.decision_function(X) >= 0.0  # first: it says so where nothing was fitted
        return self.classes_[blue.astype(int)]

    support_vectors_ = renamed(lambda model: model.X_fit_[model.support_], "The support vectors")
    intercept_ = renamed(lambda model: -model.b_, "The constant of the decision function, -b")
    coef_ = renamed(lambda model: hyperplanes.linear_weights(model)[None], "The weights w as a row")


class SupportVectorMachine(HyperplaneClassifier):
    """Base of the machines of chapter 18; see :class:`SVMs2prime` for the attributes."""

    _penalized = False  # the objective contains b
    _squared = False  # and the squares of the slacks
    _unit_normal = False  # the program asks for a w of norm 1

    # -- what each machine says about itself

    @abstractmethod
    def _dual(self, points: Points) -> DualProgram:
        """Return the dual program."""

    # -- fitting

    def dual_program(self, X: Any, y: Any) -> DualProgram:
        """Return the dual program for the given data, as the text writes it; nothing is solved.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) for a precomputed kernel
            Points. With the blue ones first the matrices are those of the text.
        y : array-like of shape (n,)
            Two labels.

        Returns
        -------
        DualProgram
            With the n x n matrix P (`fit` works with a factor of it where there is one).
        """
        dual = self._dual(self._read(X, y, remember=False))
        return replace(dual, P=dual.P.toarray())

    def _fit(self, X: Any, y: Any, weight: Any = None) -> Self:
        """Solve the dual program; recover w, b, eta and the slacks; certify."""
        points = self._read(X, y)
        if (weight := as_weights(weight, points.n)) is not None:
            points = replace(points, weight=weight)
        points = hyperplanes.proper_points(points, not self._penalized, type(self).__name__)
        program = self._dual(points)
        zero = cache(partial(self._zero, program))
        found = self._solved(program, zero)
        if (found.weights.unknown or not found.certificate.ok) and (proof := zero()):
            a, reason = proof
            self._store_zero(program, a, found.n_systems)
            warnings.warn(reason, DegenerateSolutionWarning, stacklevel=3)
            return self
        found = hyperplanes.refine(self, found, [program], norm_is_shown=True)
        self._store(found)
        priced = program.price is not None and (program.eta is not None or program.P.ridge)
        return hyperplanes.complain(self, points, norm_is_shown=True, price="K" if priced else "")

    def _zero(self, dual: DualProgram) -> tuple[np.ndarray, str] | None:
        """Return multipliers that prove w = 0, by the linear program of `nu_min`, and words; None if w is not 0."""
        if dual.eta is not None or dual.P.ridge:
            return None
        points = dual.P.points
        a, largest_part = smallest_bound(points)
        nu, least = dual.total / (points.n * dual.price), 1.0 / (points.n * largest_part)
        if nu > least * (1.0 + ROUNDING):
            return None
        if self._unit_normal:
            K, limit = apart(dual.price, min(dual.price, largest_part), -1.0)
            return a, (
                f"K = {K} is at least {limit}: the optimal value of (SVM_s1) is 0, and w is not determined; "
                "lower K"
            )
        given, limit = apart(nu, max(nu, least), 1.0)
        return a, (
            f"nu = {given} is at most nu_min = {limit}: the optimum is w = 0, eta = 0, and no hyperplane is "
            "found; raise nu"
        )

    def _store_zero(self, dual: DualProgram, a: np.ndarray, n_systems: int) -> None:
        """Store w = 0 with the multipliers that prove it."""
        points, a, zero = dual.P.points, np.minimum(dual.c[-1] * a, dual.upper), 0.0 * a
        c = dual.P.coefficients(a)
        w, rounding = points.weights(c, c, careful=True), rounding_of(points.n)
        length = math.hypot(w.norm, math.sqrt(w.below), math.fsum(dual.P.s * a)) + w.misfit
        magnitude = float(a @ dual.P.lengths)
        left, miss = relative(length, magnitude) ** 2 + rounding, dual.A @ a - dual.c
        primal = relative(miss, dual.c[-1])
        proof = certify_terms(0.0, left, 1.0, float(self.tol), primal=primal, dual=left)
        nothing = points.weights(zero, zero)
        found = Solved(dual, a, nothing, Slab(), zero, 0.0, proof, 0.0, 0.0, n_systems)
        self._store(found)
        self.degenerate_, self.point_classes_ = True, np.full(points.n, "undetermined")

    def _solved(self, dual: DualProgram, vanishes: Callable[[], Any]) -> Solved:
        """Solve the program."""
        return hyperplanes.solve(self, [dual], guess_by_libsvm, vanishes=vanishes)

    def _slab(self, dual: DualProgram, h: np.ndarray, a: np.ndarray, b: float | None) -> Slab:
        return slab_of(dual.P.s, h, a, dual.upper, b, dual.eta)

    # -- fitted attributes

    def _store(self, found: Solved) -> None:
        """Set the fitted attributes."""
        dual, a, weights, slab, u = found[:5]
        points = dual.P.points
        if dual.price is not None:
            self.K_ = dual.price
        if dual.eta is None:
            self.Km_ = dual.total
        margin, squared = slab.eta - u, dual.P.ridge > 0.0
        size = largest(margin) + slab.eta + abs(slab.b)
        slack = dual.P.ridge * a
        if not squared:  # only points whose multiplier is at its bound have one
            slack = np.where((a < dual.upper) | (u <= TIGHT * size), 0.0, u)
        self.point_classes_ = place_points(a, dual.upper, margin, slab.eta, size, squared)

        moved, unit = hyperplanes.store(self, found, weights.shift)
        self.eta_, self.eta_interval_, self.degenerate_ = moved.eta, moved.eta_interval, False
        with np.errstate(divide="ignore", invalid="ignore"):  # w = 0
            self.delta_ = float(np.divide(self.eta_, 1.0 if self._unit_normal else self.norm_))
        square = points.unit**2
        self._store_points(points, a / square, slack / unit, dual.upper / square, squared)


def _count(values: np.ndarray) -> int:
    return int(np.count_nonzero(values))  # NumPy's own integer is shown with its type


def guess_by_libsvm(dual: DualProgram, limit: float) -> Guess | None:
    """Guess as libsvm does, within this number of iterations for each point."""
    total = None if dual.eta is not None else float(dual.c[-1])
    X, options = dual.P.for_libsvm()
    balanced = not dual.P.constant  # or one class of signed points
    given = {"upper": dual.upper, "total": total, "limit": limit}
    return guess_machine(X, dual.P.s, options, **given, balanced=balanced)


_SPAN = 1e-2  # part of its length: nearer to the span of those before, an image gives (SVM_s2l) no direction


class SVMs1(SupportVectorMachine):
    r"""Soft margin support vector machine (SVM_s1): maximise the margin of a unit normal.

    .. math::

        & \min_{w, b, \delta, \epsilon, \xi} \; -\delta + K \Bigl( \sum_i \epsilon_i + \sum_j \xi_j \Bigr) \\
        & \text{subject to} \quad \|w\| \le 1, \quad \epsilon, \xi \ge 0, \\
        & \quad \langle w, \varphi(u_i) \rangle - b \ge \delta - \epsilon_i, \\
        & \quad -\langle w, \varphi(v_j) \rangle + b \ge \delta - \xi_j .

    Its dual is :math:`\min a^\top \mathbf K a` subject to :math:`s^\top a = 0`, :math:`\mathbf 1^\top a = 1`,
    :math:`0 \le a \le K`; then :math:`w = \sum_i s_i a_i \varphi(x_i) / \sqrt{a^\top \mathbf K a}`, and the optimal
    value is :math:`-\sqrt{a^\top \mathbf K a}`.

    Parameters
    ----------
    K : float or None
        Price of a unit of slack, at least :math:`\max(1/2p, 1/2q)`; below that the margin grows without limit. None
        is twice the smallest value.
    kernel, kernel_params, tol, max_iter
        As for :class:`SVMs2prime`.

    Attributes
    ----------
    delta_ : float
        The margin, also ``eta_``. (Other attributes as for :class:`SVMs2prime`.)
    gamma_ : float
        Multiplier of :math:`\|w\|^2 \le 1`: half of the norm of :math:`\sum_i s_i a_i \varphi(x_i)`.

    Raises
    ------
    InfeasibleProblemError
        If K is below :math:`\max(1/2p, 1/2q)`.

    Warns
    -----
    DegenerateSolutionWarning
        If the optimal value is 0, for K at least :math:`1/((p+q)\nu_{\min})`: then the program does not determine w.
        The solution w = 0, b = 0, delta = 0 is returned.

    Notes
    -----
    Source: Sections 18.1 and 18.2. It has the same hyperplane as (SVM_s2') with :math:`\nu = 1/((p+q)K)`.

    Examples
    --------
    >>> from companion.datasets import nine_points
    >>> data = nine_points()
    >>> machine = SVMs1(K=0.2).fit_uv(data.u, data.v)
    >>> machine.lambda_.round(6), machine.mu_.round(6)
    (array([0.17, 0.  , 0.13, 0.2 ]), array([0. , 0. , 0.1, 0.2, 0.2]))
    >>> round(machine.objective_, 6)
    -0.600833
    """

    K: float | None = None

    _unit_normal = True

    def _dual(self, points: Points) -> DualProgram:
        least = 1.0 / (2 * min(map(len, points.classed)))
        K = 2.0 * least if self.K is None else as_scalar(self.K, "K", above=0.0)
        _feasible(points, "K", K, "is below max(1/(2p), 1/(2q)) = {}", least, side=-1.0)
        P = SignedKernel(points)
        return DualProgram.of(P, 0.0, (points.s, 0.0), (1.0, 1.0), upper=K, price=K)

    @property
    def gamma_(self) -> float:
        r"""The multiplier of :math:`\|w\|^2 \le 1`."""
        return abs(self.dual_objective_) / 2.0


class SVMs2(SupportVectorMachine):
    r"""Soft margin support vector machine (SVM_s2): the C-SVM, with the hinge loss.

    .. math::

        & \min_{w, b, \epsilon, \xi} \; \tfrac12 \|w\|^2 + K \Bigl( \sum_i \epsilon_i + \sum_j \xi_j \Bigr) \\
        & \text{subject to} \quad \epsilon, \xi \ge 0, \\
        & \quad \langle w, \varphi(u_i) \rangle - b \ge 1 - \epsilon_i, \\
        & \quad -\langle w, \varphi(v_j) \rangle + b \ge 1 - \xi_j .

    Its dual is :math:`\min \tfrac12 a^\top \mathbf K a - \mathbf 1^\top a` subject to :math:`s^\top a = 0`,
    :math:`0 \le a \le K`.

    Parameters
    ----------
    K : float
        Price of a unit of slack: scikit-learn's C.
    class_weight : dict, "balanced" or None
        What K is multiplied by for the points of each class: a factor for each label (1 if it is missing), or factors
        that give both classes the same total, n/2.
    kernel, kernel_params, tol, max_iter
        As for :class:`SVMs2prime`.

    Attributes
    ----------
    K_ : float or ndarray of shape (n,)
        K, or with weights the price :math:`K_i` of each point's slack, the largest value of its multiplier.
    b_interval_ : (float, float)
        All optimal b; more than one only without support vectors of type 1. (Other attributes as for
        :class:`SVMs2prime`; ``eta_`` is 1.)

    Notes
    -----
    Source: Sections 18.3 and 18.4; ZM Section 23.3.1. One support vector of type 1, of either colour, gives b. The text
    says that a blue one entails a red one (Section 18.3); that is not so. For data that cannot be separated w is a
    difference of terms of size K. Where these leave too few digits, w is computed as a variable of its own
    (``companion.engine.weights``).

    Examples
    --------
    >>> from companion.datasets import nine_points
    >>> data = nine_points()
    >>> machine = SVMs2(K=0.1).fit_uv(data.u, data.v)
    >>> machine.w_ * 11, round(machine.b_ * 11, 6)
    (array([4., 2.]), 1.0)
    """

    K: float = 1.0
    _: KW_ONLY
    class_weight: dict | str | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve the dual program, and read the hyperplanes from its multipliers.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) for a precomputed kernel
            Points.
        y : array-like of shape (n,)
            Two labels.
        sample_weight : array-like of shape (n,), optional
            What K is multiplied by for each point. The weight 2 says as much as the point given twice, 0 as much as
            the point left out.

        Returns
        -------
        estimator
            Itself.
        """
        return self._fit(X, y, sample_weight)

    def _dual(self, points: Points) -> DualProgram:
        K: Any = as_scalar(self.K, "K", above=0.0)
        if self.class_weight is not None or np.ndim(points.weight):
            labels = np.asarray(points.classes)[(points.s > 0.0).astype(int)]
            weight = points.weight * compute_sample_weight(self.class_weight, labels)
            for label, side in zip(points.classes, reversed(points.classed)):
                as_weights(weight[side], side.size, f"the weights of class {label}")
            K = K * weight
        P = SignedKernel(points)
        return DualProgram.of(P, -1.0, (points.s, 0.0), upper=K, price=K, eta=1.0)


class SVMs2l(HyperplaneClassifier):
    r"""The linear program (SVM_s2l): (SVM_s2) without the term :math:`\tfrac12 \|w\|^2`.

    .. math::

        & \min_{w, b, \epsilon, \xi} \; \sum_i \epsilon_i + \sum_j \xi_j \\
        & \text{subject to} \quad \epsilon, \xi \ge 0, \\
        & \quad \langle w, \varphi(u_i) \rangle - b \ge 1 - \epsilon_i, \\
        & \quad -\langle w, \varphi(v_j) \rangle + b \ge 1 - \xi_j .

    Its dual is :math:`\max \mathbf 1^\top a` subject to :math:`\sum_i s_i a_i \varphi(x_i) = 0`,
    :math:`s^\top a = 0`, :math:`0 \le a \le 1`.

    Parameters
    ----------
    kernel, kernel_params, tol, max_iter
        As for :class:`SVMs2prime`. Without explicit features :math:`w = \sum_j c_j \varphi(x_j)` with free c.

    Attributes
    ----------
    lambda_, mu_ : ndarray of shape (p,), (q,)
        Multipliers of the two families of inequalities. They do not give w.
    w_, b_, eta_, epsilon_, xi_, point_classes_, certificate_
        As for :class:`SVMs2prime`. Other solutions may be as good. w = 0 is possible.
    degenerate_ : bool
        Whether w = 0.

    Notes
    -----
    Source: the remark at the end of Section 18.3. The text says that the program minimises the number of misclassified
    points; it minimises their total slack. HiGHS solves the dual program; the certificate compares its value with the
    slacks at the stored hyperplane.

    A Gaussian kernel separates all points that differ, with coefficients of any size; but digits are lost along
    directions in which the images hardly differ. So w is sought in the span of some images, from the middle one on: of
    those that are farther than a hundredth of their distance to it from the span of those before.

    Examples
    --------
    The best hyperplane misclassifies one point, the linear program's three:

    >>> import numpy as np
    >>> u, v = np.array([[1.0], [2.0], [3.0], [-20.0]]), np.array([[-1.0], [-2.0], [-3.0]])
    >>> machine = SVMs2l().fit_uv(u, v)
    >>> round(machine.objective_, 6), machine.w_, round(machine.b_, 6)
    (6.0, array([0.]), -1.0)
    """

    def _fit(self, X: Any, y: Any) -> Self:
        """Solve the dual linear program; w and b are the multipliers of its equations."""
        points = hyperplanes.proper_points(self._read(X, y), False, type(self).__name__)
        by_features, s, zero = points.Phi is not None, points.s, np.zeros(points.n)
        if not by_features:  # b takes what the images have in common
            points = replace(points, centred=True)
        F, pivots, T = points.basis()
        D = F - np.median(F, axis=0) if by_features else F
        peaks = np.abs(D).max(axis=0)
        # the rest of a constant is no direction
        real = peaks > rounding_of(points.n) * np.abs(F).max(axis=0)
        if not by_features:
            real &= T.diagonal() > _SPAN * np.sqrt(points.diagonal[pivots])
        rows = np.vstack([s * (D[:, real] / peaks[real]).T, s])
        found = linear_program(zero - 1.0, A_eq=rows, b_eq=rows[:, 0] * 0.0, bounds=(0.0, 1.0))
        levels = rows[:, 0] * 0.0 if found.x is None else -found.eqlin.marginals
        a = zero if found.x is None else np.clip(found.x, 0.0, 1.0)
        w = np.zeros(peaks.size)
        w[real] = levels[:-1] / peaks[real]
        M, c = F, w
        if not by_features:
            M, c = points.given, points.carried(w, pivots, T, zero).coef
        b = float(np.median(exact_product(M, c) - D @ w) - levels[-1])
        M = np.column_stack([M, zero - 1.0])  # of the hyperplane as it is stored
        margin = s * exact_product(M, np.append(c, b))
        least = float(margin.min())
        if 0.0 < least < 1.0:  # every point is on its side: a longer w leaves no slack
            lost = rounding_of(1) * largest(np.abs(M) @ np.abs(np.append(c, b)))
            t = (1.0 + lost / least) / least
            w, b, c = t * w, t * b, t * c
            margin = s * exact_product(M, np.append(c, b))
        a = zero if margin.min() >= 1.0 else a
        self.w_: np.ndarray | None = w if by_features else None
        self.b_, self.norm_, self.dual_coef_ = b, float(np.linalg.norm(w)), c
        size, slack = largest(margin) + 1.0, np.maximum(1.0 - margin, 0.0)
        self.X_fit_, self.kernel_, self.n_iter_ = points.X, points.kernel, max(found.nit, 1)
        self.K_ = self.eta_ = 1.0
        self.point_classes_ = place_points(a, 1.0, margin, 1.0, size, squared=False)
        self._store_points(points, a, np.where(slack > TIGHT * size, slack, 0.0), 1.0)
        self.degenerate_ = self.norm_ == 0.0
        self.delta_ = math.inf if self.degenerate_ else 1.0 / self.norm_
        self.objective_, self.dual_objective_ = float(slack.sum()), float(a.sum())
        # weak duality; an entry of a row may be nothing but rounding of its largest, which is 1
        terms, miss = np.abs(rows) @ a, np.abs(rows @ a)
        terms = np.maximum(terms, rounding_of(1) / self.tol * self.dual_objective_)
        products = np.where(margin < 1.0, 1.0 - a, a) * np.abs(margin - 1.0)
        gap = abs(self.objective_ - self.dual_objective_) + float(np.abs(levels) @ miss)
        value, primal = max(self.objective_, 1.0), relative(miss, terms)
        self.certificate_ = certify_terms(
            products, gap, value, float(self.tol), primal=primal, dual=0.0
        )
        return hyperplanes.complain(self, points, norm_is_shown=False)


class SVMs2prime(SupportVectorMachine):
    r"""Soft margin support vector machine (SVM_s2'): the nu-SVM.

    .. math::

        & \min_{w, b, \eta, \epsilon, \xi} \; \tfrac12 \|w\|^2 - K_m \eta \\
        & \quad + K_s \Bigl( \sum_i \epsilon_i + \sum_j \xi_j \Bigr) \\
        & \text{subject to} \quad \epsilon, \xi, \eta \ge 0, \\
        & \quad \langle w, \varphi(u_i) \rangle - b \ge \eta - \epsilon_i, \\
        & \quad -\langle w, \varphi(v_j) \rangle + b \ge \eta - \xi_j

    with :math:`K_m = (p+q) K_s \nu`. Its dual, for :math:`a = (\lambda, \mu)`,
    :math:`s = (\mathbf 1_p, -\mathbf 1_q)` and :math:`\mathbf K_{ij} = s_i s_j \kappa(x_i, x_j)`, is

    .. math:: & \min_a \; \tfrac12 a^\top \mathbf K a \quad \text{subject to} \\
        & \quad s^\top a = 0, \quad \mathbf 1^\top a = K_m, \\
        & \quad 0 \le a \le K_s .

    Parameters
    ----------
    nu : float
        In :math:`(0, 2\min(p, q)/(p+q)]`. At most :math:`\nu(p+q)/2` points of each colour fail the margin, and at
        least as many have margin at most :math:`\delta`.
    K : float or None
        The text's :math:`K_s`; None is 1/(p+q). It scales w, b, eta and the slacks and moves no hyperplane.
    kernel : str, Kernel or callable
        See :func:`companion.kernels.as_kernel`; ``"precomputed"`` takes ``k(X)`` in `fit` and ``k(X_new, X)`` in
        `predict`. In the machines with :math:`s^\top a = 0` (HardMarginSVC, SVMs1, SVMs2, SVMs2prime, SVMs4) it may
        also be conditionally positive definite, such as :math:`-\|x - z\|^2`.
    kernel_params : dict or None
        The parameters of a kernel given by its name, for example ``{"sigma": 2.0}``.
    tol : float
        Tolerance of the certificate.
    max_iter : int
        Largest number of linear systems that are solved for the multipliers.

    Attributes
    ----------
    lambda_, mu_ : ndarray of shape (p,), (q,)
        Multipliers of the blue and of the red points, in the order of the data. ``== 0`` and ``== K_`` are exact,
        but for points on their own border: a multiplier that could be 0 or more may end just above 0.
    w_ : ndarray of shape (N,) or None
        Weights, where the kernel has explicit features and few.
    b_, eta_ : float
        The hyperplanes are :math:`H_{w,b}`, :math:`H_{w,b+\eta}` (blue) and :math:`H_{w,b-\eta}` (red).
    delta_ : float
        Half of the slab's width, :math:`\eta/\|w\|`.
    norm_ : float
        The norm of w.
    norm_error_ : float
        A bound of what rounding has changed of the norm, and with it of ``delta_``, relative to it. Where only inner
        products are known, and the images of the points nearly coincide, few digits may be left.
    b_interval_, eta_interval_, blue_interval_, red_interval_ : (float, float)
        All values of b, :math:`\eta`, :math:`b + \eta` and :math:`b - \eta` in optimal solutions. Where they differ,
        b and eta are made of midpoints; where an interval is unbounded, of its finite end.
    epsilon_, xi_ : ndarray of shape (p,), (q,)
        Slacks of the blue and of the red points.
    p_f_, q_f_, p_m_, q_m_, p_sf_, q_sf_ : int
        Numbers of blue and red points that fail the margin (multiplier = K), have margin at most delta (multiplier
        > 0), and strictly fail the margin (slack > 0).
    point_classes_ : ndarray of str, shape (p + q,)
        The place of each point: ``"outside"`` (multiplier 0); on the margin ``"type 1"`` (0 < multiplier < K),
        ``"type 2"`` (multiplier K) or ``"exceptional"`` (multiplier 0); ``"in slab"`` and ``"on hyperplane"`` with a
        positive slack; ``"misclassified"``. All ``"undetermined"`` for w = 0.
    support_, support_type1_ : ndarray of int
        Indices of the points with a positive multiplier, and of the support vectors of type 1.
    support_vectors_, n_support_ : ndarray
        Those points; their number in each class, in the order of ``classes_``.
    dual_coef_ : ndarray of shape (p + q,)
        Coefficients of w in the images of the points: :math:`s_i a_i`, or where these are large numbers that cancel,
        others that give the same w with more digits.
    degenerate_ : bool
        Whether the optimum is w = 0, eta = 0.
    objective_, dual_objective_ : float
        Values of the primal program at the stored hyperplanes, and of the dual program at the stored multipliers.
    certificate_ : Certificate
        Residuals and duality gap, for the stored hyperplanes and with what rounding may have added. The gap is relative
        to the sum of the absolute values of the terms of the primal objective, or for a degenerate solution, whose
        objective is 0, to :math:`(\sum_i a_i \|\varphi(x_i)\|)^2`.
    K_, Km_ : float
        The constants used.
    classes_, n_features_in_, n_iter_, kernel_, X_fit_
        As in scikit-learn; the kernel; the training points.

    Raises
    ------
    InfeasibleProblemError
        If nu exceeds :math:`2\min(p, q)/(p+q)`: the dual is infeasible and the primal unbounded.

    Warns
    -----
    DegenerateSolutionWarning
        If nu is at most :func:`nu_min`: the unique optimum is then w = 0, eta = 0.
    ConvergenceWarning
        If the certificate misses `tol`, or fewer than seven digits of ``norm_`` are known.

    Notes
    -----
    Source: Sections 18.5 to 18.8. An optimum exists exactly if :math:`K_m \le 2 \min(p, q) K_s`; the text blames
    a large :math:`K_s`, but a small one is to blame. There are support vectors of type 1 of both colours whenever
    :math:`\nu(p+q)/2` is no integer; otherwise b and eta may form a rectangle of solutions (Proposition 18.2).

    Examples
    --------
    >>> from companion.datasets import nine_points
    >>> data = nine_points()
    >>> machine = SVMs2prime(nu=0.6).fit_uv(data.u, data.v)
    >>> machine.w_ * 150, round(machine.b_ * 300, 6), round(machine.eta_ * 300, 6)
    (array([58., 29.]), 29.0, 319.0)
    >>> critical = SVMs2prime(nu=2 / 3).fit_uv(data.u, data.v)
    >>> [round(end, 6) for end in critical.eta_interval_], round(critical.eta_, 6)
    ([1.466667, 1.866667], 1.666667)
    """

    nu: float = 0.5
    _: KW_ONLY
    K: float | None = None

    def _dual(self, points: Points) -> DualProgram:
        """Return the dual program: b free or penalized, slacks as they are or squared."""
        nu, n = as_scalar(self.nu, "nu", above=0.0), points.n
        Ks = 1.0 / n if self.K is None else as_scalar(self.K, "K", above=0.0)
        if not self._squared and self._penalized:
            _feasible(points, "nu", nu, "exceeds {}", 1.0, y=[1.0])
        elif not self._squared:
            most = nu_max(*map(len, points.classed))
            _feasible(points, "nu", nu, "exceeds 2 min(p, q)/(p + q) = {}", most)
        ridge, upper = (0.5 / Ks, np.inf) if self._squared else (0.0, Ks)
        P = SignedKernel(points, penalize_b=self._penalized, ridge=ridge)
        balance = [] if self._penalized else [(points.s, 0.0)]
        return DualProgram.of(P, 0.0, *balance, (1.0, n * Ks * nu), upper=upper, price=Ks)


class SVMs3(SVMs2prime):
    r"""Soft margin support vector machine (SVM_s3): the nu-SVM with a penalized b.

    The program of :class:`SVMs2prime` with :math:`\tfrac12 b^2` added to the objective. Its dual is

    .. math:: & \min_a \; \tfrac12 a^\top (\mathbf K + ss^\top) a \quad \text{subject to} \\
        & \quad \mathbf 1^\top a = K_m, \quad 0 \le a \le K_s,

    and :math:`b = -s^\top a`.

    Parameters
    ----------
    nu : float
        In (0, 1].
    K, kernel, kernel_params, tol, max_iter
        As for :class:`SVMs2prime`, and so are the attributes.

    Raises
    ------
    InfeasibleProblemError
        If nu > 1.

    Warns
    -----
    DegenerateSolutionWarning
        If nu is at most :func:`nu_min`, which is the same as for (SVM_s2').

    Notes
    -----
    Source: Sections 18.9 to 18.12. The abs(b) of the optimum is at most that of (SVM_s2'). The text adds that b and
    eta are smaller too; neither is so in general.

    Examples
    --------
    >>> from companion.datasets import nine_points
    >>> data = nine_points()
    >>> machine = SVMs3(nu=0.6).fit_uv(data.u, data.v)
    >>> machine.w_ * 630, round(machine.b_ * 315, 6), round(machine.eta_ * 630, 6)
    (array([239., 109.]), 22.0, 631.0)
    """

    _penalized = True


class SVMs4(SVMs2prime):
    r"""Soft margin support vector machine (SVM_s4): squared slacks.

    .. math::

        & \min_{w, b, \eta, \epsilon, \xi} \; \tfrac12 \|w\|^2 - K_m \eta \\
        & \quad + K_s \bigl( \|\epsilon\|^2 + \|\xi\|^2 \bigr) \\
        & \text{subject to} \\
        & \quad \langle w, \varphi(u_i) \rangle - b \ge \eta - \epsilon_i, \\
        & \quad -\langle w, \varphi(v_j) \rangle + b \ge \eta - \xi_j .

    Its dual is

    .. math:: & \min_a \; \tfrac12 a^\top \Bigl(\mathbf K + \frac{1}{2K_s} I\Bigr) a \\
        & \text{subject to} \quad s^\top a = 0, \\
        & \quad \mathbf 1^\top a = K_m, \quad a \ge 0,

    and :math:`\epsilon = \lambda/(2K_s)`, :math:`\xi = \mu/(2K_s)`.

    Parameters
    ----------
    nu : float
        Positive. It scales w, b, eta and the slacks; the slab does not depend on it (Theorem 18.3).
    K : float or None
        The text's :math:`K_s`; None is 1/(p+q).
    kernel, kernel_params, tol, max_iter
        As for :class:`SVMs2prime`, and so are the attributes. No multiplier has an upper bound, so ``p_f_`` and
        ``q_f_`` are 0, and no point is of type 1 or 2.

    Notes
    -----
    Source: Sections 18.13 and 18.14; ZM Section 23.3.2. The solution is unique, and b needs the slacks. It can be
    w = 0 with a positive eta, for instance on the points of exclusive or; then there is no slab. A positive slack puts
    a point inside the slab, not on the wrong side of it: separable data are no obstacle.

    Examples
    --------
    One point per class:

    >>> machine = SVMs4(nu=0.5, K=1.0).fit_uv([[1.0]], [[-1.0]])
    >>> machine.w_, machine.b_, machine.eta_, machine.epsilon_
    (array([1.]), 0.0, 1.25, array([0.25]))
    """

    _squared = True


class SVMs5(SVMs2prime):
    r"""Soft margin support vector machine (SVM_s5): squared slacks and a penalized b.

    The program of :class:`SVMs4` with :math:`\tfrac12 b^2` added to the objective. Its dual is

    .. math:: & \min_a \; \tfrac12 a^\top \Bigl(\mathbf K + ss^\top + \frac{1}{2K_s} I\Bigr) a \\
        & \text{subject to} \quad \mathbf 1^\top a = K_m, \quad a \ge 0,

    and :math:`b = -s^\top a`.

    Parameters
    ----------
    nu, K, kernel, kernel_params, tol, max_iter
        As for :class:`SVMs4`, and so are the attributes.

    Notes
    -----
    Source: Sections 18.15 and 18.16. The multipliers of one class may all be 0; then no average over that class
    exists, and eta comes from the other.

    Examples
    --------
    >>> machine = SVMs5(nu=1.0, K=1.0).fit_uv([[10.0]], [[-1.0]])
    >>> machine.lambda_, machine.mu_, machine.w_, machine.b_, machine.eta_
    (array([0.]), array([2.]), array([2.]), 2.0, 5.0)
    """

    _penalized = True
    _squared = True


def _feasible(
    points: Points, name: str, value: float, words: str, limit: float, side: float = 1.0,
    y: list[float] | None = None,
) -> None:  # fmt: skip
    """Refuse a constant beyond its limit: the bounds of the multipliers then do not allow their sum.

    The witness has y'A a = the sum of the multipliers of the smaller class, or of all.
    """
    if side * (value - limit) <= ROUNDING * limit:
        return
    (given, bound), (p, q) = apart(value, limit, -side), map(len, points.classed)
    raise InfeasibleProblemError(
        f"{name} = {given} {words.format(bound)} for p = {p}, q = {q}: the dual program has no feasible point, and "
        "the primal objective is unbounded",
        witness=np.array(y or [0.5 if p <= q else -0.5, 0.5]),
    )


def nu_max(p: int, q: int) -> float:
    r"""Return :math:`2 \min(p, q)/(p + q)`, the largest nu for which (SVM_s2') has a solution.

    Parameters
    ----------
    p, q : int
        Numbers of blue and red points.

    Notes
    -----
    Source: Section 18.5. For (SVM_s3) the largest nu is 1.

    Examples
    --------
    >>> nu_max(4, 5)
    0.8888888888888888
    """
    p, q = check_count(p, "p"), check_count(q, "q")
    return 2 * min(p, q) / (p + q)


def nu_min(u: Any, v: Any, kernel: Any = "linear", **kernel_params: Any) -> float:
    r"""Return the largest nu for which the optimum of (SVM_s2') and of (SVM_s3) is w = 0.

    It is :math:`1/((p+q)k)` for the value k of the linear program

    .. math:: & \min k \quad \text{subject to} \\
        & \quad \textstyle \sum_i \lambda_i \varphi(u_i) = \sum_j \mu_j \varphi(v_j), \\
        & \quad \textstyle \sum_i \lambda_i = \sum_j \mu_j = \tfrac12, \\
        & \quad 0 \le \lambda_i, \mu_j \le k,

    and 0 if the program has no solution, that is, if a hyperplane separates the classes.

    Parameters
    ----------
    u : array-like of shape (p, d)
        Blue points.
    v : array-like of shape (q, d)
        Red points.
    kernel, **kernel_params
        See :func:`companion.kernels.as_kernel`.

    Returns
    -------
    float
        At most :func:`nu_max`.

    Raises
    ------
    ValueError
        If there is no point of one class.

    Notes
    -----
    Source: made precise here; Sections 18.5, 18.8 and 18.12 observe that a small nu leaves w = 0, eta = 0 as the only
    solution. For (SVM_s1) the optimal value is 0 exactly for K at least
    :math:`1/((p+q)\nu_{\min})`.

    Examples
    --------
    >>> from companion.datasets import nine_points
    >>> data = nine_points()
    >>> round(nu_min(data.u, data.v) * 153, 9)
    58.0
    """
    u, v = as_matrix(u, "u"), as_matrix(v, "v", (None, np.shape(u)[1]))
    if not (len(u) and len(v)):
        raise ValueError(f"u and v must have at least one point each, got {len(u)} and {len(v)}")
    s = np.repeat([1.0, -1.0], [len(u), len(v)])
    points = make_points(np.vstack([u, v]), s, as_kernel(kernel, **kernel_params))
    _, k = smallest_bound(points)
    return 1.0 / (points.n * k)


def smallest_bound(points: Points) -> tuple[np.ndarray, float]:
    r"""Return multipliers of sum 1 with :math:`\sum_i s_i a_i \varphi(x_i) = 0` and s'a = 0, and the largest of them.

    It is as small as it can be, by the linear program of :func:`nu_min`; infinite if there are no such multipliers.
    """
    s, n = points.s, points.n
    nothing = np.zeros(n), np.inf
    F, pivots, _ = points.basis()
    if pivots.size == n:  # independent images: the hulls are disjoint
        return nothing
    F = F - F.mean(axis=0)
    peaks = np.abs(F).max(axis=0)
    F = F[:, peaks > 0.0] / peaks[peaks > 0.0]
    equations = np.vstack([(s[:, None] * F).T, s])
    x = np.zeros(n)  # a/k, whose sum is to be as large as it can be
    for scale in (1.0, 1e6):  # HiGHS misses by 1e-7: hulls that near need not meet
        rest, limits = -(equations @ x), np.column_stack([-x, 1.0 - x])
        answer = linear_program(
            -np.ones(n), A_eq=equations, b_eq=scale * rest, bounds=scale * limits, method="highs-ds"
        )
        if answer.status != 0:
            return nothing
        x = x + answer.x / scale
        if x.sum() < 1.0:  # a multiple would do better, unless there is nothing but rounding
            return nothing
        if max(largest(equations @ x), -x.min(), x.max() - 1.0) <= rounding_of(n) * x.sum():
            break
    return x / x.sum(), float(x.max() / x.sum())
