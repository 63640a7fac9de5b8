"""The board of chapter 17: the Gram matrix of points, its eigenvalues, and the first kernel principal component."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from companion.boards import board
from companion.boards.board import BoardPicture, Limits, Shown, Values
from companion.checks import as_matrix
from companion.figures import plotting

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
    >>> gram_board([[-1, 0], [0, 0], [1, 0]], kernel="linear")
    Board of 3 points, at (-1, 0), (0, 0), (1, 0), with level lines of the first kernel principal component.
    """
    points = np.insert(as_matrix(points, "points", (None, 2)), 2, 1.0, axis=1)
    shows = "level lines of the first kernel principal component"
    return BoardPicture("gram", points, limits, PARAMETERS, draw, shows, values).begin()


def fit(points: np.ndarray, values: Values) -> Any:
    """Return the kernel principal components of the points."""
    from companion.kernels import KernelPCA

    return KernelPCA(kernel=board.kernel_of(values)).fit(points[:, :2])


def draw(ax: Axes, points: np.ndarray, values: Values) -> None:
    """Draw the points, and the level lines of the first component."""
    ax.set(**board.PLANE)
    X, machine = points[:, :2], fit(points, values)
    component = machine.transform(X)[:, 0]
    levels = np.abs(component).max() * np.arange(-0.75, 1.0, 0.25)
    colors = [plotting.RED] * 3 + ["black"] + [plotting.BLUE] * 3
    board.level_lines(ax, lambda x: machine.transform(x)[:, 0], levels, colors=colors)
    plotting.points(ax, X[component >= 0.0], X[component < 0.0])
