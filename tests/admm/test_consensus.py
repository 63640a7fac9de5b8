"""Consensus ADMM: against independent solvers, in one process and on a cluster that loses a worker."""

import gc
import logging
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import ElasticNet, Lasso, Ridge
from sklearn.svm import LinearSVC

from companion.admm.consensus import (
    ConsensusObjective,
    LassoObjective,
    LeastSquaresBlock,
    RidgeObjective,
    SquaredHingeBlock,
    SquaredHingeObjective,
    consensus,
)
from companion.exceptions import ConvergenceWarning

OBJECTIVES = [RidgeObjective(K=0.5), LassoObjective(tau=3.0), SquaredHingeObjective(K=0.7)]
TIGHT = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
by_name = pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: type(o).__name__)


def data(objective, seed=0, m=60, n=8):
    """Rows with noise, and targets or labels as the objective wants them."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n))
    b = A @ rng.standard_normal(n) + rng.standard_normal(m)
    return A, fit_targets(objective, b)


def fit_targets(objective, b):
    return np.where(b > 0, 1.0, -1.0) if isinstance(objective, SquaredHingeObjective) else b


def split(A, b, cuts=(7, 25)):
    return list(zip(np.split(A, cuts), np.split(b, cuts)))


def by_sklearn(objective, A, b):
    if isinstance(objective, RidgeObjective):
        model = Ridge(objective.K, fit_intercept=False)
    elif isinstance(objective, LassoObjective):
        model = Lasso(objective.tau / len(b), fit_intercept=False, tol=1e-13, max_iter=10**6)
    else:
        model = LinearSVC(C=objective.K, fit_intercept=False, dual=False, tol=1e-11, max_iter=10**5)
    return model.fit(A, b).coef_.ravel()


def by_cvxpy(objective, A, b):
    x = cp.Variable(A.shape[1])
    if isinstance(objective, SquaredHingeObjective):
        cost = cp.sum_squares(x) / 2 + objective.K * cp.sum_squares(
            cp.pos(1 - cp.multiply(b, A @ x))
        )
    elif isinstance(objective, LassoObjective):
        cost = cp.sum_squares(A @ x - b) / 2 + objective.tau * cp.norm1(x)
    else:
        cost = cp.sum_squares(A @ x - b) / 2 + objective.K / 2 * cp.sum_squares(x)
    problem = cp.Problem(cp.Minimize(cost))
    problem.solve(cp.CLARABEL, **TIGHT)
    return x.value, problem.value


# Answers.


@by_name
@pytest.mark.parametrize(
    ("m", "n", "cuts"), [(60, 8, (7, 25)), (60, 8, (1, 59)), (24, 30, (5, 11))]
)
def test_agrees_with_scikit_learn_and_cvxpy(objective, m, n, cuts):
    A, b = data(objective, m=m, n=n)
    result = consensus(split(A, b, cuts), objective)
    assert result.converged
    assert result.certificate.ok, result.certificate
    np.testing.assert_allclose(result.z, by_sklearn(objective, A, b), atol=1e-6)
    x, value = by_cvxpy(objective, A, b)
    np.testing.assert_allclose(result.z, x, atol=1e-6)
    assert result.objective == pytest.approx(value, rel=1e-8)


@by_name
def test_real_data_in_its_own_units(objective):
    if isinstance(objective, SquaredHingeObjective):
        bunch = load_breast_cancer()  # standard deviations from 0.007 to 350
        A, b = bunch.data[:, :10] - bunch.data[:, :10].mean(axis=0), 2.0 * bunch.target - 1
    else:
        bunch = load_diabetes()
        A, b = bunch.data * np.logspace(-2, 2, 10), bunch.target - 152.0
    result = consensus(split(A, b, (50, 130, 300)), objective)
    assert result.converged
    assert result.certificate.ok, result.certificate
    x, value = by_cvxpy(objective, A, b)
    assert result.objective == pytest.approx(value, rel=1e-7)
    columns = np.linalg.norm(A, axis=0)
    np.testing.assert_allclose(columns * result.z, columns * x, rtol=1e-4, atol=1e-3)


@by_name
def test_one_block(objective):
    A, b = data(objective)
    result = consensus([(A, b)], objective)
    np.testing.assert_allclose(result.z, by_sklearn(objective, A, b), atol=1e-6)
    assert result.x.shape == result.u.shape == (1, 8)


@by_name
def test_columns_of_zeros(objective):
    A, b = data(objective)
    A[:, 2] = 0
    A[:25, 5] = 0  # zero in the first blocks only
    result = consensus(split(A, b), objective)
    assert result.certificate.ok
    assert result.z[2] == pytest.approx(0, abs=1e-8)
    np.testing.assert_allclose(result.z, by_sklearn(objective, A, b), atol=1e-6)


@by_name
def test_data_that_are_zero(objective):
    A, b = np.zeros((4, 3)), np.ones(4)
    result = consensus([(A[:1], b[:1]), (A[1:], b[1:])], objective)
    assert result.converged
    assert result.certificate.ok
    np.testing.assert_array_equal(result.z, 0)


@by_name
@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 5),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    repeat=st.booleans(),
)
def test_any_split_in_any_order(objective, seed, n, sizes, repeat):
    A, b = data(objective, seed, sum(sizes), n)
    if repeat:  # equal rows, so that the blocks are singular
        A[:] = A[0]
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


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), c=st.floats(1e-3, 1e3))
def test_lasso_scales_with_b_and_tau(seed, c):
    A, b = data(None, seed, 20, 5)
    z = consensus(split(A, b, (6, 13)), LassoObjective(2.0), tol_abs=0).z
    scaled = consensus(split(A, c * b, (6, 13)), LassoObjective(2.0 * c), tol_abs=0).z
    np.testing.assert_allclose(scaled, c * z, atol=1e-7 * c)


@by_name
def test_relaxation_and_start_do_not_change_the_answer(objective):
    A, b = data(objective)
    z = consensus(split(A, b), objective).z
    for options in ({"relaxation": 1.6}, {"rho": 0.05}, {"rho": 20.0}, {"adaptive": False}):
        other = consensus(split(A, b), objective, **options)
        assert other.converged
        np.testing.assert_allclose(other.z, z, atol=1e-6)


@by_name
def test_multipliers_are_the_gradients_of_the_blocks(objective):
    A, b = data(objective)
    result = consensus(split(A, b), objective)
    for (A_i, b_i), x_i, u_i in zip(split(A, b), result.x, result.u):
        _, gradient = objective.block(A_i, b_i).loss_and_gradient(x_i)
        np.testing.assert_allclose(result.rho * u_i, -gradient, atol=1e-6)


def test_inputs_stay_as_they_are():
    A, b = data(None)
    A32 = A.astype(np.float32)
    copies = A.copy(), b.copy()
    consensus(split(A, b), LassoObjective(1.0))
    np.testing.assert_array_equal(A, copies[0])
    np.testing.assert_array_equal(b, copies[1])
    b.flags.writeable = A.flags.writeable = False
    z = consensus(split(A, b), LassoObjective(1.0)).z
    z32 = consensus(split(A32, b), LassoObjective(1.0)).z
    assert z32.dtype == np.float64
    np.testing.assert_allclose(z32, z, atol=1e-5)


# Certificates and warnings.


@by_name
def test_stopping_early_warns_and_the_gap_still_bounds_the_error(objective):
    A, b = data(objective)
    _, best = by_cvxpy(objective, A, b)
    for steps in (1, 3, 8):
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            result = consensus(split(A, b), objective, max_iter=steps)
        assert not result.converged
        assert not result.certificate.ok
        error = (result.objective - best) / result.objective
        assert -1e-9 <= error <= result.certificate.gap + 1e-9


@by_name
def test_objective_is_computed_from_the_rows(objective):
    A, b = data(objective)
    result = consensus(split(A, b), objective)
    if isinstance(objective, SquaredHingeObjective):
        loss = objective.K * (np.maximum(0, 1 - b * (A @ result.z)) ** 2).sum()
    else:
        loss = ((A @ result.z - b) ** 2).sum() / 2
    assert result.objective == pytest.approx(loss + objective.penalty(result.z), rel=1e-13)
    assert result.history["objective"][-1] == pytest.approx(result.objective, rel=1e-7)


def test_callback_stops_the_run():
    A, b = data(None)
    result = consensus(split(A, b), RidgeObjective(1.0), callback=lambda it: it.k == 4)
    assert result.status == "stopped by callback"
    assert result.n_iter == 4


# Blocks.


@pytest.mark.parametrize("m", [1, 4, 30])
@pytest.mark.parametrize("kind", ["squares", "hinge"])
def test_block_minimises_its_proximal_objective(kind, m):
    rng = np.random.default_rng(m)
    A, v, w = rng.standard_normal((m, 6)), rng.standard_normal(6), rng.uniform(0.1, 3, 6)
    b = np.where(rng.random(m) < 0.5, 1.0, -1.0)
    x = cp.Variable(6)
    if kind == "squares":
        block, loss = LeastSquaresBlock(A, b), cp.sum_squares(A @ x - b) / 2
    else:
        block = SquaredHingeBlock(A, b, 3.0)
        loss = 3 * cp.sum_squares(cp.pos(1 - cp.multiply(b, A @ x)))
    far = 100 * v
    for point in (v, far, v):  # what the block remembers of `far` must not show
        problem = cp.Problem(
            cp.Minimize(loss + cp.sum_squares(cp.multiply(np.sqrt(w), x - point)) / 2)
        )
        problem.solve(cp.CLARABEL, **TIGHT)
        got, value = block.prox(point, w)
        np.testing.assert_allclose(got, x.value, atol=1e-6 * max(1, np.abs(point).max()))
        assert value == pytest.approx(loss.value, rel=1e-5, abs=1e-6)
        _, gradient = block.loss_and_gradient(got)
        np.testing.assert_allclose(gradient, w * (point - got), atol=1e-9 * np.abs(point).max())


@by_name
def test_gradient_is_the_derivative_of_the_loss(objective):
    A, b = data(objective, m=12, n=4)
    block = objective.block(A, b)
    x = np.array([0.3, -0.2, 0.5, 0.1])
    _, gradient = block.loss_and_gradient(x)
    h = 1e-6
    slopes = [
        (block.loss_and_gradient(x + h * e)[0] - block.loss_and_gradient(x - h * e)[0]) / (2 * h)
        for e in np.eye(4)
    ]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-6)


@by_name
def test_block_looks_as_large_as_its_rows(objective):
    A, b = data(objective, m=500)
    assert sys.getsizeof(objective.block(A, b)) > A.nbytes


# Objectives of one's own.


@dataclass(frozen=True)
class ElasticNetObjective(ConsensusObjective):
    tau: float
    K: float

    def block(self, A, b):
        return LeastSquaresBlock(A, b)

    def penalty(self, z):
        return self.tau * np.abs(z).sum() + self.K / 2 * z @ z

    def penalty_prox(self, v, t):
        return np.sign(v) * np.maximum(np.abs(v) - self.tau * t, 0) / (1 + self.K * t)

    def penalty_conjugate(self, s):
        return (np.maximum(np.abs(s) - self.tau, 0) ** 2).sum() / (2 * self.K)


class NormObjective(ConsensusObjective):
    """The Euclidean norm, which is not separable."""

    separable = False

    def block(self, A, b):
        return LeastSquaresBlock(A, b)

    def penalty(self, z):
        return 4 * np.linalg.norm(z)

    def penalty_prox(self, v, t):
        return max(0.0, 1 - 4 * t / np.linalg.norm(v)) * v


def test_penalty_of_ones_own():
    A, b = data(None)
    result = consensus(split(A, b), ElasticNetObjective(tau=3.0, K=2.0))
    model = ElasticNet(5 / 60, l1_ratio=0.6, fit_intercept=False, tol=1e-13, max_iter=10**6)
    np.testing.assert_allclose(result.z, model.fit(A, b).coef_, atol=1e-6)
    assert result.certificate.ok


def test_penalty_that_is_not_separable_and_has_no_conjugate():
    A, b = data(None)
    A *= np.logspace(-0.5, 0.5, 8)
    result = consensus(split(A, b), NormObjective())
    gradient = A.T @ (A @ result.z - b)
    np.testing.assert_allclose(gradient, -4 * result.z / np.linalg.norm(result.z), atol=1e-6)
    assert result.certificate.dual_residual < 1e-7
    assert result.certificate.gap == np.inf  # nothing proves the value
    assert not result.certificate.ok


# Errors.

ONE = (np.ones((2, 3)), np.ones(2))


@pytest.mark.parametrize(
    ("blocks", "error", "message"),
    [
        ([], ValueError, "at least one pair"),
        (
            [ONE, (np.ones((2, 4)), np.ones(2))],
            ValueError,
            r"3 in blocks\[0\] and 4 in blocks\[1\]",
        ),
        ([ONE, (np.ones((0, 3)), [])], ValueError, r"blocks\[1\] is empty, its shape is \(0, 3\)"),
        ([ONE, (np.ones((2, 0)), [1, 1])], ValueError, r"blocks\[1\] is empty"),
        ([(np.ones((2, 3)), np.ones(3))], ValueError, r"b of blocks\[0\] must have length 2"),
        ([ONE, (np.ones((2, 3)), [1, np.nan])], ValueError, r"b of blocks\[1\] must be finite"),
        ([ONE, (np.ones(3), [1])], ValueError, r"A of blocks\[1\] must be a matrix"),
        ((np.ones((5, 3)), np.ones(5)), TypeError, r"For a single block write \[\(A, b\)\]"),
        (np.ones((2, 2, 2)), TypeError, "must be a list of pairs"),
        (None, TypeError, "must be a list of pairs"),
        ([np.ones((2, 3))], TypeError, r"blocks\[0\] is of type ndarray"),
    ],
)
def test_bad_blocks(blocks, error, message):
    with pytest.raises(error, match=message):
        consensus(blocks, RidgeObjective(1.0))


def test_labels_must_be_signs():
    with pytest.raises(ValueError, match=r"blocks\[1\]: labels must be -1 or \+1, got 0"):
        consensus([ONE, (np.ones((2, 3)), [0, 1])], SquaredHingeObjective(1.0))


def test_bad_options():
    with pytest.raises(TypeError, match="objective must be a ConsensusObjective"):
        consensus([ONE], "lasso")
    for make in (RidgeObjective, LassoObjective, SquaredHingeObjective):
        with pytest.raises(ValueError, match="> 0"):
            make(0.0)
    with pytest.raises(ValueError, match="rho must be"):
        consensus([ONE], RidgeObjective(1.0), rho=0.0)
    with pytest.raises(ValueError, match="rho is too small"):
        consensus([(1e9 * np.ones((9, 3)), np.ones(9))], RidgeObjective(1.0), rho=1e-30)


def test_dask_is_not_imported_and_not_needed(monkeypatch):
    code = "import companion.admm.consensus, sys; sys.exit('dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    monkeypatch.setitem(sys.modules, "distributed", None)
    consensus([ONE], RidgeObjective(1.0))
    with pytest.raises(ImportError, match=r"pip install .*distributed"):
        consensus([ONE], RidgeObjective(1.0), client=object())


# On a cluster.


@pytest.fixture(autouse=True)
def quiet(request):
    """Let dask's abandoned tasks complain while pytest still captures the log."""
    yield
    if request.node.get_closest_marker("distributed"):
        gc.collect()


