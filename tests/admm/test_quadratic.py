"""The quadratic-programming engine: against independent solvers, on degenerate data, and with proofs."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from companion.admm.quadratic import LowRank, solve_qp
from companion.exceptions import ConvergenceWarning, InfeasibleProblemError, UnboundedProblemError
from tests.exact import verify
from tests.refusals import refusals

INF = np.inf


def by_clarabel(G, q, A, b, lower, upper, rows=None):
    """The optimal value for P = G G', with rows (G, h) of G x <= h."""
    x = cp.Variable(q.size)
    low, high = np.isfinite(lower), np.isfinite(upper)
    limits = [A @ x == b, x[low] >= lower[low], x[high] <= upper[high]]
    limits += [] if rows is None else [rows[0] @ x <= rows[1]]
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(G.T @ x) + q @ x), limits)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert problem.status == "optimal"
    return problem.value


def solve_and_check(P, q, A=None, b=None, lower=0.0, upper=INF):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = solve_qp(P, q, A, b, lower=lower, upper=upper)
    assert result.status == "solved"
    exact = verify(result)
    assert exact.ok, exact
    return result


def gaussian(X, gamma):
    return np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))


def svm(n, kernel, seed, d=10, shift=0.5):
    """Labelled points of two overlapping classes and the matrix of the dual."""
    rng = np.random.default_rng(seed)
    s = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    X = rng.normal(size=(n, d)) + shift * s[:, None]
    P = LowRank(X * s[:, None]) if kernel == "linear" else np.outer(s, s) * gaussian(X, 0.1)
    return X, s, P


