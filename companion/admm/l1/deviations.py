"""Least absolute deviations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import linalg
from scipy.linalg import lapack
from scipy.optimize import lsq_linear

from companion.admm.l1.interior import Directions, central_path, factor
from companion.admm.l1.loop import (
    EPS,
    FLOOR,
    L1Problem,
    Triple,
    Units,
    exponent,
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
    orthonormal,
    replace_row,
)
from companion.admm.splitting import Iterate
from companion.certificates import Certificate
from companion.checks import as_matrix, as_vector
from companion.results import ADMMResult, Problem

__all__ = ["least_absolute_deviations"]

_OVER = 1e-9  # an excess of |lambda| over 1 that counts as rounding
_EXCHANGES = 5  # of rows, at a vertex found on the central path ...
_MANY = 500  # ... and at its end


def least_absolute_deviations(
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
    r"""Minimise ``|A x - b|_1``, the sum of absolute deviations.

    In ADMM form: minimise :math:`\|z\|_1` subject to :math:`A x - z = b`, with the updates

    .. math::

        x^{k+1} &= (A^\top A)^{-1} A^\top (b + z^k - u^k) \\
        z^{k+1} &= S_{1/\rho}(A x^{k+1} - b + u^k) \\
        u^{k+1} &= u^k + A x^{k+1} - z^{k+1} - b.

    Parameters
    ----------
    A : array-like of shape (m, n)
        Data. Columns may depend on each other: then the solver uses a largest set of independent columns, and the
        other coefficients are 0.
    b : array-like of shape (m,)
        Targets.
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
        `x` is a solution, `z` its deviations ``A x - b`` with exact zeros where a row is fitted, ``rho * u`` the
        multiplier :math:`\lambda` (a dual solution).

    Warns
    -----
    ConvergenceWarning
        If no certified solution was found in `max_iter` steps (`converged` is then False).

    Raises
    ------
    ValueError, TypeError
        For input of the wrong shape, sign or kind.

    Notes
    -----
    Source: Section 16.8(1). The dual is: maximise :math:`-b^\top \lambda` subject to :math:`A^\top \lambda = 0`,
    :math:`\|\lambda\|_\infty \le 1`. The certificate measures its feasibility and the gap. The exact finish is a
    vertex: a point that fits as many rows exactly as A has independent columns. After the first step of ADMM an
    interior-point method proposes the rows, later ADMM does; rows are exchanged while that helps.

    Examples
    --------
    A single coefficient: the median, whatever the outlier is.

    >>> from companion.admm import least_absolute_deviations
    >>> result = least_absolute_deviations([[1], [1], [1]], [1, 2, 10])
    >>> result.x.round(6), result.z.round(6) + 0.0, result.certificate.ok
    (array([2.]), array([ 1.,  0., -8.]), True)
    """
    A = as_matrix(A, "A")
    b = as_vector(b, "b", rows_of(A))
    return run(
        _LeastAbsolute(A, b),
        given=Problem("least absolute deviations", {"A": A, "b": b}),
        rho=rho,
        relaxation=relaxation,
        tol=tol,
        max_iter=max_iter,
        finish=finish,
        warm_start=warm_start,
        **loop,
    )


class _LeastAbsolute(L1Problem):
    """Minimise |z|_1 subject to A x - z = b, for A with independent columns."""

    first_check = 1

    def __init__(self, A: np.ndarray, b: np.ndarray) -> None:
        self.n = A.shape[1]
        a, c = exponents(A), exponent(b)
        self.units = Units(x=c - a, z=c, objective=c) if a.any() or c else Units()
        A, b = np.ldexp(A, -a) if a.any() else A, np.ldexp(b, -c) if c else b
        self.norms = lengths(A)
        A = A / self.norms
        self.Q, self.R, self.kept = orthonormal(A)
        self.A, self.b, self.c = A[:, self.kept], b, b
        # Compared with the size of b, residuals below rounding count as zero.
        self.zero = 1e-13 * b.size * largest(b)
        self.shortest = self.Q @ (self.Q.T @ b) - b  # the deviations of the least squares fit
        # The threshold 1 / rho separates the rows that are fitted from the others: guess it by
        # the least squares fit, as the size of its 2 rank smallest deviations.
        deviations = np.sort(np.abs(self.shortest))
        self.rho = 1 / (deviations[min(2 * self.kept.size, b.size - 1)] + self.zero or 1.0)
        self.path_is_next = True

    def x_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return (A'A)^{-1} A'v from A = QR."""
        return self._coefficients(self.Q.T @ v)

    def z_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        return shrunk(-v, 1 / rho)

    def objective(self, x: np.ndarray, z: np.ndarray) -> float:
        return float(np.abs(z).sum())

    def original(self, x: np.ndarray) -> np.ndarray:
        full = np.zeros(self.n)
        full[self.kept] = x
        return full / self.norms

    def plain(self, step: Iterate) -> Triple:
        return step.x, self.A @ step.x - self.b, step.rho * step.u

    def finished(self, step: Iterate, settled: bool) -> Iterator[Triple]:
        """Yield vertices: points that fit as many rows exactly as A has columns."""
        if self.path_is_next:  # once
            self.path_is_next = False
            yield from self._along_the_path()
            return
        size = step.rho * np.abs(step.z + step.u) + EPS  # below 1 exactly where z is 0
        yield from self._vertex(1 / size, step.rho * step.u, max(step.k, _MANY))

    def _along_the_path(self) -> Iterator[Triple]:
        """Yield the vertices that points of the central path suggest."""
        if largest(self.shortest) <= self.zero:  # all rows can be fitted
            zeros = np.zeros_like(self.b)
            yield self._coefficients(self.Q.T @ self.b), zeros, zeros
            return
        point = None
        path = central_path(self.shortest, self._newton) if self.kept.size else ()
        for point in path:
            yield from self._vertex(1 / point.spread, point.lambda_, _EXCHANGES)
        if point is None:
            yield from self._vertex(-np.abs(self.shortest), np.zeros_like(self.b), _MANY)
        else:
            yield from self._vertex(1 / point.spread, point.lambda_, _MANY)

    def _newton(self, D: np.ndarray) -> Directions | None:
        """Solve dz - D dlambda = g for dz = Q dw and Q'dlambda = 0."""
        Q = self.Q / np.sqrt(D)[:, None]
        solve = factor(Q.T @ Q)

        def directions(g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            dz = self.Q @ solve((g / D) @ self.Q)  # type: ignore[misc]
            return dz, (dz - g) / D

        return None if solve is None else directions

    def _vertex(self, size: np.ndarray, guess: np.ndarray, limit: int) -> Iterator[Triple]:
        """Yield the vertex through rows of large `size`, after at most `limit` exchanges."""
        rank = self.kept.size
        rows, w, multiplier = np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0)
        if rank:
            rows = independent_rows(self.Q, size)
            block = lapack.dgetrf(self.Q[rows])[:2]
            w = lapack.dgetrs(*block, self.b[rows])[0]
            z = self._deviations(w, rows)
            multiplier = lapack.dgetrs(*block, -(np.sign(z) @ self.Q), trans=1)[0]
            wrong = np.count_nonzero(np.abs(multiplier) > 1 + _OVER)
            if wrong:
                if np.count_nonzero(z == 0) > rank:  # then the multiplier has a choice
                    yield self._coefficients(w), z, self._spread(z, guess)
                if wrong > limit:
                    return
                rows, w, multiplier = self._exchange(rows, limit)
        z = self._deviations(w, rows)
        # The multiplier is sign z, and on the rows what A'lambda = 0 asks for.
        lambda_ = np.sign(z)
        lambda_[rows] = multiplier
        if largest(multiplier) > 1 + _OVER:
            lambda_ = self._spread(z, guess)
            free = z == 0
            if largest(lambda_) > 1 + _OVER and limit >= _MANY and free.sum() > rank:
                rest = -(self.Q.T @ np.sign(z))
                box = lsq_linear(self.Q[free].T, rest, bounds=(-1, 1), method="bvls", tol=1e-14)
                lambda_[free] = box.x
        yield self._coefficients(w), z, lambda_

    def _spread(self, z: np.ndarray, guess: np.ndarray) -> np.ndarray:
        """Return the multiplier that is sign z, and on all zeros of z as near to the guess as A'lambda = 0 allows."""
        lambda_, free = np.sign(z), z == 0
        Q, near = self.Q[free], np.clip(guess[free], -1, 1)
        rest = -(self.Q.T @ lambda_) - Q.T @ near
        lambda_[free] = near + linalg.lstsq(Q.T, rest, lapack_driver="gelsy")[0]
        return lambda_

    def _deviations(self, w: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return Q w - b, with exact zeros in the rows that are fitted."""
        z = self.Q @ w - self.b
        z[rows] = 0
        z[np.abs(z) <= self.zero] = 0
        return z

    def _exchange(self, rows: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Exchange rows, one by one, while that makes the sum of deviations smaller.

        Return the rows, the w that fits them, and their multiplier.
        """
        rows, inverse = rows.copy(), np.linalg.inv(self.Q[rows])
        for k in range(limit + 1):
            w = inverse @ self.b[rows]
            z = self._deviations(w, rows)
            multiplier = -((np.sign(z) @ self.Q) @ inverse)
            i = int(np.abs(multiplier).argmax())
            if abs(multiplier[i]) <= 1 + _OVER or k == limit:
                break
            # Let row i go: the other deviations follow, until no descent is left.
            change = np.sign(multiplier[i]) * (self.Q @ inverse[:, i])
            change[rows] = 0
            j = first_ascent(z, change, 1 - abs(multiplier[i]))
            if j is None:
                break
            replace_row(inverse, i, self.Q[j])
            rows[i] = j
        return rows, w, multiplier

    def _coefficients(self, w: np.ndarray) -> np.ndarray:
        return lapack.dtrtrs(self.R, w)[0] if w.size else w

    def certify(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, tol: float) -> Certificate:
        fit = self.A @ x
        attained = float(np.abs(fit - self.b).sum())
        size = float(np.abs(self.b).sum() + (np.abs(self.A) @ np.abs(x)).sum())
        total = max(attained, FLOOR * size)
        slack = np.abs(z) - lambda_ * z
        return Certificate(
            primal_residual=relative(largest(fit - self.b - z), largest(self.b) + largest(fit)),
            dual_residual=max(largest(lambda_) - 1, largest(self.Q.T @ lambda_), 0.0),
            complementarity=relative(largest(slack), total),
            gap=relative(abs(attained + float(self.b @ lambda_)), total),
            tolerance=tol,
        )
