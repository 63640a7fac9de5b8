"""Vertices of the two linear programs: independent rows, and their exchange."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from companion.admm.l1.loop import EPS


def numerical_rank(R: np.ndarray, shape: tuple[int, ...]) -> int:
    """Return the rank that the triangle of a pivoted QR factorisation shows."""
    diagonal = np.abs(np.diag(R))
    return int(np.sum(diagonal > max(shape) * EPS * diagonal.max(initial=0.0)))


def independent_rows(Q: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return as many independent rows of Q as it has columns, those of large `size` first."""
    weight = np.clip(size, 0.1, 10) ** 4  # steep, yet dependent rows must stay below rounding
    _, order = linalg.qr((Q * weight[:, None]).T, mode="r", pivoting=True)
    return np.sort(order[: Q.shape[1]])


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
