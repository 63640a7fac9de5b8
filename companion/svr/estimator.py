r"""What the four regressions of the chapter have in common: the way from data to multipliers to the tube.

A class says which dual program it has (`_program`) and what its primal objective is made of (`_terms`). The rest is
here, once.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from companion.admm import LowRank
from companion.admm.kkt import symmetric_product
from companion.admm.quadratic import _symmetric_psd
from companion.admm.row_matrix import RowMatrix
from companion.certificates import Certificate, max_norm
from companion.checks import (
    as_scalar,
    as_vector,
    check_count,
    forget_feature_names,
    is_plain_data,
    reject_masked,
)
from companion.engine.guess import Guess, guess_tube
from companion.exceptions import ConvergenceWarning, UnboundedProblemError
from companion.kernels import Kernel, as_kernel
from companion.kernels.choice import own_points
from companion.results import Record
from companion.scaling import exponent_of, scaled_back
from companion.svm.dual import Units
from companion.svm.points import ROWS_FROM, Points, make_points
from companion.svr.solver import TubeSolution, solve_tube
from companion.svr.tube import Levels, TubeProgram, hinge, least_value

__all__ = ["POINT_CLASSES", "DualProgram", "Margins", "SupportVectorRegression"]

POINT_CLASSES = ("inside", "exceptional", "type 1", "type 2", "error")

KernelLike = str | Kernel | Callable

_SMALL = 1e-100  # a bound that is so small in units of y / |x|^2 makes P of no account
_LARGE = (
    1e120  # a bound is not larger than this in these units: nothing reaches it, and its square fits
)
_EPS = float(np.finfo(float).eps)
_STEEP = 1e30  # C/m |x|^2 / |y| from which on the bounds C/m may be out of reach
_FAINT = 1e-3  # features that are smaller than this lose digits beside the constant 1
_TIGHT = 1e-9  # a point is on a margin when it misses it by this part of the largest value


class Margins(NamedTuple):
    r"""The intercept b and half of the tube's width, :math:`\epsilon`; nan where a formula does not apply."""

    b: float
    epsilon: float


