"""Run notebooks and keep their files in the shape that the contract asks for.

    python tools/notebooks.py run [PATH ...]      execute in place, two at a time, and tidy the files
    python tools/notebooks.py cache               fill the cache from which the book is built

`run` formats the code, stores outputs, numbers the cells from 1, drops widget state and execution
times, and copies the alt text of each picture (given to `companion.figures.plotting.show`) into the cell's
metadata, where the book's builder looks for it. Pages are listed in book/_toc.yml; without a path,
all of them are run.

As a plugin of pytest (``-p tools.notebooks``) it fills the same cache from nbval's runs, so that the book that is built
next executes nothing again: when all cells of a page have passed, their outputs and the state of the sliders go there.

Jupyter looks for free ports and hands them to a new kernel, which opens them a second later. Where several kernels
start at once, one of the ports may be in use by then, and the kernel ends before it answers. It is started again.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import nbformat
import pytest
from nbclient import NotebookClient

P = ParamSpec("P")
T = TypeVar("T")
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # so that it runs as a script as well as with -m

from tools.toc import pages_in_order  # noqa: E402

CACHE = ROOT / ".jupyter_cache"
STAMP = CACHE / "sources.sha256"
DOCTREES = ROOT / "build" / "_build" / ".doctrees"
TIMEOUT = 1200  # seconds for one cell, on a slow machine
ATTEMPTS = 3  # to start a kernel
ENDED = "Kernel died before replying"  # jupyter_client's words
PASSED = pytest.StashKey[dict[int, Any]]()
WATCH = f"""
import sys as _sys
_sys.path.insert(0, {str(ROOT)!r})
get_ipython().run_line_magic("load_ext", "tools.recorder")
del _sys.path[0]
"""
STATE = """
from json import dumps as _dumps
from pathlib import Path as _Path
from ipywidgets import Widget as _Widget
_ = _Path({path!r}).write_text(_dumps(_Widget.get_manager_state()), encoding="utf-8")
"""

# The whole metadata of a notebook file: nothing that depends on who ran it.
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3", "file_extension": ".py"},
}


def pages() -> list[Path]:
    """The notebooks that the table of contents lists, in its order."""
    files = [ROOT / f"{page}.ipynb" for page in pages_in_order()]
    return [path for path in files if path.exists()]


def folded(cell: nbformat.NotebookNode) -> dict[str, bool]:
    """Return what JupyterLab hides of a cell: of a check, or one that goes on with a solution, what the site hides."""
    tags = set(cell.metadata.get("tags", []))
    if not tags & {"solution", "check"} or not tags & {"hide-cell", "hide-input"}:
        return {}
    return {"source_hidden": True} | ({"outputs_hidden": True} if "hide-cell" in tags else {})


def again(start: Callable[P, T]) -> Callable[P, T]:
    """Return `start`, which is tried again when a kernel ends before it answers."""

    @functools.wraps(start)
    def started(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(ATTEMPTS - 1):
            try:
                return start(*args, **kwargs)
            except RuntimeError as error:
                if ENDED not in str(error):
                    raise
                warnings.warn(f"{error}; it is started again", stacklevel=2)
        return start(*args, **kwargs)

    return started


def watched(start: Callable[P, tuple[Any, Any]]) -> Callable[P, tuple[Any, Any]]:
    """Return `start`, after which tools/recorder.py watches the kernel."""

    @functools.wraps(start)
    def started(*args: P.args, **kwargs: P.kwargs) -> tuple[Any, Any]:
        manager, client = start(*args, **kwargs)
        reply = client.execute(WATCH, silent=True, reply=True, timeout=TIMEOUT)["content"]
        assert reply["status"] == "ok", reply
        return manager, client

    return started


def tidy(notebook: nbformat.NotebookNode) -> None:
    """Bring cell ids, metadata and alt texts into the shape of the contract."""
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    # each cell keeps its id, so that differences between versions stay small
    for cell in notebook.cells:
        for key in ("execution", "jupyter", "mystnb", "lines_to_next_cell"):  # the last: jupytext's
            cell.metadata.pop(key, None)
        if cell.cell_type != "code":
            continue
        tags = cell.metadata.get("tags", [])
        if "nbval-ignore-output" in tags:  # a slider: fold its call away
            fold = "remove-input" if "remove-input" in tags else "hide-input"
            more = ["hide-cell", "solution"] if "solution" in tags else [fold]
            cell.metadata["tags"] = ["nbval-ignore-output", *more]
        if hidden := folded(cell):
            cell.metadata["jupyter"] = hidden
        told = (o.get("metadata", {}).get("image/png", {}).get("alt") for o in cell.outputs)
        if alts := [alt for alt in told if alt is not None]:
            cell.metadata["mystnb"] = {"image": {"alt": " ".join(alts)}}


def execute(notebook: nbformat.NotebookNode, path: Path, **options: Any) -> float:
    """Execute a notebook from top to bottom; return the time it took."""
    # an output that is late on a busy machine would be lost without a word after 4 s
    options |= {"timeout": TIMEOUT, "startup_timeout": TIMEOUT, "iopub_timeout": TIMEOUT}
    options |= {"kernel_name": "python3", "record_timing": False}
    # one block of text, however fast the machine prints it
    options |= {"coalesce_streams": True, "resources": {"metadata": {"path": str(path.parent)}}}
    start = time.perf_counter()
    again(lambda: NotebookClient(notebook, **options).execute())()
    return time.perf_counter() - start


def run(path: Path) -> float:
    """Execute one notebook and write it back."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.source.strip()]
    seconds = execute(notebook, path, store_widget_state=False)
    tidy(notebook)
    nbformat.validate(notebook)
    nbformat.write(notebook, path)
    return seconds


