"""The board of chapter 16: the steps of ADMM in the plane."""

from __future__ import annotations

import warnings
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from companion.admm import admm, project_ball, soft_threshold
from companion.boards.board import Limits, Points, Setup, Shown, Values, present, rising, slider
from companion.checks import as_matrix, as_vector
from companion.exceptions import ConvergenceWarning
from companion.figures import plotting

__all__ = ["step_board"]

STEPS = 60
Q = np.array([[2.0, 1.2], [1.2, 1.0]])
SETS, LASSO = "a disc and a line", "a lasso with two weights"
ALPHA = slider("alpha", "α", 0.1, 1.9)
PROGRAMS = {
    SETS: ("sets", [slider("radius", "radius", 0.2, 4.0), ALPHA]),
    LASSO: (
        "lasso",
        [slider("rho", "ρ", 0.01, 100.0, log=True), ALPHA, slider("tau", "τ", 0.0, 4.0)],
    ),
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
    setup = Setup(
        "steps",
        [[*point.tolist(), 1.0] for point in points],
        rising(limits),
        PROGRAMS,
        VALUES,
        fit,
        draw,
        "step_board(\n    *points[:2], points[2:]",
        before="points = POINTS",
        fixed=True,
    )
    return present(setup, program, values)


def fit(points: Points, program: str, values: Values, limits: Limits) -> dict[str, Any]:
    """Take the steps and return the numbers of the board."""
    start, centre, first, second = (np.array(point[:2], dtype=float) for point in points)
    rho = values.get("rho", 1.0)
    if program == SETS:
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
            rho=rho,
            z0=start,
            relaxation=values["alpha"],
            tol_abs=0.0,
            tol_rel=0.0,
            max_iter=STEPS,
            keep_iterates=True,
        )
    rest = ((0, STEPS - run.n_iter), (0, 0))  # where both residuals are 0, nothing moves any more
    return {
        "x": np.pad(run.history["x"], rest, mode="edge").tolist(),
        "z": np.pad(run.history["z"], rest, mode="edge").tolist(),
        "primal": np.pad(run.history["primal_residual"], rest[0]).tolist(),
        "dual": np.pad(run.history["dual_residual"], rest[0]).tolist(),
    }


def draw(
    points: Points, program: str, values: Values, limits: Limits, result: dict[str, Any]
) -> Figure:
    """Draw the sets or the ellipses, the iterates, and the residuals."""
    table, x, z = np.array(points)[:, :2], np.array(result["x"]), np.array(result["z"])
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.9))
    if program == SETS:
        left.add_patch(Circle(tuple(table[1]), values["radius"], color=plotting.BLUE, alpha=0.2))
        left.axline(tuple(table[2]), tuple(table[3]), color=plotting.RED, linestyle=":")
    else:
        p, q = np.meshgrid(np.linspace(*limits[:2], 101), np.linspace(*limits[2:], 101))
        d = np.stack([p - table[1, 0], q - table[1, 1]])
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
