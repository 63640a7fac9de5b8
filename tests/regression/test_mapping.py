"""scikit-learn: the contract of its estimators, and the same solutions by its names."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import linear_model
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from companion.kernels import Gaussian, Linear, Polynomial
from companion.regression import ElasticNet, KernelRidge, Lasso, RidgeRegression
from companion.to_sklearn import to_sklearn
from tests.refusals import refusals

pytestmark = pytest.mark.filterwarnings("error", "ignore::sklearn.exceptions.SkipTestWarning")

INTERCEPTS = "none", "free", "penalized"
CHECKED = [kind(intercept=i) for kind in (RidgeRegression, Lasso) for i in INTERCEPTS]
CHECKED += [ElasticNet(), KernelRidge(), KernelRidge(intercept="free")]
CHECKED += [KernelRidge(kernel="rbf", intercept="free")]
RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 6)) + 1
Y = X @ [3.0, 0, -2, 0, 0, 1] + RNG.standard_normal(40) + 4
MODELS = [RidgeRegression(2.0, intercept=i) for i in INTERCEPTS]
KERNELS = "linear", Gaussian(1.7), Polynomial(3, R=0.5), Gaussian(2.0) * Linear()
MODELS += [KernelRidge(0.5, kernel=k) for k in KERNELS]
POLYNOMIAL = {"degree": 2, "gamma": 0.3, "coef0": 2.0}
MODELS += [KernelRidge(0.5, kernel="poly", kernel_params=POLYNOMIAL)]
MODELS += [Lasso(7.0), Lasso(7.0, intercept="none"), ElasticNet(0.0, 7.0, intercept="none")]
MODELS += [ElasticNet(K, tau) for K, tau in ((3.0, 7.0), (3.0, 0.0), (0.0, 0.0))]


@parametrize_with_checks(CHECKED)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:.*l1_reg.*")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_weights_agree_to_eight_digits(model):
    peer = to_sklearn(model, 40)
    expected = model.fit(X, Y).predict(X)
    assert_allclose(peer.fit(X, Y).predict(X), expected, atol=1e-8)
    if hasattr(peer, "coef_"):
        assert_allclose(peer.coef_, model.coef_, atol=1e-8)
        assert peer.intercept_ == pytest.approx(model.intercept_, abs=1e-8)


@pytest.mark.parametrize(
    "model", [m for m in MODELS if isinstance(m, (RidgeRegression, KernelRidge))], ids=repr
)
def test_weights_of_points(model):
    """A point of weight 2 counts as two, as in scikit-learn; one of weight 0 is not there."""
    s = np.random.default_rng(1).integers(0, 4, len(Y)).astype(float)
    repeated = np.repeat(np.arange(len(Y)), s.astype(int))
    several, weighted = clone(model).fit(X[repeated], Y[repeated]), model.fit(X, Y, s)
    assert weighted.certificate_.ok
    assert weighted.objective_ == pytest.approx(several.objective_, rel=1e-12)
    assert_allclose(weighted.predict(X), several.predict(X), rtol=1e-10)
    assert_allclose(model.K * weighted.alpha_, s * weighted.xi_, atol=1e-10)
    peer = to_sklearn(model, 40)
    step = {"ridge__sample_weight": s} if isinstance(peer, Pipeline) else {"sample_weight": s}
    assert_allclose(peer.fit(X, Y, **step).predict(X), weighted.predict(X), rtol=1e-8)


test_bad_weights_and_targets = refusals(
    (lambda: Lasso().coef_, "not fitted", NotFittedError),
    (lambda: KernelRidge().dual_coef_, "not fitted", NotFittedError),
    (lambda: RidgeRegression().fit(X, Y, -np.ones(40)), "sample_weight must be nonnegative"),
    (lambda: KernelRidge().fit(X, Y, np.zeros(40)), "not all zero"),
    (lambda: RidgeRegression().fit(X, Y, [1.0]), "sample_weight must have length 40"),
    (lambda: Lasso().fit(X, np.column_stack([Y, Y])), "MultiOutputRegressor"),
)


def test_the_penalties():
    assert to_sklearn(Lasso(8.0), 40).alpha == 0.2
    net = to_sklearn(ElasticNet(3.0, 1.0), 40)
    assert (net.alpha, net.l1_ratio) == (0.1, 0.25)


test_what_has_no_counterpart = refusals(
    (lambda: to_sklearn(Lasso(intercept="penalized"), 3), "penalized intercept"),
    (lambda: to_sklearn(KernelRidge(intercept="free"), 3), "no intercept"),
    (lambda: to_sklearn(linear_model.Ridge(), 3), "RidgeRegression", TypeError),
    (lambda: to_sklearn(Lasso(), 0), "m must be"),
)
