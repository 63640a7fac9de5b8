"""A link lands on its target: once the page stands still, the target's top is near the header, and under it.

The links are those of the concordance, the list of errata and the reference. A run takes some of them, always the same
ones; ``make test-all`` takes 200. Each is opened in a window that has nothing in its cache.
"""

from __future__ import annotations

import os
import random
from urllib.parse import unquote, urljoin

import pytest
from playwright.sync_api import ViewportSize

from tests.site.site import DESKTOP, PAGES, PHONE, Reader, settle, tree

LISTS = ["book/concordance.html", "book/errata.html", "book/api.html"]
LISTS += [page for page in PAGES if page.startswith("book/api/")]
SAMPLE = 200 if os.environ.get("COMPANION_EXPLORE") else 30
NEAR = 150  # pixels below the header
# Where the target stands below what stays at the top, and whether the reader sees it.
PLACE = """
name => {
  const target = document.getElementById(name), head = document.querySelector('.bd-header-article');
  const bar = document.querySelector('.table-filter');
  const stays = [head, bar].filter(e => e && ['sticky', 'fixed'].includes(getComputedStyle(e).position));
  const covered = Math.max(...stays.map(e => e.getBoundingClientRect().bottom));
  const end = document.scrollingElement.scrollHeight - innerHeight - scrollY;
  const folded = target.closest('.toggle-hidden, details:not([open])') !== null;
  return {below: target.getBoundingClientRect().top - covered, end, folded};
}
"""
STILL = """
() => new Promise(done => {
  let last = [], same = 0;
  const look = () => {
    const now = [scrollY, document.body.scrollHeight].join();
    same = now === last ? same + 1 : 0;
    last = now;
    same > 5 ? done(true) : setTimeout(look, 50);
  };
  look();
})
"""


def targets() -> list[str]:
    """Return all addresses with an anchor that the lists name."""
    links = {
        urljoin(page, str(link.get("href")))
        for page in LISTS
        for link in tree(page).cssselect("article a.reference.internal[href*='#']")
    }
    return sorted(links)


def sample() -> list[tuple[str, ViewportSize]]:
    """Return some of them, in turn for a desk and for a phone."""
    known = targets()
    chosen = random.Random(23).sample(known, min(SAMPLE, len(known)))
    return [(link, (DESKTOP, PHONE)[i % 2]) for i, link in enumerate(chosen)]


def landed(reader: Reader, link: str, size: ViewportSize) -> str:
    """Open a link as a new reader; return what is wrong, nothing if it has landed."""
    context = reader.context()
    page = context.new_page()
    page.set_viewport_size(size)
    try:
        page.goto(f"{reader.base}/{link}", timeout=20_000)
        settle(page, link.partition("#")[0])
        page.evaluate(STILL)
        place = page.evaluate(PLACE, unquote(link.partition("#")[2]))
    finally:
        context.close()
    if place["folded"]:
        return f"{link}: folded"
    # What stands at the end of a page cannot rise to its head.
    near = 0 <= place["below"] <= NEAR or (place["end"] < 2 and place["below"] > 0)
    return "" if near else f"{link} at {size['width']}: {place['below']:.0f}"


@pytest.mark.parametrize("part", range(4))
def test_links_land(part: int, reader: Reader) -> None:
    mine = sample()[part::4]
    assert len(mine) >= 5
    assert [told for told in (landed(reader, *one) for one in mine) if told] == []
