"""Time of least absolute deviations and basis pursuit, side by side with HiGHS and with the text's ADMM.

Run ``python -m benchmarks linear_programs``; with ``python -m benchmarks.linear_programs --store`` the page on speed
finds the new figures. HiGHS (through ``scipy.optimize.linprog``) gets the primal and the dual program; the faster of
the two counts. Gaps are measured alike for all: the l1-norm of the point that is returned, against the dual value of
our certified solution; the misfit of ``A x = b`` counts as well. Ratios are of CPU times of neighbouring runs, with
one BLAS thread; below 1, ours is faster. The text's ADMM is charged the solution of its system in each iteration, as
the text prints it.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from scipy.optimize import linprog
from threadpoolctl import threadpool_limits

from benchmarks import store
from benchmarks._qp import TEXT_CAP, TextRun, text_at_levels
from companion.admm import basis_pursuit, least_absolute_deviations

FREE = (None, None)
SLOW = 0.5  # seconds; slower runs are made three times only
TEXT_ENTRIES = 20_000  # of A, up to which the text's ADMM runs

Data = tuple[np.ndarray, np.ndarray]
Solve = Callable[[], np.ndarray]


def noisy(m: int, n: int, kind: str) -> Data:
    """A regression with Laplace noise, or one with small integers: many ties, several solutions."""
    rng = np.random.default_rng(m + n)
    if kind == "integers":
        A = rng.integers(-1, 2, (m, n)).astype(float)
        return A, A @ rng.integers(-2, 3, n) + rng.integers(-1, 2, m)
    A = rng.standard_normal((m, n))
    return A, A @ rng.standard_normal(n) + rng.laplace(size=m)


def underdetermined(m: int, n: int, kind: str) -> Data:
    """Equations with a sparse solution, with one that is not sparse, or with every column twice."""
    rng = np.random.default_rng(m + n)
    A = rng.standard_normal((m, n))
    if kind == "twice":
        A[:, n // 2 :] = A[:, : n - n // 2]
    k = m if kind == "dense" else max(3, m // 6)
    x = np.zeros(n)
    x[rng.choice(n, size=k, replace=False)] = rng.standard_normal(k)
    return A, A @ x


DEVIATIONS = (
    (50, 5, "random"), (200, 20, "random"), (200, 20, "integers"), (500, 200, "random"), (2000, 50, "random"),
    (2000, 50, "integers"), (5000, 20, "random"),
)  # fmt: skip
PURSUITS = (
    (20, 50, "sparse"), (50, 200, "sparse"), (50, 200, "dense"), (50, 200, "twice"), (100, 1000, "sparse"),
    (100, 1000, "dense"), (200, 2000, "sparse"),
)  # fmt: skip


def deviations_by_highs(A: np.ndarray, b: np.ndarray) -> dict[str, Solve]:
    m, n = A.shape
    cost, split = np.r_[np.zeros(n), np.ones(2 * m)], np.hstack([A, -np.eye(m), np.eye(m)])
    bounds = [FREE] * n + [(0, None)] * (2 * m)
    found = {
        "HiGHS, dual": lambda: (
            linprog(b, A_eq=A.T, b_eq=np.zeros(n), bounds=(-1, 1)).eqlin.marginals
        )
    }
    if m <= 1000:  # beyond, the primal program only takes longer
        found["HiGHS, primal"] = lambda: linprog(cost, A_eq=split, b_eq=b, bounds=bounds).x[:n]
    return found


def pursuit_by_highs(A: np.ndarray, b: np.ndarray) -> dict[str, Solve]:
    n = A.shape[1]
    split, cube = np.hstack([A, -A]), np.vstack([A.T, -A.T])

    def primal() -> np.ndarray:
        x = linprog(np.ones(2 * n), A_eq=split, b_eq=b).x
        return x[:n] - x[n:]

    def dual() -> np.ndarray:
        slack = linprog(-b, A_ub=cube, b_ub=np.ones(2 * n), bounds=FREE).ineqlin.marginals
        return slack[n:] - slack[:n]

    return {"HiGHS, primal": primal, "HiGHS, dual": dual}


def seconds(solve: Callable[[], Any]) -> float:
    start = time.process_time()
    solve()
    return time.process_time() - start


def compare(
    family: str, case: tuple[int, int, str], rounds: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the row of one problem, and those of the text's algorithm."""
    m, n, kind = case
    deviations = family == "least absolute deviations"
    A, b = (noisy if deviations else underdetermined)(m, n, kind)
    solver = least_absolute_deviations if deviations else basis_pursuit

    def ours() -> Any:
        return solver(A, b)

    own = ours()
    lambda_ = own.rho * own.u
    dual = -float(b @ lambda_) if deviations else float(b @ np.linalg.lstsq(A.T, lambda_)[0])

    def gap(x: np.ndarray) -> float:
        """Return the relative gap, or the misfit of the equations if that is larger."""
        value = np.abs(A @ x - b).sum() if deviations else np.abs(x).sum()
        misfit = 0.0 if deviations else np.abs(A @ x - b).max() / np.abs(b).max()
        return max(abs(float(value) - dual) / dual, float(misfit))

    programs = (deviations_by_highs if deviations else pursuit_by_highs)(A, b)
    first = {name: seconds(solve) for name, solve in programs.items()}
    best = min(first, key=lambda name: first[name])
    answer = programs[best]()
    pairs = [
        (seconds(ours), seconds(programs[best])) for _ in range(rounds if first[best] < SLOW else 3)
    ]
    tracemalloc.start()
    ours()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    row = {
        "family": family,
        "shape": f"{m} x {n}",
        "kind": kind,
        "ours_ms": 1e3 * median(a for a, _ in pairs),
        "our_gap": gap(own.x),
        "our_kkt": own.certificate.worst,
        "peak_in_data_sizes": peak / A.nbytes,
        "peer": best,
        "peer_ms": 1e3 * median(b for _, b in pairs),
        "peer_gap": min(
            gap(answer), gap(-answer)
        ),  # the sign of multipliers is linprog's convention
        "ratio": median(a / b for a, b in pairs),
    }
    return row, [] if A.size > TEXT_ENTRIES else text_rows(row, solver, A, b, gap)


