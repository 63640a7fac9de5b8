"""The programs of chapter 20: primal against dual, exact values, the text's printed counts and propositions."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from companion.admm import qsolve1
from companion.datasets import example_19_1, text_x13
from companion.kernels import Gaussian
from companion.svr import EpsilonSVR, NuSVR, NuSVRPenalizedBias, QuadraticNuSVR, tube_from_offsets
from tests.exact import verify
from tests.svm.convex import KERNELS, features, minimum

pytestmark = pytest.mark.filterwarnings("error")
# on Example 19.1 with C = 8: machine, w, b, epsilon, value
EXACT = [
    (NuSVR(0.3, C=8.0), (677 / 580, 33 / 29), -743 / 580, 253 / 580, 2.6583249108),
    (NuSVR(0.45, C=8.0), (677 / 580, 33 / 29), -743 / 580, 253 / 580, 3.1817731867),
    (NuSVR(0.7, C=8.0), (389 / 340, 381 / 340), -771 / 680, 169 / 680, 3.7711851211),
    (NuSVRPenalizedBias(0.3, C=8.0), (1159 / 1120, 55 / 56), -127 / 140, 253 / 560, None),
    (EpsilonSVR(1.0, C=8.0), (23 / 26, 21 / 26), -1.0, 1.0, 0.7174556213),
]
# nu, w, b, epsilon, (p_f, q_f, p_m, q_m), points inside: Figures 20.11 to 20.15
FIFTY = [
    (0.03, 0.9691887324, 23.9078342034, 25.9206483625, (0, 0, 2, 1), 47),
    (0.21, 0.9824799066, 19.9567330744, 14.8094630778, (4, 5, 6, 6), 38),
    (0.5, 1.0113004969, 18.7588223908, 7.6545952691, (12, 12, 13, 14), 23),
    (0.7, 0.9392771780, 18.5169678358, 4.3704318284, (17, 17, 18, 19), 13),
    (0.97, 0.9278045333, 18.4834090071, 0.4130622451, (23, 24, 25, 25), 0),
]


def primal(model, Phi, y):
    """Solve the primal program of a regression for explicit features; return value, w, b, epsilon."""
    m, N = Phi.shape
    w, b = cp.Variable(N), cp.Variable()
    xi, xi_prime = cp.Variable(m, nonneg=True), cp.Variable(m, nonneg=True)
    C, epsilon = m if model.C is None else model.C, cp.Variable(nonneg=True)
    f, kind = Phi @ w + b, type(model)
    slack = cp.sum(xi + xi_prime)
    if kind is QuadraticNuSVR:
        slack = cp.sum_squares(xi) + cp.sum_squares(xi_prime)
    objective = cp.sum_squares(w) / 2 + C / m * slack
    objective += cp.square(b) / 2 * (kind is NuSVRPenalizedBias)
    rules = [f - y <= epsilon + xi, y - f <= epsilon + xi_prime]
    if kind is EpsilonSVR:
        value = minimum(objective, [*rules, epsilon == model.epsilon])
    else:
        value = minimum(objective + C * model.nu * epsilon, rules)
    return value, w.value, float(b.value), float(epsilon.value)


def random_set(seed):
    """Return points on a bent surface with heavy-tailed noise."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(8, 26)), int(rng.integers(1, 4))
    m += 50 * (seed > 11)  # LIBSVM guesses for large ones
    X = rng.standard_normal((m, n))
    y = np.sin(X).sum(axis=1) + 3.0 + 0.4 * rng.standard_t(3, size=m)
    if seed % 3 == 0:  # ties
        X, y = np.round(X, 1), np.round(y, 1)
    return X, y


