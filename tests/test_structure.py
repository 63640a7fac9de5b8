"""The package stays small, and its rooms import one way. With ``-s``, pytest prints the table.

A line counts if it holds code: docstrings, comments and blank lines do not. The numbers below are a ratchet: make them
smaller when the package is smaller, never larger without a reason in the commit.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from companion.datasets import nine_points
from companion.svm import SVMs2prime
from companion.svr import NuSVR
from tools.live import packages_of
from tools.toc import code_cells, live_pages

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "companion"
FILES = sorted(PACKAGE.rglob("*.py"))
SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}

MOST = 7_267  # lines of code of the whole package; the aim is 7,500
MOST_OF_MATHEMATICS = 6_400  # of these, without what draws, moves and asks: the aim, reached
SHARES = {  # of the 7,500 that the package aims at; "." is what is in no room
    ".": 595, "admm": 1_550, "kernels": 1_150, "svm": 1_300, "regression": 750, "svr": 355, "engine": 750,
    "figures": 400, "boards": 400,
}  # fmt: skip
MOST_OF_TOOLS = 1_700  # tools and book/_ext: the aim, reached
MOST_CONSTANTS = 50  # numbers with a name in the six mathematical rooms, each explained where it stands; the aim is 50

# Of chapter 16, these load scikit-learn in the browser: for patients and tumours that come with it, and the third to
# compare with its lasso.
TAKE_SCIKIT_LEARN = {"l1-problems", "consensus", "proximal-gradient", "problems"}

# Who may import whom, at the top of a file, in a function or for a type: only what stands before it, and its own room;
# not what stands beside it.
ORDER = [
    {"exceptions", "arithmetic"},
    {"records", "checks"},
    {"arguments"},
    {"engine"},
    {"results"},
    {"admm", "kernels", "datasets"},
    {"svm", "regression", "exercises"},
    {"svr"},
    {"figures", "to_sklearn"},
    {"boards"},
]


def lines_of_code(path: Path) -> int:
    """Return how many lines of a file hold code."""
    source = path.read_text(encoding="utf-8")
    silent: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", [])
        for each in body if isinstance(body, list) else []:
            is_text = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
            if is_text and isinstance(each.value.value, str):
                silent.update(range(each.lineno, each.end_lineno + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in SILENT and token.type != tokenize.ENDMARKER:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - silent)


LINES = {path: lines_of_code(path) for path in FILES}
ROOMS: Counter[str] = Counter()  # "." for what is in none
for _path, _lines in LINES.items():
    ROOMS[(".", *_path.relative_to(PACKAGE).parts[:-1])[:2][-1]] += _lines


def name_of(path: Path) -> str:
    """Return a file's path inside the package."""
    return path.relative_to(PACKAGE).as_posix()


def room_of(path: Path) -> str:
    """Return the folder of a file, or its own name at the top."""
    return name_of(path).split("/")[0].removesuffix(".py")


