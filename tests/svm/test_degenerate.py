"""Each degenerate case has a defined answer."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from companion import svm
from companion.datasets import nine_points, sixty_points, xor, zm_fourteen
from companion.exceptions import InfeasibleProblemError
from companion.svm import HardMarginSVC, SVMs1, SVMs2, SVMs2l, SVMs2prime, SVMs3, SVMs4, SVMs5
from tests.exact import verify
from tests.refusals import refusals

pytestmark = pytest.mark.filterwarnings("error")

NINE = nine_points().u, nine_points().v


def fit_quietly(machine, u, v):
    """Fit, and demand the warning about w = 0."""
    with pytest.warns(svm.DegenerateSolutionWarning) as caught:
        machine.fit_uv(u, v)
    assert caught[0].filename == __file__
    return machine


class TestInfeasible:
    @pytest.mark.parametrize("swapped", [False, True])
    def test_nu_of_s2prime_names_the_bound(self, swapped):
        u, v = NINE[::-1] if swapped else NINE
        bound = r"2 min\(p, q\)/\(p \+ q\) = 0.888888"  # who types it is not refused
        with pytest.raises(InfeasibleProblemError, match=bound) as error:
            SVMs2prime(0.9).fit_uv(u, v)
        y, s = error.value.witness, np.repeat([1.0, -1.0], [len(u), len(v)])
        A, c = np.array([s, np.ones(9)]), np.array([0.0, 0.9])
        assert np.maximum(y @ A, 0).sum() / 9 < y @ c - 1e-6

    def test_K_of_s1_names_the_bound(self):
        with pytest.raises(InfeasibleProblemError, match="exceeds 1"):
            SVMs3(1.01).fit_uv(*NINE)
        with pytest.raises(InfeasibleProblemError, match=r"max\(1/\(2p\), 1/\(2q\)\) = 0.125"):
            SVMs1(K=0.12).fit_uv(*NINE)


class TestBelowTheRange:
    @pytest.mark.parametrize("machine", [SVMs2prime, SVMs3])
    def test_w_vanishes_up_to_nu_min(self, machine):
        for u, v in (NINE, (sixty_points().u, sixty_points().v)):
            smallest = svm.nu_min(u, v)
            for nu in (0.5 * smallest, smallest * (1 - 1e-9)):
                zero = fit_quietly(machine(nu), u, v)
                assert zero.degenerate_
                nothing = [*zero.w_, zero.b_, zero.eta_, zero.norm_, zero.objective_]
                assert_array_equal([*nothing, zero.delta_], [0.0] * 6 + [np.nan])
                assert set(zero.point_classes_) == {"undetermined"}
                assert zero.lambda_.sum() == pytest.approx(nu / 2)
                assert zero.certificate_.ok
            above = machine(smallest * (1 + 1e-3)).fit_uv(u, v)
            assert (above.degenerate_, above.norm_ > 0, above.eta_ > 0) == (False, True, True)

    def test_s1_with_optimal_value_zero(self):
        u, v = NINE
        largest = 1 / (9 * svm.nu_min(u, v))
        told = r"K = 0.293\d* is at least 0.293103: the optimal value"
        with pytest.warns(svm.DegenerateSolutionWarning, match=told):
            zero = SVMs1(K=largest * 1.001).fit_uv(u, v)
        assert (zero.objective_, zero.delta_, zero.gamma_, zero.norm_) == (0, 0, 0, 0)
        assert SVMs1(K=largest * 0.999).fit_uv(u, v).objective_ < 0

    def test_xor_with_a_linear_kernel(self):
        data = xor()
        fit_quietly(SVMs2prime(1.0), data.u, data.v)
        hinge = SVMs2(K=1.0).fit_uv(data.u, data.v)
        assert_array_equal([*hinge.w_, hinge.b_], 0.0)
        assert (hinge.objective_, hinge.delta_) == (pytest.approx(4.0), np.inf)
        assert not hinge.degenerate_  # w = 0 is an honest answer of (SVM_s2)
        for machine in (SVMs4(1.0, K=0.25), SVMs5(1.0, K=0.25)):
            machine.fit_uv(data.u, data.v)
            assert_array_equal(machine.w_, 0.0)
            assert (machine.eta_, machine.delta_) == (pytest.approx(0.5), np.inf)
            assert set(machine.point_classes_) == {"on hyperplane"}


class TestIntervals:
    def test_largest_nu_leaves_an_end_open(self):
        u, v = NINE
        machine = SVMs2prime(8 / 9).fit_uv(u, v)
        assert_array_equal(machine.lambda_, machine.K_)
        assert machine.blue_interval_[1] == np.inf
        assert machine.eta_ == machine.eta_interval_[0]
        balanced = SVMs2prime(1.0).fit_uv(u, v[:4])
        assert balanced.eta_interval_[1] == np.inf
        assert balanced.b_interval_ == (-np.inf, np.inf)
        assert balanced.certificate_.ok
        third = SVMs3(1.0).fit_uv(u, v)
        assert third.eta_interval_ == (third.eta_, np.inf)
        assert SVMs1(K=1 / 8).fit_uv(u, v).blue_interval_[1] == np.inf

    @pytest.mark.parametrize(("p", "q", "unit"), [(25, 11, 1.0), (3, 2, 0.125), (11, 25, 4.0)])
    def test_equal_points_of_two_colours(self, p, q, unit):
        """Their mean is not them, by a rounding, which is no scale of theirs."""
        u, v = (np.tile([1.067 * unit, 0.691 * unit], (n, 1)) for n in (p, q))
        machine = SVMs2(16.4424).fit_uv(u, v)
        assert machine.certificate_.ok
        assert_allclose(machine.objective_, 2 * 16.4424 * min(p, q), rtol=1e-9)

    def test_type_1_of_one_colour_gives_b(self):
        """The text says that a blue one entails a red one (Section 18.3)."""
        u, v = [[1.0, 1.0], [1.0, -1.0]], [[-1.0, 0.0]]
        machine = SVMs2(K=0.25).fit_uv(u, v)
        assert_allclose(machine.lambda_, 1 / 8)
        assert_array_equal(machine.mu_, 0.25)
        assert_allclose([*machine.w_, machine.b_], [0.5, 0.0, -0.5], atol=1e-15)
        assert machine.b_interval_[0] == machine.b_interval_[1]
        assert (machine.xi_[0], machine.objective_) == pytest.approx((1.0, 3 / 8))

    def test_b_of_s2_without_type_1(self):
        u, v = [[2.0], [3.0]], [[-2.0], [-3.0]]
        machine = SVMs2(K=0.01).fit_uv(u, v)  # all at the bound
        assert machine.support_type1_.size == 0
        found = [*machine.w_, *machine.b_interval_, machine.b_]
        assert_allclose(found, [0.1, -0.7, 0.7, 0.0], atol=1e-12)
        X, s = np.array([*u, *v]), np.array([1, 1, -1, -1])
        for b, more in ((-0.7, 0.0), (0.2, 0.0), (0.7, 0.0), (0.8, 0.001)):
            slack = np.maximum(1 - s * (X @ machine.w_ - b), 0)
            assert 0.005 + 0.01 * slack.sum() == pytest.approx(machine.objective_ + more)


class TestSeparability:
    def test_certificate_that_no_hyperplane_separates(self):
        for data in (nine_points(), xor()):
            with pytest.raises(InfeasibleProblemError, match="convex hulls meet") as error:
                HardMarginSVC().fit_uv(data.u, data.v)
            a, blue = error.value.witness, data.y > 0
            assert (a >= 0).all()
            assert (a[blue].sum(), a[~blue].sum()) == pytest.approx((1.0, 1.0))
            assert_allclose(a[blue] @ data.u, a[~blue] @ data.v, atol=1e-9 * np.abs(data.X).max())

    def test_linear_program_of_separable_data(self):
        data = zm_fourteen()
        separable = SVMs2l().fit_uv(data.u, data.v)
        assert separable.objective_ == pytest.approx(0.0, abs=1e-13)
        assert separable.score(data.X, data.y) == 1.0
        assert not separable.degenerate_
        outlier = np.array([[1.0], [2.0], [3.0], [-20.0]])
        assert SVMs2l().fit_uv(outlier, -outlier[:3]).degenerate_  # w = 0 costs the least


class TestPointClasses:
    def test_by_hand_in_one_dimension(self):
        """Red points mirror blue ones, so b = 0; the objective in w has its minimum at the kink w = 1."""
        u = np.array([[3.0], [1.0], [0.5], [0.0], [-0.5]])
        machine = SVMs2(K=1.0).fit_uv(u, -u)
        assert_allclose(machine.w_, [1.0])
        assert machine.b_ == pytest.approx(0.0, abs=1e-14)
        expected = ["outside", "type 1", "in slab", "on hyperplane", "misclassified"]
        assert_array_equal(machine.point_classes_, expected * 2)
        assert_allclose(machine.epsilon_, [0.0, 0.0, 0.5, 1.0, 1.5], atol=1e-14)
        assert_allclose(machine.lambda_, [0.0, 0.5, 1.0, 1.0, 1.0], atol=1e-13)
        assert (machine.p_f_, machine.p_m_, machine.p_sf_) == (3, 4, 3)

    def test_exceptional_and_type_2(self):
        """In ZM's example five points are on the margin, and only three need a multiplier."""
        data = zm_fourteen()
        classes = HardMarginSVC().fit_uv(data.u, data.v).point_classes_
        assert set(classes) <= {"outside", "type 1", "exceptional"}
        for unit in (1.0, 0.1, 1 / 3):  # the slack of a point on the margin is 0, not rounding
            u, v = unit * np.array([[1.0], [1.0], [2.0]]), unit * np.array([[-1.0], [-1.0]])
            # w = 1/unit, b = 0: both copies on each side carry K, on the margin
            machine = SVMs2(K=0.25 / unit**2).fit_uv(u, v)
            assert_allclose(machine.w_, [1.0 / unit])
            assert_array_equal(machine.lambda_[:2], machine.K_)
            assert_array_equal(machine.point_classes_ == "type 2", [1, 1, 0, 1, 1])
            assert (machine.p_f_, machine.p_sf_, machine.q_sf_) == (2, 0, 0)

    def test_definitions_on_random_data(self):
        data = sixty_points()
        for machine in (SVMs1(0.03), SVMs2(0.01), SVMs2prime(0.51), SVMs3(0.71), SVMs4(1.0)):
            machine.fit_uv(data.u, data.v)
            classes = machine.point_classes_
            assert set(classes) <= set(svm.POINT_CLASSES)
            a = np.concatenate([machine.lambda_, machine.mu_])
            margin = data.y * machine.decision_function(data.X)
            assert_array_equal(classes == "misclassified", margin < 0)
            assert_array_equal(np.isin(classes, ["outside", "exceptional"]), a == 0)
            inside = (margin > 0) & (margin < machine.eta_ * (1 - 1e-9))
            assert_array_equal(classes == "in slab", inside)
            if not isinstance(machine, SVMs4):
                between = (a > 0) & (a < machine.K_)
                assert_array_equal(classes == "type 1", between)
                assert_array_equal(np.flatnonzero(between), machine.support_type1_)
                assert machine.p_sf_ <= machine.p_f_ <= machine.p_m_


