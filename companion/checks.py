"""Validation of arguments: every message says what was given and what is accepted."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from numbers import Number
from typing import Any

import numpy as np
from scipy import sparse

from companion.arithmetic import apart, largest

LARGEST, SMALLEST = 1e75, 1e-75  # sizes whose fourth powers float64 holds


def _as_float_array(value: Any, name: str) -> np.ndarray:
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value
    value = value.toarray() if sparse.issparse(value) else value
    reject_masked(value, name)
    with suppress(ValueError, TypeError, OverflowError):
        array = np.asarray(value)
        if value is not None and array.dtype.kind in "biufO":  # None would be NaN, a date a number
            return array.astype(np.float64)
    raise _no_numbers(value, name)


def _no_numbers(value: Any, name: str, why: str = "") -> TypeError:
    return TypeError(f"{name} must be an array of real numbers, got {describe(value)}{why}")


def describe(value: Any) -> str:
    """Return what a value is, for a message."""
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


def check_range(size: float, name: str, *, tiny: bool = False) -> None:
    """Raise an error where float64 cannot carry what is computed from numbers of this size: squares, their products.

    Parameters
    ----------
    size : float
        The largest absolute value of an argument. 0 is accepted.
    name : str
        The argument's name in the message.
    tiny : bool
        Whether numbers that are all small are accepted: those of an iterate that goes to zero, say.

    Examples
    --------
    >>> check_range(1e-8, "X")
    >>> check_range(1e120, "X")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: X has numbers of the size 1e+120, whose squares float64 cannot carry through a computation; ...
    """
    if size > LARGEST or (0.0 < size < SMALLEST and not tiny):
        given, _ = apart(size, LARGEST if size > 1.0 else SMALLEST)
        raise ValueError(
            f"{name} has numbers of the size {given}, whose squares float64 cannot carry through a "
            f"computation; choose units in which they are from {SMALLEST:.0e} to {LARGEST:.0e}"
        )


def read_data(estimator: Any, X: Any, y: Any, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the training data of an estimator, checked as scikit-learn checks them.

    Parameters
    ----------
    estimator : estimator
        Gets ``n_features_in_``, and ``feature_names_in_`` from a frame.
    X : array-like of shape (m, n)
    y : array-like of shape (m,)
    **options
        For scikit-learn's ``validate_data``.
    """
    if (columns := getattr(y, "shape", ())[1:]) and columns[0] > 1:
        raise ValueError(
            f"y must be a vector, got {columns[0]} columns; for a model of each column use "
            "sklearn.multioutput.MultiOutputRegressor, or MultiOutputClassifier"
        )
    if hasattr(y, "isna") and str(y.dtype) == "boolean" and not y.isna().any():
        y = y.astype(bool)  # pandas' nullable type, which scikit-learn takes for numbers
    if math.isfinite(size := _size_of_arrays(X, y)):
        estimator.n_features_in_ = X.shape[1]
        vars(estimator).pop("feature_names_in_", None)  # of a frame before
    else:
        X, y = validated(estimator, X, y, **options)
        size = largest(X)
    check_range(size, "X")
    return X, y


def _size_of_arrays(X: Any, y: Any) -> float:
    """Return the largest entry of X; or nan if these are no finite arrays that scikit-learn takes as they are.

    For that, it needs a fifth of the time of a small fit.
    """
    plain = type(X) is type(y) is np.ndarray and X.dtype == np.float64 and y.dtype.kind in "if"
    fit = plain and X.ndim == 2 and X.size > 0 and y.shape == X.shape[:1]
    return largest(X) if fit and math.isfinite(largest(y)) else math.nan


def validated(estimator: Any, *data: Any, **options: Any) -> Any:
    """Return X, or X and y, as scikit-learn's ``validate_data`` does; what is no number is named in the error."""
    from sklearn.utils.validation import validate_data  # only estimators need scikit-learn

    for value, name in zip(data, "Xy"):
        reject_masked(value, name)
    try:
        return validate_data(estimator, *data, dtype=np.float64, **options)
    except (TypeError, ValueError) as error:
        if data[0] is None:
            raise _no_numbers(None, "X") from error
        for value, name in zip(data, "Xy"):
            count_axes(value, name)
        for value, name in zip(data if options.get("y_numeric") else data[:1], "Xy"):
            try:
                np.asarray(0.0 if sparse.issparse(value) else value, dtype=complex)
            except (TypeError, ValueError):
                raise _no_numbers(value, name, f": {error}") from error
        raise


