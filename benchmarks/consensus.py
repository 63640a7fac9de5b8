"""Consensus ADMM on a cluster: weak scaling from one to two workers, and a cost model for more.

Run ``python -m benchmarks consensus``; with ``--store`` the page "How fast is it" shows the new figures. Every worker
is a process with one thread; the blocks are made on the workers. The time of an iteration is elapsed time, the median
over one run: on a cluster, waiting is what matters. Scheduler, client and workers share this machine.

The model says for an iteration with B blocks on W workers, n columns and p seconds of CPU for the step of one block

    t = latency + per_block B + per_byte 24 n B + compute_factor p B / W

(two vectors of n numbers to each block and one back make 24 n bytes). p is measured in one process. The four constants
are fitted to the runs with few blocks; the runs with many blocks are held out and check it. How the number of
iterations depends on the number of blocks is counted in one process, where it is the same as on a cluster.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from scipy.optimize import nnls
from threadpoolctl import threadpool_limits

from benchmarks import growth, missing, store
from companion.admm import ConsensusObjective, LassoObjective, SquaredHingeObjective, consensus
from companion.exceptions import ConvergenceWarning

BLOCKS_PER_WORKER = (1, 2, 4, 8, 16)
FITTED = 4  # runs with at most so many blocks for each worker are fitted, the others held out
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

    def block(self, seed: int, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of one block, all from one model."""
        m = self.rows if rows is None else rows
        w = np.random.default_rng(7).standard_normal(self.columns)
        rng = np.random.default_rng([11, seed])
        A = rng.standard_normal((m, self.columns))
        b = A @ w + np.sqrt(self.columns) * rng.standard_normal(m)
        return A, np.sign(b) if isinstance(self.objective, SquaredHingeObjective) else b


FAMILIES = (
    Family("lasso, 100 columns", LassoObjective(50.0), 2_000, 100),
    Family("lasso, 500 columns", LassoObjective(50.0), 1_000, 500),
    Family("squared hinge, 50 columns", SquaredHingeObjective(0.01), 5_000, 50),
)


# Measuring.


def seconds_per_iteration(
    blocks: Any, family: Family, iterations: int, clock: Callable[[], float], client: Any = None
) -> float:
    """Return the median time between two iterations of a run with constant rho."""
    ticks: list[float] = []

    def tick(iterate: Any) -> bool:
        ticks.append(clock())
        return len(ticks) == WARM_UP + iterations

    options: dict[str, Any] = {"tol_abs": 0.0, "tol_rel": 0.0, "adaptive": False}
    consensus(blocks, family.objective, client=client, callback=tick, **options)
    return median(np.diff(ticks[WARM_UP - 1 :]).tolist())


def compute_seconds(family: Family, iterations: int) -> float:
    """Return the CPU seconds that the step of one block takes, measured in this process."""
    blocks = [family.block(seed) for seed in range(2)]
    return seconds_per_iteration(blocks, family, iterations, time.process_time) / len(blocks)


def run_cluster(
    workers: int, families: tuple[Family, ...], per_worker: tuple[int, ...], iterations: int
) -> list[dict[str, Any]]:
    """Return the measured runs on a cluster of so many worker processes."""
    from dask import delayed
    from distributed import Client, LocalCluster

    rows = []
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            local_directory=folder,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(workers)
        for family in families:
            for count in per_worker:
                blocks = [delayed(family.block)(seed) for seed in range(workers * count)]
                seconds = seconds_per_iteration(
                    blocks, family, iterations, time.perf_counter, client
                )
                rows.append(
                    {
                        "family": family.name,
                        "workers": workers,
                        "blocks": workers * count,
                        "blocks_per_worker": count,
                        "columns": family.columns,
                        "rows_per_block": family.rows,
                        "seconds": seconds,
                    }
                )
    return rows


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
                run = consensus(blocks, family.objective, tol_abs=1e-6, tol_rel=1e-6)
            out.append({"family": family.name, "blocks": N, "iterations": run.n_iter})
    return out


# The model.


def terms(row: dict[str, Any]) -> np.ndarray:
    """Return what the four constants of the model multiply."""
    B, W = row["blocks"], row["workers"]
    return np.array([1.0, B, 24.0 * row["columns"] * B, row["compute"] * np.ceil(B / W)])


def fit(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the constants >= 0 with the smallest squared relative errors on the rows."""
    A = np.array([terms(row) / row["seconds"] for row in rows])
    scale = np.linalg.norm(A, axis=0)
    x, _ = nnls(A / scale, np.ones(len(A)))
    names = ("latency", "per_block", "per_byte", "compute_factor")
    return {name: float(value) for name, value in zip(names, x / scale)}


def predict(model: dict[str, float], row: dict[str, Any]) -> float:
    """Return the seconds of an iteration that the model predicts."""
    constants = [model[name] for name in ("latency", "per_block", "per_byte", "compute_factor")]
    return float(terms(row) @ constants)


def plan(
    model: dict[str, float], families: tuple[Family, ...], compute: dict[str, float]
) -> list[dict[str, Any]]:
    """Return the model's times with one block on each of W workers, on this machine's loopback and on a network."""
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
            wire = NETWORK["round_trip"] + NETWORK["seconds_per_byte"] * 24 * family.columns * W
            out.append({**row, "loopback_seconds": here, "network_seconds": here + wire})
    return out


def measure(
    families: tuple[Family, ...] = FAMILIES,
    per_worker: tuple[int, ...] = BLOCKS_PER_WORKER,
    iterations: int = 20,
    counts: tuple[int, ...] = COUNTED_BLOCKS,
) -> dict[str, Any]:
    """Return the measured runs, the fitted model, its errors on what was held out, and the plan."""
    with threadpool_limits(1):
        compute = {family.name: compute_seconds(family, iterations) for family in families}
        counted = count_iterations(families, counts)
    rows = []
    for workers in (1, 2):
        rows += run_cluster(workers, families, per_worker, iterations)
    for row in rows:
        row["compute"] = compute[row["family"]]
        row["held_out"] = row["blocks_per_worker"] > FITTED
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
            f"{1e3 * row['seconds']:8.2f} ms an iteration, model {1e3 * row['model_seconds']:8.2f} "
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
    if arguments.store:
        store("consensus", **result)


if __name__ == "__main__":
    main()
