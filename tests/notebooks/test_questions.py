"""The questions on the chapter pages: a stem, a few choices, and a reason for each of them.

JupyterLab shows the task list as it stands; the site's script makes buttons of it (tests/site/questions.py).
"""

import re
from collections import Counter
from typing import NamedTuple

import nbformat
import pytest

from tools.toc import ROOT, pages_in_order

PAGES = [p for p in pages_in_order() if p.startswith("notebooks/") and "/about/" not in p]
BLOCK = re.compile(r"^:::\{admonition\} Question$.*?(?:^:::$|\Z)", re.MULTILINE | re.DOTALL)
HEAD = r"(?s):::\{admonition\} Question\n:class: question\n\n"
SHAPE = re.compile(HEAD + r"(?P<stem>(?!- \[).+?)\n\n(?P<list>(?:- \[[ x]\] [^\n]+\n)+):::\Z")
CHOICE = re.compile(r"- \[(?P<mark>[ x])\] (?P<text>[^*\n]+) \*(?P<reason>[^*\n]+)\*")


class Question(NamedTuple):
    stem: str
    choices: list[tuple[bool, str, str]]  # whether it is right, its text and its reason


def parse(source: str) -> Question:
    """Read a question that is well posed; an AssertionError names what has another shape."""
    shape = SHAPE.match(source.strip())
    assert shape, source
    found = [(line, CHOICE.fullmatch(line)) for line in shape["list"].splitlines()]
    assert [line for line, choice in found if not choice] == []
    question = Question(shape["stem"], [(c[1] == "x", c[2], c[3]) for _, c in found])
    rights, texts, _ = map(set, zip(*question.choices))
    assert rights == {True, False}, source
    assert 3 <= len(question.choices) == len(texts) <= 4, source
    for right, text, reason in question.choices:
        assert re.fullmatch(rf"{'Yes' if right else 'No'}: .*\.", reason), reason
        assert not re.match(r"(Yes|No)\b(?! \w)", text), f"reads like a verdict: {text}"
        for part in (text, reason):
            assert part.count("$") % 2 == 0, f"a formula is not closed: {part}"
    return question


def sources(page: str) -> list[str]:
    cells = nbformat.read(ROOT / f"{page}.ipynb", as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "markdown"]


def questions(page: str) -> list[Question]:
    return [parse(block[0]) for source in sources(page) for block in BLOCK.finditer(source)]


@pytest.mark.parametrize("page", PAGES)
def test_every_page_asks_at_least_two_questions_between_its_sections(page: str) -> None:
    """A question tests what stands above it, so it opens no page, and not all of them come at the end."""
    found = questions(page)
    assert len(found) >= 2
    boxes = sum(source.count(":class: question") for source in sources(page))
    assert boxes == len(found), "each box of the class is found, however its fence is written"
    marked = [BLOCK.search(source) is not None for source in sources(page)]
    assert not any(marked[:2])
    assert not all(marked[-sum(marked) - 1 : -1])


def test_no_question_is_asked_twice_and_the_right_choice_has_no_favourite_place() -> None:
    asked = [question for page in PAGES for question in questions(page)]
    assert len({question.stem for question in asked}) == len(asked)
    places = Counter([right for right, _, _ in question.choices].index(True) for question in asked)
    assert max(places.values()) <= 0.5 * len(asked)
