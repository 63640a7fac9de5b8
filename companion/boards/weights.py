"""The board of chapter 19: points over a line, three parabolas, and their weights in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from companion.boards import board
from companion.boards.board import BoardPicture, Limits, Shown, Values
from companion.figures import plotting

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
    >>> board = weight_board([-1.0, 0.0, 1.0], [1.0, 0.0, 2.0], tau=0.5)
    >>> board.values
    {'tau': 0.5, 'K': 1.0}
    """
    points = board.over_a_line(x, y)
    shows = "the parabolas of least squares (solid), ridge (dashed) and the lasso (dotted)"
    return BoardPicture("weights", points, limits, PARAMETERS, draw, shows, values).begin()


def fit(points: np.ndarray, values: Values) -> dict[str, Any]:
    """Return the three regressions by name, fitted to the points."""
    from companion.regression import Lasso, RidgeRegression

    machines: dict[str, Any] = {
        "least squares": RidgeRegression(K=0.0),
        "ridge": RidgeRegression(K=values["K"]),
        "lasso": Lasso(values["tau"]),
    }
    X, y = points[:, :1] ** [1, 2], points[:, 1]
    return {name: machine.fit(X, y) for name, machine in machines.items()}


def draw(ax: Axes, points: np.ndarray, values: Values) -> None:
    """Draw the points and the parabolas."""
    ax.set(**board.LINE)
    ax.plot(*points[:, :2].T, "o", color=plotting.GREY, markeredgecolor="black")
    at = np.linspace(*ax.get_xlim(), 121)
    for (name, machine), look in zip(fit(points, values).items(), ["k-", "C0--", "C1:"]):
        ax.plot(at, machine.predict(at[:, None] ** [1, 2]), look, label=name)
    ax.legend()
