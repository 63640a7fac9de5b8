"""Flipbooks: one frame per value, linked in the browser, described in words, bounded in size.

The board of points: what it shows is what the machine finds. Its keys and its mouse are tested in a browser
(tests/site/test_board.py).
"""

from __future__ import annotations

import io
import json
import re
from typing import Any

import ipywidgets
import matplotlib.pyplot as plt
import nbclient
import nbformat
import numpy as np
import pytest
import traitlets
from ipywidgets.embed import embed_data
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image
from sklearn.base import clone
from sklearn.svm import SVC

from companion import board, pictures, plotting, widgets
from companion.board import PointBoard, fit_points, point_board
from companion.datasets import TwoClasses, nine_points, zm_fourteen
from companion.svm import (
    HardMarginSVC,
    SVMs1,
    SVMs2,
    SVMs2l,
    SVMs2prime,
    SVMs3,
    SVMs4,
    SVMs5,
)
from companion.widgets import flipbook, flipbook_grid

SVG_NAMESPACE = "http://www.w3.org/2000/svg"


def draw(*values: float) -> Figure:
    fig, ax = plt.subplots(figsize=(2, 1.5))
    ax.plot([0, 1], [0, sum(values)])
    ax.set_title(str(values))
    return fig


def frames(stack: ipywidgets.Stack) -> list[str]:
    return [child.value for child in stack.children]


def test_one_frame_per_value_each_with_its_own_words() -> None:
    box = flipbook(draw, [1.0, 2.0, 3.0], label="slope", alt=lambda v: f"A line of slope {v}")
    slider, stack = box.children[:2]
    pictures = frames(stack)
    assert len(set(pictures)) == 3
    assert [re.search('alt="([^"]*)"', p)[1] for p in pictures] == [
        f"A line of slope {v}" for v in (1.0, 2.0, 3.0)
    ]
    assert list(slider.options) == ["1", "2", "3"]
    assert slider.index == stack.selected_index == 1


def test_slider_and_stack_are_linked_in_the_browser() -> None:
    box = flipbook(draw, [1, 2], label="slope", alt="slope {}")
    models = embed_data(views=[box])["manager_state"]["state"].values()
    slider, stack = (f"IPY_MODEL_{child.model_id}" for child in box.children[:2])
    links = [m["state"] for m in models if m["model_name"] == "LinkModel"]
    assert {"source": [slider, "index"], "target": [stack, "selected_index"]}.items() <= links[
        -1
    ].items()


def test_alt_text_is_escaped() -> None:
    box = flipbook(draw, [1, 2], label="slope", alt='a "quoted" <b> {}')
    assert "<b>" not in frames(box.children[1])[0]


def test_live_control_redraws_between_the_frames() -> None:
    box = flipbook(draw, [1.0, 2.0, 3.0], label="slope", alt="slope {}")
    live = box.children[2]
    entry, picture = live.children
    assert picture.value == ""
    entry.value = 1.5
    assert 'alt="slope 1.5"' in picture.value
    assert widgets.LIVE_CLASS in live._dom_classes


def test_live_control_of_two_parameters() -> None:
    """Integers among floats are numbers like others."""
    options = {"labels": ("a", "b"), "alt": "{} and {}", "value": (2, 0.5)}
    box = flipbook_grid(draw, [1, 2, 2.5], [0.1, 0.5], **options)
    first, second, picture = box.children[3].children
    assert (first.value, second.value) == (2, 0.5)
    first.value = 1.25
    assert 'alt="1.25 and 0.5"' in picture.value
    before = picture.value
    second.value = 0.3
    assert 'alt="1.25 and 0.3"' in picture.value
    assert picture.value != before


@pytest.mark.parametrize("values", [["a", "bb"], [1, 2]])
def test_values_without_others_between_them_have_no_live_control(values: list) -> None:
    box = flipbook(lambda value: draw(len(str(value))), values, label="name", alt="name {}")
    assert len(box.children) == 2


def test_every_figure_is_closed() -> None:
    """Also those of the live control: Jupyter shows what is left open under the next cell."""
    before = plt.get_fignums()
    box = flipbook(draw, [1.0, 2.0, 3.0], label="slope", alt="slope {}")
    box.children[2].children[0].value = 1.5
    assert plt.get_fignums() == before


