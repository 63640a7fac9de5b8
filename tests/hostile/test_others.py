"""What takes no arrays: kernels on sets, functions of other spaces, and the translations of estimators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.pipeline import Pipeline

from companion import regression, svm, svr
from companion.kernels import (
    Agreement,
    Intersection,
    RKHSFunction,
    Subset,
    UnionComplement,
)
from tests.hostile.attacks import names_the_cause

SETS = [{1, 2}, {2, 3}, set(), {1, 2, 3}]
WEIGHTS = {1: 1.0, 2: 2.0, 3: 0.5}


def refuses(call: Callable[[], Any]) -> None:
    with pytest.raises(Exception) as caught:
        call()
    assert names_the_cause(caught.value) is None


@pytest.mark.parametrize("kind", [Agreement, Intersection, UnionComplement])
@pytest.mark.parametrize(
    "weights",
    [{1: -1.0}, {1: float("nan")}, {1: float("inf")}, {1: "a"}, {1: None}, None, 3.0],
    ids=repr,
)
def test_bad_weights(kind: Any, weights: Any) -> None:
    refuses(lambda: kind(weights)([{1}, set()]))


@pytest.mark.parametrize("kernel", [Subset(), Agreement(WEIGHTS), Intersection(WEIGHTS)], ids=repr)
@pytest.mark.parametrize("points", [[], [1, 2], [None], 3, None], ids=repr)
def test_bad_sets(kernel: Any, points: Any) -> None:
    refuses(lambda: kernel(points))


def test_functions_of_other_spaces_do_not_meet() -> None:
    f = RKHSFunction("rbf", [[0.0], [1.0]], [1.0, 2.0])
    for other in (RKHSFunction("linear", [[0.0]], [1.0]), None, 3.0):
        refuses(lambda other=other: f.inner(other))
        refuses(lambda other=other: f.distance(other))
    refuses(lambda: RKHSFunction.section("rbf", [[0.0], [1.0]]))


@pytest.mark.parametrize("model", [Pipeline([]), None, "a"], ids=lambda m: type(m).__name__)
def test_translations_refuse_strangers(model: Any) -> None:
    refuses(lambda: svm.from_sklearn(model))
    refuses(lambda: regression.from_sklearn(model, 10))
    refuses(lambda: svr.from_sklearn(model, 10))
    refuses(lambda: svm.to_sklearn(model, 3, 3))
    refuses(lambda: regression.to_sklearn(model, 10))
    refuses(lambda: svr.to_sklearn(model, 10))


@pytest.mark.parametrize("count", [0, -1, 1.5, "a", None, float("nan")], ids=repr)
def test_bad_numbers_of_points(count: Any) -> None:
    refuses(lambda: svm.to_sklearn(svm.SVMs2prime(nu=0.5), count, 3))
    refuses(lambda: svm.to_sklearn(svm.SVMs2prime(nu=0.5), 3, count))
    refuses(lambda: regression.to_sklearn(regression.Lasso(), count))
    refuses(lambda: svr.to_sklearn(svr.NuSVR(), count))
