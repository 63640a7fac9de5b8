r"""The point of smallest l1-norm in an affine space, along the central path.

Least absolute deviations and basis pursuit are one linear program. It minimises :math:`\|z\|_1` over an affine space
with the directions V: the deviations :math:`A x - b`, or the solutions of :math:`A z = b`. The dual variable
:math:`\lambda` lies in :math:`V^\perp` and in the cube :math:`\|\lambda\|_\infty \le 1`; at a solution
:math:`\lambda^\top z = \|z\|_1`. With :math:`z = z_+ - z_-` and the slacks :math:`s_\pm = 1 \mp \lambda`, the central
path is where all the products of a :math:`z_\pm` and its :math:`s_\pm` have one value :math:`\mu`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

Directions = Callable[
    [np.ndarray], tuple[np.ndarray, np.ndarray]
]  # g -> dz in V, dlambda in V-perp

_SIGN = np.array([[1.0], [-1.0]])
_NEAR = 1e-4  # from this relative gap on, the path shows which entries of z are zero
_END = 1e-13
_SHORT = 1.0 - 1e-3  # steps end just before the boundary


class PathPoint(NamedTuple):
    r"""A point near the end of the central path.

    Parameters
    ----------
    z, lambda_ : ndarray of shape (p,)
    spread : ndarray of shape (p,)
        The weights :math:`z_+/s_+ + z_-/s_-`. As :math:`\mu` falls, they go to 0 where z is 0 and to infinity where
        it is not; 1 divides them.
    """

    z: np.ndarray
    lambda_: np.ndarray
    spread: np.ndarray


def central_path(
    z: np.ndarray, newton: Callable[[np.ndarray], Directions | None], max_iter: int = 50
) -> Iterator[PathPoint]:
    r"""Follow the central path by Mehrotra's method; yield each point that is near its end.

    Parameters
    ----------
    z : ndarray of shape (p,)
        The point of smallest 2-norm, not 0. It lies in :math:`V^\perp`, so a multiple of it is a feasible dual point.
    newton : callable
        ``newton(D)`` returns a function that finds dz in V and dlambda in V-perp with
        :math:`dz - D\, d\lambda = g`, for any g; or None if its matrix is singular to rounding.
    max_iter : int
        Largest number of steps.

    Yields
    ------
    PathPoint
    """
    unit = float(np.abs(z).mean())
    lambda_ = z / (1.1 * float(np.abs(z).max()))
    z = z / unit
    Z, S = np.maximum(_SIGN * z, 0.0) + 0.5, 1.0 - _SIGN * lambda_
    for _ in range(max_iter):
        products = Z * S
        mu = float(products.sum()) / products.size
        spread = Z / S
        D = spread[0] + spread[1]
        value, gap = float(Z.sum()), products.size * mu
        if gap <= _NEAR * value:
            yield PathPoint(unit * z, lambda_, D)
        directions = newton(D) if gap > _END * value else None
        if directions is None:
            return
        # The predictor aims at mu = 0. It says how far the corrector should aim.
        _, dlambda = directions(-z)
        dS = -_SIGN * dlambda
        dZ = -Z - spread * dS
        ahead = (Z + _longest(Z, dZ) * dZ) * (S + _longest(S, dS) * dS)
        center = mu * (float(ahead.sum()) / (products.size * mu)) ** 3
        target = (center - products - dZ * dS) / S
        dz, dlambda = directions(target[0] - target[1])
        dS = -_SIGN * dlambda
        dZ = target - spread * dS
        primal = min(_SHORT * _longest(Z, dZ), 1.0)
        dual = min(_SHORT * _longest(S, dS), 1.0)
        if not max(primal, dual) > 1e-6:
            return
        Z, S = Z + primal * dZ, S + dual * dS
        z, lambda_ = z + primal * dz, lambda_ + dual * dlambda


def _longest(V: np.ndarray, dV: np.ndarray) -> float:
    """Return the longest step, at most 1 / 0.999, that keeps V + step dV >= 0."""
    return 1.0 / max(-float((dV / V).min()), _SHORT)


def factor(H: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return g -> H^{-1} g for a positive definite H, which is overwritten; None if it is not that."""
    L, failed = lapack.dpotrf(H.T, lower=1, overwrite_a=1, clean=0)
    return None if failed else lambda g: lapack.dpotrs(L, g, lower=1)[0]
