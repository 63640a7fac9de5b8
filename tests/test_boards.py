"""The boards of points: what they show is what the package finds. What the browser does is tested in tests/site."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import nbclient
import nbformat
import numpy as np
import pytest

from companion import svm
from companion.boards import board, gram_board, point_board, step_board, tube_board, weight_board
from companion.boards.board import Board
from companion.boards.point import PROGRAMS
from companion.datasets import nine_points, zm_fourteen
from companion.figures import plotting
from companion.svr import NuSVR
from tests.refusals import refusals

NAMESPACES = "http://www.w3.org/"
LASSO = "a lasso with two weights"
NINE = nine_points()


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board, "somebody_is_there", lambda: True)


@pytest.fixture
def points_board(live: None) -> Board:
    return point_board(NINE.u, NINE.v)


def choose(made: Board, **values: Any) -> dict[str, Any]:
    """The result with other values."""
    made.values = {**made.values, **values}
    return made.result


@pytest.mark.parametrize("program", PROGRAMS)
def test_board_shows_what_each_machine_finds(points_board: Board, program: str) -> None:
    name, names = PROGRAMS[program]
    hard = not names  # its multipliers are not unique on these points
    data = zm_fourteen() if hard else NINE
    rows = np.column_stack([data.X, data.y])
    order = np.random.default_rng(18).permutation(len(rows))
    points_board.points = rows[order].tolist()
    found = choose(points_board, program=program, K=0.25, nu=0.7)
    machine = getattr(svm, name)(**{name: points_board.values[name] for name in names})
    machine.fit_uv(data.u, data.v)
    slack = np.r_[machine.epsilon_, machine.xi_][order]
    np.testing.assert_allclose(found["slacks"], slack, atol=1e-7)
    if not hard:
        a = np.r_[machine.lambda_, machine.mu_]
        np.testing.assert_allclose(found["multipliers"], a[order], atol=1e-7)
        assert found["places"] == machine.point_classes_[order].tolist()
    json.dumps(found, allow_nan=False)  # a browser reads no NaN


def test_moving_a_point_refits(points_board: Board) -> None:
    before = choose(points_board, program="(SVM_s3), b penalised", nu=0.7)["multipliers"]
    points_board.points = moved = [[-3.0, -2.0, 1.0], *points_board.points[1:]]
    *X, y = np.transpose(moved)
    assert points_board.result["multipliers"] != before
    assert points_board.result["b"] == svm.SVMs3(nu=0.7).fit(np.transpose(X), y).b_
    assert points_board.config["start"][0] == [2.0, 1.0, 1.0]
    points_board.points = [*moved, [0.5, 0.5, -1.0]]
    assert len(points_board.result["places"]) == 10
    points_board.points = [point for point in moved if point[2] > 0]
    assert points_board.result == {"message": "There must be a point of each colour."}
    points_board.points = [[0.0, float("nan"), 1.0], *moved]
    assert "NaN" in points_board.result["message"]


def test_the_board_says_why_there_is_no_solution(points_board: Board) -> None:
    for nu, reason in (0.95, "exceeds 2 min(p, q)/(p + q)"), (0.05, "nu_min"), (0.5, "separates"):
        program = "(SVM_h2), hard margin" if nu == 0.5 else "(SVM_s2′), ν-SVM"
        found = choose(points_board, program=program, nu=nu)
        assert reason in found["message"]
        assert found.get("field") is None
        json.dumps(found, allow_nan=False)


def test_the_module_of_the_board_loads_nothing_and_is_small() -> None:
    lines = []
    for file in board.BROWSER.iterdir():
        text = file.read_text(encoding="utf-8").replace(NAMESPACES, "")
        loads = r"https?:|//\w|^\s*import\b|import\(|@import|url\(|fetch\("
        assert not re.search(loads, text, re.M)
        lines += re.findall(r"^ *(?!//|/\*)\S.*", text, re.M)  # without comments
    assert len(lines) <= 910  # digits of refusals, and the place that a page run again gives


def test_without_a_reader_there_is_a_picture_and_no_widget() -> None:
    cell = "from companion.boards import point_board\npoint_board([[1, 0]], [[-1, 0]])"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    picture, configuration = notebook.cells[0].outputs
    assert "blue at (1, 0)" in picture.metadata["image/png"]["alt"]
    assert "companion-board-static" in configuration.data["text/html"]
    assert "widgets" not in notebook.metadata


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
    assert words.startswith(f"Board of {len(made.state['points'])} points")
    assert "companion-board-static" in page.call_args.args[0]["text/html"]


def test_points_that_are_too_few_have_a_message() -> None:
    for setup in (made.setup for name, made in PICTURES.items() if name != "lasso"):
        points = [[0.0, 0.0, 1.0]] * 4 if setup.fixed else []  # a line through one point twice
        assert list(setup.result(points, setup.values)) == ["message"]


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


def test_the_tube_follows_a_point(live: None) -> None:
    made = tube_board([-1.0, 0.0, 1.0], [-1.0, 0.5, 1.0], C=3.0, nu=0.9)
    made.points = [[-1.0, -1.0, 1.0], [0.0, -0.5, 1.0], [1.0, 1.0, 1.0]]
    model, found = NuSVR(0.9, C=3.0).fit([[-1.0], [0.0], [1.0]], [-1.0, -0.5, 1.0]), made.result
    assert [found["b"], found["epsilon"]] == pytest.approx([model.b_, model.epsilon_])
    line = np.polyval([model.w_[0], model.b_], np.linspace(-5, 5, 241))
    np.testing.assert_allclose(found["values"], line)
    assert found["counts"] == [model.p_f_, model.q_f_, model.p_m_, model.q_m_]


def test_the_steps_end_in_both_sets(live: None) -> None:
    made = step_board([4.0, -3.0], [0.0, 0.0], [[-4.0, 0.0], [4.0, 2.0]])
    end = np.array(made.result["z"][-1])
    assert np.hypot(*end) <= 2.0 + 1e-6
    assert end @ [-2.0, 8.0] == pytest.approx([-4.0, 0.0] @ np.array([-2.0, 8.0]), abs=1e-9)
    np.testing.assert_allclose(choose(made, program=LASSO)["z"][-1], [0.0, 0.0], atol=1e-9)
    made.points = [[4.0, -3.0, 1.0], [3.0, 1.0, 1.0], *made.points[2:]]
    w = np.array(made.result["z"][-1])
    gradient = np.array([[2.0, 1.2], [1.2, 1.0]]) @ (w - [3.0, 1.0])
    assert w[0] > 0.0 == w[1]
    assert gradient[0] == pytest.approx(-1.0, abs=1e-6)
    assert abs(gradient[1]) <= 1.0


def test_the_component_is_centred_and_has_the_first_eigenvalue(live: None) -> None:
    found = gram_board(np.random.default_rng(17).normal(size=(9, 2)), sigma=1.5).result
    component, H, values = np.array(found["component"]), np.eye(9) - 1 / 9, found["eigenvalues"]
    centred = H @ np.array(found["gram"]) @ H
    assert component.sum() == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(centred @ component, values[0] * component)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(centred)[:-7:-1])
    assert found["share"] == pytest.approx(values[0] / np.trace(centred))
