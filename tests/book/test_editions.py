"""The edition for exercises shows no solution, and defines each name before it is read: ``make test-all`` runs it."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell, new_notebook

from tools import editions
from tools.editions import ANSWER, EXERCISES, LINK, edition, for_jupyterlab, read, without_solutions
from tools.exercises import is_check
from tools.notebooks import folded
from tools.toc import ROOT, parts

Book = nbformat.NotebookNode
PAGES = [page for page, solved in editions.edited().items() if solved]
# What JupyterLab does not find: a label of the title, and one below another, also that of a box.
LOST = r"\A\(([\w.-]+)\)=\n# |(?<=\)=\n)\(([\w.-]+)\)=|\)=\n+[`:]{3,}\{.*\n:label: ([\w.-]+)"
TOPIC = re.compile(r"(\([\w.-]+\)=|#+ |`{3,}|:::)")


@pytest.fixture(scope="module", params=PAGES)
def three(request: pytest.FixtureRequest) -> tuple[str, Book, Book]:
    """A page, its notebook, and the one without solutions."""
    return request.param, read(request.param), without_solutions(read(request.param))


def in_solution(cell: Book) -> bool:
    return "solution" in cell.metadata.get("tags", [])


def markdown(notebook: Book) -> str:
    return "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")


def code(notebook: Book) -> list[Book]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_it_holds_no_solution(three: tuple) -> None:
    _, whole, bare = three
    nbformat.validate(bare)
    text = markdown(bare)
    assert [told in text for told in ("{exercise}", "{solution}")] == [True, False]
    told = [cell.source for cell in whole.cells if "{solution}" in cell.source]
    assert not any("{exercise}" in text for text in told), "a solution has a cell of its own"
    given_away = [max(solution.splitlines()[2:], key=len) for solution in told]
    given_away += [cell.source for cell in whole.cells if in_solution(cell)]
    assert given_away
    sources = "\n\n".join(cell.source for cell in bare.cells)
    assert [told for told in given_away if told in sources] == []
    places = [cell for cell in bare.cells if cell.source == ANSWER or is_check(cell)]
    assert len(places) == text.count("{exercise}")
    assert not any("exercise" in cell.metadata for cell in bare.cells)  # known mistakes


def test_each_choice_of_a_question_has_its_reason_behind_a_fold(three: tuple) -> None:
    page, whole, _ = three
    choices = re.findall(r"^- \[[ x]\] .*\*((?:Yes|No)\b.*)\*$", markdown(whole), re.MULTILINE)
    for kind in editions.KINDS:
        text = markdown(for_jupyterlab(page, kind))
        fold = r"^:::{admonition} If you choose [A-D]\n:class: dropdown\n\n(.*)\n:::$"
        reasons = re.findall(fold, text, re.MULTILINE)
        lettered = re.findall(r"^- \*\*[A-D]\.\*\* \S", text, re.MULTILINE)
        assert len(reasons) == len(choices) == len(lettered)
        assert "- [x]" not in text
        assert [r[:3] for r in reasons] == [c[:3] for c in choices]


def test_what_goes_on_with_a_solution_has_its_tag(three: tuple) -> None:
    """Up to the next heading, label or box; a check is folded like its solution, in JupyterLab by its metadata."""
    _, whole, _ = three
    after = False
    for cell in whole.cells:
        text = cell.cell_type == "markdown"
        after = editions.solves(cell) or (after and not (text and TOPIC.match(cell.source)))
        assert editions.solves(cell) or not after, cell.source
    for cell in code(whole):
        assert "hide-cell" in cell.metadata.get("tags", []) or not in_solution(cell), cell.source
        assert cell.metadata.get("jupyter", {}) == folded(cell), cell.source
        assert bool(folded(cell)) == (in_solution(cell) or is_check(cell)), cell.source


def test_nothing_else_is_left_out_and_files_are_found(three: tuple) -> None:
    """An edition lies one folder deeper than its page."""
    page, whole, bare = three
    kept = code(bare)
    assert not any(cell.outputs or cell.execution_count for cell in kept), "who solves runs them"
    wanted = [cell.source for cell in code(whole) if not (in_solution(cell) or is_check(cell))]
    assert set(wanted) <= {cell.source for cell in kept}
    for cell in code(for_jupyterlab(page, "-exercises")):
        for path in re.findall(r"[\"'](\.\./[\w./-]+)[\"']", cell.source):
            assert Path(os.path.normpath(edition(page).parent / path)).exists(), path


@pytest.mark.parametrize("page", editions.edited())
def test_jupyterlab_shows_the_headings_and_the_links_of_the_site(page: str) -> None:
    for kind in editions.KINDS:
        known = {edition(other, kind) for other in editions.edited()}
        text = markdown(for_jupyterlab(page, kind))
        assert re.findall(r"\{(?:prf:\w+|exercise|solution)\}|:nonumber:", text) == []
        for place, label in re.findall(r"\]\(([\w./-]*)#([\w.-]+)\)", text):
            assert place or f"({label})=" in text or f": {label}\n" in text, label
        lost = {label for labels in re.findall(LOST, text) for label in labels}
        assert lost & set(re.findall(r"\]\(#([\w.-]+)\)", text)) == set()
        assert "{term}" not in text
        for file in re.findall(r"\]\(([\w./-]+\.(?:ipynb|md))", text):
            target = Path(os.path.normpath(edition(page).parent / file))
            assert target in known, file


def test_boxes_are_called_as_on_the_site() -> None:
    text = (
        "## Problem 18.1\n\n```{exercise}\n:label: e\n1 + 1?\n```\n\n"
        "```{solution} e\n:class: dropdown\n2, as [](#e) asks.\n```\n\n"
        ":::{prf:proof}\nClear.\n:::\n\n:::{prf:theorem} Theorem 18.1: it is so\n:nonumber:\n$1$\n:::"
    )
    shown, _ = editions.boxes(text)
    heads = ["Problem 18.1", "Solution to Problem 18.1", "Proof", "Theorem 18.1: it is so"]
    assert re.findall(r"\{admonition\} (.*)", shown) == heads
    assert "[Problem 18.1](#e)" in shown


def test_what_a_reader_wrote_stays(tmp_path: Path) -> None:
    """Editions are made anew, or removed with their page; a notebook that a reader changed or brought is left alone."""
    place = {name: tmp_path / f"{name}.ipynb" for name in ("made", "solved", "brought")}

    def make(text: str, *names: str) -> list[bool]:
        return [
            editions.store(place[n], new_notebook(cells=[new_markdown_cell(text)])) for n in names
        ]

    assert make("old", "made", "solved") == [True, True]
    solved = nbformat.read(place["solved"], as_version=4)
    solved.cells[0].source = "two"
    nbformat.write(solved, place["solved"])
    nbformat.write(new_notebook(), place["brought"])
    assert make("new", *place) == [True, False, False]
    kept = {path.stem: markdown(nbformat.read(path, as_version=4)) for path in place.values()}
    assert kept == {"made": "new", "solved": "two", "brought": ""}
    assert [editions.store(path, None) for path in place.values()] == [True, False, False]


def test_the_zip_of_the_site_offers_nothing_that_it_lacks(tmp_path: Path) -> None:
    kept = '<li><a href="../x/companion-exercises.zip"></a></li>\n'
    (tmp_path / "a.html").write_text(f'<li><a href="../x/companion.pdf"></a></li>\n{kept}')
    editions.pack_site(tmp_path, tmp_path.with_suffix(".zip"))
    with zipfile.ZipFile(tmp_path.with_suffix(".zip")) as archive:
        assert archive.read("companion/a.html") == kept.encode()


@pytest.fixture(scope="module")
def package() -> tuple[Path, Path]:
    """The package's sdist and wheel; all editions and both zips are written."""
    sdist, wheel = editions.build_package()
    editions.write_editions(wheel)
    return sdist, wheel


