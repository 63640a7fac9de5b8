"""Huge and tiny scales: powers of two change no digit, and what float64 cannot hold is refused by name."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose

from companion.certificates import verify
from companion.exceptions import ConvergenceWarning
from companion.kernels import KernelPCA
from companion.regression import KernelRidge, RidgeRegression
from companion.scaling import exponent_of, largest, scaled_back
from companion.svm import (
    HardMarginSVC,
    SVMs1,
    SVMs2,
    SVMs2l,
    SVMs2prime,
    SVMs3,
    SVMs4,
    SVMs5,
    nu_min,
    nu_path,
)
from companion.svm.estimator import DegenerateSolutionWarning
from companion.svr import EpsilonSVR, NuSVR, NuSVRPenalizedBias, QuadraticNuSVR

POWERS = (-500, -400, -200, -40, 40, 200, 400, 500)


def classes(seed: int = 0, p: int = 9, q: int = 6, distance: float = 1.2):
    rng = np.random.default_rng(seed)
    s = np.repeat([1.0, -1.0], [p, q])
    return rng.normal(size=(p + q, 2)) + distance * s[:, None], s


def values(seed: int = 0, m: int = 12):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 2))
    return X, X @ [1.0, -2.0] + 1.0 + rng.normal(size=m)


def times(value, power):
    return np.ldexp(value, power)


def quietly(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(X, y)


# -- the units


@pytest.mark.parametrize(
    "size", [1e-300, 3e-41, 1e-40, 0.0, 1.0, 1e40, 2e40, 1e308, 5e-324, 1.7e308]
)
def test_a_unit_makes_a_size_moderate(size: float) -> None:
    e = exponent_of(size)
    if e == 0:
        assert size == 0.0 or 1e-40 <= size <= 1e40
    else:
        assert 1.0 <= float(np.ldexp(size, -e)) < 2.0
        assert np.isfinite(np.ldexp(1.0, e))


@pytest.mark.parametrize("e", [0, 7, -1000, 900])
def test_scaling_back_is_exact(e: int) -> None:
    x = np.array([0.75, -1.3, 0.0])
    assert [Fraction(float(v)) for v in scaled_back(x, e, "x")] == [
        Fraction(float(v)) * Fraction(2) ** e for v in x
    ]


@pytest.mark.parametrize("e", [1025, -1025, 3000, -3000])
def test_what_float64_cannot_hold_is_refused(e: int) -> None:
    with pytest.raises(ValueError, match=r"the weights would be of the size .* float64 holds"):
        scaled_back([0.0, 1.3], e, "the weights")
    assert scaled_back([0.0], e, "the weights") == [0.0]


def test_largest() -> None:
    assert largest(np.array([[1.0, -3.0], [2.0, 0.0]])) == 3.0
    assert largest(np.zeros((0, 2))) == 0.0


# -- support vector machines: phi -> c phi


@pytest.mark.parametrize("k", POWERS)
@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_nu_machine_for_scaled_points(k: int, kernel: str) -> None:
    X, s = classes()
    data, scaled = (X, times(X, k)) if kernel == "linear" else (X @ X.T, times(X @ X.T, 2 * k))
    a = quietly(SVMs2prime(0.55, kernel=kernel), data, s)
    b = quietly(SVMs2prime(0.55, kernel=kernel), scaled, s)
    assert_allclose(b.lambda_, a.lambda_, rtol=1e-12)
    assert_allclose(b.norm_, times(a.norm_, k), rtol=1e-12)
    assert_allclose([b.b_, b.eta_], times([a.b_, a.eta_], 2 * k), rtol=1e-12)
    assert_allclose(b.epsilon_, times(a.epsilon_, 2 * k), rtol=1e-11)
    assert_allclose(b.delta_, times(a.delta_, k), rtol=1e-12)
    assert list(b.point_classes_) == list(a.point_classes_)
    assert (b.lambda_ == b.K_).sum() == (a.lambda_ == a.K_).sum() == a.p_f_ == b.p_f_
    assert b.certificate_.ok
    if kernel == "linear":
        assert verify(b, scaled, s).ok
        assert_allclose(
            b.decision_function(scaled), times(a.decision_function(X), 2 * k), rtol=1e-9
        )


@pytest.mark.parametrize("k", [-1000, -300, 300, 1000])
def test_nu_machine_for_a_scaled_K(k: int) -> None:
    X, s = classes()
    a = quietly(SVMs2prime(0.55, K=0.125), X, s)
    b = quietly(SVMs2prime(0.55, K=float(times(0.125, k))), X, s)
    assert_allclose(b.w_, times(a.w_, k), rtol=1e-12)
    assert_allclose([b.b_, b.eta_], times([a.b_, a.eta_], k), rtol=1e-12)
    assert_allclose(b.mu_, times(a.mu_, k), rtol=1e-12)
    assert verify(b, X, s).ok


@pytest.mark.parametrize("k", [*POWERS, -1000, 1000])
def test_s1_for_scaled_points(k: int) -> None:
    X, s = classes()
    a, b = quietly(SVMs1(0.15), X, s), quietly(SVMs1(0.15), times(X, k), s)
    assert_allclose(b.w_, a.w_, rtol=1e-12)
    assert_allclose(b.lambda_, a.lambda_, rtol=1e-12)
    assert_allclose(
        [b.b_, b.delta_, b.gamma_, b.objective_],
        times([a.b_, a.delta_, a.gamma_, a.objective_], k),
        rtol=1e-12,
    )
    assert verify(b, times(X, k), s).ok


@pytest.mark.parametrize("k", POWERS)
@pytest.mark.parametrize(
    ("machine", "distance"), [(SVMs2, 1.2), (SVMs2, 4.0), (HardMarginSVC, 4.0), (SVMs4, 1.2)]
)
def test_machines_with_a_fixed_unit_of_eta(machine, distance: float, k: int) -> None:
    X, s = classes(distance=distance)
    price = {} if machine is HardMarginSVC else {"K": 0.5}
    prices = {name: float(times(value, -2 * k)) for name, value in price.items()}
    a, b = quietly(machine(**price), X, s), quietly(machine(**prices), times(X, k), s)
    assert_allclose(b.w_, times(a.w_, -k), rtol=1e-11)
    assert_allclose([b.b_, b.eta_], [a.b_, a.eta_], rtol=1e-11)
    assert_allclose(b.mu_, times(a.mu_, -2 * k), rtol=1e-11)
    assert verify(b, times(X, k), s).ok


@pytest.mark.parametrize("k", [-1000, -200, 200, 1000])
def test_linear_program_for_scaled_points(k: int) -> None:
    X, s = classes()
    a, b = quietly(SVMs2l(), X, s), quietly(SVMs2l(), times(X, k), s)
    assert_allclose(b.w_, times(a.w_, -k), rtol=1e-12)
    assert_allclose(b.b_, a.b_, rtol=1e-12)


@pytest.mark.parametrize("k", [-1000, -200, 200, 1000])
def test_nu_min_does_not_depend_on_the_scale(k: int) -> None:
    X, s = classes(distance=0.1)
    expected = nu_min(X[s > 0], X[s < 0])
    assert expected > 0.0
    assert_allclose(nu_min(times(X[s > 0], k), times(X[s < 0], k)), expected, rtol=1e-9)


@pytest.mark.parametrize("k", [-450, 450])
def test_paths_for_scaled_points(k: int) -> None:
    X, s = classes()
    for a, b in zip(nu_path(X, s, [0.5, 0.6, 0.7]), nu_path(times(X, k), s, [0.5, 0.6, 0.7])):
        assert_allclose(b.w_, times(a.w_, k), rtol=1e-12)


@pytest.mark.parametrize("k", [-12, -20, -100, -400, -1000])
def test_faint_points_in_s2(k: int) -> None:
    """For a small K |x|^2 the multipliers do not change any more, and w goes with the points."""
    X, s = classes(1, 5, 3, 0.5)
    a, b = quietly(SVMs2(), times(X, -8), s), quietly(SVMs2(), times(X, k), s)
    assert_allclose(b.lambda_, a.lambda_, rtol=1e-9)
    assert_allclose(times(b.w_, -k), times(a.w_, 8), rtol=1e-9)
    assert verify(b, times(X, k), s).ok


@pytest.mark.parametrize("k", [-16, -18, -20, -60, -400])
@pytest.mark.parametrize("nu", [0.45, 0.5, 0.7])
def test_a_penalized_b_near_the_origin(nu: float, k: int) -> None:
    """Near the origin the term of b is nothing beside the others: the machine is that with a free b."""
    X, s = classes(1, 5, 3, 0.5)
    a, b = quietly(SVMs2prime(nu), X, s), quietly(SVMs3(nu), times(X, k), s)
    assert_allclose(times(b.w_, -k), a.w_, rtol=1e-6)
    low, high = a.b_interval_
    assert_allclose(times(b.b_, -2 * k), min(max(0.0, low), high), rtol=1e-5, atol=1e-7)
    assert b.certificate_.ok


@pytest.mark.parametrize("k", [-14, -18, -22, -60, -400])
def test_a_penalized_b_that_has_to_balance_the_classes(k: int) -> None:
    X, s = classes(1, 5, 3, 0.5)
    a, b = quietly(SVMs3(0.9), times(X, -12), s), quietly(SVMs3(0.9), times(X, k), s)
    assert_allclose(b.b_, -0.15, rtol=1e-9)  # 1'lambda - 1'mu cannot be less
    assert_allclose(times(b.w_, -k), times(a.w_, 12), rtol=1e-5)


@pytest.mark.parametrize("K", [1e-300, 1e-20, 1e20, 1e300])
@pytest.mark.parametrize("machine", [SVMs2prime, SVMs3, SVMs4, SVMs5])
def test_any_K(machine, K: float) -> None:
    X, s = classes()
    fitted = quietly(machine(0.6, K=K), X, s)
    assert fitted.norm_ > 0.0
    assert fitted.certificate_.ok
    assert verify(fitted, X, s).ok


@pytest.mark.parametrize("machine", [SVMs4, SVMs5])
def test_weights_lost_in_rounding_are_reported(machine) -> None:
    """The hulls meet: w is of the size 1/K, a difference of numbers of the size 1, so K eps of it is rounding.

    K = 1e4 leaves 1e-12, beside a tolerance of 1e-9; K = 1e20 leaves nothing.
    """
    X, s = classes(distance=0.1)
    with (
        pytest.warns(DegenerateSolutionWarning, match="lower K"),
        pytest.warns(ConvergenceWarning, match="lower the price of slack"),
    ):
        assert machine(0.5, K=1e20).fit(X, s).norm_ == 0.0
    assert quietly(machine(0.5, K=1e4), X, s).norm_ > 0.0


@pytest.mark.parametrize("K", [1e20, 1e100, 1e300])
def test_separable_points_and_a_huge_K(K: float) -> None:
    X, s = classes(distance=4.0)
    hard, soft = quietly(HardMarginSVC(), X, s), quietly(SVMs2(K=K), X, s)
    assert_allclose(soft.w_, hard.w_, rtol=1e-12)
    assert soft.certificate_.ok


@pytest.mark.parametrize("machine", [SVMs2prime(0.5), SVMs3(0.5), SVMs4(0.5), SVMs5(0.5)])
def test_values_beyond_the_range_are_refused(machine) -> None:
    X, s = classes()
    with pytest.raises(ValueError, match="values of the decision function would be of the size"):
        machine.fit(X * 1e300, s)


@pytest.mark.parametrize("factor", [1e-300, 1e300])
def test_multipliers_beyond_the_range_are_refused(factor: float) -> None:
    X, s = classes(distance=4.0)
    with pytest.raises(ValueError, match="the multipliers would be of the size"):
        HardMarginSVC().fit(X * factor, s)


def test_a_missed_certificate_is_said_to_the_caller() -> None:
    X, s = classes(distance=0.1)  # the classes overlap, and w is what is left of numbers of size K
    with pytest.warns(ConvergenceWarning) as caught:
        machine = SVMs2(K=1e18).fit(X, s)
    assert not machine.certificate_.ok
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_rounding_of_slacks_is_no_gap() -> None:
    """K times the rounding of a slack is large for a large K; a point without slack has none."""
    X, s = classes(distance=4.0)
    machine = quietly(SVMs2(K=1e12, kernel="precomputed"), X @ X.T + np.eye(len(s)) / 2000.0, s)
    assert machine.certificate_.ok
    assert machine.objective_ == pytest.approx(machine.dual_objective_, rel=1e-10)
    tiny = quietly(SVMs3(1e-20), X, s)
    assert tiny.certificate_.ok


# -- regression: phi -> c phi, y -> t y


SHIFTS = [(490, 0), (0, 500), (0, -500), (490, 490), (-490, -490), (-100, 0)]


@pytest.mark.parametrize(
    ("kind", "k", "v"),
    [
        *((kind, *shift) for kind in (NuSVR, EpsilonSVR, QuadraticNuSVR) for shift in SHIFTS),
        (NuSVR, 700, 900),
        (EpsilonSVR, 700, 900),
    ],
)
def test_tubes_for_scaled_data(kind, k: int, v: int) -> None:
    X, y = values()
    of_C = (
        -2 * k if kind is QuadraticNuSVR else v - 2 * k
    )  # C multiplies the squares of slacks there
    plain, scaled = {"C": 4.0}, {"C": float(times(4.0, of_C))}
    if kind is EpsilonSVR:
        plain["epsilon"], scaled["epsilon"] = 0.5, float(times(0.5, v))
    elif kind is QuadraticNuSVR:  # nu is in the unit of y
        plain["nu"], scaled["nu"] = 0.25, float(times(0.25, v))
    a = quietly(kind(**plain), X, y)
    b = quietly(kind(**scaled), times(X, k), times(y, v))
    assert_allclose(b.w_, times(a.w_, v - k), rtol=1e-9)
    assert_allclose([b.b_, b.epsilon_], times([a.b_, a.epsilon_], v), rtol=1e-9)
    assert_allclose(b.residuals_, times(a.residuals_, v), rtol=1e-8)
    assert list(b.point_classes_) == list(a.point_classes_)
    assert verify(b, times(X, k), times(y, v)).ok


@pytest.mark.parametrize("kind", [NuSVR, NuSVRPenalizedBias, QuadraticNuSVR, EpsilonSVR])
def test_tiny_points_keep_their_weights(kind) -> None:
    X, y = values()
    model = quietly(kind(C=4.0), X * 1e-300, y)
    assert model.norm_ > 0.0
    assert verify(model, X * 1e-300, y).ok


def test_a_wide_tube_and_a_huge_C() -> None:
    X, y = values()
    a = quietly(EpsilonSVR(epsilon=4.0, C=1e3), X, y)
    for C in (1e20, 1e100, 1e300):
        assert_allclose(quietly(EpsilonSVR(epsilon=4.0, C=C), X, y).w_, a.w_, rtol=1e-9)


@pytest.mark.parametrize("kind", [NuSVR, QuadraticNuSVR, EpsilonSVR])
def test_huge_points_are_refused_or_told(kind) -> None:
    X, y = values()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises((ValueError, ConvergenceWarning), match=r"scale the data|did not reach"):
            kind().fit(X * 1e300, y)


# -- ridge regression


@pytest.mark.parametrize(("k", "v"), [(500, 0), (0, 1000), (-500, -1000), (300, -300), (-20, 20)])
@pytest.mark.parametrize("intercept", ["none", "free"])
@pytest.mark.parametrize("kind", [RidgeRegression, KernelRidge])
def test_ridge_for_scaled_data(kind, intercept: str, k: int, v: int) -> None:
    X, y = values()
    a = quietly(kind(K=0.5, intercept=intercept), X, y)
    b = quietly(kind(K=float(times(0.5, 2 * k)), intercept=intercept), times(X, k), times(y, v))
    assert_allclose(b.w_, times(a.w_, v - k), rtol=1e-13)
    assert_allclose(b.b_, times(a.b_, v), rtol=1e-13)
    assert_allclose(b.alpha_, times(a.alpha_, v - 2 * k), rtol=1e-12)
    assert b.certificate_.gap <= 1e-15
    assert verify(b, times(X, k), times(y, v)).ok


@pytest.mark.parametrize("k", [-500, -200, 200, 500])
@pytest.mark.parametrize("intercept", ["none", "free"])
def test_kernel_ridge_for_a_scaled_kernel(intercept: str, k: int) -> None:
    X, y = values()
    G = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=-1))
    a = quietly(KernelRidge(K=0.5, kernel="precomputed", intercept=intercept), G, y)
    scaled = KernelRidge(K=float(times(0.5, 2 * k)), kernel="precomputed", intercept=intercept)
    b = quietly(scaled, times(G, 2 * k), y)
    assert_allclose(b.alpha_, times(a.alpha_, -2 * k), rtol=1e-12)
    assert_allclose([b.b_, b.norm_], [a.b_, times(a.norm_, -k)], rtol=1e-12)


@pytest.mark.parametrize("K", [1e-300, 1e-30, 1e-15, 1e-9])
@pytest.mark.parametrize("intercept", ["none", "free", "penalized"])
@pytest.mark.parametrize("m", [2, 12])
def test_a_tiny_penalty_has_a_certificate(m: int, intercept: str, K: float) -> None:
    X, y = values(m=m)
    X = np.column_stack([X, X[:, 0] ** 2])
    model = quietly(RidgeRegression(K=K, intercept=intercept), X, y)
    assert model.certificate_.ok
    if m > X.shape[1]:
        assert verify(model, X, y).ok
        Z = {"none": X, "free": X - X.mean(axis=0), "penalized": np.column_stack([X, np.ones(m)])}
        target = y - y.mean() if intercept == "free" else y
        w = np.linalg.lstsq(Z[intercept], target, rcond=None)[0][:3]
        assert_allclose(model.w_, w, rtol=1e-7)


def test_a_wrong_answer_has_no_certificate_for_a_tiny_penalty() -> None:
    X, y = values()
    model = RidgeRegression(K=1e-20).fit(X, y)
    model.w_ = model.w_ * (1.0 + 1e-4)
    assert not verify(model, X, y).ok


def test_huge_points_and_a_small_penalty() -> None:
    X, y = values()
    a = quietly(RidgeRegression(K=0.0), X, y)
    b = quietly(RidgeRegression(K=1.0), X * 1e300, y)
    assert_allclose(b.w_ * 1e300, a.w_, rtol=1e-12)
    assert_allclose(b.alpha_, b.xi_, rtol=1e-12)  # alpha = xi / K
    with pytest.raises(ValueError, match="would be of the size"):
        RidgeRegression(K=0.0).fit(X * 1e-300, y * 1e300)


# -- principal components


@pytest.mark.parametrize("k", [-450, -200, 200, 450])
def test_components_of_scaled_points(k: int) -> None:
    X, _ = values()
    a, b = KernelPCA().fit(X), KernelPCA().fit(times(X, k))
    assert_allclose(b.eigenvalues_, times(a.eigenvalues_, 2 * k), rtol=1e-12)
    assert_allclose(b.transform(times(X, k)), times(a.transform(X), k), rtol=1e-10)
    assert_allclose(b.explained_variance_ratio_, a.explained_variance_ratio_, rtol=1e-12)
    assert_allclose(b.alpha_, times(a.alpha_, -k), rtol=1e-12)


@pytest.mark.parametrize("factor", [1e-300, 1e300])
def test_eigenvalues_beyond_the_range_are_refused(factor: float) -> None:
    X, _ = values()
    with pytest.raises(ValueError, match=r"the eigenvalues.* would be of the size"):
        KernelPCA().fit(X * factor)
