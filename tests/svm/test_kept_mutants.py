"""Tests that kill mutants which all others let live (``make mutants``)."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import OptimizeResult, linprog
from sklearn.base import clone

from companion.admm import LowRank
from companion.admm.row_matrix import RowMatrix
from companion.datasets import nine_points
from companion.exceptions import ConvergenceWarning, InfeasibleProblemError
from companion.kernels import FeatureMap, Gaussian, as_kernel
from companion.svm import (
    DegenerateSolutionWarning,
    HardMarginSVC,
    SVMs1,
    SVMs2,
    SVMs2l,
    SVMs2prime,
    SVMs3,
    SVMs4,
    SVMs5,
    bounds,
    nu_min,
    points,
    soft_margin,
)
from companion.svm.dual import DualProgram, Units
from companion.svm.estimator import SupportVectorMachine
from companion.svm.points import make_points
from companion.svm.recovery import Recovered, over
from companion.svm.slab import (
    Slab,
    multiplier_interval,
    place_points,
    slab_both,
    slab_eta,
    slab_nearest,
    slab_unit,
    snap,
)


def test_the_slab_of_two_points() -> None:
    """One blue point at 2, one red point at 0, w = 1: the hyperplane is at 1, the margins at the points."""
    slab = slab_unit(np.array([1.0, -1.0]), np.array([2.0, 0.0]), np.array([0.5, 0.5]), np.inf)
    assert (slab.b, slab.eta) == (1.0, 1.0)
    assert slab.b_interval == slab.eta_interval == (1.0, 1.0)
    assert slab.blue_interval == (2.0, 2.0)
    assert slab.red_interval == (0.0, 0.0)


@pytest.mark.parametrize("unit", [0, 3, -7])
@pytest.mark.parametrize("penalize_b", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_rows_on_demand_are_the_rows_of_the_matrix(
    monkeypatch: pytest.MonkeyPatch, unit: int, penalize_b: bool, ridge: float
) -> None:
    """Large problems compute rows when they are needed; here a small one does, in units of a power of two."""
    rng = np.random.default_rng(5)
    X, s = rng.standard_normal((12, 2)), np.repeat([1.0, -1.0], 6)
    data = replace(make_points(X, s, Gaussian(1.0)), unit=unit)
    whole = data.signed_matrix(penalize_b=penalize_b, ridge=ridge)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 2) + (1.0 if penalize_b else 0.0)
    expected = np.ldexp(np.outer(s, s) * K + ridge * np.eye(12), -2 * unit)
    np.testing.assert_allclose(whole, expected, rtol=1e-13, atol=1e-15 * expected.max())
    monkeypatch.setattr(points, "ROWS_FROM", 2)
    rows = data.signed_matrix(penalize_b=penalize_b, ridge=ridge)
    assert isinstance(rows, RowMatrix) == (ridge == 0.0)
    a = rng.standard_normal(12)
    np.testing.assert_allclose(rows @ a, expected @ a, rtol=1e-12, atol=1e-13 * expected.max())


@pytest.mark.parametrize("scale", [1.0, 2.0**-600, 2.0**-1000])
def test_lengths_of_tiny_features(scale: float) -> None:
    Z = np.array([[3.0, 4.0], [0.0, 0.0], [5.0, 12.0]])
    assert (points._lengths(scale * Z) == scale * np.array([5.0, 0.0, 13.0])).all()
    assert points._norm(scale * Z[0]) == 5.0 * scale


@pytest.mark.parametrize("nu", [0.5, 0.9])
@pytest.mark.parametrize("scale", [1.0, 1e-9])
def test_exchanging_the_colours_turns_the_penalized_plane_around(nu: float, scale: float) -> None:
    """Near the origin b alone decides about s'a, with the sign of the more frequent colour."""
    rng = np.random.default_rng(11)
    many, few = scale * rng.standard_normal((8, 2)), scale * (rng.standard_normal((4, 2)) + 1.0)
    one, other = SVMs3(nu=nu).fit_uv(many, few), SVMs3(nu=nu).fit_uv(few, many)
    assert one.certificate_.ok
    assert other.certificate_.ok
    np.testing.assert_allclose(other.w_, -one.w_, rtol=1e-7, atol=1e-9 * abs(one.w_).max())
    assert other.b_ == pytest.approx(-one.b_, rel=1e-9, abs=1e-12)


def test_an_interval_that_rounding_has_turned_around_is_its_middle() -> None:
    g = np.array([1.0 + 4e-16, 1.0])
    at_upper = np.array([True, False])
    low, high = multiplier_interval(g, ~at_upper, at_upper)
    assert low == high
    assert 1.0 <= low <= 1.0 + 4e-16


def test_small_multipliers_are_small_beside_each_other_only() -> None:
    """Neither snapped to zero, nor their b, when all of them are tiny."""
    a = np.array([3e-13, 1e-13])
    np.testing.assert_array_equal(snap(a, np.inf), a)
    assert slab_eta(np.array([1.0, -1.0]), np.zeros(2), a, np.inf).b == -(a[0] - a[1])


# -- slabs, from the conditions on g