@contextmanager
def cluster_of_two(folder):
    """A client of two worker processes."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            local_directory=folder,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, timeout=60) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A cluster that the tests share and leave whole."""
    with cluster_of_two(tmp_path_factory.mktemp("dask")) as client:
        yield client


@pytest.fixture
def doomed_client(tmp_path):
    """A cluster of one's own, to break."""
    with cluster_of_two(tmp_path) as client:
        yield client


def loaders(blocks):
    """Blocks that the workers load: here from a function, in life from a file."""
    from dask import delayed

    def load(A, b):  # nested: the workers cannot import this file
        return A, b

    return [delayed(load, pure=False)(A, b) for A, b in blocks]


def kill(client, address):
    """Kill a worker process as the system would, and wait until the scheduler knows."""
    (nanny,) = (n for n in client.cluster.workers.values() if n.worker_address == address)
    nanny.close_gracefully()  # the nanny is not to start the worker again: tests do not wait for that
    os.kill(nanny.pid, signal.SIGKILL)
    deadline = time.monotonic() + 30
    while address in client.nthreads() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert address not in client.nthreads()


def holders(client, what):
    """The workers that hold a future whose name contains `what`."""
    return {w for key, ws in client.who_has().items() if what in str(key) for w in ws}


@pytest.mark.distributed
def test_cluster_takes_the_same_steps_for_each_kind_of_block(client):
    import dask.array as da
    from dask import delayed

    A, b = data(None)
    blocks, chunks = split(A, b), (7, 18, 35)
    unknown = [
        da.concatenate([da.from_delayed(delayed(p), (np.nan, *p.shape[1:]), float) for p in parts])
        for parts in zip(*blocks)
    ]
    kinds = {
        "arrays": blocks,
        "delayed pairs": loaders(blocks),
        "pairs of delayed": [(delayed(A_i), delayed(b_i)) for A_i, b_i in blocks],
        "futures": client.compute(loaders(blocks)),
        "dask arrays": (da.from_array(A, (chunks, -1)), da.from_array(b, (chunks,))),
        "persisted": (da.from_array(A, (chunks, -1)).persist(), da.from_array(b, (chunks,))),
        "unknown lengths": tuple(unknown),
    }
    options = {"callback": lambda iterate: iterate.k == 2}
    here = consensus(blocks, LassoObjective(3.0), **options)
    for kind, given_blocks in kinds.items():
        there = consensus(given_blocks, LassoObjective(3.0), client=client, **options)
        np.testing.assert_allclose(there.z, here.z, atol=1e-12, err_msg=kind)
        np.testing.assert_allclose(there.x, here.x, atol=1e-12, err_msg=kind)
        np.testing.assert_allclose(there.history["objective"], here.history["objective"])
        assert there.certificate.gap == pytest.approx(here.certificate.gap), kind


