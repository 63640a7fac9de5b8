"""Data in other units: the regressions and the components are what they are in others, without a warning."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from companion import admm
from companion.exceptions import ConvergenceWarning
from companion.kernels import KernelPCA, Linear
from companion.regression import ElasticNet, KernelRidge, Lasso, RidgeRegression
from tests.exact import verify
from tests.exact.judge import judge

pytestmark = pytest.mark.filterwarnings("error")

SIZES = [1e-8, 1e-3, 1e8]
RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 4)) + 1
Y = X @ [3.0, 0.0, -2.0, 0.0] + RNG.standard_normal(30) + 5


@pytest.mark.parametrize("s", [*SIZES, 2.0**-40, 2.0**40])
@pytest.mark.parametrize("r", SIZES)
def test_points_in_units_of_s_and_values_in_units_of_r(s, r):
    """K is measured in s^2, tau in s r: then w is measured in r/s, b and xi in r."""
    K, tau, kernel = 0.7 * s * s, 9.0 * s * r, Linear() + 0.5 * s * s  # a feature sqrt(1/2) s
    for plain, scaled in (
        (RidgeRegression(0.7), RidgeRegression(K)),
        (Lasso(9.0), Lasso(tau)),
        (ElasticNet(0.7, 9.0), ElasticNet(K, tau)),
        (KernelRidge(0.7, kernel=Linear() + 0.5), KernelRidge(K, kernel=kernel)),
    ):
        scaled.fit(s * X, r * Y)
        assert_allclose(scaled.predict(s * X) / r, plain.fit(X, Y).predict(X), rtol=1e-7)
        assert scaled.certificate_.ok is plain.certificate_.ok is True
        assert verify(scaled, s * X, r * Y).ok


@pytest.mark.parametrize("c", [0.1, 0.3, -1 / 3, 7.3, 1e-9, 1e12 + 0.3])
@pytest.mark.parametrize("m", [3, 7, 30])
def test_constant_values_are_fitted_exactly(c, m):
    """What is 0 in exact arithmetic (centred values, weights, alpha) is no unit for anything: no false alarm."""
    for model in (
        KernelRidge(kernel="gaussian", intercept="free"), KernelRidge(kernel="poly", intercept="free"),
        RidgeRegression(), RidgeRegression(0.0), Lasso(), Lasso(0.0), ElasticNet(),
    ):  # fmt: skip
        for points in (X[:m], np.ones((m, 2)), np.full((m, 1), 0.1)):
            model.fit(points, np.full(m, c))
            assert model.certificate_.worst == 0.0
            assert_array_equal(model.predict(points), c)
            model.fit(points, np.zeros(m))
            assert model.certificate_.worst == model.objective_ == 0.0


@pytest.mark.parametrize("intercept", ["none", "free", "penalized"])
def test_the_lasso_is_proved_beside_its_own_optimum(intercept):
    """With y = X w, f* is tau |w|_1, 1e-17 of |y|^2 here: the support is still right, or nothing is claimed."""
    points = RNG.standard_normal((60, 5))
    y = points @ [1.0, 0.0, -2.0, 0.0, 3.0]
    for tau in 10.0 ** -np.arange(2.0, 15.0, 2.0):
        model = Lasso(tau, intercept=intercept).fit(points, y)
        assert model.certificate_.ok
        assert_array_equal(model.support_, [0, 2, 4])
        assert model.objective_ == pytest.approx(6.0 * tau, rel=10 * tau + 1e-9)
        assert admm.lasso(points, y, tau).certificate.ok
    with pytest.warns(ConvergenceWarning, match="rest is rounding of y"):
        assert not Lasso(1e-30).fit(points, y).certificate_.ok


@pytest.mark.parametrize("intercept", ["none", "penalized"])
def test_columns_that_are_nearly_one(intercept):
    """Far from the origin, each weight is worth 1e5 and their sum next to nothing: w = (15/17, -15/17) + O(1e-5)."""
    points, y = np.array([[0, 0], [1, 0], [0, 1], [2, 1], [1, 3]]) + 1e5, [0, 1, -1, 2, -1]
    model = Lasso(0.1, intercept=intercept).fit(points, y)
    assert model.certificate_.ok
    assert_allclose(model.w_, [15 / 17, -15 / 17], atol=1e-5)


@pytest.mark.parametrize("K", [1e-7, 1e-3])
def test_an_objective_is_that_of_the_stored_weights(K):
    """The residuals are 1e-9 of their terms; in exact arithmetic the sum of squares is no other one."""
    points = np.array([[0, 0], [1, 0], [0, 1], [2, 1], [1, 3]]) + 1e6
    y = points @ [1, -1] + 1e-3 * np.array([0, 1, -1, 2, -1])
    model = RidgeRegression(K, intercept="none").fit(points, y)
    assert judge(model, points, y) < 1e-12


@pytest.mark.parametrize("order", [1, 2])
def test_a_penalty_far_above_its_largest_useful_value_changes_nothing(order):
    b = np.cumsum(RNG.standard_normal(40))
    F = np.diff(np.eye(40), order, axis=0)
    V = np.vander(np.arange(40.0), order)
    for tau in (1e4, 1e8, 1e20)[
        : 3 if order == 1 else 1
    ]:  # equal numbers are floats, those on a line are not
        result = admm.generalized_lasso(np.eye(40), b, F, tau)
        assert result.certificate.ok
        assert_allclose(result.x, V @ np.linalg.lstsq(V, b)[0], atol=1e-9)
        assert not result.z.any()
    A, mixed = np.eye(40), np.random.default_rng(5).standard_normal((12, 40))
    with pytest.warns(ConvergenceWarning, match=r"every tau above \d.* has this solution"):
        refused = admm.generalized_lasso(A, b, mixed, 1e12)  # no x has F x = 0 in float64
    tau = 1.1 * abs(refused.rho * refused.u).max()
    assert_allclose(admm.generalized_lasso(A, b, mixed, tau).x, refused.x, atol=1e-9)
    assert admm.generalized_lasso(A, np.full(40, 0.1), F, 3.0).certificate.ok  # f* = 0


@pytest.mark.parametrize("s", SIZES)
def test_principal_components_in_units_of_s(s):
    plain, scaled = KernelPCA().fit(X), KernelPCA().fit(s * X)
    assert_allclose(scaled.eigenvalues_ / s**2, plain.eigenvalues_, rtol=1e-10)
    assert scaled.certificate_.ok
