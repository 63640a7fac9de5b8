"""Verify every certified result that a notebook makes, while the notebook runs.

With ``COMPANION_VERIFY`` set, tools/notebooks.py loads this into nbval's kernels. From then on every result
record of the package is noted when it is made, and every estimator with a certificate after its fit. After each cell
what was noted goes through :func:`tests.exact.verify`, and the findings are written to
build/verified/PAGE.json. tests/notebooks/verified.py reads these files. The package itself knows nothing of this.
"""

from __future__ import annotations

import argparse
import copy
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import json
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "build" / "verified"
RESULTS = {
    "ADMMResult": "companion.results",
    "QPResult": "companion.results",
    "TrainingResult": "companion.svm.training",
    "IndefiniteResult": "companion.svm.indefinite",
    "L1Path": "companion.regression.lasso",
}
FITS = ("fit", "_fit")  # `fit_uv` goes through the second
MOST = 200  # results that wait for the end of their cell
# Of the many of one kind that a cell may make (cross-validation, frames), the first FIRST are verified and then every
# one in EVERY; all of them with COMPANION_VERIFY=all.
FIRST, EVERY = 40, 20


class Recorder:
    """Note results, verify them after each cell, keep the findings of one notebook.

    Parameters
    ----------
    file : Path
        Where the findings go, as JSON.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.waiting: list[tuple[Any, tuple[Any, ...]]] = []
        self.findings: list[dict[str, Any]] = []
        self.cell = 0
        self.made: Counter[str] = Counter()  # in this cell, by kind
        self.total = 0
        self.all = os.environ.get("COMPANION_VERIFY") == "all"
        # of fits: what a fit makes on its way is covered by the certificate of its outcome
        self.depth = 0
        self.seconds = 0.0

    def note(self, result: Any, *data: Any) -> None:
        """Put a result in the queue; its fields may still be empty."""
        if self.depth == 0:
            self.waiting.append((result, data))
            if len(self.waiting) > MOST:
                last = self.waiting.pop()  # perhaps not filled yet
                self.verify()
                self.waiting.append(last)

    def fitted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a method ``fit(self, X, y)``."""

        @functools.wraps(method)
        def fit(estimator: Any, *arguments: Any, **named: Any) -> Any:
            self.depth += 1
            try:
                outcome = method(estimator, *arguments, **named)
            finally:
                self.depth -= 1
            # of the class, where it is computed when it is asked for
            if hasattr(type(estimator), "certificate_") or "certificate_" in vars(estimator):
                given = inspect.signature(method).bind(estimator, *arguments, **named).arguments
                self.note(copy.copy(estimator), given["X"], given.get("y"))
            return outcome

        return fit

    def verify(self, *_: Any) -> None:
        """Verify what waits."""
        waiting, self.waiting = self.waiting, []
        self.depth += 1  # verify makes results of its own
        start = time.process_time()
        try:
            for result, data in waiting:
                if is_certified(result) and self.takes(type(result).__name__):
                    self.findings += examined(result, data, self.cell)
        finally:
            self.depth -= 1
        self.seconds += time.process_time() - start

    def takes(self, kind: str) -> bool:
        """Count a result; return whether it is to be verified."""
        self.made[kind] += 1
        self.total += 1
        return self.all or self.made[kind] <= FIRST or self.made[kind] % EVERY == 0

    def after_cell(self, *_: Any) -> None:
        """Verify, write all findings, count the cell."""
        self.verify()
        self.write()
        self.cell += 1
        self.made.clear()

    def write(self) -> None:
        """Write the findings so far: nobody tells a kernel that its notebook has ended."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        content = {
            "cells": self.cell + 1,
            "made": self.total,
            "verification_seconds": round(self.seconds, 3),
            "all_seconds": round(time.process_time(), 3),
            "results": self.findings,
        }
        temporary = self.file.with_suffix(".tmp")
        temporary.write_text(json.dumps(content), encoding="utf-8")
        temporary.replace(self.file)


def is_certified(result: Any) -> bool:
    """Whether there is a certificate: not for ADMM without a known dual, nor for a record whose making failed."""
    return bool(vars(result)) and getattr(result, "certificate", True) is not None


def exact_check() -> Callable[..., Any]:
    """Import the check: the folder of the repository is not on the path of a notebook."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    try:
        from tests.exact import verify
    finally:
        sys.path.pop(0)
    return verify


