"""Indefinite kernels: the projection, the objective, its bounds, three methods, the estimator."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from companion.admm import solve_qp
from companion.datasets import digits, iris_sepals, zm_fourteen
from companion.exceptions import ConvergenceWarning
from companion.kernels import Gaussian
from companion.svm import (
    HardMarginSVC,
    IndefiniteObjective,
    IndefiniteSVC,
    RankOneSpectrum,
    SVMs1,
    SVMs2,
    SVMs2l,
    SVMs2prime,
    SVMs3,
    SVMs4,
    SVMs5,
    largest_linear,
    lipschitz_constant,
    nearest_psd,
    project_q1,
    proxy_kernel,
    saddle_value,
    solve_indefinite,
    spectrum_transform,
)
from tests.exact import verify

pytestmark = pytest.mark.filterwarnings(
    "error", "ignore::sklearn.exceptions.SkipTestWarning", "ignore:.*Clarabel.*"
)


@parametrize_with_checks(
    [IndefiniteSVC(), IndefiniteSVC(method="smm", tol=1e-2), IndefiniteSVC(method="spgm", tol=1e-2)]
)
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


def reference(name):
    """The instances without random numbers: K0 on the 14 points of ZM's Table 23.1."""
    data = zm_fourteen()
    X = data.X
    if name == "distances":
        return -((X[:, None] - X[None]) ** 2).sum(axis=2) / 10.0, data.y
    return np.tanh(X @ X.T / 10.0 - 1.0), data.y


def random_instance(seed, n=None):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 16)) if n is None else n
    y = np.where(rng.permutation(n) % 2 == 0, 1.0, -1.0)
    B = rng.standard_normal((n, n))
    C, rho = float(10 ** rng.uniform(-0.5, 0.5)), float(10 ** rng.uniform(-1, 1))
    return (B + B.T) / 2, y, C, rho


def in_q1(rng, y, C):
    return project_q1(rng.uniform(-C, 2 * C, y.size), y, C)


# --- pinned values ---------------------------------------------------------------------------------

PINNED = [  # name, C, rho, the constant of Theorem 2, the maximum, the value at 0
    ("distances", 1.0, 1.0, 24.657437205, 179.630615573601, 178.0197784908),
    ("distances", 10.0, 0.1, 14010.657437205, 18.956860209265, 17.8019778491),
    ("tanh", 1.0, 1.0, 22.385887862, 15.697899053822, 11.7618997368),
    ("tanh", 10.0, 0.1, 14008.385887862, 3.613740489273, 1.1761899737),
]


@pytest.mark.parametrize(("name", "C", "rho", "L", "best", "at_zero"), PINNED)
def test_pinned_instances(name, C, rho, L, best, at_zero):
    """The three methods find the maximum; the line search searches, and is the fastest."""
    K0, y = reference(name)
    assert_allclose(lipschitz_constant(K0, y, C, rho), L, atol=1e-8)
    assert_allclose(IndefiniteObjective(K0, y, rho)(np.zeros(14))[0], at_zero, atol=1e-9)
    result = solve_indefinite(K0, y, C, rho, method="accelerated", tol=1e-9)
    assert result.certificate.ok
    assert_allclose(result.objective, best, rtol=1e-11)
    assert 0 <= result.gap <= 1e-8
    steps = result.history["L"]
    assert steps[-1] == result.L
    assert (np.diff(steps) < 0).any()
    assert C < 10.0 or steps[-1] < 0.01 * L
    for method in ("smm", "spgm"):
        if C < 10.0:
            rough = solve_indefinite(K0, y, C, rho, method=method, tol=1e-4)
            assert best - rough.objective <= 1e-4 * rough.alpha.sum()
        else:
            with pytest.warns(ConvergenceWarning, match=rf"{method} took {result.n_iter} steps"):
                rough = solve_indefinite(K0, y, C, rho, method=method, max_iter=result.n_iter)
        assert rough.converged == (C < 10.0)


# --- the semidefinite program ----------------------------------------------------------------------


