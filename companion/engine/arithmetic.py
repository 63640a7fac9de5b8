"""The arithmetic of float64 that all rooms share: its epsilon, sizes, symmetry, a ratio that may be 0/0."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["EPS", "is_symmetric", "largest", "ratio"]

EPS = float(np.finfo(float).eps)


def largest(values: np.ndarray) -> float:
    """Return the largest absolute value of an array of any shape, 0 for an empty one.

    Examples
    --------
    >>> largest(np.array([[1.0, -3.0], [2.0, 0.0]])), largest(np.zeros(0))
    (3.0, 0.0)
    """
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def is_symmetric(P: np.ndarray, rough: float = 1e-10) -> bool:
    """Return whether a square matrix is symmetric up to a part of the larger of its diagonal and its row sums.

    Its products with one vector from the left and from the right are compared, which reads P once: no skew matrix is
    likely to have these cosines in its kernel. One entry that differs from its mirror image shows in one product.

    Examples
    --------
    >>> is_symmetric(np.array([[2.0, 1.0], [1.0, 2.0]])), is_symmetric(np.array([[2.0, 1.0], [0.9, 2.0]]))
    (True, False)
    """
    probe = np.cos(np.arange(len(P)))
    left, right = P @ probe, probe @ P
    return largest(left - right) <= rough * max(largest(left), largest(P.diagonal()))


def ratio(value: Any, scale: Any) -> Any:
    """Return value / scale for values and scales that are not negative, with 0/0 = 0, entry by entry.

    Examples
    --------
    >>> ratio(0.0, 0.0), ratio(1.0, 4.0), ratio(1.0, 0.0)
    (0.0, 0.25, inf)
    """
    if isinstance(value, float) and isinstance(scale, float) and scale > 0.0:
        return value / scale
    value, scale = np.broadcast_arrays(np.asarray(value, dtype=float), scale)
    out = np.where(value == 0.0, 0.0, np.inf)
    with np.errstate(over="ignore"):
        out = np.divide(value, scale, out=out, where=(scale > 0.0) & (value != 0.0))
    return float(out) if out.ndim == 0 else out
