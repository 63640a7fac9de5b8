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
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ipywidgets
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from companion.figures.pictures import frames

__all__ = ["flipbook", "flipbook_grid"]

MAX_FRAMES = 150
MAX_BYTES = 3_000_000
LIVE_CLASS = "companion-live"  # hidden by the static site's style sheet

AltText = str | Callable[..., str]


def _pictures(draw: Callable[..., Figure], positions: Sequence[tuple[Any, ...]]) -> list[bytes]:
    """Draw the picture of every position.

    With the environment variable ``COMPANION_FRAMES=k`` only k of them, spread over all positions, are drawn, and
    their neighbours repeat them: for tests, which look at what a page prints and not at its frames.
    """
    last = len(positions) - 1
    limit = int(os.environ.get("COMPANION_FRAMES", "0")) or len(positions)
    chosen = np.unique(np.linspace(0, last, min(limit, len(positions))).round().astype(int))
    figures = []
    for i in chosen:
        figure = draw(*positions[i])
        if not isinstance(figure, Figure):
            raise TypeError(f"draw must return a Matplotlib figure, got {type(figure).__name__}")
        plt.close(figure)
        figures.append(figure)
    drawn = frames(figures)
    return [drawn[np.abs(chosen - i).argmin()] for i in range(len(positions))]


def _frame(png: bytes, alt: str) -> ipywidgets.HTML:
    data = base64.b64encode(png).decode()
    image = f'<img src="data:image/png;base64,{data}" alt="{html.escape(alt, quote=True)}" style="max-width:100%">'
    return ipywidgets.HTML(image)


def _alt(alt: AltText, *values: Any) -> str:
    text = alt(*values) if callable(alt) else alt.format(*values)
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"alt must describe the picture, got {text!r}")
    return text


def _labels(values: Sequence[Any]) -> list[str]:
    return [f"{v:.4g}" if isinstance(v, float) else str(v) for v in values]


def _as_list(values: Any, name: str) -> list[Any]:
    """Return the positions of a slider, or raise an error that names them."""
    if isinstance(values, str):
        raise TypeError(f"{name} must be a sequence, got str {values!r}")
    listed = list(values)
    if len(listed) < 2:
        raise ValueError(f"{name} must hold at least two values, got {len(listed)}")
    for v in listed:
        if isinstance(v, float) and not np.isfinite(v):
            raise ValueError(f"{name} must be finite, got {v}")
    return listed


def _slider(values: list[Any], label: str, value: Any) -> ipywidgets.Widget:
    """Return a slider; for values that are names, which have no order, a select box."""
    if not label.strip():
        raise ValueError(f"label must say what the slider changes, got {label!r}")
    labels = _labels(values)
    if len(set(labels)) < len(labels):
        raise ValueError(
            f"values for {label!r} must differ in four significant digits, got {labels}"
        )
    if value is not None and value not in values:
        raise ValueError(f"value for {label!r} must be one of {labels}, got {value!r}")
    names = all(isinstance(v, str) for v in values)
    control = (ipywidgets.Dropdown if names else ipywidgets.SelectionSlider)(
        options=labels,
        index=len(values) // 2 if value is None else values.index(value),
        description=label,
        style={"description_width": "initial"},
        layout=ipywidgets.Layout(width="min(100%, 30rem)"),
    )
    control.add_class("companion-slider")
    return control


def _is_continuous(values: Sequence[Any]) -> bool:
    """Numbers with a decimal point among them: what lies between two of them makes sense too."""
    numbers = all(isinstance(v, int | float | np.integer) for v in values)
    return numbers and any(isinstance(v, float) for v in values)


def _live(draw: Callable[..., Figure], sliders: Sequence[Any], alt: AltText) -> ipywidgets.VBox:
    """The control for JupyterLab: a field for any number in reach of each slider, and the picture, drawn on demand."""
    picture = ipywidgets.HTML()
    entries: list[ipywidgets.BoundedFloatText] = []

    def redraw(change: dict[str, Any]) -> None:
        values = tuple(entry.value for entry in entries)
        (png,) = frames([draw(*values)])
        picture.value = _frame(png, _alt(alt, *values)).value

    for values, slider in sliders:
        low, high = float(min(values)), float(max(values))
        entry = ipywidgets.BoundedFloatText(
            value=float(values[slider.index]),
            min=low,
            max=high,
            step=(high - low) / 1000,
            description=f"any {slider.description}",
            style={"description_width": "initial"},
        )
        entry.observe(redraw, names="value")
        entries.append(entry)
    box = ipywidgets.VBox([*entries, picture])
    box.add_class(LIVE_CLASS)
    return box


def _book(
    draw: Callable[..., Figure],
    values: Mapping[str, Sequence[Any]],
    labels: Sequence[str],
    alt: AltText,
    starts: Sequence[Any],
) -> ipywidgets.VBox:
    """Return the sliders, their pictures, and the control for JupyterLab if all values are continuous."""
    axes = [_as_list(each, name) for name, each in values.items()]
    positions = list(itertools.product(*axes))
    if len(positions) > MAX_FRAMES:
        raise ValueError(f"a flipbook has at most {MAX_FRAMES} frames, got {len(positions)}")
    sliders = [_slider(*each) for each in zip(axes, labels, starts, strict=True)]
    pngs = _pictures(draw, positions)
    total = sum(map(len, pngs))
    if total > MAX_BYTES:
        raise ValueError(
            f"{len(pngs)} frames take {total / 1e6:.1f} MB; the limit is {MAX_BYTES / 1e6:.0f} MB: "
            "draw fewer frames or a smaller figure"
        )
    drawn = iter(pngs)

    def stack(*position: Any) -> ipywidgets.Widget:
        """The pictures of a position; where values are missing, a stack of them that the next slider opens."""
        k = len(position)
        if k == len(axes):
            return _frame(next(drawn), _alt(alt, *position))
        children = [stack(*position, value) for value in axes[k]]
        made = ipywidgets.Stack(children=children, selected_index=sliders[k].index)
        ipywidgets.jslink((sliders[k], "index"), (made, "selected_index"))
        return made

    box = ipywidgets.VBox([*sliders, stack()])
    if all(map(_is_continuous, axes)):
        box.children += (_live(draw, list(zip(axes, sliders, strict=True)), alt),)
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
        When there are too few or too many frames, too many bytes, `value` is not among `values`, or a text is empty.
    TypeError
        When `draw` returns no figure.

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
    return _book(draw, {"values": values}, (label,), alt, (value,))


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
    return _book(draw, {"first": first, "second": second}, labels, alt, value)
