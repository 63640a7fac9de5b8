"""What takes no arrays: kernels on sets and groups, and the translations of estimators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.svm import SVC, SVR, NuSVC

from companion import regression, svm, svr
from companion.kernels import (
    Agreement,
    GroupKernel,
    Intersection,
    RKHSFunction,
    Subset,
    UnionComplement,
    VectorFamily,
    expand,
    is_positive_definite,
    subset_features,
    subsets,
)
from tests.hostile.attacks import names_the_cause
from tests.hostile.public import OTHERS, TARGETS

SETS = [{1, 2}, {2, 3}, set(), {1, 2, 3}]
WEIGHTS = {1: 1.0, 2: 2.0, 3: 0.5}


def refuses(call: Callable[[], Any]) -> None:
    with pytest.raises(Exception) as caught:
        call()
    assert names_the_cause(caught.value) is None


@pytest.mark.parametrize("kind", [Agreement, Intersection, UnionComplement])
def test_set_kernels_are_positive_definite(kind: Any) -> None:
    assert is_positive_definite(kind(WEIGHTS)(SETS)).positive_definite


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


def test_frozen_sets_and_lists_of_members_are_the_same_sets() -> None:
    K = Subset()(SETS)
    assert np.array_equal(Subset()([frozenset(s) for s in SETS]), K)


def test_subsets_and_their_features() -> None:
    assert subsets([]) == [()]
    assert np.array_equal(subset_features({1}, [1, 2]), subset_features(frozenset({1}), (1, 2)))
    refuses(lambda: subsets(None))
    refuses(lambda: subset_features({3}, [1, 2]))


def test_group_kernels() -> None:
    def kernel(p: Any) -> Any:
        return GroupKernel(p, lambda a, b: (a + b) % 3, lambda a: -a % 3)

    K = kernel(lambda g: [2.0, 1.0, 1.0][int(np.ravel(g)[0])])([[0], [1], [2]])
    assert np.array_equal(K, [[2, 1, 1], [1, 2, 1], [1, 1, 2]])
    refuses(lambda: kernel(lambda g: float("nan"))([0, 1]))
    refuses(lambda: kernel(lambda g: "a")([0, 1]))
    refuses(lambda: kernel(lambda g: 1.0)([]))


def test_expansions_over_other_families_have_no_inner_product() -> None:
    one, other = (expand([1.0, 2.0], VectorFamily(np.diag(d))) for d in ([1.0, 1.0], [2.0, 2.0]))
    assert one.inner(expand([3.0, 4.0], VectorFamily(np.eye(2)))) == 11.0
    refuses(lambda: one.inner(other))
    refuses(lambda: one.inner(None))
    refuses(lambda: one.restrict([2]))


def test_functions_of_other_spaces_do_not_meet() -> None:
    f = RKHSFunction("rbf", [[0.0], [1.0]], [1.0, 2.0])
    for other in (RKHSFunction("linear", [[0.0]], [1.0]), None, 3.0):
        refuses(lambda other=other: f.inner(other))
        refuses(lambda other=other: f.distance(other))
    refuses(lambda: RKHSFunction.section("rbf", [[0.0], [1.0]]))


@pytest.mark.parametrize("package", [regression, svr])
@pytest.mark.parametrize(
    "model", [SVC(), None, 3, "a", object()], ids=lambda model: type(model).__name__
)
def test_from_sklearn_refuses_strangers(package: Any, model: Any) -> None:
    refuses(lambda: package.from_sklearn(model, 10))


@pytest.mark.parametrize("model", [LinearRegression(), SVR(), None, 3, "a"], ids=repr)
def test_from_sklearn_of_machines_refuses_strangers(model: Any) -> None:
    refuses(lambda: svm.from_sklearn(model))


@pytest.mark.parametrize("model", [LinearRegression(), None, 3, "a"], ids=repr)
def test_to_sklearn_refuses_strangers(model: Any) -> None:
    refuses(lambda: svm.to_sklearn(model, 3, 3))
    refuses(lambda: regression.to_sklearn(model, 10))
    refuses(lambda: svr.to_sklearn(model, 10))


@pytest.mark.parametrize("count", [0, -1, 1.5, "a", None, float("nan")], ids=repr)
def test_bad_numbers_of_points(count: Any) -> None:
    refuses(lambda: svm.to_sklearn(svm.SVMs2prime(nu=0.5), count, 3))
    refuses(lambda: svm.to_sklearn(svm.SVMs2prime(nu=0.5), 3, count))
    refuses(lambda: regression.to_sklearn(regression.Lasso(), count))
    refuses(lambda: svr.to_sklearn(svr.NuSVR(), count))


def test_there_and_back() -> None:
    assert isinstance(svm.from_sklearn(NuSVC(nu=0.3, kernel="linear")), svm.SVMs2prime)
    model = svr.to_sklearn(svr.NuSVR(nu=0.3, C=10.0), 20)
    assert svr.from_sklearn(model, 20).nu == pytest.approx(0.3)


def test_abstract_classes_have_children_in_the_tables() -> None:
    for name in OTHERS["abstract; its children are in the tables"]:
        package, attribute = name.split(".")
        base = getattr(__import__(f"companion.{package}", fromlist=[attribute]), attribute)
        children = {f"{package}.{c.__name__}" for c in base.__subclasses__()}
        deep = {
            f"{package}.{c.__name__}" for b in base.__subclasses__() for c in b.__subclasses__()
        }
        assert (children | deep) & set(TARGETS), name
