"""How notebooks are run: the cache takes what nbval executed, and a kernel that does not start gets another try."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock, call

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools import notebooks

SLIDER = """import sys
import ipywidgets
for part in ("one ", "line", "\\n  and another\\n"):
    print(part, end="")
    sys.stdout.flush()
ipywidgets.IntSlider(description="position")"""
TEXT = "one line\n  and another\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one page, which prints its text in pieces and shows a slider."""
    for name in ("tools", "companion"):
        (tmp_path / name).symlink_to(notebooks.ROOT / name)
    shutil.copy(notebooks.ROOT / "requirements.lock", tmp_path)
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    monkeypatch.setattr(notebooks, "EXECUTED", tmp_path / "build/executed")
    monkeypatch.setattr(notebooks, "CACHE", tmp_path / "cache")
    cell = new_code_cell(SLIDER, execution_count=1, outputs=[new_output("stream", text=TEXT)])
    cell.metadata["tags"] = ["nbval-ignore-output"]
    nbformat.write(new_notebook(cells=[cell]), tmp_path / "page.ipynb")
    return tmp_path


def run_nbval(project: Path, **environment: str) -> None:
    """In a process of its own; the plugin believes that the project is the root."""
    start = (
        "import sys, pathlib, pytest; from tools import notebooks; "
        "notebooks.ROOT = pathlib.Path.cwd(); notebooks.EXECUTED = notebooks.ROOT / 'build/executed'; "
        "sys.exit(pytest.main(sys.argv[1:]))"
    )
    options = "-q -p no:cacheprovider -p tools.notebooks --nbval --nbval-current-env page.ipynb"
    variables = {k: v for k, v in os.environ.items() if not k.startswith("COMPANION_")}
    command = [sys.executable, "-c", start, *options.split()]
    subprocess.run(
        command, cwd=project, env=variables | environment, check=True, capture_output=True
    )


def cached(project: Path) -> nbformat.NotebookNode | None:
    """Return what the cache has of the page, after it took what nbval left."""
    page = project / "page.ipynb"
    with notebooks.opened(notebooks.CACHE) as cache:
        notebooks.take_executed(cache, page)
        try:
            return cache.get_cache_bundle(cache.match_cache_file(str(page)).pk).nb
        except KeyError:
            return None


@pytest.mark.parametrize("way", ["kept by nbval", "executed for the book"])
def test_outputs_are_kept_and_a_text_is_one_text(way: str, project: Path) -> None:
    """MyST-NB puts a line break between two pieces, wherever in a line they end."""
    if way == "kept by nbval":
        run_nbval(project)
    else:
        with notebooks.opened(notebooks.CACHE) as cache:
            number = cache.add_nb_to_project(str(project / "page.ipynb")).pk
        assert notebooks.execute_and_cache(number) == []
    notebook = cached(project)
    text, shown = notebook.cells[0].outputs
    assert text.text == TEXT
    model = shown.data["application/vnd.jupyter.widget-view+json"]["model_id"]
    state = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    assert state[model]["state"]["description"] == "position"
    assert not notebooks.executed_file(project / "page.ipynb").exists(), "taken once"


@pytest.mark.slow
def test_a_run_without_frames_is_not_kept(project: Path) -> None:
    run_nbval(project, COMPANION_FRAMES="2")
    assert cached(project) is None


@pytest.mark.parametrize("change", ["page", "package"])
def test_what_has_changed_is_forgotten(project: Path, change: str) -> None:
    page = nbformat.read(project / "page.ipynb", as_version=4)
    page.metadata["sources"] = notebooks.sources_digest() if change == "page" else "another package"
    page.cells[0].source += "\nprint(3)" if change == "page" else ""
    file = notebooks.executed_file(project / "page.ipynb")
    file.parent.mkdir(parents=True)
    nbformat.write(page, file)
    assert cached(project) is None
    assert not file.exists()


NO_ANSWER = "Kernel died before replying to kernel_info"


@pytest.mark.filterwarnings("ignore:Kernel died before replying")
@pytest.mark.parametrize(
    ("error", "failures", "starts"),
    [(NO_ANSWER, 2, 3), (NO_ANSWER, 9, 3), ("Kernel died in a cell", 1, 1)],
)
def test_a_kernel_is_started_until_it_answers(error: str, failures: int, starts: int) -> None:
    start = Mock(side_effect=[*[RuntimeError(error)] * failures, "kernel"], __name__="start")
    with nullcontext() if failures < starts else pytest.raises(RuntimeError):
        assert notebooks.again(start)(7) == "kernel"
    assert start.mock_calls == [call(7)] * starts
