"""The cases that a formula forgets: no freedom, too much of it, no error, only errors, strange units, wrong input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from companion import svr
from companion.datasets import text_x13
from companion.kernels import Gaussian, Polynomial
from companion.svr import EpsilonSVR, NuSVR, NuSVRPenalizedBias, QuadraticNuSVR, tube_from_offsets

pytestmark = pytest.mark.filterwarnings("error")

KERNELS = ["linear", Gaussian(1.0), Polynomial(2, R=1.0)]
X6, Y6 = np.array([[-3.0], [1.0], [2.0], [0.5], [4.0], [-1.0]]), np.array([0.0, 0, 0, 1, 1, 1])
X5, Y5 = X6[:5], Y6[:5]
TIED = [
    # each half shares C nu / 2, no point more than C/m: 0 = w is possible
    (NuSVR(0.5), X6, Y6, 0.0),
    (NuSVR(0.5), X5, Y5, 0.0),
    # at m nu = 2.5 the two ones are full; half of C/m is left for three zeros, of both colours
    (NuSVRPenalizedBias(0.5), X5, Y5, 0.68),
    (NuSVRPenalizedBias(0.3), X5, Y5, 0.5),
    (EpsilonSVR(0.3), X5, Y5, 0.3),
    # P is (m/2C) I: equal shares, C nu / 6 and C nu / 4
    (QuadraticNuSVR(0.5), X6, Y6, 0.25 * (3.5 / 3.0 - 0.0)),
]


def noisy(seed=0, m=20, n=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    return X, X.sum(axis=1) + 2.0 + rng.standard_normal(m)


@pytest.mark.parametrize("kind", [NuSVR, NuSVRPenalizedBias])
def test_where_all_values_are_fitted_the_tube_is_closed(kind):
    X, y = noisy(m=60)
    model = kind(0.4, C=300.0, kernel=Gaussian(0.1)).fit(X, y)  # nearly the unit matrix
    assert (model.certificate_.ok, model.epsilon_) == (True, 0.0)
    assert_allclose(model.predict(X), y, atol=1e-9)
    left = model.C_ * model.nu - np.abs(model.dual_coef_).sum()
    assert model.gamma_ == pytest.approx(left)
    assert left > 10.0


class TestRangeOfNu:
    @pytest.mark.parametrize("kernel", KERNELS)
    def test_beyond_1_epsilon_is_0_and_nothing_changes(self, kernel):
        X, y = noisy()
        for kind in (NuSVR, NuSVRPenalizedBias):
            one, two = (kind(nu, C=5.0, kernel=kernel).fit(X, y) for nu in (1.2, 7.0))
            for each in (one, two):
                assert (each.certificate_.ok, each.epsilon_interval_) == (True, (0.0, 0.0))
                assert each.gamma_ > 0.0
            assert_allclose(two.predict(X), one.predict(X), atol=1e-9)
            # the least sum of distances, with a penalty on w: l1 regression
            l1 = 0.5 * one.norm_**2 + 5.0 / 20 * np.abs(one.residuals_).sum()
            l1 += 0.5 * one.b_**2 * (kind is NuSVRPenalizedBias)
            assert one.objective_ == pytest.approx(l1, rel=1e-10)
        pair = NuSVR(1.2, C=6.0, kernel=kernel).fit(np.ones((2, 1)), [3.0, 1.0])  # all medians
        assert pair.certificate_.ok
        assert pair.b_interval_ == pytest.approx((1.0, 3.0))

    @pytest.mark.parametrize("kernel", KERNELS)
    def test_0_gives_the_narrowest_tube_around_all_points(self, kernel):
        X, y = noisy()
        model = NuSVR(0.0, kernel=kernel).fit(X, y)
        assert (model.norm_, model.objective_) == (0.0, 0.0)
        assert model.b_ == pytest.approx((y.max() + y.min()) / 2)
        assert model.epsilon_interval_ == (pytest.approx(np.ptp(y) / 2), np.inf)
        assert model.b_interval_ == (-np.inf, np.inf)
        assert np.sum(model.point_classes_ == "exceptional") == 2
        second = NuSVRPenalizedBias(0.0, kernel=kernel).fit(X, y)
        assert (second.b_, second.norm_) == (0.0, 0.0)
        assert second.epsilon_ == pytest.approx(np.abs(y).max())
        squared = QuadraticNuSVR(0.0, kernel=kernel).fit(X, y)
        assert squared.epsilon_ == pytest.approx(np.ptp(y) / 2)

    @pytest.mark.parametrize("whole", range(1, 9))
    def test_critical_values(self, whole):
        """For m nu/2 an integer and constant x, the tube's margins are intervals between data."""
        X, y = np.ones((16, 1)), np.cumsum(np.arange(16.0))
        model = NuSVR(whole / 8, C=16.0).fit(X, y)
        assert model.blue_interval_ == pytest.approx((y[whole - 1], y[whole]), abs=1e-12)
        assert model.red_interval_ == pytest.approx((y[-whole - 1], y[-whole]))
        assert model.numsvl1_ * model.numsvm1_ == 0
        assert (model.p_f_, model.q_f_) == (whole, whole)
        between = NuSVR((whole - 0.5) / 8, C=16.0).fit(X, y)
        assert between.epsilon_interval_[0] == between.epsilon_interval_[1]


