"""The errors and warnings that the solvers raise, in one place."""

from __future__ import annotations

import sys
import warnings

import numpy as np

__all__ = ["ConvergenceWarning", "InfeasibleProblemError", "UnboundedProblemError"]


class ConvergenceWarning(UserWarning):
    """A result is not proved: its certificate, or the rule that ends an iteration, misses its tolerance."""


def complain(message: str) -> None:
    """Warn of a result that is not proved, at the line outside of this package that asked for it."""
    frame, level = sys._getframe(), 0
    while frame.f_back and frame.f_globals["__name__"].startswith("companion."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, ConvergenceWarning, stacklevel=level + 1)


class InfeasibleProblemError(ValueError):
    """No point satisfies all constraints.

    Parameters
    ----------
    message : str
        What is contradictory, in the reader's terms.
    witness : ndarray or None
        A vector that proves it. For the constraints ``A x = b, lower <= x <= upper`` it is a ``y`` with
        ``max { y'A x : lower <= x <= upper } < y'b``: no feasible ``x`` can have ``A x = b``.
    """

    def __init__(self, message: str, witness: np.ndarray | None = None) -> None:
        super().__init__(message)
        self.witness = witness


class UnboundedProblemError(ValueError):
    """The objective decreases without limit on the feasible set.

    Parameters
    ----------
    message : str
        What is unbounded, in the reader's terms.
    ray : ndarray or None
        A direction that proves it. For a quadratic program it is a ``d`` with ``P d = 0``, ``A d = 0``,
        ``q'd < 0`` along which no finite bound is ever met.
    """

    def __init__(self, message: str, ray: np.ndarray | None = None) -> None:
        super().__init__(message)
        self.ray = ray
