"""The exercises of the pages, each with its hints, its check, its known mistakes and its solution.

In a notebook an exercise is a directive; behind it stand its hints (class "hint"), the cell of its check (tag "check"),
and its solution. The check is the name ``check_...`` that this cell defines: a function, or `Numbers`. What an exercise
asks for are the names that the check is called with.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import cache

from nbformat import NotebookNode

from tools.toc import pages_in_order, read, render, title

DIRECTIVE = re.compile(
    r"^(?P<fence>`{3,}|:{3,})\{(?P<kind>exercise|hint|solution|admonition)\}(?P<title>[^\n]*)\n"
    r"(?P<options>(?::\w+:.*\n)*)(?P<body>(?s:.*?))^(?P=fence)[ \t]*$",
    re.MULTILINE,
)
PROOF = "A complete proof has"


@dataclass
class Exercise:
    """An exercise of a page."""

    label: str
    page: str
    text: str
    hints: list[str] = field(default_factory=list)
    proof: str = ""
    check: NotebookNode | None = None
    solution: list[NotebookNode] = field(default_factory=list)


def is_check(cell: NotebookNode) -> bool:
    """Whether a cell is that of a check."""
    return cell.cell_type == "code" and "check" in cell.metadata.get("tags", [])


def asked(source: str) -> tuple[str, list[str]]:
    """Return the name of the check that a cell defines, and the names that it is called with.

    >>> asked("def check_prox(prox): ...")
    ('check_prox', ['prox'])
    >>> asked("check_count = Numbers(nu_max=Number(0.8), most=Number(12))")
    ('check_count', ['nu_max', 'most'])
    """
    for node in reversed(ast.parse(source).body):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("check_"):
            return node.name, [a.arg for a in node.args.args]
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id.startswith("check_"):
                return target.id, [k.arg for k in node.value.keywords if k.arg]
    raise ValueError(f"no check_... is defined in\n{source}")


def call(cell: NotebookNode) -> str:
    """Return the call of a check with the names that it asks for."""
    name, names = asked(cell.source)
    return f"{name}({', '.join(names)})"


def skeleton(cell: NotebookNode) -> str:
    """Return what a reader fills in before a check: its own skeleton, or one line for each name."""
    own = cell.metadata.get("exercise", {}).get("skeleton")
    return own or "\n".join(f"{name} = ..." for name in asked(cell.source)[1])


def exercises_in(notebook: NotebookNode, page: str) -> list[Exercise]:
    """Return the exercises of a notebook in its order; what stands below a heading belongs to none above it."""
    found: list[Exercise] = []
    here = nothing = Exercise("", page, "")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            if is_check(cell):
                here.check = cell
            elif "solution" in cell.metadata.get("tags", []):
                here.solution.append(cell)
            continue
        if re.match(r"#+ ", cell.source) and not DIRECTIVE.search(cell.source):
            here = nothing
        for match in DIRECTIVE.finditer(cell.source):
            body = match["body"].strip()
            if match["kind"] == "exercise":
                label = match["options"].removeprefix(":label: ").split("\n")[0]
                here = Exercise(label, page, body)
                found.append(here)
            elif match["kind"] == "hint":
                here.hints.append(body)
            elif match["kind"] == "solution":
                here.solution.append(NotebookNode(cell_type="markdown", source=match[0]))
            elif match["title"].strip() == PROOF:
                here.proof = body
    return found


@cache
def exercises() -> list[Exercise]:
    """Return all exercises of the book, in reading order."""
    pages = [page for page in pages_in_order() if page.startswith("notebooks/")]
    return [exercise for page in pages for exercise in exercises_in(read(page), page)]


def kind(exercise: Exercise) -> str:
    """Return what an exercise asks for."""
    if exercise.check is None:
        return "proof"
    return "computation" if "Numbers(" in exercise.check.source else "program"


def table() -> str:
    """Return the table of all exercises for instructors."""
    return render("exercises.md", rows=[(e, title(e.page), kind(e)) for e in exercises()])
