"""The notebooks without their solutions, made from the pages themselves, and the page that offers both.

In the edition for exercises a solution is replaced by a place for the reader's own. The cells that go on with it, up to
the next heading or box, are left out, unless a later cell needs what they compute.
"""

from __future__ import annotations

import ast
import builtins
import re
from functools import cache
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.map import parts
from tools.toc import BOOK, ROOT, title, write

EXERCISES = BOOK / "exercises"
SOLUTION = re.compile(
    r"^(?P<fence>`{3,})\{solution\}.*?^(?P=fence)[ \t]*\n?", re.MULTILINE | re.DOTALL
)
NEW_TOPIC = re.compile(r"^(#+ |`{3,}\{|\([\w.-]+\)=)", re.MULTILINE)
FILES = re.compile(r"(?P<quote>[\"'])\.\./\.\./(?!\.\./)")
BLANK = "# your solution\n"


@cache
def names(source: str) -> tuple[frozenset[str], frozenset[str]]:
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
    return frozenset(stored), frozenset(loaded)


def tail(source: str) -> str:
    """Return the text of a cell after its last solution."""
    ends = [match.end() for match in SOLUTION.finditer(source)]
    return source[ends[-1] :] if ends else source


def belonging(cells: list[NotebookNode]) -> set[int]:
    """Return the positions of the cells that go on with a solution: up to the next heading, label or box."""
    found, after = set(), False
    for i, cell in enumerate(cells):
        if cell.cell_type == "markdown" and SOLUTION.search(cell.source):
            after = not tail(cell.source).strip()
        elif cell.cell_type == "markdown" and NEW_TOPIC.search(cell.source):
            after = False
        elif after:
            found.add(i)
    return found


def droppable(cells: list[NotebookNode]) -> set[int]:
    """Return what can be left out with the solutions: text, and code whose names no kept cell reads."""
    candidates = belonging(cells)
    dropped = {i for i in candidates if cells[i].cell_type == "markdown"}
    for i in sorted(candidates - dropped, reverse=True):
        mine, _ = names(cells[i].source)
        read_later: set[str] = set()
        for j in range(i + 1, len(cells)):
            if cells[j].cell_type == "code" and j not in dropped:
                stored, loaded = names(cells[j].source)
                read_later |= loaded - stored
        earlier: set[str] = set(dir(builtins))
        for j in range(i):
            if cells[j].cell_type == "code" and j not in candidates:
                earlier |= names(cells[j].source)[0]
        if not (mine & read_later) - earlier:
            dropped.add(i)
    return dropped


def without_solutions(notebook: NotebookNode) -> NotebookNode:
    """Return a notebook in which the reader solves the exercises."""
    cells, dropped = notebook.cells, droppable(notebook.cells)
    kept: list[NotebookNode] = []
    for i, cell in enumerate(cells):
        if i in dropped:
            continue
        new = nbformat.from_dict(cell)
        if cell.cell_type == "code":  # the edition lies one folder deeper than the page
            new.source = FILES.sub(r"\g<quote>../../../", cell.source)
        if cell.cell_type == "markdown" and SOLUTION.search(cell.source):
            new = nbformat.v4.new_markdown_cell(SOLUTION.sub("", cell.source).strip() + "\n")
            if new.source.strip():
                kept.append(new)
            kept.append(nbformat.v4.new_code_cell(BLANK))
            continue
        kept.append(new)
    result = nbformat.v4.new_notebook(metadata=notebook.metadata, cells=kept)
    count = 0
    for number, cell in enumerate(result.cells, 1):
        cell.id = f"c{number:03d}"
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = count
    return result


def edition(page: str) -> Path:
    """Return the file of a page's edition for exercises."""
    return EXERCISES / f"{page.removeprefix('notebooks/')}.ipynb"


def has_solutions(page: str) -> bool:
    """Whether a page has solutions to leave out."""
    return bool(
        SOLUTION.search("\n".join(c.source for c in read(page).cells if c.cell_type == "markdown"))
    )


def read(page: str) -> NotebookNode:
    """Return the notebook of a page."""
    return nbformat.read(ROOT / f"{page}.ipynb", as_version=4)


def write_editions() -> None:
    """Write the edition for exercises of every page with solutions, and remove those of pages that are gone."""
    wanted = {edition(p): p for _, pages in parts() for p in pages if has_solutions(p)}
    for path in EXERCISES.rglob("*.ipynb"):
        if path not in wanted:
            path.unlink()
    for path, page in wanted.items():
        write(path, nbformat.writes(without_solutions(read(page))) + "\n")


def downloads_page() -> str:
    """Return the page that offers every notebook with and without its solutions."""
    lines = [
        "(downloads)=",
        "# Notebooks to download",
        "",
        "Every page is a notebook. The edition for exercises is the same notebook without the solutions and their",
        "checks, with an empty cell in their place. Both run in the environment of the book: `make lab` sets it up.",
        "",
    ]
    for caption, pages in parts():
        lines += [f"## {caption}", "", ":::{table}", ":class: stacked", ""]
        lines += ["| Page | With solutions | For exercises |", "|---|---|---|"]
        for page in pages:
            full = f"{{download}}`notebook <../{page}.ipynb>`"
            bare = (
                f"{{download}}`exercises <exercises/{page.removeprefix('notebooks/')}.ipynb>`"
                if has_solutions(page)
                else "–"
            )
            lines.append(f"| [{title(page)}](../{page}.ipynb) | {full} | {bare} |")
        lines += [":::", ""]
    return "\n".join(lines)
