"""The table of contents, the titles of its pages, and how a generated page is written."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"


def read_yaml(path: Path) -> Any:
    """Return what a YAML file holds, read by the compiled parser: it takes a tenth of the time."""
    return yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)


@cache
def project() -> dict[str, Any]:
    """Return what pyproject.toml says of the project."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@cache
def listed() -> dict[str, Any]:
    """Return the table of contents."""
    return read_yaml(BOOK / "_toc.yml")


def pages_in_order() -> list[str]:
    """Return every page that the table of contents lists, as a path without suffix, in reading order."""
    text = (BOOK / "_toc.yml").read_text(encoding="utf-8")
    return re.findall(r"^(?:root| *- file): (\S+)$", text, re.MULTILINE)


def notebooks() -> list[str]:
    """Return the pages that are notebooks, in reading order."""
    return [page for page in pages_in_order() if (ROOT / f"{page}.ipynb").exists()]


def read(page: str) -> nbformat.NotebookNode:
    """Return the notebook of a page."""
    return nbformat.read(ROOT / f"{page}.ipynb", as_version=4)


def live_pages() -> list[str]:
    """Return the pages that run where they are read: those with code, without the two that show stored runs."""
    return [page for page in notebooks() if page != "book/intro" and "/about/" not in page]


def code_cells(page: str) -> list[nbformat.NotebookNode]:
    """Return the cells of a page that have code, with their stored outputs; none where it is no notebook."""
    cells = read(page).cells if page in notebooks() else []
    return [cell for cell in cells if cell.cell_type == "code"]


@cache
def text_of(page: str) -> str:
    """Return the text of a page, without the code of its cells; empty if the page does not exist."""
    if page in notebooks():
        return "\n\n".join(c.source for c in read(page).cells if c.cell_type == "markdown")
    markdown = ROOT / f"{page}.md"
    return markdown.read_text(encoding="utf-8") if markdown.exists() else ""


@cache
def code_of(page: str) -> str:
    """Return the code of a page's cells, one after the other."""
    return "\n".join(cell.source for cell in code_cells(page))


def title(page: str) -> str | None:
    """Return the first heading of a page."""
    lines = text_of(page).splitlines()
    return next((line[2:].strip() for line in lines if line.startswith("# ")), None)


def parts() -> list[tuple[str, list[str]]]:
    """Return the parts of the table of contents that hold chapter pages: caption and pages."""
    found = []
    for part in listed()["parts"]:
        pages = [entry["file"] for entry in part["chapters"]]
        chapter = [p for p in pages if "**Needs**" in text_of(p) and "/about/" not in p]
        if chapter:
            found.append((part["caption"], chapter))
    return found


def render(name: str, /, **data: Any) -> str:
    """Return a generated page: its template in ``tools/templates``, filled in."""
    loader = FileSystemLoader(Path(__file__).parent / "templates")
    options = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    made = Environment(loader=loader, undefined=StrictUndefined, **options)
    return made.get_template(name).render(data)


def write(path: Path, text: str) -> None:
    """Write a generated page only when it changed, so that an unchanged book builds in seconds.

    The page is there as a whole or not at all: the unit tests, which read pages, may run beside the build.
    """
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(text, encoding="utf-8")
        part.replace(path)
