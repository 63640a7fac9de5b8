"""Krasnosel'skii-Mann, proximal point, proximal gradient, acceleration."""

from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import lsq_linear, nnls
from sklearn.linear_model import Lasso

from companion.admm import (
    accelerated_proximal_gradient,
    block_soft_threshold,
    krasnoselskii_mann,
    project_box,
    project_orthant,
    project_psd,
    project_simplex,
    prox_indicator,
    prox_postcompose,
    proximal_gradient,
    proximal_point,
    soft_threshold,
)
from companion.exceptions import ConvergenceWarning

pytestmark = pytest.mark.filterwarnings("error")

METHODS = {
    "plain": proximal_gradient,
    "accelerated": accelerated_proximal_gradient,
    "restarted": partial(accelerated_proximal_gradient, restart=True),
}
methods = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
identity = lambda v, t: v  # noqa: E731  the proximal operator of 0


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
        self.prox = prox_postcompose(soft_threshold, tau)

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
    def test_rotation_spirals_into_its_fixed_point(self):
        run = krasnoselskii_mann(rotation, [1.0, 0.0])
        assert run.converged
        assert_allclose(run.x, 0, atol=1e-8)
        k = np.arange(run.n_iter)
        assert_allclose(run.history["residual"], np.sqrt(2) * 0.5 ** (k / 2), rtol=1e-8)

    def test_no_averaging_no_convergence(self):
        with pytest.warns(ConvergenceWarning, match="no convergence in 99 iterations"):
            run = krasnoselskii_mann(rotation, [1.0, 0.0], 1.0, max_iter=99)
        assert (run.converged, run.status, run.n_iter) == (False, "max_iter", 99)
        assert np.linalg.norm(run.x) == pytest.approx(1)

    @pytest.mark.parametrize(
        ("relaxation", "limit"), [(lambda n: 1 / (n + 2) ** 2, 0.533), (lambda n: 1 / (n + 2), 0)]
    )
    def test_the_relaxations_must_not_be_summable(self, relaxation, limit):
        """SP Theorem 2.2: sum lambda (1 - lambda) must diverge."""
        with pytest.warns(ConvergenceWarning):
            run = krasnoselskii_mann(rotation, [1.0, 0.0], relaxation, max_iter=3000)
        lam = relaxation(np.arange(3000.0))
        assert np.linalg.norm(run.x) == pytest.approx(
            np.sqrt(np.prod((1 - lam) ** 2 + lam**2)), rel=1e-9
        )
        assert np.linalg.norm(run.x) == pytest.approx(limit, abs=1e-3)

    @settings(max_examples=30, deadline=None)
    @given(seed=st.integers(0, 10_000), relaxation=st.floats(0.05, 0.95))
    def test_rate_and_fejer_monotonicity(self, seed, relaxation):
        rng = np.random.default_rng(seed)
        M, p = np.linalg.qr(rng.standard_normal((5, 5)))[0], rng.standard_normal(5)
        R = lambda x: p + M @ (x - p)  # noqa: E731  an isometry with fixed point p
        x0, points = rng.standard_normal(5), []
        run = krasnoselskii_mann(
            R, x0, relaxation, tol=0, max_iter=200,
            callback=lambda k, x: points.append(x) or k == 199,
        )  # fmt: skip
        residual, k = run.history["residual"], np.arange(1, run.n_iter + 1)
        assert (np.diff(residual) <= 1e-12).all()
        bound = np.linalg.norm(x0 - p) / np.sqrt(k * relaxation * (1 - relaxation))
        assert (residual <= bound + 1e-12).all()
        distance = np.linalg.norm(np.array([x0, *points]) - p, axis=1)
        assert (np.diff(distance) <= 1e-12).all()

    def test_distance_may_grow_to_points_that_are_not_fixed(self):
        """The notes claim monotonicity for every point; it holds for fixed points of R."""
        x0, p = np.array([1.0, 0.0]), np.array([1.0, -1.0])
        run = krasnoselskii_mann(rotation, x0, callback=lambda k, x: True)
        assert (run.n_iter, run.status, run.converged) == (1, "stopped by callback", False)
        assert np.linalg.norm(run.x - p) == pytest.approx(np.sqrt(2.5))
        assert np.linalg.norm(x0 - p) == 1

    def test_residual_is_small_o_of_one_over_sqrt_k(self):
        # Project onto a line, then onto a disc that touches it: slow, not linear.
        def R(x):
            y = np.array([x[0], 0.0]) - [0, 1]
            return np.array([0, 1]) + y / max(1, np.linalg.norm(y))

        with pytest.warns(ConvergenceWarning):
            run = krasnoselskii_mann(R, [2.0, 0.5], max_iter=4000)
        k = np.arange(1, 4001)
        scaled = np.sqrt(k) * run.history["residual"]
        assert scaled[-1] < 0.01 * scaled[0]
        assert run.history["residual"][-1] > 1e-6

    def test_expansive_map_diverges(self):
        with pytest.warns(ConvergenceWarning, match="grow without bound.*nonexpansive") as caught:
            run = krasnoselskii_mann(lambda x: x**3, [2.0])
        assert {w.category for w in caught} == {ConvergenceWarning}
        assert run.status == "diverged"
        assert np.isfinite(run.x).all()

    def test_bad_input(self):
        with pytest.raises(ValueError, match="relaxation must be a finite number >= 0 and <= 1"):
            krasnoselskii_mann(rotation, [1, 0], 1.5)
        with pytest.raises(ValueError, match=r"relaxation\(2\) must be"):
            krasnoselskii_mann(rotation, [1, 0], lambda n: 0.5 - 0.3 * n + 0.2 * (n == 1) * n)
        with pytest.raises(ValueError, match=r"R must return a real array of shape \(2,\)"):
            krasnoselskii_mann(lambda x: x[:1], [1, 0])
        with pytest.raises(ValueError, match="x0 must be finite"):
            krasnoselskii_mann(rotation, [1, np.nan])
        with pytest.raises(TypeError, match="x0 must be real"):
            krasnoselskii_mann(rotation, [1, 1j])


