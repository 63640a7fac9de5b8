"""Time Python in the pages, as ratios to the start of bare Pyodide in the same browser: ``python -m benchmarks.live``.

After ``make book``. Bare Pyodide is the published one, from its own files. From the click to a page's first result, and
of a second page of the same session: the least of three visits, with bare Pyodide between them, in seconds and in
seconds of the processors, which other work on the machine disturbs less. The memory is the most that the page's process
held for itself. With ``--whole``, nu-svm from its first cell to its last as well, beside the same cells in a kernel;
with ``--store`` the figures are kept.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import nbformat
import psutil
from nbclient import NotebookClient
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from benchmarks import store
from tests.site.site import served
from tools.live import FILES
from tools.pdf import SITE, launch, wait_until_drawn
from tools.toc import ROOT, code_cells

IDLE = "() => window.companionPage?.idle"
SECOND, WHOLE, MEGABYTES = 0.8, 10.0, 600  # the most that is allowed, as with each page
PAGES = {
    "notebooks/admm/dual-ascent": 2.5,
    "notebooks/kernels/kernel-pca": 3.5,  # scikit-learn and a picture
}
LONG = "notebooks/svm/nu-svm"
Cost = dict[str, float]
BARE = """
async () => {
  const place = new URL(".", location.href).href;
  const work = (place) => {
    importScripts(`${place}pyodide.js`);
    loadPyodide({ indexURL: place }).then((python) => postMessage(python.runPython("1 + 1")));
  };
  const worker = new Worker(URL.createObjectURL(new Blob([`(${work})("${place}")`])));
  await new Promise((done, failed) => { worker.onmessage = done; worker.onerror = failed; });
  worker.terminate();
}
"""


class Meter:
    """Adds up what the processes do whose command has a word."""

    def __init__(self, word: str) -> None:
        self.word, self.used, self.peak, self.running = word, dict[int, float](), 0.0, True
        self.look()
        self.before = dict(self.used)
        self.begin = time.monotonic()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def look(self) -> None:
        """Note what each process has used, and what the page's holds."""
        for process in psutil.Process().children(recursive=True):
            try:
                command = " ".join(process.cmdline())
                if self.word in command:
                    self.used[process.pid] = sum(process.cpu_times()[:2])
                    if "--type=renderer" in command:
                        held = process.memory_info()
                        self.peak = max(self.peak, (held.rss - getattr(held, "shared", 0)) / 1e6)
            except psutil.Error:  # it has ended
                continue

    def watch(self) -> None:
        """Look until the end."""
        while self.running:
            time.sleep(0.5)
            self.look()

    def end(self) -> Cost:
        """Return what was used since the beginning."""
        seconds = time.monotonic() - self.begin  # the thread ends up to half a second later
        self.running = False
        self.thread.join()
        self.look()
        processor = sum(used - self.before.get(pid, 0.0) for pid, used in self.used.items())
        return {"seconds": seconds, "processor": processor, "MB": self.peak}


def metered(run: Callable[[], object], word: str = "chrom") -> Cost:
    meter = Meter(word)
    try:
        run()
    finally:
        cost = meter.end()
    return cost


def bare(browser: Browser, base: str) -> Cost:
    """Start Pyodide alone, as it is published."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{base}/pyodide-lock.json")
        return metered(lambda: page.evaluate(BARE))


def opened(context: BrowserContext, base: str, name: str) -> Page:
    page = context.new_page()
    page.set_default_timeout(1_800_000)
    page.goto(f"{base}/{name}.html")
    wait_until_drawn(page)  # typesetting is no part of it
    return page


def first_result(context: BrowserContext, base: str, name: str) -> Cost:
    """Click, and run a page to its first stored result."""
    page = opened(context, base, name)
    shown = next(i for i, cell in enumerate(code_cells(name)) if cell.outputs)

    def run() -> None:
        page.locator(".run-page").click()
        page.wait_for_function("() => window.companionPage?.cells.length")
        page.evaluate("i => companionPage.run(companionPage.cells[i])", shown)
        page.wait_for_function("i => companionPage.cells[i].done", arg=shown)

    cost = metered(run)
    page.close()
    return cost


def whole(browser: Browser, base: str, name: str) -> tuple[Cost, Cost]:
    """Run all cells of a page in the browser, and in a kernel, both without the start."""
    path = ROOT / f"{name}.ipynb"
    where: dict[str, Any] = {"metadata": {"path": path.parent}}
    kernel = NotebookClient(nbformat.read(path, as_version=4), resources=where)
    with kernel.setup_kernel():
        cells = list(enumerate(kernel.nb.cells))
        here = metered(lambda: [kernel.execute_cell(cell, i) for i, cell in cells], "ipykernel")
    with browser.new_context() as context:
        page = opened(context, base, name)
        page.locator(".run-page").click()
        page.wait_for_function(IDLE)

        def run() -> None:
            page.get_by_role("button", name="Run all").click()
            page.wait_for_function(IDLE)

        return metered(run), here


def least(costs: list[Cost]) -> Cost:
    return {
        key: (max if key == "MB" else min)(cost[key] for cost in costs)
        for key in ("seconds", "processor", "MB")
    }


def row(what: str, most: float, there: Cost, unit: Cost) -> dict[str, Any]:
    """Return a ratio, in both measures, and say it."""
    ratios = {key: there[key] / unit[key] for key in ("seconds", "processor")}
    seconds, processor = ratios.values()
    print(
        f"{what}: {seconds:.2f} ({processor:.2f} of the processors' time), at most {most};"
        f" {there['seconds']:.0f} s, {there['MB']:.0f} MB of {MEGABYTES}"
    )
    return {"what": what, "most": most, "ratios": ratios, "cost": there, "unit": unit}


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--whole", action="store_true", help="nu-svm from its first cell to its last as well"
    )
    parser.add_argument(
        "--store",
        action="store_true",
        help="keep the figures for the page on the state of the build",
    )
    given = parser.parse_args()
    if not (SITE / "_static/live/list.json").exists():
        print("SKIPPED: the site is not built with Python for the browser (make book)")
        return
    size = sum(path.stat().st_size for path in (SITE / "_static/live").glob("*")) / 1e6
    print(f"all files: {size:.1f} MB, at most 45")
    rows = []
    with served(SITE) as base, served(FILES) as published, sync_playwright() as playwright:
        browser = launch(SimpleNamespace(chromium=playwright.chromium), "--disable-gpu")
        for name, most in PAGES.items():
            runs = []
            for _ in range(3):
                unit = bare(browser, published)
                with browser.new_context() as context:
                    runs.append((unit, *(first_result(context, base, name) for _ in range(2))))
            unit, first, second = (least(list(costs)) for costs in zip(*runs, strict=True))
            rows.append(row(f"{name}, first result, by bare Pyodide", most, first, unit))
            rows.append(
                row(f"{name}, second page of a session, by the first", SECOND, second, first)
            )
            if given.store:
                store("live_speed", rows, megabytes=size)
        if given.whole:
            rows.append(row(f"{LONG}, all cells, by a kernel", WHOLE, *whole(browser, base, LONG)))
        browser.close()
    if given.store:
        store("live_speed", rows, megabytes=size)


if __name__ == "__main__":
    main()