def test_grid_has_a_frame_for_each_pair() -> None:
    box = flipbook_grid(draw, [1, 2], [3, 4, 5], labels=("a", "b"), alt="{} and {}", value=(2, 3))
    first, second, outer = box.children
    assert (first.index, second.index, outer.selected_index) == (1, 0, 1)
    assert [len(row.children) for row in outer.children] == [3, 3]
    assert 'alt="2 and 5"' in outer.children[1].children[2].value


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": [1]}, "at least two values, got 1"),
        ({"values": list(range(151))}, "at most 150 frames, got 151"),
        ({"values": [1, 2], "value": 3}, "must be one of"),
        ({"values": [1.00001, 1.00002]}, "four significant digits"),
        ({"values": [1, 2], "alt": " "}, "alt must describe"),
        ({"values": [1, 2], "label": " "}, "label must say"),
    ],
)
def test_bad_arguments(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        flipbook(draw, **{"label": "x", "alt": "frame {}", **arguments})


def test_a_drawing_without_return() -> None:
    with pytest.raises(TypeError, match="draw must return a Matplotlib figure, got NoneType"):
        flipbook(lambda value: None, [1, 2], label="x", alt="frame {}")


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_test_may_draw_fewer_frames(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """All positions are there, and only as many pictures as asked for were drawn, the first among them."""
    monkeypatch.setenv("COMPANION_FRAMES", str(limit))
    drawn = []

    def draw(*values: float) -> Figure:
        drawn.append(values)
        figure, axes = plt.subplots(figsize=(1, 1))
        axes.plot([0, 1], [0, sum(values)])
        return figure

    box = flipbook(draw, [1.0, 2.0, 3.0, 4.0, 5.0], label="slope", alt="A line of slope {}")
    assert len(box.children[1].children) == 5
    assert len(drawn) == limit
    assert drawn[0] == (1.0,)
    grid = flipbook_grid(draw, [1, 2], [3, 4, 5], labels=("a", "b"), alt="A line, {} and {}")
    assert [len(stack.children) for stack in grid.children[2].children] == [3, 3]
    assert len(drawn) == 2 * limit


def test_too_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widgets, "MAX_BYTES", 100)
    with pytest.raises(ValueError, match="the limit is"):
        flipbook(draw, [1, 2], label="x", alt="frame {}")


def test_a_small_marker_keeps_its_colour() -> None:
    """The marker is a few dozen pixels beside areas of other colours with soft edges."""
    figure, ax = plt.subplots(figsize=(6, 4))
    grid = np.linspace(-1, 1, 200)
    ax.contourf(grid, grid, np.add.outer(grid**2, grid**2), levels=60, cmap="viridis")
    ax.plot(0.5, 0.5, "o", color=plotting.BLUE, markersize=4)
    ax.plot(-0.5, 0.5, "s", color=plotting.RED, markersize=4)
    frame = Image.open(io.BytesIO(pictures.frames([figure])[0])).convert("RGB")
    colours = {colour for _, colour in frame.getcolors(10**6)}
    for name in (plotting.BLUE, plotting.RED):
        assert tuple(round(255 * part) for part in to_rgb(name)) in colours


def test_palette_keeps_the_picture() -> None:
    from io import BytesIO

    from PIL import Image

    picture = np.asarray(Image.open(BytesIO(pictures.frames([draw(1.0)])[0])).convert("L"))
    assert picture.shape == (150, 200)
    assert picture.min() < 80
    assert picture.max() == 255


# -- the board of points

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
def points_board(live: None) -> PointBoard:
    data = nine_points()
    made = point_board(MACHINES, data.u, data.v, limits=LIMITS)
    assert isinstance(made, PointBoard)
    return made


@pytest.mark.parametrize("name", MACHINES)
def test_board_shows_what_each_machine_finds(name: str) -> None:
    data = zm_fourteen() if name == "hard" else nine_points()
    rng = np.random.default_rng(18)
    order = rng.permutation(len(data.X))
    found = fit_points(clone(MACHINES[name]), [rows(data)[i] for i in order], (0.0, 6.0, 0.0, 6.0))
    machine = clone(MACHINES[name]).fit_uv(data.u, data.v)
    a, slack = np.r_[machine.lambda_, machine.mu_], np.r_[machine.epsilon_, machine.xi_]
    assert found["message"] == ""
    np.testing.assert_allclose(found["slacks"], slack[order], atol=1e-7)
    if name != "hard":  # its multipliers are not unique on these points
        np.testing.assert_allclose(found["multipliers"], a[order], atol=1e-7)
        assert found["places"] == machine.point_classes_[order].tolist()
    json.dumps(found, allow_nan=False)  # a browser reads no NaN


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_curves_lie_where_the_decision_function_says(kernel: str) -> None:
    params = {"sigma": 3.0} if kernel == "rbf" else None
    machine = SVMs2(K=1.0, kernel=kernel, kernel_params=params)
    curves = fit_points(machine, rows(nine_points()), LIMITS)["curves"]
    for name, level in (("hyperplane", 0.0), ("blue", 1.0), ("red", -1.0)):
        assert curves[name], name
        for line in curves[name]:
            np.testing.assert_allclose(machine.decision_function(line), level, atol=0.02)


def test_moving_a_point_refits(points_board: PointBoard) -> None:
    points_board.program = "s3"
    before = points_board.result["multipliers"]
    moved = [list(point) for point in points_board.points]
    moved[0] = [-3.0, -2.0, 1.0]
    points_board.points = moved
    assert points_board.result["multipliers"] != before
    assert points_board.result == fit_points(SVMs3(nu=0.7), moved, LIMITS)
    assert points_board.start[0] == [2.0, 1.0, 1.0]


def test_adding_and_removing_points(points_board: PointBoard) -> None:
    points_board.program = "s2"
    points_board.points = [*points_board.points, [0.5, 0.5, -1.0]]
    assert len(points_board.result["places"]) == 10
    points_board.points = [point for point in points_board.points if point[2] > 0]
    assert points_board.result == {"message": "There must be a point of each colour."}
    points_board.points = []
    assert "each colour" in points_board.result["message"]
    points_board.points = points_board.start
    assert points_board.result == fit_points(SVMs2(K=1.0), rows(nine_points()), LIMITS)


def test_sliders_follow_the_parameters(points_board: PointBoard) -> None:
    sliders = {p["name"]: [s["name"] for s in p["parameters"]] for p in points_board.programs}
    assert sliders["hard"] == sliders["s2l"] == []
    assert sliders["s1"] == sliders["s2"] == ["K"]
    assert sliders["s2'"] == ["nu"]
    assert sliders["s4"] == ["nu", "K"]
    points_board.program = "s2"
    points_board.values = {**points_board.values, "s2": {"K": 0.1}}
    np.testing.assert_allclose(points_board.result["multipliers"][2], 89 / 1210, atol=1e-9)
    assert MACHINES["s2"].K == 1.0  # the reader's machines stay as they were


def test_the_board_says_why_there_is_no_solution(points_board: PointBoard) -> None:
    points_board.program = "hard"
    assert "no hyperplane separates" in points_board.result["message"]
    points_board.program = "s2'"
    points_board.values = {**points_board.values, "s2'": {"nu": 0.95}}
    assert "exceeds 2 min(p, q)/(p + q)" in points_board.result["message"]
    points_board.values = {**points_board.values, "s2'": {"nu": 0.05}}
    assert "nu_min" in points_board.result["message"]
    assert points_board.result["curves"] == {}
    json.dumps(points_board.result, allow_nan=False)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("program", "s6", "program must be one of"),
        ("points", [[0.0, 1.0]], "a point is"),
        ("points", [[0.0, float("nan"), 1.0]], "a point is"),
        ("points", [[0.0, 1.0, 2.0]], "a point is"),
    ],
)
def test_the_board_refuses(points_board: PointBoard, name: str, value: Any, message: str) -> None:
    with pytest.raises(traitlets.TraitError, match=message):
        setattr(points_board, name, value)


