"""Floating-point numbers taken as what they are: balls of python-flint with a thousand bits."""

import math
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx

__all__ = ["exact", "floats", "length", "product", "ratio", "solve", "split"]

# The radius of a ball says what even this leaves open; no comparison is true by chance.
ctx.prec = 1000
_ENTRIES = 2**20  # of a matrix that are converted at the same time


def exact(values: Any) -> Any:
    """Return numbers as balls of radius zero, in an array of objects."""
    return np.frompyfunc(arb, 1, 1)(np.asarray(values, dtype=float))


def floats(values: np.ndarray) -> np.ndarray:
    """Return the nearest floating-point numbers."""
    return np.array([float(v) for v in values])


def product(M: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return M x for a matrix of floating-point numbers and an exact vector or matrix."""
    columns = x if x.ndim == 2 else x[:, None]
    used = np.array([any(v != 0 for v in row) for row in columns.tolist()], dtype=bool)
    if not used.any() or not len(M):
        return exact(np.zeros((len(M), *x.shape[1:])))
    M, right = M[:, used], arb_mat(columns[used].tolist())
    rows = max(1, _ENTRIES // M.shape[1])
    parts = [arb_mat(M[i : i + rows].tolist()) * right for i in range(0, len(M), rows)]
    entries = [entry for part in parts for entry in part.entries()]
    return np.array(entries).reshape(len(M), *x.shape[1:])


def solve(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the solution of A x = b for an exact matrix and an exact vector."""
    return np.array(arb_mat(A.tolist()).solve(arb_mat([[v] for v in b])).entries())


def length(x: np.ndarray) -> Any:
    """Return the Euclidean norm."""
    return abs(x[0]) if len(x) == 1 else sum(x * x, arb(0)).sqrt()


def ratio(value: Any, scale: Any) -> float:
    """Return an upper bound of |value| / scale, with 0/0 = 0 and infinity for what is no number."""
    if value == 0:
        return 0.0
    if not 0 < scale < math.inf:
        return math.inf
    most = float((abs(arb(value)) / arb(scale)).upper())
    return math.inf if math.isnan(most) else most


def split(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positive and the negative parts, both not negative; what is no number stays so."""
    parts = [(arb(0), -v) if v <= 0 else (v, arb(0)) if v >= 0 else (v, -v) for v in x]
    return tuple(np.array([part[i] for part in parts], dtype=object) for i in range(2))
