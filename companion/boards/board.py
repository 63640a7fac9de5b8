"""What all boards share: the widget of a running notebook, and the picture of a page that is executed without a reader.

Where somebody moves the points of a running notebook, the package solves. In the rendered page the files of
``companion/boards/browser`` do. Both give the same numbers to the same front.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets
from IPython.core.getipython import get_ipython
from IPython.display import display
from matplotlib.figure import Figure

from companion.checks import as_vector
from companion.figures import plotting
from companion.kernels import Gaussian, Polynomial

__all__ = ["Board", "BoardPicture", "Given", "Setup", "Shown", "field", "grid", "numbers", "slider"]

BROWSER = Path(__file__).parent / "browser"
GRID = 48  # values of a function per axis, from which the browser draws its curves

Limits = tuple[float, float, float, float]
Values = Mapping[str, Any]


def slider(name: str, letter: str, low: float, high: float, *, log: bool = False) -> dict[str, Any]:
    """Return the description of a slider."""
    return {"name": name, "letter": letter, "low": low, "high": high, "log": log}


PRESETS = json.loads((Path(__file__).parent / "presets.json").read_text(encoding="utf-8"))
KERNEL_CHOICE: list[dict[str, Any]] = [
    {"name": "kernel", "letter": "kernel", "options": ["linear", "quadratic", "Gaussian"]},
    {**slider("sigma", "σ", 0.1, 10.0, log=True), "when": ["kernel", "Gaussian"]},
]
FIRST_KERNEL = {"kernel": "linear", "sigma": 1.0}


@dataclass(frozen=True)
class Given:
    """What a board solves: points (rows x, y, sign), a program, the values of its sliders, the part that is shown."""

    points: np.ndarray
    program: str
    values: Values
    limits: Limits


@dataclass(frozen=True)
class Setup:
    """A board before anything is moved.

    Parameters
    ----------
    kind : str
        Name of the board, and of its file in the browser.
    points : list of [x, y, sign]
        The points.
    limits : (left, right, bottom, top)
        The part of the plane that is shown.
    programs : mapping
        For each program what the browser calls it, and its sliders.
    values : mapping
        For each program the values of its sliders.
    solve : callable
        From what is given to the numbers of the result. A ValueError is a message.
    draw : callable
        From the same and the result to a figure.
    call : str
        The call that makes the board, with BLUE, RED, POINTS, XS or YS for what the reader moves, up to its options.
    before : str
        A line of the cell before the call.
    program : str
        The program to begin with.
    scale : float
        The length of a preset's unit.
    fixed : bool
        Whether points are neither added nor removed.
    """

    kind: str
    points: list[list[float]]
    limits: Limits
    programs: dict[str, tuple[str, list[dict[str, Any]]]]
    values: dict[str, dict[str, Any]]
    solve: Callable[[Given], dict[str, Any]]
    draw: Callable[[Given, dict[str, Any]], Figure]
    call: str
    before: str = ""
    program: str = ""
    scale: float = 1.0
    fixed: bool = False

    def begin(self, program: str | None, values: Values | None) -> Shown:
        """Return the widget in JupyterLab, and elsewhere the picture, with a program and values to begin with."""
        chosen = next(iter(self.programs)) if program is None else program
        if chosen not in self.programs:
            raise ValueError(f"program must be one of {list(self.programs)}, got {program!r}")
        unknown = set(values or {}) - set(self.values[chosen])
        if unknown:
            known = list(self.values[chosen])
            raise ValueError(
                f"values must name sliders of {chosen}, {known}, got {sorted(unknown)}"
            )
        given = {**self.values, chosen: {**self.values[chosen], **(values or {})}}
        begun = replace(self, program=chosen, values=given, limits=rising(self.limits))
        return Board(begun) if somebody_is_there() else BoardPicture(begun)

    def given(self, points: Any, program: str, values: Values) -> Given:
        """Return what there is to be solved."""
        return Given(
            np.reshape(np.array(points, dtype=float), (-1, 3)), program, values, self.limits
        )

    def result(self, points: Any, program: str, values: Values) -> dict[str, Any]:
        """Return the numbers of the board, with the warnings; without a solution a message alone."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = self.solve(self.given(points, program, values))
            except ValueError as error:
                return {"message": str(error)}
        told = " ".join(str(warning.message) for warning in caught)
        return {"message": told, "solved": True, "size": len(points), **found}

    def state(self) -> dict[str, Any]:
        """Return what the front needs to know."""

        def scaled(points: list[list[float]]) -> list[list[float]]:
            return [[round(self.scale * x, 2), round(self.scale * y, 2), s] for x, y, s in points]

        return {
            "kind": self.kind,
            "points": self.points,
            "start": self.points,
            "selected": 0,
            "limits": list(self.limits),
            "colors": {"blue": plotting.BLUE, "red": plotting.RED},
            "program": self.program,
            "programs": [
                {"name": name, "machine": machine, "parameters": sliders}
                for name, (machine, sliders) in self.programs.items()
            ],
            "values": self.values,
            "presets": {name: scaled(points) for name, points in PRESETS[self.kind].items()},
            "fixed": self.fixed,
        }

    def cell(self) -> str:
        """Return the cell that makes the board, with names in capitals for what the reader changes."""
        choice = "program=PROGRAM, " if len(self.programs) > 1 else ""
        return (
            f"from companion.boards import {self.call.partition('(')[0]}\n{self.before}\n"
            f"{self.call},\n    limits={self.limits}, {choice}values=VALUES,\n)"
        )


