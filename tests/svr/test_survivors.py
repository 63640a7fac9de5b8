"""Tests that kill mutants which all others let live: the tube, from the KKT conditions on s = y - P delta."""

import numpy as np
import pytest

from companion.svr import EpsilonSVR, NuSVR, NuSVRPenalizedBias, QuadraticNuSVR
from companion.svr.estimator import SupportVectorRegression
from companion.svr.tube import (
    Levels,
    TubeProgram,
    _ratio,
    certify,
    find_levels,
    hinge,
    least_value,
    middle,
    snap,
    tube_between,
)

INFINITY = float("inf")


def program(y: list[float], **rest: object) -> TubeProgram:
    """Return a program with P = I and c = 1."""
    options = {"upper": 1.0, "radius": INFINITY} | rest
    return TubeProgram(np.eye(len(y)), np.array(y), **options)


def tube(b: float, epsilon: float) -> Levels:
    low, high = b - epsilon, b + epsilon
    return Levels(b, epsilon, (b, b), (epsilon, epsilon), (low, low), (high, high))


# -- the width is given: l = b - 1 and u = b + 1


@pytest.mark.parametrize(
    ("s", "b"),
    [
        ([-3.0, 0.0, 2.5], (-1.0, 1.0)),  # -3 <= l <= 0 <= u <= 5/2
        ([-0.5, 0.0, 2.5], (0.5, 1.0)),  # -1/2 <= l
        ([-3.0, 0.0, 1.5], (-1.0, 0.5)),  # u <= 3/2
    ],
)
def test_a_tube_of_given_width_has_room(s: list[float], b: tuple[float, float]) -> None:
    delta = np.array([-1.0, 0.0, 1.0])
    found = find_levels(program([0.0] * 3, epsilon=1.0), np.array(s), delta)
    assert (found.b_interval, found.b) == (b, sum(b) / 2.0)
    assert (found.epsilon, found.epsilon_interval) == (1.0, (1.0, 1.0))
    assert found.blue_interval == (b[0] - 1.0, b[1] - 1.0)
    assert found.red_interval == (b[0] + 1.0, b[1] + 1.0)


@pytest.mark.parametrize(
    ("s", "delta", "epsilon", "b"),
    [
        ([-0.75, 0.0, 1.25], [-0.5, 0.0, 0.5], 1.0, 0.25),  # l = -3/4 and u = 5/4
        ([-0.75, 0.0, 1.75], [-0.5, 0.0, 0.5], 1.0, 0.5),  # but for rounding: their mean
        ([-9.0, 0.0, 1.25], [-1.0, 0.0, 0.5], 1.0, 0.25),  # u = 5/4
        ([0.5, 7.0], [0.0, 1.0], 0.0, 0.5),  # l = u: a point without multiplier is on both
    ],
)
def test_points_on_a_margin_fix_a_tube_of_given_width(
    s: list[float], delta: list[float], epsilon: float, b: float
) -> None:
    found = find_levels(program([0.0] * len(s), epsilon=epsilon), np.array(s), np.array(delta))
    assert (found.b, found.b_interval) == (b, (b, b))


def test_a_tube_that_rounding_has_turned_around_is_in_the_middle() -> None:
    delta = np.array([-1.0, 1.0])
    found = find_levels(program([0.0, 0.0], epsilon=0.5), np.array([1.0, 1.5]), delta)
    assert found.b_interval == (1.25, 1.25)


def test_a_tube_around_zero_of_given_width_is_what_it_is() -> None:
    given = program([0.0, 0.0], epsilon=0.75, balanced=False)
    found = find_levels(given, np.array([-5.0, 0.5]), np.array([-1.0, 0.0]))
    assert (found.b, found.epsilon) == (0.0, 0.75)
    assert (found.b_interval, found.epsilon_interval) == ((0.0, 0.0), (0.75, 0.75))
    assert (found.blue_interval, found.red_interval) == ((-0.75, -0.75), (0.75, 0.75))


# -- the width is free: the sum of the multipliers is tau