def test_a_slab_with_a_known_b_moves_its_margins_by_the_interval_of_eta() -> None:
    """With a penalized b the conditions bound eta alone: at most g where a = 0, at least g where a = K."""
    s, g, a = np.array([1.0, -1.0]), np.array([5.0, 2.0]), np.array([0.0, 1.0])
    slab = slab_eta(s, g, a, 1.0)
    assert (slab.b, slab.eta) == (1.0, 3.5)
    assert (slab.b_interval, slab.eta_interval) == ((1.0, 1.0), (2.0, 5.0))
    assert (slab.blue_interval, slab.red_interval) == ((3.0, 6.0), (-4.0, -1.0))
    moved = slab.with_bias(10.0)
    assert (moved.b, moved.eta) == (10.0, 3.5)
    assert (moved.b_interval, moved.eta_interval) == ((10.0, 10.0), (2.0, 5.0))
    assert (moved.blue_interval, moved.red_interval) == ((12.0, 15.0), (5.0, 8.0))


@pytest.mark.parametrize(
    ("g", "b", "eta"),
    [
        ([1.0, 5.0, 2.0, 4.0], 0.0, (2.0, 4.0)),  # b may be 0
        ([2.0, 4.0, 1.0, 5.0], 0.0, (2.0, 4.0)),
        ([5.0, 9.0, 0.0, 1.0], 2.0, (3.0, 3.0)),  # b is at least 2
        ([0.0, 1.0, 5.0, 9.0], -2.0, (3.0, 3.0)),
    ],
)
def test_the_slab_nearest_to_the_origin(g: list[float], b: float, eta: tuple[float, float]) -> None:
    """eta + b is between the first two numbers, eta - b between the others; abs(b) is as small as that allows."""
    s, a = np.array([1.0, 1.0, -1.0, -1.0]), np.array([1.0, 0.0, 1.0, 0.0])
    slab = slab_nearest(s, np.array(g), a, 1.0)
    assert (slab.b, slab.b_interval) == (b, (b, b))
    assert (slab.eta, slab.eta_interval) == (sum(eta) / 2, eta)
    assert slab.blue_interval == (b + eta[0], b + eta[1])
    assert slab.red_interval == (b - eta[1], b - eta[0])


def test_a_slab_from_another_origin_in_another_unit() -> None:
    """b + eta and b - eta move with b, eta does not; all are scaled."""
    slab = slab_both(
        np.array([1.0, 1.0, -1.0, -1.0]),
        np.array([2.0, 4.0, 1.0, 5.0]),
        np.array([1.0, 0.0, 1.0, 0.0]),
        1.0,
    )
    for distance, scale in ((0.0, 1.0), (1.0, 1.0), (0.0, 2.0), (1.0, 2.0), (-0.5, 0.25)):
        moved = slab.moved(distance, scale)
        assert (moved.b, moved.eta) == ((slab.b + distance) * scale, slab.eta * scale)
        for name in ("b_interval", "blue_interval", "red_interval"):
            low, high = getattr(slab, name)
            assert getattr(moved, name) == ((low + distance) * scale, (high + distance) * scale)
        assert moved.eta_interval == (1.5 * scale, 4.5 * scale)
    assert slab.moved(1.0).eta == slab.eta == 3.0


def test_zero_has_no_sign() -> None:
    pair = np.array([0.5, 0.5])
    slab = slab_both(np.array([1.0, -1.0]), np.zeros(2), pair, 1.0)
    assert str(slab.red_interval) == "(0.0, 0.0)"


def test_multipliers_that_rounding_keeps_from_their_bounds() -> None:
    a = np.array([1.0 - 1e-14, 0.5, 1e-14])
    np.testing.assert_array_equal(snap(a, 1.0), [1.0, 0.5, 0.0])
    np.testing.assert_array_equal(snap(a, np.inf), [1.0 - 1e-14, 0.5, 0.0])


def test_the_place_of_each_point() -> None:
    """Definitions 18.1 to 18.3, with margins that rounding has moved, for eta = K = 1."""
    rounding = 1e-12
    rows = [
        (0.0, 2.0, "outside"),
        (0.0, 1.0 + rounding, "exceptional"),
        (0.0, 1.0 - rounding, "exceptional"),
        (0.5, 1.0, "type 1"),
        (1.0, 1.0 + rounding, "type 2"),
        (1.0, 1.0 - rounding, "type 2"),
        (1.0, 0.5, "in slab"),
        (1.0, rounding, "on hyperplane"),
        (1.0, -rounding, "on hyperplane"),
        (1.0, -0.5, "misclassified"),
    ]
    a, margin, places = (np.array(column) for column in zip(*rows, strict=True))
    assert place_points(a, 1.0, margin, 1.0, 1.0, squared=False).tolist() == places.tolist()
    slack = np.isin(places, ["outside", "exceptional", "in slab", "on hyperplane", "misclassified"])
    found = place_points(a[slack], np.inf, margin[slack], 1.0, 1.0, squared=True)
    assert found.tolist() == places[slack].tolist()


# -- one blue point at x, one red point at -x


