"""scikit-learn: the contract of its estimators, and the same solutions by its names."""

import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from companion.datasets import nine_points
from companion.engine.guess import guess_machine
from companion.exceptions import ConvergenceWarning
from companion.kernels import Gaussian, Polynomial
from companion.svm import HardMarginSVC, SVMs1, SVMs2, SVMs2l, SVMs2prime, SVMs3, SVMs4, SVMs5
from companion.svr import EpsilonSVR, NuSVR
from companion.to_sklearn import to_sklearn
from tests.refusals import refusals

ON_RANDOM_LABELS = "ignore::companion.svm.DegenerateSolutionWarning"
QUIET = "ignore::sklearn.exceptions.SkipTestWarning", ON_RANDOM_LABELS
pytestmark = pytest.mark.filterwarnings("error", *QUIET)

# The hard margin needs separable data: a narrow Gaussian makes any data that.
MACHINES = [HardMarginSVC(kernel=Gaussian(0.1)), SVMs2l()]
MACHINES += [kind() for kind in (SVMs1, SVMs2, SVMs2prime, SVMs3, SVMs4, SVMs5)]
POLYNOMIAL = {"degree": 2, "gamma": 0.5, "coef0": 1.0}
KERNELS = [("linear", None), ("rbf", {"gamma": 0.3}), ("poly", POLYNOMIAL)]
KINDS = [(type(m), k) for m in MACHINES for k in (Gaussian(1.3), Polynomial(2, R=1.0))]


@parametrize_with_checks(MACHINES)
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        # prices of 1000 and 1e-4: a slack of one rounding costs 1e-8 of the objective
        if "check_class_weight_classifiers" in str(check):
            warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


def random_data(seed):
    rng = np.random.default_rng(seed)
    p, q = rng.integers(10, 20, size=2)
    X = np.vstack([rng.standard_normal((p, 3)) + 0.7, rng.standard_normal((q, 3)) - 0.7])
    return X, np.repeat([1, -1], [p, q])


@pytest.mark.parametrize("release", ["without it", "with other arguments"])
def test_scikit_learns_private_function_only_saves_time(release, monkeypatch):
    X, y = random_data(4)
    machines = [SVMs2(2.0), SVMs2prime(0.4), SVMs3(0.4), SVMs4(0.4), EpsilonSVR(2.0), NuSVR(2.0)]
    for machine in machines:
        values = getattr(machine, "decision_function", machine.predict)
        machine.set_params(kernel=Gaussian(1.3)).fit(X, y)
        expected = values(X)
        with monkeypatch.context() as other:
            if release == "without it":
                other.setitem(sys.modules, "sklearn.svm._libsvm", None)
                other.delattr("sklearn.svm._libsvm")
            else:
                other.setattr("sklearn.svm._libsvm.fit", lambda X, y, machine: None)
            options = {"kernel": "linear"}
            assert guess_machine(X, y, options, upper=1.0, total=None, balanced=True) is None
            machine.fit(X, y)
        assert machine.certificate_.ok
        assert_allclose(values(X), expected, atol=1e-8)


def test_tie_is_blue():
    machine = SVMs2(10.0).fit_uv([[1.0]], [[-1.0]])
    assert machine.decision_function([[0.0]])[0] == 0.0
    assert machine.predict([[0.0]])[0] == 1


def test_two_numbers_that_are_not_whole_are_no_classes():
    with pytest.raises(ValueError, match="continuous"):
        SVMs2().fit([[0.0], [1.0]], [0.5, 1.5])
    assert SVMs2().fit([[0.0], [1.0]], [2.0, 3.0]).predict([[1.0]]) == 3.0


def test_names_of_scikit_learn():
    data = nine_points()
    machine = SVMs2(0.5).fit_uv(data.u, data.v)
    assert_array_equal(machine.coef_, machine.w_[None])
    assert machine.intercept_ == -machine.b_
    new = SVMs2(class_weight="balanced")
    assert new.dual_program(machine.X_fit_, np.arange(9) < 4).upper.shape == (9,)
    assert vars(new) == vars(SVMs2(class_weight="balanced"))
    with pytest.raises(NotFittedError):
        new.coef_  # noqa: B018
    with pytest.raises(AttributeError, match="linear kernel only"):
        SVMs2(kernel="rbf").fit_uv(data.u, data.v).coef_  # noqa: B018


