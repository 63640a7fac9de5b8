"""Time of C-SVM and nu-SVM, end to end: ours, scikit-learn's libsvm, QP solvers, and the text's own algorithm.

Run ``python -m benchmarks svm``; with ``python -m benchmarks.svm --store`` the page "How fast is it" shows the new
figures. All solvers run in turn, in one process, with one BLAS thread; CPU times are compared. A row shows the median
of a solver's times, and the median of the ratios of our time to its time in the same round (below 1: ours is faster).
"gap" is the relative duality gap of the multipliers that a solver returns, made feasible in the same way for all; "kkt"
the residual of the KKT conditions there, and of the constraints before.

Estimators start from the points, with their validation; QP solvers from the signed Gram matrix, which they pay for.
The text's algorithm solves its KKT system anew in each iteration. Its time is the number of iterations, counted with a
factorisation that is kept, times the measured time of one iteration as printed.

A second table compares at equal measured accuracy: each solver with the loosest tolerance whose gap and KKT residual
reach 1e-6, and 1e-9, again in turn. Memory ("peak") is what a run adds to a process of its own.
"""

from __future__ import annotations

import argparse
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from sklearn.svm import SVC, NuSVC
from threadpoolctl import threadpool_limits

from benchmarks import _qp, missing, store
from benchmarks._qp import (
    PEERS,
    QP,
    Maker,
    Solve,
    at_equal_accuracy,
    cpu_seconds,
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
from companion.svm import SVMs2, SVMs2prime, nu_path
from companion.svm.points import make_points

GAMMA = 0.1
SIGMA = (0.5 / GAMMA) ** 0.5
SIZES = (60, 200, 1000, 3000)
PROBLEMS = (  # kernel, C, nu: one of the last two is None
    ("Gaussian", 1.0, None),
    ("Gaussian", 100.0, None),
    ("Gaussian", None, 0.4),
    ("linear", 1.0, None),
    ("linear", None, 0.4),
)
LARGEST = {"PIQP": 3000, "OSQP": 1000, "Clarabel": 1000, "text, as printed": 1000}
TEXT_LEVELS = 200  # points up to which its stopping rule is tightened
TEXT_CAP = {1000: 2000}  # its iterations, where fewer than elsewhere must do
LIBSVM_CAP = 10**6  # steps; without a cap it may never stop at a tolerance near rounding


def two_clouds(n: int, d: int = 10, seed: int = 18) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping normal clouds; their means have distance 0.7 sqrt(d)."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rng.standard_normal((n, d)) + 0.35 * y[:, None], y


@dataclass
class Problem:
    """Data, and the dual program: min 1/2 a'Pa + q'a  s.t. A a = b, 0 <= a <= upper."""

    X: np.ndarray
    y: np.ndarray
    kernel: str
    C: float | None
    nu: float | None

    @property
    def n(self) -> int:
        """Number of points."""
        return self.y.size

    @property
    def family(self) -> str:
        """The kernel, and the parameter with its value."""
        return f"{self.kernel}, " + (f"C = {self.C:g}" if self.nu is None else f"nu = {self.nu:g}")

    def gram(self) -> np.ndarray:
        """Return P."""
        K = Gaussian(SIGMA)(self.X) if self.kernel == "Gaussian" else self.X @ self.X.T
        return K * np.outer(self.y, self.y)

    @property
    def constraints(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """q, A, b and upper, with the multipliers of the nu-SVM scaled to add up to nu."""
        one = np.ones(self.n)
        if self.nu is None:
            return -one, self.y[None, :], np.zeros(1), float(self.C)  # type: ignore[arg-type]
        return 0.0 * one, np.array([self.y, one]), np.array([0.0, self.nu]), 1.0 / self.n

    def qp(self) -> QP:
        """Return the dual program as quadratic programming solvers take it."""
        q, A, b, upper = self.constraints
        return QP(self.gram, q, A, b, upper, np.zeros((0, self.n)), np.zeros(0))

    def made_feasible(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a after shifting each class until its sum is right, and the gradient there."""
        upper = self.constraints[3]
        a = np.clip(a, 0.0, upper)
        blue, red = self.y > 0, self.y < 0
        total = self.nu / 2 if self.nu is not None else (a[blue].sum() + a[red].sum()) / 2
        for colour in (blue, red):
            a[colour] = shifted(a[colour], total, upper)
        used = np.flatnonzero(a)
        w, X = a[used] * self.y[used], self.X[used]
        g = self.X @ (w @ X) if self.kernel == "linear" else Gaussian(SIGMA)(self.X, X) @ w
        return a, self.y * g

    def accuracy(self, a: np.ndarray) -> tuple[float, float]:
        """Return the relative duality gap and the KKT residual of what a solver returned."""
        q, A, b, upper = self.constraints
        miss = np.abs(A @ a - b) / (np.abs(A) @ np.abs(a) + np.abs(b))
        a, g = self.made_feasible(a)
        half = float(a @ g) / 2
        at_best = self.loss_at_best_b(g) if self.nu is None else self.loss_at_best_slab(g)
        gap = (half + at_best[0] + half + float(q @ a)) / abs(half + float(q @ a))
        return gap, max(float(miss.max()), natural_residual(a, at_best[1], upper))

    def loss_at_best_b(self, g: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the minimum over b of C times the sum of the slacks (1 - g + s b)_+, and g - 1 - s b there."""
        b = np.sort(self.y * (g - 1.0))
        low, high = 0, b.size - 1
        while low < high:  # the slope of the sum grows with b
            middle = (low + high) // 2
            between = (b[middle] + b[middle + 1]) / 2
            rising = self.y[1.0 - g + self.y * between > 0].sum() >= 0
            low, high = (low, middle) if rising else (middle + 1, high)
        slope = g - 1.0 - self.y * b[low]
        return float(self.C * np.maximum(-slope, 0.0).sum()), slope  # type: ignore[operator]

    def loss_at_best_slab(self, g: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the minimum over b and eta of -nu eta + (sum of the slacks)/n, one class at a time; g - eta - s b."""
        loss, slope = 0.0, g.copy()
        for colour in (self.y > 0, self.y < 0):
            p = np.sort(g[colour])[int(np.ceil(self.nu * self.n / 2 - 1e-9)) - 1]  # type: ignore[operator]
            slope[colour] -= p
            loss += float(np.maximum(-slope[colour], 0.0).sum() / self.n - self.nu / 2 * p)  # type: ignore[operator]
        return loss, slope


def shifted(a: np.ndarray, total: float, upper: float) -> np.ndarray:
    """Return clip(a + t, 0, upper) for the t with which it adds up to the total."""
    low, high = -upper, upper
    for _ in range(100):
        t = (low + high) / 2
        low, high = (t, high) if np.clip(a + t, 0.0, upper).sum() < total else (low, t)
    return np.clip(a + high, 0.0, upper) if a.sum() != total else a


# -- the solvers


def ours(problem: Problem) -> Solve:
    options: dict[str, Any] = {}
    if problem.kernel == "Gaussian":
        options = {"kernel": "rbf", "kernel_params": {"gamma": GAMMA}}

    def run() -> np.ndarray:
        if problem.nu is None:
            machine = SVMs2(problem.C, **options).fit(problem.X, problem.y)
        else:
            machine = SVMs2prime(problem.nu, **options).fit(problem.X, problem.y)
        return np.abs(machine.dual_coef_)

    return run


def libsvm(problem: Problem, tol: float = 1e-6) -> Solve:
    options: dict[str, Any] = {"tol": tol, "max_iter": LIBSVM_CAP}
    options |= {"kernel": "linear"} if problem.kernel == "linear" else {"gamma": GAMMA}

    def run() -> np.ndarray:
        kind, number = (SVC, problem.C) if problem.nu is None else (NuSVC, problem.nu)
        name = "C" if problem.nu is None else "nu"
        machine = kind(**{name: number}, **options).fit(problem.X, problem.y)
        a = np.zeros(problem.n)
        a[machine.support_] = np.abs(machine.dual_coef_[0])
        return a if problem.nu is None else a * problem.nu / a.sum()  # libsvm's eta is 1

    return run


def makers(problem: Problem) -> dict[str, Maker]:
    """Return the other solvers, as functions of their tolerance."""
    programs = qp_makers(problem.qp(), problem.n, LARGEST)
    return {"libsvm": lambda tol: libsvm(problem, tol), **programs}


# -- measuring


def peak_memory(run: Callable[[], Any]) -> int:
    """Return the largest number of bytes that NumPy and Python held during a run."""
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def compare(problem: Problem, rounds: int) -> list[dict[str, Any]]:
    runs = {"companion": ours(problem), "libsvm": libsvm(problem)}
    programs = qp_makers(problem.qp(), problem.n, LARGEST)
    runs |= {name: make(1e-9) for name, make in programs.items()}
    times, answers = interleaved(runs, rounds if problem.n > 200 else 3 * rounds)
    mine = times["companion"]
    head = {"family": problem.family, "n": problem.n}
    rows = []
    for name, run in runs.items():
        gap, kkt = problem.accuracy(answers[name])
        row = {
            **head,
            "solver": name,
            "ms": 1e3 * median(times[name]),
            "ratio": median(a / b for a, b in zip(mine, times[name])),
            "gap": gap,
            "kkt": kkt,
            "runs": len(times[name]),
            "resident_MB": resident_peak(run) / 1e6,
        }
        rows.append(row)
    rows[0]["peak_MB"] = peak_memory(runs["companion"]) / 1e6
    if problem.n <= LARGEST["text, as printed"]:
        rows.append(head | text_row(problem, 1e3 * median(mine)))
    return rows


def text_row(problem: Problem, mine: float) -> dict[str, Any]:
    """Return the row of the text's algorithm with its own stopping rule; `mine` is our time in ms."""
    cap = TEXT_CAP.get(problem.n, _qp.TEXT_CAP)
    text = text_as_printed(problem.qp(), cap=cap)
    gap, kkt = problem.accuracy(text.x)
    row = {"solver": "text, as printed", "ms": 1e3 * text.seconds, "runs": 1}
    row |= {"ratio": mine / (1e3 * text.seconds), "gap": gap, "kkt": kkt}
    return row | {"n_iter": text.n_iter, "reached": text.n_iter < cap}


def equally_accurate(problem: Problem, mine: float, rounds: int) -> list[dict[str, Any]]:
    """Compare at equal measured accuracy; `mine` is our time in ms."""
    rows = at_equal_accuracy(ours(problem), makers(problem), problem.accuracy, rounds)
    if problem.n <= TEXT_LEVELS:
        qp = problem.qp()
        rows += text_at_levels(lambda tol: text_as_printed(qp, tol), problem.accuracy, mine)
    return [{"family": problem.family, "n": problem.n, **row} for row in rows]


def path_of_fifty(n: int, rounds: int) -> dict[str, Any]:
    """Compare a path of 50 values of nu with single fits."""
    X, y = two_clouds(n)
    options: dict[str, Any] = {"kernel": "rbf", "kernel_params": {"gamma": GAMMA}}
    nus = np.linspace(0.3, 0.8, 50)
    machines = nu_path(X, y, nus, **options)
    pairs = [
        (
            cpu_seconds(lambda: nu_path(X, y, nus, **options)),
            cpu_seconds(lambda: SVMs2prime(0.4, **options).fit(X, y)),
        )
        for _ in range(rounds)
    ]
    return {
        "n": n,
        "values": nus.size,
        "path_ms": 1e3 * median(a for a, _ in pairs),
        "single_ms": 1e3 * median(b for _, b in pairs),
        "single_fits": median(a / b for a, b in pairs),
        "worst_certificate": max(machine.certificate_.worst for machine in machines),
    }


def stages(n: int, rounds: int) -> dict[str, Any]:
    """Return what part of a fit of the nu-SVM with a Gaussian kernel goes where."""
    X, y = two_clouds(n)
    machine = SVMs2prime(0.4, kernel="rbf", kernel_params={"gamma": GAMMA})
    X_read, s = machine.fit(X, y)._read(X, y)
    points = make_points(X_read, s, machine.kernel_)
    dual = machine._dual(points)
    parts: dict[str, Callable[[], Any]] = {
        "all": lambda: machine.fit(X, y),
        "reading the data": lambda: machine._read(X, y),
        "kernel matrix": lambda: machine._dual(points),
        "quadratic program": lambda: machine._solve(points, dual),
    }
    times: dict[str, list[float]] = {name: [] for name in parts}
    for _ in range(5 * rounds):
        for name, part in parts.items():
            times[name].append(cpu_seconds(part))
    ms = {name: 1e3 * median(values) for name, values in times.items()}
    rest = ms["all"] - sum(value for name, value in ms.items() if name != "all")
    return {"n": n, **ms, "hyperplanes and certificate": max(rest, 0.0)}


def many_points(n: int = 200_000, d: int = 10) -> dict[str, Any]:
    """Fit the linear kernel to many points, and compare memory with the size of the data."""
    X, y = two_clouds(n, d)
    machine = SVMs2(1.0)
    seconds = cpu_seconds(lambda: machine.fit(X, y))
    return {
        "n": n,
        "d": d,
        "seconds": seconds,
        "peak_in_data_sizes": peak_memory(lambda: machine.fit(X, y)) / X.nbytes,
        "worst_certificate": machine.certificate_.worst,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=7, help="interleaved rounds (more for small n)"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--store", action="store_true", help="write benchmarks/results/svm.json")
    arguments = parser.parse_args()
    for name in missing(PEERS):
        print(f"not installed, and left out: {name} (pip install '.[bench]')")
    rows, levels = [], []
    print("family               n  solver                  ms    ratio    gap    kkt  resident")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # who misses a tolerance says so; the accuracy is shown
        for kernel, C, nu in PROBLEMS:
            for n in arguments.sizes:
                problem = Problem(*two_clouds(n), kernel, C, nu)
                found = compare(problem, arguments.rounds)
                rows += found
                levels += equally_accurate(problem, found[0]["ms"], arguments.rounds)
                for r in found:
                    print(
                        f"{r['family']:<18} {r['n']:>5}  {r['solver']:<17} {r['ms']:>11.2f}  {r['ratio']:7.3g}  "
                        f"{r['gap']:.0e}  {r['kkt']:.0e}  {r.get('resident_MB', np.nan):6.1f}",
                        flush=True,
                    )
        for r in levels:
            print_level(r)
        path = path_of_fifty(1000, arguments.rounds)
        print(
            f"a path of {path['values']} values of nu costs {path['single_fits']:.1f} single fits"
        )
        profile = [stages(n, arguments.rounds) for n in arguments.sizes if n <= 1000]
        many = many_points()
        print(
            f"{many['n']} points, linear kernel: {many['seconds']:.2f} s, residual {many['worst_certificate']:.0e}, "
            f"memory {many['peak_in_data_sizes']:.1f} times the data"
        )
    growth = exponents(rows)
    for line in growth:
        print(f"{line['family']:<18} {line['solver']:<10} time grows like n^{line['exponent']:.2f}")
    if arguments.store:
        more = {"exponents": growth, "path": path, "stages": profile, "many_points": many}
        more["equal_accuracy"] = levels
        store("svm", rows, **more, missing=missing(PEERS))


if __name__ == "__main__":
    main()