class Board(anywidget.AnyWidget):
    """The widget: points that can be moved, and the numbers that follow.

    Parameters
    ----------
    setup : Setup
        The board.

    Attributes
    ----------
    points : list of [x, y, sign]
        The points.
    selected : int
        Index of the point that the keyboard moves.
    program : str
        Name of the program in use.
    values : dict
        For each program the values of its sliders.
    result : dict
        The numbers found for them, with a message.
    """

    _css = (BROWSER / "board.css").read_text(encoding="utf-8")

    kind = traitlets.Unicode().tag(sync=True)
    points: traitlets.List[Any] = traitlets.List().tag(sync=True)
    start: traitlets.List[Any] = traitlets.List().tag(sync=True)
    selected = traitlets.Int(0, min=0).tag(sync=True)
    program = traitlets.Unicode().tag(sync=True)
    programs: traitlets.List[Any] = traitlets.List().tag(sync=True)
    values = traitlets.Dict().tag(sync=True)
    limits: traitlets.List[Any] = traitlets.List().tag(sync=True)
    colors = traitlets.Dict().tag(sync=True)
    presets = traitlets.Dict().tag(sync=True)
    fixed = traitlets.Bool(False).tag(sync=True)
    result = traitlets.Dict().tag(sync=True)

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        super().__init__(**setup.state(), _esm=module(setup.kind))
        self._solve()
        self.observe(self._solve, names=["points", "program", "values"])

    @traitlets.validate("points")
    def _check_points(self, proposal: dict[str, Any]) -> list[list[float]]:
        for point in proposal["value"]:
            if len(point) != 3 or not np.isfinite(point).all() or point[2] not in (1, -1):
                raise traitlets.TraitError(
                    f"a point is [x, y, sign] with sign +1 or -1, got {point}"
                )
        if self._setup.fixed and len(proposal["value"]) != len(self._setup.points):
            raise traitlets.TraitError(f"this board has {len(self._setup.points)} points")
        return [[float(t) for t in point] for point in proposal["value"]]

    @traitlets.validate("program")
    def _check_program(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in self._setup.programs:
            raise traitlets.TraitError(
                f"program must be one of {list(self._setup.programs)}, got {proposal['value']!r}"
            )
        return proposal["value"]

    def _solve(self, change: Any = None) -> None:
        found = self._setup.result(self.points, self.program, self.values[self.program])
        self.result = finite(found)


class BoardPicture:
    """A board without a kernel: the picture of its first points, and what the page needs to make it move.

    Parameters
    ----------
    setup : Setup
        The board.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.state = {**setup.state(), "cell": setup.cell(), "id": f"board-{setup.kind}"}
        self.state["programs"] = [p for p in self.state["programs"] if p["machine"]]
        self.result = setup.result(setup.points, setup.program, setup.values[setup.program])

    def __repr__(self) -> str:
        points = self.setup.points
        blue, red = (
            ", ".join(f"({x:g}, {y:g})" for x, y, s in points if s == sign) for sign in (1, -1)
        )
        where = f"blue at {blue}; red at {red}" if red else f"at {blue}"
        numbers = {name: x for name, x in self.result.items() if isinstance(x, float)}
        facts = ", ".join(f"{name} = {number(value)}" for name, value in numbers.items())
        about = f"Board of {len(points)} points, {self.setup.program}: {where}."
        return f"{about} {self.result['message'] or facts}"

    def _ipython_display_(self) -> None:
        """Show the picture, and beside it, unseen, what the page needs."""
        setup = self.setup
        given = setup.given(setup.points, setup.program, setup.values[setup.program])
        plotting.show(setup.draw(given, self.result), repr(self))
        display({"text/html": self.html(), "text/plain": repr(self)}, raw=True)

    def html(self) -> str:
        """Return the configuration for the page."""
        text = json.dumps(self.state, ensure_ascii=False).replace("</", "<\\/")
        return (
            f'<div class="companion-board-static" id="{self.state["id"]}">'
            f'<script type="application/json">{text}</script></div>'
        )


Shown = Board | BoardPicture


def somebody_is_there() -> bool:
    """Return whether the cell that runs was sent by a front end with a reader.

    Front ends for people answer ``input()`` and say so with each cell; programs that execute notebooks do not.
    """
    shell = get_ipython()
    parent: Any = getattr(shell, "get_parent", dict)()
    return bool(parent.get("content", {}).get("allow_stdin", False))


def module(kind: str) -> str:
    """Return the front and one board as a module of JavaScript."""
    files = ["solver", "numbers", "curves", "plane", "front", kind]  # as in browser/page.js
    parts = [(BROWSER / f"{name}.js").read_text("utf-8") for name in files]
    return "\n".join([*parts, "export default { render: companionBoards.render };\n"])


def rising(limits: Any) -> Limits:
    """Return the limits of the plane as numbers, or raise an error."""
    left, right, bottom, top = as_vector(limits, "limits", 4).tolist()
    if not (left < right and bottom < top):
        raise ValueError(f"limits must be (left, right, bottom, top), rising, got {limits}")
    return left, right, bottom, top


def with_kernel(values: Values) -> dict[str, Any]:
    """Return the parameters of a machine, with the kernel that a choice names."""
    given = dict(values)
    if "kernel" in given:
        kernel, sigma = given.pop("kernel"), given.pop("sigma")
        kernels: dict[str, Any] = {"quadratic": Polynomial(2, 1.0), "Gaussian": Gaussian(sigma)}
        given["kernel"] = kernels.get(kernel, "linear")
    return given


def grid(limits: Limits) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates at which the browser wants values of a function."""
    left, right, bottom, top = limits
    return np.linspace(left, right, GRID), np.linspace(bottom, top, GRID)


def field(f: Callable[[np.ndarray], np.ndarray], limits: Limits) -> list[list[float]]:
    """Return the values of a function of points on the browser's grid."""
    plane = np.stack(np.meshgrid(*grid(limits)), axis=-1)
    return f(plane.reshape(-1, 2)).reshape(GRID, GRID).tolist()


def numbers(machine: Any, *names: str) -> dict[str, float]:
    """Return numbers that a fitted machine has."""
    return {name: float(getattr(machine, f"{name}_")) for name in names}


def number(value: float) -> str:
    """Return a number as the board shows it."""
    value = 0.0 if abs(value) < 1e-12 else value  # rounding
    return f"{value:.4g}" if math.isfinite(value) else "∞" if value > 0 else "undefined"


def finite(value: Any) -> Any:
    """Return the result for a browser: JSON has no numbers that are not finite."""
    if isinstance(value, dict):
        return {name: finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [finite(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return number(value)
    return value