def side_by_side(work: Callable[[Path], float], paths: list[Path], jobs: int) -> None:
    """Let several processes work on notebooks."""
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    failed = 0
    with ProcessPoolExecutor(jobs) as pool:
        futures = {path: pool.submit(work, path) for path in paths}
        for count, (path, future) in enumerate(futures.items(), 1):
            try:
                outcome = f"{future.result():6.1f} s"
            except Exception as error:  # one broken page must not hide the others
                failed += 1
                outcome = f"FAILED, {error}\n"
            print(f"{count} of {len(paths)} {outcome} {path}", file=sys.stderr, flush=True)
    if failed:
        sys.exit(f"{failed} of {len(paths)} notebooks failed")


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[Any]:
    """Open a cache of executed notebooks, and close its database at the end."""
    from jupyter_cache import get_cache

    cache = get_cache(str(folder))
    # It would look for more than a thousand pages, and take what another process adds meanwhile for one of them.
    cache.truncate_caches = lambda: None
    try:
        yield cache
    finally:
        cache.db.dispose()


def sources_digest() -> str:
    """A fingerprint of the package and of the environment, from which all outputs come."""
    package = sorted(p for kind in ("py", "npz") for p in (ROOT / "companion").rglob(f"*.{kind}"))
    files = [*package, ROOT / "requirements.lock"]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def forget_stale(cache: Any) -> None:
    """Empty the cache when the package changed: the cache itself looks only at the text of the cells."""
    if not STAMP.exists() or STAMP.read_text() != sources_digest():
        cache.clear_cache()
        CACHE.mkdir(parents=True, exist_ok=True)
        STAMP.write_text(sources_digest())
        # the book is read anew: its outputs may be others
        shutil.rmtree(DOCTREES, ignore_errors=True)


def is_cached(cache: Any, path: Path) -> bool:
    """Whether the cache has a run of a page with the same code and tags."""
    with contextlib.suppress(KeyError):
        return cache.match_cache_file(str(path)) is not None
    return False


def put(notebook: nbformat.NotebookNode, page: Path, **data: float) -> None:
    """Put the run of a page into the cache of the book."""
    from jupyter_cache.base import CacheBundleIn

    nbformat.validate(notebook)
    with opened(CACHE) as cache:
        bundle = CacheBundleIn(notebook, str(page), data=data)
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def run_for_the_book(path: Path) -> float:
    """Execute a page, with the state of its sliders, for the book."""
    notebook = nbformat.read(path, as_version=4)
    seconds = execute(notebook, path, store_widget_state=True)
    put(notebook, path, execution_seconds=seconds)
    return seconds


def fill_cache() -> None:
    """Execute every page that changed since it was last cached, side by side, large files first."""
    with opened(CACHE) as cache:
        forget_stale(cache)
        todo = [path for path in pages() if not is_cached(cache, path)]
    todo.sort(key=lambda path: -path.stat().st_size)
    # One more than processors: a kernel waits now and then, when it starts and when it ends.
    side_by_side(run_for_the_book, todo, (os.cpu_count() or 1) + 1)
    print(f"{len(pages())} notebooks, {len(todo)} executed")


def pytest_configure(config: pytest.Config) -> None:
    """Let nbval's kernels start again, and the recorder watch them where results are to be verified."""
    import nbval.kernel

    if not hasattr(config, "workerinput"):  # once, before the workers of pytest-xdist start
        with opened(CACHE) as cache:
            forget_stale(cache)
    start = again(nbval.kernel.start_new_kernel)
    nbval.kernel.start_new_kernel = watched(start) if "COMPANION_VERIFY" in os.environ else start


def widget_state(kernel: Any) -> dict[str, Any]:
    """Let a notebook's kernel write the state of its widgets, and read it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.json"
        message = kernel.execute_cell_input(STATE.format(path=str(path)), allow_stdin=False)
        kernel.await_reply(message, timeout=TIMEOUT)
        return json.loads(path.read_text(encoding="utf-8"))


def keep(cells: dict[int, Any], page: Path) -> None:
    """Put a page whose cells have all passed into the cache of the book."""
    notebook = cells[0].parent.nb
    state = widget_state(cells[0].parent.kernel)
    for number, item in cells.items():
        item.cell.execution_count = number + 1
        item.cell.outputs = item.test_outputs
        for output in item.cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number + 1
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": state}
    put(notebook, page)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Any:
    """Note the cells that pass."""
    report = yield
    if hasattr(item, "cell_num") and report.when == "call" and report.passed:
        item.parent.stash.setdefault(PASSED, {})[item.cell_num] = item
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After the last cell of a notebook its kernel still lives: keep what it made, unless frames are missing."""
    is_last = nextitem is None or nextitem.parent is not item.parent
    if is_last and hasattr(item, "cell_num") and "COMPANION_FRAMES" not in os.environ:
        cells = item.parent.stash.get(PASSED, {})
        if len(cells) == sum(cell.cell_type == "code" for cell in item.parent.nb.cells):
            keep(cells, item.path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n`run`")[0])
    parser.formatter_class = argparse.RawTextHelpFormatter
    parser.add_argument("command", choices=["run", "cache"])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.command == "cache":
        return fill_cache()
    paths = [path.resolve() for path in arguments.paths] or pages()
    for command in (["check", "--fix", "--select", "I"], ["format"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, "--quiet", *paths], check=True)
    return side_by_side(run, paths, arguments.jobs)


if __name__ == "__main__":
    main()
