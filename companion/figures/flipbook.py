"""Sliders that work in the static page, offline, and in JupyterLab alike.

A flipbook draws one picture per slider position when the cell runs. Slider and pictures are linked in the
browser (``jslink``), so moving the slider needs no kernel. In JupyterLab a second control, which the
static site hides, redraws for values between the frames.

Points that can be dragged are another matter: `companion.boards`.
"""

from __future__ import annotations

import base64
import html
import itertools
import os
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from companion.figures.pictures import frames

__all__ = ["flipbook", "flipbook_grid"]

MAX_FRAMES = 150
MAX_BYTES = 3_000_000
WIDE = {"description_width": "initial"}
LIVE_CLASS = "companion-live"  # hidden by the static site's style sheet

AltText = str | Callable[..., str]


def _pictures(draw: Callable[..., Figure], positions: Sequence[tuple[Any, ...]]) -> list[bytes]:
    """Draw the picture of every position.

    With the environment variable ``COMPANION_FRAMES=k`` only k of them, spread over all positions, are drawn, and
    their neighbours repeat them: for tests, which look at what a page prints and not at its frames.
    """
    limit = int(os.environ.get("COMPANION_FRAMES", "0")) or len(positions)
    spread = np.linspace(0, len(positions) - 1, min(limit, len(positions)))
    chosen = np.unique(spread.round().astype(int))
    figures = []
    for i in chosen:
        figures.append(draw(*positions[i]))
        plt.close(figures[-1])
    drawn = frames(figures)
    return [drawn[np.abs(chosen - i).argmin()] for i in range(len(positions))]


def _frame(png: bytes, alt: AltText, *values: Any) -> str:
    """The picture as HTML, with its description."""
    data = base64.b64encode(png).decode()
    text = html.escape(alt(*values) if callable(alt) else alt.format(*values), quote=True)
    return f'<img src="data:image/png;base64,{data}" alt="{text}" style="max-width:100%">'


def _slider(label: str, values: list[Any], start: Any) -> ipywidgets.Widget:
    """Return a slider; for values that are names, which have no order, a select box."""
    labels = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in values]
    if len(set(labels)) < max(len(labels), 2):
        raise ValueError(
            f"{label!r} must have two values or more that look different, got {labels}"
        )
    names = all(isinstance(v, str) for v in values)
    control = (ipywidgets.Dropdown if names else ipywidgets.SelectionSlider)(
        options=labels,
        index=len(values) // 2 if start is None else values.index(start),
        description=label,
        style=WIDE,
        layout=ipywidgets.Layout(width="min(100%, 30rem)"),
    )
    control.add_class("companion-slider")
    return control


def _is_continuous(values: Sequence[Any]) -> bool:
    """Numbers with a decimal point among them: what lies between two of them makes sense too."""
    numbers = all(isinstance(v, int | float | np.integer) for v in values)
    return numbers and any(isinstance(v, float) for v in values)


def _live(
    draw: Callable[..., Figure], sliders: Sequence[Any], axes: Sequence[Any], alt: AltText
) -> Any:
    """The control for JupyterLab: a field for any number in reach of each slider, and the picture, drawn on demand."""
    picture = ipywidgets.HTML()
    entries: list[ipywidgets.BoundedFloatText] = []

    def redraw(change: dict[str, Any]) -> None:
        values = [entry.value for entry in entries]
        picture.value = _frame(frames([draw(*values)])[0], alt, *values)

    for slider, values in zip(sliders, axes, strict=True):
        low, high = float(min(values)), float(max(values))
        entry = ipywidgets.BoundedFloatText(
            float(values[slider.index]), min=low, max=high, step=(high - low) / 1000, style=WIDE
        )
        entry.description = f"any {slider.description}"
        entry.observe(redraw, names="value")
        entries.append(entry)
    box = ipywidgets.VBox([*entries, picture])
    box.add_class(LIVE_CLASS)
    return box


