"""Every exercise has hints, and a check or a list for its proof; each known mistake is met by its own message."""

import ast
import inspect
import re
from typing import Any

import numpy as np
import pytest

from companion.exercises import Feedback, Numbers
from tools.exercises import Exercise, asked, exercises
from tools.sheet import bound

ALL = exercises()
CHECKED = [e for e in ALL if e.check]
TO_DO = 0  # exercises without hints and a check or a list for a proof: a ratchet, to end at 0
CHECKS = 97  # at least so many have a check
NONSENSE = ("three", np.zeros((2, 3, 4)), np.nan, np.complex128(1j), lambda *_: None, [], {})


def of_each(found: list[Exercise]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("exercise", found, ids=[e.label for e in found])


def defined(exercise: Exercise) -> dict[str, Any]:
    """Return what a cell of a check defines by itself: nothing of its page."""
    assert exercise.check is not None
    names: dict[str, Any] = {}
    exec(exercise.check.source, names)
    return names


def test_each_has_hints_and_a_check_or_a_list_for_its_proof() -> None:
    ready = [len(e.hints) >= 2 and bool(e.check or e.proof) for e in ALL]
    assert ready.count(False) <= TO_DO, [e.label for e, done in zip(ALL, ready) if not done]
    assert len(CHECKED) >= CHECKS


@of_each(CHECKED)
def test_the_reference_is_right(exercise: Exercise) -> None:
    """The solution calls the check; its stored output, which nbval compares, says that it is right."""
    assert exercise.check is not None
    name, wanted = asked(exercise.check.source)
    assert name == "check_" + exercise.label.removeprefix("exr-").replace("-", "_")
    cells = [c for c in exercise.solution if c.cell_type == "code" and f"{name}(" in c.source]
    assert cells, f"no cell of the solution calls {name}"
    trees = [ast.parse(c.source) for c in exercise.solution if c.cell_type == "code"]
    defined = set().union(*(bound(s) for tree in trees for s in tree.body))
    assert set(wanted) <= defined, "the solution defines them, as a reader does"
    told = [str(o.get("text", o.get("data", {}).get("text/plain", ""))) for o in cells[-1].outputs]
    assert any(text.startswith("Right.") or "\nRight." in text for text in told), told


@of_each(CHECKED)
def test_known_mistakes_are_met_by_their_own_messages(exercise: Exercise) -> None:
    assert exercise.check is not None
    names = defined(exercise)
    name, wanted = asked(exercise.check.source)
    check, messages = names[name], []
    if isinstance(check, Numbers):
        right = {n: a.right for n, a in check.answers.items()}
        for n, answer in check.answers.items():
            for wrong, message in answer.mistakes:
                told = check(**{**right, n: wrong})
                assert (told.right, told.text) == (False, message)
                messages.append(message)
        assert check(**right).right
        for value in right.values():
            given = re.compile(rf"(?<![\d.]){re.escape(f'{value:.6g}')}(?![\d.])")
            whole = abs(value) < 10 and value == int(value)  # such numbers stand in any sentence
            assert whole or not [m for m in messages if given.search(m)], f"given away: {value}"
    for mistake in exercise.check.metadata.get("exercise", {}).get("mistakes", []):
        space = dict(names)
        exec(mistake["answer"], space)
        told = check(*(space[n] for n in wanted))
        assert not told.right, mistake["answer"]
        assert mistake["says"] in told.text, f"{mistake['answer']}\n{told.text}"
        messages.append(mistake["says"])
    assert len(set(messages)) >= 3


@of_each(CHECKED)
def test_nonsense_is_answered_kindly(exercise: Exercise) -> None:
    assert exercise.check is not None
    name, wanted = asked(exercise.check.source)
    check = defined(exercise)[name]
    assert list(inspect.signature(getattr(check, "_judge", check)).parameters) == wanted
    for nothing in (..., None):
        told = check(*[nothing] * len(wanted))
        assert isinstance(told, Feedback)
        assert not told.right
        assert "no value" in told.text
    for nonsense in NONSENSE:
        told = check(*[nonsense] * len(wanted))
        assert isinstance(told, Feedback)
        assert not told.right, nonsense
