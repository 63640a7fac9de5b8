"""Pages that run where they are read: they say what is stored; a reader edits, stops, starts over, is answered."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Locator, Page, expect

from tests.site.sameness import EXCEPTIONS, difference, keep
from tests.site.site import PATIENCE, PHONE, SITE, Reader, served
from tools.editions import pack_site
from tools.pdf import launch
from tools.toc import code_cells, live_pages

SOON = {"notebooks/admm/dual-ascent", "notebooks/kernels/kernel-pca", "notebooks/regression/ridge"}
IDLE = "() => window.companionPage?.idle"
RAN = "() => companionPage.cells.map(({id, done: ok, outputs}) => ({id, ok, outputs}))"
ACTIVE = "() => document.activeElement"
FOUND = "() => Boolean(companionPage.found && companionPage.libraries.length)"  # what an earlier page left
VISIBLE = ".cell:has(.cm-editor):not(:has(details))"
ENTRIES = "performance.getEntriesByType('resource')"
PARTS_OF_LIVE = f"() => {ENTRIES}.map(e => e.name.match(/\\/live\\/([^?]*)/)?.[1]).filter(Boolean)"
KEPT = "async n => (await (await caches.open('companion-live')).keys()).length >= n"
AXE = "() => axe.run('article', {resultTypes: ['violations']}).then(s => s.violations.map(v => v.id + v.nodes[0].html))"


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[Reader]:
    """Opens pages of a site behind a sub-path, in a browser that compiles WebAssembly as it does for readers."""
    if not (SITE / "_static/live/list.json").is_file():
        pytest.skip("the site was built without Python for the browser")
    chromium = launch(SimpleNamespace(chromium=browser.browser_type), "--disable-gpu")
    place = served(SITE.parent)
    with closing(chromium), place as base, Reader(chromium, f"{base}/{SITE.name}") as opened:
        yield opened


def begin(page: Page) -> Page:
    assert not page.evaluate(PARTS_OF_LIVE)
    page.locator(".run-page").click()
    page.wait_for_function(IDLE)
    return page


def write(place: Page | Locator, code: str) -> None:
    place.locator(".cm-content").fill(code)


def run(cell: Locator, code: str, keys: str = "ControlOrMeta+Enter") -> None:
    write(cell, code)
    cell.locator(".cm-content").press(keys)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in SOON else pytest.mark.slow) for n in live_pages()]
)
def test_every_cell_gives_what_the_page_shows(window: Reader, name: str) -> None:
    page, stored, done = begin(window.open(f"{name}.html")), code_cells(name), 0
    while done < len(stored):  # a cell that fails stops those below it
        page.evaluate("from => companionPage.put(companionPage.cells.slice(from))", done)
        page.wait_for_function(IDLE, timeout=4 * PATIENCE)  # some pages take minutes
        done = 1 + page.evaluate("() => companionPage.cells.findLastIndex(cell => cell.fresh)")
    ran = page.evaluate(RAN)
    assert [each["id"] for each in ran] == [cell.id for cell in stored]
    found = {c.id: t for c, each in zip(stored, ran) if (t := difference(c, each))}
    keep(name, len(ran), found)
    assert found.keys() == EXCEPTIONS.get(name, {}).keys(), found
    assert window.now.foreign == []


def test_a_reader_writes_runs_stops_and_finds_it_again(window: Reader) -> None:
    context = window.context.browser.new_context()  # which is not emptied by each page
    context.set_default_timeout(PATIENCE)
    page, other = context.new_page(), context.new_page()
    for each in (page, other):
        each.goto(f"{window.base}/notebooks/admm/duality.html")
    stored = page.locator(".cell").nth(2).locator(".cell_output").inner_text()
    cell, again = begin(page).locator(VISIBLE).first, other.locator(VISIBLE).first
    status, shown = page.locator(".live-status"), cell.locator(".stream")
    run(cell, "import numpy as np\nprint(6 * 7)\nnp.linalg.inv(np.zeros(2))", "Shift+Enter")
    assert page.evaluate(ACTIVE + ".getAttribute('aria-label')") == "Code cell 4"
    expect(status).to_contain_text("ended with an error")
    assert page.evaluate("() => companionPage.cells.map(cell => cell.fresh).indexOf(false)") == 3
    expect(shown).to_have_text("42\n")
    trace = cell.locator(".traceback").inner_text().rstrip()
    assert "----> 3 np.linalg" in trace.splitlines()[-3]
    assert trace.endswith("must be at least two-dimensional")
    loaded = page.evaluate(PARTS_OF_LIVE)
    page.wait_for_function(KEPT, arg=len(loaded) + 1)  # and memory, and what is in C
    begin(other)
    assert len(loaded) > 10
    assert other.evaluate(PARTS_OF_LIVE) == ["list.json"]  # the rest was kept, unzipped
    assert [each.evaluate(FOUND) for each in (page, other)] == [False, True]
    expect(again.locator(".live-note")).to_have_text("changed by you")
    run(again, "print('np' in globals())")  # Python there is another one
    expect(other.locator(".live-status")).to_have_text("Done.")
    run(again, "import nowhere")
    expect(other.locator(".live-status")).to_contain_text("loads what its own cells import")
    for endless in ("while True: pass", "np.linalg.svd(np.ones((5000, 5000)))"):
        run(cell, f"import numpy as np\nprint('runs', flush=True)\n{endless}")
        expect(shown).to_have_text("runs\n")
        page.get_by_role("button", name="Stop").click()
        assert page.evaluate("() => companionPage.current") is None
        expect(status).to_contain_text("Python is ready. The variables are gone")
    page.set_viewport_size(PHONE)
    page.evaluate(AXE_SCRIPT)
    assert page.evaluate(AXE) == []
    assert page.evaluate("() => document.scrollingElement.scrollWidth <= innerWidth")
    cell.locator(".cm-content").press("Escape")
    cell.locator(".cm-content").press("Tab")
    assert page.evaluate(ACTIVE + ".textContent") == "Run"
    cell.get_by_role("button", name="Start over").click()
    assert cell.locator(".cell_output").inner_text() == stored
    write(cell, "kept = 1")
    page.reload()
    begin(page)
    expect(cell).to_contain_text("kept = 1")
    page.get_by_role("button", name="Forget").click()
    assert "companion-live" not in page.evaluate("() => Object.keys(localStorage).join()")
    expect(cell).not_to_contain_text("kept")
    context.close()


@pytest.mark.slow
def test_from_the_disk_python_comes_in_scripts(window: Reader, tmp_path: Path) -> None:
    pack_site(SITE, tmp_path / "site.zip", live=True)
    shutil.unpack_archive(tmp_path / "site.zip", tmp_path)
    with Reader(window.context.browser, (tmp_path / "companion").as_uri()) as disk:
        page = begin(disk.open("notebooks/admm/duality.html"))
        page.get_by_role("button", name="Run all").click()
        expect(page.locator(".live-status")).to_have_text("Done.")
        assert disk.now.console == disk.now.foreign == []


def test_an_exercise_is_judged_in_the_page(window: Reader) -> None:
    page = window.open("notebooks/admm/proximal-operators.html")
    panel = page.locator(".exercise-panel[data-label='exr-prox-hinge']")
    verdict, check = panel.locator(".exercise-verdict"), panel.get_by_role("button", name="Check")
    check.click()
    verdict.get_by_role("button").click()
    expect(verdict).to_contain_text("then press Check")
    right = "prox = lambda v, t: np.maximum(v, np.minimum(v + t, 1))"
    wrong = "prox = lambda v, t: v + t"
    for answer, said in {"": "Not yet.", wrong: "stop at the kink", right: "Right."}.items():
        if answer:
            write(panel, answer)
        check.click()
        expect(verdict).to_contain_text(said)
