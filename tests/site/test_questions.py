"""Questions answer the keyboard: no reason shows before a choice, and each choice shows its own."""

from __future__ import annotations

import re

import pytest
from lxml.html import HtmlElement
from playwright.sync_api import Page

from tests.site.site import PAGES, SITE, Count, Reader, source, tree

VERDICTS = {True: ("right", "Yes:", "Right."), False: ("wrong", "No:", "Not this one.")}

# What the questions show, read in one go: each new look at a long page costs its layout.
STATES = """
() => [...document.querySelectorAll('.admonition.question')].map(question => ({
  marks: question.querySelectorAll('input').length,
  told: question.querySelector('[role=status]')?.textContent ?? '',
  choices: [...question.querySelectorAll('.question-choices > li')].map(item => {
    const button = item.querySelector('.question-choice');
    const reason = item.querySelector('.question-reason');
    return {
      tag: button.localName,
      stop: button.tabIndex,
      classes: [...item.classList],
      pressed: button.getAttribute('aria-pressed'),
      named: button.innerText.trim() !== '' || button.querySelector('mjx-container') !== null,
      reason: reason.checkVisibility({visibilityProperty: true}) && reason.offsetHeight ? reason.innerText : null,
    };
  }),
}))
"""

# Choose one answer in each question but the first. Returns for which questions the choice did not take the focus.
CHOOSE = """
chosen => [...document.querySelectorAll('.admonition.question')].flatMap((question, i) => {
  if (i === 0) return [];
  const button = question.querySelectorAll('.question-choice')[chosen[i]];
  button.focus();
  button.click();
  return document.activeElement === button ? [] : [i];
})
"""


def asked(name: str) -> list[HtmlElement]:
    """The questions of a page as they are on the disk, before any script runs."""
    return tree(name).cssselect(".admonition.question")


def marks(question: HtmlElement) -> list[bool]:
    """Which choices are right, in their order."""
    boxes = question.cssselect("li.task-list-item input[type=checkbox]")
    return ["checked" in box.attrib for box in boxes]


BOX = re.compile(
    r'<div class="[^"]*\bquestion\b[^"]*\badmonition\b|<div class="[^"]*\badmonition\b[^"]*\bquestion\b'
)
ASKING = [page for page in PAGES if (SITE / page).exists() and BOX.search(source(page))]


def check_choices(states: list[dict], chosen: list[int], right: bool) -> None:
    """Each choice says what it is, to the eye and to a screen reader."""
    name, verdict, told = VERDICTS[right]
    for state, index in zip(states, chosen, strict=True):
        choice = state["choices"][index]
        assert name in choice["classes"]
        assert VERDICTS[not right][0] not in choice["classes"]
        assert choice["pressed"] == "true"
        assert choice["reason"].startswith(verdict)
        assert state["told"].startswith(f"{told} {verdict}")


def pressed_and_explained(state: dict) -> list[int]:
    """The choices that are pressed: their reasons show, and no others do."""
    choices = state["choices"]
    pressed = [i for i, choice in enumerate(choices) if choice["pressed"] == "true"]
    assert pressed == [i for i, choice in enumerate(choices) if choice["reason"]]
    return pressed


def choose(page: Page, chosen: list[int], key: str) -> None:
    """Choose one answer in each question: with a key in the first; the others are buttons as well, and are clicked."""
    question = page.locator(".admonition.question").first
    question.locator(".question-choice").nth(chosen[0]).focus()
    page.keyboard.press(key)
    assert page.evaluate(CHOOSE, chosen) == [], "the choice cannot be reached with the keyboard"


@pytest.mark.parametrize("name", ASKING)
def test_a_choice_shows_its_reason(reader: Reader, name: str, count: Count) -> None:
    """First a wrong choice in each question, then the right one."""
    answers = [marks(question) for question in asked(name)]
    count("questions", len(answers))
    page = reader.open(name)
    states = page.evaluate(STATES)
    for state, right in zip(states, answers, strict=True):
        choices = state["choices"]
        assert len(choices) == len(right) >= 3
        assert state["marks"] == 0, "the marks give the answer away"
        assert all(choice["named"] for choice in choices)
        assert {(c["tag"], c["stop"], c["pressed"]) for c in choices} == {("button", 0, "false")}
        assert pressed_and_explained(state) == []
    wrong_ones = [right.index(False) for right in answers]
    right_ones = [right.index(True) for right in answers]
    choose(page, wrong_ones, "Enter")
    states = page.evaluate(STATES)
    check_choices(states, wrong_ones, False)
    assert [pressed_and_explained(state) for state in states] == [[i] for i in wrong_ones]
    choose(page, right_ones, "Space")
    states = page.evaluate(STATES)
    check_choices(states, right_ones, True)
    both = [sorted(pair) for pair in zip(wrong_ones, right_ones)]
    assert [pressed_and_explained(state) for state in states] == both


@pytest.mark.parametrize("name", ASKING)
def test_each_choice_carries_its_reason_without_the_script(name: str) -> None:
    """The script takes the last emphasis of a choice for the reason; so it must be there, and agree with the mark."""
    for question in asked(name):
        items = question.cssselect("li.task-list-item")
        assert len(items) == len(marks(question)) >= 3
        for item, right in zip(items, marks(question), strict=True):
            paragraph = item.find("p")
            emphases = (item if paragraph is None else paragraph).findall("em")
            assert len(emphases) == 1, item.text_content()
            assert emphases[0].text_content().startswith(VERDICTS[right][1])
