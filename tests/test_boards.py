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
import traitlets
from sklearn.base import clone
from sklearn.svm import SVC

from companion.boards import (
    Board,
    BoardPicture,
    board,
    gram_board,
    point_board,
    step_board,
    tube_board,
    weight_board,
)
from companion.boards.board import grid
from companion.boards.point import fit
from companion.datasets import TwoClasses, nine_points, zm_fourteen
from companion.regression import Lasso, tau_max
from companion.svm import HardMarginSVC, SVMs1, SVMs2, SVMs2l, SVMs2prime, SVMs3, SVMs4, SVMs5
from companion.svr import NuSVR

NAMESPACE = "http://www.w3.org/2000/svg"
MACHINES = {
    "hard": HardMarginSVC(),
    "s1": SVMs1(K=0.25),
    "s2": SVMs2(K=1.0),
    "s2l": SVMs2l(),
    "s2'": SVMs2prime(nu=0.7),
    "s3": SVMs3(nu=0.7),
    "s4": SVMs4(nu=1.0, K=1.0),
    "s5": SVMs5(nu=1.0, K=1.0),
}
LIMITS = (-5.0, 5.0, -5.0, 5.0)


def rows(data: TwoClasses) -> list[list[float]]:
    return [[*x, s] for x, s in zip(data.X.tolist(), data.y.tolist())]


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board, "somebody_is_there", lambda: True)


@pytest.fixture
def points_board(live: None) -> Board:
    data = nine_points()
    made = point_board(MACHINES, data.u, data.v, limits=LIMITS)
    assert isinstance(made, Board)
    return made


@pytest.mark.parametrize("name", MACHINES)
def test_board_shows_what_each_machine_finds(name: str) -> None:
    data = zm_fourteen() if name == "hard" else nine_points()
    rng = np.random.default_rng(18)
    order = rng.permutation(len(data.X))
    found = fit(clone(MACHINES[name]), np.array(rows(data))[order], (0.0, 6.0, 0.0, 6.0))
    machine = clone(MACHINES[name]).fit_uv(data.u, data.v)
    a, slack = np.r_[machine.lambda_, machine.mu_], np.r_[machine.epsilon_, machine.xi_]
    np.testing.assert_allclose(found["slacks"], slack[order], atol=1e-7)
    if name != "hard":  # its multipliers are not unique on these points
        np.testing.assert_allclose(found["multipliers"], a[order], atol=1e-7)
        assert found["places"] == machine.point_classes_[order].tolist()
    json.dumps(found, allow_nan=False)  # a browser reads no NaN


def test_the_field_is_the_decision_function_on_the_grid(points_board: Board) -> None:
    points_board.program = "s2"
    data, (x, y) = nine_points(), grid(LIMITS)
    machine = SVMs2(K=1.0).fit_uv(data.u, data.v)
    field = np.array(points_board.result["field"])
    np.testing.assert_allclose(field[7, 11], machine.decision_function([[x[11], y[7]]])[0])


def test_moving_a_point_refits(points_board: Board) -> None:
    points_board.program = "s3"
    before = points_board.result["multipliers"]
    moved = [list(point) for point in points_board.points]
    moved[0] = [-3.0, -2.0, 1.0]
    points_board.points = moved
    assert points_board.result["multipliers"] != before
    assert points_board.result.items() >= fit(SVMs3(nu=0.7), np.array(moved), LIMITS).items()
    assert points_board.start[0] == [2.0, 1.0, 1.0]
    points_board.points = [*moved, [0.5, 0.5, -1.0]]
    assert len(points_board.result["places"]) == 10
    points_board.points = [point for point in moved if point[2] > 0]
    assert points_board.result == {"message": "There must be a point of each colour."}


def test_sliders_follow_the_parameters(points_board: Board) -> None:
    sliders = {p["name"]: [s["name"] for s in p["parameters"]] for p in points_board.programs}
    assert sliders["hard"] == sliders["s2l"] == []
    assert sliders["s1"] == sliders["s2"] == ["K"]
    assert sliders["s2'"] == ["nu"]
    assert sliders["s4"] == ["nu", "K"]
    points_board.program = "s2"
    points_board.values = {**points_board.values, "s2": {"K": 0.1}}
    np.testing.assert_allclose(points_board.result["multipliers"][2], 89 / 1210, atol=1e-9)
    assert MACHINES["s2"].K == 1.0  # the reader's machines stay as they were


