"""The page on the state of this build: machine, versions, tests, verified results, and each notebook's run.

What the tests left in ``build`` counts while it is younger than the package and the notebooks. ``make mystmd`` runs
this file: the engine of Jupyter Book 2 reads all pages, and what it says is kept for this page.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from subprocess import PIPE, STDOUT
from xml.etree import ElementTree

import yaml

from tools.notebooks import CACHE, opened
from tools.toc import BOOK, ROOT, pages_in_order, read_yaml, title, write

REPORT = ROOT / "build" / "nbval.xml"  # written by make test-notebooks
SUITES = {
    "unit.xml": "package, pages, tools",
    "nbval.xml": "cells of the notebooks",
    "site.xml": "built pages",
}
MYSTMD = ROOT / "build" / "mystmd.json"  # written by make mystmd
VERIFIED = ROOT / "build" / "verified"  # written by tools/recorder.py
FRAMES = ROOT / "benchmarks" / "results" / "boards.json"  # python -m benchmarks.boards --store
# Where the site of the release is: pyproject.toml knows its address once it is published.
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"].get("urls", {})
RELEASED = (
    f"on [its own page]({URLS['Documentation']}/book/status.html)"
    if "Documentation" in URLS
    else "on this page of the published site"
)
PAGES = FRAMES.with_name("pages.json")  # python -m benchmarks.pages --store
LIBRARIES = (
    "optimization-companion",
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
def changed() -> float:
    """Return when the package or a notebook last changed."""
    files = [*(ROOT / "companion").rglob("*.py"), *(ROOT / "notebooks").rglob("*.ipynb")]
    return max(file.stat().st_mtime for file in files)


def is_fresh(report: Path) -> bool:
    """Whether a report is of the package and the notebooks as they are."""
    return report.exists() and report.stat().st_mtime >= changed()


def page_of(case: ElementTree.Element) -> str | None:
    """Return the page of a cell in nbval's report."""
    name = case.get("classname", "") or case.get("name", "")
    match = re.search(r"(notebooks|book)[./].*?(?=\.ipynb|$)", name)
    return match[0].removesuffix(".ipynb").replace(".", "/") if match else None


def seconds_of(report: Path = REPORT) -> dict[str, float]:
    """Return the running time of each page's notebook: as nbval ran it, or when it was executed for the book."""
    found: Counter[str] = Counter()
    if report.exists():
        for case in ElementTree.parse(report).iter("testcase"):
            if page := page_of(case):
                found[page] += float(case.get("time", 0))
    return cached_seconds() | found


@cache
def cached_seconds() -> dict[str, float]:
    """Return the running times that the cache of executed notebooks knows."""
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


def machine_rows(cpuinfo: Path = Path("/proc/cpuinfo")) -> list[str]:
    """Return the table's rows for the machine of this build."""
    text = cpuinfo.read_text(encoding="utf-8") if cpuinfo.exists() else ""
    named = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    processor = named[1] if named else platform.processor() or platform.machine()
    return [
        f"| Processor | {processor}, {os.cpu_count()} cores |",
        f"| System | {platform.system()}, {platform.machine()} |",
    ]


def lines_on_tests(folder: Path = REPORT.parent) -> list[str]:
    """Return what the tests of this build found; if none ran with it, where the results of the release are."""
    if not any(is_fresh(folder / file) for file in SUITES):
        return [
            "All notebooks ran for this build from their first cell to their last without an error, and the pages show",
            "what they printed. The tests are a second run, which compares: they did not run with this build, and",
            f"`make test` runs them. What they found for the release stands {RELEASED}.",
            "",
        ]
    rows = []
    for file, what in SUITES.items():
        if not is_fresh(folder / file):
            rows.append(f"| {what} | not run together with this build | |")
            continue
        suites = list(ElementTree.parse(folder / file).iter("testsuite"))
        total, skipped, bad = (
            sum(int(suite.get(name, 0)) for suite in suites for name in names)
            for names in (["tests"], ["skipped"], ["failures", "errors"])
        )
        seconds = sum(float(suite.get("time", 0)) for suite in suites)
        told = f"{total - skipped - bad} passed" + f", {bad} failed" * bool(bad)
        told += f", {skipped} left out" * bool(skipped)
        rows.append(f"| {what} | {told} | {seconds / 60:.1f} min |")
    lines = ["| Tests | Result | Time |", "|---|---|---|", *rows, "", *verified_lines()]
    if is_fresh(folder / "coverage.xml"):
        rate = ElementTree.parse(folder / "coverage.xml").getroot().get("line-rate", "0")
        lines += [f"The unit tests run {100 * float(rate):.1f} % of the package's lines.", ""]
    return lines


