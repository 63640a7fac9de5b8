"""A sheet of chosen exercises: for students, with solutions, to print, and as an assignment for nbgrader.

``python -m tools.sheet exr-18-5 exr-nu-svm-count`` writes into ``build/sheet``: ``sheet.ipynb`` and
``sheet-solutions.ipynb``, ``sheet.html`` to print, and ``source/sheet/sheet.ipynb``, from which nbgrader's
``generate_assignment`` makes the students' files. Labels may be written as the text does: ``prob-18-5``.
"""

from __future__ import annotations

import argparse
import ast
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
from nbconvert import HTMLExporter
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.editions import ANSWER, Boxes, read, to_check
from tools.exercises import Exercise, asked, exercises, skeleton
from tools.notebooks import METADATA
from tools.toc import BOOK, ROOT, render, text_of, title

FOLDER = ROOT / "build" / "sheet"
MATHJAX = BOOK / "_static" / "vendor" / "mathjax"
LINK = re.compile(r"(?<!!)\[([^]]*)\]\([\w./-]*(?:\.(?:ipynb|md))?(?:#[\w.-]+)?\)")
ROLE = re.compile(r"\{(?:cite:\w+|prf:ref|ref|term|doc)\}`(?:([^`<]+) <)?([^`>]+)>?`")
POINTS = 2
MARKED = "### BEGIN SOLUTION\n{}\n### END SOLUTION"
OPENING = (
    "# Exercises\n\nFrom *Optimization for Machine Learning: an executable companion*. The checks need the package "
    "`companion` (`pip install optimization-companion`): they say what is right, or what is wrong and why. "
    "Text: CC BY 4.0; code: MIT."
)


def chosen(labels: list[str]) -> list[Exercise]:
    """Return the exercises with these labels, in this order.

    >>> [e.label for e in chosen(["prob-18-5"])]
    ['exr-18-5']
    """
    known = {e.label: e for e in exercises()}
    names = [re.sub(r"^prob-", "exr-", label) for label in labels]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"no exercise is called {', '.join(unknown)}; book/instructors lists all")
    return [known[name] for name in names]


def plain(text: str) -> str:
    """Return a text without the links and roles that only the book can follow."""
    text = LINK.sub(lambda m: m[1] or "the book", text)
    return ROLE.sub(lambda m: m[1] or m[2], text)


def heading(number: int, exercise: Exercise) -> str:
    """Return what heads an exercise of the sheet: its number here, its name in the book, its label."""
    boxes = Boxes()
    boxes.rewrite(text_of(exercise.page))
    name, page = boxes.names[exercise.label], title(exercise.page)
    return f"## {number}. {name} of “{page}” ({exercise.label})"


def folded(what: str, text: str) -> str:
    """Return a text that opens with a click, and is printed as it stands."""
    return f"<details><summary>{what}</summary>\n\n{plain(text)}\n\n</details>"


def question(number: int, exercise: Exercise) -> NotebookNode:
    """Return an exercise with its hints."""
    hints = [folded(f"Hint {i}", hint) for i, hint in enumerate(exercise.hints, 1)]
    return new_markdown_cell("\n\n".join([heading(number, exercise), plain(exercise.text), *hints]))


