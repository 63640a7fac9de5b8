"""Indefinite kernels: the projection, the objective, its bounds, three methods, the estimator."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from companion import svm
from companion.admm import solve_qp
from companion.datasets import digits, iris, zm_fourteen
from companion.exceptions import ConvergenceWarning
from companion.kernels import Gaussian
from companion.svm import HardMarginSVC, SVMs1, SVMs2, SVMs2l, SVMs2prime, SVMs3, SVMs4, SVMs5
from tests.exact import verify
from tests.refusals import refusals

QUIET = "ignore::sklearn.exceptions.SkipTestWarning", "ignore:.*Clarabel.*"
pytestmark = pytest.mark.filterwarnings("error", *QUIET)
BALANCED = [HardMarginSVC(), SVMs1(), SVMs2(K=1.0), SVMs2prime(nu=0.5), SVMs4(nu=0.5)]
TRANSFORMS = {
    "clip": lambda d: np.maximum(d, 0), "flip": np.abs, "shift": lambda d: d - d[0], "square": np.square,
    "diffusion": np.exp,
}  # fmt: skip
PINNED = [  # name, C, rho, the constant of Theorem 2, the maximum
    ("distances", 1.0, 1.0, 24.657437205, 179.630615573601),
    ("distances", 10.0, 0.1, 14010.657437205, 18.956860209265),
    ("tanh", 1.0, 1.0, 22.385887862, 15.697899053822),
    ("tanh", 10.0, 0.1, 14008.385887862, 3.613740489273),
]


@pytest.mark.filterwarnings("ignore::companion.exceptions.ConvergenceWarning")
@parametrize_with_checks([svm.IndefiniteSVC()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def minus_distance(A, B):
    return -cdist(A, B, "sqeuclidean") / 10.0


def multiquadric(A, B):
    """Conditionally positive definite, and no polynomial: it has no few features."""
    return -np.sqrt(1.0 + cdist(A, B, "sqeuclidean"))


def reference(name):
    """The instances without random numbers: K0 on the 14 points of ZM's Table 23.1."""
    data = zm_fourteen()
    tanh = np.tanh(data.X @ data.X.T / 10.0 - 1.0)
    return (tanh if name == "tanh" else minus_distance(data.X, data.X)), data.y


def random_instance(seed, n=None):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 16)) if n is None else n
    y = np.where(rng.permutation(n) % 2 == 0, 1.0, -1.0)
    B = rng.standard_normal((n, n))
    C, rho = float(10 ** rng.uniform(-0.5, 0.5)), float(10 ** rng.uniform(-1, 1))
    return (B + B.T) / 2, y, C, rho


def saddle_value(alpha, K, K0, y, rho):
    """(1)."""
    z = y * alpha
    return alpha.sum() - 0.5 * z @ K @ z + rho * ((K - K0) ** 2).sum()


def in_q1(rng, y, C):
    return svm.project_q1(rng.uniform(-C, 2 * C, y.size), y, C)


@pytest.mark.parametrize(("name", "C", "rho", "L", "best"), PINNED)
def test_pinned_instances(name, C, rho, L, best):
    """All methods find the maximum where C is small; the line search, with a smaller L, also where it is large."""
    K0, y = reference(name)
    assert_allclose(svm.lipschitz_constant(K0, y, C, rho), L, atol=1e-8)
    result = svm.solve_indefinite(K0, y, C, rho, method="accelerated", tol=1e-9)
    assert result.certificate.ok
    assert verify(result).ok  # L(a, K*) <= f <= L(alpha*, K) for every a and K
    at_the_saddle = saddle_value(result.alpha, result.K, K0, y, rho)
    assert_allclose([result.objective, at_the_saddle], best, rtol=1e-11)
    assert 0 <= result.gap <= 1e-8
    assert (np.diff(result.history["L"]) < 0).any()
    for method in ("smm", "spgm"):
        if C == 1.0:
            rough = svm.solve_indefinite(K0, y, C, rho, method=method, tol=1e-4)
            assert best - rough.objective <= 1e-4 * rough.alpha.sum()
        else:
            assert result.L < 0.01 * L
            with pytest.warns(ConvergenceWarning, match=rf"{method} took {result.n_iter} steps"):
                rough = svm.solve_indefinite(K0, y, C, rho, method=method, max_iter=result.n_iter)
        assert rough.converged == (C == 1.0)


