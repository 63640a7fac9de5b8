"""Explicit feature maps of polynomial kernels (Examples 17.4 and 17.5, Problem 17.2)."""

from math import comb

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from companion.kernels import Polynomial, polynomial_exponents, polynomial_features
from tests.kernels import for_all, normal, seeds


@pytest.mark.parametrize(("n", "d"), [(1, 3), (2, 2), (2, 3), (3, 4), (5, 2)])
def test_dimension_of_inhomogeneous_features_is_the_rank(n, d):
    """C(n+d, d); the printed C(m+d, d) is another number."""
    X = np.random.default_rng(1).standard_normal((60, n))
    Phi = polynomial_features(X, d, R=0.7)
    assert Phi.shape[1] == comb(n + d, d) == np.linalg.matrix_rank(Polynomial(d, R=0.7)(X))
    assert_array_equal(Polynomial(d, R=0.7).features(X), Phi)  # the order of a machine's w_


def test_features_of_a_high_degree():
    """Beyond d = 170, where d! overflows."""
    for X, d in (([[0.9], [0.8]], 200), ([[0.9, 0.1], [0.7, 0.4]], 80)):
        Phi, X = polynomial_features(X, d, 0.5), np.array(X)
        assert_allclose(Phi @ Phi.T, (X @ X.T + 0.5) ** d, rtol=1e-12)


@for_all(st.integers(1, 4), st.integers(0, 4), st.floats(0, 3), seeds, st.booleans())
def test_inner_products_of_features(n, d, R, seed, complex_points):
    X = normal(seed, 4, n, is_complex=complex_points)
    Phi = polynomial_features(X, d, R)
    assert_allclose(Phi @ Phi.conj().T, (X @ X.conj().T + R) ** d, atol=1e-8)
    assert Phi.shape[1] == len(polynomial_exponents(n, d, homogeneous=R == 0))


def test_order_of_the_exponents():
    squares = [[2, 0, 0], [1, 1, 0], [1, 0, 1], [0, 2, 0], [0, 1, 1], [0, 0, 2]]
    assert_array_equal(polynomial_exponents(3, 2, homogeneous=True), squares)
    assert_array_equal(polynomial_exponents(2, 1), [[1, 0], [0, 1], [0, 0]])
    x = np.array([2.0, 3.0, 5.0])
    assert_allclose(polynomial_features(x, 2)[0, [1, 2, 4]], np.sqrt(2) * np.array([6, 10, 15]))


@pytest.mark.parametrize(("d", "R"), [(-1, 0.0), (2, -1.0)])
def test_bad_input(d, R):
    with pytest.raises(ValueError, match="must be"):
        polynomial_features([[1.0]], d, R)