def names_read(tree: ast.AST) -> set[str]:
    """Return the names that a piece of code reads."""
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def names_bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of a cell binds or changes."""
    bound: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {(a.asname or a.name).split(".")[0] for a in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            bound |= names_read(node.value)
    return bound


def needed(exercise: Exercise) -> str:
    """Return the statements of its page that the code of a solution needs, in their order."""
    above: list[ast.stmt] = []
    for cell in read(exercise.page).cells:
        if cell.cell_type == "markdown" and f":label: {exercise.label}\n" in cell.source:
            break
        if cell.cell_type == "code" and "nbval-ignore-output" not in cell.metadata.get("tags", []):
            above += ast.parse(cell.source).body
    code = "\n".join(c.source for c in exercise.solution if c.cell_type == "code")
    wanted, kept = names_read(ast.parse(code)), []
    for statement in reversed(above):
        # an expression shows something; a method that changes its object is no loss here
        if not isinstance(statement, ast.Expr) and names_bound(statement) & wanted:
            kept.append(statement)
            wanted |= names_read(statement)
    return "\n".join(ast.unparse(statement) for statement in reversed(kept))


def reference(exercise: Exercise) -> str:
    """Return the code of a solution, with what it needs of its page, up to the call of its check."""
    code = "\n\n".join(c.source for c in exercise.solution if c.cell_type == "code")
    calls = asked(exercise.check.source)[0] if exercise.check else "no check"
    lines = [
        s for s in ast.parse(code).body if not (isinstance(s, ast.Expr) and calls in names_read(s))
    ]
    return "\n\n".join(filter(None, [needed(exercise), "\n".join(map(ast.unparse, lines))]))


def graded(cell: NotebookNode, name: str, points: int = 0, **kind: bool) -> NotebookNode:
    """Give a cell the metadata by which nbgrader knows it."""
    about = {"schema_version": 3, "grade_id": name, "grade": points > 0, "task": False}
    about |= {"points": points} if points else {}
    cell.metadata["nbgrader"] = about | {"solution": False, "locked": False} | kind
    return cell


def for_students(exercise: Exercise) -> Iterator[NotebookNode]:
    """Yield a skeleton and the check, or a place for a proof."""
    if exercise.check is None:
        yield new_markdown_cell(ANSWER)
    else:
        yield from to_check(exercise.check)


def with_solutions(exercise: Exercise) -> Iterator[NotebookNode]:
    """Yield the solution, and what a complete proof has."""
    if exercise.proof:
        yield new_markdown_cell(f"**A complete proof has**\n\n{plain(exercise.proof)}")
    for cell in exercise.solution:
        if cell.cell_type == "markdown":
            body = re.sub(r"^`+\{solution\}.*\n(:class:.*\n)?|\n`+\s*$", "", cell.source)
            yield new_markdown_cell(f"**Solution.** {plain(body)}")
    if exercise.check:
        code = f"{reference(exercise)}\n\n{exercise.check.source}\n\n\n{exercise.call}"
        yield new_code_cell(code)


def for_nbgrader(exercise: Exercise) -> Iterator[NotebookNode]:
    """Yield the source of an assignment: what is between the marks is removed for students, checks give points."""
    name = exercise.label
    if exercise.check is None:
        answer = new_markdown_cell(f"{ANSWER}\n\n{MARKED.format(exercise.proof)}")
        yield graded(answer, name, POINTS, solution=True)
        return
    code = f"{skeleton(exercise.check)}\n{MARKED.format(reference(exercise))}"
    yield graded(new_code_cell(code), f"{name}-answer", solution=True)
    call = f"feedback = {exercise.call}\nassert feedback.right, feedback.text"
    test = new_code_cell(f"{exercise.check.source}\n\n\n{call}")
    yield graded(test, name, POINTS, locked=True)


def sheet(labels: list[str], answers: Callable[[Exercise], Iterator[NotebookNode]]) -> NotebookNode:
    """Return a sheet: exercises and hints, and what stands below each."""
    cells = [new_markdown_cell(OPENING)]
    for number, exercise in enumerate(chosen(labels), 1):
        cells += [question(number, exercise), *answers(exercise)]
    for number, cell in enumerate(cells, 1):
        cell.id = f"s{number:03d}"
    return new_notebook(metadata=METADATA, cells=cells)


def printable(notebook: NotebookNode, folder: Path) -> str:
    """Return a page to print: the exercises without hints and checks, with the formulas typeset from this folder."""
    bodies = (re.sub(r"(?s)<details>.*?</details>\s*", "", c.source) for c in notebook.cells)
    text = [t for t, c in zip(bodies, notebook.cells) if c.cell_type == "markdown" and t != ANSWER]
    bare = new_notebook(metadata=METADATA, cells=list(map(new_markdown_cell, text)))
    shutil.copytree(MATHJAX, folder / "mathjax", dirs_exist_ok=True)
    body, _ = HTMLExporter(template_name="basic").from_notebook_node(bare)
    return render("sheet.html", body=body)


def write_sheet(labels: list[str], folder: Path = FOLDER) -> list[Path]:
    """Write all forms of a sheet; return their files."""
    files = {
        folder / "sheet.ipynb": sheet(labels, for_students),
        folder / "sheet-solutions.ipynb": sheet(labels, with_solutions),
        folder / "source" / "sheet" / "sheet.ipynb": sheet(labels, for_nbgrader),
    }
    for path, notebook in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.validate(notebook)
        nbformat.write(notebook, path)
    page = folder / "sheet.html"
    page.write_text(printable(files[folder / "sheet.ipynb"], folder), encoding="utf-8")
    return [*files, page]


def main() -> None:
    """Write a sheet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("labels", nargs="+", help="labels of exercises, such as prob-18-5")
    for path in write_sheet(parser.parse_args().labels):
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main())