def solve_sdp(objective, K, K0, rho, *constraints):
    """Minimise objective + rho |K - K0|^2 by an independent solver; return the value and K."""
    problem = cp.Problem(cp.Minimize(objective + rho * cp.sum_squares(K - K0)), list(constraints))
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # the comparison judges
        problem.solve(solver=cp.CLARABEL)
    return problem.value, K.value


@pytest.mark.parametrize("seed", range(4))
def test_min_max_is_max_min(seed):
    """(1) as the semidefinite program of its dual, (2) by SMM's objective: the same value."""
    K0, y, C, rho = random_instance(seed, n=8)
    # max_a e'a - 1/2 a'YKYa over Q1 = min t with the Schur complement of the Lagrange dual
    K, t, b = cp.Variable((8, 8), PSD=True), cp.Variable((1, 1)), cp.Variable()
    low, high = cp.Variable(8, nonneg=True), cp.Variable(8, nonneg=True)
    r = cp.reshape(y + cp.multiply(y, low - high) - b, (8, 1), order="C")
    block = cp.bmat([[K, r], [r.T, 2 * t]])
    value, K = solve_sdp(t[0, 0] + C * cp.sum(high), K, K0, rho, block >> 0)
    result = svm.solve_indefinite(K0, y, C, rho, method="accelerated", tol=1e-9)
    assert_allclose(result.objective, value, rtol=1e-6, atol=1e-6)
    assert_allclose(result.K, K, atol=2e-3)


@pytest.mark.parametrize("seed", range(4))
def test_proxy_kernel_is_the_projection(seed):
    """(4)."""
    K0, y, C, rho = random_instance(seed, n=7)
    alpha = in_q1(np.random.default_rng(seed), y, C)
    z, K = y * alpha, cp.Variable((7, 7), PSD=True)
    value, K = solve_sdp(alpha.sum() - 0.5 * cp.trace(np.outer(z, z) @ K), K, K0, rho)
    assert_allclose(svm.IndefiniteObjective(K0, y, rho)(alpha)[0], value, rtol=1e-6, atol=1e-6)
    assert_allclose(svm.proxy_kernel(alpha, K0, y, rho), K, atol=1e-3)


@pytest.mark.parametrize("n", [5, 30, 81, 120])
def test_value_and_gradient_by_their_definition(n):
    """(2) at the proxy kernel, and (6)."""
    K0, y, C, rho = random_instance(n, n)
    rng = np.random.default_rng(n)
    f = svm.IndefiniteObjective(K0, y, rho)
    for _ in range(10):
        alpha = rng.uniform(0, C, n) * (rng.random(n) < 0.5)
        K = svm.proxy_kernel(alpha, K0, y, rho)
        value, gradient = f(alpha)
        assert_allclose(value, saddle_value(alpha, K, K0, y, rho), rtol=1e-11)
        assert_allclose(gradient, 1 - y * (K @ (y * alpha)), atol=1e-10 * np.abs(gradient).max())


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
    alpha = svm.project_q1(beta, y, C)
    assert ((alpha >= 0) & (alpha <= C)).all()
    expected = solve_qp(np.eye(n), -beta, y[None], np.zeros(1), upper=C).x
    assert_allclose(alpha, expected, atol=1e-9 * max(1.0, np.abs(beta).max()))


@pytest.mark.parametrize("machine", BALANCED, ids=lambda m: type(m).__name__)
def test_minus_the_squared_distance_is_the_linear_machine(machine):
    data, K0 = zm_fourteen(), reference("distances")[0]
    new = np.random.default_rng(0).uniform(0, 6, (20, 2))
    linear = clone(machine).fit(data.X / np.sqrt(5), data.y)
    given = ("precomputed", K0, minus_distance(new, data.X)), (minus_distance, data.X, new)
    for kernel, points, rows in given:
        fitted = clone(machine).set_params(kernel=kernel).fit(points, data.y)
        assert verify(fitted, points, data.y).ok
        assert_allclose(fitted.norm_, linear.norm_, rtol=1e-9)
        wanted = linear.decision_function(new / np.sqrt(5))
        assert_allclose(fitted.decision_function(rows), wanted, atol=1e-9)


