"""Figures as PNG pictures, drawn once each; the frames of one slider keep their axes in one place.

Most of the time that Matplotlib takes for a small figure goes into its labels: how large they are, and where they
fit. `savefig` asks twice, a flipbook would ask anew for every frame, and its axes would move a little as the slider
moves. The frames share a canvas, which measures and sets each label once.

A picture of several panels side by side says in a text of its PNG file, ``panels: 402 611;``, at which columns it may
be cut, so that a narrow screen shows them one below the other.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from PIL import Image, ImageOps
from PIL.PngImagePlugin import PngInfo

from companion.figures.colours import CYCLE

__all__ = ["frames", "png"]

DPI = 100
RIM = 10  # pixels of white around a picture in the text
SAME_COLOUR, WHITE = 8, 250  # levels of 255
# A slider's palette: the book's colours, so that a single small marker keeps its own, and some of the pictures'.
_BOOK_COLOURS = np.rint(255 * np.array([to_rgb(c) for c in ["white", "black", *CYCLE]])).astype(int)


def _prepare(figures: Sequence[Figure]) -> None:
    """Close figures, and give them one canvas that has pixels."""
    canvas = FigureCanvasAgg(figures[0])
    for figure in figures:
        plt.close(figure)
        figure.set(dpi=DPI, facecolor="white", canvas=canvas)


def _drawn(figure: Figure) -> Image.Image:
    """The figure in pixels."""
    canvas: Any = figure.canvas
    canvas.figure = figure
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")


def _spans(figure: Figure) -> list[tuple[float, float]]:
    """Left and right end of each panel with its labels, in pixels; panels above each other are one."""
    if len(figure.axes) < 2:
        return []
    spans: list[tuple[float, float]] = []
    boxes = [(ax.get_tightbbox(), ax.get_label()) for ax in figure.axes]
    for box, label in sorted(((b, n) for b, n in boxes if b is not None), key=lambda e: e[0].x0):
        if spans and (box.x0 < spans[-1][1] or label == "<colorbar>"):
            spans[-1] = spans[-1][0], max(spans[-1][1], box.x1)
        else:
            spans.append((box.x0, box.x1))
    return spans


def _cuts(figure: Figure, pictures: Sequence[Image.Image]) -> list[int]:
    """White columns between panels, from left to right; none if a title, a legend or a line reaches over them."""
    spans, found = _spans(figure), []
    common = [artist.get_window_extent() for artist in (*figure.texts, *figure.legends)]
    for (_, right), (left, _) in itertools.pairwise(spans):
        columns = np.arange(max(int(right), 0), min(int(left) + 2, pictures[0].width))
        gaps = [np.asarray(p.convert("L"))[:, columns] >= WHITE for p in pictures]
        free = columns[np.all(gaps, axis=(0, 1))]
        if not free.size or any(box.x0 < right and box.x1 > left for box in common):
            return []
        found.append(int(free[np.abs(free - (left + right) / 2.0).argmin()]))
    return found


def png(figure: Figure) -> bytes:
    """A picture for the text: the figure without its empty margins.

    Parameters
    ----------
    figure : Figure
        The figure. It is closed.

    Returns
    -------
    bytes
        A PNG file of 100 pixels an inch. What stands over the rim of the figure is part of it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> fig, ax = plt.subplots(figsize=(2, 2), layout="constrained")
    >>> png(fig)[1:4]
    b'PNG'
    """
    _prepare([figure])
    picture, buffer = _drawn(figure), io.BytesIO()
    columns = _cuts(figure, [picture])
    if _is_cut(picture):  # something stands over the rim
        whole = figure.get_tightbbox().padded(RIM / DPI)
        figure.savefig(buffer, bbox_inches=whole)
        return _saved(Image.open(buffer), [round(x - DPI * whole.x0) for x in columns])
    width, height = picture.size
    left, top, right, bottom = ImageOps.invert(picture).getbbox() or (0, 0, width, height)  # ink
    box = max(left - RIM, 0), max(top - RIM, 0), min(right + RIM, width), min(bottom + RIM, height)
    return _saved(picture.crop(box), [x - box[0] for x in columns])


def _set_free(figure: Figure) -> Figure:
    """Let the figure's layout place its axes; return the figure."""
    for ax in figure.axes:
        ax.set_in_layout(True)
    return figure