PAIRS = [
    (SVMs2prime, 0, 0), (SVMs2prime, 300, -600), (SVMs2prime, 700, -800), (SVMs2prime, -300, 600),
    (SVMs3, 0, 0), (SVMs3, 300, -600), (SVMs3, 700, -800), (SVMs3, -300, 600), (SVMs3, -300, 100),
    (SVMs4, 0, 0), (SVMs4, 500, -1000), (SVMs4, 700, -800), (SVMs4, 0, -800), (SVMs4, -300, 600),
    (SVMs4, -500, 1000), (SVMs4, -500, 0), (SVMs5, 0, 0), (SVMs5, 500, -1000), (SVMs5, 700, -800),
    (SVMs5, 0, -800), (SVMs5, -300, 600), (SVMs5, -500, 1000),
]  # fmt: skip


def test_gamma_makes_the_lagrangian_of_the_unit_normal_stationary() -> None:
    data = nine_points()
    found = SVMs1(K=0.2).fit_uv(data.u, data.v)
    pull = found.lambda_ @ data.u - found.mu_ @ data.v
    np.testing.assert_allclose(2.0 * found.gamma_ * found.w_, pull, rtol=1e-9)


def test_a_penalized_b_counts_beside_dear_slacks_or_long_points() -> None:
    """One of x and 1/sqrt(K) is not small: b is part of the program, and s'a is not 0.

    Points at the origin, K = 1/2, K_m = 1: 3 lambda - mu = 2 mu - 2 lambda, so (3, 3; 5)/11. Points 10 and -1 at a
    high K: lambda = 0, w = b = K_m.
    """
    x = 2.0**-30
    near = SVMs5(nu=2.0 / 3.0, K=0.5).fit_uv([[2.0 * x], [3.0 * x]], [[0.0]])
    np.testing.assert_allclose([*near.lambda_, *near.mu_], [3 / 11, 3 / 11, 5 / 11], rtol=1e-8)
    assert near.b_ == pytest.approx(-1.0 / 11.0, rel=1e-8)
    far = SVMs5(nu=1.0, K=2.0**40).fit_uv([[10.0]], [[-1.0]])
    assert (far.lambda_[0], far.mu_[0], far.w_[0], far.b_) == (0.0, 2.0**41, 2.0**41, 2.0**41)


# -- where the optimum turns to w = 0: blue points 0 and 3, red points 1 and 4, nu_min = 3/4


BLUE, RED = [[0.0], [3.0]], [[1.0], [4.0]]
GRAM = np.outer([0.0, 3.0, 1.0, 4.0], [0.0, 3.0, 1.0, 4.0])
COLOURS = [1, 1, -1, -1]


def test_a_small_normal_above_nu_min_is_found() -> None:
    """w = -K (8 nu - 6) for nu from 3/4 on; the optimal value of (SVM_s1) is 6K - 2 for K up to 1/3."""
    e = 2.0**-24
    found = SVMs2prime(nu=0.75 * (1.0 + e), K=1.0).fit_uv(BLUE, RED)
    assert not found.degenerate_
    np.testing.assert_allclose(found.w_, [-6.0 * e], rtol=1e-6)
    unit = SVMs1(K=(1.0 - e) / 3.0).fit_uv(BLUE, RED)
    assert not unit.degenerate_
    np.testing.assert_allclose(unit.w_, [-1.0], rtol=1e-12)
    assert unit.objective_ == pytest.approx(-2.0 * e, rel=1e-6)
    assert unit.delta_ == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize(
    "machine", [SVMs1(K=1.0 / 3.0), SVMs2prime(nu=0.75), SVMs3(nu=0.75)], ids=repr
)
def test_at_nu_min_there_is_no_hyperplane(machine: SupportVectorMachine) -> None:
    """The program of nu_min has the value k = 1/3, and nu_min = 1/(4k)."""
    assert nu_min(BLUE, RED) == pytest.approx(0.75, rel=1e-15)
    text = "K = 0.333333 is at least 0.333333" if isinstance(machine, SVMs1) else "at most nu_min"
    with pytest.warns(DegenerateSolutionWarning, match=text):
        found = machine.fit_uv(BLUE, RED)
    assert found.degenerate_
    assert found._is_below_range(make_points(found.X_fit_, np.array(COLOURS), found.kernel_))
    assert (found.b_, found.eta_, found.norm_) == (0.0, 0.0, 0.0)
    assert found.b_interval_ == found.eta_interval_ == (0.0, 0.0)
    assert found.blue_interval_ == found.red_interval_ == (0.0, 0.0)


@pytest.mark.parametrize(
    "machine", [SVMs1(K=(1.0 - 2.0**-30) / 3.0), SVMs2prime(nu=0.75 * (1.0 + 2.0**-30))], ids=repr
)
def test_a_normal_that_rounding_hides_is_not_said_to_be_zero(machine: SupportVectorMachine) -> None:
    """Its square is 1e-18 of the terms of a'Pa: inner products do not tell it from 0."""
    machine.set_params(kernel="precomputed")
    with pytest.warns(DegenerateSolutionWarning, match="up to rounding"):
        machine.fit(GRAM, COLOURS)


# -- prices of slack at the ends of the range


def test_multipliers_of_the_hard_margin_beyond_a_large_price() -> None:
    """A gap of 2^-52 asks for multipliers 2^105; at K = 2^102 both are K, and w is K times the gap."""
    gap, K = 2.0**-52, 2.0**102
    found = SVMs2(K=K).fit_uv([[1.0 + gap]], [[1.0]])
    assert (found.lambda_[0], found.mu_[0]) == (K, K)
    np.testing.assert_allclose(found.w_, [K * gap], rtol=1e-12)