def regressions(kernel, m, seed):
    """Return the four regressions; every third nu is critical, m nu/2 or m nu being an integer."""
    rng = np.random.default_rng(seed)
    C = float(m * np.exp(rng.uniform(-2.0, 2.0)))
    nu = float(rng.uniform(0.1, 1.1))
    if seed % 3 == 1:
        nu = 2.0 * round(nu * m / 2.0) / m
    found = [kind(nu, C=C, kernel=kernel) for kind in (NuSVR, NuSVRPenalizedBias, QuadraticNuSVR)]
    return [*found, EpsilonSVR(float(rng.uniform(0.0, 0.8)), C=C, kernel=kernel)]


@pytest.mark.parametrize("seed", range(14))
@pytest.mark.parametrize("name", KERNELS)
def test_primal_equals_dual(name, seed):
    """Each regression against the independent solution of its primal program, and its KKT conditions exactly."""
    X, y = random_set(seed)
    kernel = KERNELS[name]
    Phi = features(kernel, X)
    for model in regressions(kernel, len(y), seed):
        model.fit(X, y)
        value, w, b, epsilon = primal(model, Phi, y)
        size = model.C_ * np.abs(y - y.mean()).mean()  # the objective of w = 0, roughly
        assert model.objective_ == pytest.approx(value, rel=1e-8, abs=1e-10 * size)
        assert model.dual_objective_ == pytest.approx(value, rel=1e-8, abs=1e-10 * size)
        assert model.certificate_.ok
        assert verify(model, X, y).ok
        near = 3e-4 * np.ptp(y)
        assert_allclose(model.predict(X) - model.b_, Phi @ w, atol=near)
        assert model.b_interval_[0] - near <= b <= model.b_interval_[1] + near
        low, high = model.epsilon_interval_
        assert low - near <= epsilon <= high + near
        assert not np.any([model.lambda_ * model.mu_, model.xi_ * model.xi_prime_])  # Prop. 20.1
        if not isinstance(model, EpsilonSVR):
            left = model.C_ * model.nu - (model.lambda_ + model.mu_).sum()
            assert model.gamma_ == pytest.approx(left, abs=1e-10 * model.C_ * model.nu)
            assert model.gamma_ * model.epsilon_ == 0.0


@pytest.mark.parametrize("case", EXACT, ids=lambda case: repr(case[0]))
def test_rational_optima_of_example_19_1(case):
    model, w, b, epsilon, value = case
    data = example_19_1()
    model.fit(data.X, data.y)
    assert_allclose([*model.w_, model.b_, model.epsilon_], [*w, b, epsilon], rtol=1e-11)
    assert value is None or model.objective_ == pytest.approx(value, abs=5e-11)


@pytest.mark.parametrize("case", FIFTY, ids=lambda case: f"nu={case[0]}")
def test_fifty_points_of_section_20_3(case):
    nu, w, b, epsilon, counts, inside = case
    data = text_x13()
    model = NuSVR(nu, C=50.0).fit(data.X, data.y)
    assert (model.w_[0], model.b_, model.epsilon_) == pytest.approx((w, b, epsilon), abs=5e-11)
    assert (model.p_f_, model.q_f_, model.p_m_, model.q_m_) == counts
    assert np.sum(model.point_classes_ == "inside") == inside
    assert np.sum(model.point_classes_ == "error") == model.p_sf_ + model.q_sf_
    assert np.sum(model.point_classes_ == "type 1") == model.numsvl1_ + model.numsvm1_
    assert model.gamma_ == 0.0


def test_four_points_with_a_rectangle_of_solutions():
    X, y = [[-1.0], [2.0], [1.0], [0.0]], [-1.0, 2.0, 6.0, -5.0]
    model = NuSVR(0.5, C=4.0).fit(X, y)
    assert (model.w_[0], model.objective_) == pytest.approx((1.0, 10.5))
    assert model.blue_interval_ == pytest.approx((-5.0, 0.0), abs=1e-12)
    assert model.red_interval_ == pytest.approx((0.0, 5.0), abs=1e-12)
    assert model.b_interval_ == pytest.approx((-2.5, 2.5))
    assert model.epsilon_interval_ == pytest.approx((0.0, 5.0), abs=1e-12)
    assert (model.b_, model.epsilon_) == (pytest.approx(0.0, abs=1e-12), pytest.approx(2.5))
    for blue in (-5.0, -2.0, 0.0):  # every pair of margins has the same value
        for red in (0.0, 1.0, 5.0):
            slack = np.maximum(np.abs(model.offsets_ - (red + blue) / 2) - (red - blue) / 2, 0.0)
            assert 0.5 + red - blue + slack.sum() == pytest.approx(10.5)


