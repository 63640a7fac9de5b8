"""The API reference, made from the package: one page for each chapter and one for what all share."""

from __future__ import annotations

import ast
import importlib
import inspect
import math
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from tools.toc import BOOK, code_of, pages_in_order, text_of, title, write

# Modules of the package that belong to no chapter, on one page of the reference.
SHARED = (
    "results",
    "exceptions",
    "datasets",
    "exercises",
    "to_sklearn",
    "figures.plotting",
    "figures.pictures",
    "figures.flipbook",
    "boards",
)


# Modules with a page of their own: with them, the page of their chapter would take twice as long as any other to open.
APART = {"proximal": ("companion.admm.proximal", "companion.admm.proximal_gradient")}


def resolve(name: str) -> Any:
    """Return the object that a dotted name such as ``companion.admm.lasso`` stands for."""
    module, attribute = name.rsplit(".", 1)
    return getattr(importlib.import_module(module), attribute)


def first_line(obj: Any) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(obj) or "").split("\n", 1)[0]


def summary_of(value: Any) -> str:
    """Return one line on a public name; a constant shows its value."""
    return first_line(value) if callable(value) else f"``{value!r}``"


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


def users_of(module: str, name: str) -> Iterator[str]:
    """Yield the line *Used in* for a public name, with a link to each page."""
    links = [
        f":doc:`{title(page)} </{page}>`"
        for page in used_in().get(f"{module}.{name}", [])
        if title(page)
    ]
    if links:
        yield f"*Used in* {', '.join(links)}"
        yield ""


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


def symbols_of(name: str) -> Iterator[str]:
    """Yield the line *Notation* for a public name, with a link to the symbols that stand for it."""
    rows = notation_rows().get(name, [])
    if rows:
        shown = [re.sub(r"[$]([^$]+)[$]", r":math:`\1`", row[0]) + f" ({row[1]})" for row in rows]
        yield f"*Notation* {'; '.join(shown)}"
        yield ""


def directive(module: str, name: str) -> Iterator[str]:
    """Yield the autodoc directive of one public name."""
    value = getattr(importlib.import_module(module), name)
    if inspect.isclass(value):
        yield f".. autoclass:: {module}.{name}"
        yield "   :members:"
        # scikit-learn adds these to every estimator, with links into its own manual
        routing = [n for n in dir(value) if n.startswith("set_") and n.endswith("_request")]
        if routing:
            yield f"   :exclude-members: {', '.join(routing)}"
    elif callable(value):
        yield f".. autofunction:: {module}.{name}"
    else:
        yield f".. py:data:: {name}"  # autodata would print the manual of its type
        yield f"   :module: {module}"
        yield f"   :value: {value!r}"
    yield ""
    yield from symbols_of(name)
    yield from users_of(module, name)


def section(module: str, names: list[str], public: str) -> list[str]:
    """Return the reference of the names that one module defines, under the path they are imported from."""
    summary = first_line(importlib.import_module(module)).rstrip(".")
    summary = re.sub(r":math:`([^`]+)`", r"$\1$", summary)  # headings are Markdown
    loaded = importlib.import_module(public)
    rows = [f"- :py:obj:`~{public}.{n}` – {summary_of(getattr(loaded, n))}" for n in names]
    body = [line for name in names for line in directive(public, name)]
    return [
        f"## {summary}",
        "",
        "```{eval-rst}",
        *rows,
        "",
        *body,
        "```",
        "",
    ]


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


def chapter_reference(package: str) -> str:
    """Return the reference page of one chapter's sub-package, its modules as the chapters first use them."""
    loaded = importlib.import_module(package)
    exported = public_names(package)
    lines = [f"(api-{package.rsplit('.', 1)[-1]})=", f"# {package}", "", first_line(loaded), ""]
    parts: dict[str, list[str]] = {}
    for info in pkgutil.iter_modules(loaded.__path__):
        module = f"{package}.{info.name}"
        mine = [n for n in exported if at_home(n, getattr(loaded, n), module)]
        if mine:
            parts[module] = sorted(mine, key=public_names(module).index)
    for page, modules in APART.items():
        if [m for m in modules if parts.pop(m, None)]:
            lines += [f"What concerns *{page}* is on [a page of its own](#api-{page}).", ""]
    for module in sorted(parts, key=lambda m: first_uses(package, parts[m])):
        lines += section(module, parts[module], package)
    return "\n".join(lines)


def page_apart(name: str) -> str:
    """Return the reference page of modules that stand apart from their chapter's."""
    package = APART[name][0].rsplit(".", 1)[0]
    lines = [
        f"(api-{name})=",
        f"# {package}: {name}",
        "",
        f"Proximal operators and the methods made of them: a part of [{package}](#api-{package[10:]}).",
        "",
    ]
    exported = public_names(package)
    for module in APART[name]:
        names = public_names(module)
        lines += section(module, [n for n in names if n in exported], package)
    return "\n".join(lines)


def shared_reference() -> str:
    """Return the reference page of the modules that all chapters use."""
    lines = ["(api-shared)=", "# companion", "", "What all chapters share.", ""]
    for name in SHARED:
        module = f"companion.{name}"
        if importlib.util.find_spec(module):
            lines += section(module, public_names(module), module)
    return "\n".join(lines)


def chapter_packages() -> list[str]:
    """Return the sub-packages of `companion` that export something, one per chapter."""
    import companion

    names = [
        f"companion.{m.name}"
        for m in pkgutil.iter_modules(companion.__path__)
        if m.ispkg and m.name not in SHARED
    ]
    return [name for name in names if hasattr(importlib.import_module(name), "__all__")]


def write_reference() -> None:
    """Write the pages of the reference."""
    write(BOOK / "api" / "shared.md", shared_reference())
    for name in APART:
        write(BOOK / "api" / f"{name}.md", page_apart(name))
    for package in chapter_packages():
        write(BOOK / "api" / f"{package.rsplit('.', 1)[-1]}.md", chapter_reference(package))
