"""The boards of points: what they show is what the package finds. What the browser does is tested in tests/site."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import matplotlib.pyplot as plt
import numpy as np
import pytest

from companion.boards import board, gram_board, point_board, step_board, tube_board, weight_board
from companion.boards.board import Board
from companion.boards.point import PROGRAMS
from companion.datasets import nine_points
from companion.figures import plotting
from tests.refusals import refusals

NAMESPACES = "http://www.w3.org/"
LASSO = "a lasso with two weights"
NINE = nine_points()


def test_a_widget_begins_with_the_points_and_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board, "somebody_is_there", lambda: True)
    made = point_board(NINE.u, NINE.v, K=0.25)
    assert isinstance(made, Board)
    assert made.config["start"] == made.points == np.column_stack([NINE.X, NINE.y]).tolist()
    values = {"nu": 0.6, "K": 0.25, "kernel": "linear", "sigma": 1.0}
    assert made.values == {"program": next(iter(PROGRAMS)), **values}
    json.dumps(made.get_state(["config", "points", "values", "selected"]), allow_nan=False)


def test_the_module_of_the_board_loads_nothing_and_is_small() -> None:
    lines = []
    for file in board.BROWSER.iterdir():
        text = file.read_text(encoding="utf-8").replace(NAMESPACES, "")
        loads = r"https?:|//\w|^\s*import\b|import\(|@import|url\(|fetch\("
        assert not re.search(loads, text, re.M)
        lines += re.findall(r"^ *(?!//|/\*)\S.*", text, re.M)  # without comments
    assert len(lines) <= 900


X, Y = [-1.0, 0.0, 1.0, 2.0], [1.0, 0.2, 0.0, 1.5]
PICTURES = {
    "point": point_board([[1, 0], [2, 1]], [[-1, 0]]),
    "tube": tube_board(X, Y),
    "weights": weight_board(X, Y),
    "sets": step_board([4.0, -3.0], [0.0, 0.5]),
    "lasso": step_board([4.0, -3.0], [0.0, 0.5], program=LASSO),
    "gram": gram_board(np.column_stack([X, Y])),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_and_its_words_stand_for_a_board(name: str) -> None:
    made = PICTURES[name]
    with patch.object(plotting, "display") as picture, patch.object(board, "display") as page:
        made._ipython_display_()
    assert picture.call_args.args[0]["image/png"][1:4] == b"PNG"
    words = picture.call_args.kwargs["metadata"]["image/png"]["alt"]
    assert words.startswith(f"Board of {len(made.points)} points")
    assert "companion-board-static" in page.call_args.args[0]["text/html"]


def test_without_a_solution_the_points_are_shown() -> None:
    for none in (
        point_board([[1, 0]], [[1, 0]], program="(SVM_h2), hard margin"),
        gram_board([[1, 0]]),
    ):
        picture = none.picture()
        assert len(picture.axes[0].lines) == 0
        plt.close(picture)


@pytest.mark.parametrize("answers", [None, False, True])
def test_a_front_end_that_answers_is_a_reader(monkeypatch: Any, answers: bool | None) -> None:
    shell = SimpleNamespace(get_parent=lambda: {"content": {"allow_stdin": answers}})
    monkeypatch.setattr(board, "get_ipython", lambda: None if answers is None else shell)
    assert board.somebody_is_there() is bool(answers)


RED = [[-1.0, 4.0]]
VALUES = r"the values \['program', 'nu', 'K', 'kernel', 'sigma'\], got \['C'\]"
test_what_makes_no_board_is_named = refusals(
    (lambda: point_board([[1, 0, 0]], RED), "u must have shape"),
    (lambda: point_board([[1, 0]], RED, program="s3"), "program must be one of"),
    (lambda: point_board([[1, 0]], RED, C=0.5), VALUES, TypeError),
)
