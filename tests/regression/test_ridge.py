"""Ridge regression: printed numbers, the text's propositions, scikit-learn, degenerate data."""

import warnings
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge

from companion.datasets import diabetes, example_19_1
from companion.regression import RidgeRegression, ridge_path
from tests.exact.numbers import exact, floats, product, solve

pytestmark = pytest.mark.filterwarnings("error")

INTERCEPTS = ("none", "free", "penalized")
EXAMPLE_19_1 = {  # the text cuts digits off: 0.8677625 is printed as 0.8677
    5: ((0.9207, 0.8677, -0.9618), "204864/222505 386163/445010 -428047/445010"),
    0.1: ((1.1651, 1.1341, -1.2255), "7982145/6850628 7769859/6850628 -83958247/68506280"),
    0.01: ((1.1709, 1.1405, -1.2318), "398912175/340667104 388535745/340667104 -8392823407/6813342080"),
}  # fmt: skip


def random_data(seed, m=12, n=5):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, n)) + rng.standard_normal(n), rng.standard_normal(m) + 2


def numbers(model):
    return np.append(model.w_, model.b_)


class TestPrinted:
    def test_example_19_1(self):
        data = example_19_1()
        for K, (printed, fractions) in EXAMPLE_19_1.items():
            found = numbers(RidgeRegression(K=K).fit(data.X, data.y))
            assert_allclose(found, [float(F(each)) for each in fractions.split()], rtol=1e-11)
            assert_array_equal(np.trunc(found * 1e4) / 1e4, printed)

    def test_example_19_2(self):
        """A penalized intercept; printed for K = 0.01: 1.1706, 1.1401, -1.2298."""
        data = example_19_1()
        for K, expected in (
            (5, (0.861140309171, 0.798483699773, -0.550040477506)),
            (0.1, (1.161782537497, 1.130293436656, -1.206646493097)),
            (0.01, (1.170626443067, 1.140116017961, -1.229892455530)),
        ):
            model = RidgeRegression(K=K, intercept="penalized").fit(data.X, data.y)
            assert_allclose(numbers(model), expected, rtol=0, atol=2e-12)


@pytest.mark.parametrize("shape", [(40, 6), (6, 40), (10, 10), (1, 3), (3, 1)])
@pytest.mark.parametrize("K", [1e-6, 0.3, 1e5])
def test_scikit_learn(shape, K):
    X, y = random_data(3, *shape)
    for intercept in ("none", "free"):
        model = RidgeRegression(K=K, intercept=intercept).fit(X, y)
        peer = Ridge(alpha=K, fit_intercept=intercept == "free", solver="svd").fit(X, y)
        assert_allclose(model.w_, peer.coef_, rtol=0, atol=1e-8 * (1 + abs(peer.coef_).max()))
        assert_allclose(model.predict(X), peer.predict(X), atol=1e-8)
        assert model.certificate_.ok, model.certificate_


class TestDuality:
    @pytest.mark.parametrize("shape", [(12, 5), (5, 12)])
    def test_dual_variables(self, shape):
        X, y = random_data(1, *shape)
        for intercept in INTERCEPTS:
            model = RidgeRegression(K=0.4, intercept=intercept).fit(X, y)
            alpha = model.alpha_
            assert_allclose(X.T @ alpha, model.w_, atol=1e-12)
            assert_allclose(0.4 * alpha, model.xi_, atol=1e-12)
            if intercept == "free":
                assert abs(alpha.sum()) < 1e-11
            dual = 0.4 * (2 * alpha @ y - alpha @ (X @ (X.T @ alpha)) - 0.4 * alpha @ alpha)
            if intercept == "penalized":
                assert alpha.sum() == pytest.approx(model.b_, abs=1e-12)
                dual -= 0.4 * alpha.sum() ** 2
            assert dual == pytest.approx(model.objective_, rel=1e-11)

    @settings(max_examples=40, deadline=None)
    @given(m=st.integers(1, 9), n=st.integers(1, 9), seed=st.integers(0, 10**6))
    def test_rr3_is_rr6_and_the_intercept_is_the_multiplier(self, m, n, seed):
        """The bordered system of DRR3, as it stands, against centring."""
        X, y = random_data(seed, m, n)
        one = np.ones((m, 1))
        kkt = np.block([[X @ X.T + 0.5 * np.eye(m), one], [one.T, np.zeros((1, 1))]])
        *alpha, mu = np.linalg.solve(kkt, np.append(y, 0.0))
        model = RidgeRegression(K=0.5).fit(X, y)
        assert_allclose(model.alpha_, alpha, atol=1e-9)
        assert_allclose(numbers(model), [*(X.T @ alpha), mu], atol=1e-9)


