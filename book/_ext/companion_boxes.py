"""Boxes with the number that the sources give them, and no other.

sphinx-proof and sphinx-exercise count the boxes of the whole book, so that Proposition 20.3 would be headed
"Proposition 60 (Proposition 20.3)". Here a box is headed by the number in its title, or by its kind alone; links take
their text from there. An exercise under the heading "Problem 16.3" is called that, any other counts within its page,
as it does in JupyterLab. What a box is about goes into the index.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_node
from sphinx_proof.nodes import NODE_TYPES, unenumerable_node

KINDS = "Theorem|Proposition|Corollary|Lemma|Definition|Algorithm|Example|Remark|Table|Program"
NUMBER = rf"(?:(?:SP|ZM|YCG),? )?(?:{KINDS}) (?:[A-Z]\.)?\d+(?:\.\d+)*"
AT_START = re.compile(rf"(?P<number>{NUMBER})(?P<about>.*)", re.DOTALL)
BARE = re.compile(r"(?P<number>\d+\.\d+)(?P<about>.*)", re.DOTALL)
AT_END = re.compile(
    rf"(?P<about>.+?)(?: \((?P<number>{NUMBER})(?P<more>, [^()]+)?\)"
    rf"|[;,] (?P<last>{NUMBER}))",
    re.DOTALL,
)
NAMES = re.compile(
    "Bessel|Cauchy|Danskin|Gauss|Hilbert|Krasnosel|Lyapunov|Moreau|Newton|Parseval|Riesz|Schur"
)
PROBLEM = re.compile(r"Problem (?:[A-Z]\.)?\d+(?:\.\d+)*")


class box(nodes.Admonition, nodes.Element):
    """A statement or an algorithm; its first child is the heading as it is shown."""


def split_title(kind: str, title: str) -> tuple[str, str]:
    """Return what heads a box and what it is about.

    >>> split_title("proposition", "Closure rules (Proposition 17.6)")
    ('Proposition 17.6', 'Closure rules')
    >>> split_title("definition", "Definition 18.2: support vectors")
    ('Definition 18.2', 'support vectors')
    >>> split_title("algorithm", "Dual ascent")
    ('Algorithm', 'Dual ascent')
    """
    if match := AT_START.fullmatch(title):
        number, about = match["number"], match["about"]
    elif match := BARE.fullmatch(title):
        number, about = f"{kind.title()} {match['number']}", match["about"]
    elif match := AT_END.fullmatch(title):
        number = match["number"] or match["last"]
        about = match["about"] + (match["more"] or "")
    else:
        number, about = kind.title(), title
    about = about.strip(" :,")
    about = re.sub(r"^\(([^()]*)\)$", r"\1", about)
    return re.sub(r"^(SP|ZM|YCG), ", r"\1 ", number), about


def about_nodes(title: nodes.title, about: str) -> list[nodes.Node]:
    """Return the part of a title that is not its number, with the formulas in it."""
    children = [child.deepcopy() for child in title.children]
    if all(isinstance(child, nodes.Text) for child in children):
        return [nodes.Text(about)] if about else []
    if isinstance(children[-1], nodes.Text):
        text = children[-1].astext()
        if match := re.fullmatch(rf"(.*?)(?: \({NUMBER}\)|[;,] {NUMBER})", text, flags=re.DOTALL):
            children[-1] = nodes.Text(match[1])
    return children


def statement_box(node: nodes.Element) -> box:
    """Return a box of sphinx-proof with the heading that the reader sees."""
    kind = node["realtype"].title()
    number, about = split_title(node["realtype"], node.children[0].astext())
    heading = nodes.title()
    heading += nodes.inline(number, number, classes=["caption-number"])
    if subject := about_nodes(node.children[0], about):
        heading += nodes.Text(": ")
        heading += subject
    new = box("", heading, *node.children[1:], **node.attributes)
    new["title"] = number if number != kind else about or kind
    new.document, new.source, new.line = node.document, node.source, node.line
    return new


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


def problem_above(node: nodes.Node) -> str | None:
    """Return the number of the problem in whose section an exercise stands."""
    while (node := node.parent) is not None:
        heading = node.children[0].astext() if node.children else ""
        if match := isinstance(node, nodes.section) and PROBLEM.match(heading):
            return match[0]
    return None


def name_statements(app: Sphinx, doctree: nodes.document) -> None:
    """Head the boxes of sphinx-proof, and enter them in the index."""
    index = app.env.get_domain("index").entries.setdefault(app.env.docname, [])
    known = (*NODE_TYPES.values(), unenumerable_node)
    for node in list(doctree.findall(lambda n: isinstance(n, known))):
        new = statement_box(node)
        node.replace_self(new)
        number, about = split_title(node["realtype"], node.children[0].astext())
        entries = [index_words(about)]
        if number != node["realtype"].title():
            entries.append(number)
        for entry in filter(None, entries):
            index.append(("single", entry, new["ids"][0], "", None))


def name_exercises(app: Sphinx, doctree: nodes.document) -> None:
    """Head the exercises; their solutions take the name from the registry."""
    count, names = 0, {}
    for node in list(doctree.findall(exercise_enumerable_node)):
        name = problem_above(node)
        if name is None:
            count += 1
            name = f"Exercise {count}"
        new = exercise_node("", *node.children, **node.attributes)
        new["title"] = name
        new.children[0][0] = nodes.Text(name)
        new.document, new.source, new.line = node.document, node.source, node.line
        node.replace_self(new)
        names[new["label"]] = name
        registry = app.env.sphinx_exercise_registry
        registry[new["label"]]["node"] = new.deepcopy()
    for link in doctree.findall(nodes.reference):  # [](#label) on this page
        if link.get("refid") in names and link.astext() == "Exercise":
            link[0] = nodes.inline("", names[link["refid"]])


def name_links(app: Sphinx, doctree: nodes.document) -> None:
    """Let ``{prf:ref}`` show the heading, as any other link to a label does."""
    for node in doctree.findall(pending_xref):
        if node.get("refdomain") == "prf":
            node["refdomain"], node["reftype"] = "std", "ref"
            node["refexplicit"] = False


def letter(entry: str) -> str | None:
    """Return the letter of the index under which a reader looks for a word that begins with another sign.

    >>> letter("ν-SVM"), letter("ℓ¹ norm"), letter("loss")
    ('N', 'L', None)
    """
    first = entry[:1]
    if first.isascii() or not first.isalpha():
        return None
    return unicodedata.name(first).split()[-1][0]


def sort_index(app: Sphinx) -> None:
    """Enter words that begin with a Greek letter under its name."""
    entries = app.env.get_domain("index").entries
    entries[app.env.docname] = [
        (kind, value, target, main, key or letter(value))
        for kind, value, target, main, key in entries.get(app.env.docname, [])
    ]


def name_all(app: Sphinx, doctree: nodes.document) -> None:
    """Give the boxes of a page their names."""
    name_statements(app, doctree)
    name_exercises(app, doctree)
    name_links(app, doctree)
    sort_index(app)


def open_box(self: Any, node: box) -> None:
    """Begin a box."""
    self.body.append(self.starttag(node, "div", CLASS="admonition"))


def close_box(self: Any, node: box) -> None:
    """End a box."""
    self.body.append("</div>")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_node(box, html=(open_box, close_box))
    # before the labels are entered, by sphinx-exercise and companion_links
    app.connect("doctree-read", name_all, priority=400)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
