"""Peak memory of the estimators: proportional to the data with a linear kernel, at most two kernel matrices otherwise.

Run ``python -m benchmarks memory``; with ``--store`` the page "How fast is it" shows the new figures. The peak counts
what NumPy and Python allocate during ``fit``, beside the data. With a linear kernel it is given in sizes of the data,
for more and more points; with a Gaussian kernel in n x n matrices: the problem needs one, its solver one more.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import cpu_seconds, growth, peak_bytes, store
from companion.kernels import Gaussian, KernelPCA
from companion.regression import KernelRidge
from companion.svm import SVMs2, SVMs2prime
from companion.svr import NuSVR

LINEAR_SIZES = (20_000, 40_000, 200_000)
KERNEL_SIZES = (1000, 2000)
GAMMA = 0.1

Data = tuple[np.ndarray, np.ndarray, np.ndarray]


def clouds(n: int, d: int = 10, seed: int = 18) -> Data:
    """Return two overlapping normal clouds, their labels, and values of a noisy affine function."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.standard_normal((n, d)) + 0.35 * y[:, None]
    return X, y, X @ np.linspace(-1, 1, d) + 0.5 * rng.standard_normal(n)


def linear_problems(n: int) -> dict[str, Callable[[Data], Any]]:
    """Return the fits with a linear kernel."""
    return {
        "SVMs2prime": lambda data: SVMs2prime(0.4).fit(data[0], data[1]),
        "SVMs2": lambda data: SVMs2(1.0).fit(data[0], data[1]),
        "NuSVR": lambda data: NuSVR(0.3, C=float(n)).fit(data[0], data[2]),
    }


def kernel_problems(n: int) -> dict[str, Callable[[Data], Any]]:
    """Return the fits with a Gaussian kernel."""
    options: dict[str, Any] = {"kernel": "rbf", "kernel_params": {"gamma": GAMMA}}
    return {
        "Gram matrix": lambda data: Gaussian((0.5 / GAMMA) ** 0.5)(data[0]),
        "SVMs2prime": lambda data: SVMs2prime(0.4, **options).fit(data[0], data[1]),
        "SVMs2, C = 1": lambda data: SVMs2(1.0, **options).fit(data[0], data[1]),
        "SVMs2, C = 100": lambda data: SVMs2(100.0, **options).fit(data[0], data[1]),
        "NuSVR": lambda data: NuSVR(0.3, C=float(n), **options).fit(data[0], data[2]),
        "KernelRidge": lambda data: KernelRidge(1.0, **options).fit(data[0], data[2]),
        "KernelPCA": lambda data: KernelPCA(5, **options).fit(data[0]),
    }


def linear_row(name: str, n: int) -> dict[str, Any]:
    """Return time, peak and worst residual of one fit with a linear kernel."""
    data = clouds(n)
    run = linear_problems(n)[name]
    fitted: list[Any] = []
    seconds = cpu_seconds(lambda: fitted.append(run(data)))
    return {
        "family": f"{name}, linear",
        "n": n,
        "seconds": seconds,
        "peak_MB": (peak := peak_bytes(lambda: run(data))) / 1e6,
        "peak_in_data_sizes": peak / data[0].nbytes,
        "worst_certificate": float(fitted[0].certificate_.worst),
    }


def kernel_row(name: str, n: int) -> dict[str, Any]:
    """Return the peak of one fit with a Gaussian kernel."""
    data = clouds(n)
    run = kernel_problems(n)[name]
    peak = peak_bytes(lambda: run(data))
    return {
        "family": f"{name}, Gaussian" if name != "Gram matrix" else "Gram matrix",
        "n": n,
        "peak_MB": peak / 1e6,
        "peak_in_matrices": peak / (8 * n * n),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(LINEAR_SIZES))
    parser.add_argument("--store", action="store_true", help="write benchmarks/results/memory.json")
    arguments = parser.parse_args()
    rows, matrices = [], []
    with threadpool_limits(1):
        for name in linear_problems(1):
            for n in arguments.sizes:
                rows.append(row := linear_row(name, n))
                print(
                    f"{row['family']:<22} n={n:<7} {row['seconds']:6.2f} s, peak {row['peak_MB']:.0f} MB, "
                    f"{row['peak_in_data_sizes']:.1f} times the data; residual {row['worst_certificate']:.0e}",
                    flush=True,
                )
        for name in kernel_problems(1):
            for n in KERNEL_SIZES:
                matrices.append(row := kernel_row(name, n))
                print(
                    f"{row['family']:<26} n={n:<7} {row['peak_in_matrices']:.2f} n x n matrices",
                    flush=True,
                )
    exponents = [
        {
            "family": family,
            "exponent": growth((r["n"], r["peak_MB"]) for r in rows if r["family"] == family),
        }
        for family in dict.fromkeys(r["family"] for r in rows)
        if len(arguments.sizes) > 1
    ]
    for line in exponents:
        print(f"{line['family']:<26} memory grows like n^{line['exponent']:.3f}")
    if arguments.store:
        store("memory", rows, matrices=matrices, memory_exponents=exponents)


if __name__ == "__main__":
    main()
