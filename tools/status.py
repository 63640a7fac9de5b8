"""The page on the state of this build: machine, versions, tests, verified results, and each notebook's run.

What the tests left in ``build`` counts while it is younger than the package and the notebooks. A badge of the CI knows
only its own last run, and a report page of pytest nothing of this machine, its versions and the verified results.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

from tools import sameness
from tools.notebooks import CACHE, opened
from tools.toc import ROOT, pages_in_order, project, render, title

REPORTS = ROOT / "build"  # pytest's, and build/verified by tools/recorder.py
SUITES = {
    "unit.xml": "package, pages, tools",
    "nbval.xml": "cells of the notebooks",
    "site.xml": "built pages",
}
COUNTED = ("tests", "skipped", "failures", "errors", "time")
MEASURED = ROOT / "benchmarks" / "results"  # python -m benchmarks.boards --store, .pages --store
# Where the site of the release is: pyproject.toml knows its address once it is published.
RELEASED = (
    f"on [its own page]({project()['urls']['Documentation']}/book/status.html)"
    if "Documentation" in project().get("urls", {})
    else "on this page of the published site"
)
LIBRARIES = (
    "optimization-companion", "numpy", "scipy", "scikit-learn", "matplotlib", "ipywidgets", "pandas", "sympy",
    "jupyter-book", "jupyterlab", "nbval",
)  # fmt: skip


@cache
def changed() -> float:
    """Return when the package or a notebook last changed."""
    files = [*(ROOT / "companion").rglob("*.py"), *(ROOT / "notebooks").rglob("*.ipynb")]
    return max(file.stat().st_mtime for file in files)


def is_fresh(report: Path) -> bool:
    """Whether a report is of the package and the notebooks as they are."""
    return report.exists() and report.stat().st_mtime >= changed()


def run_time(seconds: float | None) -> str:
    """Return the class of a running time; the limit for a notebook is 20 seconds on an idle core."""
    if seconds is None:
        return "not known"
    return "short" if seconds < 5 else "medium" if seconds < 15 else "long"


def cells(report: Path) -> Iterator[tuple[str, float, bool]]:
    """Yield what nbval's report says of each cell: its page, how long it ran, and whether it agrees."""
    for case in ElementTree.parse(report).iter("testcase") if report.exists() else ():
        name = case.get("classname", "") or case.get("name", "")
        if match := re.search(r"(notebooks|book)[./].*?(?=\.ipynb|$)", name):
            bad = case.find("failure") is not None or case.find("error") is not None
            yield match[0].replace(".", "/"), float(case.get("time", 0)), not bad


def seconds_of(report: Path) -> dict[str, float]:
    """Return the running time of each page's notebook: as nbval ran it, or when it was executed for the book."""
    found: dict[str, float] = {}
    if CACHE.exists():
        with opened(CACHE) as runs:
            for record in runs.list_cache_records():
                path = Path(record.uri)
                if path.is_relative_to(ROOT) and "execution_seconds" in record.data:
                    page = path.relative_to(ROOT).with_suffix("").as_posix()
                    found[page] = float(record.data["execution_seconds"])
    ran: Counter[str] = Counter()
    for page, seconds, _ in cells(report):
        ran[page] += seconds  # type: ignore[assignment]
    return found | ran


def states_of(report: Path) -> dict[str, str]:
    """Return the words for each page that nbval ran."""
    total = Counter(page for page, _, _ in cells(report))
    bad = Counter(page for page, _, agrees in cells(report) if not agrees)
    return {
        page: f"{bad[page]} of {n} cells differ" if bad[page] else f"all {n} cells agree"
        for page, n in total.items()
    }


def suites(folder: Path) -> list[tuple[str, str, str]]:
    """Return what the page says of each suite of tests; nothing where none ran with this build."""
    told = []
    for file, what in SUITES.items():
        if not is_fresh(folder / file):
            told.append((what, "not run together with this build", ""))
            continue
        found: Counter[str] = Counter()
        for suite in ElementTree.parse(folder / file).iter("testsuite"):
            found.update({key: float(value) for key, value in suite.items() if key in COUNTED})  # type: ignore[misc]
        bad = found["failures"] + found["errors"]
        passed = found["tests"] - found["skipped"] - bad
        words = [(passed, "passed"), (bad, "failed"), (found["skipped"], "left out")]
        result = ", ".join(f"{n:.0f} {word}" for n, word in words if n or word == "passed")
        told.append((what, result, f"{found['time'] / 60:.1f} min"))
    return told if any(is_fresh(folder / file) for file in SUITES) else []


def verdicts(folder: Path) -> Counter[str]:
    """Return what was found of the results that were verified while the notebooks ran."""
    found: Counter[str] = Counter()
    for file in filter(is_fresh, folder.glob("verified/*.json")):
        results = json.loads(file.read_text(encoding="utf-8"))["results"]
        found.update(result["verdict"] for result in results)
    return found


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the name of the processor of this build."""
    text = cpuinfo.read_text(encoding="utf-8") if cpuinfo.exists() else ""
    named = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return f"{named[1] if named else platform.machine()}, {os.cpu_count()} cores"


def status_page(reports: Path = REPORTS) -> str:
    """Return the page as MyST; it has a column for nbval when that ran."""
    nbval, seconds = states_of(reports / "nbval.xml"), seconds_of(reports / "nbval.xml")
    notebooks = [page for page in pages_in_order() if (ROOT / f"{page}.ipynb").exists()]
    coverage = reports / "coverage.xml"
    measured = ("boards.json", "pages.json", "live_speed.json")
    frames, visits, speed = (json.loads((MEASURED / name).read_text("utf-8")) for name in measured)
    return render(
        "status.md",
        suites=suites(reports),
        verdicts=verdicts(reports),
        coverage=float(ElementTree.parse(coverage).getroot().get("line-rate", "0"))
        if is_fresh(coverage)
        else 0,
        released=RELEASED,
        nbval=bool(nbval),
        states={page: nbval.get(page, "not run for this build") for page in notebooks},
        notebooks=[(page, title(page), run_time(seconds.get(page))) for page in notebooks],
        processor=processor(),
        system=f"{platform.system()}, {platform.machine()}",
        versions=[("Python", platform.python_version()), *((n, version(n)) for n in LIBRARIES)],
        frames=frames,
        speed=speed,
        ran=[(title(each["page"]) or each["page"], each) for each in sameness.rows()],
        visits=[(title(page) or page, times) for page, times in visits["pages"].items()],
    )
