"""The quadratic-programming engine: against independent solvers, on degenerate data, and with proofs."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from companion.admm.quadratic import LowRank, solve_qp
from companion.certificates import certify_qp
from companion.exceptions import (
    ConvergenceWarning,
    InfeasibleProblemError,
    UnboundedProblemError,
)

INF = np.inf


def reference(P, q, A, b, lower, upper):
    """Optimal value by Clarabel."""
    x = cp.Variable(q.size)
    factor = np.linalg.eigh(P)
    root = (factor[1] * np.sqrt(np.maximum(factor[0], 0.0))).T
    constraints = [A @ x == b] if len(b) else []
    for bound, sign in ((lower, 1.0), (upper, -1.0)):
        finite = np.isfinite(bound)
        if finite.any():
            constraints.append(sign * (x[finite] - bound[finite]) >= 0)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(root @ x) + q @ x), constraints)
    problem.solve(
        solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10, verbose=False
    )
    assert problem.status == "optimal"
    return problem.value


def check(result, P, q, A, b, lower, upper):
    """Everything that a solution promises, recomputed here with plain NumPy."""
    n = q.size
    dense = P.toarray() if isinstance(P, LowRank) else P
    A = np.zeros((0, n)) if A is None else A
    b = np.zeros(0) if b is None else b
    lower, upper = np.broadcast_to(lower, n), np.broadcast_to(upper, n)
    x, y, zl, zu = result.x, result.y, result.z_lower, result.z_upper
    assert result.converged
    assert result.status == "solved"
    assert result.certificate.ok
    assert result.certificate.tolerance == 1e-9
    assert (x >= lower).all()
    assert (x <= upper).all()
    assert (zl >= 0).all()
    assert (zu >= 0).all()
    assert (x[zl > 0] == lower[zl > 0]).all()
    assert (x[zu > 0] == upper[zu > 0]).all()
    rows = np.abs(A) @ np.abs(x) + np.abs(b)
    assert (np.abs(A @ x - b) <= 1e-9 * rows + 1e-15 * np.abs(q).max()).all()
    terms = [np.abs(t).max(initial=0) for t in (dense @ x, q, A.T @ y, zl, zu)]
    mass = np.abs(dense).max() * np.abs(x).sum()
    rounding = 8 * (1 + np.sqrt(n)) * np.finfo(float).eps * mass  # of n products
    assert np.abs(dense @ x + q + A.T @ y - zl + zu).max() <= 2e-9 * max(terms) + rounding
    assert result.objective == pytest.approx(0.5 * x @ dense @ x + q @ x, rel=1e-9, abs=1e-12)


def solve_and_check(P, q, A=None, b=None, lower=0.0, upper=INF, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = solve_qp(P, q, A, b, lower=lower, upper=upper, **options)
    check(result, P, q, A, b, lower, upper)
    return result


def svm(n, kernel, seed, d=10, shift=0.5):
    """Labelled points of two overlapping classes and the matrix of the dual."""
    rng = np.random.default_rng(seed)
    s = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    X = rng.normal(size=(n, d)) + shift * s[:, None]
    if kernel == "linear":
        return X, s, LowRank(X * s[:, None])
    square = (X**2).sum(axis=1)
    K = np.exp(-0.1 * (square[:, None] + square - 2 * X @ X.T))
    return X, s, np.outer(s, s) * (K + K.T) / 2


# --- against independent solvers --------------------------------------------------------------------


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
    result = solve_and_check(P, q, A, b, lower, upper)
    value = reference(P, q, A, b, lower, upper)
    assert result.objective == pytest.approx(value, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("diagonal", [None, 0.3])
def test_low_rank_and_dense_agree(seed, diagonal):
    rng = np.random.default_rng(100 + seed)
    n, r = int(rng.integers(5, 150)), int(rng.integers(1, 5))
    P = LowRank(rng.normal(size=(n, r)), diagonal)
    q, A, b = rng.normal(size=n), np.ones((1, n)), np.array([0.3 * n])
    thin = solve_and_check(P, q, A, b, 0.0, 1.0)
    dense = solve_and_check(P.toarray(), q, A, b, 0.0, 1.0)
    assert thin.objective == pytest.approx(dense.objective, rel=1e-9)
    assert thin.objective == pytest.approx(
        reference(P.toarray(), q, A, b, np.zeros(n), np.ones(n)), rel=1e-6
    )


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_csvc_dual_agrees_with_libsvm(kernel, C):
    X, s, P = svm(80, kernel, seed=3, d=4)
    result = solve_and_check(P, -np.ones(80), s[None], np.zeros(1), 0.0, C)
    options = {"kernel": "linear"} if kernel == "linear" else {"kernel": "rbf", "gamma": 0.1}
    peer = SVC(C=C, tol=1e-8, **options).fit(X, s)
    alpha = np.zeros(80)
    alpha[peer.support_] = np.abs(peer.dual_coef_[0])
    peer_value = 0.5 * alpha @ (P @ alpha) - alpha.sum()
    assert result.objective <= peer_value + 1e-9 * abs(peer_value)
    assert result.objective == pytest.approx(peer_value, rel=1e-4)
    # The multiplier of the equation is the intercept, up to sign.
    assert peer.intercept_[0] == pytest.approx(result.y[0], abs=2e-3)


# --- duals of support vector machines ---------------------------------------------------------------


@pytest.mark.parametrize("n", [60, 200])
@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
@pytest.mark.parametrize("nu", [0.2, 0.4, 0.5, 0.9, 1.0])
def test_nu_svc(n, kernel, nu):
    _, s, P = svm(n, kernel, seed=n + 1)
    A = np.vstack([s > 0, s < 0]).astype(float)
    result = solve_and_check(P, np.zeros(n), A, np.full(2, nu / 2), 0.0, 1.0 / n)
    if nu == 1.0:  # the only feasible point
        assert (result.x == 1.0 / n).all()


@pytest.mark.parametrize("seed", range(6))
def test_an_optimum_of_nothing_is_certified_in_every_order(seed):
    """The hulls of both colours meet: w = 0, and the matrix has half the rank or less. Every gradient is rounding."""
    rng = np.random.default_rng(seed)
    s = np.where(np.arange(50) % 3 > 0, 1.0, -1.0)
    X = rng.normal(size=50) + 0.3 * s
    P = np.outer(s, s) * np.exp(-1.4 * (X[:, None] - X) ** 2)
    A, c = np.vstack([s > 0, s < 0]).astype(float), np.full(2, 0.15)
    for _ in range(5):
        order = rng.permutation(50)
        Q, B = P[np.ix_(order, order)], A[:, order]
        solve_and_check(Q, np.zeros(50), B, c, 0.0, 0.02)


def test_a_hundred_random_duals_all_certify():
    rng = np.random.default_rng(0)
    for trial in range(100):
        n = int(rng.integers(4, 90))
        d = int(rng.integers(1, 4))
        s = np.where(rng.random(n) < rng.uniform(0.2, 0.8), 1.0, -1.0)
        s[:2] = 1.0, -1.0
        X = rng.normal(size=(n, d)) + rng.uniform(0, 1.5) * s[:, None]
        if trial % 5 == 0:  # duplicate points, some with both labels
            X = X[rng.integers(0, n // 2 + 1, n)]
        if trial % 2:
            P = LowRank(X * s[:, None], None if trial % 4 == 1 else 1e-3)
        else:
            distance = ((X[:, None] - X[None]) ** 2).sum(axis=2)
            P = np.outer(s, s) * np.exp(-rng.uniform(0.02, 2) * distance)
        if trial % 3:
            C = 10.0 ** rng.uniform(-3, 4)
            solve_and_check(P, -np.ones(n), s[None], np.zeros(1), 0.0, C)
        else:
            smaller = min((s > 0).sum(), (s < 0).sum())
            nu = rng.choice([1.0, 0.5, 0.9, 1 / smaller]) * 2 * smaller / n
            A = np.vstack([s > 0, s < 0]).astype(float)
            solve_and_check(P, np.zeros(n), A, np.full(2, nu / 2), 0.0, 1.0 / n)


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_large_dual(kernel):
    n = 1200
    _, s, P = svm(n, kernel, seed=1)
    result = solve_and_check(P, -np.ones(n), s[None], np.zeros(1), 0.0, 1.0, assume_psd=True)
    assert result.certificate.worst < 1e-11
    if kernel == "linear":  # the same matrix, formed: its low rank is found
        dense = solve_and_check(P.toarray(), -np.ones(n), s[None], np.zeros(1), 0.0, 1.0)
        assert dense.objective == pytest.approx(result.objective, rel=1e-12)


# --- degenerate programs ----------------------------------------------------------------------------


def test_one_variable():
    for P, q, lower, upper, x in (
        (2.0, -2.0, 0.0, INF, 1.0),
        (2.0, 2.0, 0.0, INF, 0.0),
        (2.0, -8.0, 0.0, 1.5, 1.5),
        (0.0, 1.0, -3.0, 7.0, -3.0),
        (0.0, 0.0, -3.0, -2.0, None),
        (1.0, 0.0, -INF, INF, 0.0),
        (1.0, 5.0, 4.0, 4.0, 4.0),
    ):
        result = solve_and_check(
            np.array([[P]]), np.array([q]), None, None, np.array([lower]), np.array([upper])
        )
        if x is not None:
            assert result.x[0] == pytest.approx(x, abs=1e-15)


def test_dependent_duplicate_and_zero_rows():
    rng = np.random.default_rng(2)
    n = 12
    G = rng.normal(size=(n, n))
    P, q, A = G @ G.T, rng.normal(size=n), rng.normal(size=(2, n))
    b = A @ rng.random(n)
    plain = solve_and_check(P, q, A, b, 0.0, 1.0)
    more = np.vstack([A, A[0], 3 * A[1] - A[0], np.zeros(n), 1e-3 * A[0]])
    again = solve_and_check(
        P, q, more, np.concatenate([b, [b[0], 3 * b[1] - b[0], 0.0, 1e-3 * b[0]]]), 0.0, 1.0
    )
    assert again.x == pytest.approx(plain.x, abs=1e-9)
    assert again.y.shape == (6,)


def test_fixed_variables_keep_their_value_exactly():
    rng = np.random.default_rng(3)
    n = 20
    G = rng.normal(size=(n, n))
    lower, upper = np.zeros(n), np.ones(n)
    lower[::3] = upper[::3] = 0.1 + 0.2 * rng.random(lower[::3].size)
    result = solve_and_check(
        G @ G.T, rng.normal(size=n), np.ones((1, n)), np.array([8.0]), lower, upper
    )
    assert (result.x[::3] == lower[::3]).all()
    everything = solve_and_check(G @ G.T, np.ones(n), None, None, np.full(n, 0.3), np.full(n, 0.3))
    assert (everything.x == 0.3).all()


def test_wide_spread_of_units_per_variable():
    rng = np.random.default_rng(6)
    n = 30
    G = rng.normal(size=(n, n))
    units = 10.0 ** rng.uniform(-3, 3, n)
    P, q = G @ G.T, rng.normal(size=n)
    plain = solve_and_check(P, q, np.ones((1, n)), np.array([5.0]), 0.0, 1.0)
    other = solve_and_check(
        P * np.outer(units, units), q * units, units[None], np.array([5.0]), 0.0, 1 / units
    )
    assert other.x * units == pytest.approx(plain.x, abs=1e-7)
    assert ((other.x == 0) == (plain.x == 0)).all()


# --- properties -------------------------------------------------------------------------------------


@st.composite
def programs(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n = draw(st.integers(1, 12))
    rank = draw(st.integers(1, n))
    G = rng.integers(-3, 4, size=(n, rank)).astype(float)
    A = rng.integers(-1, 2, size=(draw(st.integers(0, 3)), n)).astype(float)
    b = A @ rng.choice([0.0, 0.25, 0.5, 1.0], n)
    q = rng.integers(-3, 4, n).astype(float)
    return G @ G.T, q, A, b


@settings(max_examples=50, deadline=None)
@given(programs(), st.integers(-8, 8), st.integers(-6, 6))
def test_rescaling_changes_nothing(program, objective, unit):
    P, q, A, b = program
    c, t = 10.0**objective, 10.0**unit
    plain = solve_and_check(P, q, A, b, 0.0, 1.0)
    other = solve_and_check(P * (c / t**2), q * (c / t), A, b * t, 0.0, t)
    assert other.objective / c == pytest.approx(plain.objective, rel=1e-7, abs=1e-8)


# --- programs without solution ----------------------------------------------------------------------


def assert_witness(error, A, b, lower, upper):
    y = error.witness
    w = y @ A
    w[np.abs(w) < 1e-9 * np.abs(y) @ np.abs(A)] = 0.0
    most = sum(max(wi * lo, wi * hi) if wi else 0.0 for wi, lo, hi in zip(w, lower, upper))
    assert most < y @ b


@pytest.mark.parametrize("seed", range(10))
def test_random_infeasible_programs(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    A = rng.normal(size=(3, n))
    y = rng.normal(size=3)
    most = np.maximum(y @ A, 0).sum()
    b = A @ rng.random(n)
    b += y * (most - y @ b + 0.01) / (y @ y)  # now y'b = most + 0.01 > y'Ax on the box
    upper = np.ones(n)
    for P in (np.eye(n), LowRank(rng.normal(size=(n, 2)))):
        with pytest.raises(InfeasibleProblemError) as info:
            solve_qp(P, rng.normal(size=n), A, b, upper=upper)
        assert_witness(info.value, A, b, np.zeros(n), upper)


def test_rounding_noise_in_a_right_hand_side_is_no_contradiction():
    b = [0.3 - 0.1 - 0.2]
    assert b[0] < 0
    result = solve_qp(np.eye(2), [-1.0, -1.0], [[1.0, 1.0]], b)
    assert result.converged
    assert np.abs(result.x).max() <= 1e-15
    with pytest.raises(InfeasibleProblemError):
        solve_qp(np.eye(2), [-1.0, -1.0], [[1.0, 1.0]], [-1e-12])


@pytest.mark.parametrize(
    ("P", "q", "A", "b", "lower"),
    [
        (np.zeros((1, 1)), [-1.0], None, None, 0.0),
        (np.diag([1.0, 0.0]), [0.0, 1.0], None, None, -INF),
        (np.ones((2, 2)), [1.0, 0.0], None, None, -INF),
        (LowRank([[1.0], [1.0]]), [1.0, 0.0], None, None, -INF),
        (np.zeros((3, 3)), [-1.0, -1.0, 0.0], [[1.0, -1.0, 0.0]], [0.0], 0.0),
        (np.zeros((2, 2)), [1e-6, -1e6], [[1.0, 1e-3]], [0.0], -INF),
    ],
)
def test_unbounded(P, q, A, b, lower):
    with pytest.raises(UnboundedProblemError) as info:
        solve_qp(P, q, A, b, lower=lower)
    d = info.value.ray
    assert np.abs(P @ d).max() <= 1e-9 * np.abs(d).max()
    if A is not None:
        assert np.abs(np.array(A) @ d).max() <= 1e-9 * np.abs(d).max()
    assert np.dot(q, d) < 0
    if lower == 0.0:
        assert (d >= 0).all()


# --- arguments --------------------------------------------------------------------------------------


def test_warm_start():
    _, s, P = svm(150, "gaussian", seed=2)
    cold = solve_and_check(P, -np.ones(150), s[None], np.zeros(1), 0.0, 1.0)
    same = solve_and_check(P, -np.ones(150), s[None], np.zeros(1), 0.0, 1.0, warm_start=cold)
    assert same.n_iter == 0
    assert same.x == pytest.approx(cold.x, abs=1e-12)
    near = solve_and_check(
        P, -np.ones(150), s[None], np.zeros(1), 0.0, 1.05, warm_start=(cold.x, cold.y)
    )
    fresh = solve_and_check(P, -np.ones(150), s[None], np.zeros(1), 0.0, 1.05)
    assert near.x == pytest.approx(fresh.x, abs=1e-10)
    junk = solve_and_check(
        P, -np.ones(150), s[None], np.zeros(1), 0.0, 1.0, warm_start=(1e6 * s, np.array([1e9]))
    )
    assert junk.x == pytest.approx(cold.x, abs=1e-10)


def test_too_few_iterations_warn():
    X, s, _ = svm(40, "linear", seed=0, d=3)
    P = np.outer(s, s) * (X @ X.T)
    with pytest.warns(ConvergenceWarning, match="did not reach tol"):
        result = solve_qp(P, -np.ones(40), s[None], [0.0], upper=100.0, max_iter=1)
    assert not result.converged
    assert result.status == "max_iter"
    assert not result.certificate.ok
    assert result.n_iter <= 3  # one for each guess
    assert (result.x >= 0).all()
    assert (result.x <= 100).all()


def test_tolerance_that_rounding_cannot_meet_is_reported():
    rng = np.random.default_rng(1)
    G, q = rng.normal(size=(30, 30)), rng.normal(size=30)
    with pytest.warns(ConvergenceWarning):
        result = solve_qp(G @ G.T, q, np.ones((1, 30)), [1.0], tol=1e-30)
    assert not result.converged
    assert result.certificate.worst < 1e-12


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"P": [[1.0, 2.0], [0.0, 1.0]]}, ValueError, r"symmetric, got 2 at \[0, 1\]"),
        ({"P": [[1.0, 2.0], [2.0, 1.0]]}, ValueError, "negative eigenvalue -1"),
        ({"P": -np.eye(2)}, ValueError, "negative eigenvalue -1"),
        ({"P": np.diag([1.0, -1e-6])}, ValueError, "negative eigenvalue -1e-06"),
        ({"P": np.eye(3)}, ValueError, r"P must have shape \(2, 2\)"),
        ({"P": LowRank(np.ones((3, 1)))}, ValueError, r"\(2, 2\).*\(3, 3\)"),
        ({"P": [[np.nan, 0], [0, 1]]}, ValueError, "P must be finite"),
        ({"P": [[np.nan, 0], [0, 1]], "assume_psd": True}, ValueError, "P must be finite"),
        ({"q": [1.0, np.inf]}, ValueError, "q must be finite"),
        ({"q": []}, ValueError, "at least one entry"),
        ({"A": [[1.0, 1.0]]}, ValueError, "A and b must be given together, got only A"),
        ({"b": [1.0]}, ValueError, "got only b"),
        ({"A": [[1.0]], "b": [1.0]}, ValueError, r"A must have shape \(any, 2\)"),
        ({"A": [[1.0, 1.0]], "b": [1.0, 2.0]}, ValueError, "b must have length 1"),
        ({"lower": [0.0]}, ValueError, "lower must have length 2"),
        ({"upper": np.nan}, ValueError, "upper must not contain NaN"),
        ({"tol": 0.0}, ValueError, "tol"),
        ({"max_iter": 1.5}, TypeError, "max_iter"),
        ({"warm_start": ([1.0], [])}, ValueError, "warm_start x must have length 2"),
        (
            {"warm_start": "x"},
            TypeError,
            r"warm_start must be a QPResult or a pair \(x, y\), got str",
        ),
    ],
)
def test_bad_input(change, error, message):
    arguments = {"P": np.eye(2), "q": [1.0, 2.0]} | change
    with pytest.raises(error, match=message):
        solve_qp(**arguments)


# --- LowRank ----------------------------------------------------------------------------------------


def test_low_rank_is_never_formed():
    # 60 000 variables: the matrix itself would need 29 GB.
    n = 60_000
    rng = np.random.default_rng(0)
    s = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.normal(size=(n, 2)) + 0.7 * s[:, None]
    P = LowRank(X * s[:, None])
    result = solve_qp(P, -np.ones(n), s[None], [0.0], upper=1.0)
    assert result.converged
    again = certify_qp(
        P, -np.ones(n), s[None], np.zeros(1), 0.0, 1.0,
        result.x, result.y, result.z_lower, result.z_upper,
    )  # fmt: skip
    assert again.ok
