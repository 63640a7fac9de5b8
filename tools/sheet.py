"""A sheet of chosen exercises: for students, with solutions, and as an assignment for nbgrader.

``python -m tools.sheet exr-18-5 exr-nu-svm-count`` writes into ``build/sheet``: ``sheet.ipynb`` and
``sheet-solutions.ipynb``, and ``source/sheet/sheet.ipynb``, from which nbgrader's ``generate_assignment`` makes the
students' files. Labels may be written as the text does: ``prob-18-5``.
"""

from __future__ import annotations

import argparse
import ast
import keyword
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.editions import ANSWER, LINK, boxes, to_check
from tools.exercises import Exercise, asked, call, exercises, skeleton
from tools.notebooks import METADATA
from tools.toc import ROOT, read, render, text_of, title

FOLDER = ROOT / "build" / "sheet"
ROLE = re.compile(r"\{(?:cite:\w+|prf:ref|ref|term|doc)\}`(?:([^`<]+) <)?([^`>]+)>?`")
POINTS = 2
MARKED = "### BEGIN SOLUTION\n{}\n### END SOLUTION"


def chosen(labels: list[str]) -> list[Exercise]:
    """Return the exercises with these labels, in this order.

    >>> [e.label for e in chosen(["prob-18-5"])]
    ['exr-18-5']
    """
    known = {e.label: e for e in exercises()}
    names = [re.sub(r"^prob-", "exr-", label) for label in labels]
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"no exercise is called {', '.join(unknown)}; book/instructors lists all")
    return [known[name] for name in names]


def plain(text: str) -> str:
    """Return a text without the links and roles that only the book can follow."""
    text = LINK.sub(lambda m: m["text"] or "the book", text)
    return ROLE.sub(lambda m: m[1] or m[2], text)


def question(number: int, exercise: Exercise) -> NotebookNode:
    """Return an exercise with its number here, its name in the book and its label; hints open with a click."""
    name = boxes(text_of(exercise.page))[1][exercise.label]
    parts = [f"## {number}. {name} of “{title(exercise.page)}” ({exercise.label})", exercise.text]
    for i, hint in enumerate(exercise.hints, 1):
        parts.append(f"<details><summary>Hint {i}</summary>\n\n{hint}\n\n</details>")
    return new_markdown_cell(plain("\n\n".join(parts)))


def words(text: str) -> set[str]:
    """Return the names in a piece of code, and what looks like one."""
    return set(re.findall(r"[A-Za-z_]\w*", text)) - set(keyword.kwlist)


def bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds, and more: those before its first sign of equality, of a def its head."""
    text = ast.unparse(statement)
    return words(re.match(r"(?:@.*\n)*(?:def|class|from|import) [^(]*|[^=]*", text)[0])


def reference(exercise: Exercise) -> str:
    """Return the code of a solution without the call of its check, below the statements of its page that it needs."""
    above: list[ast.stmt] = []
    for cell in read(exercise.page).cells:
        if f":label: {exercise.label}\n" in cell.source:
            break
        if cell.cell_type == "code" and "nbval-ignore-output" not in cell.metadata.get("tags", []):
            above += ast.parse(cell.source).body
    code = "\n".join(c.source for c in exercise.solution if c.cell_type == "code")
    check, _ = asked(exercise.check.source)
    calls = (f"{check}(", f"print({check}(")
    kept = [s for s in map(ast.unparse, ast.parse(code).body) if not s.startswith(calls)]
    for statement in reversed(above):
        # an expression shows something; a method that changes its object is no loss here
        if not isinstance(statement, ast.Expr) and bound(statement) & words("\n".join(kept)):
            kept.insert(0, ast.unparse(statement))
    return "\n".join(kept)


def for_students(exercise: Exercise) -> Iterator[NotebookNode]:
    """Yield a skeleton and the check, or a place for a proof."""
    yield from to_check(exercise.check) if exercise.check else [new_markdown_cell(ANSWER)]


def with_solutions(exercise: Exercise) -> Iterator[NotebookNode]:
    """Yield the solution, and what a complete proof has."""
    if exercise.proof:
        yield new_markdown_cell(f"**A complete proof has**\n\n{plain(exercise.proof)}")
    for cell in exercise.solution:
        if cell.cell_type == "markdown":
            body = re.sub(r"^[`:]+\{solution\}.*\n(:class:.*\n)?|\n[`:]+\s*$", "", cell.source)
            yield new_markdown_cell(f"**Solution.** {plain(body)}")
    if exercise.check:
        yield new_code_cell(f"{reference(exercise)}\n\n{to_check(exercise.check)[1].source}")


def for_nbgrader(exercise: Exercise) -> Iterator[NotebookNode]:
    """Yield the source of an assignment: what is between the marks is removed for students, checks give points."""

    def graded(cell: NotebookNode, name: str, **kind: bool | int) -> NotebookNode:
        about = {"schema_version": 3, "grade_id": name, "grade": "points" in kind, "task": False}
        cell.metadata["nbgrader"] = about | {"solution": False, "locked": False} | kind
        return cell

    name = exercise.label
    if exercise.check is None:
        answer = new_markdown_cell(f"{ANSWER}\n\n{MARKED.format(exercise.proof)}")
        yield graded(answer, name, points=POINTS, solution=True)
        return
    code = f"{skeleton(exercise.check)}\n{MARKED.format(reference(exercise))}"
    yield graded(new_code_cell(code), f"{name}-answer", solution=True)
    judge = f"feedback = {call(exercise.check)}\nassert feedback.right, feedback.text"
    test = new_code_cell(f"{exercise.check.source}\n\n\n{judge}")
    yield graded(test, name, points=POINTS, locked=True)


FORMS: dict[str, Callable[[Exercise], Iterator[NotebookNode]]] = {
    "sheet.ipynb": for_students,
    "sheet-solutions.ipynb": with_solutions,
    "source/sheet/sheet.ipynb": for_nbgrader,
}


def write_sheet(labels: list[str], folder: Path = FOLDER) -> list[Path]:
    """Write all forms of a sheet; return their files."""
    for name, answers in FORMS.items():
        cells = [new_markdown_cell(render("sheet.md"))]
        for number, exercise in enumerate(chosen(labels), 1):
            cells += [question(number, exercise), *answers(exercise)]
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(new_notebook(metadata=METADATA, cells=cells), folder / name)
    return [folder / name for name in FORMS]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("labels", nargs="+", metavar="LABEL", help="exercises, such as prob-18-5")
    print(*write_sheet(parser.parse_args().labels), sep="\n")
