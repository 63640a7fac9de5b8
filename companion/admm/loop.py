"""The loop of this chapter: steps, their history, and how a run ends."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from companion.checks import check_count
from companion.exceptions import ConvergenceWarning
from companion.results import History

__all__ = ["DIVERGED", "complain", "repeat", "returned"]

DIVERGED = 1e10  # beside 1 and the start: iterates that are larger grow without bound


def repeat(
    step: Callable[[int], tuple[str, tuple[Any, ...]]],
    names: Sequence[str],
    max_iter: int,
    advice: str,
) -> tuple[str, History]:
    """Repeat a step until it says how the run ends; return that, ``"max_iter"`` where it does not, and the history.

    Parameters
    ----------
    step : callable
        ``step(k)``, for k = 1, 2, ..., returns how the run ends, ``""`` to go on, and what the history keeps of the
        step. After ``"diverged"`` it keeps nothing.
    names : sequence of str
        Names of what it keeps.
    max_iter : int
        Largest number of steps.
    advice : str
        What may help, for the warning.

    Warns
    -----
    ConvergenceWarning
        When the run ends by ``"max_iter"`` or ``"diverged"``.
    """
    rows: list[tuple[Any, ...]] = []
    status = ""
    with np.errstate(over="ignore", invalid="ignore"):  # reported as divergence
        for k in range(1, check_count(max_iter, "max_iter") + 1):
            status, row = step(k)
            if status != "diverged":
                rows.append(row)
            if status:
                break
    if status == "diverged":
        complain(f"step {k} diverged: the iterates grow without bound; {advice}")
    elif not status:
        last = [f"{name} {x:.1e}" for name, x in zip(names, rows[-1]) if "residual" in name]
        residuals = ", ".join(last).replace("_", " ")
        complain(f"no convergence in {max_iter=} steps: {residuals}; {advice}")
    columns = zip(*rows) if rows else [()] * len(names)
    return status or "max_iter", {name: np.array(column) for name, column in zip(names, columns)}


def complain(message: str) -> None:
    """Warn of a result that is not proved, at the line outside of this package that asked for it."""
    frame, level = sys._getframe(), 0
    while frame.f_back and frame.f_globals["__name__"].startswith("companion."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, ConvergenceWarning, stacklevel=level + 1)


def returned(value: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    """Return a copy of what a function of the caller returned: real and of this shape, but not always finite."""
    array = np.array(value, ndmin=len(shape))
    if array.shape != shape or np.iscomplexobj(array):
        raise ValueError(
            f"{name} must return a real array of shape {shape}, got {array.dtype} of shape {array.shape}"
        )
    return array.astype(np.float64, copy=False)
