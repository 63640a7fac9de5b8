"""How notebooks are run: the book takes what nbval executed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_cache import get_cache
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools import notebooks

SLIDER = """import sys
import ipywidgets
from ipykernel.kernelapp import IPKernelApp
assert sys.platform == "win32" or IPKernelApp.instance().transport == "ipc"  # ports are others' as well
for part in ("one ", "line", "\\n  and another\\n"):
    print(part, end="")
    sys.stdout.flush()
ipywidgets.IntSlider(description="position")"""
TEXT = "one line\n  and another\n"
CACHE = "-m tools.notebooks cache"
NBVAL = "-m pytest -q -p no:cacheprovider -p tools.notebooks --nbval --nbval-current-env page.ipynb"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one page, which prints its text in pieces and shows a slider."""
    shutil.copytree(notebooks.ROOT / "tools", tmp_path / "tools")
    for name, text in {"book/_toc.yml": "root: page", "requirements.lock": ""}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    cell = new_code_cell(SLIDER, execution_count=1, outputs=[new_output("stream", text=TEXT)])
    cell.metadata["tags"] = ["nbval-ignore-output"]
    nbformat.write(new_notebook(cells=[cell]), tmp_path / "page.ipynb")
    return tmp_path


def run(project: Path, command: str, **variables: str) -> str:
    """Run a command of the project; return what it says."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("COMPANION_", "PYTHONPATH"))}
    how = {"cwd": project, "env": kept | variables, "check": True, "text": True}
    return subprocess.run([sys.executable, *command.split()], capture_output=True, **how).stdout


def check_outputs(project: Path) -> None:
    """MyST-NB puts a line break between two pieces of a text, wherever in a line they end."""
    cache = get_cache(str(project / ".jupyter_cache"))
    notebook = cache.get_cache_bundle(cache.match_cache_file(str(project / "page.ipynb")).pk).nb
    cache.db.dispose()
    text, shown = notebook.cells[0].outputs
    assert text.text == TEXT
    model = shown.data["application/vnd.jupyter.widget-view+json"]["model_id"]
    state = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    assert state[model]["state"]["description"] == "position"


def test_a_run_is_kept_until_the_page_or_the_package_changes(project: Path) -> None:
    run(project, NBVAL)
    assert run(project, CACHE) == "1 notebooks, 0 executed\n"
    check_outputs(project)
    (project / "requirements.lock").write_text("another", encoding="utf-8")
    assert run(project, CACHE) == "1 notebooks, 1 executed\n"
    check_outputs(project)
    page = nbformat.read(project / "page.ipynb", as_version=4)
    page.cells[0].source += "\nprint(3)"
    nbformat.write(page, project / "page.ipynb")
    assert run(project, CACHE) == "1 notebooks, 1 executed\n"


@pytest.mark.slow
def test_a_run_without_frames_is_not_kept(project: Path) -> None:
    run(project, NBVAL, COMPANION_FRAMES="2")
    assert run(project, CACHE) == "1 notebooks, 1 executed\n"
