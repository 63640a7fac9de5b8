"""A board on which the reader drags, adds and removes points, while a machine is fitted again.

Where somebody moves the points of a running notebook, the machine is the package's. Where a notebook is executed
without a reader, as for the book's pages, a board is a picture of its first points with its configuration beside it.
In the rendered page the files of ``companion/boards`` make it move, with a solver in the browser.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anywidget
import matplotlib.pyplot as plt
import numpy as np
import traitlets
from contourpy import contour_generator
from IPython.core.getipython import get_ipython
from IPython.display import display
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator, clone

from companion import plotting
from companion.checks import as_matrix, as_vector
from companion.kernels import Gaussian, Polynomial
from companion.plotting import BLUE, RED
from companion.svm import HardMarginSVC, SVMs1, SVMs2, SVMs2prime, SVMs3, SVMs4, SVMs5
from companion.svm.estimator import SupportVectorMachine

__all__ = ["PointBoard", "fit_points", "point_board"]

FOLDER = Path(__file__).parent / "boards"
GRID = 61  # values of the decision function per axis, from which the curves come

# The parameters that get a slider: letter, smallest and largest value, logarithmic or not.
SLIDERS: dict[str, dict[str, Any]] = {
    "nu": {"letter": "ν", "low": 0.01, "high": 1.0, "log": False},
    "K": {"letter": "K", "low": 1e-3, "high": 1e3, "log": True},
}
_GAUSSIAN = {"name": "sigma", "letter": "σ", "low": 0.1, "high": 10.0, "log": True}
KERNELS = ("linear", "quadratic", "Gaussian")  # the names of the choice
# The machines for which the browser has a solver (boards/svm.js).
IN_BROWSER = (HardMarginSVC, SVMs1, SVMs2, SVMs2prime, SVMs3, SVMs4, SVMs5)
CELL = """from companion.board import point_board
from companion.svm import {names}

