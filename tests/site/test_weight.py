"""Pages are light and soon ready: what a browser fetches before the reader scrolls, and when it can be used."""

from __future__ import annotations

import re

import pytest

from tests.site.site import PAGES, Count, Reader, flipbooks, source, tree

MEGABYTE = 1e6
PLAIN, WITH_SLIDERS = 3.0, 6.0  # MB
READY = 1500  # ms from the request to a page that answers


@pytest.mark.parametrize("name", PAGES)
def test_weight(reader: Reader, name: str, count: Count) -> None:
    """Nothing was in the browser's cache."""
    limit = WITH_SLIDERS if flipbooks(name) else PLAIN
    size = reader.visit(name).bytes / MEGABYTE
    count("MB in all pages", size)
    assert size <= limit


@pytest.mark.parametrize("name", PAGES)
def test_time(reader: Reader, name: str) -> None:
    """A machine that is busy for a moment gets a second and a third chance."""
    times = [reader.visit(name).ready]
    while times[-1] > READY and len(times) < 3:
        reader.close()
        times.append(reader.visit(name).ready)
    assert times[-1] <= READY, f"ready after {times} ms"


@pytest.mark.parametrize("name", PAGES)
def test_pictures_wait(name: str) -> None:
    """Every picture of a page but the first that is seen is loaded when the reader comes near."""
    pictures = tree(name).cssselect("article img")
    hidden = set(tree(name).cssselect("article .in-slider img"))
    seen = [picture for picture in pictures if picture not in hidden]
    assert all(picture.get("loading") == "lazy" for picture in [*hidden, *seen[1:]])


def test_no_page_asks_for_the_widget_manager() -> None:
    for name in PAGES:
        sources = re.findall(r'<script[^<>]*\ssrc="([^"]+)"', source(name))
        assert not any("embed-amd" in s or "require.js" in s for s in sources)
        assert any("flipbook.js" in s for s in sources) == (flipbooks(name) > 0)
