"""Consensus ADMM: against independent solvers and ADMM itself; stopping; blocks that are elsewhere."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso, Ridge
from sklearn.svm import LinearSVC

from companion.admm import (
    LassoObjective,
    RidgeObjective,
    SquaredHingeObjective,
    admm,
    consensus,
)  # fmt: skip
from companion.exceptions import ConvergenceWarning
from tests.exact import verify
from tests.refusals import refusals

ONE = (np.ones((2, 3)), np.ones(2))
RIDGE, LASSO, HINGE = RidgeObjective(K=0.5), LassoObjective(tau=3.0), SquaredHingeObjective(K=0.7)
every_objective = pytest.mark.parametrize("objective", [RIDGE, LASSO, HINGE], ids=repr)


def data(objective, seed=0, m=60, n=8):
    """Rows with noise, and targets or labels as the objective wants them."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n))
    b = A @ rng.standard_normal(n) + rng.standard_normal(m)
    return A, np.where(b > 0, 1.0, -1.0) if isinstance(objective, SquaredHingeObjective) else b


def split(A, b, cuts=(7, 25)):
    return list(zip(np.split(A, cuts), np.split(b, cuts)))


def by_sklearn(objective, A, b):
    if isinstance(objective, RidgeObjective):
        model = Ridge(objective.K, fit_intercept=False, tol=1e-14)
    elif isinstance(objective, LassoObjective):
        model = Lasso(objective.tau / len(b), fit_intercept=False, tol=1e-13, max_iter=10**6)
    else:
        model = LinearSVC(C=objective.K, fit_intercept=False, dual=False, tol=1e-11, max_iter=10**5)
    return model.fit(A, b).coef_.ravel()


@every_objective
def test_agrees_with_scikit_learn(objective):
    for m, n, cuts in ((60, 8, (7, 25)), (60, 8, (1, 59)), (24, 30, (5, 11))):
        A, b = data(objective, m=m, n=n)
        result = consensus(split(A, b, cuts), objective)
        assert result.converged
        assert verify(result).ok
        np.testing.assert_allclose(result.z, by_sklearn(objective, A, b), atol=1e-6)


@every_objective
@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 5),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    kind=st.sampled_from(["random", "equal rows", "zeros"]),
)
def test_any_split_in_any_order(objective, seed, n, sizes, kind):
    A, b = data(objective, seed, sum(sizes), n)
    if kind == "equal rows":  # so that the blocks are singular
        A[:] = A[0]
    elif kind == "zeros":  # in a column, and in another one of the first block only
        A[:, 0] = A[: sizes[0], -1] = 0
    blocks = split(A, b, np.cumsum(sizes)[:-1])
    order = np.random.default_rng(seed).permutation(len(blocks))
    whole = consensus([(A, b)], objective)
    parts = consensus(blocks, objective)
    mixed = consensus([blocks[i] for i in order], objective)
    scale = max(1.0, np.abs(whole.z).max())
    np.testing.assert_allclose(parts.z, whole.z, atol=1e-6 * scale)
    np.testing.assert_allclose(mixed.z, parts.z, atol=1e-7 * scale)
    assert whole.certificate.ok
    assert parts.certificate.ok
    assert kind != "zeros" or abs(whole.z[0]) < 1e-8


