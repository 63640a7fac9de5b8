"""Time Python in the pages, as ratios to the start of bare Pyodide in the same browser: ``python -m benchmarks.live``.

After ``make book``. From the click to the first result of a page; medians of three visits, each with an empty cache.
With ``--whole``, nu-svm from its first cell to its last as well, beside the same cells in a kernel on this machine.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import nbformat
from nbclient import NotebookClient
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from tools.pdf import SITE, launch, served
from tools.sameness import code_cells
from tools.toc import ROOT

IDLE = "() => window.companionPage?.idle"
PAGES = {  # with the most that is allowed
    "notebooks/admm/dual-ascent": 2.5,
    "notebooks/kernels/kernel-pca": 3.5,  # scikit-learn and a picture
}
BARE = """
async (base) => {
  const begin = performance.now(), files = {};
  const unpacked = (answer) => new Response(answer.body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  const { core, lock } = await (await fetch(`${base}list.json`)).json();
  const get = async (name) => { files[name] = await unpacked(await fetch(`${base}${name}.gz`)); };
  await Promise.all(Object.keys(core).map(get));
  const work = () => { self.onmessage = async ({ data: { files, lock, base } }) => {
    files["lock.json"] = JSON.stringify(lock);
    const named = (place) => new Blob([files[String(place).split("/").pop()]], { type: "text/javascript" });
    const load = self.importScripts.bind(self);
    self.importScripts = (place) => load(URL.createObjectURL(named(place)));
    const headers = { "content-type": "application/wasm" };
    self.fetch = async (place) => new Response(files[String(place).split("/").pop()], { headers });
    self.importScripts("pyodide.js");
    (await self.loadPyodide({ indexURL: base, lockFileURL: `${base}lock.json` })).runPython("1 + 1");
    self.postMessage("ready");
  }; };
  const worker = new Worker(URL.createObjectURL(new Blob([`(${work})()`])));
  const ready = new Promise((done, failed) => { worker.onmessage = done; worker.onerror = failed; });
  worker.postMessage({ files, lock, base });
  await ready;
  worker.terminate();
  return (performance.now() - begin) / 1000;
}
"""


def bare(browser: Browser, base: str) -> float:
    """Return the seconds in which Pyodide alone starts."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{base}/genindex.html")
        return float(page.evaluate(BARE, f"{base}/_static/live/"))


def first_result(context: BrowserContext, base: str, name: str) -> float:
    """Return the seconds from the click to the first stored result of a page, run there."""
    page = context.new_page()
    page.set_default_timeout(1_800_000)
    page.goto(f"{base}/{name}.html", wait_until="load")
    shown = next(i for i, cell in enumerate(code_cells(name)) if cell.outputs)
    begin = time.monotonic()
    page.locator(".run-page").click()
    page.wait_for_function("() => window.companionPage?.cells.length")
    page.evaluate("i => companionPage.run(companionPage.cells[i])", shown)
    page.wait_for_function("i => companionPage.cells[i].done", arg=shown)
    seconds = time.monotonic() - begin
    page.close()
    return seconds


def whole(browser: Browser, base: str, name: str) -> tuple[float, float]:
    """Return the seconds of all cells of a page in the browser, and in a kernel, both without the start."""
    path = ROOT / f"{name}.ipynb"
    kernel = NotebookClient(
        nbformat.read(path, as_version=4), resources={"metadata": {"path": path.parent}}
    )
    with kernel.setup_kernel():
        begin = time.monotonic()
        for i, cell in enumerate(kernel.nb.cells):
            kernel.execute_cell(cell, i)
        native = time.monotonic() - begin
    with browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(1_800_000)
        page.goto(f"{base}/{name}.html")
        page.locator(".run-page").click()
        page.wait_for_function(IDLE)
        begin = time.monotonic()
        page.get_by_role("button", name="Run all").click()
        page.wait_for_function(IDLE)
        return time.monotonic() - begin, native


def main() -> None:
    """Print the ratios."""
    if not Path(SITE / "_static/live/list.json").exists():
        print("SKIPPED: the site is not built with Python for the browser (make book)")
        return
    with served(SITE) as base, sync_playwright() as playwright:
        browser = launch(SimpleNamespace(chromium=playwright.chromium), "--disable-gpu")
        starts = [bare(browser, base) for _ in range(3)]
        print(f"bare Pyodide: {median(starts):.1f} s")
        for name, most in PAGES.items():
            ratios, again = [], []
            for _ in range(3):
                unit = bare(browser, base)
                with browser.new_context() as context:
                    first = first_result(context, base, name)
                    again.append(first_result(context, base, name) / first)
                ratios.append(first / unit)
            told = f"first result {median(ratios):.2f} times that (aim {most})"
            print(f"{name}: {told}; the second page {median(again):.2f} of the first (aim 0.8)")
        if "--whole" in sys.argv:
            there, here = whole(browser, base, "notebooks/svm/nu-svm")
            print(
                f"nu-svm: {there:.0f} s in the browser, {there / here:.1f} times a kernel (aim 10)"
            )
        browser.close()


if __name__ == "__main__":
    main()
