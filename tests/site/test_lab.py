"""JupyterLab, as `make lab` opens it: boxes and links are the site's, cells run, sliders and boards are answered."""

import os
import re
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
from playwright.sync_api import Browser, Locator, Page, expect

from companion import boards
from tests.site.answers import answer
from tests.site.conftest import give_up
from tests.site.site import PATIENCE, ROOT
from tools.editions import EXERCISES, contents, edition, for_jupyterlab
from tools.toc import write

EDITION, ERRATA = "notebooks/svm/problems", "book/errata/chapter-18"
PAGE = "notebooks/admm/dual-ascent.ipynb"
# A board of each chapter: its cell, and a fact that it shows, from the result of the package.
BOARDS = {
    "step_board([4, -3], [0, 0.5])": lambda r: ("z at the end", r["z"][-1]),
    "gram_board([[2, 1], [3, 3], [-2, -1]])": lambda r: ("share of the first", [r["share"]]),
    "point_board([[2, 1], [3, 3]], [[-2, -1], [-3, 0]], nu=0.4)": lambda r: ("‖w‖", [r["norm"]]),
    "weight_board([-0.8, 0.1, 1], [1, 0.4, 1.2])": lambda r: ("ridge w₁, w₂, b", r["ridge"]),
    "tube_board([-3, -2, -1, 0], [1, 0.4, 1.2, 0])": lambda r: ("ε", [r["epsilon"]]),
}
LABELS = "points => points.map(point => point.ariaLabel)"
READY = ".jp-Notebook-ExecutionIndicator[data-status=idle]"
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
    editions = {EXERCISES / "contents.ipynb": contents()}
    editions |= {edition(page, ""): for_jupyterlab(page, "") for page in (EDITION, ERRATA)}
    for path, made in editions.items():
        write(folder / path.relative_to(ROOT), nbformat.writes(made))
    notebook = nbformat.read(ROOT / PAGE, as_version=4)
    cells = [f"from companion.boards import *\n{cell}" for cell in BOARDS]
    notebook.cells += map(nbformat.v4.new_code_cell, cells)
    write(folder / "page.ipynb", nbformat.writes(notebook))
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
            server.wait(300)


def wait_for(address: str, log: Path) -> None:
    """Wait until the server answers."""
    for _ in range(1200):
        try:
            urllib.request.urlopen(address, timeout=300).close()
            return
        except urllib.error.URLError:
            time.sleep(0.25)
    give_up(f"JupyterLab does not start: {log.read_text(encoding='utf-8')[-500:]}")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_page(viewport={"width": 1300, "height": 1000}) as opened:
        opened.set_default_timeout(PATIENCE)
        yield opened


def test_a_page_runs_boxes_are_set_sliders_and_boards_live(page: Page, lab: str) -> None:
    page.goto(f"{lab}lab/tree/page.ipynb?reset")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    page.wait_for_selector(".jp-NotebookPanel-toolbar >> text=Python 3")
    page.wait_for_selector(READY)  # what is run before is lost
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
    check_boards(page)


def changes(page: Page, control: Locator, act: Callable[[], None]) -> None:
    """Wait until the pictures beside a control are others."""
    control.scroll_into_view_if_needed()
    before = control.evaluate(SHOWN)
    assert before
    act()
    changed = f"([e, old]) => ({SHOWN.strip()})(e) !== old"
    page.wait_for_function(changed, arg=[control.element_handle(), before])


def test_the_contents_lead_to_boxes_and_links_as_on_the_site(page: Page, lab: str) -> None:
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.goto(f"{lab}lab/tree/book/exercises/contents.ipynb?reset")
    name = edition(EDITION, "").name
    page.locator(f".jp-Notebook td a[href*='svm/{name}']").click()
    page.wait_for_url(f"**/book/exercises/svm/{name}")
    sheet = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
    sheet.locator(".myst aside").filter(has_text=re.compile("^Problem 18.1")).first.wait_for()
    heads = sheet.locator(".myst :is(aside, summary)")
    heads.filter(has_text=re.compile("^Solution to Problem 18.1")).first.wait_for(state="attached")
    counted = re.compile(r"^(Exercise|(Theorem|Proof) \d+\b(?!\.))")
    assert heads.filter(has_text=counted).all_inner_texts() == []
    assert sheet.locator(".jp-CodeCell .jp-Placeholder").count() > 1, "checks are folded"
    sheet.locator(".myst a", has_text="18-E41").first.click()
    page.wait_for_url(f"**/errata/{edition(ERRATA).name}*")
    page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .myst h1").first.wait_for(state="attached")
    assert [text for text in told if re.search("target|reference|citation", text, re.I)] == []


def check_boards(page: Page) -> None:
    """A point is dragged, moved and added; the numbers beside it are those of the package for where the points are."""
    count = page.locator(".jp-CodeCell").count()
    for i, cell in enumerate(BOARDS):
        shown = page.locator(".companion-board").nth(i)
        shown.locator(".grip").first.scroll_into_view_if_needed()
        box = shown.locator(".grip").first.bounding_box()
        assert box is not None
        seen = [agrees(shown, cell)]
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] - 20, box["y"] + 50, steps=4)
        page.mouse.up()
        seen.append(agrees(shown, cell))
        for key in ("Shift+ArrowUp", "a"):  # in JupyterLab, this letter makes a cell
            shown.locator("svg[tabindex]").press(key)
            seen.append(agrees(shown, cell))
        assert len(set(seen[:3])) == 3, seen
    assert page.locator(".jp-CodeCell").count() == count


def agrees(shown: Locator, cell: str) -> str:
    """Wait until a board shows the fact that the package finds for its points; return the fact."""
    made = eval(cell, dict(vars(boards)))
    labels = shown.locator(".board-point")
    points = []
    for label in labels.evaluate_all(LABELS):
        x, y = re.findall(r"at \((\S+), (\S+)\)", label)[0]
        points.append([float(x), float(y), -1.0 if label.startswith("red") else 1.0])
    title, values = BOARDS[cell](answer(made.kind, points, made.values, made.limits))
    fact = f"{title} = {', '.join(f'{value:.4g}' for value in values)}"
    expect(shown.locator(".board-facts")).to_contain_text(fact)
    told = shown.locator(".board-status").inner_text()
    assert told.endswith(tuple(labels.evaluate_all(LABELS)))
    return fact
