"""Time and memory of Gram matrices, side by side with scikit-learn's pairwise kernels.

Run ``python -m benchmarks gram``; with ``--store`` the page "How fast is it" shows the new figures. Both compute the
same n x n matrix in turn, in one process, with one BLAS thread; CPU times. The error is the largest relative one of a
block of entries, against a direct evaluation in extended precision. Memory is the peak of a traced run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import pairwise

from benchmarks import against_peer, run_sizes
from companion.kernels import Gaussian, Linear, Polynomial

SIZES = (200, 1000, 5000)
SIGMA, DEGREE = 3.0, 3
SAMPLE = 50

Matrix = Callable[[np.ndarray], np.ndarray]


def kernels() -> dict[str, tuple[Matrix, Matrix, Matrix]]:
    """Return, for each kernel: ours, scikit-learn's, and the definition for a few points."""
    gamma = 1 / (2 * SIGMA**2)
    return {
        "Gram matrix, Gaussian": (
            Gaussian(SIGMA),
            lambda X: pairwise.rbf_kernel(X, gamma=gamma),
            lambda X: np.exp(-((X[:, None] - X) ** 2).sum(axis=-1) / (2 * SIGMA**2)),
        ),
        "Gram matrix, polynomial": (
            Polynomial(DEGREE, 1.0),
            lambda X: pairwise.polynomial_kernel(X, degree=DEGREE, gamma=1.0, coef0=1.0),
            lambda X: ((X[:, None] * X).sum(axis=-1) + 1) ** DEGREE,
        ),
        "Gram matrix, linear": (
            Linear(),
            pairwise.linear_kernel,
            lambda X: (X[:, None] * X).sum(axis=-1),
        ),
    }


def compare(n: int, rounds: int, d: int = 10) -> list[dict[str, Any]]:
    X = np.random.default_rng(17).standard_normal((n, d))
    rows = []
    for family, (ours, peer, definition) in kernels().items():
        exact = definition(X[:SAMPLE].astype(np.longdouble))

        def error(K: np.ndarray, exact: np.ndarray = exact) -> float:
            return float((np.abs(K[:SAMPLE, :SAMPLE] - exact) / np.abs(exact).max()).max())

        row = against_peer(
            lambda ours=ours: ours(X), lambda peer=peer: peer(X), "scikit-learn", error, rounds
        )
        rows.append(
            {
                "family": family,
                "n": n,
                "our_matrices": row["our_peak_MB"] * 1e6 / (8 * n * n),
                **row,
            }
        )
    return rows


def main() -> None:
    run_sizes("gram", __doc__, SIZES, compare)


if __name__ == "__main__":
    main()
