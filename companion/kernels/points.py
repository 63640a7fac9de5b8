"""Points: what data become before a kernel looks at them."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np
from scipy import sparse

from companion.checks import as_matrix, check_range, reject_masked
from companion.engine.arithmetic import largest

__all__ = [
    "Points",
    "array_or_list",
    "as_points",
    "as_vectors",
    "check_match",
    "count",
    "is_number",
    "real_or_complex_matrix",
    "take",
]

Points = (
    Any  # what a kernel makes of the data: an array, a list, or a tuple of these (one per part)
)


def is_number(value: Any) -> bool:
    """Return whether `value` is one number."""
    return isinstance(value, Number) or (isinstance(value, np.ndarray) and value.ndim == 0)


def real_or_complex_matrix(value: Any, name: str) -> np.ndarray:
    """Return `value` as a finite float64 or complex128 matrix, or raise an error that names it."""
    if sparse.issparse(value):
        value = value.toarray()
    reject_masked(value, name)
    if not isinstance(value, np.ndarray):
        try:
            value = np.asarray(value)
        except ValueError:  # rows of different lengths: as_matrix says so
            return as_matrix(value, name)
    if not np.iscomplexobj(value):
        return as_matrix(value, name)
    if value.ndim != 2:
        raise ValueError(f"{name} must be a matrix (2-D), got an array of shape {value.shape}")
    if not np.isfinite(value).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    check_range(max(largest(value.real), largest(value.imag)), name, tiny=True)
    return value.astype(np.complex128)


def array_or_list(X: Sequence) -> np.ndarray | list:
    """Return numbers and rows of numbers as an array, anything else as a list of points."""
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths
        return list(X)
    return array if array.dtype.kind in "biufc" and array.ndim <= 2 else list(X)


def as_points(X: Any) -> tuple[Any, bool]:
    """Return `X` as a sequence of points, and whether it was a single point."""
    if sparse.issparse(X):
        return np.atleast_2d(X.toarray()), X.ndim == 1
    if isinstance(X, Number):
        return _widened(np.array([[X]])), True
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    elif isinstance(X, (list, tuple)):
        X = array_or_list(X)
    single = False
    if not isinstance(X, (list, np.ndarray)):  # a set, a string: one point
        X, single = [X], True
    elif isinstance(X, np.ndarray) and X.ndim > 2:
        raise ValueError(f"points must be the rows of a matrix, got an array of shape {X.shape}")
    elif isinstance(X, np.ndarray) and X.ndim < 2:
        if X.ndim == 1 and X.dtype.kind in "OUS":
            X = list(X)
        else:
            X, single = np.atleast_2d(X), True
    if len(X) == 0 or (single and np.size(X) == 0):
        raise ValueError("a kernel needs at least one point, got none")
    return (_widened(X) if isinstance(X, np.ndarray) else X), single


def _widened(X: np.ndarray) -> np.ndarray:
    """Return numbers of few bits in 64: those of an image, 0 to 255, wrap around in a reader's function."""
    wide = {"i": np.int64, "u": np.int64, "f": np.float64}.get(X.dtype.kind)
    return X if wide is None else X.astype(np.result_type(X.dtype, wide), copy=False)


def as_vectors(X: Any) -> np.ndarray:
    """Return points of R^n or C^n as the rows of a float64 or complex128 matrix."""
    if not isinstance(X, np.ndarray):
        X = array_or_list(X)
    if isinstance(X, np.ndarray) and X.ndim == 1:  # the images of points under a scalar function
        X = X[:, None]
    return real_or_complex_matrix(X, "X")


def take(points: Points, rows: slice) -> Points:
    """Return some of the points."""
    return tuple(take(p, rows) for p in points) if isinstance(points, tuple) else points[rows]


def count(points: Points) -> int:
    """Return the number of points."""
    return count(points[0]) if isinstance(points, tuple) else len(points)


def check_match(P: Points, Q: Points) -> None:
    """Raise an error when two sets of points do not live in the same space."""
    if isinstance(P, tuple):
        for p, q in zip(P, Q):
            check_match(p, q)
    elif isinstance(P, np.ndarray) and isinstance(Q, np.ndarray) and P.shape[1:] != Q.shape[1:]:
        raise ValueError(
            f"the points of X have {P.shape[1]} coordinates and those of Y have {Q.shape[1]}; "
            "a kernel compares points of one space"
        )
