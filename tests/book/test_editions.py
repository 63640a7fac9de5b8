"""The edition for exercises shows no solution and still runs.

Running it takes as long as running all pages, so that is part of ``make test-all``. Here, reading is enough: what must
not be there is not, and every name that a cell reads is defined by a cell before it.
"""

from __future__ import annotations

import ast
import builtins
import os
import re
import tarfile
import zipfile
from pathlib import Path

import nbformat
import pytest

from tools.editions import (
    BLANK,
    EXERCISES,
    SOLUTION,
    chapters,
    complete,
    contents,
    downloads_page,
    edition,
    for_jupyterlab,
    in_pieces,
    read,
    solved_pages,
    without_solutions,
    write_editions,
    write_sdist,
)
from tools.notebooks import folded
from tools.toc import ROOT

PAGES = solved_pages()
TOPIC = re.compile(r"(\([\w.-]+\)=|#+ |`{3,}|:::)")


@pytest.fixture(scope="module", params=PAGES)
def page(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def bare(page: str) -> nbformat.NotebookNode:
    return without_solutions(read(page))


def tags(cell: nbformat.NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


def markdown(notebook: nbformat.NotebookNode) -> str:
    return "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")


def test_it_holds_no_solution_no_answer_and_no_reason(
    page: str, bare: nbformat.NotebookNode
) -> None:
    nbformat.validate(bare)
    text = markdown(bare)
    assert "{exercise}" in text
    assert "{solution}" not in text
    assert "[x]" not in text
    assert not re.search(r"^- \[ \].*\*(Yes|No)\b", text, re.MULTILINE)
    whole = read(page)
    choices = re.findall(r"^- \[[ x]\]", markdown(whole), re.MULTILINE)
    assert len(choices) == len(re.findall(r"^- \[ \] \S", text, re.MULTILINE))
    given_away = [max(m[0].splitlines()[2:], key=len) for m in SOLUTION.finditer(markdown(whole))]
    given_away += [c.source for c in whole.cells if "solution" in tags(c)]
    assert given_away
    sources = "\n\n".join(cell.source for cell in bare.cells)
    assert [told for told in given_away if told in sources] == []
    assert sum(cell.source == BLANK for cell in bare.cells) == text.count("{exercise}")


def test_what_goes_on_with_a_solution_has_its_tag(page: str) -> None:
    """Up to the next heading, label or box."""
    cells = read(page).cells
    pieces = [p for c in cells for p in (in_pieces(c) if c.cell_type == "markdown" else [c])]
    after = False
    for piece in pieces:
        if piece.source == BLANK or "solution" in tags(piece):
            after = True
        elif after and piece.cell_type == "markdown" and TOPIC.match(piece.source):
            after = False
        assert not after or piece.source == BLANK or "solution" in tags(piece), piece.source


def test_a_check_is_folded_like_its_solution(page: str) -> None:
    """On the site by its tags, in JupyterLab by its metadata."""
    for cell in read(page).cells:
        if cell.cell_type == "code":
            assert cell.metadata.get("jupyter", {}) == folded(cell), cell.source
            assert bool(folded(cell)) == ("solution" in tags(cell)), cell.source


def names(source: str) -> tuple[set[str], set[str]]:
    """Return the names that a cell defines and those that it reads."""
    stored: set[str] = set()
    loaded: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name):
            (stored if isinstance(node.ctx, ast.Store) else loaded).add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            stored.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            stored.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, ast.arg):
            stored.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            stored.add(node.name)
    return stored, loaded


def test_every_name_is_defined_before_it_is_read(bare: nbformat.NotebookNode) -> None:
    known = set(dir(builtins)) | {"display", "get_ipython"}
    for cell in bare.cells:
        if cell.cell_type == "code":
            stored, loaded = names(cell.source)
            known |= stored
            assert loaded <= known, (loaded - known, cell.source)


