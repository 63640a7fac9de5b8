"""The evidence carries the lesson: a page shows numbers, no verdicts, and what it chose, it did not choose by luck."""

import re
from pathlib import Path

import pytest

from tests.notebooks.test_contract import CHAPTERS, NOTEBOOKS, code_cells, read, source
from tools.notebooks import ROOT

UNSEEN = {"hide-cell", "hide-output", "remove-cell", "remove-output"}
VERDICT = re.compile(r"(?<!=)\b(?:True|False)\b")  # not the value of an option that a message names
ERRATUM = re.compile(r"\]\([^)\s]*#err-[\w-]+\)")
SLIPS = re.compile(r"^(?:\* )?Smaller slips of the sources here: errata? .*$", re.MULTILINE)
STORY = 3  # links to errata in what a reader reads from top to bottom: those that teach
SEARCH = re.compile(r"\b(?:GridSearchCV|cross_val_score|\w*KFold|train_test_split)\(|/results")
CHOICE = re.compile(
    r"(?P<name>\S+) = (?P<value>[\d.e+-]+) of (?:\d+ from )?(?P<low>[\d.e+-]+) to (?P<high>[\d.e+-]+)"
)
REASON = "end of its grid"  # what a page says where the best value is the last one that was tried


def of_each(paths: list[Path]) -> pytest.MarkDecorator:
    names = [path.relative_to(ROOT).with_suffix("").as_posix() for path in paths]
    return pytest.mark.parametrize("path", paths, ids=names)


def text_of(output: dict) -> str:
    """Return what an output shows as text: nothing where a picture or a table of HTML takes its place."""
    data = output.get("data", {})
    shown = output.get("text", data.get("text/plain", []) if not set(data) - {"text/plain"} else [])
    return "".join(shown)


def printed(path: Path, *, folded: bool) -> list[str]:
    """Return what the cells of a page print, with or without the cells whose outputs are folded away."""
    cells = [
        c for c in code_cells(path) if folded or UNSEEN.isdisjoint(c["metadata"].get("tags", ()))
    ]
    return ["".join(map(text_of, cell["outputs"])) for cell in cells]


def told(path: Path) -> str:
    return "\n\n".join(source(c) for c in read(path)["cells"] if c["cell_type"] == "markdown")


def is_at_the_end(choice: re.Match[str]) -> bool:
    """Whether the value that was chosen is the last one tried, on either side."""
    return not float(choice["low"]) < float(choice["value"]) < float(choice["high"])


@of_each(NOTEBOOKS)
def test_no_visible_output_is_a_bare_verdict(path: Path) -> None:
    """It is a number, a table, a picture, a formula; what was only checked is folded, with its one line."""
    assert [text for text in printed(path, folded=False) if VERDICT.search(text)] == []


@of_each(CHAPTERS)
def test_few_errata_interrupt_the_story(path: Path) -> None:
    """The others stand in one line at the end."""
    story = SLIPS.sub("", told(path))
    assert len(ERRATUM.findall(story)) <= STORY, ERRATUM.findall(story)


SEARCHING = [p for p in CHAPTERS if any(SEARCH.search(source(cell)) for cell in code_cells(p))]


@of_each(SEARCHING)
def test_a_chosen_value_lies_inside_its_grid_and_scores_are_compared_in_pairs(path: Path) -> None:
    """A page that chooses on data prints "K = 0.1 of 0.001 to 1000", and differences with their standard errors."""
    shown = "\n".join(printed(path, folded=True))
    choices = list(CHOICE.finditer(shown))
    assert choices, 'print what was chosen: "nu = 0.1 of 0.02 to 0.5"'
    if REASON not in told(path):
        assert [choice[0] for choice in choices if is_at_the_end(choice)] == []
    assert re.search(r"(?i)differ", shown), "print the paired difference of two scores"
    assert "±" in shown or "standard error" in shown


def test_the_searching_pages_are_found() -> None:
    assert {path.stem for path in SEARCHING} >= {"kernel-svm", "indefinite-experiments", "lasso"}