@pytest.mark.parametrize(
    ("s", "delta", "epsilon"),
    [
        ([-3.0, 2.0, 1.0], [-1.0, 1.0, 0.0], (1.0, 2.0)),  # at least 1, at most 3 and 2
        ([-3.0, 2.0, -1.0], [-1.0, 1.0, 0.0], (1.0, 2.0)),
        ([-1.5, 2.0, 0.5], [-1.0, 1.0, 0.0], (0.5, 1.5)),
        ([-1.5, 2.0, 0.5], [-0.5, 1.0, 0.0], (1.5, 1.5)),  # the first point is on its margin
        ([-3.0, -0.5], [-1.0, 1.0], (0.0, 0.0)),  # a red point below the middle
    ],
)
def test_the_width_of_a_tube_around_zero(
    s: list[float], delta: list[float], epsilon: tuple[float, float]
) -> None:
    tau = float(np.abs(delta).sum())
    given = program([0.0] * len(s), radius=tau, balanced=False)
    found = find_levels(given, np.array(s), np.array(delta))
    assert (found.b, found.b_interval) == (0.0, (0.0, 0.0))
    assert (found.epsilon, found.epsilon_interval) == (sum(epsilon) / 2.0, epsilon)
    assert found.red_interval == epsilon
    assert found.blue_interval == (-epsilon[1], -epsilon[0])
    assert "-0.0" not in str(found.blue_interval)


def test_both_levels_of_a_tube_are_free() -> None:
    """l is between -2 and -1/2, u between 1/4 and 3."""
    s, delta = np.array([-2.0, -0.5, 0.25, 3.0]), np.array([-1.0, 0.0, 0.0, 1.0])
    found = find_levels(program([0.0] * 4, radius=2.0), s, delta)
    assert (found.blue_interval, found.red_interval) == ((-2.0, -0.5), (0.25, 3.0))
    assert (found.b_interval, found.epsilon_interval) == ((-0.875, 1.25), (0.375, 2.5))
    assert (found.b, found.epsilon) == (0.1875, 1.4375)
    wide = find_levels(program([0.0] * 4, radius=2.0 + 1e-6, epsilon=1.0), s, delta)
    assert wide.epsilon_interval == (1.0, 1.0)


# -- parts


def test_multipliers_that_rounding_keeps_from_zero_and_from_their_bounds() -> None:
    delta = np.array([-1e-14, 0.5, -(1.0 - 1e-14), 1.0 - 1e-14, 1.0 - 1e-9])
    assert snap(delta, 1.0).tolist() == [0.0, 0.5, -1.0, 1.0, 1.0 - 1e-9]
    assert snap(delta, INFINITY).tolist() == [0.0, *delta[1:]]
    tiny = np.array([3e-13, 1e-13])
    assert snap(tiny, 1.0).tolist() == tiny.tolist()
    assert snap(np.array([1024.0 - 5e-10, 1.0]), 1024.0).tolist() == [1024.0, 1.0]
    assert snap(np.zeros(2), 1.0).tolist() == [0.0, 0.0]
    assert snap(np.zeros(0), 1.0).size == 0


@pytest.mark.parametrize(
    ("interval", "value"),
    [
        ((1.0, 4.0), 2.5),
        ((1.0, INFINITY), 1.0),
        ((-INFINITY, 4.0), 4.0),
        ((-INFINITY, INFINITY), 0.0),
    ],
)
def test_the_middle_of_an_interval(interval: tuple[float, float], value: float) -> None:
    assert middle(interval) == value


@pytest.mark.parametrize(("radius", "idle"), [(3.0, True), (3.5, True), (2.75, False)])
def test_the_box_may_imply_the_ball(radius: float, idle: bool) -> None:
    """Three entries of at most 1 have at most the sum 3."""
    assert program([0.0] * 3, radius=radius).ball_is_idle == idle
    assert program([0.0] * 3, radius=2.0 * radius, upper=2.0).ball_is_idle == idle


