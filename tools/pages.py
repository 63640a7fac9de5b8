"""Write the pages that are made from data: the concordance and the API reference.

``python tools/pages.py`` runs before every build of the book. It reads ``book/concordance.yml`` and the
package, and writes ``book/concordance.md`` and ``book/api/*.md``. These pages are not committed.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import yaml

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
CONCORDANCE = BOOK / "concordance.yml"
SCHEMA = BOOK / "concordance.schema.yml"

# Modules of the package that belong to no chapter, on one page of the reference.
SHARED = ("results", "certificates", "exceptions", "datasets", "plotting", "widgets")


def write(path: Path, text: str) -> None:
    """Write a page only when it changed, so that an unchanged book builds in seconds."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


# ---------------------------------------------------------------------------------- table of contents


def pages() -> set[str]:
    """Return every page that the table of contents lists, as a path without suffix."""
    found: set[str] = set()

    def visit(node: Any) -> None:
        if isinstance(node, dict):
            found.update(node[key] for key in ("file", "root") if key in node)
            for value in node.values():
                visit(value)
        elif isinstance(node, list):
            for value in node:
                visit(value)

    visit(yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8")))
    return found


# ---------------------------------------------------------------------------------------- concordance


def load_concordance() -> list[dict[str, Any]]:
    """Return the chapters of the concordance, checked against its schema."""
    data = yaml.safe_load(CONCORDANCE.read_text(encoding="utf-8"))
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(data, schema, jsonschema.Draft202012Validator)
    return data["chapters"]


def place(anchor: str, listed: set[str], titles: dict[str, str]) -> str:
    """Return the link to an anchor ``page#label``, or plain text while the page is not in the book."""
    page, label = anchor.split("#")
    name = titles.get(page, page.rsplit("/", 1)[-1].replace("-", " ").capitalize())
    return f"[{name}](#{label})" if page in listed else f"{name} (to come)"


def title(page: str) -> str | None:
    """Return the first heading of a page of the book."""
    for suffix in (".ipynb", ".md"):
        path = ROOT / (page + suffix)
        if path.exists():
            break
    else:
        return None
    if path.suffix == ".ipynb":
        import nbformat

        cells = nbformat.read(path, as_version=4).cells
        lines = [line for c in cells if c.cell_type == "markdown" for line in c.source.splitlines()]
    else:
        lines = path.read_text(encoding="utf-8").splitlines()
    return next((line[2:].strip() for line in lines if line.startswith("# ")), None)


def resolve(name: str) -> Any:
    """Return the object that a dotted name such as ``companion.admm.lasso`` stands for."""
    module, attribute = name.rsplit(".", 1)
    return getattr(importlib.import_module(module), attribute)


def function(name: str) -> str:
    """Return the link to a function's reference, or its plain name while it does not exist."""
    try:
        resolve(name)
    except (ImportError, AttributeError):
        return f"`{name.rsplit('.', 1)[-1]}` (to come)"
    return f"{{py:obj}}`~{name}`"


def checks(tests: list[str]) -> str:
    """Return the tests of an item for the table, file by file."""
    files: dict[str, list[str]] = {}
    for test in tests:
        file, *names = test.split("::")
        files.setdefault(file, []).extend(names[-1:])
    return "<br>".join(
        "<br>".join([f"{file.removeprefix('tests/')}:", *(f"`{name}`" for name in names)])
        if names
        else "cells of the page"
        for file, names in files.items()
    )


def row(item: dict[str, Any], listed: set[str], titles: dict[str, str]) -> str:
    """Return the table's row for one item."""
    name = item["item"] if item["item"].startswith("*") else f"**{item['item']}**"
    where = [place(item["at"], listed, titles), *map(function, item.get("code", []))]
    return f"| {name}: {item['what']} | {'<br>'.join(where)} | {checks(item.get('tests', [])) or '–'} |"


def concordance_page(chapters: list[dict[str, Any]]) -> str:
    """Return the concordance as a MyST page."""
    listed = pages()
    titles = {page: name for page in listed if (name := title(page))}
    lines = [
        "(concordance)=",
        "# Concordance",
        "",
        "For every numbered item of the sources: the place in this book where it runs, the functions that",
        "compute it and the tests that check it. *Cells of the page* means that the page's own cells are",
        "checks: they are run again and compared with each change of the project.",
        "",
    ]
    for chapter in chapters:
        lines += [f"## {chapter['title']}", ""]
        if note := chapter.get("note"):
            lines += [note.strip(), ""]
        for section, items in itertools.groupby(chapter["items"], key=lambda item: item["section"]):
            lines += [f"### Section {section}" if section[0].isdigit() else f"### {section}", ""]
            lines += [":::{table}", ":class: stacked", ":widths: 40 25 35", ""]
            lines += ["| Item | Where it runs, with | Checked by |", "|---|---|---|"]
            lines += [row(item, listed, titles) for item in items]
            lines += [":::", ""]
    return "\n".join(lines)


# --------------------------------------------------------------------------------------- API reference


def first_line(obj: Any) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(obj) or "").split("\n", 1)[0]


def summary_of(value: Any) -> str:
    """Return one line on a public name; a constant shows its value."""
    return first_line(value) if callable(value) else f"``{value!r}``"


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
        yield f".. autodata:: {module}.{name}"
    yield ""


def section(module: str, names: list[str], public: str) -> list[str]:
    """Return the reference of the names that one module defines, under the path they are imported from."""
    summary = first_line(importlib.import_module(module)).rstrip(".")
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
    return value.__module__ == module if callable(value) else name in public_names(module)


def chapter_reference(package: str) -> str:
    """Return the reference page of one chapter's sub-package, in the order of its modules."""
    loaded = importlib.import_module(package)
    exported = public_names(package)
    lines = [f"(api-{package.rsplit('.', 1)[-1]})=", f"# {package}", "", first_line(loaded), ""]
    for info in pkgutil.iter_modules(loaded.__path__):
        module = f"{package}.{info.name}"
        mine = [n for n in exported if at_home(n, getattr(loaded, n), module)]
        if mine:
            order = public_names(module)
            lines += section(module, sorted(mine, key=order.index), package)
    return "\n".join(lines)


def shared_reference() -> str:
    """Return the reference page of the modules that all chapters use."""
    lines = ["(api-shared)=", "# companion", "", "What all chapters share.", ""]
    for name in SHARED:
        module = f"companion.{name}"
        if (ROOT / "companion" / f"{name}.py").exists():
            lines += section(module, public_names(module), module)
    return "\n".join(lines)


def chapter_packages() -> list[str]:
    """Return the sub-packages of `companion` that export something, one per chapter."""
    import companion

    names = [f"companion.{m.name}" for m in pkgutil.iter_modules(companion.__path__) if m.ispkg]
    return [name for name in names if hasattr(importlib.import_module(name), "__all__")]


def main() -> None:
    """Write all generated pages."""
    write(BOOK / "concordance.md", concordance_page(load_concordance()))
    write(BOOK / "api" / "shared.md", shared_reference())
    for package in chapter_packages():
        write(BOOK / "api" / f"{package.rsplit('.', 1)[-1]}.md", chapter_reference(package))


if __name__ == "__main__":
    main()
