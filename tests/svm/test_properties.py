"""Symmetries that every machine has: swapped classes, permuted points, other units, moved and turned data."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from companion.svm import SVMs1, SVMs2, SVMs2prime, SVMs3, SVMs4, SVMs5, nu_max, nu_min

pytestmark = pytest.mark.filterwarnings("error")

FREE_B = [SVMs1, SVMs2, SVMs2prime, SVMs4]
few = settings(max_examples=20, deadline=None)
fraction = st.floats(0.05, 0.95)


@st.composite
def two_classes(draw):
    """Points with two decimals: duplicates and ties happen."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    p, q, d = draw(st.integers(2, 9)), draw(st.integers(2, 9)), draw(st.integers(1, 3))
    apart = draw(st.sampled_from([0.3, 1.0, 2.0]))
    decimals = draw(st.sampled_from([0, 2, 12]))
    u = np.round(rng.standard_normal((p, d)) + apart, decimals)
    v = np.round(rng.standard_normal((q, d)) - apart, decimals)
    return u, v


def build(kind, u, v, t, **options):
    """Return a machine with nu the fraction t of the way from nu_min to nu_max."""
    if kind is SVMs2:
        return SVMs2(0.1 + t, **options)
    if kind in (SVMs4, SVMs5):
        return kind(0.1 + t, K=1.0 + t, **options)
    low, high = nu_min(u, v), nu_max(len(u), len(v))
    assume(high - low > 1e-3)
    nu = max(low + t * (high - low), 0.05)
    return kind(1 / ((len(u) + len(v)) * nu) if kind is SVMs1 else nu, **options)


def swapped(u, v, one, t):
    """The colours change places: w and b turn around."""
    return (v, u), {}, -one.w_, -one.b_, 1.0


def permuted(u, v, one, t):
    """Another order of the points."""
    order = np.random.default_rng(int(100 * t)).permutation
    return (order(u), order(v)), {}, one.w_, one.b_, 1.0


def translated(u, v, one, t):
    """Where b is free, a translation moves b only."""
    move = 100.0 * t - 50.0
    return (u + move, v + move), {}, one.w_, one.b_ + move * one.w_.sum(), 1.0


def repriced(u, v, one, t):
    """K is a unit of the machines with nu and simple slacks."""
    K = 10.0 ** (6.0 * t - 3.0)
    factor = K * (len(u) + len(v))
    return (u, v), {"K": K}, factor * one.w_, factor * one.b_, factor


CHANGES = [(change, kind) for change in (swapped, permuted, translated) for kind in FREE_B]
CHANGES += [(change, kind) for change in (swapped, permuted) for kind in (SVMs3, SVMs5)]


@pytest.mark.parametrize(("change", "kind"), [*CHANGES, (repriced, SVMs2prime), (repriced, SVMs3)])
@few
@given(data=two_classes(), t=fraction)
def test_symmetries(change, kind, data, t):
    u, v = data
    one = build(kind, u, v, t).fit_uv(u, v)
    assert one.certificate_.ok
    points, options, w, b, factor = change(u, v, one, t)
    two = build(kind, u, v, t, **options).fit_uv(*points)
    size = factor * (np.abs(one.w_).max() * (1.0 + 50.0 * (change is translated)) + one.eta_)
    near = 1e-7 * (size + factor * abs(one.b_))
    assert_allclose(two.w_, w, atol=1e-8 * size)
    assert two.b_ == pytest.approx(b, abs=near)
    assert two.eta_ == pytest.approx(factor * one.eta_, abs=1e-7 * size)
    ends = np.array(one.b_interval_)
    ends = -ends[::-1] if change is swapped else factor * ends
    if change is translated:
        ends += b - one.b_
    expected = [*ends, *(factor * np.array(one.eta_interval_))]
    assert_allclose([*two.b_interval_, *two.eta_interval_], expected, atol=near)
