"""Refresh the JavaScript that the site serves itself.

Run ``python tools/vendor.py`` after changing a version below. It needs ``npm`` (which checks the
integrity of what it fetches) and rewrites ``book/_static/vendor`` with its ``manifest.json``.
Nobody needs it to build the book: the files are committed.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

VENDOR = Path(__file__).resolve().parents[1] / "book" / "_static" / "vendor"


@dataclass(frozen=True)
class Package:
    """One npm package: what to take from it and where to put it.

    ``take`` maps a pattern inside the package to the folder that receives what follows ``strip``.
    """

    name: str
    version: str
    licence: str
    folder: str
    strip: str
    take: tuple[str, ...]


PACKAGES = (
    Package(
        "mathjax",
        "3.2.2",
        "Apache-2.0",
        "mathjax",
        "es5",
        (
            "LICENSE",
            "es5/startup.js",
            "es5/core.js",
            "es5/input/tex.js",
            "es5/input/tex/extensions/*.js",
            "es5/output/svg.js",  # outlines, not fonts: browsers load no fonts for a page from the disk
            "es5/output/svg/fonts/tex.js",
            "es5/a11y/assistive-mml.js",  # for screen readers; the menu weighs as much as all of TeX's syntax
        ),
    ),
)


def fetch(package: Package, into: Path) -> Path:
    """Fetch and unpack one package with npm; return its folder."""
    subprocess.run(
        ["npm", "pack", "--silent", f"{package.name}@{package.version}"], cwd=into, check=True
    )
    (archive,) = into.glob("*.tgz")
    with tarfile.open(archive) as tar:
        tar.extractall(into, filter="data")
    return into / "package"


def copy(package: Package, source: Path, target: Path) -> None:
    """Copy the wanted files, and fail when a pattern matches nothing."""
    names = [p.relative_to(source).as_posix() for p in sorted(source.rglob("*")) if p.is_file()]
    for pattern in package.take:
        hits = fnmatch.filter(names, pattern)
        if not hits:
            raise FileNotFoundError(f"{package.name} {package.version} has no file {pattern}")
        for name in hits:
            path = PurePosixPath(name)
            inside = path.is_relative_to(package.strip)
            to = target / (path.relative_to(package.strip) if inside else path)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, to)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    """Fetch every package and write the manifest."""
    shutil.rmtree(VENDOR, ignore_errors=True)
    manifest = []
    for package in PACKAGES:
        target = VENDOR / package.folder
        target.mkdir(parents=True)
        with tempfile.TemporaryDirectory() as scratch:
            copy(package, fetch(package, Path(scratch)), target)
        files = {
            p.relative_to(VENDOR).as_posix(): sha256(p)
            for p in sorted(target.rglob("*"))
            if p.is_file()
        }
        manifest.append(
            {
                "name": package.name,
                "version": package.version,
                "licence": package.licence,
                "files": files,
            }
        )
        print(f"{package.name} {package.version}: {len(files)} files")
    text = json.dumps({"packages": manifest}, indent=1) + "\n"
    (VENDOR / "manifest.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
