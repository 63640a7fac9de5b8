"""Time and memory of kernel PCA, side by side with scikit-learn's ``KernelPCA``.

Run ``python -m benchmarks kernel_pca``; with ``--store`` the page "How fast is it" shows the new figures. Both find the
first five components with a Gaussian kernel, end to end from the points, and take turns; CPU times, one BLAS thread.
scikit-learn's default chooses between LAPACK and ARPACK by the size; its LAPACK solver is a second peer. The error is
the largest residual of an eigenvector, relative to the largest eigenvalue, in the same way for all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import decomposition

from benchmarks import against_peer, run_sizes
from benchmarks.kernel_ridge import GAMMA, noisy_sine
from companion.kernels import Gaussian, KernelPCA, center_gram

SIZES = (60, 200, 1000, 3000)
COMPONENTS = 5
LARGEST_DENSE = 1000


def compare(n: int, rounds: int) -> list[dict[str, Any]]:
    X, _ = noisy_sine(n)
    centred = center_gram(Gaussian((0.5 / GAMMA) ** 0.5)(X))

    def error(model: Any) -> float:
        V, values = model.eigenvectors_, model.eigenvalues_
        return float(np.linalg.norm(centred @ V - V * values, axis=0).max() / values[0])

    def ours() -> Any:
        return KernelPCA(COMPONENTS, kernel="rbf", kernel_params={"gamma": GAMMA}).fit(X)

    rows = []
    for solver in ("auto", "dense") if n <= LARGEST_DENSE else ("auto",):

        def peer(solver: str = solver) -> Any:
            options = {"kernel": "rbf", "gamma": GAMMA, "eigen_solver": solver, "random_state": 0}
            return decomposition.KernelPCA(COMPONENTS, **options).fit(X)

        name = "scikit-learn" if solver == "auto" else "scikit-learn, LAPACK"
        row = against_peer(ours, peer, name, error, rounds if n > 200 else 3 * rounds)
        rows.append({"family": "kernel PCA, Gaussian", "n": n, **row})
    return rows


def main() -> None:
    run_sizes("kernel_pca", __doc__, SIZES, compare)


if __name__ == "__main__":
    main()
