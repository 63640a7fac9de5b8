"""The board of chapter 18: two classes of points, and the hyperplanes of a support vector machine."""

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
    field,
    grid,
    numbers,
    rising,
    slider,
    with_kernel,
)
from companion.checks import as_matrix
from companion.figures import plotting
from companion.svm import HardMarginSVC, SVMs1, SVMs2, SVMs2l, SVMs2prime, SVMs3, SVMs4, SVMs5
from companion.svm.estimator import SupportVectorMachine

__all__ = ["point_board"]

SLIDERS = {
    "nu": slider("nu", "ν", 0.01, 1.0),
    "K": slider("K", "K", 1e-3, 1e3, log=True),
}
# The machines for which the browser has a solver (browser/point.js).
IN_BROWSER = (HardMarginSVC, SVMs1, SVMs2, SVMs2prime, SVMs3, SVMs4, SVMs5)


def point_board(
    machines: BaseEstimator | Mapping[str, BaseEstimator],
    u: Any,
    v: Any,
    *,
    limits: Limits | None = None,
    kernels: bool = False,
    program: str | None = None,
    values: Values | None = None,
) -> Shown:
    """Return a board on which the reader moves the points of two classes and sees the fitted machine follow.

    Parameters
    ----------
    machines : estimator or mapping
        A machine of `companion.svm`, or several by name, among which the reader chooses. Parameters nu and K that
        are set get a slider.
    u, v : array-like of shape (p, 2), (q, 2)
        Blue and red points to begin with.
    limits : (left, right, bottom, top), optional
        The part of the plane that is shown; by default the points and a border of a fifth.
    kernels : bool, optional
        Whether the reader may choose among the linear, the quadratic and the Gaussian kernel.
    program, values : str and mapping, optional
        The machine to begin with, and values of its sliders.

    Returns
    -------
    Board or BoardPicture
        The widget in JupyterLab; elsewhere the picture that the rendered page makes alive.

    Raises
    ------
    ValueError
        If the points are not in the plane, or there is no machine.

    Examples
    --------
    >>> from companion.svm import SVMs2prime
    >>> point_board(SVMs2prime(nu=0.5), [[1, 0]], [[-1, 0]]).result["multipliers"]  # a doctest has no reader
    [0.25, 0.25]
    """
    u, v = as_matrix(u, "u", (None, 2)), as_matrix(v, "v", (None, 2))
    named = machines if isinstance(machines, Mapping) else {type(machines).__name__: machines}
    if not named:
        raise ValueError("machines must hold at least one machine, got none")
    for machine in named.values():
        if not isinstance(machine, SupportVectorMachine | SVMs2l):
            raise TypeError(f"machines must be machines of companion.svm, got {machine!r}")
    points = [*([*x, 1.0] for x in u.tolist()), *([*x, -1.0] for x in v.tolist())]
    if limits is None:
        both = np.vstack([u, v])
        low, high = both.min(axis=0), both.max(axis=0)
        border = 0.2 * np.maximum(high - low, 1.0)
        limits = tuple(np.round(np.ravel([low - border, high + border], order="F"), 2).tolist())
    window = rising(limits)

    def solve(given: Given) -> dict[str, Any]:
        machine = clone(named[given.program])
        return fit(machine.set_params(**with_kernel(given.values)), given.points, given.limits)

    known = {name: m for name, m in named.items() if isinstance(m, IN_BROWSER)}
    shown = ", ".join(f'"{name}": {" ".join(repr(m).split())}' for name, m in known.items())
    classes = {name: type(m).__name__ for name, m in known.items()}
    own = {name: _parameters(machine) for name, machine in named.items()}
    choice, first = (KERNEL_CHOICE, FIRST_KERNEL) if kernels else ([], {})
    return Setup(
        "point",
        points,
        window,
        {name: (classes.get(name, ""), [SLIDERS[p] for p in own[name]] + choice) for name in named},
        {name: own[name] | first for name in named},
        solve,
        draw,
        f"point_board(\n    {{{shown}}},\n    BLUE,\n    RED{', kernels=True' if kernels else ''}",
        f"from companion.svm import {', '.join(sorted(set(classes.values())))}",
        scale=min(window[1], window[3]) / 5.0,
    ).begin(program, values)


def fit(machine: BaseEstimator, points: np.ndarray, limits: Limits) -> dict[str, Any]:
    """Fit a machine to points, rows x, y, sign, and return the numbers of the board."""
    X, s = points[:, :2], points[:, 2]
    if len(set(s)) < 2:
        raise ValueError("There must be a point of each colour.")
    machine.fit(X, s)
    a, slack = np.empty(len(s)), np.empty(len(s))
    a[s > 0], a[s < 0] = machine.lambda_, machine.mu_
    slack[s > 0], slack[s < 0] = machine.epsilon_, machine.xi_
    known = not machine.degenerate_ and hasattr(machine, "p_f_")
    flat = machine.kernel_.is_linear and machine.w_ is not None and machine.norm_ > 0.0
    return {
        "multipliers": a.tolist(),
        "slacks": slack.tolist(),
        "places": machine.point_classes_.tolist(),
        **numbers(machine, "b", "eta", "norm", "delta", "objective"),
        "b_interval": list(getattr(machine, "b_interval_", (machine.b_, machine.b_))),
        "counts": [machine.p_f_, machine.q_f_, machine.p_m_, machine.q_m_] if known else None,
        "bound": _bound(machine, len(s)) if known else None,
        "w": machine.w_.tolist() if flat else None,
        "field": field(machine.decision_function, limits) if machine.norm_ > 0.0 else None,
    }


def _bound(machine: BaseEstimator, n: int) -> float | None:
    """Return what Propositions 18.1 and 18.3 put between the counts of points."""
    if isinstance(machine, SVMs1):
        return float(1.0 / (2.0 * machine.K_))
    if isinstance(machine, SVMs2prime):
        return float(machine.nu * n / 2.0)
    return float(machine.nu * n) if isinstance(machine, SVMs3) else None


def draw(given: Given, result: dict[str, Any]) -> Figure:
    """Draw the points, and the lines where the decision function is 0, eta and -eta."""
    X, s, limits = given.points[:, :2], given.points[:, 2], given.limits
    figure, ax = plt.subplots(figsize=(5.0, 4.5))
    ax.set(xlim=limits[:2], ylim=limits[2:], xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    if result.get("field"):
        at, lines = [*grid(limits), np.array(result["field"])], {0.0: ("black", "-")}
        if result["eta"] > 0:
            lines = {
                -result["eta"]: (plotting.RED, ":"),
                **lines,
                result["eta"]: (plotting.BLUE, "--"),
            }
        for level, (color, style) in lines.items():
            ax.contour(*at, levels=[level], colors=[color], linestyles=[style])
    plotting.points(ax, X[s > 0], X[s < 0])
    return figure


def _parameters(machine: BaseEstimator) -> dict[str, Any]:
    """Return the parameters of a machine that have a slider and a value."""
    found = {name: machine.get_params().get(name) for name in SLIDERS}
    return {name: float(value) for name, value in found.items() if value is not None}
