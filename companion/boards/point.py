"""The board of chapter 18: two classes of points, and the hyperplanes of a support vector machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from companion.boards import board
from companion.boards.board import BoardPicture, Limits, Shown, Values
from companion.checks import as_matrix
from companion.figures import plotting

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
    >>> point_board([[1, 0]], [[-1, 0]], program="(SVM_s2), C-SVM")  # a doctest has no reader
    Board of 2 points, blue at (1, 0); red at (-1, 0), with the separating line and the margin lines of (SVM_s2), C-SVM.
    """
    u, v = as_matrix(u, "u", (None, 2)), as_matrix(v, "v", (None, 2))
    points = np.column_stack([np.vstack([u, v]), np.repeat([1.0, -1.0], [len(u), len(v)])])
    program = values.get("program", next(iter(PROGRAMS)))
    shows = f"the separating line and the margin lines of {program}"
    return BoardPicture("point", points, limits, PARAMETERS, draw, shows, values).begin()


def fit(points: np.ndarray, values: Values) -> Any:
    """Return the chosen machine, fitted to the points."""
    from companion import svm

    program, names = PROGRAMS[values["program"]]
    given = {name: values[name] for name in names}
    machine = getattr(svm, program)(kernel=board.kernel_of(values), **given)
    return machine.fit(points[:, :2], points[:, 2])


def draw(ax: Axes, points: np.ndarray, values: Values) -> None:
    """Draw the points, and the lines where the decision function is -eta, 0 and eta."""
    ax.set(**board.PLANE)
    blue = points[:, 2] > 0
    plotting.points(ax, points[blue, :2], points[~blue, :2])
    machine = fit(points, values)
    f, eta = machine.decision_function, machine.eta_
    looks = {-eta: (plotting.RED, ":"), eta: (plotting.BLUE, "--"), 0.0: ("black", "-")}
    for level, (color, style) in looks.items():
        board.level_lines(ax, f, [level], colors=[color], linestyles=[style])
