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
def reports(tmp_path: Path) -> Path:
    for name in ("unit.xml", "nbval.xml"):
        (tmp_path / name).write_text(REPORT, encoding="utf-8")
    return tmp_path


def test_the_page_tells_what_ran_with_this_build(reports: Path) -> None:
    """Reports count while they are younger than the package; else the page says where those of the release are."""
    found = {"results": [{"verdict": "ok"}, {"verdict": "ok"}, {"verdict": "not ok"}]}
    (reports / "verified").mkdir()
    (reports / "verified/page.json").write_text(json.dumps(found), encoding="utf-8")
    told = status.status_page(reports)
    assert "| package, pages, tools | 2 passed, 1 failed, 1 left out | 1.5 min |\n" in told
    assert "| built pages | not run together with this build | |\n" in told
    assert re.search("of 2 results. A further\\n1 say .* False certificates: 0", told)
    rows = re.findall(r"^\| \[.*\]\(/(.*)\.ipynb\) \| (.*) \|$", told, re.MULTILINE)
    assert dict(rows)["notebooks/admm/dual-ascent"] == "short | 1 of 2 cells differ"
    assert dict(rows)["book/intro"] == "short | all 1 cells agree"
    assert dict(rows)["notebooks/svm/nu-svm"] == "not known | not run for this build"
    for file in reports.rglob("*.*"):
        os.utime(file, (0, 0))
    told = status.status_page(reports)
    assert "ran for this build" in told
    assert "for the release" in told
    assert not re.search("together with|certificates of|No result", told)


def test_the_page_has_all_notebooks_boards_and_versions(reports: Path) -> None:
    text = status.status_page(reports)
    notebooks = [page for page in pages_in_order() if (ROOT / f"{page}.ipynb").exists()]
    assert {text.count(f"(/{page}.ipynb) |") for page in notebooks} == {1}
    assert all(words in text for words in ("| numpy | ", "| Processor | ", "|---|---|\n"))
    assert "not installed" not in text
    boards = re.findall(r"^\| chapter (\d\d).*\d ms \|$", text, re.MULTILINE | re.IGNORECASE)
    assert set(boards) == {"16", "17", "18", "19", "20"}


def test_the_way_off_the_engine_names_every_extension() -> None:
    used = set(read_yaml(ROOT / "_config.yml")["sphinx"]["config"]["extensions"])
    assert used - set(re.findall(r"`([\w.]+)`", text_of("book/jupyter-book-2"))) == set()
