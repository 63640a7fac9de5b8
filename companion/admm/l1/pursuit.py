"""Basis pursuit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from companion.admm.l1.interior import Directions, central_path, factor
from companion.admm.l1.loop import (
    L1Problem,
    Triple,
    Units,
    exponents,
    largest,
    relative,
    rows_of,
    run,
    shrunk,
)
from companion.admm.l1.vertex import (
    first_ascent,
    independent_rows,
    lengths,
    numerical_rank,
    orthonormal,
    replace_row,
)
from companion.admm.splitting import Iterate
from companion.certificates import Certificate
from companion.checks import as_matrix, as_vector
from companion.exceptions import InfeasibleProblemError
from companion.results import ADMMResult, Problem

__all__ = ["basis_pursuit"]

_TAME = 250  # x is computed in other units if its size is beyond these powers of two
_FAR = 10_000

_OVER = 1e-9  # an excess of |lambda| over 1 that counts as rounding
_EXCHANGES = 5  # of entries of the support, for a point of the central path ...
_MANY = 500  # ... and for the last one


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
    The certificate measures its feasibility and the gap. The exact finish solves :math:`A x = b` on a
    support. After the first step of ADMM an interior-point method proposes it, later ADMM does; entries are exchanged
    while that helps.

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

    first_check = 1

    def __init__(self, A: np.ndarray, b: np.ndarray) -> None:
        self.c = np.zeros(A.shape[1])
        a = exponents(A.T)
        A = np.ldexp(A, -a[:, None]) if a.any() else A
        powers = np.frexp(b)[1] - a
        c = int(powers[b != 0].max(initial=-_FAR))
        c = c if _TAME < abs(c) < _FAR else 0
        norms = lengths(A.T)
        self.rows, self.b = A / norms[:, None], (np.ldexp(b, -a - c) if a.any() or c else b) / norms
        self.units = Units(c, c, c)
        self.Q, self.R, self.kept = orthonormal(self.rows.T)
        self.rank, start = self.kept.size, self.b[self.kept]
        self.d = lapack.dtrtrs(self.R, start, trans=1)[0] if self.rank else np.zeros(0)
        self.shortest = self.Q @ self.d  # A x = b says Q'x = d
        miss = self.rows @ self.shortest - self.b
        if largest(miss) > 1e-9 * (largest(self.b) + float(np.linalg.norm(self.shortest))):
            y = self.b - self.rows @ linalg.lstsq(self.rows, self.b)[0]
            raise InfeasibleProblemError(
                f"no x satisfies A x = b: A has rank {self.rank}, and b is not in its column space "
                f"(the best x misses an equation by {largest(np.ldexp(y * norms, a + c)):.3g})",
                witness=np.ldexp(y / norms, a.min() - a),
            )
        self.rho = self.c.size / float(np.abs(self.shortest).sum()) if self.shortest.any() else 1.0
        self.path_is_next = True

    def x_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return the projection of v onto the solutions of A x = b."""
        return v - self.Q @ (self.Q.T @ v - self.d)

    def z_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        return shrunk(-v, 1 / rho)

    def objective(self, x: np.ndarray, z: np.ndarray) -> float:
        return float(np.abs(z).sum())

    def plain(self, step: Iterate) -> Triple:
        lambda_ = self.Q @ (self.Q.T @ (step.rho * step.u))
        return step.x, step.x, lambda_ / max(largest(lambda_), 1.0)

    def finished(self, step: Iterate, settled: bool) -> Iterator[Triple]:
        """Yield the solutions of A x = b with a set of entries that are not zero."""
        if self.path_is_next:  # once
            self.path_is_next = False
            yield from self._along_the_path()
            return
        support, y = np.flatnonzero(step.z), self.Q.T @ (step.rho * step.u)
        if settled and 0 < support.size < self.rank:
            yield from self._fit(support, step.z, y)
        size = step.rho * np.abs(step.z + step.u)  # above 1 exactly where z is not 0
        yield from self._vertex(size, step.z, y, step.k)

    def _along_the_path(self) -> Iterator[Triple]:
        """Yield the solutions that points of the central path suggest."""
        if not self.shortest.any():
            yield self.c, self.c, self.c
            return
        point = None
        for point in central_path(self.shortest, self._newton):
            support, y = np.flatnonzero(point.spread > 1), self.Q.T @ point.lambda_
            if support.size < self.rank:
                yield from self._fit(support, point.z, y)
            yield from self._vertex(point.spread, point.z, y, _EXCHANGES)
        if point is not None:
            yield from self._vertex(point.spread, point.z, self.Q.T @ point.lambda_, _MANY)

    def _newton(self, D: np.ndarray) -> Directions | None:
        """Solve dz - D dlambda = g for Q'dz = 0 and dlambda = Q dy."""
        Q = self.Q * np.sqrt(D)[:, None]
        solve = factor(Q.T @ Q)

        def directions(g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            dlambda = self.Q @ -solve(g @ self.Q)  # type: ignore[misc]
            return g + D * dlambda, dlambda

        return None if solve is None else directions

    def _vertex(
        self, size: np.ndarray, z: np.ndarray, y: np.ndarray, limit: int
    ) -> Iterator[Triple]:
        """Yield the solution on entries of large `size`, after at most `limit` exchanges."""
        if not self.rank:
            return
        S = independent_rows(self.Q, size)
        block = lapack.dgetrf(self.Q[S])[:2]
        x = _without_rounding(lapack.dgetrs(*block, self.d, trans=1)[0])
        basic = lapack.dgetrs(*block, np.sign(x))[0]
        lambda_ = self.Q @ basic
        lambda_[S] = np.sign(x)
        wrong = np.count_nonzero(np.abs(lambda_) > 1 + _OVER)
        if wrong == 0:
            solution = np.zeros_like(self.c)
            solution[S] = x
            yield solution, solution, lambda_
            return
        if not x.all():  # then the multiplier has a choice
            yield from self._fit(S, z, y)
        if wrong <= limit:
            yield from self._fit(self._exchange(S, limit), z, y)

    def _exchange(self, S: np.ndarray, limit: int) -> np.ndarray:
        """Exchange entries of the support, one by one, while that makes the l1-norm smaller."""
        S, inverse = S.copy(), np.linalg.inv(self.Q[S])
        for _ in range(limit):
            x = _without_rounding(self.d @ inverse)  # A_S x = b
            lambda_ = self.Q @ (inverse @ np.sign(x))
            lambda_[S] = 0
            j = int(np.abs(lambda_).argmax())
            if abs(lambda_[j]) <= 1 + _OVER:
                break
            # Let entry j grow: the others follow, until no descent is left.
            change = -np.sign(lambda_[j]) * (self.Q[j] @ inverse)
            i = first_ascent(x, change, 1 - abs(lambda_[j]))
            if i is None:
                break
            replace_row(inverse, i, self.Q[j])
            S[i] = j
        return S

    def _fit(self, S: np.ndarray, z: np.ndarray, y: np.ndarray) -> Iterator[Triple]:
        """Yield the solution on S that is nearest to z, with the A'y nearest to y that is sign x on the support."""
        V, R = np.linalg.qr(self.Q[S].T)
        if numerical_rank(R, R.shape) < S.size:
            return
        x = np.zeros_like(self.c)
        rest = V.T @ (self.d - self.Q[S].T @ z[S])
        x[S] = _without_rounding(z[S] + lapack.dtrtrs(R, rest)[0])
        if not x[S].all():
            S = np.flatnonzero(x)
            V, R = np.linalg.qr(self.Q[S].T)
        y = y + V @ lapack.dtrtrs(R, np.sign(x[S]) - self.Q[S] @ y, trans=1)[0]
        lambda_ = self.Q @ y
        yield x, x, lambda_ / max(largest(lambda_), 1.0)

    def certify(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, tol: float) -> Certificate:
        total = float(np.abs(z).sum())
        slack = np.abs(z) - lambda_ * z
        nu = self._dual_point(lambda_)
        slope = self.rows.T @ nu
        return Certificate(
            primal_residual=relative(
                largest(self.rows @ x - self.b), largest(self.b) + float(np.linalg.norm(x))
            ),
            dual_residual=max(largest(slope) - 1, largest(lambda_ - slope), 0.0),
            complementarity=relative(largest(slack), total),
            gap=relative(abs(total - float(self.b @ nu)), total),
            tolerance=tol,
        )

    def _dual_point(self, lambda_: np.ndarray) -> np.ndarray:
        """Return nu with A'nu = lambda, from A[kept]' = Q R, refined once."""
        nu = np.zeros_like(self.b)
        if self.rank:
            for _ in range(2):
                rest = lambda_ - self.rows.T @ nu
                nu[self.kept] += lapack.dtrtrs(self.R, self.Q.T @ rest)[0]
        return nu


def _without_rounding(x: np.ndarray) -> np.ndarray:
    """Return x with zeros for entries that are rounding."""
    return np.where(np.abs(x) <= 1e-12 * largest(x), 0.0, x)
