"""What is done to a page when it is written: it says what it is, opens quickly, and offers its other editions.

Templates (``book/_templates``) write the head, with the page's first paragraph as its description, the links below the
title, and how to report an error. The pictures of the sliders, megabytes of text, are moved from the head to the end: the
reader sees the text first.

Every picture says its size, and the button for all solutions has its place, so that the text stands still while pictures
and scripts arrive. Pictures wait until the reader comes near. A picture of several panels says
where it may be cut (`companion.figures.pictures`): on a phone a script puts them one below the other.

``make book SOLUTIONS=0`` builds the edition without solutions: they, the cells that go on with them (tag "solution"), and
those of checks, which know the answers (tag "check"), are left out before anything is made of a page.

Several processes write. Sphinx's ``-j``, for which Jupyter Book has no option, would warn and so fail: the extension that
numbers Jupyter Book's chapters does not say whether several may read.

sphinxext-opengraph would write the descriptions, with the formulas as TeX; no extension writes sizes of pictures, moves
the sliders' state to the end, or offers a page's editions.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from PIL import Image
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

from letters import in_letters

sys.path.insert(0, str(Path(__file__).parents[2]))
from tools import exercises, live
from tools.editions import SOLVED, edited, edition, solves, zip_of
from tools.toc import ROOT, code_cells, live_pages, project, read

STATE = "application/vnd.jupyter.widget-state+json"
LAUNCH = {
    "notebook_interface": "jupyterlab",
    "binderhub_url": "https://mybinder.org",
    "colab_url": "https://colab.research.google.com",
}
SLIDER = "application/vnd.jupyter.widget-view+json"
KNOWS = {"solution", "check"}  # tags of cells that know an answer


def description(doctree: nodes.document | None) -> str:
    """Return the description of a page: its first paragraph that says something, as long as search engines show it."""
    for paragraph in doctree.findall(nodes.paragraph) if doctree else ():
        inside = paragraph.parent
        if isinstance(inside, nodes.section) and len(paragraph.astext()) > 30:
            return textwrap.shorten(in_letters(paragraph.astext()), 160, placeholder=" …")
    return ""


def picture(self: Any, node: nodes.image) -> None:
    """Write a picture with its width and height, and where it may be cut into panels."""
    file = Path(self.builder.srcdir, node["uri"])
    type(self).visit_image(self, node)  # which changes its address
    if file.suffix == ".png":
        with Image.open(file) as opened:
            width, height = opened.size
            panels = opened.info.get("panels", "").partition(";")[0]
        cuts = f'data-panels="{panels}" ' if panels else ""
        said = f'<img width="{width}" height="{height}" {cuts}'
        self.body[-1] = self.body[-1].replace("<img ", said, 1)


def editions(app: Sphinx, pagename: str) -> list[tuple[str, str]]:
    """Return what offers a page's notebook without solutions and the zip of all such, and where they are."""
    if not edited().get(pagename):
        return []
    offered = {
        "Notebook without solutions": edition(pagename),
        "All notebooks without solutions": zip_of("-exercises"),
    }
    files = app.env.dlfiles
    names = {text: path.relative_to(ROOT).as_posix() for text, path in offered.items()}
    return [(text, f"_downloads/{files[name][1]}") for text, name in names.items() if name in files]


def live_needs(app: Sphinx, pagename: str) -> dict[str, Any]:
    """Return what a page with code needs where it is read: packages, cells, skeletons, megabytes (tools/live.py)."""
    if pagename not in live_pages() or not live.LISTED.is_file():
        return {}
    hidden = set() if app.config.companion_solutions else KNOWS
    code = [cell for cell in code_cells(pagename) if not hidden & {*cell.metadata.get("tags", [])}]
    packages = live.packages_of("\n".join(c.source for c in code))
    files = json.loads(live.LISTED.read_text(encoding="utf-8"))
    size = sum(files["core"].values()) + sum(files["packages"][name] for name in packages)
    found = exercises.exercises_in(read(pagename), pagename)
    skeletons = {e.label: exercises.skeleton(e.check) for e in found if e.check}
    needs = {"packages": packages, "cells": [c.id for c in code], "skeletons": skeletons}
    return {"told": json.dumps(needs), "megabytes": round(size / 1e6)}


