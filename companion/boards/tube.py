"""The board of chapter 20: points over a line, and the tube of a support vector regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from companion.boards import board
from companion.boards.board import BoardPicture, Limits, Shown, Values
from companion.figures import plotting

NU, EPSILON = "ν-SV regression", "ε-SV regression"
PARAMETERS = [
    board.choice("program", [NU, EPSILON]),
    board.slider("nu", "ν", 0.0, 1.0, 0.3, when=["program", [NU]]),
    board.slider("epsilon", "ε", 0.0, 2.0, 0.5, when=["program", [EPSILON]]),
    board.slider("C", "C", 0.1, 1e3, 30.0, log=True),
    board.KERNEL,
    board.SIGMA,
]


def tube_board(x: Any, y: Any, *, limits: Limits = (-5.0, 5.0, -4.0, 4.0), **values: Any) -> Shown:
    r"""Return a board on which the reader moves points over a line and sees the tube of the regression follow.

    The programs are nu-SV regression and epsilon-SV regression, with the linear, the quadratic and the Gaussian
    kernel. Beside the numbers :math:`p_f, q_f` of points that fail the margin stands :math:`m\nu/2`, which bounds them
    (Proposition 20.2).

    Parameters
    ----------
    x, y : array-like of shape (m,)
        The points to begin with.
    limits : (left, right, bottom, top), optional
        The part of the plane that is shown.
    **values
        Where to begin: ``program`` (``"ν-SV regression"`` or ``"ε-SV regression"``), ``nu``, ``epsilon``, ``C``,
        ``kernel`` and ``sigma``.

    Returns
    -------
    Board or BoardPicture
        The widget in JupyterLab; elsewhere the picture that the rendered page makes alive.

    Examples
    --------
    >>> tube_board([-1.0, 0.0, 1.0], [-1.0, 0.5, 1.0], nu=0.5)
    Board of 3 points, at (-1, -1), (0, 0.5), (1, 1), with the tube of ν-SV regression.
    """
    points = board.over_a_line(x, y)
    shows = f"the tube of {values.get('program', NU)}"
    return BoardPicture("tube", points, limits, PARAMETERS, draw, shows, values).begin()


def fit(points: np.ndarray, values: Values) -> Any:
    """Return the chosen regression, fitted to the points."""
    from companion.svr import EpsilonSVR, NuSVR

    given = {"C": values["C"], "kernel": board.kernel_of(values)}
    is_nu = values["program"] == NU
    machine = NuSVR(values["nu"], **given) if is_nu else EpsilonSVR(values["epsilon"], **given)
    return machine.fit(points[:, :1], points[:, 1])


def draw(ax: Axes, points: np.ndarray, values: Values) -> None:
    """Draw the points and the tube."""
    ax.set(**board.LINE)
    machine, (x, y, _) = fit(points, values), points.T
    share = (machine.mu_ - machine.lambda_) * len(x) / values["C"]
    limits = ax.get_xlim(), ax.get_ylim()
    plotting.tube(ax, x, y, lambda t: machine.predict(t[:, None]), machine.epsilon_, share, limits)
