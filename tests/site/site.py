"""Opening pages of the built site and reading off what the tests check."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bs4 import BeautifulSoup
from playwright.sync_api import Browser, Page, Request

from tools.toc import ROOT, pages_in_order

SITE = Path(os.environ.get("COMPANION_SITE", ROOT / "build/_build/html")).resolve()
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 900}


PAGES = [f"{page}.html" for page in pages_in_order()]
EXTRA = ["genindex.html", "search.html"]  # made by Sphinx


@cache
def soup(page: str) -> BeautifulSoup:
    """The HTML of a page as it is on the disk, before any script runs."""
    return BeautifulSoup((SITE / page.split("?")[0]).read_text(encoding="utf-8"), "html.parser")


def flipbooks(page: str) -> int:
    """How many flipbooks the widget state of a page describes."""
    states = soup(page).find_all("script", type="application/vnd.jupyter.widget-state+json")
    return sum(script.text.count('"companion-flipbook"') for script in states)


# What is wider than the window and cannot be scrolled to. Text for screen readers is out of sight on purpose.
TOO_WIDE = """
() => {
  const limit = document.documentElement.clientWidth + 1;
  const hidden = 'mjx-assistive-mml, .visually-hidden, .sr-only, .skip-link, #pst-skip-link, '
    + '.bd-sidebar-primary, .bd-sidebar-secondary';
  const scrolls = e => ['auto', 'scroll'].includes(getComputedStyle(e).overflowX);
  const bad = [];
  for (const e of document.querySelectorAll('body *')) {
    const box = e.getBoundingClientRect();
    if (box.width === 0 || box.right <= limit || e.closest(hidden)) continue;
    let p = e.parentElement;
    while (p && p !== document.body && !scrolls(p)) p = p.parentElement;
    if (p === document.body) bad.push(`${e.tagName}.${e.className} ends at ${Math.round(box.right)}`);
  }
  return bad.slice(0, 5);
}
"""

IMAGES = (
    "() => [...document.images].map(i => ({alt: i.getAttribute('alt'), src: i.src.slice(0, 120), "
    + ("decorative: i.closest('.navbar-brand, [aria-hidden=true]') !== null}))")
)

# Formulas without MathML for screen readers, and formulas in another colour than the text around them.
UNREADABLE = """
() => [...document.querySelectorAll('mjx-container')].filter(c => {
  const math = c.querySelector('mjx-assistive-mml math');
  const svg = c.querySelector(':scope > svg');
  return !math || !math.textContent.trim() || svg.getAttribute('aria-hidden') !== 'true';
}).map(c => c.outerHTML.slice(0, 200))
"""

STRAY_COLOURS = """
() => [...document.querySelectorAll('mjx-container')].filter(c => {
  const ours = getComputedStyle(c.querySelector(':scope > svg')).color;
  return ours !== getComputedStyle(c.parentElement).color;
}).map(c => c.parentElement.outerHTML.slice(0, 200))
"""


@dataclass
class Visit:
    """What was seen on one page."""

    page: str
    console: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    images: list[dict[str, Any]] = field(default_factory=list)
    formulas: int = 0
    formula_errors: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    stray_colours: list[str] = field(default_factory=list)
    flipbooks: int = 0
    scroll_width: int = 0
    too_wide: list[str] = field(default_factory=list)


def settle(page: Page, name: str) -> None:
    """Wait until formulas and widgets are drawn."""
    page.wait_for_load_state("load")
    if soup(name).select(".math"):
        page.wait_for_function("() => window.MathJax?.startup?.promise")
        page.evaluate("() => MathJax.startup.promise.then(() => true)")
    if count := flipbooks(name):
        page.wait_for_function(
            "n => document.querySelectorAll('.companion-flipbook').length >= n", arg=count
        )
        page.wait_for_function(
            "() => [...document.querySelectorAll('.companion-flipbook')]"
            ".every(f => f.querySelector('input[type=range]') && f.querySelector('img'))"
        )


class Reader:
    """A browser window that notes every request and every message of the pages it opens."""

    def __init__(self, browser: Browser, base: str) -> None:
        self.base = base.rstrip("/")
        self.context = browser.new_context(viewport=DESKTOP)
        self.context.set_default_timeout(20_000)
        self.visits: dict[str, Visit] = {}

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.context.close()

    def is_foreign(self, request: Request) -> bool:
        scheme = urlsplit(request.url).scheme
        return scheme not in ("data", "blob") and not request.url.startswith(self.base + "/")

    def open(self, name: str, visit: Visit | None = None) -> Page:
        """Open a page in a new tab and wait until it is complete."""
        visit = visit or Visit(name)
        page = self.context.new_page()
        page.on(
            "console",
            lambda m: visit.console.append(m.text) if m.type == "error" else None,
        )
        page.on("pageerror", lambda error: visit.console.append(str(error)))
        page.on("requestfailed", lambda r: visit.failed.append(r.url))
        page.on(
            "response",
            lambda r: visit.failed.append(f"{r.status} {r.url}") if r.status >= 400 else None,
        )
        page.on("request", lambda r: visit.foreign.append(r.url) if self.is_foreign(r) else None)
        page.goto(f"{self.base}/{name}")
        settle(page, name)
        return page

    def visit(self, name: str) -> Visit:
        """Open a page once and read off everything that the tests look at."""
        if name not in self.visits:
            seen = Visit(name)
            page = self.open(name, seen)
            seen.images = page.evaluate(IMAGES)
            seen.formulas = page.locator("mjx-container").count()
            seen.formula_errors = page.locator("mjx-merror, [data-mjx-error]").all_text_contents()
            seen.unreadable = page.evaluate(UNREADABLE)
            seen.stray_colours = page.evaluate(STRAY_COLOURS)
            seen.flipbooks = page.locator(".companion-flipbook").count()
            page.set_viewport_size(PHONE)
            page.wait_for_timeout(300)  # the page adapts to the new width
            seen.scroll_width = page.evaluate("() => document.documentElement.scrollWidth")
            seen.too_wide = page.evaluate(TOO_WIDE)
            page.close()
            self.visits[name] = seen
        return self.visits[name]
