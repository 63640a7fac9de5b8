"""The notebooks without their solutions, zips of the chapters and of the site, and the page of all downloads.

A solution is a directive, and a cell that goes on with it has the tag "solution". In the edition for exercises
nbconvert removes both, and an empty cell stands in their place. The choices of a question lose their marks and reasons.

``python -m tools.editions`` packs the built site: unpack it and open ``companion/index.html``.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
from nbconvert.preprocessors import TagRemovePreprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.map import parts
from tools.toc import BOOK, ROOT, title, write

EXERCISES = BOOK / "exercises"
SOLUTION = re.compile(
    r"^(?P<fence>`{3,})\{solution\}.*?^(?P=fence)[ \t]*\n?", re.MULTILINE | re.DOTALL
)
CHOICE = re.compile(r"^(- \[)[ x](\] .*?)\s+\*(?:Yes|No|Right|Only|Not)\b.*\*$", re.MULTILINE)
FILES = re.compile(r"(?P<quote>[\"'])\.\./\.\./(?!\.\./)")
BLANK = "# your solution\n"
ENVIRONMENT = ("pyproject.toml", "requirements.lock", "environment.yml", "README.md", "LICENSE")
RELEASE = {  # what other commands make of the whole project, and what it is
    "build/companion.pdf": "the book as one PDF",
    "build/companion.zip": "the site, to read from the disk: unpack it and open `index.html`",
}


SITE = ROOT / "build/_build/html"
SITE_ZIP = ROOT / "build/companion.zip"
LEFT_OUT = (".buildinfo", ".doctrees", "objects.inv", "companion.zip")


def read(page: str) -> NotebookNode:
    """Return the notebook of a page."""
    return nbformat.read(ROOT / f"{page}.ipynb", as_version=4)


def in_pieces(cell: NotebookNode) -> list[NotebookNode]:
    """Return a cell of text as cells: each solution in one of its own, with its tag and a place for the reader's."""
    pieces, end = [], 0
    for match in SOLUTION.finditer(cell.source):
        pieces.append(new_markdown_cell(cell.source[end : match.start()].strip()))
        pieces.append(new_markdown_cell(match[0], metadata={"tags": ["solution"]}))
        pieces.append(new_code_cell(BLANK))
        end = match.end()
    rest = new_markdown_cell(cell.source[end:].strip(), metadata=cell.metadata)
    return [piece for piece in (*pieces, rest) if piece.source]


def without_solutions(notebook: NotebookNode) -> NotebookNode:
    """Return a notebook in which the reader solves the exercises."""
    cells: list[NotebookNode] = []
    for cell in map(nbformat.from_dict, notebook.cells):
        if cell.cell_type == "markdown":
            cell.source = CHOICE.sub(r"\1 \2", cell.source)
            cells += in_pieces(cell)
        else:  # the edition lies one folder deeper than the page
            cell.source = FILES.sub(r"\g<quote>../../../", cell.source)
            cell.metadata.pop("jupyter", None)
            cells.append(cell)
    result = new_notebook(metadata=notebook.metadata, cells=cells)
    result, _ = TagRemovePreprocessor(remove_cell_tags={"solution"}).preprocess(result, {})
    for number, cell in enumerate(result.cells, 1):
        cell.id = f"c{number:03d}"
    for count, cell in enumerate((c for c in result.cells if c.cell_type == "code"), 1):
        cell.execution_count = count
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = count
    return result


def edition(page: str) -> Path:
    """Return the file of a page's edition for exercises."""
    return EXERCISES / f"{page.removeprefix('notebooks/')}-exercises.ipynb"


def has_solutions(page: str) -> bool:
    """Whether a page has solutions to leave out."""
    return any(SOLUTION.search(c.source) for c in read(page).cells if c.cell_type == "markdown")


def solved_pages() -> list[str]:
    """Return the pages with solutions, in reading order."""
    return [page for _, pages in parts() for page in pages if has_solutions(page)]


def chapters() -> dict[str, list[str]]:
    """Return the pages with solutions by their folder, one for each chapter."""
    found: dict[str, list[str]] = {}
    for page in solved_pages():
        found.setdefault(page.split("/")[1], []).append(page)
    return found


