"""Lasso and elastic net: printed numbers, certificates, peers, degenerate and large data."""

import tracemalloc

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import linear_model

from companion import regression
from companion.admm import qsolve1
from companion.datasets import example_19_1, example_19_3, sparse_regression, text_x20
from companion.exceptions import ConvergenceWarning
from companion.regression import ElasticNet, Lasso, lasso_admm, lasso_path, tau_max
from tests.exact import verify
from tests.refusals import refusals

pytestmark = pytest.mark.filterwarnings("error")

INTERCEPTS = ("none", "free", "penalized")
RIDGE = regression.RidgeRegression(0.7)
LEFT = """
0.0254 1.9193 0.0766 -3.0014 0.0512 -3.8815 0.9591 -0.0086 1.9576 -0.0077 1.9881 2.9223 -0.0046 -4.9989 5.8640
-0.0207 0.8285 1.9310 0.0046 9.9232 -0.0216 0.0453 2.9384 4.0525 4.8723 0.0767 0.0132 -5.9750 -7.9764 -0.0054
"""
RIGHT = """
0.2007 2.0055 0.0262 -2.8008 0.0089 -3.7670 0.8552 -0.3243 1.9080 -0.1041 2.0566 2.8346 -0.0832 -4.8332 5.4598
-0.2141 0.8585 1.8559 0.0413 9.4836 0.0303 -0.0193 3.0004 3.9753 4.6530 0.1192 -0.0203 -5.7537 -7.7594 0.0528
"""


def random_data(seed, m=30, n=8):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) + rng.standard_normal(n)
    w = np.where(rng.random(n) < 0.4, rng.standard_normal(n) * 3, 0.0)
    return X, X @ w + rng.standard_normal(m) + 2


def numbers(model):
    return np.append(model.w_, model.b_)


def test_numbers():
    data = example_19_1()
    for model, expected in (
        (Lasso(tau=1), [1.1154922752, 1.0799227516, -1.1718689420]),
        (Lasso(tau=10), [0.6103227986, 0.5282279857, -0.6259898373]),
        (ElasticNet(K=5, tau=10), [0.4867935552, 0.3942900160, -0.4933529584]),
    ):
        assert_allclose(numbers(model.fit(data.X, data.y)), expected, rtol=0, atol=6e-11)
        assert model.tau_max_ == pytest.approx(54.1875, rel=1e-15)


class TestExample193:
    data = example_19_3()

    def test_the_weights_printed_for_002_are_those_of_02(self):
        """Six numbers and the intercept to all printed digits, from an ADMM run that has not settled."""
        printed = np.array([0.00003, 2.01056, -0.00004, -2.99821, 0.00000])
        model = Lasso(tau=0.2).fit(self.data.X, self.data.y)
        assert_allclose(model.w_, printed, rtol=0, atol=5e-5)
        exact = [0.0, 2.0105558877, 0.0, -2.9982047560, 0.0, 0.0013559316]
        assert_allclose(numbers(model), exact, rtol=0, atol=6e-11)
        assert np.trunc(model.b_ * 1e5) / 1e5 == 0.00135
        run = lasso_admm(self.data.X, self.data.y, 0.2, rho=10.0, keep_iterates=True, tol=1e-9)
        iterate = run.history["x"][51]  # step 52
        assert np.abs(iterate - printed).max() < 1e-5
        b = self.data.y.mean() - self.data.X.mean(axis=0) @ iterate
        assert np.trunc(b * 1e5) / 1e5 == 0.00135

    def test_the_true_weights_for_002(self):
        model = Lasso(tau=0.02).fit(self.data.X, self.data.y)
        expected = [0.0006985929, 2.0127686801, -0.0017425364, -3.0007482531, 0.0015623162]
        assert_allclose(numbers(model), [*expected, 0.0011486917], rtol=0, atol=6e-11)

    def test_235_is_where_all_weights_vanish(self):
        X, y = self.data.X, self.data.y
        assert tau_max(X, y) == pytest.approx(234.61117888, abs=6e-9)
        assert tau_max(X, y, intercept="none") == pytest.approx(234.942, abs=6e-4)
        assert not Lasso(tau=235).fit(X, y).w_.any()
        assert not Lasso(tau=tau_max(X, y)).fit(X, y).w_.any()
        below = Lasso(tau=234).fit(X, y)
        assert_array_equal(below.support_, [3])
        assert below.w_[3] == pytest.approx(-0.00844, abs=6e-6)

    def test_knots(self):
        """Each weight becomes nonzero at its knot, and not before."""
        knots = {3: 234.61117888, 1: 185.99370166, 2: 0.17326418, 4: 0.15235975, 0: 0.08207154}
        for j, tau in knots.items():
            path = lasso_path(self.data.X, self.data.y, [tau * (1 + 1e-6), tau * (1 - 1e-6)])
            assert path.w[0, j] == 0.0
            assert path.w[1, j] != 0.0

    def test_converged_means_certified(self):
        """tol is absolute and the certificate relative: with rho = 1 the rule is met too early."""
        runs = [
            lasso_admm(self.data.X, self.data.y, 0.2, rho=rho, tol=1e-10) for rho in (1.0, 100.0)
        ]
        assert (
            [run.converged for run in runs] == [run.certificate.ok for run in runs] == [False, True]
        )
        assert [run.status for run in runs] == ["not certified", "converged"]

    def test_steps_of_admm(self):
        for rho, steps in ((1.0, 317), (10.0, 45), (100.0, 27)):
            assert lasso_admm(self.data.X, self.data.y, 0.2, rho=rho, tol=1e-4).n_iter == steps