def renamed(value: Callable[[Any], Any], text: str) -> property:
    """Return an attribute by scikit-learn's name. Before the fit, it raises scikit-learn's error."""

    def read(model: Any) -> Any:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)
        return value(model)

    return property(read, doc=f"{text}, by scikit-learn's name.")


def as_weights(value: Any, m: int, name: str = "sample_weight") -> np.ndarray | None:
    """Return the weights of m points, None where there are none, or raise an error."""
    if value is None:
        return None
    weights = as_vector(value, name, m)
    low, high = weights.min(), weights.max()
    if low < 0.0 or high == 0.0:
        raise ValueError(f"{name} must be nonnegative and not all zero, got {low:g} to {high:g}")
    return weights


def count_axes(value: Any, name: str) -> int:
    """Return the number of axes of `value`; a ragged list raises an error that names it."""
    try:
        return np.ndim(value)
    except ValueError as error:
        raise _no_numbers(value, name) from error


def reject_masked(value: Any, name: str) -> None:
    """Raise an error that names `value` if it holds what only looks like numbers: masked entries, dates."""
    if np.ma.isMaskedArray(value) and np.ma.is_masked(value):
        raise ValueError(f"{name} has masked entries; fill or drop them first")
    dtypes = getattr(value, "dtypes", getattr(value, "dtype", None))
    for dtype in [dtypes] if isinstance(dtypes, np.dtype) else np.ravel(np.asarray(dtypes, object)):
        if getattr(dtype, "kind", None) in ("m", "M"):  # their numbers depend on a hidden unit
            raise TypeError(
                f"{name} must be an array of real numbers, got dates ({dtype}); subtract a date and divide by a "
                "unit of time"
            )


def as_array(value: Any, name: str, *, finite: bool = True) -> np.ndarray:
    """Return `value` as a float64 array of any shape, or raise an error that names it.

    NaN is always rejected; infinities pass with ``finite=False``.
    """
    array = _as_float_array(value, name)
    size = largest(array)
    if not math.isfinite(size):
        for place in np.argwhere(~np.isfinite(array) if finite else np.isnan(array)).tolist():
            accepted = "finite" if finite else "a number or infinite"
            raise ValueError(f"{name} must be {accepted}, got {array[tuple(place)]} at {place}")
        size = largest(array[np.isfinite(array)])
    check_range(size, name, tiny=True)
    return array


def as_vector(value: Any, name: str, size: int | None = None, *, finite: bool = True) -> np.ndarray:
    """Return `value` as a float64 vector, or raise an error that names it.

    Parameters
    ----------
    value : array-like of shape (size,)
        Numbers. A scalar becomes a vector of length 1.
    name : str
        The argument's name in messages.
    size : int, optional
        The required length.
    finite : bool
        Whether NaN and infinities are rejected; with ``finite=False`` infinities pass, NaN does
        not.
    """
    vector = np.atleast_1d(as_array(value, name, finite=finite))
    if vector.ndim != 1:
        raise ValueError(f"{name} must be a vector, got an array of shape {vector.shape}")
    if size is not None and vector.size != size:
        raise ValueError(f"{name} must have length {size}, got length {vector.size}")
    return vector


def as_matrix(
    value: Any, name: str, shape: tuple[int | None, int | None] = (None, None)
) -> np.ndarray:
    """Return `value` as a finite float64 matrix, or raise an error that names it.

    Parameters
    ----------
    value : array-like or sparse matrix of shape `shape`
        Numbers.
    name : str
        The argument's name in messages.
    shape : tuple of (int or None)
        The required shape; None stands for any length.
    """
    matrix = as_array(value, name)
    if matrix.ndim != 2:
        raise ValueError(f"{name} must be a matrix (2-D), got an array of shape {matrix.shape}")
    if any(want is not None and want != got for want, got in zip(shape, matrix.shape)):
        want_text = ", ".join("any" if n is None else str(n) for n in shape)
        raise ValueError(f"{name} must have shape ({want_text}), got {matrix.shape}")
    return matrix