def test_a_program_and_its_tube_in_another_unit() -> None:
    given = program([4.0, -2.0], upper=8.0, radius=12.0, epsilon=2.0, reach=6.0)
    half = given.scaled(2.0)
    assert half.y.tolist() == [2.0, -1.0]
    assert (half.upper, half.radius, half.epsilon, half.reach) == (4.0, 6.0, 1.0, 3.0)
    assert given.residual(np.array([1.0, 3.0])).tolist() == [3.0, -5.0]
    levels = Levels(1.0, 2.0, (0.0, 3.0), (1.0, 4.0), (-2.0, -1.0), (2.0, 6.0))
    assert vars(levels.scaled(0.5)) == vars(
        Levels(0.5, 1.0, (0.0, 1.5), (0.5, 2.0), (-1.0, -0.5), (1.0, 3.0))
    )
    assert vars(levels.moved(1.0)) == vars(
        Levels(2.0, 2.0, (1.0, 4.0), (1.0, 4.0), (-1.0, 0.0), (3.0, 7.0))
    )


def test_the_loss_of_what_lies_beyond_the_tube() -> None:
    residuals = np.array([-3.0, -1.0, 0.5, 1.0 + 1e-15, 2.0])
    assert hinge(residuals, 1.0, 3.0).tolist() == [2.0, 0.0, 0.0, 0.0, 1.0]
    assert hinge(residuals, 1.0, 0.0)[3] > 0.0


def test_values_that_rounding_hides() -> None:
    """1e-5 of |y| |delta|_1, and 1e-4 of C |y|."""
    given = program([-4.0, 2.0], upper=0.5)
    assert least_value(given, 100.0) == pytest.approx(4e-3, rel=1e-12)
    assert least_value(given, 1.0) == pytest.approx(4e-4, rel=1e-12)
    assert least_value(program([0.25], upper=0.5), 1.0) == pytest.approx(1.25e-5, rel=1e-12)
    assert least_value(program([-4.0, 2.0], upper=INFINITY), 1.0) == pytest.approx(4e-5, rel=1e-12)


# -- the certificate, by the five conditions and by the two objectives


def test_the_certificate_of_an_optimal_tube() -> None:
    """One point on each margin, one beyond it: delta = (-1, -1/2, 0, 1/2, 1), tau = 3, b = 1, epsilon = 2."""
    delta, s = np.array([-1.0, -0.5, 0.0, 0.5, 1.0]), np.array([-1.5, -1.0, 0.5, 3.0, 4.0])
    for given in (
        program(s + delta, radius=3.0),
        program(s + delta, epsilon=2.0),
        program(s + delta, radius=3.0, balanced=False),
    ):
        found = certify(given, s, delta, tube(1.0, 2.0), 1e-9)
        residuals = [found.primal_residual, found.dual_residual, found.complementarity, found.gap]
        assert residuals == pytest.approx([0.0] * 4, abs=1e-15)
        assert found.tolerance == 1e-9


@pytest.mark.parametrize("error", [2.0**-6, -(2.0**-6)])
@pytest.mark.parametrize("i", range(5))
def test_the_certificate_measures_the_five_conditions(i: int, error: float) -> None:
    """Points on the margins -1 and 3; with s_i moved, only a point that may be there is not off."""
    delta, s = np.array([-1.0, -0.5, 0.0, 0.5, 1.0]), np.array([-1.0, -1.0, 3.0, 3.0, 3.0])
    y = s + delta
    s[i] += error
    allowed = (i == 0 and error < 0.0) or (i == 2 and error < 0.0) or (i == 4 and error > 0.0)
    found = certify(program(y, radius=3.0), s, delta, tube(1.0, 2.0), 1e-9)
    assert found.dual_residual == (0.0 if allowed else abs(error) / 4.0)


