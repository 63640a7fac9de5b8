"""Every public name of the five packages: how to call it, and which of its arguments are arrays.

All data are small integers, so that every number format holds them without rounding.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from companion import admm as A_
from companion import certificates as C_
from companion import datasets as D_
from companion import kernels as K_
from companion import regression as R_
from companion import svm as S_
from companion import svr as T_
from companion.admm import admm

PACKAGES = ("admm", "kernels", "svm", "regression", "svr", "certificates", "datasets")

# ----------------------------------------------------------------------------------------------
# Data
# ----------------------------------------------------------------------------------------------

X = np.array([[2, 1], [3, 3], [1, 4], [4, 2], [-2, -1], [-1, -3], [-4, 0], [1, -2]], dtype=float)
y = np.array([1, 1, 1, 1, -1, -1, -1, -1], dtype=float)
t = np.array([3, 5, 4, 7, -2, -3, -5, 1], dtype=float)
P = np.array([[4, 1, 0], [1, 4, 1], [0, 1, 4]], dtype=float)
q = np.array([-4, -4, -4], dtype=float)
A = np.array([[1, 1, -1], [1, -1, -1]], dtype=float)
v = np.array([3, -1, 2, -4], dtype=float)
SQUARE = np.array([[2, -1, 0], [-1, 3, 1], [0, 1, -2]], dtype=float)
GRAM = X @ X.T
WIDE = np.array([[1, 2, 0, -1, 3], [0, 1, 4, 2, -2], [2, 0, 1, 1, 1]], dtype=float)
THREE = np.array([1, -2, 3], dtype=float)
ALPHA = np.array([1, 0, 2, 1, 2, 1, 0, 1], dtype=float)
NOT_FINITE = ("nan", "inf", "minus inf")
ROWS = np.array([[1, 2], [2, 1], [0, 3]], dtype=float)


REGRESSOR = T_.NuSVR(C=5.0).fit(X, t)


@dataclass
class Target:
    """A callable, the arrays it takes, and how to look at what it returns."""

    call: Callable[..., Any]
    arrays: dict[str, np.ndarray]
    fixed: dict[str, Any] = field(default_factory=dict)
    scalars: dict[str, Any] = field(default_factory=dict)  # good values
    read: Callable[[Any], Any] = lambda answer: answer
    alone: bool = False  # one array only: fewer rows are another problem, not an error
    accepts: set[tuple[str, str]] = field(default_factory=set)  # (argument, attack) that is legal
    any_shape: bool = False  # works entry by entry
    complex_numbers: bool = False  # defined for them
    opaque: bool = False  # points are handed to a function of the reader as they are
    sklearn: bool = False  # scikit-learn reads the data
    says: tuple[str, ...] = ()  # what messages call the arguments, where that differs

    def is_legal(self, argument: str, attack: str) -> bool:
        """Say whether an attack on an array is no attack here."""
        if (argument, attack) in self.accepts:
            return True
        if attack == "short":
            return self.alone
        if attack in ("empty", "one axis more", "three axes more"):
            return self.any_shape
        if attack == "complex":
            return self.complex_numbers or self.opaque
        return self.opaque

    @property
    def words(self) -> tuple[str, ...]:
        """The names of which a message must hold one."""
        return (*self.arrays, *self.scalars, *self.says)

    def __call__(self, **changes: Any) -> Any:
        return self.read(self.call(**(self.arrays | self.fixed | self.scalars | changes)))


def _l1(prox_input: np.ndarray, step: float) -> np.ndarray:
    return A_.soft_threshold(prox_input, step)


def _half_norm(u: np.ndarray) -> float:
    return float(u @ u) / 2


def _loss(loss: Any) -> list[Any]:
    x = np.ones(loss.n)
    return [loss.value(x), loss.gradient(x), loss.prox(x, 2.0)]


def _at_v(prox: Any) -> Any:
    return prox(v[:3], 1.0)


def _history(valued: bool = False) -> Any:
    return admm(
        lambda w, rho: (w - 1 / rho) / 2,
        lambda w, rho: -rho * w / (rho + 2),
        2, -1, np.zeros(1), max_iter=5, tol_abs=1e-1, tol_rel=0.0, keep_iterates=True,
        objective=(lambda x, z: float(x @ x + z @ z)) if valued else None,
    ).history  # fmt: skip


def _admm_call(A: Any, B: Any, c: Any, **options: Any) -> Any:
    return admm(lambda w, rho: w / 2, lambda w, rho: w / 2, A, B, c, max_iter=3, **options)


def _method(solver: Callable[..., Any]) -> Callable[..., Any]:
    def call(A: Any, b: Any, lambda0: Any, **options: Any) -> Any:
        return solver(lambda l: -np.asarray([[1.0, 1.0]]).T @ l / 4, A, b, lambda0, **options)

    return call


def _decomposition(A1: Any, A2: Any, b: Any, lambda0: Any, step: Any) -> Any:
    return A_.dual_decomposition([(lambda l: -l, A1), (lambda l: -l / 2, A2)], b, lambda0, step)


def _consensus(A: Any, b: Any, **options: Any) -> Any:
    blocks = [(A, b), (ROWS, np.array([1.0, 0.0, 2.0]))]
    return A_.consensus(blocks, A_.LassoObjective(tau=1.0), **options)


ADMM = {
    "solve_qp": Target(
        A_.solve_qp,
        {"P": P, "q": q, "A": A, "b": np.zeros(2), "lower": np.zeros(3), "upper": 5 * np.ones(3)},
        scalars={"tol": 1e-9, "max_iter": 100},
        accepts={("upper", "inf"), ("lower", "minus inf")},
    ),
    "qsolve1": Target(
        A_.qsolve1,
        {"P": P, "q": q, "A": A, "b": np.zeros(2)},
        scalars={"rho": 10.0, "max_iter": 2000},
    ),
    "lasso": Target(
        A_.lasso,
        {"A": X, "b": t},
        scalars={"tau": 2.0, "rho": 1.0, "tol": 1e-8, "max_iter": 2000},
        accepts={("rho", "none")},
    ),
    "basis_pursuit": Target(
        A_.basis_pursuit,
        {"A": WIDE, "b": THREE},
        scalars={"rho": 1.0, "tol": 1e-8},
        accepts={("rho", "none")},
    ),
    "least_absolute_deviations": Target(
        A_.least_absolute_deviations,
        {"A": X, "b": t},
        scalars={"rho": 1.0},
        accepts={("rho", "none")},
    ),
    "generalized_lasso": Target(
        A_.generalized_lasso,
        {"A": P, "b": THREE, "F": A},
        scalars={"tau": 1.0},
        accepts={("F", "empty"), ("F", "short")},
    ),
    "group_lasso": Target(
        A_.group_lasso,
        {"A": WIDE, "b": THREE, "weights": np.array([1.0, 2.0, 1.0])},
        {"groups": [0, 0, 1, 1, 2]},
        {"tau": 1.0},
        accepts={("weights", "none")},
    ),
    "l1_regularized": Target(
        A_.l1_regularized, {"tau": np.array([1.0, 2.0])}, {"loss": A_.LogisticLoss(X, y)}
    ),
    "LogisticLoss": Target(A_.LogisticLoss, {"A": X, "y": y}, read=_loss),
    "LowRank": Target(
        A_.LowRank,
        {"G": X, "diagonal": np.arange(8.0)},
        read=lambda L: L.toarray(),
        accepts={("diagonal", "none")},
    ),
    "LeastSquaresLoss": Target(A_.LeastSquaresLoss, {"A": X, "b": t}, read=_loss),
    "SquaredHingeLoss": Target(
        A_.SquaredHingeLoss, {"A": X, "y": y}, scalars={"K": 1.0}, read=_loss
    ),
    "LassoObjective": Target(A_.LassoObjective, {}, scalars={"tau": 1.0}, read=lambda o: o.tau),
    "RidgeObjective": Target(A_.RidgeObjective, {}, scalars={"K": 1.0}, read=lambda o: o.K),
    "SquaredHingeObjective": Target(
        A_.SquaredHingeObjective, {}, scalars={"K": 1.0}, read=lambda o: o.K
    ),
    "consensus": Target(_consensus, {"A": X, "b": t}, scalars={"rho": 1.0, "max_iter": 500}),
    "soft_threshold": Target(
        A_.soft_threshold, {"v": v}, scalars={"c": 1.0}, alone=True, any_shape=True
    ),
    "block_soft_threshold": Target(
        A_.block_soft_threshold, {"v": v}, scalars={"c": 1.0}, alone=True, any_shape=True
    ),
    "project_affine": Target(A_.project_affine, {"A": A, "b": np.ones(2)}, read=lambda p: p(v[:3])),
    "project_ball": Target(
        A_.project_ball,
        {"v": v, "center": np.ones(4)},
        scalars={"radius": 2.0},
        accepts={("center", "none")},
    ),
    "project_box": Target(
        A_.project_box,
        {"v": v, "lower": -np.ones(4), "upper": np.ones(4)},
        accepts={("upper", "inf"), ("lower", "minus inf")},
        says=("box",),
    ),
    "project_orthant": Target(A_.project_orthant, {"v": v}, alone=True, any_shape=True),
    "project_psd": Target(A_.project_psd, {"V": SQUARE}),
    "project_simplex": Target(A_.project_simplex, {"v": v}, scalars={"radius": 2.0}, alone=True),
    "prox_elastic_net": Target(
        A_.prox_elastic_net,
        {"v": v},
        scalars={"t": 1.0, "tau": 1.0, "K": 1.0},
        alone=True,
        any_shape=True,
    ),
    "prox_huber": Target(
        A_.prox_huber, {"v": v}, scalars={"t": 1.0, "delta": 1.0}, alone=True, any_shape=True
    ),
    "prox_linf_norm": Target(
        A_.prox_linf_norm, {"v": v}, scalars={"t": 1.0}, alone=True, any_shape=True
    ),
    "prox_logistic": Target(
        A_.prox_logistic, {"v": v}, scalars={"t": 1.0}, alone=True, any_shape=True
    ),
    "prox_quadratic": Target(
        A_.prox_quadratic,
        {"P": P, "q": q, "A": A, "b": np.zeros(2)},
        read=_at_v,
        accepts={("q", "none")},
    ),
    "prox_add_linear": Target(A_.prox_add_linear, {"a": THREE}, {"prox": _l1}, read=_at_v),
    "prox_conjugate": Target(
        lambda x: A_.prox_conjugate(_l1)(x, 1.0), {"x": v}, says=("v",), alone=True, any_shape=True
    ),
    "prox_indicator": Target(
        lambda x: A_.prox_indicator(A_.project_simplex)(x, 1.0), {"x": v}, says=("v",), alone=True
    ),
    "prox_postcompose": Target(A_.prox_postcompose, {}, {"prox": _l1}, {"a": 2.0}, read=_at_v),
    "prox_precompose": Target(
        A_.prox_precompose, {"b": THREE}, {"prox": _l1}, {"a": 2.0}, read=_at_v
    ),
    "prox_separable_sum": Target(
        lambda x: A_.prox_separable_sum([(_l1, 2), (_l1, 2)])(x, 1.0), {"x": v}, says=("v",)
    ),
    "moreau_envelope": Target(
        lambda x: A_.moreau_envelope(lambda z: np.abs(z).sum(), _l1)(x, 1.0),
        {"x": v},
        says=("v",),
        alone=True,
        any_shape=True,
    ),
    "augmented_lagrangian": Target(
        A_.augmented_lagrangian,
        {"A": A, "b": np.ones(2)},
        {"J": _half_norm},
        {"rho": 1.0},
        read=lambda L: L([1.0, 2.0, 3.0], [1.0, -1.0]),
    ),
    "dual_function": Target(
        A_.dual_function,
        {"A": A, "b": np.ones(2)},
        {"argmin": lambda l: -A.T @ l, "J": _half_norm},
        {"rho": 1.0},
        read=lambda G: G([1.0, -1.0]),
    ),
    "quadratic_argmin": Target(
        A_.quadratic_argmin,
        {"Q": P, "c": q, "A": A, "b": np.ones(2)},
        scalars={"rho": 1.0},
        read=lambda u: u([1.0, 2.0]),
    ),
    "dual_ascent": Target(
        _method(A_.dual_ascent),
        {"A": np.array([[1.0, 1.0]]), "b": np.ones(1), "lambda0": np.ones(1)},
        {"step": 0.5},
        {"tol": 1e-8, "max_iter": 100},
    ),
    "method_of_multipliers": Target(
        _method(A_.method_of_multipliers),
        {"A": np.array([[1.0, 1.0]]), "b": np.ones(1), "lambda0": np.ones(1)},
        {"rho": 0.5},
        {"tol": 1e-8, "max_iter": 100},
    ),
    "dual_decomposition": Target(
        _decomposition,
        {"A1": np.ones((1, 1)), "A2": np.ones((1, 1)), "b": 3 * np.ones(1), "lambda0": np.zeros(1)},
        {"step": 0.5},
        says=("A",),
    ),
    "admm": Target(_admm_call, {"A": np.eye(3), "B": -np.eye(3), "c": THREE}, scalars={"rho": 1.0}),
    "proximal_gradient": Target(
        A_.proximal_gradient,
        {"x0": THREE},
        {"gradient": lambda x: x - 1, "prox": _l1},
        {"step": 0.5, "tol": 1e-8, "max_iter": 200},
        alone=True,
        any_shape=True,
        accepts={("step", "none")},
    ),
    "accelerated_proximal_gradient": Target(
        A_.accelerated_proximal_gradient,
        {"x0": THREE},
        {"gradient": lambda x: x - 1, "prox": _l1},
        {"step": 0.5, "max_iter": 200},
        alone=True,
        any_shape=True,
        accepts={("step", "none")},
    ),
    "proximal_point": Target(
        A_.proximal_point,
        {"x0": THREE},
        {"prox": _l1},
        {"step": 1.0, "max_iter": 200},
        alone=True,
        any_shape=True,
    ),
    "krasnoselskii_mann": Target(
        A_.krasnoselskii_mann,
        {"x0": THREE},
        {"R": lambda x: x / 2},
        {"relaxation": 0.5, "max_iter": 200},
        alone=True,
        any_shape=True,
    ),
    "lyapunov": Target(
        lambda z_star, lambda_star: A_.lyapunov(_history(), -1, z_star, lambda_star),
        {"z_star": np.ones(1), "lambda_star": np.ones(1)},
    ),
    "convergence_inequalities": Target(
        lambda x_star, z_star, lambda_star, p_star: A_.convergence_inequalities(
            _history(True),
            2,
            -1,
            0,
            x_star=x_star,
            z_star=z_star,
            lambda_star=lambda_star,
            p_star=p_star,
        )["A1"],
        {"x_star": np.ones(1), "z_star": np.ones(1), "lambda_star": np.ones(1)},
        scalars={"p_star": 1.0},
    ),
}

KERNELS = {
    "Bilinear": Target(K_.Bilinear, {"B": np.array([[2.0, 1.0], [1.0, 3.0]])}, read=lambda k: k(X)),
    "CyclicKernel": Target(
        K_.CyclicKernel,
        {"p": np.array([3.0, 1.0, 1.0])},
        read=lambda k: k([[0], [1]]),
        alone=True,
        complex_numbers=True,
    ),
    "Gaussian": Target(
        lambda x, sigma: K_.Gaussian(sigma)(x),
        {"x": X},
        scalars={"sigma": 1.0},
        alone=True,
        complex_numbers=True,
        says=("X", "a kernel needs", "points"),
    ),
    "Linear": Target(
        lambda x: K_.Linear()(x),
        {"x": X},
        alone=True,
        complex_numbers=True,
        says=("X", "a kernel needs", "points"),
    ),
    "Polynomial": Target(
        lambda x, d, R: K_.Polynomial(d, R)(x),
        {"x": X},
        scalars={"d": 2, "R": 1.0},
        alone=True,
        complex_numbers=True,
        says=("X", "a kernel needs", "points"),
    ),
    "Sigmoid": Target(
        lambda x, a, b: K_.Sigmoid(a, b)(x),
        {"x": X},
        scalars={"a": 1.0, "b": 0.0},
        alone=True,
        complex_numbers=True,
        says=("X", "a kernel needs", "points"),
    ),
    "Constant": Target(
        lambda x, c: K_.Constant(c)(x),
        {"x": X},
        scalars={"c": 1.0},
        alone=True,
        opaque=True,
        says=("a kernel needs", "points", "constant kernel"),
    ),
    "FeatureMap": Target(
        lambda x: K_.FeatureMap(lambda z: np.array([z.sum(), 1.0]))(x),
        {"x": X},
        alone=True,
        opaque=True,
        says=("a kernel needs", "points", "constant kernel"),
    ),
    "FromFunction": Target(
        lambda x: K_.FromFunction(lambda a, b: float(a @ b))(x),
        {"x": X},
        alone=True,
        opaque=True,
        says=("a kernel needs", "points", "constant kernel"),
    ),
    "as_kernel": Target(
        lambda x: K_.as_kernel("rbf")(x),
        {"x": X},
        alone=True,
        complex_numbers=True,
        says=("X", "a kernel needs", "points"),
    ),
    "gram": Target(
        K_.gram,
        {"X": X},
        {"kernel": "linear"},
        alone=True,
        complex_numbers=True,
        says=("X", "a kernel needs", "points"),
    ),
    "center_gram": Target(K_.center_gram, {"K": GRAM}, complex_numbers=True),
    "is_positive_definite": Target(
        K_.is_positive_definite,
        {"K": GRAM},
        read=lambda d: [d.positive_definite, d.largest_eigenvalue],
        complex_numbers=True,
    ),
    "orthogonalize": Target(
        K_.orthogonalize, {"V": ROWS}, alone=True, complex_numbers=True, accepts={("V", "empty")}
    ),
    "orthogonal_complement": Target(
        K_.orthogonal_complement,
        {"V": WIDE},
        read=lambda Q: Q.T @ Q,
        alone=True,
        complex_numbers=True,
        accepts={("V", "empty")},
    ),
    "polynomial_features": Target(
        K_.polynomial_features,
        {"X": X},
        {"d": 2},
        {"R": 1.0},
        alone=True,
        complex_numbers=True,
        accepts={("X", "empty")},
    ),
    "polynomial_exponents": Target(K_.polynomial_exponents, {}, scalars={"n": 2, "d": 2}),
    "VectorFamily": Target(
        K_.VectorFamily,
        {"U": np.diag([2.0, 3.0])},
        read=lambda U: K_.expand([1.0, 2.0], U).coefficients,
        alone=True,
        complex_numbers=True,
    ),
    "expand": Target(
        lambda v: K_.expand(v, K_.VectorFamily(np.diag([2.0, 3.0]))).coefficients,
        {"v": np.array([1.0, 2.0])},
        complex_numbers=True,
    ),
    "Fourier": Target(
        lambda k, x: K_.Fourier()(k, x), {"x": v}, {"k": np.arange(3)}, alone=True, any_shape=True
    ),
    "Legendre": Target(
        lambda k, x: K_.Legendre()(k, x),
        {"x": np.array([0.0, 1.0, -1.0])},
        {"k": np.arange(3)},
        alone=True,
        any_shape=True,
    ),
    "RKHSFunction": Target(
        lambda points, coefficients: K_.RKHSFunction("rbf", points, coefficients)(X),
        {"points": ROWS, "coefficients": THREE},
        complex_numbers=True,
        says=("X", "a kernel needs"),
    ),
    "largest_finite_sum": Target(
        K_.largest_finite_sum, {"terms": v}, alone=True, accepts={("terms", "empty")}
    ),
    "rearranged": Target(
        lambda terms, target: K_.rearranged(terms, target, 2)[1],
        {"terms": v},
        scalars={"target": 1.0},
        alone=True,
    ),
}

SVM = {
    "augment": Target(S_.augment, {"X": X}, alone=True, accepts={("X", "empty")}),
    "augmented_dual": Target(S_.augmented_dual, {"X": X, "y": y}, scalars={"C": 1.0}),
    "dual_coordinate_ascent": Target(
        S_.dual_coordinate_ascent, {"X": X, "y": y}, scalars={"C": 1.0, "tol": 1e-9}
    ),
    "primal_newton": Target(S_.primal_newton, {"X": X, "y": y}, scalars={"C": 1.0, "tol": 1e-9}),
    "primal_kernel_newton": Target(
        S_.primal_kernel_newton, {"X": X, "y": y}, scalars={"C": 1.0}, read=lambda r: r.alpha
    ),
    "nu_min": Target(S_.nu_min, {"u": X[:4], "v": X[2:]}, accepts={("u", "short"), ("v", "short")}),
    "nu_max": Target(S_.nu_max, {}, scalars={"p": 3, "q": 4}),
    "nu_path": Target(
        lambda X, y, nu: [(m.b_, m.eta_) for m in S_.nu_path(X, y, nu)],
        {"X": X, "y": y, "nu": np.array([1.0])},
        sklearn=True,
        accepts={("nu", "empty"), ("nu", "short")},
    ),
    "K_path": Target(
        lambda X, y, K: [(m.b_, m.norm_) for m in S_.K_path(X, y, K)],
        {"X": X, "y": y, "K": np.array([1.0, 2.0])},
        sklearn=True,
        accepts={("K", "empty"), ("K", "short")},
    ),
    "nearest_psd": Target(S_.nearest_psd, {"A": SQUARE}),
    "spectrum_transform": Target(S_.spectrum_transform, {"K": SQUARE}, {"how": "clip"}),
    "RankOneSpectrum": Target(S_.RankOneSpectrum, {"K0": SQUARE}, read=lambda r: 0.0),
    "IndefiniteObjective": Target(
        S_.IndefiniteObjective,
        {"K0": GRAM, "y": y},
        scalars={"rho": 1.0},
        read=lambda f: f.value(ALPHA) if hasattr(f, "value") else f(ALPHA),
    ),
    "indefinite_objective": Target(
        S_.indefinite_objective, {"alpha": ALPHA, "K0": GRAM, "y": y}, scalars={"rho": 1.0}
    ),
    "indefinite_gradient": Target(
        S_.indefinite_gradient, {"alpha": ALPHA, "K0": GRAM, "y": y}, scalars={"rho": 1.0}
    ),
    "proxy_kernel": Target(
        S_.proxy_kernel, {"alpha": ALPHA, "K0": GRAM, "y": y}, scalars={"rho": 1.0}
    ),
    "saddle_value": Target(
        S_.saddle_value, {"alpha": ALPHA, "K": GRAM, "K0": GRAM, "y": y}, scalars={"rho": 1.0}
    ),
    "largest_linear": Target(S_.largest_linear, {"g": t, "y": y}, scalars={"C": 1.0}),
    "lipschitz_constant": Target(
        S_.lipschitz_constant, {"K0": GRAM, "y": y}, scalars={"C": 1.0, "rho": 1.0}
    ),
    "project_q1": Target(S_.project_q1, {"beta": t, "y": y}, scalars={"C": 1.0}),
    "solve_indefinite": Target(
        S_.solve_indefinite,
        {"K0": GRAM, "y": y},
        scalars={"C": 1.0, "rho": 1.0},
        read=lambda r: r.objective,
    ),
}

REGRESSION = {
    "elastic_net_dual": Target(
        R_.elastic_net_dual,
        {"X": X, "y": t},
        scalars={"K": 1.0, "tau": 1.0},
        read=lambda s: (s.w, s.b),
    ),
    "elastic_net_qp": Target(R_.elastic_net_qp, {"X": X, "y": t}, scalars={"K": 1.0, "tau": 1.0}),
    "lasso_admm": Target(
        R_.lasso_admm,
        {"X": X, "y": t},
        scalars={"tau": 1.0, "K": 0.0, "rho": 1.0, "tol": 1e-8},
        accepts={("rho", "none")},
    ),
    "lasso_dual": Target(
        R_.lasso_dual, {"X": X, "y": t}, scalars={"tau": 1.0}, read=lambda s: (s.w, s.b)
    ),
    "lasso_path": Target(
        R_.lasso_path,
        {"X": X, "y": t, "tau": np.array([4.0, 1.0])},
        scalars={"K": 0.0},
        accepts={("tau", "none"), ("tau", "empty"), ("tau", "short")},
    ),
    "ridge_path": Target(
        R_.ridge_path,
        {"X": X, "y": t, "K": np.array([4.0, 1.0])},
        accepts={("K", "empty"), ("K", "short")},
    ),
    "tau_max": Target(R_.tau_max, {"X": X, "y": t}),
}

SVR = {
    "tube_from_offsets": Target(
        T_.tube_from_offsets, {"offsets": t}, scalars={"nu": 0.5}, alone=True
    ),
}

CERTIFICATES = {
    "certify_qp": Target(
        C_.certify_qp,
        {
            "P": P,
            "q": q,
            "A": A,
            "b": np.zeros(2),
            "lower": np.zeros(3),
            "upper": 5 * np.ones(3),
            "x": np.array([1.0, 0.0, 1.0]),
            "y": np.ones(2),
            "z_lower": np.zeros(3),
            "z_upper": np.zeros(3),
        },
        scalars={"tolerance": 1e-9},
        read=lambda certificate: certificate.worst,
        accepts={
            (name, attack)
            for name in ("P", "q", "A", "b", "lower", "upper", "x", "y", "z_lower", "z_upper")
            for attack in NOT_FINITE
        },  # no certificate is good for them
    ),
}

DATASETS = {
    "matlab_randn": Target(D_.matlab_randn, {}, scalars={"shape": 3, "offset": 2}),
    "sparse_regression": Target(
        D_.sparse_regression,
        {},
        scalars={"m": 10, "n": 5, "nonzero": 2, "noise": 0.1, "seed": 1},
        read=lambda data: data.X,
    ),
    "outlier_line": Target(
        D_.outlier_line,
        {},
        scalars={"m": 10, "outliers": 2, "seed": 1},
        read=lambda data: data.X,
    ),
    "piecewise_constant": Target(
        D_.piecewise_constant,
        {},
        scalars={"m": 12, "noise": 0.1, "seed": 1},
        read=lambda data: data.X,
    ),
    "noisy_sinc": Target(
        D_.noisy_sinc, {}, scalars={"m": 12, "noise": 0.1, "seed": 1}, read=lambda data: data.X
    ),
    "two_circles": Target(
        D_.two_circles,
        {"radii": np.array([1.0, 3.0])},
        scalars={"points": 12},
        read=lambda data: data.X,
    ),
    "iris": Target(D_.iris, {}, scalars={"version": "sklearn"}, read=lambda data: data.X),
    "example_19_1": Target(D_.example_19_1, {}, scalars={"target": "y1"}, read=lambda data: data.X),
}

TARGETS = {
    f"{package}.{name}": target
    for package, table in zip(
        PACKAGES, (ADMM, KERNELS, SVM, REGRESSION, SVR, CERTIFICATES, DATASETS)
    )
    for name, target in table.items()
}

ESTIMATORS = {
    "kernels.KernelPCA": K_.KernelPCA,
    "svm.HardMarginSVC": S_.HardMarginSVC,
    "svm.IndefiniteSVC": S_.IndefiniteSVC,
    "svm.SVMs1": S_.SVMs1,
    "svm.SVMs2": S_.SVMs2,
    "svm.SVMs2l": S_.SVMs2l,
    "svm.SVMs2prime": S_.SVMs2prime,
    "svm.SVMs3": S_.SVMs3,
    "svm.SVMs4": S_.SVMs4,
    "svm.SVMs5": S_.SVMs5,
    "regression.ElasticNet": R_.ElasticNet,
    "regression.KernelRidge": R_.KernelRidge,
    "regression.Lasso": R_.Lasso,
    "regression.RidgeRegression": R_.RidgeRegression,
    "svr.EpsilonSVR": T_.EpsilonSVR,
    "svr.NuSVR": T_.NuSVR,
    "svr.NuSVRPenalizedBias": T_.NuSVRPenalizedBias,
    "svr.QuadraticNuSVR": T_.QuadraticNuSVR,
}

# Names that take no data from a reader, and why.
OTHERS = {
    "made by the package, never by a reader": (
        "admm.ADMMResult",
        "admm.FixedPointResult",
        "admm.MultiplierResult",
        "admm.QPResult",
        "admm.Iterate",
        "kernels.Composed",
        "kernels.Definiteness",
        "kernels.Exp",
        "kernels.Expansion",
        "kernels.GaussianOf",
        "kernels.Normalized",
        "kernels.PolynomialOf",
        "kernels.Product",
        "kernels.Scaled",
        "kernels.Sum",
        "svm.DualProgram",
        "svm.IndefiniteResult",
        "svm.TrainingResult",
        "svm.DegenerateSolutionWarning",
        "regression.DualSolution",
        "regression.L1Path",
        "regression.RidgePath",
        "svr.Levels",
        "svr.Margins",
        "certificates.Certificate",
        "datasets.Labelled",
        "datasets.Regression",
        "datasets.TwoClasses",
    ),
    "abstract; its children are in the tables": (
        "admm.ConsensusObjective",
        "admm.SmoothLoss",
        "kernels.Kernel",
        "kernels.OrthogonalFamily",
    ),
    "takes sets or group elements, not arrays: test_others.py": (
        "kernels.Agreement",
        "kernels.GroupKernel",
        "kernels.Intersection",
        "kernels.Subset",
        "kernels.UnionComplement",
        "kernels.subset_features",
        "kernels.subsets",
    ),
    "fixed data, without arguments": (
        "datasets.breast_cancer",
        "datasets.diabetes",
        "datasets.digits",
        "datasets.example_19_3",
        "datasets.four_heights",
        "datasets.iris_components",
        "datasets.iris_sepals",
        "datasets.nile",
        "datasets.nine_points",
        "datasets.sixty_points",
        "datasets.ten_points",
        "datasets.text_uv14",
        "datasets.text_uv16",
        "datasets.text_x13",
        "datasets.text_x14",
        "datasets.text_x20",
        "datasets.wine",
        "datasets.xor",
        "datasets.zm_eighteen",
        "datasets.zm_fourteen",
        "datasets.zm_six",
    ),
    "takes an estimator: test_others.py": (
        "svm.from_sklearn",
        "svm.to_sklearn",
        "regression.from_sklearn",
        "regression.to_sklearn",
        "svr.from_sklearn",
        "svr.to_sklearn",
    ),
}


# ----------------------------------------------------------------------------------------------
# Methods, and other uses of the functions above
# ----------------------------------------------------------------------------------------------

LOGISTIC = A_.LogisticLoss(X, y)
TWO = np.array([1, -2], dtype=float)
EXPANSION = K_.expand(TWO, K_.VectorFamily(np.diag([2.0, 3.0])))
FUNCTION = K_.RKHSFunction("rbf", ROWS, THREE)
OBJECTIVE = S_.IndefiniteObjective(GRAM, y, 1.0)
TRAINED = S_.dual_coordinate_ascent(X, y)
INDICES = np.arange(2)


def _of_kernel(call: Callable[..., Any]) -> Target:
    return Target(
        call,
        {"X": X},
        alone=True,
        complex_numbers=True,
        says=("X", "a kernel needs", "points"),
        accepts={("X", "none")},  # means: no second points
    )


METHODS = {
    "admm.SmoothLoss.value": Target(LOGISTIC.value, {"x": TWO}),
    "admm.SmoothLoss.gradient": Target(LOGISTIC.gradient, {"x": TWO}),
    "kernels.Kernel.__call__": _of_kernel(lambda X: K_.Gaussian(1.0)(ROWS, X)),
    "kernels.Kernel.diagonal": _of_kernel(lambda X: K_.Polynomial(2).diagonal(X)),
    "kernels.Kernel.features": _of_kernel(lambda X: K_.Polynomial(2).features(X)),
    "kernels.Kernel.compose": Target(
        lambda X: K_.Linear().compose(lambda z: 2 * z)(ROWS, X),
        {"X": X},
        alone=True,
        opaque=True,
        says=("a kernel needs", "points"),
    ),
    "kernels.Kernel.polynomial": Target(
        lambda coefficients: K_.Linear().polynomial(coefficients)(X),
        {"coefficients": np.array([4.0, 1.0, 9.0])},
        alone=True,
    ),
    "kernels.Kernel.gaussian": Target(
        lambda sigma: K_.Linear().gaussian(sigma)(X), {}, scalars={"sigma": 1.0}
    ),
    "kernels.Kernel.__pow__": Target(
        lambda exponent: (K_.Linear() ** exponent)(X), {}, scalars={"exponent": 2}
    ),
    "kernels.KernelPCA.transform": Target(
        K_.KernelPCA(2).fit(X).transform, {"X": X}, alone=True, sklearn=True
    ),
    "kernels.RKHSFunction.__call__": _of_kernel(FUNCTION),
    "kernels.RKHSFunction.project": _of_kernel(lambda X: FUNCTION.project(X)(ROWS)),
    "kernels.RKHSFunction.interpolate": Target(
        lambda points, values: K_.RKHSFunction.interpolate("rbf", points, values)(ROWS),
        {"points": X, "values": t},
        complex_numbers=True,
        says=("X", "a kernel needs"),
    ),
    "kernels._FunctionFamily.inner": Target(
        lambda degree, breaks: K_.Legendre().inner(np.exp, np.exp, degree=degree, breaks=breaks),
        {"breaks": np.array([0.0])},
        scalars={"degree": 8},
        alone=True,
        accepts={("breaks", "empty")},
    ),
    "kernels.Expansion.__call__": Target(
        K_.expand(np.exp, K_.Legendre(), 3),
        {"x": np.array([0.0, 1.0])},
        alone=True,
        any_shape=True,
        says=("points",),
    ),
    "kernels.Expansion.restrict": Target(
        lambda indices: EXPANSION.restrict(indices).coefficients,
        {"indices": INDICES},
        alone=True,
        any_shape=True,
    ),
    "kernels.Expansion.squared_distance": Target(
        EXPANSION.squared_distance,
        {"coefficients": TWO},
        complex_numbers=True,
        accepts={("coefficients", "none")},
    ),
    "kernels.OrthogonalFamily.norm_squared": Target(
        K_.VectorFamily(np.diag([2.0, 3.0])).norm_squared,
        {"indices": INDICES},
        alone=True,
        any_shape=True,
    ),
    "kernels.OrthogonalFamily.indices": Target(
        K_.VectorFamily(np.diag([2.0, 3.0])).indices,
        {},
        scalars={"order": 2},
        accepts={("order", "none")},
    ),
    "kernels.Legendre.polynomial": Target(
        K_.Legendre.polynomial, {}, scalars={"n": 3}, read=lambda c: [float(v) for v in c]
    ),
    "kernels._FunctionFamily.__call__": Target(
        lambda indices: K_.Fourier()(indices, TWO), {"indices": INDICES}, alone=True, any_shape=True
    ),
    "svm.SupportVectorMachine.fit_uv": Target(
        lambda u, v: S_.SVMs2().fit_uv(u, v).w_, {"u": X[:4], "v": X[4:]}, alone=True, sklearn=True
    ),
    "svm.SupportVectorMachine.dual_program": Target(
        lambda X, y: S_.SVMs2prime(0.4).dual_program(X, y).P, {"X": X, "y": y}, sklearn=True
    ),
    "svm.TrainingResult.decision_function": Target(
        TRAINED.decision_function, {"X": X}, alone=True, says=("a kernel needs",)
    ),
    "svm.TrainingResult.predict": Target(
        TRAINED.predict, {"X": X}, alone=True, says=("a kernel needs",)
    ),
    "svm.IndefiniteObjective.__call__": Target(OBJECTIVE, {"alpha": ALPHA}),
    "svm.IndefiniteObjective.lipschitz": Target(OBJECTIVE.lipschitz, {}, scalars={"C": 1.0}),
    "svr.SupportVectorRegression.dual_program": Target(
        lambda X, y: T_.NuSVR().dual_program(X, y).standard_form()[0],
        {"X": X, "y": t},
        sklearn=True,
    ),
    "svr.NuSVR.margins_from_gap": Target(
        lambda i: dataclasses.astuple(REGRESSOR.margins_from_gap(i)),
        {},
        scalars={"i": 1},
        accepts={("i", "none")},
    ),
    "regression.ElasticNet.blend": Target(
        lambda C, theta: R_.ElasticNet.blend(C, theta).fit(X, t).w_,
        {},
        scalars={"C": 1.0, "theta": 0.5},
    ),
    "datasets.Labelled.pair": Target(
        D_.iris().pair, {}, scalars={"blue": 0, "red": 1}, read=lambda data: data.X
    ),
    "datasets.Labelled.one_vs_rest": Target(
        D_.iris().one_vs_rest, {}, scalars={"label": 0}, read=lambda data: data.X
    ),
}

MORE = {  # arguments that the tables above leave at one value, and overridden methods
    "norm_squared of Legendre": Target(
        K_.Legendre().norm_squared, {"indices": INDICES}, alone=True, any_shape=True
    ),
    "norm_squared of Fourier": Target(
        K_.Fourier().norm_squared, {"indices": INDICES}, alone=True, any_shape=True
    ),
    "order of Legendre": Target(K_.Legendre().indices, {}, scalars={"order": 3}),
    "order of Fourier": Target(K_.Fourier().indices, {}, scalars={"order": 3}),
    "indices of Legendre": Target(
        lambda indices: K_.Legendre()(indices, TWO / 2),
        {"indices": INDICES},
        alone=True,
        any_shape=True,
    ),
    "a normalized kernel": _of_kernel(lambda X: K_.Linear().normalized()(ROWS, X)),
    "the exponential of a kernel": _of_kernel(lambda X: (K_.Linear() * 0.1).exp()(ROWS, X)),
    "a precomputed kernel": Target(
        lambda K: K_.as_kernel("precomputed")(K), {"K": GRAM}, says=("precomputed kernel matrix",)
    ),
    "groups of group_lasso": Target(
        lambda groups: A_.group_lasso(WIDE, THREE, groups, 1.0).z,
        {"groups": np.array([0, 0, 1, 1, 2])},
        accepts={("groups", "text")},
    ),
    "K_fit of center_gram": Target(
        lambda K, K_fit: K_.center_gram(K, K_fit),
        {"K": GRAM[:2], "K_fit": GRAM},
        complex_numbers=True,
        alone=True,
        accepts={("K_fit", "none"), ("K", "empty")},
    ),
    "x of project_affine": Target(A_.project_affine(A, np.ones(2)), {"v": THREE}),
    "x of prox_quadratic": Target(A_.prox_quadratic(P, q), {"v": THREE}, scalars={"t": 1.0}),
    "u and lambda of augmented_lagrangian": Target(
        lambda u, lambda_: A_.augmented_lagrangian(_half_norm, A, np.ones(2))(u, lambda_),
        {"u": THREE, "lambda_": np.ones(2)},
    ),
    "lambda of quadratic_argmin": Target(
        lambda lambda_: A_.quadratic_argmin(P, q, A, np.ones(2))(lambda_), {"lambda_": np.ones(2)}
    ),
    "lambda of dual_function": Target(
        lambda lambda_: A_.dual_function(lambda l: -A.T @ l, _half_norm, A, np.ones(2))(lambda_),
        {"lambda_": np.ones(2)},
    ),
}

# Methods that the tables need not name, and why.
PROTOCOL = {
    "what an iteration calls with its own numbers": (
        "admm.ConsensusObjective.from_sums",
        "admm.ConsensusObjective.block",
        "admm.ConsensusObjective.dual_value",
        "admm.ConsensusObjective.penalty",
        "admm.ConsensusObjective.penalty_conjugate",
        "admm.ConsensusObjective.penalty_prox",
        "admm.SmoothLoss.estimate",
        "admm.SmoothLoss.gain",
        "admm.SmoothLoss.hessian",
        "admm.SmoothLoss.prox",
        "svm.RankOneSpectrum.negative_part",
    ),
    "a matrix: NumPy's rules and NumPy's words": ("admm.LowRank.__matmul__",),
    "other types get Python's TypeError": (
        "kernels.Kernel.__add__",
        "kernels.Kernel.__mul__",
        "kernels.Kernel.__sub__",
        "kernels.RKHSFunction.__add__",
        "kernels.RKHSFunction.__mul__",
        "kernels.RKHSFunction.__sub__",
    ),
    "a switch": ("svm.DualProgram.standard_form",),
    "takes what the package made: test_others.py": (
        "kernels.Expansion.inner",
        "kernels.RKHSFunction.distance",
        "kernels.RKHSFunction.inner",
        "kernels.RKHSFunction.section",
    ),
}


def public_callables() -> set[str]:
    """Return the dotted names of all public callables."""
    return {
        f"{package}.{name}"
        for package in PACKAGES
        for name in importlib.import_module(f"companion.{package}").__all__
        if callable(getattr(importlib.import_module(f"companion.{package}"), name))
    }


OPERATORS = ("__call__", "__add__", "__mul__", "__pow__", "__sub__", "__matmul__")
OF_SCIKIT_LEARN = (  # test_estimators.py
    "fit", "fit_transform", "predict", "decision_function", "set_score_request",
)  # fmt: skip


def public_methods() -> set[str]:
    """Return all methods with an argument, each once, by the first class of its family that has it."""
    found = set()
    for package in PACKAGES:
        module = importlib.import_module(f"companion.{package}")
        for cls in filter(inspect.isclass, (getattr(module, name) for name in module.__all__)):
            family = [c for c in cls.__mro__[::-1] if c.__module__.startswith("companion.")]
            owners = {name: c.__name__ for c in family[::-1] for name in vars(c)}
            found |= {
                f"{package}.{owner}.{name}"
                for name, owner in owners.items()
                if (not name.startswith("_") or name in OPERATORS)
                and not (name in OF_SCIKIT_LEARN and hasattr(cls, "get_params"))
                and inspect.isroutine(getattr(cls, name))
                and set(inspect.signature(getattr(cls, name)).parameters) - {"self"}
            }
    return found


def numbers(answer: Any) -> list[np.ndarray]:
    """Return what an answer consists of, as arrays."""
    if answer is None or isinstance(answer, (str, bytes)):
        return []
    if isinstance(answer, (bool, int, float, complex, np.number, np.bool_)):
        return [np.asarray(answer)]
    if isinstance(answer, np.ndarray):
        return [answer] if answer.dtype.kind in "biufc" else []
    if isinstance(answer, dict):
        return [a for key in sorted(answer, key=str) for a in numbers(answer[key])]
    if isinstance(answer, (list, tuple)):
        return [a for part in answer for a in numbers(part)]
    if is_dataclass(answer):
        skip = {"history", "certificate", "problem", "n_iter", "kernel", "points", "family"}
        parts = [getattr(answer, f.name) for f in fields(answer) if f.name not in skip]
        return [a for part in parts for a in numbers(part)]
    if hasattr(answer, "toarray"):
        return [answer.toarray()]
    raise AssertionError(f"the table does not say how to read {type(answer).__name__}")


def is_class(name: str) -> bool:
    package, attribute = name.split(".")
    return inspect.isclass(getattr(importlib.import_module(f"companion.{package}"), attribute))
