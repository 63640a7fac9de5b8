"""JupyterLab, as `make lab` opens it: boxes and links are the site's, all cells run, a live slider moves."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page

from tests.site.site import ROOT
from tools.editions import EXERCISES, complete, contents, edition, for_jupyterlab, read
from tools.toc import write

EDITION, ERRATA = "notebooks/svm/problems", "book/errata/chapter-18.ipynb"
PAGE = "notebooks/admm/dual-ascent.ipynb"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server on copies of some pages, so that nothing in the project changes."""
    folder = tmp_path_factory.mktemp("lab")
    shutil.copy(ROOT / PAGE, folder)
    editions = {EXERCISES / "contents.ipynb": contents()}
    editions[edition(EDITION, "")] = for_jupyterlab(complete(read(EDITION)), EDITION)
    for path, made in editions.items():
        write(folder / path.relative_to(ROOT), nbformat.writes(made))
    (folder / ERRATA).parent.mkdir()
    shutil.copy(ROOT / ERRATA, folder / ERRATA)
    log = folder / "server.log"
    tracker = folder / "settings/@jupyterlab/notebook-extension/tracker.jupyterlab-settings"
    tracker.parent.mkdir(parents=True)
    tracker.write_text(
        '{"windowingMode": "none"}', encoding="utf-8"
    )  # draw all cells, not those in view
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--port=0",
        "--IdentityProvider.token=",
        "--ServerApp.password=",
        f"--notebook-dir={folder}",
    ]
    settings = {
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }
    environment = os.environ | {name: str(folder / place) for name, place in settings.items()}
    with log.open("w") as out:
        server = subprocess.Popen(command, stdout=out, stderr=out, env=environment, cwd=folder)
        try:
            yield address_of(server, log)
        finally:
            server.terminate()
            server.wait(20)


def address_of(server: subprocess.Popen, log: Path) -> str:
    """Wait until the server answers and return its address."""
    for _ in range(240):
        match = re.search(r"http://127\.0\.0\.1:\d+/", log.read_text(encoding="utf-8"))
        if match:
            with urllib.request.urlopen(f"{match[0]}api/status", timeout=20) as answer:
                assert answer.status == 200
            return match[0]
        assert server.poll() is None, log.read_text(encoding="utf-8")
        time.sleep(0.25)
    raise AssertionError(log.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def notebook(browser: Browser, lab: str) -> Iterator[Page]:
    """The page in JupyterLab, after all its cells ran in a live kernel."""
    page = browser.new_page(viewport={"width": 1300, "height": 1000})
    page.set_default_timeout(120_000)
    page.goto(f"{lab}lab/tree/{Path(PAGE).name}")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    page.wait_for_selector(".jp-NotebookPanel-toolbar >> text=Python 3")
    page.click("li.lm-MenuBar-item:has-text('Run')")
    page.click("li[data-command='runmenu:run-all']")
    # the last code cell gets its number last
    page.wait_for_function(
        "() => { const p = [...document.querySelectorAll('.jp-CodeCell .jp-InputArea-prompt')];"
        " return p.length && !p.some(e => e.textContent.includes('*')) &&"
        " document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle'; }"
    )
    yield page
    page.close()


def test_theorems_and_exercises_are_set(notebook: Page) -> None:
    """The page's theorem boxes are drawn by jupyterlab-myst, not shown as source text."""
    notebook.locator(".myst .katex").first.wait_for(state="attached")
    assert notebook.locator(".myst aside").count() > 3, "boxes are drawn"
    text = notebook.locator(".jp-Notebook").inner_text()
    assert "About this page" in text
    assert "{prf:definition}" not in text
    assert "{exercise}" not in text
    assert ":label:" not in text


def test_the_contents_lead_to_boxes_and_links_as_on_the_site(browser: Browser, lab: str) -> None:
    page = browser.new_page(viewport={"width": 1300, "height": 1000})
    page.set_default_timeout(120_000)
    page.goto(f"{lab}lab/tree/book/exercises/contents.ipynb")
    page.locator(".jp-Notebook td a[href*='svm/problems.ipynb']").click()
    page.wait_for_url("**/book/exercises/svm/problems.ipynb")
    sheet = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
    box = sheet.locator(".myst aside").filter(has_text=re.compile("^Problem 18.1")).first
    box.wait_for()
    heads = sheet.locator(".myst :is(aside, summary)").all_inner_texts()
    assert any(head.startswith("Solution to Problem 18.1") for head in heads)
    assert [head for head in heads if re.match(r"Exercise|(Theorem|Proof) \d+\b(?!\.)", head)] == []
    assert sheet.locator(".jp-CodeCell .jp-Placeholder").count() > 1, (
        "checks of solutions are folded"
    )
    sheet.locator(".myst a", has_text="erratum 18-E55").first.click()
    page.wait_for_url(f"**/{ERRATA}")
    page.close()


def test_a_live_slider_changes_the_picture(notebook: Page) -> None:
    book = notebook.locator(".companion-flipbook").first
    book.scroll_into_view_if_needed()
    handle = book.locator("[role=slider]").first
    handle.wait_for()
    visible = "f => [...f.querySelectorAll('img')].filter(i => i.offsetParent).map(i => i.src)"
    before = book.evaluate(visible)
    handle.focus()
    handle.press("ArrowRight")
    notebook.wait_for_timeout(500)
    after = book.evaluate(visible)
    if after == before:  # it stood at the end of its range
        handle.press("ArrowLeft")
        notebook.wait_for_timeout(500)
        after = book.evaluate(visible)
    assert before
    assert before != after


def test_a_number_between_the_frames_is_drawn_by_the_kernel(notebook: Page) -> None:
    live = notebook.locator(".companion-live").first
    live.scroll_into_view_if_needed()
    entry = live.locator("input").first
    pictures = (
        "e => [...e.closest('.jp-OutputArea-output').querySelectorAll('img')]"
        ".map(i => i.src.length + i.src.slice(-40))"
    )
    before = live.evaluate(pictures)
    low, high = (float(entry.get_attribute(name)) for name in ("min", "max"))
    entry.fill(f"{low + 0.3719 * (high - low):.4f}")
    entry.press("Enter")
    notebook.wait_for_function(
        "([e, old]) => JSON.stringify([...e.closest('.jp-OutputArea-output').querySelectorAll('img')]"
        ".map(i => i.src.length + i.src.slice(-40))) !== JSON.stringify(old)",
        arg=[live.element_handle(), before],
    )
    assert live.evaluate(pictures) != before