class TestForms:
    def test_A2_as_printed(self):
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((3, 2)), rng.standard_normal(3)
        P, q, A, c = NuSVR(0.4, C=6.0).dual_program(X, y).standard_form()
        sums = np.array([[1, 1, 1, -1, -1, -1], [1, 1, 1, 1, 1, 1]])
        assert_array_equal(A, np.block([[sums, np.zeros((2, 6))], [np.eye(6), np.eye(6)]]))
        assert_allclose(c, [0.0, 2.4] + [2.0] * 6)
        assert_allclose(P[:6, :6], np.kron([[1, -1], [-1, 1]], X @ X.T), atol=1e-15)
        assert_array_equal(q, [*y, *-y, *np.zeros(6)])
        with_gamma = NuSVR(0.4, C=6.0).dual_program(X, y).standard_form(gamma=True)[2]
        assert_array_equal(with_gamma, np.column_stack([A, [0.0, 1.0] + [0.0] * 6]))
        P3, _, A3, _ = NuSVRPenalizedBias(0.4, C=6.0).dual_program(X, y).standard_form()
        assert_array_equal(A3, A[1:])
        assert_allclose(P3[:6, :6] - P[:6, :6], np.kron([[1, -1], [-1, 1]], np.ones((3, 3))))

    @pytest.mark.parametrize("kernel", ["linear", Gaussian(1.0)])
    @pytest.mark.parametrize("kind", [NuSVR, NuSVRPenalizedBias, QuadraticNuSVR, EpsilonSVR])
    def test_the_texts_own_admm(self, kind, kernel):
        data = example_19_1()
        model = kind(0.2, C=8.0, kernel=kernel).fit(data.X, data.y)
        K, program = model.kernel_(data.X), model.dual_program(data.X, data.y)
        for gamma in (False,) if isinstance(model, EpsilonSVR) else (False, True):
            result = qsolve1(*program.standard_form(gamma))
            assert -result.objective == pytest.approx(model.dual_objective_, rel=1e-7)
            delta = result.x[8:16] - result.x[:8]
            assert_allclose(K @ delta, K @ model.dual_coef_, atol=1e-6)

    def test_epsilon_has_no_gamma(self):
        with pytest.raises(ValueError, match="which are fixed"):
            EpsilonSVR().dual_program([[1.0], [2.0]], [0.0, 1.0]).standard_form(gamma=True)