@pytest.mark.distributed
@pytest.mark.parametrize("objective", OBJECTIVES[1:], ids=lambda o: type(o).__name__)
def test_a_worker_killed_in_the_middle_changes_nothing(doomed_client, objective):
    A, b = data(objective, n=3)
    blocks = split(A, b)
    here = consensus(blocks, objective)
    killed = []

    def kill_one(iterate):
        if iterate.k == 5:
            held = holders(doomed_client, "_build")
            assert len(held) == 2  # both workers have a part of the data
            killed.append(min(held))
            kill(doomed_client, killed[0])

    there = consensus(loaders(blocks), objective, client=doomed_client, callback=kill_one)
    assert killed
    assert there.converged
    assert there.n_iter == here.n_iter > 5
    np.testing.assert_allclose(there.z, here.z, atol=1e-6)
    np.testing.assert_allclose(there.z, by_sklearn(objective, A, b), atol=1e-6)


@pytest.mark.distributed
def test_the_rows_do_not_travel(client):
    """Count every byte that client, scheduler and workers write to their sockets during 40 iterations."""
    from dask import delayed

    n = 20

    def load(seed):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((20_000, n))
        return A, A[:, 0] + rng.standard_normal(20_000)

    def count():
        from distributed.comm.tcp import TCP

        if not hasattr(TCP, "written"):
            write = TCP.write

            async def counted(self, *args, **kwargs):
                TCP.written += (size := await write(self, *args, **kwargs))
                return size

            TCP.written, TCP.write, TCP.uncounted = 0, counted, write
        return TCP.written

    def restore():
        from distributed.comm.tcp import TCP

        TCP.write = TCP.uncounted
        del TCP.written, TCP.uncounted

    def total():
        return count() + sum(client.run(count).values())

    seen = {}

    def watch(iterate):
        if iterate.k in (2, 42):
            seen[iterate.k] = total()
        return iterate.k == 42

    try:
        blocks = [delayed(load)(seed) for seed in range(4)]
        consensus(blocks, LassoObjective(1.0), tol_abs=0, tol_rel=0, client=client, callback=watch)
    finally:
        restore()
        client.run(restore)
    written, one_block = seen[42] - seen[2], 20_000 * n * 8
    numbers = 40 * 4 * 3 * n * 8  # 40 iterations, 4 blocks, two vectors there and one back
    assert numbers < written < one_block


