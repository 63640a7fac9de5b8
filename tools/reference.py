"""The API reference, made from the package: one page for each chapter and one for what all share.

Sphinx's ``autodoc`` and numpydoc write the entries. ``autosummary`` makes a table of names that it is given; it can't
name the pages that use a function and the symbols that stand for it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from functools import cache
from itertools import chain
from typing import Any

import companion
from tools.toc import BOOK, code_of, pages_in_order, render, text_of, title, write

# Modules of the package that belong to no chapter, on one page of the reference.
SHARED = [
    "companion.results", "companion.exceptions", "companion.datasets", "companion.exercises", "companion.to_sklearn",
    "companion.figures.plotting", "companion.figures.pictures", "companion.figures.flipbook", "companion.boards",
]  # fmt: skip
# Modules with a page of their own: with them, the page of their chapter would take twice as long as any other to open.
APART = {"proximal": ["companion.admm.proximal", "companion.admm.proximal_gradient"]}
ABOUT = {
    "shared": "What all chapters share.",
    "proximal": "Proximal operators and the methods made of them: a part of [companion.admm](#api-admm).",
}


def first_line(obj: Any) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(obj) or "").split("\n", 1)[0]


@cache
def used_in() -> dict[str, list[str]]:
    """Return, for every public name such as ``companion.admm.lasso``, the pages whose cells import it, in order."""
    found: dict[str, dict[str, None]] = {}
    for page in pages_in_order():
        for node in ast.walk(ast.parse(code_of(page))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("companion"):
                for alias in node.names:
                    found.setdefault(f"{node.module}.{alias.name}", {})[page] = None
    return {name: list(users) for name, users in found.items()}


@cache
def notation_rows() -> dict[str, list[str]]:
    """Return, for each name in the code column of the notation, the symbols with the link to their section."""
    found: dict[str, dict[str, None]] = {}
    label = link = ""
    for line in text_of("book/notation").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if match := re.fullmatch(r"\((notation-[\w-]+)\)=", line):
            label = match[1]
        elif line.startswith("## "):
            link = f":ref:`{line[3:].split(':')[0]} <{label}>`"
        elif line.startswith("| $") and len(cells) > 2:
            symbol = re.sub(r"[$]([^$]+)[$]", r":math:`\1`", cells[0])
            for name in re.findall(r"`([A-Za-z_]\w*)[^`]*`", cells[-1]):
                found.setdefault(name, {})[f"{symbol} ({link})"] = None
    return {name: list(rows) for name, rows in found.items()}


def entry(module: str, name: str) -> dict[str, Any]:
    """Return what the template needs of a public name: its kind, its symbols in the notation, the pages that use it."""
    value = getattr(importlib.import_module(module), name)
    users = [(title(page), page) for page in used_in().get(f"{module}.{name}", []) if title(page)]
    return {
        "name": name,
        "kind": "class" if inspect.isclass(value) else "function" if callable(value) else "data",
        "value": repr(value),
        "summary": first_line(value) if callable(value) else f"``{value!r}``",
        # scikit-learn adds these to every estimator, with links into its own manual
        "routing": [n for n in dir(value) if n.startswith("set_") and n.endswith("_request")],
        "symbols": notation_rows().get(name, []),
        "users": users,
    }


def public_names(module: str) -> list[str]:
    """Return the public names of a module: its ``__all__``."""
    return list(getattr(importlib.import_module(module), "__all__", ()))


def section(module: str, public: str) -> dict[str, Any]:
    """Return the reference of the names that one module defines, under the path they are imported from."""
    loaded, exported = importlib.import_module(module), public_names(public)
    summary = first_line(loaded).rstrip(".")
    summary = re.sub(r":math:`([^`]+)`", r"$\1$", summary)  # headings are Markdown

    def at_home(name: str) -> bool:  # a constant does not know where it is defined
        value = getattr(loaded, name)
        return not callable(value) or value.__module__.startswith(module)

    names = [name for name in public_names(module) if name in exported and at_home(name)]
    return {"summary": summary, "module": public, "entries": [entry(public, n) for n in names]}


def chapter_packages() -> list[str]:
    """Return the sub-packages of `companion` that export something, one per chapter."""
    infos = [m for m in pkgutil.iter_modules(companion.__path__, "companion.") if m.ispkg]
    return [m.name for m in infos if m.name not in SHARED and public_names(m.name)]


def modules_of(package: str) -> list[str]:
    """Return the modules of a chapter: those of its sub-package, and those of the engine whose names it exports."""
    loaded = importlib.import_module(package)
    homes = {getattr(getattr(loaded, n), "__module__", "") for n in public_names(package)}
    mine = [m.name for m in pkgutil.iter_modules(loaded.__path__, f"{package}.")]
    return mine + sorted(home for home in homes if home.startswith("companion.engine."))


@cache
def reference_pages() -> dict[str, str]:
    """Return the pages of the reference by their names."""
    pages: dict[str, dict[str, Any]] = {
        "shared": {"title": "companion", "sections": [section(m, m) for m in SHARED]}
    }
    for package in chapter_packages():
        name, modules = package.rpartition(".")[2], modules_of(package)
        apart = {page: mine for page, mine in APART.items() if set(mine) <= set(modules)}
        rest = [m for m in modules if m not in chain(*apart.values())]
        about = first_line(importlib.import_module(package))
        for page, mine in {name: rest, **apart}.items():
            title = package if page == name else f"{package}: {page}"
            sections = [s for s in (section(m, package) for m in mine) if s["entries"]]
            pages[page] = {"title": title, "about": about, "sections": sections}
        pages[name]["apart"] = apart
    for name, page in pages.items():
        page |= {"name": name, "about": ABOUT.get(name, page.get("about"))}
    return {name: render("reference.md", **page) for name, page in pages.items()}


def write_reference() -> None:
    """Write the pages of the reference."""
    for name, text in reference_pages().items():
        write(BOOK / "api" / f"{name}.md", text)
