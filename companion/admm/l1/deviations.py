"""Least absolute deviations."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import linalg
from scipy.optimize import lsq_linear

from companion.admm.l1.loop import EPS, FLOOR, L1Problem, Triple, largest, relative, rows_of, run
from companion.admm.l1.vertex import first_ascent, independent_rows, numerical_rank, replace_row
from companion.admm.proximal import soft_threshold
from companion.admm.quadratic import LowRank, solve_qp
from companion.admm.splitting import Iterate
from companion.certificates import Certificate
from companion.checks import as_matrix, as_vector
from companion.exceptions import ConvergenceWarning
from companion.results import ADMMResult, Problem

__all__ = ["least_absolute_deviations"]

# From this number of entries of A on, least absolute deviations ask the dual program which rows are fitted.
_LARGE = 20_000


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
    vertex: a point that fits as many rows exactly as A has independent columns. ADMM proposes the rows; rows are
    exchanged while that helps.

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

    def __init__(self, A: np.ndarray, b: np.ndarray) -> None:
        self.b, self.n = b, A.shape[1]
        norms = np.linalg.norm(A, axis=0)
        self.norms = np.where(norms > 0, norms, 1.0)
        A = A / self.norms
        Q, R, order = linalg.qr(A, mode="economic", pivoting=True)
        rank = numerical_rank(R, A.shape)
        self.kept = order[:rank]  # a largest set of independent columns
        self.A, self.c = A[:, self.kept], b
        self.Q, self.R = Q[:, :rank], R[:rank, :rank]
        self.large = self.Q.size >= _LARGE and rank > 0
        # Compared with the size of b, residuals below rounding count as zero.
        self.zero = 1e-13 * b.size * largest(b)
        # The threshold 1 / rho separates the rows that are fitted from the others: guess it by
        # the least squares fit, as the size of its 2 rank smallest deviations.
        deviations = np.sort(np.abs(b - self.Q @ (self.Q.T @ b)))
        self.rho = 1 / (deviations[min(2 * rank, b.size - 1)] + self.zero or 1.0)

    def x_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return (A'A)^{-1} A'v from A = QR."""
        return self._coefficients(self.Q.T @ v)

    def z_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        return soft_threshold(-v, 1 / rho)

    def objective(self, x: np.ndarray, z: np.ndarray) -> float:
        return float(np.abs(z).sum())

    def original(self, x: np.ndarray) -> np.ndarray:
        full = np.zeros(self.n)
        full[self.kept] = x
        return full / self.norms

    def plain(self, step: Iterate) -> Triple:
        return step.x, self.A @ step.x - self.b, step.rho * step.u

    def finished(self, step: Iterate, settled: bool) -> Iterator[Triple]:
        """Yield a vertex: a point that fits as many rows exactly as A has columns."""
        if self.large:  # once: an interior-point method finds sooner which rows are fitted
            self.large = False
            yield self._from_dual()
        size = step.rho * np.abs(step.z + step.u) + EPS  # below 1 exactly where z is 0
        rows = self._pivot(independent_rows(self.Q, 1 / size), step.k)
        w = linalg.lstsq(self.Q[rows], self.b[rows])[0] if rows.size else np.zeros(0)
        z = self.Q @ w - self.b
        z[rows] = 0
        z[np.abs(z) <= self.zero] = 0
        # The multiplier is sign z, and on the zeros what A'lambda = 0 asks for: nearest to ADMM's.
        lambda_, free = np.sign(z), z == 0
        Q, rest = self.Q[free], -(self.Q.T @ lambda_)
        guess = np.clip(step.rho * step.u[free], -1, 1)
        lambda_[free] = guess + linalg.lstsq(Q.T, rest - Q.T @ guess)[0]
        if largest(lambda_) > 1 + 1e-9 and free.sum() > rows.size:  # more zeros than columns
            lambda_[free] = lsq_linear(Q.T, rest, bounds=(-1, 1), method="bvls", tol=1e-14).x
        yield self._coefficients(w), z, lambda_

    def _from_dual(self) -> Triple:
        """Solve the dual program min b'lambda, Q'lambda = 0, |lambda| <= 1; w is its multiplier."""
        m, rank = self.Q.shape
        nothing = LowRank(np.zeros((m, 0)))
        with warnings.catch_warnings():  # the certificate of the vertex decides
            warnings.simplefilter("ignore", ConvergenceWarning)
            dual = solve_qp(nothing, self.b, self.Q.T, np.zeros(rank), lower=-1.0, upper=1.0)
        z = self.Q @ -dual.y - self.b
        z[np.abs(dual.x) < 1] = 0
        z[np.abs(z) <= self.zero] = 0
        return self._coefficients(-dual.y), z, dual.x

    def _pivot(self, rows: np.ndarray, limit: int) -> np.ndarray:
        """Exchange rows of the vertex, one by one, while that makes the sum of deviations smaller."""
        if rows.size == 0:
            return rows
        rows, inverse = rows.copy(), np.linalg.inv(self.Q[rows])
        for _ in range(limit):
            z = self.Q @ (inverse @ self.b[rows]) - self.b
            z[rows] = 0
            z[np.abs(z) <= self.zero] = 0
            multiplier = -((np.sign(z) @ self.Q) @ inverse)
            i = int(np.abs(multiplier).argmax())
            if abs(multiplier[i]) <= 1 + 1e-9:
                break
            # Let row i go: the other deviations follow, until no descent is left.
            change = np.sign(multiplier[i]) * (self.Q @ inverse[:, i])
            change[rows] = 0
            j = first_ascent(z, change, 1 - abs(multiplier[i]))
            if j is None:
                break
            replace_row(inverse, i, self.Q[j])
            rows[i] = j
        return rows

    def _coefficients(self, w: np.ndarray) -> np.ndarray:
        return linalg.solve_triangular(self.R, w, check_finite=False)

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
