"""Time the frames of a drag on each board with 60 points, in headless Chromium: ``python -m benchmarks.boards``.

A frame's time is the processor time of the page's thread from the move of the pointer to the next frame: the solver,
the drawing and the layout. 33 ms are 30 frames a second.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright

from companion.boards import BoardPicture, gram_board, point_board, tube_board, weight_board
from companion.boards.board import BROWSER
from companion.svm import SVMs1, SVMs2, SVMs2prime, SVMs5
from tools.pdf import BROWSERS

POINTS, FRAMES = 60, 60
MOVE = """
([type, k]) => {
  const svg = document.querySelector(".companion-board svg"), grip = svg.querySelector(".grip");
  window.from ??= grip.getBoundingClientRect();
  svg.setPointerCapture = () => {};
  (type === "pointerdown" ? grip : svg).dispatchEvent(new PointerEvent(type, { bubbles: true, pointerId: 1,
    clientX: window.from.x + 15 + 1.5 * k * Math.cos(k / 9),
    clientY: window.from.y + 15 + 1.5 * k * Math.sin(k / 9) }));
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}
"""


def boards() -> dict[str, Any]:
    """Return the boards by name."""
    rng = np.random.default_rng(60)
    s = np.where(np.arange(POINTS) % 2, 1.0, -1.0)
    X = (rng.normal(size=(POINTS, 2)) + 0.8 * s[:, None]).round(2)
    x = rng.uniform(-4.0, 4.0, POINTS).round(2)
    y = (np.sin(x) + 0.3 * rng.normal(size=POINTS)).round(2)
    machines = {
        "s1": SVMs1(K=0.05),
        "s2": SVMs2(K=1.0),
        "s2'": SVMs2prime(nu=0.5),
        "s5": SVMs5(nu=0.5, K=1.0),
    }
    shown: dict[str, Any] = {}
    for kernel in ("linear", "Gaussian"):
        values = {"kernel": kernel, "sigma": 1.0}
        for name in machines:
            shown[f"chapter 18, {name}, {kernel}"] = point_board(
                machines,
                X[s > 0],
                X[s < 0],
                limits=(-5.0, 5.0, -5.0, 5.0),
                kernels=True,
                program=name,
                values=values,
            )
        for name in ("ν-SV regression", "ε-SV regression"):
            shown[f"chapter 20, {name}, {kernel}"] = tube_board(x, y, program=name, values=values)
    shown["chapter 19"] = weight_board(x / 2.0 + 1.0, y)
    shown["chapter 17"] = gram_board(X)
    return shown


def measure(page: Page, board: BoardPicture, folder: Path) -> list[float]:
    """Return the milliseconds of each frame of a drag."""
    text = f'<!doctype html><script src="page.js"></script><link rel="stylesheet" href="board.css">{board.html()}'
    (folder / "page.html").write_text(text, encoding="utf-8")
    page.goto((folder / "page.html").as_uri())
    page.wait_for_selector(".board-point")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def used() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return 1e3 * next(m["value"] for m in metrics if m["name"] == "TaskDuration")

    page.evaluate(MOVE, ["pointerdown", 0])
    times = []
    for k in range(FRAMES):
        before = used()
        page.evaluate(MOVE, ["pointermove", k])
        times.append(used() - before)
    return times


def main() -> None:
    """Print the median and the slowest tenth."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        for file in BROWSER.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        path = next(filter(None, map(shutil.which, BROWSERS)), None)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        for title, board in boards().items():
            times = sorted(measure(page, board, folder))
            print(
                f"{title:40s} median {median(times):5.1f} ms, nine in ten below {times[int(0.9 * FRAMES)]:5.1f} ms",
                flush=True,
            )
        browser.close()


if __name__ == "__main__":
    main()