def test_the_board_says_why_there_is_no_solution(points_board: Board) -> None:
    points_board.program = "hard"
    assert "no hyperplane separates" in points_board.result["message"]
    points_board.program = "s2'"
    points_board.values = {**points_board.values, "s2'": {"nu": 0.95}}
    assert "exceeds 2 min(p, q)/(p + q)" in points_board.result["message"]
    points_board.values = {**points_board.values, "s2'": {"nu": 0.05}}
    assert "nu_min" in points_board.result["message"]
    assert points_board.result["field"] is None
    json.dumps(points_board.result, allow_nan=False)


def test_the_module_of_the_board_loads_nothing() -> None:
    for file in board.BROWSER.iterdir():
        text = file.read_text(encoding="utf-8").replace(NAMESPACE, "")
        assert not re.search(r"https?:|//\w|\bimport\b|@import|url\(|fetch\(", text)


def test_without_a_reader_there_is_a_picture_and_no_widget() -> None:
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [
        nbformat.v4.new_code_cell(
            "from companion.boards import point_board\nfrom companion.svm import SVMs2\n"
            "point_board(SVMs2(), [[1, 0]], [[-1, 0]])"
        )
    ]
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    picture, configuration = notebook.cells[0].outputs
    assert "blue at (1, 0)" in picture.metadata["image/png"]["alt"]
    assert "companion-board-static" in configuration.data["text/html"]
    assert "widgets" not in notebook.metadata


