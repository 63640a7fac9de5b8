"""Sliders that work in the static page, offline, and in JupyterLab alike.

A flipbook draws one picture per slider position when the cell runs. Slider and pictures are linked in the
browser (``jslink``), so moving the slider needs no kernel. In JupyterLab a second control, which the
static site hides, redraws for values between the frames.

Points that can be dragged are live only: :func:`companion.boards.point_board`.
"""

from __future__ import annotations

import base64
import html
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
LIVE_CLASS = "companion-live"  # hidden by the static site's style sheet

AltText = str | Callable[..., str]


def _figures(draw: Callable[..., Figure], positions: Sequence[tuple[Any, ...]]) -> list[Figure]:
    """The figures of some positions, closed as soon as they are made."""
    figures = []
    for position in positions:
        figure = draw(*position)
        if not isinstance(figure, Figure):
            raise TypeError(f"draw must return a Matplotlib figure, got {type(figure).__name__}")
        plt.close(figure)
        figures.append(figure)
    return figures


def _pictures(draw: Callable[..., Figure], positions: Sequence[tuple[Any, ...]]) -> list[bytes]:
    """Draw the picture of every position.

    With the environment variable ``COMPANION_FRAMES=k`` only k of them, spread over all positions, are drawn, and
    their neighbours repeat them: for tests, which look at what a page prints and not at its frames.
    """
    limit = int(os.environ.get("COMPANION_FRAMES", "0")) or len(positions)
    if limit >= len(positions):
        return frames(_figures(draw, positions))
    chosen = np.linspace(0, len(positions) - 1, limit).round().astype(int)
    drawn = frames(_figures(draw, [positions[i] for i in chosen]))
    return [drawn[np.abs(chosen - i).argmin()] for i in range(len(positions))]


def _frame(png: bytes, alt: str) -> ipywidgets.HTML:
    data = base64.b64encode(png).decode()
    image = f'<img src="data:image/png;base64,{data}" alt="{html.escape(alt, quote=True)}" style="max-width:100%">'
    return ipywidgets.HTML(image)


def _alt(alt: AltText, *values: Any) -> str:
    text = alt(*values) if callable(alt) else alt.format(*values) if isinstance(alt, str) else alt
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"alt must describe the picture, got {text!r}")
    return text


def _labels(values: Sequence[Any]) -> list[str]:
    return [f"{v:.4g}" if isinstance(v, (float, np.floating)) else str(v) for v in values]


def _as_list(values: Any, name: str) -> list[Any]:
    """Return the positions of a slider, or raise an error that names them."""
    if isinstance(values, str) or not np.iterable(values):
        raise TypeError(f"{name} must be a sequence, got {type(values).__name__} {values!r}")
    listed = list(values)
    for v in listed:
        if isinstance(v, (float, np.floating)) and not np.isfinite(v):
            raise ValueError(f"{name} must be finite, got {v}")
    return listed


def _check_draw(draw: Any) -> None:
    if not callable(draw):
        raise TypeError(f"draw must be a function, got {type(draw).__name__}")


def _slider(
    values: Sequence[Any], label: str, value: Any
) -> ipywidgets.SelectionSlider | ipywidgets.Dropdown:
    """Return a slider; for values that are names, which have no order, a select box."""
    if not isinstance(label, str) or not label.strip():
        raise ValueError(f"label must say what the slider changes, got {label!r}")
    labels = _labels(values)
    if len(set(labels)) < len(labels):
        raise ValueError(
            f"values for {label!r} must differ in four significant digits, got {labels}"
        )
    start = _position(values, label, value)
    options: dict[str, Any] = {
        "options": labels,
        "index": start,
        "description": label,
        "style": {"description_width": "initial"},
        "layout": ipywidgets.Layout(width="min(100%, 30rem)"),
    }
    if all(isinstance(v, str) for v in values):
        control = ipywidgets.Dropdown(**options)
    else:
        control = ipywidgets.SelectionSlider(continuous_update=True, **options)
    control.add_class("companion-slider")
    return control


