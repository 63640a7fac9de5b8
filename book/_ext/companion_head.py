"""What stands at the head of a page: a description for search engines and link previews, and nothing that delays it.

The description is the page's first paragraph. The pictures of the sliders, megabytes of text, are moved from the head to
the end of the page: the reader sees the text first.
"""

from __future__ import annotations

import re
import unicodedata
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LENGTH = 160  # characters that search engines show
STATE = "application/vnd.jupyter.widget-state+json"
OTHERS = {
    "genindex": "Index of the statements, the algorithms, the words of the glossary and the public names of the package.",
    "search": "Search all pages of the companion.",
}


def shorten(text: str) -> str:
    """Return the beginning of a text, up to the end of a word.

    >>> shorten("A short one.")
    'A short one.'
    >>> shorten("word " * 60).endswith("word …"), len(shorten("word " * 60)) <= 160
    (True, True)
    """
    text = " ".join(text.split())
    if len(text) <= LENGTH:
        return text
    return f"{text[: LENGTH - 2].rsplit(' ', 1)[0]} …"


def letter(match: re.Match[str]) -> str:
    """Return the Greek letter that a TeX command stands for, nothing for another command."""
    name = match[1].removeprefix("var")
    kind = "SMALL" if name.islower() else "CAPITAL"
    try:
        return unicodedata.lookup(f"GREEK {kind} LETTER {name.upper()}")
    except KeyError:
        return ""


def plain(node: nodes.Element) -> str:
    """Return the text of a paragraph, with its short formulas in plain letters."""
    text = re.sub(r"\^\\top\b|\^\{\\mathsf T\}", "ᵀ", node.astext())
    text = re.sub(r"\\([A-Za-z]+)", letter, text)
    return re.sub(r"[\\{}]", "", text)


def description(name: str, doctree: nodes.document | None) -> str:
    """Return the description of a page: its first paragraph that says something."""
    if doctree is None or name in OTHERS:
        return OTHERS.get(name, "")
    for paragraph in doctree.findall(nodes.paragraph):
        inside = paragraph.parent
        if isinstance(inside, nodes.section) and len(paragraph.astext()) > 30:
            return shorten(plain(paragraph))
    return ""


def complete_head(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Add the description, drop the second viewport, move the sliders' pictures to the end."""
    tags = re.sub(
        r'\s*<meta [^>]*name="viewport"[^>]*>', "", context.get("metatags", "")
    )
    if text := description(pagename, doctree):
        tags += f'\n<meta name="description" content="{escape(text)}" />'
    context["metatags"] = tags
    late = [
        script
        for script in context.get("script_files", [])
        if getattr(script, "attributes", {}).get("type") == STATE
    ]
    if late:
        context["script_files"] = [
            script for script in context["script_files"] if script not in late
        ]
        context["body"] += "".join(
            f'<script type="{STATE}">{script.attributes["body"]}</script>'
            for script in late
        )


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("html-page-context", complete_head, priority=950)
    return {
        "version": "1",
        "env_version": 2,  # a new one makes the builder write all pages again
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
