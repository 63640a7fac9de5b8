"""The same solutions by scikit-learn's names, both ways."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import kernel_ridge, linear_model
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from companion.kernels import Gaussian, Intersection, Polynomial
from companion.regression import (
    ElasticNet,
    KernelRidge,
    Lasso,
    RidgeRegression,
    from_sklearn,
    to_sklearn,
)

pytestmark = pytest.mark.filterwarnings("error")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 6)) + 1
Y = X @ [3.0, 0, -2, 0, 0, 1] + RNG.standard_normal(40) + 4

MODELS = [
    RidgeRegression(2.0),
    RidgeRegression(2.0, intercept="none"),
    RidgeRegression(2.0, intercept="penalized"),
    KernelRidge(0.5),
    KernelRidge(0.5, kernel=Gaussian(1.7)),
    KernelRidge(0.5, kernel="poly", kernel_params={"degree": 2, "gamma": 0.3, "coef0": 2.0}),
    KernelRidge(0.5, kernel=Polynomial(3, R=0.5)),
    Lasso(7.0),
    Lasso(7.0, intercept="none"),
    ElasticNet(3.0, 7.0),
    ElasticNet(3.0, 0.0),
    ElasticNet(0.0, 7.0, intercept="none"),
    ElasticNet(0.0, 0.0),
]


@pytest.mark.filterwarnings("ignore:.*l1_reg.*")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_there_and_back(model):
    peer = to_sklearn(model, m=40)
    expected = model.fit(X, Y).predict(X)
    assert_allclose(peer.fit(X, Y).predict(X), expected, atol=1e-8)
    again = from_sklearn(peer, m=40)
    assert_allclose(again.fit(X, Y).predict(X), expected, atol=1e-8)


def test_weights_agree_to_eight_digits():
    for model in (RidgeRegression(2.0), Lasso(7.0), ElasticNet(3.0, 7.0)):
        peer = to_sklearn(model, m=40).fit(X, Y)
        model.fit(X, Y)
        assert_allclose(peer.coef_, model.coef_, atol=1e-8)
        assert peer.intercept_ == pytest.approx(model.intercept_, abs=1e-8)


def test_the_penalties():
    assert to_sklearn(Lasso(8.0), m=40).alpha == 0.2
    net = to_sklearn(ElasticNet(3.0, 1.0), m=40)
    assert (net.alpha, net.l1_ratio) == (0.1, 0.25)
    model = from_sklearn(linear_model.ElasticNet(alpha=0.1, l1_ratio=0.25), m=40)
    assert (model.K, model.tau) == pytest.approx((3.0, 1.0))
    assert from_sklearn(linear_model.LinearRegression(), m=40).K == 0.0


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Lasso(intercept="penalized"), "penalized intercept"),
        (KernelRidge(intercept="free"), "no intercept"),
        (KernelRidge(kernel=Intersection([1, 2])), "no name for the kernel"),
    ],
)
def test_no_counterpart_there(model, message):
    with pytest.raises(ValueError, match=message):
        to_sklearn(model, m=3)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (linear_model.Lasso(positive=True), "positive"),
        (kernel_ridge.KernelRidge(kernel="rbf"), "set gamma"),
        (kernel_ridge.KernelRidge(kernel="laplacian", gamma=1.0), "precomputed"),
        (make_pipeline(StandardScaler(), linear_model.Ridge()), "only pipeline"),
        (make_pipeline(PolynomialFeatures(2), linear_model.Ridge()), "only pipeline"),
    ],
)
def test_no_counterpart_here(estimator, message):
    with pytest.raises(ValueError, match=message):
        from_sklearn(estimator, m=3)


def test_other_objects():
    with pytest.raises(TypeError, match="RidgeRegression"):
        to_sklearn(linear_model.Ridge(), m=3)
    with pytest.raises(TypeError, match="Ridge, KernelRidge"):
        from_sklearn(linear_model.BayesianRidge(), m=3)
    with pytest.raises(ValueError, match="m must be"):
        to_sklearn(Lasso(), m=0)
