"""The state of the build is read from the cache and from nbval's report."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.status import nbval_results, nbval_state, run_time_class, status_page
from tools.toc import ROOT, pages_in_order

REPORT = """<?xml version="1.0"?><testsuites><testsuite>
<testcase classname="notebooks.admm.dual-ascent.ipynb" name="Cell 0"/>
<testcase classname="notebooks.admm.dual-ascent.ipynb" name="Cell 1"><failure message="x"/></testcase>
<testcase classname="book.errata.chapter-16.ipynb" name="Cell 0"/>
<testcase classname="book.intro.ipynb" name="Cell 0"/>
</testsuite></testsuites>"""


@pytest.mark.parametrize(
    ("seconds", "name"),
    [(None, "not known"), (0.1, "short"), (5.0, "medium"), (14.9, "medium"), (15.0, "long")],
)
def test_classes_of_running_time(seconds: float | None, name: str) -> None:
    assert run_time_class(seconds) == name


def test_results_of_nbval(tmp_path: Path) -> None:
    report = tmp_path / "nbval.xml"
    report.write_text(REPORT, encoding="utf-8")
    assert nbval_results(report) == {
        "notebooks/admm/dual-ascent": (1, 1),
        "book/errata/chapter-16": (1, 0),
        "book/intro": (1, 0),
    }
    assert nbval_results(tmp_path / "none.xml") == {}


def test_states() -> None:
    assert nbval_state(None) == "not run for this build"
    assert nbval_state((7, 0)) == "all 7 cells agree"
    assert nbval_state((6, 1)) == "1 of 7 cells differ"


@pytest.mark.parametrize("ran", [True, False])
def test_nbval_has_a_column_when_it_ran(ran: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"book/intro": (3, 0)} if ran else {}
    monkeypatch.setattr("tools.status.nbval_results", lambda: found)
    text = status_page()
    assert ("| Run time | nbval |" in text) is ran
    assert ("all 3 cells agree" in text) is ran
    assert ("| not run for this build |" in text) is ran
    assert ("did not run for this build" in text) is not ran


def test_every_notebook_has_a_row() -> None:
    text = status_page()
    for page in pages_in_order():
        if (ROOT / f"{page}.ipynb").exists():
            assert text.count(f"(/{page}.ipynb) |") == 1
    assert "| numpy | " in text
    assert "not installed" not in text


def test_the_page_is_made_when_the_notebooks_have_run() -> None:
    """It tells how long they ran."""
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").split("\nbook:")[1].split("\n\n")[0]
    execute, generate, build = (
        recipe.index(step)
        for step in ("notebooks.py cache\n", "-m tools.pages\n", "jupyter-book build")
    )
    assert execute < generate < build
