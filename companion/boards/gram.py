"""The board of chapter 17: the Gram matrix of points, its eigenvalues, and the first kernel principal component."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from companion.boards import board
from companion.boards.board import Limits, Result, Setup, Shown, Values
from companion.checks import as_matrix
from companion.figures import plotting

__all__ = ["gram_board"]

SHOWN = 6  # eigenvalues
PARAMETERS = [{**board.KERNEL, "start": "Gaussian"}, board.SIGMA]


def gram_board(points: Any, *, limits: Limits = board.WIDE, **values: Any) -> Shown:
    r"""Return a board on which the reader moves points and sees what a kernel makes of them.

    Beside the points stand their Gram matrix, the largest eigenvalues of its centred form, and the level lines of the
    first kernel principal component.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        The points to begin with.
    limits : (left, right, bottom, top), optional
        The part of the plane that is shown.
    **values
        Where to begin: ``kernel``, one of ``"linear"``, ``"quadratic"`` and ``"Gaussian"``, and ``sigma``.

    Returns
    -------
    Board or BoardPicture
        The widget in JupyterLab; elsewhere the picture that the rendered page makes alive.

    Examples
    --------
    >>> found = gram_board([[-1, 0], [0, 0], [1, 0]], kernel="linear").result
    >>> [round(t, 6) for t in found["eigenvalues"]], round(found["share"], 6)
    ([2.0, 0.0, 0.0], 1.0)
    """
    points = np.insert(as_matrix(points, "points", (None, 2)), 2, 1.0, axis=1)
    return Setup("gram", points, limits, PARAMETERS, fit, draw, values).begin()


def fit(points: np.ndarray, values: Values, limits: Limits) -> Result:
    """Find the first kernel principal component and return the numbers of the board."""
    from companion.kernels import KernelPCA, as_kernel, gram

    X = points[:, :2]
    if len(X) < 2:
        raise ValueError("There must be two points.")
    kernel = as_kernel(board.kernel_of(values))
    machine = KernelPCA(kernel=kernel).fit(X)
    found = np.pad(machine.eigenvalues_, (0, len(X)))[: min(SHOWN, len(X))]
    return {
        "gram": gram(kernel, X).tolist(),
        "eigenvalues": np.where(found > 1e-12 * found[0], found, 0.0).tolist(),
        "share": float(machine.explained_variance_ratio_[0]),
        "component": machine.transform(X)[:, 0].tolist(),
        "field": board.field(lambda x: machine.transform(x)[:, 0], limits),
    }


def draw(ax: Axes, of: Setup, result: Result) -> None:
    """Draw the points, and the level lines of the component."""
    ax.set(**board.PLANE)
    X, component = of.points[:, :2], np.array(result["component"])
    levels = np.abs(component).max() * np.arange(-0.75, 1.0, 0.25)
    colors = [plotting.RED] * 3 + ["black"] + [plotting.BLUE] * 3
    ax.contour(*board.grid(of.limits), np.array(result["field"]), levels=levels, colors=colors)
    plotting.points(ax, X[component >= 0.0], X[component < 0.0])
