"""The state of the build is read from the cache and from nbval's report."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tools.status import (
    board_rows,
    changed,
    machine_rows,
    mystmd_files,
    mystmd_lines,
    nbval_results,
    nbval_state,
    run_time_class,
    seconds_of,
    status_page,
    suite_rows,
    verified_line,
)
from tools.toc import ROOT, pages_in_order, read_yaml, text_of

REPORT = """<?xml version="1.0"?><testsuites><testsuite tests="4" failures="1" errors="0" skipped="1" time="90">
<testcase classname="notebooks.admm.dual-ascent.ipynb" name="Cell 0" time="1.5"/>
<testcase classname="notebooks.admm.dual-ascent.ipynb" name="Cell 1" time="2"><failure message="x"/></testcase>
<testcase classname="book.errata.chapter-16.ipynb" name="Cell 0"/>
<testcase classname="book.intro.ipynb" name="Cell 0"/>
</testsuite></testsuites>"""


def test_results_and_run_times_are_those_of_nbval(tmp_path: Path) -> None:
    report = tmp_path / "nbval.xml"
    report.write_text(REPORT, encoding="utf-8")
    assert nbval_results(report) == {
        "notebooks/admm/dual-ascent": (1, 1),
        "book/errata/chapter-16": (1, 0),
        "book/intro": (1, 0),
    }
    assert nbval_results(tmp_path / "none.xml") == {}
    assert seconds_of(report)["notebooks/admm/dual-ascent"] == 3.5
    classes = [run_time_class(seconds) for seconds in (None, 0.1, 5.0, 14.9, 15.0)]
    assert classes == ["not known", "short", "medium", "medium", "long"]
    states = [nbval_state(counts) for counts in (None, (7, 0), (6, 1))]
    assert states == ["not run for this build", "all 7 cells agree", "1 of 7 cells differ"]


def test_tests_are_counted_while_their_report_is_younger_than_the_package(tmp_path: Path) -> None:
    report = tmp_path / "unit.xml"
    report.write_text(REPORT, encoding="utf-8")
    unit, _, site = suite_rows(tmp_path)
    assert unit.endswith("| 2 passed, 1 failed, 1 left out | 1.5 min |")
    assert "not run" in site
    os.utime(report, (changed() - 1, changed() - 1))
    assert "not run" in suite_rows(tmp_path)[0]


def test_verified_results_are_counted(tmp_path: Path) -> None:
    assert "No result" in verified_line(tmp_path)
    found = {"results": [{"verdict": "ok"}, {"verdict": "ok"}, {"verdict": "not ok"}]}
    (tmp_path / "page.json").write_text(json.dumps(found), encoding="utf-8")
    assert "of 2 results; 1 more say" in verified_line(tmp_path)
    assert "0 are not what they say" in verified_line(tmp_path)


def test_the_machine_is_named(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text("model name\t: A processor\n", encoding="utf-8")
    assert machine_rows(file)[0].startswith("| Processor | A processor, ")
    assert "cores |" in machine_rows(tmp_path / "none")[0]


@pytest.mark.parametrize("ran", [True, False])
def test_nbval_has_a_column_when_it_ran(ran: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"book/intro": (3, 0)} if ran else {}
    monkeypatch.setattr("tools.status.nbval_results", lambda: found)
    text = status_page()
    assert ("| Run time | nbval |" in text) is ran
    assert ("all 3 cells agree" in text) is ran
    assert (".ipynb) |" in text and "| not run for this build |\n" in text) is ran
    assert ("did not run for this build" in text) is not ran


def test_the_page_has_every_notebook_every_board_and_the_versions() -> None:
    text = status_page()
    for page in pages_in_order():
        if (ROOT / f"{page}.ipynb").exists():
            assert text.count(f"(/{page}.ipynb) |") == 1
    assert "| numpy | " in text
    assert "not installed" not in text
    rows = board_rows()
    assert {row.split()[2].strip(",") for row in rows} == {"16", "17", "18", "19", "20"}
    assert set(rows) <= set(text.splitlines())


def test_the_page_is_made_when_the_notebooks_have_run() -> None:
    """It tells how long they ran."""
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").split("\nbook:")[1].split("\n\n")[0]
    execute, generate, build = (
        recipe.index(step)
        for step in ("notebooks.py cache\n", "-m tools.pages\n", "jupyter-book build")
    )
    assert execute < generate < build


def test_what_mystmd_said_is_told(tmp_path: Path) -> None:
    report = tmp_path / "mystmd.json"
    assert "make mystmd" in "".join(mystmd_lines(report))
    report.write_text(json.dumps({"read": 2, "pages": 3, "complaints": {"no `x` | y": 7}}))
    told = "\n".join(mystmd_lines(report))
    assert "2 of 3 pages" in told
    assert "| `no x   y` | 7 |" in told


def test_mystmd_gets_all_pages_and_asks_nobody_for_a_theme() -> None:
    files = mystmd_files()
    assert all(f"{page}." in files["myst.yml"] for page in pages_in_order() if text_of(page))
    assert "template: ./theme" in files["myst.yml"]


def test_the_way_off_the_engine_names_every_extension() -> None:
    used = set(read_yaml(ROOT / "_config.yml")["sphinx"]["config"]["extensions"])
    named = set(re.findall(r"`([\w.]+)`", text_of("book/jupyter-book-2")))
    assert used - named == set()