@pytest.mark.parametrize("kernel", [minus_distance, multiquadric])
def test_conditionally_positive_definite_kernels_against_libsvm(kernel):
    X, y, C = iris("uci").X[:, :2], np.where(iris().y == 0, -1.0, 1.0), 1.0
    K0 = kernel(X, X)
    assert np.linalg.eigvalsh(K0)[0] < -1.0
    machine = SVMs2(K=C, kernel=kernel).fit(X, y)
    libsvm = SVC(kernel="precomputed", C=C, tol=1e-10).fit(K0, y)
    a = np.zeros(len(X))
    a[libsvm.support_] = libsvm.dual_coef_[0]
    assert_allclose(machine.dual_objective_, np.abs(a).sum() - 0.5 * a @ K0 @ a, rtol=1e-7)
    assert_allclose(machine.decision_function(X), libsvm.decision_function(K0), atol=1e-5)
    assert machine.certificate_.ok


@pytest.mark.parametrize("machine", [*BALANCED, SVMs3(), SVMs5(), SVMs2l()], ids=repr)
def test_what_machines_refuse_by_name(machine):
    """Squared slacks add 1/(2K) to the diagonal, which could hide the negative eigenvalues of an indefinite kernel."""
    name, machine = type(machine).__name__, clone(machine).set_params(kernel="precomputed")
    with pytest.raises(ValueError, match="nor is it conditionally positive definite"):
        machine.fit(*reference("tanh"))
    if name in ("SVMs3", "SVMs5", "SVMs2l"):
        with pytest.raises(ValueError, match=f"conditionally positive .* but {name} has no"):
            machine.fit(*reference("distances"))


@pytest.mark.parametrize("how", TRANSFORMS)
def test_transforms_are_positive_semidefinite(how):
    K0 = reference("tanh")[0]
    expected = TRANSFORMS[how](np.linalg.eigvalsh(K0))
    new, rows = svm.spectrum_transform(K0, how, rows=K0)
    assert_allclose(np.linalg.eigvalsh(new), np.sort(expected), atol=1e-9 * expected.max())
    assert np.linalg.eigvalsh(new)[0] >= -1e-9
    # off the diagonal, rows of old points are transformed like rows of new ones
    off = ~np.eye(14, dtype=bool)
    assert_allclose(rows[off], new[off], atol=1e-9 * expected.max())


@pytest.mark.parametrize("how", ["clip", "flip"])
def test_an_eigenvalue_of_zero_has_no_sign(how):
    """All eigenvalues but one are zero; rounding gives them signs."""
    K, mapped = svm.spectrum_transform(np.ones((5, 5)), how, rows=np.eye(5)[:1])
    assert_allclose(K, np.ones((5, 5)), atol=1e-14)
    assert_allclose(mapped, np.full((1, 5), 0.2), atol=1e-14)


TANH, SIGNS = reference("tanh")
test_what_transforms_and_methods_refuse = refusals(
    (lambda: svm.nearest_psd(np.triu(TANH)), "symmetric"),
    (lambda: svm.spectrum_transform(TANH, "fold"), "how must be"),
    (lambda: svm.spectrum_transform(1000 * TANH, "diffusion"), "overflow"),
    (lambda: svm.solve_indefinite(TANH, SIGNS, method="nesterov"), "method must be"),
    (lambda: svm.IndefiniteObjective(TANH, SIGNS, 1.0)(np.ones(3)), "alpha must have length 14"),
)


def test_fitted_machine_is_the_one_of_the_proxy_kernel():
    rng, data = np.random.default_rng(0), digits().pair(3, 5)
    rows = rng.choice(len(data.X), 60, replace=False)
    y, E = data.y[rows], rng.standard_normal((60, 60))
    K0 = Gaussian(2.0)(data.X[rows]) - 0.05 * (E + E.T)
    machine = svm.IndefiniteSVC(C=1.0, rho=10.0, kernel="precomputed", tol=1e-8).fit(K0, y)
    assert machine.certificate_.ok
    assert_allclose(machine.multipliers_, machine.alpha_, atol=1e-3)
    assert verify(machine, K0, y).ok
