"""Columns of very different size: a gradient that is small because its column is small proves nothing."""

from dataclasses import replace

import numpy as np
import pytest

from companion.admm import (
    LeastSquaresLoss,
    LogisticLoss,
    generalized_lasso,
    group_lasso,
    l1_regularized,
    lasso,
)
from companion.certificates import verify

SIZES = [1e-3, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-13]
B = np.array([1.0, 1.0])


def data(size: float) -> np.ndarray:
    return np.diag([1.0, size])


@pytest.mark.parametrize("size", SIZES)
def test_least_squares(size: float) -> None:
    for result in (
        lasso(data(size), B, 0.0),
        group_lasso(data(size), B, [0, 1], 0.0),
        generalized_lasso(data(size), B, np.zeros((1, 2)), 0.0),
    ):
        assert result.certificate.ok
        np.testing.assert_allclose(result.x, [1.0, 1.0 / size], rtol=1e-6)


@pytest.mark.parametrize("size", SIZES)
def test_a_coefficient_without_penalty(size: float) -> None:
    for result in (
        l1_regularized(LeastSquaresLoss(data(size), B), [0.1, 0.0]),
        group_lasso(data(size), B, [0, 1], 0.1, weights=[1.0, 0.0]),
        generalized_lasso(data(size), B, [[1.0, 0.0]], 0.1),
    ):
        assert result.certificate.ok
        assert verify(result).ok
        assert result.objective == pytest.approx(0.095, rel=1e-9)
        np.testing.assert_allclose(result.x, [0.9, 1.0 / size], rtol=1e-6)


@pytest.mark.parametrize("size", [1e-3, 1e-8, 1e-11, 1e-13])
def test_a_penalty_as_small_as_the_column(size: float) -> None:
    result = generalized_lasso(data(size), B, np.eye(2), size / 10)
    assert result.certificate.ok
    np.testing.assert_allclose(result.x, [1.0 - size / 10, 0.9 / size], rtol=1e-6)


@pytest.mark.parametrize("size", [1e-4, 1e-7, 1e-10, 1e-13])
def test_an_intercept_in_another_unit(size: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = np.where(X[:, 0] + rng.standard_normal(40) > 0.7, 1.0, -1.0)
    tau = np.array([2.0, 2.0, 2.0, 0.0])
    plain = l1_regularized(LogisticLoss(np.column_stack([X, np.ones(40)]), y), tau)
    other = l1_regularized(LogisticLoss(np.column_stack([X, np.full(40, size)]), y), tau)
    assert other.certificate.ok
    assert other.objective == pytest.approx(plain.objective, rel=1e-7)
    assert size * other.x[3] == pytest.approx(plain.x[3], rel=1e-3)


def test_the_certificate_sees_a_coefficient_that_did_not_move() -> None:
    """ADMM alone leaves the second coefficient near 0; its gradient of 1e-9 is no proof."""
    result = group_lasso(
        data(1e-9), B, [0, 1], 0.1, weights=[1.0, 0.0], finish=False, max_iter=50, tol=1e-6
    )
    assert result.x[1] < 1e3
    assert not result.certificate.ok


def test_verification_sees_it_too() -> None:
    """The answers that were once certified."""
    A, x = data(1e-9), np.array([0.9, 3.2e-8])
    result = group_lasso(A, B, [0, 1], 0.1, weights=[1.0, 0.0])
    stuck = replace(result, x=x, z=x, u=A.T @ (B - A @ x) / result.rho, objective=0.595)
    assert not verify(stuck).ok
    A, x = data(1e-13), np.array([1.0, 3.9e-12])
    smooth = generalized_lasso(A, B, np.eye(2), 1e-14)
    stuck = replace(smooth, x=x, z=x, u=np.full(2, 1e-14) / smooth.rho, objective=0.5)
    assert not verify(stuck).ok


@pytest.mark.parametrize("tau", [0.0, 0.1])
@pytest.mark.parametrize("size", [1e-14, 1e-15, 1e-16, 1e-18, 1e-50, 1e-200])
def test_a_column_that_is_small_is_no_rounding(size: float, tau: float) -> None:
    """From a ratio of 1e-15 on, its weight was left out, and the certificate knew nothing of it."""
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((8, 3)), rng.standard_normal(8)
    F = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])
    even = generalized_lasso(A, b, F, tau)
    for j in range(3):
        columns = np.ones(3)
        columns[j] = size
        found = generalized_lasso(A * columns, b, F * columns, tau)
        assert found.certificate.ok
        assert verify(found).ok
        np.testing.assert_allclose(found.x * columns, even.x, atol=1e-9)


def test_small_columns_beside_dependent_ones_are_refused() -> None:
    A = np.random.default_rng(0).standard_normal((8, 3))[:, [0, 0, 1]] * [1.0, 1.0, 1e-20]
    with pytest.raises(ValueError, match="scale the columns"):
        generalized_lasso(A, np.ones(8), np.zeros((1, 3)), 0.1)
    found = generalized_lasso(A * [1.0, 1.0, 1e20], np.ones(8), np.zeros((1, 3)), 0.1)
    assert found.x[0] == pytest.approx(found.x[1])  # the shortest of all solutions


@pytest.mark.parametrize("size", [1e4, 1e7, 1e8, 1e9, 1e12])
def test_a_large_column_that_F_does_not_see(size: float) -> None:
    """A'A + rho F'F had no Cholesky factor, and the reader, who gave no rho, was told to leave it out."""
    A, F = np.array([[2.0 * size, 0.0, 1.0], [size, 1.0, 0.0]]), [[0.0, 1.0, -1.0]]
    result = generalized_lasso(A, [1.0, 2.0], F, tau=1.0)
    assert result.converged
    np.testing.assert_allclose(result.x * [size, 1.0, 1.0], [-1.0, 3.0, 3.0], rtol=1e-9)