def _position(values: Sequence[Any], label: str, value: Any) -> int:
    if len(values) < 2:
        raise ValueError(f"values for {label!r} must hold at least two values, got {len(values)}")
    if value is None:
        return len(values) // 2
    matches = [i for i, v in enumerate(values) if v == value]
    if not matches:
        raise ValueError(f"value for {label!r} must be one of {_labels(values)}, got {value!r}")
    return matches[0]


def _check_size(pngs: Sequence[bytes]) -> None:
    total = sum(len(p) for p in pngs)
    if total > MAX_BYTES:
        raise ValueError(
            f"{len(pngs)} frames take {total / 1e6:.1f} MB; the limit is {MAX_BYTES / 1e6:.0f} MB: "
            "draw fewer frames or a smaller figure"
        )


def _check_count(count: int) -> None:
    if count > MAX_FRAMES:
        raise ValueError(f"a flipbook has at most {MAX_FRAMES} frames, got {count}")


def _is_continuous(values: Sequence[Any]) -> bool:
    """Numbers with a decimal point among them: what lies between two of them makes sense too."""
    numbers = (int, float, np.integer, np.floating)
    return all(isinstance(v, numbers) for v in values) and any(
        isinstance(v, (float, np.floating)) for v in values
    )


def _entry(values: Sequence[Any], label: str, value: Any) -> ipywidgets.BoundedFloatText:
    """A field for any number between the smallest and the largest value."""
    return ipywidgets.BoundedFloatText(
        value=float(values[_position(values, label, value)]),
        min=float(min(values)),
        max=float(max(values)),
        step=float(max(values) - min(values)) / 1000,
        description=f"any {label}",
        style={"description_width": "initial"},
    )


def _live(draw: Callable[..., Figure], entries: Sequence[Any], alt: AltText) -> ipywidgets.VBox:
    """The control for JupyterLab: a field for each parameter, and the picture of what stands there, drawn on demand."""
    picture = ipywidgets.HTML()

    def redraw(change: dict[str, Any]) -> None:
        values = tuple(entry.value for entry in entries)
        (png,) = frames([draw(*values)])
        picture.value = _frame(png, _alt(alt, *values)).value

    for entry in entries:
        entry.observe(redraw, names="value")
    box = ipywidgets.VBox([*entries, picture])
    box.add_class(LIVE_CLASS)
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
    _check_draw(draw)
    values = _as_list(values, "values")
    _check_count(len(values))
    slider = _slider(values, label, value)
    pngs = _pictures(draw, [(v,) for v in values])
    _check_size(pngs)
    shown = [_frame(png, _alt(alt, v)) for png, v in zip(pngs, values)]
    stack = ipywidgets.Stack(children=shown, selected_index=slider.index)
    ipywidgets.jslink((slider, "index"), (stack, "selected_index"))
    box = ipywidgets.VBox([slider, stack])
    if _is_continuous(values):
        box.children += (_live(draw, [_entry(values, label, value)], alt),)
    box.add_class("companion-flipbook")
    return box


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
    _check_draw(draw)
    first, second = _as_list(first, "first"), _as_list(second, "second")
    for pair, name in ((labels, "labels"), (value, "value")):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(f"{name} must be two, one for each slider, got {pair!r}")
    _check_count(len(first) * len(second))
    outer_slider = _slider(first, labels[0], value[0])
    inner_slider = _slider(second, labels[1], value[1])
    flat = _pictures(draw, [(a, b) for a in first for b in second])
    _check_size(flat)
    pngs = [flat[i : i + len(second)] for i in range(0, len(flat), len(second))]
    rows = []
    for a, row in zip(first, pngs):
        shown = [_frame(png, _alt(alt, a, b)) for png, b in zip(row, second)]
        stack = ipywidgets.Stack(children=shown, selected_index=inner_slider.index)
        ipywidgets.jslink((inner_slider, "index"), (stack, "selected_index"))
        rows.append(stack)
    outer = ipywidgets.Stack(children=rows, selected_index=outer_slider.index)
    ipywidgets.jslink((outer_slider, "index"), (outer, "selected_index"))
    box = ipywidgets.VBox([outer_slider, inner_slider, outer])
    if _is_continuous(first) and _is_continuous(second):
        entries = [_entry(*each) for each in zip((first, second), labels, value)]
        box.children += (_live(draw, entries, alt),)
    box.add_class("companion-flipbook")
    return box
