"""Pack the built site into a zip that works from the disk: unpack it and open ``companion/index.html``."""

from __future__ import annotations

import argparse
import sys
import zipfile
from pathlib import Path

from tools.toc import ROOT

SITE = ROOT / "build/_build/html"
TARGET = ROOT / "build/companion.zip"
LEFT_OUT = (".buildinfo", ".doctrees", "objects.inv")


def pack(site: Path, target: Path) -> int:
    """Write the zip; return the number of files. Equal sites give equal bytes."""
    files = sorted(
        path for path in site.rglob("*") if path.is_file() and not set(LEFT_OUT) & set(path.parts)
    )
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path in files:
            entry = zipfile.ZipInfo(
                f"companion/{path.relative_to(site).as_posix()}", (2020, 1, 1, 0, 0, 0)
            )
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
    return len(files)


def main() -> None:
    """Pack the built site."""
    if not (SITE / "index.html").exists():
        sys.exit("the site is not built: run make book first")
    count = pack(SITE, TARGET)
    print(f"{TARGET.relative_to(ROOT)}: {count} files, {TARGET.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