class TestLimits:
    def test_pseudo_inverse(self):
        """Proposition 19.1: the error is max K / (s (s^2 + K)) exactly."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((6, 3)) @ rng.standard_normal((3, 5))
        s = np.linalg.svd(X, compute_uv=False)[:3]
        for K in (1e-1, 1e-3, 1e-5):
            model = RidgeRegression(K=K, intercept="none")
            operator = np.column_stack([model.fit(X, e).w_ for e in np.eye(6)])
            error = np.linalg.norm(operator - np.linalg.pinv(X), 2)
            assert error == pytest.approx((K / (s * (s**2 + K))).max(), rel=1e-6)

    @pytest.mark.parametrize("K", [0.0, 1e-18])
    def test_tiny_K_on_rank_deficient_data(self, K):
        rng = np.random.default_rng(1)
        X = rng.standard_normal((20, 4)) @ rng.standard_normal((4, 9))
        y = rng.standard_normal(20)
        model = RidgeRegression(K=K, intercept="none").fit(X, y)
        assert model.solver_ == "svd"
        assert_allclose(model.w_, np.linalg.pinv(X) @ y, atol=1e-10)
        assert model.certificate_.dual_residual < 1e-9


def weights(X, y, K, intercept):
    """Solve the normal equations without rounding: w and b as floats."""
    prices = {"none": [], "free": [0.0], "penalized": [K]}[intercept]
    Z = np.column_stack([X, *(np.ones(len(y)) for _ in prices)])
    normal = product(Z.T, exact(Z)) + exact(np.diag([*[K] * X.shape[1], *prices]))
    return floats(solve(normal, product(Z.T, exact(y))))


def nearly_dependent(seed, apart):
    """Columns of which two are `apart`, values with some noise, for a model with intercept far from the origin."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(6, 12)), int(rng.integers(2, 5))
    X = rng.standard_normal((m, n))
    X[:, -1] = X[:, 0] + apart * rng.standard_normal(m)
    return X, X @ rng.standard_normal(n) + 10.0 ** rng.uniform(-9, 0) * rng.standard_normal(m)


class TestDigitsOfW:
    """Beside solutions without rounding. Where columns are nearly dependent w may have no digits: that is said."""

    @pytest.mark.parametrize("K", [1e8, 1e20])
    def test_b_under_a_large_penalty(self, K):
        """1 - sqrt(K/(m + K)) cancels."""
        X, y = random_data(0, 4, 2)
        model = RidgeRegression(K, intercept="penalized").fit(X, y)
        assert_allclose(numbers(model), weights(X, y, K, "penalized"), rtol=1e-13)

    @pytest.mark.parametrize("intercept", INTERCEPTS)
    @pytest.mark.parametrize("apart", [1e-3, 1e-8, 1e-12])
    def test_few_digits_warn(self, intercept, apart):
        for seed in range(3):
            X, y = nearly_dependent(seed, apart)
            for K in (0.0, 1e-24, 1e-18, 1e-10):
                with warnings.catch_warnings(record=True, action="always") as heard:
                    model = RidgeRegression(K, intercept=intercept).fit(X, y)
                true = weights(X, y, K, intercept)[: X.shape[1]]
                error = np.abs(model.w_ - true).max() / np.abs(true).max()
                assert heard or error < 1e-6, (seed, K, error)
                assert all(each.filename == __file__ for each in heard)
                assert not heard or error > 1e-10 or not model.certificate_.ok

    @pytest.mark.parametrize("K", [0.0, 1e-20, 1e-12, 1e-6])
    def test_well_posed_data_do_not_warn(self, K):
        """Warnings are errors here. Columns that are dependent up to rounding count as dependent."""
        data = diabetes()
        X, y = random_data(0)
        for intercept in INTERCEPTS:
            assert RidgeRegression(K, intercept=intercept).fit(data.X, data.y).certificate_.ok
            for dependent in (X[:, [0, 1, 1]], np.column_stack([X, X @ np.ones(5)])):
                RidgeRegression(K, intercept=intercept).fit(dependent, y)


class TestPath:
    @pytest.mark.parametrize("intercept", INTERCEPTS)
    @pytest.mark.parametrize("shape", [(12, 5), (5, 12)])
    def test_every_point_is_the_single_solution(self, intercept, shape):
        X, y = random_data(8, *shape)
        K = np.array([1e3, 0.0, 0.1, 5.0])
        path = ridge_path(X, y, K, intercept=intercept)
        for i, k in enumerate(K):
            model = RidgeRegression(K=k, intercept=intercept).fit(X, y)
            assert_allclose(np.append(path.w[i], path.b[i]), numbers(model), atol=1e-10)
            assert path.xi_norm[i] == pytest.approx(np.linalg.norm(model.xi_), abs=1e-9)
            assert path.w_norm[i] == pytest.approx(np.linalg.norm(path.w[i]), rel=1e-12)

    def test_degrees_of_freedom(self):
        X, y = random_data(9)
        path = ridge_path(X, y, [0.0, 2.0, 1e12])
        Z = np.column_stack([X - X.mean(axis=0), np.ones(12)])
        hat = Z @ np.linalg.solve(Z.T @ Z + np.diag([2.0] * 5 + [0.0]), Z.T)
        assert_allclose(path.degrees_of_freedom, [6, np.trace(hat), 1], atol=1e-9)
