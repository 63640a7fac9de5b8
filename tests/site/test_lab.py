"""JupyterLab, as `make lab` opens it: boxes and links are the site's, all cells run, a live slider moves."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Locator, Page

from tests.site.site import ROOT
from tools.editions import EXERCISES, complete, contents, edition, for_jupyterlab, read
from tools.toc import write

EDITION, ERRATA = "notebooks/svm/problems", "book/errata/chapter-18.ipynb"
PAGE = "notebooks/admm/dual-ascent.ipynb"
# The last code cell gets its number last.
ALL_RAN = """
() => {
  const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputArea-prompt')];
  return prompts.length && !prompts.some(e => e.textContent.includes('*'))
    && document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle';
}
"""
SHOWN = """
e => [...e.closest('.jp-OutputArea-output').querySelectorAll('img')].filter(i => i.offsetParent).map(i => i.src).join()
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server on copies of some pages, so that nothing in the project changes."""
    folder = tmp_path_factory.mktemp("lab")
    shutil.copy(ROOT / PAGE, folder)
    (folder / ERRATA).parent.mkdir(parents=True)
    shutil.copy(ROOT / ERRATA, folder / ERRATA)
    editions = {EXERCISES / "contents.ipynb": contents()}
    editions[edition(EDITION, "")] = for_jupyterlab(complete(read(EDITION)), EDITION)
    for path, made in editions.items():
        write(folder / path.relative_to(ROOT), nbformat.writes(made))
    tracker = "settings/@jupyterlab/notebook-extension/tracker.jupyterlab-settings"
    write(folder / tracker, '{"windowingMode": "none"}')  # draw all cells, not those in view
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/"
    options = (
        f"--no-browser --allow-root --port={address.split(':')[-1][:-1]} --ServerApp.port_retries=0 "
        f"--IdentityProvider.token= --ServerApp.password= --notebook-dir={folder}"
    )
    places = {"JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces"}
    environment = os.environ | {name: str(folder / place) for name, place in places.items()}
    log = folder / "server.log"
    with log.open("w") as out:
        command = [sys.executable, "-m", "jupyterlab", *options.split()]
        server = subprocess.Popen(command, stdout=out, stderr=out, env=environment, cwd=folder)
        try:
            wait_for(f"{address}api/status", log)
            yield address
        finally:
            server.terminate()
            server.wait(20)


def wait_for(address: str, log: Path) -> None:
    """Wait until the server answers."""
    for _ in range(240):
        try:
            urllib.request.urlopen(address, timeout=20).close()
            return
        except urllib.error.URLError:
            time.sleep(0.25)
    raise AssertionError(log.read_text(encoding="utf-8"))


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1300, "height": 1000})
    opened.set_default_timeout(120_000)
    yield opened
    opened.close()


def test_a_page_runs_its_boxes_are_set_and_its_sliders_live(page: Page, lab: str) -> None:
    page.goto(f"{lab}lab/tree/{Path(PAGE).name}")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    page.wait_for_selector(".jp-NotebookPanel-toolbar >> text=Python 3")
    page.click("li.lm-MenuBar-item:has-text('Run')")
    page.click("li[data-command='runmenu:run-all']")
    page.wait_for_function(ALL_RAN)
    page.locator(".myst .katex").first.wait_for(state="attached")
    assert page.locator(".myst aside").count() > 3, "boxes are drawn"
    text = page.locator(".jp-Notebook").inner_text()
    assert "About this page" in text
    assert re.findall(r"\{prf:definition\}|\{exercise\}|:label:", text) == []
    handle = page.locator(".companion-flipbook [role=slider]").first
    handle.wait_for()
    changes(page, handle, lambda: handle.press("ArrowRight"))
    entry = page.locator(".companion-live input").first
    low, high = (float(entry.get_attribute(name)) for name in ("min", "max"))
    entry.fill(f"{low + 0.3719 * (high - low):.4f}")  # between the frames, drawn by the kernel
    changes(page, entry, lambda: entry.press("Enter"))


def changes(page: Page, control: Locator, act: Callable[[], None]) -> None:
    """Wait until the pictures beside a control are others."""
    control.scroll_into_view_if_needed()
    before = control.evaluate(SHOWN)
    assert before
    act()
    changed = f"([e, old]) => ({SHOWN.strip()})(e) !== old"
    page.wait_for_function(changed, arg=[control.element_handle(), before])


def test_the_contents_lead_to_boxes_and_links_as_on_the_site(page: Page, lab: str) -> None:
    page.goto(f"{lab}lab/tree/book/exercises/contents.ipynb")
    page.locator(".jp-Notebook td a[href*='svm/problems.ipynb']").click()
    page.wait_for_url("**/book/exercises/svm/problems.ipynb")
    sheet = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
    sheet.locator(".myst aside").filter(has_text=re.compile("^Problem 18.1")).first.wait_for()
    heads = sheet.locator(".myst :is(aside, summary)").all_inner_texts()
    assert any(head.startswith("Solution to Problem 18.1") for head in heads)
    assert [head for head in heads if re.match(r"Exercise|(Theorem|Proof) \d+\b(?!\.)", head)] == []
    assert sheet.locator(".jp-CodeCell .jp-Placeholder").count() > 1, "checks are folded"
    sheet.locator(".myst a", has_text="erratum 18-E55").first.click()
    page.wait_for_url(f"**/{ERRATA}")
