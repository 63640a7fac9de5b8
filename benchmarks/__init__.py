"""Timings against peers: each module compares one problem family, as ratios within one run."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

LIBRARIES = (
    "numpy", "scipy", "scikit-learn", "celer", "skglm", "osqp", "clarabel", "piqp", "highspy",
    "dask", "distributed",
)  # fmt: skip
RESULTS = Path(__file__).resolve().parent / "results"


def machine() -> dict[str, str]:
    """Return what the ratios depend on: processor, Python and the libraries that compute."""
    cpuinfo = Path("/proc/cpuinfo")
    names = (
        [
            line.split(":", 1)[1].strip()
            for line in cpuinfo.read_text().splitlines()
            if "model name" in line
        ]
        if cpuinfo.exists()
        else []
    )
    found = {name: _version(name) for name in LIBRARIES}
    return {
        "processor": f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        **{name: number for name, number in found.items() if number is not None},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def missing(names: Iterable[str]) -> list[str]:
    """Return the packages among `names` that are not installed."""
    return [name for name in names if _version(name) is None]


def store(name: str, rows: list[dict[str, Any]], **more: Any) -> None:
    """Write the rows of a benchmark, with the machine they were measured on, where a page reads them."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({"machine": machine(), "rows": rows, **more}, indent=1)
    (RESULTS / f"{name}.json").write_text(text + "\n")


def cpu_seconds(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def interleaved(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Return the CPU seconds of all runs, which take turns; a first round warms up and does not count."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for k in range(rounds + 1):
        for name, run in runs.items():
            seconds = cpu_seconds(run)
            if k:
                times[name].append(seconds)
    return times


def peak_bytes(run: Callable[[], Any]) -> int:
    """Return the largest number of bytes that NumPy and Python held during a run."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def against_peer(
    ours: Callable[[], Any],
    peer: Callable[[], Any],
    peer_name: str,
    error: Callable[[Any], float],
    rounds: int,
) -> dict[str, Any]:
    """Return one row: median times, the median of the ratios of neighbouring runs, errors and peak memory."""
    times = interleaved({"ours": ours, "peer": peer}, rounds)
    return {
        "ours_ms": 1e3 * median(times["ours"]),
        "our_error": error(ours()),
        "our_peak_MB": peak_bytes(ours) / 1e6,
        "peer": peer_name,
        "peer_ms": 1e3 * median(times["peer"]),
        "peer_error": error(peer()),
        "peer_peak_MB": peak_bytes(peer) / 1e6,
        "ratio": median(a / b for a, b in zip(times["ours"], times["peer"])),
        "runs": rounds,
    }


def growth(points: Iterable[tuple[float, float]]) -> float:
    """Return the exponent p of the power n^p that fits the pairs (n, time) best."""
    n, value = np.log(np.array(list(points), dtype=float)).T
    return float(np.polyfit(n, value, 1)[0])


def exponents(rows: list[dict[str, Any]], smallest: int = 200) -> list[dict[str, Any]]:
    """Return how the times of rows made by :func:`against_peer` grow with n, for each family and solver."""
    out = []
    for family, peer in dict.fromkeys((row["family"], row["peer"]) for row in rows):
        same = [
            r for r in rows if (r["family"], r["peer"]) == (family, peer) and r["n"] >= smallest
        ]
        if len(same) > 1:
            for solver, key in (("companion", "ours_ms"), (peer, "peer_ms")):
                if any((o["family"], o["solver"]) == (family, solver) for o in out):
                    continue
                exponent = growth((r["n"], r[key]) for r in same)
                out.append({"family": family, "solver": solver, "exponent": exponent})
    return out


def show(row: dict[str, Any]) -> None:
    """Print a row made by :func:`against_peer`."""
    print(
        f"{row['family']:<26} n={row['n']:<6} ours {row['ours_ms']:9.2f} ms (error {row['our_error']:.0e}, "
        f"peak {row['our_peak_MB']:.1f} MB)  {row['peer']} {row['peer_ms']:9.2f} ms ({row['peer_error']:.0e}, "
        f"{row['peer_peak_MB']:.1f} MB)  ratio {row['ratio']:.2f}",
        flush=True,
    )


def run_sizes(
    name: str, about: str | None, sizes: Sequence[int], compare: Callable[[int, int], list[dict]]
) -> None:
    """The command line of a benchmark that compares ``compare(n, rounds)`` for growing n."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(sizes))
    parser.add_argument(
        "--store", action="store_true", help=f"write benchmarks/results/{name}.json"
    )
    arguments = parser.parse_args()
    rows = []
    with threadpool_limits(1):
        for n in arguments.sizes:
            for row in compare(n, arguments.rounds):
                rows.append(row)
                show(row)
    growing = exponents(rows)
    for line in growing:
        print(f"{line['family']:<26} {line['solver']:<14} time grows like n^{line['exponent']:.2f}")
    if arguments.store:
        store(name, rows, exponents=growing)