def examined(result: Any, data: tuple[Any, ...], cell: int) -> Iterator[dict[str, Any]]:
    """Verify one result; yield a finding for each certificate that it carries."""
    verify = exact_check()
    kind = type(result).__name__
    finding = {"cell": cell, "kind": kind}
    if getattr(result, "problem", True) is None:
        yield finding | {"verdict": "does not know its problem"}
        return
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            verified = verify(result, *data)
    except Exception as error:  # the page must go on; the test tells
        yield finding | {"verdict": f"{type(error).__name__}: {error}"}
        return
    seconds = round(time.process_time() - start, 4)
    for one in verified if isinstance(verified, list) else [verified]:
        verdict = "ok" if one.ok else "not ok"
        yield finding | {
            "verdict": verdict if one.agrees else "does not agree",
            "worst": float(one.worst),
            "stored": float(one.stored.worst),
            "tolerance": float(one.tolerance),
            "seconds": seconds,
        }


class Watch(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import hook: when a module of the package has run, put the recorder into its classes and functions."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.loaders: dict[str, Any] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find the module as always, and become its loader."""
        if not name.startswith("companion."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            self.loaders[name] = spec.loader
            spec.loader = self
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """Make the module as always."""
        return self.loaders[spec.name].create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, then wrap what it defines."""
        spec = module.__spec__
        assert spec is not None
        module.__loader__ = spec.loader = self.loaders[spec.name]  # inspect and pickle ask for it
        spec.loader.exec_module(module)  # type: ignore[union-attr]
        attach(self.recorder, module)


def attach(recorder: Recorder, module: ModuleType) -> None:
    """Wrap the results and the fits that a module defines."""
    for name, value in list(vars(module).items()):
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(value):
            if RESULTS.get(name) == module.__name__:
                value.__new__ = noted(recorder)  # type: ignore[method-assign]
                continue
            for method in FITS if hasattr(value, "get_params") else ():
                if inspect.isfunction(vars(value).get(method)):
                    setattr(value, method, recorder.fitted(vars(value)[method]))


def noted(recorder: Recorder) -> Callable[..., Any]:
    """Return a ``__new__`` that notes each object."""

    def new(cls: type, *_: Any, **__: Any) -> Any:
        result = object.__new__(cls)
        recorder.note(result)
        return result

    return new


def page() -> str:
    """The notebook that this kernel runs: pytest's child knows its test, others say it in COMPANION_PAGE."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").split("::")[0]
    return os.environ.get("COMPANION_PAGE") or test or f"process-{os.getpid()}"


def file_name(page: str) -> str:
    """Return the name of the file with the findings of a page."""
    return page.removesuffix(".ipynb").replace("/", ".") + ".json"


_recorder: Recorder | None = None


def install() -> Recorder:
    """Watch the imports of this process from now on."""
    global _recorder
    if _recorder is None:
        _recorder = Recorder(FOLDER / file_name(page()))
        sys.meta_path.insert(0, Watch(_recorder))
    return _recorder


def load_ipython_extension(shell: Any) -> None:
    """Verify after each cell."""
    shell.events.register("post_run_cell", install().after_cell)


def main() -> None:
    """Print what was found on each page, and what it took."""
    spent = total = 0.0
    for file in sorted(FOLDER.glob("*.json")):
        found = json.loads(file.read_text(encoding="utf-8"))
        verdicts = Counter(r["verdict"] for r in found["results"])
        spent += found["verification_seconds"]
        total += found["all_seconds"]
        print(f"{file.stem:45} {found['verification_seconds']:6.2f} s  {dict(verdicts) or ''}")
    print(f"{spent:.1f} of {total:.1f} processor seconds")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
