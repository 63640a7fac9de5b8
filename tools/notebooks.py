"""Run notebooks and keep their files in the shape that the contract asks for.

    python -m tools.notebooks run [PATH ...]      execute in place, two at a time, and tidy the files
    python -m tools.notebooks cache               fill the cache from which the book is built

`run` stores outputs, numbers the cells from 1, drops widget state and execution times, and copies the
alt text of each picture (given to `companion.figures.plotting.show`) into the cell's metadata, where the book's builder
looks for it. Pages are listed in book/_toc.yml; without a path, all of them are run.

As a plugin of pytest (``-p tools.notebooks``) it fills the same cache from nbval's runs, so that the book that is built
next executes nothing again: when all cells of a page have passed, their outputs and the state of the sliders go there.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import json
import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from traitlets.config import Config

from tools.toc import ROOT, notebooks

CACHE = ROOT / ".jupyter_cache"
STAMP = CACHE / "sources.sha256"
TIMEOUT = 1200  # seconds for one cell, on a slow machine
STATE = "__import__('json').dumps(__import__('ipywidgets').Widget.get_manager_state())"

# The whole metadata of a notebook file: nothing that depends on who ran it.
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3", "file_extension": ".py"},
}


def pages() -> list[Path]:
    """The notebooks that the table of contents lists, in its order."""
    return [ROOT / f"{page}.ipynb" for page in notebooks()]


def folded(cell: nbformat.NotebookNode) -> dict[str, bool]:
    """Return what JupyterLab hides of a cell: of a check, or one that goes on with a solution, what the site hides."""
    tags = set(cell.metadata.get("tags", []))
    if not tags & {"solution", "check"} or not tags & {"hide-cell", "hide-input"}:
        return {}
    return {"source_hidden": True} | ({"outputs_hidden": True} if "hide-cell" in tags else {})


def tidy(notebook: nbformat.NotebookNode) -> None:
    """Bring metadata and alt texts into the shape of the contract; each cell keeps its id."""
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for cell in notebook.cells:
        kept = {key: cell.metadata[key] for key in ("tags", "exercise") if key in cell.metadata}
        if hidden := folded(cell):
            kept["jupyter"] = hidden
        told = (o.get("metadata", {}).get("image/png", {}) for o in cell.get("outputs", []))
        if alts := [picture["alt"] for picture in told if "alt" in picture]:
            kept["mystnb"] = {"image": {"alt": " ".join(alts)}}
        cell.metadata = nbformat.from_dict(kept)


def sockets() -> Config:
    """Return where a kernel speaks: through files of its own, since two that start at once may be given one port."""
    own = {"transport": "ipc", "ip": f"{tempfile.gettempdir()}/{uuid.uuid4().hex}"}
    return Config(ConnectionFileMixin=own if os.name == "posix" else {})


def execute(path: Path, **options: Any) -> nbformat.NotebookNode:
    """Execute a notebook from top to bottom, and return it."""
    notebook = nbformat.read(path, as_version=4)
    # an output that is late on a busy machine would be lost without a word after 4 s
    options |= {"timeout": TIMEOUT, "startup_timeout": TIMEOUT, "iopub_timeout": TIMEOUT}
    options |= {"kernel_name": "python3", "record_timing": False}
    # one block of text, however fast the machine prints it
    options |= {"coalesce_streams": True, "resources": {"metadata": {"path": str(path.parent)}}}
    NotebookClient(notebook, config=sockets(), **options).execute()
    nbformat.validate(notebook)
    return notebook


def run(path: Path) -> None:
    """Execute one notebook and write it back."""
    notebook = execute(path, store_widget_state=False)
    tidy(notebook)
    nbformat.write(notebook, path)


def side_by_side(work: Callable[[Path], None], paths: list[Path], jobs: int) -> None:
    """Let several processes work on notebooks; one broken page does not hide the others."""
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    failed = 0
    with ProcessPoolExecutor(jobs) as pool:
        futures = {pool.submit(work, path): path for path in paths}
        for count, future in enumerate(as_completed(futures), 1):
            failed += bool(error := future.exception())
            outcome = f"FAILED, {error}\n" if error else ""
            print(f"{count} of {len(paths)} {outcome} {futures[future]}", file=sys.stderr)
    if failed:
        sys.exit(f"{failed} of {len(paths)} notebooks failed")


@contextlib.contextmanager
def opened() -> Iterator[Any]:
    """Open the cache of executed notebooks, and close its database at the end."""
    from jupyter_cache import get_cache

    cache = get_cache(str(CACHE))
    # It would look for more than a thousand pages, and take what another process adds meanwhile for one of them.
    cache.truncate_caches = lambda: None
    try:
        yield cache
    finally:
        cache.db.dispose()


def forget_stale() -> None:
    """Empty the cache when the package or the environment changed: the cache itself looks only at the cells."""
    package = sorted(p for kind in ("py", "npz") for p in (ROOT / "companion").rglob(f"*.{kind}"))
    data = (path.read_bytes() for path in (*package, ROOT / "requirements.lock"))
    digest = hashlib.sha256(b"".join(data)).hexdigest()
    if not STAMP.exists() or STAMP.read_text() != digest:
        with opened() as cache:
            cache.clear_cache()
        STAMP.write_text(digest)
        # the book is read anew: its outputs may be others
        shutil.rmtree(ROOT / "build" / "_build" / ".doctrees", ignore_errors=True)


def is_cached(path: Path) -> bool:
    """Whether the cache has a run of a page with the same code and tags."""
    with opened() as cache, contextlib.suppress(KeyError):
        return cache.match_cache_file(str(path)) is not None
    return False


def put(notebook: nbformat.NotebookNode, page: Path) -> None:
    """Put the run of a page into the cache of the book."""
    from jupyter_cache.base import CacheBundleIn

    with opened() as cache:
        bundle = CacheBundleIn(notebook, str(page))
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def run_for_the_book(path: Path) -> None:
    """Execute a page, with the state of its sliders, for the book."""
    put(execute(path, store_widget_state=True), path)


def fill_cache() -> None:
    """Execute every page that changed since it was last cached, side by side, large files first."""
    forget_stale()
    todo = [path for path in pages() if not is_cached(path)]
    todo.sort(key=lambda path: -path.stat().st_size)
    # One more than processors: a kernel waits now and then, when it starts and when it ends.
    side_by_side(run_for_the_book, todo, (os.cpu_count() or 1) + 1)
    print(f"{len(pages())} notebooks, {len(todo)} executed")


def pytest_configure(config: pytest.Config) -> None:
    """Begin with a cache of this package, once, before the workers of pytest-xdist start."""
    import nbval.kernel

    start = nbval.kernel.KernelManager
    nbval.kernel.KernelManager = lambda **given: start(config=sockets(), **given)
    if not hasattr(config, "workerinput"):
        forget_stale()


def keep(page: Any, cells: list[Any]) -> None:
    """Put a page whose cells have all passed into the cache of the book, with the state of its sliders."""
    asked = {"silent": True, "user_expressions": {"state": STATE}, "reply": True}
    reply = page.kernel.kc.execute("", **asked, timeout=TIMEOUT)["content"]["user_expressions"]
    state = json.loads(ast.literal_eval(reply["state"]["data"]["text/plain"]))
    for number, item in enumerate(cells, 1):
        item.cell.execution_count, item.cell.outputs = number, item.test_outputs
        for output in item.cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number
    page.nb.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": state}
    put(page.nb, page.path)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After the last cell of a notebook its kernel still lives: keep the run if nothing failed or is missing."""
    page, ended = item.parent, nextitem is None or nextitem.parent is not item.parent
    if ended and hasattr(item, "cell_num") and not item.session.testsfailed:
        cells = [each for each in item.session.items if each.parent is page]
        whole = len(cells) == sum(cell.cell_type == "code" for cell in page.nb.cells)
        if whole and "COMPANION_FRAMES" not in os.environ:
            keep(page, cells)


def main() -> None:
    """Run notebooks, or fill the cache."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["run", "cache"])
    parser.add_argument("paths", nargs="*", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "cache":
        return fill_cache()
    paths = [path.resolve() for path in arguments.paths] or pages()
    return side_by_side(run, paths, 2)


if __name__ == "__main__":
    main()
