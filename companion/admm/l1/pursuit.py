"""Basis pursuit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import linalg

from companion.admm.l1.loop import L1Problem, Triple, largest, relative, rows_of, run
from companion.admm.l1.vertex import first_ascent, independent_rows, numerical_rank, replace_row
from companion.admm.proximal import soft_threshold
from companion.admm.splitting import Iterate
from companion.certificates import Certificate
from companion.checks import as_matrix, as_vector
from companion.exceptions import InfeasibleProblemError
from companion.results import ADMMResult, Problem

__all__ = ["basis_pursuit"]


def basis_pursuit(
    A: Any,
    b: Any,
    *,
    rho: float | None = None,
    relaxation: float = 1.6,
    tol: float = 1e-8,
    max_iter: int = 20_000,
    finish: bool = True,
    warm_start: ADMMResult | None = None,
    **loop: Any,
) -> ADMMResult:
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
    rho : float, optional
        Penalty parameter > 0. By default it is chosen from the data, so that units do not matter.
    relaxation : float
        Over-relaxation in (0, 2); 1 gives the updates as printed above.
    tol : float
        Tolerance of the certificate; with ``finish=False`` the stopping tolerance of ADMM, `tol_abs` and `tol_rel`.
    max_iter : int
        Largest number of ADMM steps.
    finish : bool
        Whether the problem is solved exactly once ADMM has found the zero pattern. Without, this is plain ADMM.
    warm_start : ADMMResult, optional
        The result for a similar problem, to start from its z and u.
    **loop
        Further options of :func:`companion.admm.admm`: `callback`, `keep_iterates`, `progress`, `adaptive`, ...

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
    The certificate measures its feasibility and the gap. The exact finish solves :math:`A x = b` on a support that
    ADMM proposes; entries are exchanged while that helps.

    Examples
    --------
    >>> from companion.admm import basis_pursuit
    >>> result = basis_pursuit([[1, 2]], [2])
    >>> result.x.round(6), round(result.objective, 6), result.certificate.ok
    (array([0., 1.]), 1.0, True)
    """
    A = as_matrix(A, "A")
    b = as_vector(b, "b", rows_of(A))
    return run(
        _BasisPursuit(A, b),
        given=Problem("basis pursuit", {"A": A, "b": b}),
        rho=rho,
        relaxation=relaxation,
        tol=tol,
        max_iter=max_iter,
        finish=finish,
        warm_start=warm_start,
        **loop,
    )


class _BasisPursuit(L1Problem):
    """Minimise |z|_1 subject to A x = b and x - z = 0."""

    def __init__(self, A: np.ndarray, b: np.ndarray) -> None:
        self.c = np.zeros(A.shape[1])
        norms = np.linalg.norm(A, axis=1)
        norms = np.where(norms > 0, norms, 1.0)
        A, b = A / norms[:, None], b / norms
        Q, R, order = linalg.qr(A.T, mode="economic", pivoting=True)
        rank = numerical_rank(R, A.shape)
        kept = order[:rank]
        self.rows, self.b = A, b
        self.Q = Q[:, :rank]  # A x = b says Q'x = d
        self.d = linalg.solve_triangular(R[:rank, :rank], b[kept], trans="T")
        self.shortest = self.Q @ self.d
        miss = A @ self.shortest - b
        if largest(miss) > 1e-9 * (largest(b) + float(np.linalg.norm(self.shortest))):
            y = b - A @ linalg.lstsq(A, b)[0]
            raise InfeasibleProblemError(
                f"no x satisfies A x = b: A has rank {rank}, and b is not in its column space "
                f"(the best x misses an equation by {largest(y * norms):.3g})",
                witness=y / norms,
            )
        self.rho = self.c.size / float(np.abs(self.shortest).sum()) if self.shortest.any() else 1.0

    def x_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return the projection of v onto the solutions of A x = b."""
        return v - self.Q @ (self.Q.T @ v - self.d)

    def z_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        return soft_threshold(-v, 1 / rho)

    def objective(self, x: np.ndarray, z: np.ndarray) -> float:
        return float(np.abs(z).sum())

    def plain(self, step: Iterate) -> Triple:
        lambda_ = self.Q @ (self.Q.T @ (step.rho * step.u))
        return step.x, step.x, lambda_ / max(largest(lambda_), 1.0)

    def finished(self, step: Iterate, settled: bool) -> Iterator[Triple]:
        """Yield the solutions of A x = b with a set of entries, read from z, that are not zero."""
        support, rank = np.flatnonzero(step.z), self.Q.shape[1]
        if settled and 0 < support.size < rank:
            yield self._fit(step, support)
        if rank:
            size = step.rho * np.abs(step.z + step.u)  # above 1 exactly where z is not 0
            yield self._fit(step, self._pivot(independent_rows(self.Q, size), step.k))

    def _pivot(self, S: np.ndarray, limit: int) -> np.ndarray:
        """Exchange entries of the support, one by one, while that makes the l1-norm smaller."""
        S, inverse = S.copy(), np.linalg.inv(self.Q[S])
        for _ in range(limit):
            x = self.d @ inverse  # A_S x = b
            x[np.abs(x) <= 1e-12 * largest(x)] = 0
            lambda_ = self.Q @ (inverse @ np.sign(x))
            lambda_[S] = 0
            j = int(np.abs(lambda_).argmax())
            if abs(lambda_[j]) <= 1 + 1e-9:
                break
            # Let entry j grow: the others follow, until no descent is left.
            change = -np.sign(lambda_[j]) * (self.Q[j] @ inverse)
            i = first_ascent(x, change, 1 - abs(lambda_[j]))
            if i is None:
                break
            replace_row(inverse, i, self.Q[j])
            S[i] = j
        return S

    def _fit(self, step: Iterate, S: np.ndarray) -> Triple:
        """Move z to A_S x_S = b, then lambda = A'y to sign x on the support."""
        x = np.zeros_like(self.c)
        x[S] = step.z[S] + linalg.pinv(self.Q[S]).T @ (self.d - self.Q[S].T @ step.z[S])
        x[np.abs(x) <= 1e-12 * largest(x)] = 0
        S = np.flatnonzero(x)
        y = self.Q.T @ (step.rho * step.u)
        y = y + linalg.pinv(self.Q[S]) @ (np.sign(x[S]) - self.Q[S] @ y)
        lambda_ = self.Q @ y
        return x, x, lambda_ / max(largest(lambda_), 1.0)

    def certify(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, tol: float) -> Certificate:
        total = float(np.abs(z).sum())
        slack = np.abs(z) - lambda_ * z
        y = self.Q.T @ lambda_
        return Certificate(
            primal_residual=relative(
                largest(self.rows @ x - self.b), largest(self.b) + float(np.linalg.norm(x))
            ),
            dual_residual=max(largest(lambda_) - 1, largest(lambda_ - self.Q @ y), 0.0),
            complementarity=relative(largest(slack), total),
            gap=relative(abs(total - float(self.d @ y)), total),
            tolerance=tol,
        )
