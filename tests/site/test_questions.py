"""Questions answer the keyboard: no reason shows before a choice, and each choice shows its own."""

from __future__ import annotations

import pytest
from bs4 import Tag
from playwright.sync_api import Locator, Page

from tests.site.site import PAGES, SITE, Count, Reader, soup

VERDICTS = {True: ("right", "Yes:", "Right."), False: ("wrong", "No:", "Not this one.")}
FOCUSED = "e => document.activeElement === e"


def asked(name: str) -> list[Tag]:
    """The questions of a page as they are on the disk, before any script runs."""
    return soup(name).select(".admonition.question")


def marks(question: Tag) -> list[bool]:
    """Which choices are right, in their order."""
    boxes = question.select("li.task-list-item input[type=checkbox]")
    return [box.has_attr("checked") for box in boxes]


ASKING = [page for page in PAGES if (SITE / page).exists() and asked(page)]


def visible(reasons: Locator) -> list[bool]:
    return [reasons.nth(i).is_visible() for i in range(reasons.count())]


def choose(page: Page, question: Locator, index: int, right: bool, key: str) -> None:
    """Choose with the keyboard; the choice says what it is, to the eye and to a screen reader."""
    item = question.locator(".question-choices > li").nth(index)
    button = item.locator(".question-choice")
    button.focus()
    assert button.evaluate(FOCUSED), "the choice cannot be reached with the keyboard"
    page.keyboard.press(key)
    name, verdict, told = VERDICTS[right]
    other = VERDICTS[not right][0]
    classes = (item.get_attribute("class") or "").split()
    assert name in classes
    assert other not in classes
    assert button.get_attribute("aria-pressed") == "true"
    reason = item.locator(".question-reason")
    assert reason.is_visible()
    assert reason.inner_text().startswith(verdict)
    status = question.locator("[role=status]")
    assert (status.text_content() or "").startswith(f"{told} {verdict}")


def check_question(page: Page, question: Locator, right: list[bool]) -> None:
    """One question: first a wrong choice, then the right one."""
    question.scroll_into_view_if_needed()
    choices, reasons = question.locator(".question-choice"), question.locator(".question-reason")
    assert choices.count() == reasons.count() == len(right) >= 3
    assert question.locator("input").count() == 0, "the marks give the answer away"
    assert visible(reasons) == [False] * len(right)
    for i in range(len(right)):
        assert choices.nth(i).get_attribute("aria-pressed") == "false"
        assert (
            choices.nth(i).inner_text().strip() or choices.nth(i).locator("mjx-container").count()
        )

    wrong_one, right_one = right.index(False), right.index(True)
    choose(page, question, wrong_one, False, "Enter")
    assert visible(reasons) == [i == wrong_one for i in range(len(right))]
    choose(page, question, right_one, True, "Space")
    assert visible(reasons) == [i in (wrong_one, right_one) for i in range(len(right))]
    pressed = [choices.nth(i).get_attribute("aria-pressed") for i in range(len(right))]
    assert pressed.count("true") == 2, "choosing one choice presses another"


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
