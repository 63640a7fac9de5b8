"""Kernels on sets and groups: Examples 17.6 and 17.7, the remark on groups."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from companion.kernels.features import subset_features, subsets
from companion.kernels.given import FeatureMap
from companion.kernels.gram import is_positive_definite
from companion.kernels.groups import CyclicKernel, GroupKernel
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


def test_subset_gram_of_the_power_set():
    K, golden = Subset()(POWER_SET), (1 + np.sqrt(5)) / 2
    assert round(np.linalg.det(K)) == 1
    assert np.linalg.eigvalsh(K)[[0, -1]] == pytest.approx([golden**-8, golden**8], rel=1e-10)


@pytest.mark.parametrize("n", range(1, 7))
def test_the_number_of_common_subsets(n):
    """Problem 17.3, over all pairs of subsets."""
    ground = tuple(range(n))
    sets = [set(U) for U in subsets(ground)]
    Phi = subset_features(sets, ground)
    counts = [[2 ** len(A & B) for B in sets] for A in sets]
    assert_array_equal(Phi @ Phi.T, counts)
    assert_array_equal(Subset()(sets), counts)


def test_sets_and_zero_one_rows_mean_the_same():
    rows = np.array([[d in A for d in D] for A in POWER_SET], dtype=float)
    assert_array_equal(Subset()(rows), Subset()(POWER_SET))
    assert_array_equal(Subset()(POWER_SET).diagonal(), Subset().diagonal(rows))


weights = st.lists(st.floats(0, 5), min_size=1, max_size=6)


@for_all(weights, st.randoms(use_true_random=False))
def test_measure_kernels_by_counting(mu, random):
    sets = [{d for d in range(len(mu)) if random.random() < 0.5} for _ in range(6)]
    counted = {
        Intersection(mu): lambda A, B: A & B,
        UnionComplement(mu): lambda A, B: {*range(len(mu))} - (A | B),
        Agreement(mu): lambda A, B: {*range(len(mu))} - (A ^ B),
    }
    for k, common in counted.items():
        expected = [[sum(mu[d] for d in common(A, B)) for B in sets] for A in sets]
        assert_allclose(k(sets), expected, atol=1e-12)
        assert_allclose(k.diagonal(sets), np.diag(expected), atol=1e-12)
        assert is_positive_definite(k(sets))
    assert_allclose(Agreement(mu)(sets), (Intersection(mu) + UnionComplement(mu))(sets), atol=1e-12)


test_bad_points = refusals(
    (lambda: Intersection({"a": -1.0}), r"mu\('a'\)"),
    (lambda: Intersection([]), "at least one"),
    (lambda: Intersection({"a": 1.0})({"b"}, {"a"}), "not a subset"),
    (lambda: Intersection([1.0, 1.0])([[0.0, 2.0]]), "zeros and ones"),
    (lambda: Intersection([1.0, 1.0])([[0.0, 1.0, 0.0]]), "shape"),
    (lambda: Subset()("ab", "ac"), "must be a set, got str", TypeError),
    (lambda: subset_features({9}, D), "not a subset"),
    (lambda: CyclicKernel([1, 0, 0])([[0.5]]), "integers modulo 3"),
    (lambda: CyclicKernel([[1, 0], [0, 1]]), "vector"),
)


def multiply(s, t):
    return tuple(s[i] for i in t)


def inverse(s):
    return tuple(np.argsort(s).tolist())


def matrix(s):
    """The unitary representation by permutation matrices: U(s) e_i = e_s(i)."""
    return np.eye(3)[:, list(s)]


S3 = list(permutations(range(3)))


@pytest.mark.parametrize("x0", [(1.0, 0.0, 0.0), (1.0, 2.0, -1.0), (1.0, 1j, 0.5)], ids=str)
def test_unitary_representation_of_the_symmetric_group(x0):
    """p(t^-1 s) = <U(s) x0, U(t) x0>."""
    for s, t in product(S3, S3):
        assert_array_equal(matrix(multiply(s, t)), matrix(s) @ matrix(t))
    p_kernel = GroupKernel(lambda s: np.vdot(x0, matrix(s) @ x0), multiply, inverse)
    features = FeatureMap(lambda s: matrix(s) @ x0)
    assert_allclose(p_kernel(S3), features(S3), atol=1e-12)
    assert is_positive_definite(p_kernel(S3))


def test_a_function_that_is_not_of_positive_type():
    k = GroupKernel(lambda s: float(s != (0, 1, 2)), multiply, inverse)
    assert not is_positive_definite(k(S3))
    assert k.positive_definite is None
    assert repr(k) == "p(y^-1 x)"


def test_cyclic_group_through_its_characters():
    """On Z/7: positive definite if and only if the transform of p is nonnegative."""
    weights, s = np.array([0.3, 0, 0.7, 0.1, 0, 0.9, 0.2]), np.arange(7)[:, None]
    p = np.exp(2j * np.pi * s * np.arange(7) / 7) @ weights
    k = CyclicKernel(p)
    assert_allclose(k.spectrum, weights, atol=1e-12)
    assert_allclose(k(s), [[p[(a - b) % 7] for b in range(7)] for a in range(7)])
    assert is_positive_definite(k(s))
    assert_allclose(np.sort(np.linalg.eigvalsh(k(s))), np.sort(7 * weights), atol=1e-12)


@for_all(st.lists(st.integers(-3, 3), min_size=1, max_size=7))
def test_cyclic_kernel_knows_its_definiteness(p):
    k = CyclicKernel(p)
    s = np.arange(len(p))[:, None]
    assert k.positive_definite == bool(is_positive_definite(k(s), tol=1e-10))
