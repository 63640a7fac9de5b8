"""Vertices of the two linear programs: independent rows, and their exchange."""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.linalg import blas, lapack

from companion.admm.l1.loop import EPS

_CLEARLY = 0.01  # distance of a column of length 1 from the span of those before it


def numerical_rank(R: np.ndarray, shape: tuple[int, ...]) -> int:
    """Return the rank that the triangle of a pivoted QR factorisation shows."""
    diagonal = np.abs(np.diag(R))
    return int(np.sum(diagonal > max(shape) * EPS * diagonal.max(initial=0.0)))


def orthonormal(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Q, R and a largest set `kept` of independent columns of A, with A[:, kept] = Q R.

    The columns of A have length 1. Where they are clearly independent, Cholesky's method does it, applied twice: the
    second time makes Q orthonormal to the last digit. Otherwise columns are exchanged.
    """
    rank = A.shape[1]
    if A.shape[0] >= rank:
        R, failed = lapack.dpotrf(A.T @ A)
        if not failed and R.diagonal().min() > _CLEARLY:
            Qt = blas.dtrsm(1.0, R, A.T, trans_a=1)
            R2, failed = lapack.dpotrf(Qt @ Qt.T)
            if not failed and np.abs(R2.diagonal() - 1).max() < 0.01:
                return blas.dtrsm(1.0, R2, Qt, trans_a=1, overwrite_b=1).T, R2 @ R, np.arange(rank)
    Q, R, order = linalg.qr(A, mode="economic", pivoting=True)
    rank = numerical_rank(R, A.shape)
    return np.ascontiguousarray(Q[:, :rank]), R[:rank, :rank], order[:rank]


def lengths(A: np.ndarray) -> np.ndarray:
    """Return the norms of the columns of A, 1 for a column of zeros."""
    norms = np.sqrt(np.einsum("ij,ij->j", A, A))
    return np.where(norms > 0, norms, 1.0)


def independent_rows(Q: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return as many independent rows of Q as it has columns, those of large `size` first."""
    k = Q.shape[1]
    rows = np.sort(np.argpartition(-size, k - 1)[:k])
    block = Q[rows].T
    lu, _, failed = lapack.dgetrf(block)
    if not failed and lapack.dgecon(lu, np.abs(block).sum(axis=0).max())[0] > 1e-8:
        return rows
    weight = np.clip(size, 0.1, 10) ** 4  # steep, yet dependent rows must stay below rounding
    _, order = linalg.qr((Q * weight[:, None]).T, mode="r", pivoting=True)
    return np.sort(order[:k])


def first_ascent(v: np.ndarray, change: np.ndarray, slope: float) -> int | None:
    """Return the entry of v + t change at whose zero the sum of absolute values stops to fall.

    The sum has this negative slope at t = 0. The slope grows by 2 |change_i| where entry i passes through zero, and by
    |change_i| at once if the entry is zero now.
    """
    moving = np.flatnonzero((v * change <= 0) & (np.abs(change) > 1e-9))
    order = moving[np.argsort(-v[moving] / change[moving], kind="stable")]
    slopes = slope + np.cumsum(np.where(v[order] == 0, 1, 2) * np.abs(change[order]))
    stop = int(np.searchsorted(slopes, 0.0))
    return int(order[stop]) if stop < order.size else None


def replace_row(inverse: np.ndarray, i: int, row: np.ndarray) -> None:
    """Update the inverse of a matrix, in place, for a new row i."""
    p = row @ inverse
    column = inverse[:, i] / p[i]
    p[i] -= 1
    inverse -= np.outer(column, p)