def imports_of(path: Path) -> set[tuple[str, str]]:
    """Return the modules of the package that a file imports, each with the name taken from it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "companion":
            found |= {(node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {(a.name, "") for a in node.names if a.name.split(".")[0] == "companion"}
    return found


def target_of(module: str, name: str) -> Path | None:
    """Return the file that an import reads."""
    for dotted in (f"{module}.{name}", module):
        place = ROOT.joinpath(*dotted.split("."))
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path in LINES:
                return path
    return None


def test_the_package_is_no_larger_than_it_was() -> None:
    print("\n lines  share")
    for room, lines in sorted(ROOMS.items()):
        print(f"{lines:6,d} {SHARES[room]:6,d}  {room}")
    total = sum(ROOMS.values())
    print(f"{total:6,d} {sum(SHARES.values()):6,d}  together")
    assert total <= MOST
    beside = ROOMS["figures"] + ROOMS["boards"] + LINES[PACKAGE / "exercises.py"]
    assert total - beside <= MOST_OF_MATHEMATICS


def test_the_tests_are_no_longer_than_agreed() -> None:
    files = [path for kind in ("py", "mjs") for path in ROOT.glob(f"tests/**/*.{kind}")]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 13_951


def test_what_runs_in_the_browser_stays_small() -> None:
    script = (ROOT / "book/_static/live.js").read_text("utf-8").splitlines()
    assert sum(bool(line.strip()) and not line.strip().startswith("//") for line in script) <= 500
    assert lines_of_code(ROOT / "book/_static/live_kernel.py") <= 120
    for page in live_pages():
        cells = code_cells(page)
        needs = packages_of("\n".join(cell.source for cell in cells))
        assert "matplotlib" not in needs or re.search("image/png|widget-view", str(cells)), page
        if "/admm/" in page:
            assert ("scikit-learn" in needs) == (page.split("/")[-1] in TAKE_SCIKIT_LEARN), page


def test_the_tools_are_no_larger_than_they_were() -> None:
    files = [*ROOT.glob("tools/**/*.py"), *ROOT.glob("book/_ext/*.py")]
    assert sum(map(lines_of_code, files)) <= MOST_OF_TOOLS


def test_who_takes_more_than_a_share_says_why() -> None:
    text = (ROOT / "book" / "contributing.md").read_text(encoding="utf-8")
    after = text.split("are above their share of it, each for a reason:")[1]
    named = set(re.findall(r"^- `(\w+)`", after.split("**When")[0], flags=re.MULTILINE))
    above = {room for room, lines in ROOMS.items() if lines > SHARES[room]}
    assert named == {"companion" if room == "." else room for room in above}


def test_no_file_is_long() -> None:
    assert [name_of(path) for path, n in LINES.items() if n > 400] == []


def test_there_are_no_more_numeric_constants_than_there_were() -> None:
    rooms = {"admm", "arithmetic", "engine", "kernels", "regression", "svm", "svr"}
    text = "\n".join(path.read_text("utf-8") for path in FILES if room_of(path) in rooms)
    assert len(re.findall(r"^\w+ = [-+*/\d.e_, ()]+(?:#|$)", text, re.M)) <= MOST_CONSTANTS


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_point_one_way(path: Path) -> None:
    place = {room: i for i, rooms in enumerate(ORDER) for room in rooms}
    here = room_of(path)
    if here not in place:  # companion/__init__.py imports nothing of the package
        assert not imports_of(path)
        return
    for module, name in imports_of(path):
        target = target_of(module, name)
        assert target is not None, f"{module}.{name}"
        there = room_of(target)
        if there == here:
            continue
        assert place[there] < place[here], f"{name_of(path)} imports {module}.{name}"
        private = name.startswith("_") or any(p.startswith("_") for p in module.split("."))
        assert not private, f"{name_of(path)} imports the private name {module}.{name}"


def test_no_circle_among_the_files() -> None:
    """Types included. A package's ``__init__`` lists its files; who imports from it needs the file that defines it."""
    needs: dict[Path, set[Path]] = {
        path: {t for m, n in imports_of(path) if (t := target_of(m, n)) is not None}
        for path in FILES
        if path.name != "__init__.py"
    }
    done: set[Path] = set()
    while ready := {p for p in needs if p not in done and needs[p] & set(needs) <= done}:
        done |= ready
    assert {name_of(p) for p in set(needs) - done} == set()


@pytest.mark.parametrize(
    "model", [SVMs2prime(0.5), SVMs2prime(0.5, kernel="rbf"), NuSVR()], ids=str
)
def test_a_reader_can_follow_a_fit(model: Any) -> None:
    """At run time it stays in few files, and seldom calls a file that needs the caller's: the hook of a class."""
    needs = {p: {t for i in imports_of(p) if (t := target_of(*i))} for p in FILES}
    for _ in range(8):  # what a file needs, needs: as far down as there are floors
        needs = {p: below.union(*(needs[q] for q in below)) for p, below in needs.items()}
    calls: list[tuple[Path, Path]] = []

    def trace(frame: Any, event: str, arg: object) -> None:
        here = Path(frame.f_code.co_filename)
        if event == "call" and here in needs:
            while (frame := frame.f_back) and Path(frame.f_code.co_filename) not in needs:
                pass
            calls.append((Path(frame.f_code.co_filename) if frame else here, here))

    assert len(type(model).__mro__) <= 10
    X, y = nine_points().X, nine_points().y
    model.fit(X, y)  # the second fit finds everything loaded
    sys.setprofile(trace)
    model.fit(X, y)
    sys.setprofile(None)
    assert len({path for call in calls for path in call}) <= 10
    assert sum(caller in needs[called] for caller, called in calls if caller != called) <= 6


def test_certificates_are_made_in_one_place() -> None:
    made = re.compile(r"(?<!class )\bCertificate\(")
    found = {name_of(path) for path in FILES if made.search(path.read_text("utf-8"))}
    assert found == {"engine/certificate.py"}


def test_no_two_classes_have_one_name() -> None:
    trees = [ast.walk(ast.parse(path.read_text("utf-8"))) for path in FILES]
    names = Counter(node.name for tree in trees for node in tree if isinstance(node, ast.ClassDef))
    assert [name for name, times in names.items() if times > 1] == []


def the_map() -> str:
    """Return a line for each file, from the first line of its docstring: ``python -m tests.test_structure``."""
    lines, folder = [], None
    for path in sorted((p for p in FILES if p.name != "__init__.py"), key=lambda p: (p.parent, p)):
        if path.parent != folder:
            folder = path.parent
            lines += ["", f"`{folder.relative_to(ROOT).as_posix()}/`", ""]
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        summary = re.sub(r":math:`([^`]+)`", r"$\1$", text.split("\n\n")[0].replace("\n", " "))
        lines.append(f"- `{path.name}`: {summary}")
    return "\n".join([*lines[1:], ""])


def test_the_map_of_the_contributing_page_has_every_file() -> None:
    text = (ROOT / "book" / "contributing.md").read_text(encoding="utf-8")
    assert the_map() in text, "print the map with python -m tests.test_structure, and paste it"


if __name__ == "__main__":
    print(the_map())
