"""Consensus ADMM on a cluster: what an iteration sends and takes, a cost model, and the two roads compared.

Run ``python -m benchmarks consensus``; with ``--store`` the page "How fast is it" shows the new figures. Every worker
is a process with one thread, the scheduler is another one; the blocks are made on the workers. The time of an
iteration is elapsed time, the median over one run: on a cluster, waiting is what matters. All processes share this
machine. Bytes are those between the calling process and the cluster, both ways, the mean over the timed iterations.

The model says for an iteration with B blocks on W workers, n columns and p seconds of CPU for the step of one block

    t = latency + per_worker W + per_byte 16 n W + compute_factor p B / P

(z to each worker and a sum from each make 16 n W bytes on the wires; P is W, or the number of cores where there are
fewer). p is measured in one process. The four constants are fitted to the runs with 8 and 128 blocks (with few blocks
alone the arithmetic is lost in the latency, and its constant can't be found); those with 32 and 512 are held out and
check it, between the fitted runs and beyond them. How the number of iterations depends on the number of blocks, and on
a factor that the columns share, is counted in one process, where it is the same as on a cluster.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import Any

import numpy as np
from scipy.optimize import nnls
from threadpoolctl import threadpool_limits

from benchmarks import growth, missing, store
from companion.admm import ConsensusObjective, LassoObjective, SquaredHingeObjective, consensus
from companion.exceptions import ConvergenceWarning

WORKERS = (1, 2, 4)
BLOCKS = (8, 32, 128, 512)
FITTED = (8, 128)  # runs with so many blocks are fitted, the others held out
MEGABYTES = 1_000  # of the rows and matrices of all blocks: larger runs are left out
COUNTED_BLOCKS = (1, 2, 5, 10, 20, 50, 100)
PLANNED_WORKERS = (1, 2, 5, 10, 20, 50, 100)
NETWORK = {"round_trip": 0.5e-3, "seconds_per_byte": 8e-9}  # assumed: 1 Gbit/s
WARM_UP = 3  # iterations that build and factor the blocks


@dataclass(frozen=True)
class Family:
    """A kind of problem: an objective, and the shape of one block."""

    name: str
    objective: ConsensusObjective
    rows: int
    columns: int
    factor: float = 0.0  # strength of what all columns share

    def block(self, seed: int, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of one block, all from one model."""
        m = self.rows if rows is None else rows
        w = np.random.default_rng(7).standard_normal(self.columns)
        rng = np.random.default_rng([11, seed])
        A = rng.standard_normal((m, self.columns)) + self.factor * rng.standard_normal((m, 1))
        b = A @ w + np.sqrt(self.columns) * rng.standard_normal(m)
        return A, np.sign(b) if isinstance(self.objective, SquaredHingeObjective) else b


FAMILIES = (
    Family("lasso, 100 columns", LassoObjective(50.0), 400, 100),
    Family("lasso, 500 columns", LassoObjective(50.0), 1_000, 500),
    Family("squared hinge, 50 columns", SquaredHingeObjective(0.01), 1_000, 50),
)
SHARED = Family("lasso, 100 columns with a factor", LassoObjective(50.0), 400, 100, factor=2.0)


# Measuring.


