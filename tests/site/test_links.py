"""Every link inside the site leads somewhere, to the anchor that it names."""

from __future__ import annotations

import copy
import re
from functools import cache
from urllib.parse import unquote, urlsplit

import pytest

from tests.site.site import EXTRA, PAGES, SITE, source, tree


@cache
def anchors(page: str) -> frozenset[str]:
    """Return all ids of a page."""
    return frozenset(re.findall(r'<[^<>]*\sid="([^"]+)"', source(page)))


def inside(page: str) -> list[str]:
    """Return the links of a page that lead to the site itself."""
    tags = tree(page).cssselect("a[href], link[href], script[src], img[src], source[src]")
    links = [tag.get("href") or tag.get("src") for tag in tags]
    return [link for link in links if not urlsplit(link).scheme and not urlsplit(link).netloc]


def broken(page: str, links: list[str]) -> list[str]:
    """Return the links that lead nowhere."""

    def leads(link: str) -> bool:
        parts = urlsplit(link)
        target = SITE / page
        if parts.path:
            target = (target.parent / unquote(parts.path)).resolve()
        if not target.is_relative_to(SITE) or not target.exists():
            return False
        name = target.relative_to(SITE).as_posix()
        has_anchors = parts.fragment and target.suffix == ".html"
        return not has_anchors or unquote(parts.fragment) in anchors(name)

    return [link for link in links if not leads(link)]


@pytest.mark.parametrize("name", [*PAGES, *EXTRA, "index.html"])
def test_links_resolve_and_ids_are_unique(name: str) -> None:
    links = inside(name)
    assert broken(name, links) == []
    ids = [tag.get("id") for tag in tree(name).cssselect("article [id]")]
    assert sorted(ids) == sorted(set(ids))


RAW = ("```", ":::", "{ref}", "{prf:", "$$")


@pytest.mark.parametrize("name", PAGES)
def test_no_raw_markup_is_left(name: str) -> None:
    """Code, data and formulas may hold such signs."""
    suspected = [sign for sign in RAW if sign in source(name)]
    if suspected:
        article = copy.deepcopy(tree(name).cssselect("article")[0])
        for tag in article.cssselect("pre, code, script, .math"):
            tag.drop_tree()
        text = " ".join(article.itertext())
        assert [sign for sign in suspected if sign in text] == []
