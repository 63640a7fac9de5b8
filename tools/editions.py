"""The notebooks without their solutions, zips of the chapters and of the site, and the page of all downloads.

A solution is a directive, and a cell that goes on with it has the tag "solution". In the edition for exercises
nbconvert removes both; in their place stand a skeleton and the call of the check, or a cell of text for a proof.

Both editions are made for JupyterLab, whose extension for MyST numbers every box anew and knows no labels of other
pages: boxes become admonitions with the headings of the site, links lead to files, and each choice of a question has
its reason behind a fold.

``python -m tools.editions`` packs the built site: unpack it and open ``companion/index.html``.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from base64 import b64encode
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from pathlib import Path

import nbformat
from nbconvert.preprocessors import ClearOutputPreprocessor, TagRemovePreprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.exercises import asked, is_check, skeleton
from tools.live import pack
from tools.map import parts
from tools.notebooks import METADATA
from tools.toc import BOOK, ROOT, pages_in_order, render, text_of, title, write

EXERCISES = BOOK / "exercises"
SOLUTION = re.compile(
    r"^(?P<fence>`{3,})\{solution\}.*?^(?P=fence)[ \t]*\n?", re.MULTILINE | re.DOTALL
)
EXERCISE = re.compile(r"^(?:`{3,}|:{3,})\{exercise\}", re.MULTILINE)
QUESTION = re.compile(
    r"^(?P<fence>`{3,}|:{3,})\{admonition\} Question\n:class: question\n(?P<body>.*?)^(?P=fence)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
CHOICE = re.compile(r"^- \[[ x]\] (?P<choice>.*?)\s+\*(?P<reason>(?:Yes|No)\b.*)\*$", re.MULTILINE)
FILES = re.compile(r"(?P<quote>[\"'])\.\./\.\./(?!\.\./)")
FILES_HERE = re.compile(r"(?P<quote>[\"'])(?:\.\./)+(?=benchmarks/)")
ANSWER = "*Your answer:*"
MADE = "made_as"  # in the metadata of an edition: the digest of what was written
LABEL = re.compile(r"^(?:\(([\w.-]+)\)=|:(?:label|name): ([\w.-]+))[ \t]*$", re.MULTILINE)
LINK = re.compile(
    r"(?<!!)\[(?P<text>[^]]*)\]\((?P<path>[\w./-]+\.(?:ipynb|md))?(?:#(?P<label>[\w.-]+))?\)"
)
BOX = re.compile(r"^(?P<fence>`{3,}|:{3,})\{(?P<kind>prf:\w+|exercise|solution)\}(?P<title>.*)$")
HEADING = re.compile(r"^(#+) (.+)$")
PROBLEM = re.compile(r"Problem (?:[A-Z]\.)?\d+(?:\.\d+)*")
INSTALL = """\
# Where this import fails, run in a cell: %pip install "optimization-companion[lab]"
# (`pip install companion` is another project.)
import companion
"""
PACKAGE = (  # what the package is built from: MANIFEST.in chooses
    "companion", "tests", "benchmarks", "conftest.py", "pyproject.toml", "MANIFEST.in",
    "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff",
)  # fmt: skip
RELEASE = {  # what other commands make of the whole project, and what it is
    "build/companion.pdf": "the book as one PDF",
    "build/companion.zip": "the site, to read from the disk: unpack it and open `index.html`",
}


SOLVED = os.environ.get("COMPANION_SOLUTIONS", "1") != "0"  # make book SOLUTIONS=0

SITE = ROOT / "build/_build/html"
SITE_ZIP = ROOT / "build/companion.zip"
OUT_OF_ZIP = {".buildinfo", ".doctrees", "objects.inv", "companion.zip", "companion.pdf", "live"}


def read(page: str) -> NotebookNode:
    """Return the notebook of a page."""
    return nbformat.read(ROOT / f"{page}.ipynb", as_version=4)


def in_pieces(cell: NotebookNode) -> list[NotebookNode]:
    """Return a cell of text as cells: each solution in one of its own, with its tag."""
    pieces, end = [], 0
    for match in SOLUTION.finditer(cell.source):
        pieces.append(new_markdown_cell(cell.source[end : match.start()].strip()))
        pieces.append(new_markdown_cell(match[0], metadata={"tags": ["solution"]}))
        end = match.end()
    rest = new_markdown_cell(cell.source[end:].strip(), metadata=cell.metadata)
    return [piece for piece in (*pieces, rest) if piece.source]


def to_check(cell: NotebookNode) -> list[NotebookNode]:
    """Return what a reader fills in, and the check that is called on it."""
    name, names = asked(cell.source)
    source = f"{cell.source}\n\n\n{name}({', '.join(names)})"
    metadata = {"tags": ["hide-input", "check"], "jupyter": {"source_hidden": True}}
    return [new_code_cell(skeleton(cell)), new_code_cell(source, metadata=metadata)]


def without_solutions(notebook: NotebookNode) -> NotebookNode:
    """Return a notebook in which the reader solves the exercises: a skeleton and its check, or a place for a proof."""
    cells: list[NotebookNode] = []
    waiting = False  # an exercise has no place for its answer yet
    for cell in map(nbformat.from_dict, notebook.cells):
        if cell.cell_type == "markdown":
            for piece in in_pieces(cell):
                solves = "solution" in piece.metadata.get("tags", [])
                cells.append(piece)
                if solves and waiting:
                    cells.append(new_markdown_cell(ANSWER))
                waiting = not solves and (waiting or bool(EXERCISE.search(piece.source)))
        elif is_check(cell):
            cells += to_check(cell)
            waiting = False
        else:  # the edition lies one folder deeper than the page
            cell.source = FILES.sub(r"\g<quote>../../../", cell.source)
            cell.metadata.pop("jupyter", None)
            cells.append(cell)
    result = new_notebook(metadata=notebook.metadata, cells=cells)
    # who solves runs the cells: their outputs would be half of the site's zip
    for work in (TagRemovePreprocessor(remove_cell_tags={"solution"}), ClearOutputPreprocessor()):
        result, _ = work.preprocess(result, {})
    for number, cell in enumerate(result.cells, 1):
        cell.id = f"c{number:03d}"
    return result


def complete(notebook: NotebookNode) -> NotebookNode:
    """Return a notebook as it is, for the folder of the editions, which is one deeper than the page's."""
    cells = [nbformat.from_dict(cell) for cell in notebook.cells]
    for cell in cells:
        if cell.cell_type == "code":
            cell.source = FILES.sub(r"\g<quote>../../../", cell.source)
    return new_notebook(metadata=notebook.metadata, cells=cells)