@pytest.mark.parametrize(
    ("options", "price", "idle"),
    [
        ({"radius": 4.0}, 8.0, 2.0),
        ({"radius": 3.0}, 6.0, 0.0),
        ({"epsilon": 2.0}, 6.0, 0.0),
        ({"radius": 4.0, "upper": INFINITY}, 8.0, 2.0),
        ({"radius": 4.0, "upper": 2.0}, 8.0, 2.0),
    ],
)
def test_the_certificate_compares_the_objectives(
    options: dict[str, float], price: float, idle: float
) -> None:
    """1/2 d'Pd + price + loss against y'd - 1/2 d'Pd, where the slacks are (1/2, 0, 0, 0, 1)."""
    delta, s = np.array([-1.0, -0.5, 0.0, 0.5, 1.0]), np.array([-1.5, -1.0, 0.5, 3.0, 4.0])
    y = s + 2.0 * delta + 0.25  # P = 2 I, and an error
    fitted = y - s
    found = certify(program(y, **options), s, delta, tube(1.0, 2.0), 1e-9)
    upper = options.get("upper", 1.0)
    loss = 1.5 * upper if np.isfinite(upper) else 0.0
    gap = delta @ fitted + price + loss - y @ delta
    largest = max(abs(delta @ fitted), price, loss)
    assert found.gap == pytest.approx(abs(gap) / largest, rel=1e-12, abs=1e-16)
    assert found.complementarity == pytest.approx(idle / largest, rel=1e-12)


@pytest.mark.parametrize(
    ("delta", "tau", "balanced", "residual"),
    [
        ([1.0, -0.5], 2.0, True, 0.5 / 1.5),  # the sum is 1/2, of 3/2
        ([1.0, -0.5], 2.0, False, 0.0),
        ([1.0, -1.0], 1.5, True, 0.5 / 1.5),  # 1/2 more than 3/2
        ([1.0, -0.5], 1.0, True, 0.5),
        ([0.25, -0.25], 0.0, True, 0.5),
        ([0.0, 0.0], 0.0, True, 0.0),
    ],
)
def test_the_certificate_measures_balance_and_ball(
    delta: list[float], tau: float, balanced: bool, residual: float
) -> None:
    given = program([3.0, -3.0], radius=tau, balanced=balanced)
    found = certify(given, np.array([2.0, -2.0]), np.array(delta), tube(0.0, 1.0), 1e-9)
    assert found.primal_residual == pytest.approx(residual, rel=1e-15)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["delta", "b", "epsilon"])
def test_what_is_not_finite_is_certified_as_such(bad: float, where: str) -> None:
    values = {"delta": 1.0, "b": 0.0, "epsilon": 1.0} | {where: bad}
    delta = np.array([values["delta"], -1.0])
    levels = tube(values["b"], values["epsilon"])
    found = certify(program([3.0, -3.0], radius=2.0), np.array([2.0, -2.0]), delta, levels, 1e-9)
    assert not found.ok
    assert found.worst == INFINITY
    assert found.tolerance == 1e-9


@pytest.mark.parametrize(
    ("y", "s", "b", "epsilon", "misfit", "largest"),
    [
        ([0.25, -0.25], [-8.0, 8.0], 0.0, 1.0, 9.0, 8.25),  # P delta is the largest
        ([0.25, -0.25], [0.25, -0.25], 3.0, 1.0, 3.75, 3.0),  # b
        ([0.25, -0.25], [0.25, -0.25], 0.0, 2.0, 1.75, 2.0),  # epsilon
        ([0.25, -0.25], [0.25, -0.25], 0.0, 0.5, 0.25, 0.5),
        ([0.75, -0.75], [0.25, -0.25], 0.0, 0.5, 0.25, 0.75),  # y
    ],
)
def test_misfits_are_compared_with_the_largest_number(
    y: list[float], s: list[float], b: float, epsilon: float, misfit: float, largest: float
) -> None:
    """delta = (1, -1) asks for s_1 - b >= epsilon and b - s_2 >= epsilon."""
    delta = np.array([1.0, -1.0])
    found = certify(program(y, radius=2.0), np.array(s), delta, tube(b, epsilon), 1e-9)
    assert found.dual_residual == misfit / largest


