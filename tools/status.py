"""The page on the state of this build: machine, versions, tests, verified results, and each notebook's run.

What the tests left in ``build`` counts while it is younger than the package and the notebooks. A badge of the CI knows
only its own last run, and a report page of pytest nothing of this machine, its versions and the verified results.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tools.toc import ROOT, code_cells, live_pages, notebooks, project, render, title

REPORTS = ROOT / "build"  # pytest's, and build/verified by tests/notebooks/recorder.py
IN_BROWSER = REPORTS / "live"  # by tests/site/test_live.py
SUITES = {
    "unit.xml": "package, pages, tools",
    "nbval.xml": "cells of the notebooks",
    "site.xml": "built pages",
}
MEASURED = ROOT / "benchmarks" / "results"  # python -m benchmarks.boards --store, .pages --store
LIBRARIES = ["numpy", "scipy", "scikit-learn", "matplotlib", "jupyter-book"]


def is_fresh(report: Path) -> bool:
    """Whether a report is of the package and the notebooks as they are."""
    files = [*(ROOT / "companion").rglob("*.py"), *(ROOT / "notebooks").rglob("*.ipynb")]
    changed = max(file.stat().st_mtime for file in files)
    return report.exists() and report.stat().st_mtime >= changed


def parts(report: Path, tag: str) -> Iterator[ElementTree.Element]:
    """Yield the parts of a report; none where it is not fresh."""
    return ElementTree.parse(report).iter(tag) if is_fresh(report) else iter(())


def suite(report: Path) -> Counter[str]:
    """Return how many tests of a suite passed, failed and so on, and how long they took."""
    found: Counter[str] = Counter()
    for told in parts(report, "testsuite"):
        for name in ("tests", "skipped", "failures", "errors", "time"):
            found[name] += float(told.get(name, 0))  # type: ignore[assignment]
    return found


def runs(report: Path) -> dict[str, Counter[str]]:
    """Return what nbval's report says of each page: how many cells ran, how many differ, and the time."""
    found: dict[str, Counter[str]] = {}
    for case in parts(report, "testcase"):  # one that passed has nothing inside
        page = case.get("classname", "").removesuffix(".ipynb").replace(".", "/")
        told = {"cells": 1, "bad": len(case), "time": float(case.get("time", 0))}
        found.setdefault(page, Counter()).update(told)  # type: ignore[arg-type]
    return found


def verdicts(folder: Path) -> Counter[str]:
    """Return what was found of the results that were verified while the notebooks ran."""
    files = filter(is_fresh, folder.glob("verified/*.json"))
    found = (json.loads(file.read_text(encoding="utf-8"))["results"] for file in files)
    return Counter(result["verdict"] for results in found for result in results)


def state(page: str) -> str:
    """Return a fingerprint of a page's code."""
    return hashlib.sha256("\0".join(c.source for c in code_cells(page)).encode()).hexdigest()[:12]


def in_browser() -> list[dict[str, Any]]:
    """Return what the last run of each page in a browser gave, in reading order: the stored one, or one since."""
    told = json.loads((MEASURED / "live.json").read_text("utf-8"))
    told += [json.loads(file.read_text("utf-8")) for file in IN_BROWSER.glob("*.json")]
    last = {each["page"]: each for each in told}
    return [last[page] for page in live_pages() if page in last]


def status_page(reports: Path = REPORTS) -> str:
    """Return the page as MyST; it has columns for nbval when that ran."""
    cpu = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*: (.+)", cpu.read_text("utf-8") if cpu.exists() else "")
    versions = {"Python": platform.python_version(), project()["name"]: project()["version"]}
    versions |= {name: version(name) for name in LIBRARIES}
    return render(
        "status.md",
        suites={what: suite(reports / file) for file, what in SUITES.items()},
        verdicts=verdicts(reports),
        coverage=[float(e.get("line-rate")) for e in parts(reports / "coverage.xml", "coverage")],
        published=project().get("urls", {}).get("Documentation"),
        runs=runs(reports / "nbval.xml"),
        notebooks=notebooks(),
        title=title,
        processor=f"{named[1] if named else platform.machine()}, {os.cpu_count()} cores",
        system=f"{platform.system()}, {platform.machine()}",
        versions=versions,
        measured={f.stem: json.loads(f.read_text("utf-8")) for f in MEASURED.glob("*.json")},
        ran=in_browser(),
        state=state,
    )
