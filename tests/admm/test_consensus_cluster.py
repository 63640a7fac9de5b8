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
from functools import partial

import numpy as np
import pytest
from test_consensus import HINGE, LASSO, RIDGE, by_sklearn, data, split

from benchmarks.consensus import Link
from companion.admm import LassoObjective, consensus

dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.distributed

ONE = (np.ones((2, 3)), np.ones(2))
connect = partial(distributed.Client, timeout=600, set_as_default=False)


@pytest.fixture(autouse=True)
def quiet():
    """Let dask's abandoned tasks complain while pytest still captures the log."""
    yield
    gc.collect()


def local_cluster(folder, **options):
    quiet = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    return distributed.LocalCluster(local_directory=folder, **quiet, **options)


@contextmanager
def cluster_of_two(folder):
    """A client of two worker processes."""
    with (
        local_cluster(folder, n_workers=2, threads_per_worker=1, processes=True) as cluster,
        distributed.Client(cluster, timeout=600) as client,
    ):
        client.wait_for_workers(2, timeout=600)
        yield client


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A cluster that the tests share and leave whole."""
    with cluster_of_two(tmp_path_factory.mktemp("dask")) as client:
        yield client


def loaders(blocks):
    """Blocks that the workers load: here from a function, in life from a file."""

    def load(A, b):  # nested: the workers cannot import this file
        return A, b

    return [dask.delayed(load, pure=False)(A, b) for A, b in blocks]


def kill(client, address):
    """Kill a worker process as the system would, and wait until the scheduler knows."""
    (nanny,) = (n for n in client.cluster.workers.values() if n.worker_address == address)
    nanny.close_gracefully()  # the nanny is not to start the worker again: tests do not wait for that
    os.kill(nanny.pid, signal.SIGKILL)
    deadline = time.monotonic() + 600
    while address in client.nthreads() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert address not in client.nthreads()


def test_cluster_takes_the_same_steps_for_each_kind_of_block(client):
    A, b = data(None)
    blocks, delayed = split(A, b), dask.delayed
    rows, targets = da.from_array(A, ((7, 18, 35), -1)), da.from_array(b, ((7, 18, 35),))
    unknown = [
        da.concatenate([da.from_delayed(delayed(p), (np.nan, *p.shape[1:]), float) for p in parts])
        for parts in zip(*blocks)
    ]
    kinds = {
        "arrays": blocks, "delayed pairs": loaders(blocks),
        "pairs of delayed": [(delayed(A_i), delayed(b_i)) for A_i, b_i in blocks],
        "futures": client.compute(loaders(blocks)), "dask arrays": (rows, targets),
        "persisted": (rows.persist(), targets), "unknown lengths": tuple(unknown),
    }  # fmt: skip
    options = {"callback": lambda iterate: iterate.k == 2}
    here = consensus(blocks, LASSO, **options)
    for kind, given_blocks in kinds.items():
        there = consensus(given_blocks, LASSO, client=client, **options)
        np.testing.assert_allclose(there.x, here.x, atol=1e-12, err_msg=kind)
        np.testing.assert_allclose(there.history["objective"], here.history["objective"])
        assert there.certificate.gap == pytest.approx(here.certificate.gap), kind


@pytest.mark.parametrize("objective", [pytest.param(LASSO, marks=pytest.mark.slow), HINGE])
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
            kill(client, min(held))
            killed.append(iterate)

    with cluster_of_two(tmp_path) as client:
        there = consensus(loaders(blocks), objective, client=client, callback=kill_one)
    assert killed
    assert there.converged
    assert there.certificate.ok
    assert 5 < there.n_iter < 2 * here.n_iter
    np.testing.assert_allclose(there.z, here.z, atol=1e-6)
    np.testing.assert_allclose(there.z, by_sklearn(objective, A, b), atol=1e-6)


def test_errors_of_a_block_come_back_with_its_number(client):
    def fail():
        raise TimeoutError("the file server does not answer")

    labels = r"blocks\[1\]: y must hold labels \+1 and -1"
    no_pair = r"blocks\[0\] must give a pair \(A, b\), got ndarray"
    for objective, blocks, error, message in (
        (HINGE, loaders([ONE, (np.ones((2, 3)), [0, 1])]), ValueError, labels),
        (RIDGE, loaders([ONE, (np.ones((2, 4)), [0, 1])]), ValueError, r"4 in blocks\[1\]"),
        (RIDGE, [dask.delayed(fail)()], TimeoutError, "file server"),
        (RIDGE, [dask.delayed(np.ones)((3, 3))], TypeError, no_pair),
    ):
        with pytest.raises(error, match=message):
            consensus(blocks, objective, client=client)


def test_dask_blocks_that_do_not_fit(client):
    import dask.bag

    A, b = da.ones((6, 4), chunks=(2, 4)), da.ones(6, chunks=2)
    frame = A.to_dask_dataframe(columns=list("abcd"))
    bag = dask.bag.from_sequence([1, 2, 3])
    for pair, error, message in (
        ((A.rechunk((2, 2)), b), ValueError, r"A.rechunk\(\{1: -1\}\)"),
        ((A, b.rechunk(3)), ValueError, r"got \[3, 2\]"),
        ((frame, "e"), ValueError, "got 'e'; A has: a, b, c, d"),
        ((A, "e"), ValueError, "one column of a dask DataFrame"),
        ((A, A), TypeError, r"must be a matrix and a vector .* \(2, 2\) dimensions"),
        ((frame, b), TypeError, "got DataFrame and Array"),
        ((A, frame["a"]), TypeError, "got Array and Series"),
        ((bag, frame["a"]), TypeError, "got Bag and Series"),
        ((frame, frame["a"].repartition(npartitions=1)), ValueError, r"got \[3, 1\]"),
    ):
        with pytest.raises(error, match=message):
            consensus(pair, RIDGE, client=client)
    for lazy in ((A, b), (frame, "a"), loaders([ONE]), [(A, b)], client.compute(loaders([ONE]))):
        with pytest.raises(TypeError, match=r"client=dask\.distributed\.Client"):
            consensus(lazy, RIDGE)
    with pytest.raises(TypeError, match=r"must be a synchronous dask\.distributed\.Client"):
        consensus((A, b), RIDGE, client="localhost")


def test_a_cluster_that_goes_away_in_the_middle(tmp_path):
    cluster = local_cluster(tmp_path, n_workers=1, processes=False)
    with connect(cluster) as client:

        def close(iterate):
            if iterate.k == 2:
                cluster.close()

        with pytest.raises(RuntimeError, match="connection to the cluster's scheduler is lost"):
            consensus([ONE, ONE], RIDGE, client=client, callback=close)


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
    return dd.read_parquet(folder), A, frame["target"].to_numpy()


@pytest.mark.parametrize("kind", ["name", "series", pytest.param("array", marks=pytest.mark.slow)])
def test_rows_in_parquet_never_leave_the_worker_that_read_them(client, parquet, kind):
    frame, A, b = parquet
    numbers, objective = frame[[*"abcdefgh", "target"]], LassoObjective(500.0)
    if kind == "name":
        blocks = numbers, "target"
    elif kind == "series":  # optimised apart, dask reads the Series in fewer partitions
        blocks = frame[list("abcdefgh")], frame["target"]
    else:
        values = numbers.to_dask_array(lengths=True)
        blocks = values[:, :8], values[:, 8]
    before = sent_by_workers(client)
    there = consensus(blocks, objective, client=client, method="admm")
    sent = sent_by_workers(client) - before
    assert there.converged
    assert there.certificate.ok
    assert there.x.shape[0] > 1
    cuts = np.linspace(0, 100_000, there.x.shape[0] + 1).astype(int)[1:-1]
    np.testing.assert_allclose(there.z, consensus(split(A, b, cuts), objective).z, atol=1e-7)
    np.testing.assert_allclose(there.z, by_sklearn(objective, A, b), atol=1e-6)
    assert 0 < sent < A.nbytes / 4  # one file


def test_a_partition_without_rows_or_with_text_is_named(client, parquet):
    frame = parquet[0]
    few = frame[["a", "target"]][frame["a"] > 4]  # rare
    for rows, error, message in (
        (frame, TypeError, r"A of blocks\[\d\] must be an array of numbers"),
        (few, ValueError, r"blocks\[\d\] is empty, .* repartition"),
    ):
        with pytest.raises(error, match=message):
            consensus((rows, "target"), LASSO, client=client)


@pytest.mark.parametrize("objective", [RIDGE, LASSO])
def test_the_sums_are_taken_where_they_are_fewer_numbers(client, objective):
    """On a cluster, and unless an argument speaks of iterations; with many columns the iteration is shorter."""
    A, b = data(objective)
    there = consensus(loaders(split(A, b)), objective, client=client)
    assert (there.status, there.n_iter) == ("solved from the sums", 0)
    assert there.certificate.ok
    np.testing.assert_allclose(there.z, by_sklearn(objective, A, b), atol=1e-6)
    rough = {"method": "admm", "tol_abs": 0.1, "tol_rel": 0.1}
    for options in (rough, {"callback": lambda iterate: True}):
        assert consensus(loaders(split(A, b)), objective, client=client, **options).n_iter > 0
    wide = [(np.ones((1, 1200)), np.ones(1)), (np.eye(1, 1200), np.ones(1))]
    assert consensus(wide, RIDGE, client=client).status == "converged"


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

    def load():
        rng = np.random.default_rng(i)
        return rng.standard_normal((1, n)), rng.standard_normal(1)

    return dask.delayed(load)()


def test_the_calling_process_sends_z_and_receives_one_sum(tmp_path):
    """Whatever the number of blocks; counted between it and a cluster in another process."""
    n, marks = 20_000, []
    with remote_clusters(tmp_path) as (start, address):
        start()
        connect(address).close()  # it is there
        with Link(address) as link, connect(link.address) as client:
            mark = lambda it: marks.append(link.passed) or it.k == 12  # noqa: E731
            for N in (3, 24):
                rows, options = [one_row(n, i) for i in range(N)], {"adaptive": False}
                consensus(rows, LassoObjective(0.1), client=client, callback=mark, **options)
                numbers = (marks[-1] - marks[-9]) / 8 / 8
                assert 1.9 * n < numbers < 2.2 * n, N


def test_a_slow_link_is_waited_for(tmp_path):
    """Each transfer takes longer than the run waits before it looks around, and none is begun again."""
    n, slowness, ticks = 100_000, 1.2, []
    options = {"callback": lambda it: ticks.append(time.monotonic()) or it.k == 2}
    where = {"processes": False, "protocol": "tcp", "host": "127.0.0.1"}
    with (
        local_cluster(tmp_path, n_workers=1, **where) as cluster,
        Link(cluster.scheduler_address, seconds=slowness / (8 * n)) as link,
        connect(link.address) as client,
    ):
        there = consensus([one_row(n, 0)], LassoObjective(1e-3), client=client, **options)
    assert ticks[1] - ticks[0] > 2 * slowness
    here = consensus([one_row(n, 0).compute()], LassoObjective(1e-3), **options)
    np.testing.assert_allclose(there.z, here.z, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_a_scheduler_that_ends_and_comes_back(tmp_path, sign):
    """The client connects to the successor by itself, or the run says what is wrong and can go on."""
    A, b = data(None)
    here = consensus(split(A, b), LASSO)
    ended, errors, steps = [], [], [None]
    with remote_clusters(tmp_path) as (start, address):
        server = start()

        def replace(iterate):
            steps.append(iterate)
            if iterate.k == 5 and not ended:
                ended.append(server)
                server.send_signal(sign)
                server.wait(600)
                start()

        while not errors or errors[-1]:
            with connect(address, timeout=600) as client:
                blocks = loaders(split(A, b))
                try:
                    there = consensus(
                        blocks, LASSO, client=client, callback=replace, warm_start=steps[-1]
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
