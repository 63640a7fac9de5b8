"""What nbval executed goes into the book's cache, if it is this page and this package; else it is forgotten."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools import notebooks

SLIDER = """import ipywidgets

slider = ipywidgets.IntSlider(description="position")
print(1 + 1)
slider"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one page, which shows 2 and a slider."""
    for name in ("tools", "companion"):
        (tmp_path / name).symlink_to(notebooks.ROOT / name)
    shutil.copy(notebooks.ROOT / "requirements.lock", tmp_path)
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    monkeypatch.setattr(notebooks, "EXECUTED", tmp_path / "build/executed")
    cell = new_code_cell(SLIDER, execution_count=1, outputs=[new_output("stream", text="2\n")])
    cell.metadata["tags"] = ["nbval-ignore-output"]
    nbformat.write(new_notebook(cells=[cell]), tmp_path / "page.ipynb")
    return tmp_path


def run_nbval(project: Path, **environment: str) -> None:
    """In a process of its own; the plugin's module believes that the project is the root."""
    start = (
        "import sys, pathlib, pytest; from tools import notebooks; "
        f"notebooks.ROOT = pathlib.Path({str(project)!r}); "
        "notebooks.EXECUTED = notebooks.ROOT / 'build/executed'; "
        "sys.exit(pytest.main(sys.argv[1:]))"
    )
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "tools.executed",
        "--nbval",
        "--nbval-current-env",
    ]
    variables = {k: v for k, v in os.environ.items() if k != "COMPANION_FRAMES"}
    subprocess.run(
        [sys.executable, "-c", start, *options, "page.ipynb"],
        cwd=project, env=variables | environment, check=True, capture_output=True,
    )  # fmt: skip


def cached(project: Path) -> nbformat.NotebookNode | None:
    with notebooks.opened(project / "cache") as cache:
        notebooks.take_executed(cache, project / "page.ipynb")
        try:
            record = cache.match_cache_file(str(project / "page.ipynb"))
        except KeyError:
            return None
        return cache.get_cache_bundle(record.pk).nb


def test_outputs_and_sliders_are_kept(project: Path) -> None:
    run_nbval(project)
    notebook = cached(project)
    assert notebook is not None
    text, shown = notebook.cells[0].outputs
    assert text.text == "2\n"
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
    page.metadata["sources"] = notebooks.sources_digest()
    file = notebooks.executed_file(project / "page.ipynb")
    file.parent.mkdir(parents=True)
    if change == "page":
        page.cells[0].source += "\nprint(3)"
    else:
        page.metadata["sources"] = "another package"
    file.write_text(json.dumps(page))
    assert cached(project) is None
    assert not file.exists()


SLOW = """import sys

for part in ("one ", "line", "\\n  and another\\n"):
    print(part, end="")
    sys.stdout.flush()"""


def executed(project: Path, monkeypatch: pytest.MonkeyPatch) -> nbformat.NotebookNode:
    """What the book's cache has of a page that it executes itself."""
    monkeypatch.setattr(notebooks, "CACHE", project / "cache")
    page = project / "page.ipynb"
    with notebooks.opened(project / "cache") as cache:
        number = cache.add_nb_to_project(str(page)).pk
    assert notebooks.execute_and_cache(number) == []
    with notebooks.opened(project / "cache") as cache:
        return cache.get_cache_bundle(cache.match_cache_file(str(page)).pk).nb


@pytest.mark.parametrize("way", ["kept by nbval", "executed for the book"])
def test_a_text_that_comes_in_pieces_is_one_text(
    way: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MyST-NB puts a line break between two pieces, wherever in a line they end."""
    text = "one line\n  and another\n"
    cell = new_code_cell(SLOW, execution_count=1, outputs=[new_output("stream", text=text)])
    nbformat.write(new_notebook(cells=[cell]), project / "page.ipynb")
    if way == "kept by nbval":
        run_nbval(project)
        notebook = cached(project)
    else:
        notebook = executed(project, monkeypatch)
    assert notebook is not None
    assert [output.text for output in notebook.cells[0].outputs] == [text]


def test_pieces_of_two_streams_and_a_picture() -> None:
    parts = [
        new_output("stream", name="stdout", text="a"),
        new_output("stream", name="stderr", text="!"),
        new_output("display_data", data={"text/plain": "picture"}),
        new_output("stream", name="stdout", text="b\n"),
    ]
    notebook = new_notebook(cells=[new_code_cell("", outputs=parts)])
    notebooks.join_streams(notebook)
    kinds = [output.get("text", "picture") for output in notebook.cells[0].outputs]
    assert kinds == ["ab\n", "!", "picture"]