class TestProximalPoint:
    def test_finite_on_the_l1_norm(self):
        run = proximal_point(soft_threshold, [3.0, -1.5], objective=lambda x: np.abs(x).sum())
        assert_array_equal(run.x, 0)
        assert_array_equal(run.history["objective"], [2.5, 1, 0, 0])
        assert (run.n_iter, run.converged, run.objective) == (4, True, 0)

    @settings(max_examples=30, deadline=None)
    @given(seed=st.integers(0, 10_000), step=st.floats(0.01, 3))
    def test_rate(self, seed, step):
        rng = np.random.default_rng(seed)
        weights, x0 = rng.uniform(0, 2, 4), 3 * rng.standard_normal(4)
        prox = lambda v, t: soft_threshold(v, t * weights)  # noqa: E731
        g = lambda x: weights @ np.abs(x)  # noqa: E731
        stop = lambda k, x: k == 60  # noqa: E731
        run = proximal_point(prox, x0, step=step, objective=g, tol=0, callback=stop)
        k = np.arange(1, run.n_iter + 1)
        assert (run.history["objective"] <= x0 @ x0 / (4 * step * k) + 1e-12).all()

    @pytest.mark.parametrize("k", [1, 5, 40])
    def test_rate_is_attained(self, k):
        R, t = 2.0, 0.7
        c = R / (2 * k * t)
        prox = prox_postcompose(soft_threshold, c)
        run = proximal_point(prox, [R], step=t, callback=lambda j, x: j == k)
        assert c * abs(run.x[0]) == pytest.approx(R**2 / (4 * k * t))

    def test_growing_steps(self):
        run = proximal_point(soft_threshold, [100.0], step=lambda k: 2.0**k)
        assert_array_equal(run.history["step"], 2.0 ** np.arange(run.n_iter))
        assert run.x[0] == 0
        assert run.n_iter == 8

    def test_without_a_minimiser(self):
        with pytest.warns(ConvergenceWarning, match="g may have no minimiser"):
            run = proximal_point(lambda v, t: v - t, [0.0], max_iter=50)  # g(x) = x
        assert run.x[0] == -50

    def test_residual_is_a_subgradient(self):
        run = proximal_point(block_soft_threshold, [3.0, 4.0], step=0.5)
        assert_allclose(run.history["residual"][:-1], 1)  # the l2-norm has gradients of length 1


