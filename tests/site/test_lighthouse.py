"""What Lighthouse looks at and needs no network: heads, weight, speed, targets for fingers, pages that stand still."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, NavigableString
from playwright.sync_api import Browser

from tests.site.site import EXTRA, PAGES, PHONE, SITE, Reader, flipbooks, source, tree

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
# Bytes that a browser with an empty cache fetches before the reader scrolls.
PLAIN, WITH_SLIDERS = 3e6, 6e6
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
    """What a page says to search engines and to who shares a link; nothing but elements stands there."""
    page = top(name)
    assert page.html["lang"] == "en"
    assert len(page.title.get_text().strip()) > 10
    (viewport,) = page.select("meta[name=viewport]")
    assert "width=device-width" in viewport["content"]
    assert "scalable=no" not in viewport["content"]
    (description,) = page.select("meta[name=description]")
    assert 30 <= len(description["content"]) <= 160
    assert "\\" not in description["content"]
    shared = {tag["property"]: tag["content"] for tag in page.select("meta[property^='og:']")}
    assert shared["og:description"] == description["content"]
    assert shared.get("og:title") or name in EXTRA
    assert ((SITE / name).parent / shared["og:image"]).resolve().is_file()
    assert page.select_one("link[rel=icon]")
    texts = page.head.find_all(string=True, recursive=False)
    assert "".join(text for text in texts if type(text) is NavigableString).strip() == ""


def test_titles_and_descriptions_tell_pages_apart() -> None:
    heads = [top(name) for name in ALL]
    titles = Counter(head.title.get_text() for head in heads)
    told = Counter(head.select_one("meta[name=description]")["content"] for head in heads)
    assert [text for text, number in (titles + told).items() if number > 1] == []


@pytest.mark.parametrize("name", [name for name in ALL if name != "search.html"])  # it is its index
def test_nothing_big_comes_before_the_text(name: str) -> None:
    """Scripts of the head that neither wait nor are data."""
    scripts = top(name).select("script:not([defer], [async])")
    files = [SITE / name / ".." / tag["src"].split("?")[0] for tag in scripts if tag.get("src")]
    told = sum(len(tag.get_text()) for tag in scripts)
    assert told + sum(Path(os.path.normpath(file)).stat().st_size for file in files) <= HEAD


@pytest.mark.parametrize("name", ALL)
def test_pictures_say_their_size_and_wait(name: str) -> None:
    """Every picture but the first that is seen is loaded when the reader comes near."""
    pictures = tree(name).cssselect("article img")
    drawn = [picture for picture in pictures if picture.get("src").endswith(".png")]
    assert all(int(p.get("width")) > 0 and int(p.get("height")) > 0 for p in drawn)
    hidden = set(tree(name).cssselect("article .in-slider img"))
    seen = [picture for picture in pictures if picture not in hidden]
    assert all(picture.get("loading") == "lazy" for picture in [*hidden, *seen[1:]])


@pytest.mark.parametrize("name", KINDS)
def test_fingers_hit_what_they_aim_at(browser: Browser, server: str, name: str) -> None:
    page = browser.new_page(viewport=PHONE, has_touch=True)
    page.goto(f"{server}/{name}")
    small = page.evaluate(SMALL)
    page.close()
    assert small == []


@pytest.mark.parametrize("name", ALL)
def test_the_page_is_light_and_soon_ready_and_stands_still(reader: Reader, name: str) -> None:
    """A machine that is busy for a moment gets a second and a third chance."""
    seen = reader.visit(name)
    assert seen.moved <= (STILL if name in KINDS else POOR)
    if name in PAGES:
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