def test_a_price_so_small_that_every_multiplier_is_at_it() -> None:
    K = 2.0**-30
    found = SVMs2(K=K).fit_uv([[3.0], [1.0]], [[0.0], [0.5]])
    np.testing.assert_array_equal([*found.lambda_, *found.mu_], K)
    np.testing.assert_allclose(found.w_, [3.5 * K], rtol=1e-12)
    few = SVMs2(K=K).fit_uv([[3.0], [1.0]], [[0.0]])
    np.testing.assert_array_equal([*few.lambda_, *few.mu_], [0.0, K, K])
    np.testing.assert_allclose(few.w_, [K], rtol=1e-12)
    assert few.b_interval_ == pytest.approx((K - 1.0, 3.0 * K - 1.0), rel=1e-12)


def test_a_price_so_small_that_the_smaller_class_is_at_it() -> None:
    """The nearest points of the hulls, (1, 1/5) and (0, 1/5), and the multipliers that make them."""
    K = 2.0**-30
    found = SVMs2(K=K).fit_uv([[1.0, 1.0], [1.0, -1.0], [5.0, 0.0]], [[0.0, 0.2]])
    np.testing.assert_allclose([*found.lambda_, *found.mu_], [0.6 * K, 0.4 * K, 0.0, K], rtol=1e-9)
    np.testing.assert_allclose(found.w_, [K, 0.0], rtol=1e-9, atol=1e-9 * K)
    assert found.certificate_.ok


def test_many_points_at_a_small_price() -> None:
    """1,100 points with K x^2 = 1.2/1100 each: together they reach w = 1, and no slack is left."""
    X, y = np.repeat([[1.0], [-1.0]], 550, axis=0), np.repeat([1, -1], 550)
    found = SVMs2(K=1.2 / 1100).fit(X, y)
    np.testing.assert_allclose(found.w_, [1.0], rtol=1e-9)
    assert found.objective_ == pytest.approx(0.5, rel=1e-9)


# -- a penalized b near the origin: blue points 2x and 3x, a red point at 0


@pytest.mark.parametrize("K", [1.0, 2.0**-40])
@pytest.mark.parametrize("of_x", [-12, -30, -200, -300])
@pytest.mark.parametrize(
    ("nu", "multipliers", "w", "b"),
    [
        (2.0 / 3.0, (1.0, 0.0, 1.0), 2.0, 0.0),  # s'a = 0 is possible, just so
        (5.0 / 6.0, (1.0, 0.5, 1.0), 3.5, -0.5),  # abs(s'a) is at least 1/2
    ],
)
def test_a_penalized_b_decides_before_points_near_the_origin(
    of_x: int, K: float, nu: float, multipliers: tuple[float, ...], w: float, b: float
) -> None:
    """abs(s'a) is as small as it can be, and among what is left a'Ka: the nearer blue point comes first."""
    x = 2.0**of_x
    found = SVMs3(nu=nu, K=K).fit_uv([[2.0 * x], [3.0 * x]], [[0.0]])
    assert found.certificate_.ok
    accuracy = 20.0 * x * x + 1e-9
    parts = np.array([*found.lambda_, *found.mu_]) / K
    np.testing.assert_allclose(parts, multipliers, rtol=0, atol=accuracy)
    np.testing.assert_allclose(found.w_ / K, [w * x], rtol=accuracy)
    assert found.b_ / K == pytest.approx(b, abs=accuracy)


# -- the linear program: blue points 2 and -1/2, red points -2 and 1/2, so w = 1/2


LP_BLUE, LP_RED = np.array([[2.0, 0.0], [-0.5, 0.0]]), np.array([[-2.0, 0.0], [0.5, 0.0]])


def test_the_linear_program_of_classes_that_a_hyperplane_separates() -> None:
    """No slack; the only vertex is w = 1, b = 0, and its margins meet the inner points without a multiplier."""
    found = SVMs2l().fit_uv([[1.0], [2.0]], [[-1.0], [-2.0]])
    assert (found.w_[0], found.b_, found.objective_) == (1.0, 0.0, 0.0)
    assert found.point_classes_.tolist() == 2 * ["exceptional", "outside"]


def test_the_linear_program_of_points_that_are_all_one() -> None:
    found = SVMs2l().fit_uv([[3.0]], [[3.0]])
    assert found.degenerate_
    assert found.objective_ == 2.0
    assert found.certificate_.ok


