"""Timings against peers: each module compares one problem family, as ratios within one run."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

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
    libraries = ("numpy", "scipy", "scikit-learn", "celer", "skglm")
    return {
        "processor": f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        **{name: version(name) for name in libraries},
    }


def store(name: str, rows: list[dict[str, Any]]) -> None:
    """Write the rows of a benchmark, with the machine they were measured on, where a page reads them."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({"machine": machine(), "rows": rows}, indent=1)
    (RESULTS / f"{name}.json").write_text(text + "\n")
