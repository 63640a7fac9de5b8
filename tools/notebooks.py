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
        told = client.execute(WATCH, silent=True, reply=True, timeout=TIMEOUT)["content"]
        assert told["status"] == "ok", told
        return manager, client

    return started


def tidy(notebook: nbformat.NotebookNode) -> None:
    """Bring cell ids, metadata and alt texts into the shape of the contract."""
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for (
        cell
    ) in notebook.cells:  # each keeps its id, so that differences between versions stay small
        cell.metadata.pop("execution", None)
        cell.metadata.pop("jupyter", None)
        cell.metadata.pop("lines_to_next_cell", None)  # left by jupytext
        if cell.cell_type != "code":
            continue
        if "nbval-ignore-output" in cell.metadata.get("tags", []):  # a slider: fold its call away
            fold = "remove-input" if "remove-input" in cell.metadata["tags"] else "hide-input"
            solution = ["solution"] if "solution" in cell.metadata["tags"] else []
            cell.metadata["tags"] = ["nbval-ignore-output", fold, *solution]
        if hidden := folded(cell):
            cell.metadata["jupyter"] = hidden
        alts = [
            output.metadata["image/png"]["alt"]
            for output in cell.outputs
            if "alt" in output.get("metadata", {}).get("image/png", {})
        ]
        if alts:
            cell.metadata["mystnb"] = {"image": {"alt": " ".join(alts)}}
        else:
            cell.metadata.pop("mystnb", None)


def run(path: Path) -> tuple[Path, float]:
    """Execute one notebook from top to bottom and write it back."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.source.strip()]
    start = time.perf_counter()

    @again
    def execute() -> None:
        NotebookClient(
            notebook,
            timeout=TIMEOUT,
            kernel_name="python3",
            store_widget_state=False,
            coalesce_streams=True,  # one block of text, however fast the machine prints it
            resources={"metadata": {"path": str(path.parent)}},
        ).execute()

    execute()
    seconds = time.perf_counter() - start
    tidy(notebook)
    nbformat.validate(notebook)
    nbformat.write(notebook, path)
    return path, seconds


def run_all(paths: list[Path], jobs: int) -> None:
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    for command in (["check", "--fix", "--select", "I"], ["format"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, "--quiet", *paths], check=True)
    failed = 0
    with ProcessPoolExecutor(jobs) as pool:
        futures = {path: pool.submit(run, path) for path in paths}
        for path, future in futures.items():
            try:
                _, seconds = future.result()
                print(f"{seconds:6.1f} s  {path.relative_to(ROOT)}", flush=True)
            except Exception as error:  # one broken page must not hide the others
                failed += 1
                print(f"FAILED  {path.relative_to(ROOT)}\n{error}", file=sys.stderr, flush=True)
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
    files = [*sorted((ROOT / "companion").rglob("*.py")), ROOT / "requirements.lock"]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def forget_stale(cache: Any) -> None:
    """Empty the cache when the package changed: the cache itself looks only at the text of the cells."""
    if not STAMP.exists() or STAMP.read_text() != sources_digest():
        cache.clear_cache()
        CACHE.mkdir(parents=True, exist_ok=True)
        STAMP.write_text(sources_digest())
        shutil.rmtree(
            DOCTREES, ignore_errors=True
        )  # the book is read anew: its outputs may be others


def carry_metadata(cache: Any, path: Path) -> None:
    """Give a cached notebook the tags and alt texts of the file: the cache would keep the old ones."""
    notebook = nbformat.read(path, as_version=4)
    try:
        record = cache.match_cache_notebook(notebook)
    except KeyError:
        return
    file = CACHE / "executed" / record.hashkey / "base.ipynb"
    cached = nbformat.read(file, as_version=4)
    wanted = [cell.metadata for cell in notebook.cells if cell.cell_type == "code"]
    if wanted != [cell.metadata for cell in cached.cells]:
        for cell, metadata in zip(cached.cells, wanted):
            cell.metadata = metadata
        nbformat.write(cached, file)


def join_streams(notebook: nbformat.NotebookNode) -> None:
    """Make one stream of what a cell printed, as it was printed.

    A slow cell's text comes in pieces, which end anywhere in a line; MyST-NB would begin a line with each.
    """
    for cell in notebook.cells:
        outputs: list[nbformat.NotebookNode] = []
        streams: dict[str, nbformat.NotebookNode] = {}
        for output in cell.get("outputs", []):
            if output.output_type != "stream":
                outputs.append(output)
            elif output.name in streams:
                streams[output.name].text += output.text
            else:
                outputs.append(output)
                streams[output.name] = output
        if cell.cell_type == "code":
            cell.outputs = outputs


def execute_and_cache(number: int) -> list[str]:
    """Execute one page, which the cache knows by its number; return its file if that fails."""
    from jupyter_cache.executors import load_executor

    with opened(CACHE) as cache:
        executor = load_executor("local-serial", cache=cache)
        for _ in range(ATTEMPTS):
            result = executor.run_and_cache(filter_pks=[number], timeout=TIMEOUT)
            # A kernel that did not start is tried again; an error in a cell is an exception.
            if not result.errored:
                break
        for uri in result.succeeded:
            file = CACHE / "executed" / cache.match_cache_file(uri).hashkey / "base.ipynb"
            notebook = nbformat.read(file, as_version=4)
            join_streams(notebook)
            nbformat.write(notebook, file)
    return [*result.excepted, *result.errored]


def fill_cache() -> None:
    """Execute every page that changed since it was last cached, side by side, large files first."""
    wanted = pages()
    with opened(CACHE) as cache:
        forget_stale(cache)
        for path in wanted:
            carry_metadata(cache, path)
        for record in cache.list_project_records():
            if Path(record.uri) not in wanted:
                cache.remove_nb_from_project(record.pk)
        for path in wanted:
            cache.add_nb_to_project(str(path))
        todo = cache.list_unexecuted()
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    todo.sort(key=lambda record: -Path(record.uri).stat().st_size)
    # One more than processors: a kernel waits now and then, when it starts and when it ends.
    failed: list[str] = []
    with ProcessPoolExecutor((os.cpu_count() or 1) + 1) as pool:
        runs = pool.map(execute_and_cache, [record.pk for record in todo])
        for count, uris in enumerate(runs, 1):
            failed += uris
            print(f"{count} of {len(todo)}", file=sys.stderr, flush=True)
    for uri in failed:
        print(f"FAILED  {uri}", file=sys.stderr)
    if failed:
        sys.exit("some notebooks failed: run them in JupyterLab to see the error")
    print(f"{len(wanted)} notebooks, {len(todo)} executed")


def pytest_configure(config: pytest.Config) -> None:
    """Let nbval's kernels start again, and the recorder watch them where results are to be verified."""
    import nbval.kernel

    if not hasattr(config, "workerinput"):  # once, before the workers of pytest-xdist start
        with opened(CACHE) as cache:
            forget_stale(cache)
    start = again(nbval.kernel.start_new_kernel)
    nbval.kernel.start_new_kernel = watched(start) if "COMPANION_VERIFY" in os.environ else start