@pytest.mark.parametrize(
    ("a", "balance"),
    [
        ((0.5, 1.0, 0.125, 1.0), 0.375 / 2.625),  # abs(s'a) = 3/8 is the most, of 21/8
        ((0.5, 1.0, 0.5, 1.0), 0.5 / 3.0),  # the first feature: 1/2 of 3
        ((0.5, 0.0, 0.125, 0.0), 0.625),  # 5/8, of less than 1
    ],
)
def test_the_certificate_of_the_linear_program_sees_a_wrong_answer(
    monkeypatch: pytest.MonkeyPatch, a: tuple[float, ...], balance: float
) -> None:
    """The features in their unit are 1, -1/4; -1, 1/4. For w = 3/2, b = 1/4 the slacks are 0, 13/8; 0, 9/8."""
    _answer(monkeypatch, (1.5, 0.0, 0.25), a)
    with pytest.warns(ConvergenceWarning, match="missed tol") as caught:
        found = SVMs2l().fit_uv(LP_BLUE, LP_RED)
    assert caught[0].filename == __file__
    certificate = found.certificate_
    assert certificate.dual_residual == pytest.approx(balance, rel=1e-12)
    size = 1.0 + 1.5 + 0.25  # of the terms 1, <w, x> and b
    product = max(a[0] * 0.25, a[2] * 0.75)  # the outer points are 1/4 and 3/4 beyond their margins
    assert certificate.complementarity == pytest.approx(product / size, rel=1e-12)
    assert certificate.gap == pytest.approx(abs(2.75 - sum(a)) / 2.75, rel=1e-12)


def test_the_gap_of_a_linear_program_with_little_slack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points 1 and -1, w = 3/4: slacks 1/4 and 1/4 against the multipliers 1/8 and 1/8."""
    _answer(monkeypatch, (0.75, 0.0), (0.125, 0.125))
    with pytest.warns(ConvergenceWarning):
        found = SVMs2l().fit_uv([[1.0]], [[-1.0]])
    assert (found.objective_, found.dual_objective_) == (0.5, 0.25)
    assert found.certificate_.gap == 0.25


def _answer(monkeypatch: pytest.MonkeyPatch, x: tuple[float, ...], a: tuple[float, ...]) -> None:
    """Let the linear program have the solution x = (w, b) and the multipliers a."""
    marginals = SimpleNamespace(marginals=-np.array(a))
    answer = SimpleNamespace(x=np.array(x), ineqlin=marginals, nit=7, message="")
    monkeypatch.setattr(soft_margin, "linprog", lambda *_, **__: answer)


def test_the_linear_program_takes_the_parameters_of_a_kernel_by_name() -> None:
    data = nine_points()
    named = SVMs2l(kernel="rbf", kernel_params={"gamma": 0.1}).fit(data.X, data.y)
    given = SVMs2l(kernel=Gaussian(np.sqrt(5.0))).fit(data.X, data.y)
    assert named.objective_ == pytest.approx(given.objective_, rel=1e-9)
    assert named.n_iter_ > 0
    with pytest.raises(RuntimeError, match="HiGHS could not solve"):
        SVMs2l(max_iter=1).fit(data.X, data.y)


@pytest.mark.parametrize("unit", [0, 3])
@pytest.mark.parametrize("constant", [0.0, 1.0])
def test_rows_on_demand_are_those_of_the_signed_matrix(constant: float, unit: int) -> None:
    data = nine_points()
    s = np.where(data.y > 0, 1.0, -1.0)
    X = data.X / 3.0
    here = make_points(X, s, Gaussian(1.0)).in_unit(unit)
    rows = here._row_matrix(constant)
    whole = np.outer(s, s) * (Gaussian(1.0)(X) + constant) * 4.0**-unit
    np.testing.assert_allclose(rows.toarray(), whole, rtol=1e-14)
    np.testing.assert_allclose(rows.diagonal(), np.diag(whole), rtol=1e-14)
    np.testing.assert_allclose(rows @ np.eye(9)[4], whole[4], rtol=1e-14)


# -- what kernels without features, or with many, have to say


def _inner_products(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return X @ Y.T


@pytest.mark.parametrize("shift", [(2.0**30, 0.0), (2.0**30, -(2.0**40)), (2.0**40, 2.0**45)])
def test_nu_min_far_from_the_origin(shift: tuple[float, float]) -> None:
    """It belongs to the differences of points."""
    data, far = nine_points(), np.array(shift)
    assert nu_min(data.u + far, data.v + far) == pytest.approx(58 / 153, rel=1e-12)
    assert nu_min(np.array([[1.0, 0.0], [3.0, 1.0]]) + far, far[None]) == 0.0


def test_nu_min_takes_the_parameters_of_a_kernel_by_name() -> None:
    data = nine_points()
    shifted = nu_min(data.u, data.v, "poly", degree=1, gamma=3.0, coef0=2.0)
    assert shifted == pytest.approx(58 / 153, rel=1e-12)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), "rbf", lambda X, Y: (1.0 + X @ Y.T) ** 3])
def test_nu_min_of_classes_that_share_a_point(kernel: object) -> None:
    """The images are independent but for the shared point: it alone has multipliers, 1/2 and 1/2, and n = 4."""
    assert nu_min([[0.0], [5.0]], [[0.0], [-5.0]], kernel) == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize(("p", "q"), [(0, 3), (3, 0)])
def test_nu_min_of_an_empty_class_is_an_error(p: int, q: int) -> None:
    with pytest.raises(ValueError, match=f"at least one point each, got {p} and {q}"):
        nu_min(np.ones((p, 2)), np.ones((q, 2)))


@pytest.mark.parametrize("kernel", [lambda X, Y: 1j * (X @ Y.T), FeatureMap(lambda x: 1j * x)])
def test_complex_inner_products_are_refused(kernel: object) -> None:
    with pytest.raises(ValueError, match="needs a real kernel"):
        SVMs2prime(kernel=kernel).fit_uv(BLUE, RED)


def test_a_kernel_that_may_be_indefinite_is_looked_at_as_a_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows on demand would hide that it is no kernel, and a user's matrix has its rows already."""
    monkeypatch.setattr(points, "ROWS_FROM", 2)
    s = np.array([1.0, 1.0, -1.0, -1.0])
    for kernel, data in ((lambda X, Y: -X @ Y.T, np.array([*BLUE, *RED])), ("precomputed", GRAM)):
        matrix = make_points(data, s, as_kernel(kernel)).signed_matrix()
        assert isinstance(matrix, np.ndarray)
    with pytest.raises(ValueError, match="must be positive definite on the training points"):
        SVMs2prime(kernel=lambda X, Y: -X @ Y.T).fit_uv(BLUE, RED)


