"""Proximal operators at extreme points and parameters, against 60 digits or more."""

import mpmath as mp
import numpy as np
import pytest

from companion.admm import (
    project_l1_ball,
    project_simplex,
    prox_huber,
    prox_linf_norm,
    prox_logistic,
    prox_precompose,
    prox_precompose_tight,
    soft_threshold,
)


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
