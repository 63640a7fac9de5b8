"""Every link inside the site leads somewhere, to the anchor that it names."""

from __future__ import annotations

import copy
from functools import cache
from urllib.parse import unquote, urlsplit

import pytest

from tests.site.site import EXTRA, PAGES, SITE, soup


@cache
def anchors(page: str) -> frozenset[str]:
    """Return all ids of a page."""
    return frozenset(tag["id"] for tag in soup(page).select("[id]"))


def broken(page: str) -> list[str]:
    """Return the internal links of a page that lead nowhere."""
    bad = []
    for tag in soup(page).select("a[href], link[href], script[src], img[src], source[src]"):
        link = tag.get("href") or tag.get("src")
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (SITE / page).parent / unquote(parts.path) if parts.path else SITE / page
        target = target.resolve()
        if target.is_dir():
            target /= "index.html"
        if not target.is_relative_to(SITE) or not target.exists():
            bad.append(f"{link}: no such file")
        elif parts.fragment and target.suffix == ".html":
            name = target.relative_to(SITE).as_posix()
            if unquote(parts.fragment) not in anchors(name) and parts.fragment != "":
                bad.append(f"{link}: no such anchor")
    return bad


@pytest.mark.parametrize("name", [*PAGES, *EXTRA, "index.html"])
def test_links_resolve(name: str) -> None:
    assert broken(name) == []


@pytest.mark.parametrize("name", PAGES)
def test_ids_are_unique(name: str) -> None:
    ids = [tag["id"] for tag in soup(name).select("article [id]")]
    assert sorted(ids) == sorted(set(ids))


@pytest.mark.parametrize("name", PAGES)
def test_no_raw_markup_is_left(name: str) -> None:
    article = copy.copy(soup(name).select_one("article"))
    for tag in article.select("pre, code, script, .math"):
        tag.extract()
    text = article.get_text(" ")
    assert "```" not in text
    assert ":::" not in text
    assert "{ref}" not in text
    assert "{prf:" not in text
    assert "$$" not in text
