"""The generalised lasso: a penalty on |F x|_1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import linalg

from companion.admm.l1.loop import (
    EPS,
    FLOOR,
    SLOPE_FLOOR,
    L1Problem,
    Triple,
    Units,
    exponent,
    in_units,
    largest,
    relative,
    rows_of,
    run,
    shrunk,
)
from companion.admm.l1.losses import factored
from companion.admm.l1.signs import first_zero, newton_step
from companion.admm.splitting import Iterate
from companion.certificates import Certificate
from companion.checks import as_matrix, as_scalar, as_vector
from companion.results import ADMMResult, Problem

__all__ = ["generalized_lasso"]

_HEAVIEST = (
    1e30  # beside data of the size 1; what rounding leaves of F x = 0 would be the whole objective
)
_UNEVEN = (
    "columns of A and F are linearly dependent, and others so small beside them that they are lost in rounding; "
    "scale the columns"
)


def generalized_lasso(
    A: Any,
    b: Any,
    F: Any,
    tau: float,
    *,
    rho: float | None = None,
    relaxation: float = 1.6,
    adaptive: bool = True,
    tol: float = 1e-8,
    max_iter: int = 20_000,
    finish: bool = True,
    warm_start: ADMMResult | None = None,
    **loop: Any,
) -> ADMMResult:
    r"""Minimise ``1/2 |A x - b|_2^2 + tau |F x|_1``.

    In ADMM form: minimise :math:`(1/2)\|A x - b\|_2^2 + \tau\|z\|_1` subject to :math:`F x - z = 0`, with the updates

    .. math::

        x^{k+1} &= (A^\top A + \rho F^\top F)^{-1} \\
                & \qquad (A^\top b + \rho F^\top (z^k - u^k)) \\
        z^{k+1} &= S_{\tau/\rho}(F x^{k+1} + u^k) \\
        u^{k+1} &= u^k + F x^{k+1} - z^{k+1}.

    Parameters
    ----------
    A : array-like of shape (m, n)
        Data.
    b : array-like of shape (m,)
        Targets.
    F : array-like of shape (p, n)
        What should be sparse is F x: with rows (..., -1, 1, ...) the jumps of x (total variation).
    tau : float
        Weight of the l1-norm, >= 0.
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
        Further options of :func:`companion.admm.admm`: `callback`, `keep_iterates`, `progress`, ...
    adaptive : bool
        Whether rho is balanced in the first steps, see :func:`companion.admm.admm`. The size of F x is not known
        beforehand, so here this helps.

    Returns
    -------
    ADMMResult
        `x` is the solution, `z` is F x with exact zeros, ``rho * u`` the multiplier :math:`\lambda`.

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
    Source: Section 16.8(5). The text prints the ADMM form without the factor 1/2. It asks that A or F
    has rank n; that no direction lies in both null spaces is enough. If one does, the solution of smallest norm is
    returned. At a solution :math:`A^\top (A x - b) + F^\top \lambda = 0` and
    :math:`\|\lambda\|_\infty \le \tau`; the gap is :math:`\tau\|F x\|_1 - \lambda^\top F x`.

    Examples
    --------
    >>> from companion.admm import generalized_lasso
    >>> result = generalized_lasso([[1, 0], [0, 1]], [0, 3], [[-1, 1]], tau=1)
    >>> result.x.round(6), result.z.round(6), result.certificate.ok
    (array([1., 2.]), array([1.]), True)
    """
    A = as_matrix(A, "A")
    b = as_vector(b, "b", rows_of(A))
    F = as_matrix(F, "F", (None, A.shape[1]))
    tau = as_scalar(tau, "tau", at_least=0)
    return run(
        _GeneralizedLasso(A, b, F, tau),
        given=Problem("generalized lasso", {"A": A, "b": b, "F": F, "tau": tau}),
        rho=rho,
        relaxation=relaxation,
        tol=tol,
        max_iter=max_iter,
        finish=finish,
        warm_start=warm_start,
        adaptive=adaptive,
        **loop,
    )


def _row_space(A: np.ndarray, F: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the weight that makes F as large as A, and an orthonormal basis of their rows."""
    weight = float(np.linalg.norm(A) / (np.linalg.norm(F) or 1.0)) or 1.0
    stacked = np.vstack([A, weight * F])
    _, s, Vt = np.linalg.svd(stacked, full_matrices=False)
    rank = int(np.sum(s > max(stacked.shape) * EPS * s.max(initial=0.0)))
    return weight, Vt[:rank]


def _is_definite(M: np.ndarray) -> bool:
    """Return whether the pivots of Cholesky's method are more than rounding."""
    try:
        pivots = linalg.cholesky(M, check_finite=False).diagonal()
    except linalg.LinAlgError:
        return False
    return bool((pivots**2 > 100 * len(M) * EPS * M.diagonal().max(initial=0.0)).all())