class TestAgainstOtherSolvers:
    @methods
    @pytest.mark.parametrize("search", [False, True], ids=["fixed step", "line search"])
    @pytest.mark.parametrize("rank", [None, 4])
    def test_lasso(self, method, search, rank):
        problem = LeastSquares(rank=rank)
        how = {"smooth": problem.f} if search else {"step": 1 / problem.L}
        run = method(problem.gradient, problem.prox, problem.x0, objective=problem.F, **how)
        assert run.converged
        expected = problem.solution()
        assert run.objective == pytest.approx(problem.F(expected), rel=1e-9)
        assert_allclose(run.x, expected, atol=1e-5)
        assert_array_equal(run.x == 0, expected == 0)

    def test_text_pin(self):
        A, b = np.diag([2.0, 1.0]), np.array([3.0, 1.0])
        run = proximal_gradient(lambda x: A.T @ (A @ x - b), soft_threshold, [9, 9], step=0.25)
        assert_allclose(run.x, [5 / 4, 0], atol=1e-8)

    @methods
    def test_nonnegative_least_squares(self, method):
        problem = LeastSquares(3)
        prox = prox_indicator(project_orthant)
        run = method(problem.gradient, prox, np.zeros(12), smooth=problem.f)
        assert_allclose(run.x, nnls(problem.A, problem.b)[0], atol=1e-6)

    @methods
    def test_box_with_more_unknowns_than_equations(self, method):
        problem = LeastSquares(4, m=5, n=9)
        prox = prox_indicator(project_box, lower=-0.1, upper=0.2)
        run = method(problem.gradient, prox, np.zeros(9), smooth=problem.f, objective=problem.f)
        reference = lsq_linear(problem.A, problem.b, (-0.1, 0.2), tol=1e-14)
        assert run.objective == pytest.approx(reference.cost, abs=1e-8)

    @methods
    def test_least_squares_on_the_simplex(self, method):
        problem = LeastSquares(5)
        prox = prox_indicator(project_simplex)
        run = method(problem.gradient, prox, np.full(12, 1 / 12), smooth=problem.f)
        x = cp.Variable(12, nonneg=True)
        goal = cp.Minimize(0.5 * cp.sum_squares(problem.A @ x - problem.b))
        cp.Problem(goal, [cp.sum(x) == 1]).solve(solver=cp.CLARABEL)
        assert_allclose(run.x, x.value, atol=1e-5)

    @methods
    def test_sparse_logistic_regression(self, method):
        rng = np.random.default_rng(6)
        X, tau = rng.standard_normal((40, 6)), 2.0
        y = np.sign(X[:, 0] - 0.5 * X[:, 1] + 0.5 * rng.standard_normal(40))
        f = lambda w: np.logaddexp(0, -y * (X @ w)).sum()  # noqa: E731
        gradient = lambda w: -X.T @ (y / (1 + np.exp(y * (X @ w))))  # noqa: E731
        prox = prox_postcompose(soft_threshold, tau)
        run = method(gradient, prox, np.zeros(6), smooth=f)
        w = cp.Variable(6)
        goal = cp.sum(cp.logistic(-cp.multiply(y, X @ w))) + tau * cp.norm1(w)
        cp.Problem(cp.Minimize(goal)).solve(solver=cp.CLARABEL)
        assert run.converged
        assert f(run.x) + tau * np.abs(run.x).sum() <= goal.value + 1e-6
        assert_allclose(run.x, w.value, atol=1e-4)

    @methods
    def test_matrices(self, method):
        """Nearest positive semidefinite matrix in a weighted norm."""
        rng = np.random.default_rng(7)
        G, W = rng.standard_normal((4, 4)), rng.uniform(0.5, 2, (4, 4))
        G, W = G + G.T, W + W.T
        run = method(lambda X: W * (X - G), prox_indicator(project_psd), G, step=1 / W.max())
        X = cp.Variable((4, 4), PSD=True)
        goal = cp.Minimize(0.5 * cp.sum(cp.multiply(W, cp.square(X - G))))
        cp.Problem(goal).solve(solver=cp.CLARABEL)
        assert run.x.shape == (4, 4)
        assert_allclose(run.x, X.value, atol=1e-4)


