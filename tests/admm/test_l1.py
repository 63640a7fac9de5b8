"""The l1 problems against independent solvers, on random and on degenerate data."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime, linprog, minimize
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso, LogisticRegression

from companion.admm import (
    LogisticLoss,
    SmoothLoss,
    basis_pursuit,
    block_soft_threshold,
    generalized_lasso,
    group_lasso,
    l1_regularized,
    lasso,
    least_absolute_deviations,
    soft_threshold,
)
from companion.exceptions import ConvergenceWarning, InfeasibleProblemError
from tests.exact import verify

EXACT = {"rtol": 1e-12, "atol": 1e-12}
PLAIN = {"finish": False, "relaxation": 1.0}


def data(kind, seed):
    """Random data, and the degenerate kinds: integers, equal and zero columns, low rank, one row, one column."""
    rng = np.random.default_rng(seed)
    m, n = rng.integers(2, 14, size=2)
    if kind == "one row":
        m = 1
    if kind == "one column":
        n = 1
    A, b = rng.standard_normal((m, n)), rng.standard_normal(m)
    if kind == "integers":
        A, b = rng.integers(-2, 3, (m, n)).astype(float), rng.integers(-3, 4, m).astype(float)
    elif kind == "columns":
        A[:, -1] = A[:, 0]
        A[:, n // 2] = 0
    elif kind == "low rank":
        A = (rng.integers(-2, 3, (m, 2)) @ rng.integers(-2, 3, (2, n))).astype(float)
    elif kind == "zero b":
        b = np.zeros(m)
    elif kind == "zero A":
        A = np.zeros((m, n))
    return A, b


KINDS = ["random", "integers", "columns", "low rank", "one row", "one column", "zero b", "zero A"]
all_data = pytest.mark.parametrize("kind", KINDS)
all_seeds = pytest.mark.parametrize("seed", range(6))


def lp_least_absolute(A, b):
    m, n = A.shape
    cost = np.r_[np.zeros(n), np.ones(2 * m)]
    lp = linprog(
        cost,
        A_eq=np.hstack([A, -np.eye(m), np.eye(m)]),
        b_eq=b,
        bounds=[(None, None)] * n + [(0, None)] * 2 * m,
    )
    return lp.fun


def lp_basis_pursuit(A, b):
    return linprog(np.ones(2 * A.shape[1]), A_eq=np.hstack([A, -A]), b_eq=b)


def clarabel(objective, x):
    problem = cp.Problem(cp.Minimize(objective))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the last digits are out of its reach on some data
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return problem.value, x.value


def solved(result):
    assert result.converged
    assert result.status == "converged"
    assert result.certificate.ok
    return result


# ---------------------------------------------------------------- values printed in the text, or exact


def test_lasso_pin():
    A, b = np.diag([2.0, 1.0]), [3, 1]
    assert_allclose(solved(lasso(A, b, 1)).x, [5 / 4, 0], **EXACT)
    plain = lasso(A, b, 1, rho=1, tol=1e-12, **PLAIN)
    assert_allclose(plain.x, [5 / 4, 0], atol=1e-10)
    assert plain.converged


def test_generalized_lasso_pin():
    assert_allclose(solved(generalized_lasso(np.eye(2), [0, 3], [[-1, 1]], 1)).x, [1, 2], **EXACT)


def test_group_lasso_pin():
    result = solved(group_lasso(np.eye(2), [3, 4], [[0, 1]], 1))
    assert_allclose(result.x, [12 / 5, 16 / 5], **EXACT)


def test_least_absolute_deviations_pin():
    assert_allclose(solved(least_absolute_deviations(np.ones((3, 1)), [1, 2, 10])).x, [2], **EXACT)


def test_basis_pursuit_pin():
    result = solved(basis_pursuit([[1, 2]], [2]))
    assert_allclose(result.x, [0, 1], **EXACT)
    assert result.x[0] == 0


def test_problem_16_7_rho_changes_the_speed_a_lot():
    """Boyd's size of data: about 10 000, 1000, 100, few, 100s, 1000s steps from rho = 0.1 to 10 000."""
    rng = np.random.default_rng(7)
    A = rng.standard_normal((100, 20))
    b = A[:, :4] @ [3.0, -2, 1, 4] + 0.1 * rng.standard_normal(100)
    steps = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for rho in (1e-2, 1e-1, 1, 10, 100, 1e3, 1e4):
            run = lasso(A, b, 10, rho=rho, tol=1e-4, max_iter=10_000, **PLAIN)
            steps[rho] = run.n_iter
    best = min(steps, key=steps.get)
    assert best == 100
    order = list(steps.values())
    assert order[0] >= order[1] > 10 * order[4]
    assert order[2] > order[3] > order[4] < order[5] < order[6]


