"""Symmetries that every regression has: moved and turned values, permuted points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from companion.kernels import Gaussian
from companion.svr import EpsilonSVR, NuSVR, NuSVRPenalizedBias, QuadraticNuSVR, tube_from_offsets

pytestmark = pytest.mark.filterwarnings("error")

FREE_B = [NuSVR, EpsilonSVR, QuadraticNuSVR]
few = settings(max_examples=20, deadline=None)
fraction = st.floats(0.05, 1.2)


@st.composite
def data_sets(draw):
    """Points with few decimals: duplicates, ties and exact fits happen."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    m, n = draw(st.integers(1, 14)), draw(st.integers(1, 3))
    decimals = draw(st.sampled_from([0, 2, 12]))
    noise = draw(st.sampled_from([0.0, 0.5, 3.0]))
    X = np.round(rng.standard_normal((m, n)), decimals)
    return X, np.round(X.sum(axis=1) + noise * rng.standard_normal(m) + 1.0, decimals)


def turned(X, y, one, t):
    """y turns around: w and b, too, and the margins change places."""
    return (X, -y), -one.w_, -one.b_


def permuted(X, y, one, t):
    """Another order of the points."""
    order = np.random.default_rng(int(100 * t)).permutation(len(y))
    return (X[order], y[order]), one.w_, one.b_


def moved(X, y, one, t):
    """Where b is free, to move y or X moves b only."""
    shift, move = 100.0 * t - 60.0, 50.0 - 80.0 * t
    return (X + move, y + shift), one.w_, one.b_ + shift - move * one.w_.sum()


CHANGES = [(change, kind) for change in (turned, permuted, moved) for kind in FREE_B]
CHANGES += [(turned, NuSVRPenalizedBias), (permuted, NuSVRPenalizedBias)]


@pytest.mark.parametrize(("change", "kind"), CHANGES)
@few
@given(data=data_sets(), t=fraction)
def test_symmetries(change, kind, data, t):
    X, y = data
    one = kind(t, C=6.0).fit(X, y)
    assert one.certificate_.ok
    points, w, b = change(X, y, one, t)
    two = kind(t, C=6.0).fit(*points)
    size = (1.0 + np.abs(y).max()) * (1.0 + 50.0 * (change is moved))
    assert_allclose(two.w_, w, atol=1e-8 * size)
    assert two.objective_ == pytest.approx(one.objective_, abs=1e-7 * size)
    b_interval, blue, red = np.array([one.b_interval_, one.blue_interval_, one.red_interval_])
    if change is turned:
        b_interval, blue, red = -b_interval[::-1], -red[::-1], -blue[::-1]
    elif change is moved:
        b_interval, blue, red = np.array([b_interval, blue, red]) + b - one.b_
    expected = [b, one.epsilon_, *b_interval, *one.epsilon_interval_, *blue, *red]
    found = [two.b_, two.epsilon_, *two.b_interval_, *two.epsilon_interval_]
    assert_allclose([*found, *two.blue_interval_, *two.red_interval_], expected, atol=1e-7 * size)


@few
@given(data_sets(), st.just(0.0) | st.floats(1e-9, 1.5), st.sampled_from([0.3, 1.0, 5.0]))
def test_quantile_lemma(data, nu, sigma):
    """The margins are order statistics of the offsets; duplicates and ties included."""
    X, y = data
    size = 1.0 + np.abs(y).max()
    model = NuSVR(nu, C=9.0, kernel=Gaussian(sigma)).fit(X, y)
    tube, near = tube_from_offsets(model.offsets_, nu), 1e-7 * size
    mine = [model.b_interval_, model.epsilon_interval_]
    # the multipliers may know less than the order statistics where points tie, never more
    for (low, high), (least, most) in zip(mine, [tube.b_interval, tube.epsilon_interval]):
        assert least - near <= low <= high <= most + near
    second = NuSVRPenalizedBias(nu, C=9.0, kernel=Gaussian(sigma)).fit(X, y)
    if nu < 1.0:
        low, high = tube_from_offsets(second.offsets_, nu, b=second.b_).epsilon_interval
        assert low - near <= second.epsilon_ <= high + near
