"""The map of the book: which page needs which, how long each takes, and paths through them.

Everything is read from the pages' own box *About this page*: the links after **Needs** are the arrows, the number
after **Takes** the minutes.
"""

from __future__ import annotations

import html
import posixpath
import re
from typing import NamedTuple

from tools.toc import listed, text_of, title

TRACK, LEFT = 18, 12  # distance of the lines of a chapter, and of the first from the edge
ROW, TITLE, NOTE = (
    52,
    21,
    17,
)  # height of a page's row, of a second line of its title, of one more line of its note
BOX, GAP_X, BOX_HEIGHT, GAP_Y = 152, 36, 44, 58  # the drawing of the chapters

PATHS = {
    "ADMM in an evening": (
        "What a multiplier does, why the augmented Lagrangian helps, and a solver that fits a screen.",
        ["admm/dual-ascent", "admm/method-of-multipliers", "admm/admm", "admm/quadratic-programs"],
    ),
    "The lasso in an evening": (
        "From the soft threshold to a model that picks its own variables.",
        ["admm/proximal-operators", "admm/l1-problems", "regression/lasso"],
    ),
    "Kernels in an evening": (
        "From a feature map to a regression that bends.",
        ["kernels/feature-maps", "kernels/positive-definite-kernels", "regression/kernel-ridge"],
    ),
    "Support vector machines in an evening": (
        "The widest slab, what to do when there is none, and curved boundaries.",
        ["svm/hyperplanes-and-margins", "svm/soft-margin-s2", "svm/nu-svm", "svm/kernel-svm"],
    ),
    "Robust regression in an evening": (
        "A tube around the data, and a number that says how many points may leave it.",
        ["svr/nu-svr", "svr/support-vectors", "svr/kernel-nu-svr"],
    ),
}


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


# -------------------------------------------------------------------------------- the chapters


def chapter_needs(shown: dict[str, Page]) -> dict[tuple[int, int], bool]:
    """Return the arrows between the parts, as (needed, needing); true where most pages of the second need the first."""
    direct = {path: {n for n in page.needs if n in shown} for path, page in shown.items()}
    parts_of = {path: {shown[n].column for n in above(path, direct)} for path in shown}
    columns = sorted({page.column for page in shown.values()})
    needs = {
        c: {d for p in shown.values() if p.column == c for d in parts_of[p.path] if d != c}
        for c in columns
    }
    arrows = {}
    for c, mine in reduced(needs).items():
        pages = [p.path for p in shown.values() if p.column == c and p.needs]
        for d in mine:
            share = sum(d in parts_of[path] for path in pages) / len(pages)
            arrows[d, c] = share > 0.5
    return arrows


def places_of_chapters(arrows: dict[tuple[int, int], bool]) -> dict[int, tuple[int, int]]:
    """Return the corner of each part's box: a row below all that it needs."""
    level: dict[int, int] = {}
    for c in sorted({c for pair in arrows for c in pair}):
        level[c] = max((level[d] + 1 for d, e in arrows if e == c), default=0)
    places: dict[int, tuple[int, int]] = {}
    for c, row in level.items():
        place = sum(level[d] == row for d in places)
        places[c] = (2 + place * (BOX + GAP_X), 2 + row * (BOX_HEIGHT + GAP_Y))
    return places


def short(caption: str) -> tuple[str, str]:
    """Return the two lines of a part's box."""
    head, _, rest = caption.partition(": ")
    if not rest:
        head, _, rest = caption.partition("; ")
    return head, rest


def chapters() -> str:
    """Return the drawing of the parts, whose boxes lead to their pages below; its colours are the page's."""
    arrows = chapter_needs(pages_on_the_map())
    places = places_of_chapters(arrows)
    captions = [caption for caption, _ in parts()]
    lines, boxes = [], []
    for (start, end), most in arrows.items():
        (x0, y0), (x1, y1) = places[start], places[end]
        x0, x1, y0 = x0 + BOX / 2, x1 + BOX / 2, y0 + BOX_HEIGHT
        lines.append(
            f'<path d="M{x0:g} {y0} C{x0:g} {y0 + 36} {x1:g} {y1 - 40} {x1:g} {y1 - 5}" '
            f'class="{"most" if most else "some"}" marker-end="url(#map-tip)"/>'
        )
    for column, (x, y) in places.items():
        first, second = map(html.escape, short(captions[column]))
        boxes.append(
            f'<a href="#lane-{column}"><rect x="{x}" y="{y}" width="{BOX}" height="{BOX_HEIGHT}" rx="6"/>'
            f'<text x="{x + BOX / 2:g}" y="{y + 18}"><tspan class="head">{first}</tspan>'
            f'<tspan x="{x + BOX / 2:g}" dy="16">{second}</tspan></text></a>'
        )
    width = 4 + max(x for x, _ in places.values()) + BOX
    height = 4 + max(y for _, y in places.values()) + BOX_HEIGHT
    tip = (
        '<marker id="map-tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z"/></marker>'
    )
    return (
        f'<div class="book-map"><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="group" aria-label="The parts, and which needs which">'
        f'<defs>{tip}</defs><g class="arrows" aria-hidden="true">{"".join(lines)}</g>{"".join(boxes)}</svg></div>'
    )


# ----------------------------------------------------------------------- the pages of a chapter


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


