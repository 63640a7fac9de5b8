"""Verify every certified result that a notebook makes, while the notebook runs.

With ``COMPANION_VERIFY`` set, tests/notebooks/startup.py loads this into nbval's kernels. From then on every result
record of the package is noted when it is made, and every estimator with a certificate after its fit. After each cell
what was noted goes through :func:`tests.exact.verify`, and the findings are written to
build/verified/PAGE.json. tests/notebooks/verified.py reads these files. The package itself knows nothing of this.
"""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import json
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.exact import verify

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "verified"
PACKAGES = ("admm", "kernels", "svm", "regression", "svr")
RESULTS = {"ADMMResult", "QPResult", "TrainingResult", "IndefiniteResult", "L1Path"}
FITS = ("fit", "_fit")  # `fit_uv` goes through the second
# Of the many of one kind that a cell may make (cross-validation, frames), the first FIRST are verified and then every
# one in EVERY; all of them with COMPANION_VERIFY=all.
FIRST, EVERY = 40, 20


class Recorder:
    """Note results, verify them after each cell, keep the findings of one notebook in a file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.waiting: list[tuple[Any, tuple[Any, ...]]] = []
        self.findings: list[dict[str, Any]] = []
        self.cell = 0
        self.made: Counter[str] = Counter()  # in this cell, by kind
        # of fits: what a fit makes on its way is covered by the certificate of its outcome
        self.depth = 0

    def note(self, result: Any, *data: Any) -> None:
        """Put a result in the queue, or every twentieth of many; its fields may still be empty."""
        if self.depth == 0:
            self.made[type(result).__name__] += 1
            count = self.made[type(result).__name__]
            if count <= FIRST or count % EVERY == 0 or os.environ.get("COMPANION_VERIFY") == "all":
                self.waiting.append((result, data))

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

    def made_by(self, cls: type, *_: Any, **__: Any) -> Any:
        """Make a record, and note it: a record's ``__new__``."""
        result = object.__new__(cls)
        self.note(result)
        return result

    def after_cell(self, *_: Any) -> None:
        """Verify what waits, write all findings (nobody tells a kernel that its notebook has ended), count the cell."""
        self.depth += 1  # verify makes results of its own
        for result, data in self.waiting:
            # no certificate: ADMM without a known dual, and a record whose making failed
            if vars(result) and getattr(result, "certificate", True) is not None:
                self.findings += examined(result, data, self.cell)
        self.depth -= 1
        self.cell += 1
        self.waiting.clear()
        self.made.clear()
        self.file.parent.mkdir(parents=True, exist_ok=True)
        found = {"cells": self.cell, "results": self.findings}
        self.file.write_text(json.dumps(found), encoding="utf-8")


def examined(result: Any, data: tuple[Any, ...], cell: int) -> Iterator[dict[str, Any]]:
    """Verify one result; yield a finding for each certificate that it carries."""
    finding = {"cell": cell, "kind": type(result).__name__}
    if getattr(result, "problem", True) is None:
        yield finding | {"verdict": "does not know its problem"}
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            verified = verify(result, *data)
    except Exception as error:  # the page must go on; the test tells
        yield finding | {"verdict": f"{type(error).__name__}: {error}"}
        return
    for one in verified if isinstance(verified, list) else [verified]:
        verdict = ("ok" if one.ok else "not ok") if one.agrees else "does not agree"
        worst, stored, tolerance = map(float, (one.worst, one.stored.worst, one.stored.tolerance))
        yield finding | dict(verdict=verdict, worst=worst, stored=stored, tolerance=tolerance)  # noqa: C408


def file_name(page: str) -> str:
    """Return the name of the file with the findings of a page."""
    return page.removesuffix(".ipynb").replace("/", ".") + ".json"


@functools.cache
def install() -> Recorder:
    """Watch the package from now on: pytest's child knows the test of its page, others say it in COMPANION_PAGE."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").split("::")[0]
    page = os.environ.get("COMPANION_PAGE") or test or f"process-{os.getpid()}"
    recorder = Recorder(FOLDER / file_name(page))
    for package in PACKAGES:
        importlib.import_module(f"companion.{package}")
    modules = [module for name, module in sys.modules.items() if name.startswith("companion.")]
    values = (value for module in modules for value in vars(module).values())
    for value in {each for each in values if inspect.isclass(each)}:
        if not value.__module__.startswith("companion."):
            continue
        if value.__name__ in RESULTS:
            value.__new__ = recorder.made_by  # type: ignore[method-assign]
        for method in FITS if hasattr(value, "get_params") else ():
            if inspect.isfunction(vars(value).get(method)):
                setattr(value, method, recorder.fitted(vars(value)[method]))
    return recorder


def load_ipython_extension(shell: Any) -> None:
    """Verify after each cell."""
    shell.events.register("post_run_cell", install().after_cell)