class TestElasticNetExample:
    data = text_x20()
    printed_left, printed_right = (np.array(each.split(), dtype=float) for each in (LEFT, RIGHT))

    def test_right_column(self):
        model = ElasticNet(K=0.99, tau=0.01).fit(self.data.X, self.data.y)
        assert_allclose(model.w_, self.printed_right, rtol=0, atol=7e-5)
        assert model.b_ == pytest.approx(5.208766483981, abs=1e-11)
        assert model.w_[0] == pytest.approx(0.20072875, abs=6e-9)

    def test_left_column_is_not_the_elastic_net(self):
        model = ElasticNet(K=0.01, tau=0.99).fit(self.data.X, self.data.y)
        zeros = np.flatnonzero(model.w_ == 0.0)
        assert_array_equal(zeros, [0, 7, 9, 12, 15, 18, 20, 26, 29])
        assert model.b_ == pytest.approx(5.105111108351, abs=1e-11)
        assert model.w_[1] == pytest.approx(1.92914707, abs=6e-9)
        assert np.abs(model.w_ - self.printed_left).max() == pytest.approx(0.0415, abs=1e-4)

    def test_left_column_has_the_huber_function(self):
        """X'r - K w = clip(w, -tau, tau) holds for the printed weights to their last digit."""
        K, tau = 0.01, 0.99
        X, y = self.data.X - self.data.X.mean(axis=0), self.data.y - self.data.y.mean()
        w = self.printed_left.copy()
        for _ in range(50):  # Newton's method on that equation, from the printed weights
            inside = np.abs(w) < tau
            H = X.T @ X + K * np.eye(30) + np.diag(inside.astype(float))
            g = X.T @ (y - X @ w) - K * w - np.clip(w, -tau, tau)
            w = w + np.linalg.solve(H, g)
        assert np.abs(g).max() < 1e-9
        assert_allclose(w, self.printed_left, rtol=0, atol=5e-5)
        b = self.data.y.mean() - self.data.X.mean(axis=0) @ w
        assert b == pytest.approx(5.13727, abs=6e-6)

    def test_lasso_takes_86_steps(self):
        starts = {86: {"z0": np.ones(30), "u0": np.r_[0.0, np.ones(29)]}, 73: {}}
        for steps, start in starts.items():
            run = lasso_admm(self.data.X, self.data.y, 1.0, rho=10.0, tol=1e-7, **start)
            assert run.n_iter == steps

    @pytest.mark.slow
    def test_140520_steps_belong_to_the_other_matrix(self):
        P, q, A, c = regression.elastic_net_qp(self.data.X, self.data.y, 1e-3, 0.999, huber=True)
        run = qsolve1(P, q, A, c, rho=10.0, tol_primal=1e-7, tol_dual=1e-7, max_iter=150_000)
        assert run.n_iter == 140520

    def test_dual_by_the_texts_routine_with_a_better_rho(self):
        """rho = 0.1 K/tau needs some 150 steps where rho = 10 needs millions."""
        K, tau = 1e-3, 0.999
        P, q, A, c = regression.elastic_net_qp(self.data.X, self.data.y, K, tau)
        assert (np.linalg.matrix_rank(A), np.linalg.matrix_rank(P)) == (31, 80)
        run = qsolve1(P, q, A, c, rho=0.1 * K / tau, tol_primal=1e-7, tol_dual=1e-7, max_iter=400)
        assert run.converged
        assert run.n_iter < 250
        w = -run.x[:30] + run.x[30:60] + self.data.X.T @ (run.x[60:110] - run.x[110:])
        model = ElasticNet(K=K, tau=tau).fit(self.data.X, self.data.y)
        assert_allclose(w, model.w_, atol=1e-5)


