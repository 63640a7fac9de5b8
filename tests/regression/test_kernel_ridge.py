"""Kernel ridge regression: explicit features, scikit-learn, the corrected intercept, degenerate kernels."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge as Peer

from companion.kernels import Gaussian, Polynomial, center_gram
from companion.regression import KernelRidge, RidgeRegression
from tests.exact.numbers import exact, product, solve

pytestmark = pytest.mark.filterwarnings("error")
KERNELS = {"linear": {}, "poly": {"degree": 2, "gamma": 1.0, "coef0": 1.0}, "rbf": {"gamma": 0.3}}


def random_data(seed=0, m=30, n=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    return X, np.sin(X.sum(axis=1)) + 0.1 * rng.standard_normal(m) + 3


def relative_error(G, y, K, intercept, alpha):
    """Return the distance of alpha from the solution, both in feature space, without rounding."""
    m, one = len(y), np.ones((len(y), int(intercept == "free")))
    A = exact(np.block([[G, one], [one.T, np.zeros((one.shape[1], one.shape[1]))]]))
    A[range(m), range(m)] += exact(K)
    true = solve(A, exact(np.append(y, np.zeros(one.shape[1]))))[:m]
    squares = [abs(sum(v * product(G, v))) for v in (exact(alpha) - true, true)]
    return float(squares[0] / squares[1]) ** 0.5


@pytest.mark.parametrize("K", [1e-3, 1.0, 100.0])
def test_same_dual_coefficients(K):
    X, y = random_data()
    X_new, _ = random_data(1)
    for kernel, params in KERNELS.items():
        model = KernelRidge(K=K, kernel=kernel, kernel_params=params).fit(X, y)
        peer = Peer(alpha=K, kernel=kernel, **params).fit(X, y)
        assert_allclose(model.dual_coef_, peer.dual_coef_, atol=1e-9 / K)
        assert_allclose(model.predict(X_new), peer.predict(X_new), atol=1e-8)
        assert model.certificate_.ok, model.certificate_


@pytest.mark.parametrize("intercept", ["none", "free"])
@pytest.mark.parametrize("m", [12, 50])
def test_polynomial_features(intercept, m):
    """The quadratic kernel against ridge regression on its ten features: of many points, the same program."""
    X, y = random_data(m=m)
    X_new, _ = random_data(3)
    Phi, Phi_new = Polynomial(2).features(X), Polynomial(2).features(X_new)
    ridge = RidgeRegression(K=0.3, intercept=intercept).fit(Phi, y)
    for kernel in (Polynomial(2), lambda A, B: (A @ B.T + 1) ** 2):
        model = KernelRidge(K=0.3, kernel=kernel, intercept=intercept).fit(X, y)
        assert model.certificate_.ok
        assert (model.w_ is None) == (m == 12 or not isinstance(kernel, Polynomial))
        assert_allclose(model.predict(X_new), ridge.predict(Phi_new), atol=1e-9)
        assert model.b_ == pytest.approx(ridge.b_, abs=1e-9)
        assert_allclose(model.alpha_, ridge.alpha_, atol=1e-8)
        assert model.norm_ == pytest.approx(np.linalg.norm(ridge.w_), rel=1e-9)
        assert model.objective_ == pytest.approx(ridge.objective_, rel=1e-10)


class TestIntercept:
    """The text's formula for b, with the centred matrix, always gives the mean of y."""

    def test_right_and_printed_formula(self):
        X, y = random_data(m=15)
        k = Polynomial(2)
        model = KernelRidge(K=0.5, kernel=k, intercept="free").fit(X, y)
        G = k(X)
        assert abs(model.alpha_.sum()) < 1e-12
        assert model.b_ == pytest.approx(y.mean() - (G @ model.alpha_).mean(), abs=1e-12)
        printed = y.mean() - (center_gram(G) @ model.alpha_).mean()
        assert printed == pytest.approx(y.mean(), abs=1e-12)
        assert abs(model.b_ - printed) > 0.05


