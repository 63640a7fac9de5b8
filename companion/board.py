"""A board on which the reader drags, adds and removes points, while a machine is fitted again.

The board needs a running kernel and somebody who moves the points. Where a notebook is executed without a reader, as
for the book's static pages, :func:`point_board` returns a sentence instead, so that no page asks for a widget that
it cannot show.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets
from contourpy import contour_generator
from IPython.core.getipython import get_ipython
from IPython.display import Markdown
from sklearn.base import BaseEstimator, clone

from companion.checks import as_matrix, as_vector
from companion.plotting import BLUE, RED
from companion.svm.estimator import SupportVectorMachine

__all__ = ["PointBoard", "fit_points", "point_board"]

FOLDER = Path(__file__).parent
GRID = 61  # values of the decision function per axis, from which the curves come

# The parameters that get a slider: letter, smallest and largest value, logarithmic or not.
SLIDERS: dict[str, dict[str, Any]] = {
    "nu": {"letter": "ν", "low": 0.01, "high": 1.0, "log": False},
    "K": {"letter": "K", "low": 1e-3, "high": 1e3, "log": True},
}
STATIC = (
    "*Run this cell in JupyterLab: a board appears on which you drag points, add and remove them, by mouse or by "
    "keyboard. Multipliers, slacks and the place of each point follow.*"
)

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
    return {
        "message": " ".join(str(warning.message) for warning in caught),
        "multipliers": a.tolist(),
        "slacks": slack.tolist(),
        "places": machine.point_classes_.tolist(),
        "curves": _curves(machine, limits),
        "facts": [[name, _number(value)] for name, value in facts.items()],
    }


def _number(value: float) -> str:
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

    _esm = FOLDER / "board.js"
    _css = FOLDER / "board.css"

    points: traitlets.List[Any] = traitlets.List().tag(sync=True)
    start: traitlets.List[Any] = traitlets.List().tag(sync=True)
    selected = traitlets.Int(0, min=0).tag(sync=True)
    program = traitlets.Unicode().tag(sync=True)
    programs: traitlets.List[Any] = traitlets.List().tag(sync=True)
    values = traitlets.Dict().tag(sync=True)
    limits: traitlets.List[Any] = traitlets.List().tag(sync=True)
    colors = traitlets.Dict({"blue": BLUE, "red": RED}).tag(sync=True)
    result = traitlets.Dict().tag(sync=True)

    def __init__(
        self, machines: Mapping[str, BaseEstimator], points: Points, limits: Limits
    ) -> None:
        self._machines = dict(machines)
        table = [list(map(float, point)) for point in points]
        first, *_ = self._machines
        values = {name: _parameters(machine) for name, machine in self._machines.items()}
        super().__init__(
            points=table,
            start=table,
            limits=list(limits),
            program=first,
            programs=[
                {"name": name, "parameters": [{"name": p, **SLIDERS[p]} for p in values[name]]}
                for name in self._machines
            ],
            values=values,
        )
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
        return clone(self._machines[self.program]).set_params(**self.values[self.program])

    def _fit(self, change: Any = None) -> None:
        left, right, bottom, top = self.limits
        self.result = fit_points(self.machine(), self.points, (left, right, bottom, top))


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
) -> PointBoard | Markdown:
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

    Returns
    -------
    PointBoard or Markdown
        The widget; where nobody is there to use it, a sentence that says where to find it.

    Raises
    ------
    ValueError
        If the points are not in the plane, or there is no machine.

    Examples
    --------
    >>> from companion.svm import SVMs2prime
    >>> note = point_board(SVMs2prime(nu=0.5), [[1, 0]], [[-1, 0]])
    >>> type(note).__name__  # a doctest has no reader
    'Markdown'
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
    if not somebody_is_there():
        return Markdown(STATIC)
    return PointBoard(named, points, limits)
