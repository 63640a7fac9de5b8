"""The programs of chapter 18: primal against dual, exact values, the text's printed counts."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from companion import datasets, svm
from companion.admm import qsolve1, solve_qp
from companion.kernels import Gaussian, Polynomial
from companion.svm import HardMarginSVC, SVMs1, SVMs2, SVMs2l, SVMs2prime, SVMs3, SVMs4, SVMs5
from companion.svr import EpsilonSVR
from tests.exact import verify
from tests.svm.convex import KERNELS, features, minimum

pytestmark = pytest.mark.filterwarnings("error")
R10 = np.sqrt(10.0)
EXACT = [  # machine, w, b, eta, value on the nine points
    (SVMs1(1 / 5), (3 * R10 / 10, R10 / 10), R10 / 20, 13 * R10 / 20, -19 * R10 / 100),
    (SVMs2(1 / 10), (4 / 11, 2 / 11), 1 / 11, 1, 281 / 605),
    (SVMs2prime(3 / 5), (29 / 75, 29 / 150), 29 / 300, 319 / 300, -841 / 9000),
    (SVMs2prime(7 / 10, K=1.0), (28 / 5, 29 / 10), 28 / 5, 199 / 10, -3977 / 200),
    (SVMs3(3 / 5), (239 / 630, 109 / 630), 22 / 315, 631 / 630, -563 / 6300),
    (
        SVMs4(1.0, K=1.0), (4113 / 13598, 1899 / 27196), 8829 / 108784, 104823 / 108784,
        -943407 / 217568,
    ),
    (
        SVMs5(1.0, K=1.0), (35712 / 117679, 8109 / 117679), 8829 / 117679, 226629 / 235358,
        -2039661 / 470716,
    ),
]  # fmt: skip
SIZES = [(SVMs1(0.2), (11, 18)), (SVMs2(0.5), (10, 18)), (SVMs2prime(0.6), (11, 18))]
SIZES += [(SVMs3(0.6), (10, 18)), (SVMs4(0.6), (2, 9)), (SVMs5(0.6), (1, 9))]
COUNTS = [  # p_f, q_f, p_m, q_m
    (SVMs2prime(0.37), (10, 11, 12, 12)),
    (SVMs2prime(0.5), (15, 14, 15, 16)),
    (SVMs2prime(0.51), (15, 14, 16, 16)),  # printed: 15, 16, 16, 16
    (SVMs2prime(0.7), (21, 21, 21, 21)),
    (SVMs2prime(0.71), (21, 21, 22, 23)),
    (SVMs2prime(0.95), (28, 28, 29, 29)),
    (SVMs2prime(0.97), (29, 28, 30, 30)),  # printed: 29, 29, 30, 30, not converged
    (SVMs3(0.365), (10, 11, 12, 12)),  # printed: 10, 10, 12, 11
    (SVMs3(0.5), (13, 16, 14, 17)),
    (SVMs3(0.7), (21, 21, 21, 21)),
    (SVMs3(0.71), (21, 21, 22, 22)),
    (SVMs3(0.98), (28, 30, 29, 30)),
    (SVMs4(1.0, K=190.0), (0, 0, 23, 18)),
    (SVMs4(1.0, K=1 / 12000), (0, 0, 30, 30)),
    (SVMs5(1.0, K=190.0), (0, 0, 23, 18)),
    (SVMs5(1.0, K=1 / 13000), (0, 0, 29, 30)),  # printed: 30, 30
    (SVMs5(1.0, K=1 / 14000), (0, 0, 30, 30)),
]


def primal(machine, Phi, s):
    """Solve the primal program of a machine for explicit features; return value, w, b, eta."""
    n, N = Phi.shape
    w, b, eta, slack = cp.Variable(N), cp.Variable(), cp.Variable(), cp.Variable(n, nonneg=True)
    K = 1 / n if getattr(machine, "K", None) is None else machine.K
    square = cp.sum_squares(w) / 2
    objective, rule = {
        HardMarginSVC: (square, [eta == 1, slack == 0]),
        SVMs1: (K * cp.sum(slack) - eta, [cp.sum_squares(w) <= 1]),
        SVMs2: (square + K * cp.sum(slack), [eta == 1]),
        SVMs2l: (cp.sum(slack), [eta == 1]),
    }.get(type(machine), (None, [eta >= 0]))
    if objective is None:
        squared = isinstance(machine, (SVMs4, SVMs5))
        loss = cp.sum_squares(slack) if squared else cp.sum(slack)
        objective = square - n * K * machine.nu * eta + K * loss
        if isinstance(machine, (SVMs3, SVMs5)):
            objective += cp.square(b) / 2
    value = minimum(objective, [cp.multiply(s, Phi @ w - b) >= eta - slack, *rule])
    return value, w.value, float(b.value), float(eta.value)


def random_classes(seed):
    """Return two classes of different sizes that overlap."""
    rng = np.random.default_rng(seed)
    p, q = rng.integers(7, 13, size=2) + 50 * (seed > 11)  # LIBSVM guesses for large ones
    d = int(rng.integers(2, 5))
    u, v = rng.standard_normal((p, d)) + 0.5, rng.standard_normal((q, d)) - 0.5
    return u, v


def machines(kernel, u, v, seed):
    """Return the soft margin machines with a nu for which w is not 0; the hard margin where points are apart."""
    rng = np.random.default_rng(seed)
    lowest, highest = max(svm.nu_min(u, v, kernel), 0.3), svm.nu_max(len(u), len(v))
    nu = float(lowest + rng.uniform(0.1, 0.9) * (highest - lowest))
    K = float(np.exp(rng.uniform(-2.0, 1.0)))
    found = [
        SVMs1(K=1.0 / ((len(u) + len(v)) * nu), kernel=kernel),
        SVMs2(K=K, kernel=kernel),
        SVMs2prime(nu, kernel=kernel),
        *(kind(nu, K=K, kernel=kernel) for kind in (SVMs3, SVMs4, SVMs5)),
    ]
    if len(u) > 50:  # images of many points nearly coincide
        return found
    # multipliers of size 1e6: the rounding of the kernel's values, times their norm, is a slack of 4e-10
    hard = [HardMarginSVC(kernel=kernel, tol=1e-8)] if isinstance(kernel, Gaussian) else []
    return [*found, SVMs2l(kernel=kernel), *hard]


@pytest.mark.parametrize("seed", range(14))
@pytest.mark.parametrize("name", KERNELS)
def test_primal_equals_dual(name, seed):
    """Each machine against the independent solution of its primal program, and its KKT conditions exactly."""
    u, v = random_classes(seed)
    X, s = np.vstack([u, v]), np.repeat([1.0, -1.0], [len(u), len(v)])
    kernel = KERNELS[name]
    Phi = features(kernel, X)
    for machine in machines(kernel, u, v, seed):
        machine.fit_uv(u, v)
        label = repr(machine)
        value, w, b, eta = primal(machine, Phi, s)
        size = 0.5 * machine.norm_**2 + abs(machine.eta_) * getattr(machine, "Km_", 1.0)
        assert machine.objective_ == pytest.approx(value, abs=1e-8 * max(size, abs(value))), label
        assert machine.certificate_.ok, label
        assert verify(machine, X, s).ok, label
        if isinstance(machine, SVMs2l):  # its w need not be unique
            continue
        f = machine.decision_function(X)
        near = 3e-4 * np.abs(f).max()
        assert_allclose(f + machine.b_, Phi @ w, atol=near, err_msg=label)
        assert machine.b_interval_[0] - near <= b <= machine.b_interval_[1] + near, label
        assert machine.eta_interval_[0] - near <= eta <= machine.eta_interval_[1] + near, label


@pytest.mark.parametrize("case", EXACT, ids=lambda case: repr(case[0]))
def test_rational_optima_of_the_nine_points(case):
    machine, w, b, eta, value = case
    data = datasets.nine_points()
    machine.fit_uv(data.u, data.v)
    assert_allclose([*machine.w_, machine.b_, machine.eta_], [*w, b, eta], rtol=1e-10)
    assert machine.delta_ == pytest.approx(eta / np.hypot(*w), rel=1e-11)
    assert_allclose([machine.objective_, machine.dual_objective_], value, rtol=1e-11)
    assert verify(machine, data.X, data.y).worst < 1e-12  # the multipliers


def test_nine_points_at_the_critical_nu():
    data = datasets.nine_points()
    machine = SVMs2prime(2 / 3).fit_uv(data.u, data.v)
    assert_allclose(machine.w_, [8 / 15, 4 / 15], rtol=1e-12)
    assert_allclose(machine.blue_interval_, [8 / 5, 12 / 5], rtol=1e-12)
    assert_allclose(machine.red_interval_, [-4 / 3, -4 / 3], rtol=1e-12)
    assert (machine.b_, machine.eta_) == pytest.approx((1 / 3, 5 / 3))
    unit = SVMs1(1 / 6).fit_uv(data.u, data.v)
    assert_allclose(unit.blue_interval_, np.array([8 / 5, 12 / 5]) / np.hypot(8 / 15, 4 / 15))


def test_range_of_nu():
    nine, sixty = datasets.nine_points(), datasets.sixty_points()
    corners, apart = datasets.xor(), datasets.zm_fourteen()
    assert svm.nu_max(4, 5) == 8 / 9
    assert svm.nu_min(nine.u, nine.v) == pytest.approx(58 / 153, rel=1e-12)
    assert svm.nu_min(sixty.u, sixty.v) == pytest.approx(0.3275738366, abs=1e-10)
    assert svm.nu_min(nine.u, nine.v, Gaussian(1.0)) == 0.0
    assert svm.nu_min(corners.u, corners.v) == 1.0
    assert svm.nu_min(apart.u, apart.v) == 0.0


def test_xor_with_the_quadratic_kernel():
    data, kernel = datasets.xor(), Polynomial(2, R=1.0)
    X = np.array([[0.3, -2.0], [1.5, 0.4]])
    eighth = HardMarginSVC(), SVMs2(1 / 8), SVMs2prime(0.5, K=0.25), SVMs3(0.5, K=0.25)
    quarter = (SVMs1(0.3), np.sqrt(2)), (SVMs4(0.25, K=1.0), 17 / 8), (SVMs5(0.25, K=1.0), 17 / 8)
    cases = [(machine, 1 / 8, 1.0) for machine in eighth] + [(m, 1 / 4, eta) for m, eta in quarter]
    for machine, a, eta in cases:
        fitted = machine.set_params(kernel=kernel).fit_uv(data.u, data.v)
        assert_allclose([*fitted.lambda_, *fitted.mu_], a)
        assert fitted.eta_ == pytest.approx(eta)
        f = fitted.decision_function(X)
        assert eta != 1.0 or f == pytest.approx(X.prod(axis=1), abs=1e-13)


@pytest.mark.parametrize(("machine", "counts"), COUNTS, ids=repr)
def test_counts_of_the_text(machine, counts):
    data = datasets.text_uv16()
    machine.fit_uv(data.u, data.v)
    assert (machine.p_f_, machine.q_f_, machine.p_m_, machine.q_m_) == counts
    assert machine.certificate_.ok
    nu, n = machine.nu, 60
    if type(machine) is SVMs2prime:  # Proposition 18.1
        assert max(machine.p_f_, machine.q_f_) <= nu * n / 2 <= min(machine.p_m_, machine.q_m_)
    if isinstance(machine, SVMs3):  # Proposition 18.4
        assert machine.p_f_ + machine.q_f_ <= nu * n + 1e-12 <= machine.p_m_ + machine.q_m_ + 1e-9


def test_the_text_own_routine_takes_the_printed_8121_steps():
    """And its multipliers are those of the fast solver."""
    data = datasets.text_uv16()
    machine = SVMs2prime(0.37).fit_uv(data.u, data.v)
    P, q, A, c = machine.dual_program(data.X, data.y).standard_form()
    result = qsolve1(P, q, A, c, rho=10.0)
    assert result.n_iter == 8121
    assert_allclose(result.x[:60], np.concatenate([machine.lambda_, machine.mu_]), atol=1e-8)


@pytest.mark.parametrize(("machine", "size"), SIZES, ids=repr)
def test_matrices_of_the_text(machine, size):
    """Sizes and ranks as in the text, and the fitted solution solves the program as written."""
    data = datasets.nine_points()
    program = machine.dual_program(data.X, data.y)
    assert not hasattr(machine, "classes_")  # nothing was fitted
    P, q, A, c = program.standard_form()
    assert A.shape == size
    assert np.linalg.matrix_rank(A) == size[0]
    s = data.y[:, None] * data.y
    expected = s * (data.X @ data.X.T) + s * isinstance(machine, (SVMs3, SVMs5))
    expected += 4.5 * np.eye(9) * isinstance(machine, (SVMs4, SVMs5))  # 1/(2K), K = 1/9
    assert_allclose(P[:9, :9], expected, atol=1e-12)
    machine.fit_uv(data.u, data.v)
    a = np.append(machine.lambda_, machine.mu_)
    x = np.append(a, machine.K_ - a) if len(q) == 18 else a
    assert_allclose(A @ x, c, atol=1e-14)
    value, dual = x @ P @ x / 2 + q @ x, machine.dual_objective_
    assert value == pytest.approx(dual**2 / 2 if isinstance(machine, SVMs1) else -dual)


def test_zm_hard_margin():
    data = datasets.zm_fourteen()
    machine = HardMarginSVC().fit_uv(data.u, data.v)
    assert_allclose([*machine.w_, machine.b_], [5 / 6, 1 / 3, 10 / 3], rtol=1e-12)
    total = machine.lambda_.sum() + machine.mu_.sum()
    assert (machine.objective_, total) == pytest.approx((29 / 72, 29 / 36), rel=1e-12)
    assert machine.delta_ == pytest.approx(6 / np.sqrt(29), rel=1e-12)
    on_margin = np.isin(machine.point_classes_, ["type 1", "exceptional"])
    assert_array_equal(np.flatnonzero(on_margin), [0, 1, 3, 12, 13])
    assert_allclose(SVMs2(K=1e3).fit_uv(data.u, data.v).w_, machine.w_, rtol=1e-11)


def test_zm_hinge_loss():
    data = datasets.zm_eighteen()
    machine = SVMs2(K=1.0).fit_uv(data.u, data.v)
    assert_allclose([*machine.w_, machine.b_], [5 / 6, 1 / 3, 10 / 3], rtol=1e-11)
    assert machine.objective_ == pytest.approx(437 / 72, rel=1e-12)
    slack = [*machine.epsilon_[8:], *machine.xi_[6:]]
    assert_allclose(slack, [1 / 3, 5 / 3, 5 / 6, 17 / 6], rtol=1e-10)
    assert_array_equal([*machine.lambda_[8:], *machine.mu_[6:]], 1.0)
    assert_array_equal(machine.point_classes_[[8, 9, 16, 17]], ["in slab", "misclassified"] * 2)


def test_zm_quadratic_loss():
    """(SVM_s4) scaled to eta = 1 is ZM's program."""
    data = datasets.zm_eighteen()
    machine = SVMs4(1.0, K=1.0).fit_uv(data.u, data.v)
    w = np.append(machine.w_, machine.b_) / machine.eta_
    assert_allclose(w, [0.3080479169, 0.4042486838, 1.9330043477], atol=1e-10)
    slack = np.concatenate([machine.epsilon_, machine.xi_]) / machine.eta_
    assert 0.5 * w[:2] @ w[:2] + slack @ slack == pytest.approx(7.545229403, abs=1e-9)


