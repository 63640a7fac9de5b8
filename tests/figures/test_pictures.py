"""Pictures: without empty margins in the text; in a flipbook, with axes that stand still and labels that are whole."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from companion.figures import pictures


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def drawing(top: float, *, panels: int = 1, label: str = "") -> Figure:
    """Lines up to `top`, whose length is that of the tick labels."""
    figure, axes = plt.subplots(1, panels, figsize=(3, 2), layout="constrained", squeeze=False)
    for ax in axes[0]:
        ax.plot([0, 1], [0, top])
        ax.set_ylabel(label)
    return figure


def spines(data: bytes) -> tuple[int, int]:
    """Where the left and the bottom axis are: the column and the row with the most black."""
    black = (pixels(data) < 60).all(axis=2)
    return int(black.sum(axis=0).argmax()), int(black.sum(axis=1).argmax())


def test_axes_do_not_move_from_frame_to_frame() -> None:
    made = pictures.frames([drawing(top) for top in (1.0, 10.0, 12345.0, 3.0)])
    assert len({spines(frame) for frame in made}) == 1
    assert len(set(made)) == 4
    (alone,) = pictures.frames([drawing(1.0)])
    assert spines(alone) != spines(made[0])


def is_whole(data: bytes) -> bool:
    picture = pixels(data)
    rims = picture[0], picture[-1], picture[:, 0], picture[:, -1]
    return all((rim == 255).all() for rim in rims)


@pytest.mark.parametrize("top", [54321.0, 123456789.0])
def test_a_label_that_would_be_cut_gets_room(top: float) -> None:
    """The widest label, or a power of ten, is in a frame that is not among the first, the middle and the last."""
    made = pictures.frames([drawing(t, label="height") for t in (1.0, top, *[1.0] * 5)])
    assert all(map(is_whole, made))
    assert top > 1e6 or len({spines(frame) for frame in made}) == 1


def test_a_picture_has_a_narrow_white_rim() -> None:
    figure, ax = plt.subplots(figsize=(5, 2), layout="constrained")
    ax.set_aspect("equal")  # a square in the middle
    data = pictures.png(figure)
    picture = pixels(data)
    ink = (picture != 255).any(axis=2)
    assert picture.shape[1] < 300
    assert not ink[: pictures.RIM - 6].any()
    for side in (ink.any(axis=0), ink.any(axis=1)):
        assert 1 <= side.argmax() <= pictures.RIM
        assert 1 <= side[::-1].argmax() <= pictures.RIM
    plt.close("all")
