"""The board of chapter 19: points over a line, three parabolas, and their weights in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from companion.boards import board
from companion.boards.board import Limits, Result, Setup, Shown, Values
from companion.figures import plotting

__all__ = ["weight_board"]

PARAMETERS = [
    board.slider("tau", "τ", 0.01, 100.0, 1.0, log=True),
    board.slider("K", "K", 0.01, 100.0, 1.0, log=True),
]


def weight_board(
    x: Any, y: Any, *, limits: Limits = (-1.0, 3.0, -4.0, 4.0), **values: Any
) -> Shown:
    r"""Return a board on which the reader moves points and sees least squares, ridge and lasso follow.

    The three fit :math:`f(x) = w_1 x + w_2 x^2 + b` with b free. In the plane of :math:`w_1, w_2` the disc of ridge and
    the diamond of the lasso touch the ellipses on which the sum of squares is constant.

    Parameters
    ----------
    x, y : array-like of shape (m,)
        The points to begin with.
    limits : (left, right, bottom, top), optional
        The part of the plane of the points that is shown.
    **values
        Where to begin: ``tau`` of the lasso and ``K`` of ridge regression.

    Returns
    -------
    Board or BoardPicture
        The widget in JupyterLab; elsewhere the picture that the rendered page makes alive.

    Examples
    --------
    >>> found = weight_board([-1.0, 0.0, 1.0], [1.0, 0.0, 2.0], tau=0.5).result
    >>> [[round(t, 6) for t in found[name]] for name in ("least squares", "lasso")]  # w_1, w_2, b
    [[0.5, 1.5, 0.0], [0.25, 0.75, 0.5]]
    """
    points = board.over_a_line(x, y)
    return Setup("weights", points, limits, PARAMETERS, fit, draw, values).begin()


def fit(points: np.ndarray, values: Values, limits: Limits) -> Result:
    """Fit the three parabolas and return the numbers of the board."""
    from companion.regression import Lasso, RidgeRegression

    if not len(points):
        raise ValueError("There must be a point.")
    machines: dict[str, Any] = {
        "least squares": RidgeRegression(K=0.0),
        "ridge": RidgeRegression(K=values["K"]),
        "lasso": Lasso(values["tau"]),
    }
    for machine in machines.values():
        machine.fit(points[:, :1] ** [1, 2], points[:, 1])
    return {name: [*machine.w_.tolist(), float(machine.b_)] for name, machine in machines.items()}


def draw(ax: Axes, of: Setup, result: Result) -> None:
    """Draw the points and the parabolas."""
    ax.set(**board.LINE)
    at = np.linspace(*of.limits[:2], 121)
    for name, look in {"least squares": "k-", "ridge": "C0--", "lasso": "C1:"}.items():
        w_1, w_2, b = result[name]
        ax.plot(at, w_1 * at + w_2 * at**2 + b, look, label=name)
    ax.plot(*of.points[:, :2].T, "o", color=plotting.GREY, markeredgecolor="black")
    ax.legend()
