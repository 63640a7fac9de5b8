"""The notebooks without their solutions, zips of them and of the site, and the page of all downloads.

A solution is a directive in a cell of its own, and a cell that goes on with it has the tag "solution". In the edition
for exercises both are left out; in their place stand a skeleton and the call of the check, or a cell for a proof.

Both editions are made for JupyterLab, whose extension for MyST numbers every box anew and knows no labels of other
pages: boxes become admonitions with the headings of the site, links lead to editions, and each choice of a question has
its reason behind a fold. The errata have an edition, too. A zip has all of one kind where the project has them.

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
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.exercises import call, is_check, skeleton
from tools.live import pack
from tools.notebooks import METADATA
from tools.toc import ROOT, pages_in_order, parts, project, read, render, text_of, title, write

EXERCISES = ROOT / "book/exercises"
KINDS = ("", "-exercises")  # complete, and without solutions
EXERCISE = re.compile(r"^(?:`{3,}|:{3,})\{exercise\}", re.MULTILINE)
QUESTION = re.compile(
    r"^(?P<fence>`{3,}|:{3,})\{admonition\} Question\n:class: question\n(?P<body>.*?)^(?P=fence)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
CHOICE = re.compile(r"^- \[[ x]\] (?P<choice>.*?)\s+\*(?P<reason>(?:Yes|No)\b.*)\*$", re.MULTILINE)
# from a page; its editions lie elsewhere
FILES = re.compile(r"(?P<quote>[\"'])\.\./\.\./(?=benchmarks/)")
ANSWER = "*Your answer:*"
MADE = "made_as"  # in the metadata of an edition: the digest of what was written
LABEL = re.compile(r"^(?:\(([\w.-]+)\)=|:(?:label|name): ([\w.-]+))[ \t]*$", re.MULTILINE)
LINK = re.compile(
    r"(?<!!)\[(?P<text>[^]]*)\]\((?P<path>[\w./-]+\.(?:ipynb|md))?(?:#(?P<label>[\w.-]+))?\)"
)
TERM = re.compile(r"\{term\}`([^`<]+?)(?: <[^`]+>)?`")
BOX = re.compile(r"^(?P<fence>`{3,}|:{3,})\{(?P<kind>prf:\w+|exercise|solution)\}(?P<title>.*)$")
NUMBERED = re.compile(r"(?:[A-Z]+ )?[A-Z][a-z]+ (?:[A-Z]\.)?\d")
HEADING = re.compile(r"^(#+) (?:(Problem (?:[A-Z]\.)?\d+(?:\.\d+)*))?")
INSTALL = """\
# Where this import fails, run in a cell: %pip install "optimization-companion[lab]"
# (`pip install companion` is another project.)
import companion
"""
SOLVED = os.environ.get("COMPANION_SOLUTIONS", "1") != "0"  # make book SOLUTIONS=0
SITE = ROOT / "build/_build/html"
SITE_ZIP, PDF = ROOT / "build/companion.zip", ROOT / "build/companion.pdf"
OUT_OF_ZIP = {".buildinfo", ".doctrees", "objects.inv", SITE_ZIP.name, PDF.name, "live"}


def solves(cell: NotebookNode) -> bool:
    """Whether a cell is a solution, or goes on with one."""
    return "solution" in cell.metadata.get("tags", []) or "{solution}" in cell.source


def to_check(cell: NotebookNode) -> list[NotebookNode]:
    """Return what a reader fills in, and the check that is called on it."""
    source = f"{cell.source}\n\n\n{call(cell)}"
    metadata = {"tags": ["hide-input", "check"], "jupyter": {"source_hidden": True}}
    return [new_code_cell(skeleton(cell)), new_code_cell(source, metadata=metadata)]


def without_solutions(notebook: NotebookNode) -> NotebookNode:
    """Return a notebook in which the reader solves the exercises: a skeleton and its check, or a place for a proof."""
    cells: list[NotebookNode] = []
    waiting = False  # an exercise has no place for its answer yet
    for cell in notebook.cells:
        if is_check(cell):
            cells += to_check(cell)
            waiting = False
        elif solves(cell):
            cells += [new_markdown_cell(ANSWER)] * waiting
            waiting = False
        elif cell.cell_type == "markdown":
            cells.append(new_markdown_cell(cell.source))
            waiting = waiting or bool(EXERCISE.search(cell.source))
        else:  # who solves runs it: outputs would be half of the site's zip
            tags = cell.metadata.get("tags", [])
            cells.append(new_code_cell(cell.source, metadata={"tags": tags}))
    for number, cell in enumerate(cells, 1):
        cell.id = f"c{number:03d}"
    return new_notebook(metadata=notebook.metadata, cells=cells)


@cache
def home_of_labels() -> dict[str, str]:
    """Return the page of each label."""
    return {a or b: page for page in pages_in_order() for a, b in LABEL.findall(text_of(page))}


@cache
def edited() -> dict[str, bool]:
    """Return the pages that have an edition, in reading order, and whether they have solutions."""
    pages = [p for p in pages_in_order() if p.startswith(("notebooks/", "book/errata/"))]
    return {page: "{solution}" in text_of(page) for page in pages}


@cache
def edition(page: str, kind: str = "-exercises") -> Path:
    """Return the file of a page's edition, for exercises or complete (kind ""); numbers give the order of the book."""
    folder, _, name = page.rpartition("/")
    place = [p for p in edited() if p.startswith(f"{folder}/")].index(page) + 1
    name = f"{place:02d}-{name}{kind if edited()[page] else ''}.ipynb"
    return EXERCISES / Path(folder).name / name


