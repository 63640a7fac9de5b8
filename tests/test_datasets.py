"""The data sets against every entry that the sources print, and against what their docstrings claim."""

import inspect
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.optimize import linprog
from sklearn.svm import SVC, NuSVR

from companion import datasets
from companion.datasets import (
    Labelled,
    Regression,
    TwoClasses,
    breast_cancer,
    diabetes,
    digits,
    example_19_1,
    example_19_3,
    iris,
    iris_components,
    iris_sepals,
    matlab_randn,
    nile,
    nine_points,
    noisy_sinc,
    outlier_line,
    piecewise_constant,
    sixty_points,
    sparse_regression,
    ten_points,
    text_uv16,
    text_x13,
    text_x14,
    text_x20,
    two_circles,
    wine,
    xor,
    zm_eighteen,
    zm_fourteen,
    zm_six,
)

pytestmark = pytest.mark.filterwarnings("error")

PRINTED = 5.001e-5  # half a unit of the fourth decimal


def separable(data):
    """Whether some plane has every point at distance at least one on its own side."""
    rows = -data.y[:, None] * np.column_stack([data.X, np.ones(len(data.X))])
    free = [(None, None)] * rows.shape[1]
    return linprog(np.zeros(rows.shape[1]), rows, -np.ones(len(rows)), bounds=free).status == 0


def in_order(data):
    return data.X, data.y


class TestMatlabStream:
    def test_first_numbers_of_a_fresh_matlab(self):
        assert_allclose(matlab_randn(5), [0.53767, 1.83389, -2.25885, 0.86217, 0.31877], atol=5e-6)

    def test_numbers_that_the_stream_is_known_to_have(self):
        known = [0.0765645665, 0.4311288576, -1.0051638836, 0.3539989924]
        assert_allclose(matlab_randn(4, offset=12030), known, atol=5e-11)

    def test_longer_stream_begins_with_the_shorter_one(self):
        short = matlab_randn(100_000)
        assert_array_equal(matlab_randn(100_000 + 200_000)[:100_000], short)

    def test_end_of_a_block_is_reached_without_gaps(self):
        for last in (2**17 - 10_000, 123_361, 123_362):
            assert np.isfinite(matlab_randn(50, offset=last - 50)).all()
            assert matlab_randn(50, offset=last - 50).shape == (50,)

    def test_the_numbers_are_normal(self):
        """110,000 numbers: any systematic fault of wedge or tail would show."""
        z = matlab_randn(110_000)
        assert stats.kstest(z, "norm").pvalue > 1e-3
        beyond = np.abs(z) > datasets._R
        expected = 2 * stats.norm.sf(datasets._R) * z.size
        assert abs(beyond.sum() - expected) < 4 * np.sqrt(expected)
        assert beyond.any()
        assert {True, False} == set((z[beyond] > 0).tolist())

    @pytest.mark.parametrize(
        ("shape", "offset"), [(-1, 0), ((2, -3), 0), (2, -1), (2.5, 0), ("3", 0)]
    )
    def test_bad_arguments(self, shape, offset):
        with pytest.raises((ValueError, TypeError), match="integer >= 0"):
            matlab_randn(shape, offset)


