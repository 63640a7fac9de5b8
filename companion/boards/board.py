"""What all boards share: the widget of a running notebook, and the picture of a page that is executed without a reader.

Where somebody moves the points of a running notebook, the package solves. In the rendered page the files of
``companion/boards/browser`` do. Both give the same numbers to the same front.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anywidget
import matplotlib.pyplot as plt
import numpy as np
import traitlets
from IPython.core.getipython import get_ipython
from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from companion.checks import as_vector
from companion.figures import plotting

__all__ = ["Board", "BoardPicture", "Setup", "Shown"]

BROWSER = Path(__file__).parent / "browser"
PRESETS = json.loads((Path(__file__).parent / "presets.json").read_text(encoding="utf-8"))
SCRIPT = '<script type="application/json">'
COLORS = {"blue": plotting.BLUE, "red": plotting.RED}
GRID = 48  # values of a function per axis, from which the browser draws its curves

Limits = tuple[float, float, float, float]
Values = Mapping[str, Any]
Result = dict[str, Any]
SQUARE: Limits = (-5.0, 5.0, -5.0, 5.0)
WIDE: Limits = (-5.0, 5.0, -4.5, 4.5)
PLANE = {"xlabel": "$x_1$", "ylabel": "$x_2$", "aspect": "equal"}
LINE = {"xlabel": "$x$", "ylabel": "$y$"}


# -- what a reader changes beside the points


def choice(name: str, options: Iterable[str]) -> dict[str, Any]:
    """Return the description of a select box, which begins with its first option."""
    listed = list(options)
    return {"name": name, "letter": name, "options": listed, "start": listed[0]}


def slider(name: str, letter: str, low: float, high: float, start: float, **rest: Any) -> dict:
    """Return the description of a slider; ``log=True``, and ``when=(choice, options)`` where not all have it."""
    return {"name": name, "letter": letter, "low": low, "high": high, "start": start, **rest}


KERNEL = choice("kernel", ["linear", "quadratic", "Gaussian"])
SIGMA = slider("sigma", "σ", 0.1, 10.0, 1.0, log=True, when=["kernel", ["Gaussian"]])


def kernel_of(values: Values) -> Any:
    """Return the kernel that a reader has chosen."""
    from companion.kernels import Gaussian, Polynomial  # boards load what they use: see __init__

    kernels = {"quadratic": Polynomial(2, 1.0), "Gaussian": Gaussian(values["sigma"])}
    return kernels.get(values["kernel"], "linear")


# -- the board


@dataclass(frozen=True)
class Setup:
    """A board before anything is moved.

    Parameters
    ----------
    kind : str
        Name of the board, and of its file in the browser.
    points : ndarray of shape (n, 3)
        The points as rows x, y, sign. The sign is -1 for red points.
    limits : (left, right, bottom, top)
        The part of the plane that is shown.
    parameters : list
        Select boxes and sliders.
    solve : callable
        From points, values and limits to the numbers of the result. A ValueError is a message.
    draw : callable
        Draws into axes, from the board and its result, what the points are in.
    values : mapping
        Where select boxes and sliders begin, if not at their own start.
    fixed : bool
        Whether points are neither added nor removed.
    """

    kind: str
    points: np.ndarray
    limits: Limits
    parameters: list[dict[str, Any]]
    solve: Callable[[np.ndarray, Values, Limits], Result]
    draw: Callable[[Axes, Setup, Result], None]
    values: Values
    fixed: bool = False

    def begin(self) -> Shown:
        """Return the widget in JupyterLab, and elsewhere the picture."""
        values = {p["name"]: p["start"] for p in self.parameters}
        if unknown := set(self.values) - set(values):
            raise TypeError(f"this board has the values {list(values)}, got {sorted(unknown)}")
        values.update(self.values)
        for name, options in ((p["name"], p.get("options")) for p in self.parameters):
            if options and values[name] not in options:
                raise ValueError(f"{name} must be one of {options}, got {values[name]!r}")
        begun = replace(self, values=values)
        return Board(begun) if somebody_is_there() else BoardPicture(begun)

    def result(self, points: Any, values: Values) -> Result:
        """Return the numbers of the board, with the warnings; without a solution a message alone."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = self.solve(np.reshape(points, (-1, 3)), values, self.limits)
            except ValueError as error:
                return {"message": str(error)}
        heard = " ".join(str(warning.message) for warning in caught)
        return {"message": heard, "solved": True, "size": len(points), **found}

    def picture(self, result: Result) -> Figure:
        """Return the figure of the points."""
        figure, ax = plt.subplots(figsize=(5.6, 4.2))
        ax.set(xlim=self.limits[:2], ylim=self.limits[2:])
        self.draw(ax, self, result)
        return figure

    def state(self) -> dict[str, Any]:
        """Return what the front needs to know: what moves, and what stays."""
        points = self.points.tolist()
        config = {"kind": self.kind, "start": points, "limits": self.limits, "fixed": self.fixed}
        config |= {"parameters": self.parameters, "presets": PRESETS[self.kind], "colors": COLORS}
        return {"config": config, "points": points, "values": dict(self.values)}


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
    values : dict
        Where the select boxes and the sliders stand.
    result : dict
        The numbers found for them, with a message.
    """

    _css = (BROWSER / "board.css").read_text(encoding="utf-8")

    config = traitlets.Dict().tag(sync=True)
    points: traitlets.List[Any] = traitlets.List().tag(sync=True)
    selected = traitlets.Int(0, min=0).tag(sync=True)
    values = traitlets.Dict().tag(sync=True)
    result = traitlets.Dict().tag(sync=True)

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        super().__init__(**setup.state(), _esm=module(setup.kind))
        self._solve()
        self.observe(self._solve, names=["points", "values"])

    def _solve(self, change: Any = None) -> None:
        self.result = finite(self._setup.result(self.points, self.values))


class BoardPicture:
    """A board without a kernel: the picture of its first points, and what the page needs to make it move.

    Parameters
    ----------
    setup : Setup
        The board.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.state = setup.state() | {"selected": 0, "id": f"board-{setup.kind}"}
        self.result = setup.result(self.state["points"], setup.values)

    def __repr__(self) -> str:
        at: dict[float, list[str]] = {1.0: [], -1.0: []}
        for x, y, sign in self.setup.points:
            at[sign].append(f"({x:g}, {y:g})")
        blue, red = map(", ".join, at.values())
        where = f"blue at {blue}; red at {red}" if red else f"at {blue}"
        numbers = (f"{k} = {number(x)}" for k, x in self.result.items() if isinstance(x, float))
        program = f", {self.setup.values['program']}" if "program" in self.setup.values else ""
        about = f"Board of {len(self.setup.points)} points{program}: {where}."
        return f"{about} {self.result['message'] or ', '.join(numbers)}".strip()

    def _ipython_display_(self) -> None:
        """Show the picture, and beside it, unseen, what the page needs."""
        plotting.show(self.setup.picture(self.result), repr(self))
        display({"text/html": self.html(), "text/plain": repr(self)}, raw=True)

    def html(self) -> str:
        """Return the configuration for the page."""
        text = json.dumps(self.state, ensure_ascii=False).replace("</", "<\\/")
        return f'<div class="companion-board-static" id="{self.state["id"]}">{SCRIPT}{text}</script></div>'


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


# -- what the boards' results and pictures are made of


def over_a_line(x: Any, y: Any) -> np.ndarray:
    """Return the points of a board over a line."""
    x = as_vector(x, "x")
    return np.column_stack([x, as_vector(y, "y", x.size), np.ones(x.size)])


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
    return f"{value:.4g}".replace("inf", "∞").replace("nan", "undefined")


def finite(result: Result) -> Result:
    """Return the result for a browser: JSON has no numbers that are not finite."""
    return json.loads(json.dumps(result), parse_constant=lambda name: number(float(name)))