def with_links(text: str, page: str, kind: str) -> str:
    """Return a text of a page with links to editions of one kind; where a page has none, the words stay."""

    def link(match: re.Match[str]) -> str:
        path, label = match["path"], match["label"]
        target = home_of_labels().get(label or "", "")
        if path:
            target = os.path.normpath(f"{page}/../{path}").rpartition(".")[0]
        if target == page:
            return match[0]
        words = match["text"] or title(target) or target
        if target not in edited():
            return words
        way = Path(os.path.relpath(edition(target, kind), edition(page, kind).parent)).as_posix()
        return f"[{words}]({way}{f'#{label}' if label else ''})"

    return TERM.sub(r"\1", LINK.sub(link, text))


def with_folds(question: re.Match[str]) -> str:
    """Return a question whose choices have letters, and under it what each choice is answered, folded."""
    fold = "\n\n:::{{admonition}} If you choose {}\n:class: dropdown\n\n{}\n:::"
    choices = list(zip("ABCD", CHOICE.findall(question["body"])))
    body = "\n".join(f"- **{letter}.** {choice}" for letter, (choice, _) in choices)
    asked = question["body"][: CHOICE.search(question["body"]).start()]
    folds = "".join(fold.format(letter, reason) for letter, (_, reason) in choices)
    return f":::{{admonition}} Question\n{asked}{body}\n:::{folds}"


def boxes(text: str) -> tuple[str, dict[str, str]]:
    """Return a page's text with admonitions in place of its boxes, headed as on the site; and the exercises' names.

    JupyterLab would number all boxes anew. An exercise has the name of the problem in whose section it is, or a number
    of the page.
    """
    lines, names, count, problem, level = text.split("\n"), dict[str, str](), 0, "", 0
    for i, line in enumerate(lines):
        if match := HEADING.match(line):
            if match[2] or len(match[1]) <= level:
                problem, level = match[2] or "", len(match[1])
        elif match := BOX.match(line):
            kind, words = match["kind"].removeprefix("prf:").title(), match["title"].strip()
            if kind == "Exercise":
                count += not problem
                words = problem or f"Exercise {count}"
                names[lines[i + 1].removeprefix(":label: ")] = words
            elif kind == "Solution":
                words = f"Solution to {names.get(words, 'the exercise')}"
            elif not NUMBERED.match(words):
                words = f"{kind}: {words}".removesuffix(": ")
            lines[i] = f"{match['fence']}{{admonition}} {words}"
    text = "\n".join(line for line in lines if line.strip() != ":nonumber:")
    for label, name in names.items():
        text = text.replace(f"[](#{label})", f"[{name}](#{label})")
    return text, names


def for_jupyterlab(page: str, kind: str) -> NotebookNode:
    """Return an edition of a page whose boxes and links JupyterLab shows as the site does; it says what to install."""
    notebook = without_solutions(read(page)) if kind and edited()[page] else read(page)
    told = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    text, _ = boxes("\n\0\n".join(cell.source for cell in told))
    text = with_links(QUESTION.sub(with_folds, text), page, kind)
    for cell, source in zip(told, text.split("\n\0\n"), strict=True):
        cell.source = source
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = FILES.sub(r"\g<quote>../../../", cell.source)
    notebook.cells.insert(0, new_code_cell(INSTALL, id="install"))
    return notebook


