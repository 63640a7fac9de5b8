"""The parts of consensus ADMM: what a block computes from its rows, and what an objective adds."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from companion.admm import (
    ConsensusObjective,
    LassoObjective,
    LeastSquaresBlock,
    RidgeObjective,
    SquaredHingeObjective,
    consensus,
)
from companion.admm.consensus import SquaredHingeBlock


def rows(m: int, n: int, seed: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, n)), rng.standard_normal(m)


def labels(m: int, n: int, seed: int = 61) -> tuple[np.ndarray, np.ndarray]:
    A, b = rows(m, n, seed)
    return A, np.where(b > 0.0, 1.0, -1.0)


WEIGHTS = (np.array([0.5, 1.0, 2.0, 3.0]), np.array([1e-2, 10.0, 1.0, 5.0]))
V = np.array([1.0, -2.0, 0.5, 3.0])


@pytest.mark.parametrize("m", [2, 4, 9])
def test_the_step_of_a_block_of_squares(m: int) -> None:
    """For fewer rows than columns and for more; another weight needs another factor."""
    A, b = rows(m, 4)
    block = LeastSquaresBlock(A, b)
    for w in (*WEIGHTS, WEIGHTS[0]):
        x, loss = block.prox(V, w)
        np.testing.assert_allclose(A.T @ (A @ x - b), w * (V - x), atol=1e-11)
        assert loss == pytest.approx(np.sum((A @ x - b) ** 2) / 2)
    value, gradient = block.loss_and_gradient(V)
    assert value == pytest.approx(np.sum((A @ V - b) ** 2) / 2)
    np.testing.assert_allclose(gradient, A.T @ (A @ V - b))
    np.testing.assert_allclose(block.curvature(), (A.T @ A).diagonal())
    for found, sum_ in zip(block.sums(), (A.T @ A, A.T @ b)):
        np.testing.assert_allclose(found, sum_)


@pytest.mark.parametrize("m", [2, 4, 30])
@pytest.mark.parametrize("K", [0.25, 8.0])
def test_the_step_of_a_block_of_squared_hinges(m: int, K: float) -> None:
    A, b = labels(m, 4)
    block = SquaredHingeBlock(A, b, K)
    for w in (*WEIGHTS, WEIGHTS[0]):
        for v in (V, -10.0 * V, 0.1 * V):
            x, loss = block.prox(v, w)
            xi = np.maximum(1.0 - b * (A @ x), 0.0)
            np.testing.assert_allclose(2.0 * K * A.T @ (b * xi), w * (x - v), atol=1e-10)
            assert loss == pytest.approx(K * xi @ xi)
    xi = np.maximum(1.0 - b * (A @ V), 0.0)
    value, gradient = block.loss_and_gradient(V)
    assert value == pytest.approx(K * xi @ xi)
    np.testing.assert_allclose(gradient, -2.0 * K * A.T @ (b * xi))
    np.testing.assert_allclose(block.curvature(), 2.0 * K * (A.T @ A).diagonal())
    with pytest.raises(TypeError, match="the loss of SquaredHingeBlock is not quadratic"):
        block.sums()


@pytest.mark.parametrize("far", [1.0, 1e3, 1e6])
def test_newton_comes_back_from_far_away(far: float) -> None:
    """The full step from there overshoots: on the way back it is halved."""
    A, b = labels(30, 4)
    block, w = SquaredHingeBlock(A, b, 8.0), 1e-3 * WEIGHTS[0]
    for v in (far * V, V, -far * V, V):
        x, _ = block.prox(v, w)
        xi = np.maximum(1.0 - b * (A @ x), 0.0)
        miss = -16.0 * A.T @ (b * xi) + w * (x - v)
        assert np.abs(miss).max() < 1e-12 * (16.0 * np.abs(A).T @ xi + w * np.abs(x - v)).max()


@pytest.mark.parametrize(
    "objective", [RidgeObjective(3.0), RidgeObjective(0.25), SquaredHingeObjective(7.0)]
)
def test_a_penalty_and_its_conjugate_meet_at_the_gradient(objective: ConsensusObjective) -> None:
    K = objective.K if isinstance(objective, RidgeObjective) else 1.0
    assert objective.penalty(V) == pytest.approx(K * V @ V / 2)
    s = K * V
    assert objective.penalty(V) + objective.penalty_conjugate(s) == pytest.approx(s @ V)
    t = np.array([0.5, 1.0, 2.0, 4.0])
    z = objective.penalty_prox(V, t)
    np.testing.assert_allclose(K * z, (V - z) / t)
    assert objective.dual_value(V, 5.0, 2.0 * V) == pytest.approx(
        5.0 - 2.0 * V @ V - objective.penalty_conjugate(2.0 * V)
    )


def test_the_lower_bounds_are_below_and_meet_the_minimum() -> None:
    A, b = rows(12, 4)
    for objective in (LassoObjective(1.5), RidgeObjective(2.0)):
        z = consensus([(A[:5], b[:5]), (A[5:], b[5:])], objective).z
        block = objective.block(A, b)

        def bound(z, objective=objective, block=block) -> float:
            return objective.dual_value(z, *block.loss_and_gradient(z))

        best = objective.penalty(z) + block.loss_and_gradient(z)[0]
        assert bound(z) == pytest.approx(best, rel=1e-7)
        for scale in (-1.0, 0.0, 0.5, 0.99, 1.01, 3.0):
            assert bound(scale * z) < best
    assert LassoObjective(1.5).dual_value(V, 0.0, 0.0 * V) == 0.0


@pytest.mark.parametrize("objective", [RidgeObjective(2.0), LassoObjective(1.5)])
@pytest.mark.parametrize(("m", "n"), [(12, 4), (5, 9)])
def test_the_minimiser_from_the_sums(objective: ConsensusObjective, m: int, n: int) -> None:
    """Columns in units that differ by 1e8, one of zeros, and two that are equal."""
    A, b = rows(m, n)
    A = A * np.logspace(-4, 4, n)
    A[:, 1], A[:, 2] = 0.0, A[:, 0]
    z = objective.from_sums(A.T @ A, A.T @ b)
    loss, gradient = objective.block(A, b).loss_and_gradient(z)
    best = loss + objective.penalty(z)
    assert best - objective.dual_value(z, loss, gradient) < 1e-7 * best
    assert z[1] == 0.0


A_6, B_6 = rows(6, 3)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: LeastSquaresBlock(A_6 * np.nan, B_6), "A"),
        (lambda: LeastSquaresBlock(A_6, B_6 * np.nan), "b"),
        (lambda: LeastSquaresBlock(A_6, B_6[1:]), "b"),
        (lambda: SquaredHingeBlock(A_6, np.ones(6), 0.0), "K"),
        (lambda: RidgeObjective(0.0), "K"),
        (lambda: SquaredHingeObjective(-1.0), "K"),
        (lambda: LassoObjective(0.0), "tau"),
    ],
)
def test_a_part_of_consensus_that_is_wrong_is_named(call: Callable, name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{re.escape(name)} must"):
        call()


def test_sizes_beyond_the_range_are_named() -> None:
    for A, b, name in ((1e200 * A_6, B_6, "A"), (A_6, 1e200 * B_6, "b"), (A_6, 1e-200 * B_6, "b")):
        with pytest.raises(ValueError, match=rf"^{name} has numbers of the size"):
            LeastSquaresBlock(A, b)