class TestAgainstPeers:
    @pytest.mark.parametrize("intercept", INTERCEPTS)
    @pytest.mark.parametrize("model", [Lasso(6.0, C=2.5), ElasticNet(1.3, 6.0, C=2.5), RIDGE])
    def test_clarabel(self, intercept, model):
        """The objective of ridge regression is twice that of the others, and its price of b is K."""
        X, y = random_data(0)
        model = model.set_params(intercept=intercept).fit(X, y)
        K, tau = getattr(model, "K", 0.0), getattr(model, "tau", 0.0)
        w, b, C = cp.Variable(8), cp.Variable(), getattr(model, "C", K)
        loss = 0.5 * cp.sum_squares(y - X @ w - b) + tau * cp.norm1(w)
        loss += 0.5 * K * cp.sum_squares(w) + 0.5 * C * cp.square(b) * (intercept == "penalized")
        constraints = [b == 0] if intercept == "none" else []
        value = cp.Problem(cp.Minimize(loss), constraints).solve(solver=cp.CLARABEL)
        assert model.objective_ == pytest.approx(value * (1 + (model is RIDGE)), rel=1e-7)
        assert_allclose(numbers(model), np.append(w.value, b.value), atol=1e-4)
        assert verify(model, X, y).worst < 1e-12
        assert model.certificate_.worst < 1e-12

    @pytest.mark.parametrize("shape", [(200, 30), (60, 600), (50, 50), (1, 600), (5, 1)])
    @pytest.mark.parametrize("fraction", [0.5, 0.1, 0.01])
    def test_scikit_learn(self, shape, fraction):
        X, y = random_data(1, *shape)
        m = len(y)
        for intercept in ("none", "free"):
            tau = fraction * tau_max(X, y, intercept=intercept)
            if tau == 0.0:
                continue
            model, options = Lasso(tau=tau, intercept=intercept).fit(X, y), {"tol": 1e-12}
            options |= {"alpha": tau / m, "fit_intercept": intercept == "free"}
            peer = linear_model.Lasso(max_iter=10**6, **options).fit(X, y)
            assert_allclose(model.w_, peer.coef_, atol=1e-5 * (1 + np.abs(peer.coef_).max()))
            objective = 0.5 * np.sum((y - peer.predict(X)) ** 2) + tau * np.abs(peer.coef_).sum()
            assert model.objective_ <= objective * (1 + 1e-12)
            assert model.certificate_.worst < 1e-9


class TestThreeSolvers:
    """ADMM on the primal, the quadratic program of the dual, the finishing loop on the signs: the same w."""

    @pytest.mark.parametrize("intercept", INTERCEPTS)
    @pytest.mark.parametrize("K", [0.0, 0.7])
    @pytest.mark.parametrize("shape", [(30, 8), (8, 20)])
    def test_same_weights(self, intercept, K, shape):
        X, y = random_data(2, *shape)
        for tau in (0.5, 5.0):
            model = ElasticNet(K, tau, intercept=intercept).fit(X, y)
            run = lasso_admm(X, y, tau, K=K, intercept=intercept, tol=1e-10, max_iter=40_000)
            assert_allclose(run.z, model.w_, atol=1e-6)
            assert_array_equal(run.z.nonzero()[0], model.support_)
            assert run.certificate.ok