@cache
def home_of_labels() -> dict[str, str]:
    """Return the page of each label."""
    pages = pages_in_order()
    return {a or b: page for page in pages for a, b in LABEL.findall(text_of(page))}


def in_lab(target: str, page: str) -> str:
    """Return the way from the edition of a page to another page: to its edition, or else to the page itself."""
    source = next(p for p in (ROOT / f"{target}.ipynb", ROOT / f"{target}.md") if p.exists())
    file = edition(target, "") if target in solved_pages() else source
    return Path(os.path.relpath(file, edition(page).parent)).as_posix()


def with_links(text: str, page: str, way: Callable[[str, str], str | None] = in_lab) -> str:
    """Return a text of a page with links to files, as JupyterLab follows them, where it has labels of other pages.

    ``way`` leads from the page to another one; where it knows none, the words stay.
    """

    def link(match: re.Match[str]) -> str:
        path, label = match["path"], match["label"]
        if path:
            target = os.path.normpath(f"{page}/../{path}").rpartition(".")[0]
        else:
            target = home_of_labels().get(label or "", page)
        if target == page:
            return match[0]
        words = match["text"] or title(target) or target
        place = way(target, page)
        return f"[{words}]({place}{f'#{label}' if label else ''})" if place else words

    return LINK.sub(link, text)


