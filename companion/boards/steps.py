"""The board of chapter 16: the steps of ADMM in the plane."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from companion.admm import ADMMResult, admm, project_ball, soft_threshold
from companion.boards import board
from companion.boards.board import BoardPicture, Limits, Shown, Values
from companion.checks import as_matrix
from companion.exceptions import ConvergenceWarning
from companion.figures import plotting

STEPS = 60
Q = np.array([[2.0, 1.2], [1.2, 1.0]])
SETS, LASSO = "a disc and a line", "a lasso with two weights"
PARAMETERS = [
    board.choice("program", [SETS, LASSO]),
    board.slider("radius", "radius", 0.2, 4.0, 2.0, when=["program", [SETS]]),
    board.slider("rho", "ρ", 0.01, 100.0, 1.0, log=True, when=["program", [LASSO]]),
    board.slider("alpha", "α", 0.1, 1.9, 1.0),
    board.slider("tau", "τ", 0.0, 4.0, 1.0, when=["program", [LASSO]]),
]
# x - z = 0, and no tolerance
ALL_STEPS: dict[str, Any] = {"A": 1, "B": -1, "c": np.zeros(2), "tol_abs": 0.0, "tol_rel": 0.0}
ALL_STEPS |= {"max_iter": STEPS, "keep_iterates": True}
Update = Callable[[np.ndarray, float], np.ndarray]


def step_board(
    start: Any,
    centre: Any,
    line: Any = ((-4.0, 1.2), (4.0, 2.6)),
    *,
    limits: Limits = board.WIDE,
    **values: Any,
) -> Shown:
    r"""Return a board on which the reader moves the start and the sets, and sees the steps of ADMM follow.

    Two programs in the form f(x) + g(z), x - z = 0. "A disc and a line": f and g are the indicators of the two sets,
    and ADMM looks for a point of both. "A lasso with two weights": :math:`f(x) = \tfrac12 (x - c)^\top Q (x - c)` and
    :math:`g(z) = \tau \|z\|_1`.

    Parameters
    ----------
    start : array-like of shape (2,)
        The first z. The first u is 0.
    centre : array-like of shape (2,)
        Centre of the disc, or the point c of the lasso.
    line : array-like of shape (2, 2), optional
        Two points of the line.
    limits : (left, right, bottom, top), optional
        The part of the plane that is shown.
    **values
        Where to begin: ``program`` (``"a disc and a line"`` or ``"a lasso with two weights"``), ``alpha``, the
        over-relaxation, ``radius`` of the disc, ``rho`` and ``tau`` of the lasso.

    Returns
    -------
    Board or BoardPicture
        The widget in JupyterLab; elsewhere the picture that the rendered page makes alive.

    Examples
    --------
    >>> board = step_board([4.0, -3.0], [0.0, 0.0], [[0.0, 1.0], [1.0, 1.0]], radius=1.0)
    >>> board.values["program"], board.values["radius"]
    ('a disc and a line', 1.0)
    """
    X = as_matrix(np.vstack([start, centre, line]), "start, centre and line", (4, 2))
    points = np.insert(X, 2, 1.0, axis=1)
    shows = f"the steps of ADMM, x as dots and z as squares, for {values.get('program', SETS)}"
    return BoardPicture(
        "steps", points, limits, PARAMETERS, draw, shows, values, fixed=True
    ).begin()


def sets(centre: np.ndarray, radius: float, line: np.ndarray) -> tuple[Update, Update]:
    """Return the two updates for a disc and the line through two points."""
    along = line[1] - line[0]
    if not along.any():
        raise ValueError("The two points of the line must differ.")
    unit = along / np.hypot(*along)
    return (
        lambda v, rho: centre + project_ball(v - centre, radius=radius),
        lambda v, rho: line[0] + (unit @ (-v - line[0])) * unit,
    )


def lasso(centre: np.ndarray, tau: float) -> tuple[Update, Update]:
    """Return the two updates for the lasso."""
    return (
        lambda v, rho: np.linalg.solve(Q + rho * np.eye(2), Q @ centre + rho * v),
        lambda v, rho: soft_threshold(-v, tau / rho),
    )


def take(points: np.ndarray, values: Values) -> ADMMResult:
    """Return what the steps found, iterates included."""
    start, centre, *line = points[:, :2]
    if values["program"] == SETS:
        (x_update, z_update), rho = sets(centre, values["radius"], np.array(line)), 1.0
    else:
        (x_update, z_update), rho = lasso(centre, values["tau"]), values["rho"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the board shows the first steps
        return admm(x_update, z_update, z0=start, rho=rho, relaxation=values["alpha"], **ALL_STEPS)


def draw(ax: Axes, points: np.ndarray, values: Values) -> None:
    """Draw the sets, if there are any, and the iterates."""
    ax.set(**board.PLANE)
    _, centre, *line = points[:, :2]
    if values["program"] == SETS:
        ax.add_patch(Circle(centre, values["radius"], color=plotting.BLUE, alpha=0.2))
        ax.axline(*line, color=plotting.RED, linestyle=":")
    found = take(points, values).history
    x, z = found["x"], found["z"]
    stairs = np.stack([z[:-1], x], axis=1).reshape(-1, 2)
    ax.plot(*stairs.T, color=plotting.GREY, linewidth=0.9)
    ax.plot(*x.T, "o", color=plotting.BLUE, markersize=3.5)
    ax.plot(*z.T, "s", color=plotting.RED, markersize=3.5)
