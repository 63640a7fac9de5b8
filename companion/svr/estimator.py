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

from companion.checks import (
    as_scalar,
    as_vector,
    check_count,
    check_range,
    forget_feature_names,
    is_plain_data,
    reject_masked,
)
from companion.engine.arithmetic import EPS, largest, ratio
from companion.engine.guess import guess_tube
from companion.engine.machines import is_psd
from companion.exceptions import ConvergenceWarning
from companion.kernels import Kernel, as_kernel, is_positive_definite
from companion.kernels.choice import own_points
from companion.results import Record
from companion.svm.points import Points, make_points
from companion.svr.tube import Tube, TubeKernel, TubeProgram, solve_tube

__all__ = ["POINT_CLASSES", "DualProgram", "Margins", "SupportVectorRegression"]

POINT_CLASSES = ("inside", "exceptional", "type 1", "type 2", "error")

KernelLike = str | Kernel | Callable

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

    def _program(self, points: Points, y: np.ndarray) -> TubeProgram:
        """Return the dual program in the differences of the multipliers."""
        m = points.n
        self.C_ = float(m) if self.C is None else as_scalar(self.C, "C", above=0.0)
        radius, epsilon = self._prices(self.C_)
        upper, ridge = (math.inf, m / (2.0 * self.C_)) if self._squared else (self.C_ / m, 0.0)
        K = points.signed_kernel(penalize_b=self._penalized_b, ridge=ridge)
        return TubeProgram(K, y, upper, radius, epsilon, not self._penalized_b)

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
        for warning in self._fit(*self._read(X, y)):
            warnings.warn(warning, stacklevel=2)
        return self

    def _fit(self, X: np.ndarray, y: np.ndarray) -> list[Warning]:
        """Solve the dual program and recover the tube; return what has to be said."""
        points = make_points(X, np.ones(len(y)), self.kernel_)
        if not points.is_kernel and not is_psd(points.gram, "the Gram matrix"):
            smallest = is_positive_definite(points.gram).smallest_eigenvalue
            raise ValueError(
                f"the kernel must be positive definite on the training points; the matrix of {self.kernel_!r} "
                f"there is not: it has the negative eigenvalue {smallest:.6g}"
            )
        # 1'delta = 0 allows to subtract the middle of y, which spares digits
        middle = 0.0 if self._penalized_b else float(y.min() + (y.max() - y.min()) / 2.0)
        program = self._program(points, y - middle)
        tube = solve_tube(
            program, self._guess(points, program), float(self.tol), int(self.max_iter)
        )
        return self._store(points, program, tube, middle)

    def _guess(self, points: Points, program: TubeProgram) -> np.ndarray | None:
        """Let libsvm guess the multipliers, unless there are few features."""
        m, y, upper = points.n, program.y, program.upper
        if program.radius == 0.0 or program.K.factor() is not None:
            return None
        idle = program.radius >= m * upper
        radius = math.inf if idle else program.radius
        if self._penalized_b:
            # b = 0 for points with their mirror images -phi(x), -y; the constant is a feature
            G = points.gram + 1.0
            X, y, options = (
                np.block([[G, -G], [-G, G]]),
                np.concatenate([y, -y]),
                {"kernel": "precomputed"},
            )
            upper = upper / 2.0
        elif program.K.ridge:
            X, options = points.gram + program.K.ridge * np.eye(m), {"kernel": "precomputed"}
        else:
            X, options = points.for_libsvm()
        delta = guess_tube(X, y, options, upper=upper, radius=radius, epsilon=program.epsilon)
        if delta is None or not self._penalized_b:
            return delta
        delta = delta[:m] - delta[m:]
        return np.where(
            np.abs(delta) >= program.upper * (1.0 - 1e-9), np.copysign(program.upper, delta), delta
        )

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
        y = y.astype(np.float64)
        check_range(largest(X), "X")
        check_range(largest(y), "y")
        return own_points(X, self.kernel_), y

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
        program = machine._program(points, y)
        P = TubeKernel(program.K).toarray()
        return DualProgram(P, program.q, program.upper, program.radius, program.balanced)

    def _store(
        self, points: Points, program: TubeProgram, tube: Tube, middle: float
    ) -> list[Warning]:
        """Set the fitted attributes; return what has to be said."""
        delta, ridge, levels = tube.delta, program.K.ridge, tube.levels
        bias = float(delta.sum()) if self._penalized_b else 0.0
        quadratic = float(delta @ (tube.fitted - ridge * delta)) - bias * bias
        normal = points.normal(delta, quadratic, self._penalized_b)
        self.w_, self.norm_, self.norm_error_ = normal.w, normal.norm, 0.0
        if normal.w is None and normal.norm > 0.0:
            cancelled = float(np.abs(delta) @ np.sqrt(points.diagonal)) / normal.norm
            self.norm_error_ = 0.5 * EPS * cancelled**2
        self.X_fit_, self.n_iter_, self.dual_coef_ = points.X, max(tube.n_systems, 1), delta

        residuals = tube.s + ridge * delta - levels.b
        moved = levels.moved(bias if self._penalized_b else middle - normal.shift)
        self.b_, self.epsilon_ = moved.b, moved.epsilon
        self.b_interval_, self.epsilon_interval_ = moved.b_interval, moved.epsilon_interval
        self.blue_interval_, self.red_interval_ = moved.blue_interval, moved.red_interval
        self.residuals_, self.offsets_ = residuals, residuals + self.b_
        gamma = program.radius - float(np.abs(delta).sum())
        self.gamma_ = gamma if math.isfinite(gamma) and gamma > 1e-11 * program.radius else 0.0

        size = largest(program.y) + largest(tube.fitted) + abs(levels.b)
        self._store_points(delta, program.upper, residuals, ridge, _TIGHT * size)
        self._certify(program, tube, bias, size)
        if self.certificate_.ok:
            return []
        return [
            ConvergenceWarning(
                f"the solution misses tol = {self.tol:g} after {self.n_iter_} systems ({self.certificate_}); "
                "scale the data, or lower C"
            )
        ]

    def _certify(self, program: TubeProgram, tube: Tube, bias: float, size: float) -> None:
        """Add the gap between the objectives of primal and dual program to the certificate of the multipliers."""
        delta, m = tube.delta, program.m
        beyond = np.maximum(np.abs(self.residuals_) - self.epsilon_, 0.0)
        if self._squared:
            loss = self.C_ / m * float(beyond @ beyond)
        else:
            loss = program.upper * float(beyond.sum())
        price = program.radius * self.epsilon_ if math.isfinite(program.radius) else 0.0
        spent = float(np.abs(delta).sum())
        self.objective_ = 0.5 * self.norm_ * self.norm_ + 0.5 * bias * bias + price + loss
        self.dual_objective_ = (
            float(program.y @ delta) - 0.5 * float(delta @ tube.fitted) - program.epsilon * spent
        )
        gap = abs(self.objective_ - self.dual_objective_)
        reach = float(np.abs(delta) @ np.sqrt(program.K.diagonal()))
        loss_terms = size * (self.C_ if not self._squared else float(spent))
        rounding = 8.0 * EPS * (reach * reach + size * spent + loss_terms)
        gap = ratio(gap, self.objective_) if gap > rounding else 0.0
        self.certificate_ = replace(tube.certificate, gap=max(tube.certificate.gap, gap))

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
