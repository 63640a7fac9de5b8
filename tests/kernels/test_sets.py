"""Kernels on sets: Examples 17.6 and 17.7."""

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from companion.kernels.features import subset_features, subsets
from companion.kernels.gram import is_positive_definite
from companion.kernels.sets import Agreement, Intersection, Subset, UnionComplement
from tests.kernels import for_all
from tests.refusals import refusals

D = (1, 2, 3, 4)
POWER_SET = [set(U) for U in subsets(D)]


def test_subsets_come_in_the_texts_order():
    assert POWER_SET[:6] == [set(), {1}, {2}, {3}, {4}, {1, 2}]
    assert POWER_SET[10:12] == [{3, 4}, {1, 2, 3}]
    assert len(POWER_SET) == 16


def test_subset_features_of_the_example():
    one, two = subset_features({1, 2, 3}, D), subset_features({2, 3, 4}, D)
    assert one.tolist() == [1, 1, 1, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0]
    assert two.tolist() == [1, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 0]
    printed = np.array([0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 0])
    assert one @ two == 4 == Subset()({1, 2, 3}, {2, 3, 4})
    assert one @ printed == 3


@pytest.mark.parametrize("n", range(7))
def test_the_number_of_common_subsets(n):
    """Problem 17.3, over all pairs of subsets."""
    ground = tuple(range(n))
    sets = [set(U) for U in subsets(ground)]
    Phi = subset_features(sets, ground)
    counts = [[2 ** len(A & B) for B in sets] for A in sets]
    assert_array_equal(Phi @ Phi.T, counts)
    assert_array_equal(Subset()(sets), counts)


weights = st.dictionaries(st.integers(0, 9), st.floats(0, 5), min_size=1, max_size=6)


@for_all(weights, st.randoms(use_true_random=False))
def test_measure_kernels_by_counting(mu, random):
    sets = [{d for d in mu if random.random() < 0.5} for _ in range(6)]
    counted = {
        Intersection(mu): lambda A, B: A & B,
        UnionComplement(mu): lambda A, B: {*mu} - (A | B),
        Agreement(mu): lambda A, B: {*mu} - (A ^ B),
    }
    for k, common in counted.items():
        expected = [[sum(mu[d] for d in common(A, B)) for B in sets] for A in sets]
        assert_allclose(k(sets), expected, atol=1e-12, err_msg=repr(k))
        assert is_positive_definite(k(sets)), k
    assert_allclose(Agreement(mu)(sets), (Intersection(mu) + UnionComplement(mu))(sets), atol=1e-12)


test_bad_points = refusals(
    (lambda: Intersection({"a": -1.0}), r"mu\('a'\)"),
    (lambda: Intersection({"a": 1.0})({"b"}, {"a"}), "not a subset"),
    (lambda: Subset()("ab", "ac"), "must be a set, got str", TypeError),
    (lambda: subset_features({9}, D), "not a subset"),
    (lambda: Subset()({*range(1100)}, {*range(1100)}), "overflow"),
)
