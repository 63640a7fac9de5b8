"""The attacks, and what counts as an answer to them."""

import re
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

# What NumPy, SciPy and Python say when nobody looked at the arguments.
RAW = re.compile(
    r"(?i)lapack|dpotr|dgesdd|dsyev|svd did not converge|singular matrix|eigenvalues did not converge|infs or nans"
    r"|illegal value|leading minor|zero-size array|could not be broadcast|matmul|cannot reshape|not aligned"
    r"|out of bounds|object of too small depth|unsupported operand|not supported between|ufunc|has no attribute"
    r"|inhomogeneous shape|unhashable|not subscriptable|cannot be interpreted|only length-1|only 0-dimensional"
    r"|division by zero|ambiguous|dimensions.*must match|not enough values to unpack|out of range for"
    r"|must have the same length|array=nan|object is not|object of type|argument of type|argument must be|to unpack"
    r"|not iterable|can only concatenate|multiply sequence|could not convert"
)

# What scikit-learn says when it looked.
SKLEARN = (
    "Found", "Expected 2D", "could not convert", "Complex data", "argument must be", "Unknown label", "inconsistent",
    "y should be", "Input y", "got one class", "classes", "dense data",
)  # fmt: skip

heard = partial(warnings.catch_warnings, record=True, action="always")  # all of them


def with_first(value: np.ndarray, entry: Any) -> np.ndarray:
    changed = np.array(value, dtype=np.result_type(value, type(entry)))
    changed.flat[0] = entry
    return changed


HOSTILE: dict[str, Callable[[np.ndarray], Any]] = {
    "nan": lambda a: with_first(a, np.nan),
    "inf": lambda a: with_first(a, np.inf),
    "minus inf": lambda a: with_first(a, -np.inf),
    "empty": lambda a: a[:0],
    "short": lambda a: a[:-1],
    "one axis more": lambda a: np.stack([a, a], axis=-1),
    "three axes more": lambda a: a.reshape(a.shape + (1, 1, 1)),
    "text": lambda a: np.full(a.shape, "a"),
    "a word": lambda a: "word",
    "none": lambda a: None,
    "nones": lambda a: np.full(a.shape, None, dtype=object).tolist(),
    "complex": lambda a: a + 1j,
    "masked": lambda a: np.ma.array(a, mask=np.arange(a.size).reshape(a.shape) == 0),
    "dates": lambda a: np.full(a.shape, "2024-01-31", dtype="datetime64[s]"),
    "no time": lambda a: np.full(a.shape, "NaT", dtype="timedelta64[s]"),
    "ragged": lambda a: [[1.0, 2.0], [3.0]] * (len(a) // 2),
    "a dictionary": lambda a: {"a": 1.0},
    "a function": lambda a: len,
}


def read_only(a: np.ndarray) -> np.ndarray:
    copy = a.copy()
    copy.flags.writeable = False
    return copy


def frame(a: np.ndarray) -> Any:
    return pd.DataFrame(a) if a.ndim == 2 else pd.Series(a, index=np.arange(a.size)[::-1])


FORMATS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(map(tuple, a.tolist())) if a.ndim == 2 else tuple(a.tolist()),
    "integers": lambda a: a.astype(np.int64),
    "small integers": lambda a: a.astype(np.int8),
    "float32": lambda a: a.astype(np.float32),
    "long double": lambda a: a.astype(np.longdouble),
    "Fortran": np.asfortranarray,
    "big endian": lambda a: a.astype(">f8"),
    "read-only": read_only,
    "strided": lambda a: np.repeat(a, 2, axis=0)[::2],
    "masked without a mask": np.ma.array,
    "pandas": frame,
    "objects": lambda a: a.astype(object),
}


def snapshot(value: Any) -> Any:
    return np.array(value, dtype=object)


def names_the_cause(error: BaseException) -> str | None:
    """Return what is wrong with an error, or None; where scikit-learn reads the data, its own words are understood."""
    if not isinstance(error, (ValueError, TypeError)):
        return f"{type(error).__name__} in place of ValueError or TypeError: {error}"
    if isinstance(error, np.linalg.LinAlgError):
        return f"raw LinAlgError: {error}"
    text = str(error)
    raw = None if any(word in text for word in SKLEARN) else RAW.search(text)
    return f"raw message ({raw.group()}): {text[:200]}" if raw else None
