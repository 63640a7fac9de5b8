"""Time of the SVM duals, end to end: ours, scikit-learn's libsvm, OSQP, Clarabel and the text's own algorithm.

Run ``python -m benchmarks qp``. All solvers run in turn, in one process, with one BLAS thread; the median of
the CPU times is printed, as a ratio to ours. "gap" is the relative duality gap of the returned multipliers, measured
the same way for all: against the dual value that our certified solution proves.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from statistics import median

import clarabel
import numpy as np
import osqp
from scipy import sparse
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from companion.admm import LowRank, qsolve1, solve_qp
from companion.kernels import Gaussian

Solve = Callable[[], np.ndarray]
SIGMA = 5.0**0.5  # gamma = 0.1


def two_clouds(n: int, d: int = 10, seed: int = 18) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping normal clouds."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rng.standard_normal((n, d)) + 0.5 * y[:, None], y


def solvers(X: np.ndarray, y: np.ndarray, C: float, linear: bool) -> dict[str, Solve]:
    n = y.size
    q, A = -np.ones(n), y[None, :]

    def dense() -> np.ndarray:
        return (X @ X.T if linear else Gaussian(SIGMA)(X)) * np.outer(y, y)

    def ours() -> np.ndarray:
        P = LowRank(X * y[:, None]) if linear else dense()
        return solve_qp(P, q, A, [0.0], upper=C, assume_psd=True).x

    def libsvm() -> np.ndarray:
        kernel = {"kernel": "linear"} if linear else {"gamma": 0.1}
        model = SVC(C=C, tol=1e-6, **kernel).fit(X, y)
        alpha = np.zeros(n)
        alpha[model.support_] = np.abs(model.dual_coef_[0])
        return alpha

    def by_osqp() -> np.ndarray:
        solver = osqp.OSQP()
        rows = sparse.vstack([sparse.csc_matrix(A), sparse.eye(n)], format="csc")
        low, high = np.zeros(n + 1), np.r_[0.0, np.full(n, C)]
        solver.setup(
            sparse.triu(dense(), format="csc"), q, rows, low, high,
            eps_abs=1e-8, eps_rel=1e-8, max_iter=100_000, verbose=False,
        )  # fmt: skip
        return np.clip(solver.solve().x, 0, C)

    def by_clarabel() -> np.ndarray:
        rows = sparse.vstack([sparse.csc_matrix(A), -sparse.eye(n), sparse.eye(n)], format="csc")
        cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        P = sparse.triu(dense(), format="csc")
        right = np.r_[np.zeros(n + 1), np.full(n, C)]
        return np.clip(clarabel.DefaultSolver(P, q, rows, right, cones, settings).solve().x, 0, C)

    def text() -> np.ndarray:
        """The text's routine, with slack variables for the upper bound and one factorisation."""
        P = np.zeros((2 * n, 2 * n))
        P[:n, :n] = dense()
        rows = np.block([[A, np.zeros((1, n))], [np.eye(n), np.eye(n)]])
        right = np.r_[0.0, np.full(n, C)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tolerance = 1e-6 * C * n**0.5
            run = qsolve1(P, np.r_[q, np.zeros(n)], rows, right, 10.0, tolerance, tolerance, 20_000)
        return np.clip(run.x[:n], 0, C)

    every = {"companion": ours, "libsvm": libsvm, "OSQP": by_osqp, "Clarabel": by_clarabel}
    return every | ({"text's ADMM": text} if n <= 200 else {})


def compare(n: int, C: float, linear: bool, rounds: int) -> list[tuple[str, float, float, float]]:
    """Return name, median CPU seconds, ratio to ours and relative gap of each solver."""
    X, y = two_clouds(n)
    runs = solvers(X, y, C, linear)

    def value(alpha: np.ndarray) -> float:
        w = (alpha * y) @ X if linear else None
        square = w @ w if w is not None else (alpha * y) @ (Gaussian(SIGMA)(X) @ (alpha * y))
        return float(square / 2 - alpha.sum())

    with threadpool_limits(1):
        values = {name: value(run()) for name, run in runs.items()}
        times: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(rounds):
            for name, run in runs.items():
                start = time.process_time()
                run()
                times[name].append(time.process_time() - start)
    best = values["companion"]
    return [
        (
            name,
            median(times[name]),
            median(b / a for a, b in zip(times["companion"], times[name])),
            abs(values[name] - best) / abs(best),
        )
        for name in runs
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds")
    parser.add_argument("--sizes", type=int, nargs="+", default=[60, 200, 1000])
    arguments = parser.parse_args()
    for linear in (False, True):
        for n in arguments.sizes:
            print(f"C-SVM dual, {'linear' if linear else 'Gaussian'} kernel, n = {n}, C = 1")
            for name, seconds, ratio, gap in compare(n, 1.0, linear, arguments.rounds):
                print(f"  {name:<12}{1e3 * seconds:10.2f} ms{ratio:9.2f} x ours   gap {gap:.0e}")


if __name__ == "__main__":
    main()