class TestLimits:
    @pytest.mark.parametrize("intercept", INTERCEPTS)
    def test_no_tau_is_ridge_regression(self, intercept):
        X, y = random_data(5)
        net = ElasticNet(K=0.8, tau=0, intercept=intercept, C=0.8).fit(X, y)
        ridge = regression.RidgeRegression(K=0.8, intercept=intercept).fit(X, y)
        assert_allclose(numbers(net), numbers(ridge), atol=1e-12)
        assert net.certificate_.ok

    @pytest.mark.parametrize("K", [0.0, 3.0])
    @pytest.mark.parametrize("intercept", INTERCEPTS)
    def test_threshold(self, K, intercept):
        X, y = random_data(6)
        top = tau_max(X, y, intercept=intercept, C=1.7)
        model = ElasticNet(K, top, intercept=intercept, C=1.7)
        assert not model.fit(X, y).w_.any()
        assert model.set_params(tau=top * (1 - 1e-9)).fit(X, y).support_.size == 1

    def test_blend(self):
        model = ElasticNet.blend(8.0, 0.25, intercept="penalized")
        assert (model.K, model.tau, model.intercept) == (6.0, 2.0, "penalized")
        for C, theta, name in ((1.0, 1.5, "theta"), (-1.0, 0.5, "C")):
            with pytest.raises(ValueError, match=f"{name} must be"):
                ElasticNet.blend(C, theta)


class TestDegenerate:
    """Data with ties: the optimality conditions hold on the data as given."""

    def assert_solved(self, X, y, K=0.0, fractions=(0.5, 0.1, 1e-2, 1e-4)):
        for f in fractions:
            model = ElasticNet(K, f * tau_max(X, y)).fit(X, y)
            assert model.certificate_.worst < 1e-9, (f, model.certificate_)
            assert verify(model, X, y).worst < 1e-9
        return model

    def test_repeated_columns(self):
        X, y = random_data(0, m=40, n=6)
        doubled = np.hstack([X, X, -X])
        self.assert_solved(np.tile(doubled, 40), y)
        one, two = Lasso(5.0).fit(X, y), Lasso(5.0).fit(doubled, y)
        assert_allclose(two.predict(doubled), one.predict(X), atol=1e-10)
        net = ElasticNet(1.0, 5.0).fit(doubled, y)
        assert (one.unique_, two.unique_, net.unique_) == (True, False, True)
        assert_allclose(net.w_[6:], [*net.w_[:6], *-net.w_[:6]], atol=1e-12)

    @pytest.mark.parametrize("seed", range(4))
    def test_columns_far_from_the_origin(self, seed):
        """Without b, 1e12 times the wanted digits cancel in X'X; a step of refinement has one of them left."""
        rng = np.random.default_rng(seed)
        X = 1e6 + rng.standard_normal((20, 3))
        y = X @ [1.0, -0.7, -0.3] + rng.standard_normal(20)
        assert Lasso(1e-3, intercept="none").fit(X, y).certificate_.ok

    @pytest.mark.parametrize("tau", [0.0, 0.5])
    @pytest.mark.parametrize("K", [1e-7, 1e-12, 1e-15])
    @pytest.mark.filterwarnings("ignore::companion.exceptions.ConvergenceWarning")
    def test_a_K_that_is_lost_in_rounding_makes_nothing_unique(self, K, tau):
        """Equal columns have equal weights for every K > 0; with a tiny one, rounding splits them."""
        X, y = random_data(5)
        X = np.column_stack([X, X[:, 0]])
        net = ElasticNet(K * (X[:, 0] @ X[:, 0]), tau).fit(X, y)
        assert net.certificate_.ok
        assert net.unique_ == (K > 1e-10)
        if net.unique_:
            assert net.w_[0] == pytest.approx(net.w_[-1], rel=1e-5)
        assert ElasticNet(K, tau).fit(X[:, :-1], y).unique_

    @settings(max_examples=30, deadline=None)
    @given(seed=st.integers(0, 10**6), K=st.sampled_from([0.0, 0.3]), wide=st.booleans())
    def test_the_gap_bounds_the_distance_from_the_minimum(self, seed, K, wide):
        """A run with a loose tolerance keeps to it, and its gap is no promise too much."""
        X, y = random_data(seed, m=20, n=60 if wide else 12)
        loose = ElasticNet(K, 0.3, tol=1e-2).fit(X, y)
        best = ElasticNet(K, 0.3).fit(X, y)
        assert loose.certificate_.gap <= loose.certificate_.tolerance == 1e-2
        scale = max(loose.objective_, 0.5e-4 * np.sum((y - y.mean()) ** 2))
        slack = loose.certificate_.gap * scale * (1 + 1e-9) + 1e-10 * scale
        assert loose.objective_ - best.objective_ <= slack

    def test_zero_and_constant_columns_and_targets(self):
        X, y = random_data(1)
        X[:, 2], X[:, 5] = 0.0, 0.3
        assert not self.assert_solved(X, y).w_[[2, 5]].any()
        model = Lasso(0.5).fit(X, np.full(30, 7.0))
        assert (model.w_.any(), model.b_, model.certificate_.ok) == (False, 7.0, True)

    def test_steps(self):
        """A strongly correlated design: total variation as a lasso."""
        rng = np.random.default_rng(0)
        X = np.tril(np.ones((100, 100)))
        y = np.sign(np.sin(np.arange(100) / 10)) + 0.3 * rng.standard_normal(100)
        self.assert_solved(X, y, fractions=(0.5, 0.1, 1e-2, 1e-3))


