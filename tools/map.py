"""The map of the book: which page needs which, how long each takes, and paths through them.

Everything is read from the pages' own box *About this page*: the links after **Needs**, the minutes after **Takes**.
The few boxes of the chapters are drawn by hand in the template, and a test compares them: ``sphinx.ext.graphviz``
needs a program that pip does not install, and Mermaid a megabyte of script.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

from tools.toc import BOOK, listed, read_yaml, render, text_of, title


def parts() -> list[tuple[str, list[str]]]:
    """Return the parts of the table of contents that hold chapter pages: caption and pages."""
    found = []
    for part in listed()["parts"]:
        pages = [entry["file"] for entry in part["chapters"]]
        chapter = [p for p in pages if "**Needs**" in text_of(p) and "/about/" not in p]
        if chapter:
            found.append((part["caption"], chapter))
    return found


def pages_on_the_map() -> dict[str, dict[str, Any]]:
    """Return all chapter pages in reading order, each with its part and what it says of itself."""
    found = {}
    for column, (_, paths) in enumerate(parts()):
        for path in paths:
            told = re.search(r"(?s)\*\*Needs\*\*(.*?)\*\*Takes\*\* ([^.\n]+)", text_of(path))
            words, takes = map(str.strip, told.groups())
            links = re.findall(r"\]\(([\w./-]+)\.ipynb\)", words)
            needs = [posixpath.normpath(f"{path}/../{link}") for link in links]
            minutes = int("0" + "".join(re.findall(r"(\d+) minutes", takes)))
            about = {"path": path, "name": title(path), "column": column, "needs": needs}
            found[path] = about | {"words": words, "takes": takes, "minutes": minutes}
    return found


def map_page() -> str:
    """Return the page with the chapters, the paths and the table of what needs what."""
    shown, paths = pages_on_the_map(), read_yaml(BOOK / "paths.yml")
    for path in paths.values():
        path["stops"] = [shown[stop] for stop in path["stops"]]
    groups = [(caption, [shown[page] for page in pages]) for caption, pages in parts()]
    return render("map.md", parts=groups, shown=shown, paths=paths)