def solve_sdp(K0, y, C, rho, alpha=None):
    """min over K of rho |K - K0|^2 + (SVM dual value), as the SDP of its dual; or for one alpha."""
    n = len(y)
    K = cp.Variable((n, n), PSD=True)
    distance = rho * cp.sum_squares(K - K0)
    if alpha is not None:
        z = y * alpha
        problem = cp.Problem(
            cp.Minimize(alpha.sum() - 0.5 * cp.trace(np.outer(z, z) @ K) + distance)
        )
    else:
        # max_a e'a - 1/2 a'YKYa over Q1 = min t with the Schur complement of the Lagrange dual
        t, b = cp.Variable(), cp.Variable()
        low, high = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
        r = cp.reshape(y + cp.multiply(y, low - high) - b, (n, 1), order="C")
        block = cp.bmat([[K, r], [r.T, cp.reshape(2 * t, (1, 1), order="C")]])
        problem = cp.Problem(cp.Minimize(t + C * cp.sum(high) + distance), [block >> 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver=cp.CLARABEL)
    return problem.value, K.value


@pytest.mark.parametrize("seed", range(4))
def test_min_max_is_max_min(seed):
    """(1) by an independent solver, (2) by SMM's objective: the same value."""
    K0, y, C, rho = random_instance(seed, n=8)
    value, K = solve_sdp(K0, y, C, rho)
    result = solve_indefinite(K0, y, C, rho, method="accelerated", tol=1e-9)
    assert_allclose(result.objective, value, rtol=1e-6, atol=1e-6)
    assert_allclose(result.K, K, atol=2e-3)


@pytest.mark.parametrize("seed", range(4))
def test_proxy_kernel_is_the_projection(seed):
    """(4)."""
    K0, y, C, rho = random_instance(seed, n=7)
    alpha = in_q1(np.random.default_rng(seed), y, C)
    value, K = solve_sdp(K0, y, C, rho, alpha)
    assert_allclose(IndefiniteObjective(K0, y, rho)(alpha)[0], value, rtol=1e-6, atol=1e-6)
    assert_allclose(proxy_kernel(alpha, K0, y, rho), K, atol=1e-3)


def test_saddle_inequalities():
    K0, y = reference("tanh")
    result = solve_indefinite(K0, y, 1.0, 1.0, method="accelerated", tol=1e-11)
    f = result.objective
    assert_allclose(saddle_value(result.alpha, result.K, K0, y, 1.0), f, rtol=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(200):
        a = in_q1(rng, y, 1.0)
        B = rng.standard_normal((14, 14))
        K = nearest_psd(result.K + 0.3 * (B + B.T))
        assert saddle_value(a, result.K, K0, y, 1.0) <= f + 1e-8
        assert saddle_value(result.alpha, K, K0, y, 1.0) >= f - 1e-8


# --- the objective ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [5, 30, 81, 120])
def test_value_and_gradient_by_their_definition(n):
    """The secular equation against a full eigendecomposition."""
    K0, y, C, rho = random_instance(n, n)
    rng = np.random.default_rng(n)
    f = IndefiniteObjective(K0, y, rho)
    for _ in range(10):
        alpha = rng.uniform(0, C, n) * (rng.random(n) < 0.5)
        K = proxy_kernel(alpha, K0, y, rho)
        value, gradient = f(alpha)
        assert_allclose(value, saddle_value(alpha, K, K0, y, rho), rtol=1e-11)
        assert_allclose(gradient, 1 - y * (K @ (y * alpha)), atol=1e-10 * np.abs(gradient).max())


@pytest.mark.parametrize("zero_eigenvalue", [False, True])
def test_gradient_by_finite_differences(zero_eigenvalue):
    """Theorem 1, also where K0 + zz'/4rho is singular."""
    K0, y, C, rho = random_instance(3, 25)
    alpha = np.random.default_rng(3).uniform(0, C, 25)
    d, V = np.linalg.eigh(K0 + np.outer(y * alpha, y * alpha) / (4 * rho))
    K0 = K0 - zero_eigenvalue * d[10] * np.outer(V[:, 10], V[:, 10])
    f, h = IndefiniteObjective((K0 + K0.T) / 2, y, rho), 1e-5
    numbers = [(f(alpha + h * e)[0] - f(alpha - h * e)[0]) / (2 * h) for e in np.eye(25)]
    assert_allclose(f(alpha)[1], numbers, atol=1e-6)


@given(st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_lipschitz_constants_hold(seed):
    """f is concave; Theorem 2, with the constants of its statement, its proof, and class counts; Lemma 3."""
    K0, y, C, rho = random_instance(seed)
    rng = np.random.default_rng(seed)
    f = IndefiniteObjective(K0, y, rho)
    a, b = in_q1(rng, y, C), in_q1(rng, y, C)
    middle, ends = f((a + b) / 2)[0], 0.5 * (f(a)[0] + f(b)[0])
    assert middle >= ends - 1e-10 * (1 + abs(ends))
    distance = np.linalg.norm(a - b)
    change = np.linalg.norm(f(a)[1] - f(b)[1])
    constants = [f.lipschitz(C, variant) for variant in ("paper", "proof", "classes")]
    assert constants[0] > constants[1] >= constants[2] - 1e-12
    assert change <= min(constants) * distance * (1 + 1e-12)
    moved = np.linalg.norm(proxy_kernel(a, K0, y, rho) - proxy_kernel(b, K0, y, rho))
    assert moved <= (np.linalg.norm(a) + np.linalg.norm(b)) * distance / (4 * rho) + 1e-12


# --- rank-one changes ------------------------------------------------------------------------------


@given(
    st.integers(0, 100_000),
    st.sampled_from(["random", "negative", "low rank", "integers", "clusters", "diagonal"]),
)
@settings(max_examples=50, deadline=None)
def test_rank_one_spectrum(seed, kind):
    """Any spectrum, also equal and nearly equal eigenvalues, any size of z, also zero entries."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    A = rng.standard_normal((n, n))
    Q = np.linalg.qr(A)[0]
    K0 = {
        "random": A + A.T,
        "negative": -A @ A.T,
        "low rank": A[:, :1] @ A[:, :1].T - A[:, -1:] @ A[:, -1:].T,
        "integers": (Q * rng.integers(-2, 3, n)) @ Q.T,
        "clusters": (Q * (rng.integers(-2, 3, n) + 1e-13 * rng.standard_normal(n))) @ Q.T,
        "diagonal": np.diag(rng.integers(-2, 3, n).astype(float)),
    }[kind]
    K0 = (K0 + K0.T) / 2
    z = rng.standard_normal(n) * 10.0 ** rng.integers(-8, 4) * (rng.random(n) < 0.8)
    tau = 10.0 ** rng.integers(-6, 4)
    spectrum = RankOneSpectrum(K0)
    squares, Nz = spectrum.negative_part(z @ spectrum.V, tau)
    values, V = np.linalg.eigh(K0 + tau * np.outer(z, z))
    below = np.minimum(values, 0)
    scale = max(np.abs(K0).max(), tau * z @ z, 1e-300)
    assert_allclose(squares, (below**2).sum(), atol=1e-12 * scale**2)
    size = max(float(np.linalg.norm(z)), 1e-300)
    assert_allclose(spectrum.V @ Nz, (V * -below) @ (z @ V), atol=1e-12 * scale * size)


# --- the set Q1 ------------------------------------------------------------------------------------


@given(st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_projection(seed):
    """(10), against the QP engine; ties and one class only as well."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 15))
    y = rng.choice([-1.0, 1.0], n)
    beta = rng.standard_normal(n) * 10.0 ** rng.integers(-1, 2)
    C = float(rng.choice([0.1, 1.0, 5.0]))
    if seed % 3 == 0:
        beta = np.round(beta)
    alpha = project_q1(beta, y, C)
    assert (alpha >= 0).all()
    assert (alpha <= C).all()
    assert abs(y @ alpha) <= 1e-12 * max(1.0, np.abs(beta).max(), n * C)
    expected = solve_qp(np.eye(n), -beta, y[None], np.zeros(1), upper=C).x
    assert_allclose(alpha, expected, atol=1e-9 * max(1.0, np.abs(beta).max()))
    assert_allclose(project_q1(alpha, y, C), alpha, atol=1e-12 * max(1.0, C))


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_largest_linear(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    g, y = rng.standard_normal(n), rng.choice([-1.0, 1.0], n)
    answer = linprog(-g, A_eq=y[None], b_eq=[0.0], bounds=(0, 2.0))
    assert_allclose(largest_linear(g, y, 2.0), -answer.fun, atol=1e-9)


# --- the methods and their bounds ------------------------------------------------------------------


def run(K0, y, C, rho, method, steps, **options):
    """Run a fixed number of steps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return solve_indefinite(K0, y, C, rho, method=method, tol=0.0, max_iter=steps, **options)


def tridiagonal(n, seed):
    """A hard instance for first-order methods: a long chain."""
    K0 = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    K0 = K0 - 0.3 * np.diag(np.random.default_rng(seed).random(n))
    return K0, y, 1.0, 10.0 ** (seed % 3)


INSTANCES = [random_instance(seed, n=12) for seed in range(6)] + [
    tridiagonal(20, seed) for seed in range(3)
]


@pytest.mark.parametrize(("K0", "y", "C", "rho"), INSTANCES)
def test_bounds_of_both_methods(K0, y, C, rho):
    """(12), (13), and the bound of Section 4.2, also with 2L in place of 4L."""
    best = solve_indefinite(K0, y, C, rho, method="accelerated", tol=1e-9)
    L, f_best = lipschitz_constant(K0, y, C, rho), best.objective
    start = np.zeros(y.size)
    far = float((best.alpha - start) @ (best.alpha - start))
    values = run(K0, y, C, rho, "spgm", 400).history["objective"]
    k = np.arange(1, len(values))
    noise = 1e-9 * (1 + abs(f_best))
    assert (np.diff(values) >= -noise).all()
    assert (f_best - values[1:] <= L / (2 * k) * far + noise).all()
    smm = run(K0, y, C, rho, "smm", 400, track=True)
    gamma = smm.history["objective_gamma"]
    k = np.arange(len(gamma))
    for factor in (4, 2):
        assert (f_best - gamma <= factor * L * far / ((k + 1) * (k + 2)) + noise).all()


def test_smm_is_the_loop_of_table_2():
    """With the sum of Section 4.2: each gradient has its own weight."""
    K0, y = reference("tanh")
    f, L = IndefiniteObjective(K0, y, 1.0), lipschitz_constant(K0, y, 1.0, 1.0)
    alpha, total, values = np.zeros(14), np.zeros(14), []
    for k in range(6):
        value, gradient = f(alpha)
        values.append(value)
        gamma, total = project_q1(alpha + gradient / L, y, 1.0), total + (k + 1) * gradient
        beta = project_q1(total / (2 * L), y, 1.0)
        alpha = 2 / (k + 3) * beta + (k + 1) / (k + 3) * gamma
    assert_allclose(run(K0, y, 1.0, 1.0, "smm", 5).history["objective"], values, rtol=1e-12)


def test_printed_sum_breaks_the_bound():
    """Erratum YCG-1: with the last gradient in every term, Table 2 breaks its bound."""
    worst = {False: 0.0, True: 0.0}
    for K0, y, C, rho in INSTANCES[6:]:
        best = solve_indefinite(K0, y, C, rho, method="accelerated", tol=1e-6)
        bound = 4 * lipschitz_constant(K0, y, C, rho) * (best.alpha @ best.alpha)
        for printed in worst:
            smm = run(K0, y, C, rho, "smm", 200, track=True, as_printed=printed)
            missing = best.objective - smm.history["objective_gamma"]
            k = np.arange(missing.size)
            ratio = missing * (k + 1) * (k + 2) / bound
            worst[printed] = max(worst[printed], ratio.max())
    assert worst[False] <= 0.5
    assert worst[True] > 1.4


def test_positive_definite_kernel_and_large_rho_give_the_ordinary_machine():
    data = zm_fourteen()
    K = Gaussian(2.0)(data.X)
    result = solve_indefinite(K, data.y, 1.0, 1e7, method="accelerated", tol=1e-9)
    machine = SVMs2(K=1.0, kernel="precomputed").fit(K, data.y)
    assert_allclose(result.objective, machine.objective_, rtol=1e-6)
    assert_allclose(result.alpha, np.abs(machine.dual_coef_), atol=1e-3)


# --- conditionally positive definite kernels ------------------------------------------------------

BALANCED = [HardMarginSVC(), SVMs1(), SVMs2(K=1.0), SVMs2prime(nu=0.5), SVMs4(nu=0.5)]


def minus_distance(A, B):
    return -((A[:, None] - B[None]) ** 2).sum(axis=2) / 10.0


def multiquadric(A, B):
    """Conditionally positive definite, and no polynomial: it has no few features."""
    return -np.sqrt(1.0 + ((A[:, None] - B[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("machine", BALANCED, ids=lambda m: type(m).__name__)
def test_minus_the_squared_distance_is_the_linear_machine(machine):
    data, K0 = zm_fourteen(), reference("distances")[0]
    new = np.random.default_rng(0).uniform(0, 6, (20, 2))
    linear = clone(machine).set_params(kernel="precomputed").fit(data.X @ data.X.T / 5, data.y)
    wanted = linear.decision_function(new @ data.X.T / 5)
    given_ = clone(machine).set_params(kernel="precomputed").fit(K0, data.y)
    called = clone(machine).set_params(kernel=minus_distance).fit(data.X, data.y)
    for fitted, rows, points in (
        (given_, minus_distance(new, data.X), K0),
        (called, new, data.X),
    ):
        assert fitted.certificate_.ok
        assert_allclose(fitted.objective_, linear.objective_, rtol=1e-9)
        assert_allclose(fitted.norm_, linear.norm_, rtol=1e-9)
        assert_allclose(fitted.decision_function(rows), wanted, atol=1e-9)
        assert verify(fitted, points, data.y).ok


@pytest.mark.parametrize("kernel", [minus_distance, multiquadric])
@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_conditionally_positive_definite_kernels_against_libsvm(kernel, C):
    data = iris_sepals()
    K0 = kernel(data.X, data.X)
    assert np.linalg.eigvalsh(K0)[0] < -1.0
    machine = SVMs2(K=C, kernel=kernel).fit(data.X, data.y)
    libsvm = SVC(kernel="precomputed", C=C, tol=1e-10).fit(K0, data.y)
    a = np.zeros(len(data.X))
    a[libsvm.support_] = libsvm.dual_coef_[0]
    assert_allclose(machine.dual_objective_, np.abs(a).sum() - 0.5 * a @ K0 @ a, rtol=1e-7)
    assert_allclose(machine.decision_function(data.X), libsvm.decision_function(K0), atol=1e-5)
    assert machine.certificate_.ok


@pytest.mark.parametrize(
    "machine", [*BALANCED, SVMs3(), SVMs5(), SVMs2l()], ids=lambda m: type(m).__name__
)
def test_what_machines_refuse_by_name(machine):
    """Squared slacks add 1/(2K) to the diagonal, which could hide the negative eigenvalues of an indefinite kernel."""
    name, machine = type(machine).__name__, clone(machine).set_params(kernel="precomputed")
    with pytest.raises(ValueError, match="nor is it conditionally positive definite"):
        machine.fit(*reference("tanh"))
    if name in ("SVMs3", "SVMs5", "SVMs2l"):
        with pytest.raises(ValueError, match=f"conditionally positive .* but {name} has no"):
            machine.fit(*reference("distances"))


# --- spectrum transforms ---------------------------------------------------------------------------

TRANSFORMS = {
    "clip": lambda d: np.maximum(d, 0), "flip": np.abs, "shift": lambda d: d - d[0], "square": np.square,
    "diffusion": np.exp,
}  # fmt: skip


@pytest.mark.parametrize("how", TRANSFORMS)
def test_transforms_are_positive_semidefinite(how):
    K0 = reference("tanh")[0]
    expected = TRANSFORMS[how](np.linalg.eigvalsh(K0))
    new, rows = spectrum_transform(K0, how, rows=K0)
    assert_allclose(np.linalg.eigvalsh(new), np.sort(expected), atol=1e-9 * expected.max())
    assert np.linalg.eigvalsh(new)[0] >= -1e-9
    # off the diagonal, rows of old points are transformed like rows of new ones
    off = ~np.eye(14, dtype=bool)
    assert_allclose(rows[off], new[off], atol=1e-9 * expected.max())


def test_what_transforms_and_methods_refuse():
    K0, y = reference("tanh")
    for call, message in (
        (lambda: nearest_psd(np.triu(K0)), "symmetric"),
        (lambda: spectrum_transform(K0, "fold"), "how must be"),
        (lambda: spectrum_transform(1000 * K0, "diffusion"), "overflow"),
        (lambda: solve_indefinite(K0, y, method="spgm", as_printed=True), "smm"),
        (lambda: lipschitz_constant(K0, y, 1.0, 1.0, "mine"), "variant"),
        (lambda: IndefiniteObjective(K0, y, 1e-70)(1e74 * np.ones(14)), "overflows"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


# --- the estimator ---------------------------------------------------------------------------------


def test_fitted_machine_is_the_one_of_the_proxy_kernel():
    rng, data = np.random.default_rng(0), digits().pair(3, 5)
    rows = rng.choice(len(data.X), 60, replace=False)
    y, E = data.y[rows], rng.standard_normal((60, 60))
    K0 = Gaussian(2.0)(data.X[rows]) - 0.05 * (E + E.T)
    machine = IndefiniteSVC(C=1.0, rho=10.0, kernel="precomputed", tol=1e-8).fit(K0, y)
    assert machine.certificate_.ok
    assert np.linalg.eigvalsh(machine.proxy_kernel_)[0] > -1e-9
    K = machine.proxy_kernel_ + 1e-12 * np.eye(60)
    other = SVMs2(K=1.0, kernel="precomputed").fit(K, y)
    assert_allclose(machine.b_, other.b_, atol=1e-5)
    assert_allclose(machine.multipliers_, np.abs(other.dual_coef_), atol=1e-4)
    assert_allclose(machine.multipliers_, machine.alpha_, atol=1e-3)
    assert verify(machine, K0, y).ok
