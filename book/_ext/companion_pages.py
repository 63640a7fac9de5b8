"""What is done to a page when it is written: it says what it is, opens quickly, and offers its other editions.

Its head has a description for search engines and link previews, the page's first paragraph, and a picture; below its text
stands how to report an error. The pictures of the sliders,
megabytes of text, are moved from the head to the end: the reader sees the text first.

Every picture says its size, and the button for all solutions has its place, so that the text stands still while pictures
and scripts arrive. (``docutils.conf`` lets pictures wait until the reader comes near.) A picture of several panels says
where it may be cut (`companion.figures.panels`): on a phone a script puts them one below the other.

Every picture is seen once. A slider begins with the picture of the cell before it, which is drawn there for nbval, for
paper and for browsers without scripts; the style sheet hides that one from all others.

``make book SOLUTIONS=0`` builds the edition without solutions: they, the cells that go on with them (tag "solution"), and
those of checks, which know the answers (tag "check"), are removed before anything is made of a page.

Several processes write. Sphinx's ``-j``, for which Jupyter Book has no option, would warn and so fail: the extension that
numbers Jupyter Book's chapters does not say whether several may read.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import re
import struct
import sys
import tomllib
from collections.abc import Callable
from html import escape, unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from docutils import nodes
from letters import in_letters
from pybtex.backends.plaintext import Backend
from pybtex.plugin import register_plugin
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx_exercise.nodes import solution_node

sys.path.insert(0, str(Path(__file__).parents[2]))
from tools import live

LENGTH = 160  # characters that search engines show
STATE = "application/vnd.jupyter.widget-state+json"
PREVIEWS = {
    "admm": "part-16.png",
    "kernels": "part-17.png",
    "svm": "part-18.png",
    "regression": "part-19.png",
    "svr": "part-20.png",
}
OTHERS = {
    "genindex": "Index of the statements, the algorithms, the words of the glossary and the public names of the package.",
    "search": "Search all pages of the companion.",
}
PANELS = re.compile(rb"tEXtpanels\x00([\d ]+);")
CELL = '<div class="cell '
HEADING = re.compile(r"<h[23][ >]")
SLIDER = "application/vnd.jupyter.widget-view+json"
PICTURE = re.compile(r'<img (?P<rest>[^>]*\bsrc="(?P<src>[^"]+\.png)"[^>]*)>')


WANTED = os.environ.get("COMPANION_SOLUTIONS", "1") != "0"
CELLS = {"tag_solution", "tag_check"}


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


def description(name: str, doctree: nodes.document | None) -> str:
    """Return the description of a page: its first paragraph that says something."""
    if doctree is None or name in OTHERS:
        return OTHERS.get(name, "")
    for paragraph in doctree.findall(nodes.paragraph):
        inside = paragraph.parent
        if isinstance(inside, nodes.section) and len(paragraph.astext()) > 30:
            return shorten(in_letters(paragraph.astext()))
    return ""


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
            cells[i] = f"in-slider {cell}"
    return CELL.join([head, *cells])


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
    chapter, name = pagename.removeprefix("notebooks/").rpartition("/")[::2]
    bare = re.compile(rf"book/exercises/{chapter}/\d\d-{name}-exercises\.ipynb")
    offered = {
        next(
            filter(bare.fullmatch, app.env.dlfiles), ""
        ): "Notebook without solutions",
        f"book/exercises/{chapter}-exercises.zip": "Chapter without solutions",
    }
    return "".join(
        f'<a href="{path_to(f"_downloads/{app.env.dlfiles[file][1]}", resource=True)}" download>{text}</a>'
        for file, text in offered.items()
        if "" not in offered and file in app.env.dlfiles
    )


def run_button(app: Sphinx, pagename: str) -> str:
    """Return the button that starts Python on a page with code, which says what it will load (tools/live.py)."""
    path = Path(app.srcdir) / f"{pagename}.ipynb"
    if not pagename.startswith("notebooks/") or not live.LISTED.is_file():
        return ""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = "\n".join(
        "".join(c["source"]) for c in cells if c["cell_type"] == "code"
    )
    packages = live.packages_of(code)
    told = json.loads(live.LISTED.read_text(encoding="utf-8"))
    size = sum(told["core"].values()) + sum(
        told["packages"][name]["size"] for name in packages
    )
    needs = escape(json.dumps({"packages": packages}))
    return (
        f'<button class="run-page" type="button" data-live="{needs}">Run this page '
        f"<small>loads {size / 1e6:.0f} MB, once</small></button>"
    )


def preview(app: Sphinx, name: str, title: str, text: str) -> str:
    """Return what a link to the page shows where it is shared; addresses are whole once ``html_baseurl`` is set."""
    base = (app.config.html_baseurl or "").rstrip("/")
    home = f"{base}/" if base else "../" * name.count("/")
    chapter = name.removeprefix("notebooks/").split("/")[0]
    picture = f"{home}_static/{PREVIEWS.get(chapter, 'pages.png')}"
    told = {
        "type": "article",
        "site_name": app.config.html_title,
        "title": re.sub(r"<[^>]+>", "", title),
        "description": text,
        "image": picture,
        "url": f"{base}/{name}.html" if base else "",
    }
    return "".join(
        f'\n<meta property="og:{key}" content="{escape(unescape(value))}" />'
        for key, value in told.items()
        if value
    )


def report_link(app: Sphinx, name: str, path_to: Callable[..., str]) -> str:
    """Return the link for a reader who found an error: to the project's issues, or to what to write to whom."""
    # the path of a page to itself is a bare #
    home = path_to("book/contributing").removesuffix("#")
    place = f"{home}#report-an-erratum"
    if project := app.config.html_theme_options.get("repository_url", ""):
        words = quote(f"Error on {name}")
        place = f"{project.rstrip('/')}/issues/new?title={words}"
    return f'<p class="report"><a href="{escape(place)}">Report an error on this page</a></p>'


