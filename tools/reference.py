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
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Any

import companion.engine
from tools.toc import code_of, pages_in_order, render, text_of, title

# Each page with its title; "proximal" is apart, since its page with it would take twice as long as any other to open.
CHAPTERS = ("admm", "kernels", "svm", "regression", "svr")
PAGES = {"shared": "companion", "proximal": "companion.admm: proximal"}
PAGES |= {chapter: f"companion.{chapter}" for chapter in CHAPTERS}
SHARED = [
    "companion.results", "companion.exceptions", "companion.datasets", "companion.exercises", "companion.to_sklearn",
    "companion.figures.plotting", "companion.figures.pictures", "companion.figures.flipbook", "companion.boards",
]  # fmt: skip
# what companion.results has from there
BELOW = ["companion.records", "companion.engine.certificate"]
APART = {"companion.admm.proximal", "companion.admm.proximal_gradient"}


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
    part = r"^\((notation-[\w-]+)\)=\n+## ([^:\n]+)(.*?)(?=^\(notation-|\Z)"
    for label, head, body in re.findall(part, text_of("book/notation"), re.MULTILINE | re.DOTALL):
        for symbol, code in re.findall(r"^\| (\$.*?) \| .* \| (.*) \|$", body, re.MULTILINE):
            told = re.sub(r"[$]([^$]+)[$]", r":math:`\1`", symbol) + f" (:ref:`{head} <{label}>`)"
            for name in re.findall(r"`([A-Za-z_]\w*)[^`]*`", code):
                found.setdefault(name, {})[told] = None
    return {name: list(rows) for name, rows in found.items()}


def entry(package: Any, name: str) -> dict[str, Any]:
    """Return what the template needs of a public name: its kind, its symbols in the notation, the pages that use it."""
    value = getattr(package, name)
    pages = used_in().get(f"{package.__name__}.{name}", [])
    return {
        "name": name,
        "kind": "class" if inspect.isclass(value) else "function" if callable(value) else "data",
        "value": repr(value),
        "summary": first_line(value) if callable(value) else f"``{value!r}``",
        "symbols": notation_rows().get(name, []),
        "users": [(title(page), page) for page in pages if title(page)],
    }


def sections(package: Any, modules: list[str]) -> Iterator[dict[str, Any]]:
    """Yield for each module what it defines of the names of a package, under the path they are imported from."""
    for loaded in map(importlib.import_module, modules):
        here = loaded.__name__
        home = {n: getattr(v, "__module__", here) for n, v in vars(loaded).items()}  # of a constant
        both = set(package.__all__) & set(home)
        names = sorted(name for name in both if home[name].startswith(here))
        summary = re.sub(r":math:`([^`]+)`", r"$\1$", first_line(loaded).rstrip("."))  # Markdown
        if entries := [entry(package, name) for name in names]:
            yield {"summary": summary, "module": package.__name__, "entries": entries}


@cache
def reference_pages() -> dict[str, str]:
    """Return the pages of the reference by their names."""
    shared = [s for m in SHARED for s in sections(importlib.import_module(m), [m, *BELOW])]
    texts = {}
    for name, head in PAGES.items():
        package = importlib.import_module(head.partition(":")[0])
        rooms = [package, companion.engine]  # of the engine, what the chapter exports
        files = (pkgutil.iter_modules(room.__path__, f"{room.__name__}.") for room in rooms)
        mine = [m.name for m in chain(*files) if (m.name in APART) == (name == "proximal")]
        told = shared if name == "shared" else list(sections(package, mine))
        about = {"name": name, "title": head, "about": first_line(package), "sections": told}
        texts[name] = render("reference.md", **about)
    return texts