def text_rows(
    row: dict[str, Any],
    solver: Callable[..., Any],
    A: np.ndarray,
    b: np.ndarray,
    gap: Callable[[np.ndarray], float],
) -> list[dict[str, Any]]:
    """Compare the text's ADMM with ours, whose row is given, at the two accuracies."""
    own = {key: row[key] for key in ("family", "shape", "kind", "ours_ms", "our_gap", "our_kkt")}
    return [
        {**own, "peer": found.pop("solver"), "peer_ms": found.pop("ms"), "peer_gap": found.pop("gap"), **found}
        for found in text_at_levels(
            lambda tol: text_as_printed(solver, A, b, tol), lambda x: (gap(x), 0.0), row["ours_ms"]
        )
    ]  # fmt: skip


def text_as_printed(
    solver: Callable[..., Any], A: np.ndarray, b: np.ndarray, tol: float
) -> TextRun:
    """Run the text's ADMM; each iteration is charged the solution of its system of equations."""
    run = solver(A, b, finish=False, relaxation=1.0, tol=tol, max_iter=TEXT_CAP)
    S = A.T @ A if solver is least_absolute_deviations else A @ A.T
    once = min(seconds(lambda: np.linalg.solve(S, np.ones(len(S)))) for _ in range(3))
    return TextRun(run.n_iter * once, run.x, run.n_iter)


def growth() -> list[dict[str, Any]]:
    """Return the exponent of our time: m grows with n = 20 for deviations, n with m = 50 for pursuit."""
    found = []
    for family, data, solver, shapes in (
        ("least absolute deviations", noisy, least_absolute_deviations, [(k, 20) for k in (1000, 4000, 16000)]),
        ("basis pursuit", underdetermined, basis_pursuit, [(50, k) for k in (500, 2000, 8000)]),
    ):  # fmt: skip
        problems = [data(*shape, "random") for shape in shapes]
        times = [median(seconds(lambda: solver(*p)) for _ in range(3)) for p in problems]  # noqa: B023
        sizes = [max(shape) for shape in shapes]
        slope = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
        found.append({"family": family, "exponent": slope})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds")
    parser.add_argument(
        "--store", action="store_true", help="write benchmarks/results/linear_programs.json"
    )
    arguments = parser.parse_args()
    rows, texts = [], []
    print(
        "shape        kind       ours ms   gap    kkt    memory  peer            peer ms   gap    ratio"
    )
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the text's ADMM may miss its tolerance; the gap is shown
        for family, cases in (
            ("least absolute deviations", DEVIATIONS),
            ("basis pursuit", PURSUITS),
        ):
            print(family)
            for case in cases:
                r, found = compare(family, case, arguments.rounds)
                rows.append(r)
                texts += found
                print(
                    f"{r['shape']:<12} {r['kind']:<9} {r['ours_ms']:8.2f}   {r['our_gap']:.0e}  {r['our_kkt']:.0e} "
                    f"{r['peak_in_data_sizes']:6.1f}   {r['peer']:<14} {r['peer_ms']:8.2f}   {r['peer_gap']:.0e}  "
                    f"{r['ratio']:.3f}",
                    flush=True,
                )
                for s in found:
                    print(
                        f"{s['shape']:<12} {s['kind']:<9} {s['peer']} to {s['level']:.0e} ({s['peer_gap']:.0e}): "
                        f"{s['peer_ms']:.1f} ms, {s['n_iter']} iterations, ratio {s['ratio']:.2g}",
                        flush=True,
                    )
        exponents = growth()
    for r in exponents:
        print(f"{r['family']:<26} n^{r['exponent']:.2f}")
    if arguments.store:
        store("linear_programs", rows, text=texts, exponents=exponents)


if __name__ == "__main__":
    main()