test_what_fit_uv_refuses = refusals(
    (lambda: SVMs2().fit_uv(NINE[0], NINE[1][:, :1]), r"v must have shape \(any, 2\)"),
    (lambda: SVMs2(kernel="precomputed").fit_uv(*NINE), "precomputed"),
)


def test_a_linear_program_is_certified_for_the_hyperplane_that_is_stored():
    """Far from 0 b has no digits left: at 1e10 the slacks are 7e-8 off the optimum, and it says so."""
    rng = np.random.default_rng(0)
    X = np.round(1024 * rng.standard_normal((30, 2))) / 1024
    y = np.where(X[:, 0] + 0.8 * rng.standard_normal(30) > 0, 1, -1)
    best = svm.SVMs2l().fit(X, y)
    assert best.certificate_.ok
    for offset in (1e6, 1e8, 1e10):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            far = svm.SVMs2l().fit(X + offset, y)
        off = abs(far.objective_ - svm.SVMs2l().fit((X + offset) - offset, y).objective_)
        assert off <= far.certificate_.gap * far.objective_ * 1.01 + 1e-12
        assert far.certificate_.ok == (offset < 1e9)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_a_linear_program_tells_images_apart_only_where_they_differ(kernel):
    """It had said ok to slacks of 0 where they were 1e-2, and to 0 for each point where all are equal."""
    rng = np.random.default_rng(1)
    y = np.where(np.arange(8) % 2 == 0, 1, -1)
    X = rng.standard_normal((8, 2)) + 0.3 * y[:, None]
    far = X.copy()
    far[1, 0] = 1e6
    for points in (1.0 + 1e-7 * X, np.ones((8, 2)), far):
        with warnings.catch_warnings(action="ignore"):
            machine = svm.SVMs2l(kernel=kernel).fit(points, y)
        assert verify(machine, points, y).agrees
        total = machine.epsilon_.sum() + machine.xi_.sum()
        assert total == pytest.approx(machine.objective_, rel=1e-8, abs=1e-8)
    assert machine.objective_ <= 8.0


def test_hulls_between_which_rounding_leaves_no_distance_are_no_division_by_zero():
    """The features of one point are 1e18; the others differ from each other by 1."""
    for seed in (2, 11):
        X, y = np.random.default_rng(seed).standard_normal((8, 2)), np.tile([1, -1], 4)
        X[1, 0] = 1e6
        with warnings.catch_warnings(action="ignore"):
            assert verify(HardMarginSVC(kernel="poly").fit(X, y), X, y).agrees