def with_folds(question: re.Match[str]) -> str:
    """Return a question whose choices have letters, and under it what each choice is answered, folded."""
    reasons = []

    def lettered(match: re.Match[str]) -> str:
        letter = "ABCD"[len(reasons)]
        reasons.append(
            f"```{{admonition}} If you choose {letter}\n:class: dropdown\n\n{match['reason']}\n```"
        )
        return f"- **{letter}.** {match['choice']}"

    body = CHOICE.sub(lettered, question["body"])
    return "\n\n".join([f"```{{admonition}} Question\n{body}```", *reasons])


class Boxes:
    """The boxes of a page as admonitions with the headings of the site: JupyterLab numbers all others anew."""

    def __init__(self) -> None:
        self.above: list[tuple[int, str]] = []  # the headings above, with their levels
        self.names: dict[str, str] = {}
        self.count = 0

    def name_exercise(self, label: str) -> str:
        """Return the problem in whose section an exercise stands, or its number on the page."""
        found = [match[0] for _, heading in self.above if (match := PROBLEM.match(heading))]
        self.count += not found
        name = found[-1] if found else f"Exercise {self.count}"
        self.names[label] = name
        return name

    def heading(self, kind: str, words: str, label: str) -> str:
        """Return what heads a box."""
        if kind == "exercise":
            return self.name_exercise(label)
        if kind == "solution":
            return f"Solution to {self.names.get(words, 'the exercise')}"
        kind = kind.removeprefix("prf:").title()
        if not words or re.search(rf"\b{kind} (?:[A-Z]\.)?\d", words):
            return words or kind
        return f"{kind} {words}" if words[0].isdigit() else f"{kind}: {words}"

    def rewrite(self, text: str) -> str:
        """Return a text with admonitions for its boxes."""
        lines = text.splitlines()
        for i, line in enumerate(lines):
            if match := HEADING.match(line):
                level = len(match[1])
                self.above = [(n, h) for n, h in self.above if n < level] + [(level, match[2])]
            elif match := BOX.match(line):
                label = LABEL.match(lines[i + 1]) if i + 1 < len(lines) else None
                name = self.heading(
                    match["kind"], match["title"].strip(), label[2] if label else ""
                )
                lines[i] = f"{match['fence']}{{admonition}} {name}"
        kept = [line for line in lines if not re.fullmatch(r":nonumber:\s*", line)]
        text = "\n".join(kept)
        for label, name in self.names.items():
            text = text.replace(f"[](#{label})", f"[{name}](#{label})")
        return text


def for_jupyterlab(
    notebook: NotebookNode, page: str, way: Callable[[str, str], str | None] = in_lab
) -> NotebookNode:
    """Return a notebook whose boxes and links JupyterLab shows as the site does."""
    boxes = Boxes()
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            text = QUESTION.sub(with_folds, cell.source)
            cell.source = with_links(boxes.rewrite(text), page, way)
    return notebook


def to_take_away(notebook: NotebookNode) -> NotebookNode:
    """Return a notebook with a first cell that says what to install."""
    notebook.cells.insert(0, new_code_cell(INSTALL, id="install"))
    return notebook


def edition(page: str, kind: str = "-exercises") -> Path:
    """Return the file of a page's edition, for exercises or complete (kind ""); numbers give the order of the book."""
    folder, name = page.removeprefix("notebooks/").split("/")
    place = [p for p in pages_in_order() if p.startswith(f"notebooks/{folder}/")].index(page) + 1
    return EXERCISES / folder / f"{place:02d}-{name}{kind}.ipynb"


def has_solutions(page: str) -> bool:
    """Whether a page has solutions to leave out."""
    return any(SOLUTION.search(c.source) for c in read(page).cells if c.cell_type == "markdown")


@cache
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
    rows = [(caption, [p for p in pages if p in solved_pages()]) for caption, pages in parts()]

    def row(page: str) -> tuple[str | None, Path, Path]:
        full, bare = (edition(page, kind).relative_to(EXERCISES) for kind in ("", "-exercises"))
        return title(page), full, bare

    text = render("contents.md", parts=[(caption, map(row, pages)) for caption, pages in rows])
    # without a kernel named, JupyterLab would ask for one
    return new_notebook(
        metadata=METADATA, cells=[new_markdown_cell(text.rstrip() + "\n", id="c001")]
    )