def _layout(figure: Figure) -> np.ndarray:
    """Boxes for the axes in which their labels fit, shape (axes, 4): what the figure's layout finds."""
    if engine := _set_free(figure).get_layout_engine():
        engine.execute(figure)
    return np.reshape([ax.get_position(original=True).extents for ax in figure.axes], (-1, 4))


def _put(figure: Figure, boxes: np.ndarray) -> Figure:
    """Put the axes into boxes, if there is one for each, where the layout leaves them; return the figure."""
    if len(figure.axes) == len(boxes):
        for ax, box in zip(figure.axes, boxes):
            ax.set_position(Bbox.from_extents(*box))
    return figure


def _common(boxes: Sequence[np.ndarray]) -> np.ndarray:
    """For each axes the box that lies in those of all figures; none when figures differ in their axes."""
    if len({len(own) for own in boxes}) > 1:
        return np.empty((0, 4))
    low, high = np.max(boxes, axis=0), np.min(boxes, axis=0)
    return np.hstack([low[:, :2], high[:, 2:]])


def _is_cut(picture: Image.Image) -> bool:
    """Whether there is ink on the outermost pixels: a label did not fit."""
    pixels = np.asarray(picture)
    return min(rim.min() for rim in (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1])) < 255


def _palette(pictures: Sequence[Image.Image]) -> Image.Image:
    """The colours of one slider, as what Pillow takes for a palette: the book's, and others that are seen most."""
    # a sixteenth of the pixels is enough
    sheet = np.vstack([np.asarray(picture)[2::4, 2::4] for picture in pictures])
    few = Image.fromarray(sheet).quantize(96 - len(_BOOK_COLOURS))
    seen = np.array(few.getpalette() or [], dtype=int).reshape(-1, 3)
    distance = np.abs(seen[:, None] - _BOOK_COLOURS).max(axis=2)
    # Pillow does not tell colours apart that are this close: the book's own is taken.
    seen = seen[distance.min(axis=1) >= SAME_COLOUR]
    palette = Image.new("P", (1, 1))
    palette.putpalette(np.vstack([_BOOK_COLOURS, seen]).ravel().tolist())
    return palette


def _saved(picture: Image.Image, panels: Sequence[int]) -> bytes:
    """The picture as a PNG file, with the columns at which it may be cut."""
    buffer, about = io.BytesIO(), PngInfo()
    if panels:
        about.add_text("panels", " ".join(map(str, panels)) + ";")
    picture.save(buffer, format="png", pnginfo=about)
    return buffer.getvalue()


def frames(figures: Sequence[Figure]) -> list[bytes]:
    """Pictures for the positions of one slider. Their axes do not move from one picture to the next.

    The axes stand where the labels of the first, the middle and the last figure fit. Should a label of another
    one be cut off there, all figures are asked; if that does not help, each figure is laid out by itself.

    Parameters
    ----------
    figures : sequence of Figure
        One for each position. They are closed.

    Returns
    -------
    list of bytes
        PNG files with a palette.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figures = [plt.subplots(figsize=(2, 2), layout="constrained")[0] for _ in range(3)]
    >>> [picture[1:4] for picture in frames(figures)]
    [b'PNG', b'PNG', b'PNG']
    """
    _prepare(figures)
    last = len(figures) - 1
    for asked in ({0, last // 2, last}, range(last + 1)):
        boxes = _common([_layout(figures[i]) for i in asked])
        pictures = [_drawn(_put(figure, boxes)) for figure in figures]
        if not any(map(_is_cut, pictures)):
            break
    else:
        pictures = [_drawn(_set_free(figure)) for figure in figures]
    palette = _palette(pictures)
    panels = _cuts(figures[0], pictures)
    few = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    return [_saved(picture, panels) for picture in few]