def contents() -> NotebookNode:
    """Return a notebook that leads to both editions of every page: JupyterLab opens on it."""
    text = render("contents.md", parts=parts(), title=title, edition=edition, folder=EXERCISES)
    # without a kernel named, JupyterLab would ask for one
    cells = [new_markdown_cell(text.rstrip() + "\n", id="c001")]
    return new_notebook(metadata=METADATA, cells=cells)


def pack_site(site: Path, target: Path, live: bool = False) -> int:
    """Pack what a reader needs of a site, without the files that run its pages in the browser, or with them.

    From the disk a browser loads scripts only: each of these files is packed as one, in base64.
    """
    paths = {path.relative_to(site): path for path in site.rglob("*") if path.is_file()}
    files = {name: paths[name].read_bytes() for name in paths if not OUT_OF_ZIP & set(name.parts)}
    for path in (site / "_static/live").glob("*") if live else ():
        data = b64encode(path.read_bytes()).decode()
        script = f'companionCarries("{path.name}", "{data}");\n'
        files[path.relative_to(site).with_name(f"{path.name}.js")] = script.encode()
    lost = rb'<li>.*/companion\.(?:pdf|zip)".*\n'  # what the page of downloads offers and this zip has not
    button = rb'(<button class="run-page")(.*?</button>)'
    for path in (path for path in files if path.suffix == ".html"):
        page = re.sub(lost, b"", files[path])
        files[path] = re.sub(button, rb"\1 data-scripts\2" if live else b"", page)
    pack({f"companion/{path.as_posix()}": data for path, data in files.items()}, target)
    return len(files)


def digest(notebook: NotebookNode) -> str:
    """Return a fingerprint of what a notebook's cells say."""
    source = "\0".join(cell.source.strip() for cell in notebook.cells)
    return hashlib.sha256(source.encode()).hexdigest()


def store(path: Path, notebook: NotebookNode | None) -> bool:
    """Write an edition, or remove one of a page that is gone, unless a reader wrote into it; return whether so."""
    found = nbformat.read(path, as_version=4) if path.exists() else None
    if found and found.metadata.get(MADE) != digest(found):
        return False
    if notebook is None:
        path.unlink()
    else:
        notebook.metadata[MADE] = digest(notebook)
        write(path, nbformat.writes(notebook) + "\n")
    return True


def zip_of(kind: str) -> Path:
    """Return the zip of all editions: for exercises, or with solutions (kind "")."""
    return EXERCISES / f"companion{kind or '-with-solutions'}.zip"


def write_editions(wheel: Path) -> None:
    """Write the editions, their contents, and a zip of each kind with what its notebooks need."""
    needed = [*ROOT.glob("benchmarks/results/*.json"), ROOT / "LICENSE"]
    always = {path.relative_to(ROOT): path.read_bytes() for path in needed}
    requirements = (ROOT / "notebooks/requirements.txt").read_bytes()
    always |= {Path("requirements.txt"): requirements, Path(wheel.name): wheel.read_bytes()}
    made = {EXERCISES / "contents.ipynb": contents()}
    for kind in KINDS:
        mine = {edition(page, kind): for_jupyterlab(page, kind) for page in edited()}
        texts = {path: (nbformat.writes(book) + "\n").encode() for path, book in mine.items()}
        packed = always | {path.relative_to(ROOT): text for path, text in texts.items()}
        files = {page: edition(page, kind).relative_to(ROOT).as_posix() for page in edited()}
        about = {"solved": not kind, "wheel": wheel.name, "files": files, "title": title}
        packed[Path("README.md")] = render("zip-readme.md", **about).encode()
        inside = {f"{zip_of(kind).stem}/{name.as_posix()}": packed[name] for name in packed}
        EXERCISES.mkdir(parents=True, exist_ok=True)
        pack(inside, zip_of(kind))
        made |= mine
    for path in {*EXERCISES.glob("*/*.ipynb")} - made.keys():
        store(path, None)
    for path, notebook in made.items():
        if not store(path, notebook):
            print(f"{path.relative_to(ROOT)} stays as you left it")


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
    files = {"root": ROOT, "sdist": sdist, "wheel": wheel, "pdf": PDF, "zip": SITE_ZIP}
    files |= {"bare": zip_of("-exercises"), "full": zip_of("")}
    about = {"solved": SOLVED, "edited": edited(), "edition": edition, "title": title}
    return render("downloads.md", **files, **about, parts=parts())


def main() -> None:
    """Pack the built site."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--live", action="store_true", help="with Python for the browser")
    count = pack_site(SITE, SITE_ZIP, parser.parse_args().live)
    print(f"{SITE_ZIP.name}: {count} files, {SITE_ZIP.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
