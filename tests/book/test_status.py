"""The state of the build is read from the cache and from nbval's report."""

import json
import os
import re
from pathlib import Path

import pytest

from tools import status
from tools.toc import ROOT, pages_in_order, read_yaml, text_of

REPORT = """<?xml version="1.0"?><testsuites><testsuite tests="4" failures="1" errors="0" skipped="1" time="90">
<testcase classname="notebooks.admm.dual-ascent.ipynb" name="Cell 0" time="1.5"/>
<testcase classname="notebooks.admm.dual-ascent.ipynb" name="Cell 1" time="2"><failure message="x"/></testcase>
<testcase classname="book.errata.chapter-16.ipynb" name="Cell 0"/>
<testcase classname="book.intro.ipynb" name="Cell 0"/>
</testsuite></testsuites>"""


@pytest.fixture
def report(tmp_path: Path) -> Path:
    file = tmp_path / "unit.xml"
    file.write_text(REPORT, encoding="utf-8")
    return file


def test_results_and_run_times_are_those_of_nbval(report: Path) -> None:
    passed = {"book/errata/chapter-16": (1, 0), "book/intro": (1, 0)}
    assert status.nbval_results(report) == {"notebooks/admm/dual-ascent": (1, 1)} | passed
    assert status.nbval_results(report.with_name("none.xml")) == {}
    assert status.seconds_of(report)["notebooks/admm/dual-ascent"] == 3.5
    classes = [status.run_time_class(seconds) for seconds in (None, 0.1, 5.0, 14.9, 15.0)]
    assert classes == ["not known", "short", "medium", "medium", "long"]
    states = [status.nbval_state(counts) for counts in (None, (7, 0), (6, 1))]
    assert states == ["not run for this build", "all 7 cells agree", "1 of 7 cells differ"]


def test_tests_are_counted_while_their_report_is_younger_than_the_package(report: Path) -> None:
    """If nothing ran with this build the page says what it shows, and where the results of the release are."""
    told = status.lines_on_tests(report.parent)
    (unit,) = (line for line in told if "2 passed" in line)
    assert unit.endswith("| 2 passed, 1 failed, 1 left out | 1.5 min |")
    os.utime(report, (status.changed() - 1,) * 2)
    told = " ".join(status.lines_on_tests(report.parent))
    assert "ran for this build" in told
    assert "for the release" in told
    assert not re.search("not run for|No result", told)


def test_verified_results_are_counted(tmp_path: Path) -> None:
    assert status.verified_lines(tmp_path) == []
    found = {"results": [{"verdict": "ok"}, {"verdict": "ok"}, {"verdict": "not ok"}]}
    (tmp_path / "page.json").write_text(json.dumps(found), encoding="utf-8")
    told = " ".join(status.verified_lines(tmp_path))
    assert re.search("of 2 results. A further 1 say .* False certificates: 0", told)


@pytest.mark.parametrize("ran", [True, False])
def test_the_page_has_all_that_ran(ran: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """All notebooks, boards, pages and versions; and the state of nbval."""
    monkeypatch.setattr(status, "nbval_results", lambda: {"book/intro": (3, 0)} if ran else {})
    text = status.status_page()
    told = ["| Run time | nbval |", "all 3 cells agree", "| not run for this build |\n"]
    assert [words in text for words in told] == [ran] * 3
    notebooks = [page for page in pages_in_order() if (ROOT / f"{page}.ipynb").exists()]
    assert {text.count(f"(/{page}.ipynb) |") for page in notebooks} == {1}
    told = ["| numpy | ", "| Processor | ", "not installed"]
    assert [words in text for words in told] == [True, True, False]
    boards = re.findall(r"^\| chapter (\d\d).*\d ms \|$", text, re.MULTILINE | re.IGNORECASE)
    assert set(boards) == {"16", "17", "18", "19", "20"}


def test_what_mystmd_said_is_told(tmp_path: Path) -> None:
    """It gets all pages, and asks nobody for a theme."""
    files = status.mystmd_files()
    assert all(f"{page}." in files["myst.yml"] for page in pages_in_order() if text_of(page))
    assert "template: ./theme" in files["myst.yml"]
    report = tmp_path / "mystmd.json"
    assert status.mystmd_lines(report) == []
    report.write_text(json.dumps({"read": 2, "pages": 3, "complaints": {"no `x` | y": 7}}))
    told = "\n".join(status.mystmd_lines(report))
    assert re.search(r"(?s)2 of 3 pages.*\| `no x   y` \| 7 \|", told)


def test_the_way_off_the_engine_names_every_extension() -> None:
    used = set(read_yaml(ROOT / "_config.yml")["sphinx"]["config"]["extensions"])
    assert used - set(re.findall(r"`([\w.]+)`", text_of("book/jupyter-book-2"))) == set()
