"""Data in other units: the four regressions scale as their programs do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from companion.kernels import KernelPCA, Linear
from companion.regression import ElasticNet, KernelRidge, Lasso, RidgeRegression

SIZES = [1e-8, 1e-3, 1e8]


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4)) + 1
    return X, X @ [3.0, 0.0, -2.0, 0.0] + rng.standard_normal(30) + 5


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("s", SIZES)
@pytest.mark.parametrize("r", SIZES)
def test_points_in_units_of_s_and_values_in_units_of_r(s, r):
    """K is measured in s^2, tau in s r: then w is measured in r/s, b and xi in r."""
    X, y = data()
    pairs = [
        (RidgeRegression(K=0.7), RidgeRegression(K=0.7 * s * s)),
        (Lasso(tau=9.0), Lasso(tau=9.0 * s * r)),
        (ElasticNet(K=0.7, tau=9.0), ElasticNet(K=0.7 * s * s, tau=9.0 * s * r)),
    ]
    for plain, scaled in pairs:
        plain.fit(X, y)
        scaled.fit(s * X, r * y)
        assert_allclose(scaled.w_ * s / r, plain.w_, rtol=1e-7, atol=1e-9)
        assert scaled.b_ / r == pytest.approx(plain.b_, rel=1e-7)
        assert scaled.certificate_.ok
    k = Linear() + 0.5  # a feature sqrt(1/2), whose unit is s too
    plain = KernelRidge(K=0.7, kernel=k, intercept="free").fit(X, y)
    scaled = KernelRidge(K=0.7 * s * s, kernel=Linear() + 0.5 * s * s, intercept="free")
    scaled.fit(s * X, r * y)
    assert_allclose(scaled.predict(s * X) / r, plain.predict(X), rtol=1e-7)
    assert scaled.certificate_.ok


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("s", SIZES)
def test_principal_components_in_units_of_s(s):
    X, _ = data()
    plain, scaled = KernelPCA().fit(X), KernelPCA().fit(s * X)
    assert_allclose(scaled.eigenvalues_ / s**2, plain.eigenvalues_, rtol=1e-10)
    assert scaled.certificate_.ok
