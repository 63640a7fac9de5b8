"""The generalised lasso: a penalty on |F x|_1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import linalg

from companion.admm.affine import lengths
from companion.admm.l1.problem import L1Problem, Triple, solve
from companion.admm.losses import factored, rows_of
from companion.admm.proximal import soft_threshold
from companion.arithmetic import EPS, exact_product, largest, ratio
from companion.checks import as_matrix, as_scalar, as_vector
from companion.engine.certificate import (
    BoxProgram,
    certify_squares,
    relative_distance,
    rounding_of_a_fit,
    rounding_of_a_sum,
)
from companion.engine.quadratic import solve_box
from companion.results import ADMMResult, Certificate, Problem

__all__ = ["generalized_lasso"]

# Part of a row's largest entry below which elimination has left nothing but rounding.
_VANISHED = 1e-9
_DIGITS = 48  # bits of a free entry: 5 of the 53 are left for sums of its multiples


class _GeneralizedLasso(L1Problem):
    """Minimise 1/2 |A x - b|^2 + tau |z|_1 subject to F x - z = 0."""

    _factor: tuple[float, Any] = (np.nan, None)

    def x_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return (A'A + rho F'F)^{-1} (A'b + rho F'v)."""
        if self._factor[0] != rho:
            self._factor = rho, factored(self.gram + rho * self.F_F)
        right = self.A_b + rho * (self.A.T @ v)
        return linalg.cho_solve(self._factor[1], right, check_finite=False)

    def z_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        return soft_threshold(-v, self.tau / rho)

    def __init__(self, A: np.ndarray, b: np.ndarray, F: np.ndarray, tau: float) -> None:
        # with columns of length near 1, small is rounding; powers of two change no digit
        self.sizes = np.exp2(np.round(np.log2(lengths(np.vstack([A, F])))))
        A, F = A / self.sizes, F / self.sizes
        weight = float(np.linalg.norm(A) / (np.linalg.norm(F) or 1.0)) or 1.0
        idle = _null_space(np.vstack([A, weight * F]))  # A d = 0, F d = 0: x has no part there
        self.data, self.b, self.A, self.tau = A, b, F, tau
        self.c, self.rho = np.zeros(F.shape[0]), weight**2
        self.gram, self.A_b, self.F_F = A.T @ A, A.T @ b, F.T @ F
        self.gram += (float(np.trace(self.gram)) or 1.0) * (idle @ idle.T)
        U, s, Vt = np.linalg.svd(A, full_matrices=False)
        rank = int(np.sum(s > max(A.shape) * EPS * s.max(initial=0.0)))
        self.V, self.U = Vt[:rank].T / s[:rank], U[:, :rank]
        self.N = _null_space(np.vstack([Vt[:rank], idle.T]))
        self.U_b, self.columns = self.U.T @ b, lengths(A)
        self.G = F @ self.V

    def objective(self, x: np.ndarray, z: np.ndarray) -> float:
        r = self.data @ x - self.b
        return float(r @ r / 2 + self.tau * np.abs(z).sum())

    def original(self, x: np.ndarray) -> np.ndarray:
        return x / self.sizes

    def useful(self, z: np.ndarray, lambda_: np.ndarray) -> float:
        return np.inf if z.any() or 2.0 * largest(lambda_) > self.tau else largest(lambda_)

    def finished(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, k: int) -> Triple:
        """Solve the dual in the box |lambda_i| <= tau, from the guess of ADMM.

        With A = U S V' and the null space N of A it is to minimise |U'b - S^{-1} V'F'lambda|^2 subject to
        N'F'lambda = 0. The multipliers of the box are F x, and -N'x those of the equations.
        """
        nothing, most = np.zeros(self.N.shape[1]), np.full(z.size, self.tau)
        guess = np.clip(lambda_, -most, most), -(self.N.T @ x)
        P, q, A = self.G @ self.G.T, -(self.G @ self.U_b), (self.A @ self.N).T
        dual = solve_box(BoxProgram(P, q, A, nothing, -most, most), guess=guess)
        x = self.V @ (self.U_b - self.G.T @ dual.x) - self.N @ dual.y
        zero = dual.z_upper == dual.z_lower
        x = _on_rows(self.A[zero], x)
        return x, np.where(zero, 0.0, self.A @ x), dual.x

    def certify(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, tol: float) -> Certificate:
        r"""Prove x by lambda, and the residual that is nearest to b - A x among those with A'r = F'lambda.

        With :math:`\delta` for the distance of the two residuals, and solutions that are no longer than x in the null
        space N of A, the gap is at most

        .. math:: \tfrac12 \delta^2 + \sum_i \bigl( \tau |f_i^\top x| - \lambda_i f_i^\top x \bigr)
            + 2 |N^\top F^\top \lambda| |N^\top x| .

        Each term of the sum is convex in :math:`f_i^\top x`, so its largest value within the rounding is at an end. In
        rows where z is 0 the product is computed exactly where its rounding counts. A multiplier above tau is scaled.
        """
        residual, size = self.b - self.data @ x, float(np.linalg.norm(self.b))
        over = ratio(max(largest(lambda_) - self.tau, 0.0), self.tau)
        lambda_ = lambda_ / (1.0 + over)
        terms, fits = np.abs(self.A) @ np.abs(x), np.abs(self.data) @ np.abs(x)
        error, at, zero = rounding_of_a_sum(x.size) * terms, self.A @ x, z == 0.0
        value = self.objective(x, z)
        if self.tau * float(error[zero].sum()) > 1e-3 * tol * value:
            at[zero], error[zero] = exact_product(self.A[zero], x), 0.0
        ends = (self.tau * np.abs(t) - lambda_ * t for t in (at - error, at + error))
        slack = np.maximum(np.maximum(*ends), 0.0)
        left = self.N.T @ (self.A.T @ lambda_)
        apart = 2.0 * float(np.linalg.norm(left) * np.linalg.norm(self.N.T @ x))
        rounding = rounding_of_a_fit(size, x, self.columns)
        length = float(np.linalg.norm(lambda_))
        rounding += rounding_of_a_sum(z.size) * float(np.linalg.norm(self.G)) * length
        delta = float(np.linalg.norm(self.U.T @ residual - self.G.T @ lambda_)) + rounding
        # each column's own stationarity, A'A x - A'b + F'lambda = 0, beside its terms: a small column counts as well
        beside = np.abs(self.A).T @ np.abs(lambda_) + np.abs(self.data).T @ (np.abs(self.b) + fits)
        missed = ratio(np.abs(self.data.T @ residual - self.A.T @ lambda_), beside)
        hidden, slack = apart + float(slack[zero].sum()), slack[~zero]
        if slack.size:  # f* is positive, and what is hidden is measured by it
            slack, hidden = np.append(slack, max(hidden, math.ulp(0.0))), 0.0
        return certify_squares(
            delta, slack, value, size, tol, missed=hidden,
            primal=largest(ratio(np.abs(at - z), terms)),
            dual=max(over, largest(missed), relative_distance(delta, size),
                     ratio(largest(left), length + math.sqrt(self.rho) * size)),
        )  # fmt: skip


