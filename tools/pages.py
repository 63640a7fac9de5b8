"""Write what is made from data: concordance, errata, map, downloads, state, API reference, names for the search.

``python -m tools.pages`` runs before every build of the book. These pages are not committed.
"""

from __future__ import annotations

import argparse

from tools.concordance import concordance_page, errata_page, load_concordance
from tools.editions import build_package, downloads_page, write_editions
from tools.exercises import table
from tools.items import write_items
from tools.map import map_page
from tools.reference import write_reference
from tools.status import status_page
from tools.toc import BOOK, write


def main() -> None:
    """Write all generated pages."""
    write(BOOK / "concordance.md", concordance_page(load_concordance()))
    write_items()
    write(BOOK / "errata.md", errata_page())
    write(BOOK / "map.md", map_page())
    write(BOOK / "_generated" / "exercises.md", table())
    sdist, wheel = build_package()
    write_editions(wheel)
    write(BOOK / "downloads.md", downloads_page(sdist, wheel))
    write(BOOK / "status.md", status_page())
    write_reference()


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
