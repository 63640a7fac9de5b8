"""Let ``[text](#label)`` link to theorems, definitions and algorithms.

sphinx-proof keeps its labels to itself and asks for ``{prf:ref}``. Here they are entered among the labels of
all pages as well, so that every numbered item is linked in the same way, as in Jupyter Book 2.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx_proof.nodes import NODE_TYPES, unenumerable_node

PROOF_NODES = (*NODE_TYPES.values(), unenumerable_node)


def enter_labels(app: Sphinx, doctree: nodes.document) -> None:
    """Enter a page's proof labels in the standard domain, and make the ids of their bodies differ."""
    standard = app.env.get_domain("std")
    for node in doctree.findall(lambda n: isinstance(n, PROOF_NODES)):
        label = node["label"]
        title = node["title"] or node["realtype"].title()
        standard.anonlabels[label.lower()] = app.env.docname, label
        standard.labels[label.lower()] = app.env.docname, label, title
        for section in node.findall(nodes.section):
            if "proof-content" in section["ids"]:
                section["ids"] = [f"{label}-content"]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("doctree-read", enter_labels)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
