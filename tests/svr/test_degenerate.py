"""The cases that a formula forgets: no freedom, too much of it, no error, only errors, strange units, wrong input."""

import warnings

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from companion.datasets import example_19_1, text_x13
from companion.kernels import Gaussian, Polynomial, Sigmoid
from companion.svr import (
    POINT_CLASSES,
    EpsilonSVR,
    NuSVR,
    NuSVRPenalizedBias,
    QuadraticNuSVR,
    tube_from_offsets,
)

pytestmark = pytest.mark.filterwarnings("error")

CLASSES = [NuSVR, NuSVRPenalizedBias, QuadraticNuSVR, EpsilonSVR]
WITH_NU = [NuSVR, NuSVRPenalizedBias, QuadraticNuSVR]
KERNELS = ["linear", Gaussian(1.0), Polynomial(2, R=1.0)]


def noisy(seed=0, m=20, n=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    return X, X.sum(axis=1) + 2.0 + rng.standard_normal(m)


class TestRangeOfNu:
    @pytest.mark.parametrize("kernel", KERNELS)
    def test_beyond_1_epsilon_is_0_and_nothing_changes(self, kernel):
        X, y = noisy()
        for kind in (NuSVR, NuSVRPenalizedBias):
            one = kind(1.2, C=5.0, kernel=kernel).fit(X, y)
            two = kind(7.0, C=5.0, kernel=kernel).fit(X, y)
            for model in (one, two):
                assert model.certificate_.ok
                assert model.epsilon_ == 0.0
                assert model.epsilon_interval_ == (0.0, 0.0)
                assert model.gamma_ > 0.0
            assert_allclose(two.predict(X), one.predict(X), atol=1e-9)
            assert two.objective_ == pytest.approx(one.objective_, rel=1e-10)
            # the least sum of distances, with a penalty on w: l1 regression
            l1 = 0.5 * one.norm_**2 + 5.0 / 20 * np.abs(one.residuals_).sum()
            l1 += 0.5 * one.b_**2 * (kind is NuSVRPenalizedBias)
            assert one.objective_ == pytest.approx(l1, rel=1e-10)

    def test_0_gives_the_narrowest_tube_around_all_points(self):
        X, y = noisy()
        for kernel in KERNELS:
            model = NuSVR(0.0, kernel=kernel).fit(X, y)
            assert model.norm_ == 0.0
            assert model.epsilon_ == pytest.approx(np.ptp(y) / 2)
            assert model.b_ == pytest.approx((y.max() + y.min()) / 2)
            assert model.epsilon_interval_ == (pytest.approx(np.ptp(y) / 2), np.inf)
            assert model.b_interval_ == (-np.inf, np.inf)
            assert model.objective_ == 0.0
            assert not model.lambda_.any()
            assert np.sum(model.point_classes_ == "exceptional") == 2
            assert_allclose(model.predict(X), model.b_)
        second = NuSVRPenalizedBias(0.0).fit(X, y)
        assert (second.b_, second.norm_) == (0.0, 0.0)
        assert second.epsilon_ == pytest.approx(np.abs(y).max())
        assert QuadraticNuSVR(0.0).fit(X, y).epsilon_ == pytest.approx(np.ptp(y) / 2)

    @pytest.mark.parametrize("power", [-3, -9])
    def test_small_nu_makes_w_small_but_not_0(self, power):
        X, y = noisy()
        nu = 10.0**power
        for kind in WITH_NU:
            model = kind(nu, C=6.0).fit(X, y)
            assert model.certificate_.ok
            assert model.lambda_.sum() + model.mu_.sum() == pytest.approx(6.0 * nu)
            assert model.p_f_ == model.q_f_ == 0
            assert model.norm_ <= 6.0 * nu * np.linalg.norm(X, axis=1).max()
            assert model.norm_ > 0.0
            assert model.p_sf_ == model.q_sf_ == 0 or kind is QuadraticNuSVR

    def test_at_1_with_an_even_number_of_points_epsilon_may_be_free(self):
        X, y = np.zeros((4, 1)), np.array([0.0, 1.0, 3.0, 7.0])
        model = NuSVR(1.0, C=4.0).fit(X, y)
        assert model.b_interval_ == pytest.approx((1.0, 3.0))
        assert model.epsilon_interval_ == pytest.approx((0.0, 1.0), abs=1e-12)
        assert (model.b_, model.epsilon_) == (pytest.approx(2.0), pytest.approx(0.5))
        slack = np.maximum(np.abs(y - 2.0) - 0.5, 0.0).sum()
        assert 4.0 * 0.5 + slack == pytest.approx(model.objective_)
        assert tube_from_offsets(y, 1.0).epsilon_interval == (0.0, 1.0)
        beyond = NuSVR(1.0 + 1e-6, C=4.0).fit(X, y)
        assert beyond.epsilon_interval_ == (0.0, 0.0)
        assert beyond.b_interval_ == pytest.approx((1.0, 3.0))

    def test_odd_number_of_points_and_nu_beyond_1_minus_1_over_m(self):
        X, y = noisy(m=9)
        model = NuSVR(0.95, C=0.5).fit(X, y)
        assert model.epsilon_ == pytest.approx(0.0, abs=1e-12)

    @pytest.mark.parametrize("whole", range(1, 9))
    def test_critical_values(self, whole):
        """For m nu/2 an integer and constant x, the tube's margins are intervals between data."""
        y = np.array(
            [
                0.0,
                1.0,
                3.0,
                6.0,
                10.0,
                15.0,
                21.0,
                28.0,
                36.0,
                45.0,
                55.0,
                66.0,
                78.0,
                91.0,
                105.0,
                120.0,
            ]
        )
        X = np.ones((16, 1))
        model = NuSVR(whole / 8, C=16.0).fit(X, y)
        ordered = np.sort(y)
        assert model.blue_interval_ == pytest.approx(
            (ordered[whole - 1], ordered[whole]), abs=1e-12
        )
        assert model.red_interval_ == pytest.approx((ordered[-whole - 1], ordered[-whole]))
        assert model.numsvl1_ == model.numsvm1_ == 0
        assert not model.standard_margin_hypothesis_
        assert (model.p_f_, model.q_f_) == (whole, whole)
        assert np.isnan(model.margins_by_averaging()).all()
        assert np.isnan(model.margins_from_gap()).all()
        assert model.certificate_.ok
        assert_array_equal(model.lambda_[:whole], model.C_ / 16)
        between = NuSVR((whole - 0.5) / 8, C=16.0).fit(X, y)
        assert between.epsilon_interval_[0] == between.epsilon_interval_[1]
        assert between.standard_margin_hypothesis_ or whole == 8

    def test_critical_value_of_version_2(self):
        """Section 20.5: the gap does not give epsilon if m nu = p_f + q_f (not nu (p_f + q_f) = m)."""
        found = 0
        for seed in range(40):
            X, y = noisy(seed, m=12, n=1)
            model = NuSVRPenalizedBias(0.5, C=1.0).fit(X, y)
            if model.p_f_ + model.q_f_ == 6:
                found += 1
                assert model.numsvl1_ + model.numsvm1_ == 0
                assert np.isnan(model.margins_from_gap().epsilon)
                assert np.isnan(model.margins_by_averaging().epsilon)
                low, high = model.epsilon_interval_
                assert low < model.epsilon_ < high
                ordered = np.sort(np.abs(model.residuals_))
                assert_allclose([low, high], ordered[[5, 6]], atol=1e-9)
                again = NuSVRPenalizedBias(0.5 + 1e-6, C=1.0).fit(X, y)
                assert np.isfinite(again.margins_from_gap().epsilon)
        assert found >= 20


class TestFewPoints:
    def test_one_point(self):
        for kind in (NuSVR, QuadraticNuSVR, EpsilonSVR):
            model = kind(0.5, C=2.0).fit([[3.0, 1.0]], [7.0])
            assert model.certificate_.ok
            assert_array_equal(model.w_, 0.0)
            assert model.b_ == 7.0
            assert model.objective_ == 0.0
        assert NuSVR(0.5).fit([[3.0]], [7.0]).epsilon_ == 0.0
        low, high = EpsilonSVR(0.5).fit([[3.0]], [7.0]).b_interval_
        assert (low, high) == (6.5, 7.5)
        second = NuSVRPenalizedBias(0.5, C=2.0).fit([[3.0]], [7.0])
        # delta = min(7/10, C nu): w = 3 delta, b = delta
        assert second.b_ == pytest.approx(0.7)
        assert second.w_[0] == pytest.approx(2.1)
        tight = NuSVRPenalizedBias(0.5, C=0.2).fit([[3.0]], [7.0])
        assert (tight.b_, tight.epsilon_) == (pytest.approx(0.1), pytest.approx(6.0))

    def test_two_points(self):
        model = NuSVR(0.5, C=2.0).fit([[0.0], [1.0]], [0.0, 4.0])
        assert model.certificate_.ok
        assert_allclose(model.lambda_, [0.5, 0.0])  # C nu/2
        assert_allclose(model.w_, [0.5])
        assert (model.b_, model.epsilon_) == (pytest.approx(1.75), pytest.approx(1.75))

    def test_duplicates_weigh_twice(self):
        X, y = noisy(m=10)
        twice_X, twice_y = np.vstack([X, X]), np.concatenate([y, y])
        for kernel in KERNELS:
            for kind in CLASSES:
                one = kind(0.37, C=4.0, kernel=kernel).fit(X, y)
                two = kind(0.37, C=4.0, kernel=kernel).fit(twice_X, twice_y)
                assert two.certificate_.ok
                assert two.objective_ == pytest.approx(one.objective_, rel=1e-9)
                assert_allclose(two.predict(X), one.predict(X), atol=1e-8)

    def test_same_x_different_y(self):
        X, y = np.zeros((6, 2)), np.array([0.0, 1.0, 2.0, 10.0, 11.0, 20.0])
        for kernel in KERNELS:
            model = NuSVR(0.5, kernel=kernel).fit(X, y)
            assert model.norm_ == pytest.approx(0.0, abs=1e-9)
            assert model.blue_interval_ == (1.0, 1.0)
            assert model.red_interval_ == (11.0, 11.0)
            assert model.certificate_.ok


class TestFits:
    @pytest.mark.parametrize("kernel", KERNELS)
    def test_constant_y(self, kernel):
        X, _ = noisy()
        for kind in (NuSVR, QuadraticNuSVR, EpsilonSVR):
            model = kind(0.4, kernel=kernel).fit(X, np.full(20, 7.3))
            assert model.certificate_.ok
            assert model.norm_ == 0.0
            assert model.b_ == 7.3
            assert model.objective_ == 0.0
            assert (
                model.p_m_ == model.q_m_ == 0
            )  # Proposition 20.2 (2) does not hold for epsilon = 0
            assert_array_equal(model.predict(X), 7.3)
        second = NuSVRPenalizedBias(0.4, C=1e4, kernel=kernel).fit(X, np.full(20, 7.3))
        assert second.certificate_.ok
        assert_allclose(second.predict(X), 7.3, rtol=1e-6)

    @pytest.mark.parametrize("nu", [0.1, 0.5, 0.9, 1.0, 2.0])
    def test_exactly_linear_data(self, nu):
        X, _ = noisy()
        y = X @ [2.0, -1.0] + 3.0
        for kernel in ("linear", "precomputed"):
            data = X if kernel == "linear" else X @ X.T
            model = NuSVR(nu, C=1000.0, kernel=kernel).fit(data, y)
            assert model.certificate_.ok
            assert model.objective_ == pytest.approx(2.5, rel=1e-9)
            assert model.epsilon_ == pytest.approx(0.0, abs=1e-9)
            assert_allclose(model.predict(data), y, atol=1e-8)
            assert model.p_sf_ == model.q_sf_ == 0
            assert_array_equal(model.lambda_ * model.mu_, 0.0)
        fixed = EpsilonSVR(0.0, C=1000.0).fit(X, y)
        assert_allclose(fixed.w_, [2.0, -1.0], atol=1e-9)
        assert fixed.b_ == pytest.approx(3.0)

    def test_interpolation_by_a_kernel(self):
        X, y = noisy()
        for kind in (NuSVR, NuSVRPenalizedBias, EpsilonSVR):
            model = kind(0.0 if kind is EpsilonSVR else 0.9, C=1e5, kernel=Gaussian(0.5)).fit(X, y)
            assert model.certificate_.ok
            assert model.epsilon_ == 0.0
            terms = Gaussian(0.5)(X) @ np.abs(
                model.dual_coef_
            )  # the certificate's unit of a residual
            assert_allclose(model.predict(X), y, atol=model.tol * terms.max())

    def test_nearly_singular_gram_matrix(self):
        """Eighteen points on a line: the Gaussian matrix has rank 14 in double precision."""
        rng = np.random.default_rng(5161)
        X, y = rng.standard_normal((18, 1)), np.full(18, 3.0)
        for nu in (0.5, 1.0):
            model = NuSVRPenalizedBias(nu, C=5000.0, kernel=Gaussian(1.0)).fit(X, y)
            assert model.certificate_.ok
            assert_allclose(model.predict(X), 3.0, atol=1e-3)
            assert model.objective_ == pytest.approx(model.dual_objective_, rel=1e-8)

    def test_wide_tube_leaves_b_open(self):
        X, y = noisy()
        width = np.ptp(y) / 2
        model = EpsilonSVR(1.5 * width).fit(X, y)
        assert model.norm_ == 0.0
        assert model.b_interval_ == pytest.approx((y.max() - 1.5 * width, y.min() + 1.5 * width))
        assert model.b_ == pytest.approx((y.max() + y.min()) / 2)
        assert set(model.point_classes_) == {"inside"}
        assert model.nu_ == 0.0
        assert model.objective_ == 0.0

    def test_all_points_are_errors(self):
        """Remark after Theorem 20.1: with epsilon = 0 there may be no support vector, or many."""
        X = [[1.0], [1.0], [-1.0], [-1.0], [2.0], [2.0], [-2.0], [-2.0]]
        y = [1.0, -1.0, 1.0, -1.0, 2.0, -2.0, 2.0, -2.0]
        for C in (0.1, 1.0, 10.0):
            model = NuSVR(1.5, C=C).fit(X, y)
            assert model.norm_ == pytest.approx(0.0, abs=1e-12)
            assert_allclose(np.abs(model.offsets_), np.abs(y))
            assert set(model.point_classes_) == {"error"}
            assert model.b_interval_ == pytest.approx((-1.0, 1.0))
        X, y = noisy()
        for C in (1e-6, 1e-3):
            outside = EpsilonSVR(0.0, C=C).fit(X, y)
            assert np.sum(outside.point_classes_ == "error") >= 19
            assert outside.certificate_.ok

    def test_no_support_vector_of_type_1_of_one_colour(self):
        found = set()
        for seed in range(30):
            X, y = noisy(seed, m=12, n=1)
            model = NuSVR(0.5, C=3.0).fit(X, y)
            found.add((model.numsvl1_ > 0, model.numsvm1_ > 0))
            assert model.certificate_.ok
            if not model.standard_margin_hypothesis_:
                low, high = model.epsilon_interval_
                assert low <= model.epsilon_ <= high
                r = model.offsets_
                for blue in model.blue_interval_:
                    for red in model.red_interval_:
                        b, epsilon = (red + blue) / 2, (red - blue) / 2
                        slack = np.maximum(np.abs(r - b) - epsilon, 0.0).sum()
                        value = 0.5 * model.norm_**2 + 1.5 * epsilon + slack / 4
                        assert value == pytest.approx(model.objective_, rel=1e-10)
        assert (False, False) in found


class TestUnits:
    @pytest.mark.parametrize("unit", [1e-30, 1e-8, 1e8, 1e30])
    @pytest.mark.parametrize("kind", CLASSES)
    def test_units_of_y(self, kind, unit):
        X, y = noisy()
        squared = kind is QuadraticNuSVR
        for kernel in ("linear", Gaussian(1.0)):
            t = 0.33 * unit if kind in (QuadraticNuSVR, EpsilonSVR) else 0.33
            one = kind(0.33, C=4.0, kernel=kernel).fit(X, y)
            two = kind(t, C=4.0 if squared else 4.0 * unit, kernel=kernel).fit(X, y * unit)
            assert two.certificate_.ok
            assert_allclose(two.predict(X) / unit, one.predict(X), rtol=1e-7)
            assert two.epsilon_ / unit == pytest.approx(one.epsilon_)
            assert_array_equal(two.point_classes_, one.point_classes_)

    @pytest.mark.parametrize("unit", [1e-8, 1e8])
    def test_units_of_x(self, unit):
        X, y = noisy()
        for kind in (NuSVR, EpsilonSVR):
            one = kind(0.33, C=4.0).fit(X, y)
            two = kind(0.33, C=4.0 / unit**2).fit(X * unit, y)
            assert two.certificate_.ok
            assert_allclose(two.predict(X * unit), one.predict(X), rtol=1e-7)

    @pytest.mark.parametrize("C", [1e-12, 1e-6, 1e6])
    def test_small_and_large_C(self, C):
        """The text: "if C is chosen too small, numerical instability increases"; not here."""
        data = text_x13()
        for kind in CLASSES:
            model = kind(0.33, C=C).fit(data.X, data.y)
            assert model.certificate_.ok
        small = NuSVR(0.33, C=0.005).fit(data.X, data.y)
        assert small.certificate_.ok
        assert small.lambda_.max() == 0.005 / 50

    def test_many_features_and_many_points(self):
        rng = np.random.default_rng(0)
        wide = NuSVR(0.4, C=10.0).fit(rng.standard_normal((15, 40)), rng.standard_normal(15))
        assert wide.certificate_.ok
        X = rng.standard_normal((1500, 4))
        y = np.sin(X.sum(axis=1)) + 0.2 * rng.standard_normal(1500)
        for kernel in ("linear", Gaussian(1.0)):
            model = NuSVR(0.4, kernel=kernel).fit(X, y)
            assert model.certificate_.ok
            assert max(model.p_f_, model.q_f_) <= 300


class TestAttributes:
    def test_sets_and_counts(self):
        data = text_x13()
        model = NuSVR(0.5, C=50.0).fit(data.X, data.y)
        c = model.C_ / 50
        assert_array_equal(
            model.I_lambda_, np.flatnonzero((model.lambda_ > 0) & (model.lambda_ < c))
        )
        assert_array_equal(model.I_mu_, np.flatnonzero((model.mu_ > 0) & (model.mu_ < c)))
        assert_array_equal(model.K_lambda_, np.flatnonzero(model.lambda_ == c))
        assert_array_equal(model.K_mu_, np.flatnonzero(model.mu_ == c))
        assert_array_equal(model.E_lambda_, np.flatnonzero(model.xi_ > 0))
        assert_array_equal(model.E_mu_, np.flatnonzero(model.xi_prime_ > 0))
        assert model.p_m_ == model.p_f_ + model.numsvl1_
        assert model.q_m_ == model.q_f_ + model.numsvm1_
        assert_array_equal(model.support_, np.flatnonzero(model.lambda_ + model.mu_))
        assert set(model.point_classes_) <= set(POINT_CLASSES)
        inside = model.point_classes_ == "inside"
        assert_array_equal(model.colours_ == "", inside)
        r = model.residuals_
        assert (np.abs(r[inside]) < model.epsilon_).all()
        assert (r[model.colours_ == "red"] > 0).all()
        assert (r[model.colours_ == "blue"] < 0).all()
        assert model.blue_interval_[0] == pytest.approx(model.b_ - model.epsilon_)
        assert model.red_interval_[1] == pytest.approx(model.b_ + model.epsilon_)
        p, q, both = model.critical_nu_
        assert (p, q) == (2 * model.p_sf_ / 50, 2 * model.q_sf_ / 50)
        assert both == pytest.approx((p + q) / 2)
        assert max(p, q) < 0.5

    def test_type_2_and_exceptional_points(self):
        X, y = np.zeros((6, 1)), np.array([0.0, 1.0, 1.0, 5.0, 5.0, 9.0])
        model = NuSVR(0.4, C=6.0).fit(X, y)  # k = 1.2
        assert (model.b_, model.epsilon_) == (pytest.approx(3.0), pytest.approx(2.0))
        assert model.point_classes_[0] == model.point_classes_[5] == "error"
        on_margin = set(model.point_classes_[1:5])
        assert on_margin <= {"type 1", "exceptional"}
        full = NuSVR(2 / 3, C=6.0).fit(X, y)  # k = 2: a point at the margin with multiplier C/m
        assert full.certificate_.ok
        assert set(full.point_classes_[1:5]) <= {"type 1", "type 2", "exceptional"}
        assert full.margins_from_gap() == (
            pytest.approx(full.b_),
            pytest.approx(full.epsilon_),
        ) or np.isnan(full.margins_from_gap().b)

    def test_squared_slacks_know_no_margin_failures(self):
        data = example_19_1()
        model = QuadraticNuSVR(0.2, C=8.0).fit(data.X, data.y)
        assert (model.p_f_, model.q_f_, model.numsvl1_, model.numsvm1_) == (0, 0, 0, 0)
        assert set(model.point_classes_) <= {"inside", "exceptional", "error"}
        assert model.p_m_ == model.p_sf_ > 0
        assert QuadraticNuSVR(0.2, C=8.0).dual_program(data.X, data.y).standard_form()[2].shape == (
            2,
            16,
        )


class TestWrongInput:
    @pytest.mark.parametrize("value", [-0.1, np.nan, np.inf, "a", None])
    def test_parameters_out_of_range(self, value):
        X, y = noisy()
        for kind in CLASSES:
            with pytest.raises((ValueError, TypeError), match="must be"):
                kind(value).fit(X, y)
            if value is not None:
                with pytest.raises((ValueError, TypeError), match="C must be"):
                    kind(C=value).fit(X, y)
        with pytest.raises(ValueError, match="C must be"):
            NuSVR(C=0.0).fit(X, y)
        with pytest.raises(ValueError, match="max_iter"):
            NuSVR(max_iter=0).fit(X, y)
        with pytest.raises(ValueError, match="tol"):
            NuSVR(tol=0.0).fit(X, y)

    def test_data(self):
        X, y = noisy()
        with pytest.raises(ValueError, match="NaN"):
            NuSVR().fit(X, np.where(y > y.min(), y, np.nan))
        with pytest.raises(ValueError, match="infinity"):
            NuSVR().fit(np.where(X > 0, X, np.inf), y)
        with pytest.raises(ValueError, match="inconsistent"):
            NuSVR().fit(X, y[:-1])
        before = X.copy(), y.copy()
        NuSVR(kernel="precomputed").fit(X @ X.T, y)
        NuSVR().fit(X, y)
        assert_array_equal(before[0], X)
        assert_array_equal(before[1], y)

    @pytest.mark.parametrize("kind", CLASSES)
    def test_indefinite_kernel(self, kind):
        X, y = noisy()
        for kernel in (Sigmoid(1.0, -2.0), lambda A, B: -(A @ B.T)):
            with pytest.raises(
                ValueError, match=r"kernel must be positive definite.*negative eigenvalue"
            ):
                kind(C=1000.0, kernel=kernel).fit(X, y)
        with pytest.raises(ValueError, match=r"kernel must be positive definite.*eigenvalue -"):
            kind(C=1000.0, kernel="precomputed").fit(X @ X.T - 5.0 * np.eye(20), y)

    def test_offsets(self):
        with pytest.raises(ValueError, match="at least one entry"):
            tube_from_offsets([], 0.5)
        with pytest.raises(ValueError, match="nu must be"):
            tube_from_offsets([1.0], -0.5)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tube = tube_from_offsets([1.0, 2.0], 0.0)
        assert tube.epsilon_interval == (0.5, np.inf)
        assert tube.b_interval == (-np.inf, np.inf)


@pytest.mark.parametrize("size", [1.0, 1e-2, 1e-4, 1e-6])
def test_the_digits_of_the_norm_are_told(size: float) -> None:
    """Of the images of points that nearly coincide, the norm of w is what cancels in the sum of inner products."""
    x = np.random.default_rng(0).standard_normal(10)
    model = NuSVR(C=100.0, kernel="rbf").fit(size * x[:, None], x)
    with mpmath.workdps(50):
        p, c = ([mpmath.mpf(float(v)) for v in values] for values in (size * x, model.dual_coef_))
        square = sum(
            a * b * mpmath.exp(-((s - t) ** 2) / 2) for a, s in zip(c, p) for b, t in zip(c, p)
        )
        wrong = abs(float(model.norm_ / mpmath.sqrt(square)) - 1.0)
    assert wrong <= 2.0 * model.norm_error_ + 1e-14
    assert (model.norm_error_ > 1e-7) == (size < 1e-5)
    assert NuSVR(C=100.0).fit(size * x[:, None], x).norm_error_ < 1e-14
