"""Boxes with the number that the sources give them, and no other.

sphinx-proof and sphinx-exercise count the boxes of the whole book, so that Proposition 20.3 would be headed
"Proposition 60 (Proposition 20.3)". Here a box is headed by the number at the start of its title, or by its kind; links
take their text from there. An exercise under the heading "Problem 16.3" is called that, any other counts within its page,
as it does in JupyterLab. What a box is about goes into the index, which is in the table of contents.

Labels of theorems, definitions and algorithms: sphinx-proof keeps them to itself and asks for ``{prf:ref}``. Here they are
entered among the labels of all pages, so that ``[text](#label)`` links every numbered item in the same way, as in Jupyter
Book 2.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_node
from sphinx_proof.nodes import NODE_TYPES, unenumerable_node

sys.path.insert(0, str(Path(__file__).parents[2]))
from tools.editions import boxes
from tools.toc import text_of

NUMBER = re.compile(r"(?:(?:SP|ZM|YCG) )?[A-Z][a-z]+ (?:[A-Z]\.)?\d+(?:\.\d+)*(?=:|$)")
# Words that keep their capital in the index.
NAMES = re.compile(
    "Bessel|Cauchy|Danskin|Gauss|Hilbert|Krasnosel|Lyapunov|Moreau|Newton|Parseval|Riesz|Schur"
)
GREEK = {"ε": "E", "λ": "L", "ℓ": "L", "ν": "N"}  # the letter of the index where a reader looks
SHARED_IDS = {"proof-content", "exercise-content", "solution-content"}  # of each box


def index_words(about: str) -> str:
    """Return what a box is about as a word of the index; empty if it says too little.

    >>> index_words("The quantile lemma"), index_words("Dual ascent")
    ('quantile lemma', 'dual ascent')
    >>> index_words("Moreau's identity"), index_words("The solution")
    ("Moreau's identity", '')
    """
    words = re.sub(r"^(The|A|An) ", "", about.replace("’", "'"))
    if "\\" in words or words.startswith("with ") or (words != about and " " not in words):
        return ""
    if NAMES.match(words) or not words[1:2].islower():
        return words
    return words[:1].lower() + words[1:]


def name_statements(app: Sphinx, doctree: nodes.document) -> None:
    """Head the boxes of sphinx-proof, enter them in the index, and their labels among those of all pages."""
    index = app.env.get_domain("index").entries.setdefault(app.env.docname, [])
    standard = app.env.get_domain("std")
    known = (*NODE_TYPES.values(), unenumerable_node)
    for node in list(doctree.findall(lambda n: isinstance(n, known))):
        title, kind = node.children[0], node["realtype"].title()
        match = NUMBER.match(title.astext())
        number = match[0] if match else kind
        heading = nodes.title("", "", nodes.inline(number, number, classes=["caption-number"]))
        rest = [child.deepcopy() for child in title.children]
        if match:
            rest[0] = nodes.Text(title.astext().removeprefix(number))
        elif rest:
            rest.insert(0, nodes.Text(": "))
        heading += rest
        new = nodes.admonition("", heading, *node.children[1:], **node.attributes)
        node.replace_self(new)
        shown, label = number if match else title.astext() or kind, node["label"]
        standard.anonlabels[label.lower()] = app.env.docname, label
        standard.labels[label.lower()] = app.env.docname, label, shown
        about = title.astext().removeprefix(number).strip(" :")
        entries = [index_words(about), number if match else ""]
        index += [("single", entry, new["ids"][0], "", None) for entry in entries if entry]


def name_exercises(app: Sphinx, doctree: nodes.document) -> None:
    """Head the exercises as in JupyterLab; their solutions take the name from the registry."""
    _, names = boxes(text_of(app.env.docname))
    for node in list(doctree.findall(exercise_enumerable_node)):
        new = exercise_node("", *node.children, **node.attributes)
        new["title"] = names[new["label"]]
        new.children[0][0] = nodes.Text(new["title"])
        node.replace_self(new)
        app.env.sphinx_exercise_registry[new["label"]]["node"] = new.deepcopy()
    for link in doctree.findall(nodes.reference):  # [](#label) on this page
        if link.get("refid") in names and link.astext() == "Exercise":
            link[0] = nodes.inline("", names[link["refid"]])


def name_all(app: Sphinx, doctree: nodes.document) -> None:
    """Give the boxes their names, tell their bodies apart, and enter Greek letters where the letter's name would stand."""
    name_statements(app, doctree)
    name_exercises(app, doctree)
    index = app.env.get_domain("index").entries[app.env.docname]
    index[:] = [(*entry, key or GREEK.get(entry[1][:1])) for *entry, key in index]
    for node in doctree.findall(nodes.Element):
        if SHARED_IDS & set(node.get("ids", [])[:1]):
            node["ids"] = [f"{node.parent['ids'][0]}-content"]
        elif node.get("ids") == ["proof"]:
            node["ids"] = []


def list_index(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Let the table of contents name the index, which has no source: Sphinx writes it after all pages."""
    env.project.docnames.add("genindex")
    env.titles["genindex"] = nodes.title("", "Index")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("doctree-read", name_all, priority=400)  # before sphinx-exercise enters its labels
    app.connect("env-before-read-docs", list_index)
    app.connect("env-updated", lambda _, env: env.project.docnames.discard("genindex"))
    return {"version": "3", "parallel_read_safe": True, "parallel_write_safe": True}
