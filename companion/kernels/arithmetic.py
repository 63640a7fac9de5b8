"""Arithmetic of kernels: formulas as text, and small things that several kernels need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def check_callable(function: Any, name: str) -> Callable:
    """Return `function`, or raise an error that names it if it cannot be called."""
    if not callable(function):
        raise TypeError(f"{name} must be callable, got {type(function).__name__} {function!r}")
    return function


# --- formulas -------------------------------------------------------------------------------------


def name_of(function: Any, default: str) -> str:
    """Return the name of a function in a formula."""
    name = getattr(function, "__name__", default)
    return default if name == "<lambda>" else name


def term(formula: str, signs: str = " /") -> str:
    """Return a formula as a factor: in parentheses if one of the signs stands outside all of its brackets."""
    depth, outside = 0, ""
    for character in formula:
        depth += (character in "(<") - (character in ")>")
        outside += character if depth == 0 else ""
    return f"({formula})" if set(signs) & set(outside) else formula


def base(formula: str) -> str:
    """Return a formula as the base of a power."""
    return term(formula, " /^")
