"""The edition without solutions: ``make book SOLUTIONS=0`` leaves them out of the pages, the search and the downloads.

A solution is a directive; the cells that go on with it have the tag "solution", and the cells of checks, which know the
answers, the tag "check". They are removed before anything is made of a page. The marks of a question's choices stay: a
reason without its choice would say nothing.
"""

from __future__ import annotations

import os
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx_exercise.nodes import solution_node

WANTED = os.environ.get("COMPANION_SOLUTIONS", "1") != "0"
CELLS = {"tag_solution", "tag_check"}


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
    app.add_config_value("companion_solutions", WANTED, "env", bool)
    app.connect("config-inited", keep_sources_back)
    app.connect("doctree-read", remove_solutions, priority=300)
    return {
        "version": "1",
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
