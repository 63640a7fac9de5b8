"""Flipbooks: one frame per value, linked in the browser, described in words, bounded in size."""

from __future__ import annotations

import re

import ipywidgets
import matplotlib.pyplot as plt
import numpy as np
import pytest
from ipywidgets.embed import embed_data
from matplotlib.figure import Figure

from companion import widgets
from companion.widgets import flipbook, flipbook_grid


def draw(*values: float) -> Figure:
    fig, ax = plt.subplots(figsize=(2, 1.5))
    ax.plot([0, 1], [0, sum(values)])
    ax.set_title(str(values))
    return fig


def frames(stack: ipywidgets.Stack) -> list[str]:
    return [child.value for child in stack.children]


def test_one_frame_per_value_each_with_its_own_words() -> None:
    box = flipbook(draw, [1.0, 2.0, 3.0], label="slope", alt=lambda v: f"A line of slope {v}")
    slider, stack = box.children[:2]
    pictures = frames(stack)
    assert len(set(pictures)) == 3
    assert [re.search('alt="([^"]*)"', p)[1] for p in pictures] == [
        f"A line of slope {v}" for v in (1.0, 2.0, 3.0)
    ]
    assert list(slider.options) == ["1", "2", "3"]
    assert slider.index == stack.selected_index == 1


def test_slider_and_stack_are_linked_in_the_browser() -> None:
    box = flipbook(draw, [1, 2], label="slope", alt="slope {}")
    models = embed_data(views=[box])["manager_state"]["state"].values()
    slider, stack = (f"IPY_MODEL_{child.model_id}" for child in box.children[:2])
    links = [m["state"] for m in models if m["model_name"] == "LinkModel"]
    assert {"source": [slider, "index"], "target": [stack, "selected_index"]}.items() <= links[
        -1
    ].items()


def test_alt_text_is_escaped() -> None:
    box = flipbook(draw, [1, 2], label="slope", alt='a "quoted" <b> {}')
    assert "<b>" not in frames(box.children[1])[0]


def test_live_control_redraws_between_the_frames() -> None:
    box = flipbook(draw, [1.0, 2.0, 3.0], label="slope", alt="slope {}")
    live = box.children[2]
    entry, picture = live.children
    assert picture.value == ""
    entry.value = 1.5
    assert 'alt="slope 1.5"' in picture.value
    assert widgets.LIVE_CLASS in live._dom_classes


def test_values_that_are_not_numbers_have_no_live_control() -> None:
    box = flipbook(lambda name: draw(len(name)), ["a", "bb"], label="name", alt="name {}")
    assert len(box.children) == 2


def test_every_figure_is_closed() -> None:
    before = plt.get_fignums()
    flipbook(draw, [1, 2, 3], label="slope", alt="slope {}")
    assert plt.get_fignums() == before


def test_grid_has_a_frame_for_each_pair() -> None:
    box = flipbook_grid(draw, [1, 2], [3, 4, 5], labels=("a", "b"), alt="{} and {}", value=(2, 3))
    first, second, outer = box.children
    assert (first.index, second.index, outer.selected_index) == (1, 0, 1)
    assert [len(row.children) for row in outer.children] == [3, 3]
    assert 'alt="2 and 5"' in outer.children[1].children[2].value


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": [1]}, "at least two values, got 1"),
        ({"values": list(range(151))}, "at most 150 frames, got 151"),
        ({"values": [1, 2], "value": 3}, "must be one of"),
        ({"values": [1.00001, 1.00002]}, "four significant digits"),
        ({"values": [1, 2], "alt": " "}, "alt must describe"),
    ],
)
def test_bad_arguments(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        flipbook(draw, label="x", **{"alt": "frame {}", **arguments})


def test_too_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widgets, "MAX_BYTES", 100)
    with pytest.raises(ValueError, match="the limit is"):
        flipbook(draw, [1, 2], label="x", alt="frame {}")


def test_palette_keeps_the_picture() -> None:
    from io import BytesIO

    from PIL import Image

    picture = np.asarray(Image.open(BytesIO(widgets._png(draw(1.0)))).convert("L"))
    assert picture.shape == (150, 200)
    assert picture.min() < 80
    assert picture.max() == 255