def test_every_name_is_defined_before_it_is_read(package: tuple) -> None:
    files = [edition(page) for page in PAGES]
    run = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821,F823", *files]
    told = subprocess.run(run, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout


def test_contents_lead_to_both_editions_in_the_order_of_the_book(package: tuple) -> None:
    text = editions.contents().cells[0].source
    links = re.findall(r"\]\(([^)]+)\)", text)
    both = [edition(page, kind) for page in PAGES for kind in editions.KINDS]
    assert [EXERCISES / link for link in links] == both
    assert all(path.exists() for path in both)
    for folder in {path.parent for path in both}:
        mine = [path.name for path in both if path.parent == folder]
        assert [name[:2] for name in mine] == sorted(name[:2] for name in mine)
    assert len(re.findall("^## ", text, re.MULTILINE)) == len(parts())


@pytest.mark.parametrize("kind", editions.KINDS)
def test_a_zip_stands_alone(kind: str, package: tuple, tmp_path: Path) -> None:
    """Its README names what is there, no link of a notebook leads out, and exercises have no solutions."""
    with zipfile.ZipFile(editions.zip_of(kind)) as archive:
        archive.extractall(tmp_path)
    (folder,) = tmp_path.iterdir()
    readme = (folder / "README.md").read_text(encoding="utf-8")
    notebooks = {edition(page, kind).relative_to(ROOT).as_posix() for page in editions.edited()}
    assert {n.relative_to(folder).as_posix() for n in folder.rglob("*.ipynb")} == notebooks
    assert set(re.findall(r"`([\w./-]+\.ipynb)`", readme)) == notebooks
    files = {path.name for path in folder.iterdir()}
    assert {"requirements.txt", package[1].name, "LICENSE"} <= files
    assert readme.count(package[1].name) == 2, "for Windows and for others"
    for page in editions.edited():
        place = folder / edition(page, kind).relative_to(ROOT)
        book = nbformat.read(place, as_version=4)
        nbformat.validate(book)
        assert 'pip install "optimization-companion[lab]"' in book.cells[0].source
        links = [m["path"] or "." for m in LINK.finditer(markdown(book))]
        links += re.findall(r"[\"'](\.\./[\w./-]+)[\"']", "".join(c.source for c in code(book)))
        assert [link for link in links if not (place.parent / link).exists()] == []
        if kind:
            assert not any(in_solution(cell) or "{solution}" in cell.source for cell in book.cells)


def test_the_page_of_downloads_offers_all(package: tuple) -> None:
    sdist, wheel = package
    files = re.findall(r"\{download\}`[^<]+ </([^>]+)>`", editions.downloads_page(sdist, wheel))
    offered = {edition(page, kind) for page in PAGES for kind in editions.KINDS} | {*package}
    offered |= {editions.zip_of(kind) for kind in editions.KINDS}
    assert {path.relative_to(ROOT).as_posix() for path in offered} <= set(files)
    assert [file for file in files if not (ROOT / file).exists()] == []