class TestFits:
    @pytest.mark.parametrize("kernel", KERNELS)
    def test_constant_y(self, kernel):
        X, _ = noisy()
        for kind in (NuSVR, QuadraticNuSVR, EpsilonSVR):
            model = kind(0.4, kernel=kernel).fit(X, np.full(20, 7.3))
            assert model.certificate_.ok
            assert (model.norm_, model.b_, model.objective_) == (0.0, 7.3, 0.0)
            # Proposition 20.2 (2) does not hold for epsilon = 0
            assert model.p_m_ == model.q_m_ == 0
            assert_array_equal(model.predict(X), 7.3)
        second = NuSVRPenalizedBias(0.4, C=1e4, kernel=kernel).fit(X, np.full(20, 7.3))
        assert second.certificate_.ok
        assert_allclose(second.predict(X), 7.3, rtol=1e-6)
        third = NuSVRPenalizedBias(0.4, C=1e13).fit(X, np.full(20, 7.3))
        assert third.certificate_.ok
        assert (third.norm_, third.b_, third.epsilon_) == (0.0, 7.3, 0.0)
        squares = NuSVRPenalizedBias(0.4, C=1e13, kernel="poly", kernel_params={"degree": 2})
        assert squares.fit(X, np.full(20, 7.3)).certificate_.ok  # of which the constant is one

    def test_wide_tube_leaves_b_open(self):
        X, y = noisy()
        width = np.ptp(y) / 2
        model = EpsilonSVR(1.5 * width).fit(X, y)
        assert (model.norm_, model.nu_, model.objective_) == (0.0, 0.0, 0.0)
        assert model.b_interval_ == pytest.approx((y.max() - 1.5 * width, y.min() + 1.5 * width))
        assert model.b_ == pytest.approx((y.max() + y.min()) / 2)
        assert set(model.point_classes_) == {"inside"}


def test_sets_and_counts():
    data = text_x13()
    model = NuSVR(0.5, C=50.0).fit(data.X, data.y)
    for a, slack, I, K, E in (
        (model.lambda_, model.xi_, model.I_lambda_, model.K_lambda_, model.E_lambda_),
        (model.mu_, model.xi_prime_, model.I_mu_, model.K_mu_, model.E_mu_),
    ):
        assert_array_equal(I, np.flatnonzero((a > 0) & (a < model.C_ / 50)))
        assert_array_equal(K, np.flatnonzero(a == model.C_ / 50))
        assert_array_equal(E, np.flatnonzero(slack > 0))
    assert model.p_m_ == model.p_f_ + model.numsvl1_
    assert model.q_m_ == model.q_f_ + model.numsvm1_
    assert_array_equal(model.support_, np.flatnonzero(model.lambda_ + model.mu_))
    assert set(model.point_classes_) <= set(svr.TUBE_CLASSES)
    r, inside = model.residuals_, model.point_classes_ == "inside"
    assert (np.abs(r[inside]) < model.epsilon_).all()
    assert (r[model.mu_ > 0] > 0).all()
    assert (r[model.lambda_ > 0] < 0).all()


def test_tubes_of_few_offsets():
    median = tube_from_offsets([1.0, 2.0, 5.0], 1.5)
    assert (median.b, median.epsilon, median.b_interval) == (2.0, 0.0, (2.0, 2.0))
    tube = tube_from_offsets([1.0, 2.0], 0.0)
    assert tube.epsilon_interval == (0.5, np.inf)
    assert tube.b_interval == (-np.inf, np.inf)
    assert tube_from_offsets([1.0, 2.0], 1.0, b=0.0).epsilon_interval == (0.0, 1.0)


@pytest.mark.parametrize(("machine", "X", "y", "w"), TIED)
def test_where_values_are_equal_w_decides_between_them(machine, X, y, w):
    """With a small C the objective hardly depends on w; the truth comes from the program of the tied points alone."""
    machine.set_params(C=1e-6)
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(y))
        model = machine.fit(X[order], y[order])
        assert model.certificate_.ok
        assert_allclose(model.w_ / 1e-6, w, atol=5e-6)


def test_the_guess_for_squared_slacks_is_that_of_their_program():
    """libsvm gets m/2C on the Gram matrix's diagonal: nothing is left to correct. Another diagonal leaves five."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(200)
    assert QuadraticNuSVR(0.3, C=1.0, kernel=Gaussian(1.0)).fit(X, y).n_iter_ <= 2
