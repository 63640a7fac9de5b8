"""Flipbooks: one frame per value, linked in the browser, described in words, bounded in size."""

import re

import ipywidgets
import matplotlib.pyplot as plt
import pytest
from ipywidgets.embed import embed_data
from matplotlib.figure import Figure

from companion.figures import flipbook as widgets
from companion.figures.flipbook import flipbook, flipbook_grid

GOOD = {"values": [1, 2], "label": "slope", "alt": "slope {}"}


def draw(*values: float) -> Figure:
    fig, ax = plt.subplots(figsize=(2, 1.5))
    ax.plot([0, 1], [0, sum(values)])
    ax.set_title(str(values))
    return fig


def test_one_frame_per_value_each_with_its_own_words() -> None:
    box = flipbook(draw, [1.0, 2.0, 3.0], label="slope", alt=lambda v: f'A "line" <b> of slope {v}')
    slider, stack = box.children[:2]
    pictures = [child.value for child in stack.children]
    assert len(set(pictures)) == 3
    said = [re.search('alt="([^"]*)"', picture)[1] for picture in pictures]
    assert said == [f"A &quot;line&quot; &lt;b&gt; of slope {v}" for v in (1.0, 2.0, 3.0)]
    assert list(slider.options) == ["1", "2", "3"]
    assert slider.index == stack.selected_index == 1


def test_slider_and_stack_are_linked_in_the_browser() -> None:
    box = flipbook(draw, **GOOD)
    models = embed_data(views=[box])["manager_state"]["state"].values()
    slider, stack = (f"IPY_MODEL_{child.model_id}" for child in box.children[:2])
    link = [m["state"] for m in models if m["model_name"] == "LinkModel"][-1]
    assert (link["source"], link["target"]) == ([slider, "index"], [stack, "selected_index"])


def test_live_controls_redraw_between_the_frames_and_every_figure_is_closed() -> None:
    """Integers among floats are numbers like others. Jupyter shows what is left open under the next cell."""
    before = plt.get_fignums()
    options = {"labels": ("a", "b"), "alt": "{} and {}", "value": (2, 0.5)}
    box = flipbook_grid(draw, [1, 2, 2.5], [0.1, 0.5], **options)
    assert widgets.LIVE_CLASS in box.children[3]._dom_classes
    first, second, picture = box.children[3].children
    assert (first.value, second.value, picture.value) == (2, 0.5, "")
    first.value = 1.25
    assert 'alt="1.25 and 0.5"' in picture.value
    seen = picture.value
    second.value = 0.3
    assert 'alt="1.25 and 0.3"' in picture.value
    assert picture.value != seen
    assert plt.get_fignums() == before


@pytest.mark.parametrize("values", [["a", "bb"], [1, 2]])
def test_values_without_others_between_them_have_no_live_control(values: list) -> None:
    box = flipbook(lambda value: draw(len(str(value))), **(GOOD | {"values": values}))
    assert len(box.children) == 2


def test_grid_has_a_frame_for_each_pair() -> None:
    """Names are chosen, and numbers slide."""
    options = {"labels": ("program", "step"), "alt": "{} and {}", "value": ("s2", 3)}
    box = flipbook_grid(lambda s, k: draw(k), ["s1", "s2"], [3, 4, 5], **options)
    choice, slider, outer = box.children[:3]
    kinds = isinstance(choice, ipywidgets.Dropdown), isinstance(slider, ipywidgets.SelectionSlider)
    assert kinds == (True, True)
    assert (choice.index, slider.index, outer.selected_index) == (1, 0, 1)
    assert [len(row.children) for row in outer.children] == [3, 3]
    assert 'alt="s2 and 5"' in outer.children[1].children[2].value


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": [1]}, "'slope' must have two values or more that look different, got .*1"),
        ({"values": [1.00001, 1.00002]}, "look different"),
        ({"values": list(range(151))}, "at most 150 frames, got 151"),
        ({"value": 3}, "3 is not in list"),
        ({"MAX_BYTES": 100}, "the limit is"),
    ],
)
def test_what_makes_no_flipbook_is_named(changes: dict, message: str, monkeypatch) -> None:
    monkeypatch.setattr(widgets, "MAX_BYTES", changes.pop("MAX_BYTES", widgets.MAX_BYTES))
    with pytest.raises(ValueError, match=message):
        flipbook(draw, **(GOOD | changes))
