r"""What the machines of chapter 18 have in common: from the points of two classes to hyperplanes, and their use.

A machine says which dual program it has (`_dual`, which changes nothing) and what it minimises (`_terms`). `_fit` goes
from points to the program, to multipliers with a proof (`companion.svm.hyperplanes`), and to the fitted attributes.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from companion.arithmetic import Bounds, apart, largest, ratio
from companion.checks import as_matrix, as_vector
from companion.engine.certificate import rounding_of
from companion.engine.guess import Guess, guess_machine
from companion.kernels.vectors import KernelMixin
from companion.results import Certificate
from companion.svm import hyperplanes
from companion.svm.bounds import smallest_bound
from companion.svm.hyperplanes import ROUNDING, TIGHT, Slab, place_points, slab_of
from companion.svm.program import DualProgram, Points

__all__ = [
    "DegenerateSolutionWarning", "HyperplaneClassifier", "SupportVectorMachine", "guess_by_libsvm",
]  # fmt: skip


class DegenerateSolutionWarning(UserWarning):
    """The optimum is w = 0: the program says nothing about a separating hyperplane."""


@dataclass(eq=False, repr=False)
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
        return hyperplanes.warned(self, self._fit(X, y))

    @abstractmethod
    def _fit(self, X: Any, y: Any) -> list[Warning]:
        """Fit; return the warnings."""

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
        y = np.repeat([1, -1], [len(u), len(v)])
        return hyperplanes.warned(self, self._fit(np.vstack([u, v]), y))

    def _read(self, X: Any, y: Any, remember: bool = True) -> Points:
        """Validate parameters and data; return the points of two classes, without features."""
        X, y, kernel = hyperplanes.read(self, X, y, remember)
        check_classification_targets(y)
        labels = np.unique(y)
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
        blue, red, free = points.blue, points.red, (a > 0.0) & (a < upper) & (not squared)
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
        blue = self.decision_function(X) >= 0.0
        return self.classes_[blue.astype(int)]

    @property
    def support_vectors_(self) -> np.ndarray:
        """The support vectors, or their rows of a Gram matrix, by scikit-learn's name."""
        check_is_fitted(self)
        return self.X_fit_[self.support_]

    @property
    def intercept_(self) -> float:
        """The constant of the decision function, -b, by scikit-learn's name."""
        check_is_fitted(self)
        return -self.b_

    @property
    def coef_(self) -> np.ndarray:
        """The weights w as a row, by scikit-learn's name; linear kernel only."""
        return hyperplanes.linear_weights(self)[None, :]


