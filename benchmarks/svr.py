"""Time of nu-SV regression, end to end: ours, scikit-learn's libsvm, QP solvers, and the text's own algorithm.

Run ``python -m benchmarks svr``; ``python -m benchmarks.svr --store`` keeps the figures. How it is measured: see the
benchmark "svm". The dual program that quadratic programming solvers get has 2m variables,

    min 1/2 (mu - lambda)' K (mu - lambda) + y' (lambda - mu)
    subject to  1' lambda = 1' mu,  1' (lambda + mu) <= C nu,  0 <= lambda, mu <= C/m.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from sklearn.svm import NuSVR as LibNuSVR
from threadpoolctl import threadpool_limits

from benchmarks import missing, store
from benchmarks._qp import (
    PEERS,
    QP,
    Maker,
    Solve,
    at_equal_accuracy,
    exponents,
    interleaved,
    natural_residual,
    print_level,
    qp_makers,
    resident_peak,
    text_as_printed,
    text_at_levels,
)
from companion.kernels import Gaussian
from companion.svr import NuSVR

NU = 0.3
C_PER_POINT = 1.0  # the text's C is this times m; scikit-learn's C is this
SIZES = (50, 200, 1000)
GAMMAS = (0.2, 1.0, None)  # None is the linear kernel
LARGEST = {"PIQP": 1000, "OSQP": 200, "Clarabel": 1000, "text, as printed": 200}
LIBSVM_CAP = 10**6  # steps


def noisy_curve(m: int, d: int = 5, seed: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """A sine along one axis, a line along another, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d))
    return X, np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.standard_normal(m)


@dataclass
class Problem:
    """Data and kernel; solutions are vectors (lambda, mu), or delta = mu - lambda."""

    X: np.ndarray
    y: np.ndarray
    gamma: float | None

    @property
    def m(self) -> int:
        """Number of points."""
        return self.y.size

    @property
    def family(self) -> str:
        """The kernel."""
        return "linear" if self.gamma is None else f"Gaussian, gamma = {self.gamma:g}"

    def gram(self) -> np.ndarray:
        """Return K."""
        if self.gamma is None:
            return self.X @ self.X.T
        return Gaussian((0.5 / self.gamma) ** 0.5)(self.X)

    def qp(self) -> QP:
        """Return the dual program in x = (lambda, mu)."""
        m, one = self.m, np.ones(self.m)

        def double() -> np.ndarray:
            K = self.gram()
            return np.block([[K, -K], [-K, K]])

        balance = np.concatenate([one, -one])[None]
        total, price = np.ones((1, 2 * m)), np.array([C_PER_POINT * m * NU])
        q = np.concatenate([self.y, -self.y])
        return QP(double, q, balance, np.zeros(1), C_PER_POINT, total, price)

    def accuracy(self, solution: np.ndarray) -> tuple[float, float]:
        """Return the relative duality gap and the KKT residual of what a solver returned."""
        m = self.m
        delta = solution if solution.size == m else solution[m:] - solution[:m]
        c, k = C_PER_POINT, C_PER_POINT * self.m * NU / 2.0
        miss = max(
            abs(float(delta.sum())),
            float(np.abs(delta).sum()) - 2.0 * k,
            float(np.abs(delta).max()) - c,
        )
        up, down = (capped(np.maximum(sign * delta, 0.0), c, k) for sign in (1.0, -1.0))
        if up.sum() > down.sum():
            up = shrunk(up, float(down.sum()))
        else:
            down = shrunk(down, float(up.sum()))
        delta = up - down
        Kd = self.gram() @ delta
        s, half = self.y - Kd, float(delta @ Kd) / 2.0
        u, low = self.margins(s)
        loss = k * (u - low) + c * float(
            np.maximum(s - u, 0.0).sum() + np.maximum(low - s, 0.0).sum()
        )
        dual = float(self.y @ delta) - half
        x, slope = np.concatenate([down, up]), np.concatenate([s - low, u - s])
        residual = natural_residual(x, slope, c)
        return (half + loss - dual) / abs(dual), max(miss / (2.0 * k), residual)

    def margins(self, s: np.ndarray) -> tuple[float, float]:
        """Return the best b + epsilon and b - epsilon: order statistics of the residuals."""
        ordered, k = np.sort(s), int(np.ceil(self.m * NU / 2.0 - 1e-9))
        return float(ordered[-k]), float(ordered[k - 1])


def capped(values: np.ndarray, upper: float, total: float) -> np.ndarray:
    """Return the values within [0, upper], scaled down where their sum exceeds the total."""
    values = np.minimum(values, upper)
    return values * min(1.0, total / max(float(values.sum()), 1e-300))


