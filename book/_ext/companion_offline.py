"""Make icons and excerpts of the search work for a page that is opened from the disk, at a small weight.

Browsers load no font files for such a page. Here the icons that the site uses go into a style sheet as data: a font of a
few of the theme's thousands of glyphs. The links that ask for the font file early, and the theme's script that would
draw the same icons once more as pictures, are dropped from the pages.

Nor may such a page read others. The text of all pages, from which the search quotes, goes into one script.
"""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pydata_sphinx_theme
from fontTools import subset, ttLib
from letters import in_letters
from lxml import etree, html
from sphinx.application import Sphinx

FACE = """@font-face {{
  font-family: "Font Awesome 6 Free"; font-style: normal; font-weight: 900; font-display: block;
  src: url("data:font/woff;base64,{data}") format("woff");
}}
"""
UNWANTED = re.compile(
    r'\s*<link rel="preload" as="font"[^>]*>'
    r"|\s*<script[^>]*fontawesome[^>]*all\.min\.js[^>]*></script>"
    r'|\s*<link rel="preload" as="script"[^>]*fontawesome[^>]*>'
    r'|\s*<meta name="viewport"[^>]*>(?=\s*<meta name="docsearch)'  # the page has one
)
RULE = re.compile(r"((?:\.fa-[\w-]+:+before,?)+)\{content:\"\\([0-9a-f]+)\"\}")
CODE = re.compile(r"\\(f[0-9a-f]{3})\b")
UNTOLD = {
    "h1",
    "script",
    "style",
    "button",
    "headerlink",
    "page-tools",
    "collapsed",
    "expanded",
}
SIGN = re.compile("[\uf000-\uf8ff]")  # the same, written as a character


def icon_font() -> Path:
    """Return the theme's icon font."""
    (font,) = Path(pydata_sphinx_theme.__file__).parent.rglob(
        "fa-solid-900.ttf"
    )
    return font


def theme_sheet(out: Path) -> Path:
    """Return the theme's style sheet with a rule for each of its icons."""
    (sheet,) = (p for p in out.rglob("all.min.css") if "fontawesome" in str(p))
    return sheet


def rules_by_name(sheet: str) -> dict[str, int]:
    """Return the code point of each icon's name."""
    return {
        name: int(code, 16)
        for names, code in RULE.findall(sheet)
        for name in re.findall(r"fa-[\w-]+", names)
    }


def icons_in_use(out: Path, known: dict[str, int]) -> set[int]:
    """Return the code points of all icons that a page, a style sheet or a script of the site names."""
    sheets = [
        p for p in out.rglob("*.css") if "fontawesome" not in p.as_posix()
    ]
    texts = [sheet.read_text(encoding="utf-8") for sheet in sheets]
    codes = {int(code, 16) for text in texts for code in CODE.findall(text)}
    codes.update(ord(sign) for text in texts for sign in SIGN.findall(text))
    scripts = [
        p for p in out.rglob("*.js") if not {"vendor", "mathjax"} & set(p.parts)
    ]
    for file in [*out.rglob("*.html"), *scripts]:
        words = re.findall(r"fa-[\w-]+", file.read_text(encoding="utf-8"))
        codes.update(known[word] for word in words if word in known)
    return codes


def small_font(codes: set[int]) -> bytes:
    """Return the icon font with only some of its glyphs, as WOFF."""
    font = ttLib.TTFont(icon_font())
    cutter = subset.Subsetter(subset.Options(flavor="woff"))
    cutter.populate(unicodes=codes)
    cutter.subset(font)
    font.flavor = "woff"
    buffer = io.BytesIO()
    font.save(buffer)
    return buffer.getvalue()


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
    told = ((name, " ".join("".join(text).split())) for name, text in parts)
    return [(name, text) for name, text in told if text]


def write_text(out: Path, names: Iterable[str]) -> None:
    """Write the text of all pages as a script, which a page from the disk may load as well."""
    text = {
        name: text_in_parts((out / f"{name}.html").read_text(encoding="utf-8"))
        for name in sorted(names)
    }
    told = json.dumps(text, ensure_ascii=False, separators=(",", ":"))
    (out / "_static" / "text.js").write_text(
        f"window.COMPANION_TEXT = {told};\n", encoding="utf-8"
    )


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write the style sheet with the font, and take what is not wanted out of the pages."""
    if exception or app.builder.name != "html":
        return
    out = Path(app.outdir)
    sheet = theme_sheet(out)
    text = sheet.read_text(encoding="utf-8")
    codes = icons_in_use(out, rules_by_name(text))
    sheet.write_text(
        RULE.sub(lambda m: m[0] if int(m[2], 16) in codes else "", text),
        encoding="utf-8",
    )
    data = base64.b64encode(small_font(codes)).decode()
    (out / "_static" / "icons.css").write_text(
        FACE.format(data=data), encoding="utf-8"
    )
    write_text(out, app.env.found_docs)
    for page in out.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if UNWANTED.search(text):
            page.write_text(UNWANTED.sub("", text), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("build-finished", finish)
    return {
        "version": "2",
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
