"""The map of the book: which page needs which, how long each takes, and paths through them.

Everything is read from the pages' own box *About this page*: the links after **Needs** are the arrows, the number
after **Takes** the minutes. The few boxes of the chapters are drawn by hand in the template, and a test compares them.

``sphinx.ext.graphviz`` needs a program that pip does not install, and Mermaid a megabyte of script; neither draws a map
of forty pages that fits a phone and whose names are links.
"""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple

from tools.toc import BOOK, listed, read_yaml, render, text_of, title

TRACK, LEFT = 18, 12  # distance of the lines of a chapter, and of the first from the edge
# height of a page's row, of a second line of its title, of one more line of its note
ROW, TITLE, NOTE = 52, 21, 17


class Page(NamedTuple):
    """One chapter page: its place in the map and what it says of itself."""

    path: str
    name: str
    column: int
    row: int
    needs: tuple[str, ...]
    takes: str

    @property
    def minutes(self) -> int | None:
        """The reading time, or None where the page says "an evening"."""
        match = re.search(r"(\d+) minutes", self.takes)
        return int(match[1]) if match else None


def parts() -> list[tuple[str, list[str]]]:
    """Return the parts of the table of contents that hold chapter pages: caption and pages."""
    found = []
    for part in listed()["parts"]:
        pages = [entry["file"] for entry in part["chapters"]]
        chapter = [p for p in pages if "**Needs**" in text_of(p) and "/about/" not in p]
        if chapter:
            found.append((part["caption"], chapter))
    return found


def words_on_needs(path: str) -> str:
    """Return what a page says after **Needs**."""
    match = re.search(r"\*\*Needs\*\*(.*?)(\*\*Takes\*\*|$)", text_of(path), flags=re.DOTALL)
    return match[1].strip() if match else ""


def needs_of(path: str) -> tuple[str, ...]:
    """Return the pages that a page links after **Needs**."""
    links = re.findall(r"\]\(([\w./-]+)\.ipynb\)", words_on_needs(path))
    return tuple(
        posixpath.normpath(posixpath.join(posixpath.dirname(path), link)) for link in links
    )


def pages_on_the_map() -> dict[str, Page]:
    """Return all chapter pages, a column for each part, in reading order."""
    found = {}
    for column, (_, paths) in enumerate(parts()):
        for row, path in enumerate(paths):
            takes = re.search(r"\*\*Takes\*\* ([^.\n]+)", text_of(path))
            found[path] = Page(
                path, title(path) or path, column, row, needs_of(path), takes[1] if takes else ""
            )
    return found


