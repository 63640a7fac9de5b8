r"""The point of smallest l1-norm in an affine space: least absolute deviations and basis pursuit.

Both are one linear program. It minimises :math:`\|z\|_1` over an affine space with the directions V: the deviations
:math:`A x - b`, or the solutions of :math:`A z = b`. The dual variable :math:`\lambda` lies in :math:`V^\perp` and in
the cube :math:`\|\lambda\|_\infty \le 1`; at a solution :math:`\lambda^\top z = \|z\|_1`.

An interior-point method guesses which entries of z are zero, before ADMM does: with :math:`z = z_+ - z_-` and the
slacks :math:`s_\pm = 1 \mp \lambda`, the central path is where all the products of a :math:`z_\pm` and its
:math:`s_\pm` have one value :math:`\mu`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy import linalg
from scipy.linalg import blas, lapack

from companion.admm.l1.problem import L1Problem, Triple
from companion.admm.proximal import soft_threshold
from companion.admm.splitting import Iterate
from companion.engine.arithmetic import EPS

# g -> dz, dlambda
Directions = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

_SIGN = np.array([[1.0], [-1.0]])
_NEAR = 1e-4  # from this relative gap on, the path shows which entries of z are zero
_END = 1e-13
_CLEAR = 1e6  # a ratio of weights that no vertex explains
_SHORT = 1.0 - 1e-3  # steps end just before the boundary
_CLEARLY = 0.01  # distance of a column of length 1 from the span of those before it


class LeastNorm(L1Problem):
    """Minimise |z|_1 over an affine space whose directions V are the span of Q, or its complement."""

    first_check = 1
    Q: np.ndarray  # orthonormal
    spans: bool  # whether V is the span of Q
    shortest: np.ndarray  # the z of smallest 2-norm

    def z_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return S_{1/rho}(-v)."""
        return soft_threshold(-v, 1 / rho)

    def objective(self, x: np.ndarray, z: np.ndarray) -> float:
        """Return |z|_1."""
        return float(np.abs(z).sum())

    def newton(self, D: np.ndarray) -> Directions | None:
        """Return a function that finds dz in V and dlambda in V-perp with dz - D dlambda = g; None if singular."""
        E = 1 / D if self.spans else D
        root = self.Q * np.sqrt(E)[:, None]
        L, failed = lapack.dpotrf(root.T @ root, lower=1, overwrite_a=1, clean=0)

        def directions(g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            g = -E * g if self.spans else g
            along = -(self.Q @ lapack.dpotrs(L, g @ self.Q, lower=1)[0])
            return (along, g + E * along) if self.spans else (g + E * along, along)

        return None if failed else directions

    def guesses(self, step: Iterate) -> Iterator[Triple]:
        """Yield points along the central path at first, later the iterate."""
        if not (self.Q.size and self.shortest.any()):  # no choice, or the solution is 0
            yield step.x, self.shortest, 0 * self.shortest
        elif step.k == 1:
            for z, lambda_, spread in central_path(self.shortest, self.newton):
                yield step.x, np.where(spread <= self._cut(spread), 0.0, z), lambda_
        yield from super().guesses(step)

    def _cut(self, spread: np.ndarray) -> float:
        """Return what divides the zeros of a vertex from the rest, or 1 where the path seems to end at no vertex."""
        n, rank = self.Q.shape
        index = rank - 1 if self.spans else n - rank - 1
        cut = float(np.partition(spread, index)[index]) if rank < n else 1.0
        return cut if _CLEAR > (1 / cut if self.spans else cut) > 1 else 1.0


def central_path(
    z: np.ndarray, newton: Callable[[np.ndarray], Directions | None], max_iter: int = 50
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    r"""Follow the central path by Mehrotra's method; yield each point that is near its end.

    Parameters
    ----------
    z : ndarray of shape (p,)
        The point of smallest 2-norm, not 0. It lies in :math:`V^\perp`, so a multiple of it is a feasible dual point.
    newton : callable
        :meth:`LeastNorm.newton`.
    max_iter : int
        Largest number of steps.

    Yields
    ------
    z, lambda_, spread : ndarray of shape (p,)
        The spread is the weight :math:`z_+/s_+ + z_-/s_-`. As :math:`\mu` falls, it goes to 0 where z is 0 and to
        infinity where it is not; 1 divides them.
    """
    unit = float(np.abs(z).mean())
    lambda_ = z / (1.1 * float(np.abs(z).max()))
    z = z / unit
    Z, S = np.maximum(_SIGN * z, 0.0) + 0.5, 1.0 - _SIGN * lambda_
    for _ in range(max_iter):
        products, ratios = Z * S, Z / S
        gap, spread = float(products.sum()), ratios[0] + ratios[1]
        value, mu = float(Z.sum()), gap / products.size
        if gap <= _NEAR * value:
            yield unit * z, lambda_, spread
        directions = newton(spread) if gap > _END * value else None
        if directions is None:
            return
        # The predictor aims at mu = 0. It says how far the corrector should aim.
        _, dlambda = directions(-z)
        dS = -_SIGN * dlambda
        dZ = -Z - ratios * dS
        ahead = (Z + _longest(Z, dZ) * dZ) * (S + _longest(S, dS) * dS)
        target = (mu * (float(ahead.sum()) / gap) ** 3 - products - dZ * dS) / S
        dz, dlambda = directions(target[0] - target[1])
        dS = -_SIGN * dlambda
        dZ = target - ratios * dS
        primal, dual = (min(_SHORT * _longest(V, dV), 1.0) for V, dV in ((Z, dZ), (S, dS)))
        if not max(primal, dual) > 1e-6:
            return
        Z, S = Z + primal * dZ, S + dual * dS
        z, lambda_ = z + primal * dz, lambda_ + dual * dlambda


def _longest(V: np.ndarray, dV: np.ndarray) -> float:
    """Return the longest step, at most 1 / 0.999, that keeps V + step dV >= 0."""
    return 1.0 / max(-float((dV / V).min()), _SHORT)


def nearest(M: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return the shortest d that makes |M d - r| smallest."""
    return linalg.lstsq(M, r, lapack_driver="gelsy", check_finite=False)[0]


def back_substitute(R: np.ndarray, w: np.ndarray, trans: int = 0) -> np.ndarray:
    """Return R^{-1} w or R'^{-1} w for a triangular R, which may be empty."""
    return lapack.dtrtrs(R, w, trans=trans)[0] if w.size else w


def orthonormal(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Q, R and a largest set `kept` of independent columns of A, with A[:, kept] = Q R.

    In columns of length 1, small is rounding. Where they are clearly independent, Cholesky's method does it, applied
    twice: the second time makes Q orthonormal to the last digit. Otherwise columns are exchanged.
    """
    sizes = lengths(A)
    A = A / sizes
    R, failed = lapack.dpotrf(A.T @ A)
    if not failed and R.diagonal().min() > _CLEARLY:
        Qt = blas.dtrsm(1.0, R, A.T, trans_a=1)
        R2, failed = lapack.dpotrf(Qt @ Qt.T)
        if not failed:
            Q = blas.dtrsm(1.0, R2, Qt, trans_a=1, overwrite_b=1).T
            return Q, R2 @ R * sizes, np.arange(A.shape[1])
    Q, R, order = linalg.qr(A, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > max(A.shape) * EPS * diagonal.max(initial=0.0)))
    kept = order[:rank]
    return np.ascontiguousarray(Q[:, :rank]), R[:rank, :rank] * sizes[kept], kept


def lengths(A: np.ndarray) -> np.ndarray:
    """Return the norms of the columns of A, 1 for a column of zeros."""
    norms = np.sqrt(np.einsum("ij,ij->j", A, A))
    return np.where(norms > 0, norms, 1.0)
