"""Kernels on sets and groups: Examples 17.6 and 17.7, the remark on groups."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from companion.kernels.features import subset_features, subsets
from companion.kernels.given import FeatureMap
from companion.kernels.gram import is_positive_definite
from companion.kernels.groups import CyclicKernel, GroupKernel
from companion.kernels.sets import Agreement, Intersection, Subset, UnionComplement

D = (1, 2, 3, 4)
POWER_SET = [set(U) for U in subsets(D)]
quick = settings(max_examples=30, deadline=None)


def test_subsets_come_in_the_texts_order():
    assert POWER_SET[:6] == [set(), {1}, {2}, {3}, {4}, {1, 2}]
    assert POWER_SET[10:12] == [{3, 4}, {1, 2, 3}]
    assert len(POWER_SET) == 16


def test_subset_features_of_the_example():
    one = subset_features({1, 2, 3}, D)
    assert one.tolist() == [1, 1, 1, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0]
    correct = subset_features({2, 3, 4}, D)
    assert correct.tolist() == [1, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 0]
    printed = np.array([0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 0])
    assert one @ correct == 4 == Subset()({1, 2, 3}, {2, 3, 4})
    assert one @ printed == 3


def test_subset_gram_of_the_power_set():
    K = Subset()(POWER_SET)
    eigenvalues = np.linalg.eigvalsh(K)
    golden = (1 + np.sqrt(5)) / 2
    assert round(np.linalg.det(K)) == 1
    assert eigenvalues[-1] == pytest.approx(46.97871376374779, rel=1e-12)
    assert eigenvalues[-1] == pytest.approx(golden**8)
    assert eigenvalues[0] == pytest.approx(0.021286236252208, rel=1e-10)


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


@quick
@given(weights, st.randoms(use_true_random=False))
def test_measure_kernels_by_counting(mu, random):
    ground = range(len(mu))
    sets = [{d for d in ground if random.random() < 0.5} for _ in range(6)]
    total = sum(mu)

    def measure(A):
        return sum(mu[d] for d in A)

    cases = {
        Intersection(mu): lambda A, B: measure(A & B),
        UnionComplement(mu): lambda A, B: total - measure(A | B),
        Agreement(mu): lambda A, B: total - measure(A - B) - measure(B - A),
    }
    for k, formula in cases.items():
        expected = [[formula(A, B) for B in sets] for A in sets]
        assert_allclose(k(sets), expected, atol=1e-12)
        assert_allclose(k.diagonal(sets), np.diag(expected), atol=1e-12)
        assert is_positive_definite(k(sets))
    assert_allclose(Agreement(mu)(sets), (Intersection(mu) + UnionComplement(mu))(sets), atol=1e-12)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Intersection({"a": -1.0}), ValueError, r"mu\('a'\)"),
        (lambda: Intersection([]), ValueError, "at least one"),
        (lambda: Intersection({"a": 1.0})({"b"}, {"a"}), ValueError, "not a subset"),
        (lambda: Intersection([1.0, 1.0])([[0.0, 2.0]]), ValueError, "zeros and ones"),
        (lambda: Intersection([1.0, 1.0])([[0.0, 1.0, 0.0]]), ValueError, "shape"),
        (lambda: Subset()("ab", "ac"), TypeError, "must be a set, got str"),
        (lambda: subset_features({9}, D), ValueError, "not a subset"),
    ],
)
def test_bad_sets(call, error, message):
    with pytest.raises(error, match=message):
        call()


def multiply(s, t):
    return tuple(s[i] for i in t)


def inverse(s):
    return tuple(np.argsort(s).tolist())


S3 = list(permutations(range(3)))


def matrix(s):
    """The unitary representation by permutation matrices: U(s) e_i = e_s(i)."""
    return np.eye(3)[:, list(s)]


@pytest.mark.parametrize("x0", [(1.0, 0.0, 0.0), (1.0, 2.0, -1.0), (1.0, 1j, 0.5)], ids=str)
def test_unitary_representation_of_the_symmetric_group(x0):
    """p(t^-1 s) = <U(s) x0, U(t) x0>."""
    x0 = np.array(x0)
    for s in S3:
        for t in S3:
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
    rng = np.random.default_rng(0)
    weights = rng.uniform(0, 1, 7) * (rng.uniform(size=7) < 0.7)
    p = np.array([np.sum(weights * np.exp(2j * np.pi * np.arange(7) * s / 7)) for s in range(7)])
    k = CyclicKernel(p)
    s = np.arange(7)[:, None]
    assert_allclose(k.spectrum, weights, atol=1e-12)
    assert_allclose(k(s), [[p[(a - b) % 7] for b in range(7)] for a in range(7)])
    assert is_positive_definite(k(s))
    assert_allclose(np.sort(np.linalg.eigvalsh(k(s))), np.sort(7 * weights), atol=1e-12)


@quick
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=7))
def test_cyclic_kernel_knows_its_definiteness(p):
    k = CyclicKernel(p)
    s = np.arange(len(p))[:, None]
    assert k.positive_definite == bool(is_positive_definite(k(s), tol=1e-10))


def test_cyclic_kernel_refuses_other_points():
    with pytest.raises(ValueError, match="integers modulo 3"):
        CyclicKernel([1, 0, 0])([[0.5]])
    with pytest.raises(ValueError, match="vector"):
        CyclicKernel([[1, 0], [0, 1]])
