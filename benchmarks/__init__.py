"""Timings against peers: each module compares one problem family, as ratios within one run."""

from __future__ import annotations

import json
import os
import platform
import time
import tracemalloc
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

LIBRARIES = (
    "numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "celer", "skglm", "osqp", "clarabel", "piqp", "daqp",
    "highspy",
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


def peak_bytes(run: Callable[[], Any]) -> int:
    """Return the largest number of bytes that NumPy and Python held during a run."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def growth(points: Iterable[tuple[float, float]]) -> float:
    """Return the exponent p of the power n^p that fits the pairs (n, time) best."""
    n, value = np.log(np.array(list(points), dtype=float)).T
    return float(np.polyfit(n, value, 1)[0])