@pytest.mark.parametrize("machine", [SVMs4, SVMs5])
def test_points_that_are_all_one_have_no_normal_and_no_weights(machine: type) -> None:
    """Squared slacks: a = 1/2, 1/2 for K = 1, so both slacks are 1/4, and eta is as large."""
    for kernel, weights in ((_inner_products, None), ("linear", [0.0])):
        found = machine(nu=0.5, K=1.0, kernel=kernel).fit_uv([[1.0]], [[1.0]])
        assert (found.norm_, found.b_) == (0.0, 0.0)
        assert found.eta_ == pytest.approx(0.25, rel=1e-15)
        assert (found.w_ if weights is None else found.w_.tolist()) == weights
        assert found.decision_function([[3.0]]).tolist() == [0.0]


def test_points_of_many_coordinates_have_weights() -> None:
    """The features of the linear kernel are the points, however many coordinates they have."""
    X = np.random.default_rng(0).standard_normal((4, 150))
    found = SVMs2prime(nu=0.5).fit(X, COLOURS)
    np.testing.assert_allclose(found.w_, found.dual_coef_ @ X, rtol=1e-9, atol=1e-12)


# -- parameters


MACHINES = [SVMs1, SVMs2, SVMs2l, SVMs2prime, SVMs3, SVMs4, SVMs5, HardMarginSVC]


@pytest.mark.parametrize("machine", MACHINES)
def test_every_machine_is_certified_to_nine_digits(machine: type) -> None:
    found = machine().fit_uv([[1.0], [3.0]], [[-1.0]])
    assert found.certificate_.tolerance == 1e-9


@pytest.mark.parametrize(("p", "q"), [(2, 3), (3, 2)])
def test_a_price_below_the_range_of_the_unit_normal_has_a_witness(p: int, q: int) -> None:
    """y'Aa stays below y'c for all a between 0 and K: no a is feasible."""
    K = 0.9 / (2 * min(p, q))
    with pytest.raises(InfeasibleProblemError, match=r"max\(1/\(2p\), 1/\(2q\)\) = 0.25") as error:
        SVMs1(K=K).fit_uv(np.ones((p, 1)), np.zeros((q, 1)))
    s, y = np.repeat([1.0, -1.0], [p, q]), error.value.witness
    assert K * np.maximum(y[0] * s + y[1], 0.0).sum() < y[1]


# -- steps that other tests do not come to