class TestChapter19:
    def test_example_19_1(self):
        data = example_19_1()
        assert_array_equal(data.X.mean(axis=0), [0.125, 0.875])
        assert data.y.mean() == pytest.approx(-0.0875, abs=1e-15)

    def test_example_19_1_normal_equations_are_the_rational_ones(self):
        """With exact arithmetic, K = 5 gives the known fractions: each entry matters."""
        data = example_19_1()
        X = [[Fraction(int(v)) for v in row] for row in data.X]
        y = [Fraction(round(10 * v), 10) for v in data.y]
        m, K = len(X), 5
        xbar = [sum(col) / m for col in zip(*X)]
        ybar = sum(y) / m
        Z = [[a - b for a, b in zip(row, xbar)] for row in X]
        g = [sum(r[j] * (v - ybar) for r, v in zip(Z, y)) for j in range(2)]
        S = [
            [sum(r[i] * r[j] for r in Z) + (K if i == j else 0) for j in range(2)] for i in range(2)
        ]
        det = S[0][0] * S[1][1] - S[0][1] ** 2
        w = [(S[1][1] * g[0] - S[0][1] * g[1]) / det, (S[0][0] * g[1] - S[0][1] * g[0]) / det]
        assert w == [Fraction(204864, 222505), Fraction(386163, 445010)]
        assert ybar - w[0] * xbar[0] - w[1] * xbar[1] == Fraction(-428047, 445010)

    def test_second_target_is_on_the_plane(self):
        data = example_19_1("y2")
        assert_array_equal(data.X @ data.w + data.b, data.y)

    def test_example_19_3_every_printed_entry(self):
        X = [
            [-1.1658, -0.0679, -1.6118, 0.3199, 0.4400],
            [-1.1480, -0.1952, -0.0245, -0.5583, -0.6169],
            [0.1049, -0.2176, -1.9488, -0.3114, 0.2748],
            [0.7223, -0.3031, 1.0205, -0.5700, 0.6011],
            [2.5855, 0.0230, 0.8617, -1.0257, 0.0923],
        ]
        y = [-1.0965, 1.2155, 0.4324, 1.1902, 3.1346]
        data = example_19_3()
        assert data.X.shape == (100, 5)
        assert_allclose(data.X[:5], X, rtol=0, atol=PRINTED)
        assert_allclose(data.y[:5], y, rtol=0, atol=PRINTED)
        assert data.X.sum() == pytest.approx(-26.0404669344, abs=1e-9)
        assert data.y.sum() == pytest.approx(9.6714441876, abs=1e-9)

    def test_x20_by_the_column_of_weights_that_the_text_prints(self):
        """K = 0.99, tau = 0.01 through the optimality condition of the elastic net."""
        printed = [
            *(0.2007, 2.0055, 0.0262, -2.8008, 0.0089, -3.7670, 0.8552, -0.3243, 1.9080, -0.1041),
            *(2.0566, 2.8346, -0.0832, -4.8332, 5.4598, -0.2141, 0.8585, 1.8559, 0.0413, 9.4836),
            *(0.0303, -0.0193, 3.0004, 3.9753, 4.6530, 0.1192, -0.0203, -5.7537, -7.7594, 0.0528),
        ]
        data = text_x20()
        Z = data.X - data.X.mean(axis=0)
        g = Z.T @ (data.y - data.y.mean()) - 0.01 * np.sign(printed)
        w = np.linalg.solve(Z.T @ Z + 0.99 * np.eye(30), g)
        assert_array_equal(np.sign(w), np.sign(printed))
        assert_allclose(
            w, printed, rtol=0, atol=1e-4
        )  # the text cuts digits off, it does not round
        b = data.y.mean() - data.X.mean(axis=0) @ w
        assert b == pytest.approx(5.208766483981, abs=1e-9)
        assert b == pytest.approx(5.208, abs=1e-3)

    def test_x14_has_the_shape_and_the_law_of_the_text(self):
        data = text_x14()
        assert data.X.shape == (200, 1)
        residual = data.y - data.X[:, 0] - 20
        assert stats.kstest(residual / 10, "norm").pvalue > 0.01
        assert stats.kstest(data.X[:, 0] / 15, "norm").pvalue > 0.01


class TestChapter20:
    @pytest.mark.parametrize(
        ("nu", "w", "b"),
        [(0.03, 0.9691887324, 23.9078342034), (0.5, 1.0113004969, 18.7588223908)],
    )
    def test_x13_stand_in(self, nu, w, b):
        data = text_x13()
        model = NuSVR(nu=nu, C=1.0, kernel="linear", tol=1e-6, max_iter=10**6).fit(data.X, data.y)
        assert model.coef_[0, 0] == pytest.approx(w, abs=1e-4)
        assert model.intercept_[0] == pytest.approx(b, abs=1e-3)

    def test_noisy_sinc(self):
        data = noisy_sinc()
        far = np.abs(data.y - np.sinc(data.X[:, 0])) > 0.3
        assert_array_equal(np.flatnonzero(far), range(5, 60, 10))


