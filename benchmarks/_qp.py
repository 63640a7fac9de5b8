"""What the benchmarks of dual programs share: quadratic programming solvers, their accuracy, time and memory."""

from __future__ import annotations

import ctypes
import multiprocessing
import resource
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import missing
from companion.admm import qsolve1

PEERS = ("osqp", "clarabel", "piqp")
LEVELS = (1e-6, 1e-9)  # measured relative gaps at which the solvers are compared
LOOSER = (1e3, 1e1, 1e-1, 1e-3)  # tolerances that are tried, in units of the level
PATIENCE = 20.0  # seconds that a run may take for which memory is measured
SLOW = 2.0  # seconds; who takes longer runs once only

Solve = Callable[[], np.ndarray]


@dataclass(frozen=True)
class QP:
    """The program ``min 1/2 x'Px + q'x  s.t. A x = b, G x <= h, 0 <= x <= upper``; P is made when it is needed."""

    gram: Callable[[], np.ndarray]
    q: np.ndarray
    A: np.ndarray
    b: np.ndarray
    upper: float
    G: np.ndarray
    h: np.ndarray

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.q.size


def by_piqp(qp: QP, tolerance: float) -> Solve:
    import piqp

    def run() -> np.ndarray:
        solver = piqp.DenseSolver()
        solver.settings.eps_abs, solver.settings.eps_rel = 1e-3 * tolerance, tolerance
        bounds = {"x_l": np.zeros(qp.n), "x_u": np.full(qp.n, qp.upper)}
        if qp.h.size:
            bounds |= {"G": qp.G, "h_u": qp.h}
        solver.setup(qp.gram(), qp.q, qp.A, qp.b, **bounds)
        solver.solve()
        return solver.result.x

    return run


def by_osqp(qp: QP, tolerance: float) -> Solve:
    import osqp

    def run() -> np.ndarray:
        solver = osqp.OSQP()
        rows = sparse.vstack([sparse.csc_matrix(qp.A), qp.G, sparse.eye(qp.n)], format="csc")
        low = np.r_[qp.b, np.full(qp.h.size, -np.inf), np.zeros(qp.n)]
        high = np.r_[qp.b, qp.h, np.full(qp.n, qp.upper)]
        solver.setup(
            sparse.triu(qp.gram(), format="csc"), qp.q, rows, low, high, eps_abs=tolerance * qp.upper,
            eps_rel=tolerance, max_iter=20_000, polishing=True, verbose=False,
        )  # fmt: skip
        return solver.solve().x

    return run


def by_clarabel(qp: QP, tolerance: float) -> Solve:
    import clarabel

    def run() -> np.ndarray:
        n = qp.n
        parts = [sparse.csc_matrix(qp.A), qp.G, -sparse.eye(n), sparse.eye(n)]
        cones = [
            clarabel.ZeroConeT(qp.b.size),
            clarabel.NonnegativeConeT(2 * n + qp.h.size),
        ]
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        settings.tol_gap_abs, settings.tol_gap_rel = 1e-3 * tolerance, tolerance
        settings.tol_feas = min(tolerance, 1e-8)
        P = sparse.triu(qp.gram(), format="csc")
        rows, right = (
            sparse.vstack(parts, format="csc"),
            np.r_[qp.b, qp.h, np.zeros(n), np.full(n, qp.upper)],
        )
        return np.array(clarabel.DefaultSolver(P, qp.q, rows, right, cones, settings).solve().x)

    return run


MAKERS = {"PIQP": by_piqp, "OSQP": by_osqp, "Clarabel": by_clarabel}


def qp_solvers(
    qp: QP, n: int, largest: dict[str, int], tolerance: float = 1e-9
) -> dict[str, Solve]:
    """Return the solvers that are installed, and not too slow for n points."""
    absent = {name.lower() for name in missing(PEERS)}
    return {
        name: make(qp, tolerance)
        for name, make in MAKERS.items()
        if name.lower() not in absent and n <= largest.get(name, 10**9)
    }


