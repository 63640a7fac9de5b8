"""The search: chapters before lists, excerpts from the text, a field that can be read, at any width."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.site.site import PAGES, PHONE, Reader

DONE = "() => document.querySelector('.search-summary')?.textContent.includes('found')"
# How far the lens reaches into what is typed, in pixels.
COVERED = """
field => {
  const lens = field.parentElement.querySelector('.fa-magnifying-glass').getBoundingClientRect();
  const box = field.getBoundingClientRect(), style = getComputedStyle(field);
  return lens.right - box.left - parseFloat(style.borderLeftWidth) - parseFloat(style.paddingLeft);
}
"""


def search(reader: Reader, words: str) -> Page:
    page = reader.open(f"search.html?q={words}")
    page.wait_for_function(DONE)
    return page


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("ridge", "notebooks/regression/ridge.html"),
        ("proximal+operators", "notebooks/admm/proximal-operators.html"),
        ("solve_qp", "book/api/admm.html"),
    ],
)
def test_what_is_called_so_comes_first(reader: Reader, words: str, wanted: str) -> None:
    link = search(reader, words).locator("#search-results li a").first
    assert link.evaluate("a => a.pathname").endswith(wanted)


def test_an_excerpt_is_text_of_the_article(reader: Reader) -> None:
    excerpt = search(reader, "ridge").locator("#search-results li .context").first
    excerpt.wait_for()
    told = excerpt.inner_text()
    assert "ridge" in told.lower()
    assert ".pdf" not in told
    assert "Contents" not in told


def test_results_fit_a_phone(reader: Reader) -> None:
    search(reader, "ridge")
    page = reader.open("search.html?q=ridge", PHONE)
    page.locator("#search-results li .context").last.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("name", [PAGES[0], "search.html?q=ridge"])
def test_the_lens_covers_nothing(reader: Reader, name: str) -> None:
    page = reader.open(name)
    if name == PAGES[0]:
        page.keyboard.press("Control+k")
    assert page.locator("input[type=search]:visible").first.evaluate(COVERED) <= 0
    reader.close()