def contents() -> NotebookNode:
    """Return a notebook that leads to both editions of every page: JupyterLab opens on it."""
    lines = ["# Contents", "", "| Page | For exercises |", "|---|---|"]
    for page in solved_pages():
        bare = edition(page).relative_to(EXERCISES)
        lines.append(f"| [{title(page)}](../../{page}.ipynb) | [exercises]({bare}) |")
    return new_notebook(cells=[new_markdown_cell("\n".join(lines), id="c001")])


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


def write_editions() -> None:
    """Write the editions, their contents and a zip for each chapter; remove those of pages that are gone."""
    wanted = {edition(page): without_solutions(read(page)) for page in solved_pages()}
    wanted[EXERCISES / "contents.ipynb"] = contents()
    for path in EXERCISES.rglob("*.ipynb"):
        if path not in wanted:
            path.unlink()
    for path, notebook in wanted.items():
        write(path, nbformat.writes(notebook) + "\n")
    package = [
        p
        for p in sorted((ROOT / "companion").rglob("*"))
        if p.suffix in (".py", ".js", ".css", ".typed")
    ]
    package += [ROOT / name for name in ENVIRONMENT]
    for chapter, pages in chapters().items():
        notebooks = [file for page in pages for file in (ROOT / f"{page}.ipynb", edition(page))]
        pack(ROOT, EXERCISES / f"{chapter}.zip", [*package, *notebooks], f"companion-{chapter}")


def write_sdist() -> Path:
    """Build the source distribution of the package; return its file."""
    build = "from setuptools.build_meta import build_sdist; print(build_sdist('build'))"
    (ROOT / "build").mkdir(exist_ok=True)
    run = [sys.executable, "-c", build]
    told = subprocess.run(run, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return ROOT / "build" / told.split()[-1]


def offer(path: Path, name: str) -> str:
    """Return the link that downloads a file."""
    return f"{{download}}`{name} </{path.relative_to(ROOT).as_posix()}>`"


def downloads_page(sdist: Path) -> str:
    """Return the page that offers the book, the package, and every notebook with and without its solutions."""
    known = {name: what for name, what in RELEASE.items() if (ROOT / name).exists()}
    lines = [
        "(downloads)=",
        "# Downloads",
        "",
        *(f"- {offer(ROOT / name, Path(name).name)}: {what}" for name, what in known.items()),
        f"- {offer(sdist, sdist.name)}: the package alone, for `pip install`",
        "",
        "Every page is a notebook. The edition for exercises is the same notebook without the solutions and their",
        "checks, with an empty cell in their place, and without the answers to its questions. The zip of a chapter",
        "has both editions, the package and its environment: unpack it, and in its folder run",
        "",
        "```shell",
        "python -m venv .venv",
        ".venv/bin/python -m pip install --require-hashes -r requirements.lock",
        ".venv/bin/python -m pip install --no-deps --no-build-isolation -e .",
        ".venv/bin/jupyter lab",
        "```",
        "",
    ]
    offered = set()
    for caption, pages in parts():
        lines += [f"## {caption}", ""]
        for chapter in sorted({page.split("/")[1] for page in pages} & set(chapters()) - offered):
            offered.add(chapter)
            lines += [f"All in one: {offer(EXERCISES / f'{chapter}.zip', f'{chapter}.zip')}.", ""]
        lines += [":::{table}", ":class: stacked", ""]
        lines += ["| Page | With solutions | For exercises |", "|---|---|---|"]
        for page in pages:
            bare = offer(edition(page), "exercises") if has_solutions(page) else "–"
            full = offer(ROOT / f"{page}.ipynb", "notebook")
            lines.append(f"| [{title(page)}](../{page}.ipynb) | {full} | {bare} |")
        lines += [":::", ""]
    return "\n".join(lines)


def main() -> None:
    """Pack the built site."""
    if not (SITE / "index.html").exists():
        sys.exit("the site is not built: run make book first")
    files = files_of(SITE)
    pack(SITE, SITE_ZIP, files, "companion")
    size = SITE_ZIP.stat().st_size / 1e6
    print(f"{SITE_ZIP.relative_to(ROOT)}: {len(files)} files, {size:.1f} MB")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