# ---------------------------------------------------------------- the updates are the text's


def test_lasso_updates():
    rng = np.random.default_rng(0)
    for m, n in ((8, 3), (3, 8)):  # skinny and fat: the matrix inversion lemma
        A, b, rho, tau = rng.standard_normal((m, n)), rng.standard_normal(m), 0.7, 0.4
        with pytest.warns(ConvergenceWarning):
            h = lasso(
                A, b, tau, rho=rho, max_iter=6, tol=1e-14, keep_iterates=True, **PLAIN
            ).history
        z = u = np.zeros(n)
        for k in range(6):
            x = np.linalg.solve(A.T @ A + rho * np.eye(n), A.T @ b + rho * (z - u))
            z = soft_threshold(x + u, tau / rho)
            u = u + x - z
            assert_allclose([h["x"][k], h["z"][k + 1], h["u"][k + 1]], [x, z, u], atol=1e-12)


def test_least_absolute_deviations_updates():
    rng = np.random.default_rng(1)
    A, b, rho = rng.standard_normal((9, 3)), rng.standard_normal(9), 0.7
    with pytest.warns(ConvergenceWarning):
        h = least_absolute_deviations(
            A, b, rho=rho, max_iter=6, tol=1e-14, keep_iterates=True, **PLAIN
        ).history
    z = u = np.zeros(9)
    for k in range(6):
        x = np.linalg.solve(A.T @ A, A.T @ (b + z - u))
        z = soft_threshold(A @ x - b + u, 1 / rho)
        u = u + A @ x - z - b
        assert_allclose([h["z"][k + 1], h["u"][k + 1]], [z, u], atol=1e-12)


def test_basis_pursuit_updates():
    rng = np.random.default_rng(2)
    A, b, rho = rng.standard_normal((3, 7)), rng.standard_normal(3), 0.7
    with pytest.warns(ConvergenceWarning):
        h = basis_pursuit(A, b, rho=rho, max_iter=6, tol=1e-14, keep_iterates=True, **PLAIN).history
    z = u = np.zeros(7)
    for k in range(6):
        v = z - u
        x = v - A.T @ np.linalg.solve(A @ A.T, A @ v - b)
        z = soft_threshold(x + u, 1 / rho)
        u = u + x - z
        assert_allclose([h["x"][k], h["z"][k + 1], h["u"][k + 1]], [x, z, u], atol=1e-12)


def test_group_lasso_thresholds_each_block():
    rng = np.random.default_rng(3)
    A, b, groups = rng.standard_normal((8, 5)), rng.standard_normal(8), [[0, 3], [1], [2, 4]]
    with pytest.warns(ConvergenceWarning):
        h = group_lasso(
            A, b, groups, 0.9, rho=2, max_iter=4, tol=1e-14, keep_iterates=True, **PLAIN
        ).history
    for k in range(4):
        for group in groups:
            v = (h["x"][k] + h["u"][k])[group]
            assert_allclose(h["z"][k + 1][group], block_soft_threshold(v, 0.45), atol=1e-14)


# ---------------------------------------------------------------- independent solvers


@all_data
@all_seeds
def test_least_absolute_deviations_against_highs(kind, seed):
    A, b = data(kind, seed)
    result = solved(least_absolute_deviations(A, b))
    assert_allclose(np.abs(A @ result.x - b).sum(), lp_least_absolute(A, b), rtol=1e-9, atol=1e-10)
    assert_allclose(result.z, A @ result.x - b, atol=1e-11)
    lam = result.rho * result.u  # a solution of the dual
    assert_allclose(A.T @ lam, 0, atol=1e-8)
    assert np.abs(lam).max() <= 1 + 1e-8
    assert_allclose(-b @ lam, result.objective, atol=1e-7)


@all_data
@all_seeds
def test_basis_pursuit_against_highs(kind, seed):
    A, b = data(kind, seed)
    reference = lp_basis_pursuit(A, b)
    if reference.status == 2:
        with pytest.raises(InfeasibleProblemError, match="no x satisfies A x = b") as error:
            basis_pursuit(A, b)
        y = error.value.witness
        assert_allclose(A.T @ y, 0, atol=1e-9)
        assert y @ b > 1e-6
        return
    result = solved(basis_pursuit(A, b))
    assert_allclose(np.abs(result.x).sum(), reference.fun, rtol=1e-9, atol=1e-10)
    assert_allclose(A @ result.x, b, atol=1e-9)
    assert np.abs(result.rho * result.u).max() <= 1 + 1e-8