@dataclass(eq=False, repr=False)
class SupportVectorMachine(HyperplaneClassifier):
    """Base of the machines of chapter 18; see :class:`SVMs2prime` for the attributes."""

    _penalized = False  # the objective contains b
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

    def _fit(self, X: Any, y: Any, weight: Any = None) -> list[Warning]:
        """Solve the dual program; recover w, b, eta and the slacks; certify. Return the warnings."""
        points = hyperplanes.proper_points(
            self._read(X, y), not self._penalized, type(self).__name__
        )
        if weight is not None:
            points = replace(points, weight=as_vector(weight, "sample_weight", points.n))
        program = self._dual(points)
        found, tried = self._solved(points, program)
        free = program.eta is None and not program.P.ridge
        if free and (found.weights.unknown or not found.certificate.ok):
            reason = self._store_zero(points, program, found.n_systems)
            if reason:
                return [DegenerateSolutionWarning(reason)]
        found = hyperplanes.refine(self, points, found, tried, norm_is_shown=True)
        self._store(points, program, found)
        priced = program.price is not None and (program.eta is not None or program.P.ridge)
        return hyperplanes.complaints(self, points, norm_is_shown=True, price="K" if priced else "")

    def _store_zero(self, points: Points, dual: DualProgram, n_systems: int) -> str:
        """Store w = 0 and say why it is the optimum, by the linear program of `nu_min`; say nothing if it is not."""
        a, largest_part = smallest_bound(points)
        nu, least = dual.total / (points.n * dual.price), 1.0 / (points.n * largest_part)
        if nu > least * (1.0 + ROUNDING):
            return ""
        a, zero = np.minimum(dual.c[-1] * a, dual.upper), np.zeros(points.n)
        c = dual.P.coefficients(a)
        w, rounding = points.weights(c, c, careful=True), rounding_of(points.n)
        length = math.hypot(w.norm, math.fsum(dual.P.s * a)) + w.misfit
        magnitude = float(a @ np.sqrt(np.maximum(dual.P.diagonal(), 0.0)))
        left, miss = float(ratio(length, magnitude)) ** 2 + rounding, largest(dual.A @ a - dual.c)
        proof = Certificate(miss / float(dual.c[-1]), left, 0.0, left, float(self.tol))
        nothing = points.weights(zero, zero)
        found = hyperplanes.Solved(dual, a, nothing, Slab(), zero, 0.0, proof, 0.0, 0.0, n_systems)
        self._store(points, dual, found)
        self.degenerate_, self.point_classes_ = True, np.full(points.n, "undetermined")
        given, limit = apart(nu, max(nu, least), 1.0)
        name, advice = ("1/((p+q)K)", "lower K") if self._unit_normal else ("nu", "raise nu")
        return (
            f"{name} = {given} is at most nu_min = {limit}: the optimum is w = 0, eta = 0, and no hyperplane is "
            f"found; {advice}"
        )

    def _solved(
        self, points: Points, dual: DualProgram
    ) -> tuple[hyperplanes.Solved, list[DualProgram]]:
        """Solve the program; return the answer, and the programs tried."""
        guess = partial(hyperplanes.guess_active_set, points, libsvm=guess_by_libsvm)
        return hyperplanes.solve(self, points, [dual], guess)

    def _slab(self, dual: DualProgram, h: np.ndarray, a: np.ndarray, b: float | None) -> Slab:
        return slab_of(dual.P.s, h, a, dual.upper, b, dual.eta)

    # -- fitted attributes

    def _store(self, points: Points, program: DualProgram, found: hyperplanes.Solved) -> None:
        """Set the fitted attributes."""
        dual, a, weights, slab, u = found[:5]
        if program.price is not None:
            self.K_ = program.price
        if program.eta is None:
            self.Km_ = program.total
        margin, squared = slab.eta - u, dual.P.ridge > 0.0
        size = largest(margin) + slab.eta + abs(slab.b)
        slack = dual.P.ridge * a
        if (
            not squared
        ):  # only points whose multiplier is at its bound have one; that of others is rounding
            slack = np.where((a < dual.upper) | (u <= TIGHT * size), 0.0, u)
        self.point_classes_ = place_points(a, dual.upper, margin, slab.eta, size, squared)

        moved, unit = hyperplanes.store(self, points, found, weights.shift)
        self.eta_, self.eta_interval_, self.degenerate_ = moved.eta, moved.eta_interval, False
        with np.errstate(divide="ignore", invalid="ignore"):  # w = 0
            self.delta_ = float(np.divide(self.eta_, 1.0 if self._unit_normal else self.norm_))
        square = points.unit**2
        self._store_points(points, a / square, slack / unit, dual.upper / square, squared)


def _count(values: np.ndarray) -> int:
    return int(np.count_nonzero(values))  # NumPy's own integer is shown with its type


def guess_by_libsvm(points: Points, dual: DualProgram) -> Guess | None:
    """Guess as libsvm does."""
    if dual.P.constant:  # one class of signed points, with the equation for the sum alone
        X, options = dual.P.toarray(), {"kernel": "precomputed"}
    elif dual.P.ridge:
        X, options = dual.P.toarray() * np.outer(points.s, points.s), {"kernel": "precomputed"}
    else:
        X, options = points.for_libsvm()
    return guess_machine(
        X, points.s, options, upper=dual.upper, balanced=not dual.P.constant,
        total=None if dual.eta is not None else float(dual.c[-1]),
    )  # fmt: skip
