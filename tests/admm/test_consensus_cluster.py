"""Consensus ADMM on a cluster of worker processes: what travels, and what happens when something dies."""

import gc
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest
from test_consensus import OBJECTIVES, by_sklearn, data, split

from benchmarks.consensus import Link
from companion.admm import (
    LassoObjective,
    LeastSquaresLoss,
    RidgeObjective,
    SquaredHingeObjective,
    consensus,
)

ONE = (np.ones((2, 3)), np.ones(2))


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
        np.testing.assert_allclose(there.x, here.x, atol=1e-12, err_msg=kind)
        np.testing.assert_allclose(there.history["objective"], here.history["objective"])
        assert there.certificate.gap == pytest.approx(here.certificate.gap), kind


@pytest.mark.distributed
@pytest.mark.parametrize(
    "objective",
    [pytest.param(OBJECTIVES[1], marks=pytest.mark.slow), OBJECTIVES[2]],
    ids=lambda o: type(o).__name__,
)
def test_a_worker_killed_in_the_middle_does_not_change_the_answer(tmp_path, objective):
    """All blocks begin again at the last z, with the multipliers that belong to it."""
    A, b = data(objective, n=3)
    blocks = split(A, b)
    here = consensus(blocks, objective)
    killed = []

    def kill_one(iterate):
        if iterate.k == 5:
            placed = client.who_has().items()
            held = {w for key, ws in placed if "build_block" in str(key) for w in ws}
            assert len(held) == 2  # both workers have a part of the data
            killed.append(min(held))
            kill(client, killed[0])

    with cluster_of_two(tmp_path) as client:
        there = consensus(loaders(blocks), objective, client=client, callback=kill_one)
    assert killed
    assert there.converged
    assert there.certificate.ok
    assert 5 < there.n_iter < 2 * here.n_iter
    np.testing.assert_allclose(there.z, here.z, atol=1e-6)
    np.testing.assert_allclose(there.z, by_sklearn(objective, A, b), atol=1e-6)


@pytest.mark.distributed
def test_errors_of_a_block_come_back_with_its_number(client):
    with pytest.raises(ValueError, match=r"blocks\[1\]: y must hold labels \+1 and -1"):
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
    import dask.bag

    A, b, objective = da.ones((6, 4), chunks=(2, 4)), da.ones(6, chunks=2), RidgeObjective(1.0)
    with pytest.raises(ValueError, match=r"A.rechunk\(\{1: -1\}\)"):
        consensus((A.rechunk((2, 2)), b), objective, client=client)
    with pytest.raises(ValueError, match=r"got \[3, 2\]"):
        consensus((A, b.rechunk(3)), objective, client=client)
    frame = A.to_dask_dataframe(columns=list("abcd"))
    bag = dask.bag.from_sequence([1, 2, 3])
    for pair, error, message in (
        ((frame, "e"), ValueError, "got 'e'; A has: a, b, c, d"),
        ((A, "e"), ValueError, "one column of a dask DataFrame"),
        ((A, A), TypeError, r"must be a matrix and a vector .* \(2, 2\) dimensions"),
        ((frame, b), TypeError, "got DataFrame and Array"),
        ((A, frame["a"]), TypeError, "got Array and Series"),
        ((bag, frame["a"]), TypeError, "got Bag and Series"),
        ((frame, frame["a"].repartition(npartitions=1)), ValueError, r"got \[3, 1\]"),
    ):
        with pytest.raises(error, match=message):
            consensus(pair, objective, client=client)
    for lazy in ((A, b), (frame, "a"), loaders([ONE]), [(A, b)], client.compute(loaders([ONE]))):
        with pytest.raises(TypeError, match=r"client=dask\.distributed\.Client"):
            consensus(lazy, objective)
    with pytest.raises(TypeError, match=r"must be a synchronous dask\.distributed\.Client"):
        consensus((A, b), objective, client="localhost")


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


# What travels.


def sent_by_workers(client):
    """The bytes of data that the workers have sent, to each other and to the calling process."""
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    """A folder of four Parquet files, with columns that differ in size; and the rows."""
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    pytest.importorskip("pyarrow")
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(3)
    A = rng.standard_normal((100_000, 8))
    frame = pd.DataFrame(A, columns=list("abcdefgh"))
    frame["target"] = A @ np.arange(8.0) + rng.standard_normal(100_000)
    frame["comment"] = "never read"
    for i, rows in enumerate(np.array_split(np.arange(100_000), 4)):
        frame.iloc[rows].to_parquet(folder / f"part-{i}.parquet")
    return dd, folder, A, frame["target"].to_numpy()