def test_bad_arguments_of_a_board(live: None) -> None:
    with pytest.raises(ValueError, match="at least one machine"):
        point_board({}, [[1, 0]], [[-1, 0]])
    with pytest.raises(ValueError, match="shape"):
        point_board(SVMs2(), [[1, 0, 0]], [[-1, 0, 0]])


def test_the_board_shows_all_points(live: None) -> None:
    made = point_board(SVMs2(), [[1, 0]], [[-1, 4]])
    left, right, bottom, top = made.limits
    assert left < -1 < 1 < right
    assert bottom < 0 < 4 < top


def test_the_module_of_the_board_loads_nothing() -> None:
    for name in ("front.js", "page.js", "board.css"):
        text = (board.FOLDER / name).read_text(encoding="utf-8").replace(SVG_NAMESPACE, "")
        assert not re.search(r"https?:|//\w|\bimport\b|@import|url\(|fetch\(", text)


def test_without_a_reader_there_is_a_picture_and_no_widget() -> None:
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [
        nbformat.v4.new_code_cell(
            "from companion.board import point_board\nfrom companion.svm import SVMs2\n"
            "point_board(SVMs2(), [[1, 0]], [[-1, 0]])"
        )
    ]
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    picture, configuration = notebook.cells[0].outputs
    assert "blue at (1, 0)" in picture.metadata["image/png"]["alt"]
    assert "companion-board-static" in configuration.data["text/html"]
    assert "widgets" not in notebook.metadata


