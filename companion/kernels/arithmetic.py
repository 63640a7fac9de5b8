"""Arithmetic of kernels: matrices of values, formulas as text, and the arguments that a reader gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from companion.checks import as_scalar

__all__ = [
    "base",
    "check_callable",
    "conj",
    "images",
    "inner_products",
    "name_of",
    "nonnegative",
    "number",
    "power",
    "squared_norms",
    "term",
    "within",
]


# --- arguments ------------------------------------------------------------------------------------


def nonnegative(value: Any, name: str, source: str) -> float:
    """Return a number >= 0, or raise an error that names the source which asks for it."""
    try:
        return as_scalar(value, name, at_least=0.0)
    except ValueError as error:
        raise ValueError(f"{error} ({source})") from None


def check_callable(function: Any, name: str) -> Callable:
    """Return `function`, or raise an error that names it if it cannot be called."""
    if not callable(function):
        raise TypeError(f"{name} must be callable, got {type(function).__name__} {function!r}")
    return function


# --- formulas -------------------------------------------------------------------------------------


def number(value: float) -> str:
    """Return a number as it stands in a formula."""
    return f"{value:.6g}"


def name_of(function: Any, default: str) -> str:
    """Return the name of a function in a formula."""
    name = getattr(function, "__name__", default)
    return default if name == "<lambda>" else name


def _wrap(formula: str, *signs: str) -> str:
    """Return a formula in parentheses if one of the signs stands outside all of its brackets."""
    depth, outside = 0, ""
    for character in formula:
        depth += (character in "(<") - (character in ")>")
        outside += character if depth == 0 else ""
    return f"({formula})" if any(sign in outside for sign in signs) else formula


def term(formula: str) -> str:
    """Return a formula as a factor of a product."""
    return _wrap(formula, " ", "/")


def base(formula: str) -> str:
    """Return a formula as the base of a power."""
    return _wrap(formula, " ", "/", "^")


# --- numbers --------------------------------------------------------------------------------------


def conj(A: np.ndarray) -> np.ndarray:
    """Return the conjugate numbers; an array of real ones is not copied."""
    return A.conj() if np.iscomplexobj(A) else A


def inner_products(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Return the matrix of the inner products <p_i, q_j>, linear in the first argument."""
    return P @ conj(Q).T


def squared_norms(P: np.ndarray) -> np.ndarray:
    """Return the squared norms of the rows."""
    return np.einsum("ij,ij->i", P, conj(P)).real


def power(K: np.ndarray, m: int) -> np.ndarray:
    """Return K^m entry by entry, by repeated squaring."""
    if m <= 1:
        return K if m else np.ones_like(K)
    half = power(K, m // 2)
    half = half * half
    if m % 2:
        half *= K
    return half


def within(features: np.ndarray, limit: float) -> np.ndarray | None:
    """Return features that are at most `limit` many."""
    return features if features.shape[1] <= limit else None


def images(function: Callable, X: Any, batch: bool) -> Any:
    """Return the images of points, which the function takes all at once if `batch`."""
    return function(X) if batch else [function(x) for x in X]
