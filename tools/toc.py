"""The table of contents, the titles of its pages, and how a generated page is written."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def read_yaml(path: Path) -> Any:
    """Return what a YAML file holds, read by the compiled parser: it takes a tenth of the time."""
    return yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)


@cache
def listed() -> dict[str, Any]:
    """Return the table of contents."""
    return read_yaml(BOOK / "_toc.yml")


def pages_in_order() -> list[str]:
    """Return every page that the table of contents lists, as a path without suffix, in reading order."""
    found: list[str] = []

    def visit(node: Any) -> None:
        if isinstance(node, dict):
            found.extend(node[key] for key in ("root", "file") if key in node)
            for value in node.values():
                visit(value)
        elif isinstance(node, list):
            for value in node:
                visit(value)

    visit(listed())
    return found


def pages() -> set[str]:
    """Return the set of all pages."""
    return set(pages_in_order())


@cache
def text_of(page: str) -> str:
    """Return the text of a page, without the code of its cells; empty if the page does not exist."""
    notebook, markdown = ROOT / f"{page}.ipynb", ROOT / f"{page}.md"
    if notebook.exists():
        cells = nbformat.read(notebook, as_version=4).cells
        return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return markdown.read_text(encoding="utf-8") if markdown.exists() else ""


@cache
def code_of(page: str) -> str:
    """Return the code of a page's cells, one after the other."""
    notebook = ROOT / f"{page}.ipynb"
    if not notebook.exists():
        return ""
    cells = nbformat.read(notebook, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "code")


def title(page: str) -> str | None:
    """Return the first heading of a page."""
    lines = text_of(page).splitlines()
    return next((line[2:].strip() for line in lines if line.startswith("# ")), None)


def render(name: str, /, **data: Any) -> str:
    """Return a generated page: its template in ``tools/templates``, filled in."""
    loader = FileSystemLoader(Path(__file__).parent / "templates")
    options = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    return (
        Environment(loader=loader, undefined=StrictUndefined, **options)
        .get_template(name)
        .render(data)
    )


def write(path: Path, text: str) -> None:
    """Write a generated page only when it changed, so that an unchanged book builds in seconds.

    The page is there as a whole or not at all: the unit tests, which read pages, may run beside the build.
    """
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(text, encoding="utf-8")
        part.replace(path)
