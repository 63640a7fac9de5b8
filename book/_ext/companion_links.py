"""Links to the reference that the book's builder lacks.

Names in docstrings: a docstring of one module may name a class of another without its path. The name is linked to the
one documented object that carries it. A name that the reference has not is an error.

Names in the code column of the notation and in the glossary, and full names such as ``companion.admm.lasso`` on any
page, lead to the reference.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

NAME = re.compile(r"[A-Za-z_][\w.]*(?=(?:\(.*\))?$)")
BY_LAST_PART = ("book/notation", "book/glossary")


@lru_cache(1)  # all pages are read before the first one asks
def documented_names(env: BuildEnvironment) -> dict[str, tuple[str, Any]]:
    """Return what the reference documents, by full name and by every unique end of it."""
    found = defaultdict(list)
    for path, entry in env.get_domain("py").objects.items():
        parts = path.split(".") if entry.objtype != "module" and not entry.aliased else ()
        for i in range(len(parts)):
            found[".".join(parts[i:])].append((path, entry))
    return {name: entries[0] for name, entries in found.items() if len(entries) == 1}


def link_to(app: Sphinx, docname: str, name: str, shown: nodes.Element) -> nodes.Element:
    """Return a link from a page to what the reference documents."""
    path, entry = documented_names(app.env)[name]
    return make_refnode(app.builder, docname, entry.docname, entry.node_id, shown, path)


def find_name(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, text: nodes.Element
) -> nodes.Element | None:
    """Resolve a Python name by its last part."""
    name = node["reftarget"].rsplit(".", 1)[-1] if node.get("refdomain") == "py" else ""
    known = name in documented_names(env)
    return link_to(app, node["refdoc"], name, text) if known else None


def link_code(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Make links of the names in a page's text that the reference documents."""
    for literal in list(doctree.findall(nodes.literal)):
        name = (NAME.match(literal.astext()) or [""])[0]
        full = name.startswith("companion.") and name.count(".") > 1
        inside = docname.startswith("book/api/") or isinstance(literal.parent, nodes.reference)
        if name in documented_names(app.env) and (full or docname in BY_LAST_PART) and not inside:
            literal.replace_self(link_to(app, docname, name, literal.deepcopy()))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("missing-reference", find_name)
    app.connect("doctree-resolved", link_code)
    return {"version": "5", "parallel_read_safe": True, "parallel_write_safe": True}
