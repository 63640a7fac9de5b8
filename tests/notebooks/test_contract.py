"""What every notebook file promises, and nbval does not see: it was run from top to bottom, its pictures have words."""

import ast
import json
import re
from pathlib import Path

import pytest

from tools.notebooks import METADATA, ROOT, pages

MADE = {".ipynb_checkpoints", "exercises"}
EVERY = [*(ROOT / "notebooks").rglob("*.ipynb"), *(ROOT / "book").rglob("*.ipynb")]
NOTEBOOKS = sorted(path for path in EVERY if not MADE & set(path.parts))
CHAPTER = re.compile(r"notebooks/(?!about)\w+/|book/template")
CHAPTERS = [path for path in NOTEBOOKS if CHAPTER.search(path.as_posix())]
NARROW = [path for path in NOTEBOOKS if path.parent.name != "about"]  # tables of timings scroll
COLUMNS = 80  # what fits beside the two bars of a window of 1280 pixels: book/_static/companion.css
PHONE = 52  # what fits a window of 390 pixels
LINES = 25  # of a cell that a reader sees without a click
KEYS = {"tags", "mystnb", "jupyter", "exercise"}
FOLDED = {"hide-cell", "hide-input", "remove-cell", "remove-input"}


def of_each(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", paths, ids=[str(p.relative_to(ROOT)) for p in paths])


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def code_cells(path: Path) -> list[dict]:
    return [cell for cell in read(path)["cells"] if cell["cell_type"] == "code"]


def source(cell: dict) -> str:
    return "".join(cell["source"])


def test_every_notebook_is_in_the_table_of_contents() -> None:
    assert NOTEBOOKS
    assert set(NOTEBOOKS) == set(pages())


@of_each(NOTEBOOKS)
def test_run_from_top_to_bottom_without_errors_paths_or_timings(path: Path) -> None:
    """And the metadata depend on nobody who ran it."""
    notebook, cells = read(path), code_cells(path)
    assert notebook["metadata"] == METADATA
    assert {key for cell in notebook["cells"] for key in cell["metadata"]} <= KEYS
    counts = [cell["execution_count"] for cell in cells]
    assert counts == list(range(1, len(counts) + 1)), f"run: python -m tools.notebooks run {path}"
    foreign = r"/home/|/root/|/tmp/|/work/|/Users/|[A-Z]:\\\\|\bat 0x[0-9a-f]+"
    for cell in cells:
        told = {output.get("name", output["output_type"]) for output in cell["outputs"]}
        assert not told & {"error", "stderr"}, source(cell)
        assert not re.search(foreign, json.dumps(cell["outputs"])), source(cell)
        assert not re.search(r"%%?time", source(cell)), source(cell)


@of_each(NARROW)
def test_printed_lines_fit_a_phone(path: Path) -> None:
    """What a cell printed, or its value where that is shown as text."""
    for output in (output for cell in code_cells(path) for output in cell["outputs"]):
        shown = output.get("data", {})
        values = [] if set(shown) - {"text/plain"} else shown.get("text/plain", [])
        text = "".join(output.get("text", values))
        assert max(map(len, text.splitlines()), default=0) <= PHONE, text


@of_each(CHAPTERS)
def test_visible_code_is_short_and_fits_the_page(path: Path) -> None:
    """The idea and the picture come first: what is longer is folded, or cut into steps."""
    seen = [c for c in code_cells(path) if not FOLDED & set(c["metadata"].get("tags", []))]
    lines = [source(cell).splitlines() for cell in seen]
    assert max(map(len, lines), default=0) <= LINES
    for cell in lines:
        assert max(map(len, cell)) <= COLUMNS, "\n".join(cell)


@of_each(NOTEBOOKS)
def test_every_picture_has_alt_text_in_both_places(path: Path) -> None:
    for cell in code_cells(path):
        pictures = [o for o in cell["outputs"] if "image/png" in o.get("data", {})]
        alts = [o["metadata"].get("image/png", {}).get("alt", "") for o in pictures]
        assert all(len(alt.split()) >= 4 for alt in alts), source(cell)
        on_the_site = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt")
        assert not pictures or on_the_site == " ".join(alts)


def plain(cell: dict) -> str:
    """Return the code of a cell without IPython's magic."""
    return "\n".join(line for line in source(cell).splitlines() if not line.startswith("%"))


def sliders(tree: ast.Module) -> list[ast.Call]:
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    return [call for call in calls if call.func.id in ("flipbook", "flipbook_grid")]  # type: ignore[attr-defined]


@of_each(NOTEBOOKS)
def test_flipbooks_are_tagged_and_preceded_by_a_picture(path: Path) -> None:
    seen_picture = False
    for cell in code_cells(path):
        slides = bool(sliders(ast.parse(plain(cell))))
        assert slides == ("nbval-ignore-output" in cell["metadata"].get("tags", [])), source(cell)
        assert seen_picture or not slides, "draw the first picture in a cell before the slider"
        seen_picture |= any("image/png" in o.get("data", {}) for o in cell["outputs"])


@of_each(CHAPTERS)
def test_page_anatomy(path: Path) -> None:
    cells = [cell for cell in read(path)["cells"] if cell["cell_type"] == "markdown"]
    text = "\n".join(map(source, cells))
    parts = ["About this page", "You will be able to", "Follows", "Needs", "Takes", "## Summary"]
    assert [part for part in parts if part not in text] == []
    assert len(re.findall(r"^# .+$", text, flags=re.MULTILINE)) == 1
    exercises = set(re.findall(r"\{exercise\}[^\n]*\n:label: (\S+)", text))
    solutions = set(re.findall(r"\{solution\} (\S+)\n:class: dropdown", text))
    assert exercises == solutions != set(), "each exercise has a hidden solution, and there is one"
    assert "```{" not in text, "where MyST is not known, the text between colons is still set"