def note_on(page: Page, others: list[Page]) -> str:
    """Return the line below a page's name: how long it takes, and what else it needs."""
    also = ", ".join(f'<a href="../{p.path}.html">{html.escape(p.name)}</a>' for p in others)
    takes = html.escape(page.takes.removeprefix("about ").split(",")[0])
    return f"{takes}; first {also}" if also else takes


def height_of(page: Page, note: str) -> int:
    """Return the height of a page's row, from the lines that its name and its note take."""
    letters = len(re.sub(r"<[^>]+>", "", note))
    return ROW + TITLE * (len(page.name) > 34) + NOTE * ((letters - 1) // 48)


def lane(column: int, caption: str, shown: dict[str, Page], needs: dict[str, set[str]]) -> str:
    """Return one part: its pages from top to bottom, and the lines between them."""
    pages = [page for page in shown.values() if page.column == column]
    inside = {p.path: {n for n in needs[p.path] if shown[n].column == column} for p in pages}
    track = tracks([p.path for p in pages], inside)
    drawn = {
        p.path: {n for n in inside[p.path] if route(n, p.path, track) is not None} for p in pages
    }
    named = {p.path: needs[p.path] - drawn[p.path] for p in pages}
    notes = [note_on(p, [q for q in shown.values() if q.path in named[p.path]]) for p in pages]
    heights = [height_of(page, note) for page, note in zip(pages, notes)]
    spot = {
        p.path: (LEFT + TRACK * track[p.path], sum(heights[:i]) + 14) for i, p in enumerate(pages)
    }
    lines, rows = [], []
    for page, note, height in zip(pages, notes, heights):
        x1, y1 = spot[page.path]
        for need in sorted(drawn[page.path]):
            x0, y0 = spot[need]
            x = LEFT + TRACK * route(need, page.path, track)
            if x == x0 == x1:
                lines.append(f"M{x0} {y0}V{y1}")
            elif x == x1:  # branches off
                lines.append(f"M{x0} {y0}C{x0} {y0 + 26} {x1} {y0 + 14} {x1} {y0 + 40}V{y1}")
            else:  # joins
                lines.append(f"M{x0} {y0}V{y1 - 40}C{x0} {y1 - 14} {x1} {y1 - 26} {x1} {y1}")
        rows.append(
            f'<li style="height:{height}px"><a href="../{page.path}.html">{html.escape(page.name)}</a>'
            f"<small>{note}</small></li>"
        )
    width = 2 * LEFT + TRACK * max(track.values())
    dots = "".join(f'<circle cx="{x}" cy="{y}" r="6"/>' for x, y in spot.values())
    return (
        f'<div class="lane" id="lane-{column}" role="group" aria-label="{html.escape(caption)}">'
        f'<p class="lane-head">{html.escape(caption)}</p><div class="lane-body">'
        f'<svg width="{width}" height="{sum(heights)}" aria-hidden="true"><path d="{"".join(lines)}"/>{dots}</svg>'
        f"<ol>{''.join(rows)}</ol></div></div>"
    )


def lanes() -> str:
    """Return all parts side by side; on a phone they follow one another."""
    shown = pages_on_the_map()
    needs = essential(shown)
    body = "".join(lane(i, caption, shown, needs) for i, (caption, _) in enumerate(parts()))
    return f'<div class="lanes">{body}</div>'


def relative(path: str) -> str:
    """Return the link from the map's page to a chapter page."""
    return f"../{path}.ipynb"


def path_section(name: str, idea: str, paths: list[str], shown: dict[str, Page]) -> list[str]:
    """Return the lines on one path; empty while one of its pages is not in the book."""
    stops = [shown.get(f"notebooks/{path}") for path in paths]
    if None in stops:
        return []
    minutes = sum(stop.minutes or 0 for stop in stops)
    steps = [
        f"{i}. [{stop.name}]({relative(stop.path)}), {stop.takes}"
        for i, stop in enumerate(stops, 1)
    ]
    return [f"### {name}", "", f"{idea} About {minutes / 60:.1f} hours.", "", *steps, ""]


def map_page() -> str:
    """Return the page with the map, the paths and the table of what needs what."""
    shown = pages_on_the_map()
    lines = [
        "(map)=",
        "# Map of the book",
        "",
        "Chapters 16 and 17 can be read first. An arrow leads from what is needed; where it is dashed, only some pages",
        "need it.",
        "",
        "```{raw} html",
        chapters(),
        "```",
        "",
        "## Page by page",
        "",
        "Follow a line from dot to dot. Where it branches, either branch can come first, and what lies on a branch can",
        "wait. *First* names what a page needs from another chapter.",
        "",
        "```{raw} html",
        lanes(),
        "```",
        "",
        "## Read it in an evening",
        "",
        "A stop may build on pages that are not on its path. The table at the end names them.",
        "",
    ]
    for name, (idea, paths) in PATHS.items():
        lines += path_section(name, idea, paths, shown)
    lines += ["## What each page needs", "", ":::{table}", ":class: stacked needs", ""]
    lines += ["| Page | Needs | Takes |", "|---|---|---|"]
    for page in shown.values():
        needs = ", ".join(f"[{shown[n].name}]({relative(n)})" for n in page.needs if n in shown)
        words = words_on_needs(page.path).rstrip(".").split(",")[0]  # of a page that links no other
        needs = needs or words.replace("this chapter", "its chapter")
        lines.append(f"| [{page.name}]({relative(page.path)}) | {needs} | {page.takes} |")
    return "\n".join([*lines, ":::", ""])
