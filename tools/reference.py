"""The API reference, made from the package: one page for each chapter and one for what all share.

Sphinx's ``autodoc`` and numpydoc write the entries. ``autosummary`` would list them by module and alphabet; it can't
order them as the chapters need them, nor name the pages that use a function and the symbols that stand for it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import math
import pkgutil
import re
from functools import cache
from typing import Any

import companion
from tools.toc import BOOK, code_of, pages_in_order, render, text_of, title, write

# Modules of the package that belong to no chapter, on one page of the reference.
SHARED = (
    "results", "exceptions", "datasets", "exercises", "to_sklearn", "figures.plotting", "figures.pictures",
    "figures.flipbook", "boards",
)  # fmt: skip
# Modules with a page of their own: with them, the page of their chapter would take twice as long as any other to open.
APART = {"proximal": ("companion.admm.proximal", "companion.admm.proximal_gradient")}


def first_line(obj: Any) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(obj) or "").split("\n", 1)[0]


@cache
def used_in() -> dict[str, list[str]]:
    """Return, for every public name such as ``companion.admm.lasso``, the pages whose cells import it, in order."""
    found: dict[str, list[str]] = {}
    for page in pages_in_order():
        for node in ast.walk(ast.parse(code_of(page))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("companion"):
                for alias in node.names:
                    users = found.setdefault(f"{node.module}.{alias.name}", [])
                    if page not in users:
                        users.append(page)
    return found


@cache
def notation_rows() -> dict[str, list[tuple[str, str]]]:
    """Return, for each name in the code column of the notation, the symbols and the link to their section."""
    found: dict[str, list[tuple[str, str]]] = {}
    label = link = ""
    for line in text_of("book/notation").splitlines():
        if match := re.fullmatch(r"\((notation-[\w-]+)\)=", line):
            label = match[1]
        elif line.startswith("## "):
            link = f":ref:`{line[3:].split(':')[0]} <{label}>`"
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("| $") or len(cells) < 3:
            continue
        for code in re.findall(r"`([^`]+)`", cells[-1]):
            if name := re.match(r"[A-Za-z_]\w*", code):
                rows = found.setdefault(name[0], [])
                if (cells[0], link) not in rows:
                    rows.append((cells[0], link))
    return found


def entry(module: str, name: str) -> dict[str, Any]:
    """Return what the template needs of a public name: its kind, its symbols in the notation, the pages that use it."""
    value = getattr(importlib.import_module(module), name)
    symbols = [
        re.sub(r"[$]([^$]+)[$]", r":math:`\1`", symbol) + f" ({link})"
        for symbol, link in notation_rows().get(name, [])
    ]
    users = [(title(page), page) for page in used_in().get(f"{module}.{name}", []) if title(page)]
    kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
    # scikit-learn adds these to every estimator, with links into its own manual
    routing = [n for n in dir(value) if n.startswith("set_") and n.endswith("_request")]
    summary = first_line(value) if callable(value) else f"``{value!r}``"
    shown = {"name": name, "kind": kind, "value": repr(value), "summary": summary}
    return shown | {"routing": routing, "symbols": symbols, "users": users}


def section(module: str, names: list[str], public: str) -> dict[str, Any]:
    """Return the reference of the names that one module defines, under the path they are imported from."""
    summary = first_line(importlib.import_module(module)).rstrip(".")
    summary = re.sub(r":math:`([^`]+)`", r"$\1$", summary)  # headings are Markdown
    return {"summary": summary, "module": public, "entries": [entry(public, n) for n in names]}


def public_names(module: str) -> list[str]:
    """Return the public names of a module: its ``__all__``, which every module of the package has."""
    loaded = importlib.import_module(module)
    if not hasattr(loaded, "__all__"):
        raise AttributeError(f"{module} must define __all__: the reference is made from it")
    return list(loaded.__all__)


def at_home(name: str, value: Any, module: str) -> bool:
    """Whether a module defines a public name; a constant, which does not know, is at home where it is listed."""
    if not callable(value):
        return name in public_names(module)
    return value.__module__ == module or value.__module__.startswith(f"{module}.")


def first_uses(package: str, names: list[str]) -> list[float]:
    """Return where the chapters first use each name, as places in the reading order, the earliest first."""
    chapters = [page for page in pages_in_order() if page.startswith("notebooks/")]
    users = ([p for p in used_in().get(f"{package}.{n}", []) if p in chapters] for n in names)
    return sorted(chapters.index(pages[0]) if pages else math.inf for pages in users)


def chapter_reference(package: str) -> dict[str, Any]:
    """Return what the page of one chapter's sub-package shows, its modules as the chapters first use them."""
    loaded = importlib.import_module(package)
    exported = public_names(package)
    parts: dict[str, list[str]] = {}
    for info in pkgutil.iter_modules(loaded.__path__):
        module = f"{package}.{info.name}"
        mine = [n for n in exported if at_home(n, getattr(loaded, n), module)]
        if mine:
            parts[module] = sorted(mine, key=public_names(module).index)
    apart = [page for page, modules in APART.items() if [m for m in modules if parts.pop(m, None)]]
    order = sorted(parts, key=lambda m: first_uses(package, parts[m]))
    sections = [section(m, parts[m], package) for m in order]
    return {"title": package, "about": first_line(loaded), "apart": apart, "sections": sections}


def page_apart(name: str) -> dict[str, Any]:
    """Return what the page of modules that stand apart from their chapter's shows."""
    package = APART[name][0].rsplit(".", 1)[0]
    about = "Proximal operators and the methods made of them: a part of "
    about += f"[{package}](#api-{package.removeprefix('companion.')})."
    exported = public_names(package)
    names = {m: [n for n in public_names(m) if n in exported] for m in APART[name]}
    sections = [section(m, names[m], package) for m in names]
    return {"title": f"{package}: {name}", "about": about, "sections": sections}


def shared_reference() -> dict[str, Any]:
    """Return what the page of the modules that all chapters use shows."""
    modules = [f"companion.{name}" for name in SHARED]
    sections = [section(m, public_names(m), m) for m in modules if importlib.util.find_spec(m)]
    return {"title": "companion", "about": "What all chapters share.", "sections": sections}


def chapter_packages() -> list[str]:
    """Return the sub-packages of `companion` that export something, one per chapter."""
    infos = [m for m in pkgutil.iter_modules(companion.__path__, "companion.") if m.ispkg]
    names = [m.name for m in infos if m.name.removeprefix("companion.") not in SHARED]
    return [name for name in names if hasattr(importlib.import_module(name), "__all__")]


@cache
def reference_pages() -> dict[str, str]:
    """Return the pages of the reference by their names."""
    pages = {"shared": shared_reference()} | {name: page_apart(name) for name in APART}
    pages |= {name.rsplit(".", 1)[-1]: chapter_reference(name) for name in chapter_packages()}
    filled = {name: {"apart": [], "name": name} | page for name, page in pages.items()}
    return {name: render("reference.md", **page) for name, page in filled.items()}


def write_reference() -> None:
    """Write the pages of the reference."""
    for name, text in reference_pages().items():
        write(BOOK / "api" / f"{name}.md", text)
