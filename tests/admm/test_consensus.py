"""Consensus ADMM: against independent solvers and ADMM itself; stopping; blocks that are elsewhere."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso, Ridge
from sklearn.svm import LinearSVC

from companion.admm import (
    L1Penalty,
    LeastSquaresLoss,
    RidgePenalty,
    SquaredHingeLoss,
    admm,
    consensus,
)  # fmt: skip
from companion.exceptions import ConvergenceWarning
from tests.exact import verify
from tests.refusals import refusals

ONE = LeastSquaresLoss(np.ones((2, 3)), np.ones(2))
RIDGE, LASSO, HINGE = RidgePenalty(K=0.5), L1Penalty(tau=3.0), RidgePenalty(K=1.0)
every_objective = pytest.mark.parametrize(
    "penalty", [RIDGE, LASSO, HINGE], ids=("ridge", "lasso", "hinge")
)
PRICE = 0.7  # of the squared slacks


def loss_of(penalty, A, b):
    return SquaredHingeLoss(A, b, PRICE) if penalty is HINGE else LeastSquaresLoss(A, b)


def data(penalty, seed=0, m=60, n=8):
    """Rows with noise, and targets or labels as the loss wants them."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n))
    b = A @ rng.standard_normal(n) + rng.standard_normal(m)
    return A, np.where(b > 0, 1.0, -1.0) if penalty is HINGE else b


def split(penalty, A, b, cuts=(7, 25)):
    return [loss_of(penalty, *block) for block in zip(np.split(A, cuts), np.split(b, cuts))]


def by_sklearn(penalty, A, b):
    if penalty is RIDGE:
        model = Ridge(penalty.K, fit_intercept=False, tol=1e-14)
    elif penalty is LASSO:
        model = Lasso(penalty.tau / len(b), fit_intercept=False, tol=1e-13, max_iter=10**6)
    else:
        model = LinearSVC(C=PRICE, fit_intercept=False, dual=False, tol=1e-11, max_iter=10**5)
    return model.fit(A, b).coef_.ravel()


@every_objective
def test_agrees_with_scikit_learn(penalty):
    for m, n, cuts in ((60, 8, (7, 25)), (60, 8, (1, 59)), (24, 30, (5, 11))):
        A, b = data(penalty, m=m, n=n)
        result = consensus(split(penalty, A, b, cuts), penalty)
        assert result.converged
        assert verify(result).ok
        np.testing.assert_allclose(result.z, by_sklearn(penalty, A, b), atol=1e-6)


@every_objective
@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 5),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    kind=st.sampled_from(["random", "equal rows", "zeros"]),
)
def test_any_split_in_any_order(penalty, seed, n, sizes, kind):
    A, b = data(penalty, seed, sum(sizes), n)
    if kind == "equal rows":  # so that the blocks are singular
        A[:] = A[0]
    elif kind == "zeros":  # in a column, and in another one of the first block only
        A[:, 0] = A[: sizes[0], -1] = 0
    blocks = split(penalty, A, b, np.cumsum(sizes)[:-1])
    order = np.random.default_rng(seed).permutation(len(blocks))
    whole = consensus([loss_of(penalty, A, b)], penalty)
    parts = consensus(blocks, penalty)
    mixed = consensus([blocks[i] for i in order], penalty)
    scale = max(1.0, np.abs(whole.z).max())
    np.testing.assert_allclose(parts.z, whole.z, atol=1e-6 * scale)
    np.testing.assert_allclose(mixed.z, parts.z, atol=1e-7 * scale)
    assert whole.certificate.ok
    assert parts.certificate.ok
    assert kind != "zeros" or abs(whole.z[0]) < 1e-8


