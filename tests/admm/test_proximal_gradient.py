"""Krasnosel'skii-Mann, proximal gradient, acceleration."""

import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Lasso

from companion import admm
from companion.admm import krasnoselskii_mann, proximal_gradient, soft_threshold
from companion.exceptions import ConvergenceWarning
from tests.refusals import refusals

pytestmark = pytest.mark.filterwarnings("error")

METHODS = {
    "plain": proximal_gradient,
    "accelerated": admm.accelerated_proximal_gradient,
    "restarted": partial(admm.accelerated_proximal_gradient, restart=True),
}
methods = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
few = settings(max_examples=25)
seeds = st.integers(0, 10_000)


def identity(v, t):
    """The proximal operator of 0."""
    return v


def rotation(x):
    return np.array([-x[1], x[0]])


class LeastSquares:
    """f(x) = 1/2 |A x - b|^2 and the lasso with weight tau."""

    def __init__(self, seed=0, m=30, n=12, tau=0.8, rank=None):
        rng = np.random.default_rng(seed)
        self.A = rng.standard_normal((m, n)) * np.geomspace(1, 0.2, n)
        if rank is not None:
            self.A = rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n)) / 3
        self.b, self.tau, self.x0 = rng.standard_normal(m), tau, rng.standard_normal(n)
        self.L = np.linalg.norm(self.A, 2) ** 2
        self.prox = admm.prox_postcompose(soft_threshold, tau)

    def f(self, x):
        return 0.5 * np.sum((self.A @ x - self.b) ** 2)

    def gradient(self, x):
        return self.A.T @ (self.A @ x - self.b)

    def F(self, x):
        return self.f(x) + self.tau * np.abs(x).sum()

    def solution(self):
        m = len(self.b)
        lasso = Lasso(alpha=self.tau / m, fit_intercept=False, tol=1e-14, max_iter=100_000)
        return lasso.fit(self.A, self.b).coef_


class TestKrasnoselskiiMann:
    @few
    @given(seed=seeds, relaxation=st.floats(0.05, 0.95))
    def test_rate_and_fejer_monotonicity(self, seed, relaxation):
        rng = np.random.default_rng(seed)
        M, p = np.linalg.qr(rng.standard_normal((5, 5)))[0], rng.standard_normal(5)
        x0, points = rng.standard_normal(5), []
        R = lambda x: points.append(x) or p + M @ (x - p)  # noqa: E731  an isometry with fixed point p
        with warnings.catch_warnings(action="ignore"):
            run = krasnoselskii_mann(R, x0, relaxation, tol=0, max_iter=200)
        residual, k = run.history["residual"], np.arange(1, run.n_iter + 1)
        assert (np.diff(residual) <= 1e-12).all()
        bound = np.linalg.norm(x0 - p) / np.sqrt(k * relaxation * (1 - relaxation))
        assert (residual <= bound + 1e-12).all()
        distance = np.linalg.norm(np.array(points) - p, axis=1)
        assert (np.diff(distance) <= 1e-12).all()


class TestAgainstOtherSolvers:
    @methods
    @pytest.mark.parametrize("search", [False, True], ids=["fixed step", "line search"])
    @pytest.mark.parametrize("rank", [None, 4])
    def test_lasso(self, method, search, rank):
        problem = LeastSquares(rank=rank)
        how = {"smooth": problem.f, "step": 10.0} if search else {"step": 1 / problem.L}
        run = method(problem.gradient, problem.prox, problem.x0, objective=problem.F, **how)
        assert run.converged
        expected = problem.solution()
        assert run.objective == pytest.approx(problem.F(expected), rel=1e-9)
        assert_allclose(run.x, expected, atol=1e-5)
        assert_array_equal(run.x == 0, expected == 0)


