"""Questions answer the keyboard: no reason shows before a choice, and each choice shows its own."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.site.site import PAGES, tree
from tools.toc import text_of

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

# Choose one answer in each question but the first. Returns those that did not take the focus.
# All of them first: a page that has changed is laid out anew before an element can take the focus.
CHOOSE = """
chosen => {
  const questions = [...document.querySelectorAll('.admonition.question')];
  const buttons = questions.map((question, i) => question.querySelectorAll('.question-choice')[chosen[i]]).slice(1);
  const missed = buttons.filter(button => (button.focus(), document.activeElement !== button));
  buttons.forEach(button => button.click());
  return missed.map(button => button.innerText);
}
"""


def answers(name: str) -> list[list[bool]]:
    """Which choices of each question of a page are right, in their order, before any script runs."""
    asked = tree(name).cssselect(".admonition.question")
    boxes = [question.cssselect("input[type=checkbox]") for question in asked]
    return [["checked" in box.attrib for box in question] for question in boxes]


ASKING = [page for page in PAGES if ":class: question" in text_of(page.removesuffix(".html"))]


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


def check_questions(page: Page, name: str) -> None:
    """First a wrong choice in each question, then the right one."""
    rights = answers(name)
    for state, right in zip(page.evaluate(STATES), rights, strict=True):
        choices = state["choices"]
        assert len(choices) == len(right) >= 3
        assert state["marks"] == 0, "the marks give the answer away"
        assert all(choice["named"] for choice in choices)
        assert {(c["tag"], c["stop"], c["pressed"]) for c in choices} == {("button", 0, "false")}
        assert pressed_and_explained(state) == []
    pressed: list[set[int]] = [set() for _ in rights]
    for is_right, key in ((False, "Enter"), (True, "Space")):
        chosen = [right.index(is_right) for right in rights]
        choose(page, chosen, key)
        states = page.evaluate(STATES)
        check_choices(states, chosen, is_right)
        pressed = [before | {now} for before, now in zip(pressed, chosen)]
        assert [set(pressed_and_explained(state)) for state in states] == pressed
