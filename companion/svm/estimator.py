r"""What the eight machines of the chapter have in common: the way from data to multipliers to hyperplanes.

A machine says which dual program it has (`_dual`), how multipliers give b and eta (`_slab`), and what it minimises
(`_terms`). Everything else is here, once.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from companion.admm import LowRank
from companion.admm.kkt import BoxQP, symmetric_product
from companion.admm.qp_engine import Neighbour, prove
from companion.admm.quadratic import check_matrix, solve_box_qp
from companion.admm.row_matrix import RowMatrix
from companion.certificates import Certificate
from companion.checks import (
    as_matrix,
    as_scalar,
    check_count,
    forget_feature_names,
    is_plain_data,
    reject_masked,
)
from companion.engine.guess import guess_machine
from companion.engine.machines import Dense, finish
from companion.exceptions import ConvergenceWarning
from companion.kernels import Kernel, as_kernel, is_positive_definite
from companion.kernels.choice import own_points
from companion.results import QPResult
from companion.scaling import exponent_of, scaled_back
from companion.svm.bounds import vanishing_multipliers
from companion.svm.dual import DualProgram, Units
from companion.svm.points import ROWS_FROM, Normal, Points, make_points
from companion.svm.recovery import FLOOR, Recovered, over
from companion.svm.slab import NO_SLAB, Slab, place_points, slab_nearest, snap

__all__ = [
    "FEW_DIGITS",
    "DegenerateSolutionWarning",
    "IndefiniteKernelError",
    "SupportVectorMachine",
    "warn_of_norm",
]

KernelLike = str | Kernel | Callable

FEW_DIGITS = 1e-7  # the relative error of the norm of w from which on there is a warning
_REPETITIONS = 10  # for the right side of s'a = -b: each leaves about |x|^2 of the error before it


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
    _normalized = False  # the norm of w is 1
    _penalized = False  # the objective contains b
    _balanced = True  # the coefficients of w in the images of the points have the sum s'a = 0

    # -- what each machine says about itself

    @abstractmethod
    def _dual(self, points: Points) -> DualProgram:
        """Return the dual program."""

    def _dual_to_solve(self, points: Points) -> DualProgram:
        """Return the program that is solved, where that is not the dual program as it stands."""
        return self._dual(points)

    @abstractmethod
    def _slab(self, s: np.ndarray, g: np.ndarray, a: np.ndarray, upper: float) -> Slab:
        """Return b and eta from the multipliers a and g = P a."""

    @abstractmethod
    def _terms(
        self, norm: float, b: float, eta: float, slack: np.ndarray, dual: DualProgram
    ) -> tuple[float, ...]:
        """Return the terms of the primal objective."""

    def _dual_value(self, quadratic: float, linear: float) -> float:
        """Return the value of the dual function, for a'Pa and q'a."""
        return -(0.5 * quadratic + linear)

    def _units(self, points: Points) -> Units:
        """Return the units in which the dual program has moderate numbers; eta = 1 keeps its unit."""
        e = exponent_of(points.size)
        return Units(e, -2 * e)

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
        return self._fit(X, y)

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
        return self._fit(np.vstack([u, v]), np.repeat([1, -1], [len(u), len(v)]))

    def _fit(self, X: Any, y: Any) -> Self:
        X, s = self._read(X, y)
        points = make_points(X, s, self.kernel_)
        try:
            self._fit_points(points)
        except IndefiniteKernelError as error:
            points = self._centred(points, error)
            self._fit_points(points)
        return self

    def _centred(self, points: Points, error: ValueError) -> Points:
        r"""Return the points with centred inner products, if the kernel is conditionally positive definite.

        Where :math:`s^\top a = 0`, the multipliers do not see the difference.
        """
        centred = replace(points, centred=True)
        if not is_positive_definite(centred.gram()):
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
        return replace(dual, P=dual.P.toarray()) if isinstance(dual.P, RowMatrix) else dual

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
        return own_points(X, self.kernel_), np.where(y == self.classes_[1], 1.0, -1.0)

    def _fit_points(self, points: Points) -> None:
        """Fit to points that are known to be good."""
        self._fit_from(points, None)

    def _fit_from(self, points: Points, neighbour: Neighbour | None) -> None:
        """Fit, from a neighbour if there is one, and from nothing where that misses the tolerance."""
        of_dual = self._attempt(points, neighbour)
        if neighbour is not None and not self.certificate_.ok:
            of_dual = self._attempt(points, None)
        if not self.certificate_.ok:
            found = (
                "the dual program is solved, but the hyperplanes that its multipliers give miss"
                if of_dual.ok
                else f"{self.n_iter_} iterations for the dual program did not reach"
            )
            advice = "centre and scale the data" if self._penalized else "scale the data"
            warnings.warn(
                f"{found} tol = {self.tol:g} ({self.certificate_}); {advice}, or lower the price of slack",
                ConvergenceWarning,
                stacklevel=5,
            )
        elif self.norm_error_ > FEW_DIGITS:
            warn_of_norm(self.norm_error_, stacklevel=6)

    def _attempt(self, points: Points, neighbour: Neighbour | None) -> Certificate:
        """Solve the dual program; recover w, b, eta and the slacks; certify. Return the certificate of the dual."""
        units = self._units(points)
        points = points.in_unit(units.features)
        dual, result, a, g, slab = self._optimum(
            points,
            units.of(self._dual_to_solve(points)),
            units,
            neighbour if units == (0, 0) else None,
        )
        self.n_iter_ = result.n_iter
        found = Recovered(points, dual, a, g, slab, units, self._penalized, self._squared)
        if self._homogeneous and self._has_no_slab(found):
            a, certificate = self._of_no_slab(found, result)
            self._store_degenerate(points, a, dual, certificate, units)
            return certificate
        norm, bias = found.normal.norm, found.bias
        if self._squared and norm == 0.0 and _differ(a, points.s):
            warnings.warn(
                f"w is lost in rounding: 1/(2K) is next to nothing beside the inner products; lower K = {self.K_:g}",
                DegenerateSolutionWarning,
                stacklevel=6,
            )
        quadratic = float(a @ g) + (0.0 if dual.penalize_b else bias * bias)
        self._certify(
            self._terms(norm, bias, slab.eta, found.slack, dual),
            self._dual_value(quadratic, float(dual.q @ a)),
            (math.sqrt(FLOOR) * found.reach) ** (1 if self._normalized else 2),
            found.miss(),
            result.certificate,
            units.features if self._normalized else 2 * units.weights,
        )
        slack, size = found.slack, found.size
        if not self._squared:
            slack = np.where(slack > 1e-9 * size, slack, 0.0)
        self.point_classes_ = place_points(
            a, dual.upper, found.margin, slab.eta, size, self._squared
        )
        self._store(points, a, slack, found.normal, slab, dual, units)
        self.norm_error_ = found.norm_error
        return result.certificate

    def _has_no_slab(self, found: Recovered) -> bool:
        """Return whether w = 0, which goes with eta = 0; in doubt a linear program decides."""
        vanishes = found.normal.norm == 0.0 and not found.dual.penalize_b
        return vanishes or (found.nearly_vanishes and self._is_below_range(found.points))

    def _of_no_slab(self, found: Recovered, result: QPResult) -> tuple[np.ndarray, Certificate]:
        """Return the multipliers of w = 0 and their certificate.

        Beside long features, the b of a penalized b hardly counts in a'Pa: a linear program balances the classes.
        """
        dual, a = found.dual, found.a
        balanced = vanishing_multipliers(found.points) if dual.penalize_b else None
        if balanced is None:
            return a, result.certificate
        a = np.minimum(float(dual.c[-1]) * np.maximum(balanced, 0.0), dual.upper)
        zeros = found.points.zeros
        program = BoxQP(dual.P, dual.q, dual.A, dual.c, zeros, zeros + dual.upper)
        return a, prove(program, a, np.zeros(1), float(self.tol)).certificate

    def _optimum(
        self, points: Points, dual: DualProgram, units: Units, neighbour: Neighbour | None
    ) -> tuple[DualProgram, QPResult, np.ndarray, np.ndarray, Slab]:
        """Return the program that was solved, the result, the multipliers a, g = P a, and the slab.

        A penalized b that is no weight of the program is the multiplier of s'a = -b. It hardly depends on the right
        side of this equation, which is therefore found by repetition.
        """
        s = points.s
        for _ in range(_REPETITIONS):
            result = self._solve(points, dual, neighbour)
            a = snap(result.x, dual.upper, np.sqrt(np.maximum(dual.P.diagonal(), 0.0)))
            Px = result.Px if (a == result.x).all() else None
            g = symmetric_product(dual.P, a) if Px is None else Px
            if dual.penalize_b or not self._penalized:
                return dual, result, a, g, self._slab(s, g, a, dual.upper)
            slab = slab_nearest(s, g, a, dual.upper)
            of_s, total = dual.c
            balance = -float(np.ldexp(slab.b, 2 * units.features))
            solved, dual = dual, replace(dual, c=np.array([balance, total]))
            if _agree(balance, of_s, total):
                break
        else:
            warnings.warn(
                f"b is known to {abs(balance - of_s) / abs(balance):.1e} of its size only; scale the data up",
                ConvergenceWarning,
                stacklevel=7,
            )
        return solved, result, a, g, slab

    def _solve(
        self, points: Points, dual: DualProgram, neighbour: Neighbour | None = None
    ) -> QPResult:
        n = points.n
        try:
            P = dual.P
            if neighbour is None or not neighbour.has_met(P):
                P = check_matrix(P, n, assume_psd=points.is_psd())
                if isinstance(P, np.ndarray) and dual.ridge > 0.0 and not points.is_psd():
                    # the ridge must not hide what the kernel is
                    check_matrix(P - dual.ridge * np.eye(n), n, assume_psd=False)
            program = BoxQP(P, dual.q, dual.A, dual.c, points.zeros, np.full(n, dual.upper))
            many = n >= ROWS_FROM and points.unit == 0
            if many and neighbour is None:
                found = self._from_libsvm(points, program, dual)
                if found is not None:
                    return found
            return solve_box_qp(
                program, tol=float(self.tol), max_iter=int(self.max_iter), start=neighbour
            )
        except ValueError as error:
            if "positive semidefinite" not in str(error):
                raise
            raise IndefiniteKernelError(points.kernel, str(error)) from error

    def _from_libsvm(self, points: Points, program: BoxQP, dual: DualProgram) -> QPResult | None:
        """Let libsvm guess the active set, and finish; None where that gives no solution."""
        balanced, P = bool((dual.A[0] == points.s).all()), program.P
        if isinstance(P, LowRank):
            return None
        if balanced and dual.ridge == 0.0:
            X, options = points.for_libsvm()
        else:
            signs = points.s if balanced else np.ones(points.n)
            whole = P.toarray() if isinstance(P, RowMatrix) else P
            X, options = whole * np.outer(signs, signs), {"kernel": "precomputed"}
        total = float(dual.c[-1]) if not dual.q.any() else None
        guess = guess_machine(
            X, points.s, options, upper=dual.upper, total=total, balanced=balanced
        )
        if guess is None:
            return None
        rows = P if isinstance(P, RowMatrix) else Dense(P)
        done = finish(rows, dual.q, dual.A, dual.c, dual.upper, guess.a, guess.state)
        if done is None:
            return None
        proof = prove(program, done.a, done.y, float(self.tol), done.Pa)
        if not proof.certificate.ok:
            return None
        return QPResult(
            x=done.a,
            y=done.y,
            z_lower=proof.z_lower,
            z_upper=proof.z_upper,
            objective=float(0.5 * (done.a @ done.Pa) + program.q @ done.a),
            n_iter=done.n_systems,
            converged=True,
            status="solved",
            certificate=proof.certificate,
            Px=done.Pa,
        )

    def _unit(self, norm: float) -> float:
        """Return the factor that takes sum s_i a_i phi(x_i) to w: 1 but for (SVM_s1)."""
        return 1.0

    def _certify(
        self,
        terms: tuple[float, ...],
        dual_value: float,
        floor: float,
        miss: float,
        of_dual: Certificate,
        unit: int,
    ) -> None:
        """Certify by the gap of primal and dual program, beside the residuals of the dual one.

        `miss` is by how much, relatively, the hyperplanes miss points that have no slack; `unit` is that of the
        objectives, which may overflow where the hyperplanes do not.
        """
        objective = float(sum(terms))
        self.objective_, self.dual_objective_ = objective, dual_value
        if unit:
            with np.errstate(over="ignore"):
                values = np.ldexp([objective, dual_value], unit)
            self.objective_, self.dual_objective_ = values.tolist()
        gap, size = abs(objective - dual_value), max(sum(map(abs, terms)), floor)
        self.certificate_ = Certificate(
            of_dual.primal_residual,
            max(of_dual.dual_residual, miss),
            of_dual.complementarity,
            max(of_dual.gap, over(gap, size)),
            of_dual.tolerance,
        )

    def _store(
        self,
        points: Points,
        a: np.ndarray,
        slack: np.ndarray,
        normal: Normal,
        slab: Slab,
        dual: DualProgram,
        units: Units,
    ) -> None:
        """Set the fitted attributes, in the units of the data."""
        unit = self._unit(normal.norm)
        levels = slab.moved(normal.shift, unit)
        of_a = units.multipliers
        if self._normalized:  # the norm of w is 1 in any unit
            units = Units(units.features, -units.features)
        if units.levels:
            if normal.norm > 0.0:
                largest = max(float(np.abs(dual.P @ a).max()) * unit, abs(levels.b), levels.eta)
                scaled_back(largest, units.levels, "the values of the decision function")
            levels = levels.in_unit(units.levels)
            slack = np.ldexp(slack, units.levels)
        if dual.penalize_b:
            levels = levels.with_bias(float(np.ldexp(slab.b, units.multipliers)))
        weights = "the weights w"
        self.w_ = None if normal.w is None else scaled_back(normal.w * unit, units.weights, weights)
        self.norm_ = float(scaled_back(normal.norm * unit, units.weights, weights))
        self.b_, self.eta_ = levels.b, levels.eta
        self.b_interval_, self.eta_interval_ = levels.b_interval, levels.eta_interval
        self.blue_interval_, self.red_interval_ = levels.blue_interval, levels.red_interval
        self.delta_ = _ratio(self.eta_, self.norm_)
        coefficients = points.s * a * unit if normal.norm > 0.0 else np.zeros(points.n)
        self.dual_coef_ = scaled_back(coefficients, units.multipliers, "the multipliers")
        self._store_counts(points, a, slack * unit, dual.upper)
        if of_a:
            of_given = scaled_back(a, of_a, "the multipliers")
            self.lambda_, self.mu_ = of_given[points.blue], of_given[points.red]
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

    def _store_degenerate(
        self,
        points: Points,
        a: np.ndarray,
        dual: DualProgram,
        certificate: Certificate,
        units: Units,
    ) -> None:
        """Set the fitted attributes of the solution w = 0, b = 0, eta = 0, and say so."""
        w = None if points.Phi is None else np.zeros(points.Phi.shape[1])
        self._store(points, a, np.zeros(points.n), Normal(w, 0.0, 0.0), NO_SLAB, dual, units)
        self.delta_ = self._delta_of_nothing()
        self.point_classes_ = np.full(points.n, "undetermined")
        self.degenerate_, self.norm_error_ = True, 0.0
        self.objective_ = self.dual_objective_ = 0.0
        self.certificate_ = certificate
        warnings.warn(self._degenerate_message(points), DegenerateSolutionWarning, stacklevel=7)

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


def warn_of_norm(error: float, stacklevel: int) -> None:
    """Warn that few digits of the norm of w are known."""
    warnings.warn(
        f"the hyperplane is right, but rounding has changed the norm of w, and with it the width of the slab, by about "
        f"{error:.0e} of itself: the images of the points nearly coincide; scale the data up, or take a narrower "
        "kernel",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )


def _are_labels(values: np.ndarray) -> bool:
    """Return whether the values are plainly names of classes: scikit-learn need not be asked."""
    return values.dtype.kind in "iubUS" or (
        values.dtype.kind == "f" and bool((values == np.floor(values)).all())
    )


def _differ(a: np.ndarray, s: np.ndarray) -> bool:
    """Return whether multipliers of one class differ. With squared slacks they do not for w = 0."""
    spread = max(float(np.ptp(a[s > 0])), float(np.ptp(a[s < 0])))
    return spread > FLOOR * float(a.max())


def _agree(balance: float, before: float, total: float) -> bool:
    """Return whether s'a changed by less than its digits, or than the rounding of the sum of the multipliers."""
    return abs(balance - before) <= max(1e-12 * abs(balance), 1e-17 * total)


def _count(mask: np.ndarray) -> int:
    return int(np.count_nonzero(mask))


def _ratio(eta: float, norm: float) -> float:
    """Return eta / norm with 1/0 = infinity."""
    if norm > 0.0:
        return eta / norm
    return float("inf") if eta > 0.0 else float("nan")