class TestPath:
    @pytest.mark.parametrize("shape", [(40, 12), (20, 150)])
    @pytest.mark.parametrize("K", [0.0, 0.4])
    @pytest.mark.parametrize("intercept", INTERCEPTS)
    def test_every_point_is_the_single_solution(self, shape, K, intercept):
        X, y = random_data(4, *shape)
        path = lasso_path(X, y, n_taus=12, eps=1e-2, K=K, intercept=intercept, C=2.0)
        assert path.converged
        assert path.gap.max() < 1e-10
        assert path.tau[0] == path.tau_max == tau_max(X, y, intercept=intercept, C=2.0)
        assert path.tau[-1] == pytest.approx(1e-2 * path.tau_max)
        assert all(point.ok for point in verify(path))
        for i in range(0, 12, 3):
            model = ElasticNet(K, path.tau[i], intercept=intercept, C=2.0).fit(X, y)
            assert path.objective[i] == pytest.approx(model.objective_, rel=1e-12)
            assert path.n_nonzero[i] == model.support_.size

    def test_lars_knots_between_which_the_path_is_affine(self):
        X, y = random_data(4)
        Z, r = X - X.mean(axis=0), y - y.mean()
        knots, _, w = linear_model.lars_path(Z, r, method="lasso")
        knots = knots * len(y)
        middle = 0.5 * (knots[:-1] + knots[1:])
        path = lasso_path(X, y, middle[middle > 1e-9])
        expected = 0.5 * (w[:, :-1] + w[:, 1:]).T[middle > 1e-9]
        assert_allclose(path.w, expected, atol=1e-8)


TWO = [[1.0], [2.0]]
test_bad_arguments_of_the_path = refusals(
    (lambda: lasso_path(TWO, [1, 2], [0.0]), "tau must be"), (lambda: lasso_path(TWO, [1, 1]), "give tau"),
    (lambda: lasso_path(TWO, [1, 2], []), "tau must hold at least one value"),
    (lambda: lasso_path(TWO, [1, 2], eps=1.0), "eps must be"),
)  # fmt: skip


class TestLimitsOfTheMachine:
    def test_many_columns(self):
        data = sparse_regression(m=200, n=20_000, nonzero=10)
        X = np.asfortranarray(data.X)
        tracemalloc.start()
        model = Lasso(0.1 * tau_max(X, data.y)).fit(X, data.y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4 * X.nbytes
        assert set(np.flatnonzero(data.w)) <= set(model.support_)
        assert model.certificate_.worst < 1e-12
        assert model.unique_

    def test_too_few_steps(self):
        X, y = random_data(1, 30, 60)
        with pytest.warns(ConvergenceWarning, match="gap") as heard:
            model = Lasso(0.05, max_iter=1).fit(X, y)
        assert heard[0].filename == __file__
        assert not model.certificate_.ok
        with pytest.warns(ConvergenceWarning) as heard:
            path = lasso_path(X, y, [0.05], max_iter=1)
        assert heard[0].filename == __file__
        assert not path.converged