point_board(
    {{{machines}}},
    BLUE,
    RED,
    limits={limits},
    program=PROGRAM,
    values=VALUES,{more}
)"""

Points = Sequence[Sequence[float]]
Limits = tuple[float, float, float, float]


def somebody_is_there() -> bool:
    """Return whether the cell that runs was sent by a front end with a reader.

    Front ends for people answer ``input()`` and say so with each cell; programs that execute notebooks do not.
    """
    shell = get_ipython()
    parent: Any = getattr(shell, "get_parent", dict)()
    return bool(parent.get("content", {}).get("allow_stdin", False))


def fit_points(machine: BaseEstimator, points: Points, limits: Limits) -> dict[str, Any]:
    """Fit a machine to points of the plane and collect what the board shows.

    Parameters
    ----------
    machine : estimator
        A machine of `companion.svm`; it is fitted.
    points : sequence of (x, y, sign)
        The points; sign is +1 for a blue and -1 for a red one.
    limits : (left, right, bottom, top)
        The part of the plane that is shown.

    Returns
    -------
    dict
        ``message``, empty when all went well; ``multipliers``, ``slacks`` and ``places``, one per point; ``curves``,
        for each of ``"hyperplane"``, ``"blue"`` and ``"red"`` a list of lines; ``facts``, pairs of name and number.
        Without a solution the message tells why, and the rest is empty.

    Examples
    --------
    >>> from companion.svm import SVMs2
    >>> found = fit_points(SVMs2(K=1.0), [(1, 0, 1), (-1, 0, -1)], (-2, 2, -2, 2))
    >>> [round(a, 6) for a in found["multipliers"]], found["places"], found["facts"][:2]
    ([0.5, 0.5], ['type 1', 'type 1'], [['b', '0'], ['η', '1']])
    """
    table = as_matrix(points, "points", (None, 3)) if len(points) else np.empty((0, 3))
    X, s = table[:, :2], table[:, 2]
    if not np.isin(s, (-1.0, 1.0)).all():
        raise ValueError("points must be triples (x, y, sign) with the sign +1 or -1")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if len(set(s)) < 2:
                raise ValueError("There must be a point of each colour.")
            machine.fit(X, s)
        except ValueError as error:
            return {"message": str(error)}
    a, slack = np.empty(len(s)), np.empty(len(s))
    a[s > 0], a[s < 0] = machine.lambda_, machine.mu_
    slack[s > 0], slack[s < 0] = machine.epsilon_, machine.xi_
    facts = {
        "b": machine.b_,
        "η": machine.eta_,
        "‖w‖": machine.norm_,
        "δ": machine.delta_,
        "objective": machine.objective_,
    }
    low, high = getattr(machine, "b_interval_", (machine.b_, machine.b_))
    shown = [[name, _number(value)] for name, value in facts.items()]
    if high > low:
        shown.append(["b from, to", f"{_number(low)}, {_number(high)}"])
    if not machine.degenerate_ and hasattr(machine, "p_f_"):
        shown.extend(_counts(machine))
    return {
        "message": " ".join(str(warning.message) for warning in caught),
        "multipliers": a.tolist(),
        "slacks": slack.tolist(),
        "places": machine.point_classes_.tolist(),
        "curves": _curves(machine, limits),
        "arrows": _arrows(machine, X, s, slack),
        "facts": shown,
    }


def _counts(machine: BaseEstimator) -> list[list[str]]:
    """Return the counts of points beside the bounds that Propositions 18.1 and 18.3 prove for them."""
    p_f, q_f, p_m, q_m = machine.p_f_, machine.q_f_, machine.p_m_, machine.q_m_
    n = len(machine.point_classes_)
    if isinstance(machine, SVMs3):
        return [
            ["p_f+q_f ≤ ν(p+q) ≤ p_m+q_m", f"{p_f + q_f} ≤ {_number(machine.nu * n)} ≤ {p_m + q_m}"]
        ]
    if isinstance(machine, SVMs1 | SVMs2prime):
        normed = isinstance(machine, SVMs1)
        half, name = (
            (1 / (2 * machine.K_), "1/(2K)") if normed else (machine.nu * n / 2, "ν(p+q)/2")
        )
        return [
            [f"{c}_f ≤ {name} ≤ {c}_m", f"{fail} ≤ {_number(half)} ≤ {most}"]
            for c, fail, most in (("p", p_f, p_m), ("q", q_f, q_m))
        ]
    return [["p_f, q_f, p_m, q_m", f"{p_f}, {q_f}, {p_m}, {q_m}"]]


def _arrows(
    machine: BaseEstimator, X: np.ndarray, s: np.ndarray, slack: np.ndarray
) -> list[list[float]]:
    """Return arrows from the points with slack to their margin line, for a hyperplane of the plane itself."""
    w = machine.w_
    if not machine.kernel_.is_linear or w is None or not w.any():
        return []
    ends = X + (s * slack / float(w @ w))[:, None] * w
    return np.hstack([X, ends])[slack > 0.0].tolist()


def _number(value: float) -> str:
    value = 0.0 if abs(value) < 1e-12 else value  # rounding
    return f"{value:.4g}" if math.isfinite(value) else "∞" if value > 0 else "undefined"


def _curves(machine: BaseEstimator, limits: Limits) -> dict[str, list[Any]]:
    """Return the lines where the decision function is 0, eta and -eta."""
    if machine.norm_ == 0.0:
        return {}
    x, y = np.linspace(*limits[:2], GRID), np.linspace(*limits[2:], GRID)
    plane = np.stack(np.meshgrid(x, y), axis=-1)
    f = machine.decision_function(plane.reshape(-1, 2)).reshape(GRID, GRID)
    lines = contour_generator(x, y, f).lines
    levels = {"hyperplane": 0.0, "blue": machine.eta_, "red": -machine.eta_}
    return {
        name: [np.asarray(line).round(4).tolist() for line in lines(level)]
        for name, level in levels.items()
    }


class PointBoard(anywidget.AnyWidget):
    """The widget: points that can be moved, and the machine that follows.

    Use :func:`point_board` to make one. All attributes but `result` may be changed, from Python or in the browser;
    `result` is what :func:`fit_points` returns for them.

    Attributes
    ----------
    points : list of [x, y, sign]
        The points.
    selected : int
        Index of the point that the keyboard moves.
    program : str
        Name of the machine in use.
    values : dict
        For each program the values of its parameters nu and K.
    result : dict
        Multipliers, slacks, places, curves, facts; or a message.
    """

    _esm = (FOLDER / "front.js").read_text(
        encoding="utf-8"
    ) + "\nexport default { render: globalThis.companionBoards.render };\n"
    _css = (FOLDER / "board.css").read_text(encoding="utf-8")

    points: traitlets.List[Any] = traitlets.List().tag(sync=True)
    start: traitlets.List[Any] = traitlets.List().tag(sync=True)
    selected = traitlets.Int(0, min=0).tag(sync=True)
    program = traitlets.Unicode().tag(sync=True)
    programs: traitlets.List[Any] = traitlets.List().tag(sync=True)
    values = traitlets.Dict().tag(sync=True)
    limits: traitlets.List[Any] = traitlets.List().tag(sync=True)
    colors = traitlets.Dict({"blue": BLUE, "red": RED}).tag(sync=True)
    presets = traitlets.Dict().tag(sync=True)
    result = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        machines: Mapping[str, BaseEstimator],
        points: Points,
        limits: Limits,
        kernels: Sequence[str] = (),
        presets: Mapping[str, Points] | None = None,
    ) -> None:
        self._machines = dict(machines)
        super().__init__(**_configuration(machines, points, limits, kernels, presets))
        self._fit()
        self.observe(self._fit, names=["points", "program", "values"])

    @traitlets.validate("points")
    def _check_points(self, proposal: dict[str, Any]) -> list[list[float]]:
        for point in proposal["value"]:
            if len(point) != 3 or not np.isfinite(point).all() or point[2] not in (1, -1):
                raise traitlets.TraitError(
                    f"a point is [x, y, sign] with sign +1 or -1, got {point}"
                )
        return [[float(t) for t in point] for point in proposal["value"]]

    @traitlets.validate("program")
    def _check_program(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in self._machines:
            raise traitlets.TraitError(
                f"program must be one of {list(self._machines)}, got {proposal['value']!r}"
            )
        return proposal["value"]

    def machine(self) -> BaseEstimator:
        """Return the machine in use, not fitted, with the values of the sliders."""
        return _machine(self._machines[self.program], self.values[self.program])

    def _fit(self, change: Any = None) -> None:
        left, right, bottom, top = self.limits
        self.result = fit_points(self.machine(), self.points, (left, right, bottom, top))


def _machine(machine: BaseEstimator, values: Mapping[str, Any]) -> BaseEstimator:
    """Return a copy of a machine with the values of the sliders."""
    values = dict(values)
    if "kernel" in values:
        kernel, sigma = values.pop("kernel"), values.pop("sigma")
        kernels = {"quadratic": Polynomial(2, 1.0), "Gaussian": Gaussian(sigma)}
        values["kernel"] = kernels.get(kernel, "linear")
    return clone(machine).set_params(**values)


def _configuration(
    machines: Mapping[str, BaseEstimator],
    points: Points,
    limits: Limits,
    kernels: Sequence[str],
    presets: Mapping[str, Points] | None,
) -> dict[str, Any]:
    """Return the attributes with which a board begins."""
    table = [list(map(float, point)) for point in points]
    first, *_ = machines
    values: dict[str, dict[str, Any]] = {
        name: _parameters(machine) for name, machine in machines.items()
    }
    sliders = {name: [{"name": p, **SLIDERS[p]} for p in values[name]] for name in values}
    if kernels:
        choice = {"name": "kernel", "letter": "kernel", "options": list(kernels)}
        for name in values:
            values[name] |= {"kernel": kernels[0], "sigma": 1.0}
            sliders[name] += [choice, {**_GAUSSIAN, "when": ["kernel", "Gaussian"]}]
    return {
        "points": table,
        "start": table,
        "selected": 0,
        "limits": list(limits),
        "colors": {"blue": BLUE, "red": RED},
        "program": first,
        "programs": [
            {"name": name, "machine": type(machine).__name__, "parameters": sliders[name]}
            for name, machine in machines.items()
        ],
        "values": values,
        "presets": {name: [list(t) for t in chosen] for name, chosen in (presets or {}).items()},
    }


def _parameters(machine: BaseEstimator) -> dict[str, float]:
    """Return the parameters of a machine that have a slider and a value."""
    found = {name: machine.get_params().get(name) for name in SLIDERS}
    return {name: float(value) for name, value in found.items() if value is not None}


def point_board(
    machines: BaseEstimator | Mapping[str, BaseEstimator],
    u: Any,
    v: Any,
    *,
    limits: Limits | None = None,
    kernels: bool = False,
    program: str | None = None,
    values: Mapping[str, Any] | None = None,
) -> Any:
    """Return a board on which the reader moves the points and sees the fitted machine follow.

    Parameters
    ----------
    machines : estimator or mapping
        A machine of `companion.svm`, or several by name, among which the reader chooses. Parameters nu and K that
        are set get a slider.
    u, v : array-like of shape (p, 2), (q, 2)
        Blue and red points to begin with.
    limits : (left, right, bottom, top), optional
        The part of the plane that is shown; by default the points and a border of a fifth.
    kernels : bool, optional
        Whether the reader may choose among the linear, the quadratic and the Gaussian kernel.
    program, values : str and mapping, optional
        The machine to begin with, and values of its sliders.

    Returns
    -------
    PointBoard or object
        The widget; where nobody is there to use it, the picture that the rendered book makes alive.

    Raises
    ------
    ValueError
        If the points are not in the plane, or there is no machine.

    Examples
    --------
    >>> from companion.svm import SVMs2prime
    >>> point_board(SVMs2prime(nu=0.5), [[1, 0]], [[-1, 0]])  # a doctest has no reader
    Board of 2 points: blue at (1, 0); red at (-1, 0). b = 0, η = 0.5, ‖w‖ = 0.5, δ = 1, ...
    """
    u, v = as_matrix(u, "u", (None, 2)), as_matrix(v, "v", (None, 2))
    named = machines if isinstance(machines, Mapping) else {type(machines).__name__: machines}
    if not named:
        raise ValueError("machines must hold at least one machine, got none")
    for machine in named.values():
        if not isinstance(machine, SupportVectorMachine):
            raise TypeError(f"machines must be machines of companion.svm, got {machine!r}")
    points = [*((*x, 1.0) for x in u.tolist()), *((*x, -1.0) for x in v.tolist())]
    if limits is None:
        both = np.vstack([u, v])
        low, high = both.min(axis=0), both.max(axis=0)
        border = 0.2 * np.maximum(high - low, 1.0)
        (left, bottom), (right, top) = np.round(low - border, 2), np.round(high + border, 2)
        limits = float(left), float(right), float(bottom), float(top)
    left, right, bottom, top = as_vector(limits, "limits", 4)
    if not (left < right and bottom < top):
        raise ValueError(f"limits must be (left, right, bottom, top), rising, got {limits}")
    names, presets = KERNELS if kernels else (), _presets(float(right), float(top))
    if somebody_is_there():
        made: Any = PointBoard(named, points, limits, names, presets)
    else:
        made = BoardPicture(named, _configuration(named, points, limits, names, presets), kernels)
    if program is not None:
        made.program = program
    if values is not None:
        made.values = {**made.values, made.program: {**made.values[made.program], **values}}
    return made


def _presets(right: float, top: float) -> dict[str, Points]:
    """Return points to begin with, for a plane that reaches as far."""
    size = min(right, top) / 5.0
    two = [(1.6, 1.2), (2.4, -0.6), (3.1, 2.4), (1.9, 3.0), (3.6, 0.6)]
    t = np.linspace(0.0, np.pi, 10)
    moons = np.column_stack([2.4 * np.cos(t) - 1.2, 2.4 * np.sin(t) - 0.7])
    steps = [(0.6, 1.0), (0.7, 0.0), (0.8, -1.0), (3.5, 0.8), (3.8, -0.8)]
    separable = [*((x, y, 1.0) for x, y in two), *((-x, -y, -1.0) for x, y in two)]
    found = {
        "separable": separable,
        "one outlier": [*separable, (-2.2, -0.4, 1.0)],
        "two moons": [
            *((x, y, 1.0) for x, y in moons.tolist()),
            *((-x, -y, -1.0) for x, y in moons.tolist()),
        ],
        "no type 1": [*((x, y, 1.0) for x, y in steps), *((-x, -y, -1.0) for x, y in steps)],
    }
    return {
        name: [[round(size * x, 2), round(size * y, 2), s] for x, y, s in table]
        for name, table in found.items()
    }


def _cell(machines: Mapping[str, BaseEstimator], limits: Sequence[float], kernels: bool) -> str:
    """Return the cell that makes this board, with places for the points."""
    names = sorted({type(machine).__name__ for machine in machines.values()})
    shown = (f'"{name}": {" ".join(repr(m).split())}' for name, m in machines.items())
    return CELL.format(
        names=", ".join(names),
        machines=", ".join(shown),
        limits=tuple(limits),
        more="\n    kernels=True," if kernels else "",
    )


class BoardPicture:
    """A board where nobody is there: its first points and curves as a picture, and its configuration for the page.

    Parameters
    ----------
    machines : mapping
        The machines by name.
    configuration : dict
        What the board begins with.
    kernels : bool
        Whether the reader may choose the kernel.
    """

    def __init__(
        self,
        machines: Mapping[str, BaseEstimator],
        configuration: Mapping[str, Any],
        kernels: bool,
    ) -> None:
        known = {name: m for name, m in machines.items() if isinstance(m, IN_BROWSER)}
        self.machines = machines
        self.program, self.values = configuration["program"], configuration["values"]
        self._configuration = {
            **configuration,
            "programs": [p for p in configuration["programs"] if p["name"] in known],
            "kind": "point",
            "cell": _cell(known, configuration["limits"], kernels),
            "id": "board-point",
        }

    @property
    def state(self) -> dict[str, Any]:
        """What the page needs to know."""
        return {**self._configuration, "program": self.program, "values": self.values}

    @property
    def result(self) -> dict[str, Any]:
        """What :func:`fit_points` returns for the program and the points."""
        machine = _machine(self.machines[self.program], self.values[self.program])
        left, right, bottom, top = self._configuration["limits"]
        return fit_points(machine, self._configuration["points"], (left, right, bottom, top))

    def __repr__(self) -> str:
        at = {
            colour: ", ".join(f"({x:g}, {y:g})" for x, y, s in self.state["points"] if s == sign)
            for colour, sign in (("blue", 1), ("red", -1))
        }
        result = self.result
        facts = ", ".join(f"{name} = {value}" for name, value in result.get("facts", []))
        return (
            f"Board of {len(self.state['points'])} points: blue at {at['blue']}; red at {at['red']}. "
            f"{result['message'] or facts}"
        )

    def _ipython_display_(self) -> None:
        """Show the picture, and beside it, unseen, what the page needs."""
        plotting.show(self.picture(), repr(self))
        display({"text/html": self.html(), "text/plain": repr(self)}, raw=True)

    def html(self) -> str:
        """Return the configuration for the page."""
        text = json.dumps(self.state, ensure_ascii=False).replace("</", "<\\/")
        return (
            f'<div class="companion-board-static" id="{self.state["id"]}">'
            f'<script type="application/json">{text}</script></div>'
        )

    def picture(self) -> Figure:
        """Draw the points, and the lines where the decision function is 0, eta and -eta."""
        table = np.array(self._configuration["points"])
        left, right, bottom, top = self._configuration["limits"]
        figure, ax = plt.subplots(figsize=(5.0, 4.5))
        ax.set(xlim=(left, right), ylim=(bottom, top), xlabel="$x_1$", ylabel="$x_2$")
        found = self.result
        levels = {"hyperplane": ("black", "-"), "blue": (BLUE, "--"), "red": (RED, ":")}
        for name, lines in found.get("curves", {}).items():
            color, style = levels[name]
            ax.add_collection(LineCollection(lines, colors=color, linestyles=style))
        plotting.points(ax, table[table[:, 2] > 0, :2], table[table[:, 2] < 0, :2])
        return figure
