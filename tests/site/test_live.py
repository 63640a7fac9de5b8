"""Pages that run where they are read: they say what is stored; a reader edits, stops, starts over, is answered."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from zipfile import ZipFile

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Locator, Page, expect

from tests.site.site import PATIENCE, PHONE, SITE, Reader
from tools import sameness
from tools.editions import pack_site
from tools.pdf import launch, served

SOON = {"notebooks/admm/dual-ascent", "notebooks/kernels/kernel-pca", "notebooks/regression/ridge"}
IDLE = "() => window.companionPage?.idle"
VISIBLE = ".cell:has(.cm-editor):not(:has(details))"
PART_OF_LIVE = "() => performance.getEntriesByType('resource').some(e => e.name.includes('/live/'))"
AXE = "() => axe.run('article', {resultTypes: ['violations']}).then(s => s.violations.map(v => v.id + v.nodes[0].html))"


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[Reader]:
    """Opens pages of a site behind a sub-path, in a browser that compiles WebAssembly as it does for readers."""
    if not (SITE / "_static/live/list.json").is_file():
        pytest.skip(
            "the site was built without Python for the browser (its files could not be fetched)"
        )
    chromium = launch(SimpleNamespace(chromium=browser.browser_type), "--disable-gpu")
    with (
        closing(chromium),
        served(SITE.parent) as base,
        Reader(chromium, f"{base}/{SITE.name}") as opened,
    ):
        yield opened


def start(window: Reader, name: str) -> Page:
    return begin(window.open(f"{name}.html"))


def begin(page: Page) -> Page:
    assert not page.evaluate(PART_OF_LIVE)
    page.locator(".run-page").click()
    page.wait_for_function(IDLE)
    return page


def write(place: Page | Locator, code: str) -> None:
    place.locator(".cm-content").fill(code)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in SOON else pytest.mark.slow) for n in sameness.pages()]
)
def test_every_cell_gives_what_the_page_shows(window: Reader, name: str) -> None:
    page, stored, done = start(window, name), sameness.code_cells(name), 0
    while done < len(stored):  # a cell that fails stops those below it
        page.evaluate("from => companionPage.put(companionPage.cells.slice(from))", done)
        page.wait_for_function(IDLE)
        done = 1 + page.evaluate("() => companionPage.cells.findLastIndex(cell => cell.fresh)")
    ran = page.evaluate(
        "() => companionPage.cells.map(({id, done: ok, outputs}) => ({id, ok, outputs}))"
    )
    assert [each["id"] for each in ran] == [cell.id for cell in stored]
    found = {
        cell.id: told
        for cell, each in zip(stored, ran)
        if (told := sameness.difference(cell, each))
    }
    sameness.keep(name, len(ran), found)
    assert found.keys() == sameness.EXCEPTIONS.get(name, {}).keys(), found
    assert window.now.foreign == []


def test_a_reader_changes_a_cell_stops_it_and_starts_over(window: Reader) -> None:
    page = start(window, "notebooks/admm/duality")
    cell, status = (
        page.locator(VISIBLE).first,
        page.locator(".live-status"),
    )
    run, stored = cell.get_by_role("button", name="Run"), cell.locator(".cell_output").inner_text()
    write(cell, "print(6 * 7)\nprint(1 / 0)")
    run.click()
    expect(status).to_contain_text("ended with an error")
    expect(cell.locator(".stream")).to_have_text("42\n")
    assert (
        cell.locator(".traceback")
        .inner_text()
        .rstrip()
        .endswith("ZeroDivisionError: division by zero")
    )
    write(cell, "while True: print('again')")
    run.click()
    expect(cell.locator(".stream")).to_contain_text("again")
    page.get_by_role("button", name="Stop").click()
    expect(status).to_contain_text("variables are gone")
    page.evaluate(AXE_SCRIPT)
    assert page.evaluate(AXE) == []
    page.set_viewport_size(PHONE)
    assert page.evaluate("() => document.scrollingElement.scrollWidth <= innerWidth")
    cell.locator(".cm-content").press("Escape")
    cell.locator(".cm-content").press("Tab")
    assert page.evaluate("() => document.activeElement.textContent") == "Run"
    expect(cell.locator(".live-note")).to_have_text("changed by you")
    cell.get_by_role("button", name="Start over").click()
    assert cell.locator(".cell_output").inner_text() == stored
    write(cell, "kept = 1")
    assert page.evaluate("() => Object.keys(localStorage).join().includes(location.pathname)")
    page.get_by_role("button", name="Forget").click()
    assert not page.evaluate("() => Object.keys(localStorage).join().includes(location.pathname)")
    assert "kept" not in cell.inner_text()


def test_what_a_reader_wrote_stays_and_a_cell_runs_those_above(window: Reader) -> None:
    context = window.context.browser.new_context()  # which is not emptied by each page
    context.set_default_timeout(PATIENCE)
    page, other = context.new_page(), context.new_page()
    for each in (page, other):
        each.goto(f"{window.base}/notebooks/admm/duality.html")
    cell, again = (each.locator(VISIBLE).first for each in (begin(page), other))
    write(cell, "kept = 1\nimport numpy as np\nnp.linalg.svd(np.zeros((2, 2, 2))[0, 0])")
    cell.locator(".cm-content").press("Shift+Enter")
    label = page.evaluate("() => document.activeElement.getAttribute('aria-label')")
    assert label == "Code cell 4"
    page.wait_for_function(IDLE)
    assert page.evaluate("() => companionPage.cells.map(cell => cell.fresh).slice(0, 4)") == [
        1,
        1,
        1,
        0,
    ]
    trace = cell.locator(".traceback").inner_text().splitlines()
    assert trace[-1].startswith("LinAlgError")
    assert "linalg.py" not in "".join(trace)
    assert any(line.startswith("----> 3") for line in trace)
    begin(other)
    expect(again.locator(".live-note")).to_have_text("changed by you")
    expect(again.locator(".cm-content")).to_contain_text("kept = 1")
    write(again, "print('kept' in globals())")
    again.locator(".cm-content").press("ControlOrMeta+Enter")
    expect(again.locator(".stream")).to_have_text("False\n")
    write(cell, "print(kept)\nimport sys\nnp.linalg.svd(np.ones((3000, 3000)))")
    cell.locator(".cm-content").press("ControlOrMeta+Enter")
    expect(cell.locator(".stream")).to_have_text("1\n")
    page.get_by_role("button", name="Stop").click()
    assert page.evaluate("() => companionPage.current") is None
    expect(page.locator(".live-status")).to_contain_text("variables are gone")
    context.close()


@pytest.mark.slow
def test_from_the_disk_python_comes_in_scripts(window: Reader, tmp_path: Path) -> None:
    browser = window.context.browser
    with Reader(browser, SITE.as_uri()) as disk:
        page = disk.open("notebooks/admm/duality.html")
        page.locator(".run-page").click()
        expect(page.locator(".live-status")).to_contain_text("make zip LIVE=1")
    pack_site(SITE, tmp_path / "site.zip", live=True)
    with ZipFile(tmp_path / "site.zip") as archive:
        archive.extractall(tmp_path)
    with Reader(browser, (tmp_path / "companion").as_uri()) as disk:
        page = start(disk, "notebooks/admm/duality")
        page.get_by_role("button", name="Run all").click()
        page.wait_for_function(IDLE)
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
    for answer, said in {
        "": "Not yet.",
        "prox = lambda v, t: v + t": "stop at the kink",
        right: "Right.",
    }.items():
        if answer:
            write(panel, answer)
        check.click()
        expect(verdict).to_contain_text(said)
