"""Time of the lasso and the elastic net, side by side with scikit-learn, celer and skglm, at the same duality gap.

Run ``python -m benchmarks lasso``; with ``python -m benchmarks.lasso --store`` the pages on comparing regressions and
on speed show the new figures. Each peer gets the loosest tolerance of a ladder with which its solution has a
relative duality gap and a KKT residual of at most 1e-9 (and, in a second table, 1e-6), measured here, on centred data,
for all alike. Then all run in turn, in one process, with one BLAS thread; the table shows medians of CPU time, and of
the ratios of neighbouring runs (below 1: ours is faster). Everyone fits the same arrays, with a free intercept, from
the estimator's ``fit``. The elastic net has K = tau / 2.

A third table has the text's algorithms: ADMM for the lasso, with our choice of rho, and the dual program with the
text's rho = 10 for the elastic net. Each iteration is charged the solution of its system, as the text prints it.
"""

from __future__ import annotations

import argparse
import importlib
import time
import tracemalloc
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from sklearn import linear_model
from threadpoolctl import threadpool_limits

from benchmarks import missing, store
from benchmarks._qp import TextRun, charged_as_printed, text_at_levels
from companion.regression import ElasticNet, Lasso, elastic_net_qp, lasso_admm, tau_max
from companion.regression.working_set import duality_gap

CASES = (
    (200, 30, 0.1), (200, 30, 0.01), (1000, 1000, 0.1), (1000, 1000, 0.01), (5000, 2000, 0.1), (5000, 2000, 0.01),
    (200, 20000, 0.1),
)  # fmt: skip
GROWTH = (500, 1000, 2000)  # m = n, at a tenth of tau_max
PEERS = ("celer", "skglm")
TARGET, LOOSE = 1e-9, 1e-6
LADDER = tuple(10.0**-k for k in range(4, 16))
SLOW = 1.0  # seconds; slower fits run three times only
TEXT_COLUMNS = 2000  # up to which the text's ADMM runs; its system has as many rows
TEXT_DUAL_CAP = 100_000  # iterations
TEXT_ENTRIES = 10_000  # of X, up to which the text's dual program runs

HEADER = "shape        tau/max  nonzero   ours ms  gap    kkt    memory peer           peer ms  gap    kkt    ratio"

Fit = Callable[[], Any]


class Program(NamedTuple):
    """Least squares with penalties, on data with a free intercept."""

    X: np.ndarray
    y: np.ndarray
    tau: float
    K: float

    def measure(self, w: np.ndarray) -> tuple[float, float]:
        """Return the relative duality gap of w, and how far it misses optimality, relative to tau."""
        Z, r = self.X - self.X.mean(axis=0), self.y - self.y.mean()
        residual = r - Z @ w
        c = Z.T @ residual - self.K * w
        value, gap = duality_gap(w, residual, c, self.K, self.tau)
        off = np.where(
            w != 0.0, np.abs(c - self.tau * np.sign(w)), np.maximum(np.abs(c) - self.tau, 0.0)
        )
        return gap / value, float(off.max()) / self.tau

    def ours(self, tol: float) -> Any:
        """Return our fitted model."""
        model = ElasticNet(self.K, self.tau, tol=tol) if self.K else Lasso(self.tau, tol=tol)
        return model.fit(self.X, self.y)

    def peers(self) -> dict[str, Callable[[float], Any]]:
        """Return the fit of each peer, as a function of its tolerance."""
        name = "ElasticNet" if self.K else "Lasso"
        kinds = {"scikit-learn": getattr(linear_model, name)}
        for peer in PEERS:
            if peer not in missing(PEERS):
                kinds[peer] = getattr(importlib.import_module(peer), name)
        options: dict[str, Any] = {"max_iter": 100_000}
        if self.K:
            options["l1_ratio"] = self.tau / (self.tau + self.K)
        alpha = (self.tau + self.K) / len(self.y)

        def solver(kind: Any) -> Callable[[float], Any]:
            return lambda tol: kind(alpha, tol=tol, **options).fit(self.X, self.y)

        return {peer: solver(kind) for peer, kind in kinds.items()}

    def text(self, tolerance: float) -> TextRun:
        """Run the text's algorithm, and return the weights."""
        return (self._text_dual if self.K else self._text_admm)(tolerance)

    def _text_admm(self, tolerance: float) -> TextRun:
        run = lasso_admm(self.X, self.y, self.tau, tol=tolerance)
        Z, rho = self.X - self.X.mean(axis=0), run.rho
        H, c = Z.T @ Z + rho * np.eye(Z.shape[1]), Z.T @ self.y
        once = min(cpu_seconds(lambda: linalg.solve(H, c, assume_a="pos")) for _ in range(3))
        return TextRun(run.n_iter * once, run.z, run.n_iter)

    def _text_dual(self, tolerance: float) -> TextRun:
        m, n = self.X.shape
        program = elastic_net_qp(self.X, self.y, self.K, self.tau)
        tolerance *= self.tau / self.K  # the unit of beta
        run = charged_as_printed(*program, tolerance, TEXT_DUAL_CAP)
        plus, minus, mu_plus, mu_minus = np.split(run.x, [n, 2 * n, 2 * n + m])
        w = minus - plus + self.X.T @ (mu_plus - mu_minus)
        w[np.minimum(plus, minus) > tolerance] = 0.0
        return run._replace(x=w)


