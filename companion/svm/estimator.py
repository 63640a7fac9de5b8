r"""What the eight machines of the chapter have in common: the way from data to multipliers to hyperplanes.

A machine says which dual program it has (`_dual`), how multipliers give b and eta (`_slab`), and what it minimises
(`_terms`). Everything else is here, once.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from companion.certificates import Certificate, certify_qp
from companion.checks import (
    as_matrix,
    as_scalar,
    check_count,
    check_range,
    forget_feature_names,
    is_plain_data,
    reject_masked,
)
from companion.engine.arithmetic import EPS, largest, ratio
from companion.engine.certificate import bound_multipliers
from companion.engine.guess import Guess, guess_machine
from companion.engine.low_rank import guess_low_rank
from companion.engine.machines import Finished, finish, is_psd, solve_generally
from companion.exceptions import ConvergenceWarning
from companion.kernels import Kernel, as_kernel, is_positive_definite
from companion.kernels.choice import own_points
from companion.svm.dual import DualProgram
from companion.svm.points import Normal, Points, make_points
from companion.svm.slab import NO_SLAB, Slab, place_points, snap

__all__ = [
    "FEW_DIGITS",
    "DegenerateSolutionWarning",
    "IndefiniteKernelError",
    "SupportVectorMachine",
    "warning_of_norm",
]

KernelLike = str | Kernel | Callable

FEW_DIGITS = 1e-7  # the relative error of the norm of w from which on there is a warning
_NEARLY_ZERO = 1e-12  # below this part of its terms, a linear program decides whether a'Pa is 0
_SLACK = 1e-9  # a slack below this part of its terms is rounding


class DegenerateSolutionWarning(UserWarning):
    """The optimum is w = 0: the program says nothing about a separating hyperplane."""


class IndefiniteKernelError(ValueError):
    """The kernel is not positive definite on the training points."""

    def __init__(self, kernel: Kernel, why: str) -> None:
        super().__init__(
            f"the kernel must be positive definite on the training points; the matrix of {kernel!r} there is not: {why}"
        )


class SupportVectorMachine(ClassifierMixin, BaseEstimator):
    """Base of the machines of chapter 18; see :class:`SVMs2prime` for the attributes."""

    kernel: KernelLike
    kernel_params: dict[str, Any] | None
    tol: float
    max_iter: int
    w_: np.ndarray | None
    K_: float

    _squared = False  # slacks enter squared
    _homogeneous = False  # w = 0 goes with eta = 0: there is no slab then
    _penalized = False  # the objective contains b
    _balanced = True  # the coefficients of w in the images of the points have the sum s'a = 0

    # -- what each machine says about itself

    @abstractmethod
    def _dual(self, points: Points) -> DualProgram:
        """Return the dual program."""

    @abstractmethod
    def _slab(self, s: np.ndarray, g: np.ndarray, a: np.ndarray, upper: float) -> Slab:
        """Return b and eta from the multipliers a and g = P a."""

    @abstractmethod
    def _terms(self, norm: float, b: float, eta: float, slack: np.ndarray) -> tuple[float, ...]:
        """Return the terms of the primal objective."""

    def _dual_value(self, quadratic: float, linear: float) -> float:
        """Return the value of the dual function, for a'Pa and q'a."""
        return -(0.5 * quadratic + linear)

    def _unit(self, norm: float) -> float:
        """Return the factor that takes sum s_i a_i phi(x_i) to w: 1 but for (SVM_s1)."""
        return 1.0

    # -- scikit-learn

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.pairwise = self._named_kernel().is_precomputed
        return tags

    def _named_kernel(self) -> Kernel:
        return as_kernel(self.kernel, **(self.kernel_params or {}))

    # -- fitting

    def fit(self, X: Any, y: Any) -> Self:
        """Solve the dual program and recover the hyperplanes.

        Parameters
        ----------
        X : array-like of shape (l, d), or (l, l) for a precomputed kernel
            Points.
        y : array-like of shape (l,)
            Two labels. The points of the larger one (``classes_[1]``) are the text's blue points u.

        Returns
        -------
        estimator
            Itself.
        """
        for warning in self._fit(X, y):
            warnings.warn(warning, stacklevel=2)
        return self

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
        u, v = as_matrix(u, "u"), as_matrix(v, "v")
        if u.shape[1] != v.shape[1]:
            raise ValueError(
                f"u and v must have the same number of columns, got shapes {u.shape} and {v.shape}"
            )
        for warning in self._fit(np.vstack([u, v]), np.repeat([1, -1], [len(u), len(v)])):
            warnings.warn(warning, stacklevel=2)
        return self

    def _fit(self, X: Any, y: Any) -> list[Warning]:
        X, s = self._read(X, y)
        return self._fit_points(self._checked(make_points(X, s, self.kernel_)))

    def _checked(self, points: Points) -> Points:
        """Return the points, with centred inner products if the kernel is only conditionally positive definite."""
        if points.is_kernel or is_psd(points.gram, "the Gram matrix"):
            return points
        answer = is_positive_definite(points.gram)
        why = f"it has the negative eigenvalue {answer.smallest_eigenvalue:.6g}"
        return self._centred(points, IndefiniteKernelError(points.kernel, why))

    def _centred(self, points: Points, error: ValueError) -> Points:
        r"""Return the points with centred inner products, if the kernel is conditionally positive definite.

        Where :math:`s^\top a = 0`, the multipliers do not see the difference.
        """
        centred = replace(points, centred=True)
        if not is_positive_definite(centred.gram):
            raise ValueError(f"{error}; nor is it conditionally positive definite") from error
        if self._penalized or not self._balanced:
            raise ValueError(
                f"{error}; it is conditionally positive definite, which is enough where s'a = 0 (HardMarginSVC, SVMs1, "
                f"SVMs2, SVMs2prime, SVMs4), but {type(self).__name__} has no such equation for the coefficients of w"
            ) from error
        return centred

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
        machine = clone(self)
        X, s = machine._read(X, y)
        dual = machine._dual(Points(X, s, machine.kernel_, None))
        return replace(dual, P=dual.P.toarray())

    def _read(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Validate the data; return the points and their signs."""
        self.kernel_ = self._named_kernel()
        as_scalar(self.tol, "tol", above=0.0)
        check_count(self.max_iter, "max_iter")
        if is_plain_data(X, y) and not self.kernel_.is_precomputed:
            forget_feature_names(self, X.shape[1])
        else:
            for value, name in ((X, "X"), (y, "y")):
                reject_masked(value, name)
            X, y = validate_data(self, X, y, dtype=np.float64)
        if y.dtype == object and any(label is None for label in y):
            raise ValueError("y must hold a label for every point, got None among them")
        self.classes_ = np.unique(y)
        if len(self.classes_) != 2 or not _are_labels(self.classes_):
            check_classification_targets(y)
            kind = type_of_target(y, input_name="y", raise_unknown=True)
            if kind != "binary":
                raise ValueError(
                    f"Only binary classification is supported. The type of the target is {kind}."
                )
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must have two classes, got one class only: {self.classes_.tolist()[0]!r}"
            )
        check_range(largest(X), "X")
        return own_points(X, self.kernel_), np.where(y == self.classes_[1], 1.0, -1.0)

    def _fit_points(self, points: Points, guess: Guess | None = None) -> list[Warning]:
        """Solve the dual program; recover w, b, eta and the slacks; certify. Return what has to be said."""
        dual = self._dual(points)
        for way in (self._finished, self._generally):
            done = way(points, dual, guess)
            if done is not None:
                solved, proof = done, self._proved(points, dual, done)
                if proof[3].ok:
                    break
        (a, g, slab, certificate), self.n_iter_ = proof, max(solved.n_systems, 1)

        inner = g - dual.ridge * a
        bias = slab.b if self._penalized else 0.0
        normal = points.normal(a, float(a @ inner) - bias * bias, self._penalized)
        reach = float(a @ np.sqrt(np.maximum(dual.P.diagonal(), 0.0)))
        if self._homogeneous and self._has_no_slab(points, a, g, normal.norm, bias, reach):
            return [self._store_degenerate(points, a, _of_nothing(certificate, a, g, reach))]
        margin = inner if self._penalized else inner - points.s * slab.b
        size = largest(g) + slab.eta + abs(slab.b)
        slack = self._slack(a, dual, slab.eta - margin)
        self._certify(dual, a, g, normal.norm, bias, slab.eta, slack, reach, certificate)
        self.point_classes_ = place_points(a, dual.upper, margin, slab.eta, size, self._squared)
        shown = slack if self._squared else np.where(slack > _SLACK * size, slack, 0.0)
        self._store(points, a, shown, normal, slab, dual.upper)
        self.norm_error_ = _error_of_norm(points, a, normal, self._penalized)
        return self._complaints()

    def _slack(self, a: np.ndarray, dual: DualProgram, below: np.ndarray) -> np.ndarray:
        """Return the slacks. Only points whose multiplier is at its bound have one; that of others is rounding."""
        if self._squared:
            return dual.ridge * a
        return np.where(a < dual.upper, 0.0, np.maximum(below, 0.0))

    def _finished(self, points: Points, dual: DualProgram, guess: Guess | None) -> Finished | None:
        """Guess the active set, and finish; None where that leads nowhere."""
        guess = guess or self._guess(points, dual)
        if guess is None:
            return None
        return finish(
            dual.P, dual.q, dual.A, dual.c, dual.upper, guess.a, guess.state, int(self.max_iter)
        )

    def _generally(self, points: Points, dual: DualProgram, guess: Guess | None) -> Finished | None:
        """Solve the dual program as any other quadratic program."""
        P = dual.P.toarray()
        return solve_generally(
            P, dual.q, dual.A, dual.c, dual.upper, float(self.tol), int(self.max_iter)
        )

    def _guess(self, points: Points, dual: DualProgram) -> Guess | None:
        """Guess which multipliers are 0, at their bound, and free: from few features, or as libsvm does."""
        G = dual.P.factor()
        if G is not None:
            zero, upper = np.zeros(points.n), np.full(points.n, dual.upper)
            found = guess_low_rank(G, zero + dual.ridge, dual.q, dual.A, dual.c, zero, upper)
            return Guess(found.x, found.state)
        if self._penalized:  # one class of signed points, with the equation for the sum alone
            X, options = dual.P.toarray(), {"kernel": "precomputed"}
        elif dual.ridge:
            s = points.s
            X, options = dual.P.toarray() * np.outer(s, s), {"kernel": "precomputed"}
        else:
            X, options = points.for_libsvm()
        return guess_machine(
            X, points.s, options, upper=dual.upper, balanced=not self._penalized,
            total=None if dual.q.any() else float(dual.c[-1]),
        )  # fmt: skip

    def _snapped(self, dual: DualProgram, done: Finished) -> tuple[np.ndarray, np.ndarray]:
        """Return the multipliers with those at a bound that rounding keeps from it, and P times them."""
        a = snap(done.a, dual.upper, np.sqrt(np.maximum(dual.P.diagonal(), 0.0)))
        moved = np.flatnonzero(a != done.a)
        if not moved.size:
            return a, done.Pa
        return a, done.Pa + (a - done.a)[moved] @ dual.P.rows(moved)

    # -- proof

    def _proved(
        self, points: Points, dual: DualProgram, done: Finished
    ) -> tuple[np.ndarray, np.ndarray, Slab, Certificate]:
        """Return the multipliers, P times them, b and eta, and the certificate of all."""
        a, g = self._snapped(dual, done)
        slab = self._slab(points.s, g, a, dual.upper)
        return a, g, slab, self._certified_dual(dual, a, g, slab)

    def _certified_dual(
        self, dual: DualProgram, a: np.ndarray, g: np.ndarray, slab: Slab
    ) -> Certificate:
        """Certify the multipliers with b and eta, which are those of the equations."""
        of_rows = [-slab.eta] if self._penalized else [-slab.b, -slab.eta][: len(dual.c)]
        y, n = np.array(of_rows), a.size
        upper = np.full(n, dual.upper)
        z_lower, z_upper = bound_multipliers(g + dual.q + y @ dual.A, a, np.zeros(n), upper)
        return certify_qp(
            dual.P, dual.q, dual.A, dual.c, np.zeros(n), upper, a, y, z_lower, z_upper,
            float(self.tol), Px=g,
        )  # fmt: skip

    def _certify(
        self,
        dual: DualProgram,
        a: np.ndarray,
        g: np.ndarray,
        norm: float,
        b: float,
        eta: float,
        slack: np.ndarray,
        reach: float,
        of_dual: Certificate,
    ) -> None:
        """Add the gap between the two objectives to the certificate of the multipliers."""
        terms = self._terms(norm, b, eta, slack)
        self.objective_ = float(sum(terms))
        self.dual_objective_ = self._dual_value(float(a @ g), float(dual.q @ a))
        gap, size = abs(self.objective_ - self.dual_objective_), sum(map(abs, terms))
        rounding = 8.0 * EPS * (reach * reach if self._unit(2.0) == 1.0 else reach)
        gap = ratio(gap, size) if gap > rounding else 0.0
        self.certificate_ = replace(of_dual, gap=max(of_dual.gap, gap))

    def _has_no_slab(
        self, points: Points, a: np.ndarray, g: np.ndarray, norm: float, bias: float, reach: float
    ) -> bool:
        """Return whether w = 0, which goes with eta = 0; in doubt a linear program decides."""
        if norm == 0.0 and abs(bias) <= _NEARLY_ZERO * float(a.sum()):
            return True
        return float(a @ g) <= _NEARLY_ZERO * reach * reach and self._is_below_range(points)

    def _complaints(self) -> list[Warning]:
        """Return the warnings about digits that are missing."""
        if not self.certificate_.ok:
            advice = "centre and scale the data" if self._penalized else "scale the data"
            return [
                ConvergenceWarning(
                    f"the solution misses tol = {self.tol:g} after {self.n_iter_} systems ({self.certificate_}); "
                    f"{advice}, or lower the price of slack"
                )
            ]
        return [warning_of_norm(self.norm_error_)] if self.norm_error_ > FEW_DIGITS else []

    # -- fitted attributes

    def _store(
        self,
        points: Points,
        a: np.ndarray,
        slack: np.ndarray,
        normal: Normal,
        slab: Slab,
        upper: float,
    ) -> None:
        """Set the fitted attributes."""
        unit = self._unit(normal.norm)
        levels = slab.moved(normal.shift, unit)
        if self._penalized:
            levels = levels.with_bias(slab.b)
        self.w_ = None if normal.w is None else normal.w * unit
        self.norm_ = normal.norm * unit
        self.b_, self.eta_ = levels.b, levels.eta
        self.b_interval_, self.eta_interval_ = levels.b_interval, levels.eta_interval
        self.blue_interval_, self.red_interval_ = levels.blue_interval, levels.red_interval
        self.delta_ = _delta(self.eta_, self.norm_)
        self.dual_coef_ = points.s * a * unit if normal.norm > 0.0 else np.zeros(points.n)
        self._store_counts(points, a, slack * unit, upper)
        self.degenerate_ = False

    def _store_counts(self, points: Points, a: np.ndarray, slack: np.ndarray, upper: float) -> None:
        """Set the attributes that belong to single points, and their numbers."""
        blue, red = points.blue, points.red
        self.lambda_, self.mu_ = a[blue], a[red]
        self.epsilon_, self.xi_ = slack[blue], slack[red]
        positive, below = a > 0.0, a < upper
        self.support_ = positive.nonzero()[0]
        type1 = positive & below if not self._squared else np.zeros(a.size, dtype=bool)
        self.support_type1_ = type1.nonzero()[0]
        self.p_f_, self.q_f_ = blue.size - _count(below[blue]), red.size - _count(below[red])
        self.p_m_, self.q_m_ = _count(positive[blue]), _count(positive[red])
        self.p_sf_, self.q_sf_ = _count(self.epsilon_ > 0.0), _count(self.xi_ > 0.0)
        self.X_fit_ = points.X

    def _store_degenerate(self, points: Points, a: np.ndarray, certificate: Certificate) -> Warning:
        """Set the fitted attributes of the solution w = 0, b = 0, eta = 0; return what has to be said."""
        w = None if points.Phi is None else np.zeros(points.Phi.shape[1])
        self._store(points, a, np.zeros(points.n), Normal(w, 0.0, 0.0), NO_SLAB, self.K_)
        self.delta_ = self._delta_of_nothing()
        self.point_classes_ = np.full(points.n, "undetermined")
        self.degenerate_, self.norm_error_ = True, 0.0
        self.objective_ = self.dual_objective_ = 0.0
        self.certificate_ = certificate
        return DegenerateSolutionWarning(self._degenerate_message(points))

    def _is_below_range(self, points: Points) -> bool:
        """Return whether w = 0 is the optimum, by the linear program of `nu_min`."""
        raise NotImplementedError

    def _delta_of_nothing(self) -> float:
        return float("nan")

    def _degenerate_message(self, points: Points) -> str:
        raise NotImplementedError

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
        check_is_fitted(self)
        reject_masked(X, "X")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if self.w_ is not None:
            features: Any = self.kernel_.features(X)
            return features @ self.w_ - self.b_
        rows = np.flatnonzero(self.dual_coef_)
        if not rows.size:
            return np.full(len(X), -self.b_)
        if self.kernel_.is_precomputed:
            return X[:, rows] @ self.dual_coef_[rows] - self.b_
        return self.kernel_(X, self.X_fit_[rows]) @ self.dual_coef_[rows] - self.b_

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
    def intercept_(self) -> float:
        """The constant of the decision function, -b, by scikit-learn's name."""
        return -self.b_

    @property
    def coef_(self) -> np.ndarray:
        """The weights w as a row, by scikit-learn's name; linear kernel only."""
        if not self._named_kernel().is_linear:
            raise AttributeError("coef_ exists for the linear kernel only; see w_ and dual_coef_")
        weights: Any = self.w_
        return weights[None, :]