class TestRates:
    @settings(max_examples=20, deadline=None)
    @given(seed=st.integers(0, 10_000), fraction=st.floats(0.1, 1), tau=st.floats(0.01, 3))
    def test_proximal_gradient(self, seed, fraction, tau):
        problem = LeastSquares(seed, m=15, n=6, tau=tau)
        t, stop = fraction / problem.L, lambda k, x: k == 150
        run = proximal_gradient(
            problem.gradient, problem.prox, problem.x0,
            step=t, objective=problem.F, tol=0, callback=stop,
        )  # fmt: skip
        x_star = self.optimum(problem)
        k = np.arange(1, run.n_iter + 1)
        gap = run.history["objective"] - problem.F(x_star)
        assert (gap <= np.sum((problem.x0 - x_star) ** 2) / (2 * t * k) + 1e-10).all()
        assert (np.diff(gap) <= 1e-11).all()

    @settings(max_examples=20, deadline=None)
    @given(seed=st.integers(0, 10_000), fraction=st.floats(0.1, 1), tau=st.floats(0.01, 3))
    def test_accelerated(self, seed, fraction, tau):
        problem = LeastSquares(seed, m=15, n=6, tau=tau)
        t, stop = fraction / problem.L, lambda k, x: k == 150
        run = accelerated_proximal_gradient(
            problem.gradient, problem.prox, problem.x0,
            step=t, objective=problem.F, tol=0, callback=stop,
        )  # fmt: skip
        x_star = self.optimum(problem)
        k = np.arange(1, run.n_iter + 1)
        gap = run.history["objective"] - problem.F(x_star)
        bound = 2 * np.sum((problem.x0 - x_star) ** 2) / (t * (k + 1) ** 2)
        assert (gap <= bound + 1e-10).all()

    @staticmethod
    def optimum(problem):
        # compared with another solver in TestAgainstOtherSolvers; here to a gap below 1e-12
        return accelerated_proximal_gradient(
            problem.gradient, problem.prox, problem.x0,
            step=1 / problem.L, restart=True, tol=1e-10,
        ).x  # fmt: skip

    def test_orders_on_a_hard_quadratic(self):
        """Eigenvalues from 1e-8 to 1, evenly in the logarithm: the gap falls like 1/k and 1/k^2."""
        w, k = np.geomspace(1e-8, 1, 200), np.arange(1, 3001)
        order = {"plain": 1, "accelerated": 2}
        bound = {"plain": 1 / (2 * k), "accelerated": 2 / (k + 1.0) ** 2}
        for name in order:
            run = METHODS[name](
                lambda x: w * x, identity, np.ones(200), step=1.0, tol=0,
                objective=lambda x: 0.5 * w @ x**2, callback=lambda k, x: k == 3000,
            )  # fmt: skip
            gap = run.history["objective"]
            assert (gap <= 200 * bound[name]).all()
            slope = np.polyfit(np.log(k[100:]), np.log(gap[100:]), 1)[0]
            assert slope == pytest.approx(-order[name], abs=0.15)

    def test_objective_of_the_accelerated_method_is_not_monotone(self):
        w = np.array([1.0, 0.01])
        run = accelerated_proximal_gradient(
            lambda x: w * x, identity, [1.0, 1.0], step=1.0, objective=lambda x: 0.5 * w @ x**2
        )
        assert np.diff(run.history["objective"]).max() > 0

    def test_restart_saves_iterations_when_strongly_convex(self):
        w = np.geomspace(1e-3, 1, 20)
        runs = {
            name: method(lambda x: w * x, identity, np.ones(20), step=1.0, max_iter=50_000)
            for name, method in METHODS.items()
        }
        assert all(run.converged for run in runs.values())
        assert runs["restarted"].n_iter < runs["accelerated"].n_iter / 2
        assert runs["restarted"].n_iter < runs["plain"].n_iter / 5