def shrunk(values: np.ndarray, total: float) -> np.ndarray:
    """Return ``(values - t)_+`` on the values between the bounds, for the t with which they add up to the total."""
    low, high = 0.0, float(values.max())
    for _ in range(100):
        t = (low + high) / 2.0
        low, high = (t, high) if np.maximum(values - t, 0.0).sum() > total else (low, t)
    return np.maximum(values - high, 0.0) if values.sum() > total else values


# -- the solvers


def ours(problem: Problem) -> Solve:
    options: dict[str, Any] = {}
    if problem.gamma is not None:
        options = {"kernel": "rbf", "kernel_params": {"gamma": problem.gamma}}
    C = C_PER_POINT * problem.m
    return lambda: NuSVR(nu=NU, C=C, **options).fit(problem.X, problem.y).dual_coef_


def libsvm(problem: Problem, tol: float = 1e-6) -> Solve:
    options: dict[str, Any] = {"tol": tol, "max_iter": LIBSVM_CAP}
    options |= {"kernel": "linear"} if problem.gamma is None else {"gamma": problem.gamma}

    def run() -> np.ndarray:
        machine = LibNuSVR(nu=NU, C=C_PER_POINT, **options).fit(problem.X, problem.y)
        delta = np.zeros(problem.m)
        delta[machine.support_] = machine.dual_coef_[0]
        return delta

    return run


def makers(problem: Problem) -> dict[str, Maker]:
    """Return the other solvers, as functions of their tolerance."""
    programs = qp_makers(problem.qp(), problem.m, LARGEST)
    return {"libsvm": lambda tol: libsvm(problem, tol), **programs}


def compare(problem: Problem, rounds: int) -> list[dict[str, Any]]:
    m, qp = problem.m, problem.qp()
    runs = {"companion": ours(problem), "libsvm": libsvm(problem)}
    runs |= {name: make(1e-9) for name, make in qp_makers(qp, m, LARGEST).items()}
    times, answers = interleaved(runs, rounds if m > 200 else 3 * rounds)
    mine = times["companion"]
    head = {"family": problem.family, "n": m}
    rows = []
    for name, run in runs.items():
        gap, kkt = problem.accuracy(answers[name])
        row = {**head, "solver": name, "ms": 1e3 * median(times[name])}
        row |= {"ratio": median(a / b for a, b in zip(mine, times[name])), "gap": gap, "kkt": kkt}
        rows.append(row | {"runs": len(times[name]), "resident_MB": resident_peak(run) / 1e6})
    if m <= LARGEST["text, as printed"]:
        text = text_as_printed(qp)
        gap, kkt = problem.accuracy(text.x)
        row = {**head, "solver": "text, as printed", "ms": 1e3 * text.seconds, "runs": 1}
        rows.append(row | {"ratio": median(mine) / text.seconds, "gap": gap, "kkt": kkt})
    return rows


def equally_accurate(problem: Problem, mine: float, rounds: int) -> list[dict[str, Any]]:
    """Compare at equal measured accuracy; `mine` is our time in ms."""
    rows = at_equal_accuracy(ours(problem), makers(problem), problem.accuracy, rounds)
    if problem.m <= LARGEST["text, as printed"]:
        qp = problem.qp()
        rows += text_at_levels(lambda tol: text_as_printed(qp, tol), problem.accuracy, mine)
    return [{"family": problem.family, "n": problem.m, **row} for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=7, help="interleaved rounds (more for small m)"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--store", action="store_true", help="write benchmarks/results/svr.json")
    arguments = parser.parse_args()
    for name in missing(PEERS):
        print(f"not installed, and left out: {name} (pip install '.[bench]')")
    rows, levels = [], []
    print(
        "family                      m  solver                  ms    ratio    gap    kkt  resident"
    )
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # who misses a tolerance says so; the accuracy is shown
        for gamma in GAMMAS:
            for m in arguments.sizes:
                problem = Problem(*noisy_curve(m), gamma)
                found = compare(problem, arguments.rounds)
                rows += found
                levels += equally_accurate(problem, found[0]["ms"], arguments.rounds)
                for r in found:
                    print(
                        f"{r['family']:<24} {r['n']:>5}  {r['solver']:<17} {r['ms']:>11.2f}  {r['ratio']:7.3g}  "
                        f"{r['gap']:.0e}  {r['kkt']:.0e}  {r.get('resident_MB', np.nan):6.1f}",
                        flush=True,
                    )
    for r in levels:
        print_level(r)
    growth = exponents(rows)
    for line in growth:
        print(f"{line['family']:<24} {line['solver']:<10} time grows like m^{line['exponent']:.2f}")
    if arguments.store:
        store("svr", rows, exponents=growth, equal_accuracy=levels, missing=missing(PEERS))


if __name__ == "__main__":
    main()