@pytest.mark.parametrize(("kind", "kernel"), [KINDS[0], KINDS[2], *KINDS[4:]])
def test_precomputed(kind, kernel):
    """Explicit features, a kernel, and its matrix give the same machine."""
    X, y = random_data(1)
    G, new = kernel(X), X[:4] + 0.1
    one, two = kind(kernel=kernel).fit(X, y), kind(kernel="precomputed").fit(G, y)
    assert (one.w_ is None) == isinstance(kernel, Gaussian)
    assert two.w_ is None
    assert two.norm_ == pytest.approx(one.norm_, rel=1e-7)
    f, g = one.decision_function(new), two.decision_function(kernel(new, X))
    assert_allclose(g, f, atol=1e-8 * np.abs(f).max())


@pytest.mark.parametrize("seed", range(8))
def test_a_weight_is_a_number_of_copies(seed):
    X, y = random_data(seed)
    weight = np.append([1, 1], np.random.default_rng(seed).integers(0, 4, y.size - 2))[::-1]
    machine = SVMs2(10.0 ** (seed % 4 - 2), class_weight={1: 2.0, -1: 0.5}, kernel=Gaussian(1.0))
    a = abs(machine.fit(X, y, sample_weight=weight).dual_coef_)
    assert machine.certificate_.ok
    assert (a <= machine.K_).all()
    assert not np.isin(machine.point_classes_[weight == 0], ["exceptional", "type 1"]).any()
    found = [machine.objective_, *machine.b_interval_, *machine.decision_function(X)]
    many = machine.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    copies = [many.objective_, *many.b_interval_, *many.decision_function(X)]
    assert_allclose(found, copies, rtol=1e-7, atol=1e-7)


class TestMapping:
    @pytest.mark.parametrize(("kernel", "params"), KERNELS)
    def test_same_hyperplanes(self, kernel, params):
        X, y = random_data(0)
        p, q, new = np.sum(y > 0), np.sum(y < 0), X[:6] + 0.2
        for machine in (SVMs1(), SVMs2(K=0.7), SVMs2prime(0.62), SVMs2prime(0.62, K=3.0)):
            machine.set_params(kernel=kernel, kernel_params=params).fit(X, y)
            peer = to_sklearn(machine, p, q).fit(X, y)
            f = machine.decision_function(new) / machine.eta_
            assert_allclose(peer.decision_function(new), f, atol=2e-6 * np.abs(f).max())
            coefficients = np.zeros(len(y))
            coefficients[peer.support_] = peer.dual_coef_[0]
            assert_array_equal(peer.n_support_, machine.n_support_)
            scaled = machine.dual_coef_ / machine.eta_
            assert_allclose(coefficients, scaled, atol=1e-5 * np.abs(scaled).max())

    def test_hard_margin(self):
        X, y = random_data(4)
        machine = HardMarginSVC(kernel=Gaussian(0.8)).fit(X, y)
        peer = to_sklearn(machine, 10, 10).fit(X, y)
        assert_allclose(peer.decision_function(X), machine.decision_function(X), atol=1e-5)

    def test_penalized_b(self):
        X, y = random_data(5)
        hinge = SVMs3(0.6), "hinge", 1 / len(y)
        for machine, loss, K in (hinge, (SVMs5(K=0.8), "squared_hinge", 0.8)):
            machine.fit(X, y)
            C = K / machine.eta_ if loss == "hinge" else K
            peer = LinearSVC(C=C, loss=loss, max_iter=1_000_000, tol=1e-12, random_state=0)
            peer.fit(X, y)
            assert_allclose(peer.coef_[0], machine.w_ / machine.eta_, rtol=1e-6)
            assert peer.intercept_[0] == pytest.approx(-machine.b_ / machine.eta_, abs=1e-6)

    def test_squared_slacks_by_a_ridge_on_the_gram_matrix(self):
        X, y = random_data(6)
        machine = SVMs4(0.5, K=0.8).fit(X, y)
        peer = SVC(kernel="precomputed", C=1e10, tol=1e-9)
        peer.fit(X @ X.T + np.eye(len(y)) / 1.6, y)
        f = peer.decision_function(X @ X.T)
        assert_allclose(f, machine.decision_function(X) / machine.eta_, atol=1e-5)
        with pytest.raises(TypeError, match="not of SVMs4"):
            to_sklearn(machine, 10, 10)


test_what_has_no_counterpart = refusals(
    (lambda: SVMs2().fit([[0], [1]], [0, 1], sample_weight=[1, -1]), "not all zero, got -1 to 1"),
    (lambda: to_sklearn(SVC(), 3, 3), "not of SVC", TypeError),
)


def test_weights_of_a_class_that_are_zero_are_refused_with_their_numbers() -> None:
    message = "the weights of class 1 must be nonnegative and not all zero, got 0 to 0"
    with pytest.raises(ValueError, match=message):
        SVMs2().fit([[0.0], [1.0], [2.0]], [-1, 1, -1], [0.5, 0.0, 0.0])