class _GeneralizedLasso(L1Problem):
    """Minimise 1/2 |A x - b|^2 + tau |z|_1 subject to F x - z = 0."""

    def __init__(self, A: np.ndarray, b: np.ndarray, F: np.ndarray, tau: float) -> None:
        a, c, f = exponent(A), exponent(b), exponent(F)
        self.units = Units(x=c - a, z=f + c - a, objective=2 * c)
        if any((a, c, f)):
            A, b, F = np.ldexp(A, -a), np.ldexp(b, -c), np.ldexp(F, -f)
            tau = in_units(tau, self.units.multiplier, "tau", _HEAVIEST)
        weight, rows = _row_space(A, F)
        self.basis: np.ndarray | None = None
        self.columns = np.zeros(A.shape[1], dtype=int)
        if len(rows) < A.shape[1] or not _is_definite(A.T @ A + weight**2 * (F.T @ F)):
            sizes = np.frexp(np.abs(np.vstack([A, F])).max(axis=0))[1]
            even = np.ldexp(A, -sizes), np.ldexp(F, -sizes)
            even_weight, even_rows = _row_space(*even)
            if len(even_rows) == A.shape[1]:  # small columns were taken for rounding
                self.columns, (A, F), weight = sizes, even, even_weight
            elif len(even_rows) > len(rows):
                raise ValueError(_UNEVEN)
            else:  # a direction with A d = 0, F d = 0 changes nothing: leave it out
                self.basis = rows.T
                A, F = A @ self.basis, F @ self.basis
        self.data, self.b, self.A, self.tau = A, b, F, tau
        self.c = np.zeros(F.shape[0])
        self.gram, self.A_b, self.F_F = A.T @ A, A.T @ b, F.T @ F
        self.rho = weight**2
        self._factor: tuple[float, Any] = (np.nan, None)

    def x_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return (A'A + rho F'F)^{-1} (A'b + rho F'v)."""
        if self._factor[0] != rho:
            self._factor = rho, factored(self.gram + rho * self.F_F, rho)
        right = self.A_b + rho * (self.A.T @ v)
        return linalg.cho_solve(self._factor[1], right, check_finite=False)

    def z_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        return shrunk(-v, self.tau / rho)

    def objective(self, x: np.ndarray, z: np.ndarray) -> float:
        r = self.data @ x - self.b
        return float(r @ r / 2 + self.tau * np.abs(z).sum())

    def original(self, x: np.ndarray) -> np.ndarray:
        x = x if self.basis is None else self.basis @ x
        return np.ldexp(x, -self.columns)

    def plain(self, step: Iterate) -> Triple:
        return step.x, self.A @ step.x, step.rho * step.u

    def finished(self, step: Iterate, settled: bool) -> Iterator[Triple]:
        """Yield the outcome of an active-set method that starts at the zeros and signs of z.

        Minimise over the x with F x = 0 in the rows of zeros, with the signs of the other rows. A row that would
        change its sign becomes a zero. At the minimum, the zero that violates |lambda_i| <= tau most is released.
        """
        if not settled:
            return
        F, tau = self.A, self.tau
        s, x = np.sign(step.z), step.x
        for k in range(2 + step.k // 20):
            zeros = s == 0
            U, sigma, Vt = linalg.svd(F[zeros], check_finite=False)
            rank = int(np.sum(sigma > max(F.shape) * EPS * sigma.max(initial=0.0)))
            null = Vt[rank:].T  # x = null w has F x = 0 in those rows
            if k == 0:
                x = null @ (null.T @ x)
                s = np.where(s * (F @ x) < 0, -s, s)
            slope = self.A_b - tau * (F.T @ s)
            H, g = null.T @ self.gram @ null, null.T @ (self.gram @ x - slope)
            move = null @ newton_step(H, g, 1e-11 * largest(slope), largest(x))
            part, left = first_zero(F @ x, F @ move, s)
            x = x + part * move
            s[left] = 0
            if left.size:
                continue
            lambda_ = tau * s
            guess = np.clip(step.rho * step.u[zeros], -tau, tau)
            rest = slope - self.gram @ x - F[zeros].T @ guess
            lambda_[zeros] = guess + U[:, :rank] @ ((Vt[:rank] @ rest) / sigma[:rank])
            j = int(np.abs(lambda_).argmax())
            if abs(lambda_[j]) <= tau * (1 + 1e-10):
                yield x, np.where(zeros, 0.0, F @ x), lambda_
                return
            s[j] = np.sign(lambda_[j])

    def certify(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, tol: float) -> Certificate:
        slack = self.tau * np.abs(z) - lambda_ * z
        F_x, terms = self.A @ x, np.abs(self.A) @ np.abs(x)
        rounding = EPS * self.tau * float(terms.sum())  # what F x = 0 may hide from a large tau
        size = np.abs(self.b) + np.abs(self.data) @ np.abs(x)
        total = max(self.objective(x, z), FLOOR * float(size @ size) / 2)
        # entry by entry: a column of small numbers has a small gradient wherever x is
        stationarity = np.abs(self.gram @ x - self.A_b + self.A.T @ lambda_)
        slope = np.abs(self.A).T @ np.abs(lambda_)
        slope = np.maximum(slope, SLOPE_FLOOR * (np.abs(self.data).T @ size))
        stationary = max(map(relative, stationarity, slope), default=0.0)
        over = relative(largest(lambda_) - self.tau, self.tau)
        return Certificate(
            primal_residual=relative(largest(F_x - z), largest(terms)),
            dual_residual=max(stationary, over),
            complementarity=relative(largest(slack), total),
            gap=relative(abs(self.tau * np.abs(F_x).sum() - lambda_ @ F_x) + rounding, total),
            tolerance=tol,
        )
