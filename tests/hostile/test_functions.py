"""Every function and class of chapters 16 and 17: what is wrong is refused in words, never in raw ones."""

from typing import Any

import numpy as np
import pytest

from companion import admm, kernels
from tests.hostile.attacks import heard, names_the_cause

A = np.array([[2.0, 1.0], [1.0, 3.0], [0.0, 1.0]])
b, x = np.array([1.0, 2.0, 3.0]), np.array([1.0, -1.0])
P, y, one = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, -1.0, 1.0]), np.ones((1, 2))
half = lambda v, t: v / 2  # noqa: E731
same = lambda *v: v[0]  # noqa: E731
RUN: dict[str, Any] = {"x0": x, "max_iter": 2}
FORM = {"P": P, "q": x, "A": one, "b": one[0, :1]}
ARGMIN = {
    "argmin": lambda v: -v @ one,
    "A": one,
    "b": one[0, :1],
    "lambda0": one[0, :1],
    "max_iter": 2,
}
zero = lambda *v: 0.0  # noqa: E731
KEEP = {"max_iter": 2, "keep_iterates": True, "objective": zero}
HISTORY = admm.admm(half, half, A=P, B=P, c=x, **KEEP).history
STAR, LOSS, MU = {"z_star": x, "lambda_star": x}, admm.LeastSquaresLoss(A, b), {"a": 0.5, "b": 0.25}
CALLS: dict[str, dict[str, Any]] = {
    "consensus": {"losses": [LOSS, LOSS], "penalty": admm.L1Penalty(1.0), "max_iter": 9, "tol_abs": 1e-9,
                  "workers": map, "u0": P},
    "lyapunov": {"history": HISTORY, "B": P, **STAR}, "l1_regularized": {"loss": LOSS, "tau": 1.0, "tol": 1e-8},
    "convergence_inequalities": {"history": HISTORY, "A": P, "B": P, "c": x, "x_star": x, **STAR, "p_star": 1.0},
    "moreau_envelope": {"g": sum, "prox": half}, "prox_conjugate": {"prox": half}, "prox_indicator": {"project": same},
    "prox_separable_sum": {"parts": [(half, 1), (half, 1)]}, "subsets": {"D": "ab"}, "Agreement": {"mu": MU},
    "Intersection": {"mu": MU}, "UnionComplement": {"mu": MU},
    "FeatureMap": {"phi": same}, "FromFunction": {"function": same, "positive_definite": True}, "Subset": {},
    "Legendre": {}, "Linear": {}, "subset_features": {"A": {1}, "D": (1, 2)},
    "L1Penalty": {"tau": 1.0}, "RidgePenalty": {"K": 1.0}, "LeastSquaresLoss": {"A": A, "b": b},
    "LogisticLoss": {"A": A, "y": y}, "SquaredHingeLoss": {"A": A, "y": y, "K": 1.0},
    "LowRank": {"G": A, "diagonal": b},
    "accelerated_proximal_gradient": {"gradient": same, "prox": half, **RUN, "step": 0.1},
    "admm": {"x_update": same, "z_update": same, "A": P, "B": P, "c": x, "rho": 1.0, "z0": x, "u0": x, "max_iter": 2,
             "objective": zero, "callback": zero},
    "augmented_lagrangian": {"J": sum, "A": one, "b": one[0, :1], "rho": 1.0},
    "basis_pursuit": {"A": one, "b": one[0, :1], "tol": 1e-8}, "block_soft_threshold": {"v": x, "c": 1.0},
    "dual_ascent": {**ARGMIN, "step": 0.1, "J": sum}, "method_of_multipliers": {**ARGMIN, "rho": 0.1},
    "dual_function": {"argmin": same, "J": sum, "A": one, "b": one[0, :1], "rho": 1.0},
    "generalized_lasso": {"A": A, "b": b, "F": one, "tau": 1.0, "tol": 1e-8},
    "group_lasso": {"A": A, "b": b, "groups": [0, 1], "tau": 1.0},
    "krasnoselskii_mann": {"R": same, **RUN, "relaxation": 0.5},
    "lasso": {"A": A, "b": b, "tau": 1.0, "rho": 1.0, "relaxation": 1.0, "tol": 1e-8, "max_iter": 9},
    "least_absolute_deviations": {"A": A, "b": b, "tol": 1e-8}, "project_affine": {"A": one, "b": one[0, :1]},
    "project_ball": {"v": x, "radius": 1.0}, "project_box": {"v": x, "lower": 0 * x, "upper": x + 2},
    "project_orthant": {"v": x}, "project_psd": {"V": P}, "project_simplex": {"v": x, "radius": 1.0},
    "prox_add_linear": {"prox": half, "a": x}, "prox_elastic_net": {"v": x, "t": 1.0, "tau": 1.0, "K": 1.0},
    "prox_huber": {"v": x, "t": 1.0, "delta": 1.0}, "prox_linf_norm": {"v": x, "t": 1.0},
    "prox_logistic": {"v": x, "t": 1.0}, "prox_postcompose": {"prox": half, "a": 2.0},
    "prox_precompose": {"prox": half, "a": 2.0, "b": x}, "prox_quadratic": FORM,
    "proximal_gradient": {"gradient": same, "prox": half, **RUN, "step": 0.1, "objective": zero, "smooth": zero},
    "proximal_point": {"prox": half, **RUN, "step": 0.1}, "qsolve1": {**FORM, "rho": 10.0, "max_iter": 9},
    "quadratic_argmin": {"Q": P, "c": x, "A": one, "b": one[0, :1], "rho": 1.0}, "soft_threshold": {"v": x, "c": 1.0},
    "solve_qp": {**FORM, "lower": 0 * x, "upper": x + 2, "tol": 1e-9, "max_iter": 9}, "Bilinear": {"B": P},
    "Constant": {"c": 1.0}, "Gaussian": {"sigma": 1.0}, "Fourier": {"scale": 1.0},
    "Polynomial": {"d": 2, "R": 1.0, "gamma": 1.0}, "Sigmoid": {"a": 1.0, "b": 1.0}, "KernelPCA": {},
    "RKHSFunction": {"kernel": "linear", "points": A, "coefficients": b}, "as_kernel": {"kernel": "rbf", "sigma": 1.0},
    "center_gram": {"K": P}, "expand": {"v": np.cos, "family": kernels.Legendre(), "order": 2},
    "gram": {"kernel": "linear", "X": A}, "is_positive_definite": {"K": P, "tol": 1e-9},
    "polynomial_exponents": {"n": 2, "d": 2}, "polynomial_features": {"X": A, "d": 2, "R": 1.0},
}  # fmt: skip
WRONG: dict[str, Any] = {
    "nan": np.nan, "a word": "word", "complex": 1j, "ragged": [[1.0, 2.0], [3.0]], "a dictionary": {"a": 1.0},
    "texts": ["a", "b"], "nans": [np.nan, 1.0], "three axes": np.ones((2, 2, 2)), "empty": [], "none": None,
    "negative": -1.0, "complex numbers": [1j, 2.0], "nones": [None, 1], "an object": object(), "a list": [[1], {}],
}  # fmt: skip
FITS = "none", "negative", "empty", "three axes"  # a default, one number, no number, any shape
KINDS_OF_POINTS = {  # what is a point, a label, a set or a truth value there
    ("gram", "X"), ("RKHSFunction", "points"), ("polynomial_features", "X"), ("group_lasso", "groups"),
    ("Agreement", "mu"), ("Intersection", "mu"), ("UnionComplement", "mu"), ("FromFunction", "positive_definite"),
    ("lyapunov", "history"), ("convergence_inequalities", "history"), ("subsets", "D"),
    ("subset_features", "A"), ("subset_features", "D"),
}  # fmt: skip
CASES = [
    pytest.param(name, argument, attack, id=f"{name}-{argument}-{attack}")
    for name, given in CALLS.items() for argument in given for attack in WRONG
]  # fmt: skip


def call(name: str, **given: Any) -> Any:
    """Call what is public; an operator that it returns is made to work."""
    found = (getattr(admm, name, None) or getattr(kernels, name))(**given)
    return found(x, 1.0) if name.startswith("prox_") and callable(found) else found


@pytest.mark.parametrize("name", CALLS)
def test_the_right_arguments_are_accepted(name: str) -> None:
    with heard():
        call(name, **CALLS[name])


@pytest.mark.parametrize(("name", "argument", "attack"), CASES)
def test_wrong_arguments_are_refused_in_words(name: str, argument: str, attack: str) -> None:
    told = None
    with heard(), np.errstate(all="ignore"):
        try:
            call(name, **CALLS[name] | {argument: WRONG[attack]})
        except Exception as error:
            told = error
    may_fit = attack in FITS or (name, argument) in KINDS_OF_POINTS
    assert told is None or names_the_cause(told) is None
    assert may_fit or "got" in str(told)


def test_every_public_name_is_called() -> None:
    results = {"ADMMResult", "Definiteness", "Expansion", "FixedPointResult", "Iterate", "QPResult"}
    others = {*results, "MultiplierResult", "Kernel", "SmoothLoss"}
    assert {*admm.__all__, *kernels.__all__} == {*CALLS, *others}
