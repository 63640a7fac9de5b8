"""axe-core finds no serious or critical violation, in light and in dark mode."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.site.site import PAGES, Reader

GRAVE = ("serious", "critical")


# Formulas are drawings beside their MathML, in the colour of the text around them. To look at each of their
# strokes takes axe a minute on a long page; what matters of them is checked in test_formulas_can_be_read_out.
ALL_BUT_FORMULAS = {"include": [["html"]], "exclude": [["mjx-container"]]}


def violations(page: Page, options: dict) -> list[str]:
    """Return the grave violations, each with its first elements."""
    found = Axe().run(page, context=ALL_BUT_FORMULAS, options=options).response["violations"]
    return [
        f"{v['id']} ({v['impact']}): {v['help']}\n    "
        + "\n    ".join(f"{n['html'][:200]} :: {n['failureSummary'][:300]}" for n in v["nodes"][:4])
        for v in found
        if v["impact"] in GRAVE
    ]


@pytest.mark.parametrize("name", [*PAGES, "search.html"])
def test_axe(reader: Reader, name: str) -> None:
    page = reader.open(name)
    try:
        assert page.evaluate("document.documentElement.dataset.theme") == "light"
        light = violations(page, {"resultTypes": ["violations"]})
        page.emulate_media(color_scheme="dark")
        page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
        page.wait_for_timeout(300)  # colours fade
        only_colours = {
            "runOnly": ["color-contrast", "link-in-text-block"],
            "resultTypes": ["violations"],
        }
        dark = violations(page, only_colours)
    finally:
        page.close()
    assert not light, "light mode:\n" + "\n".join(light)
    assert not dark, "dark mode:\n" + "\n".join(dark)


UNREADABLE = """
() => [...document.querySelectorAll('mjx-container')].filter(c => {
  const math = c.querySelector('mjx-assistive-mml math');
  const svg = c.querySelector(':scope > svg');
  return !math || !math.textContent.trim() || svg.getAttribute('aria-hidden') !== 'true';
}).map(c => c.outerHTML.slice(0, 200))
"""

STRAY_COLOURS = """
() => [...document.querySelectorAll('mjx-container')].filter(c => {
  const ours = getComputedStyle(c.querySelector(':scope > svg')).color;
  return ours !== getComputedStyle(c.parentElement).color;
}).map(c => c.parentElement.outerHTML.slice(0, 200))
"""


@pytest.mark.parametrize("name", PAGES)
def test_formulas_can_be_read_out(reader: Reader, name: str) -> None:
    page = reader.open(name)
    try:
        assert page.evaluate(UNREADABLE) == []
        assert page.evaluate(STRAY_COLOURS) == []
    finally:
        page.close()
