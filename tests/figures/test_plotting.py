"""The figure style: words for every picture, class told by shape, limits left alone."""

from collections.abc import Iterator
from unittest.mock import patch

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection

from companion.figures import plotting


@pytest.fixture
def ax() -> Iterator[Axes]:
    fig, ax = plt.subplots()
    yield ax
    plt.close(fig)


def marks(ax: Axes) -> list[PathCollection]:
    return [c for c in ax.collections if isinstance(c, PathCollection)]


def test_show_passes_the_words_on_and_closes_the_figure() -> None:
    fig, _ = plt.subplots()
    with patch.object(plotting, "display") as display:
        plotting.show(fig, "A line that rises\n   from zero to one")
    words = {"alt": "A line that rises from zero to one"}
    assert display.call_args.kwargs["metadata"] == {"image/png": words}
    assert not plt.fignum_exists(fig.number)


def test_classes_differ_in_shape_and_colour(ax: Axes) -> None:
    plotting.points(ax, np.zeros((2, 2)), np.ones((3, 2)))
    blue, red = ax.collections
    assert (len(blue.get_offsets()), len(red.get_offsets())) == (2, 3)
    assert len(blue.get_paths()[0]) != len(red.get_paths()[0])
    assert not np.allclose(blue.get_facecolor(), red.get_facecolor())


@pytest.mark.parametrize("w", [(1.0, 2.0), (2.0, 1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 1e-9)])
def test_hyperplane_lies_on_its_equation_and_keeps_the_limits(ax: Axes, w: tuple) -> None:
    ax.set(xlim=(-3, 4), ylim=(-2, 5))
    plotting.hyperplane(ax, np.array(w), 0.7)
    xs, ys = ax.lines[0].get_data()
    np.testing.assert_allclose(w[0] * np.asarray(xs) + w[1] * np.asarray(ys), 0.7, atol=1e-12)
    assert (ax.get_xlim(), ax.get_ylim()) == ((-3, 4), (-2, 5))


def test_slab_shows_the_place_of_every_point(ax: Axes) -> None:
    u = np.array([[3.0, 0.0], [1.0, 1.0], [0.5, 0.0], [-0.5, 0.0]])  # out, on, inside, wrong side
    v = np.array([[-1.0, 2.0], [-2.0, 0.0]])
    plotting.slab(ax, u, v, np.array([1.0, 0.0]), 0.0, 1.0)
    blue, ring, cross, red, red_ring, red_cross = marks(ax)
    hollow = np.all(blue.get_facecolor() == 1.0, axis=1)
    assert hollow.tolist() == [False, False, True, True]
    assert ring.get_offsets().tolist() == [[1.0, 1.0]]
    assert cross.get_offsets().tolist() == [[-0.5, 0.0]]
    assert red_ring.get_offsets().tolist() == [[-1.0, 2.0]]
    assert (len(red.get_offsets()), len(red_cross.get_offsets()), len(ax.lines)) == (2, 0, 3)
    low, high = ax.get_xlim()
    assert low < -2.0 < 3.0 < high


def test_tube_shows_place_and_multiplier(ax: Axes) -> None:
    x = np.arange(6.0)
    y = np.array([-3.0, -1.0, 0.5, 1.0, 1.0, 4.0])  # around 0 with epsilon 1
    share = np.array([-1.0, -0.3, 0.0, 0.0, 1.0, 1.0])
    plotting.tube(ax, x, y, lambda t: 0.0 * t, 1.0, share, limits=((-1.0, 6.0), (-5.0, 5.0)))
    inside, blue, red, ring = marks(ax)
    assert inside.get_offsets().tolist() == [[2.0, 0.5]]
    assert blue.get_offsets()[:, 0].tolist() == [0.0, 1.0]
    assert red.get_offsets()[:, 0].tolist() == [3.0, 4.0, 5.0]
    white = [np.all(c.get_facecolor()[:, :3] == 1.0, axis=1).tolist() for c in (blue, red)]
    assert white == [[False, False], [True, False, False]]
    assert np.all(blue.get_facecolor()[1, :3] > blue.get_facecolor()[0, :3])  # paler
    assert ring.get_offsets()[:, 0].tolist() == [1.0, 3.0, 4.0]
    assert [sorted(set(line.get_ydata())) for line in ax.lines] == [[0.0], [-1.0], [1.0]]
    assert (ax.get_xlim(), ax.get_ylim()) == ((-1.0, 6.0), (-5.0, 5.0))


def test_what_is_refused(ax: Axes) -> None:
    with pytest.raises(ValueError, match="w must not be 0"):
        plotting.hyperplane(ax, np.zeros(2), 0.0)
    for alt in ("", "figure.png", "a plot", None):  # no sentence
        with pytest.raises(ValueError, match="alt must describe"):
            plotting.show(ax.figure, alt)
