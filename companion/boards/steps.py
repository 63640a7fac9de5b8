"""The board of chapter 16: the steps of ADMM in the plane."""

from __future__ import annotations

import warnings
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from companion.admm import admm, project_ball, soft_threshold
from companion.boards.board import Given, Limits, Setup, Shown, Values, slider
from companion.checks import as_matrix, as_vector
from companion.exceptions import ConvergenceWarning
from companion.figures import plotting

__all__ = ["step_board"]

STEPS = 60
Q = np.array([[2.0, 1.2], [1.2, 1.0]])
SETS, LASSO = "a disc and a line", "a lasso with two weights"
ALPHA = slider("alpha", "α", 0.1, 1.9)
RHO, TAU = slider("rho", "ρ", 0.01, 100.0, log=True), slider("tau", "τ", 0.0, 4.0)
PROGRAMS = {
    SETS: ("sets", [slider("radius", "radius", 0.2, 4.0), ALPHA]),
    LASSO: ("lasso", [RHO, ALPHA, TAU]),
}
VALUES = {SETS: {"radius": 2.0, "alpha": 1.0}, LASSO: {"rho": 1.0, "alpha": 1.0, "tau": 1.0}}


def step_board(
    start: Any,
    centre: Any,
    line: Any = ((-4.0, 1.2), (4.0, 2.6)),
    *,
    limits: Limits = (-5.0, 5.0, -4.5, 4.5),
    program: str | None = None,
    values: Values | None = None,
) -> Shown:
    r"""Return a board on which the reader moves the start and the sets, and sees the steps of ADMM follow.

    Two programs in the form f(x) + g(z), x - z = 0. "A disc and a line": f and g are the indicators of the two sets,
    and ADMM looks for a point of both. "A lasso with two weights": :math:`f(x) = \tfrac12 (x - c)^\top Q (x - c)` and
    :math:`g(z) = \tau \|z\|_1`.

    Parameters
    ----------
    start : array-like of shape (2,)
        The first z. The first u is 0.
    centre : array-like of shape (2,)
        Centre of the disc, or the point c of the lasso.
    line : array-like of shape (2, 2), optional
        Two points of the line.
    limits : (left, right, bottom, top), optional
        The part of the plane that is shown.
    program : str, optional
        The program to begin with.
    values : mapping, optional
        Values to begin with: ``alpha``, the over-relaxation, ``radius`` of the disc, ``rho`` and ``tau`` of the lasso.

    Returns
    -------
    Board or BoardPicture
        The widget in JupyterLab; elsewhere the picture that the rendered page makes alive.

    Examples
    --------
    >>> found = step_board([4.0, -3.0], [0.0, 0.0], [[0.0, 1.0], [1.0, 1.0]], values={"radius": 1.0}).result
    >>> [round(t, 3) for t in found["x"][0]], [round(t, 3) for t in found["z"][1]]
    ([0.8, -0.6], [0.8, 1.0])
    """
    points = [as_vector(start, "start", 2), as_vector(centre, "centre", 2)]
    points += list(as_matrix(line, "line", (2, 2)))
    return Setup(
        "steps",
        [[*point.tolist(), 1.0] for point in points],
        limits,
        PROGRAMS,
        VALUES,
        fit,
        draw,
        "step_board(\n    *points[:2], points[2:]",
        before="points = POINTS",
        fixed=True,
    ).begin(program, values)


def fit(given: Given) -> dict[str, Any]:
    """Take the steps and return the numbers of the board."""
    start, centre, first, second = given.points[:, :2]
    values = given.values
    if given.program == SETS:
        along = second - first
        if not along.any():
            raise ValueError("The two points of the line must differ.")
        unit = along / np.hypot(*along)

        def x_update(v: np.ndarray, rho: float) -> np.ndarray:
            return centre + project_ball(v - centre, radius=values["radius"])

        def z_update(v: np.ndarray, rho: float) -> np.ndarray:
            return first + (unit @ (-v - first)) * unit
    else:

        def x_update(v: np.ndarray, rho: float) -> np.ndarray:
            return np.linalg.solve(Q + rho * np.eye(2), Q @ centre + rho * v)

        def z_update(v: np.ndarray, rho: float) -> np.ndarray:
            return soft_threshold(-v, values["tau"] / rho)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the board shows the first steps
        run = admm(
            x_update,
            z_update,
            A=1,
            B=-1,
            c=np.zeros(2),
            rho=values.get("rho", 1.0),
            z0=start,
            relaxation=values["alpha"],
            tol_abs=0.0,
            tol_rel=0.0,
            max_iter=STEPS,
            keep_iterates=True,
        )
    history = {"primal": "primal_residual", "dual": "dual_residual", "x": "x", "z": "z"}
    rest = STEPS - run.n_iter  # where both residuals are 0, nothing moves any more
    found = {name: run.history[key] for name, key in history.items()}
    return {name: [*rows.tolist(), *rows[-1:].tolist() * rest] for name, rows in found.items()}


def draw(given: Given, result: dict[str, Any]) -> Figure:
    """Draw the sets or the ellipses, the iterates, and the residuals."""
    (_, centre, first, second), limits = given.points[:, :2], given.limits
    x, z = np.array(result["x"]), np.array(result["z"])
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.9))
    if given.program == SETS:
        left.add_patch(Circle(centre, given.values["radius"], color=plotting.BLUE, alpha=0.2))
        left.axline(first, second, color=plotting.RED, linestyle=":")
    else:
        p, q = np.meshgrid(np.linspace(*limits[:2], 101), np.linspace(*limits[2:], 101))
        d = np.stack([p - centre[0], q - centre[1]])
        left.contour(p, q, np.einsum("i...,ij,j...", d, Q, d) / 2.0, levels=4, colors=plotting.BLUE)
    stairs = np.stack([z[:-1], x], axis=1).reshape(-1, 2)
    left.plot(*stairs.T, color=plotting.GREY, linewidth=0.9)
    left.plot(*x.T, "o", color=plotting.BLUE, markersize=3.5)
    left.plot(*z.T, "s", color=plotting.RED, markersize=3.5)
    left.set(xlim=limits[:2], ylim=limits[2:], xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    for name, color, style in (("primal", plotting.BLUE, "--"), ("dual", plotting.RED, ":")):
        norms = np.array(result[name])
        steps = np.flatnonzero(norms > 0.0)
        right.semilogy(steps + 1, norms[steps], style, color=color, label=f"{name} residual")
    right.set(xlabel="step")
    right.legend()
    return figure
