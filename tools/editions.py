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
import subprocess
import sys
from base64 import b64encode
from functools import cache
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
from tools.toc import BOOK, ROOT, pages_in_order, project, render, text_of, title, write

EXERCISES = BOOK / "exercises"
KINDS = ("", "-exercises")  # complete, and without solutions
SOLUTION = re.compile(
    r"^(?P<fence>`{3,})\{solution\}.*?^(?P=fence)[ \t]*\n?", re.MULTILINE | re.DOTALL
)
EXERCISE = re.compile(r"^(?:`{3,}|:{3,})\{exercise\}", re.MULTILINE)
QUESTION = re.compile(
    r"^(?P<fence>`{3,}|:{3,})\{admonition\} Question\n:class: question\n(?P<body>.*?)^(?P=fence)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
CHOICE = re.compile(r"^- \[[ x]\] (?P<choice>.*?)\s+\*(?P<reason>(?:Yes|No)\b.*)\*$", re.MULTILINE)
FILES = re.compile(
    r"(?P<quote>[\"'])\.\./\.\./(?=benchmarks/)"
)  # from a page; its editions lie elsewhere
ANSWER = "*Your answer:*"
MADE = "made_as"  # in the metadata of an edition: the digest of what was written
LABEL = re.compile(r"^(?:\(([\w.-]+)\)=|:(?:label|name): ([\w.-]+))[ \t]*$", re.MULTILINE)
LINK = re.compile(
    r"(?<!!)\[(?P<text>[^]]*)\]\((?P<path>[\w./-]+\.(?:ipynb|md))?(?:#(?P<label>[\w.-]+))?\)"
)
TERM = re.compile(r"\{term\}`([^`<]+?)(?: <[^`]+>)?`")
BOX = re.compile(r"^(?P<fence>`{3,}|:{3,})\{(?P<kind>prf:\w+|exercise|solution)\}(?P<title>.*)$")
HEADING = re.compile(r"^(#+) (.+)$")
PROBLEM = re.compile(r"Problem (?:[A-Z]\.)?\d+(?:\.\d+)*")
INSTALL = """\
# Where this import fails, run in a cell: %pip install "optimization-companion[lab]"
# (`pip install companion` is another project.)
import companion
"""
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
        else:
            cell.metadata.pop("jupyter", None)
            cells.append(cell)
    result = new_notebook(metadata=notebook.metadata, cells=cells)
    # who solves runs the cells: their outputs would be half of the site's zip
    for work in (TagRemovePreprocessor(remove_cell_tags={"solution"}), ClearOutputPreprocessor()):
        result, _ = work.preprocess(result, {})
    for number, cell in enumerate(result.cells, 1):
        cell.id = f"c{number:03d}"
    return result


@cache
def home_of_labels() -> dict[str, str]:
    """Return the page of each label."""
    pages = pages_in_order()
    return {a or b: page for page in pages for a, b in LABEL.findall(text_of(page))}


@cache
def in_lab(folder: Path) -> dict[str, str]:
    """Return the way from a folder of editions to each page: to its edition, or else to the page itself."""
    both = {page: [ROOT / f"{page}.{end}" for end in ("ipynb", "md")] for page in pages_in_order()}
    files = {
        page: notebook if notebook.exists() else text for page, (notebook, text) in both.items()
    }
    files |= {page: edition(page, "") for page in solved_pages()}
    return {page: Path(os.path.relpath(file, folder)).as_posix() for page, file in files.items()}


def with_links(text: str, page: str, places: dict[str, str]) -> str:
    """Return a text of a page with links to files, as JupyterLab follows them, where it has labels of other pages.

    ``places`` are the files of the pages; where one has none, the words stay.
    """

    def link(match: re.Match[str]) -> str:
        path, label = match["path"], match["label"]
        if path:
            target = os.path.normpath(f"{page}/../{path}").rpartition(".")[0]
        else:
            target = home_of_labels().get(label or "", page)
        if target == page:
            return match[0]
        words, place = match["text"] or title(target) or target, places.get(target)
        return f"[{words}]({place}{f'#{label}' if label else ''})" if place else words

    home = places.get("book/glossary")
    return TERM.sub(rf"[\1]({home})" if home else r"\1", LINK.sub(link, text))


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

    def heading(self, kind: str, words: str, label: str) -> str:
        """Return what heads a box: of an exercise the problem in whose section it is, or its number on the page."""
        if kind == "exercise":
            problems = [m[0] for _, heading in self.above if (m := PROBLEM.match(heading))]
            self.count += not problems
            self.names[label] = problems[-1] if problems else f"Exercise {self.count}"
            return self.names[label]
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
                label = LABEL.match(lines[i + 1])
                words = match["title"].strip()
                name = self.heading(match["kind"], words, label[2] if label else "")
                lines[i] = f"{match['fence']}{{admonition}} {name}"
        text = "\n".join(line for line in lines if line.strip() != ":nonumber:")
        for label, name in self.names.items():
            text = text.replace(f"[](#{label})", f"[{name}](#{label})")
        return text


def for_jupyterlab(
    page: str, kind: str, places: dict[str, str], root: str = "../../../"
) -> NotebookNode:
    """Return an edition of a page whose boxes and links JupyterLab shows as the site does; it says what to install.

    Links lead to ``places``, and files of the project are looked for below ``root``.
    """
    notebook, boxes = without_solutions(read(page)) if kind else read(page), Boxes()
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            text = QUESTION.sub(with_folds, cell.source)
            cell.source = with_links(boxes.rewrite(text), page, places)
        else:
            cell.source = FILES.sub(rf"\g<quote>{root}", cell.source)
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
    solved = [(caption, [p for p in pages if p in solved_pages()]) for caption, pages in parts()]
    places = in_lab(EXERCISES)
    bare = {page: edition(page).relative_to(EXERCISES).as_posix() for page in solved_pages()}
    text = render("contents.md", parts=solved, title=title, full=places, bare=bare)
    # without a kernel named, JupyterLab would ask for one
    cells = [new_markdown_cell(text.rstrip() + "\n", id="c001")]
    return new_notebook(metadata=METADATA, cells=cells)


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
    wanted = {EXERCISES / "contents.ipynb": contents()}
    for page, kind in product(solved_pages(), KINDS):
        path = edition(page, kind)
        wanted[path] = for_jupyterlab(page, kind, in_lab(path.parent))
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
    for (chapter, pages), kind in product(chapters().items(), KINDS):
        names = {page: edition(page, kind).name for page in pages}
        errata = {p: f"errata-{p.rpartition('/')[2]}.ipynb" for p in errata_of_chapter(chapter)}
        names |= errata
        files = {
            "LICENSE": (ROOT / "LICENSE").read_bytes(),
            "requirements.txt": (ROOT / "notebooks/requirements.txt").read_bytes(),
            wheel.name: wheel.read_bytes(),
        }
        for page, name in names.items():
            made = for_jupyterlab(page, "" if page in errata else kind, names, root="")
            files[name] = (nbformat.writes(made) + "\n").encode()
            files |= data_of("\n".join(c.source for c in made.cells if c.cell_type == "code"))
        about = {
            "captions": [caption for caption, mine in parts() if set(mine) & set(pages)],
            "kind": "without solutions" if kind else "with solutions",
        }
        readme = render("zip-readme.md", **about, wheel=wheel.name, names=names, title=title)
        files["README.md"] = readme.encode()
        inside = f"companion-{zip_of(chapter, kind).stem}"
        pack({f"{inside}/{name}": data for name, data in files.items()}, zip_of(chapter, kind))


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
    """Build the package's sdist and its wheel; return where they are. uv lets one process after the other do so."""
    run = [
        sys.executable, "-m", "uv", "build", "--quiet", "--offline", "--no-build-isolation", "--no-create-gitignore",
        "--out-dir", "build", "--python", sys.executable,
    ]  # fmt: skip
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1577836800"}  # equal files, equal bytes
    subprocess.run(run, cwd=ROOT, check=True, env=environment)
    made = ROOT / f"build/optimization_companion-{project()['version']}"
    return made.with_name(f"{made.name}.tar.gz"), made.with_name(f"{made.name}-py3-none-any.whl")


def downloads_page(sdist: Path, wheel: Path) -> str:
    """Return the page that offers the book, the package, and every notebook with and without its solutions."""
    shown, offered = [], set[str]()
    for caption, pages in parts():
        names = sorted({page.split("/")[1] for page in pages} & set(chapters()))
        zips = [[zip_of(name, kind) for kind in reversed(KINDS)] for name in names]
        rows = [
            (page, edition(page, ""), edition(page)) for page in pages if page in solved_pages()
        ]
        rows += [(p, ROOT / f"{p}.ipynb", None) for p in pages if p not in solved_pages()]
        shown.append(
            (caption, zips, not offered & set(names), sorted(rows, key=lambda r: pages.index(r[0])))
        )
        offered |= set(names)
    whole = {ROOT / name: what for name, what in RELEASE.items() if (ROOT / name).exists()}
    files = {"root": ROOT, "sdist": sdist, "wheel": wheel, "whole": whole}
    return render("downloads.md", **files, solved=SOLVED, title=title, parts=shown)


def main() -> None:
    """Pack the built site."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--live", action="store_true", help="with Python for the browser")
    if not (SITE / "index.html").exists():
        sys.exit("the site is not built: run make book first")
    count = pack_site(SITE, SITE_ZIP, parser.parse_args().live)
    print(f"{SITE_ZIP.name}: {count} files, {SITE_ZIP.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
