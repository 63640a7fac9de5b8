"""Points: what data become before a kernel looks at them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

import numpy as np
from scipy import sparse

from companion.checks import as_matrix, as_vector, count_axes, reject_masked


def is_number(value: Any) -> bool:
    """Return whether `value` is one number."""
    return isinstance(value, Number) or (isinstance(value, np.ndarray) and value.ndim == 0)


def real_or_complex(value: Any, name: str, ndim: int = 2) -> np.ndarray:
    """Return `value` as a finite float64 or complex128 matrix (or vector), or raise an error that names it."""
    check: Callable = as_matrix if ndim == 2 else as_vector
    if sparse.issparse(value):
        value = value.toarray()
    count_axes(value, name)
    if not np.iscomplexobj(value):
        return check(value, name)
    reject_masked(value, name)
    value = np.asarray(value)
    return check(value.real, name) + 1j * check(value.imag, name)


def array_or_list(X: Sequence) -> np.ndarray | list:
    """Return numbers and rows of numbers as an array, anything else as a list of points."""
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths
        return list(X)
    return array if array.dtype.kind in "biufc" and array.ndim <= 2 else list(X)


def as_points(X: Any) -> tuple[Any, bool]:
    """Return `X` as a matrix of points or a list of points, and whether it was a single point."""
    if sparse.issparse(X):
        X = X.toarray()
    elif hasattr(X, "to_numpy"):
        X = X.to_numpy()
    elif is_number(X):
        X = np.array([X])
    elif isinstance(X, (list, tuple)):
        X = array_or_list(X)
    elif not isinstance(X, np.ndarray):  # a set, a string: one point
        return [X], True
    if isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "OUS":
        X = list(X)
    if len(X) == 0:
        raise ValueError("a kernel needs at least one point, got none")
    if isinstance(X, list):
        return X, False
    if X.ndim > 2:
        raise ValueError(f"points must be the rows of a matrix, got an array of shape {X.shape}")
    if X.dtype.kind in "iu":  # those of an image, 0 to 255, wrap around in a reader's function
        X = X.astype(np.int64)
    return np.atleast_2d(X), X.ndim == 1


def as_vectors(X: Any) -> np.ndarray:
    """Return points of R^n or C^n as the rows of a float64 or complex128 matrix."""
    if not isinstance(X, np.ndarray):
        X = array_or_list(X)
    if isinstance(X, np.ndarray) and X.ndim == 1:  # the images of points under a scalar function
        X = X[:, None]
    return real_or_complex(X, "X")


def both(convert: Callable, X: Any, Y: Any) -> tuple[Any, Any]:
    """Return the images of X and of Y; those of the same points are the same object."""
    P = convert(X)
    return P, P if Y is X else convert(Y)


def rows_of_both(convert: Callable, X: Any, Y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return X and Y as the rows of matrices, or raise an error when they do not live in the same space."""
    P, Q = both(convert, X, Y)
    if P.shape[1] != Q.shape[1]:
        sizes = f"{P.shape[1]} coordinates and those of Y have {Q.shape[1]}"
        raise ValueError(f"the points of X have {sizes}; a kernel compares points of one space")
    return P, Q
