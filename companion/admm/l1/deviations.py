"""Least absolute deviations."""

from __future__ import annotations

from typing import Any

import numpy as np

from companion.admm.l1.least_norm import LeastNorm, back_substitute, nearest, orthonormal
from companion.admm.l1.problem import FLOOR, Triple, solve
from companion.admm.losses import rows_of
from companion.checks import as_matrix, as_vector
from companion.engine.arithmetic import largest, ratio
from companion.results import ADMMResult, Certificate, Problem

__all__ = ["least_absolute_deviations"]


class _LeastAbsolute(LeastNorm):
    """Minimise |z|_1 subject to A x - z = b."""

    spans = True

    def x_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return (A'A)^{-1} A'v from A = QR."""
        return self._coefficients(self.Q.T @ v)

    def __init__(self, A: np.ndarray, b: np.ndarray) -> None:
        self.A, self.b, self.c = A, b, b
        self.Q, self.R, self.kept = orthonormal(A)
        self.shortest = self.Q @ (self.Q.T @ b) - b  # the deviations of the least squares fit
        # Compared with the size of b, residuals below rounding count as zero.
        self.zero = 1e-13 * b.size * largest(b)
        self.shortest[np.abs(self.shortest) <= self.zero] = 0
        # The threshold 1 / rho separates the rows that are fitted from the others: guess it by
        # the least squares fit, as the size of its 2 rank smallest deviations.
        deviations = np.sort(np.abs(self.shortest))
        self.rho = 1 / (deviations[min(2 * self.kept.size, b.size - 1)] + self.zero or 1.0)

    def finished(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, k: int) -> Triple:
        """Move z along Q until its rows of zeros vanish, and lambda in these rows until Q'lambda = 0."""
        w, zero = self.Q.T @ (z + self.b), z == 0
        for _ in range(2):
            w = w - nearest(self.Q[zero], self.Q[zero] @ w - self.b[zero])
        z = self.Q @ w - self.b
        z[zero | (np.abs(z) <= self.zero)] = 0
        lambda_ = np.where(z == 0, np.clip(lambda_, -1, 1), np.sign(z))
        lambda_[z == 0] -= nearest(self.Q[z == 0].T, self.Q.T @ lambda_)
        return self._coefficients(w), z, lambda_

    def _coefficients(self, w: np.ndarray) -> np.ndarray:
        """Return the x with A x = Q w that is 0 where a column depends on the others."""
        x = np.zeros(self.A.shape[1])
        x[self.kept] = back_substitute(self.R, w)
        return x

    def certify(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, tol: float) -> Certificate:
        """Compare |A x - b|_1 with -b'lambda: what divides them is |z_i| - lambda_i z_i, and (A'lambda)'x."""
        fit = self.A @ x
        deviations, lost = fit - self.b, self.Q.T @ lambda_
        slack = np.abs(np.abs(deviations) - lambda_ * deviations)
        size = float(np.abs(self.b).sum() + (np.abs(self.A) @ np.abs(x)).sum())
        total = max(self.objective(x, deviations), FLOOR * size)
        primal = ratio(largest(deviations - z), largest(self.b) + largest(fit))
        dual = max(largest(lambda_) - 1, largest(lost), 0.0)
        gap = float(slack.sum() + np.abs(lost) @ np.abs(self.Q.T @ fit))
        return Certificate(primal, dual, ratio(largest(slack), total), ratio(gap, total), tol)


def least_absolute_deviations(A: Any, b: Any, **options: Any) -> ADMMResult:
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
    **options
        As for :func:`lasso`: `rho`, `relaxation`, `tol`, `max_iter`, `warm_start`, and those of
        :func:`companion.admm.admm`.

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
    :math:`\|\lambda\|_\infty \le 1`. The certificate measures its feasibility and the gap. After the first step
    of ADMM an interior-point method proposes which rows are fitted, later ADMM does; the exact finish fits them.

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
    given = Problem("least absolute deviations", {"A": A, "b": b})
    return solve(_LeastAbsolute(A, b), given, **options)
