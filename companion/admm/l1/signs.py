"""Steps of an active-set method that keeps signs."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from companion.admm.l1.loop import largest


def newton_step(H: np.ndarray, g: np.ndarray, noise: float, reach: float) -> np.ndarray:
    """Return the shortest minimiser d of g'd + d'H d/2, for a positive semidefinite H.

    There is none if g has a part in the null space of H. Then return a step downhill there, far beyond `reach`.
    """
    if g.size == 0:
        return np.zeros(0)
    d = -linalg.lstsq(H, g, lapack_driver="gelsy", check_finite=False)[0]
    rest = g + H @ d
    if largest(rest) <= max(noise, 1e-6 * largest(g)):
        return d
    return -1e10 * (reach or 1.0) / largest(rest) * rest


def first_zero(v: np.ndarray, step: np.ndarray, s: np.ndarray) -> tuple[float, np.ndarray]:
    """Return how much of the step the signs s of v allow (at most 1), and the entries that stop it."""
    crossing = np.flatnonzero(((v + step) * s < 0) & (step * s < 0))
    if crossing.size == 0:
        return 1.0, crossing
    parts = np.maximum(-v[crossing] / step[crossing], 0.0)
    return float(parts.min()), crossing[parts == parts.min()]