def integer_set(seed):
    """Return small integers: ties, exact fits and critical values of nu are frequent."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(4, 13)), int(rng.integers(1, 3))
    X = rng.integers(-4, 5, (m, n)).astype(float)
    y = X.sum(axis=1) + rng.integers(-4, 5, m)
    return X, y, float(rng.integers(1, 9)) / 8.0, float(rng.choice([1.0, 4.0, 12.0]))


@pytest.mark.parametrize("seed", range(60))
def test_propositions_20_2_and_20_4_and_theorem_20_1(seed):
    X, y, nu, C = integer_set(seed)
    m = len(y)
    model = NuSVR(nu, C=C).fit(X, y)
    assert model.certificate_.ok
    low, high = model.epsilon_interval_
    if model.gamma_ == 0.0:
        assert max(model.p_f_, model.q_f_) <= m * nu / 2 + 1e-9 * m
        assert min(model.p_m_, model.q_m_) >= m * nu / 2 - 1e-9 * m
        if max(model.p_f_, model.q_f_) >= 1:
            assert nu >= 2 / m - 1e-12
        if nu < (m - 1) / m:  # Proposition 20.3
            assert max(model.p_f_, model.q_f_) < m // 2
    if high < 1e-9 or model.gamma_ > 0.0:
        return
    # Proposition 20.4: in some optimal solution, distinct points lie on both margins
    blue, red = model.blue_interval_[0], model.red_interval_[1]
    tight = 1e-7 * (1 + np.abs(y).max())
    assert np.abs(model.offsets_ - blue).min() <= tight
    assert np.abs(model.offsets_ - red).min() <= tight
    # Theorem 20.1: no critical value, then in every one
    p, q = 2 * model.p_sf_ / m, 2 * model.q_sf_ / m
    if max(p, q) < nu < (m - 1) / m and low > 1e-9 and model.norm_ > 0:
        tight = np.isin(model.point_classes_, ["type 1", "type 2", "exceptional"])
        assert {-1.0, 1.0} <= set(np.sign(model.residuals_[tight]))


@pytest.mark.parametrize("seed", range(40))
def test_proposition_20_6_and_problem_20_7(seed):
    X, y, nu, C = integer_set(seed)
    m = len(y)
    model = NuSVRPenalizedBias(nu, C=C).fit(X, y)
    assert abs(model.b_) <= C * nu * (1 + 1e-12)
    assert 0.0 <= model.epsilon_interval_[0] <= model.epsilon_ <= model.epsilon_interval_[1]
    if model.gamma_ > 0.0:
        return
    assert model.p_f_ + model.q_f_ <= m * nu + 1e-9
    assert model.p_m_ + model.q_m_ >= m * nu - 1e-9
    if (model.p_f_ + model.q_f_) / m < nu - 1e-12 and nu < 1 and model.epsilon_ > 1e-9:
        assert np.isin(["type 1", "type 2", "exceptional"], model.point_classes_).any()


@pytest.mark.parametrize("seed", range(20))
def test_b_and_epsilon_in_three_ways(seed):
    """The averages, the duality gap with each support vector, and the quantile lemma agree."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((15, 2))
    y = X @ [1.0, -2.0] + 5.0 + rng.standard_t(3, size=15)
    for kernel in ("linear", Gaussian(1.5)):
        kinds = (NuSVR, 0.42), (NuSVRPenalizedBias, 0.42), (QuadraticNuSVR, 0.3)
        models = [kind(nu, C=9.0, kernel=kernel).fit(X, y) for kind, nu in kinds]
        model, second, squared = models
        for each, s in (model, 0.0), (squared, squared.xi_ - squared.xi_prime_):
            levels = each.offsets_ + s
            used = (each.lambda_, each.mu_) if each is squared else (each.I_lambda_, each.I_mu_)
            low, high = (levels[np.flatnonzero(i) if each is squared else i].mean() for i in used)
            assert_allclose(
                [low + high, high - low], 2 * np.array([each.b_, each.epsilon_]), rtol=1e-8
            )
        on_margin = np.append(second.I_lambda_, second.I_mu_)
        assert_allclose(np.abs(second.residuals_[on_margin]), second.epsilon_, rtol=1e-8)
        for each, count in (model, 2 * model.q_f_), (second, second.p_f_ + second.q_f_):
            # Propositions 20.5 and 20.7: the gap is 0
            r, c = each.residuals_, 9.0 / 15
            left = (each.mu_ - each.lambda_) @ r - c * (
                r[each.K_mu_].sum() - r[each.K_lambda_].sum()
            )
            if each is model:
                left -= c * (each.p_f_ - each.q_f_) * r[each.I_lambda_[0]]
            assert_allclose(left / (c * (15 * 0.42 - count)), each.epsilon_, rtol=1e-8)
        tube = tube_from_offsets(model.offsets_, 0.42)
        assert_allclose([tube.b, tube.epsilon], (model.b_, model.epsilon_), rtol=1e-9)
        tube = tube_from_offsets(second.offsets_, 0.42, b=second.b_)
        assert tube.epsilon == pytest.approx(second.epsilon_, rel=1e-9)