def complete(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Add the description, drop the second viewport, move the sliders' pictures to the end, offer the editions."""
    tags = re.sub(
        r'\s*<meta [^>]*name="viewport"[^>]*>', "", context.get("metatags", "")
    )
    if text := description(pagename, doctree):
        tags += f'\n<meta name="description" content="{escape(text)}" />'
    context["metatags"] = tags + preview(
        app, pagename, context.get("title", ""), text
    )
    if doctree is not None and "body" in context:
        context["body"] = offer_solutions(
            show_once(context["body"]),
            run_button(app, pagename)
            + editions(app, pagename, context["pathto"]),
        ) + report_link(app, pagename, context["pathto"])
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


def name_of_cell(cell: nodes.Element) -> str:
    """Return what a folded cell holds, in the words of a reader."""
    classes, output = set(cell["classes"]), cell.children[-1]
    for tag, name in (
        ("tag_check", "Check"),
        ("tag_solution", "Code of the solution"),
    ):
        if tag in classes:
            return name
    if SLIDER in {
        part.get("mime_type") for part in output.findall(nodes.container)
    }:
        return "Code of the slider"
    if next(output.findall(nodes.image), None) is not None:
        return "Code of the figure"
    code = cell.children[0].astext()
    has_output = output.get("nb_element") == "cell_code_output"
    return (
        "Imports"
        if re.match(r"(import|from) ", code) and not has_output
        else "Code"
    )


def name_folded_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Let the fold of a cell say what is inside."""
    for cell in doctree.findall(nodes.container):
        if "prompt_show" in cell:
            cell["prompt_show"] = cell["prompt_hide"] = name_of_cell(cell)


def add_addresses(app: Sphinx, config: Config) -> None:
    """Tell the theme where the project lives, which pyproject.toml says: buttons for issues, Binder and Colab."""
    file = Path(app.srcdir) / "pyproject.toml"
    told = tomllib.loads(file.read_text("utf-8")) if file.exists() else {}
    urls = told.get("project", {}).get("urls", {})
    config.html_baseurl = urls.get("Documentation", config.html_baseurl)
    if "Repository" in urls:
        services = {
            "binderhub_url": "https://mybinder.org",
            "colab_url": "https://colab.research.google.com",
        }
        config.html_theme_options |= {
            "repository_url": urls["Repository"],
            "repository_branch": "main",
            "use_issues_button": True,
            "launch_buttons": {"notebook_interface": "jupyterlab"} | services,
        }


def write_in_parallel(app: Sphinx, env: BuildEnvironment) -> None:
    """After reading, before writing: one process resolves references, the others write."""
    app.parallel = 1 + min(os.cpu_count() or 1, 4)


def carry(app: Sphinx, config: Any) -> None:
    """Let the site carry Python for the browser."""
    config.html_static_path = [
        *config.html_static_path,
        str(live.SITE.parent),
    ]


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write the sizes, once the pictures are in their place."""
    if exception or app.builder.name != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        new = say_sizes(text, page.parent)
        if new != text:
            page.write_text(new, encoding="utf-8")


def remove_solutions(app: Sphinx, doctree: nodes.document) -> None:
    """Remove the solutions of a page."""
    if app.config.companion_solutions:
        return
    for node in list(doctree.findall(lambda n: isinstance(n, nodes.Element))):
        ours = isinstance(node, solution_node) or CELLS & set(
            node.get("classes", [])
        )
        if ours and node.parent is not None:
            node.parent.remove(node)


def keep_sources_back(app: Sphinx, config: Config) -> None:
    """Offer no sources of the pages, which have the solutions."""
    if not config.companion_solutions:
        config.html_copy_source = False
        config.html_theme_options["use_download_button"] = False


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    # A document is millions of small objects, and almost none of them is garbage.
    gc.set_threshold(500_000, 20, 20)
    # For each citation pybtex would search all installed packages for its plain text.
    register_plugin("pybtex.backends", "plaintext", Backend)
    app.connect("config-inited", add_addresses)
    app.add_config_value("companion_solutions", WANTED, "env", bool)
    app.connect("config-inited", keep_sources_back)
    app.connect("doctree-read", remove_solutions, priority=300)
    app.connect("doctree-read", name_folded_cells)
    if live.LISTED.is_file():  # made by tools/live.py
        app.connect("config-inited", carry)
        app.add_js_file("live.js")
    app.connect("env-updated", write_in_parallel)
    app.connect("html-page-context", complete, priority=950)
    app.connect("build-finished", finish)
    return {
        "version": "1",
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