def pack_site(site: Path, target: Path, live: bool = False) -> int:
    """Pack what a reader needs of a site, without the files that run its pages in the browser, or with them.

    From the disk a browser loads scripts only: each of these files is packed as one, in base64.
    """
    files = {
        path.relative_to(site): path.read_bytes()
        for path in sorted(site.rglob("*"))
        if path.is_file() and not OUT_OF_ZIP & set(path.relative_to(site).parts)
    }
    for path in sorted((site / "_static/live").glob("*")) if live else ():
        data = b64encode(path.read_bytes())
        script = b'companionCarries("%s", "%s");\n' % (path.name.encode(), data)
        files[path.relative_to(site).with_name(f"{path.name}.js")] = script
    button = rb'(<button class="run-page")(.*?</button>)'
    for path in (path for path in files if path.suffix == ".html"):
        files[path] = re.sub(button, rb"\1 data-scripts\2" if live else b"", files[path])
    pack({f"companion/{path.as_posix()}": data for path, data in files.items()}, target)
    return len(files)


def digest(notebook: NotebookNode) -> str:
    """Return a fingerprint of what a reader may change: the sources of the cells."""
    return hashlib.sha256("\0".join(c.source.strip() for c in notebook.cells).encode()).hexdigest()


def is_ours(path: Path) -> bool:
    """Whether an edition is as it was made. One that a reader wrote into, or put there, is not."""
    found = nbformat.read(path, as_version=4)
    return found.metadata.get(MADE) == digest(found)


def store(wanted: dict[Path, NotebookNode], folder: Path) -> list[Path]:
    """Write notebooks to a folder, remove those of pages that are gone; return what stays as a reader left it."""
    there = set(folder.rglob("*.ipynb"))
    theirs = {path for path in there if not is_ours(path)}
    for path in there - set(wanted) - theirs:
        path.unlink()
    for path in set(wanted) - theirs:
        wanted[path].metadata[MADE] = digest(wanted[path])
        write(path, nbformat.writes(wanted[path]) + "\n")
    return sorted(theirs)


def write_editions() -> None:
    """Write the editions, and their contents."""
    wanted = {}
    for page in solved_pages():
        wanted[edition(page)] = to_take_away(for_jupyterlab(without_solutions(read(page)), page))
        wanted[edition(page, "")] = to_take_away(for_jupyterlab(complete(read(page)), page))
    wanted[EXERCISES / "contents.ipynb"] = contents()
    for path in store(wanted, EXERCISES):
        print(f"{path.relative_to(ROOT)} stays as you left it")


def zip_of(chapter: str, kind: str) -> Path:
    """Return the zip of a chapter: for exercises, or with solutions (kind "")."""
    return EXERCISES / f"{chapter}{kind or '-with-solutions'}.zip"


def errata_of_chapter(chapter: str) -> list[str]:
    """Return the pages of errata that the pages of a chapter link."""
    text = "\n".join(text_of(page) for page in chapters()[chapter])
    homes = {home_of_labels().get(label) for label in re.findall(r"#(err-[\w-]+)", text)}
    return [page for page in pages_in_order() if page in homes]


