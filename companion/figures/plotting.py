"""The book's figure style: every colour, marker and line of it is defined here.

A class is shown by shape as well as by colour, figures are white (readable on a dark page), and `show` takes the
text that a screen reader reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from companion.figures.colours import BLUE, CYCLE, GREEN, GREY, ORANGE, PURPLE, RED, SKY
from companion.figures.pictures import png

__all__ = ["BLUE", "CYCLE", "GREEN", "GREY", "ORANGE", "PURPLE", "RED", "SKY"]
__all__ += ["hyperplane", "margin", "names_at_end", "paths", "points", "residuals", "show", "slab"]
__all__ += ["surface", "tube", "use_style"]

Range = tuple[float, float]
_STYLE = Path(__file__).parent / "book.mplstyle"
# A point by its place: its face by its class, a ring on a margin line, a cross on the wrong side.
_FACE: dict[str, Any] = {"linewidth": 1.4, "zorder": 3}
_RING: dict[str, Any] = {"s": 130, "facecolor": "none", "edgecolor": "black", "zorder": 4}
_CROSS: dict[str, Any] = {"s": 22, "color": "black", "marker": "x", "linewidth": 1.0, "zorder": 4}


def use_style() -> None:
    """Set Matplotlib's defaults to the book's style. Each notebook calls it once, in its first cell."""
    plt.style.use(_STYLE)
    plt.rcParams["axes.prop_cycle"] = plt.cycler(color=CYCLE)


def show(figure: Figure, alt: str) -> None:
    """Display a figure with its description for screen readers, and close it.

    Parameters
    ----------
    figure : Figure
        The figure.
    alt : str
        What is drawn, in a sentence or two: the axes, the objects, the pattern. Not a file name, not empty.
    """
    if not isinstance(alt, str) or len(alt.split()) < 4:
        raise ValueError(f"alt must describe the picture in a sentence, got {alt!r}")
    shown = {"image/png": png(figure), "text/plain": repr(figure)}
    display(shown, metadata={"image/png": {"alt": " ".join(alt.split())}}, raw=True)


def points(ax: Axes, u: np.ndarray, v: np.ndarray, **kwargs: Any) -> None:
    """Draw the text's blue points u (circles) and red points v (squares), both of shape (number, 2)."""
    style: dict[str, Any] = {"s": 34, "edgecolor": "black", "linewidth": 0.5, "zorder": 3, **kwargs}
    ax.scatter(*u.T, color=BLUE, marker="o", label="blue points $u_i$", **style)
    ax.scatter(*v.T, color=RED, marker="s", label="red points $v_j$", **style)


def hyperplane(ax: Axes, w: np.ndarray, level: float, **kwargs: Any) -> None:
    """Draw the line <w, x> = level across the current axes, without changing their limits."""
    if not np.any(w):
        raise ValueError("w must not be 0: <w, x> = level is no line")
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    xs, ys = np.array([x0, x1]), np.array([y0, y1])
    if abs(w[1]) >= abs(w[0]):
        ys = (level - w[0] * xs) / w[1]
    else:
        xs = (level - w[1] * ys) / w[0]
    ax.plot(xs, ys, **{"color": "black", "zorder": 2, **kwargs})
    ax.set(xlim=(x0, x1), ylim=(y0, y1))


def margin(ax: Axes, w: np.ndarray, b: float, delta: float = 1.0) -> None:
    """Draw the separating line <w, x> = b and the two margin lines <w, x> = b + delta and b - delta."""
    hyperplane(ax, w, b, label=r"$\langle w, x\rangle = b$")
    hyperplane(ax, w, b + delta, color=BLUE, linestyle="--", linewidth=1.3)
    hyperplane(ax, w, b - delta, color=RED, linestyle=":", linewidth=1.6)


def _around(values: np.ndarray, rim: float) -> Range:
    """The range of values, with a rim."""
    return values.min() - rim, values.max() + rim


def slab(
    ax: Axes,
    u: np.ndarray,
    v: np.ndarray,
    w: np.ndarray,
    b: float,
    eta: float,
    limits: tuple[Range, Range] | None = None,
) -> None:
    r"""Draw two classes of points in the plane and the slab abs(<w, x> - b) < eta between its margin lines.

    A point is full outside the slab, ringed on its own margin line (a support vector), hollow when it fails the
    margin, and crossed out when it is on the wrong side of the separating line.

    Parameters
    ----------
    ax : Axes
        Two-dimensional axes.
    u, v : ndarray of shape (p, 2), (q, 2)
        The blue and the red points.
    w : ndarray of shape (2,)
        Normal vector.
    b, eta : float
        The lines are <w, x> = b, b + eta (blue) and b - eta (red).
    limits : ((float, float), (float, float)), optional
        Limits of the two axes; by default those of the points, with a rim. The frames of a flipbook should share them.
    """
    both = np.vstack([u, v])
    if limits is None:
        rim = 0.06 * np.ptp(both, axis=0).max()
        limits = _around(both[:, 0], rim), _around(both[:, 1], rim)
    ax.set(xlim=limits[0], ylim=limits[1])
    x, y = np.meshgrid(ax.get_xlim(), ax.get_ylim())
    f = w[0] * x + w[1] * y - b
    if eta > 0.0 and f.min() < eta and f.max() > -eta:
        ax.contourf(x, y, f, levels=[-eta, eta], colors=[SKY], alpha=0.18, zorder=0)
    margin(ax, w, b, eta)
    tight = 1e-9 * (float(np.abs(both @ w).max()) + abs(b) + eta)
    for group, sign, colour, marker in ((u, 1.0, BLUE, "o"), (v, -1.0, RED, "s")):
        side = sign * (group @ w - b)
        face = np.where(side < eta - tight, "white", colour)
        style: dict[str, Any] = {**_FACE, "s": 34, "c": face, "marker": marker}
        ax.scatter(*group.T, edgecolor=colour, **style)
        ax.scatter(*group[np.abs(side - eta) <= tight].T, linewidth=1.6, **_RING)
        ax.scatter(*group[side < -tight].T, **_CROSS)


