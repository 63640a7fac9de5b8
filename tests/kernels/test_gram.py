"""Gram matrices: centring, positive definiteness with witnesses (Definitions 17.2, 17.3, Propositions 17.2-17.5)."""

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from companion.exceptions import ConvergenceWarning
from companion.kernels import Gaussian, Linear, center_gram, gram, is_positive_definite
from tests.kernels import for_all, normal, seeds


def random_gram(seed, is_complex=True):
    """Rank 3 of 5: zero eigenvalues that round to either sign."""
    A = normal(seed, 5, 3, is_complex=is_complex)
    return A @ A.conj().T


@for_all(seeds, st.booleans())
def test_centring_is_the_gram_matrix_of_centred_features(seed, is_complex):
    Phi, new = (normal(seed, n, 4, is_complex=is_complex) for n in (6, 3))
    mean, K, H = Phi.mean(axis=0), Phi @ Phi.conj().T, np.eye(6) - 1 / 6
    centred, K_hat = Phi - mean, center_gram(K)
    assert_allclose(K_hat, centred @ centred.conj().T, atol=1e-10)
    assert_allclose(K_hat, H @ K @ H, atol=1e-10)
    assert_allclose(K_hat @ np.ones(6), 0, atol=1e-10)
    assert_allclose(center_gram(new @ Phi.conj().T, K), (new - mean) @ centred.conj().T, atol=1e-10)


@pytest.mark.parametrize("shapes", [[(2, 3)], [(2, 3), (2, 2)], [(2, 2), (2, 3)], [(0, 0)]])
def test_centring_checks_shapes(shapes):
    with pytest.raises(ValueError, match="square"):
        center_gram(*map(np.ones, shapes))


def test_gram_takes_anything_that_names_a_kernel():
    X = [[0.0, 1.0], [2.0, 3.0]]
    assert_array_equal(gram("linear", X), Linear()(X))
    assert_array_equal(gram("rbf", X, sigma=2.0), Gaussian(2.0)(X))
    assert_array_equal(gram(lambda A, B: A @ B.T, X), Linear()(X))
    with pytest.raises(ValueError, match="single point"):
        gram("linear", [1.0, 2.0])


@for_all(seeds, st.booleans(), st.floats(-8, 8))
def test_verdict_does_not_depend_on_scale(seed, is_complex, exponent):
    K = 10.0**exponent * random_gram(seed, is_complex)
    assert is_positive_definite(K)
    shifted = K - 1e-6 * np.linalg.norm(K, 2) * np.eye(5)
    answer = is_positive_definite(shifted)
    assert not answer
    assert answer.value == pytest.approx(answer.smallest_eigenvalue, rel=1e-6)
    u = answer.witness
    assert np.vdot(u, shifted @ u).real < 0
    assert np.linalg.norm(u) == pytest.approx(1.0)


def test_zero_matrices_and_a_coarse_tolerance():
    assert is_positive_definite(np.zeros((3, 3)))
    assert is_positive_definite([[1.0, 0.0], [0.0, -1e-3]], tol=0.01)


def test_centring_far_from_the_origin_warns():
    with pytest.warns(ConvergenceWarning, match="centre the data first") as heard:
        center_gram(Linear()(1e9 + np.array([[0.0], [1.0]])))
    assert heard[0].filename == __file__
