"""Opening pages of the built site and reading off what the tests check."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from lxml import html
from playwright.sync_api import Browser, BrowserContext, Page, Request, ViewportSize

from tools.toc import ROOT, pages_in_order

SITE = Path(os.environ.get("COMPANION_SITE", ROOT / "build/_build/html")).resolve()
PHONE = ViewportSize(width=390, height=844)
DESKTOP = ViewportSize(width=1280, height=900)


PAGES = [f"{page}.html" for page in pages_in_order()]
EXTRA = ["genindex.html", "search.html"]  # made by Sphinx


def source(page: str) -> str:
    """The HTML of a page as it is on the disk, before any script runs."""
    return (SITE / page.split("?")[0]).read_text(encoding="utf-8")


@lru_cache(4)  # the tests of a page follow each other
def tree(page: str) -> html.HtmlElement:
    """The elements of a page before any script runs."""
    return html.document_fromstring(source(page), parser=html.HTMLParser(huge_tree=True))


@cache
def has_formulas(page: str) -> bool:
    """Whether there is something for MathJax to set."""
    return re.search(r'<(span|div) class="[^"]*\bmath\b', source(page)) is not None


@cache
def flipbooks(page: str) -> int:
    """How many flipbooks the widget state of a page describes. (Quotes in its text are not quotes in its source.)"""
    return source(page).count('"companion-flipbook"')


# What the browser fetched until now, when the page answered, and how much moved.
MEASURED = """
() => {
  const page = performance.getEntriesByType('navigation')[0];
  const parts = performance.getEntriesByType('resource');
  return {
    bytes: page.transferSize + parts.reduce((sum, part) => sum + part.transferSize, 0),
    ready: page.domInteractive,
    moved: window.shifts.reduce((sum, shift) => sum + shift, 0),
  };
}
"""


# How much moves that the reader did not move, as browsers count it.
SHIFTS = """
window.shifts = [];
new PerformanceObserver(list => list.getEntries().forEach(e => { if (!e.hadRecentInput) window.shifts.push(e.value); }))
  .observe({type: 'layout-shift', buffered: true});
"""


@dataclass
class Visit:
    """A page in a browser that had nothing in its cache, and what was heard while it opened."""

    name: str
    page: Page
    console: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    bytes: int = 0
    ready: float = 0.0  # milliseconds
    moved: float = 0.0  # as SHIFTS counts it


def settle(page: Page, name: str) -> None:
    """Wait until formulas and widgets are drawn."""
    page.wait_for_load_state("load")
    if has_formulas(name):
        page.wait_for_function("() => window.MathJax?.startup?.promise")
        page.evaluate("() => MathJax.startup.promise.then(() => true)")
    if count := flipbooks(name):
        page.wait_for_function(
            "n => document.querySelectorAll('.companion-flipbook').length >= n", arg=count
        )
        page.wait_for_function(
            "() => [...document.querySelectorAll('.companion-flipbook')]"
            ".every(f => f.querySelector('input[type=range], select') && f.querySelector('img'))"
        )


class Reader:
    """Opens pages and notes every request and every message.

    One page stays open: the tests of a page follow each other (see ``pytest_collection_modifyitems``), and all of
    them look at the same opened page. A test that changes its colours sets them back, and one that changes its text
    calls `close`.
    """

    def __init__(self, browser: Browser, base: str) -> None:
        self.browser = browser
        self.base = base.rstrip("/")
        self.now: Visit | None = None

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        if self.now is not None:
            self.now.page.context.close()
        self.now = None

    def context(self) -> BrowserContext:
        made = self.browser.new_context(viewport=DESKTOP)
        made.set_default_timeout(20_000)
        made.add_init_script(SHIFTS)
        return made

    def is_foreign(self, request: Request) -> bool:
        scheme = urlsplit(request.url).scheme
        return scheme not in ("data", "blob") and not request.url.startswith(self.base + "/")

    def visit(self, name: str) -> Visit:
        """The page as a new reader gets it, complete; opened unless it is the page that is open."""
        if self.now is None or self.now.name != name:
            self.close()
            page = self.context().new_page()
            self.now = visit = Visit(name, page)
            page.on(
                "console", lambda m: visit.console.append(m.text) if m.type == "error" else None
            )
            page.on("pageerror", lambda error: visit.console.append(str(error)))
            page.on("requestfailed", lambda r: visit.failed.append(r.url))
            page.on(
                "response",
                lambda r: visit.failed.append(f"{r.status} {r.url}") if r.status >= 400 else None,
            )
            page.on(
                "request", lambda r: visit.foreign.append(r.url) if self.is_foreign(r) else None
            )
            page.goto(f"{self.base}/{name}")
            settle(page, name)
            measured = page.evaluate(MEASURED)
            visit.bytes, visit.ready = measured["bytes"], measured["ready"]
            visit.moved = measured["moved"]
        return self.now

    def open(self, name: str, size: ViewportSize | None = DESKTOP) -> Page:
        """The page, in a window of this size, or of any size."""
        page = self.visit(name).page
        if size and page.viewport_size != size:
            page.set_viewport_size(size)
        return page
