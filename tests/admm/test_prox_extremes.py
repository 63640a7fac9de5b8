"""Proximal operators at extreme points and parameters, against 60 digits or more."""

import warnings
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest

from companion.admm import (
    block_soft_threshold,
    moreau_envelope,
    project_affine,
    project_ball,
    project_halfspace,
    project_l1_ball,
    project_psd,
    project_simplex,
    prox_conjugate,
    prox_huber,
    prox_indicator,
    prox_linf_norm,
    prox_logistic,
    prox_precompose,
    prox_precompose_tight,
    prox_quadratic,
    prox_regularize,
    soft_threshold,
)
from companion.exceptions import ConvergenceWarning, InfeasibleProblemError


def exact_logistic(v: float, t: float) -> mp.mpf:
    """Return the root of x - v - t / (1 + e^x), by bisection."""
    mp.mp.dps = 360
    low, high = mp.mpf(v), mp.mpf(v) + mp.mpf(t)
    while high - low > mp.mpf(10) ** -30 * abs(low + high):
        x = (low + high) / 2
        share = mp.mpf(x < 0) if abs(x) > 2000 else 1 / (1 + mp.exp(x))
        low, high = (x, high) if x - mp.mpf(v) < mp.mpf(t) * share else (low, x)
    return (low + high) / 2


@pytest.mark.parametrize("v", [3.0, 700.0, -1e-10, -3.0, -700.0, -1e5, -1e8, -1e16, -1e18, -1e100])
@pytest.mark.parametrize("t", [1e-300, 1.0, 1e8, 1e16, 1e50, 1e100, 1e300])
def test_logistic(v: float, t: float) -> None:
    true = exact_logistic(v, t)
    assert abs(mp.mpf(float(prox_logistic(v, t))) - true) <= 1e-14 * abs(true)


def test_logistic_of_a_scalar_and_of_a_matrix() -> None:
    one = prox_logistic(-1e10, 1e50)
    assert one.shape == ()
    np.testing.assert_array_equal(prox_logistic([[-1e10, 1.0]], 1e50)[0, 0], one)


@pytest.mark.parametrize("t", [1e-20, 1.0, 1e16, 1e20, 1e300])
@pytest.mark.parametrize("v", [1e-10, 0.3, 1e16, 5e19])
def test_huber(v: float, t: float) -> None:
    mp.mp.dps = 700
    inside = mp.mpf(v) / (1 + mp.mpf(t))
    true = float(inside if inside <= 1 else mp.mpf(v) - mp.mpf(t))
    np.testing.assert_allclose(prox_huber([v, -v], t), [true, -true], rtol=1e-13)


def test_entries_whose_sum_overflows() -> None:
    v = np.array([1.7e308, -1e308, 1.0, -1.7e308, 0.0])
    np.testing.assert_array_equal(prox_linf_norm(v, 1e307)[[1, 2, 4]], v[[1, 2, 4]])
    np.testing.assert_allclose(prox_linf_norm(v, 1e307)[[0, 3]], [1.65e308, -1.65e308])
    np.testing.assert_allclose(project_l1_ball(v, radius=3.0), [1.5, 0.0, 0.0, -1.5, 0.0])
    w = np.array([8e307, -8e307, -8e307, -8e307, 8e307])
    np.testing.assert_allclose(project_simplex(w, radius=3.0), [1.5, 0.0, 0.0, 0.0, 1.5])


def test_factors_whose_squares_overflow_are_named() -> None:
    with pytest.raises(ValueError, match="a is squared, so it must be at most 1e154"):
        prox_precompose(soft_threshold, 1e300)
    with pytest.raises(ValueError, match="A is squared, so its entries must be at most 1e150"):
        prox_precompose_tight(soft_threshold, [[1e300, 0.0]])
    assert prox_precompose(soft_threshold, 1e100)([1e120], 1.0) == 1e120