@all_data
@all_seeds
@pytest.mark.parametrize("part", [0.5, 0.05, 0.001])
def test_lasso_against_sklearn(kind, seed, part):
    A, b = data(kind, seed)
    tau = part * np.abs(A.T @ b).max() or part
    result = solved(lasso(A, b, tau))
    peer = Lasso(alpha=tau / len(b), fit_intercept=False, tol=1e-14, max_iter=200_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(A, b)

    def value(x):
        return np.sum((A @ x - b) ** 2) / 2 + tau * np.abs(x).sum()

    # Coordinate descent creeps on dependent columns: there it may stay above our value.
    assert value(result.x) <= value(peer.coef_) * (1 + 1e-9) + 1e-12
    assert_allclose(value(result.x), value(peer.coef_), rtol=1e-4)
    assert_allclose(result.objective, value(result.x), rtol=1e-12)
    if kind in ("random", "one column"):
        assert_allclose(result.x, peer.coef_, atol=2e-6 * max(1, np.abs(peer.coef_).max()))


@all_data
@all_seeds
def test_generalized_lasso_against_clarabel(kind, seed):
    A, b = data(kind, seed)
    n = A.shape[1]
    rng = np.random.default_rng(seed)
    F = [np.diff(np.eye(n), axis=0) if n > 1 else np.eye(1), rng.integers(-1, 2, (n + 3, n))][
        seed % 2
    ]
    x = cp.Variable(n)
    value, _ = clarabel(cp.sum_squares(A @ x - b) / 2 + 0.3 * cp.norm1(F @ x), x)
    result = solved(generalized_lasso(A, b, F, 0.3))
    assert_allclose(result.objective, value, rtol=1e-7, atol=1e-8)
    assert_allclose(
        result.objective,
        np.sum((A @ result.x - b) ** 2) / 2 + 0.3 * np.abs(F @ result.x).sum(),
        rtol=1e-9,
        atol=1e-12,
    )
    assert_allclose(result.z, F @ result.x, atol=1e-9)


@all_data
@all_seeds
def test_group_lasso_against_clarabel(kind, seed):
    A, b = data(kind, seed)
    n = A.shape[1]
    label = np.random.default_rng(seed).integers(0, 3, n)
    groups = [np.flatnonzero(label == g) for g in np.unique(label)]
    tau = 0.3 * np.abs(A.T @ b).max() or 0.3
    x = cp.Variable(n)
    penalty = sum(cp.norm2(x[g]) for g in groups)
    value, _ = clarabel(cp.sum_squares(A @ x - b) / 2 + tau * penalty, x)
    result = solved(group_lasso(A, b, label, tau))
    assert_allclose(result.objective, value, rtol=1e-6, atol=1e-8)
    same = solved(group_lasso(A, b, groups, tau))
    assert_allclose(same.x, result.x, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_logistic_against_sklearn_and_clarabel(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((60, 8))
    y = np.where(A[:, 0] - A[:, 1] + 0.5 * rng.standard_normal(60) > 0, 1.0, -1.0)
    tau = 2.0
    result = solved(l1_regularized(LogisticLoss(A, y), tau))
    peer = LogisticRegression(
        C=1 / tau, l1_ratio=1.0, solver="saga", fit_intercept=False, tol=1e-12, max_iter=100_000
    ).fit(A, y)
    assert_allclose(result.x, peer.coef_[0], atol=1e-6)
    x = cp.Variable(8)
    value, _ = clarabel(cp.sum(cp.logistic(-cp.multiply(y, A @ x))) + tau * cp.norm1(x), x)
    assert_allclose(result.objective, value, rtol=1e-7)
    assert (result.x == 0).any()


def test_unpenalised_intercept():
    rng = np.random.default_rng(5)
    A = np.column_stack([np.ones(80), rng.standard_normal((80, 4))])
    y = np.where(A[:, 1] + 1.5 > rng.standard_normal(80), 1.0, -1.0)
    tau = np.array([0.0, 3, 3, 3, 3])
    loss = LogisticLoss(A, y)
    result = solved(l1_regularized(loss, tau))
    peer = LogisticRegression(
        C=1 / 3, l1_ratio=1.0, solver="saga", tol=1e-12, max_iter=100_000
    ).fit(A[:, 1:], y)
    assert_allclose(result.x, [*peer.intercept_, *peer.coef_[0]], atol=1e-6)
    assert abs(loss.gradient(result.x)[0]) < 1e-9


def test_a_loss_of_your_own():
    class Huber(SmoothLoss):
        def __init__(self, A, b):
            self.A, self.b, self.n = A, b, A.shape[1]

        def value(self, x):
            r = np.sqrt(1 + (self.A @ x - self.b) ** 2) - 1
            return float(r.sum())

        def gradient(self, x):
            r = self.A @ x - self.b
            return self.A.T @ (r / np.sqrt(1 + r**2))

        def hessian(self, x, S):
            r = self.A @ x - self.b
            return (self.A[:, S].T * (1 + r**2) ** -1.5) @ self.A[:, S]

    rng = np.random.default_rng(6)
    A, b = rng.standard_normal((30, 4)), rng.standard_normal(30)
    loss = Huber(A, b)
    result = solved(l1_regularized(loss, 1.5))

    def split(p):  # x = p - q, p and q nonnegative: smooth
        return loss.value(p[:4] - p[4:]) + 1.5 * p.sum()

    peer = minimize(
        split, np.ones(8), bounds=[(0, None)] * 8, options={"ftol": 1e-15, "gtol": 1e-10}
    )
    assert_allclose(result.objective, peer.fun, rtol=1e-8)
    x = rng.standard_normal(4)
    assert_allclose(loss.gradient(x), approx_fprime(x, loss.value), atol=1e-6)


@pytest.mark.parametrize("shape", [(9, 4), (4, 9)])
def test_the_logistic_loss_is_consistent(shape):
    rng = np.random.default_rng(8)
    A, y = rng.standard_normal(shape), np.where(rng.standard_normal(shape[0]) > 0, 1.0, -1.0)
    l, x = LogisticLoss(A, y), rng.standard_normal(shape[1])
    assert_allclose(l.gradient(x), approx_fprime(x, l.value, 1e-7), atol=1e-5)
    S = np.array([0, 2])
    H = np.array([approx_fprime(x, lambda x, i=i: l.gradient(x)[i], 1e-7) for i in S])[:, S]
    assert_allclose(l.hessian(x, S), H, atol=1e-5)
    v = rng.standard_normal(shape[1])
    p = l.prox(v, 0.3)
    assert_allclose(l.gradient(p) + 0.3 * (p - v), 0, atol=1e-9)


# ---------------------------------------------------------------- structure of the solutions


def test_lasso_zeros_are_exact_and_kkt_holds():
    rng = np.random.default_rng(10)
    A, b = rng.standard_normal((40, 100)), rng.standard_normal(40)
    tau = 0.3 * np.abs(A.T @ b).max()
    result = solved(lasso(A, b, tau))
    support = result.x != 0
    assert 0 < support.sum() < 40
    assert_array_equal(result.x, result.z)
    lam = A.T @ (b - A @ result.x)
    assert_allclose(lam[support], tau * np.sign(result.x[support]), rtol=1e-11)
    assert np.abs(lam[~support]).max() < tau
    assert_allclose(result.rho * result.u, lam, rtol=1e-10)


@pytest.mark.parametrize("factor", [1.0, 1.0001, 10.0])
def test_from_tau_max_on_the_solution_is_zero(factor):
    A, b = data("random", 3)
    assert_array_equal(solved(lasso(A, b, factor * np.abs(A.T @ b).max())).x, 0)
    label = np.arange(A.shape[1]) % 2
    norms = [np.linalg.norm((A.T @ b)[label == g]) for g in (0, 1)]
    assert_array_equal(solved(group_lasso(A, b, label, factor * max(norms))).x, 0)


def test_tau_zero_is_least_squares():
    A, b = np.random.default_rng(4).standard_normal((2, 9, 3))[0], np.arange(9.0)
    exact = np.linalg.lstsq(A, b)[0]
    for result in (
        lasso(A, b, 0),
        group_lasso(A, b, [0, 0, 1], 0),
        generalized_lasso(A, b, np.eye(3), 0),
    ):
        assert_allclose(solved(result).x, exact, atol=1e-8)


def test_special_cases_agree():
    A, b = data("random", 5)
    n, tau = A.shape[1], 0.2
    x = lasso(A, b, tau).x
    assert_allclose(generalized_lasso(A, b, np.eye(n), tau).x, x, atol=1e-8)
    assert_allclose(group_lasso(A, b, range(n), tau).x, x, atol=1e-8)


def test_group_weights():
    A, b, groups = np.eye(4), np.array([3.0, 4, 0, 2]), [[0, 1], [2, 3]]
    result = solved(group_lasso(A, b, groups, 1, weights=[2, 0]))
    assert_allclose(result.x, [9 / 5, 12 / 5, 0, 2], **EXACT)


def test_groups_may_have_names_of_any_kind():
    A, b = np.random.default_rng(16).standard_normal((9, 4)), np.arange(9.0)
    plain = group_lasso(A, b, [0, 0, 1, 0], 1.0).x
    for groups in ([0.0, 0.0, 1.5, 0.0], ["a", "a", "b", "a"], [[0, 1, 3], [2]], (7, 7, 8, 7)):
        assert_array_equal(group_lasso(A, b, groups, 1.0).x, plain)


def test_total_variation_jumps():
    """Denoising a step by its jumps: the exact solution is known for one step without noise."""
    b = np.repeat([0.0, 2.0], 10)
    F = np.diff(np.eye(20), axis=0)
    result = solved(generalized_lasso(np.eye(20), b, F, 1))
    assert_allclose(result.x, np.repeat([0.1, 1.9], 10), **EXACT)  # each half moves by tau / 10
    assert np.count_nonzero(result.z) == 1


def test_sparse_recovery():
    rng = np.random.default_rng(12)
    A = rng.standard_normal((40, 120))
    x = np.zeros(120)
    x[rng.choice(120, 6, replace=False)] = rng.standard_normal(6)
    result = solved(basis_pursuit(A, A @ x))
    assert_allclose(result.x, x, atol=1e-12)
    assert_array_equal(result.x != 0, x != 0)


def test_least_absolute_deviations_ignores_outliers():
    rng = np.random.default_rng(13)
    A = np.column_stack([np.ones(30), np.arange(30.0)])
    b = A @ [1.0, 2.0]
    b[rng.choice(30, 10, replace=False)] += 100 * rng.standard_normal(10)
    result = solved(least_absolute_deviations(A, b))
    assert_allclose(result.x, [1, 2], atol=1e-10)
    assert np.count_nonzero(result.z) == 10


def test_harder_linear_programs():
    rng = np.random.default_rng(14)
    A = rng.standard_normal((60, 150))
    b = A[:, :30] @ rng.standard_normal(30)  # too dense for recovery
    assert_allclose(solved(basis_pursuit(A, b)).objective, lp_basis_pursuit(A, b).fun, rtol=1e-9)
    A, b = rng.standard_normal((300, 40)), rng.standard_t(1, 300)
    result = solved(least_absolute_deviations(A, b))
    assert_allclose(result.objective, lp_least_absolute(A, b), rtol=1e-9)


# ---------------------------------------------------------------- symmetries

cases = st.tuples(st.sampled_from(KINDS), st.integers(0, 30))
powers = st.sampled_from([1e-8, 1e-3, 10.0, 1e8])
property_settings = settings(max_examples=40, deadline=None)


@property_settings
@given(cases, powers)
def test_units_do_not_matter(case, c):
    A, b = data(*case)
    tau = 0.2 * np.abs(A.T @ b).max() or 0.2
    first, scaled = lasso(A, b, tau), lasso(c * A, c * b, c**2 * tau)
    assert scaled.certificate.ok
    assert_allclose(scaled.objective, c**2 * first.objective, rtol=1e-9)
    assert_allclose(A @ scaled.x, A @ first.x, atol=1e-8)
    lad, lad_scaled = least_absolute_deviations(A, b), least_absolute_deviations(c * A, c * b)
    assert lad_scaled.certificate.ok
    assert_allclose(lad_scaled.objective, c * lad.objective, rtol=1e-9, atol=1e-12 * c)
    b = A @ np.cos(np.arange(A.shape[1]))
    bp, bp_scaled = basis_pursuit(A, b), basis_pursuit(A / c, b)
    assert bp_scaled.certificate.ok
    assert_allclose(bp_scaled.objective, c * bp.objective, rtol=1e-9, atol=1e-12 * c)


@property_settings
@given(cases, st.randoms(use_true_random=False))
def test_permutations_and_signs_of_columns(case, random):
    A, b = data(*case)
    n = A.shape[1]
    order = random.sample(range(n), n)
    signs = np.array([random.choice([-1.0, 1.0]) for _ in range(n)])
    B = (A * signs)[:, order]
    tau = 0.1 * np.abs(A.T @ b).max() or 0.1
    first, second = lasso(A, b, tau), lasso(B, b, tau)
    assert second.certificate.ok
    assert_allclose(second.objective, first.objective, rtol=1e-9, atol=1e-14)
    if case[0] == "random":
        assert_allclose(second.x, (first.x * signs)[order], atol=1e-7)
    lad = least_absolute_deviations(B, b)
    assert_allclose(lad.objective, least_absolute_deviations(A, b).objective, rtol=1e-9, atol=1e-12)
    b = A @ np.cos(np.arange(n))
    assert_allclose(
        basis_pursuit(B, b).objective, basis_pursuit(A, b).objective, rtol=1e-9, atol=1e-12
    )


@property_settings
@given(cases, st.floats(-3, 3).filter(lambda t: t == 0.0 or abs(t) > 1e-3))
def test_regression_equivariance(case, t):
    """Adding A w to b adds w to the fit and leaves the deviations alone."""
    A, b = data(*case)
    moved = least_absolute_deviations(A, b + A @ np.full(A.shape[1], t))
    assert moved.certificate.ok
    expected = least_absolute_deviations(A, b).objective
    assert_allclose(moved.objective, expected, rtol=1e-9, atol=1e-11)


# ---------------------------------------------------------------- real data, warm start


def test_diabetes_path_with_warm_start():
    X, y = load_diabetes(return_X_y=True)
    y = y - y.mean()
    tau_max = np.abs(X.T @ y).max()
    warm, steps, nonzeros = None, [], []
    for tau in tau_max * np.geomspace(1, 1e-3, 12):
        cold = solved(lasso(X, y, tau))
        warm = solved(lasso(X, y, tau, warm_start=warm))
        assert_allclose(warm.x, cold.x, atol=1e-7 * np.abs(y).max())
        peer = Lasso(alpha=tau / len(y), fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, y)
        assert_allclose(warm.x, peer.coef_, atol=1e-5 * max(1, np.abs(peer.coef_).max()))
        steps.append((warm.n_iter, cold.n_iter))
        nonzeros.append(np.count_nonzero(warm.x))
    assert nonzeros[0] == 0
    assert nonzeros[-1] == 10
    assert np.sum(steps, axis=0)[0] < np.sum(steps, axis=0)[1]


def test_warm_start_at_the_solution_takes_one_step():
    A, b = data("random", 2)
    first = lasso(A, b, 0.1)
    assert solved(lasso(A, b, 0.1, warm_start=first)).n_iter == 1


TALL = data("random", 0)
PROBLEMS = [
    lambda **options: least_absolute_deviations(*TALL, **options),
    lambda **options: basis_pursuit(TALL[0].T, TALL[0].T @ TALL[1], **options),
    lambda **options: lasso(*TALL, 0.7, **options),
    lambda **options: group_lasso(*TALL, np.arange(TALL[0].shape[1]) // 2, 0.7, **options),
    lambda **options: generalized_lasso(
        *TALL, np.diff(np.eye(TALL[0].shape[1]), axis=0), 0.7, **options
    ),
]


# ---------------------------------------------------------------- columns in units of their own


@pytest.mark.parametrize("size", [1e-3, 1e-7, 1e-11])
def test_a_coefficient_without_penalty_in_any_unit(size):
    """A gradient that is small because its column is small proves nothing."""
    A, b, x = np.diag([1.0, size]), np.ones(2), [0.9, 1.0 / size]
    for result in (
        group_lasso(A, b, [0, 1], 0.1, weights=[1.0, 0.0]),
        generalized_lasso(A, b, [[1.0, 0.0]], 0.1),
    ):
        assert verify(solved(result)).ok
        assert_allclose(result.objective, 0.095, rtol=1e-9)
        assert_allclose(result.x, x, rtol=1e-6)
    plain = group_lasso(A, b, [0, 1], 0.1, weights=[1.0, 0.0], max_iter=50, tol=1e-6, finish=False)
    if size < 1e-6:  # ADMM alone leaves the second coefficient near 0
        assert plain.x[1] < 1e3
        assert not plain.certificate.ok


@pytest.mark.parametrize("size", [1e-4, 1e-8])
def test_an_intercept_in_another_unit(size):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = np.where(X[:, 0] + rng.standard_normal(40) > 0.7, 1.0, -1.0)
    plain, other = (
        solved(l1_regularized(LogisticLoss(np.column_stack([X, np.full(40, c)]), y), [2, 2, 2, 0]))
        for c in (1.0, size)
    )
    assert_allclose(other.objective, plain.objective, rtol=1e-7)
    assert_allclose(size * other.x[3], plain.x[3], rtol=1e-3)


@pytest.mark.parametrize("seed", [38, 47, 80])
def test_separable_labels_and_a_small_tau(seed):
    """The loss has no minimum: the entries that ADMM leaves are too many for the rows."""
    rng = np.random.default_rng(seed)
    A, y = rng.standard_normal((4, 9)), np.array([1.0, -1.0, 1.0, 1.0])
    result = solved(l1_regularized(LogisticLoss(A, y), 1e-3))
    assert np.count_nonzero(result.x) <= 4


@pytest.mark.parametrize("tau", [0.0, 0.1])
@pytest.mark.parametrize("size", [1e-15, 1e-8, 1e8])
def test_the_columns_of_a_generalized_lasso_have_their_own_units(size, tau):
    A, b = data("random", 8)
    F = np.diff(np.eye(A.shape[1]), axis=0)
    even = solved(generalized_lasso(A, b, F, tau))
    columns = np.ones(A.shape[1])
    columns[1] = size
    found = solved(generalized_lasso(A * columns, b, F * columns, tau))
    assert verify(found).ok
    assert_allclose(found.objective, even.objective, rtol=1e-9, atol=1e-12)


def test_a_generalized_lasso_that_depends_on_no_variable():
    result = solved(generalized_lasso(np.zeros((3, 3)), np.full(3, -2.0), np.zeros((2, 3)), 1.0))
    assert result.objective == 6.0
    assert_array_equal(result.x, 0.0)


# ---------------------------------------------------------------- options, certificate, errors


def test_plain_admm_is_certified_less_well():
    A, b = data("random", 7)
    with pytest.warns(ConvergenceWarning):
        plain = lasso(A, b, 0.05, max_iter=20, tol=1e-12, rho=1e3, **PLAIN)
    assert not plain.converged
    assert not plain.certificate.ok
    assert plain.certificate.worst > 1e-6


def test_no_certificate_is_said_so():
    """With a tolerance below rounding no answer is good enough."""
    A, b = np.random.default_rng(15).standard_normal((30, 60)), np.arange(30.0)
    with pytest.warns(
        ConvergenceWarning, match=r"no certified solution after 3 steps.*raise max_iter"
    ):
        result = basis_pursuit(A, b, max_iter=3, tol=1e-30)
    assert not result.converged
    assert result.status == "max_iter"
    assert not result.certificate.ok


@pytest.mark.parametrize("solve", PROBLEMS)
def test_without_the_finish_it_is_the_method_of_the_text(solve):
    """The tolerance ends the run, and a run from the solution stays there, whatever rho is."""
    rough, fine = (solve(finish=False, tol=tol) for tol in (1e-3, 1e-9))
    assert rough.converged
    assert fine.converged
    assert rough.n_iter < fine.n_iter
    for rho in (None, 3.0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            again = solve(finish=False, warm_start=solved(solve()), rho=rho, max_iter=1, tol=1e-30)
        assert_allclose(again.z, solve().z, atol=1e-10)


@pytest.mark.parametrize("adaptive", [True, False])
def test_the_penalty_of_the_generalized_lasso_moves_only_if_it_may(adaptive: bool) -> None:
    A, D = np.eye(8), np.diff(np.eye(8), axis=0)
    b = np.r_[np.zeros(4), np.ones(4)]
    run = generalized_lasso(A, b, D, 0.1, rho=1e3, adaptive=adaptive, finish=False)
    assert (np.ptp(run.history["rho"]) > 0) == adaptive


def test_callback_and_history_pass_through():
    A, b = data("random", 6)
    seen = []
    result = lasso(A, b, 0.1, callback=lambda step: seen.append(step.k) or step.k == 4)
    assert seen == [1, 2, 3, 4]
    assert result.status == "stopped by callback"
    kept = lasso(A, b, 0.1, keep_iterates=True)
    assert kept.history["z"].shape == (kept.n_iter + 1, A.shape[1])


A2, B2 = np.eye(2), np.ones(2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lasso(A2, B2, -1), ValueError, "tau must be a finite number >= 0, got -1"),
        (lambda: lasso(np.zeros((2, 0)), B2, 1), ValueError, "at least one row and one column"),
        (lambda: lasso(A2, B2, 1, rho=-1), ValueError, "rho must be a finite number > 0"),
        (lambda: lasso(A2, B2, 1, warm_start=B2), TypeError, "warm_start must be an ADMMResult"),
        (
            lambda: group_lasso(A2, B2, [0, 1, 1], 1),
            ValueError,
            "groups must be 2 labels .* 3 labels",
        ),
        (lambda: group_lasso(A2, B2, 5, 1), TypeError, "groups must be a sequence, got int"),
        (lambda: group_lasso(A2, B2, [0, np.nan], 1), ValueError, "groups must be finite"),
        (lambda: group_lasso(A2, B2, [[0], [0, 1]], 1), ValueError, "each of 0, ..., 1 once"),
        (lambda: group_lasso(A2, B2, [[0], [2]], 1), ValueError, "each of 0, ..., 1 once"),
        (lambda: group_lasso(A2, B2, [[0]], 1), ValueError, "each of 0, ..., 1 once"),
        (
            lambda: group_lasso(A2, B2, [0, 1], 1, weights=[1, -1]),
            ValueError,
            "weights must be >= 0",
        ),
        (lambda: l1_regularized("logistic", 1), TypeError, "loss must be a SmoothLoss"),
        (lambda: l1_regularized(LogisticLoss(A2, B2), [1, -1]), ValueError, "tau must be >= 0"),
        (lambda: l1_regularized(LogisticLoss(A2, B2), [1, 2, 3]), ValueError, "tau must have len"),
        (lambda: LogisticLoss(A2, [0, 1]), ValueError, r"labels \+1 and -1, got 0"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("seed", [0, 1])
def test_the_central_path_ends_at_a_vertex(seed):
    """After one step of ADMM the interior-point method finds the rows that are fitted, and the support."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((1500, 20))
    b = A @ rng.standard_normal(20) + rng.laplace(size=1500)
    result = least_absolute_deviations(A, b)
    highs = linprog(b, A_eq=A.T, b_eq=np.zeros(20), bounds=(-1, 1), method="highs")
    assert result.certificate.ok
    assert result.n_iter == 1
    assert np.count_nonzero(result.z == 0) == 20
    assert_allclose(result.objective, -highs.fun, rtol=1e-9)

    A = rng.standard_normal((20, 300))
    b = rng.standard_normal(20)
    result = basis_pursuit(A, b)
    assert result.certificate.worst < 1e-12
    assert result.n_iter == 1
    assert np.count_nonzero(result.x) == 20
    assert_allclose(result.objective, lp_basis_pursuit(A, b).fun, rtol=1e-9)


DEGENERATE = ["one value twice", "equal rows", "equal columns", "zero columns", "low rank", "ties"]


@pytest.mark.parametrize("kind", DEGENERATE)
@pytest.mark.parametrize("seed", range(4))
def test_degenerate_programs_are_certified(kind, seed):
    """Many solutions, many multipliers, or both; 1e-9 all the same."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((60, 8))
    b = A @ rng.standard_normal(8) + rng.laplace(size=60)
    if kind == "one value twice":  # every point between the two is a solution
        A, b = np.ones((60, 1)), np.r_[np.zeros(30), np.ones(30)] * rng.integers(1, 5)
    elif kind == "equal rows":
        A[30:], b[30:] = A[:30], b[rng.permutation(30)]
    elif kind == "equal columns":
        A[:, 4:] = A[:, :4] * rng.choice([-1.0, 1.0, 2.0], 4)
    elif kind == "zero columns":
        A[:, ::3] = 0
    elif kind == "low rank":
        A = rng.integers(-2, 3, (60, 3)) @ rng.integers(-1, 2, (3, 8)).astype(float)
    elif kind == "ties":
        A, b = rng.integers(-1, 2, (60, 8)).astype(float), rng.integers(-2, 3, 60).astype(float)
    lad = least_absolute_deviations(A, b)
    assert lad.certificate.worst <= 1e-9
    assert_allclose(lad.objective, lp_least_absolute(A, b), rtol=1e-9, atol=1e-12)
    b = A.T @ rng.integers(-1, 2, 60).astype(float)
    if not b.any():
        b = A.T @ np.ones(60)
    pursuit = basis_pursuit(A.T, b)
    assert pursuit.certificate.worst <= 1e-9
    assert_allclose(pursuit.objective, lp_basis_pursuit(A.T, b).fun, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_no_false_certificate_on_dependent_equations(seed):
    """Columns of size 1e-6 to 1e6: where rounding decides, basis pursuit warns."""
    rng = np.random.default_rng(seed)
    m, n = rng.integers(6, 30, 2)
    A = rng.standard_normal((m, n)) * 10.0 ** rng.integers(-6, 7, n)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = basis_pursuit(A, A @ rng.integers(-2, 3, n), max_iter=30)
    if result.certificate.ok:
        assert verify(result).ok
    else:
        assert any(issubclass(w.category, ConvergenceWarning) for w in caught)


@pytest.mark.parametrize(
    "solve", [lasso, lambda A, b, tau, rho: generalized_lasso(A, b, np.eye(2), tau, rho=rho)]
)
def test_a_rho_that_is_lost_in_rounding_is_named(solve):
    A, b = np.full((8, 2), 1e8), np.arange(8.0)
    with pytest.raises(ValueError, match="rho = 1 is too small"):
        solve(A, b, 1.0, rho=1.0)
    assert lasso(A, b, 1.0).certificate.ok
