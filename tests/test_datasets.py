"""The data sets against every entry that the sources print, and against what their docstrings claim."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from companion import datasets
from tests import matlab

pytestmark = pytest.mark.filterwarnings("error")


class TestMatlabStream:
    def test_numbers_that_the_stream_is_known_to_have(self):
        known = [0.53767, 1.83389, -2.25885, 0.86217, 0.31877]
        assert_allclose(datasets.matlab_randn((5,)), known, atol=5e-6)
        known = [[0.0765645665, -1.0051638836], [0.4311288576, 0.3539989924]]
        assert_allclose(datasets.matlab_randn((2, 2), offset=12030), known, atol=5e-11)

    def test_the_stored_numbers_are_those_of_the_generator(self):
        """Which are normal: in 131,072 of them any systematic fault of wedge or tail would show."""
        z = matlab.stream(2**17)
        for first, last in ((0, 1300), (12030, 12300), (105070, 106620)):
            stored = datasets.matlab_randn((last - first,), offset=first)
            assert_allclose(stored, z[first:last], rtol=1e-12)
        assert stats.kstest(z, "norm").pvalue > 1e-3
        beyond, expected = z[np.abs(z) > matlab.R], 2 * stats.norm.sf(matlab.R) * z.size
        assert abs(beyond.size - expected) < 4 * np.sqrt(expected)
        assert {*np.sign(beyond)} == {-1.0, 1.0}
        law = stats.norm.sf(np.abs(beyond)) / stats.norm.sf(matlab.R)  # uniform
        assert stats.kstest(law, "uniform").pvalue > 1e-3

    def test_bad_arguments(self):
        for shape, offset in (((1301,), 0), ((2,), 1299), ((1,), 12029)):
            with pytest.raises(ValueError, match="are not stored"):
                datasets.matlab_randn(shape, offset)


class TestChapter19:
    def test_example_19_1(self):
        """In exact arithmetic K = 5 gives the known fractions: each entry matters."""
        data = datasets.example_19_1()
        assert_array_equal(data.X.mean(axis=0), [0.125, 0.875])
        X = [[Fraction(int(v)) for v in row] for row in data.X]
        y = [Fraction(round(10 * v), 10) for v in data.y]
        w, b = [Fraction(204864, 222505), Fraction(386163, 445010)], Fraction(-428047, 445010)
        xi = [v - r[0] * w[0] - r[1] * w[1] - b for r, v in zip(X, y)]
        assert sum(xi) == 0
        assert [sum(r[j] * e for r, e in zip(X, xi)) for j in range(2)] == [5 * w[0], 5 * w[1]]

    def test_second_target_is_on_the_plane(self):
        data = datasets.example_19_1("y2")
        assert_array_equal(data.X.sum(axis=1) - 1.0, data.y)
        with pytest.raises(ValueError, match="one of y1, y2"):
            datasets.example_19_1("y3")

    def test_example_19_3_every_printed_entry(self):
        X = [
            [-1.1658, -0.0679, -1.6118, 0.3199, 0.4400],
            [-1.1480, -0.1952, -0.0245, -0.5583, -0.6169],
            [0.1049, -0.2176, -1.9488, -0.3114, 0.2748],
            [0.7223, -0.3031, 1.0205, -0.5700, 0.6011],
            [2.5855, 0.0230, 0.8617, -1.0257, 0.0923],
        ]
        y, data = [-1.0965, 1.2155, 0.4324, 1.1902, 3.1346], datasets.example_19_3()
        half_a_unit = {"rtol": 0, "atol": 5.001e-5}
        assert_allclose(data.X[:5], X, **half_a_unit)
        assert_allclose(data.y[:5], y, **half_a_unit)
        assert_allclose([data.X.sum(), data.y.sum()], [-26.0404669344, 9.6714441876], atol=1e-9)


def test_u16_v16():
    data = datasets.text_uv16()
    known_u = [[7.7733021218, 11.3544014615], [16.6109508679, 8.0840853907]]
    known_v = [[20.5413432759, -2.0272827337], [-3.6354786944, -22.7021931307]]
    assert_allclose(data.u[[0, 29]], known_u, atol=5e-11)
    assert_allclose(data.v[[0, 29]], known_v, atol=5e-11)
    assert_allclose([data.u.sum(), data.v.sum()], [449.1727750893, -345.4839803413], atol=1e-9)


def test_two_copies_of_iris_differ_in_two_rows():
    differ = (datasets.iris().X != datasets.iris("uci").X).any(axis=1)
    assert np.flatnonzero(differ).tolist() == [34, 37]
    with pytest.raises(ValueError, match="one of sklearn, uci"):
        datasets.iris("fisher")


def test_two_circles_have_the_known_spectrum():
    data, H = datasets.two_circles(), np.eye(80) - 1 / 80
    values = np.linalg.eigvalsh(H @ (data.X @ data.X.T) ** 2 @ H)[::-1]
    assert_allclose(values[:4], [820, 820, 640, 0], rtol=1e-10, atol=1e-9)


def test_nile():
    """Mean and variance that the literature gives for the series, and the level before and after 1898."""
    y = datasets.nile().y
    found = [y.mean(), y.var(ddof=1), y[:28].mean(), y[28:].mean()]
    assert_allclose(found, [919.35, 28637.95, 1097.75, 849.97], atol=0.005)


def test_measurements_with_classes():
    for load in (datasets.breast_cancer, datasets.wine, datasets.digits):
        data = load()
        assert len(data.names) == data.X.shape[1], load
        assert np.unique(data.y).tolist() == [*range(len(data.classes))]
        two = data.pair(1, 0)
        assert_array_equal(two.X, np.vstack([data.X[data.y == 1], data.X[data.y == 0]]))
        assert_array_equal(two.y, np.repeat([1.0, -1.0], [len(two.u), len(two.v)]))


def test_standardized():
    for load in (datasets.breast_cancer, datasets.wine, datasets.diabetes):
        X = load().X
        assert_allclose([X.mean(axis=0), X.std(axis=0) - 1], 0, atol=1e-12, err_msg=load.__name__)


LOADERS = [name for name in datasets.__all__ if name.islower() and name != "matlab_randn"]


@pytest.mark.parametrize("name", LOADERS)
def test_every_set_is_a_new_record_of_finite_floats(name):
    one, two = getattr(datasets, name)(), getattr(datasets, name)()
    assert one.X.dtype == np.float64
    assert np.isfinite(one.X).all()
    assert one.X.shape[0] == one.y.shape[0]
    assert_array_equal(one.X, two.X)
    assert_array_equal(one.y, two.y)
    first, second = (getattr(data, "u" if hasattr(data, "u") else "X") for data in (one, two))
    assert not np.shares_memory(first, second)
    assert first.flags.writeable
    assert type(one).__name__ in repr(one)
    assert "<table>" in one._repr_html_()
