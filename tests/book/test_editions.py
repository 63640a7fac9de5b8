"""The edition for exercises shows no solution and still runs.

Running it takes as long as running all pages, so that is part of ``make test-all``. Here, reading is enough: no
solution is left, and every name that a cell reads is defined by a cell before it.
"""

from __future__ import annotations

import ast
import builtins
import os
import re
from pathlib import Path

import nbformat
import pytest

from tools.editions import (
    BLANK,
    SOLUTION,
    belonging,
    downloads_page,
    edition,
    has_solutions,
    names,
    read,
    without_solutions,
)
from tools.map import parts

PAGES = [page for _, pages in parts() for page in pages if has_solutions(page)]


@pytest.fixture(scope="module", params=PAGES)
def page(request: pytest.FixtureRequest) -> str:
    return request.param


def count_solutions(notebook: nbformat.NotebookNode) -> int:
    return sum(
        len(SOLUTION.findall(cell.source))
        for cell in notebook.cells
        if cell.cell_type == "markdown"
    )


def test_no_solution_is_left_and_there_is_room_for_one(page: str) -> None:
    notebook = read(page)
    bare = without_solutions(notebook)
    nbformat.validate(bare)
    assert count_solutions(notebook) > 0
    assert count_solutions(bare) == 0
    exercises = [c for c in bare.cells if "{exercise}" in c.source]
    assert exercises
    assert sum(cell.source == BLANK for cell in bare.cells) >= 1
    assert "{solution}" not in "\n".join(cell.source for cell in bare.cells)


def test_every_name_is_defined_before_it_is_read(page: str) -> None:
    known = set(dir(builtins)) | {"display", "get_ipython"}
    for cell in without_solutions(read(page)).cells:
        if cell.cell_type == "code":
            stored, loaded = names(cell.source)
            known |= stored
            assert loaded <= known, (loaded - known, cell.source)


def test_cells_are_numbered_in_order(page: str) -> None:
    cells = without_solutions(read(page)).cells
    counts = [cell.execution_count for cell in cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))


def test_nothing_but_solutions_is_left_out(page: str) -> None:
    notebook = read(page)
    kept = [
        cell.source.replace("../../../", "../../") for cell in without_solutions(notebook).cells
    ]
    gone = belonging(notebook.cells)
    for i, cell in enumerate(notebook.cells):
        if i not in gone and not SOLUTION.search(cell.source):
            assert cell.source in kept


def made(*cells: tuple[str, str]) -> nbformat.NotebookNode:
    new = {"md": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    return nbformat.v4.new_notebook(cells=[new[kind](source) for kind, source in cells])


SOLVED = "```{exercise}\nWhat is 1 + 1?\n```\n\n```{solution} one\n:class: dropdown\nTwo.\n```\n"


def test_code_that_gives_a_solution_away_is_folded_like_it(page: str) -> None:
    cells = read(page).cells
    for i in belonging(cells):
        if cells[i].cell_type == "code":
            assert {"hide-cell", "hide-input"} & set(cells[i].metadata.get("tags", [])), cells[i]


def test_a_check_goes_and_what_a_later_cell_needs_stays() -> None:
    book = made(
        ("md", SOLVED),
        ("code", "two = 1 + 1\nassert two == 2"),
        ("md", "A remark on the solution."),
        ("code", "needed = 3"),
        ("md", "## Next"),
        ("code", "print(needed)"),
    )
    sources = [cell.source for cell in without_solutions(book).cells]
    assert sources == [
        SOLVED.split("\n\n")[0] + "\n",
        BLANK,
        "needed = 3",
        "## Next",
        "print(needed)",
    ]


def test_text_after_a_solution_in_the_same_cell_ends_it() -> None:
    book = made(("md", SOLVED + "\nNow something else."), ("code", "x = 1"))
    sources = [cell.source for cell in without_solutions(book).cells]
    assert sources[-1] == "x = 1"
    assert "something else" in sources[0]


def test_names_of_a_cell() -> None:
    stored, loaded = names("import numpy as np\ndef f(a):\n    return a + b\nc = f(np.pi)")
    assert stored == {"np", "f", "a", "c"}
    assert {"b", "f", "np", "a"} <= loaded
    with pytest.raises(SyntaxError):
        ast.parse("a +")


def test_the_page_offers_both_for_every_page() -> None:
    text = downloads_page()
    for page in PAGES:
        assert f"{{download}}`notebook <../{page}.ipynb>`" in text
        assert f"`exercises <exercises/{page.removeprefix('notebooks/')}.ipynb>`" in text


def test_files_of_the_project_are_found_from_the_edition(page: str) -> None:
    """An edition lies one folder deeper than its page."""
    folder = edition(page).parent
    for cell in without_solutions(read(page)).cells:
        if cell.cell_type == "code":
            for path in re.findall(r"[\"'](\.\./[\w./-]+)[\"']", cell.source):
                assert Path(os.path.normpath(folder / path)).exists(), path
