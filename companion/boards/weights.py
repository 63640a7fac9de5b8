"""The board of chapter 19: points over a line, three parabolas, and their weights in the plane."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon

from companion.boards.board import (
    Limits,
    Points,
    Setup,
    Shown,
    Values,
    columns,
    present,
    rising,
    slider,
)
from companion.checks import as_vector
from companion.figures import plotting
from companion.regression import Lasso, RidgeRegression

__all__ = ["weight_board"]

SAMPLES = 121  # values of each parabola that the browser draws
SLIDERS = [slider("tau", "τ", 0.01, 100.0, log=True), slider("K", "K", 0.01, 100.0, log=True)]
PROGRAM = "least squares, ridge, lasso"


def weight_board(
    x: Any,
    y: Any,
    *,
    limits: Limits = (-1.0, 3.0, -4.0, 4.0),
    values: Values | None = None,
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
    values : mapping, optional
        Values to begin with: ``tau`` of the lasso and ``K`` of ridge regression.

    Returns
    -------
    Board or BoardPicture
        The widget in JupyterLab; elsewhere the picture that the rendered page makes alive.

    Examples
    --------
    >>> found = weight_board([-1.0, 0.0, 1.0], [1.0, 0.0, 2.0], values={"tau": 0.5}).result
    >>> [[round(t, 6) for t in found[name]] for name in ("least", "lasso")]
    [[0.5, 1.5, 0.0], [0.25, 0.75, 0.5]]
    >>> [round(t, 6) for t in found["zeros"]]  # from this tau on the weight is 0
    [1.0, 1.0]
    """
    x = as_vector(x, "x")
    y = as_vector(y, "y", x.size)
    setup = Setup(
        "weights",
        columns(x, y),
        rising(limits),
        {PROGRAM: ("weights", SLIDERS)},
        {PROGRAM: {"tau": 1.0, "K": 1.0}},
        fit,
        draw,
        "weight_board(\n    XS,\n    YS",
    )
    return present(setup, None, values)


def fit(points: Points, program: str, values: Values, limits: Limits) -> dict[str, Any]:
    """Fit the three parabolas to points (x, y, 1) and return the numbers of the board."""
    table = np.array(points, dtype=float).reshape(-1, 3)
    if not len(table):
        raise ValueError("There must be a point.")
    X, y = table[:, :1] ** [1, 2], table[:, 1]
    machines: dict[str, Any] = {
        "least": RidgeRegression(K=0.0),
        "ridge": RidgeRegression(K=values["K"]),
        "lasso": Lasso(values["tau"]),
    }
    found = {
        name: [*machine.fit(X, y).w_.tolist(), float(machine.b_)]
        for name, machine in machines.items()
    }
    X, y = X - X.mean(axis=0), y - y.mean()
    G, at = X.T @ X, np.linspace(limits[0], limits[1], SAMPLES)
    return {
        **found,
        "gram": [float(G[0, 0]), float(G[0, 1]), float(G[1, 1])],
        "zeros": zeros(G, X.T @ y),
        "curves": [(a * at + b * at**2 + shift).tolist() for a, b, shift in found.values()],
    }


def zeros(G: np.ndarray, c: np.ndarray) -> list[float]:
    r"""Return for each of two weights the tau from which on the lasso has it 0.

    Down from :math:`\tau = \max_j |c_j|` one weight is alone, :math:`w_i = (c_i - s\tau)/G_{ii}` with the sign s of
    :math:`c_i`, until :math:`|c_j - G_{ij} w_i| = \tau` for the other.
    """
    i = int(abs(c[1]) > abs(c[0]))
    top, own = float(abs(c[i])), float(G[i, i])
    found = [top, top]
    if top == 0.0:
        return [0.0, 0.0]
    slope, start = np.sign(c[i]) * G[0, 1] / own, c[1 - i] - G[0, 1] * c[i] / own
    with np.errstate(divide="ignore", invalid="ignore"):
        meets = np.array([start / (1.0 - slope), -start / (1.0 + slope)])
    inside = meets[(meets > 0.0) & (meets <= top * (1.0 + 1e-12))]
    found[1 - i] = float(inside.max(initial=0.0))
    return found


def draw(
    points: Points, program: str, values: Values, limits: Limits, result: dict[str, Any]
) -> Figure:
    """Draw the parabolas, and the plane of the weights."""
    table, at = np.array(points), np.linspace(limits[0], limits[1], SAMPLES)
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.9))
    styles = (("least", "black", "-"), ("ridge", plotting.BLUE, "--"), ("lasso", plotting.RED, ":"))
    for (name, color, style), curve in zip(styles, result["curves"], strict=True):
        left.plot(at, curve, style, color=color, label="least squares" if name == "least" else name)
        right.plot(*result[name][:2], "o", color=color, zorder=3)
    left.plot(table[:, 0], table[:, 1], "o", color=plotting.GREY, markeredgecolor="black")
    left.set(xlim=limits[:2], ylim=limits[2:], xlabel="$x$", ylabel="$y$")
    left.legend()
    (u, v, w), w0 = result["gram"], np.array(result["least"][:2])
    reach = 1.3 * max(abs(t) for name, *_ in styles for t in result[name][:2])
    grid = np.linspace(-reach, reach, 201)
    p, q = np.meshgrid(grid - w0[0], grid - w0[1])
    error = u * p * p + 2.0 * v * p * q + w * q * q
    touched = sorted(
        float(d @ np.array([[u, v], [v, w]]) @ d)
        for d in (np.array(result[name][:2]) - w0 for name in ("ridge", "lasso"))
    )
    if 0.0 < touched[0] < touched[1]:
        right.contour(grid, grid, error, levels=touched, colors=plotting.GREY, linewidths=1.0)
    right.add_patch(
        Circle((0, 0), float(np.hypot(*result["ridge"][:2])), color=plotting.BLUE, alpha=0.2)
    )
    sum_ = float(np.abs(result["lasso"][:2]).sum())
    corners = [(sum_, 0.0), (0.0, sum_), (-sum_, 0.0), (0.0, -sum_)]
    right.add_patch(Polygon(corners, color=plotting.RED, alpha=0.2))
    right.set(
        xlim=(-reach, reach), ylim=(-reach, reach), xlabel="$w_1$", ylabel="$w_2$", aspect="equal"
    )
    return figure
