"""The questions on the chapter pages: a stem, a few choices, and a reason for each of them.

A question is the directive `admonition` of the class `question` with a task list, in a cell of its own or not.
JupyterLab shows it as it stands; the site's script makes buttons of the choices (tests/site/test_questions.py).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import NamedTuple

import pytest

from tools.toc import ROOT, pages_in_order

PAGES = [p for p in pages_in_order() if p.startswith("notebooks/") and "/about/" not in p]

MARKER = "```{admonition} Question"
SHAPE = re.compile(
    r"```\{admonition\} Question\n:class: question\n\n"
    r"(?P<stem>(?!- \[).+?)\n\n(?P<list>(?:- \[[ x]\] [^\n]+\n)+)```\Z",
    flags=re.DOTALL,
)
BLOCK = re.compile(rf"^{re.escape(MARKER)}$.*?(?:^```$|\Z)", flags=re.MULTILINE | re.DOTALL)
CHOICE = re.compile(r"- \[(?P<mark>[ x])\] (?P<text>[^*\n]+) \*(?P<reason>[^*\n]+)\*")


class Choice(NamedTuple):
    """One line of the task list."""

    right: bool
    text: str
    reason: str


class Question(NamedTuple):
    """One question."""

    stem: str
    choices: tuple[Choice, ...]


def parse(source: str) -> Question:
    """Read a question; an AssertionError names the line that has another shape."""
    shape = SHAPE.match(source.strip())
    assert shape, source
    found = [(line, CHOICE.fullmatch(line)) for line in shape["list"].splitlines()]
    assert [line for line, choice in found if not choice] == []
    choices = (Choice(c["mark"] == "x", c["text"], c["reason"]) for _, c in found)
    return Question(shape["stem"], tuple(choices))


def sources(page: str) -> list[str]:
    cells = json.loads((ROOT / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]


def questions(page: str) -> list[Question]:
    return [parse(block[0]) for source in sources(page) for block in BLOCK.finditer(source)]


def well_posed(question: Question) -> None:
    """Check what a reader relies on: marks and reasons agree, one formula is closed, nothing is doubled."""
    assert 3 <= len(question.choices) <= 4, question.stem
    rights = sum(choice.right for choice in question.choices)
    assert 1 <= rights < len(question.choices), question.stem
    assert len({choice.text for choice in question.choices}) == len(question.choices)
    for choice in question.choices:
        assert choice.reason.startswith("Yes: " if choice.right else "No: "), choice
        assert choice.reason.endswith("."), choice
        assert not re.match(r"(Yes|No)\b(?! \w)", choice.text), f"reads like a verdict: {choice}"
        for part in (choice.text, choice.reason):
            assert part.count("$") % 2 == 0, f"a formula is not closed: {part}"


@pytest.mark.parametrize("page", PAGES)
def test_every_page_asks_at_least_two_questions_between_its_sections(page: str) -> None:
    """A question tests what stands above it, so it opens no page, and not all of them come at the end."""
    found = questions(page)
    for question in found:
        well_posed(question)
    assert len(found) >= 2
    boxes = sum(source.count(":class: question") for source in sources(page))
    assert boxes == len(found), "each box of the class is found, however its fence is written"
    marked = [MARKER in source for source in sources(page)]
    assert not any(marked[:2])
    assert not all(marked[-sum(marked) - 1 : -1])


def test_no_question_is_asked_twice_and_the_right_choice_has_no_favourite_place() -> None:
    asked = [question for page in PAGES for question in questions(page)]
    stems = Counter(question.stem for question in asked)
    assert [stem for stem, count in stems.items() if count > 1] == []
    places = Counter(
        [choice.right for choice in question.choices].index(True) for question in asked
    )
    assert max(places.values()) <= 0.5 * len(asked)


GOOD = """```{admonition} Question
:class: question

What is $1 + 1$?

- [ ] $1$ *No: something was added.*
- [x] $2$ *Yes: count.*
- [ ] $3$ *No: that is one too many.*
```"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("*Yes: count.*", "*No: count.*"),
        ("*Yes: count.*", "Yes: count."),
        ("*Yes: count.*", "*Yes: *count*.*"),
        ("- [x] $2$", "- [ ] $2$"),
        ("What is $1 + 1$?\n\n", ""),
        ("- [ ] $3$ *No: that is one too many.*\n", ""),
        ("- [ ] $3$", "- [ ] $2$"),
        ("- [ ] $3$", "- [ ] $3"),
        ("- [ ] $3$", "- [ ] Yes, three"),
        (":class: question", ":class: tip"),
    ],
)
def test_the_check_can_fail(old: str, new: str) -> None:
    well_posed(parse(GOOD))
    broken = GOOD.replace(old, new, 1)
    assert broken != GOOD
    with pytest.raises(AssertionError):
        well_posed(parse(broken))