def reduced(needs: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the needs that do not follow from others: the transitive reduction.

    >>> reduced({"a": set(), "b": {"a"}, "c": {"a", "b"}})["c"]
    {'b'}
    """
    before = {name: above(name, needs) for name in needs}
    return {
        name: {n for n in mine if not any(n in before[other] for other in mine - {n})}
        for name, mine in needs.items()
    }


def above(name: str, needs: dict[str, set[str]]) -> set[str]:
    """Return everything that is needed, directly or through others."""
    found: set[str] = set()
    for need in needs[name]:
        found |= {need} | above(need, needs)
    return found


def essential(shown: dict[str, Page]) -> dict[str, set[str]]:
    """Return, for each page, the pages that it needs and that no other page of these needs in turn."""
    return reduced({path: {n for n in page.needs if n in shown} for path, page in shown.items()})


def tracks(pages: list[str], needs: dict[str, set[str]]) -> dict[str, int]:
    """Give each page of a part a track, from the left, so that no line runs through the dot of another page.

    The page with the longest way behind it goes on straight below the one it needs; the others branch off.

    >>> tracks(["a", "b", "c", "d"], {"a": set(), "b": {"a"}, "c": {"a"}, "d": {"c"}})
    {'a': 0, 'b': 1, 'c': 0, 'd': 0}
    """
    row = {page: i for i, page in enumerate(pages)}
    children = {page: [c for c in pages if page in needs[c]] for page in pages}

    def length(page: str) -> int:
        return max((1 + length(child) for child in children[page]), default=0)

    heir = {
        p: max(c, key=lambda child: (length(child), row[child])) for p, c in children.items() if c
    }
    found: dict[str, int] = {}
    busy: dict[tuple[int, int], bool] = {}
    for page in pages:
        parents = [p for p in pages if p in needs[page]]
        straight = [found[p] for p in parents if heir[p] == page]
        if straight:
            track = min(straight)
        else:
            first = max((row[p] for p in parents), default=row[page] - 1) + 1
            rows = range(first, row[page] + 1)
            track = next(t for t in range(len(pages)) if not any(busy.get((t, r)) for r in rows))
            busy.update({(track, r): True for r in rows})
        found[page] = track
        last = row[heir[page]] if page in heir else row[page]
        busy.update({(track, r): True for r in range(row[page], last + 1)})
    return found


def route(need: str, page: str, track: dict[str, int]) -> int | None:
    """Return the track on which a line can run down past the pages between two pages; None if dots are in the way."""
    order = list(track)
    between = order[order.index(need) + 1 : order.index(page)]
    taken = {track[other] for other in between}
    free = [t for t in (track[page], track[need]) if t not in taken]
    return max(free, default=None)


def height_of(page: Page, takes: str, others: list[Page]) -> int:
    """Return the height of a page's row, from the lines that its name and the note below it take."""
    letters = len(takes) + (6 + sum(len(p.name) + 2 for p in others) if others else 0)
    return ROW + TITLE * (len(page.name) > 34) + NOTE * ((letters - 1) // 48)


def lane(column: int, caption: str, shown: dict[str, Page], needs: dict[str, set[str]]) -> dict:
    """Return one part: its pages from top to bottom, what stands below their names, and the lines between them."""
    pages = [page for page in shown.values() if page.column == column]
    inside = {p.path: {n for n in needs[p.path] if shown[n].column == column} for p in pages}
    track = tracks([p.path for p in pages], inside)
    spot: dict[str, tuple[int, int]] = {}
    lines, rows, height = [], [], 0
    for page in pages:
        x1, y1 = spot[page.path] = LEFT + TRACK * track[page.path], height + 14
        also = set(needs[page.path])
        for need in sorted(inside[page.path]):
            on = route(need, page.path, track)
            if on is None:
                continue
            also.remove(need)
            x0, y0 = spot[need]
            if LEFT + TRACK * on != x1:  # joins
                lines.append(f"M{x0} {y0}V{y1 - 40}C{x0} {y1 - 14} {x1} {y1 - 26} {x1} {y1}")
            elif x0 != x1:  # branches off
                lines.append(f"M{x0} {y0}C{x0} {y0 + 26} {x1} {y0 + 14} {x1} {y0 + 40}V{y1}")
            else:
                lines.append(f"M{x0} {y0}V{y1}")
        takes = page.takes.removeprefix("about ").split(",")[0]
        others = [other for other in shown.values() if other.path in also]
        rows.append((page, takes, others, height_of(page, takes, others)))
        height += rows[-1][-1]
    width = 2 * LEFT + TRACK * max(track.values())
    dots = spot.values()
    return dict(caption=caption, width=width, height=height, lines=lines, dots=dots, rows=rows)  # noqa: C408


def map_page() -> str:
    """Return the page with the map, the paths and the table of what needs what."""
    shown = pages_on_the_map()
    needs = essential(shown)
    table = []
    for page in shown.values():
        linked = ", ".join(f"[{shown[n].name}](../{n}.ipynb)" for n in page.needs if n in shown)
        words = words_on_needs(page.path).rstrip(".").split(",")[0]  # of a page that links no other
        table.append((page, linked or words.replace("this chapter", "its chapter")))
    drawn = [lane(i, caption, shown, needs) for i, (caption, _) in enumerate(parts())]
    paths = read_yaml(BOOK / "paths.yml")
    for path in paths.values():
        path["stops"] = [shown[stop] for stop in path["stops"]]
    return render("map.md", lanes=drawn, paths=paths, table=table)
