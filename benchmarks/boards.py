"""Time the frames of a drag on each board with 60 points, in headless Chromium: ``python -m benchmarks.boards``.

A trace of the browser has the moments at which a frame begins, and the tasks of the page's thread. A frame's work is
the processor time of the tasks until the next frame: the solver, the drawing and the layout. 33 ms are 30 frames a
second. With ``--store`` the page on the state of the build shows the new figures.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright

from companion.boards import gram_board, point_board, step_board, tube_board, weight_board
from companion.boards.board import BROWSER, BoardPicture
from tools.pdf import launch

POINTS, FRAMES = 60, 60
RESULTS = Path(__file__).parent / "results" / "boards.json"
CATEGORIES = ["devtools.timeline", "disabled-by-default-devtools.timeline"]
DRAG = """
async (frames) => {
  const svg = document.querySelector(".companion-board svg"), grip = svg.querySelector(".grip");
  const from = grip.getBoundingClientRect();
  Object.assign(svg, { setPointerCapture: () => {}, hasPointerCapture: () => true });
  const send = (target, type, k) => target.dispatchEvent(new PointerEvent(type, { bubbles: true, pointerId: 1,
    clientX: from.x + 15 + 1.5 * k * Math.cos(k / 9), clientY: from.y + 15 + 1.5 * k * Math.sin(k / 9) }));
  send(grip, "pointerdown", 0);
  for (let k = 0; k < frames; k++) {
    send(svg, "pointermove", k);
    await new Promise(requestAnimationFrame);
    console.timeStamp("frame");
  }
  send(svg, "pointerup", frames);
}
"""


def boards() -> dict[str, Any]:
    """Return the boards by name."""
    rng = np.random.default_rng(60)
    s = np.where(np.arange(POINTS) % 2, 1.0, -1.0)
    X = (rng.normal(size=(POINTS, 2)) + 0.8 * s[:, None]).round(2)
    x = rng.uniform(-4.0, 4.0, POINTS).round(2)
    y = (np.sin(x) + 0.3 * rng.normal(size=POINTS)).round(2)
    shown: dict[str, Any] = {}
    programs = {
        "s1": ("(SVM_s1), unit normal", {"K": 0.05}),  # at first w = 0
        "s2": ("(SVM_s2), C-SVM", {"K": 1.0}),
        "s2'": ("(SVM_s2′), ν-SVM", {"nu": 0.5}),
        "s5": ("(SVM_s5), squared slack, b penalised", {"nu": 0.5, "K": 1.0}),
    }
    for kernel in ("linear", "Gaussian"):
        for name, (program, values) in programs.items():
            values = {"program": program, "kernel": kernel, **values}
            shown[f"chapter 18, {name}, {kernel}"] = point_board(X[s > 0], X[s < 0], **values)
        for name in ("ν-SV regression", "ε-SV regression"):
            shown[f"chapter 20, {name}, {kernel}"] = tube_board(x, y, program=name, kernel=kernel)
    shown["chapter 19"] = weight_board(x / 2.0 + 1.0, y)
    shown["chapter 17"] = gram_board(X)
    shown["chapter 16"] = step_board([4.0, -3.0], [0.0, 0.0])
    return shown


def measure(page: Page, board: BoardPicture, folder: Path) -> dict[str, float]:
    """Return the median milliseconds from frame to frame, and of a frame's work, while a point is dragged."""
    text = f'<!doctype html><script src="page.js"></script><link rel="stylesheet" href="board.css">{board.html()}'
    (folder / "page.html").write_text(text, encoding="utf-8")
    page.goto((folder / "page.html").as_uri())
    page.wait_for_selector(".board-point")
    browser = page.context.browser
    assert browser is not None
    browser.start_tracing(page=page, categories=CATEGORIES)
    page.evaluate(DRAG, FRAMES)
    return frames(json.loads(browser.stop_tracing())["traceEvents"])


def frames(events: list[dict[str, Any]]) -> dict[str, float]:
    """Return the medians of a trace: of the time between two frames, and of the work in it."""
    begun = [e for e in events if e["name"] == "TimeStamp"]  # by DRAG
    thread = begun[0]["pid"], begun[0]["tid"]
    starts = np.array([e["ts"] for e in begun])
    work = np.zeros(len(starts) + 1)
    for e in events:
        if e["name"] == "RunTask" and "dur" in e and (e["pid"], e["tid"]) == thread:
            work[np.searchsorted(starts, e["ts"])] += e.get("tdur", e["dur"])
    return {
        "frame": round(float(np.median(np.diff(starts))) / 1e3, 1),
        "work": round(float(np.median(work[1:-1])) / 1e3, 1),
    }


def main() -> None:
    """Print the medians, and store them."""
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        for file in BROWSER.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        browser = launch(playwright)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        for title, board in boards().items():
            found[title] = measure(page, board, folder)
            print(f"{title:40s} {found[title]}", flush=True)
        browser.close()
    if "--store" in sys.argv:
        kept = {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1), "boards": found}
        RESULTS.write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
