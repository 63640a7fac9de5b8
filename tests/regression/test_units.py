"""Data in other units: the regressions and the components are what they are in others, without a warning."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from companion.kernels import KernelPCA, Linear
from companion.regression import ElasticNet, KernelRidge, Lasso, RidgeRegression
from tests.exact import verify

pytestmark = pytest.mark.filterwarnings("error")

SIZES = [1e-8, 1e-3, 1e8]
RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 4)) + 1
Y = X @ [3.0, 0.0, -2.0, 0.0] + RNG.standard_normal(30) + 5


@pytest.mark.parametrize("s", SIZES)
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
        assert scaled.certificate_.ok
        assert verify(scaled, s * X, r * Y).ok


@pytest.mark.parametrize("s", SIZES)
def test_principal_components_in_units_of_s(s):
    plain, scaled = KernelPCA().fit(X), KernelPCA().fit(s * X)
    assert_allclose(scaled.eigenvalues_ / s**2, plain.eigenvalues_, rtol=1e-10)
    assert scaled.certificate_.ok
