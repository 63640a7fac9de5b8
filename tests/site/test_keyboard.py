"""A page without a mouse, and on paper."""

import pytest
from playwright.sync_api import Page

from tests.site.site import Reader

NAME = "notebooks/admm/dual-ascent.html"  # a slider, questions, solutions, folded code

# Where the focus is, whether it can be seen, and whether anything shows it.
FOCUS = """
() => {
  const active = document.activeElement;
  const e = active.querySelector(':scope > .toctree-toggle') ?? active;  // the arrow stands for its summary
  const style = getComputedStyle(e), box = e.getBoundingClientRect();
  return {
    body: e === document.body,
    what: e.outerHTML.slice(0, 100),
    seen: box.width > 0 && box.height > 0 && style.visibility !== 'hidden',
    marked: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== 'none',
  };
}
"""


@pytest.fixture
def page(reader: Reader) -> Page:
    return reader.open(NAME)


def test_the_first_stop_skips_the_navigation(page: Page) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.getAttribute('href')") == "#main-content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.querySelector('main').contains(document.activeElement)")


def test_every_stop_is_seen_and_the_last_one_can_be_left(page: Page) -> None:
    seen: list[str] = []
    for _ in range(400):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUS)
        if stop["body"]:
            break
        assert stop["seen"], stop["what"]
        assert stop["marked"], stop["what"]
        seen.append(stop["what"])
    else:
        pytest.fail("the focus never leaves the page")
    assert any("question-choice" in what for what in seen)
    assert any('type="range"' in what for what in seen)
    assert any("<summary" in what for what in seen)


def test_folded_things_open_by_key(page: Page) -> None:
    page.locator("button.all-solutions").press("Enter")
    assert page.locator(".solution.toggle-hidden").count() == 0
    page.locator("button.all-solutions").press("Enter")
    assert page.locator(".solution.toggle-hidden").count() > 1
    page.locator(".solution button.toggle-button").first.press("Enter")
    assert page.locator(".solution p >> visible=true").count() > 0
    fold = page.locator("details.hide").first
    fold.locator("summary").press("Enter")
    assert fold.get_attribute("open") is not None
    choice = page.locator("button.question-choice").first
    choice.press("Space")
    assert choice.get_attribute("aria-pressed") == "true"


def test_on_paper_what_was_opened_is_open_and_controls_are_gone(page: Page) -> None:
    """A sheet of problems is printed without solutions; each that was opened is there."""
    page.locator(".solution button.toggle-button").first.press("Enter")
    page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    for hidden in (".flipbook-slider", ".all-solutions", ".bd-sidebar-primary", ".headerlink"):
        assert page.locator(f"{hidden} >> visible=true").count() == 0, hidden
    assert page.locator(".flipbook-picture img").first.is_visible()
    solutions = page.locator(".solution")
    assert solutions.count() > 1
    shown = [
        solutions.nth(i).locator("section p").first.is_visible() for i in range(solutions.count())
    ]
    assert shown == [True] + [False] * (len(shown) - 1)
    reasons = page.locator(".question-reason")
    assert reasons.count() > 0
    assert not reasons.first.is_visible()


def test_folds_say_what_they_hold(page: Page) -> None:
    """To the eye and to a screen reader."""
    folds = page.locator("details.hide > summary")
    names = {
        name.strip()
        for name in folds.evaluate_all("all => all.map(s => s.firstElementChild.innerText)")
    }
    assert "Code of the figure" in names
    assert not [name for name in names if name.startswith("Show")]
    assert folds.evaluate_all("all => all.filter(s => s.ariaLabel).length") == 0