@pytest.mark.parametrize(
    ("y", "s", "size", "epsilon", "largest"),
    [
        (4.0, 1.0, 1.0, 0.5, 6.0),  # delta'P delta
        (9.0, 8.0, 1.0, 0.5, 15.0),  # the loss
        (1.0, 0.5, 1.0, 0.5, 1.5),  # the price of epsilon
        (1e3, 1e3, 2.0**-40, 1e3, 0.2),  # what rounding hides of the loss in an exact fit
    ],
)
def test_a_gap_is_compared_with_the_largest_term(
    y: float, s: float, size: float, epsilon: float, largest: float
) -> None:
    """tau is half as large again as the sum of the multipliers: the gap is what is idle of it, times epsilon."""
    delta = np.array([size, -size])
    given = program([y, -y], radius=3.0 * size)
    found = certify(given, np.array([s, -s]), delta, tube(0.0, epsilon), 1e-9)
    assert found.gap == pytest.approx(size * epsilon / largest, rel=1e-9)
    assert found.complementarity == pytest.approx(size * epsilon / largest, rel=1e-12)


@pytest.mark.parametrize(
    ("blue", "red", "b", "epsilon"),
    [
        ((0.0, 2.0), (0.0, 2.0), (0.0, 2.0), (0.0, 1.0)),
        ((0.0, 2.0), (1.0, 4.0), (0.5, 3.0), (0.0, 2.0)),
        ((0.0, 3.0), (1.0, 2.0), (0.5, 2.0), (0.0, 1.0)),
        ((0.0, 0.5), (0.25, 0.75), (0.125, 0.625), (0.0, 0.375)),
    ],
)
def test_the_pairs_of_levels_that_are_in_order(
    blue: tuple[float, float],
    red: tuple[float, float],
    b: tuple[float, float],
    epsilon: tuple[float, float],
) -> None:
    """Of all l in the first interval and u in the second those with l <= u count; b and epsilon are midpoints."""
    found = tube_between(blue, red)
    assert (found.b_interval, found.epsilon_interval) == (b, epsilon)
    assert (found.b, found.epsilon) == (sum(b) / 2.0, sum(epsilon) / 2.0)
    assert (found.blue_interval, found.red_interval) == (blue, red)


def test_parts_of_nothing() -> None:
    assert (_ratio(3.0, 0.5), _ratio(3.0, 0.0), _ratio(0.0, 0.0)) == (6.0, INFINITY, 0.0)


# -- b and epsilon from one support vector: values without features, so that f = b = 2


def fitted(machine: type, y: list[float], delta: list[float], nu: float) -> SupportVectorRegression:
    """Return a regression for C = m with another of its solutions, as delta is not unique for equal points."""
    m = len(y)
    model = machine(nu=nu, C=float(m)).fit(np.zeros((m, 1)), y)
    model.b_, model.epsilon_, model.dual_coef_ = 2.0, 1.0, np.array(delta)
    model.residuals_ = np.array(y) - 2.0
    model._store_points(model.dual_coef_, 1.0, model.residuals_, 0.0, 1e-9)
    return model


def test_every_point_on_a_margin_gives_both_levels_and_no_other_does() -> None:
    """Of three points on each margin one has the multiplier 1, one 1/2 and one 0."""
    y, delta = [1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0], [-1.0, -0.5, 0.0, 0.0, 0.0, 0.5, 1.0]
    model = fitted(NuSVR, y, delta, nu=3 / 7)
    kinds = ["type 2", "type 1", "exceptional"]
    assert model.point_classes_.tolist() == [*kinds, "inside", *kinds[::-1]]
    assert model.standard_margin_hypothesis_
    for i in (None, 0, 1, 2, 4, 5, 6):
        assert model.margins_from_gap(i) == pytest.approx((2.0, 1.0), rel=1e-12)
    for i in (3, 7, 8):
        with pytest.raises(ValueError, match="must be a support vector on one margin"):
            model.margins_from_gap(i)


def test_errors_are_on_no_margin() -> None:
    """The outer points have slack 1 and 2: it enters the gap, but they do not tell where a margin is."""
    y, delta = [0.0, 1.0, 1.5, 3.0, 5.0], [-1.0, -0.5, 0.0, 0.5, 1.0]
    model = fitted(NuSVR, y, delta, nu=0.6)
    assert model.point_classes_.tolist() == ["error", "type 1", "inside", "type 1", "error"]
    for i in (None, 1, 3):
        assert model.margins_from_gap(i) == pytest.approx((2.0, 1.0), rel=1e-12)
    for i in (0, 2, 4):
        with pytest.raises(ValueError, match="must be a support vector on one margin"):
            model.margins_from_gap(i)