def test_zm_ellipse():
    data, kernel = datasets.zm_six(), Polynomial(2, R=1.0)
    machine = SVMs2(K=4.0, kernel=kernel).fit_uv(data.u, data.v)
    a = [1451 / 2340, 323 / 156, 742 / 195, 149 / 468, 77 / 26, 601 / 156]
    assert_allclose(np.sort([*machine.lambda_, *machine.mu_]), np.sort(a), rtol=1e-9)
    found = abs(machine.b_), machine.dual_objective_, np.abs(machine.w_).max()
    assert_allclose(found, (115 / 13, 6.8141025641, 3.2998316455), atol=1e-9)


@pytest.mark.parametrize("K", [1e-3, 1.0])
def test_linear_machines_of_many_columns(K):
    """A low price is guessed by libsvm, a high one by PIQP: both are the minimum of the dual program."""
    rng = np.random.default_rng(18)
    y = np.repeat([1.0, -1.0], [60, 40])
    X = rng.normal(size=(100, 30)) + 0.2 * y[:, None]
    for machine, values in ((SVMs2(K=K), y), (EpsilonSVR(0.1, C=100.0 * K), X[:, 0] + y)):
        dual = machine.dual_program(X, values)
        exact = solve_qp(dual.P, dual.q, dual.A, dual.c, lower=0.0, upper=dual.upper)
        fitted = machine.fit(X, values)
        assert fitted.certificate_.ok, machine
        np.testing.assert_allclose(fitted.dual_objective_, -exact.objective, rtol=1e-8)