def is_cell(item: pytest.Item) -> bool:
    """Whether a test is a cell that nbval runs."""
    return type(item).__name__ == "IPyNbCell"


def widget_state(kernel: Any) -> dict[str, Any]:
    """Let a notebook's kernel write the state of its widgets, and read it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.json"
        message = kernel.execute_cell_input(STATE.format(path=str(path)), allow_stdin=False)
        kernel.await_reply(message, timeout=TIMEOUT)
        return json.loads(path.read_text(encoding="utf-8"))


def keep(cells: dict[int, Any], page: Path) -> None:
    """Put a page whose cells have all passed into the cache of the book."""
    from jupyter_cache.base import CacheBundleIn

    notebook = cells[0].parent.nb
    state = widget_state(cells[0].parent.kernel)
    for number, item in cells.items():
        item.cell.execution_count = number + 1
        item.cell.outputs = item.test_outputs
        for output in item.cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number + 1
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": state}
    nbformat.validate(notebook)
    with opened(CACHE) as cache:
        bundle = CacheBundleIn(notebook, str(page))
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Any:
    """Note the cells that pass."""
    outcome = yield
    report = outcome.get_result()
    if is_cell(item) and report.when == "call" and report.passed:
        item.parent.stash.setdefault(PASSED, {})[item.cell_num] = item


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After the last cell of a notebook its kernel still lives: keep what it made, unless frames are missing."""
    if not is_cell(item) or "COMPANION_FRAMES" in os.environ:
        return
    if nextitem is None or nextitem.parent is not item.parent:
        cells = item.parent.stash.get(PASSED, {})
        if len(cells) == sum(cell.cell_type == "code" for cell in item.parent.nb.cells):
            keep(cells, item.path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run_parser = commands.add_parser("run", help="execute in place and tidy")
    run_parser.add_argument("paths", nargs="*", type=Path)
    run_parser.add_argument("--jobs", type=int, default=2)
    commands.add_parser("cache", help="fill the cache from which the book is built")
    arguments = parser.parse_args()
    if arguments.command == "run":
        run_all([path.resolve() for path in arguments.paths] or pages(), arguments.jobs)
    else:
        fill_cache()


if __name__ == "__main__":
    main()
