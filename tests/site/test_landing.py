"""A link lands on its target: once the page stands still, the target's top is near the header, and under it.

The links are those of the concordance, the list of errata and the reference. A run takes some of them, always the same
ones; continuous integration takes 200. The browser scrolls smoothly, or at once for readers who want no motion.
"""

import os
import random
from typing import Any
from urllib.parse import unquote, urljoin

import pytest
from playwright.sync_api import Browser, ViewportSize

from tests.site.site import DESKTOP, PAGES, PHONE, Reader, tree

LISTS = ["book/concordance.html", "book/errata.html", "book/api.html"]
LISTS += [page for page in PAGES if page.startswith("book/api/")]
SAMPLE = 200 if os.environ.get("CI") or os.environ.get("COMPANION_EXPLORE") else 30
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


def wrong(reader: Reader, link: str, size: ViewportSize) -> str:
    """Open a link; return what is wrong, nothing if it has landed."""
    page = reader.open(link, size)
    page.evaluate(STILL)
    place = page.evaluate(PLACE, unquote(link.partition("#")[2]))
    if place["folded"]:
        return f"{link}: folded"
    # What stands at the end of a page cannot rise to its head.
    near = 0 <= place["below"] <= NEAR or (place["end"] < 2 and place["below"] > 0)
    return "" if near else f"{link}: {place['below']:.0f}"


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desk", "phone"])
def test_links_land(browser: Browser, server: str, size: ViewportSize, motion: Any) -> None:
    known = targets()
    chosen = random.Random(23).sample(known, min(SAMPLE, len(known)))
    part = (motion == "reduce") + 2 * (size == PHONE)
    with Reader(browser, server, reduced_motion=motion) as reader:
        assert [told for link in chosen[part::4] if (told := wrong(reader, link, size))] == []
