"""Draw the picture of the welcome page from what the package computes.

``python tools/picture.py`` writes ``book/_static/cover.png``. Run it when a figure's style changes.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from companion import plotting
from companion.admm import lasso, qsolve1, solve_qp
from companion.datasets import diabetes

TARGET = Path(__file__).resolve().parents[1] / "book" / "_static" / "cover.png"


def draw_residuals(ax: plt.Axes) -> None:
    """Residuals of ADMM on the quadratic program of Example 16.12."""
    P = 4 * np.eye(4) + np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)
    A = np.array([[1.0, 1, -1, 0], [1, -1, -1, 0]])
    result = qsolve1(P, -4 * np.ones(4), A, np.zeros(2), 10.0, 1e-12, 1e-12, 10_000)
    plotting.residuals(ax, result.history)
    ax.set_ylim(1e-13, 1e2)  # below, there is only rounding
    ax.set_title("ADMM on a quadratic program")


def draw_path(ax: plt.Axes) -> None:
    """Coefficients of the lasso on the diabetes data, against the weight of the penalty."""
    data = diabetes()
    X, y = np.asarray(data.X), np.asarray(data.y)
    X, y = X - X.mean(axis=0), y - y.mean()
    taus = np.max(np.abs(X.T @ y)) * np.logspace(0, -3, 40)
    coefficients = np.array([lasso(X, y, tau).z for tau in taus])
    plotting.paths(ax, taus, coefficients)
    ax.set(xlabel=r"weight $\tau$ of the penalty", ylabel="coefficient")
    ax.set_title("lasso path, diabetes data")


def draw_margin(ax: plt.Axes) -> None:
    """The widest corridor between two clouds, from the dual program of Section 16.7."""
    rng = np.random.default_rng(8)
    u = rng.standard_normal((2, 25)) + 2.2
    v = rng.standard_normal((2, 25)) - 2.2
    X = np.hstack([-u, v])
    A = np.hstack([np.ones(25), -np.ones(25)])[None, :]
    x = solve_qp(X.T @ X, -np.ones(50), A, np.zeros(1)).x
    w = -X @ x
    blue, red = x[:25] > 0, x[25:] > 0
    b = w @ (u[:, blue].mean(axis=1) + v[:, red].mean(axis=1)) / 2
    plotting.points(ax, u.T, v.T)
    plotting.margin(ax, w, b)
    ax.set(xlabel="$x_1$", ylabel="$x_2$")
    ax.set_title("hard margin SVM")


def main() -> None:
    """Draw the three panels and save them."""
    plotting.use_style()
    fig, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.4))
    fig.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    draw_residuals(left)
    draw_path(middle)
    draw_margin(right)
    fig.savefig(TARGET, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