@dataclass(frozen=True, eq=False, repr=False)
class DualProgram(Record):
    r"""The dual program as the text writes it, in the 2m multipliers :math:`x = (\lambda, \mu)`.

    It is ``min 1/2 x'Px + q'x`` subject to ``1'lambda = 1'mu`` (where b is free), ``1'x <= total`` (where epsilon is
    free) and ``0 <= x <= upper``.

    Parameters
    ----------
    P : ndarray of shape (2m, 2m)
        :math:`\begin{pmatrix} \mathbf K & -\mathbf K \\ -\mathbf K & \mathbf K \end{pmatrix}`, and what the program
        adds to it.
    q : ndarray of shape (2m,)
        :math:`(y, -y)`, plus :math:`\epsilon` where it is fixed.
    upper : float
        C/m, or infinity where slacks are squared.
    total : float
        :math:`C\nu`, or infinity where :math:`\epsilon` is fixed.
    balanced : bool
        Whether b is free.

    Examples
    --------
    >>> from companion.svr import NuSVR
    >>> program = NuSVR(nu=0.5, C=2.0).dual_program([[0.0], [1.0]], [3.0, 5.0])
    >>> P, q, A, c = program.standard_form()
    >>> A.astype(int)
    array([[ 1,  1, -1, -1,  0,  0,  0,  0],
           [ 1,  1,  1,  1,  0,  0,  0,  0],
           [ 1,  0,  0,  0,  1,  0,  0,  0],
           [ 0,  1,  0,  0,  0,  1,  0,  0],
           [ 0,  0,  1,  0,  0,  0,  1,  0],
           [ 0,  0,  0,  1,  0,  0,  0,  1]])
    >>> c
    array([0., 1., 1., 1., 1., 1.])
    """

    P: np.ndarray
    q: np.ndarray
    upper: float
    total: float
    balanced: bool

    def standard_form(
        self, gamma: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        r"""Return P, q, A, c of the form ``A x = c, x >= 0``, for :func:`companion.admm.qsolve1`.

        A finite bound becomes 2m slack variables :math:`(\alpha, \beta)` and 2m equations.

        Parameters
        ----------
        gamma : bool
            False: the sum of the multipliers is :math:`C\nu`; the text's :math:`A_2` (b free) and :math:`A_3`
            (b penalized). For :math:`\nu \le 1` that changes no optimal value (with squared slacks it may), for
            larger :math:`\nu` it allows :math:`\epsilon < 0`. True: the sum plus one more variable
            :math:`\gamma \ge 0` is :math:`C\nu`; the text's A.

        Returns
        -------
        P, q, A, c : ndarray
            The variables are :math:`(\lambda, \mu, \alpha, \beta, \gamma)`.
        """
        n, free = self.q.size, math.isfinite(self.total)
        if gamma and not free:
            raise ValueError("gamma is the multiplier of epsilon >= 0; here epsilon is fixed")
        m, slacks = n // 2, n * int(math.isfinite(self.upper))
        N = n + slacks + int(gamma)
        one = np.ones(m)
        balance = np.concatenate([one, -one, np.zeros(N - n)])
        total = np.concatenate([one, one, np.zeros(slacks), np.ones(int(gamma))])
        box = np.hstack([np.eye(slacks, n), np.eye(slacks), np.zeros((slacks, int(gamma)))])
        rows = [balance[None]] * self.balanced + [total[None]] * bool(free) + [box]
        c = [0.0] * self.balanced + [self.total] * bool(free) + [self.upper] * slacks
        P = np.zeros((N, N))
        P[:n, :n] = self.P
        return P, np.concatenate([self.q, np.zeros(N - n)]), np.vstack(rows), np.array(c)


def _from_libsvm(points: Points, program: TubeProgram) -> Guess | None:
    """Return libsvm's guess of the active set, where it has the program and a kernel without few features."""
    dense = points.n >= ROWS_FROM and points.unit == 0 and not isinstance(program.P, LowRank)
    if not (dense and program.balanced and math.isfinite(program.upper)):
        return None
    X, options = points.for_libsvm()
    return guess_tube(
        X, program.y, options,
        upper=program.upper, radius=program.radius, epsilon=program.epsilon,
    )  # fmt: skip


class SupportVectorRegression(RegressorMixin, BaseEstimator):
    """Base of the regressions of chapter 20; see :class:`NuSVR` for the attributes."""

    C: float | None
    kernel: KernelLike
    kernel_params: dict[str, Any] | None
    tol: float
    max_iter: int
    w_: np.ndarray | None

    _penalized_b = False
    _squared = False

    # -- what each regression says about itself

    @abstractmethod
    def _prices(self, C: float) -> tuple[float, float]:
        r"""Return :math:`C\nu` and :math:`\epsilon_0`: the first infinite or the second 0."""

    def _program(
        self, P: Any, y: np.ndarray
    ) -> TubeProgram:  # P: Gram matrix and what the program adds to it
        m = y.size
        self.C_ = float(m) if self.C is None else as_scalar(self.C, "C", above=0.0)
        radius, epsilon = self._prices(self.C_)
        upper = np.inf if self._squared else self.C_ / m
        return TubeProgram(P, y, upper, radius, epsilon, not self._penalized_b)

    def _ridge(self, m: int) -> float:
        """Return m/(2C), the multiple of the identity that squared slacks add to P, or 0."""
        C = float(m) if self.C is None else as_scalar(self.C, "C", above=0.0)
        return m / (2.0 * C) if self._squared else 0.0

    # -- scikit-learn

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._named_kernel().is_precomputed
        return tags

    def _named_kernel(self) -> Kernel:
        return as_kernel(self.kernel, **(self.kernel_params or {}))

    # -- fitting

    def fit(self, X: Any, y: Any) -> Self:
        """Solve the dual program and recover the tube.

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
        X, y = self._read(X, y)
        points = self._spread(make_points(X, np.ones(len(y)), self.kernel_))
        units = self._units(points, y)
        points, y = points.in_unit(units.features), np.ldexp(y, -units.levels)
        # 1'delta = 0 allows to subtract the middle of y, which spares digits
        middle = 0.0 if self._penalized_b else float(y.min() + (y.max() - y.min()) / 2.0)
        ridge = self._ridge(len(y))
        faint = self._penalized_b and points.size < _FAINT
        P: Any = points.signed_matrix(penalize_b=self._penalized_b and not faint, ridge=ridge)
        P = P.toarray() if isinstance(P, RowMatrix) else P
        if points.Phi is None and self.kernel_.positive_definite is not True:
            P = self._check_psd(P)
        if faint:
            P = _beside_constant(points, P)
        program = _in_units(self._program(P, y - middle), units)
        program = replace(program, reach=float(np.abs(y).max()))
        try:
            solution = self._without_bounds(program) or solve_tube(
                program,
                tol=float(self.tol),
                max_iter=self.max_iter,
                guess=_from_libsvm(points, program),
            )
        except UnboundedProblemError as error:  # only rounding can make that of P
            raise ValueError(self._too_large()) from error
        if units != (0, 0) and _is_cut_off(program, solution.delta):
            raise ValueError(self._too_large())
        ridge = float(np.ldexp(ridge, -2 * units.features))
        self._store(points, program, solution, middle, ridge, units)
        if units != (0, 0):
            self._store_as_given(units)
        return self

    def _too_large(self) -> str:
        return (
            f"C = {self.C_:g} is too large for these data: m/(2C) is lost beside the inner products of the points; "
            "scale the data, or lower C"
        )

    def _spread(self, points: Points) -> Points:
        """Return the points; at the origin, if b is free and they are all the same: then their size says nothing."""
        Phi = points.Phi
        if (
            self._penalized_b
            or Phi is None
            or not (Phi[0] == Phi[-1]).all()
            or np.ptp(Phi, axis=0).any()
        ):
            return points
        return replace(points, Phi=np.zeros_like(Phi))

    def _without_bounds(self, program: TubeProgram) -> TubeSolution | None:
        """Return the solution for C = infinity where C is so large that it may be that, None if it is not."""
        if math.isfinite(program.radius):
            return None
        if program.upper * program.P.diagonal().max() <= _STEEP * max_norm(program.y):
            return None
        free = replace(program, upper=np.inf)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                solution = solve_tube(free, tol=float(self.tol), max_iter=self.max_iter)
        except UnboundedProblemError:  # no tube of this width holds all points
            return None
        inside = np.abs(solution.delta).max() <= program.upper
        return solution if solution.certificate.ok and inside else None

    def _units(self, points: Points, y: np.ndarray) -> Units:
        """Return the units in which the dual program has moderate numbers."""
        size = max(points.size, math.sqrt(self._ridge(len(y))), float(self._penalized_b))
        e, of_y = exponent_of(size), exponent_of(float(np.abs(y).max()))
        units = Units(e, of_y - 2 * e)
        program = self._program(None, y)
        bound = program.upper if math.isfinite(program.upper) else program.radius
        with np.errstate(over="ignore"):
            tiny = bound > 0.0 and np.ldexp(bound, -units.multipliers) < _SMALL
        if tiny:
            return Units()  # P is next to nothing; the bounds and y decide
        return units

    def _read(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Validate data and parameters."""
        self.kernel_ = self._named_kernel()
        as_scalar(self.tol, "tol", above=0.0)
        check_count(self.max_iter, "max_iter")
        if is_plain_data(X, y) and not self.kernel_.is_precomputed:
            forget_feature_names(self, X.shape[1])
        else:
            reject_masked(X, "X")
            reject_masked(y, "y")
            X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
            y = as_vector(y, "y")  # labels that are None have become nan
        return own_points(X, self.kernel_), y.astype(np.float64)

    def _check_psd(self, P: Any) -> np.ndarray:
        try:
            return _symmetric_psd(P)
        except ValueError as error:
            raise ValueError(
                f"the kernel must be positive definite on the training points; the matrix of {self.kernel_!r} "
                f"there is not: {error}"
            ) from error

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
        machine = clone(self)
        X, y = machine._read(X, y)
        points = Points(X, np.ones(len(y)), machine.kernel_, None)
        K = points.gram() + float(self._penalized_b)
        program = machine._program(K, y)
        P = np.block([[K, -K], [-K, K]])
        P[np.diag_indices_from(P)] += machine._ridge(len(y))
        q = np.concatenate([program.epsilon + y, program.epsilon - y])
        return DualProgram(P, q, program.upper, program.radius, program.balanced)

    def _store(
        self,
        points: Points,
        program: TubeProgram,
        solution: TubeSolution,
        middle: float,
        ridge: float,
        units: Units,
    ) -> None:
        """Set the fitted attributes, in the units of the program."""
        delta, s, levels = solution.delta, solution.s, solution.levels
        fitted = symmetric_product(program.P, delta)  # of y - s, rounding is left where C is tiny
        quadratic = float(delta @ (fitted - ridge * delta))
        if ridge > 0.0 and points.Phi is None and isinstance(program.P, np.ndarray):
            K = program.P  # its diagonal may be lost beside the ridge; P has done its work
            K[np.diag_indices_from(K)] = np.ldexp(points.diagonal, -2 * units.features)
            quadratic = float(delta @ symmetric_product(K, delta))
        bias = float(np.ldexp(delta.sum(), -units.features)) if self._penalized_b else 0.0
        quadratic -= bias * bias
        normal = points.normal(delta, quadratic, self._penalized_b)
        self.w_, self.norm_, self.norm_error_ = normal.w, normal.norm, 0.0
        if normal.w is None and normal.norm > 0.0:
            cancelled = float(np.abs(delta) @ points.lengths) / normal.norm
            self.norm_error_ = 0.5 * _EPS * cancelled**2
        self.X_fit_, self.n_iter_, self.dual_coef_ = points.X, max(solution.n_iter, 1), delta

        residuals = s + ridge * delta - levels.b
        b = float(np.ldexp(_balance_of(delta), -2 * units.features))
        moved = levels.moved(b if self._penalized_b else middle - normal.shift)
        self.b_, self.epsilon_ = moved.b, moved.epsilon
        self.b_interval_, self.epsilon_interval_ = moved.b_interval, moved.epsilon_interval
        self.blue_interval_, self.red_interval_ = moved.blue_interval, moved.red_interval
        self.residuals_, self.offsets_ = residuals, residuals + self.b_
        spent = float(np.abs(delta).sum())
        gamma = program.radius - spent
        self.gamma_ = gamma if math.isfinite(gamma) and gamma > 1e-11 * program.radius else 0.0

        self._store_objective(program, solution, fitted, residuals, bias, units)
        size = max(float(np.abs(program.y).max()), float(np.abs(fitted).max()), abs(levels.b))
        self._store_points(delta, program.upper, residuals, ridge, _TIGHT * size)

    def _store_objective(
        self,
        program: TubeProgram,
        solution: TubeSolution,
        fitted: np.ndarray,
        residuals: np.ndarray,
        bias: float,
        units: Units,
    ) -> None:
        """Compare the objectives of primal and dual program."""
        delta, of_dual = solution.delta, solution.certificate
        largest = max(program.reach, float(np.abs(fitted).max()))
        slack = hinge(residuals, self.epsilon_, largest)
        loss = float(slack @ slack) if self._squared else float(slack.sum())
        if loss > 0.0:
            C = self.C_ / len(delta)
            loss *= float(np.ldexp(C, 2 * units.features)) if self._squared else program.upper
        price = program.radius * self.epsilon_ if math.isfinite(program.radius) else 0.0
        spent = float(np.abs(delta).sum())
        self.objective_ = 0.5 * self.norm_ * self.norm_ + 0.5 * bias * bias + price + loss
        self.dual_objective_ = (
            float(program.y @ delta) - 0.5 * float(delta @ fitted) - program.epsilon * spent
        )
        gap = abs(self.objective_ - self.dual_objective_)
        size = max(self.objective_, least_value(program, spent))
        self.certificate_ = Certificate(
            of_dual.primal_residual,
            of_dual.dual_residual,
            of_dual.complementarity,
            max(of_dual.gap, gap / size if size > 0.0 else gap),
            of_dual.tolerance,
        )
        if of_dual.ok and not self.certificate_.ok:
            warnings.warn(
                f"the dual program is solved, but the tube that its multipliers give misses tol = {self.tol:g} "
                f"({self.certificate_}); scale the data, or lower C",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _store_as_given(self, units: Units) -> None:
        """Take the fitted attributes to the units of the data."""
        multipliers = "the multipliers"
        total = float(np.ldexp(_balance_of(self.dual_coef_), units.multipliers))
        for name in ("dual_coef_", "lambda_", "mu_"):
            setattr(self, name, scaled_back(getattr(self, name), units.multipliers, multipliers))
        self.gamma_ = float(np.ldexp(self.gamma_, units.multipliers))
        if self.w_ is not None:
            self.w_ = scaled_back(self.w_, units.weights, "the weights w")
        self.norm_ = float(scaled_back(self.norm_, units.weights, "the weights w"))
        levels = Levels(
            self.b_,
            self.epsilon_,
            self.b_interval_,
            self.epsilon_interval_,
            self.blue_interval_,
            self.red_interval_,
        )
        largest = max(abs(levels.b), levels.epsilon, float(np.abs(self.residuals_).max()))
        scaled_back(largest, units.levels, "the values of the tube")
        levels = levels.scaled(float(np.ldexp(1.0, units.levels)))
        if self._penalized_b:  # b may be next to nothing beside epsilon, and still be known
            levels = replace(levels, b=total, b_interval=(total, total))
        self.b_, self.epsilon_ = levels.b, levels.epsilon
        self.b_interval_, self.epsilon_interval_ = levels.b_interval, levels.epsilon_interval
        self.blue_interval_, self.red_interval_ = levels.blue_interval, levels.red_interval
        for name in ("residuals_", "offsets_", "xi_", "xi_prime_"):
            setattr(self, name, np.ldexp(getattr(self, name), units.levels))
        with np.errstate(over="ignore"):
            self.objective_ = float(np.ldexp(self.objective_, 2 * units.weights))
            self.dual_objective_ = float(np.ldexp(self.dual_objective_, 2 * units.weights))

    def _store_points(
        self, delta: np.ndarray, upper: float, residuals: np.ndarray, ridge: float, tight: float
    ) -> None:
        """Set what belongs to single points, by Definitions 20.1 and 20.2, and the counts."""
        size, beyond = np.abs(delta), np.abs(residuals) - self.epsilon_
        if self._squared:
            slack = ridge * size
        else:  # only points that fail the margin have slack; less is rounding
            slack = np.where((size >= upper) & (beyond > tight), beyond, 0.0)
        blue, red = delta < 0.0, delta > 0.0
        self.lambda_, self.mu_ = np.where(blue, size, 0.0), np.where(red, size, 0.0)
        self.xi_, self.xi_prime_ = np.where(blue, slack, 0.0), np.where(red, slack, 0.0)
        self.support_ = size.nonzero()[0]
        full, free = size >= upper, (size > 0.0) & (size < upper) & (not self._squared)
        self.I_lambda_, self.I_mu_ = (free & blue).nonzero()[0], (free & red).nonzero()[0]
        self.K_lambda_, self.K_mu_ = (full & blue).nonzero()[0], (full & red).nonzero()[0]
        self.E_lambda_, self.E_mu_ = self.xi_.nonzero()[0], self.xi_prime_.nonzero()[0]
        self.numsvl1_, self.numsvm1_ = self.I_lambda_.size, self.I_mu_.size
        self.p_f_, self.q_f_ = self.K_lambda_.size, self.K_mu_.size
        self.p_m_, self.q_m_ = int(np.count_nonzero(blue)), int(np.count_nonzero(red))
        self.p_sf_, self.q_sf_ = self.E_lambda_.size, self.E_mu_.size

        classes = np.full(size.size, "inside", dtype="<U11")
        classes[(size == 0.0) & (np.abs(beyond) <= tight)] = "exceptional"
        classes[free] = "type 1"
        classes[full] = "type 2"
        classes[slack > 0.0] = "error"
        self.point_classes_ = classes
        lower = blue | ((classes == "exceptional") & (residuals < -tight))
        upper_side = red | ((classes == "exceptional") & (residuals > tight))
        self.colours_ = np.where(lower, "blue", np.where(upper_side, "red", ""))

    @property
    def width_(self) -> float:
        r"""The distance of the two margins in :math:`\mathbb R^{n+1}`, :math:`2\epsilon/\sqrt{1 + \|w\|^2}`."""
        return 2.0 * self.epsilon_ / float(np.hypot(1.0, self.norm_))

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
        check_is_fitted(self)
        reject_masked(X, "X")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if self.w_ is not None:
            features: Any = self.kernel_.features(X)
            return features @ self.w_ + self.b_
        rows = self.support_
        if not rows.size:
            return np.full(len(X), self.b_)
        K = X[:, rows] if self.kernel_.is_precomputed else self.kernel_(X, self.X_fit_[rows])
        return K @ self.dual_coef_[rows] + self.b_

    @property
    def intercept_(self) -> float:
        """The constant b, by scikit-learn's name."""
        return self.b_

    @property
    def coef_(self) -> np.ndarray:
        """The weights w, by scikit-learn's name; linear kernel only."""
        if not self._named_kernel().is_linear:
            raise AttributeError("coef_ exists for the linear kernel only; see w_ and dual_coef_")
        weights: Any = self.w_
        return weights


def _in_units(program: TubeProgram, units: Units) -> TubeProgram:
    """Return a program whose P and y have these units already, with everything else in them."""
    if units == (0, 0):
        return program
    with np.errstate(over="ignore"):
        upper, radius = np.ldexp([program.upper, program.radius], -units.multipliers)
        epsilon = np.ldexp(program.epsilon, -units.levels)
    return replace(
        program,
        upper=float(upper if np.isinf(program.upper) else min(upper, _LARGE)),
        radius=float(radius if np.isinf(program.radius) else min(radius, _LARGE)),
        epsilon=float(min(epsilon, _LARGE)),
    )


def _beside_constant(points: Points, gram: Any) -> LowRank:
    """Return the kernel matrix plus 1 by a factor: in their sum, the small inner products would lose their digits."""
    F, _ = points.features(penalize_b=True)
    if F is None:
        values, V = np.linalg.eigh(gram if isinstance(gram, np.ndarray) else gram.toarray())
        F = V * np.sqrt(np.maximum(values, 0.0))
    return LowRank(np.column_stack([F, np.full(points.n, np.ldexp(1.0, -points.unit))]))


def _is_cut_off(program: TubeProgram, delta: np.ndarray) -> bool:
    """Say whether a bound that was lowered to what nothing should reach has been reached."""
    size = np.abs(delta)
    tight = program.radius == _LARGE and float(size.sum()) >= _LARGE * (1.0 - _TIGHT)
    return tight or (program.upper == _LARGE and float(size.max()) >= _LARGE)


def _balance_of(delta: np.ndarray) -> float:
    """Return the sum of delta, which is 0 when it is nothing but rounding."""
    total = float(delta.sum())
    return total if abs(total) > 1e-15 * float(np.abs(delta).sum()) else 0.0
