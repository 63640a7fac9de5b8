"""Every estimator: bad data, degenerate data, every format, the ends of the range."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from companion import kernels, regression, svm, svr
from companion.exceptions import ConvergenceWarning
from companion.kernels import FromFunction, KernelPCA
from companion.svm import IndefiniteSVC
from tests.exact import verify
from tests.hostile.attacks import FORMATS, HOSTILE, heard, names_the_cause, snapshot

# Small integers, so that every number format holds them without rounding.
X = np.array([[2, 1], [3, 3], [1, 4], [4, 2], [-2, -1], [-1, -3], [-4, 0], [1, -2]], dtype=float)
y = np.array([1, 1, 1, 1, -1, -1, -1, -1], dtype=float)
t = np.array([3, 5, 4, 7, -2, -3, -5, 1], dtype=float)
ROOMS = {"kernels": kernels, "svm": svm, "regression": regression, "svr": svr}
PUBLIC = {f"{room}.{n}": getattr(each, n) for room, each in ROOMS.items() for n in each.__all__}
ESTIMATORS = {
    name: kind
    for name, kind in PUBLIC.items()
    if isinstance(kind, type) and issubclass(kind, BaseEstimator)
}
SCALES = (1e-30, 1e-8, 1e5, 1e150)
PRICES = "K", "tau", "nu", "C", "epsilon", "rho"
REFUSED = (float("nan"), float("inf"), -1.0, "a", [1.0], {}, 1j)
UNKNOWN = ("nonsense", 3, None)
NO_ATTACK = {("kernels.KernelPCA", "y", attack) for attack in HOSTILE}
NO_ATTACK |= {("kernels.KernelPCA", "X", "short"), *((name, "y", "text") for name in ESTIMATORS)}
ATTACKS = [key for key in product(ESTIMATORS, "Xy", HOSTILE) if key not in NO_ATTACK]
ONE_AND_ONE = np.array([[0.0, 1.0], [2.0, 3.0]])
DEGENERATE = {
    "one point": (X[:1], y[:1], t[:1]),
    "one point of each class": (ONE_AND_ONE, np.array([1.0, -1.0]), np.array([1.0, -1.0])),
    "one class": (X, np.ones(8), np.ones(8)),
    "three classes": (X, np.array([0.0, 1, 2, 0, 1, 2, 0, 1]), t),
    "constant columns": (np.ones((8, 2)), y, t),
    "one constant column": (np.column_stack([X, np.full(8, 7.0)]), y, t),
    "a column of zeros": (np.column_stack([X, np.zeros(8)]), y, t),
    "equal columns": (X[:, [0, 0, 1, 1]], y, t),
    "equal points": (np.vstack([X, X]), np.r_[y, y], np.r_[t, t]),
    "equal points, opposite labels": (np.vstack([X, X]), np.r_[y, -y], np.r_[t, -t]),
    "all points equal": (np.tile(X[:1], (6, 1)), y[1:7], t[:6]),
    "more columns than points": (np.arange(24.0).reshape(2, 12) % 5, np.array([1.0, -1.0]), np.array([3.0, 1.0])),
    "one column": (X[:, :1], y, t),
    "no columns": (X[:, :0], y, t),
    "on a line": (np.outer(np.arange(8.0), [1.0, 2.0]), y, t),
    "one against many": (X, np.r_[1.0, -np.ones(7)], np.r_[100.0, np.zeros(7)]),
    "values all zero": (X, y, np.zeros(8)),
    "values on a plane": (X, y, X @ [1.0, -2.0] + 3.0),
    "far from the origin": (X + 1e3, y, t + 1e3),
}  # fmt: skip


def case(*key: Any) -> Any:
    return pytest.param(*key, id="-".join(map(str, key)))


def labels(name: str, classes: np.ndarray = y, values: np.ndarray = t) -> np.ndarray:
    return classes if name.startswith("svm.") else values


def make(name: str, **parameters: Any) -> Any:
    return ESTIMATORS[name](**parameters)


def options(name: str, gaussian: bool) -> dict[str, Any]:
    return {"kernel": "gaussian"} if gaussian and "kernel" in make(name).get_params() else {}


def fit(model: Any, X: Any, y: Any) -> Any:
    return model.fit(X) if isinstance(model, KernelPCA) else model.fit(X, y)


def outcome(model: Any, X: Any) -> np.ndarray:
    for method in ("decision_function", "transform", "predict"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X))
    raise AssertionError("no method to look at")


def is_good(model: Any, X: np.ndarray, y: np.ndarray) -> bool:
    """Say whether a fitted model has an answer that is proved: by its certificate and exactly."""
    if isinstance(model, IndefiniteSVC):
        return bool(model.certificate_.ok)
    return bool(model.certificate_.ok and verify(model, X, y).ok)


def judge(name: str, X: Any, y: Any, **parameters: Any) -> None:
    """Fit, and accept a proved answer, a warning, or an error that names the cause; nothing else."""
    model = make(name, **parameters)
    with heard() as caught, np.errstate(all="ignore"):
        try:
            fit(model, X, y)
        except Exception as error:
            assert names_the_cause(error) is None  # noqa: PT017
            return
        warned = any(issubclass(w.category, (ConvergenceWarning, UserWarning)) for w in caught)
        assert warned or is_good(model, np.asarray(X, dtype=float), np.asarray(y))


@pytest.mark.parametrize(("name", "argument", "attack"), [case(*key) for key in ATTACKS])
def test_bad_data_are_refused(name: str, argument: str, attack: str) -> None:
    data = {"X": X, "y": labels(name)}
    data[argument] = HOSTILE[attack](data[argument])
    with heard(), pytest.raises(Exception) as caught:
        fit(make(name), data["X"], data["y"])
    assert names_the_cause(caught.value) is None


@pytest.mark.parametrize("name", ESTIMATORS)
def test_bad_points_are_refused_by_a_fitted_model(name: str) -> None:
    with heard():
        model = fit(make(name), X, labels(name))
    methods = [m for m in ("predict", "decision_function", "transform") if hasattr(model, m)]
    for method, attack in product(methods, HOSTILE.keys() - {"short"}):
        with heard(), pytest.raises(Exception) as caught:
            getattr(model, method)(HOSTILE[attack](X))
        assert names_the_cause(caught.value) is None, attack


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_format_gives_the_same_answer(name: str, form: str) -> None:
    target = labels(name)
    points, values = FORMATS[form](X), target if form == "objects" else FORMATS[form](target)
    before = snapshot(points), snapshot(values)
    with heard():
        expected = outcome(fit(make(name), X, target), X)
        answer = outcome(fit(make(name), points, values), points)
    np.testing.assert_allclose(np.abs(answer), np.abs(expected), rtol=1e-7, atol=1e-7)
    assert all(map(np.array_equal, (snapshot(points), snapshot(values)), before))


@pytest.mark.parametrize("data", DEGENERATE.values(), ids=DEGENERATE.keys())
@pytest.mark.parametrize("gaussian", [False, True], ids=["as it is", "Gaussian"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_degenerate_data(name: str, gaussian: bool, data: tuple[np.ndarray, ...]) -> None:
    points, classes, values = data
    judge(name, points, labels(name, classes, values), **options(name, gaussian))


@pytest.mark.parametrize(("name", "factor"), [case(n, f) for n in ESTIMATORS for f in SCALES])
def test_points_and_values_of_any_size(name: str, factor: float) -> None:
    judge(name, X * factor, labels(name))
    if labels(name) is t:
        judge(name, X, t * factor)


def parameters(values: tuple, *wanted: str) -> list[Any]:
    """Each estimator with each of its parameters that are wanted, and each value."""
    own = [(n, p) for n in ESTIMATORS for p in make(n).get_params(deep=False) if p in wanted]
    return [case(name, parameter, value) for name, parameter in own for value in values]


BAD = [*parameters(REFUSED, *PRICES, "tol", "max_iter")]
BAD += parameters(UNKNOWN, "kernel", "intercept", "method")


@pytest.mark.parametrize(("name", "parameter", "value"), BAD)
def test_bad_parameters_are_refused_by_name(name: str, parameter: str, value: Any) -> None:
    with heard(), pytest.raises((ValueError, TypeError), match=rf"\b{parameter}\b"):
        fit(make(name, **{parameter: value}), X, labels(name))


KERNELS = [name for name in ESTIMATORS if "kernel" in make(name).get_params()]


@pytest.mark.parametrize("kernel", ["linear", "rbf", FromFunction(lambda p, q: float(p @ q))])
@pytest.mark.parametrize("name", KERNELS)
def test_the_data_may_change_after_the_fit(name: str, kernel: Any) -> None:
    """A model kept the caller's array, and ``X -= X.mean(axis=0)`` changed what it predicted."""
    own, target = X.copy(), labels(name).copy()
    with heard():
        model = fit(make(name, kernel=kernel), own, target)
        before = outcome(model, X)
        own[:], target[:] = 0.0, 0.0
        assert np.array_equal(outcome(model, X), before)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", KERNELS)
def test_a_second_fit_forgets_the_first(name: str, kernel: str) -> None:
    with heard():
        first = pd.DataFrame(X[:, ::-1], columns=["a", "b"])
        other = np.hstack([X[:6], X[2:]])
        twice = fit(make(name, kernel=kernel), first, labels(name))
        fit(twice, other, labels(name)[1:7])
        once = fit(make(name, kernel=kernel), other, labels(name)[1:7])
        assert vars(twice).keys() == vars(once).keys()
        assert np.array_equal(outcome(twice, other), outcome(once, other))
