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
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from benchmarks import missing
from companion.admm import qsolve1

PEERS = ("osqp", "clarabel", "piqp")
LEVELS = (
    1e-6,
    1e-9,
)  # relative gaps and KKT residuals, both measured, at which solvers are compared
FACTORS = (1e3, 1e1, 1e-1, 1e-3, 1e-5, 1e-7)  # tolerances that are tried, in units of the level
TIGHTEST = 1e-14
TEXT_FACTORS = (1.0, 1e-2, 1e-4)  # and for the text's algorithm
TEXT_CAP = 20_000  # its iterations
PATIENCE = 20.0  # seconds that a run may take for which memory is measured
SLOW = 2.0  # seconds; who takes longer runs once only

Solve = Callable[[], np.ndarray]
Maker = Callable[[float], Solve]  # the run with a tolerance
Accuracy = Callable[[np.ndarray], tuple[float, float]]  # relative gap and KKT residual


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
            sparse.csc_matrix(np.triu(qp.gram())), qp.q, rows, low, high, eps_abs=tolerance * qp.upper,
            eps_rel=tolerance, max_iter=20_000, polishing=True, verbose=False,
        )  # fmt: skip
        return solver.solve(raise_error=False).x

    return run


def by_clarabel(qp: QP, tolerance: float) -> Solve:
    import clarabel

    def run() -> np.ndarray:
        n = qp.n
        parts = [sparse.csc_array(qp.A), qp.G, -sparse.eye_array(n), sparse.eye_array(n)]
        cones = [
            clarabel.ZeroConeT(qp.b.size),
            clarabel.NonnegativeConeT(2 * n + qp.h.size),
        ]
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        settings.tol_gap_abs, settings.tol_gap_rel = 1e-3 * tolerance, tolerance
        settings.tol_feas = min(tolerance, 1e-8)
        P = sparse.csc_array(np.triu(qp.gram()))
        rows, right = (
            sparse.vstack(parts, format="csc"),
            np.r_[qp.b, qp.h, np.zeros(n), np.full(n, qp.upper)],
        )
        return np.array(clarabel.DefaultSolver(P, qp.q, rows, right, cones, settings).solve().x)

    return run


MAKERS = {"PIQP": by_piqp, "OSQP": by_osqp, "Clarabel": by_clarabel}


def qp_makers(qp: QP, n: int, largest: dict[str, int]) -> dict[str, Maker]:
    """Return the solvers that are installed, and not too slow for n points, as functions of their tolerance."""
    absent = {name.lower() for name in missing(PEERS)}
    return {
        name: lambda tolerance, make=make: make(qp, tolerance)  # type: ignore[misc]
        for name, make in MAKERS.items()
        if name.lower() not in absent and n <= largest.get(name, 10**9)
    }


class TextRun(NamedTuple):
    """The text's algorithm: CPU seconds as printed, the x that it ends with, and how many iterations it took."""

    seconds: float
    x: np.ndarray
    n_iter: int


def text_as_printed(qp: QP, tolerance: float = 1e-6, cap: int = TEXT_CAP) -> TextRun:
    """Run the text's algorithm; each iteration, up to `cap` of them, is charged the solution of its KKT system.

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
    run = charged_as_printed(P, q, rows, right, tolerance * n**0.5, cap)
    return run._replace(x=run.x[:n] / scale)


def charged_as_printed(
    P: np.ndarray,
    q: np.ndarray,
    A: np.ndarray,
    b: np.ndarray,
    tolerance: float,
    cap: int = TEXT_CAP,
) -> TextRun:
    """Run ``qsolve1`` with the text's rho, and multiply its iterations by the time of one as printed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = qsolve1(P, q, A, b, 10.0, tolerance, tolerance, cap)
    n, m = q.size, b.size
    KKT = np.block([[P + 10.0 * np.eye(n), A.T], [A, np.zeros((m, m))]])
    once = min(cpu_seconds(lambda: np.linalg.solve(KKT, np.ones(n + m))) for _ in range(3))
    return TextRun(run.n_iter * once, run.x, run.n_iter)


def print_level(row: dict[str, Any]) -> None:
    """Print a row of :func:`at_equal_accuracy`."""
    missed = "" if row["reached"] else ", missed"
    print(
        f"{row['family']:<24} {row['n']:>5}  {row['solver']:<16} to {row['level']:.0e}{missed} "
        f"({row['gap']:.0e}, {row['kkt']:.0e}): {row['ms']:9.2f} ms, ratio {row['ratio']:.3g}"
    )


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


def loosest(make: Maker, level: float, accuracy: Accuracy) -> tuple[Solve, dict[str, Any]]:
    """Return the run with the loosest tolerance whose gap and KKT residual are at most `level`, and what it reaches.

    If no tolerance gets there, it is the tightest, and "reached" is false.
    """
    for tolerance in (level * factor for factor in FACTORS if level * factor >= TIGHTEST / 2):
        run = make(tolerance)
        gap, kkt = accuracy(run())
        reached = max(gap, kkt) <= level
        if reached:
            break
    return run, {"tolerance": tolerance, "gap": gap, "kkt": kkt, "reached": reached}


def at_equal_accuracy(
    ours: Solve, makers: dict[str, Maker], accuracy: Accuracy, rounds: int
) -> list[dict[str, Any]]:
    """Compare us with the loosest tolerances of the others that reach the levels, all taking turns."""
    rows = []
    for level in LEVELS:
        found = {name: loosest(make, level, accuracy) for name, make in makers.items()}
        runs = {"companion": ours, **{name: run for name, (run, _) in found.items()}}
        times, _ = interleaved(runs, rounds)
        for name, (_, reached) in found.items():
            ratio = median(a / b for a, b in zip(times["companion"], times[name]))
            row = {"solver": name, "level": level, "ms": 1e3 * median(times[name]), "ratio": ratio}
            rows.append(row | reached | {"runs": len(times[name])})
    return rows


def text_at_levels(
    run: Callable[[float], TextRun], accuracy: Accuracy, mine: float
) -> list[dict[str, Any]]:
    """Compare our time, in ms, with the text's algorithm at the loosest tolerances that reach the levels.

    `run` takes a tolerance. Its time is a product, no measurement of one run, so it takes no turns.
    """
    rows = []
    for level in LEVELS:
        for factor in TEXT_FACTORS:
            seconds, x, n_iter = run(level * factor)
            gap, kkt = accuracy(x)
            reached = max(gap, kkt) <= level
            if reached or n_iter >= TEXT_CAP:
                break
        row = {"solver": "text, as printed", "level": level, "ms": 1e3 * seconds, "runs": 1}
        row |= {"ratio": mine / (1e3 * seconds), "gap": gap, "kkt": kkt, "reached": reached}
        rows.append(row | {"n_iter": n_iter, "tolerance": level * factor})
    return rows


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
