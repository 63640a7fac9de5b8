"""Pages that are quick to open: pictures below the fold are loaded when the reader comes near them.

The first picture of a page is loaded at once, since it may be in sight.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

IMAGE = re.compile(r"<img (?![^>]*\bloading=)")


def defer_images(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Mark every picture of a page but the first as one that can wait."""
    if doctree is None or "body" not in context:
        return
    first = IMAGE.search(context["body"])
    if first:
        head, rest = (
            context["body"][: first.end()],
            context["body"][first.end() :],
        )
        context["body"] = head + IMAGE.sub(
            '<img loading="lazy" decoding="async" ', rest
        )


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("html-page-context", defer_images)
    return {
        "version": "1",
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
