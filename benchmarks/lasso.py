"""Time of the lasso, side by side with scikit-learn, celer and skglm, at the same duality gap.

Run ``python -m benchmarks lasso``; with ``python -m benchmarks.lasso --store`` the page on comparing regressions
shows the new figures. Each peer gets the loosest tolerance of a ladder with which its solution has a
relative duality gap of at most 1e-9, measured here, on centred data, for all alike. Then all run in turn, in one
process, with one BLAS thread; the table shows medians of CPU time, and of the ratios of neighbouring runs (below 1:
ours is faster). Everyone fits the same arrays, with a free intercept, from the estimator's ``fit``.
"""

from __future__ import annotations

import argparse
import importlib
import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from sklearn import linear_model
from threadpoolctl import threadpool_limits

from benchmarks import missing, store
from companion.regression import Lasso, tau_max
from companion.regression.working_set import duality_gap

SHAPES = ((200, 30), (1000, 1000), (5000, 2000))
FRACTIONS = (0.1, 0.01)
PEERS = ("celer", "skglm")
TARGET = 1e-9
LADDER = tuple(10.0**-k for k in range(4, 16))

Fit = Callable[[], Any]


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


def relative_gap(X: np.ndarray, y: np.ndarray, tau: float, w: np.ndarray) -> float:
    Z, r = X - X.mean(axis=0), y - y.mean()
    residual = r - Z @ w
    value, gap = duality_gap(w, residual, Z.T @ residual, 0.0, tau)
    return gap / value


def cpu_seconds(fit: Fit) -> float:
    start = time.process_time()
    fit()
    return time.process_time() - start


def peers(X: np.ndarray, y: np.ndarray, tau: float) -> dict[str, Callable[[float], Any]]:
    kinds = {"scikit-learn": linear_model.Lasso}
    for name in PEERS:
        if name not in missing(PEERS):
            kinds[name] = importlib.import_module(name).Lasso
    alpha, options = tau / len(y), {"max_iter": 100_000}

    def solver(kind: Any) -> Callable[[float], Any]:
        return lambda tol: kind(alpha, tol=tol, **options).fit(X, y)

    return {name: solver(kind) for name, kind in kinds.items()}


def loosest(fit: Callable[[float], Any], gap: Callable[[np.ndarray], float]) -> tuple[float, float]:
    """Return the loosest tolerance of the ladder that reaches the target, and the gap it gives."""
    for tol in LADDER:
        reached = gap(fit(tol).coef_)
        if reached <= TARGET:
            break
    return tol, reached


def compare(m: int, n: int, fraction: float, rounds: int) -> list[dict[str, Any]]:
    X, y = correlated_design(m, n)
    tau = fraction * tau_max(X, y)

    def gap(w: np.ndarray) -> float:
        return relative_gap(X, y, tau, w)

    def ours() -> Any:
        return Lasso(tau).fit(X, y)

    own = ours()
    rows = []
    for name, fit in peers(X, y, tau).items():
        tol, reached = loosest(fit, gap)
        pairs = [(cpu_seconds(ours), cpu_seconds(lambda: fit(tol))) for _ in range(rounds)]  # noqa: B023
        mine, theirs = zip(*pairs)
        rows.append(
            {
                "shape": f"{m} x {n}",
                "tau/tau_max": fraction,
                "nonzero": own.support_.size,
                "ours_ms": 1e3 * median(mine),
                "our_gap": gap(own.w_),
                "peer": name,
                "peer_ms": 1e3 * median(theirs),
                "peer_gap": reached,
                "ratio": median(a / b for a, b in pairs),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds")
    parser.add_argument("--store", action="store_true", help="write benchmarks/results/lasso.json")
    arguments = parser.parse_args()
    for name in missing(PEERS):
        print(f"not installed, and left out: {name} (pip install '.[bench]')")
    rows = []
    print("shape        tau/max  nonzero   ours ms  gap      peer          peer ms  gap      ratio")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a peer that misses a tolerance says so; the gap is shown
        for m, n in SHAPES:
            for fraction in FRACTIONS:
                for r in compare(m, n, fraction, arguments.rounds):
                    rows.append(r)
                    print(
                        f"{r['shape']:<12} {r['tau/tau_max']:<8g} {r['nonzero']:<7} {r['ours_ms']:9.2f}  "
                        f"{r['our_gap']:.0e}  {r['peer']:<13} {r['peer_ms']:7.2f}  {r['peer_gap']:.0e}  "
                        f"{r['ratio']:.2f}",
                        flush=True,
                    )
    if arguments.store:
        store("lasso", rows)


if __name__ == "__main__":
    main()