def as_symmetric(value: Any, name: str, size: int | None = None) -> np.ndarray:
    """Return `value` as a symmetric float64 matrix, or raise an error that names it.

    Rounding (relative 1e-10) is accepted and averaged away; anything more is not a symmetric
    matrix.
    """
    matrix = as_matrix(value, name, (size, size))
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name} must be square, got shape {matrix.shape}")
    skew = np.abs(matrix - matrix.T).max(initial=0.0)
    if skew > 1e-10 * np.abs(matrix).max(initial=0.0):
        raise ValueError(
            f"{name} must be symmetric, got entries that differ from their mirror image by up to "
            f"{skew:.3g}; for a quadratic form pass ({name} + {name}.T) / 2"
        )
    return 0.5 * (matrix + matrix.T)


def as_scalar(
    value: Any, name: str, *, above: float = -np.inf, at_least: float = -np.inf, below: float = np.inf,
    at_most: float = np.inf,
) -> float:  # fmt: skip
    """Return `value` as a finite float inside the given range, or raise an error that names it.

    Parameters
    ----------
    value : float
        A number.
    name : str
        The argument's name in messages.
    above, at_least, below, at_most : float, optional
        Open and closed ends of the accepted range.
    """
    number = None
    with suppress(TypeError, ValueError, OverflowError):  # what is no number
        is_real = not isinstance(value, (bool, np.bool_, str, bytes, complex, np.complexfloating))
        number = float(value) if is_real and getattr(value, "ndim", 0) == 0 else None
    if number is not None and above < number < below and at_least <= number <= at_most:
        check_range(abs(number), name, tiny=above != 0.0)
        return number
    ends = {">": above, ">=": at_least, "<": below, "<=": at_most}
    rules = [
        f"{sign} {apart(number or 0.0, end, 1.0 if sign[0] == '>' else -1.0)[1]}"
        for sign, end in ends.items()
        if math.isfinite(end)
    ]
    accepted = f"{name} must be a finite number {' and '.join(rules)}".rstrip()
    if number is None:
        raise TypeError(f"{accepted}, got {describe(value)}")
    given = value.item() if isinstance(value, np.generic) else value
    raise ValueError(f"{accepted}, got {given!r}")


def check_count(value: Any, name: str, *, at_least: int = 1) -> int:
    """Return `value` as an int that is at least `at_least`, or raise an error that names it."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an integer >= {at_least}, got {describe(value)}")
    if value < at_least:
        raise ValueError(f"{name} must be an integer >= {at_least}, got {value}")
    return int(value)


# --- points: what data become before a kernel looks at them


def real_or_complex(value: Any, name: str, ndim: int = 2) -> np.ndarray:
    """Return `value` as a finite float64 or complex128 matrix (or vector), or raise an error that names it."""
    check: Callable = as_matrix if ndim == 2 else as_vector
    count_axes(value, name)
    if not np.iscomplexobj(value):
        return check(value, name)
    return check(np.real(value), name) + 1j * check(np.imag(value), name)


def array_or_list(X: Any) -> np.ndarray | list:
    """Return numbers and rows of numbers as an array, in 64 bits, anything else as a list of points."""
    reject_masked(X, "X")
    X = X if isinstance(X, list | tuple) else np.asarray(X)  # a frame would list its columns
    with suppress(ValueError):  # rows of different lengths
        array = np.atleast_1d(np.asarray(X))
        if array.dtype.kind in "iufc":  # uint8 wraps around in a reader's function, float32 rounds
            array = array.astype(np.result_type(array, np.int64), copy=False)
        if array.dtype.kind in "biufc":
            return array if array.ndim <= 2 else list(array)
    return list(X)


def as_points(X: Any) -> tuple[Any, bool]:
    """Return `X` as a matrix of points or a list of points, and whether it was a single point."""
    X = X.toarray() if sparse.issparse(X) else X
    if not isinstance(X, Number | list | tuple) and not hasattr(X, "__array__"):
        return [X], True  # a set, a string: one point
    points = array_or_list(X)
    if len(points) == 0:
        raise ValueError("a kernel needs at least one point, got none")
    if isinstance(points, list):
        return points, False
    return np.atleast_2d(points), points.ndim == 1


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
