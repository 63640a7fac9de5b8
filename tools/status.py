"""The page on the state of this build: how long each notebook runs, whether nbval agreed, which versions were used."""

from __future__ import annotations

import platform
import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from xml.etree import ElementTree

from tools.notebooks import CACHE, opened
from tools.toc import ROOT, pages_in_order, title

REPORT = ROOT / "build" / "nbval.xml"  # written by make test-notebooks
LIBRARIES = (
    "companion",
    "numpy",
    "scipy",
    "scikit-learn",
    "matplotlib",
    "ipywidgets",
    "pandas",
    "sympy",
    "dask",
    "jupyter-book",
    "jupyterlab",
    "nbval",
)


def run_time_class(seconds: float | None) -> str:
    """Return the class of a running time; the limit for a notebook is 20 seconds on an idle core."""
    if seconds is None:
        return "not known"
    return "short" if seconds < 5 else "medium" if seconds < 15 else "long"


@cache
def seconds_of() -> dict[str, float]:
    """Return the running time of each page's notebook when it was last executed for the book."""
    if not CACHE.exists():
        return {}
    found = {}
    with opened(CACHE) as runs:
        records = runs.list_cache_records()
    for record in records:
        path = Path(record.uri)
        if path.is_relative_to(ROOT) and "execution_seconds" in record.data:
            page = path.relative_to(ROOT).with_suffix("").as_posix()
            found[page] = float(record.data["execution_seconds"])
    return found


def nbval_results(report: Path = REPORT) -> dict[str, tuple[int, int]]:
    """Return, for each page, how many cells the last run of nbval passed and how many it failed."""
    if not report.exists():
        return {}
    found: dict[str, tuple[int, int]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        match = re.search(
            r"(notebooks|book)[./].*?(?=\.ipynb|$)",
            case.get("classname", "") or case.get("name", ""),
        )
        if not match:
            continue
        page = match[0].removesuffix(".ipynb").replace(".", "/")
        passed, failed = found.get(page, (0, 0))
        bad = case.find("failure") is not None or case.find("error") is not None
        found[page] = (passed + (not bad), failed + bad)
    return found


def nbval_state(result: tuple[int, int] | None) -> str:
    """Return the words for one notebook."""
    if result is None:
        return "not run for this build"
    passed, failed = result
    return f"{failed} of {passed + failed} cells differ" if failed else f"all {passed} cells agree"


def library_rows() -> list[str]:
    """Return the table's rows for the versions in use."""
    rows = [f"| Python | {platform.python_version()} |"]
    for name in LIBRARIES:
        try:
            rows.append(f"| {name} | {version(name)} |")
        except PackageNotFoundError:
            rows.append(f"| {name} | not installed |")
    return rows


def status_page() -> str:
    """Return the page as MyST; it has a column for nbval when that ran."""
    results = nbval_results()
    lines = [
        "(status)=",
        "# State of this build",
        "",
        "Run time is a class: *short* is under 5 seconds on the machine of this build, *medium* under 15, *long*",
        "above.",
        "nbval runs every cell again and compares what it prints with what the page shows.",
        *([] if results else ["It did not run for this build: `make test` runs it."]),
        "",
        ":::{table}",
        ":class: stacked",
        "",
        "| Notebook | Run time |" + " nbval |" * bool(results),
        "|---|---|" + "---|" * bool(results),
    ]
    for page in pages_in_order():
        if (ROOT / f"{page}.ipynb").exists():
            run_time = run_time_class(seconds_of().get(page))
            state = f" {nbval_state(results.get(page))} |" if results else ""
            name = (title(page) or page).replace("|", "\\|")
            lines.append(f"| [{name}](/{page}.ipynb) | {run_time} |{state}")
    lines += [
        ":::",
        "",
        "## Versions",
        "",
        "| Library | Version |",
        "|---|---|",
        *library_rows(),
        "",
    ]
    return "\n".join(lines)