def test_a_front_end_that_answers_is_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shell:
        def __init__(self, answers: bool) -> None:
            self.answers = answers

        def get_parent(self) -> dict[str, Any]:
            return {"content": {"allow_stdin": self.answers}}

    for shell, there in (
        (None, False),
        (object(), False),
        (Shell(False), False),
        (Shell(True), True),
    ):
        monkeypatch.setattr(board, "get_ipython", lambda shell=shell: shell)
        assert board.somebody_is_there() is there


def a_figure(*values: float) -> Figure:
    return plt.figure(figsize=(1, 1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"draw": None}, "draw must be a function, got NoneType"),
        ({"values": None}, "values must be a sequence, got NoneType"),
        ({"values": "abc"}, "values must be a sequence, got str"),
        ({"values": [1.0, np.nan]}, "values must be finite, got nan"),
        ({"label": None}, "label must say what the slider changes, got None"),
        ({"alt": None}, "alt must describe the picture, got None"),
        ({"alt": lambda v: v}, "alt must describe the picture, got 1"),
    ],
)
def test_what_makes_no_flipbook_is_named(changes: dict, message: str) -> None:
    good = {"draw": a_figure, "values": [1.0, 2.0], "label": "x", "alt": "A picture {}"}
    with pytest.raises((ValueError, TypeError), match=message):
        widgets.flipbook(**(good | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": "ab"}, "labels must be two, one for each slider, got 'ab'"),
        ({"labels": ("a",)}, "labels must be two"),
        ({"value": 1.0}, "value must be two"),
        ({"second": 3}, "second must be a sequence, got int 3"),
        ({"draw": 1}, "draw must be a function, got int"),
    ],
)
def test_what_makes_no_grid_is_named(changes: dict, message: str) -> None:
    good = {
        "draw": a_figure,
        "first": [1, 2],
        "second": [3, 4],
        "labels": ("a", "b"),
        "alt": "{} {}",
    }
    with pytest.raises((ValueError, TypeError), match=message):
        widgets.flipbook_grid(**(good | changes))


@pytest.mark.parametrize(
    "points", [np.ones((3, 2)), np.ones((3, 4)), [(0.0, np.nan, 1.0)]], ids=repr
)
def test_points_of_a_board_are_triples(points: Any) -> None:
    """Three pairs used to be read as two triples."""
    with pytest.raises(ValueError, match="points must"):
        fit_points(SVMs2(K=1.0), points, LIMITS)
    with pytest.raises(ValueError, match=r"sign \+1 or -1"):
        fit_points(SVMs2(K=1.0), [(1.0, 0.0, 1.0), (0.0, 0.0, 0.0)], LIMITS)


def test_a_board_wants_machines_and_limits_that_rise() -> None:
    u, v = [[1.0, 0.0]], [[-1.0, 0.0]]
    with pytest.raises(TypeError, match=r"machines must be machines of companion.svm, got SVC\(\)"):
        point_board(SVC(), u, v)
    for limits in ((1.0, -1.0, 0.0, 1.0), (0.0, 1.0, 2.0)):
        with pytest.raises(ValueError, match="limits must"):
            point_board(SVMs2(K=1.0), u, v, limits=limits)  # type: ignore[arg-type]
