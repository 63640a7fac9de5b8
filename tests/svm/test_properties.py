"""Symmetries that every machine has: swapped classes, permuted points, other units, moved and turned data."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from companion.exceptions import ConvergenceWarning
from companion.kernels import Gaussian
from companion.svm import (
    SVMs1,
    SVMs2,
    SVMs2prime,
    SVMs3,
    SVMs4,
    SVMs5,
    nu_max,
    nu_min,
)

pytestmark = pytest.mark.filterwarnings("error")

FREE_B = ["s1", "s2", "s2prime", "s4"]
ALL = [*FREE_B, "s3", "s5"]
few = settings(max_examples=20, deadline=None)


@st.composite
def two_classes(draw):
    """Points with two decimals: duplicates and ties happen."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    p, q = draw(st.integers(2, 9)), draw(st.integers(2, 9))
    d = draw(st.integers(1, 3))
    apart = draw(st.sampled_from([0.3, 1.0, 2.0]))
    decimals = draw(st.sampled_from([0, 2, 12]))
    u = np.round(rng.standard_normal((p, d)) + apart, decimals)
    v = np.round(rng.standard_normal((q, d)) - apart, decimals)
    return u, v


def build(name, u, v, t, **options):
    """Return a machine with nu the fraction t of the way from nu_min to nu_max."""
    n = len(u) + len(v)
    kernel = options.get("kernel", "linear")
    if name in ("s1", "s2prime", "s3"):
        low, high = nu_min(u, v, kernel), nu_max(len(u), len(v))
        assume(high - low > 1e-3)
        nu = max(low + t * (high - low), 0.05)
        if name == "s1":
            return SVMs1(1 / (n * nu), **options)
        return {"s2prime": SVMs2prime, "s3": SVMs3}[name](nu, **options)
    if name == "s2":
        return SVMs2(0.1 + t, **options)
    return {"s4": SVMs4, "s5": SVMs5}[name](0.1 + t, K=1.0 + t, **options)


fraction = st.floats(0.05, 0.95)


def close(machine, other, *, atol=0.0):
    size = np.abs(machine.w_).max() + abs(machine.eta_) + atol
    assert_allclose(other.w_, machine.w_, atol=1e-8 * size)
    ends = [machine.b_, *machine.b_interval_, *machine.eta_interval_]
    ends_of_other = [other.b_, *other.b_interval_, *other.eta_interval_]
    assert_allclose(ends_of_other, ends, atol=1e-7 * (size + abs(machine.b_)))


@pytest.mark.parametrize("name", ALL)
@few
@given(data=two_classes(), t=fraction)
def test_swapping_the_colours_turns_w_and_b_around(name, data, t):
    u, v = data
    one, two = build(name, u, v, t).fit_uv(u, v), build(name, u, v, t).fit_uv(v, u)
    assert one.certificate_.ok
    size = np.abs(one.w_).max() + one.eta_
    assert_allclose(two.w_, -one.w_, atol=1e-8 * size)
    assert two.b_ == pytest.approx(-one.b_, abs=1e-7 * (size + abs(one.b_)))
    assert two.eta_ == pytest.approx(one.eta_, abs=1e-7 * size)
    assert two.objective_ == pytest.approx(one.objective_, abs=1e-8 * (size + 1) ** 2)


@pytest.mark.parametrize("name", ALL)
@few
@given(data=two_classes(), t=fraction, seed=st.integers(0, 99))
def test_order_does_not_matter(name, data, t, seed):
    u, v = data
    X, y = np.vstack([u, v]), np.repeat([1, -1], [len(u), len(v)])
    one = build(name, u, v, t).fit(X, y)
    order = np.random.default_rng(seed).permutation(len(y))
    two = build(name, u, v, t).fit(X[order], y[order])
    close(one, two)


@pytest.mark.parametrize("name", FREE_B)
@few
@given(data=two_classes(), t=fraction, move=st.floats(-50, 50))
def test_translations_move_b_only(name, data, t, move):
    u, v = data
    one, two = build(name, u, v, t).fit_uv(u, v), build(name, u, v, t).fit_uv(u + move, v + move)
    shift = float(one.w_.sum() * move)
    size = np.abs(one.w_).max() * (1 + abs(move)) + one.eta_
    assert_allclose(two.w_, one.w_, atol=1e-8 * size)
    assert two.b_ == pytest.approx(one.b_ + shift, abs=1e-7 * (size + abs(one.b_)))


@pytest.mark.parametrize("name", ["s2prime", "s3"])
@few
@given(data=two_classes(), t=fraction, K=st.floats(1e-3, 1e3))
def test_K_is_a_unit_of_the_nu_machines(name, data, t, K):
    u, v = data
    one = build(name, u, v, t).fit_uv(u, v)
    two = build(name, u, v, t, K=K).fit_uv(u, v)
    factor = K * (len(u) + len(v))
    size = factor * (np.abs(one.w_).max() + one.eta_)
    assert_allclose(two.w_, factor * one.w_, atol=1e-8 * size)
    assert two.eta_ == pytest.approx(factor * one.eta_, abs=1e-7 * size)
    assert two.b_ == pytest.approx(factor * one.b_, abs=1e-7 * (size + factor * abs(one.b_)))
    assert_allclose(two.epsilon_, factor * one.epsilon_, atol=1e-7 * size)


@few
@given(data=two_classes(), t=fraction)
def test_s1_and_s2prime_have_the_same_slab(data, t):
    u, v = data
    nu = build("s2prime", u, v, t).fit_uv(u, v)
    s1 = SVMs1(1 / ((len(u) + len(v)) * nu.nu)).fit_uv(u, v)
    assert_allclose(s1.w_, nu.w_ / nu.norm_, atol=1e-7)
    assert s1.delta_ == pytest.approx(nu.delta_, rel=1e-7, abs=1e-9)
    assert s1.norm_ == pytest.approx(1.0)


@pytest.mark.parametrize("name", ALL)
@few
@given(data=two_classes(), t=fraction)
def test_every_gaussian_machine_is_certified(name, data, t):
    u, v = np.unique(data[0], axis=0), np.unique(data[1], axis=0)
    together = np.vstack([u, v])
    assume(len(np.unique(together, axis=0)) == len(together) and min(len(u), len(v)) > 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine = build(name, u, v, t, kernel=Gaussian(0.7)).fit_uv(u, v)
    # kappa(x, x) = 1 (2 with a penalized b): this is the part of a'Pa that rounding may change
    reach = 2.0 * (machine.lambda_.sum() + machine.mu_.sum()) ** 2
    lost = np.finfo(float).eps * reach / abs(machine.dual_objective_)
    assert machine.certificate_.worst <= 1e-9 + 10.0 * lost
    y = np.repeat([1.0, -1.0], [len(u), len(v)])
    margin = y * machine.decision_function(together)
    wrong = margin < -1e-9 * (np.abs(margin).max() + machine.eta_)
    assert_array_equal(machine.point_classes_ == "misclassified", wrong)