class TestStoppingRule:
    """Each run ends at the first iterate that meets its rule, in which a large scale counts."""

    @pytest.mark.parametrize("method", [proximal_gradient, accelerated_proximal_gradient])
    def test_of_the_gradient_methods(self, method):
        problem, scales = LeastSquares(tau=20.0), []
        problem.b = 100 * problem.b

        def gradient(x):
            scales.append(np.linalg.norm(problem.gradient(x)))
            return problem.gradient(x)

        run = method(gradient, problem.prox, problem.x0, step=1 / problem.L, tol=1e-6)
        met = run.history["residual"] <= 1e-6 * np.array(scales)
        assert min(scales) > 10
        assert run.x.any()
        assert np.flatnonzero(met).tolist() == [run.n_iter - 1]

    def test_of_averaged_maps(self):
        p, path = np.array([300.0, -400.0]), [np.array([301.0, -400.0])]
        run = krasnoselskii_mann(
            lambda x: p + rotation(x - p), path[0], callback=lambda k, x: path.append(x), tol=1e-5
        )
        met = run.history["residual"] <= 1e-5 * np.linalg.norm(path[:-1], axis=1)
        assert np.flatnonzero(met).tolist() == [run.n_iter - 1]

    def test_of_proximal_minimisation(self):
        run = proximal_point(lambda v, t: v / (1 + 0.3 * t), [500.0, 3.0], tol=1e-3)
        met = run.history["residual"] <= 1e-3
        assert np.flatnonzero(met).tolist() == [run.n_iter - 1]


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
        assert self.run(accelerated_proximal_gradient, 1.33).converged
        with pytest.warns(ConvergenceWarning, match="grow without bound"):
            run = self.run(accelerated_proximal_gradient, 1.34, max_iter=100_000)
        assert run.status == "diverged"

    def test_hypotheses_missing_in_the_notes(self):
        """SP Theorem 2.4 asks neither for convexity nor for a minimiser."""
        with pytest.warns(ConvergenceWarning, match="no convergence"):
            concave = proximal_gradient(
                lambda x: -x, identity, [1.0], step=0.5, max_iter=100, divergence=1e20
            )
        assert concave.x[0] == pytest.approx(1.5**100)
        with pytest.warns(ConvergenceWarning, match="no convergence"):
            linear = proximal_gradient(np.ones_like, identity, [1.0], step=0.5, max_iter=100)
        assert linear.x[0] == -49

    def test_overflow_is_divergence_not_a_warning(self):
        with pytest.warns(ConvergenceWarning) as caught:
            run = proximal_gradient(lambda x: -np.exp(x), soft_threshold, [5.0], step=10.0)
        assert {w.category for w in caught} == {ConvergenceWarning}
        assert run.status == "diverged"
        assert np.isfinite(run.x).all()


class TestLineSearch:
    @pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
    @methods
    def test_needs_no_constant(self, method, scale):
        problem = LeastSquares(8)
        run = method(
            lambda x: scale * problem.gradient(x),
            prox_postcompose(problem.prox, scale),
            problem.x0,
            smooth=lambda x: scale * problem.f(x),
            tol=1e-8 * min(1, scale),
        )
        steps = run.history["step"] * scale * problem.L
        assert (np.diff(steps) <= 0).all()
        assert steps.min() >= 0.5 - 1e-6
        assert_allclose(run.x, problem.solution(), atol=1e-5)

    def test_step_is_where_the_search_starts(self):
        problem = LeastSquares(8)
        run = proximal_gradient(
            problem.gradient, problem.prox, problem.x0, step=100.0, smooth=problem.f
        )
        halvings = np.log2(100 / run.history["step"])
        assert_allclose(halvings, np.round(halvings))
        assert halvings[0] >= 1

    def test_stays_in_the_domain(self):
        f = lambda x: np.inf if x[0] <= 0 else x[0] - np.log(x[0])  # noqa: E731
        run = proximal_gradient(lambda x: 1 - 1 / x, identity, [5.0], step=1e3, smooth=f)
        assert_allclose(run.x, 1, atol=1e-7)

    def test_starts_at_the_solution(self):
        run = proximal_gradient(lambda x: x, identity, [0.0, 0.0], smooth=lambda x: x @ x / 2)
        assert (run.n_iter, run.converged) == (1, True)

    def test_wrong_gradient(self):
        with pytest.raises(ValueError, match="gradient does not belong to smooth"):
            proximal_gradient(lambda x: -x, identity, [1.0], smooth=lambda x: x @ x / 2)