X, Y = [-1.0, 0.0, 1.0, 2.0], [1.0, 0.2, 0.0, 1.5]
PICTURES = {
    "point": point_board(SVMs2prime(nu=0.6), [[1, 0], [2, 1]], [[-1, 0]], limits=LIMITS),
    "tube": tube_board(X, Y),
    "weights": weight_board(X, Y),
    "sets": step_board([4.0, -3.0], [0.0, 0.5]),
    "lasso": step_board([4.0, -3.0], [0.0, 0.5], program="a lasso with two weights"),
    "gram": gram_board(np.column_stack([X, Y])),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_and_its_words_stand_for_a_board(name: str) -> None:
    made = PICTURES[name]
    with patch("IPython.display.display") as picture, patch.object(board, "display") as page:
        made._ipython_display_()
    assert picture.call_args.args[0]["image/png"][1:4] == b"PNG"
    words = picture.call_args.kwargs["metadata"]["image/png"]["alt"]
    assert words.startswith(f"Board of {len(made.state['points'])} points")
    assert "companion-board-static" in page.call_args.args[0]["text/html"]


@pytest.mark.parametrize("name", PICTURES)
def test_points_that_are_too_few_have_a_message(name: str) -> None:
    setup = PICTURES[name].setup
    points = [[0.0, 0.0, 1.0]] * 4 if setup.fixed else []  # a line through one point twice
    found = setup.result(points, setup.program, setup.values[setup.program])
    assert name == "lasso" or list(found) == ["message"]


def test_a_front_end_that_answers_is_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    def shell_of(answers: bool) -> SimpleNamespace:
        return SimpleNamespace(get_parent=lambda: {"content": {"allow_stdin": answers}})

    for shell, there in ((None, False), (shell_of(False), False), (shell_of(True), True)):
        monkeypatch.setattr(board, "get_ipython", lambda shell=shell: shell)
        assert board.somebody_is_there() is there


def test_a_widget_refuses_what_is_no_point_and_no_program(points_board: Board) -> None:
    for points in ([[0.0, 1.0]], [[0.0, float("nan"), 1.0]], [[0.0, 1.0, 2.0]]):
        with pytest.raises(traitlets.TraitError, match="a point is"):
            points_board.points = points
    with pytest.raises(traitlets.TraitError, match="program must be one of"):
        points_board.program = "s6"


U, V = [[1.0, 0.0]], [[-1.0, 4.0]]


@pytest.mark.parametrize(
    ("machines", "changes", "message"),
    [
        ({}, {}, "at least one machine"),
        (SVC(), {}, r"machines must be machines of companion.svm, got SVC\(\)"),
        (SVMs2(), {"u": [[1, 0, 0]]}, "u must have shape"),
        (SVMs2(), {"limits": (1.0, -1.0, 0.0, 1.0)}, "limits must be .* rising"),
        (SVMs2(), {"program": "s3"}, "program must be one of"),
        (SVMs2(K=1.0), {"values": {"nu": 0.5}}, "values must name sliders"),
    ],
)
def test_what_makes_no_board_is_named(machines: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        point_board(machines, **{"u": U, "v": V, **changes})


def test_all_points_are_in_view() -> None:
    made = point_board(SVMs2(), U, V)
    assert isinstance(made, BoardPicture)
    left, right, bottom, top = made.setup.limits
    assert left < -1 < 1 < right
    assert bottom < 0 < 4 < top


def test_the_tube_follows_a_point(live: None) -> None:
    made = tube_board([-1.0, 0.0, 1.0], [-1.0, 0.5, 1.0], values={"C": 3.0, "nu": 0.9})
    assert isinstance(made, Board)
    made.points = [[-1.0, -1.0, 1.0], [0.0, -0.5, 1.0], [1.0, 1.0, 1.0]]
    model = NuSVR(0.9, C=3.0).fit([[-1.0], [0.0], [1.0]], [-1.0, -0.5, 1.0])
    assert made.result["b"] == pytest.approx(model.b_)
    assert made.result["epsilon"] == pytest.approx(model.epsilon_)
    np.testing.assert_allclose(
        made.result["values"], np.polyval([model.w_[0], model.b_], np.linspace(-5, 5, 241))
    )
    assert made.result["counts"] == [model.p_f_, model.q_f_, model.p_m_, model.q_m_]
    made.points = []
    assert made.result == {"message": "There must be a point."}


@pytest.mark.parametrize("seed", range(10))
def test_a_weight_is_zero_from_the_threshold_on(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-1.0, 3.0, 12), rng.normal(size=12)
    found = weight_board(x, y).result
    X = np.column_stack([x, x**2])
    assert max(found["zeros"]) == pytest.approx(tau_max(X, y))
    for j, threshold in enumerate(found["zeros"]):
        for part in (1.0 + 1e-6, 1.5, 3.0):
            assert Lasso(part * threshold).fit(X, y).w_[j] == 0.0
        if threshold > 0.0:
            assert Lasso((1.0 - 1e-6) * threshold).fit(X, y).w_[j] != 0.0


def test_the_steps_end_in_both_sets(live: None) -> None:
    made = step_board([4.0, -3.0], [0.0, 0.0], [[-4.0, 0.0], [4.0, 2.0]], values={"radius": 2.0})
    assert isinstance(made, Board)
    end = np.array(made.result["z"][-1])
    assert np.hypot(*end) <= 2.0 + 1e-6
    assert end @ [-2.0, 8.0] == pytest.approx([-4.0, 0.0] @ np.array([-2.0, 8.0]), abs=1e-9)
    made.program = "a lasso with two weights"
    w, subgradient = np.array(made.result["z"][-1]), np.array([[2.0, 1.2], [1.2, 1.0]])
    np.testing.assert_allclose(w, [0.0, 0.0], atol=1e-9)
    moved = [[4.0, -3.0, 1.0], [3.0, 1.0, 1.0], *made.points[2:]]
    made.points = moved
    w = np.array(made.result["z"][-1])
    gradient = subgradient @ (w - [3.0, 1.0])
    assert w[0] > 0.0 == w[1]
    assert gradient[0] == pytest.approx(-1.0, abs=1e-6)
    assert abs(gradient[1]) <= 1.0
    with pytest.raises(traitlets.TraitError, match="this board has 4 points"):
        made.points = made.points[:3]


def test_the_component_is_centred_and_has_the_first_eigenvalue(live: None) -> None:
    X = np.random.default_rng(17).normal(size=(9, 2))
    made = gram_board(X, values={"sigma": 1.5})
    assert isinstance(made, Board)
    component, G = np.array(made.result["component"]), np.array(made.result["gram"])
    centred = (np.eye(9) - 1 / 9) @ G @ (np.eye(9) - 1 / 9)
    assert component.sum() == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(centred @ component, made.result["eigenvalues"][0] * component)
    np.testing.assert_allclose(made.result["eigenvalues"], np.linalg.eigvalsh(centred)[:-7:-1])
    assert made.result["share"] == pytest.approx(made.result["eigenvalues"][0] / np.trace(centred))
