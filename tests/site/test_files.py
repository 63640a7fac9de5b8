"""The pages' files, before any script runs: heads, links, pictures, and what waits in them."""

import copy
import os
import re
from collections import Counter
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from bs4 import BeautifulSoup, NavigableString

from tests.site.site import EXTRA, PAGES, ROOT, SITE, source, tree

ALL = sorted({*PAGES, *EXTRA})
HEAD = 100_000  # bytes of scripts that the browser must run before it shows the page
RAW = ("```", ":::", "{ref}", "{prf:", "$$")


@cache
def anchors(page: str) -> frozenset[str]:
    """Return all ids of a page."""
    return frozenset(re.findall(r'<[^<>]*\sid="([^"]+)"', source(page)))


def top(name: str) -> BeautifulSoup:
    """What comes before the text of a page, as it is written: no element that closes the head early is overlooked."""
    return BeautifulSoup(source(name).split("</head>")[0], "html.parser")


def leads(page: str, link: str) -> bool:
    """Whether a link leads to a file of the site, and to an anchor of it."""
    parts = urlsplit(link)
    target = SITE / page
    if parts.path:
        target = (target.parent / unquote(parts.path)).resolve()
    if not target.is_relative_to(SITE) or not target.exists():
        return False
    name = target.relative_to(SITE).as_posix()
    has_anchors = parts.fragment and target.suffix == ".html"
    return not has_anchors or unquote(parts.fragment) in anchors(name)


def links_lead_somewhere_and_ids_are_unique(name: str) -> None:
    tags = tree(name).cssselect("a[href], link[href], script[src], img[src], source[src]")
    links = [tag.get("href") or tag.get("src") for tag in tags]
    inside = [link for link in links if not urlsplit(link).scheme and not urlsplit(link).netloc]
    assert [link for link in inside if not leads(name, link)] == []
    ids = [tag.get("id") for tag in tree(name).cssselect("article [id]")]
    assert sorted(ids) == sorted(set(ids))


def the_head_is_complete(name: str) -> None:
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


def nothing_big_comes_before_the_text(name: str) -> None:
    """Scripts of the head that neither wait nor are data."""
    if name == "search.html":  # it is its index
        return
    scripts = top(name).select("script:not([defer], [async])")
    files = [SITE / name / ".." / tag["src"].split("?")[0] for tag in scripts if tag.get("src")]
    told = sum(len(tag.get_text()) for tag in scripts)
    assert told + sum(Path(os.path.normpath(file)).stat().st_size for file in files) <= HEAD


def pictures_say_their_size_and_wait(name: str) -> None:
    """Every picture is loaded when the reader comes near."""
    pictures = tree(name).cssselect("article img")
    drawn = [picture for picture in pictures if picture.get("src").endswith(".png")]
    assert all(int(p.get("width")) > 0 and int(p.get("height")) > 0 for p in drawn)
    assert all(picture.get("loading") == "lazy" for picture in pictures)


def figures_of_the_notebook_are_on_the_page(name: str) -> None:
    path = (ROOT / name).with_suffix(".ipynb")
    cells = nbformat.read(path, as_version=4).cells if path.exists() else []
    shown = [cell for cell in cells if "remove-cell" not in cell.metadata.get("tags", [])]
    outputs = [output for cell in shown for output in cell.get("outputs", [])]
    if stored := sum("image/png" in output.get("data", {}) for output in outputs):
        assert len(tree(name).cssselect("div.cell_output img")) == stored


def no_address_of_another_host_waits_in_a_script_or_style(name: str) -> None:
    tags = tree(name).cssselect("script[src], link[href], img[src]")
    sources = [tag.get("src") or tag.get("href") for tag in tags]
    assert [url for url in sources if re.match(r"(https?:)?//", url)] == []
    own = tree(name).cssselect("script:not([src]):not([type]), style")
    inline = "\n".join(tag.text_content() for tag in own)
    assert not re.search(r"thebe|https?://(?!www\.w3\.org/)", inline)


def no_raw_markup_is_left(name: str) -> None:
    """Code, data and formulas may hold such signs."""
    suspected = [sign for sign in RAW if sign in source(name)]
    if suspected:
        article = copy.deepcopy(tree(name).cssselect("article")[0])
        for tag in article.cssselect("pre, code, script, .math"):
            tag.drop_tree()
        text = " ".join(article.itertext())
        assert [sign for sign in suspected if sign in text] == []


CHECKS = [
    links_lead_somewhere_and_ids_are_unique,
    the_head_is_complete,
    nothing_big_comes_before_the_text,
    pictures_say_their_size_and_wait,
    figures_of_the_notebook_are_on_the_page,
    no_address_of_another_host_waits_in_a_script_or_style,
    no_raw_markup_is_left,
]


def test_every_listed_page_was_built() -> None:
    missing = [page for page in PAGES if not (SITE / page).exists()]
    assert not missing, "the built site is older than book/_toc.yml: run make book first"


@pytest.mark.parametrize("name", ALL)
def test_file(name: str, subtests: pytest.Subtests) -> None:
    for check in CHECKS:
        with subtests.test(check.__name__):
            check(name)


def test_every_icon_that_a_page_names_has_its_glyph() -> None:
    sheet = (SITE / "_static/vendor/fontawesome/6.5.2/css/all.min.css").read_text(encoding="utf-8")
    named = {word for name in ALL for word in re.findall(r"\bfa-[a-z-]+", source(name))}
    assert [w for w in named - {"fa-solid", "fa-lg"} if f".{w}:before" not in sheet] == []


def test_titles_and_descriptions_tell_pages_apart() -> None:
    heads = [top(name) for name in ALL]
    titles = Counter(head.title.get_text() for head in heads)
    told = Counter(head.select_one("meta[name=description]")["content"] for head in heads)
    assert [text for text, number in (titles + told).items() if number > 1] == []


def test_the_state_of_the_build_knows_how_long_each_notebook_ran() -> None:
    assert "not known" not in source("book/status.html")
