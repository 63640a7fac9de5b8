"""Where the time of our solvers goes, on the problem of each family that is slowest beside its peer.

Run ``python -m benchmarks profile`` after ``python -m benchmarks families --store``; with ``--store`` the page "How
fast is it" shows the new figures. A clock of CPU time interrupts the fits, which are repeated, once in a millisecond,
and notes which function of `companion` is at work, by itself or in what it calls of NumPy, SciPy and scikit-learn: the
time since the last note is its time, since a call of a compiled library is not interrupted.
"""

from __future__ import annotations

import argparse
import json
import signal
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import Any

from threadpoolctl import threadpool_limits

import companion
from benchmarks import RESULTS, store
from benchmarks.families import GROUPS, Problem

TICK = 1e-3  # seconds of CPU time
MOST = 5  # functions that are kept
HOME = Path(companion.__file__).parent

Run = Callable[[], Any]


def sampled(run: Run, seconds: float) -> dict[str, float]:
    """Return the seconds of each function of the package that is found at work while a call is repeated."""
    found: dict[str, float] = defaultdict(float)
    last = 0.0

    def note(_: int, frame: FrameType | None) -> None:
        nonlocal last
        before, last = last, time.process_time()
        while frame is not None and not Path(frame.f_code.co_filename).is_relative_to(HOME):
            frame = frame.f_back
        found[name(frame) if frame else "elsewhere"] += last - before

    run()
    last = time.process_time()
    handler = signal.signal(signal.SIGPROF, note)
    signal.setitimer(signal.ITIMER_PROF, TICK, TICK)
    try:
        end = last + seconds
        while time.process_time() < end:
            run()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, handler)
    return found


def name(frame: FrameType) -> str:
    """Return the module and the function of a frame."""
    file = Path(frame.f_code.co_filename).relative_to(HOME).with_suffix("")
    return ".".join((*file.parts, frame.f_code.co_qualname.replace("<locals>.", "")))


def slowest() -> list[Problem]:
    """Return the problem of each measured family with the largest ratio to a peer at its default tolerance."""
    rows = json.loads((RESULTS / "families.json").read_text())["rows"]
    worst: dict[str, dict[str, Any]] = {}
    for r in rows:
        if r["level"] == "default" and r["ratio"] > worst.get(r["family"], r)["ratio"] - 1e-12:
            worst[r["family"]] = r
    wanted = {(r["family"], r["shape"], r["setting"]) for r in worst.values()}
    every = chain.from_iterable(group() for group in GROUPS.values())
    return [p for p in every if (p.family, p.shape, p.setting) in wanted]


def row(problem: Problem, seconds: float) -> dict[str, Any]:
    found = sampled(problem.ours, seconds)
    total = sum(found.values())
    most = sorted(found, key=lambda function: -found[function])[:MOST]
    shares = {function: round(found[function] / total, 3) for function in most}
    title = ", ".join(filter(None, (problem.shape, problem.setting)))
    return {
        "family": problem.family,
        "problem": title,
        "seconds": round(total, 2),
        "shares": shares,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="CPU time for each problem")
    parser.add_argument(
        "--store", action="store_true", help="write benchmarks/results/profile.json"
    )
    arguments = parser.parse_args()
    rows = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for problem in slowest():
            rows.append(row(problem, arguments.seconds))
            print(f"{rows[-1]['family']}: {rows[-1]['problem']}")
            for function, share in list(rows[-1]["shares"].items())[:6]:
                print(f"  {share:6.1%}  {function}")
    if arguments.store:
        store("profile", rows)


if __name__ == "__main__":
    main()
