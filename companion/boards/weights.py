"""The board of chapter 19: points over a line, three parabolas, and their weights in the plane."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon

from companion.boards import board
from companion.boards.board import Limits, Result, Shown, Values
from companion.checks import as_vector
from companion.figures import plotting
from companion.regression import Lasso, RidgeRegression

__all__ = ["weight_board"]

PARAMETERS = [
    board.slider("tau", "τ", 0.01, 100.0, 1.0, log=True),
    board.slider("K", "K", 0.01, 100.0, 1.0, log=True),
]
LOOKS = {
    "least squares": ("black", "-"),
    "ridge": (plotting.BLUE, "--"),
    "lasso": (plotting.RED, ":"),
}


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
    x = as_vector(x, "x")
    points = np.column_stack([x, as_vector(y, "y", x.size), np.ones(x.size)])
    return board.Setup("weights", points, limits, PARAMETERS, fit, draw, values).begin()


def fit(points: np.ndarray, values: Values, limits: Limits) -> Result:
    """Fit the three parabolas and return the numbers of the board."""
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


def draw(points: np.ndarray, values: Values, limits: Limits, result: Result) -> Figure:
    """Draw the parabolas, and the plane of the weights with the ellipses through ridge and lasso."""
    x, y, _ = points.T
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.9))
    at, shown = np.linspace(*limits[:2], 121), [np.array(result[name]) for name in LOOKS]
    for w, (name, (color, style)) in zip(shown, LOOKS.items(), strict=True):
        left.plot(at, w[0] * at + w[1] * at**2 + w[2], style, color=color, label=name)
        right.plot(*w[:2], "o", color=color, zorder=3)
    left.plot(x, y, "o", color=plotting.GREY, markeredgecolor="black")
    left.legend()
    board.show_plane(left, limits, xlabel="$x$", ylabel="$y$", aspect="auto")
    G, (least, ridge, lasso) = np.cov(x, x**2), (w[:2] for w in shown)

    def squares(w: np.ndarray) -> np.ndarray:
        d = np.moveaxis(w - least, -1, 0)
        return np.einsum("i...,ij,j...", d, G, d)

    reach = 1.3 * np.abs([least, ridge, lasso]).max()
    plane = np.meshgrid(*[np.linspace(-reach, reach, 201)] * 2)
    levels = np.unique([squares(ridge), squares(lasso)])
    values_there = squares(np.stack(plane, axis=-1))
    right.contour(*plane, values_there, levels, colors=plotting.GREY, linewidths=1.0)
    right.add_patch(Circle((0, 0), np.hypot(*ridge), color=plotting.BLUE, alpha=0.2))
    corners = np.abs(lasso).sum() * np.array([(1, 0), (0, 1), (-1, 0), (0, -1)])
    right.add_patch(Polygon(corners, color=plotting.RED, alpha=0.2))
    board.show_plane(right, (-reach, reach) * 2, xlabel="$w_1$", ylabel="$w_2$")
    return figure
