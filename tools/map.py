"""The map of the book: which page needs which, how long each takes, and paths through them.

Everything is read from the pages' own box *About this page*: the links after **Needs** are the arrows, the number
after **Takes** the minutes.
"""

from __future__ import annotations

import html
import posixpath
import re
from typing import NamedTuple

import yaml

from tools.toc import BOOK, text_of, title

WIDTH, HEIGHT = 178, 44  # of a page's box
GAP_X, GAP_Y, TOP = 62, 14, 40

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
    toc = yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))
    found = []
    for part in toc["parts"]:
        pages = [entry["file"] for entry in part["chapters"]]
        chapter = [p for p in pages if "**Needs**" in text_of(p) and "/about/" not in p]
        if chapter:
            found.append((part["caption"], chapter))
    return found


def needs_of(path: str) -> tuple[str, ...]:
    """Return the pages that a page links after **Needs**."""
    match = re.search(r"\*\*Needs\*\*(.*?)(\*\*Takes\*\*|$)", text_of(path), flags=re.DOTALL)
    links = re.findall(r"\]\(([\w./-]+)\.ipynb\)", match[1] if match else "")
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


def corner(page: Page) -> tuple[int, int]:
    """Return the upper left corner of a page's box."""
    return 34 + page.column * (WIDTH + GAP_X), TOP + page.row * (HEIGHT + GAP_Y)


def arrow(start: Page, end: Page) -> str:
    """Return the arrow from a needed page to the page that needs it."""
    (x0, y0), (x1, y1) = corner(start), corner(end)
    if start.column == end.column and end.row == start.row + 1:  # the next box below
        path = f"M{x0 + 24} {y0 + HEIGHT} V{y1 - 4}"
    elif start.column == end.column:  # around the boxes between, through the gap on the left
        bend = 4 + 3 * abs(end.row - start.row)
        path = f"M{x0} {y0 + 30} C{x0 - bend} {y0 + 34} {x1 - bend} {y1 + 10} {x1 - 4} {y1 + 14}"
    elif start.column < end.column:
        middle = (x0 + WIDTH + x1) // 2
        path = f"M{x0 + WIDTH} {y0 + 22} C{middle} {y0 + 22} {middle} {y1 + 22} {x1 - 4} {y1 + 22}"
    else:
        middle = (x0 + x1 + WIDTH) // 2
        path = f"M{x0} {y0 + 22} C{middle} {y0 + 22} {middle} {y1 + 22} {x1 + WIDTH + 4} {y1 + 22}"
    return f'<path d="{path}" marker-end="url(#map-tip)"/>'


def lines_of(name: str) -> list[str]:
    """Break a title into at most two lines that fit a box."""
    words, lines = name.split(), [""]
    for word in words:
        if len(lines[-1]) + len(word) > 24 and lines[-1] and len(lines) < 2:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return [line if len(line) <= 28 else line[:27] + "…" for line in lines]


def box(page: Page) -> str:
    """Return a page's box, a link."""
    x, y = corner(page)
    lines = lines_of(page.name)
    first = y + (27 if len(lines) == 1 else 19)
    text = "".join(
        f'<tspan x="{x + 10}" y="{first + 16 * i}">{html.escape(line)}</tspan>'
        for i, line in enumerate(lines)
    )
    return (
        f'<a href="../{page.path}.html" aria-label="{html.escape(page.name)}"><title>{html.escape(page.name)}</title>'
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6"/><text>{text}</text></a>'
    )


def drawing() -> str:
    """Return the map as an SVG picture whose boxes are links; it takes its colours from the page."""
    shown = pages_on_the_map()
    captions = [caption for caption, _ in parts()]
    width = 42 + len(captions) * (WIDTH + GAP_X) - GAP_X
    height = TOP + (1 + max(page.row for page in shown.values())) * (HEIGHT + GAP_Y)
    heads = "".join(
        f'<text class="head" x="{34 + i * (WIDTH + GAP_X)}" y="24">{html.escape(caption.split(":")[0])}</text>'
        for i, caption in enumerate(captions)
    )
    arrows = "".join(
        arrow(shown[need], page) for page in shown.values() for need in page.needs if need in shown
    )
    boxes = "".join(map(box, shown.values()))
    tip = (
        '<marker id="map-tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        '<path d="M0 0L8 4L0 8z"/></marker>'
    )
    return (
        '<div class="book-map" tabindex="0" role="region" aria-label="Map of the pages, wide: scroll sideways">'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}"><defs>{tip}</defs>{heads}'
        f'<g class="arrows" aria-hidden="true">{arrows}</g>{boxes}</svg></div>'
    )


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
        "A box is a page and a link. An arrow leads from a page to one that needs it. Columns are the parts, from",
        "top to bottom in reading order. A page without an arrow into it can be read first.",
        "",
        "```{raw} html",
        drawing(),
        "```",
        "",
        "## Read it in an evening",
        "",
    ]
    for name, (idea, paths) in PATHS.items():
        lines += path_section(name, idea, paths, shown)
    lines += ["## What each page needs", "", ":::{table}", ":class: stacked filterable", ""]
    lines += ["| Page | Needs | Takes |", "|---|---|---|"]
    for page in shown.values():
        needs = ", ".join(f"[{shown[n].name}]({relative(n)})" for n in page.needs if n in shown)
        lines.append(f"| [{page.name}]({relative(page.path)}) | {needs or '–'} | {page.takes} |")
    return "\n".join([*lines, ":::", ""])
