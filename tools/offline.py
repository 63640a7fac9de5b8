"""Pack the built site into a zip that works from the disk: unpack it and open ``companion/index.html``."""

from __future__ import annotations

import argparse
import sys
import zipfile
from pathlib import Path

from tools.toc import ROOT

SITE = ROOT / "build/_build/html"
TARGET = ROOT / "build/companion.zip"
LEFT_OUT = (".buildinfo", ".doctrees", "objects.inv", "companion.zip")


def pack(folder: Path, target: Path, files: list[Path], inside: str) -> None:
    """Write files of a folder to a zip, in a folder of its own. Equal files give equal bytes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path in files:
            name = f"{inside}/{path.relative_to(folder).as_posix()}"
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())


def files_of(site: Path) -> list[Path]:
    """Return the files of a site that a reader needs."""
    files = sorted(path for path in site.rglob("*") if path.is_file())
    return [path for path in files if not set(LEFT_OUT) & set(path.parts)]


def main() -> None:
    """Pack the built site."""
    if not (SITE / "index.html").exists():
        sys.exit("the site is not built: run make book first")
    files = files_of(SITE)
    pack(SITE, TARGET, files, "companion")
    print(f"{TARGET.relative_to(ROOT)}: {len(files)} files, {TARGET.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