@pytest.mark.parametrize("seed", range(8))
def test_inequalities_and_their_multipliers_agree_with_clarabel(seed):
    """Half of the programs have a P of low rank, half have equations, two have a row twice."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 20)), int(rng.integers(1, 30))
    root, q, inside = rng.normal(size=(n, n)), 3.0 * rng.normal(size=n), rng.normal(size=n)
    root, G = root[:, : n // 2 + 1] if seed % 2 else root, rng.normal(size=(k, n))
    G = np.vstack([G, G[:1]]) if seed > 5 else G
    h, A = G @ inside + rng.random(len(G)), np.ones((seed // 2 % 2, n))
    P, b, low, high = root @ root.T, A @ inside, inside - 2.0, inside + 1.0
    given = LowRank(root) if seed % 2 else P
    r = solve_qp(given, q, A, b, G=G, h=h, lower=low, upper=high)
    peer = by_clarabel(root, q, A, b, low, high, (G, h))
    assert r.converged
    assert r.objective == pytest.approx(peer, rel=1e-8, abs=1e-8)
    assert min(*r.z, *(h - G @ r.x + 1e-12)) >= 0.0
    assert abs(r.z @ (h - G @ r.x)) < 1e-10
    e = P @ r.x + q + r.y @ A + r.z @ G - r.z_lower + r.z_upper
    np.testing.assert_allclose(e, 0.0, atol=1e-9)


FAR, G2 = {"h": [1], "lower": -INF}, {"P": np.eye(2), "q": [0, 0]}
test_inequalities_that_cannot_be = refusals(
    (lambda: solve_qp(**G2, G=[[1, 1]], h=[-1]), r"is at least 0, .*follow those of A\)", InfeasibleProblemError),
    (lambda: solve_qp(**G2, G=[[1, 1]]), "G and h must be given together, got only G"),
    (lambda: solve_qp(**G2, G=[[1, 1, 1]], h=[1]), "G must have shape"),
    (lambda: solve_qp(np.zeros((1, 1)), [1], G=[[1]], **FAR), "decreases without limit", UnboundedProblemError),
)  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_agree_with_clarabel(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 40)), int(rng.integers(0, 4))
    G = rng.normal(size=(n, [n, max(1, n // 3)][seed % 2]))
    P, A = G @ G.T, rng.normal(size=(k, n))
    lower = np.where(rng.random(n) < 0.3, -INF, rng.normal(size=n) - 1)
    upper = np.where(rng.random(n) < 0.3, INF, lower + 2 * rng.random(n) + 0.1)
    upper = np.where(np.isinf(lower), rng.normal(size=n) + 1, upper)
    inner = np.where(np.isfinite(lower), lower, upper - 1) + 0.04
    b = A @ inner
    q = -P @ rng.normal(size=n) + np.where(np.isfinite(lower), rng.random(n), -rng.random(n))
    value = by_clarabel(G, q, A, b, lower, upper)
    result = solve_and_check(P, q, A, b, lower, upper)
    assert result.objective == pytest.approx(value, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_csvc_dual_agrees_with_libsvm(kernel, C):
    X, s, P = svm(80, kernel, seed=3, d=4)
    result = solve_and_check(P, -np.ones(80), s[None], np.zeros(1), 0.0, C)
    name = "linear" if kernel == "linear" else "rbf"
    peer = SVC(C=C, tol=1e-8, kernel=name, gamma=0.1).fit(X, s)
    alpha = np.zeros(80)
    alpha[peer.support_] = np.abs(peer.dual_coef_[0])
    peer_value = 0.5 * alpha @ (P @ alpha) - alpha.sum()
    assert result.objective <= peer_value + 1e-9 * abs(peer_value)
    assert result.objective == pytest.approx(peer_value, rel=1e-4)
    # The multiplier of the equation is the intercept, up to sign.
    assert peer.intercept_[0] == pytest.approx(result.y[0], abs=2e-3)


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_large_dual(kernel):
    n = 1200
    _, s, P = svm(n, kernel, seed=1)
    result = solve_and_check(P, -np.ones(n), s[None], np.zeros(1), 0.0, 1.0)
    assert result.certificate.worst < 1e-10
    if kernel == "linear":  # the same matrix, formed: its low rank is found
        dense = solve_and_check(P.toarray(), -np.ones(n), s[None], np.zeros(1), 0.0, 1.0)
        assert dense.objective == pytest.approx(result.objective, rel=1e-12)


@settings(max_examples=50)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(-8, 8), st.integers(-6, 6))
def test_rescaling_changes_nothing(seed, n, objective, unit):
    rng = np.random.default_rng(seed)
    G = rng.integers(-3, 4, (n, rng.integers(1, n + 1))).astype(float)
    A = rng.integers(-1, 2, (rng.integers(0, 4), n)).astype(float)
    P, q, b = G @ G.T, rng.integers(-3, 4, n), A @ rng.choice([0.0, 0.25, 0.5, 1.0], n)
    c, t = 10.0**objective, 10.0**unit
    plain = solve_and_check(P, q, A, b, 0.0, 1.0)
    other = solve_and_check(P * (c / t**2), q * (c / t), A, b * t, 0.0, t)
    assert other.objective / c == pytest.approx(plain.objective, rel=1e-7, abs=1e-8)


def test_too_few_iterations_warn():
    _, s, P = svm(40, "linear", seed=0, d=3)
    with pytest.warns(ConvergenceWarning, match="did not reach tol"):
        result = solve_qp(P.toarray(), -np.ones(40), s[None], [0.0], upper=100.0, max_iter=1)
    assert (result.converged, result.status) == (False, "max_iter")
    assert not result.certificate.ok
    assert result.n_iter <= 3  # one for each guess
    assert ((result.x >= 0) & (result.x <= 100)).all()


def program(P=((1.0, 0.0), (0.0, 1.0)), **options):
    return lambda: solve_qp(P, [1.0, 2.0], **options)


test_bad_input = refusals(
    (program([[1.0, 2.0], [0.0, 1.0]]), r"symmetric, got 2 at \[0, 1\]"),
    (program([[1.0, 2.0], [2.0, 1.0]]), "negative eigenvalue -1"),
    (program(np.diag([1.0, -1e-6])), "negative eigenvalue -1e-06"),
    (program(LowRank(np.ones((3, 1)))), r"\(2, 2\).*\(3, 3\)"),
    (lambda: solve_qp(np.eye(2), []), "at least one entry"),
    (program(A=[[1.0, 1.0]]), "A and b must be given together, got only A"),
    (program(b=[1.0]), "got only b"),
    (program(lower=[0.0, 2.0], upper=1.0), r"x\[1\]: lower = 2, upper = 1; lower <= upper is"),
)


def test_low_rank_is_never_formed():
    """With 60,000 variables the matrix itself would need 29 GB."""
    _, s, P = svm(60_000, "linear", seed=0, d=2, shift=0.7)
    assert solve_qp(P, -np.ones(60_000), s[None], [0.0], upper=1.0).certificate.ok
