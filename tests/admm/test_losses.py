"""Losses and penalties: derivatives, proximal steps, conjugates; what consensus and the l1 problems are made of."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from companion.admm import L1Penalty, RidgePenalty, consensus
from companion.admm.losses import LeastSquaresLoss, LogisticLoss, SmoothLoss, SquaredHingeLoss
from tests.refusals import refusals

WEIGHTS = 0.7, np.array([0.5, 1.0, 2.0, 3.0]), np.array([1e-2, 10.0, 1.0, 5.0])
V = np.array([1.0, -2.0, 0.5, 3.0])
LOSSES = ("squares", "logistic", "hinge")


def rows(m: int, n: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(60)
    return rng.standard_normal((m, n)), rng.standard_normal(m)


def loss_of(name: str, m: int) -> SmoothLoss:
    A, b = rows(m)
    if name == "squares":
        return LeastSquaresLoss(A, b)
    y = np.where(b > 0.0, 1.0, -1.0)
    return LogisticLoss(A, y) if name == "logistic" else SquaredHingeLoss(A, y, 0.25)


def test_values_are_those_of_the_formulas() -> None:
    A, b = rows(9)
    y = np.where(b > 0.0, 1.0, -1.0)
    squares = LeastSquaresLoss(A, b)
    assert squares.value(V) == pytest.approx(np.sum((A @ V - b) ** 2) / 2)
    assert LogisticLoss(A, y).value(V) == pytest.approx(np.log1p(np.exp(-y * (A @ V))).sum())
    xi = np.maximum(1.0 - y * (A @ V), 0.0)
    assert SquaredHingeLoss(A, y, 3.0).value(V) == pytest.approx(3.0 * xi @ xi)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("m", [2, 9])
def test_derivatives(name: str, m: int) -> None:
    """Difference quotients; their error is about the root of the machine epsilon times the curvature."""
    loss = loss_of(name, m)
    assert_allclose(loss.gradient(V), approx_fprime(V, loss.value), rtol=1e-5, atol=1e-5)
    H = loss.hessian(V, np.arange(4))
    assert_allclose(H, approx_fprime(V, loss.gradient), rtol=1e-5, atol=1e-5)
    some = np.array([3, 1])
    assert_allclose(loss.hessian(V, some), H[np.ix_(some, some)], atol=1e-14)
    assert (H.diagonal() <= loss.curvature * (1 + 1e-12)).all()


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("m", [2, 4, 30])
def test_the_proximal_step_is_stationary(name: str, m: int) -> None:
    """For fewer rows than columns and for more; from far away Newton's method has to halve its steps."""
    loss = loss_of(name, m)
    for w in (*WEIGHTS, WEIGHTS[1]):
        for v in (V, 1e3 * V, 0.1 * V, -1e3 * V):
            x = loss.prox(v, w)
            size = np.abs(loss.A).sum() * np.abs(loss.A @ x).max() + np.abs(w * (x - v)).max()
            assert_allclose(loss.gradient(x) + w * (x - v), 0.0, atol=1e-10 * size)


def test_the_lower_bounds_are_below_and_meet_the_minimum() -> None:
    A, b = rows(12)
    loss = LeastSquaresLoss(A, b)
    for penalty in (L1Penalty(1.5), RidgePenalty(2.0)):  # their conjugates
        z = consensus([loss], penalty).z
        best = penalty.value(z) + loss.value(z)
        for scale in (-1.0, 0.0, 0.5, 0.99, 1.0, 1.01, 3.0):
            v = scale * z
            g = loss.gradient(v)
            t, conjugate = penalty.dual(-g)
            bound = t * (loss.value(v) - v @ g) - conjugate
            assert bound == pytest.approx(best, rel=1e-7) if scale == 1.0 else bound < best


A, B = rows(6, 3)
test_what_is_wrong_is_named = refusals(
    (lambda: LeastSquaresLoss(1e200 * A, B), "A has numbers of the size"),
    (lambda: LeastSquaresLoss(A, 1e-200 * B), "b has numbers of the size"),
    (lambda: SquaredHingeLoss(A, np.ones(6), 0.0), "K must"),
    (lambda: RidgePenalty(0.0), "K must"),
    (lambda: L1Penalty(0.0), "tau must"),
)