def test_equations_that_the_simplex_method_misses_are_met_in_a_second_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first answer is wrong by 1e-7, upwards and downwards; the second counts from what is left."""

    def careless(*args: object, **kwargs: object) -> OptimizeResult:
        answer = linprog(*args, **kwargs)
        answer.x = answer.x + 1e-7 * (-1.0) ** np.arange(answer.x.size)
        return answer

    monkeypatch.setattr(bounds, "linprog", careless)
    data = nine_points()
    assert nu_min(data.u, data.v) == pytest.approx(58 / 153, rel=1e-11)


@pytest.mark.parametrize("of_e", [0, -1])
def test_a_penalized_b_near_the_origin_may_cost_more_than_it_must(of_e: int) -> None:
    """Blue points x and 2x, a red point 4x, K = 1, 1'a = 2 + e with e of the size of x^2.

    abs(s'a) could be e. For a = (e + d, 1; 1 - d) the objective is (x^2 (5d + e - 2)^2 + (e + 2d)^2)/2, least for
    d = (10 x^2 - 5 x^2 e - 2e)/(25 x^2 + 4), so that b = -(e + 2d) = -5 x^2 but for terms of higher order.
    """
    x = 2.0**-20
    e = 2.0**of_e * x * x
    d = (10.0 * x * x - 5.0 * x * x * e - 2.0 * e) / (25.0 * x * x + 4.0)
    found = SVMs3(nu=(2.0 + e) / 3.0, K=1.0).fit_uv([[x], [2.0 * x]], [[4.0 * x]])
    assert found.certificate_.ok
    assert found.b_ == pytest.approx(-(e + 2.0 * d), rel=1e-3)
    np.testing.assert_allclose(1.0 - found.mu_, d, rtol=1e-3)


@pytest.mark.parametrize("of_x", [-10, -12, -20])
def test_a_penalized_b_with_squared_slacks_is_counted_from_the_origin(of_x: int) -> None:
    """All multipliers are positive, so a, b and a multiplier theta of 1'a = K_m solve linear equations.

    For points x Y and 1/(2K) = x^2 they are (s_i s_j Y_i Y_j + I) a - s b/x^2 + 1 theta = 0 and s'a + b = 0.
    """
    x, Y, s = 2.0**of_x, np.array([0.9, 0.8, 0.3]), np.array([1.0, 1.0, -1.0])
    K, M = 0.5 / x / x, np.zeros((5, 5))
    M[:3, :3] = np.outer(s * Y, s * Y) + np.eye(3)
    M[3, :3], M[4, :3], M[:3, 3], M[:3, 4], M[3, 3] = s, 1.0, -s, 1.0, x * x
    *a, b, _ = np.linalg.solve(M, [0.0, 0.0, 0.0, 0.0, 1.5 * K])
    assert min(a) > 0.0
    found = SVMs5(nu=0.5, K=K).fit_uv(x * Y[:2, None], x * Y[2:, None])
    np.testing.assert_allclose([*found.lambda_, *found.mu_], a, rtol=1e-9)
    np.testing.assert_allclose(found.w_, [(s * a) @ Y * x], rtol=1e-9)
    assert found.b_ == pytest.approx(x * x * b, rel=1e-9)


@pytest.mark.parametrize("of_x", [-60, -15, 15, 30])
def test_a_price_is_small_or_large_beside_the_squares_of_the_points(of_x: int) -> None:
    """(SVM_s2) for points x X and the price K/x^2 is the same program in another unit."""
    x = 2.0**of_x
    low = SVMs2(K=2.0**-30 / x / x).fit_uv([[3.0 * x], [x]], [[0.0]])
    np.testing.assert_array_equal([*low.lambda_, *low.mu_], [0.0, low.K_, low.K_])
    np.testing.assert_allclose(low.w_ * x, [2.0**-30], rtol=1e-12)
    high = SVMs2(K=2.0**102 / x / x).fit_uv([[x + 2.0**-52 * x]], [[x]])
    np.testing.assert_array_equal([*high.lambda_, *high.mu_], high.K_)
    np.testing.assert_allclose(high.w_ * x, [2.0**50], rtol=1e-12)
    hard = SVMs2(K=2.0**110 / x / x).fit_uv([[4.0 * x]], [[-4.0 * x]])
    np.testing.assert_allclose(hard.w_ * x, [0.25], rtol=1e-12)


# -- what follows from a solved dual program, and how exactly


def _recovered(X: list, a: list, g: list, b: float, eta: float, **rest: object) -> Recovered:
    """Return two points, one of each colour, with the multipliers a, g and a slab as given."""
    options = {"upper": np.inf, "q": 0.0, "ridge": 0.0, "unit": 0, "squared": False} | rest
    penalize_b = options.get("penalize_b", False)
    data = make_points(np.array(X), np.array([1.0, -1.0]), as_kernel("linear"))
    data = data.in_unit(options["unit"])
    dual = DualProgram(
        P=data.signed_matrix(penalize_b=penalize_b, keep_origin=True, ridge=options["ridge"]),
        q=np.full(2, options["q"]),
        A=data.rows,
        c=np.zeros(2),
        upper=options["upper"],
        ridge=options["ridge"],
        penalize_b=penalize_b,
    )
    slab = Slab(b, eta, (b, b), (eta, eta), (b + eta, b + eta), (b - eta, b - eta))
    units = Units(options["unit"], 0)
    squared = bool(options["squared"])
    return Recovered(data, dual, np.array(a), np.array(g), slab, units, penalize_b, squared)


def test_points_below_their_hyperplane_have_slack_or_are_missed() -> None:
    """Margins (1/8, 1/4) against eta = 1/2: the second multiplier is at its bound, the first is not."""
    found = _recovered([[0.5], [-0.25]], [0.5, 1.0], [0.25, 0.125], b=0.125, eta=0.5, upper=1.0)
    assert found.margin.tolist() == [0.125, 0.25]
    assert found.slack.tolist() == [0.0, 0.25]
    assert found.lengths.tolist() == [0.5, 0.25]
    assert (found.reach, found.size) == (0.5, 0.25 + 0.5 + 0.125)
    assert found.miss() == 0.375 / 0.875


@pytest.mark.parametrize("x", [2.0**-20, 1.0, 2.0**20])
@pytest.mark.parametrize("q", [0.0, -1.0])
def test_misses_are_compared_with_the_terms_that_cancel_in_w(x: float, q: float) -> None:
    """Both points at x with a = (1, 1): w = 0, but its terms have the length 2x; without nu w is no question."""
    eta = 1e-7 * x * x
    found = _recovered([[x], [x]], [1.0, 1.0], [0.0, 0.0], b=0.0, eta=eta, upper=2.0, q=q)
    assert found.reach == (0.0 if q else 2.0 * x)
    assert found.miss() == pytest.approx(1.0 if q else eta / (1e-5 * x * 2.0 * x), rel=1e-12)


@pytest.mark.parametrize("x", [2.0**-20, 1.0, 2.0**20])
@pytest.mark.parametrize(("part", "vanishes"), [(1e-6, True), (4e-6, False)])
def test_a_normal_nearly_vanishes_beside_its_terms(x: float, part: float, vanishes: bool) -> None:
    """w = part x, from two terms of the length x."""
    P = np.array([[(1.0 + part) ** 2, -(1.0 + part)], [-(1.0 + part), 1.0]]) * x * x
    a = np.ones(2)
    found = _recovered([[(1.0 + part) * x], [x]], a, P @ a, b=0.0, eta=0.0)
    assert found.nearly_vanishes == vanishes


def test_squared_slacks_are_multipliers_and_put_points_on_their_hyperplanes() -> None:
    """P = K + I/2, so g less a/2 are the margins (1/4, 1/4): with the slacks (1/4, 1/4) eta is 1/2."""
    for eta in (0.25, 0.5, 1.0):
        found = _recovered(
            [[0.5], [-0.5]], [0.5, 0.5], [0.5, 0.5], b=0.0, eta=eta, ridge=0.5, squared=True
        )
        assert found.slack.tolist() == [0.25, 0.25]
        assert found.margin.tolist() == [0.25, 0.25]
        assert found.miss() == abs(0.5 - eta) / (0.5 + eta)


@pytest.mark.parametrize("error", [0.0, 2.0**-12])
@pytest.mark.parametrize("unit", [0, 1, 3])
@pytest.mark.parametrize("x", [2.0, 64.0])
def test_a_penalized_b_fits_together_with_w(x: float, unit: int, error: float) -> None:
    """a = (3/2, 1/2), so w = 2x and b = -1 for points x and -x; an error of b shows in the margins.

    In the unit 2^e the features are x/2^e and the constant 1/2^e, and so are the weights.
    """
    one = 2.0**-unit
    a, P = np.array([1.5, 0.5]), np.array([[x * x + 1.0, x * x - 1.0], [x * x - 1.0, x * x + 1.0]])
    g, b = one * one * P @ a, -1.0 + error
    options = {"upper": 2.0, "penalize_b": True, "unit": unit}
    found = _recovered([[x], [-x]], a, g, b=b, eta=0.25 * one * one, **options)
    assert (found.constant, found.bias) == (one, one * b)
    assert found.normal.w.tolist() == [2.0 * x * one]
    assert found.reach == 2.0 * one
    assert found.size == one * one * (2.0 * x * x + 1.0 + 0.25 + abs(b))
    assert found.miss() == error * one * one / found.size


def test_the_norm_beside_a_penalized_b_from_inner_products() -> None:
    """a'Pa is the sum of the squares of w and of b; near the origin b is a multiplier, and it is that of w alone."""
    data = nine_points()
    for machine in (SVMs3(nu=0.6), SVMs5(nu=0.6)):
        for x, K in ((1.0, None), (2.0**-13, 2.0**26)):
            machine.set_params(K=K, kernel="linear")
            by_features = clone(machine).fit_uv(x * data.u, x * data.v)
            machine.set_params(kernel=_inner_products)
            found = clone(machine).fit_uv(x * data.u, x * data.v)
            assert found.w_ is None
            assert found.norm_ == pytest.approx(by_features.norm_, rel=1e-10)
            assert found.objective_ == pytest.approx(by_features.objective_, rel=1e-9)


@pytest.mark.parametrize(
    ("value", "size", "part"), [(3.0, 2.0, 1.5), (3.0, 0.5, 6.0), (3.0, 0, 3.0)]
)
def test_a_part_of_nothing_is_the_value_itself(value: float, size: float, part: float) -> None:
    assert over(value, size) == part


# -- units and sizes


@pytest.mark.parametrize("unit", [0, 3, -3])
def test_lengths_and_sizes_of_features_that_only_the_kernel_knows(unit: int) -> None:
    """Lengths are in the unit; the size is that of the data: of inner products, or of a Gram matrix."""
    X, s = np.array([[0.5], [-0.25], [100.0]]), np.array([1.0, -1.0, -1.0])
    data = make_points(X, s, as_kernel(_inner_products)).in_unit(unit)
    assert data.lengths.tolist() == (np.array([0.5, 0.25, 100.0]) / 2.0**unit).tolist()
    assert data.size == 100.0
    assert make_points(X, s, Gaussian(1.0)).size == 1.0
    assert make_points(X @ X.T, s, as_kernel("precomputed")).size == 100.0
    indefinite = np.array([[0.0, 4.0], [4.0, 0.0]])
    assert make_points(indefinite, s[:2], as_kernel("precomputed")).size == 2.0


def test_a_dual_program_in_other_units_and_in_the_form_of_the_text() -> None:
    """With features 4 phi' and multipliers 8 a', P' is P/16, and q'a = 128 q'a'."""
    F, A = np.array([[1.0], [2.0]]), np.array([[1.0, -1.0]])
    dual = DualProgram(LowRank(F), np.array([-1.0, -1.0]), A, np.array([8.0]), 16.0, ridge=32.0)
    there = Units(2, 3).of(dual)
    assert (there.q.tolist(), there.c.tolist()) == ([-1 / 128, -1 / 128], [1.0])
    assert (there.upper, there.ridge) == (2.0, 2.0)
    assert Units().of(dual) is dual
    P, q, rows, c = dual.standard_form()
    assert P.tolist() == [[1, 2, 0, 0], [2, 4, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert q.tolist() == [-1.0, -1.0, 0.0, 0.0]
    assert rows.tolist() == [[1, -1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1]]
    assert c.tolist() == [8.0, 16.0, 16.0]