def verified_lines(folder: Path = VERIFIED) -> list[str]:
    """Return the sentence on the results that were verified while the notebooks ran."""
    verdicts: Counter[str] = Counter()
    for file in folder.glob("*.json"):
        if is_fresh(file):
            found = json.loads(file.read_text(encoding="utf-8"))
            verdicts.update(result["verdict"] for result in found["results"])
    wrong = verdicts.total() - verdicts["ok"] - verdicts["not ok"]
    return [
        f"While the pages ran, exact arithmetic verified the certificates of {verdicts['ok']} results. A further",
        f"{verdicts['not ok']} say of themselves that their run was cut short. False certificates: {wrong}.",
        "",
    ] * bool(verdicts)


def nbval_results(report: Path = REPORT) -> dict[str, tuple[int, int]]:
    """Return, for each page, how many cells the last run of nbval passed and how many it failed."""
    if not report.exists():
        return {}
    found: dict[str, tuple[int, int]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        page = page_of(case)
        if page is None:
            continue
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


def mystmd_files() -> dict[str, str]:
    """Return the files, beside the pages, of a project that mystmd reads without a network: its theme is empty."""
    config = read_yaml(ROOT / "_config.yml")["sphinx"]["config"]
    macros = config["mathjax3_config"]["tex"]["macros"]
    math = {f"\\{name}": tex if isinstance(tex, str) else tex[0] for name, tex in macros.items()}
    toc = [{"file": file.relative_to(ROOT).as_posix()} for file in page_files()]
    project = {"bibliography": ["book/references.bib"], "math": math, "toc": toc}
    return {
        "myst.yml": yaml.safe_dump(
            {"version": 1, "project": project, "site": {"template": "./theme"}}
        ),
        "theme/template.yml": "myst: v1\ntitle: none\n",
        "CHANGELOG.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        "book/references.bib": (BOOK / "references.bib").read_text(encoding="utf-8"),
    }


def page_files() -> list[Path]:
    """Return the files of all pages, in reading order."""
    files = (ROOT / f"{page}{end}" for page in pages_in_order() for end in (".ipynb", ".md"))
    return [file for file in files if file.exists()]


def complaints(log: str) -> Counter[str]:
    """Return what mystmd says about the pages, by kind.

    >>> complaints('⚠️  a.ipynb:3 No target for internal reference "#b" was found.')
    Counter({'No target for internal reference … was found.': 1})
    """
    found = re.findall(r"^(?:⚠️|⛔️)\s+(?:\S+\.(?:ipynb|md)\S*\s+)?(.+)$", log, re.MULTILINE)
    return Counter(re.sub(r'"[^"]*"| at position .*', "…", told) for told in found)


def try_mystmd(command: tuple[str, ...] = ("npx", "--yes", "mystmd@1")) -> None:
    """Let mystmd read copies of all pages, and write down how many it read and what it said."""
    folder = ROOT / "build" / "mystmd"
    shutil.rmtree(folder, ignore_errors=True)
    for file in page_files():
        write(folder / file.relative_to(ROOT), file.read_text(encoding="utf-8"))
    for name, text in mystmd_files().items():
        write(folder / name, text)
    run = [*command, "build", "--site", "--ci"]
    log = subprocess.run(run, cwd=folder, stdout=PIPE, stderr=STDOUT, text=True, timeout=900).stdout
    (folder / "log.txt").write_text(log, encoding="utf-8")
    read = len(list((folder / "_build/site/content").glob("*.json")))
    told = {"read": read, "pages": len(page_files()), "complaints": dict(complaints(log))}
    MYSTMD.write_text(json.dumps(told, ensure_ascii=False, indent=1), encoding="utf-8")
    print(MYSTMD.read_text(encoding="utf-8"))
    if read < told["pages"]:
        sys.exit("mystmd does not read all pages: see build/mystmd/log.txt")


def mystmd_lines(report: Path = MYSTMD) -> list[str]:
    """Return the page's part on Jupyter Book 2."""
    lines = ["## Jupyter Book 2", ""]
    if not is_fresh(report):
        return []
    told = json.loads(report.read_text(encoding="utf-8"))
    lines += [
        f"Its engine, mystmd, read {told['read']} of {told['pages']} pages. What it says is lost",
        "([what that means](#off-the-engine)):",
        "",
        "| Message | How often |",
        "|---|---|",
    ]
    kinds = sorted(told["complaints"].items(), key=lambda kind: -kind[1])
    return [
        *lines,
        *(
            f"| `{what.replace('|', ' ').replace('`', '')}` | {count} |"
            for what, count in kinds[:12]
        ),
        "",
    ]


def library_rows() -> list[str]:
    """Return the table's rows for the versions in use."""
    rows = [f"| Python | {platform.python_version()} |"]
    for name in LIBRARIES:
        try:
            rows.append(f"| {name} | {version(name)} |")
        except PackageNotFoundError:
            rows.append(f"| {name} | not installed |")
    return rows


def board_rows() -> list[str]:
    """Return the table's rows for the boards: medians of a drag with 60 points."""
    found = json.loads(FRAMES.read_text(encoding="utf-8"))["boards"]
    return [f"| {name} | {f['frame']} ms | {f['work']} ms |" for name, f in found.items()]


def board_machine() -> str:
    """Return on what the boards were measured: frames wait where other programs want the cores, work does not."""
    found = json.loads(FRAMES.read_text(encoding="utf-8"))
    return f"The machine had {found['cores']} cores and a load of {found['load']} programs at once."


def page_rows() -> list[str]:
    """Return the table's rows for the pages: medians of visits."""
    found = json.loads(PAGES.read_text(encoding="utf-8"))["pages"]
    rows = [(title(page) or page, times) for page, times in found.items()]
    return [f"| {name} | {t['ready']} ms | {t['drawn']} ms |" for name, t in rows]


def status_page() -> str:
    """Return the page as MyST; it has a column for nbval when that ran."""
    results, seconds = nbval_results(), seconds_of()
    lines = [
        "(status)=",
        "# State of this build",
        "",
        *lines_on_tests(),
        "A run time is *short* under 5 seconds on the machine of this build, *medium* under 15, *long*",
        "above.",
        *["nbval ran every cell again and compared what it prints with what the page shows."]
        * bool(results),
        "",
        ":::{table}",
        ":class: stacked",
        "",
        "| Notebook | Run time |" + " nbval |" * bool(results),
        "|---|---|" + "---|" * bool(results),
    ]
    for page in pages_in_order():
        if (ROOT / f"{page}.ipynb").exists():
            run_time = run_time_class(seconds.get(page))
            state = f" {nbval_state(results.get(page))} |" if results else ""
            name = (title(page) or page).replace("|", "\\|")
            lines.append(f"| [{name}](/{page}.ipynb) | {run_time} |{state}")
    lines += [
        ":::",
        "",
        "## Machine and versions",
        "",
        "| What | Which |",
        "|---|---|",
        *machine_rows(),
        *library_rows(),
        "",
        "## Boards",
        "",
        "Medians while a point among 60 is dragged, from a trace of Chromium when the boards were last measured:",
        "the time from a frame to the next, and the processor time of the page's thread in it.",
        f"33 ms are 30 frames a second. {board_machine()}",
        "",
        ":::{table}",
        ":class: stacked",
        "",
        "| Board | Frame | Work |",
        "|---|---|---|",
        *board_rows(),
        ":::",
        "",
        "## Pages",
        "",
        "Medians of five visits with an empty cache, on a busy machine: from the request to a page that answers, and",
        "to one whose formulas are set. Compare the rows with each other.",
        "",
        ":::{table}",
        ":class: stacked",
        "",
        "| Page | Answers | Complete |",
        "|---|---|---|",
        *page_rows(),
        ":::",
        "",
        *mystmd_lines(),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    try_mystmd()