@pytest.mark.distributed
@pytest.mark.parametrize("kind", ["name", "series", pytest.param("array", marks=pytest.mark.slow)])
def test_rows_in_parquet_never_leave_the_worker_that_read_them(client, parquet, kind):
    dd, folder, A, b = parquet
    frame = dd.read_parquet(folder)
    columns = list("abcdefgh")
    if kind == "name":
        blocks = frame[[*columns, "target"]], "target"
    elif kind == "series":  # optimised apart, dask reads the Series in fewer partitions
        blocks = frame[columns], frame["target"]
    else:
        values = frame[[*columns, "target"]].to_dask_array(lengths=True)
        blocks = values[:, :8], values[:, 8]
    before = sent_by_workers(client)
    there = consensus(blocks, LassoObjective(500.0), client=client, method="admm")
    sent = sent_by_workers(client) - before
    assert there.converged
    assert there.certificate.ok
    assert there.x.shape[0] > 1
    cuts = np.linspace(0, 100_000, there.x.shape[0] + 1).astype(int)[1:-1]
    here = consensus(split(A, b, cuts), LassoObjective(500.0))
    np.testing.assert_allclose(there.z, here.z, atol=1e-7)
    np.testing.assert_allclose(there.z, by_sklearn(LassoObjective(500.0), A, b), atol=1e-6)
    assert 0 < sent < A.nbytes / 4  # one file


@pytest.mark.distributed
def test_a_partition_without_rows_or_with_text_is_named(client, parquet):
    dd, folder, _, _ = parquet
    frame = dd.read_parquet(folder)
    with pytest.raises(TypeError, match=r"A of blocks\[\d\] must be an array of numbers"):
        consensus((frame, "target"), LassoObjective(1.0), client=client)
    few = frame[["a", "target"]][frame["a"] > 4]  # rare
    with pytest.raises(ValueError, match=r"blocks\[\d\] is empty, .* repartition"):
        consensus((few, "target"), LassoObjective(1.0), client=client)


@pytest.mark.distributed
@pytest.mark.parametrize("objective", OBJECTIVES[:2], ids=lambda o: type(o).__name__)
def test_the_sums_are_taken_where_they_are_fewer_numbers(client, objective):
    """On a cluster, and unless an argument speaks of iterations; with many columns the iteration is shorter."""
    A, b = data(objective)
    there = consensus(loaders(split(A, b)), objective, client=client)
    assert (there.status, there.n_iter) == ("solved from the sums", 0)
    assert there.certificate.ok
    np.testing.assert_allclose(there.z, by_sklearn(objective, A, b), atol=1e-6)
    for options in ({"method": "admm"}, {"callback": lambda iterate: None}):
        assert consensus(loaders(split(A, b)), objective, client=client, **options).n_iter > 0
    wide = [(np.ones((1, 1200)), np.ones(1)), (np.eye(1, 1200), np.ones(1))]
    assert consensus(wide, RidgeObjective(1.0), client=client).status == "converged"


# A slow block.


def objective_with_a_slow_block(seconds, tau=3.0):
    """A lasso whose block of seven rows sleeps; local, so that the workers need not import this file."""

    class SlowBlock(LeastSquaresLoss):
        def prox(self, v, w):
            time.sleep(seconds if len(self.A) == 7 else 0)
            return super().prox(v, w)

    class SlowObjective(LassoObjective):
        def block(self, A, b):
            return SlowBlock(A, b)

    return SlowObjective(tau)


@pytest.mark.slow
@pytest.mark.distributed
def test_a_block_that_does_not_answer_is_named(client):
    A, b = data(None)
    slow = objective_with_a_slow_block(3.0)
    with pytest.raises(RuntimeError, match=r"blocks \[0[, 12]*\] have not answered .* = 1 s"):
        consensus(loaders(split(A, b)), slow, client=client, block_timeout=1.0, method="admm")
    with pytest.raises(ValueError, match="block_timeout"):
        consensus([ONE], slow, client=client, block_timeout=0.0)


# A scheduler that is restarted.


SERVER = """
import signal, sys, threading
from distributed import LocalCluster

if __name__ == "__main__":
    end = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: end.set())
    options = dict(host="127.0.0.1", dashboard_address=None, local_directory=sys.argv[2])
    with LocalCluster(n_workers=2, processes=False, scheduler_port=int(sys.argv[1]), **options):
        end.wait()
"""


