"""Questions answer the keyboard: no reason shows before a choice, and each choice shows its own."""

from __future__ import annotations

import re

import pytest
from bs4 import Tag
from playwright.sync_api import Locator, Page

from tests.site.site import PAGES, SITE, Count, Reader, soup, source

VERDICTS = {True: ("right", "Yes:", "Right."), False: ("wrong", "No:", "Not this one.")}

# What a question shows, read in one go.
STATE = """
question => ({
  marks: question.querySelectorAll('input').length,
  told: question.querySelector('[role=status]')?.textContent ?? '',
  choices: [...question.querySelectorAll('.question-choices > li')].map(item => {
    const button = item.querySelector('.question-choice');
    const reason = item.querySelector('.question-reason');
    return {
      classes: [...item.classList],
      pressed: button.getAttribute('aria-pressed'),
      named: button.innerText.trim() !== '' || button.querySelector('mjx-container') !== null,
      focused: document.activeElement === button,
      reason: reason.checkVisibility({visibilityProperty: true}) && reason.offsetHeight ? reason.innerText : null,
    };
  }),
})
"""


def asked(name: str) -> list[Tag]:
    """The questions of a page as they are on the disk, before any script runs."""
    return soup(name).select(".admonition.question")


def marks(question: Tag) -> list[bool]:
    """Which choices are right, in their order."""
    boxes = question.select("li.task-list-item input[type=checkbox]")
    return [box.has_attr("checked") for box in boxes]


BOX = re.compile(
    r'<div class="[^"]*\bquestion\b[^"]*\badmonition\b|<div class="[^"]*\badmonition\b[^"]*\bquestion\b'
)
ASKING = [page for page in PAGES if (SITE / page).exists() and BOX.search(source(page))]


def choose(page: Page, question: Locator, index: int, right: bool, key: str) -> None:
    """Choose with the keyboard; the choice says what it is, to the eye and to a screen reader."""
    question.locator(".question-choice").nth(index).focus()
    page.keyboard.press(key)
    state = question.evaluate(STATE)
    choice = state["choices"][index]
    name, verdict, told = VERDICTS[right]
    assert choice["focused"], "the choice cannot be reached with the keyboard"
    assert name in choice["classes"]
    assert VERDICTS[not right][0] not in choice["classes"]
    assert choice["pressed"] == "true"
    assert choice["reason"].startswith(verdict)
    assert state["told"].startswith(f"{told} {verdict}")


def pressed_and_explained(question: Locator) -> list[int]:
    """The choices that are pressed: their reasons show, and no others do."""
    choices = question.evaluate(STATE)["choices"]
    pressed = [i for i, choice in enumerate(choices) if choice["pressed"] == "true"]
    assert pressed == [i for i, choice in enumerate(choices) if choice["reason"]]
    return pressed


def check_question(page: Page, question: Locator, right: list[bool]) -> None:
    """One question: first a wrong choice, then the right one."""
    state = question.evaluate(STATE)
    assert len(state["choices"]) == len(right) >= 3
    assert state["marks"] == 0, "the marks give the answer away"
    assert all(choice["named"] for choice in state["choices"])
    assert {choice["pressed"] for choice in state["choices"]} == {"false"}
    assert pressed_and_explained(question) == []

    wrong_one, right_one = right.index(False), right.index(True)
    choose(page, question, wrong_one, False, "Enter")
    assert pressed_and_explained(question) == [wrong_one]
    choose(page, question, right_one, True, "Space")
    assert pressed_and_explained(question) == sorted([wrong_one, right_one])


def test_there_are_questions() -> None:
    assert ASKING


@pytest.mark.parametrize("name", ASKING)
def test_a_choice_shows_its_reason(reader: Reader, name: str, count: Count) -> None:
    count("questions", len(asked(name)))
    page = reader.open(name)
    questions = page.locator(".admonition.question")
    expected = [marks(question) for question in asked(name)]
    assert questions.count() == len(expected)
    for i, right in enumerate(expected):
        check_question(page, questions.nth(i), right)


@pytest.mark.parametrize("name", ASKING)
def test_each_choice_carries_its_reason_without_the_script(name: str) -> None:
    """The script takes the last emphasis of a choice for the reason; so it must be there, and agree with the mark."""
    for question in asked(name):
        items = question.select("li.task-list-item")
        assert len(items) == len(marks(question)) >= 3
        for item, right in zip(items, marks(question), strict=True):
            home = item.find("p", recursive=False) or item
            emphases = home.find_all("em", recursive=False)
            assert len(emphases) == 1, item.get_text()
            assert emphases[0].get_text().startswith(VERDICTS[right][1])
