"""The list of all errata, made from the notebooks in ``book/errata``.

An entry with a heading is a label, ``### number · place`` and a proof. A slip of notation is a paragraph in a list:
a label, the number in bold, the place, what is printed and what is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tools.toc import pages_in_order, text_of, title

FOLDER = "book/errata/"

# The kind of an entry is the section that it stands in; a section of another name holds entries of the first kind.
KINDS = {
    "Statements and numbers to correct": "statement",
    "Statements to correct": "statement",
    "Wrong formulas whose conclusion survives": "formula",
    "Notation": "slip",
    "Notation and edge cases": "slip",
}
MEANING = {
    "statement": "a statement or a number that leads a reader or a program astray",
    "formula": "a wrong formula whose conclusion survives",
    "program": "a fault in a printed program",
    "slip": "a slip of notation, spelling or reference",
}

HEADING = re.compile(r"^## (?P<section>.+)$")
LABEL = re.compile(r"^\((?P<label>err-[\w-]+)\)=$")
ENTRY = re.compile(r"^### (?P<number>\S+|\S+, \S+) · (?P<place>.+)$")
SLIP = re.compile(r"^\*\*(?P<number>[\w-]+)\*\*,? (?P<place>.+?)\. (?=Printed)")


class Erratum(NamedTuple):
    """One entry: where it stands and what kind it is."""

    label: str
    number: str
    place: str
    kind: str


def errata_of(page: str) -> Iterator[Erratum]:
    """Yield the entries of one page, in its order; an entry with two labels counts as two."""
    kind, labels = "statement", []
    for line in text_of(page).splitlines():
        if match := HEADING.match(line):
            section = match["section"]
            kind = (
                "program" if section.startswith("Appendix B") else KINDS.get(section, "statement")
            )
        elif match := LABEL.match(line):
            labels.append(match["label"])
        elif labels and (match := ENTRY.match(line) or SLIP.match(line)):
            for label in labels:
                number = match["number"] if len(labels) == 1 else label.removeprefix("err-").upper()
                yield Erratum(label, number, match["place"], kind)
            labels = []


def errata_pages() -> list[str]:
    """Return the pages with errata, in the order of the table of contents."""
    return [page for page in pages_in_order() if page.startswith(FOLDER)]


def errata_page() -> str:
    """Return the list of all errata as a MyST page."""
    found = {page: list(errata_of(page)) for page in errata_pages()}
    total = sum(map(len, found.values()))
    lines = [
        "(errata)=",
        "# Errata",
        "",
        "Where the machine disagrees with the printed text, these pages say so and prove it: the place, what is",
        "printed, what is right, and what depends on it. The cell below an entry is the proof. It runs again with",
        "each change of the project.",
        "",
        f"There are {total} entries. Four kinds:",
        "",
        *(f"- *{kind}*: {meaning}." for kind, meaning in MEANING.items()),
        "",
        "The number of an entry names its source and the item. Some faults may belong to the copy that we read and",
        "not to the printed page; their entries say so.",
        "Found another one? [This is how to report it](#report-an-erratum).",
        "",
    ]
    for page, entries in found.items():
        name = (title(page) or page).removeprefix("Errata: ")
        lines += [f"## {name[0].upper()}{name[1:]}", ""]
        lines += [":::{table}", ":class: stacked filterable by-kind", ":widths: 15 65 20", ""]
        lines += ["| Number | Place | Kind |", "|---|---|---|"]
        lines += [f"| [{e.number}](#{e.label}) | {e.place} | {e.kind} |" for e in entries]
        lines += [":::", ""]
    return "\n".join(lines)