def test_at_a_critical_nu_the_gap_does_not_tell_epsilon() -> None:
    """m nu = 2 points fail the margin: epsilon drops out of the equation."""
    model = fitted(NuSVR, [1.0, 1.5, 2.0, 2.5, 3.0], [-1.0, 0.0, 0.0, 0.0, 1.0], nu=0.4)
    for i in (None, 0, 4):
        assert np.isnan(model.margins_from_gap(i)).tolist() == [True, True]
    assert np.isnan(model.margins_by_averaging()).tolist() == [True, True]
    assert not model.standard_margin_hypothesis_
    penalized = fitted(NuSVRPenalizedBias, [1.0, 2.0, 3.0], [-1.0, 0.0, 1.0], nu=2 / 3)
    assert penalized.margins_from_gap().b == 2.0
    assert np.isnan(penalized.margins_from_gap().epsilon)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_margin_hypothesis_needs_both_colours(sign: float) -> None:
    y, delta = sign * np.array([-1.0, 0.0, 1.0, 1.0]) + 2.0, sign * np.array([-1.0, 0.0, 0.5, 0.5])
    assert not fitted(NuSVR, y.tolist(), delta.tolist(), nu=0.5).standard_margin_hypothesis_


def test_no_multiplier_no_level() -> None:
    """In an exact fit epsilon is 0, and points on both margins have no colour."""
    exact = NuSVR(nu=0.5, C=2.0).fit([[0.0], [1.0]], [0.0, 0.0])
    assert exact.point_classes_.tolist() == ["exceptional", "exceptional"]
    assert exact.colours_.tolist() == ["", ""]
    assert np.isnan(exact.margins_from_gap()).tolist() == [True, True]
    with pytest.raises(ValueError, match="must be a support vector on one margin"):
        exact.margins_from_gap(0)
    model = QuadraticNuSVR(nu=0.5, C=2.0).fit([[0.0], [1.0]], [0.0, 0.0])
    assert np.isnan(model.margins_by_averaging()).tolist() == [True, True]


def machines(j: int, k: int) -> list[SupportVectorRegression]:
    """Return regressions for points 2^k X and values 2^j y, which differ from those of X and y by powers of 2."""
    y, price = 2.0**j, 2.0 ** (j - 2 * k)
    return [
        NuSVR(nu=0.5, C=4.0 * price),
        NuSVR(nu=1.5, C=4.0 * price),
        EpsilonSVR(epsilon=0.5 * y, C=4.0 * price),
        QuadraticNuSVR(nu=0.5 * y, C=4.0 * 2.0 ** (-2 * k)),
        *([NuSVRPenalizedBias(nu=0.5, C=4.0 * price)] if k == 0 else []),
    ]


def test_points_that_rounding_puts_inside_the_tube_have_no_slack() -> None:
    """Neither a point with the multiplier C/m just inside its margin, nor one without multiplier just outside."""
    e = 2.0**-40
    model = fitted(NuSVR, [1.0 + e, 2.0, 3.0 + e], [-1.0, 0.0, 0.0], nu=0.5)
    assert model.xi_.tolist() == model.xi_prime_.tolist() == [0.0, 0.0, 0.0]


def test_what_is_left_of_the_sum_of_the_multipliers() -> None:
    """gamma is C nu - |delta|_1 where epsilon is 0, exactly 0 where it is not, and 0 where it is no variable."""
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((8, 2)), rng.standard_normal(8)
    left = NuSVR(nu=1.5, C=4.0).fit(X, y)
    assert left.epsilon_ == 0.0
    assert left.gamma_ == pytest.approx(6.0 - np.abs(left.dual_coef_).sum(), rel=1e-12)
    assert left.gamma_ >= 2.0
    for model in (NuSVR(nu=0.5), NuSVR(nu=0.3, C=0.7), EpsilonSVR(epsilon=0.5)):
        assert model.fit(X, y).gamma_ == 0.0
