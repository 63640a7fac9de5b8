"""Prices that are large against 1/|x|^2: certified means proved, and the answer is found all the same."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from companion.admm import project_box
from companion.exceptions import ConvergenceWarning
from companion.kernels import Gaussian
from companion.svm import HardMarginSVC, SVMs1, SVMs2, SVMs2l, SVMs2prime, SVMs3, SVMs4, SVMs5
from companion.svm.soft_margin import SupportVectorMachine
from companion.svm.training import primal_newton
from companion.svr import EpsilonSVR, NuSVR, NuSVRPenalizedBias, QuadraticNuSVR
from tests.exact.judge import judge

ROW = np.array([[0.0], [1.0], [2.0], [3.0]])
SIGNS = np.array([-1, 1, -1, 1])
RNG = np.random.default_rng(5)
CLOUD = RNG.standard_normal((40, 3))
NOISY = np.where(CLOUD[:, 0] + RNG.standard_normal(40) > 0.0, 1, -1)
HARD, VALUES = np.where(CLOUD[:, 0] > 0.0, 1, -1), CLOUD[:, 1] + NOISY
UNITS = np.array([1e-5, 1.0, 1e5])


@pytest.mark.parametrize(("scale", "K"), [(1.0, 10.0), (1e6, 10.0), (1e9, 1.0), (1.0, 1e12)])
def test_alternating_points_have_the_answer_by_hand(scale: float, K: float) -> None:
    """The objective is w^2/2 + K (u1 + u2), with two slacks of 4/3 at w = 2/3, b = 1."""
    machine = SVMs2(K=K).fit(scale * ROW, SIGNS)
    assert machine.certificate_.ok
    assert (machine.w_[0] * scale, machine.b_) == pytest.approx((2 / 3, 1.0), rel=1e-9)
    assert (machine.predict(scale * ROW) == [-1, -1, 1, 1]).all()


@pytest.mark.parametrize("units", [1.0, UNITS], ids=["one unit", "three units"])
@pytest.mark.parametrize("power", [0, 4, 8, 12])
def test_stored_objectives_are_those_of_the_stored_hyperplane(power: int, units) -> None:
    X = CLOUD * units
    machine = SVMs2(K=10.0**power / max(np.max(units), 1.0) ** 2).fit(X, NOISY)
    assert machine.certificate_.ok
    assert judge(machine, X, NOISY) <= 2e-9
    assert machine.dual_objective_ <= machine.objective_ * (1.0 + machine.certificate_.gap)


def test_a_point_without_weight_changes_nothing() -> None:
    """It may miss its margin by as much as it likes. The two columns are x and 1000 x^2."""
    X = np.array([[x, 1e3 * x * x] for x in (0.0, 1.0, 2.0, 3.0, 9.0)])
    machine = SVMs2(K=1e12).fit(X, [*SIGNS, -1], [1, 1, 1, 1, 0])
    assert machine.certificate_.ok
    assert machine.objective_ == pytest.approx(SVMs2(K=1e12).fit(X[:4], SIGNS).objective_, rel=1e-9)


def test_a_gram_matrix_of_points_far_from_the_origin() -> None:
    far = ROW + 3e7
    machine = SVMs2(K=10.0, kernel="precomputed").fit(far @ far.T, SIGNS)
    assert machine.certificate_.ok
    assert machine.objective_ == pytest.approx(2 / 9 + 80 / 3, rel=1e-9)


def test_a_square_that_rounding_made_negative_is_no_zero() -> None:
    """(1, -1) has the square -2^-12 here; 1e4 times that vector, which is taken for w = 0, has -1e8 2^-12."""
    G = 1e12 + np.array([[0.0, 2.0**-13], [2.0**-13, 0.0]])
    with pytest.warns(ConvergenceWarning, match="misses tol"):
        machine = SVMs2(K=1e4, kernel="precomputed").fit(G, [0, 1])
    assert machine.certificate_.gap * machine.objective_ >= 0.5e8 * 2.0**-12


@pytest.mark.parametrize("power", [-40, 7, 40])
@pytest.mark.parametrize(("machine", "y"), [
    *((SVMs2(K=K), NOISY) for K in (1e-3, 1e6)), (SVMs2prime(0.9, K=1.0), NOISY), (SVMs4(0.5, K=1.0), NOISY),
    (EpsilonSVR(epsilon=0.2, C=1.0), VALUES),
    *((model(nu, C=1.0), VALUES) for model in (NuSVR, QuadraticNuSVR) for nu in (0.1, 0.6)),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:the solution misses")
def test_another_unit_of_the_points_is_another_price(machine, y, power: int) -> None:
    """Fits of c X for K and of X for c^2 K are one computation: the answers are multiples, digit by digit."""
    c, price = 2.0**power, next((name for name in ("K", "C") if hasattr(machine, name)), None)
    one = clone(machine).fit(c * CLOUD, y)
    two = clone(machine)
    two.set_params(**({price: c * c * getattr(two, price)} if price else {})).fit(CLOUD, y)
    assert one.certificate_.worst == two.certificate_.worst
    assert (one.predict(c * CLOUD) == two.predict(CLOUD)).all()
    squares = dict.fromkeys(("dual_coef_", "objective_", "dual_objective_"), c * c)
    for name, factor in {"w_": c, "b_": 1.0, **squares}.items():
        assert np.all(getattr(one, name) * factor == getattr(two, name)), name


@pytest.mark.parametrize("power", [-40, 13, 40])
@pytest.mark.parametrize("machine", [SVMs1(), SVMs2l(), HardMarginSVC()])
def test_a_machine_without_such_a_price_has_the_same_hyperplane(machine, power: int) -> None:
    """In (SVM_s1) the price is beside a width, in (SVM_s2l) it is alone: w remains, or is divided by c."""
    c, y = 2.0**power, HARD if isinstance(machine, HardMarginSVC) else NOISY
    one, two = clone(machine).fit(c * CLOUD, y), clone(machine).fit(CLOUD, y)
    assert one.certificate_.ok is two.certificate_.ok is True
    assert (one.predict(c * CLOUD) == two.predict(CLOUD)).all()
    assert one.w_ * (1.0 if isinstance(machine, SVMs1) else c) == pytest.approx(two.w_, rel=1e-8)


@pytest.mark.parametrize(("n", "sigma"), [(60, 2.0), (120, 5.0), (250, 0.5), (250, 2.0)])
def test_the_linear_program_of_a_gaussian_kernel_is_proved(n: int, sigma: float) -> None:
    y = np.where(np.arange(n) % 2, 1, -1)
    X = np.random.default_rng(1).standard_normal((n, 2)) + 0.5 * y[:, None]
    machine = SVMs2l(kernel="gaussian", kernel_params={"sigma": sigma}).fit(X, y)
    assert machine.certificate_.ok
    assert (machine.predict(X) != y).sum() <= machine.objective_ + 1e-9  # each costs 1 or more


def test_the_linear_program_sees_all_images_beside_a_long_one() -> None:
    X = np.vstack([[1e6, 0.0, 0.0], CLOUD[:9]])
    one, two = SVMs2l().fit(X, NOISY[:10]), SVMs2l(kernel="precomputed").fit(X @ X.T, NOISY[:10])
    assert one.certificate_.ok is two.certificate_.ok is True
    assert two.objective_ == pytest.approx(one.objective_, rel=1e-9)


@pytest.mark.parametrize("K", [1e6, 1e8, 1e12])
def test_contradictory_points_of_a_gaussian_kernel(K: float) -> None:
    X, y = [[0.0], [0.0], [3.0], [1.0]], [0, 1, 1, 0]
    machine = SVMs2(K=K, kernel="rbf").fit(X, y)
    assert machine.certificate_.ok
    assert machine.objective_ - 2 * K == pytest.approx(1.1565, abs=1e-3 + 1e-9 * K)
    assert machine.predict([[3.0], [1.0]]).tolist() == [1, 0]


@pytest.mark.parametrize("kernel", ["linear", "gaussian", "poly", "precomputed"])
@pytest.mark.parametrize("machine", [
    SVMs2, SVMs2prime, SVMs3, SVMs4, SVMs5, EpsilonSVR, NuSVR, NuSVRPenalizedBias, QuadraticNuSVR,
])  # fmt: skip
def test_the_answer_is_found_for_prices_up_to_1e14(machine, kernel: str) -> None:
    """Ten places with two observations each: the judge bounds the distance from the optimum, in exact arithmetic."""
    X, square = np.repeat(CLOUD[:10, :2], 2, axis=0), 1.0
    y = np.where(X[:, 0] > 0.0, 1, -1) * np.sign(np.arange(20) - 0.5)  # one place has both labels
    y = y if issubclass(machine, SupportVectorMachine) else VALUES[:20]
    if kernel == "precomputed":
        X = Gaussian()(X)
    elif kernel != "gaussian":
        square = np.mean((np.sum(X * X, axis=1) + (kernel == "poly")) ** (1 + (kernel == "poly")))
    model = machine(kernel=kernel, kernel_params={"degree": 2} if kernel == "poly" else None)
    price = "K" if hasattr(model, "K") else "C"
    model.set_params(**({"nu": 0.4} if hasattr(model, "nu") else {}))
    for power in (10, 12, 14):
        model.set_params(**{price: 10.0**power / square}).fit(X, y)
        assert model.certificate_.ok
        assert judge(model, X, y) <= 1e-9


def test_labels_of_two_types_are_refused_and_nullable_booleans_stay_booleans() -> None:
    with pytest.raises(TypeError, match="both numbers or both strings, got objects: int, str"):
        SVMs2().fit(ROW, np.array(["a", 1, "a", 1], dtype=object))
    labels = pd.Series([False, True, False, True], dtype="boolean")
    assert SVMs2().fit(ROW, labels).classes_.dtype == bool


def test_numbers_in_a_refusal_are_told_apart() -> None:
    with pytest.raises(ValueError, match=r"lower = 1.000000001, upper = 1;"):
        project_box([0.0], 1.0 + 1e-9, 1.0)
    with pytest.raises(ValueError, match=r"got 1.000000001"):
        primal_newton(ROW, [1.0 + 1e-9, 1.0, -1.0, -1.0])


def test_a_refusal_names_a_price_for_which_the_answer_is_proved() -> None:
    points = np.array([[0.0], [1e-3], [2e-3], [1.0]])
    machine = SVMs4(0.5, K=1e20, kernel="gaussian")
    with pytest.warns(ConvergenceWarning, match="leaves .* open, and K = 1e") as told:
        machine.fit(points, SIGNS)
    price = float(str(told[0].message).rsplit("lower K, to about ", 1)[1])
    assert price < machine.K
    assert machine.set_params(K=price).fit(points, SIGNS).certificate_.ok