class Link:
    """A port that passes everything on to another one, counts it, and takes its time: seconds for each byte."""

    def __init__(self, address: str, seconds: float = 0.0) -> None:
        host, port = address.removeprefix("tcp://").rsplit(":", 1)
        self.target, self.seconds, self.passed = (host, int(port)), seconds, 0
        listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        self.sockets = [listener]
        threading.Thread(target=self._accept, args=[listener], daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(self.target)
                self.sockets += [near, far]
                for end in (near, far):  # to wait until a packet is full would cost 40 ms
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=self._copy, args=ends, daemon=True).start()

    def _copy(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while part := source.recv(1 << 16):
                self.passed += len(part)
                if self.seconds:
                    time.sleep(len(part) * self.seconds)
                sink.sendall(part)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def __enter__(self) -> Link:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self.sockets:
            one.close()


def per_iteration(
    blocks: Any, family: Family, iterations: int, clock: Callable[[], Any], client: Any = None
) -> list[Any]:
    """Return the differences of a clock between the iterations of a run with constant rho."""
    ticks: list[Any] = []

    def tick(iterate: Any) -> bool:
        ticks.append(clock())
        return len(ticks) == WARM_UP + iterations

    options: dict[str, Any] = {"tol_abs": 0.0, "tol_rel": 0.0, "adaptive": False}
    consensus(blocks, family.objective, client=client, callback=tick, **options)
    return np.diff(ticks[WARM_UP - 1 :]).tolist()


def compute_seconds(family: Family, iterations: int) -> float:
    """Return the CPU seconds that the step of one block takes, measured in this process."""
    blocks = [family.block(seed) for seed in range(2)]
    return median(per_iteration(blocks, family, iterations, time.process_time)) / len(blocks)


@contextlib.contextmanager
def cluster_of(workers: int) -> Iterator[tuple[Any, Link]]:
    """A client of so many worker processes and a scheduler, and the link between the client and them."""
    from distributed import Client, SubprocessCluster

    with (
        SubprocessCluster(
            n_workers=workers,
            worker_kwargs={"nthreads": 1},
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Link(cluster.scheduler_address) as link,
        Client(link.address, timeout=60, set_as_default=False) as client,
    ):
        client.wait_for_workers(workers)
        yield client, link


def run_cluster(
    workers: int, families: tuple[Family, ...], counts: tuple[int, ...], iterations: int
) -> list[dict[str, Any]]:
    """Return the measured runs on a cluster of so many worker processes."""
    from dask import delayed

    rows = []
    with cluster_of(workers) as (client, link):
        for family, count in product(families, counts):
            if count * family.columns * (family.rows + 2 * family.columns) * 8e-6 > MEGABYTES:
                continue
            blocks = [delayed(family.block)(seed) for seed in range(count)]

            def clocks(link: Link = link) -> complex:
                return complex(time.perf_counter(), link.passed)

            steps = np.array(per_iteration(blocks, family, iterations, clocks, client))
            rows.append(
                {
                    "family": family.name,
                    "workers": workers,
                    "blocks": count,
                    "columns": family.columns,
                    "rows_per_block": family.rows,
                    "seconds": float(np.median(steps.real)),
                    "bytes": float(np.mean(steps.imag)),
                }
            )
    return rows


def compare_roads(families: tuple[Family, ...], blocks: int) -> list[dict[str, Any]]:
    """Return time and bytes of whole runs of both roads on two workers, loading included."""
    from dask import delayed

    out = []
    with cluster_of(2) as (client, link):
        for family, method in product(families, ("admm", "sums")):
            loaders = [delayed(family.block)(seed) for seed in range(blocks)]
            start, before = time.perf_counter(), link.passed
            run = consensus(loaders, family.objective, client=client, method=method)
            out.append(
                {
                    "family": family.name,
                    "blocks": blocks,
                    "method": method,
                    "iterations": run.n_iter,
                    "seconds": time.perf_counter() - start,
                    "bytes": link.passed - before,
                    "gap": run.certificate.gap if run.certificate else None,
                }
            )
    return out


def count_iterations(families: tuple[Family, ...], counts: tuple[int, ...]) -> list[dict[str, Any]]:
    """Return how many iterations a relative tolerance of 1e-6 needs, with more and more blocks of the same size."""
    out = []
    for family in families:
        if family.columns > 100:
            continue
        for N in counts:
            blocks = [family.block(seed, rows=4 * family.columns) for seed in range(N)]
            with warnings.catch_warnings():
                warnings.simplefilter("error", ConvergenceWarning)
                run = consensus(
                    blocks, family.objective, tol_abs=1e-6, tol_rel=1e-6, max_iter=50_000
                )
            out.append({"family": family.name, "blocks": N, "iterations": run.n_iter})
    return out


# The model.


def terms(row: dict[str, Any]) -> np.ndarray:
    """Return what the four constants of the model multiply."""
    B, W = row["blocks"], row["workers"]
    busy = np.ceil(B / min(W, row.get("cores", W)))
    return np.array([1.0, W, 16.0 * row["columns"] * W, row["compute"] * busy])


def fit(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the constants >= 0 with the smallest squared relative errors on the rows."""
    A = np.array([terms(row) / row["seconds"] for row in rows])
    scale = np.linalg.norm(A, axis=0)
    x, _ = nnls(A / scale, np.ones(len(A)))
    names = ("latency", "per_worker", "per_byte", "compute_factor")
    return {name: float(value) for name, value in zip(names, x / scale)}


def predict(model: dict[str, float], row: dict[str, Any]) -> float:
    """Return the seconds of an iteration that the model predicts."""
    constants = [model[name] for name in ("latency", "per_worker", "per_byte", "compute_factor")]
    return float(terms(row) @ constants)


def plan(
    model: dict[str, float], families: tuple[Family, ...], compute: dict[str, float]
) -> list[dict[str, Any]]:
    """Return the model's times with one block on each of W workers, on this machine's loopback and on a network.

    There z goes out, and the sums come back, through a tree.
    """
    out = []
    for family in families:
        for W in PLANNED_WORKERS:
            row = {
                "family": family.name,
                "workers": W,
                "blocks": W,
                "columns": family.columns,
                "compute": compute[family.name],
            }
            here = predict(model, row)
            wire = NETWORK["round_trip"] + NETWORK[
                "seconds_per_byte"
            ] * 16 * family.columns * np.log2(2 * W)
            out.append({**row, "loopback_seconds": here, "network_seconds": here + wire})
    return out


def measure(
    families: tuple[Family, ...] = FAMILIES,
    workers: tuple[int, ...] = WORKERS,
    blocks: tuple[int, ...] = BLOCKS,
    iterations: int = 20,
    counts: tuple[int, ...] = COUNTED_BLOCKS,
) -> dict[str, Any]:
    """Return the measured runs, the fitted model, its errors on what was held out, and the plan."""
    with threadpool_limits(1):
        compute = {family.name: compute_seconds(family, iterations) for family in families}
        counted = count_iterations((*families, SHARED), counts)
    rows = []
    for W in workers:
        rows += run_cluster(W, families, blocks, iterations)
    for row in rows:
        row["compute"] = compute[row["family"]]
        row["cores"] = os.cpu_count()
        row["held_out"] = row["blocks"] not in FITTED
    model = fit([row for row in rows if not row["held_out"]])
    for row in rows:
        row["model_seconds"] = predict(model, row)
        row["relative_error"] = row["model_seconds"] / row["seconds"] - 1
    return {
        "rows": rows,
        "model": model,
        "network": NETWORK,
        "iterations": counted,
        "iteration_exponents": [
            {
                "family": name,
                "exponent": growth(
                    (c["blocks"], c["iterations"]) for c in counted if c["family"] == name
                ),
            }
            for name in dict.fromkeys(c["family"] for c in counted)
        ],
        "plan": plan(model, families, compute),
        "roads": compare_roads((families[0], SHARED), 32),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=20, help="timed iterations of each run")
    parser.add_argument(
        "--store", action="store_true", help="write benchmarks/results/consensus.json"
    )
    arguments = parser.parse_args()
    if absent := missing(["dask", "distributed"]):
        print(
            f"nothing measured; not installed: {', '.join(absent)} (pip install '.[distributed]')"
        )
        return
    result = measure(iterations=arguments.iterations)
    for row in result["rows"]:
        print(
            f"{row['family']:<28}{row['workers']} workers {row['blocks']:>3} blocks "
            f"{row['bytes'] / 8 / row['columns']:5.2f} n numbers and {1e3 * row['seconds']:8.2f} ms "
            f"an iteration, model {1e3 * row['model_seconds']:8.2f} "
            f"({row['relative_error']:+.0%}{', held out' if row['held_out'] else ''})"
        )
    print("; ".join(f"{name} {value:.3g}" for name, value in result["model"].items()))
    for line in result["iterations"]:
        print(f"{line['family']:<28}{line['blocks']:>4} blocks: {line['iterations']} iterations")
    for line in result["plan"]:
        print(
            f"{line['family']:<28}{line['workers']:>4} workers: {1e3 * line['loopback_seconds']:.1f} ms "
            f"(loopback), {1e3 * line['network_seconds']:.1f} ms (network)"
        )
    for line in result["roads"]:
        print(line)
    if arguments.store:
        store("consensus", **result)


if __name__ == "__main__":
    main()
