"""The board of chapter 19: points over a line, three parabolas, and their weights in the plane."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon

from companion.boards.board import Given, Limits, Setup, Shown, Values, slider
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
    return Setup(
        "weights",
        [[*point, 1.0] for point in np.column_stack([x, y]).tolist()],
        limits,
        {PROGRAM: ("weights", SLIDERS)},
        {PROGRAM: {"tau": 1.0, "K": 1.0}},
        fit,
        draw,
        "weight_board(\n    XS,\n    YS",
    ).begin(None, values)


def fit(given: Given) -> dict[str, Any]:
    """Fit the three parabolas to points (x, y, 1) and return the numbers of the board."""
    if not len(given.points):
        raise ValueError("There must be a point.")
    X, y = given.points[:, :1] ** [1, 2], given.points[:, 1]
    machines: dict[str, Any] = {
        "least": RidgeRegression(K=0.0),
        "ridge": RidgeRegression(K=given.values["K"]),
        "lasso": Lasso(given.values["tau"]),
    }
    for machine in machines.values():
        machine.fit(X, y)
    found = {name: [*m.w_.tolist(), float(m.b_)] for name, m in machines.items()}
    X, y = X - X.mean(axis=0), y - y.mean()
    G, at = X.T @ X, np.linspace(*given.limits[:2], SAMPLES)
    return {
        **found,
        "gram": G[[0, 0, 1], [0, 1, 1]].tolist(),
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
    if top == 0.0:
        return [0.0, 0.0]
    slope, start = np.sign(c[i]) * G[0, 1] / own, c[1 - i] - G[0, 1] * c[i] / own
    with np.errstate(divide="ignore", invalid="ignore"):
        meets = np.array([start / (1.0 - slope), -start / (1.0 + slope)])
    inside = meets[(meets > 0.0) & (meets <= top * (1.0 + 1e-12))]
    other = float(inside.max(initial=0.0))
    return [other, top] if i else [top, other]


def draw(given: Given, result: dict[str, Any]) -> Figure:
    """Draw the parabolas, and the plane of the weights."""
    limits, at = given.limits, np.linspace(*given.limits[:2], SAMPLES)
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.9))
    styles = (("least", "black", "-"), ("ridge", plotting.BLUE, "--"), ("lasso", plotting.RED, ":"))
    for (name, color, style), curve in zip(styles, result["curves"], strict=True):
        left.plot(at, curve, style, color=color, label="least squares" if name == "least" else name)
        right.plot(*result[name][:2], "o", color=color, zorder=3)
    left.plot(*given.points[:, :2].T, "o", color=plotting.GREY, markeredgecolor="black")
    left.set(xlim=limits[:2], ylim=limits[2:], xlabel="$x$", ylabel="$y$")
    left.legend()
    w0, ridge, lasso = (np.array(result[name][:2]) for name in ("least", "ridge", "lasso"))
    reach = 1.3 * np.abs([w0, ridge, lasso]).max()
    grid = np.linspace(-reach, reach, 201)

    def error(p: Any, q: Any) -> Any:
        u, v, w = result["gram"]
        return u * (p - w0[0]) ** 2 + 2.0 * v * (p - w0[0]) * (q - w0[1]) + w * (q - w0[1]) ** 2

    touched = sorted([error(*ridge), error(*lasso)])
    if 0.0 < touched[0] < touched[1]:
        values = error(*np.meshgrid(grid, grid))
        right.contour(grid, grid, values, levels=touched, colors=plotting.GREY, linewidths=1.0)
    right.add_patch(Circle((0, 0), np.hypot(*ridge), color=plotting.BLUE, alpha=0.2))
    corners = np.abs(lasso).sum() * np.array([(1, 0), (0, 1), (-1, 0), (0, -1)])
    right.add_patch(Polygon(corners, color=plotting.RED, alpha=0.2))
    right.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    right.set(xlabel="$w_1$", ylabel="$w_2$")
    return figure
