"""The linear systems of quadratic programs, dense and sparse: factored once, solved as often as asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dgetrf, dgetrs

_RIDGE = 1e-13  # on the diagonal of a system whose rows have the largest entry 1

Solve = Callable[[np.ndarray], np.ndarray]


def factor(P: Any, A: Any, free: np.ndarray, prox: np.ndarray) -> Solve:
    """Factor the regularised system of the free variables, with rows and columns scaled to the largest entry 1."""
    p, f = A.shape[0], free.size
    if p + f == 0:
        return lambda v: v
    ridge, AF = np.array([_RIDGE] * f + [-_RIDGE] * p), A[:, free]
    if sparse.issparse(P):
        top = P[free][:, free] + sparse.diags(prox)
        K = sparse.bmat([[top, AF.T], [AF, sparse.csc_matrix((p, p))]], format="csc")
        d = np.ones(f + p)
        for _ in range(3):
            s = scales_of(np.asarray(abs(K).max(axis=1).todense()).ravel())
            S = sparse.diags(s)
            K, d = (S @ K @ S).tocsc(), d * s
        K = (K + sparse.diags(ridge, format="csc")).tocsc()
        from scipy.sparse.linalg import splu  # an eighth of a chapter's import in a browser

        factors = splu(K, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.01)
        return lambda v: d * factors.solve(d * v)
    K = np.zeros((f + p, f + p))
    K[:f, :f] = P if f == len(P) else P[free[:, None], free]
    K[f:, :f], K[:f, f:] = AF, AF.T
    diagonal = K.reshape(-1)[:: f + p + 1]  # a view
    diagonal[:f] += prox
    d = scales_of(np.abs(K).max(axis=1))
    K *= d
    K *= d[:, None]
    diagonal += ridge
    lu, piv, _ = dgetrf(K.T, overwrite_a=1)  # K is symmetric
    return lambda v: d * dgetrs(lu, piv, d * v)[0]


def factor_diagonal(diagonal: np.ndarray, A: Any) -> Solve:
    """Factor the same system where its first block is diagonal: what remains is as small as A has rows."""
    f = diagonal.size
    K = (A @ sparse.diags(1.0 / diagonal) @ A.T).toarray()
    d = scales_of(K.diagonal())
    K *= np.outer(d, d)
    K[np.diag_indices_from(K)] += _RIDGE
    lu, piv, _ = dgetrf(K, overwrite_a=1)

    def solve(v: np.ndarray) -> np.ndarray:
        y = d * dgetrs(lu, piv, d * (A @ (v[:f] / diagonal) - v[f:]))[0]
        return np.concatenate([(v[:f] - A.T @ y) / diagonal, y])

    return solve


def scales_of(peak: np.ndarray) -> np.ndarray:
    """Return one over the root of the largest entry of each row, and 1 for a row of zeros."""
    return np.asarray(1.0 / np.sqrt(np.where(peak > 0.0, peak, 1.0)))
