"""What all boards share: the widget of a running notebook, and the picture of a page that is executed without a reader.

The package draws the picture. Where somebody moves the points, in a running notebook or on the rendered page, the files
of ``companion/boards/browser`` solve, and find what the package finds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
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

BROWSER = Path(__file__).parent / "browser"
PRESETS = json.loads((Path(__file__).parent / "presets.json").read_text(encoding="utf-8"))
SCRIPT = '<script type="application/json">'
COLORS = {"blue": plotting.BLUE, "red": plotting.RED}

Limits = tuple[float, float, float, float]
Values = Mapping[str, Any]
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


@dataclass(eq=False, repr=False)
class BoardPicture:
    """A board where nobody answers: the picture of its first points, and what the page needs to make it move.

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
    draw : callable
        Solves for points and values, and draws them into axes.
    shows : str
        What it draws, for those who listen.
    values : mapping
        Where select boxes and sliders begin, if not at their own start.
    fixed : bool
        Whether points are neither added nor removed.
    """

    kind: str
    points: np.ndarray
    limits: Limits
    parameters: list[dict[str, Any]]
    draw: Callable[[Axes, np.ndarray, Values], None]
    shows: str
    values: dict[str, Any]
    fixed: bool = False

    def __post_init__(self) -> None:
        start = {p["name"]: p["start"] for p in self.parameters}
        if unknown := set(self.values) - set(start):
            raise TypeError(f"this board has the values {list(start)}, got {sorted(unknown)}")
        self.values = start | self.values
        for name, options in ((p["name"], p.get("options")) for p in self.parameters):
            if options and self.values[name] not in options:
                raise ValueError(f"{name} must be one of {options}, got {self.values[name]!r}")

    def begin(self) -> Shown:
        """Return the widget in JupyterLab, and elsewhere the picture."""
        return Board(self) if somebody_is_there() else self

    def picture(self) -> Figure:
        """Return the figure of the points."""
        figure, ax = plt.subplots(figsize=(5.6, 4.2))
        ax.set(xlim=self.limits[:2], ylim=self.limits[2:])
        with suppress(ValueError):  # no solution: the page says why
            self.draw(ax, self.points, self.values)
        return figure

    def state(self) -> dict[str, Any]:
        """Return what the front needs to know: what moves, and what stays."""
        points = self.points.tolist()
        config = {"kind": self.kind, "start": points, "limits": self.limits, "fixed": self.fixed}
        config |= {"parameters": self.parameters, "presets": PRESETS[self.kind], "colors": COLORS}
        return {"config": config, "points": points, "values": dict(self.values), "selected": 0}

    def __repr__(self) -> str:
        at: dict[float, list[str]] = {1.0: [], -1.0: []}
        for x, y, sign in self.points:
            at[sign].append(f"({x:g}, {y:g})")
        blue, red = map(", ".join, at.values())
        where = f"blue at {blue}; red at {red}" if red else f"at {blue}"
        return f"Board of {len(self.points)} points, {where}, with {self.shows}."

    def _ipython_display_(self) -> None:
        """Show the picture, and beside it, unseen, what the page needs."""
        plotting.show(self.picture(), repr(self))
        display({"text/html": self.html(), "text/plain": repr(self)}, raw=True)

    def html(self) -> str:
        """Return the configuration for the page."""
        place = f"board-{self.kind}"
        text = json.dumps(self.state() | {"id": place}, ensure_ascii=False).replace("</", "<\\/")
        return f'<div class="companion-board-static" id="{place}">{SCRIPT}{text}</script></div>'


class Board(anywidget.AnyWidget):
    """The widget: points that can be moved. The numbers that follow are found in the browser, as on the page.

    Parameters
    ----------
    picture : BoardPicture
        The board before anything is moved.

    Attributes
    ----------
    points : list of [x, y, sign]
        The points, where they are now.
    selected : int
        Index of the point that the keyboard moves.
    values : dict
        Where the select boxes and the sliders stand.
    """

    _css = (BROWSER / "board.css").read_text(encoding="utf-8")

    config = traitlets.Dict().tag(sync=True)
    points: traitlets.List[Any] = traitlets.List().tag(sync=True)
    selected = traitlets.Int(0, min=0).tag(sync=True)
    values = traitlets.Dict().tag(sync=True)

    def __init__(self, picture: BoardPicture) -> None:
        super().__init__(**picture.state(), _esm=module(picture.kind))


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


# -- what the boards' pictures are made of


def over_a_line(x: Any, y: Any) -> np.ndarray:
    """Return the points of a board over a line."""
    x = as_vector(x, "x")
    return np.column_stack([x, as_vector(y, "y", x.size), np.ones(x.size)])


def level_lines(ax: Axes, f: Callable[[np.ndarray], np.ndarray], levels: Any, **look: Any) -> None:
    """Draw the lines on which a function of points in the plane has these values."""
    x, y = (np.linspace(*ends, 48) for ends in (ax.get_xlim(), ax.get_ylim()))
    plane = np.stack(np.meshgrid(x, y), axis=-1)
    ax.contour(x, y, f(plane.reshape(-1, 2)).reshape(48, 48), levels, **look)
