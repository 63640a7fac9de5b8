"""Explicit feature maps of polynomial kernels (Examples 17.4 and 17.5, Problem 17.2)."""

from math import comb

import numpy as np
import pytest
import sympy
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from companion.kernels import Polynomial, polynomial_exponents, polynomial_features
from tests.kernels import for_all, normal, seeds


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 2), (3, 3), (4, 3), (5, 4)])
def test_dimension_of_homogeneous_features(n, m):
    X = np.random.default_rng(0).standard_normal((100, n))
    Phi = polynomial_features(X, m)
    assert Phi.shape == (100, comb(n + m - 1, m))
    assert_allclose(Phi @ Phi.T, (X @ X.T) ** m, atol=1e-9)


@pytest.mark.parametrize(("n", "d"), [(1, 3), (2, 2), (2, 3), (3, 4), (5, 2)])
def test_dimension_of_inhomogeneous_features_is_the_rank(n, d):
    """C(n+d, d); the printed C(m+d, d) is another number."""
    X = np.random.default_rng(1).standard_normal((60, n))
    Phi = polynomial_features(X, d, R=0.7)
    assert Phi.shape[1] == comb(n + d, d) == np.linalg.matrix_rank(Polynomial(d, R=0.7)(X))
    assert_allclose(Phi @ Phi.T, (X @ X.T + 0.7) ** d, atol=1e-8)


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


@pytest.mark.parametrize(("n", "m"), [(1, 4), (2, 3), (3, 2), (3, 4)])
def test_multinomial_theorem_symbolically(n, m):
    """Problem 17.2, with x_n in the last factor (printed: x_m)."""
    x, y = sympy.symbols(f"x1:{n + 1}"), sympy.symbols(f"y1:{n + 1}")
    total = 0
    for exponents in polynomial_exponents(n, m, homogeneous=True).tolist():
        weight = sympy.factorial(m) / sympy.prod([sympy.factorial(i) for i in exponents])
        total += weight * sympy.prod([(a * b) ** i for a, b, i in zip(x, y, exponents)])
    assert sympy.expand(total - sum(a * b for a, b in zip(x, y)) ** m) == 0


def test_features_as_printed_are_wrong():
    """Every factor with the first coordinate gives n^m (x1 y1)^m; the binomials are missing in (t + R)^d."""
    x, y, m = np.array([2.0, 3.0]), np.array([1.0, -1.0]), 2
    exponents = polynomial_exponents(2, m, homogeneous=True)
    printed = [1, 2, 1] @ (x[0] * y[0]) ** exponents.sum(axis=1)
    assert printed == 2**m * (x[0] * y[0]) ** m == 16
    assert (x @ y) ** m == 1
    t, R, d = 2.0, 3.0, 3
    assert sum(R ** (d - j) * t**j for j in range(d + 1)) != (t + R) ** d
    assert sum(comb(d, j) * R ** (d - j) * t**j for j in range(d + 1)) == (t + R) ** d


@pytest.mark.parametrize(("d", "R"), [(-1, 0.0), (2, -1.0), (171, 0.0)])
def test_bad_input(d, R):
    with pytest.raises(ValueError, match="must be"):
        polynomial_features([[1.0]], d, R)
