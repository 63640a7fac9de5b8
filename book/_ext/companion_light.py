"""Pages that are quick to open: pictures below the fold are loaded when the reader comes near them.

The first picture of a page is loaded at once, since it may be in sight. Every picture says its size, and the button for
all solutions has its place, so that the text stands still while pictures and scripts arrive. A picture of several panels
says where it may be cut (`companion.figures.panels`): on a phone a script puts them one below the other.

Every picture is seen once. A slider begins with the picture of the cell before it, which is drawn there for nbval, for
paper and for browsers without scripts; the style sheet hides that one from all others.
"""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

IMAGE = re.compile(r"<img (?![^>]*\bloading=)")
PANELS = re.compile(rb"tEXtpanels\x00([\d ]+);")
CELL = '<div class="cell '
HEADING = re.compile(r"<h[23][ >]")
SLIDER = "application/vnd.jupyter.widget-view+json"
PICTURE = re.compile(r'<img (?P<rest>[^>]*\bsrc="(?P<src>[^"]+\.png)"[^>]*)>')


def facts_of(file: Path) -> tuple[int, int, str] | None:
    """Return width and height of a PNG and the columns between its panels, from the first bytes of the file."""
    if not file.is_file():
        return None
    with file.open("rb") as stream:
        head = stream.read(200)
    if head[:8] != b"\x89PNG\r\n\x1a\n":
        return None
    width, height = struct.unpack(">II", head[16:24])
    panels = PANELS.search(head)
    return width, height, panels[1].decode() if panels else ""


def say_sizes(body: str, folder: Path) -> str:
    """Give each picture of a page its width and height, and its panels; ``folder`` is the page's."""

    def with_size(match: re.Match[str]) -> str:
        facts = facts_of(folder / match["src"])
        if facts is None or re.search(r"\b(width|height)[=:]", match["rest"]):
            return match[0]
        width, height, panels = facts
        cuts = f'data-panels="{panels}" ' if panels else ""
        return f'<img width="{width}" height="{height}" {cuts}{match["rest"]}>'

    return PICTURE.sub(with_size, body)


def show_once(body: str) -> str:
    """Mark the cells whose picture the slider below them shows again; a heading between the two keeps it."""
    head, *cells = body.split(CELL)
    for i, (cell, following) in enumerate(itertools.pairwise(cells)):
        is_slider = SLIDER in following and SLIDER not in cell
        if (
            is_slider
            and "cell_output" in cell
            and "<img " in cell
            and not HEADING.search(cell)
        ):
            cells[i] = "in-slider " + cell.replace(
                "<img ", '<img loading="lazy" decoding="async" '
            )
    return CELL.join([head, *cells])


def defer_images(body: str) -> str:
    """Mark every picture of a page but the first as one that can wait."""
    first = IMAGE.search(body)
    if not first:
        return body
    head, rest = body[: first.end()], body[first.end() :]
    return head + IMAGE.sub('<img loading="lazy" decoding="async" ', rest)


def offer_solutions(body: str, links: str = "") -> str:
    """Put below the title a button for several solutions, which the site's script makes work, and links."""
    number = body.count('class="solution dropdown admonition"')
    tools = links
    if number > 1:
        tools = f'<button class="all-solutions" type="button">Show all {number} solutions</button>{links}'
    return (
        body.replace("</h1>", f'</h1><div class="page-tools">{tools}</div>', 1)
        if tools
        else body
    )


def editions(app: Sphinx, pagename: str, path_to: Callable[..., str]) -> str:
    """Return the links to a page's notebook without solutions, and to the zip of its chapter."""
    name = pagename.removeprefix("notebooks/")
    offered = {
        f"book/exercises/{name}-exercises.ipynb": "Notebook without solutions",
        f"book/exercises/{name.split('/')[0]}.zip": "Chapter as a zip",
    }
    if f"book/exercises/{name}-exercises.ipynb" not in app.env.dlfiles:
        return ""
    known = [
        (app.env.dlfiles[file][1], text)
        for file, text in offered.items()
        if file in app.env.dlfiles
    ]
    return "".join(
        f'<a href="{path_to(f"_downloads/{place}", resource=True)}" download>{text}</a>'
        for place, text in known
    )


def lighten(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Prepare the pictures and the solutions of a page."""
    if doctree is not None and "body" in context:
        context["body"] = offer_solutions(
            defer_images(show_once(context["body"])),
            editions(app, pagename, context["pathto"]),
        )


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write the sizes, once the pictures are in their place."""
    if exception or app.builder.name != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        new = say_sizes(text, page.parent)
        if new != text:
            page.write_text(new, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("html-page-context", lighten)
    app.connect("build-finished", finish)
    return {
        "version": "2",
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
