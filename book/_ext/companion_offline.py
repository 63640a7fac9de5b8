"""Make the theme's icons work for a page that is opened from the disk.

Browsers load no font files for such a page. Here the icon font goes into a style sheet as data, and the links that
ask for the font file early are dropped from the pages.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pydata_sphinx_theme
from sphinx.application import Sphinx

FACE = """@font-face {{
  font-family: "Font Awesome 6 Free"; font-style: normal; font-weight: 900; font-display: block;
  src: url("data:font/woff2;base64,{data}") format("woff2");
}}
"""
PRELOAD = re.compile(r'\s*<link rel="preload" as="font"[^>]*>')


def icon_font() -> Path:
    """Return the theme's icon font."""
    (font,) = Path(pydata_sphinx_theme.__file__).parent.rglob(
        "fa-solid-900.woff2"
    )
    return font


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write the style sheet with the font, and take the early requests out of the pages."""
    if exception or app.builder.name != "html":
        return
    out = Path(app.outdir)
    data = base64.b64encode(icon_font().read_bytes()).decode()
    (out / "_static" / "icons.css").write_text(
        FACE.format(data=data), encoding="utf-8"
    )
    for page in out.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if PRELOAD.search(text):
            page.write_text(PRELOAD.sub("", text), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("build-finished", finish)
    return {
        "version": "1",
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
