"""Write what is made from data: concordance, errata, map, downloads, state, API reference, names for the search.

``python -m tools.pages`` runs before every build of the book. These pages are not committed.

The map says which page needs which, how long each takes, and has paths through them. All is read from the own box of a
page, *About this page*: the links after **Needs**, the minutes after **Takes**. The boxes of the chapters are drawn by
hand in the template, and a test compares them: ``sphinx.ext.graphviz`` needs a program that pip does not install, and
Mermaid a megabyte of script.
"""

from __future__ import annotations

import argparse
import posixpath
import re
from itertools import chain
from typing import Any

from tools.concordance import concordance_page, errata_page, load_concordance
from tools.editions import build_package, downloads_page, write_editions
from tools.exercises import table
from tools.items import write_items
from tools.reference import reference_pages
from tools.status import status_page
from tools.toc import BOOK, parts, read_yaml, render, text_of, title, write


def pages_on_the_map() -> dict[str, dict[str, Any]]:
    """Return all chapter pages in reading order, each with what it says of itself."""
    found = {}
    for path in chain(*(pages for _, pages in parts())):
        told = re.search(r"(?s)\*\*Needs\*\*(.*?)\*\*Takes\*\* ([^.\n]+)", text_of(path))
        words, takes = map(str.strip, told.groups())
        links = re.findall(r"\]\(([\w./-]+)\.ipynb\)", words)
        needs = [posixpath.normpath(f"{path}/../{link}") for link in links]
        minutes = int("0" + "".join(re.findall(r"(\d+) minutes", takes)))
        about = {"path": path, "name": title(path), "needs": needs}
        found[path] = about | {"words": words, "takes": takes, "minutes": minutes}
    return found


def map_page() -> str:
    """Return the page with the chapters, the paths and the table of what needs what."""
    shown, paths = pages_on_the_map(), read_yaml(BOOK / "paths.yml")
    for path in paths.values():
        path["stops"] = [shown[stop] for stop in path["stops"]]
    return render("map.md", parts=parts(), shown=shown, paths=paths)


def main() -> None:
    """Write all generated pages; then what names them, in the first build as well."""
    sdist, wheel = build_package()
    write(BOOK / "concordance.md", concordance_page(load_concordance()))
    write(BOOK / "errata.md", errata_page())
    write(BOOK / "map.md", map_page())
    write(BOOK / "_generated" / "exercises.md", table())
    write(BOOK / "downloads.md", downloads_page(sdist, wheel))
    for name, text in reference_pages().items():
        write(BOOK / "api" / f"{name}.md", text)
    text_of.cache_clear()
    write(BOOK / "status.md", status_page())
    write_items()
    write_editions(wheel)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