class TestAccuracy:
    @pytest.mark.parametrize("seed", range(2))
    def test_a_free_intercept_costs_no_digits(self, seed):
        """The factor leaves the sum of alpha to rounding over K; refinement must not meet it."""
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((200, 3))
        y = 100.0 + np.where(rng.random(200) < 0.1, 1000.0, 100.0) * rng.standard_normal(200)
        model = KernelRidge(0.003, kernel=Gaussian(2.0), intercept="free").fit(X, y)
        size = np.linalg.norm(model.xi_)
        assert np.linalg.norm(model.xi_ - 0.003 * model.alpha_) < 1e-11 * size
        assert abs(model.alpha_.sum()) < 1e-12 * np.linalg.norm(model.alpha_)
        assert model.certificate_.ok
        C = np.eye(200) - 1.0 / 200
        alpha = np.linalg.solve(C @ Gaussian(2.0)(X) @ C + 0.003 * np.eye(200), y - y.mean())
        assert_allclose(model.alpha_, alpha, atol=1e-9 * np.abs(alpha).max())

    def test_rounding_of_the_matrix_is_in_the_gap(self):
        """A Gaussian matrix that is computed has one more error than the same numbers given; the fit is the same."""
        X, y = random_data(m=30, n=2)
        by_name = KernelRidge(1e-4, kernel=Gaussian(1.0)).fit(X, y)
        given = KernelRidge(1e-4, kernel="precomputed").fit(Gaussian(1.0)(X), y)
        assert by_name.objective_ == given.objective_
        assert 0.0 < given.certificate_.gap < by_name.certificate_.gap <= 1e-9

    @pytest.mark.parametrize("intercept", ["none", "free"])
    def test_few_digits_of_w_warn(self, intercept):
        """A nearly singular Gram matrix with a tiny K: compared with 60 digits in the norm of the feature space."""
        X, y = random_data(m=9, n=1)
        for sigma in (0.3, 2.0, 8.0):
            for K in (1e-4, 1e-8, 1e-11, 1e-14):
                G = Gaussian(sigma)(X)
                model = KernelRidge(K, kernel="precomputed", intercept=intercept)
                with warnings.catch_warnings(record=True, action="always") as heard:
                    model.fit(G, y)
                error = relative_error(G, y, K, intercept, model.alpha_)
                assert heard or error < 1e-6, (sigma, K, error)
                assert sigma > 1.0 or not heard


class TestDegenerate:
    @pytest.mark.parametrize("intercept", ["none", "free"])
    def test_no_penalty_and_a_singular_matrix(self, intercept):
        X, y = random_data(m=10)
        X = np.vstack([X, X[:3]])
        y = np.append(y, y[:3] + [2.0, 0.0, -2.0])
        model = KernelRidge(K=0, kernel=Gaussian(1.0), intercept=intercept).fit(X, y)
        expected = np.append(y[:10] + [1, 0, -1, *[0] * 7], y[:3] + [1.0, 0.0, -1.0])
        assert_allclose(model.predict(X), expected, atol=1e-7)
        assert model.certificate_.ok

    def test_equal_points(self):
        y = np.array([1.0, 2.0, 4.0])
        model = KernelRidge(K=1.0, kernel="rbf", intercept="free").fit(np.ones((3, 2)), y)
        assert model.b_ == pytest.approx(y.mean() - model.alpha_.sum(), abs=1e-12)
        assert_allclose(model.predict(np.ones((1, 2))), y.mean())

    @pytest.mark.parametrize("K", [0.0, 0.5])
    def test_indefinite_kernel(self, K):
        G = np.array([[0.0, 1.0], [1.0, 0.0]])
        with pytest.raises(ValueError, match="not positive definite on these points"):
            KernelRidge(K=K, kernel="precomputed").fit(G, [1.0, 2.0])
        model = KernelRidge(K=1.5, kernel="precomputed").fit(G, [1.0, 2.0])
        assert_allclose((G + 1.5 * np.eye(2)) @ model.alpha_, [1, 2], atol=1e-12)


def test_where_all_points_are_one_the_centred_matrix_is_rounding():
    model = KernelRidge(0.0, kernel="rbf", intercept="free")
    assert model.fit(np.full((12, 2), 0.1), np.full(12, 0.3), [1.0, 1e-8] * 6).b_ == 0.3
