"""Time and memory of kernel ridge regression, side by side with scikit-learn's ``KernelRidge``.

Run ``python -m benchmarks kernel_ridge``; with ``--store`` the page "How fast is it" shows the new figures. Both solve
(G + K I) alpha = y with a Gaussian kernel, end to end from the points, and take turns; CPU times, one BLAS thread. The
error is the relative residual of that system, computed in the same way for both. Ours adds a step of refinement and a
certificate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import kernel_ridge

from benchmarks import against_peer, run_sizes
from companion.kernels import Gaussian
from companion.regression import KernelRidge

SIZES = (60, 200, 1000, 3000)
GAMMA, K = 0.1, 1.0


def noisy_sine(n: int, d: int = 10, seed: int = 19) -> tuple[np.ndarray, np.ndarray]:
    """Return points of a normal cloud, and a smooth function of them with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n)


def compare(n: int, rounds: int) -> list[dict[str, Any]]:
    X, y = noisy_sine(n)
    G = Gaussian((0.5 / GAMMA) ** 0.5)(X)

    def error(model: Any) -> float:
        alpha = model.dual_coef_
        return float(np.linalg.norm(G @ alpha + K * alpha - y) / np.linalg.norm(y))

    row = against_peer(
        lambda: KernelRidge(K, kernel="rbf", kernel_params={"gamma": GAMMA}).fit(X, y),
        lambda: kernel_ridge.KernelRidge(alpha=K, kernel="rbf", gamma=GAMMA).fit(X, y),
        "scikit-learn",
        error,
        rounds if n > 200 else 3 * rounds,
    )
    return [{"family": "kernel ridge, Gaussian", "n": n, **row}]


def main() -> None:
    run_sizes("kernel_ridge", __doc__, SIZES, compare)


if __name__ == "__main__":
    main()
