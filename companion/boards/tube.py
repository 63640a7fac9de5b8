"""The board of chapter 20: points over a line, and the tube of a support vector regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator, clone

from companion.boards.board import (
    FIRST_KERNEL,
    KERNEL_CHOICE,
    Given,
    Limits,
    Setup,
    Shown,
    Values,
    numbers,
    slider,
    with_kernel,
)
from companion.checks import as_vector
from companion.figures import plotting
from companion.svr import EpsilonSVR, NuSVR

__all__ = ["tube_board"]

SAMPLES = 241  # values of the regression function that the browser draws
SLIDERS = {
    "nu": slider("nu", "ν", 0.0, 1.0),
    "epsilon": slider("epsilon", "ε", 0.0, 2.0),
    "C": slider("C", "C", 0.1, 1e3, log=True),
}
MACHINES: Mapping[str, BaseEstimator] = {
    "ν-SV regression": NuSVR(nu=0.3, C=30.0),
    "ε-SV regression": EpsilonSVR(epsilon=0.5, C=30.0),
}


def tube_board(
    x: Any,
    y: Any,
    *,
    limits: Limits = (-5.0, 5.0, -4.0, 4.0),
    program: str | None = None,
    values: Values | None = None,
) -> Shown:
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
    program : str, optional
        The regression to begin with, ``"ν-SV regression"`` or ``"ε-SV regression"``.
    values : mapping, optional
        Values to begin with, of ``nu`` or ``epsilon``, and of ``C``, ``kernel`` and ``sigma``.

    Returns
    -------
    Board or BoardPicture
        The widget in JupyterLab; elsewhere the picture that the rendered page makes alive.

    Examples
    --------
    >>> found = tube_board([-1.0, 0.0, 1.0], [-1.0, 0.5, 1.0], values={"nu": 0.5}).result
    >>> round(found["b"], 6), round(found["epsilon"], 6), found["counts"]
    (0.25, 0.25, [0, 0, 2, 1])
    """
    x = as_vector(x, "x")
    y = as_vector(y, "y", x.size)
    parameters = {
        name: {p: v for p, v in machine.get_params().items() if p in SLIDERS}
        for name, machine in MACHINES.items()
    }
    return Setup(
        "tube",
        [[*point, 1.0] for point in np.column_stack([x, y]).tolist()],
        limits,
        {
            name: (type(machine).__name__, [SLIDERS[p] for p in parameters[name]] + KERNEL_CHOICE)
            for name, machine in MACHINES.items()
        },
        {name: {**given, **FIRST_KERNEL} for name, given in parameters.items()},
        fit,
        draw,
        "tube_board(\n    XS,\n    YS",
    ).begin(program, values)


def fit(given: Given) -> dict[str, Any]:
    """Fit a regression to points (x, y, 1) and return the numbers of the board."""
    if not len(given.points):
        raise ValueError("There must be a point.")
    X, y = given.points[:, :1], given.points[:, 1]
    machine = clone(MACHINES[given.program]).set_params(**with_kernel(given.values)).fit(X, y)
    at = np.linspace(*given.limits[:2], SAMPLES)[:, None]
    return {
        "multipliers": machine.dual_coef_.tolist(),
        "slacks": (machine.xi_ + machine.xi_prime_).tolist(),
        "places": machine.point_classes_.tolist(),
        **numbers(machine, "b", "epsilon", "norm", "objective"),
        "nu": float(machine.nu if isinstance(machine, NuSVR) else machine.nu_),
        "b_interval": list(machine.b_interval_),
        "epsilon_interval": list(machine.epsilon_interval_),
        "counts": [machine.p_f_, machine.q_f_, machine.p_m_, machine.q_m_],
        "values": machine.predict(at).tolist(),
        "fitted": (y - machine.residuals_).tolist(),
    }


def draw(given: Given, result: dict[str, Any]) -> Figure:
    """Draw the points and the tube."""
    x, y, _ = given.points.T
    limits, places = given.limits, np.array(result["places"])
    at = np.linspace(*limits[:2], SAMPLES)
    part = np.where(places == "type 1", 0.5, np.isin(places, ["error", "type 2"]))
    figure, ax = plt.subplots(figsize=(5.6, 4.2))
    plotting.tube(
        ax,
        x,
        y,
        lambda x: np.interp(x, at, result["values"]),
        result["epsilon"],
        share=np.sign(result["multipliers"]) * part,
        limits=(limits[:2], limits[2:]),
    )
    ax.set(xlabel="$x$", ylabel="$y$")
    return figure