def write_zips(wheel: Path) -> None:
    """Write two zips for each chapter, one without solutions; nothing in them leads out of their folder."""
    EXERCISES.mkdir(parents=True, exist_ok=True)
    for (chapter, pages), kind in product(chapters().items(), ("", "-exercises")):
        errata = errata_of_chapter(chapter)
        names = {page: edition(page, kind).name for page in pages}
        names |= {page: f"errata-{page.rpartition('/')[2]}.ipynb" for page in errata}
        files = {
            "LICENSE": (ROOT / "LICENSE").read_bytes(),
            "requirements.txt": (ROOT / "notebooks/requirements.txt").read_bytes(),
            wheel.name: wheel.read_bytes(),
        }
        for page, name in names.items():
            notebook = without_solutions(read(page)) if kind and page in pages else read(page)
            for cell in notebook.cells:
                if cell.cell_type == "code":
                    cell.source = FILES_HERE.sub(r"\g<quote>", cell.source)
                    files |= data_of(cell.source)
            way = partial(beside, names)
            made = to_take_away(for_jupyterlab(notebook, page, way))
            files[name] = (nbformat.writes(made) + "\n").encode()
        about = {
            "captions": [caption for caption, mine in parts() if set(mine) & set(pages)],
            "kind": "without solutions" if kind else "with solutions",
        }
        readme = render("zip-readme.md", **about, wheel=wheel.name, names=names, title=title)
        files["README.md"] = readme.encode()
        inside = f"companion-{zip_of(chapter, kind).stem}"
        pack({f"{inside}/{name}": data for name, data in files.items()}, zip_of(chapter, kind))


def beside(names: dict[str, str], target: str, page: str) -> str | None:
    """Return the file of a page in the same folder, if it is there."""
    return names.get(target)


def data_of(code: str) -> dict[str, bytes]:
    """Return the files of the project that a cell reads: a file, or all of a folder."""
    found = {}
    for name in re.findall(r"[\"'](benchmarks/[\w./-]+)[\"']", code):
        place = ROOT / name
        for path in [place] if place.is_file() else sorted(place.iterdir()):
            found[path.relative_to(ROOT).as_posix()] = path.read_bytes()
    return found


@cache
def build_package() -> tuple[Path, Path]:
    """Build the package's sdist and its wheel in a copy of its files; return where they are."""
    build = "from setuptools.build_meta import *; build_sdist('out'); build_wheel('out')"
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        for file in PACKAGE:
            if (ROOT / file).is_dir():
                shutil.copytree(ROOT / file, copy / file, ignore=shutil.ignore_patterns("__pyc*"))
            else:
                shutil.copy(ROOT / file, copy / file)
        environment = os.environ | {"SOURCE_DATE_EPOCH": "1577836800"}  # equal files, equal bytes
        run = [sys.executable, "-c", build]
        subprocess.run(run, cwd=copy, check=True, capture_output=True, env=environment)
        (ROOT / "build").mkdir(exist_ok=True)
        made = sorted((copy / "out").iterdir(), key=lambda path: path.suffix)  # .gz, .whl
        return tuple(Path(shutil.move(path, ROOT / "build" / path.name)) for path in made)


def downloads_page(sdist: Path, wheel: Path) -> str:
    """Return the page that offers the book, the package, and every notebook with and without its solutions."""
    whole = [(ROOT / name, what) for name, what in RELEASE.items() if (ROOT / name).exists()]
    shown, offered = [], set[str]()
    for caption, pages in parts():
        names = sorted({page.split("/")[1] for page in pages} & set(chapters()))
        zips = {name: (zip_of(name, "-exercises"), zip_of(name, "")) for name in names}
        rows = []
        for page in pages:
            solved = page in solved_pages()
            full = edition(page, "") if solved else ROOT / f"{page}.ipynb"
            rows.append((title(page), page, full, edition(page) if solved else None))
        shown.append(
            {"caption": caption, "zips": zips, "rows": rows, "first": not offered & set(names)}
        )
        offered |= set(names)
    sizes = [(path, what, f"{path.stat().st_size / 1e6:.0f}") for path, what in whole]
    files = {"root": ROOT, "sdist": sdist, "wheel": wheel, "whole": sizes}
    return render("downloads.md", **files, solved=SOLVED, parts=shown)


def main() -> None:
    """Pack the built site."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--live", action="store_true", help="with Python for the browser")
    if not (SITE / "index.html").exists():
        sys.exit("the site is not built: run make book first")
    count = pack_site(SITE, SITE_ZIP, parser.parse_args().live)
    size = SITE_ZIP.stat().st_size / 1e6
    print(f"{SITE_ZIP.relative_to(ROOT)}: {count} files, {size:.1f} MB")


if __name__ == "__main__":
    main()