class TestInterface:
    @methods
    def test_bad_input(self, method):
        with pytest.raises(ValueError, match=r"give a step .* or the function smooth"):
            method(lambda x: x, identity, [1.0])
        with pytest.raises(ValueError, match="step must be a finite number > 0, got -1"):
            method(lambda x: x, identity, [1.0], step=-1)
        with pytest.raises(ValueError, match=r"gradient must return a real array of shape \(2,\)"):
            method(lambda x: x[:1], identity, [1.0, 2.0], step=1)
        with pytest.raises(ValueError, match=r"prox must return a real array of shape \(2,\)"):
            method(lambda x: x, lambda v, t: v[:1], [1.0, 2.0], step=1)
        with pytest.raises(ValueError, match="x0 must be finite"):
            method(lambda x: x, identity, [np.nan], step=1)
        with pytest.raises(ValueError, match="tol must be"):
            method(lambda x: x, identity, [1.0], step=1, tol=-1)

    def test_projection_in_place_of_a_proximal_operator(self):
        with pytest.raises(TypeError, match="positional argument"):
            proximal_gradient(lambda x: x, project_simplex, [1.0, 2.0], step=1)

    def test_momentum_zero_is_the_plain_method(self):
        problem = LeastSquares(9)
        arguments = (problem.gradient, problem.prox, problem.x0)
        plain = proximal_gradient(*arguments, step=1 / problem.L)
        without = accelerated_proximal_gradient(*arguments, step=1 / problem.L, momentum=0.0)
        assert_array_equal(plain.history["residual"], without.history["residual"])

    def test_momentum_of_the_notes(self):
        points = [np.array([1.0])]
        accelerated_proximal_gradient(
            lambda x: x, identity, [1.0], step=0.5,
            callback=lambda k, x: points.append(x) or k == 6,
        )  # fmt: skip
        x = np.concatenate(points)
        for k in range(6):
            y = x[k] + k / (k + 3) * (x[k] - x[max(k - 1, 0)])
            assert x[k + 1] == pytest.approx(0.5 * y)

    def test_variable_steps(self):
        problem = LeastSquares(9)
        run = proximal_gradient(
            problem.gradient, problem.prox, problem.x0, step=lambda k: (0.5 + k % 2) / problem.L
        )
        assert_allclose(run.history["step"][:3] * problem.L, [0.5, 1.5, 0.5])
        assert_allclose(run.x, problem.solution(), atol=1e-5)

    def test_x0_is_not_modified(self):
        x0 = np.array([3.0, 4.0])
        run = proximal_gradient(lambda x: x, identity, x0, step=0.5)
        assert_array_equal(x0, [3, 4])
        assert run.x.dtype == np.float64
        assert np.isnan(run.objective)
        assert "converged" in repr(run)

    def test_warning_points_at_the_caller(self):
        with pytest.warns(ConvergenceWarning) as caught:
            proximal_gradient(lambda x: x, identity, [1.0], step=0.1, max_iter=3)
        assert caught[0].filename == __file__


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("momentum", [None, 0.875])
def test_the_accelerated_iteration_is_the_one_that_is_stated(momentum, restart: bool) -> None:
    """Momentum k / (k + 3), counted from the last restart: where it points against the step."""
    Q, tau, t = np.diag([1.0, 0.1, 0.01]), 0.05, 1.0
    h = np.array([3.0, -2.0, 0.5])
    with pytest.warns(
        ConvergenceWarning, match="restart=True, or smooth= for a line search may help$"
    ):
        run = accelerated_proximal_gradient(
            lambda x: Q @ x - h, lambda v, s: soft_threshold(v, s * tau), np.zeros(3), step=t,
            momentum=momentum, restart=restart, max_iter=60, tol=1e-30,
        )  # fmt: skip
    x = last = np.zeros(3)
    age, restarts = 0, 0
    for _ in range(60):
        y = x + (age / (age + 3) if momentum is None else momentum) * (x - last)
        after = soft_threshold(y - t * (Q @ y - h), t * tau)
        age += 1
        if restart and (y - after) @ (after - x) > 0.0:
            age, restarts = 0, restarts + 1
        x, last = after, x
    assert (restarts > 0) == restart
    np.testing.assert_allclose(run.x, x, rtol=1e-12)


@pytest.mark.parametrize("start", [1.0, 10.0])
def test_a_fixed_point_iteration_gives_up_beyond_its_bound(start: float) -> None:
    """x doubles: beyond 100 max(1, |x^0|) it is given up."""
    with pytest.warns(ConvergenceWarning, match="after 6 iterations"):
        run = proximal_point(lambda v, t: 2.0 * v, [start], step=1.0, divergence=100.0)
    assert (run.status, run.x.tolist()) == ("diverged", [64.0 * start])


def test_the_last_residual_of_a_fixed_point_iteration_is_told() -> None:
    with pytest.warns(ConvergenceWarning, match=r"the residual is 5\.00e-01"):
        krasnoselskii_mann(lambda x: x / 2, [8.0], 1.0, max_iter=4)
