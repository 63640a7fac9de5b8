"""What the search looks up by name: numbered items, sections, errata, words of the glossary, pages.

An entry is ``[names, address, description]``. The search page puts an entry whose name was typed before all pages that
merely hold the words (``book/_static/companion.js``), also where a page from the disk may not read others.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from itertools import count

from sphinx.util.nodes import _make_id

from tools.concordance import errata_of, errata_pages, load_concordance
from tools.exercises import exercises
from tools.toc import BOOK, pages_in_order, parts, read_yaml, text_of, title, write

sys.path.insert(0, str(BOOK / "_ext"))
from letters import in_letters

SECTION = re.compile(r"^\(sec-(\w+)-(\d+)\)=\n+#+ (.+)$", re.MULTILINE)
GLOSSARY = re.compile(r"^```\{glossary\}\n(.*?)^```", re.MULTILINE | re.DOTALL)

Entry = tuple[list[str], str, str]


def plain(text: str) -> str:
    r"""Return a text without links and the marks of Markdown and TeX.

    >>> plain(r"In the *code* `companion.admm.admm` ([program](#prog-1)), $\lVert x \rVert$.")
    'In the code companion.admm.admm (program), ‖ x ‖.'
    """
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[*`$]", "", in_letters(text))


def item_names(item: str) -> list[str]:
    """Return what a reader types for an item of the concordance: its name, what it names in parentheses, its number.

    >>> item_names("*Program (SVM_s1)*")
    ['Program (SVM_s1)', 'SVM_s1']
    >>> item_names("Figure 18.2")
    ['Figure 18.2', '18.2']
    >>> item_names("(∗), (†₁)")
    ['(∗), (†₁)', '∗', '†₁']
    >>> item_names("findsvl2, findsvm2")
    ['findsvl2, findsvm2', 'findsvl2', 'findsvm2']
    """
    name = plain(item)
    numbers = re.findall(r"^(?:[A-Z]\w+ (\w+\.\d+)|Program ([^\s(]\S*))$", name)
    listed = name.split(", ") if re.fullmatch(r"\w+(, \w+)+", name) else []
    inner = re.findall(r"\(([^()]+)\)", name) if re.search(r"Program|^\(", name) else []
    found = [name, *listed, *inner, *(n for pair in numbers for n in pair)]
    return list(dict.fromkeys(n for n in found if n and not n.isdecimal()))


def sections() -> Iterator[Entry]:
    """Yield the sections of the text, by their numbers."""
    for page in pages_in_order():
        for chapter, number, heading in SECTION.findall(text_of(page)):
            name = f"{chapter.upper()}.{number}"
            yield [f"Section {name}", name], f"{page}.html#sec-{chapter}-{number}", plain(heading)


def items() -> Iterator[Entry]:
    """Yield the rows of the concordance."""
    for chapter in load_concordance():
        for item in chapter["items"]:
            page, label = item["at"].split("#")
            what = f"{plain(item['what'])} ({chapter['title']})"
            yield item_names(item["item"]), f"{page}.html#{label}", what


def errata() -> Iterator[Entry]:
    """Yield the errata, by their numbers."""
    for page in errata_pages():
        for entry in errata_of(page):
            names = [f"Erratum {entry.number}", entry.number]
            yield names, f"{page}.html#{entry.label}", plain(entry.place)


def words() -> Iterator[Entry]:
    """Yield the terms of the glossary, with the anchors that Sphinx gives them: a number where two are alike."""
    numbers, used = count(), {"term"}
    for block in GLOSSARY.findall(text_of("book/glossary")):
        for entry in re.split(r"\n\s*\n", block.strip()):
            terms, _, meaning = re.sub(r"\n +", "\n ", entry).partition("\n ")
            for term in map(plain, terms.splitlines()):
                anchor = _make_id(f"term-{term}")
                anchor = f"term-{next(numbers)}" if anchor in used else anchor
                used.add(anchor)
                yield [term], f"book/glossary.html#{anchor}", plain(meaning)


def synonyms(known: list[Entry]) -> Iterator[Entry]:
    """Yield what readers type, with the place of the name that they mean (book/search.yml)."""
    place = {name.lower(): entry for entry in reversed(known) for name in entry[0]}
    for name, typed in read_yaml(BOOK / "search.yml").items():
        _, href, meaning = place[name.lower()]
        yield typed, href, f"{name}: {meaning}"


def entries() -> list[Entry]:
    """Return all entries; what stands first is shown first."""
    part = {page: caption for caption, pages in parts() for page in pages}
    pages = [([plain(title(p) or "Index")], f"{p}.html", part.get(p, "")) for p in pages_in_order()]
    headings = [([heading], href, names[0]) for names, href, heading in sections()]
    known = [*sections(), *pages, *words(), *items(), *headings]
    return [*known, *synonyms(known), *errata()]


def exercise_keys() -> dict[str, list[str]]:
    """Return by what the exercises and questions of each page are remembered (``book/_static/exercises.js``)."""
    keys = {page: [e.label for e in exercises() if e.page == page] for page in pages_in_order()}
    for page in keys:
        questions = range(text_of(page).count(":class: question\n"))
        keys[page] += [f"{page}#question-{i + 1}" for i in questions]
    return {page: mine for page, mine in keys.items() if mine}


def write_items() -> None:
    """Write the entries as scripts, which a page from the disk may load as well."""
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries())
    write(BOOK / "_static/items.js", f"window.COMPANION_ITEMS = [\n{lines}\n];\n")
    keys = f"window.COMPANION_EXERCISES = {json.dumps(exercise_keys())};\n"
    write(BOOK / "_static/exercise-keys.js", keys)
