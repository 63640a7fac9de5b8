"""The runner of mutants: it changes one place, and it tells a test that notices from one that does not."""

from __future__ import annotations

import ast

import pytest

from tools import mutants
from tools.mutants import Mutant, changed, file_of, judge, mutants_of

SOURCE = '''
"""Text with 1 and 2."""
LIMIT: int = 3


def f(x: float = 0.5) -> float:
    """Return 7."""
    if x < LIMIT and not x == 1.0:
        raise ValueError(f"{x} is below {LIMIT - 1}")
    return max(x, -2) + 1
'''


def test_every_kind_of_change_occurs_and_texts_stay() -> None:
    found = {(m.before, m.after) for m in mutants_of("m", SOURCE)}
    assert found == {
        ("3", "4"),
        ("0.5", "1.0"),
        ("x < LIMIT", "x <= LIMIT"),
        ("x < LIMIT", "x >= LIMIT"),
        ("x < LIMIT and (not x == 1.0)", "x < LIMIT or not x == 1.0"),
        ("not x == 1.0", "x == 1.0"),
        ("x == 1.0", "x != 1.0"),
        ("1.0", "2.0"),
        ("max", "min"),
        ("-2", "2"),
        ("2", "3"),
        ("1", "2"),
        ("max(x, -2) + 1", "max(x, -2) - 1"),
    }


def test_each_mutant_differs_in_one_place() -> None:
    true = ast.unparse(ast.parse(SOURCE)).splitlines()
    for mutant in mutants_of("m", SOURCE):
        lines = ast.unparse(changed(mutant, SOURCE)).splitlines()
        different = [(a, b) for a, b in zip(true, lines, strict=True) if a != b]
        assert len(different) == 1, mutant
        assert SOURCE.splitlines()[mutant.line - 1].strip().startswith(different[0][0].strip()[:5])


def test_no_change_is_no_change() -> None:
    assert ast.unparse(changed(Mutant("m", 0, "", ""), SOURCE)) == ast.unparse(ast.parse(SOURCE))


def test_the_modules_and_their_tests_exist() -> None:
    for module, tests in mutants.TESTS.items():
        assert file_of(module).exists()
        assert all((mutants.ROOT / test).exists() for test in tests)


@pytest.mark.slow
def test_a_mutant_dies_and_an_unchanged_module_lives() -> None:
    """In processes of their own, with the true tests of a small module."""
    module = "companion.svm.bounds"
    source = file_of(module).read_text(encoding="utf-8")
    wrong = next(m for m in mutants_of(module, source) if "min" in m.before and "max" in m.after)
    verdicts = dict(judge([Mutant(module, 0, "", ""), wrong], 2))
    assert verdicts == {Mutant(module, 0, "", ""): True, wrong: False}
