"""Keep what nbval has executed, so that the book that is built next executes nothing again.

A plugin of pytest. When all cells of a notebook have passed, the notebook with the outputs of this run and the state
of its sliders goes to build/executed; ``python tools/notebooks.py cache`` takes it from there when its cells are those
of the page and the package is the one that it ran with. A run with COMPANION_FRAMES is not kept: frames are missing.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbval.plugin import IPyNbCell

from tools.notebooks import executed_file, sources_digest

PASSED = pytest.StashKey[dict[int, IPyNbCell]]()
STATE = """
from json import dumps as _dumps
from pathlib import Path as _Path
from ipywidgets import Widget as _Widget
_ = _Path({path!r}).write_text(_dumps(_Widget.get_manager_state()), encoding="utf-8")
"""


def widget_state(cell: IPyNbCell, path: Path) -> dict[str, Any]:
    """Let the notebook's kernel write the state of its widgets, and read it."""
    kernel = cell.parent.kernel
    path.unlink(missing_ok=True)
    message = kernel.execute_cell_input(STATE.format(path=str(path)), allow_stdin=False)
    kernel.await_reply(message, timeout=60)
    state = json.loads(path.read_text(encoding="utf-8"))
    path.unlink()
    return state


def keep(cells: dict[int, IPyNbCell], file: Path) -> None:
    """Write a notebook whose cells have all passed."""
    notebook = cells[0].parent.nb
    file.parent.mkdir(parents=True, exist_ok=True)
    state = widget_state(cells[0], file.with_suffix(".json"))
    for number, item in cells.items():
        item.cell.execution_count = number + 1
        item.cell.outputs = item.test_outputs
        for output in item.cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number + 1
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": state}
    notebook.metadata["sources"] = sources_digest()
    nbformat.validate(notebook)
    nbformat.write(notebook, file)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Any:
    """Note the cells that pass."""
    outcome = yield
    report = outcome.get_result()
    if isinstance(item, IPyNbCell) and report.when == "call" and report.passed:
        item.parent.stash.setdefault(PASSED, {})[item.cell_num] = item


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After the last cell of a notebook its kernel still lives: keep what it made."""
    if not isinstance(item, IPyNbCell) or "COMPANION_FRAMES" in os.environ:
        return
    if nextitem is None or nextitem.parent is not item.parent:
        cells = item.parent.stash.get(PASSED, {})
        if len(cells) == sum(cell.cell_type == "code" for cell in item.parent.nb.cells):
            keep(cells, executed_file(item.path))
