"""The second control of a slider, which only JupyterLab shows, draws any value when all cells have run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.notebooks import ROOT, pages

pytestmark = pytest.mark.slow

# Runs a notebook's code, and then moves each second control as a reader would.
MOVE = r"""
import json, sys
from companion.figures import flipbook as widgets
def kept(make):
    def made(*arguments, **options):
        boxes.append(make(*arguments, **options))
        return boxes[-1]
    return made
boxes = []
widgets.flipbook, widgets.flipbook_grid = kept(widgets.flipbook), kept(widgets.flipbook_grid)
cells = json.load(open(sys.argv[1], encoding="utf-8"))["cells"]
names = {"__name__": "__main__"}
for source in ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"):
    exec("\n".join(line for line in source.split("\n") if not line.startswith("%")), names)
for live in (part for box in boxes for part in box.children):
    if widgets.LIVE_CLASS in live._dom_classes:
        *entries, picture = live.children
        for entry in entries:
            entry.value = 0.713 * entry.min + 0.287 * entry.max
        assert "<img" in picture.value
        print("moved", *(entry.description for entry in entries))
"""
WITH_SLIDERS = [path for path in pages() if "flipbook(" in path.read_text(encoding="utf-8")]


def run(notebook: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-c", MOVE, str(notebook)]
    env = os.environ | {"MPLBACKEND": "agg", "COMPANION_FRAMES": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, cwd=notebook.parent, env=env, text=True)


@pytest.mark.parametrize("path", WITH_SLIDERS, ids=lambda path: path.stem)
def test_any_value_can_be_drawn(path: Path) -> None:
    assert not (ended := run(path)).returncode, ended.stderr[-2000:]


@pytest.mark.parametrize("height", ["known[x]", "1 + x"])
def test_a_picture_that_exists_for_the_frames_only_is_found(height: str, tmp_path: Path) -> None:
    source = f"""
import matplotlib.pyplot as plt
from companion.figures.flipbook import flipbook
known = {{0.5: 1, 1.0: 2}}
flipbook(lambda x: plt.figure(figsize=(2, {height})), [0.5, 1.0], label="x", alt="{{}}")
"""
    path = tmp_path / "page.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": source}]}))
    ended = run(path)
    assert (ended.returncode == 0) == (height == "1 + x"), ended.stderr
    assert ("moved any x" in ended.stdout) == (height == "1 + x")