def warning_of_norm(error: float) -> Warning:
    """Return the warning that few digits of the norm of w are known."""
    return ConvergenceWarning(
        f"the hyperplane is right, but rounding has changed the norm of w, and with it the width of the slab, by about "
        f"{error:.0e} of itself: the images of the points nearly coincide; scale the data up, or take a narrower "
        "kernel"
    )


def _error_of_norm(points: Points, a: np.ndarray, normal: Normal, keep_origin: bool) -> float:
    """Return about by how much rounding has changed the norm of w, relative to it.

    Where only inner products are known, it is the root of a sum in which terms of the size of the squares cancel.
    """
    if normal.norm == 0.0:
        return 0.0
    Z, _ = points.features(keep_origin)
    if Z is None:
        cancelled = float(a @ np.sqrt(np.maximum(points.diagonal, 0.0))) / normal.norm
        return 0.5 * EPS * cancelled * cancelled
    return EPS * float(a @ np.linalg.norm(Z, axis=1)) / normal.norm


def _of_nothing(of_dual: Certificate, a: np.ndarray, g: np.ndarray, reach: float) -> Certificate:
    """Certify w = 0: its value is 0, and that of the multipliers is compared with the terms that cancel in it."""
    part = float(ratio(abs(float(a @ g)), reach * reach))
    return replace(of_dual, dual_residual=part, complementarity=0.0, gap=part)


def _are_labels(values: np.ndarray) -> bool:
    """Return whether the values are plainly names of classes: scikit-learn need not be asked."""
    return values.dtype.kind in "iubUS" or (
        values.dtype.kind == "f" and bool((values == np.floor(values)).all())
    )


def _count(mask: np.ndarray) -> int:
    return int(np.count_nonzero(mask))


def _delta(eta: float, norm: float) -> float:
    """Return eta / norm with 1/0 = infinity."""
    if norm > 0.0:
        return eta / norm
    return float("inf") if eta > 0.0 else float("nan")
