"""Where a picture of several panels side by side may be cut, so that a narrow screen shows them one below the other.

A picture carries its cuts in a text of the PNG file, ``panels: 402 611;``: columns of pixels that are white from top to
bottom.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from PIL.PngImagePlugin import PngInfo

__all__ = ["cuts", "note"]

KEY = "panels"
_WHITE = 250  # levels of 255


def cuts(figure: Figure, pictures: Sequence[Image.Image]) -> list[int]:
    """Return the columns at which pictures of a figure fall apart into panels, from left to right.

    Parameters
    ----------
    figure : Figure
        A figure that has been drawn.
    pictures : sequence of PIL.Image.Image
        Pictures with the same axes: the figure, or all frames of a slider.

    Returns
    -------
    list of int
        Empty for a single panel, and where a title, a legend or a line reaches from one panel to the next.
    """
    spans = _spans(figure)
    if len(spans) < 2:
        return []
    white = np.all([(np.asarray(p.convert("L")) >= _WHITE).all(axis=0) for p in pictures], axis=0)
    common = [artist.get_window_extent() for artist in (*figure.texts, *figure.legends)]
    found = []
    for (_, right), (left, _) in itertools.pairwise(spans):
        if any(box.x0 < right and box.x1 > left for box in common):
            return []
        between = np.arange(max(int(right), 0), min(int(left) + 2, white.size))
        free = between[white[between]]
        if not free.size:
            return []
        found.append(int(free[np.abs(free - (left + right) / 2.0).argmin()]))
    return found


def _spans(figure: Figure) -> list[tuple[float, float]]:
    """Return left and right end of each panel with its labels, in pixels; panels above each other are one."""
    edges = [ax.get_position().intervalx for ax in figure.axes]
    if not edges or max(x[0] for x in edges) < min(x[1] for x in edges):
        return []
    spans: list[tuple[float, float]] = []
    boxes = [(ax.get_tightbbox(), ax.get_label()) for ax in figure.axes]
    for box, label in sorted(((b, n) for b, n in boxes if b is not None), key=lambda e: e[0].x0):
        if spans and (box.x0 < spans[-1][1] or label == "<colorbar>"):
            spans[-1] = spans[-1][0], max(spans[-1][1], box.x1)
        else:
            spans.append((box.x0, box.x1))
    return spans


def note(columns: Sequence[int]) -> PngInfo | None:
    r"""Return the text that a PNG file with these cuts carries.

    Examples
    --------
    >>> note([]) is None, note([402, 611]).chunks[0][1]
    (True, b'panels\x00402 611;')
    """
    if not columns:
        return None
    info = PngInfo()
    info.add_text(KEY, " ".join(map(str, columns)) + ";")
    return info