def correlated_design(m: int, n: int, seed: int = 19) -> tuple[np.ndarray, np.ndarray]:
    """Columns with correlation 0.5^|i - j|, 5 % of the weights nonzero, signal to noise 4."""
    rng = np.random.default_rng(seed)
    X = np.asfortranarray(rng.standard_normal((m, n)))
    for j in range(1, n):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    w = np.zeros(n)
    places = rng.choice(n, size=max(3, n // 20), replace=False)
    w[places] = rng.choice([-1.0, 1.0], size=places.size) * rng.uniform(0.5, 2.0, places.size)
    signal = X @ w
    return X, signal + 0.25 * signal.std() * rng.standard_normal(m) + 3.0


def cpu_seconds(fit: Fit) -> float:
    start = time.process_time()
    fit()
    return time.process_time() - start


def loosest(
    fit: Callable[[float], Any], measure: Callable[[np.ndarray], tuple[float, float]]
) -> dict[float, tuple[float, tuple[float, float]]]:
    """Return, for both targets, the loosest tolerance of the ladder that reaches it, with its gap and KKT residual."""
    found: dict[float, tuple[float, tuple[float, float]]] = {}
    for tol in LADDER:
        reached = measure(fit(tol).coef_)
        for target in (LOOSE, TARGET):
            if max(reached) <= target and target not in found:
                found[target] = tol, reached
        if TARGET in found:
            break
    return {target: found.get(target, (tol, reached)) for target in (TARGET, LOOSE)}


def peak_in_data_sizes(program: Program) -> float:
    """Return the largest memory that our fit takes, in multiples of X."""
    tracemalloc.start()
    program.ours(1e-10)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / program.X.nbytes


def compare(case: tuple[int, int, float], share: float, rounds: int) -> list[list[dict[str, Any]]]:
    """Return the rows of one problem for the two targets; K is `share` of tau."""
    m, n, fraction = case
    X, y = correlated_design(m, n)
    tau = fraction * tau_max(X, y)
    program = Program(X, y, tau, share * tau)
    memory = peak_in_data_sizes(program)
    tables: list[list[dict[str, Any]]] = [[], []]
    for name, fit in program.peers().items():
        tolerances = loosest(fit, program.measure)
        for rows, target, own_tol in zip(tables, (TARGET, LOOSE), (1e-10, LOOSE)):
            own = program.ours(own_tol)
            own_gap, own_kkt = program.measure(own.w_)
            tol, (gap, kkt) = tolerances[target]
            pairs: list[tuple[float, float]] = []
            while len(pairs) < (rounds if not pairs or pairs[0][1] < SLOW else 3):
                pairs.append(
                    (cpu_seconds(lambda: program.ours(own_tol)), cpu_seconds(lambda: fit(tol)))  # noqa: B023
                )
            mine, theirs = zip(*pairs)
            rows.append(
                {
                    "shape": f"{m} x {n}",
                    "tau/tau_max": fraction,
                    "nonzero": own.support_.size,
                    "ours_ms": 1e3 * median(mine),
                    "our_gap": own_gap,
                    "our_kkt": own_kkt,
                    "peak_in_data_sizes": memory,
                    "peer": name,
                    "peer_ms": 1e3 * median(theirs),
                    "peer_gap": gap,
                    "peer_kkt": kkt,
                    "reached": max(gap, kkt) <= target,
                    "ratio": median(a / b for a, b in pairs),
                }
            )
    return tables


def text_rows(family: str, case: tuple[int, int, float], share: float) -> list[dict[str, Any]]:
    """Return the rows of the text's algorithm, at the two accuracies, where it can run."""
    m, n, fraction = case
    if n > TEXT_COLUMNS or (share and m * n > TEXT_ENTRIES):
        return []
    X, y = correlated_design(m, n)
    tau = fraction * tau_max(X, y)
    program = Program(X, y, tau, share * tau)
    ours = median(cpu_seconds(lambda: program.ours(1e-10)) for _ in range(5))
    gap, kkt = program.measure(program.ours(1e-10).w_)
    head = {"family": family, "shape": f"{m} x {n}", "tau/tau_max": fraction}
    own = {"ours_ms": 1e3 * ours, "our_gap": gap, "our_kkt": kkt}
    return [
        {**head, **own, "peer": row.pop("solver"), "peer_ms": row.pop("ms"),
         "peer_gap": row.pop("gap"), "peer_kkt": row.pop("kkt"), **row}
        for row in text_at_levels(program.text, program.measure, 1e3 * ours)
    ]  # fmt: skip


def growth() -> list[dict[str, Any]]:
    """Return the exponent of n in the time for n x n data, of everyone."""
    times: dict[str, list[float]] = {}
    for n in GROWTH:
        X, y = correlated_design(n, n)
        program = Program(X, y, 0.1 * tau_max(X, y), 0.0)
        fits = {"companion": lambda tol: program.ours(1e-10)} | program.peers()  # noqa: B023
        for name, fit in fits.items():
            seconds = [cpu_seconds(lambda: fit(1e-8)) for _ in range(3)]  # noqa: B023
            times.setdefault(name, []).append(median(seconds))
    return [
        {"solver": name, "exponent": float(np.polyfit(np.log(GROWTH), np.log(seconds), 1)[0])}
        for name, seconds in times.items()
    ]


def show(rows: list[dict[str, Any]]) -> None:
    for r in rows:
        print(
            f"{r['shape']:<12} {r['tau/tau_max']:<8g} {r['nonzero']:<7} {r['ours_ms']:9.2f}  {r['our_gap']:.0e}  "
            f"{r['our_kkt']:.0e}  {r['peak_in_data_sizes']:5.2f}  {r['peer']:<13} {r['peer_ms']:8.2f}  "
            f"{r['peer_gap']:.0e}  {r['peer_kkt']:.0e}  {r['ratio']:.2f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds")
    parser.add_argument("--store", action="store_true", help="write benchmarks/results/lasso.json")
    arguments = parser.parse_args()
    for name in missing(PEERS):
        print(f"not installed, and left out: {name} (pip install '.[bench]')")
    tables: dict[str, list[dict[str, Any]]] = {}
    texts: list[dict[str, Any]] = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a peer that misses a tolerance says so; the gap is shown
        for family, share in (("lasso", 0.0), ("elastic_net", 0.5)):
            print(family)
            print(HEADER)
            for case in CASES:
                for key, rows in zip(
                    (family, f"{family}_loose"), compare(case, share, arguments.rounds)
                ):
                    tables.setdefault(key, []).extend(rows)
                    show(rows)
                found = text_rows(family.replace("_", " "), case, share)
                texts += found
                for r in found:
                    print(
                        f"{r['shape']:<12} {r['tau/tau_max']:<8g} {r['peer']} to {r['level']:.0e} "
                        f"({r['peer_gap']:.0e}, {r['peer_kkt']:.0e}): {r['peer_ms']:.1f} ms, "
                        f"{r['n_iter']} iterations, ratio {r['ratio']:.2g}",
                        flush=True,
                    )
        exponents = growth()
    for r in exponents:
        print(f"{r['solver']:<13} n^{r['exponent']:.2f}")
    if arguments.store:
        store("lasso", tables.pop("lasso"), **tables, text=texts, exponents=exponents)


if __name__ == "__main__":
    main()
