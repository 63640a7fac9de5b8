"""What is done when a site is built: its search can quote pages that are opened from the disk, and nothing old is left.

Such a page may not read others. The text of all pages goes into one script. (Nor may it load a font: the icons are a sheet with the font's few glyphs as
data, ``_static/vendor/fontawesome``, in the place of the theme's.)
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from lxml import etree, html
from sphinx.application import Sphinx

from letters import in_letters

UNTOLD = {"h1", "script", "style", "button", "headerlink", "page-tools", "collapsed", "expanded"}


def text_in_parts(page: str) -> list[tuple[str, str]]:
    """Return the text of a page: what stands before the first anchor, and then from each anchor to the next.

    >>> text_in_parts('<article><h1>A</h1><p>b  c</p><section id="d"><p>e</p></section></article>')
    [('', 'b c'), ('d', 'e')]
    """
    found = re.search(r"<article\b.*?</article>", page, re.DOTALL)
    article = html.fragment_fromstring(found[0] if found else "<article/>")
    parts: list[tuple[str, list[str]]] = [("", [])]

    def read(element: html.HtmlElement) -> None:
        if element.tag in ("section", "dt", "div") and element.get("id"):
            parts.append((element.get("id"), []))
        classes = {element.tag, *element.get("class", "").split()}
        if "math" in classes:
            parts[-1][1].append(in_letters(element.text_content()))
        elif not UNTOLD & classes:
            parts[-1][1].append(element.text or "")
            for child in element.iterchildren(etree.Element):
                read(child)
                gap = " " if child.tag in ("dt", "dd") else ""
                parts[-1][1].append(gap + (child.tail or ""))

    read(article)
    joined = ((name, " ".join("".join(text).split())) for name, text in parts)
    return [(name, text) for name, text in joined if text]


def sweep(app: Sphinx) -> None:
    """Remove what earlier builds left, which a zip of the site would pack: pages, pictures, downloads."""
    out, env = Path(app.outdir), app.env
    made = {f"{name}.html" for name in env.found_docs}
    made |= {f"_images/{name}" for _, name in env.images.values()}
    made |= {f"_downloads/{name}" for _, name in env.dlfiles.values()}
    for kind in ("notebooks/**/*.html", "book/**/*.html", "_images/*", "_downloads/*/*"):
        for path in out.glob(kind):
            if path.relative_to(out).as_posix() not in made:
                path.unlink()


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write the text of all pages as a script, which a page from the disk may load as well."""
    if exception or app.builder.name != "html":
        return
    sweep(app)
    out = Path(app.outdir)
    pages = {name: out / f"{name}.html" for name in sorted(app.env.found_docs)}
    text = {name: text_in_parts(page.read_text(encoding="utf-8")) for name, page in pages.items()}
    data = json.dumps(text, ensure_ascii=False, separators=(",", ":"))
    (out / "_static/text.js").write_text(f"window.COMPANION_TEXT = {data};\n", encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("build-finished", finish)
    return {"version": "2", "parallel_read_safe": True, "parallel_write_safe": True}
