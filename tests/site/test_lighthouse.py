"""What Lighthouse looks at and needs no network: heads, weight, speed, targets for fingers, pages that stand still."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, NavigableString
from playwright.sync_api import Browser

from tests.site.site import EXTRA, PAGES, PHONE, SITE, Count, Reader, flipbooks, source, tree

ALL = sorted({*PAGES, *EXTRA})
# One page of each kind: sliders, questions, wide tables, a drawing, the reference.
KINDS = [
    "book/intro.html",
    "notebooks/svm/nu-svm.html",
    "book/concordance.html",
    "book/map.html",
    "book/api/admm.html",
]
# Lighthouse calls a shift of 0.1 good and 0.25 poor; a line of TeX that becomes shorter when set moves the rest up.
STILL, POOR = 0.15, 0.25
PLAIN, WITH_SLIDERS = (
    3e6,
    6e6,
)  # bytes that a browser with an empty cache fetches before the reader scrolls
READY = 1500  # ms from the request to a page that answers
HEAD = 100_000  # bytes of scripts that the browser must run before it shows the page

# Links and buttons smaller than 24 px, except within a line of text.
SMALL = """
() => [...document.querySelectorAll('a[href], button, input, select, summary')].filter(e => {
  const box = e.getBoundingClientRect();
  const style = getComputedStyle(e);
  if (!box.width || !box.height || style.visibility === 'hidden') return false;
  if (e.closest('.visually-hidden, .skip-link, #pst-skip-link, mjx-container, svg')) return false;
  if (e.closest('.bd-sidebar-primary, .bd-sidebar-secondary') && box.right <= 0) return false;
  const line = e.parentElement.closest('p, li, td, dd, dt, small, h1, h2, h3, h4, caption, div');
  const inText = style.display.startsWith('inline') && line.textContent.trim() !== e.textContent.trim();
  return !inText && (box.width < 23.5 || box.height < 23.5);
}).map(e => `${e.outerHTML.slice(0, 120)} ${JSON.stringify(e.getBoundingClientRect())}`)
"""

# Go down a page as a reader does, window by window; return how much moved until now.
SCROLL = """
async ([step, end]) => {
  const frame = () => new Promise(requestAnimationFrame);
  for (let y = 0; y < Math.min(end, document.body.scrollHeight); y += step) {
    window.scrollTo(0, y);
    await frame();
    await frame();
  }
  window.scrollTo(0, 0);
  await frame();
  return window.shifts.reduce((sum, shift) => sum + shift, 0);
}
"""


def top(name: str) -> BeautifulSoup:
    """What comes before the text of a page, as it is written: no element that closes the head early is overlooked."""
    return BeautifulSoup(source(name).split("</head>")[0], "html.parser")


@pytest.mark.parametrize("name", ALL)
def test_head(name: str) -> None:
    page = top(name)
    assert page.html["lang"] == "en"
    assert len(page.title.get_text().strip()) > 10
    viewports = [tag["content"] for tag in page.select("meta[name=viewport]")]
    assert len(viewports) == 1
    assert "width=device-width" in viewports[0]
    assert "scalable=no" not in viewports[0]
    (description,) = page.select("meta[name=description]")
    assert 30 <= len(description["content"]) <= 160
    assert "\\" not in description["content"]
    assert page.select_one("link[rel=icon]")
    texts = page.head.find_all(string=True, recursive=False)
    loose = "".join(text for text in texts if type(text) is NavigableString)
    assert loose.strip() == "", "nothing but elements stands in the head"


def test_titles_and_descriptions_tell_pages_apart() -> None:
    heads = [top(name) for name in ALL]
    titles = Counter(head.title.get_text() for head in heads)
    told = Counter(head.select_one("meta[name=description]")["content"] for head in heads)
    assert [text for text, number in (titles + told).items() if number > 1] == []


@pytest.mark.parametrize("name", [name for name in ALL if name != "search.html"])  # it is its index
def test_nothing_big_comes_before_the_text(name: str) -> None:
    """Scripts of the head that neither wait nor are data."""
    total = 0
    for script in top(name).select("script"):
        if script.has_attr("defer") or script.has_attr("async"):
            continue
        if script.get("src"):
            total += ((SITE / name).parent / script["src"].split("?")[0]).resolve().stat().st_size
        else:
            total += len(script.get_text())
    assert total <= HEAD


@pytest.mark.parametrize("name", ALL)
def test_pictures_say_their_size_and_wait(name: str) -> None:
    """Every picture but the first that is seen is loaded when the reader comes near."""
    pictures = tree(name).cssselect("article img")
    for picture in pictures:
        if Path(picture.get("src")).suffix == ".png":
            assert int(picture.get("width")) > 0
            assert int(picture.get("height")) > 0
    hidden = set(tree(name).cssselect("article .in-slider img"))
    seen = [picture for picture in pictures if picture not in hidden]
    assert all(picture.get("loading") == "lazy" for picture in [*hidden, *seen[1:]])


def test_fonts_do_not_hide_the_text() -> None:
    """Text is set in the reader's own fonts; only the icons are a font, and it is in the style sheet."""
    for sheet in SITE.rglob("_static/**/*.css"):
        for rule in sheet.read_text(encoding="utf-8").split("@font-face")[1:]:
            body = rule.split("}")[0]
            icons = "Font Awesome" in body or "FontAwesome" in body
            assert icons or "font-display:swap" in body.replace(" ", ""), sheet.name


@pytest.mark.parametrize("name", KINDS)
def test_fingers_hit_what_they_aim_at(browser: Browser, server: str, name: str) -> None:
    context = browser.new_context(viewport=PHONE, has_touch=True)
    page = context.new_page()
    page.goto(f"{server}/{name}")
    page.wait_for_load_state("load")
    small = page.evaluate(SMALL)
    context.close()
    assert small == []


@pytest.mark.parametrize("name", ALL)
def test_the_page_is_light_and_soon_ready_and_stands_still(
    reader: Reader, name: str, count: Count
) -> None:
    """A machine that is busy for a moment gets a second and a third chance."""
    seen = reader.visit(name)
    assert seen.moved <= (STILL if name in KINDS else POOR)
    if name in PAGES:
        count("MB in all pages", seen.bytes / 1e6)
        assert seen.bytes <= (WITH_SLIDERS if flipbooks(name) else PLAIN)
        times = [seen.ready]
        while times[-1] > READY and len(times) < 3:
            reader.close()
            times.append(reader.visit(name).ready)
        assert times[-1] <= READY, f"ready after {times} ms"


@pytest.mark.parametrize("name", KINDS)
def test_the_page_stands_still_while_it_is_read(reader: Reader, name: str) -> None:
    reader.close()  # a page that nobody has scrolled
    assert reader.open(name).evaluate(SCROLL, [800, 12_000]) <= STILL
