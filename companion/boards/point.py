"""The board of chapter 18: two classes of points, and the hyperplanes of a support vector machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from companion.boards import board
from companion.boards.board import Limits, Result, Setup, Shown, Values
from companion.checks import as_matrix
from companion.figures import plotting

__all__ = ["point_board"]

# The programs, the class of each, and those of the values nu and K that each has. In the browser: point.js.
PROGRAMS: dict[str, tuple[str, list[str]]] = {
    "(SVM_s2′), ν-SVM": ("SVMs2prime", ["nu"]),
    "(SVM_h2), hard margin": ("HardMarginSVC", []),
    "(SVM_s1), unit normal": ("SVMs1", ["K"]),
    "(SVM_s2), C-SVM": ("SVMs2", ["K"]),
    "(SVM_s3), b penalised": ("SVMs3", ["nu"]),
    "(SVM_s4), squared slack": ("SVMs4", ["nu", "K"]),
    "(SVM_s5), squared slack, b penalised": ("SVMs5", ["nu", "K"]),
}


def having(name: str) -> list[Any]:
    """Return the condition that the program has a value."""
    return ["program", [program for program, (_, names) in PROGRAMS.items() if name in names]]


PARAMETERS = [
    board.choice("program", PROGRAMS),
    board.slider("nu", "ν", 0.01, 1.0, 0.6, when=having("nu")),
    board.slider("K", "K", 1e-3, 1e3, 0.2, log=True, when=having("K")),
    board.KERNEL,
    board.SIGMA,
]


def point_board(u: Any, v: Any, *, limits: Limits = board.SQUARE, **values: Any) -> Shown:
    """Return a board on which the reader moves the points of two classes and sees the fitted machine follow.

    Parameters
    ----------
    u, v : array-like of shape (p, 2), (q, 2)
        Blue and red points to begin with.
    limits : (left, right, bottom, top), optional
        The part of the plane that is shown.
    **values
        Where to begin: ``program`` (its name on the board), ``nu``, ``K``, ``kernel`` (``"linear"``, ``"quadratic"`` or
        ``"Gaussian"``) and ``sigma``.

    Returns
    -------
    Board or BoardPicture
        The widget in JupyterLab; elsewhere the picture that the rendered page makes alive.

    Raises
    ------
    ValueError
        If the points are not in the plane, or there is no such program.

    Examples
    --------
    >>> point_board([[1, 0]], [[-1, 0]], nu=0.5).result["multipliers"]  # a doctest has no reader
    [0.25, 0.25]
    """
    u, v = as_matrix(u, "u", (None, 2)), as_matrix(v, "v", (None, 2))
    points = np.column_stack([np.vstack([u, v]), np.repeat([1.0, -1.0], [len(u), len(v)])])
    return Setup("point", points, limits, PARAMETERS, fit, draw, values).begin()


def fit(points: np.ndarray, values: Values, limits: Limits) -> Result:
    """Fit the chosen machine to the points and return the numbers of the board."""
    from companion import svm

    X, s = points[:, :2], points[:, 2]
    if len(set(s)) < 2:
        raise ValueError("There must be a point of each colour.")
    program, names = PROGRAMS[values["program"]]
    given = {name: values[name] for name in names}
    machine = getattr(svm, program)(kernel=board.kernel_of(values), **given).fit(X, s)
    place = np.argsort(np.argsort(-s, kind="stable"))  # of a point, the blue ones first
    counts = [machine.p_f_, machine.q_f_, machine.p_m_, machine.q_m_]
    flat = machine.kernel_.is_linear and machine.norm_ > 1e-12  # a shorter w is rounding
    return {
        "multipliers": np.r_[machine.lambda_, machine.mu_][place].tolist(),
        "slacks": np.r_[machine.epsilon_, machine.xi_][place].tolist(),
        "places": machine.point_classes_.tolist(),
        **board.numbers(machine, "b", "eta", "norm", "delta", "objective"),
        "b_interval": list(getattr(machine, "b_interval_", (machine.b_, machine.b_))),
        "counts": None if machine.degenerate_ else counts,
        "w": machine.w_.tolist() if flat else None,
        "field": board.field(machine.decision_function, limits) if machine.norm_ > 1e-12 else None,
    }


def draw(ax: Axes, of: Setup, result: Result) -> None:
    """Draw the points, and the lines where the decision function is -eta, 0 and eta."""
    ax.set(**board.PLANE)
    if result.get("field"):
        f, eta = np.array(result["field"]), result["eta"]
        looks = {-eta: (plotting.RED, ":"), eta: (plotting.BLUE, "--"), 0.0: ("black", "-")}
        for level, (color, style) in looks.items():
            ax.contour(*board.grid(of.limits), f, [level], colors=[color], linestyles=[style])
    blue = of.points[:, 2] > 0
    plotting.points(ax, of.points[blue, :2], of.points[~blue, :2])
