"""Pictures of several panels say where they may be cut."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch
from PIL import Image

from companion.figures.pictures import png


def drawn(rows: int, columns: int, layout: str | None = "constrained") -> Figure:
    figure, axes = plt.subplots(rows, columns, figsize=(7, 3), layout=layout, squeeze=False)
    for ax in axes.flat:
        ax.plot([0, 1], [0, 1])
        ax.set(ylabel="height", title="a line", xlim=(0, 1.1))
    return figure


def parts_of(data: bytes) -> list[np.ndarray]:
    """The panels of a picture, cut where it says."""
    image = Image.open(io.BytesIO(data))
    columns = [int(x) for x in image.info.get("panels", ";").removesuffix(";").split()]
    pixels = np.asarray(image.convert("L"))
    for x in columns:
        assert (pixels[:, x] >= 250).all()
    return np.split(pixels, columns, axis=1)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 1), (1, 2), (2, 3)])
def test_each_column_of_panels_becomes_a_part(rows: int, columns: int) -> None:
    parts = parts_of(png(drawn(rows, columns)))
    assert len(parts) == columns
    widths = [part.shape[1] for part in parts]
    assert max(widths) < 1.25 * min(widths)
    for part in parts:  # each has its own axes, with their label left of them
        assert (part < 100).mean(axis=0).max() > 0.5


@pytest.mark.parametrize("what", ["title", "legend", "line"])
def test_what_reaches_over_both_panels_is_not_cut(what: str) -> None:
    figure = drawn(1, 2)
    left, right = figure.axes
    if what == "title":
        figure.suptitle("a title of many words, with a space above the gap of the panels")
    elif what == "legend":
        figure.legend(left.lines, ["a line of the left panel"], loc="outside lower center")
    else:
        middle = (0.5, 0.5), (0.5, 0.5), "data", "data"
        figure.add_artist(ConnectionPatch(*middle, axesA=left, axesB=right))
    assert len(parts_of(png(figure))) == 1
