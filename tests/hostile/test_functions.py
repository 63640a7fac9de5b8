"""Every public function and class that takes arrays: bad input is refused by name, every format is understood."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from companion.certificates import verify
from companion.exceptions import ConvergenceWarning
from tests.hostile.attacks import (
    BAD_SCALARS,
    FORMATS,
    HOSTILE,
    SPARSE,
    heard,
    names_the_cause,
    snapshot,
)
from tests.hostile.public import ESTIMATORS, OTHERS, TARGETS, Target, numbers, public_callables

SKLEARN = (
    "Found", "Expected 2D", "could not convert", "Complex data", "argument must be", "Unknown label", "inconsistent",
    "y should be", "Input y", "inhomogeneous", "got one class", "classes", "dense data",
)  # fmt: skip


def case(name: str, argument: str, attack: str) -> Any:
    return pytest.param(TARGETS[name], argument, attack, id=f"{name}-{argument}-{attack}")


ATTACKED = [
    case(name, argument, attack)
    for name, target in TARGETS.items()
    for argument in target.arrays
    for attack in HOSTILE
    if not target.is_legal(argument, attack)
]
WRITTEN = [
    case(name, argument, form)
    for name, target in TARGETS.items()
    for argument, value in target.arrays.items()
    for form in (*FORMATS, *(SPARSE if value.ndim == 2 else ()))
]
MISSET = [
    case(name, argument, attack)
    for name, target in TARGETS.items()
    for argument in target.scalars
    for attack in BAD_SCALARS
    if (argument, attack) not in target.accepts
]


def test_every_public_name_is_in_one_list() -> None:
    others = [name for names in OTHERS.values() for name in names]
    listed = [*TARGETS, *ESTIMATORS, *others]
    assert len(listed) == len(set(listed))
    assert set(listed) == public_callables()


def refused(target: Target, error: BaseException) -> str | None:
    if target.sklearn and any(word in str(error) for word in SKLEARN):
        return None if isinstance(error, (ValueError, TypeError)) else type(error).__name__
    return names_the_cause(error, *target.words)


@pytest.mark.parametrize(("target", "argument", "attack"), ATTACKED)
def test_a_bad_array_is_refused_by_name(target: Target, argument: str, attack: str) -> None:
    hostile = HOSTILE[attack](target.arrays[argument])
    with heard(), pytest.raises(Exception) as caught:
        target(**{argument: hostile})
    assert refused(target, caught.value) is None


@pytest.mark.parametrize(("target", "argument", "form"), WRITTEN)
def test_every_format_gives_the_same_answer(target: Target, argument: str, form: str) -> None:
    value = (FORMATS | SPARSE)[form](target.arrays[argument])
    before = snapshot(value)
    with heard():
        expected = numbers(target())
        try:
            answer = numbers(target(**{argument: value}))
        except (ValueError, TypeError) as error:
            assert target.sklearn  # it refuses sparse matrices and labels that are objects
            assert form in (*SPARSE, "objects")
            assert refused(target, error) is None  # noqa: PT017
            return
    assert np.array_equal(snapshot(value), before), "the input was modified"
    assert len(answer) == len(expected) > 0
    for a, b in zip(answer, expected):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("target", "argument", "attack"), MISSET)
def test_a_bad_number_is_refused_by_name(target: Target, argument: str, attack: str) -> None:
    with heard(), pytest.raises(Exception) as caught:
        target(**{argument: BAD_SCALARS[attack]})
    assert refused(target, caught.value) is None


# -- numbers at the ends of the range: a certified answer, a warning, or an error that names the cause

EXTREME = (1e-300, 1e-150, 1e150, 1e300)
CERTIFIED = (
    "admm.solve_qp", "admm.lasso", "admm.basis_pursuit", "admm.least_absolute_deviations",
    "admm.generalized_lasso", "admm.group_lasso", "regression.lasso_dual", "regression.elastic_net_dual",
)  # fmt: skip


def scaled(target: Target, argument: str, factor: float) -> Any:
    plain = {**target.arrays, **target.fixed, **target.scalars}
    return target.call(**(plain | {argument: target.arrays[argument] * factor}))


def extreme(name: str, argument: str, factor: float) -> Any:
    return pytest.param(name, argument, factor, id=f"{name}-{argument}-{factor:g}")


@pytest.mark.parametrize(
    ("name", "argument", "factor"),
    [
        extreme(name, argument, factor)
        for name in CERTIFIED
        for argument in TARGETS[name].arrays
        for factor in EXTREME
    ],
)
def test_extreme_scales(name: str, argument: str, factor: float) -> None:
    target = TARGETS[name]
    with heard() as caught, np.errstate(all="ignore"):
        try:
            result = scaled(target, argument, factor)
        except Exception as error:
            assert names_the_cause(error, *target.words) is None  # noqa: PT017
            return
    certificate = getattr(result, "certificate", None) or result.qp.certificate
    warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    assert certificate.ok or warned
    if certificate.ok:
        assert verify(result).ok