def complete(
    app: Sphinx, pagename: str, _: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Tell the templates what they need; move the sliders' pictures to the end."""
    context["description"] = description(doctree)
    if doctree is None:
        return
    context["live"] = live_needs(app, pagename)
    context["editions"] = editions(app, pagename)
    scripts = context["script_files"]
    late = [s for s in scripts if getattr(s, "attributes", {}).get("type") == STATE]
    context["script_files"] = [script for script in scripts if script not in late]
    context["states"] = "".join(
        f'<script type="{STATE}">{script.attributes["body"]}</script>' for script in late
    )


def name_folded_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Let the fold of a cell say what is inside."""
    for cell in (node for node in doctree.findall(nodes.container) if "prompt_show" in node):
        classes, output = set(cell["classes"]), cell.children[-1]
        kinds = {part.get("mime_type") for part in output.findall(nodes.container)}
        shown = output.get("nb_element") == "cell_code_output"
        names = {
            "Check": "tag_check" in classes,
            "Code of the solution": "tag_solution" in classes,
            "Code of the slider": SLIDER in kinds,
            "Code of the figure": next(output.findall(nodes.image), None) is not None,
            "Imports": not shown and re.match(r"(import|from) ", cell.children[0].astext()),
            "Code": True,
        }
        cell["prompt_show"] = cell["prompt_hide"] = next(name for name in names if names[name])


def add_addresses(app: Sphinx, config: Config) -> None:
    """Tell the theme where the project lives, which pyproject.toml says: buttons for issues, Binder and Colab."""
    urls = project().get("urls", {})
    config.templates_path.append(str(Path(__file__).parents[1] / "_templates"))
    config.html_copy_source = False  # sources have solutions: the pages offer their editions
    config.html_baseurl = urls.get("Documentation", config.html_baseurl)
    if "Repository" in urls:
        options = {"repository_url": urls["Repository"], "repository_branch": "main"}
        config.html_theme_options |= options | {"use_issues_button": True, "launch_buttons": LAUNCH}
    if live.LISTED.is_file():  # made by tools/live.py: Python for the browser
        config.html_static_path = [*config.html_static_path, str(live.SITE.parent)]
        config.html_js_files = [*config.html_js_files, ("live.js", {"defer": "defer"})]


def write_in_parallel(app: Sphinx, env: BuildEnvironment) -> None:
    """After reading, before writing: one process resolves references, the others write; pictures wait for the reader."""
    env.settings["image_loading"] = "lazy"
    app.parallel = 1 + min(os.cpu_count() or 1, 4)


def leave_out_texts(app: Sphinx, docname: str, source: list[str]) -> None:
    """Leave out solutions, and the texts that go on with one: in the document a cell of text has no tags."""
    if app.config.companion_solutions or Path(app.env.doc2path(docname)).suffix != ".ipynb":
        return
    notebook = nbformat.reads(source[0], as_version=4)
    notebook.cells = [c for c in notebook.cells if c.cell_type == "code" or not solves(c)]
    source[0] = nbformat.writes(notebook)


def leave_out_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Leave out the code of solutions and checks; earlier, the cache would miss it."""
    for cell in list(doctree.findall(nodes.container)):
        if not app.config.companion_solutions and {f"tag_{t}" for t in KNOWS} & {*cell["classes"]}:
            cell.parent.remove(cell)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    # A document is millions of small objects, and almost none of them is garbage.
    gc.set_threshold(500_000, 20, 20)
    app.connect("config-inited", add_addresses)
    app.add_config_value("companion_solutions", SOLVED, "env", bool)
    app.connect("source-read", leave_out_texts)
    app.connect("doctree-read", leave_out_cells, priority=300)
    app.connect("doctree-read", name_folded_cells)
    app.connect("env-updated", write_in_parallel)
    app.connect("html-page-context", complete, priority=950)
    app.add_node(nodes.image, override=True, html=(picture, lambda *_: None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