def _null_space(M: np.ndarray) -> np.ndarray:
    """Return orthonormal columns that span the null space of M, up to rounding."""
    _, s, Vt = np.linalg.svd(M, full_matrices=True)
    return Vt[int(np.sum(s > max(M.shape) * EPS * s.max(initial=0.0))) :].T


def _on_rows(F: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return a point next to x with F x = 0, exactly if the rows of F are differences of any order.

    Each row gives its last entry by those before, which are free and rounded to a few digits less: sums of small
    multiples of them are exact. For other rows nothing is gained, and x is returned.
    """
    E, pivots = F.copy(), []
    for i, row in enumerate(E):
        there = np.flatnonzero(np.abs(row) > _VANISHED * largest(F[i]))
        if there.size:
            j = int(there[-1])
            row /= row[j]
            others = np.flatnonzero(E[:, j])
            others = others[others != i]
            E[others] -= np.outer(E[others, j], row)
            pivots.append((i, j))
    rows, columns = np.array(pivots, dtype=int).reshape(-1, 2).T
    new = x.copy()
    new[columns] = 0.0
    peak = max(float((np.abs(E[rows]) @ np.abs(new)).max(initial=0.0)), largest(x), 1e-300)
    grid = np.exp2(np.ceil(np.log2(peak)) - _DIGITS)
    new = np.round(new / grid) * grid
    new[columns] = -(E[rows] @ new)
    before, after = (np.abs(exact_product(F, point)).sum() for point in (x, new))
    return new if after < before else x


def generalized_lasso(
    A: Any, b: Any, F: Any, tau: float, *, adaptive: bool = True, **options: Any
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
    **options
        As for :func:`lasso`: `rho`, `relaxation`, `tol`, `max_iter`, and those of
        :func:`companion.admm.admm`.
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
    given = Problem("generalized lasso", {"A": A, "b": b, "F": F, "tau": tau})
    return solve(_GeneralizedLasso(A, b, F, tau), given, adaptive=adaptive, **options)
