"""Opening pages of the built site and reading off what the tests check."""

from __future__ import annotations

import functools
import http.server
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lxml import html
from playwright.sync_api import Browser, Page, Request, ViewportSize

from tools.toc import ROOT, pages_in_order

SITE = Path(os.environ.get("COMPANION_SITE", ROOT / "build/_build/html")).resolve()
PHONE = ViewportSize(width=390, height=844)
DESKTOP = ViewportSize(width=1280, height=900)
PATIENCE = 300_000  # ms; after them something hangs on any machine: no test demands speed


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serve files without a log."""

    log_message = staticmethod(lambda *_: None)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder; give its address, without a slash at its end."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


PAGES = [f"{page}.html" for page in pages_in_order()]
EXTRA = ["genindex.html", "search.html"]  # made by Sphinx


def source(page: str) -> str:
    """The HTML of a page as it is on the disk, before any script runs."""
    return (SITE / page.split("?")[0]).read_text(encoding="utf-8")


@lru_cache(4)  # the checks of a page follow each other
def tree(page: str) -> html.HtmlElement:
    """The elements of a page before any script runs."""
    return html.document_fromstring(source(page), parser=html.HTMLParser(huge_tree=True))


@cache
def has_formulas(page: str) -> bool:
    """Whether there is something for MathJax to set."""
    return re.search(r'<(span|div) class="[^"]*\bmath\b', source(page)) is not None


@cache
def flipbooks(page: str) -> int:
    """How many flipbooks the widget state of a page describes; the package's own code names them too."""
    return 0 if page.startswith("_modules/") else source(page).count('"companion-flipbook"')


# What the page is made of, and how much moved.
MEASURED = """
() => {
  const [page, ...parts] = ['navigation', 'resource'].flatMap(type => performance.getEntriesByType(type));
  return {
    bytes: parts.reduce((sum, part) => sum + part.encodedBodySize, page.encodedBodySize),
    moved: window.shifts.reduce((sum, shift) => sum + shift, 0),
  };
}
"""


# Nobody was here before; how much moves that the reader did not move, as browsers count it.
NEW_READER = """
if (location.protocol !== 'about:') localStorage.clear();
window.shifts = [];
new PerformanceObserver(list => list.getEntries().forEach(e => { if (!e.hadRecentInput) window.shifts.push(e.value); }))
  .observe({type: 'layout-shift', buffered: true});
"""


@dataclass
class Visit:
    """A page that a new reader opened, and what was heard while it opened."""

    name: str
    page: Page
    console: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    bytes: int = 0
    moved: float = 0.0  # as browsers count it


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


# The page finds out what scrolls 100 ms after its window has changed.
ADAPTED = """
() => new Promise(done => requestAnimationFrame(() => {
  window.dispatchEvent(new Event('resize'));
  setTimeout(done, 100);
}))
"""


def resize(page: Page, size: ViewportSize) -> None:
    """Change the window, and wait until the page has adapted."""
    page.set_viewport_size(size)
    page.evaluate(ADAPTED)


class Reader:
    """Opens one page after the other, in one window, and notes every request and every message.

    The browser keeps the files that pages share; the pages themselves find nothing that another one left.
    """

    def __init__(self, browser: Browser, base: str, **options: Any) -> None:
        self.base = base.rstrip("/")
        self.context = browser.new_context(viewport=DESKTOP, **options)
        self.context.set_default_timeout(PATIENCE)
        self.context.add_init_script(NEW_READER)
        self.page = page = self.context.new_page()
        self.now = Visit("", page)
        page.on("console", lambda m: self.now.console.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: self.now.console.append(str(error)))
        page.on("requestfailed", lambda r: self.now.failed.append(r.url))
        page.on(
            "response",
            lambda r: self.now.failed.append(f"{r.status} {r.url}") if r.status >= 400 else None,
        )
        page.on("request", lambda r: self.now.foreign.append(r.url) if self.is_foreign(r) else None)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.context.close()

    def is_foreign(self, request: Request) -> bool:
        scheme = urlsplit(request.url).scheme
        return scheme not in ("data", "blob") and not request.url.startswith(self.base + "/")

    def visit(self, link: str, size: ViewportSize = DESKTOP) -> Visit:
        """Open a page as a new reader does, and wait until it is complete."""
        page = self.page
        page.goto("about:blank")
        page.set_viewport_size(size)
        page.emulate_media(color_scheme="light", media="screen")
        self.now = visit = Visit(link.partition("#")[0], page)
        page.goto(f"{self.base}/{link}")
        settle(page, visit.name)
        measured = page.evaluate(MEASURED)
        visit.bytes, visit.moved = measured["bytes"], measured["moved"]
        return visit

    def open(self, link: str, size: ViewportSize = DESKTOP) -> Page:
        """The page as it is opened anew."""
        return self.visit(link, size).page