@contextmanager
def remote_clusters(folder):
    """A function that starts a cluster in another process, always at the same address; and the address."""
    running = []
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def start():
        with open(folder / f"{len(running)}.log", "wb") as log:
            command = [sys.executable, "-c", SERVER, str(port), str(folder)]
            running.append(subprocess.Popen(command, stdout=log, stderr=log))
        return running[-1]

    try:
        yield start, f"tcp://127.0.0.1:{port}"
    finally:
        for process in running:
            process.kill()
            process.wait()


def one_row(n, i):
    """The loader of a block with one row, which no worker gets from here."""
    from dask import delayed

    def load():
        rng = np.random.default_rng(i)
        return rng.standard_normal((1, n)), rng.standard_normal(1)

    return delayed(load)()


@pytest.mark.distributed
def test_the_calling_process_sends_z_and_receives_one_sum(tmp_path):
    """Whatever the number of blocks; counted between it and a cluster in another process."""
    distributed = pytest.importorskip("distributed")
    n = 20_000
    with remote_clusters(tmp_path) as (start, address):
        start()
        distributed.Client(address, timeout=60, set_as_default=False).close()  # it is there
        with (
            Link(address) as link,
            distributed.Client(link.address, timeout=60, set_as_default=False) as client,
        ):
            for N in (3, 24):
                marks = []
                consensus(
                    [one_row(n, i) for i in range(N)],
                    LassoObjective(0.1),
                    client=client,
                    adaptive=False,
                    callback=lambda it, marks=marks: marks.append(link.passed) or it.k == 12,
                )
                numbers = (marks[-1] - marks[3]) / 8 / 8
                assert 1.9 * n < numbers < 2.2 * n, N


@pytest.mark.distributed
def test_a_slow_link_is_waited_for(tmp_path):
    """Each transfer takes longer than the run waits before it looks around, and none is begun again."""
    distributed = pytest.importorskip("distributed")
    n, slowness = 100_000, 1.2
    options = {"dashboard_address": None, "silence_logs": logging.CRITICAL, "processes": False}
    with (
        distributed.LocalCluster(
            n_workers=1, protocol="tcp", host="127.0.0.1", local_directory=tmp_path, **options
        ) as cluster,
        Link(cluster.scheduler_address, seconds=slowness / (8 * n)) as link,
        distributed.Client(link.address, timeout=60, set_as_default=False) as client,
    ):
        ticks = []
        there = consensus(
            [one_row(n, 0)],
            LassoObjective(1e-3),
            client=client,
            callback=lambda it: ticks.append(time.monotonic()) or it.k == 2,
        )
    assert ticks[1] - ticks[0] > 2 * slowness
    rng = np.random.default_rng(0)
    here = consensus(
        [(rng.standard_normal((1, n)), rng.standard_normal(1))],
        LassoObjective(1e-3),
        callback=lambda it: it.k == 2,
    )
    np.testing.assert_allclose(there.z, here.z, rtol=1e-9, atol=1e-12)


@pytest.mark.distributed
@pytest.mark.parametrize(
    "sign",
    [
        pytest.param(signal.SIGKILL, id="killed", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, id="ended", marks=pytest.mark.slow),
    ],
)
def test_a_scheduler_that_ends_and_comes_back(tmp_path, sign):
    """The client connects to the successor by itself, or the run says what is wrong and can go on."""
    distributed = pytest.importorskip("distributed")
    A, b = data(None)
    here = consensus(split(A, b), LassoObjective(3.0))
    ended, errors = [], []
    with remote_clusters(tmp_path) as (start, address):
        server = start()

        def replace(iterate):
            if iterate.k == 5 and not ended:
                ended.append(server)
                server.send_signal(sign)
                server.wait(60)
                start()

        while not errors or errors[-1]:
            with distributed.Client(address, timeout=300, set_as_default=False) as client:
                try:
                    there = consensus(
                        loaders(split(A, b)),
                        LassoObjective(3.0),
                        client=client,
                        callback=replace,
                        checkpoint=tmp_path / "state.npz",
                        checkpoint_every=1,
                    )
                    errors.append("")
                except RuntimeError as error:
                    errors.append(str(error))
    assert ended
    assert len(errors) <= (1 if sign == signal.SIGKILL else 2), errors
    assert all("scheduler is lost" in error for error in errors[:-1])
    assert there.converged
    assert there.n_iter + 5 * (len(errors) - 1) < 2 * here.n_iter
    np.testing.assert_allclose(there.z, here.z, atol=1e-7)
