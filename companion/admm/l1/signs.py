"""Steps of an active-set method that keeps signs."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from companion.admm.l1.loop import largest

_UNEVEN = 1e-10  # a spread of the curvatures from which on they are compared in units of their own
_TINY = 1e-300


def newton_step(H: np.ndarray, g: np.ndarray, noise: float, reach: float) -> np.ndarray:
    """Return the shortest minimiser d of g'd + d'H d/2, for a positive semidefinite H.

    There is none if g has a part in the null space of H. Then return a step downhill there, far beyond `reach`.
    """
    if g.size == 0:
        return np.zeros(0)
    diagonal, unit = np.diagonal(H), np.ones(g.size)
    if diagonal.min() < _UNEVEN * diagonal.max():  # other units, lest a small curvature be called 0
        unit = np.where(
            diagonal > 0, np.exp2(-np.round(np.log2(np.abs(diagonal) + _TINY) / 2)), 1.0
        )
    scaled = unit * H * unit[:, None]
    d = -unit * linalg.lstsq(scaled, unit * g, lapack_driver="gelsy", check_finite=False)[0]
    rest = g + H @ d
    if largest(unit * rest) <= max(noise * float(unit.min()), 1e-6 * largest(unit * g)):
        return d
    return -1e10 * (reach or 1.0) / largest(rest) * rest


def first_zero(v: np.ndarray, step: np.ndarray, s: np.ndarray) -> tuple[float, np.ndarray]:
    """Return how much of the step the signs s of v allow (at most 1), and the entries that stop it."""
    crossing = np.flatnonzero(((v + step) * s < 0) & (step * s < 0))
    if crossing.size == 0:
        return 1.0, crossing
    parts = np.maximum(-v[crossing] / step[crossing], 0.0)
    return float(parts.min()), crossing[parts == parts.min()]