@every_objective
def test_the_steps_are_those_of_admm_on_all_copies(penalty):
    """The x_i in one long vector, the constraint x_i - z = 0 weighted by columns, and the norms of that."""
    A, b = data(penalty)
    A = A * np.logspace(-1, 1, 8)
    parts = split(penalty, A, b)
    d = np.mean([part.curvature for part in parts], axis=0)
    root = np.tile(np.sqrt(d), 3)
    copies = lambda v: (v / root).reshape(3, 8)  # noqa: E731

    def x_update(v, rho):
        return np.concatenate([part.prox(v_i, rho * d) for part, v_i in zip(parts, copies(v))])

    def z_update(v, rho):
        return penalty.prox(-copies(v).mean(axis=0), 1 / (3 * rho * d))

    B = -root[:, None] * np.vstack([np.eye(8)] * 3)
    whole = admm(x_update, z_update, np.diag(root), B, 0, tol_abs=1e-9, tol_rel=1e-9)
    seen = []
    run = consensus(split(penalty, A, b), penalty, callback=lambda it: seen.append(it) or it.k == 6)
    assert run.n_iter == len(seen) == 6
    np.testing.assert_array_equal(seen[-1].x, run.x.ravel())
    np.testing.assert_allclose(seen[-1].u * root, run.u.ravel(), atol=1e-9)
    run = consensus(split(penalty, A, b), penalty, adaptive=False)
    assert run.n_iter == whole.n_iter
    for name in ("primal_residual", "dual_residual"):
        np.testing.assert_allclose(run.history[name], whole.history[name], rtol=1e-4, err_msg=name)
    np.testing.assert_allclose(run.x.ravel(), whole.x, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(run.u.ravel(), root * whole.u, rtol=1e-6, atol=1e-9)


@every_objective
def test_blocks_may_be_elsewhere(penalty):
    """All that is asked of a block goes through `workers`: threads, or a place that knows the losses by name."""
    here, threads, places = (split(penalty, *data(penalty)) for _ in range(3))
    here = consensus(here, penalty)
    with ThreadPoolExecutor(2) as pool:
        np.testing.assert_array_equal(consensus(threads, penalty, workers=pool.map).z, here.z)

    def ask(question, names, *columns):
        return [question(places[i], *each) for i, *each in zip(names, *columns, strict=True)]

    away = consensus(range(len(places)), penalty, workers=ask)
    np.testing.assert_array_equal(away.z, here.z)
    assert away.certificate.gap == here.certificate.gap


@every_objective
def test_stopping_early_warns_and_the_gap_still_bounds_the_error(penalty):
    A, b = data(penalty)
    best = consensus(split(penalty, A, b), penalty).objective
    for steps in (1, 3, 8):
        with pytest.warns(ConvergenceWarning, match="max_iter") as heard:
            result = consensus(split(penalty, A, b), penalty, max_iter=steps)
        assert heard[0].filename == __file__
        assert not result.converged
        assert not result.certificate.ok
        error = (result.objective - best) / result.objective
        assert -1e-9 <= error <= result.certificate.gap + 1e-9


def ridge(*losses, **options):
    return lambda: consensus(list(losses), RIDGE, **options)


A4 = np.ones((2, 4))
test_bad_blocks_and_options = refusals(
    (ridge(ONE, LeastSquaresLoss(A4, [1, 1])), r"same number of columns, got \[3, 4\]"),
    (ridge(LeastSquaresLoss(1e9 * A4, np.ones(2)), rho=1e-30), "rho is too small"),
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
    result = consensus(split(RIDGE, A, b, cuts), RidgePenalty(K))
    assert result.certificate.ok
    w = np.linalg.solve(A.T @ A + K * np.eye(n), A.T @ b)
    np.testing.assert_allclose(result.z, w, rtol=1e-5)


def test_a_faint_penalty_is_certified():
    """Its gradient is a part of 1e-6 of the losses' gradients, which have to be known to more digits."""
    A, b = data(LASSO, 9)
    assert consensus(split(LASSO, A, b), L1Penalty(1e-6 * np.abs(A.T @ b).max())).certificate.ok


def test_a_run_goes_on_from_a_result():
    rng = np.random.default_rng(16)
    A, b = rng.standard_normal((24, 3)) * [1.0, 1e3, 1e-3], rng.standard_normal(24)
    losses = split(RIDGE, A, b, (12,))
    first = consensus(losses, RIDGE)
    again = consensus(losses, RIDGE, rho=first.rho, z0=first.z, u0=first.u)
    assert again.n_iter <= 3 < first.n_iter
    np.testing.assert_allclose(again.z, first.z, rtol=1e-8)