@pytest.mark.distributed
def test_errors_of_a_block_come_back_with_its_number(client):
    with pytest.raises(ValueError, match=r"blocks\[1\]: labels must be -1 or \+1"):
        consensus(
            loaders([ONE, (np.ones((2, 3)), [0, 1])]),
            SquaredHingeObjective(1.0),
            client=client,
        )
    with pytest.raises(ValueError, match=r"4 in blocks\[1\]"):
        consensus(loaders([ONE, (np.ones((2, 4)), [0, 1])]), RidgeObjective(1.0), client=client)

    def fail():
        raise TimeoutError("the file server does not answer")

    from dask import delayed

    with pytest.raises(TimeoutError, match="file server"):
        consensus([delayed(fail)()], RidgeObjective(1.0), client=client)
    with pytest.raises(TypeError, match=r"blocks\[0\] must give a pair \(A, b\), got ndarray"):
        consensus([delayed(np.ones)((3, 3))], RidgeObjective(1.0), client=client)


@pytest.mark.distributed
def test_dask_blocks_that_do_not_fit(client):
    import dask.array as da

    A, b, objective = da.ones((6, 4), chunks=(2, 4)), da.ones(6, chunks=2), RidgeObjective(1.0)
    with pytest.raises(ValueError, match=r"A.rechunk\(\{1: -1\}\)"):
        consensus((A.rechunk((2, 2)), b), objective, client=client)
    with pytest.raises(ValueError, match=r"got \(2, 2, 2\) and \(3, 3\)"):
        consensus((A, b.rechunk(3)), objective, client=client)
    with pytest.raises(ValueError, match="A must be a matrix and b a vector"):
        consensus((A, A), objective, client=client)
    frame = A.to_dask_dataframe(columns=list("abcd"))
    with pytest.raises(TypeError, match=r"use to_dask_array\(\) on a dask DataFrame"):
        consensus((frame[["a", "b"]], frame["c"]), objective, client=client)
    for lazy in ((A, b), loaders([ONE]), [(A, b)], client.compute(loaders([ONE]))):
        with pytest.raises(TypeError, match=r"client=dask\.distributed\.Client"):
            consensus(lazy, objective)
    with pytest.raises(TypeError, match=r"must be a synchronous dask\.distributed\.Client"):
        consensus((A, b), objective, client="localhost")


