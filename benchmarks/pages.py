"""Time pages of the built site in headless Chromium: ``python -m benchmarks.pages`` (after ``make book``).

Milliseconds from the request to a page that answers, and to one whose formulas are set: medians of five visits with an
empty cache, from a server on this machine. With ``--store`` the page on the state of the build shows them.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, sync_playwright

from tests.site.site import SITE, served
from tools.pdf import launch

RESULTS = Path(__file__).parent / "results" / "pages.json"
PAGES = ("book/intro", "notebooks/svm/nu-svm", "book/concordance", "book/map", "book/api/admm")
READY = "() => performance.getEntriesByType('navigation')[0].domInteractive"
DRAWN = "async () => { await window.MathJax?.startup?.promise; return performance.now(); }"


def visit(browser: Browser, address: str) -> tuple[float, float]:
    """Return when a page answered, and when it was complete."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        page.goto(address)
        return page.evaluate(READY), page.evaluate(DRAWN)


def main() -> None:
    """Print the medians, and store them."""
    if not (SITE / "index.html").exists():
        print("SKIPPED: the site is not built (make book)")
        return
    found = {}
    with served(SITE) as base, sync_playwright() as playwright:
        browser = launch(playwright)
        for name in PAGES:
            visits = [visit(browser, f"{base}/{name}.html") for _ in range(5)]
            ready, drawn = (round(median(times)) for times in zip(*visits))
            found[name] = {"ready": ready, "drawn": drawn}
            print(f"{name:24s} {found[name]}", flush=True)
        browser.close()
    if "--store" in sys.argv:
        kept = {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1), "pages": found}
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