def loosest(
    name: str, qp: QP, level: float, gap: Callable[[np.ndarray], float]
) -> tuple[float, float, np.ndarray]:
    """Return the seconds of the loosest tolerance whose measured gap is at most `level`, that gap, and x.

    If no tolerance gets there, the last one tried is what counts, with the gap that it reached.
    """
    for factor in LOOSER:
        run = MAKERS[name](qp, level * factor)
        start = time.process_time()
        x = run()
        seconds = time.process_time() - start
        reached = gap(x)
        if reached <= level:
            break
    if seconds < SLOW / 4:
        seconds = median([seconds, *(cpu_seconds(run) for _ in range(4))])
    return seconds, reached, x


def text_as_printed(qp: QP, n_iter_cap: int = 20_000) -> tuple[float, np.ndarray]:
    """Return the CPU seconds of the text's algorithm, and the x that it ends with.

    The text's program has equations only, and bounds 0: each upper bound, and each inequality, has a slack variable.
    """
    n, m, k = qp.n, qp.b.size, qp.h.size
    N = 2 * n + k
    P = np.zeros((N, N))
    P[:n, :n] = qp.gram()
    rows = np.zeros((m + k + n, N))
    rows[:m, :n], rows[m : m + k, :n], rows[m + k :, :n] = qp.A, qp.G, np.eye(n)
    rows[m:, n:] = np.eye(k + n)
    scale = 1.0 / qp.upper  # the unit in which the bound is 1
    right = np.r_[qp.b, qp.h, np.full(n, qp.upper)] * scale
    q = np.r_[qp.q, np.zeros(N - n)] * scale
    tolerance = 1e-6 * n**0.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = qsolve1(P, q, rows, right, 10.0, tolerance, tolerance, n_iter_cap)
    size = N + len(rows)
    KKT = np.block([[P + 10.0 * np.eye(N), rows.T], [rows, np.zeros((len(rows), len(rows)))]])
    once = min(cpu_seconds(lambda: np.linalg.solve(KKT, np.ones(size))) for _ in range(3))
    return run.n_iter * once, run.x[:n] / scale


# -- measuring


def natural_residual(x: np.ndarray, slope: np.ndarray, upper: float) -> float:
    """Return the largest ``|t - clip(t - slope, 0, 1)|`` for t = x/upper and the slope in units of its largest entry.

    It is 0 exactly where the KKT conditions of the box hold.
    """
    t, largest = x / upper, float(np.abs(slope).max())
    moved = np.clip(t - (slope / largest if largest > 0.0 else slope), 0.0, 1.0)
    return float(np.abs(t - moved).max())


def cpu_seconds(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def interleaved(
    runs: dict[str, Solve], rounds: int
) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Return the CPU seconds of each solver in all rounds, and its first answer; the slow ones run once."""
    times: dict[str, list[float]] = {}
    answers = {}
    for name, run in runs.items():
        start = time.process_time()
        answers[name] = run()
        first = time.process_time() - start
        times[name] = [] if first < SLOW else [first]
    slow = {name for name, values in times.items() if values}
    for _ in range(rounds):
        for name, run in runs.items():
            if name not in slow:
                times[name].append(cpu_seconds(run))
    return times, answers


def resident_peak(run: Callable[[], Any]) -> float:
    """Return by how many bytes a run raises the memory of a process that is forked for it.

    It counts what compiled code allocates too, and the pages that a fork copies when they change (some 5 MB).
    Memory that is free already would not be seen: it is given back before.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)

    def child() -> None:
        before = _resident()
        run()
        send.send(1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)

    process = context.Process(target=child)
    process.start()
    if not receive.poll(PATIENCE):  # a solver whose threads the fork has lost
        process.kill()
        return float("nan")
    peak = receive.recv()
    process.join()
    return max(peak, 0)


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def exponents(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how time grows with n from 200 on: the slope of log(time) over log(n)."""
    points: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for row in rows:
        if row["n"] >= 200:
            points.setdefault((row["family"], row["solver"]), []).append((row["n"], row["ms"]))
    out = []
    for (family, solver), pairs in points.items():
        if len(pairs) > 1:
            n, ms = np.log(np.array(pairs)).T
            slope = float(np.polyfit(n, ms, 1)[0])
            out.append({"family": family, "solver": solver, "exponent": slope})
    return out