class TestChapters16And18:
    def test_u16_v16_pins(self):
        data = text_uv16()
        assert data.u.shape == data.v.shape == (30, 2)
        assert_allclose(data.u[0], [7.7733021218, 11.3544014615], atol=5e-11)
        assert_allclose(data.u[29], [16.6109508679, 8.0840853907], atol=5e-11)
        assert_allclose(data.v[0], [20.5413432759, -2.0272827337], atol=5e-11)
        assert_allclose(data.v[29], [-3.6354786944, -22.7021931307], atol=5e-11)
        assert data.u.sum() == pytest.approx(449.1727750893, abs=1e-9)
        assert data.v.sum() == pytest.approx(-345.4839803413, abs=1e-9)
        assert not separable(data)

    def test_ten_points(self):
        data = ten_points()
        r = data.y - data.X[:, 0] - 1  # w = 1, b = 1, epsilon = 2, nu = 1/2, C = 20
        value = Fraction(1, 2) + 20 * (1 + Fraction(int(np.maximum(abs(r) - 2, 0).sum()), 10))
        delta = np.array([0, 1, -2, 0, 0, 2, -2, 2, -1, 0])  # |delta| <= C/m = 2, sum of sizes 10
        assert delta.sum() == 0
        assert abs(delta).sum() == 10
        assert data.X[:, 0] @ delta == 1  # w
        assert value == data.y @ delta - Fraction(1, 2)  # primal = dual
        peer = NuSVR(nu=0.5, C=2.0, kernel="linear", tol=1e-6).fit(data.X, data.y)
        assert_allclose([peer.coef_[0, 0], peer.intercept_[0]], [1, 1], atol=1e-4)

    def test_nile(self):
        # mean, variance and autocovariances that the literature gives for the series
        data = nile()
        assert data.X.shape == (100, 1)
        assert data.y.mean() == pytest.approx(919.35)
        assert data.y.var(ddof=1) == pytest.approx(28637.95, abs=0.005)
        assert data.y[:28].mean() == pytest.approx(1097.75)  # up to 1898
        assert data.y[28:].mean() == pytest.approx(849.97, abs=0.005)

    def test_nine_points(self):
        data = nine_points()
        assert not separable(data)
        model = SVC(kernel="linear", C=0.1, tol=1e-10).fit(*in_order(data))
        assert_allclose(model.coef_[0], [4 / 11, 2 / 11], atol=1e-6)
        assert -model.intercept_[0] == pytest.approx(1 / 11, abs=1e-6)

    def test_sixty_points(self):
        data = sixty_points()
        assert not separable(data)
        assert_array_equal(data.X, np.round(data.X, 1))
        model = SVC(kernel="linear", C=0.01, tol=1e-10).fit(*in_order(data))
        assert_allclose(model.coef_[0], [0.1298419251, 0.07511630181], atol=1e-6)
        assert -model.intercept_[0] == pytest.approx(0.03659118909, abs=1e-5)

    def test_xor(self):
        data = xor()
        assert not separable(data)
        assert_array_equal(data.y, data.X.prod(axis=1))


class TestZakiMeira:
    def test_fourteen_points(self):
        data = zm_fourteen()
        assert_array_equal(data.y * (data.X @ [5 / 6, 1 / 3] - 10 / 3) >= 1 - 1e-12, True)
        distance = data.y * (data.X @ [5, 2] - 20) / 6
        assert_allclose(distance[:8], [1, 1, 4 / 3, 1, 2.25, 13 / 6, 25 / 12, 29 / 12], rtol=1e-12)
        assert_allclose(distance[8:], [29 / 12, 5 / 3, 2.125, 19 / 12, 1, 1], rtol=1e-12)
        assert separable(data)

    def test_eighteen_points_slacks(self):
        data = zm_eighteen()
        slack = np.maximum(0, 1 - data.y * (data.X @ [5 / 6, 1 / 3] - 10 / 3))
        assert_allclose(slack[[8, 9, 16, 17]], [1 / 3, 5 / 3, 5 / 6, 17 / 6], rtol=1e-12)
        assert slack.sum() == pytest.approx(17 / 3, rel=1e-12)
        assert not separable(data)

    def test_six_points_on_the_ellipse_margins(self):
        data = zm_six()
        a = np.array([1451 / 2340, 323 / 156, 742 / 195, 149 / 468, 77 / 26, 601 / 156])
        kernel = (1 + data.X @ data.X.T) ** 2
        assert_allclose(kernel @ (a * data.y) + 115 / 13, data.y, atol=1e-10)
        assert not separable(data)

    def test_iris_sepals(self):
        data = iris_sepals()
        assert data.u.shape == (100, 2)
        assert data.v.shape == (50, 2)
        X, y = in_order(data)
        model = SVC(kernel="linear", C=10, tol=1e-10).fit(X, y)
        assert_allclose(np.append(model.coef_[0], model.intercept_), [4, -4, -9], atol=1e-3)

    def test_iris_components(self):
        """ZM Example 23.10, h_p: the gradient of its smooth objective vanishes there."""
        data = iris_components()
        x1, x2 = data.X.T
        phi = np.column_stack(
            [x1**2, np.sqrt(2) * x1 * x2, np.sqrt(2) * x1, x2**2, np.sqrt(2) * x2, np.ones(150)]
        )
        h = np.array(
            [0.8692265848, 0.6435514869, -0.5002352792, 0.4283439988, -1.0412913541, -2.3981055692]
        )
        w = h / [1, np.sqrt(2), np.sqrt(2), 1, np.sqrt(2), 1]
        slack = np.maximum(0, 1 - data.y * (phi @ w))
        assert 0.5 * w @ w + 10 * slack @ slack == pytest.approx(136.8543169664, abs=1e-7)
        assert np.abs(w - 20 * phi.T @ (data.y * slack)).max() < 1e-4
        assert ((phi @ w) * data.y < 0).sum() == 5

    def test_two_copies_of_iris_differ_in_two_rows(self):
        ours, uci = iris(), iris("uci")
        rows = np.flatnonzero((ours.X != uci.X).any(axis=1))
        assert rows.tolist() == [34, 37]


