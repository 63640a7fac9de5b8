"""Where the time of our solvers goes, for one problem of each kind that the page on speed names.

Run ``python -m benchmarks profile``; with ``--store`` the page "How fast is it" shows the new figures. A clock of CPU
time interrupts the fits, which are repeated, once in a millisecond, and notes which function of `companion` is at work,
by itself or in what it calls of NumPy, SciPy and scikit-learn. The twelve largest shares are kept.
"""

from __future__ import annotations

import argparse
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import companion
from benchmarks import lasso, linear_programs, store, svm, svr
from companion.admm import basis_pursuit, least_absolute_deviations
from companion.regression import tau_max
from companion.svm import nu_path

TICK = 1e-3  # seconds of CPU time
MOST = 12  # functions that are kept
HOME = Path(companion.__file__).parent

Run = Callable[[], Any]


def sampled(run: Run, seconds: float) -> Counter[str]:
    """Return how often each function of the package was found at work while a call is repeated."""
    found: Counter[str] = Counter()

    def note(_: int, frame: FrameType | None) -> None:
        while frame is not None and not Path(frame.f_code.co_filename).is_relative_to(HOME):
            frame = frame.f_back
        found[name(frame) if frame else "elsewhere"] += 1

    run()
    before = signal.signal(signal.SIGPROF, note)
    signal.setitimer(signal.ITIMER_PROF, TICK, TICK)
    try:
        end = time.process_time() + seconds
        while time.process_time() < end:
            run()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
    return found


def name(frame: FrameType) -> str:
    """Return the module and the function of a frame."""
    file = Path(frame.f_code.co_filename).relative_to(HOME).with_suffix("")
    return ".".join((*file.parts, frame.f_code.co_qualname.replace("<locals>.", "")))


def support_vectors(n: int, kernel: str, C: float | None, nu: float | None) -> Run:
    return svm.ours(svm.Problem(*svm.two_clouds(n), kernel, C, nu))


def regression(m: int, gamma: float | None) -> Run:
    return svr.ours(svr.Problem(*svr.noisy_curve(m), gamma))


def sparse(m: int, n: int, fraction: float, share: float = 0.0) -> Run:
    X, y = lasso.correlated_design(m, n)
    tau = fraction * tau_max(X, y)
    program = lasso.Program(X, y, tau, share * tau)
    return lambda: program.ours(1e-10)


def path() -> Run:
    X, y = svm.two_clouds(1000)
    nus = np.linspace(0.3, 0.8, 50)
    return lambda: nu_path(X, y, nus, kernel="rbf", kernel_params={"gamma": svm.GAMMA})


CASES: dict[str, tuple[tuple[str, Callable[[], Run]], ...]] = {
    "calls": (
        ("svm, linear, nu = 0.4, 60", lambda: support_vectors(60, "linear", None, 0.4)),
        ("svm, Gaussian, C = 1, 200", lambda: support_vectors(200, "Gaussian", 1.0, None)),
        ("svr, Gaussian, gamma = 1, 50", lambda: regression(50, 1.0)),
        ("svr, linear, 50", lambda: regression(50, None)),
        ("lasso, 200 x 30", lambda: sparse(200, 30, 0.1)),
    ),
    "kernel matrix": (
        ("svm, Gaussian, C = 1, 1000", lambda: support_vectors(1000, "Gaussian", 1.0, None)),
        ("svm, Gaussian, C = 100, 1000", lambda: support_vectors(1000, "Gaussian", 100.0, None)),
    ),
    "steps": (("svm, linear, C = 1, 1000", lambda: support_vectors(1000, "linear", 1.0, None)),),
    "dense support": (
        ("lasso, 1000 x 1000, 0.01 of the largest tau", lambda: sparse(1000, 1000, 0.01)),
    ),
    "products": (
        ("lasso, 1000 x 1000, 0.1 of the largest tau", lambda: sparse(1000, 1000, 0.1)),
        ("elastic net, 200 x 20000", lambda: sparse(200, 20000, 0.1, 0.5)),
    ),
    "vertex": (
        (
            "least absolute deviations, integers, 200 x 20",
            lambda: bound_to(least_absolute_deviations, linear_programs.noisy(200, 20, "integers")),
        ),
        (
            "basis pursuit, twice, 50 x 200",
            lambda: bound_to(basis_pursuit, linear_programs.underdetermined(50, 200, "twice")),
        ),
    ),
    "path": (("svm, path of 50 nu, 1000", path),),
}


def bound_to(solver: Callable[..., Any], data: linear_programs.Data) -> Run:
    return lambda: solver(*data)


def row(bound: str, problem: str, run: Run, seconds: float) -> dict[str, Any]:
    found = sampled(run, seconds)
    total = sum(found.values())
    shares = {function: count / total for function, count in found.most_common(MOST)}
    return {"bound": bound, "problem": problem, "samples": total, "shares": shares}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="CPU time for each problem")
    parser.add_argument(
        "--store", action="store_true", help="write benchmarks/results/profile.json"
    )
    arguments = parser.parse_args()
    rows = []
    with threadpool_limits(1):
        for bound, cases in CASES.items():
            for problem, make in cases:
                rows.append(row(bound, problem, make(), arguments.seconds))
                print(f"{bound}: {problem}")
                for function, share in list(rows[-1]["shares"].items())[:6]:
                    print(f"  {share:6.1%}  {function}")
    if arguments.store:
        store("profile", rows)


if __name__ == "__main__":
    main()
