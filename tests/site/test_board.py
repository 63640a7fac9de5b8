"""The board of points in a browser: keys, mouse, words. A small model stands in for the kernel."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from companion.boards import board, point_board
from tests.site.site import PATIENCE

VALUES = {"program": "(SVM_s2), C-SVM", "K": 1.0, "nu": 0.5}
START = [[2.0, 1.0, 1], [3.0, 3.0, 1], [-2.0, -1.0, -1], [-3.0, 0.0, -1]]

# A model as the real one: it tells each change to the listener at once.
MODEL = """
(state) => {
  let listener;
  window.state = state;
  return {
    get: (name) => state[name],
    set: (name, value) => {
      state[name] = value;
      listener();
    },
    save_changes() {},
    on: (event, told) => (listener = told),
    off() {},
  };
}
"""


def state() -> dict[str, Any]:
    """What the kernel sends to begin with."""
    made = point_board(*([x[:2] for x in START if x[2] == sign] for sign in (1, -1)), **VALUES)
    assert isinstance(made, board.BoardPicture)
    return made.state | {"result": made.result}


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page with nothing but the board."""
    errors: list[str] = []
    opened = browser.new_page(viewport={"width": 900, "height": 900})
    opened.set_default_timeout(PATIENCE)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.set_content('<html lang="en"><title>board</title><main id="here"></main></html>')
    opened.add_style_tag(content=(board.BROWSER / "board.css").read_text(encoding="utf-8"))
    module = board.module("point")
    opened.evaluate(
        f"""async (source) => {{
          const url = URL.createObjectURL(new Blob([source], {{ type: "text/javascript" }}));
          const module = (await import(url)).default;
          module.render({{ model: ({MODEL})({json.dumps(state())}), el: document.getElementById("here") }});
        }}""",
        module,
    )
    yield opened
    assert errors == []
    opened.close()


def points(page: Page) -> list[list[float]]:
    return page.evaluate("state.points")


def press(page: Page, *keys: str) -> list[list[float]]:
    """Press keys on the board; return the points that it has then."""
    page.locator("svg").focus()
    for key in keys:
        page.keyboard.press(key)
    return points(page)


def test_arrows_move_the_selected_point(page: Page) -> None:
    assert press(page, "ArrowRight", "ArrowUp") == [[2.2, 1.2, 1], *START[1:]]
    assert press(page, "Shift+ArrowLeft")[0] == [0.2, 1.2, 1]
    moved = press(page, "n", "n", "ArrowDown", "p", "p", "p", "ArrowDown")
    assert moved == [[0.2, 1.2, 1], START[1], [-2.0, -1.2, -1], [-3.0, -0.2, -1]]
    moved = press(page, "p", *["Shift+ArrowUp"] * 5, *["Shift+ArrowRight"] * 5)
    assert moved[2] == [5, 5, -1]  # it stays on the board
    assert press(page, "Control+a", "Alt+b") == moved  # keys with a modifier belong to the browser


def names(page: Page) -> list[str]:
    return page.locator(".board-point").evaluate_all("gs => gs.map(g => g.ariaLabel)")


def test_words_for_screen_readers(page: Page) -> None:
    svg = page.locator("svg")
    assert "hyperplanes" in (svg.get_attribute("aria-label") or "")
    assert "arrows" in page.inner_text(f"[id='{svg.get_attribute('aria-describedby')}']")
    shortcuts = page.locator("button").evaluate_all("bs => bs.map(b => b.ariaKeyShortcuts)")
    assert shortcuts == ["a", "b", "Delete", "Escape"]
    told = names(page)
    assert [name.split(" at")[0] for name in told] == ["blue 1", "blue 2", "red 1", "red 2"]
    assert re.search(r"multiplier [\d.]+, slack 0, type 1", told[0])
    press(page, "n")
    assert page.inner_text("[role=status][aria-live=polite]") == told[1]


def test_an_old_answer_is_not_shown_for_new_points(page: Page) -> None:
    press(page, "a")  # nobody fits here: the result still has four entries
    assert len(names(page)) == 5
    assert not any("multiplier" in name for name in names(page))
