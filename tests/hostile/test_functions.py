"""Functions and classes that take arrays: bad input is refused by name, every format is understood."""

from typing import Any

import numpy as np
import pytest

from companion.exceptions import ConvergenceWarning
from tests.exact import verify
from tests.hostile.attacks import BAD_SCALARS, HOSTILE, formats_of, heard, names_the_cause, snapshot
from tests.hostile.public import TARGETS, Target, numbers

EXTREME = (1e-30, 1e30, 1e150)
CERTIFIED = (
    "admm.solve_qp", "admm.lasso", "admm.basis_pursuit", "admm.least_absolute_deviations",
    "admm.generalized_lasso", "admm.group_lasso", "regression.lasso_dual", "regression.elastic_net_dual",
)  # fmt: skip


def each(kind: str) -> list[Any]:
    """Return the targets with each of their arrays, or of their scalars."""
    found = [(n, target, a) for n, target in TARGETS.items() for a in getattr(target, kind)]
    return [pytest.param(target, argument, id=f"{n}-{argument}") for n, target, argument in found]


def refusal(target: Target, argument: str, value: Any) -> str | None:
    """Call with an argument that must be refused; return what is wrong with the answer, or None."""
    with heard():
        try:
            target(**{argument: value})
        except Exception as error:
            return names_the_cause(error, *target.words)
    return "accepted"


@pytest.mark.parametrize(("target", "argument"), [*each("arrays"), *each("scalars")])
def test_bad_arguments_are_refused_by_name(target: Target, argument: str) -> None:
    array = target.arrays.get(argument)
    bad = BAD_SCALARS if array is None else {n: attack(array) for n, attack in HOSTILE.items()}
    seen = {
        n: refusal(target, argument, v) for n, v in bad.items() if not target.is_legal(argument, n)
    }
    assert seen == dict.fromkeys(seen)


def misread(target: Target, argument: str, value: Any, expected: list[np.ndarray]) -> str | None:
    """Give an array in another format; return what is wrong with the answer, or None."""
    before = snapshot(value)
    with heard():
        try:
            answer = numbers(target(**{argument: value}))
        except (ValueError, TypeError) as error:
            return f"refused: {error}"
    if not np.array_equal(snapshot(value), before):
        return "the input was modified"
    same = len(answer) == len(expected) > 0 and all(
        a.shape == b.shape and np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)
        for a, b in zip(answer, expected)
    )
    return None if same else "another answer"


@pytest.mark.parametrize(("target", "argument"), each("arrays"))
def test_every_format_gives_the_same_answer(target: Target, argument: str) -> None:
    with heard():
        expected = numbers(target())
    array = target.arrays[argument]
    forms = formats_of(array).items()
    seen = {form: misread(target, argument, change(array), expected) for form, change in forms}
    assert seen == dict.fromkeys(seen)


def judge_call(target: Target, **changes: np.ndarray) -> None:
    """Call, and accept a proved answer, a warning, or an error that names the cause; nothing else."""
    with heard() as caught, np.errstate(all="ignore"):
        try:
            result = target.call(**(target.arrays | target.fixed | target.scalars | changes))
        except Exception as error:
            assert names_the_cause(error, *target.words) is None  # noqa: PT017
            return
    certificate = getattr(result, "certificate", None) or result.qp.certificate
    assert certificate.ok or any(issubclass(w.category, ConvergenceWarning) for w in caught)
    assert not certificate.ok or verify(result).ok


@pytest.mark.parametrize("factor", EXTREME)
@pytest.mark.parametrize(
    ("name", "argument"), [(n, a) for n in CERTIFIED for a in TARGETS[n].arrays]
)
def test_extreme_scales(name: str, argument: str, factor: float) -> None:
    target = TARGETS[name]
    judge_call(target, **{argument: target.arrays[argument] * factor})
