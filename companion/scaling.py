"""Powers of two as units: numbers at the ends of the range are moved to its middle, and back, without rounding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["exponent_of", "largest", "scaled_back"]

_ORDINARY = 1e40  # sizes up to this, and down to its inverse, need no other unit: fourth powers fit


def largest(values: np.ndarray) -> float:
    """Return the largest absolute value of an array of any shape; 0 for an empty one."""
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def exponent_of(size: float) -> int:
    """Return e such that ``size / 2^e`` is between 1 and 2, and 0 for a size that needs no other unit.

    Examples
    --------
    >>> exponent_of(1000.0), exponent_of(1e300), exponent_of(1e-300), exponent_of(0.0)
    (0, 996, -997, 0)
    """
    if size == 0.0 or 1.0 / _ORDINARY <= size <= _ORDINARY:
        return 0
    return math.frexp(size)[1] - 1


def scaled_back(values: Any, exponent: int, name: str) -> np.ndarray:
    r"""Return :math:`2^e` times the values, exactly, or raise an error if float64 cannot hold them.

    Parameters
    ----------
    values : array-like
        Finite numbers.
    exponent : int
        The exponent e.
    name : str
        What the values are, for the message.

    Raises
    ------
    ValueError
        If the largest of them overflows, or falls below the smallest number with all its digits.

    Examples
    --------
    >>> float(scaled_back(0.75, 3, "the weights"))
    6.0
    >>> scaled_back(0.75, 2000, "the weights")
    Traceback (most recent call last):
        ...
    ValueError: the weights would be of the size 1e+601, and float64 holds 1e-308 to 1e+308; scale the data
    """
    values = np.asarray(values, dtype=float)
    if exponent == 0:
        return values
    size = largest(values)
    if size == 0.0:
        return values
    power = math.frexp(size)[1] + exponent
    if not -1021 <= power <= 1024:
        decimal = math.floor(math.log10(size) + exponent * math.log10(2.0))
        raise ValueError(
            f"{name} would be of the size 1e{decimal:+d}, and float64 holds 1e-308 to 1e+308; scale the data"
        )
    return np.ldexp(values, exponent)
