"""Tests that kill mutants which all others let live (see tools/mutants.py)."""

from dataclasses import replace

import numpy as np
import pytest

from companion.admm.row_matrix import RowMatrix
from companion.kernels import Gaussian
from companion.svm import SVMs3, points
from companion.svm.points import make_points
from companion.svm.slab import multiplier_interval, slab_eta, slab_unit, snap


def test_the_slab_of_two_points() -> None:
    """One blue point at 2, one red point at 0, w = 1: the hyperplane is at 1, the margins at the points."""
    slab = slab_unit(np.array([1.0, -1.0]), np.array([2.0, 0.0]), np.array([0.5, 0.5]), np.inf)
    assert (slab.b, slab.eta) == (1.0, 1.0)
    assert slab.b_interval == slab.eta_interval == (1.0, 1.0)
    assert slab.blue_interval == (2.0, 2.0)
    assert slab.red_interval == (0.0, 0.0)


@pytest.mark.parametrize("unit", [0, 3, -7])
@pytest.mark.parametrize("penalize_b", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_rows_on_demand_are_the_rows_of_the_matrix(
    monkeypatch: pytest.MonkeyPatch, unit: int, penalize_b: bool, ridge: float
) -> None:
    """Large problems compute rows when they are needed; here a small one does, in units of a power of two."""
    rng = np.random.default_rng(5)
    X, s = rng.standard_normal((12, 2)), np.repeat([1.0, -1.0], 6)
    data = replace(make_points(X, s, Gaussian(1.0)), unit=unit)
    whole = data.signed_matrix(penalize_b=penalize_b, ridge=ridge)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 2) + (1.0 if penalize_b else 0.0)
    expected = np.ldexp(np.outer(s, s) * K + ridge * np.eye(12), -2 * unit)
    np.testing.assert_allclose(whole, expected, rtol=1e-13, atol=1e-15 * expected.max())
    monkeypatch.setattr(points, "ROWS_FROM", 2)
    rows = data.signed_matrix(penalize_b=penalize_b, ridge=ridge)
    assert isinstance(rows, RowMatrix) == (ridge == 0.0)
    a = rng.standard_normal(12)
    np.testing.assert_allclose(rows @ a, expected @ a, rtol=1e-12, atol=1e-13 * expected.max())


@pytest.mark.parametrize("scale", [1.0, 2.0**-600, 2.0**-1000])
def test_lengths_of_tiny_features(scale: float) -> None:
    Z = np.array([[3.0, 4.0], [0.0, 0.0], [5.0, 12.0]])
    assert (points._lengths(scale * Z) == scale * np.array([5.0, 0.0, 13.0])).all()
    assert points._norm(scale * Z[0]) == 5.0 * scale


@pytest.mark.parametrize("nu", [0.5, 0.9])
@pytest.mark.parametrize("scale", [1.0, 1e-9])
def test_exchanging_the_colours_turns_the_penalized_plane_around(nu: float, scale: float) -> None:
    """Near the origin b alone decides about s'a, with the sign of the more frequent colour."""
    rng = np.random.default_rng(11)
    many, few = scale * rng.standard_normal((8, 2)), scale * (rng.standard_normal((4, 2)) + 1.0)
    one, other = SVMs3(nu=nu).fit_uv(many, few), SVMs3(nu=nu).fit_uv(few, many)
    assert one.certificate_.ok
    assert other.certificate_.ok
    np.testing.assert_allclose(other.w_, -one.w_, rtol=1e-7, atol=1e-9 * abs(one.w_).max())
    assert other.b_ == pytest.approx(-one.b_, rel=1e-9, abs=1e-12)


def test_an_interval_that_rounding_has_turned_around_is_its_middle() -> None:
    g = np.array([1.0 + 4e-16, 1.0])
    at_upper = np.array([True, False])
    low, high = multiplier_interval(g, ~at_upper, at_upper)
    assert low == high
    assert 1.0 <= low <= 1.0 + 4e-16


def test_small_multipliers_are_small_beside_each_other_only() -> None:
    """Neither snapped to zero, nor their b, when all of them are tiny."""
    a = np.array([3e-13, 1e-13])
    np.testing.assert_array_equal(snap(a, np.inf), a)
    assert slab_eta(np.array([1.0, -1.0]), np.zeros(2), a, np.inf).b == -(a[0] - a[1])
