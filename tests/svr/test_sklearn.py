"""scikit-learn: the contract of its estimators, and the same solutions by its names."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVR, LinearSVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from companion.svr import EpsilonSVR, NuSVR, NuSVRPenalizedBias, QuadraticNuSVR
from companion.to_sklearn import to_sklearn
from tests.refusals import refusals

pytestmark = pytest.mark.filterwarnings("error", "ignore::sklearn.exceptions.SkipTestWarning")

CLASSES = [NuSVR, EpsilonSVR, NuSVRPenalizedBias, QuadraticNuSVR]
POLYNOMIAL = {"degree": 2, "gamma": 0.5, "coef0": 1.0}
KERNELS = [("linear", None), ("rbf", {"gamma": 0.3}), ("poly", POLYNOMIAL)]


@parametrize_with_checks([kind() for kind in CLASSES])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def random_data(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((int(rng.integers(25, 45)), 3))
    return X, X @ [1.0, -0.5, 2.0] + 4.0 + 0.5 * rng.standard_t(4, size=len(X))


@pytest.mark.parametrize("kind", CLASSES)
def test_names_of_scikit_learn(kind):
    X, y = random_data(0)
    model = kind().fit(X, y)
    assert_array_equal(model.coef_, model.w_)
    assert (model.intercept_, model.C_) == (model.b_, len(y))
    before = dict(vars(model))
    model.dual_program(X[:9], y[:9])
    assert all(vars(model)[name] is value for name, value in before.items())
    for name in ("coef_", "intercept_", "support_vectors_"):
        with pytest.raises(NotFittedError):
            getattr(kind(), name)
    with pytest.raises(AttributeError, match="linear kernel only"):
        kind(kernel="rbf").fit(X, y).coef_  # noqa: B018


@pytest.mark.parametrize(("kernel", "params"), KERNELS)
def test_a_weight_is_a_number_of_copies(kernel, params):
    X, y = random_data(1)
    w = np.random.default_rng(1).integers(0, 4, len(y))
    model = EpsilonSVR(0.4, C=0.3 * len(y), kernel=kernel, kernel_params=params)
    f = model.fit(X, y, sample_weight=w).predict(X)
    slack = np.maximum(abs(y - f) - 0.4, 0.0)
    assert model.certificate_.ok
    assert_allclose(model.objective_, 0.5 * model.norm_**2 + 0.3 * w @ slack, rtol=1e-9)
    assert_allclose(model.xi_ + model.xi_prime_, slack, atol=1e-9)
    copies = model.set_params(C=0.3 * w.sum()).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_allclose(copies.predict(X), f, rtol=1e-9)


def test_a_point_without_weight_may_be_far_away():
    X, y = random_data(1)
    far, value = np.vstack([X, np.full_like(X[:1], 1e12)]), np.append(y, 1e12)
    alone = EpsilonSVR(0.4, C=0.3 * len(X)).fit(X, y)
    beside = EpsilonSVR(0.4, C=0.3 * len(far)).fit(far, value, np.append(np.ones(len(X)), 0.0))
    assert beside.certificate_.ok
    assert_allclose(beside.w_, alone.w_, rtol=1e-9)


class TestMapping:
    @pytest.mark.parametrize(("kernel", "params"), KERNELS)
    def test_same_solutions(self, kernel, params):
        X, y = random_data(0)
        m, new = len(y), X[:6] + 0.2
        for model in (NuSVR(0.33, C=0.8 * m), NuSVR(0.77), EpsilonSVR(0.4, C=0.3 * m)):
            model.set_params(kernel=kernel, kernel_params=params).fit(X, y)
            peer = to_sklearn(model, m).fit(X, y)
            assert_allclose(peer.predict(new), model.predict(new), atol=5e-6 * np.ptp(y))
            coefficients = np.zeros(m)
            coefficients[peer.support_] = peer.dual_coef_[0]
            assert_allclose(coefficients, model.dual_coef_, atol=1e-4 * model.C_ / m)
            assert_array_equal(peer.support_vectors_, model.support_vectors_)
            assert_array_equal(peer.n_support_, model.n_support_)

    def test_penalized_b(self):
        X, y = random_data(5)
        model = NuSVRPenalizedBias(0.4, C=20.0).fit(X, y)
        peer = LinearSVR(
            epsilon=model.epsilon_, C=20.0 / len(y), tol=1e-12, max_iter=1_000_000, random_state=0
        ).fit(X, y)
        assert_allclose([*peer.coef_, *np.ravel(peer.intercept_)], [*model.w_, model.b_], rtol=1e-6)


test_what_has_no_counterpart = refusals(
    (lambda: to_sklearn(SVR(), 10), "not of SVR", TypeError),
)