class TestRangeOfTheStep:
    """f(x) = L x^2 / 2, g = 0."""

    L = 4.0

    def run(self, method, factor, **options):
        return method(lambda x: self.L * x, identity, [1.0], step=factor / self.L, **options)

    @pytest.mark.parametrize("factor", [0.5, 1.0, 1.5, 1.9])
    def test_proximal_gradient_converges_below_2_over_L(self, factor):
        run = self.run(proximal_gradient, factor)
        assert run.converged
        assert_allclose(run.x, 0, atol=1e-8)

    def test_2_over_L_and_above(self):
        with pytest.warns(ConvergenceWarning, match="no convergence"):
            assert abs(self.run(proximal_gradient, 2.0, max_iter=200).x[0]) == 1
        with pytest.warns(ConvergenceWarning, match="grow without bound.*2/L"):
            assert self.run(proximal_gradient, 2.1).status == "diverged"

    def test_acceleration_needs_less_than_4_thirds(self):
        assert self.run(admm.accelerated_proximal_gradient, 1.33).converged
        with pytest.warns(ConvergenceWarning, match="grow without bound"):
            run = self.run(admm.accelerated_proximal_gradient, 1.34, max_iter=100_000)
        assert run.status == "diverged"


class TestLineSearch:
    @pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
    @methods
    def test_needs_no_constant(self, method, scale):
        problem = LeastSquares(8)
        gradient, smooth = (lambda x, f=f: scale * f(x) for f in (problem.gradient, problem.f))
        options = {"step": 100 / (scale * problem.L), "tol": 1e-8 * min(1, scale)}
        prox = admm.prox_postcompose(problem.prox, scale)
        run = method(gradient, prox, problem.x0, smooth=smooth, **options)
        steps = run.history["step"] * scale * problem.L
        assert (np.diff(steps) <= 0).all()
        assert steps.min() >= 0.5 - 1e-6
        assert_allclose(run.x, problem.solution(), atol=1e-5)


def forward(gradient=lambda x: x, prox=identity, **options):
    return lambda: proximal_gradient(gradient, prox, [1.0, 2.0], step=1.0, **options)


test_bad_input = refusals(
    (forward(np.negative, smooth=lambda x: x @ x / 2), "gradient does not belong to smooth"),
    (lambda: krasnoselskii_mann(rotation, [1, 0], 1.5), "relaxation must be .* >= 0 and <= 1"),
    (lambda: krasnoselskii_mann(rotation, [1, 0], lambda n: 0.5 - n), r"relaxation\(1\) must"),
    (lambda: krasnoselskii_mann(lambda x: x[:1], [1, 0]), r"R must return .* shape \(2,\)"),
    (forward(lambda x: x[:1]), r"gradient must return .* shape \(2,\)"),
    (forward(prox=lambda v, t: v[:1]), r"prox must return .* shape \(2,\)"),
)


@pytest.mark.parametrize("restart", [False, True])
def test_the_accelerated_iteration_is_the_one_that_is_stated(restart: bool) -> None:
    """Momentum k / (k + 3), counted from the last restart: where it points against the step."""
    Q, h, tau, t = np.diag([1.0, 0.1, 0.01]), np.array([3.0, -2.0, 0.5]), 0.05, 1.0
    prox, options = admm.prox_postcompose(soft_threshold, tau), {"max_iter": 60, "tol": 1e-30}
    hint = "restart=True, or smooth= for a line search may help$"
    with pytest.warns(ConvergenceWarning, match=hint):
        run = admm.accelerated_proximal_gradient(
            lambda x: Q @ x - h, prox, np.zeros(3), step=t, restart=restart, **options
        )
    x = last = np.zeros(3)
    age, restarts = 0, 0
    for _ in range(60):
        y = x + age / (age + 3) * (x - last)
        after = soft_threshold(y - t * (Q @ y - h), t * tau)
        age += 1
        if restart and (y - after) @ (after - x) > 0.0:
            age, restarts = 0, restarts + 1
        x, last = after, x
    assert (restarts > 0) == restart
    np.testing.assert_allclose(run.x, x, rtol=1e-12)
