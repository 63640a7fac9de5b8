"""The l1 problems against independent solvers, on random and on degenerate data."""

import math
import warnings
from fractions import Fraction
from functools import partial
from itertools import combinations, product

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Lasso, LogisticRegression

from companion.admm.generalized import generalized_lasso
from companion.admm.least_norm import basis_pursuit, least_absolute_deviations
from companion.admm.losses import LeastSquaresLoss, LogisticLoss
from companion.admm.proximal import block_soft_threshold, soft_threshold
from companion.admm.regularized import _Regularized, group_lasso, l1_regularized, lasso
from companion.exceptions import ConvergenceWarning, InfeasibleProblemError
from tests.exact import verify
from tests.refusals import refusals


def data(kind, seed):
    """Random data, and degenerate kinds: many solutions, many multipliers, or both."""
    rng = np.random.default_rng(seed)
    m, n = rng.integers(2, 14, size=2)
    m, n = 1 if kind == "one row" else m, 1 if kind == "one column" else n
    A, b = rng.standard_normal((m, n)), rng.standard_normal(m)
    if kind == "integers":
        A, b = rng.integers(-2, 3, (m, n)).astype(float), rng.integers(-3, 4, m).astype(float)
    elif kind == "columns":
        A[:, -1] = A[:, 0]
        A[:, n // 2] = 0
    elif kind == "low rank":
        A = (rng.integers(-2, 3, (m, 2)) @ rng.integers(-2, 3, (2, n))).astype(float)
    elif kind == "rows":  # equal ones, with other targets
        A = np.vstack([A, A])
        b = np.r_[b, b[rng.permutation(m)]]
    elif kind == "zero b":
        b = np.zeros(m)
    elif kind == "zero A":
        A = np.zeros((m, n))
    return A, b


KINDS = ["random", "integers", "columns", "rows", "low rank", "one row", "one column"]
KINDS += ["zero b", "zero A"]
all_data = pytest.mark.parametrize(("kind", "seed"), list(product(KINDS, range(6))))


def clarabel(objective, *constraints):
    """The least value of an expression."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the last digits are out of its reach on some data
        return cp.Problem(cp.Minimize(objective), list(constraints)).solve(
            solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
        )


def solved(result):
    """The result, after its proof in exact arithmetic: multipliers, signs, zeros."""
    assert result.status == "converged"
    assert verify(result).ok
    return result


# 1e-17 in place of the 0 would be all of a deviation that has to vanish
CANCELS = [[1, 0, 0], [1, 0, -1], [1, 3, -1], [1, 1, -1]], [0, 2, -2, 1]


@pytest.mark.parametrize(
    ("solve", "arguments", "x"),
    [
        (lasso, (np.diag([2.0, 1.0]), [3, 1], 1), [5 / 4, 0]),
        (generalized_lasso, (np.eye(2), [0, 3], [[-1, 1]], 1), [1, 2]),
        (group_lasso, (np.eye(2), [3, 4], [0, 0], 1), [12 / 5, 16 / 5]),
        (least_absolute_deviations, (np.ones((3, 1)), [1, 2, 10]), [2]),
        (least_absolute_deviations, CANCELS, [0, -4 / 3, -2]),
        (basis_pursuit, ([[1, 2]], [2]), [0, 1]),
    ],
)
def test_solutions_found_by_hand(solve, arguments, x):
    assert_allclose(solved(solve(*arguments)).x, x, rtol=1e-12, atol=1e-12)


RNG = np.random.default_rng(0)
SKINNY, FAT, RHO, TAU = RNG.standard_normal((8, 3)), RNG.standard_normal((3, 8)), 0.7, 0.4
B8, B3, LABEL = RNG.standard_normal(8), RNG.standard_normal(3), np.array([0, 1, 0])


def ridge(A, b):
    return lambda v: np.linalg.solve(A.T @ A + RHO * np.eye(A.shape[1]), A.T @ b + RHO * v)


def soft(tau):
    return lambda v: soft_threshold(v, tau / RHO)


def by_groups(v):
    return sum(block_soft_threshold(v * (group == LABEL), TAU / RHO) for group in (0, 1))


I3, I8 = np.eye(3), np.eye(8)
UPDATES = {
    "lasso": (partial(lasso, SKINNY, B8, TAU), ridge(SKINNY, B8), soft(TAU), I3, 0.0),
    "by the inversion lemma": (partial(lasso, FAT, B3, TAU), ridge(FAT, B3), soft(TAU), I8, 0.0),
    "groups": (partial(group_lasso, SKINNY, B8, LABEL, TAU), ridge(SKINNY, B8), by_groups, I3, 0.0),
}


@pytest.mark.parametrize(("solve", "x_step", "z_step", "A", "b"), UPDATES.values(), ids=UPDATES)
def test_updates(solve, x_step, z_step, A, b):
    """The three lines of the text, for A x - z = b."""
    with pytest.warns(ConvergenceWarning):
        h = solve(rho=RHO, max_iter=6, relaxation=1, tol=1e-70, keep_iterates=True).history
    z = u = np.zeros(len(A))
    for k in range(6):
        x = x_step(b + z - u)
        z = z_step(A @ x - b + u)
        u = u + A @ x - z - b
        assert_allclose([h["z"][k + 1], h["u"][k + 1]], [z, u], atol=1e-12)


@all_data
def test_least_norms_are_proved_on_any_data(kind, seed):
    A, b = data(kind, seed)
    solved(least_absolute_deviations(A, b))
    if np.linalg.matrix_rank(np.c_[A, b]) > np.linalg.matrix_rank(A):
        with pytest.raises(InfeasibleProblemError, match="no x satisfies A x = b") as error:
            basis_pursuit(A, b)
        assert_allclose(A.T @ error.value.witness, 0, atol=1e-9)
        assert error.value.witness @ b > 1e-6
    else:
        solved(basis_pursuit(A, b))


@pytest.mark.filterwarnings("ignore:no certified solution")
@pytest.mark.parametrize("noise", [1e-4, 1e-8, 1e-10, 1e-12, 1e-15, 0.0])
def test_deviations_that_are_small_beside_the_data(noise):
    """Against the best of all lines through two points, by fractions; where it is not proved, no float64 is near it."""
    rng = np.random.default_rng(20)
    A = np.column_stack([np.ones(9), 1e3 * rng.standard_normal(9)])
    b = A @ [0.3, -0.7] + noise * rng.standard_normal(9)
    rows, points = [[Fraction(v) for v in (*row, t)] for row, t in zip(A, b)], []
    total = lambda x, y: sum(abs(p * x + q * y - t) for p, q, t in rows)  # noqa: E731
    for (p, q, t), (r, s, u) in combinations(rows, 2):
        points.append(((t * s - q * u) / (p * s - q * r), (p * u - t * r) / (p * s - q * r)))
    (best, at), result = min((total(*p), p) for p in points), least_absolute_deviations(A, b)
    beside = [[float(v) + i * math.ulp(v) for i in range(-3, 4)] for v in at]
    far = [total(*map(Fraction, x)) - best > 1e-8 * best for x in (result.x, *product(*beside))]
    if result.z.any():
        assert not far[0] if result.converged else all(far)
    else:  # every row is fitted, to the rounding of its terms
        assert noise < 1e-14
        assert total(*map(Fraction, solved(result).x)) <= 1e-15 * np.abs(A).sum()


def by_descent(A, b, tau):
    """The lasso's coefficients by scikit-learn."""
    peer = Lasso(alpha=tau / len(b), fit_intercept=False, tol=1e-14, max_iter=200_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return peer.fit(A, b).coef_


@all_data
@pytest.mark.parametrize("part", [0.5, 0.05, 0.001])
def test_lasso_against_sklearn(kind, seed, part):
    A, b = data(kind, seed)
    tau = part * np.abs(A.T @ b).max() or part
    result = solved(lasso(A, b, tau))
    x, w = result.x, by_descent(A, b, tau)
    ours, theirs = (np.sum((A @ v - b) ** 2) / 2 + tau * np.abs(v).sum() for v in (x, w))
    # Coordinate descent creeps on dependent columns: there it may stay above our value.
    assert ours <= theirs * (1 + 1e-9) + 1e-12
    assert_allclose(ours, theirs, rtol=1e-4)
    assert_array_equal(x, result.z)
    if kind in ("random", "one column"):
        assert_allclose(x, w, atol=2e-6 * max(1, np.abs(w).max()))


@all_data
def test_generalized_lasso_against_clarabel(kind, seed):
    A, b = data(kind, seed)
    n = A.shape[1]
    rng = np.random.default_rng(seed)
    F = rng.integers(-1, 2, (n + 3, n)) if seed % 2 or n == 1 else np.diff(np.eye(n), axis=0)
    x = cp.Variable(n)
    value = clarabel(cp.sum_squares(A @ x - b) / 2 + 0.3 * cp.norm1(F @ x))
    result = solved(generalized_lasso(A, b, F, 0.3))
    assert_allclose(result.objective, value, rtol=1e-7, atol=1e-8)
    assert_allclose(result.z, F @ result.x, atol=1e-9)


@pytest.mark.parametrize("tau", [1e-12, 1e-6])
@pytest.mark.parametrize(("kind", "seed"), [*product(["random", "one row"], [1, 4, 5, 6])])
def test_a_tiny_weight_asks_for_the_least_norm_of_those_that_fit(kind, seed, tau):
    A, b = data(kind, seed)
    F = np.random.default_rng(seed).integers(-1, 2, (A.shape[1] + 3, A.shape[1]))
    x = cp.Variable(A.shape[1])
    least = clarabel(cp.norm1(F @ x), A @ x == b)
    assert_allclose(solved(generalized_lasso(A, b, F, tau)).objective / tau, least, rtol=1e-4)


@all_data
def test_group_lasso_against_clarabel(kind, seed):
    A, b = data(kind, seed)
    n = A.shape[1]
    names = np.random.default_rng(seed).choice(["a", "b", "c"], n)
    tau = 0.3 * np.abs(A.T @ b).max() or 0.3
    x = cp.Variable(n)
    penalty = sum(cp.norm2(x[names == g]) for g in np.unique(names))
    value = clarabel(cp.sum_squares(A @ x - b) / 2 + tau * penalty)
    result = solved(group_lasso(A, b, names, tau))
    assert_allclose(result.objective, value, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_logistic_against_sklearn_and_clarabel(seed):
    """Without an intercept, and with one that has no penalty."""
    rng = np.random.default_rng(seed)
    A, tau = rng.standard_normal((60, 8)), np.full(8, 2.0)
    y = np.where(A[:, 0] - A[:, 1] + 1.0 + 0.5 * rng.standard_normal(60) > 0, 1.0, -1.0)
    options = {"l1_ratio": 1.0, "solver": "saga", "tol": 1e-12, "max_iter": 100_000}
    peer = LogisticRegression(C=0.5, fit_intercept=bool(seed % 2), **options).fit(A, y)
    w = peer.coef_[0]
    if seed % 2:
        A, tau, w = np.c_[np.ones(60), A], np.r_[0.0, tau], np.r_[peer.intercept_, w]
    result = solved(l1_regularized(LogisticLoss(A, y), tau))
    assert_allclose(result.x, w, atol=1e-6)
    x = cp.Variable(tau.size)
    value = clarabel(cp.sum(cp.logistic(-cp.multiply(y, A @ x))) + tau @ cp.abs(x))
    assert_allclose(result.objective, value, rtol=1e-7)
    assert (result.x == 0).any()


@settings(max_examples=40)
@given(st.sampled_from(KINDS), st.integers(0, 30), st.sampled_from([1e-8, 1e-3, 10.0, 1e8]))
def test_units_do_not_matter(kind, seed, c):
    A, b = data(kind, seed)
    tau = 0.2 * np.abs(A.T @ b).max() or 0.2
    right = A @ np.cos(np.arange(A.shape[1]))
    first, scaled = lasso(A, b, tau), lasso(c * A, c * b, c**2 * tau)
    assert_allclose(A @ scaled.x, A @ first.x, atol=1e-8)
    for one, other, unit in (
        (first, scaled, c**2),
        (least_absolute_deviations(A, b), least_absolute_deviations(c * A, c * b), c),
        (basis_pursuit(A, right), basis_pursuit(A / c, right), c),
    ):
        assert other.certificate.ok
        assert_allclose(other.objective, unit * one.objective, rtol=1e-9, atol=1e-12 * unit)


@pytest.mark.parametrize("size", [1e-3, 1e-7, 1e-11])
def test_a_coefficient_without_penalty_in_any_unit(size):
    """A gradient that is small because its column is small proves nothing."""
    A, b, x = np.diag([1.0, size]), np.ones(2), [0.9, 1.0 / size]
    result = solved(generalized_lasso(A, b, [[1.0, 0.0]], 0.1))
    assert_allclose(result.objective, 0.095, rtol=1e-9)
    assert_allclose(result.x, x, rtol=1e-6)


def test_no_certificate_is_said_so():
    """With a tolerance below rounding no answer is good enough."""
    A, b = np.random.default_rng(15).standard_normal((30, 60)), np.arange(30.0)
    message = r"no certified solution after 3 steps.*raise max_iter"
    with pytest.warns(ConvergenceWarning, match=message):
        result = lasso(A, b, 1.0, max_iter=3, tol=1e-30)
    assert (result.converged, result.status, result.certificate.ok) == (False, "max_iter", False)
    with pytest.warns(ConvergenceWarning, match="no certified solution: "):
        assert not basis_pursuit(A, b, tol=1e-30).converged


@pytest.mark.parametrize("seed", range(3))
def test_the_gap_bounds_the_error_of_any_point(seed):
    """Weak duality: no point is further from the minimum than its certificate says."""
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((20, 6)), rng.standard_normal(20)
    each = np.full(6, 0.2 * np.abs(A.T @ b).max())
    pairs, alone = (each[:3], np.repeat(np.arange(3), 2)), (each, np.arange(6))
    squares, logistic = LeastSquaresLoss(A, b), LogisticLoss(A, np.sign(b))
    for loss, penalty in ((squares, alone), (squares, pairs), (logistic, alone)):
        problem = _Regularized(loss, *penalty)
        best = problem.solve()
        for size in (1e-3, 0.1, 1.0, 10.0):
            z = best.z + size * rng.standard_normal(6)
            certificate = problem.certify(z, -problem.loss.gradient(z), 1e-8)
            value = problem.objective(z, z)
            assert value - best.objective <= certificate.gap * value * (1 + 1e-9)
            assert not certificate.ok


A2, B2 = np.eye(2), np.ones(2)
LOSS = LogisticLoss(A2, B2)

test_bad_input = refusals(
    (lambda: lasso(np.zeros((2, 0)), B2, 1), "at least one row and one column"),
    (lambda: group_lasso(A2, B2, [0, 1, 1], 1), "groups must hold 2 labels"),
    (lambda: group_lasso(A2, B2, [[0], [1]], 1), r"hold 2 labels, one for each col.*, got \[\["),
    (lambda: group_lasso(A2, B2, [[0], [1, 2]], 1), r"hold 2 labels, one .*, got \[\["),
    (lambda: l1_regularized(LOSS, [1, -1]), "tau must be >= 0"),
    (lambda: l1_regularized(LOSS, [1, 2, 3]), "tau must have len"),
    (lambda: LogisticLoss(A2, [0, 1]), r"labels \+1 and -1, got 0"),
    (lambda: LogisticLoss(A2, [1 + 1e-9, 1]), r"labels \+1 and -1, got 1.000000001"),
)


def test_a_rho_that_is_lost_in_rounding_is_named():
    A, b = np.full((8, 2), 1e8), np.arange(8.0)
    with pytest.raises(ValueError, match="rho is too small"):
        lasso(A, b, 1.0, rho=1.0)
    assert lasso(A, b, 1.0).certificate.ok
