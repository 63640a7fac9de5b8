"""The board of chapter 20: points over a line, and the tube of a support vector regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from companion.boards import board
from companion.boards.board import Limits, Result, Setup, Shown, Values
from companion.figures import plotting

__all__ = ["tube_board"]

SAMPLES = 241  # values of the regression function that the browser draws
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
    >>> found = tube_board([-1.0, 0.0, 1.0], [-1.0, 0.5, 1.0], nu=0.5).result
    >>> round(found["b"], 6), round(found["epsilon"], 6), found["counts"]
    (0.25, 0.25, [0, 0, 2, 1])
    """
    points = board.over_a_line(x, y)
    return Setup("tube", points, limits, PARAMETERS, fit, draw, values).begin()


def fit(points: np.ndarray, values: Values, limits: Limits) -> Result:
    """Fit the chosen regression to the points and return the numbers of the board."""
    from companion.svr import EpsilonSVR, NuSVR

    if not len(points):
        raise ValueError("There must be a point.")
    given = {"C": values["C"], "kernel": board.kernel_of(values)}
    nu = values["program"] == NU
    machine: Any = NuSVR(values["nu"], **given) if nu else EpsilonSVR(values["epsilon"], **given)
    machine.fit(points[:, :1], points[:, 1])
    return {
        "multipliers": (machine.mu_ - machine.lambda_).tolist(),
        "slacks": (machine.xi_ + machine.xi_prime_).tolist(),
        "places": machine.point_classes_.tolist(),
        **board.numbers(machine, "b", "epsilon", "norm", "objective"),
        "nu": values["nu"] if nu else machine.nu_,
        "b_interval": list(machine.b_interval_),
        "epsilon_interval": list(machine.epsilon_interval_),
        "counts": [machine.p_f_, machine.q_f_, machine.p_m_, machine.q_m_],
        "values": machine.predict(np.linspace(*limits[:2], SAMPLES)[:, None]).tolist(),
    }


def draw(ax: Axes, of: Setup, result: Result) -> None:
    """Draw the points and the tube."""
    ax.set(**board.LINE)
    x, y, _ = of.points.T
    at, share = np.linspace(*of.limits[:2], SAMPLES), np.array(result["multipliers"]) * len(x)

    def f(x: np.ndarray) -> np.ndarray:
        return np.interp(x, at, result["values"])

    plotting.tube(
        ax, x, y, f, result["epsilon"], share / of.values["C"], (of.limits[:2], of.limits[2:])
    )
