"""Weights of points and of classes: the same as points given more than once, and the same program as libsvm's."""

import numpy as np
import pytest
from sklearn.svm import SVC

from companion.svm import SVMs2
from companion.to_sklearn import from_sklearn

KERNELS = [("linear", None), ("rbf", {"gamma": 0.5}), ("precomputed", None)]


def cloud(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of two classes that overlap, and whole weights, some of them 0."""
    rng = np.random.default_rng(seed)
    p, q, d = rng.integers(5, 60), rng.integers(5, 60), rng.integers(1, 6)
    X = np.vstack([rng.normal(0.7, 1.0, (p, d)), rng.normal(-0.7, 1.0, (q, d))])
    weight = rng.integers(0, 4, p + q)
    weight[[0, -1]] = 1
    return X, np.repeat([1, -1], [p, q]), weight


@pytest.mark.filterwarnings("ignore:rounding has changed the norm")  # where w is 0
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("kernel", "params"), KERNELS)
def test_a_weight_is_a_number_of_copies(kernel: str, params: dict | None, seed: int) -> None:
    X, y, weight = cloud(seed)
    copies, new = np.repeat(np.arange(y.size), weight), X[:5] + 0.1
    K, factors = 10.0 ** (seed % 4 - 2), {1: 2.0, -1: 0.5}
    machine = SVMs2(K, class_weight=factors, kernel=kernel, kernel_params=params)
    if kernel == "precomputed":
        once, often = (X @ X.T, new @ X.T), (X[copies] @ X[copies].T, new @ X[copies].T)
    else:
        once, often = (X, new), (X[copies], new)
    values = machine.fit(once[0], y, sample_weight=weight).decision_function(once[1])
    a, interval, objective = abs(machine.dual_coef_), machine.b_interval_, machine.objective_
    assert machine.certificate_.ok
    assert (a <= machine.K_).all()
    assert not np.isin(machine.point_classes_[weight == 0], ["exceptional", "type 1"]).any()
    many = machine.fit(often[0], y[copies])
    assert many.certificate_.ok
    assert objective == pytest.approx(many.objective_, rel=1e-9)
    assert interval == pytest.approx(many.b_interval_, rel=1e-6, abs=1e-6)
    assert values == pytest.approx(many.decision_function(often[1]), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("factors", [None, "balanced", {1: 0.1, -1: 3.0}])
def test_no_hyperplane_of_libsvm_is_better(factors: dict | str | None, seed: int) -> None:
    X, y, weight = cloud(seed)
    ours = SVMs2(2.0, class_weight=factors).fit(X, y, sample_weight=weight / 3.0)
    peer = SVC(C=2.0, kernel="linear", class_weight=factors, tol=1e-6)
    peer.fit(X, y, sample_weight=weight / 3.0)
    assert from_sklearn(peer).get_params() == {**ours.get_params(), "K": 2.0}
    slack = np.maximum(1.0 - y * peer.decision_function(X), 0.0)
    theirs = float((peer.coef_**2).sum() / 2.0 + ours.K_ @ slack)
    assert ours.certificate_.ok
    assert ours.objective_ * (1.0 - 1e-9) <= theirs <= ours.objective_ * (1.0 + 1e-4)


@pytest.mark.parametrize(
    "weight", [[1.0, 1.0, -1.0, 1.0], [1.0, 1.0, 0.0, 0.0], [1.0, 1.0], [np.nan] * 4]
)
def test_what_no_weight_may_be_is_said(weight: list[float]) -> None:
    with pytest.raises(ValueError, match="weight"):
        SVMs2().fit([[1.0], [2.0], [-1.0], [-2.0]], [1, 1, -1, -1], sample_weight=weight)