def test_nothing_else_is_left_out_and_files_are_found(
    page: str, bare: nbformat.NotebookNode
) -> None:
    """An edition lies one folder deeper than its page."""
    kept = [cell for cell in bare.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in kept] == list(range(1, len(kept) + 1))
    for cell in read(page).cells:
        if cell.cell_type == "code" and "solution" not in tags(cell):
            deeper = re.sub(r"(?<=[\"'])\.\./\.\./(?!\.\./)", "../../../", cell.source)
            assert deeper in [other.source for other in kept]
    for cell in kept:
        for path in re.findall(r"[\"'](\.\./[\w./-]+)[\"']", cell.source):
            assert Path(os.path.normpath(edition(page).parent / path)).exists(), path


def test_a_solution_between_two_texts() -> None:
    cell = nbformat.v4.new_markdown_cell(
        "```{exercise}\n1 + 1?\n```\n\n```{solution} one\nTwo.\n```\n\nSomething else."
    )
    book = nbformat.v4.new_notebook(cells=[cell])
    sources = [cell.source for cell in without_solutions(book).cells]
    assert sources == ["```{exercise}\n1 + 1?\n```", BLANK, "Something else."]


def test_jupyterlab_shows_the_headings_and_the_links_of_the_site(
    page: str, bare: nbformat.NotebookNode
) -> None:
    folder = edition(page).parent
    for notebook in (complete(read(page)), without_solutions(read(page))):
        text = markdown(for_jupyterlab(notebook, page))
        assert re.findall(r"\{(?:prf:\w+|exercise|solution)\}", text) == []
        assert ":nonumber:" not in text
        for place, label in re.findall(r"\]\(([\w./-]*)#([\w.-]+)\)", text):
            assert place or f"({label})=" in text or f": {label}\n" in text, label
        files = re.findall(r"\]\(([\w./-]+\.(?:ipynb|md))", text)
        for file in files:
            target = Path(os.path.normpath(folder / file))
            known = {edition(p, "") for p in PAGES}
            assert target in known or target.exists(), file


def test_boxes_are_called_as_on_the_site() -> None:
    text = (
        "## Problem 18.1\n\n```{exercise}\n:label: e\n1 + 1?\n```\n\n"
        "```{solution} e\n:class: dropdown\n2, as [](#e) asks.\n```\n\n"
        ":::{prf:proof}\nClear.\n:::\n\n:::{prf:theorem} Theorem 18.1: it is so\n:nonumber:\n$1$\n:::"
    )
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)])
    shown = markdown(for_jupyterlab(book, "notebooks/svm/problems"))
    assert re.findall(r"\{admonition\} (.*)", shown) == [
        "Problem 18.1",
        "Solution to Problem 18.1",
        "Proof",
        "Theorem 18.1: it is so",
    ]
    assert "[Problem 18.1](#e)" in shown


@pytest.fixture(scope="module")
def written() -> None:
    write_editions()


def test_the_contents_lead_to_both_editions(written: None) -> None:
    links = re.findall(r"\]\(([^)]+)\)", contents().cells[0].source)
    assert len(links) == 2 * len(PAGES)
    assert [link for link in links if not (EXERCISES / link).exists()] == []


@pytest.mark.parametrize("chapter", chapters())
def test_a_zip_holds_both_editions_and_their_environment(chapter: str, written: None) -> None:
    with zipfile.ZipFile(EXERCISES / f"{chapter}.zip") as archive:
        inside = {name.partition("/")[2] for name in archive.namelist()}
    for page in chapters()[chapter]:
        files = {edition(page, kind).relative_to(ROOT).as_posix() for kind in ("", "-exercises")}
        assert files <= inside
    assert {"companion/__init__.py", "pyproject.toml", "requirements.lock"} <= inside


def test_the_sdist_holds_the_package_and_the_page_offers_all(written: None) -> None:
    sdist = write_sdist()
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {p.relative_to(ROOT).as_posix() for p in (ROOT / "companion").rglob("*.py")}
    assert wanted | {"companion/py.typed", "pyproject.toml", "README.md"} <= inside
    files = re.findall(r"\{download\}`[^<]+ </([^>]+)>`", downloads_page(sdist))
    assert {f"{page}.ipynb" for page in PAGES} <= set(files)
    assert {edition(page).relative_to(ROOT).as_posix() for page in PAGES} <= set(files)
    assert {f"book/exercises/{chapter}.zip" for chapter in chapters()} <= set(files)
    assert [file for file in files if not (ROOT / file).exists()] == []