def tube(
    ax: Axes,
    x: np.ndarray,
    y: np.ndarray,
    f: Callable[[np.ndarray], np.ndarray],
    epsilon: float,
    share: np.ndarray | None = None,
    limits: tuple[Range, Range] | None = None,
) -> None:
    r"""Draw points over a line and the tube abs(y - f(x)) < epsilon between its two margins.

    A point on or below the blue margin is a circle, one on or above the red margin a square, and one inside the tube
    a small grey circle. Its face tells its multiplier: white for 0, pale between the bounds, full at C/m. A ring marks
    a point on a margin (a support vector).

    Parameters
    ----------
    ax : Axes
        Two-dimensional axes.
    x, y : ndarray of shape (m,)
        The points.
    f : callable
        The middle of the tube: takes and returns an array of shape (k,).
    epsilon : float
        The margins are f - epsilon (blue) and f + epsilon (red).
    share : ndarray of shape (m,), optional
        (mu - lambda) in parts of C/m, between -1 and 1. By default points outside the tube have the full share, others
        none.
    limits : ((float, float), (float, float)), optional
        Limits of the two axes; by default those of the points, with a rim. The frames of a flipbook should share them.
    """
    if limits is None:
        limits = _around(x, 0.05 * np.ptp(x)), _around(y, 0.08 * np.ptp(y))
    grid = np.linspace(*limits[0], 300)
    middle, r = f(grid), y - f(x)
    tight = 1e-9 * (float(np.abs(y).max()) + epsilon)
    if share is None:
        share = np.where(np.abs(r) > epsilon + tight, np.sign(r), 0.0)
    ax.fill_between(grid, middle - epsilon, middle + epsilon, color=SKY, alpha=0.18, linewidth=0)
    ax.plot(grid, middle, color="black", zorder=2)
    ax.plot(grid, middle - epsilon, color=BLUE, linestyle="--", linewidth=1.3, zorder=2)
    ax.plot(grid, middle + epsilon, color=RED, linestyle=":", linewidth=1.6, zorder=2)
    below = (share < 0.0) | ((share == 0.0) & (r <= -epsilon + tight))
    above = ((share > 0.0) | ((share == 0.0) & (r >= epsilon - tight))) & ~below
    inside = ~(below | above)
    ax.scatter(x[inside], y[inside], s=20, c="white", edgecolor=GREY, linewidth=1.1, zorder=3)
    for members, colour, marker in ((below, BLUE, "o"), (above, RED, "s")):
        full, part = np.array(to_rgb(colour)), np.abs(share[members])
        paleness = np.where(part >= 1.0, 0.0, np.where(part > 0.0, 0.55, 1.0))
        face = full + paleness[:, None] * (1.0 - full)
        style: dict[str, Any] = {**_FACE, "s": 36, "c": face, "marker": marker}
        ax.scatter(x[members], y[members], edgecolor=colour, **style)
    on = np.abs(np.abs(r) - epsilon) <= tight
    ax.scatter(x[on], y[on], linewidth=1.5, **_RING)
    ax.set(xlim=limits[0], ylim=limits[1])


def residuals(ax: Axes, history: Mapping[str, np.ndarray]) -> None:
    """Draw a solver's residuals against the iteration, on a logarithmic axis."""
    for name, line in (("primal_residual", "-"), ("dual_residual", "--")):
        positive = np.flatnonzero(history[name] > 0)  # a logarithmic axis has no place for a zero
        label = name.replace("_", " ")
        ax.semilogy(positive + 1, history[name][positive], line, label=label)
    ax.set(xlabel="iteration", ylabel="norm of the residual")
    ax.legend()


def paths(ax: Axes, parameter: np.ndarray, coefficients: np.ndarray, names: Sequence[str]) -> None:
    """Draw coefficients (one column per feature) against a parameter, on a logarithmic axis."""
    looks = [(line, color) for line in ("-", "--", "-.", ":") for color in CYCLE]
    for j, curve in enumerate(coefficients.T):
        line, color = looks[j % len(looks)]
        ax.semilogx(parameter, curve, linestyle=line, color=color, label=names[j])
    ax.axhline(0, color="black", linewidth=0.8)


def names_at_end(ax: Axes, x: float, heights: np.ndarray, names: Sequence[str]) -> None:
    """Write the names of curves beside their last points (x, heights), no two closer than a line of text.

    Call it when the limits of the vertical axis are final.
    """
    low, high = ax.get_ylim()
    line, place = 0.038 * (high - low), -np.inf
    look: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 8}
    for j in np.argsort(heights, kind="stable"):
        place = max(float(heights[j]), place + line)
        ax.annotate(names[j], (x, place), (4, 0), **look)


def surface(ax: Any, x: np.ndarray, y: np.ndarray, z: np.ndarray, **kwargs: Any) -> None:
    """Draw a translucent surface z(x, y) on 3-D axes; x, y, z from `numpy.meshgrid`."""
    style = {"color": SKY, "alpha": 0.45, "linewidth": 0.2, "edgecolor": GREY, **kwargs}
    ax.plot_surface(x, y, z, **style)
