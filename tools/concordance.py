"""Two lists that lead from the sources into the book: the concordance, and all errata.

The concordance leads from every numbered item to its page, its functions and its tests. Its data are the files of
``book/concordance``, one per chapter. A chapter's entry says how many items of each kind its source numbers
(``numbered``), so that a missing one is noticed.

The list of errata is made from the notebooks in ``book/errata``. An entry with a heading is a label,
``### number · place`` and a proof. A slip of notation is a paragraph in a list: a label, the number in bold, the place,
what is printed and what is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from tools.toc import BOOK, pages_in_order, read_yaml, render, text_of, title

FILES = BOOK / "concordance"

# The kind of an entry is told by the heading of its section; an entry below any other is of the first kind.
HEADS = {"Wrong formulas": "formula", "Notation": "slip", "Appendix B": "program"}
MEANING = {
    "statement": "a statement or a number that leads a reader or a program astray",
    "formula": "a wrong formula whose conclusion survives",
    "program": "a fault in a printed program",
    "slip": "a slip of notation, spelling or reference",
}

HEADING = re.compile(r"^## (?P<section>.+)$")
ERRATUM_LABEL = re.compile(r"^\((?P<label>err-[\w-]+)\)=$")
ENTRY = re.compile(r"^### (?P<number>\S+|\S+, \S+) · (?P<place>.+)$")
SLIP = re.compile(r"^\*\*(?P<number>[\w-]+)\*\*,? (?P<place>.+?)\. (?=Printed)")


def load_concordance() -> list[dict[str, Any]]:
    """Return the chapters of the concordance, the text's own first."""
    files = sorted(FILES.glob("*.yml"), key=lambda file: (file.stem[:7] != "chapter", file.stem))
    return [chapter for file in files for chapter in read_yaml(file)["chapters"]]


def numbers(chapter: dict[str, Any]) -> dict[str, list[str]]:
    """Return the items that a source numbers in a chapter, by kind: ``{"Example": ["Example 16.1", ...]}``."""
    prefix = chapter.get("prefix", f"{chapter['chapter']}.")
    return {
        kind: [f"{kind} {number}" for number in known]
        if isinstance(known, list)
        else [f"{kind} {prefix}{i}" for i in range(1, known + 1)]
        for kind, known in chapter.get("numbered", {}).items()
    }


def covered(chapter: dict[str, Any]) -> tuple[int, int, int]:
    """Return how many numbered items have a row, how many there are, and how many rows are for other items."""
    expected = set().union(*numbers(chapter).values())
    names = {item["item"] for item in chapter["items"]}
    return len(expected & names), len(expected), len(names - expected)


def tests_by_file(item: dict[str, Any]) -> dict[str, list[str]]:
    """Return the tests of an item, file by file; a page whose own cells check has none."""
    files: dict[str, list[str]] = {}
    for test in item.get("tests", []):
        file, _, name = test.partition("::")
        files.setdefault(file, []).extend([name.rpartition("::")[2]] if name else [])
    return files


def concordance_page(chapters: list[dict[str, Any]]) -> str:
    """Return the concordance as a MyST page."""
    counts = {chapter["title"]: covered(chapter) for chapter in chapters}
    by_section = [groupby(chapter["items"], itemgetter("section")) for chapter in chapters]
    parts = [(c, [(s, [*g]) for s, g in by]) for c, by in zip(chapters, by_section)]
    data = {"chapters": parts, "counts": counts, "tests": tests_by_file}
    return render("concordance.md", **data, title=title)


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
            name = match["section"]
            kind = next((HEADS[head] for head in HEADS if name.startswith(head)), "statement")
        elif match := ERRATUM_LABEL.match(line):
            labels.append(match["label"])
        elif labels and (match := ENTRY.match(line) or SLIP.match(line)):
            for label in labels:
                number = match["number"] if len(labels) == 1 else label.removeprefix("err-").upper()
                yield Erratum(label, number, match["place"], kind)
            labels = []


def errata_pages() -> list[str]:
    """Return the pages with errata, in the order of the table of contents."""
    return [page for page in pages_in_order() if page.startswith("book/errata/")]


def errata_page() -> str:
    """Return the list of all errata as a MyST page."""
    sources = [(title(page), list(errata_of(page))) for page in errata_pages()]
    return render("errata.md", sources=sources, meanings=MEANING)
