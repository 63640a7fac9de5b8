"""Pages that are quick to open: pictures below the fold are loaded when the reader comes near them.

The first picture of a page is loaded at once, since it may be in sight. Every picture says its size, and the button for
all solutions has its place, so that the text stands still while pictures and scripts arrive.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

IMAGE = re.compile(r"<img (?![^>]*\bloading=)")
PICTURE = re.compile(r'<img (?P<rest>[^>]*\bsrc="(?P<src>[^"]+\.png)"[^>]*)>')


def size_of(file: Path) -> tuple[int, int] | None:
    """Return width and height of a PNG from its header."""
    head = file.read_bytes()[:24] if file.is_file() else b""
    if head[:8] != b"\x89PNG\r\n\x1a\n":
        return None
    width, height = struct.unpack(">II", head[16:24])
    return width, height


def say_sizes(body: str, folder: Path) -> str:
    """Give each picture of a page its width and height; ``folder`` is the page's."""

    def with_size(match: re.Match[str]) -> str:
        size = size_of(folder / match["src"])
        if size is None or re.search(r"\b(width|height)[=:]", match["rest"]):
            return match[0]
        return f'<img width="{size[0]}" height="{size[1]}" {match["rest"]}>'

    return PICTURE.sub(with_size, body)


def defer_images(body: str) -> str:
    """Mark every picture of a page but the first as one that can wait."""
    first = IMAGE.search(body)
    if not first:
        return body
    head, rest = body[: first.end()], body[first.end() :]
    return head + IMAGE.sub('<img loading="lazy" decoding="async" ', rest)


def offer_solutions(body: str) -> str:
    """Put a button below the title of a page with several solutions; the script of the site makes it work."""
    number = body.count('class="solution dropdown admonition"')
    if number < 2:
        return body
    button = f'<button class="all-solutions" type="button">Show all {number} solutions</button>'
    return body.replace("</h1>", f"</h1>{button}", 1)


def lighten(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Prepare the pictures and the solutions of a page."""
    if doctree is not None and "body" in context:
        context["body"] = offer_solutions(defer_images(context["body"]))


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