class TestDemonstrations:
    def test_default_is_recoverable_by_basis_pursuit(self):
        data = sparse_regression(noise=0.0)
        n = data.X.shape[1]
        lp = linprog(np.ones(2 * n), A_eq=np.hstack([data.X, -data.X]), b_eq=data.y)
        assert_allclose(lp.x[:n] - lp.x[n:], data.w, atol=1e-7)

    def test_outliers_pull_least_squares_and_not_lad(self):
        data = outlier_line()
        A = np.column_stack([data.X, np.ones(len(data.y))])
        least_squares = np.linalg.lstsq(A, data.y, rcond=None)[0]
        m = len(data.y)
        lp = linprog(
            np.r_[0, 0, np.ones(m)],
            np.block([[A, -np.eye(m)], [-A, -np.eye(m)]]),
            np.r_[data.y, -data.y],
            bounds=[(None, None)] * 2 + [(0, None)] * m,
        )
        assert abs(least_squares[0] - 1.5) > 0.8
        assert abs(lp.x[0] - 1.5) < 0.15

    def test_piecewise_constant(self):
        data = piecewise_constant()
        assert_array_equal(np.unique(data.w), [-1, 0, 1, 2, 3])
        assert (np.diff(data.w) != 0).sum() == 4
        assert_array_equal(data.X, np.eye(120))

    def test_two_circles_have_the_known_spectrum(self):
        data = two_circles()
        kernel = (data.X @ data.X.T) ** 2
        centre = np.eye(80) - 1 / 80
        values = np.linalg.eigvalsh(centre @ kernel @ centre)[::-1]
        assert_allclose(values[:3], [820, 820, 640], rtol=1e-10)
        assert np.abs(values[3:]).max() < 1e-9


class TestMeasurements:
    @pytest.mark.parametrize(
        ("load", "shape", "classes"),
        [(breast_cancer, (569, 30), 2), (wine, (178, 13), 3), (digits, (1797, 64), 10)],
    )
    def test_shapes(self, load, shape, classes):
        data = load()
        assert data.X.shape == shape
        assert len(data.names) == shape[1]
        assert_array_equal(np.unique(data.y), np.arange(classes))
        assert len(data.classes) == classes

    @pytest.mark.parametrize("load", [breast_cancer, wine, diabetes])
    def test_standardized(self, load):
        data = load()
        assert_allclose(data.X.mean(axis=0), 0, atol=1e-12)
        assert_allclose(data.X.std(axis=0), 1, rtol=1e-12)

    def test_classes_to_points(self):
        data = wine()
        two = data.pair(0, 2)
        assert_array_equal(two.X, np.vstack([data.X[data.y == 0], data.X[data.y == 2]]))
        assert_array_equal(two.y, np.r_[np.ones(len(two.u)), -np.ones(len(two.v))])
        with pytest.raises(ValueError, match=r"one of 0, \.\.\., 2"):
            data.pair(0, 3)


NO_ARGUMENTS = [
    getattr(datasets, name)
    for name in datasets.__all__
    if inspect.isfunction(getattr(datasets, name)) and name != "matlab_randn"
]


@pytest.mark.parametrize("load", NO_ARGUMENTS, ids=lambda load: load.__name__)
def test_every_set_is_a_new_record_of_finite_floats(load):
    one, two = load(), load()
    assert isinstance(one, (Regression, TwoClasses, Labelled))
    assert one.X.dtype == np.float64
    assert np.isfinite(one.X).all()
    assert one.X.shape[0] == one.y.shape[0]
    assert_array_equal(one.X, two.X)
    assert_array_equal(one.y, two.y)
    first = one.u if isinstance(one, TwoClasses) else one.X
    second = two.u if isinstance(two, TwoClasses) else two.X
    assert not np.shares_memory(first, second)
    assert first.flags.writeable
    assert type(one).__name__ in repr(one)
    assert "<table>" in one._repr_html_()