def _book(
    draw: Callable[..., Figure],
    axes: Sequence[list[Any]],
    labels: Sequence[str],
    starts: Sequence[Any],
    alt: AltText,
) -> ipywidgets.VBox:
    """Return the sliders, their pictures, and the control for JupyterLab if all values are continuous."""
    positions = list(itertools.product(*axes))
    if len(positions) > MAX_FRAMES:
        raise ValueError(f"a flipbook has at most {MAX_FRAMES} frames, got {len(positions)}")
    sliders = [_slider(*each) for each in zip(labels, axes, starts, strict=True)]
    pngs = _pictures(draw, positions)
    if (total := sum(map(len, pngs))) > MAX_BYTES:
        raise ValueError(f"{len(pngs)} frames take {total} bytes; the limit is {MAX_BYTES}")
    drawn = iter(pngs)

    def stack(*position: Any) -> ipywidgets.Widget:
        """The pictures of a position; where values are missing, a stack of them that the next slider opens."""
        k = len(position)
        if k == len(axes):
            return ipywidgets.HTML(_frame(next(drawn), alt, *position))
        children = [stack(*position, value) for value in axes[k]]
        made = ipywidgets.Stack(children=children, selected_index=sliders[k].index)
        ipywidgets.jslink((sliders[k], "index"), (made, "selected_index"))
        return made

    box = ipywidgets.VBox([*sliders, stack()])
    if all(map(_is_continuous, axes)):
        box.children += (_live(draw, sliders, axes, alt),)
    box.add_class("companion-flipbook")
    return box


def flipbook(
    draw: Callable[[Any], Figure],
    values: Sequence[Any],
    *,
    label: str,
    alt: AltText,
    value: Any = None,
) -> ipywidgets.VBox:
    """One slider, one picture per position.

    Parameters
    ----------
    draw : callable
        ``draw(value)`` returns a Matplotlib figure. It is called once per value, and closed here.
    values : sequence
        The slider's positions, at least two, at most 150 pictures and 3 MB. Numbers with a float among them get a
        second control in JupyterLab, where `draw` must then take any number between the smallest and the largest.
        Names (all strings) get a select box in place of a slider.
    label : str
        What the slider changes, shown beside it and read out by screen readers.
    alt : str or callable
        Description of the picture: a function of the value, or a format string such as ``"Residuals for rho = {}"``.
    value : optional
        Where the slider starts; the middle position by default.

    Returns
    -------
    ipywidgets.VBox
        Show it as the last line of a cell that is tagged ``nbval-ignore-output``. Draw the default picture in a plain
        cell before it: that picture is there without JavaScript, in print, and nbval runs its code.

    Raises
    ------
    ValueError
        When there are too few or too many frames, too many bytes, or `value` is not among `values`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> def draw(slope):
    ...     fig, ax = plt.subplots(figsize=(2, 2))
    ...     _ = ax.plot([0, 1], [0, slope])
    ...     return fig
    >>> box = flipbook(draw, [1.0, 2.0, 3.0], label="slope", alt="A line with slope {}", value=2.0)
    >>> slider, pictures = box.children[:2]
    >>> slider.index, len(pictures.children)
    (1, 3)
    """
    return _book(draw, [list(values)], (label,), (value,), alt)


def flipbook_grid(
    draw: Callable[[Any, Any], Figure],
    first: Sequence[Any],
    second: Sequence[Any],
    *,
    labels: tuple[str, str],
    alt: AltText,
    value: tuple[Any, Any] = (None, None),
) -> ipywidgets.VBox:
    """Two sliders, one picture for each pair of positions.

    Parameters
    ----------
    draw : callable
        ``draw(a, b)`` returns a Matplotlib figure.
    first, second : sequence
        Positions of the two sliders; ``len(first) * len(second)`` is at most 150. As in `flipbook`, numbers with a
        float among them, in both, get a second control in JupyterLab.
    labels : tuple of str
        What the two sliders change.
    alt : str or callable
        Description of a picture, as in `flipbook`, from both values.
    value : tuple, optional
        Where the sliders start.

    Returns
    -------
    ipywidgets.VBox
        As `flipbook`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> def draw(a, b):
    ...     fig, ax = plt.subplots(figsize=(2, 2))
    ...     _ = ax.plot([0, 1], [b, a + b])
    ...     return fig
    >>> box = flipbook_grid(draw, [1, 2], [0, 1, 2], labels=("slope", "intercept"), alt="Slope {}, intercept {}")
    >>> [len(stack.children) for stack in box.children[2].children]
    [3, 3]
    """
    return _book(draw, [list(first), list(second)], labels, value, alt)
