"""Basis pursuit."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from companion.admm.l1.least_norm import LeastNorm, back_substitute, lengths, nearest, orthonormal
from companion.admm.l1.problem import Triple, solve
from companion.admm.losses import rows_of
from companion.checks import as_matrix, as_vector
from companion.engine.arithmetic import largest, ratio
from companion.exceptions import InfeasibleProblemError
from companion.results import ADMMResult, Certificate, Problem

__all__ = ["basis_pursuit"]


class _BasisPursuit(LeastNorm):
    """Minimise |z|_1 subject to x in C and x - z = 0; C, where A x = b, is where Q'x = d."""

    spans = False

    def x_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return the projection of v onto C."""
        return v - self.Q @ (self.Q.T @ v - self.d)

    def __init__(self, A: np.ndarray, b: np.ndarray) -> None:
        norms = lengths(A.T)
        self.rows, self.b, self.c = A / norms[:, None], b / norms, np.zeros(A.shape[1])
        self.Q, self.R, self.kept = orthonormal(self.rows.T)
        self.d = back_substitute(self.R, self.b[self.kept], trans=1)
        self.shortest = self.Q @ self.d
        miss = self.rows @ self.shortest - self.b
        if largest(miss) > 1e-9 * (largest(self.b) + float(np.linalg.norm(self.shortest))):
            y = self.b - self.rows @ linalg.lstsq(self.rows, self.b)[0]
            raise InfeasibleProblemError(
                f"no x satisfies A x = b: A has rank {self.kept.size}, and b is not in its column space "
                f"(the best x misses an equation by {largest(y * norms):.3g})",
                witness=y / norms,
            )
        self.rho = self.c.size / float(np.abs(self.shortest).sum()) if self.shortest.any() else 1.0

    def finished(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, k: int) -> Triple:
        """Move the other entries of z until Q'z = d, and lambda = Q y until it is sign z there."""
        x, S = z.copy(), z != 0
        x[S] -= nearest(self.Q[S].T, self.Q.T @ x - self.d)
        x[np.abs(x) <= 1e-12 * largest(x)] = 0  # rounding
        S, y = np.flatnonzero(x), self.Q.T @ lambda_
        lambda_ = self.Q @ (y - nearest(self.Q[S], self.Q[S] @ y - np.sign(x[S])))
        return x, x, lambda_ / max(largest(lambda_), 1.0)

    def certify(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, tol: float) -> Certificate:
        """Compare |x|_1 with b'nu, A'nu = lambda: what divides them is |x_i| - lambda_i x_i, and nu'(A x - b)."""
        nu = np.zeros_like(self.b)
        nu[self.kept] = back_substitute(self.R, self.Q.T @ lambda_)
        slope, miss, total = self.rows.T @ nu, self.rows @ x - self.b, self.objective(x, x)
        slack = np.abs(np.abs(x) - slope * x)
        primal = ratio(largest(miss), largest(self.b) + float(np.linalg.norm(x)))
        dual = max(largest(slope) - 1, largest(lambda_ - slope), 0.0)
        gap = float(slack.sum() + np.abs(nu) @ np.abs(miss))
        return Certificate(primal, dual, ratio(largest(slack), total), ratio(gap, total), tol)


def basis_pursuit(A: Any, b: Any, **options: Any) -> ADMMResult:
    r"""Minimise ``|x|_1`` subject to ``A x = b``: the solution of smallest l1-norm.

    In ADMM form: minimise :math:`I_C(x) + \|z\|_1` subject to :math:`x - z = 0`, with C the solutions of
    :math:`A x = b` and the updates

    .. math::

        x^{k+1} &= \Pi_C(z^k - u^k) \\
        z^{k+1} &= S_{1/\rho}(x^{k+1} + u^k) \\
        u^{k+1} &= u^k + x^{k+1} - z^{k+1}.

    Parameters
    ----------
    A : array-like of shape (m, n)
        Matrix of any rank.
    b : array-like of shape (m,)
        Right-hand side, in the column space of A.
    **options
        As for :func:`lasso`: `rho`, `relaxation`, `tol`, `max_iter`, `warm_start`, and those of
        :func:`companion.admm.admm`.

    Returns
    -------
    ADMMResult
        `x` (and `z`) is a solution with exact zeros, ``rho * u`` the multiplier :math:`\lambda = A^\top y`, y a dual
        solution.

    Warns
    -----
    ConvergenceWarning
        If no certified solution was found in `max_iter` steps (`converged` is then False).

    Raises
    ------
    ValueError, TypeError
        For input of the wrong shape, sign or kind.
    InfeasibleProblemError
        If no x satisfies ``A x = b``. The witness y has ``A'y = 0`` and ``y'b > 0``.

    Notes
    -----
    Source: Section 16.8(2). The text asks for A of rank m; independent rows are enough, and the solver finds them.
    C is an affine subspace. The dual is: maximise :math:`b^\top y` subject to :math:`\|A^\top y\|_\infty \le 1`.
    The certificate measures its feasibility and the gap. After the first step of ADMM an interior-point
    method proposes which entries of x are not zero, later ADMM does; the exact finish solves :math:`A x = b` for them.

    Examples
    --------
    >>> from companion.admm import basis_pursuit
    >>> result = basis_pursuit([[1, 2]], [2])
    >>> result.x.round(6), round(result.objective, 6), result.certificate.ok
    (array([0., 1.]), 1.0, True)
    """
    A = as_matrix(A, "A")
    b = as_vector(b, "b", rows_of(A))
    given = Problem("basis pursuit", {"A": A, "b": b})
    return solve(_BasisPursuit(A, b), given, **options)