@pytest.mark.distributed
def test_scattered_rows_that_are_lost(doomed_client):
    first, second = doomed_client.nthreads()
    A, b = data(None)
    (one, two, three) = split(A, b)
    blocks = [
        doomed_client.scatter([block], workers=[worker], hash=False)[0]
        for block, worker in ((one, first), (two, second), (three, second))
    ]

    def kill_one(iterate):
        if iterate.k == 3:
            kill(doomed_client, first)

    with pytest.raises(RuntimeError, match=r"client\.scatter leaves none"):
        consensus(blocks, RidgeObjective(1.0), client=doomed_client, callback=kill_one)


@pytest.mark.distributed
def test_a_cluster_without_workers_or_scheduler(tmp_path):
    distributed = pytest.importorskip("distributed")
    options = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL, "processes": False}
    with distributed.LocalCluster(n_workers=0, local_directory=tmp_path, **options) as cluster:
        client = distributed.Client(cluster)
        start = time.monotonic()
        with pytest.raises(RuntimeError, match=r"no worker for worker_timeout = 0\.1 s"):
            consensus([ONE], RidgeObjective(1.0), client=client, worker_timeout=0.1)
        assert time.monotonic() - start < 20
        client.close()
    with pytest.raises(RuntimeError, match="connection to the cluster's scheduler is lost"):
        consensus([ONE], RidgeObjective(1.0), client=client)


@pytest.mark.distributed
def test_a_cluster_that_goes_away_in_the_middle(tmp_path):
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=1,
        processes=False,
        dashboard_address=":0",
        local_directory=tmp_path,
        silence_logs=logging.CRITICAL,
    )
    with distributed.Client(cluster, set_as_default=False) as client:

        def close(iterate):
            if iterate.k == 2:
                cluster.close()

        with pytest.raises(RuntimeError, match="connection to the cluster's scheduler is lost"):
            consensus([ONE, ONE], RidgeObjective(1.0), client=client, callback=close)