@every_objective
def test_the_steps_are_those_of_admm_on_all_copies(objective):
    """The x_i in one long vector, the constraint x_i - z = 0 weighted by columns, and the norms of that."""
    A, b = data(objective)
    A = A * np.logspace(-1, 1, 8)
    parts = [objective.block(*pair) for pair in split(A, b)]
    d = np.mean([part.curvature for part in parts], axis=0)
    root = np.tile(np.sqrt(d), 3)
    copies = lambda v: (v / root).reshape(3, 8)  # noqa: E731

    def x_update(v, rho):
        return np.concatenate([part.prox(v_i, rho * d) for part, v_i in zip(parts, copies(v))])

    def z_update(v, rho):
        return objective.penalty_prox(-copies(v).mean(axis=0), 1 / (3 * rho * d))

    B = -root[:, None] * np.vstack([np.eye(8)] * 3)
    whole = admm(x_update, z_update, np.diag(root), B, 0, tol_abs=1e-9, tol_rel=1e-9)
    seen = []
    run = consensus(split(A, b), objective, callback=lambda it: seen.append(it) or it.k == 6)
    assert run.n_iter == len(seen) == 6
    np.testing.assert_array_equal(seen[-1].x, run.x.ravel())
    np.testing.assert_allclose(seen[-1].u * root, run.u.ravel(), atol=1e-9)
    run = consensus(split(A, b), objective, adaptive=False)
    assert run.n_iter == whole.n_iter
    for name in ("primal_residual", "dual_residual"):
        np.testing.assert_allclose(run.history[name], whole.history[name], rtol=1e-4, err_msg=name)
    np.testing.assert_allclose(run.x.ravel(), whole.x, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(run.u.ravel(), root * whole.u, rtol=1e-6, atol=1e-9)


@every_objective
def test_blocks_may_be_elsewhere(objective):
    """All that is asked of a block goes through `workers`: threads, or a place that knows the losses by name."""
    A, b = data(objective)
    blocks = split(A, b)
    here = consensus(blocks, objective)
    with ThreadPoolExecutor(2) as pool:
        np.testing.assert_array_equal(consensus(blocks, objective, workers=pool.map).z, here.z)
    places = {i: objective.block(*block) for i, block in enumerate(blocks)}

    def ask(question, names, *columns):
        return [question(places[i], *each) for i, *each in zip(names, *columns, strict=True)]

    away = consensus(list(places), objective, workers=ask)
    np.testing.assert_array_equal(away.z, here.z)
    assert away.certificate.gap == here.certificate.gap


@every_objective
def test_stopping_early_warns_and_the_gap_still_bounds_the_error(objective):
    A, b = data(objective)
    best = consensus(split(A, b), objective).objective
    for steps in (1, 3, 8):
        with pytest.warns(ConvergenceWarning, match="max_iter") as heard:
            result = consensus(split(A, b), objective, max_iter=steps)
        assert heard[0].filename == __file__
        assert not result.converged
        assert not result.certificate.ok
        error = (result.objective - best) / result.objective
        assert -1e-9 <= error <= result.certificate.gap + 1e-9


A3 = np.ones((2, 3))


def ridge(*blocks, **options):
    return lambda: consensus(list(blocks), RIDGE, **options)


def hinge(*blocks, **options):
    return lambda: consensus(list(blocks), HINGE, **options)


test_bad_blocks_and_options = refusals(
    (ridge(), "at least one pair"),
    (ridge(ONE, (np.ones((2, 4)), [1, 1])), r"3 in blocks\[0\] and 4 in blocks\[1\]"),
    (ridge(ONE, (np.ones((0, 3)), [])), r"blocks\[1\] is empty, its shape is \(0, 3\)"),
    (ridge(ONE, (A3, [1, np.nan])), r"b of blocks\[1\] must be finite"),
    (ridge(A3), r"blocks\[0\] is of type ndarray", TypeError),
    (lambda: consensus(ONE, RIDGE), r"For a single block write \[\(A, b\)\]", TypeError),
    (lambda: consensus(None, RIDGE), "must be a list of pairs", TypeError),
    (lambda: consensus([ONE], "lasso"), "objective must be a ConsensusObjective", TypeError),
    (hinge(ONE, (A3, [0, 1])), r"blocks\[1\]: y must hold labels \+1 and -1, got 0"),
    (ridge((1e9 * A3, np.ones(2)), rho=1e-30), "rho is too small"),
)


@pytest.mark.parametrize(("seed", "cuts"), [(29, (1, 3)), (53, ())])
def test_a_penalty_that_swings_comes_to_rest(seed: int, cuts: tuple[int, ...]) -> None:
    """Few rows, columns of very different size: rho rose and fell for ever, and drove the iterates to 1e124."""
    rng = np.random.default_rng(seed)
    n, rows = rng.integers(1, 5), rng.integers(3, 30)
    A = rng.normal(size=(rows, n)) * 10.0 ** rng.uniform(-3, 3, size=n)
    b = rng.normal(size=rows)
    rng.integers(0, rows + 1, size=rng.integers(0, 6))
    K = 10.0 ** rng.uniform(-3, 3)
    result = consensus(split(A, b, cuts), RidgeObjective(K))
    assert result.certificate.ok
    w = np.linalg.solve(A.T @ A + K * np.eye(n), A.T @ b)
    np.testing.assert_allclose(result.z, w, rtol=1e-5)


def test_a_run_goes_on_from_a_result():
    rng = np.random.default_rng(16)
    rows = [
        (rng.standard_normal((12, 3)) * [1.0, 1e3, 1e-3], rng.standard_normal(12)) for _ in "ab"
    ]
    first = consensus(rows, RidgeObjective(K=1.0))
    again = consensus(rows, RidgeObjective(K=1.0), rho=first.rho, z0=first.z, u0=first.u)
    assert again.n_iter <= 3 < first.n_iter
    np.testing.assert_allclose(again.z, first.z, rtol=1e-8)
