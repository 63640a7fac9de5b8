"""Time and memory of a Gaussian Gram matrix, side by side with scikit-learn's ``rbf_kernel``.

Run ``python -m benchmarks gram``. Both compute the same 5,000 x 5,000 matrix in turn, in one process, with one BLAS
thread; the median of each is taken, and of the ratios of neighbouring runs. Memory is the peak of a traced run.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable
from statistics import median

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from companion.kernels import Gaussian


def seconds(compute: Callable[[], np.ndarray]) -> float:
    start = time.perf_counter()
    compute()
    return time.perf_counter() - start


def peak_matrices(compute: Callable[[], np.ndarray]) -> float:
    """Return the peak memory in units of the result."""
    tracemalloc.start()
    size = compute().nbytes
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / size


def compare(n: int = 5000, d: int = 10, sigma: float = 3.0, rounds: int = 9) -> dict[str, float]:
    X = np.random.default_rng(17).standard_normal((n, d))
    kernel, gamma = Gaussian(sigma), 1 / (2 * sigma**2)
    with threadpool_limits(1):
        error = float(np.abs(kernel(X) - rbf_kernel(X, gamma=gamma)).max())  # also warms both up
        pairs = [
            (seconds(lambda: kernel(X)), seconds(lambda: rbf_kernel(X, gamma=gamma)))
            for _ in range(rounds)
        ]
        memory = [peak_matrices(f) for f in (lambda: kernel(X), lambda: rbf_kernel(X, gamma=gamma))]
    ours, theirs = zip(*pairs)
    return {
        "ours_seconds": median(ours),
        "sklearn_seconds": median(theirs),
        "ratio": median(a / b for a, b in pairs),
        "ours_peak_matrices": memory[0],
        "sklearn_peak_matrices": memory[1],
        "largest_difference": error,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=5000, help="number of points")
    parser.add_argument("--d", type=int, default=10, help="dimension")
    parser.add_argument("--rounds", type=int, default=9, help="interleaved rounds")
    arguments = parser.parse_args()
    for name, value in compare(arguments.n, arguments.d, rounds=arguments.rounds).items():
        print(f"{name:<24}{value:.3g}")


if __name__ == "__main__":
    main()
