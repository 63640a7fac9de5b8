"""Large programs: the coarse one first, rows of P on demand, warm starts."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC

from companion.admm import solve_qp
from companion.admm.coarse import representatives
from companion.admm.kkt import BoxQP, factor_kkt
from companion.admm.low_rank import LowRank, low_rank_factor
from companion.admm.row_matrix import RowMatrix
from companion.kernels import Gaussian


def signed_points(
    n: int, seed: int = 0, period: int = 2, d: int = 3
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    s = np.where(np.arange(n) % period < period / 2, 1.0, -1.0)
    return rng.standard_normal((n, d)) + 0.5 * s[:, None], s


def kernel_rows(X: np.ndarray, s: np.ndarray) -> RowMatrix:
    kernel = Gaussian(0.5**0.5)

    def part(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return kernel(X[i]) if i is j else kernel(X[i], X[j])

    return RowMatrix(part, np.ones(len(X)), s)


@pytest.mark.parametrize("period", [2, 4, 8])
def test_representatives_are_a_quarter_of_each_class(period):
    s = signed_points(1000, period=period)[1]
    few = representatives(np.array([s, np.ones(1000)]))
    assert_array_equal(few, np.unique(few))
    assert [int((s[few] == side).sum()) for side in (1.0, -1.0)] == [125, 125]


def test_representatives_follow_no_period():
    few = representatives(np.ones((1, 4000)))
    assert few.size == 1000
    assert set(few % 4) == {0, 1, 2, 3}


def test_row_matrix_is_the_matrix():
    X, s = signed_points(30)
    rows, index, rng = kernel_rows(X, s), np.array([3, 4, 17]), np.random.default_rng(1)
    P = rows.toarray()
    assert_allclose(P, np.exp(-((X[:, None] - X) ** 2).sum(axis=2)) * np.outer(s, s))
    x = np.where(rng.random(30) < 0.3, rng.standard_normal(30), 0.0)
    assert_allclose(rows @ x, P @ x, atol=1e-14)
    assert rows.n_rows == np.count_nonzero(x)
    assert_allclose(rows @ x, P @ x, atol=1e-14)
    assert_allclose(rows.diagonal(), P.diagonal())
    assert_allclose(rows.restricted(index).toarray(), P[np.ix_(index, index)])
    assert_allclose(rows.restricted(index).part(np.array([0]), np.array([1, 2])), P[3:4, [4, 17]])
    f = rng.uniform(0.5, 2.0, 30)
    assert_allclose(rows.scaled(f).toarray(), P * np.outer(f, f))
    assert_allclose(rows.scaled(f) @ x, (P * np.outer(f, f)) @ x, atol=1e-14)


def test_product_does_not_share_its_memory():
    rows = kernel_rows(*signed_points(10))
    x = np.ones(10)
    product = rows @ x
    product[:] = 0.0
    assert (rows @ x).any()


@pytest.mark.parametrize(("C", "nu"), [(1.0, None), (1.0, 0.5)])
def test_rows_on_demand_and_whole_matrix_agree(C, nu):
    n = 2100
    X, s = signed_points(n, seed=2, period=4, d=8)
    rows = kernel_rows(X / 2.0, s)
    A = s[None] if nu is None else np.array([s, np.ones(n)])
    b = np.zeros(1) if nu is None else np.array([0.0, C * n * nu])
    q = -np.ones(n) if nu is None else np.zeros(n)
    lazy = solve_qp(rows, q, A, b, upper=C, assume_psd=True)
    whole = solve_qp(rows.toarray(), q, A, b, upper=C, assume_psd=True)
    assert lazy.certificate.worst < 1e-12
    assert whole.certificate.worst < 1e-12
    assert rows.n_rows < n
    assert_allclose(lazy.objective, whole.objective, rtol=1e-11)
    assert_allclose(lazy.x, whole.x, atol=1e-7 * C)


def test_a_large_program_has_the_objective_of_libsvm():
    X, s = signed_points(800, seed=3)
    P = kernel_rows(X, s).toarray()
    ours = solve_qp(P, -np.ones(800), s[None], np.zeros(1), upper=1.0, assume_psd=True)
    model = SVC(kernel="rbf", gamma=1.0, tol=1e-8).fit(X, s)
    a = np.zeros(800)
    a[model.support_] = np.abs(model.dual_coef_[0])
    assert ours.certificate.ok
    assert_allclose(ours.objective, 0.5 * a @ P @ a - a.sum(), rtol=1e-9)


def test_warm_start_of_a_large_program():
    X, s = signed_points(700, seed=4)
    P = kernel_rows(X, s).toarray()
    q, A, b = -np.ones(700), s[None], np.zeros(1)
    start = solve_qp(P, q, A, b, upper=1.0, assume_psd=True)
    cold = solve_qp(P, q, A, b, upper=1.1, assume_psd=True)
    warm = solve_qp(P, q, A, b, upper=1.1, assume_psd=True, warm_start=start)
    assert warm.n_iter == 0
    assert warm.certificate.ok
    assert_allclose(warm.x, cold.x, atol=1e-9)


def test_a_useless_warm_start_does_no_harm():
    X, s = signed_points(600, seed=5)
    P, rng = kernel_rows(X, s).toarray(), np.random.default_rng(0)
    q, A, b = -np.ones(600), s[None], np.zeros(1)
    cold = solve_qp(P, q, A, b, upper=1.0, assume_psd=True)
    start = rng.standard_normal(600), np.array([1e6])
    warm = solve_qp(P, q, A, b, upper=1.0, assume_psd=True, warm_start=start)
    assert warm.certificate.ok
    assert_allclose(warm.objective, cold.objective, rtol=1e-11)


def test_kkt_systems_with_rows_on_demand():
    X, s = signed_points(20)
    rows, free = kernel_rows(X, s), np.array([1, 5, 6, 11])
    lower, upper = np.zeros(20), np.ones(20)
    r, rhs = np.arange(4.0), np.array([1.0])
    problems = [BoxQP(P, np.zeros(20), s[None], rhs, lower, upper) for P in (rows, rows.toarray())]
    lazy, whole = (factor_kkt(problem, 0.1, free).solve(r, rhs) for problem in problems)
    assert_allclose(lazy[0], whole[0])
    assert_allclose(lazy[1], whole[1])


def test_block_of_a_low_rank_matrix():
    rng = np.random.default_rng(6)
    P = LowRank(rng.standard_normal((9, 2)), diagonal=rng.random(9))
    i, j = np.array([0, 3, 4]), np.array([4, 8])
    assert_allclose(P.part(i, j), P.toarray()[np.ix_(i, j)])


@pytest.mark.parametrize("rank", [3, 40, 41, 90])
def test_low_rank_is_recognised_among_many_points(rank):
    G = np.random.default_rng(7).standard_normal((200, rank))
    factor = low_rank_factor(G @ G.T, 40)
    if rank > 40:
        assert factor is None
    else:
        assert factor is not None
        assert_allclose(factor @ factor.T, G @ G.T, atol=1e-10)


def test_rounding_is_no_contradiction():
    """The third row is minus the first; its right-hand side too."""
    A = np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    P, q = np.array([[9.0, -3.0], [-3.0, 1.0]]), np.array([1.0, -3.0])
    result = solve_qp(P, q, A, [0.0, 1.0, 0.0], lower=-np.inf)
    assert result.certificate.ok
    assert_allclose(result.x, [0.5, 0.5])


@pytest.mark.slow
@pytest.mark.parametrize("C", [0.3, 10.0])
@pytest.mark.parametrize("nu", [None, 0.5])
def test_nearly_singular_matrix(C, nu):
    """Many points in few dimensions: Newton's method runs in circles often, and the answer is right all the same."""
    n = 2100
    X, s = signed_points(n, seed=2, period=4)
    A = s[None] if nu is None else np.array([s, np.ones(n)])
    b = np.zeros(1) if nu is None else np.array([0.0, C * n * nu])
    q = -np.ones(n) if nu is None else np.zeros(n)
    result = solve_qp(kernel_rows(X, s), q, A, b, upper=C, assume_psd=True)
    assert result.certificate.worst < 1e-9
