"""Arguments that are not numbers: words, objects, and the functions of a reader with what they return."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from companion.checks import as_scalar, count_axes, describe


def check_kind(
    value: Any, name: str, accepted: str = "callable", right: Callable[[Any], Any] = callable
) -> Any:
    """Return `value` if it is of the right kind, or raise an error that says which kind is accepted.

    Examples
    --------
    >>> check_kind(3.5, "prox")
    Traceback (most recent call last):
        ...
    TypeError: prox must be callable, got float 3.5
    """
    with suppress(TypeError, ValueError, AttributeError):  # what cannot even be asked
        if right(value):
            return value
    raise TypeError(f"{name} must be {accepted}, got {describe(value)}")


def check_choice(value: Any, name: str, accepted: Iterable[str]) -> str:
    """Return `value` if it is one of the accepted words, or raise an error that names them."""
    if not isinstance(value, str) or value not in accepted:
        raise ValueError(f"{name} must be one of {', '.join(accepted)}, got {value!r}")
    return value


def value_of(function: Any, name: str, shape: tuple[int, ...], *arguments: Any) -> np.ndarray:
    """Return a copy of what a function of the caller returns: real and of this shape, but not always finite."""
    value = check_kind(function, name)(*arguments)
    count_axes(value, f"what {name} returns")
    array = np.array(value, ndmin=len(shape))
    if array.shape != shape or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} must return a real array of shape {shape}, got {array.dtype} of shape {array.shape}"
        )
    return array.astype(np.float64, copy=False)


def as_schedule(value: Any, name: str, **accepted: float) -> Callable[[int], float]:
    """Make a constant or a function of ``k = 0, 1, ...`` a function of k that checks its values.

    Parameters
    ----------
    value : float or callable
        A number, or a function that returns one for each k.
    name : str
        The argument's name in messages.
    **accepted
        The range, as for :func:`as_scalar`.
    """
    if callable(value):
        return lambda k: as_scalar(value(k), f"{name}({k})", **accepted)
    constant = as_scalar(value, name, **accepted)
    return lambda k: constant