HUGE = 1.7e308


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (lambda: project_ball([HUGE, HUGE]), [0.5**0.5, 0.5**0.5]),
        (lambda: project_ball([HUGE], center=[-HUGE]), [-HUGE]),
        (lambda: project_ball([1e288, 3e288], radius=1e-153 * 10**0.5), [1e-153, 3e-153]),
        (lambda: block_soft_threshold([HUGE, HUGE], HUGE), [HUGE * (1 - 0.5**0.5)] * 2),
        (lambda: project_halfspace([1.0], [1e-300], 1e300), [1.0]),
        (lambda: project_psd([[HUGE, HUGE], [HUGE, HUGE]]), [[HUGE, HUGE], [HUGE, HUGE]]),
        (lambda: project_psd([[HUGE, 0.0], [0.0, -HUGE]]), [[HUGE, 0.0], [0.0, 0.0]]),
        (lambda: project_affine([[1, 0], [0, 1e-20]], [1, 1e-20])([5, 5]), [1, 1]),
        (lambda: project_affine([[1e200, 0], [0, 1e-200]], [1e200, 3e-200])([5, 5]), [1, 3]),
        (lambda: prox_quadratic(np.eye(2), A=[[1, 0], [0, 1e-20]], b=[1, 1e-20])([5, 5], 1), [1, 1]),
        (lambda: prox_quadratic(np.eye(2), [1e10, 1])([1, 1], 1e300), [-1e10, -1]),
        (lambda: prox_precompose(soft_threshold, 1e-160)([3e-5], 1e155), [2e-5]),
        (lambda: [moreau_envelope(lambda x: 0.0, prox_indicator(np.zeros_like))(1e-170, 1e-300)], [5e-41]),
        (lambda: [moreau_envelope(lambda x: 0.0, prox_indicator(np.zeros_like))(1e170, 1e300)], [5e39]),
    ],
)  # fmt: skip
def test_numbers_whose_squares_or_quotients_leave_the_range(
    found: Callable, expected: list
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(found(), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: project_halfspace([1.0], [1e-300], -1e300), "overflows for a up to 1e-300"),
        (lambda: prox_quadratic(np.zeros((1, 1)), [1e10])([1], 1e300), r"overflows for t = 1e\+300"),
        (lambda: project_affine([[1e-300]], [1e300]), "overflows for b beside the rows of A"),
        (lambda: prox_conjugate(soft_threshold)([1e200], 1e-200), r"overflows for v / t with t = 1e-200"),
        (lambda: prox_regularize(soft_threshold, 1e200)([1.0], 1e200), r"overflows for t = 1e\+200 and rho"),
        (lambda: prox_precompose_tight(soft_threshold, [[1e-160, 1e-160]]), "must be at least 1e-150"),
    ],
)  # fmt: skip
def test_results_out_of_range_are_named(call: Callable, message: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=message):
            call()


def test_an_equation_without_a_variable_is_exact() -> None:
    for b in ([1.0, 1e-20], [1e300, 1e-300]):
        with pytest.raises(InfeasibleProblemError) as caught:
            project_affine([[1.0, 0.0], [0.0, 0.0]], b)
        witness = caught.value.witness
        assert witness is not None
        assert witness[0] == 0.0
        assert witness[1] > 0.0
    assert project_affine([[1.0, 0.0], [0.0, 0.0]], [1.0, 0.0])([5.0, 5.0]).tolist() == [1.0, 5.0]


def test_the_witness_belongs_to_the_equations_as_given() -> None:
    A, b = np.array([[1e10, 2e10], [3e-10, 6e-10]]), np.array([1e10, 4e-10])
    with pytest.raises(InfeasibleProblemError) as caught:
        project_affine(A, b)
    witness = caught.value.witness
    assert witness is not None
    size = np.abs(witness[:, None] * A).max()
    assert np.abs(A.T @ witness).max() < 1e-14 * size
    assert witness @ b > 1e-3 * size


def test_rows_that_are_nearly_dependent_are_told() -> None:
    with pytest.warns(ConvergenceWarning, match="the rows of A are nearly dependent"):
        x = project_affine([[1.0, 0.0], [1.0, 1e-13]], [1.0, 1.0])([5.0, 5.0])
    assert abs(x - [1.0, 0.0]).max() < 1e-2
    with pytest.warns(ConvergenceWarning, match="the rows of A are nearly dependent"):
        prox_quadratic(np.eye(2), A=[[1.0, 0.0], [1.0, 1e-13]], b=[1.0, 1.0])
