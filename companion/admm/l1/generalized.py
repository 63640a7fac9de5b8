"""The generalised lasso: a penalty on |F x|_1."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import linalg

from companion.admm.affine import lengths
from companion.admm.l1.problem import L1Problem, Triple, solve
from companion.admm.losses import factored, rows_of
from companion.admm.proximal import soft_threshold
from companion.checks import as_matrix, as_scalar, as_vector
from companion.engine.arithmetic import EPS, largest, ratio
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


class _GeneralizedLasso(L1Problem):
    """Minimise 1/2 |A x - b|^2 + tau |z|_1 subject to F x - z = 0, for x in the span of the rows of A and F."""

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
        self.sizes = lengths(np.vstack([A, F]))  # with columns of length 1, small is rounding
        A, F = A / self.sizes, F / self.sizes
        weight = float(np.linalg.norm(A) / (np.linalg.norm(F) or 1.0)) or 1.0
        _, s, Vt = np.linalg.svd(np.vstack([A, weight * F]), full_matrices=False)
        rank = int(np.sum(s > max(A.shape + F.shape) * EPS * s.max(initial=0.0)))
        self.basis = np.eye(A.shape[1])
        if rank < A.shape[1]:  # a direction with A d = 0, F d = 0 changes nothing: leave it out
            self.basis = Vt[:rank].T
            A, F = A @ self.basis, F @ self.basis
        self.data, self.b, self.A, self.tau = A, b, F, tau
        self.c, self.rho = np.zeros(F.shape[0]), weight**2
        self.gram, self.A_b, self.F_F = A.T @ A, A.T @ b, F.T @ F
        U, s, Vt = np.linalg.svd(A, full_matrices=A.shape[0] < A.shape[1])
        rank = int(np.sum(s > max(A.shape) * EPS * s.max(initial=0.0)))
        self.V, self.N, self.U = Vt[:rank].T / s[:rank], Vt[rank:].T, U[:, :rank]
        self.U_b, self.columns = self.U.T @ b, lengths(A)
        self.G = F @ self.V

    def objective(self, x: np.ndarray, z: np.ndarray) -> float:
        r = self.data @ x - self.b
        return float(r @ r / 2 + self.tau * np.abs(z).sum())

    def original(self, x: np.ndarray) -> np.ndarray:
        return (self.basis @ x) / self.sizes

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
        return x, dual.z_upper - dual.z_lower, dual.x

    def hidden(self, x: np.ndarray, z: np.ndarray, enough: float) -> float:
        """Return how far F x is from z, rounding included: 0 where x has equal neighbours and F takes differences."""
        most = rounding_of_a_sum(x.size) * float((np.abs(self.A) @ np.abs(x)).sum())
        if most <= 1e-3 * enough or self.A.size > 10_000:
            return most
        exact = [
            [Fraction(f) * Fraction(t) for f, t in zip(row, x.tolist()) if f]
            for row in self.A.tolist()
        ]
        return float(sum(abs(sum(row) - Fraction(at)) for row, at in zip(exact, z.tolist())))

    def certify(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, tol: float) -> Certificate:
        r"""Prove x and z = F x by lambda, and the residual that is nearest to b - A x among those with A'r = F'lambda.

        With :math:`\delta` for the distance of the two residuals, the gap is

        .. math:: \tfrac12 \delta^2 + (\tau |z|_1 - \lambda^\top z) + \lambda^\top (z - F x)
            + (N^\top F^\top \lambda)^\top N^\top x .

        No term grows with tau where z = 0. The last two are rounding, and count as a part of the distance.
        """
        residual, size = self.b - self.data @ x, float(np.linalg.norm(self.b))
        length = float(np.linalg.norm(lambda_))
        terms, miss = np.abs(self.A) @ np.abs(x), np.abs(self.A @ x - z)
        off = self.U.T @ residual - self.G.T @ lambda_
        rounding = rounding_of_a_fit(size, x, self.columns)
        rounding += rounding_of_a_sum(z.size) * float(np.linalg.norm(self.G)) * length
        left = self.N.T @ (self.A.T @ lambda_)
        apart = float(np.abs(lambda_) @ (miss + rounding_of_a_sum(x.size) * terms))
        apart += float(np.abs(left) @ np.abs(self.N.T @ x))
        hidden = self.tau * self.hidden(x, z, tol * size * size / max(self.tau, 1e-300))
        apart += hidden if hidden > tol * size * size else 0.0  # less is the rounding of x itself
        delta = float(np.linalg.norm(off)) + rounding
        slack = np.maximum(self.tau * np.abs(z) - lambda_ * z, 0.0)
        over = ratio(max(largest(lambda_) - self.tau, 0.0), self.tau)
        # each column's own stationarity, A'r = F'lambda, beside its terms: a small column counts as any other
        beside = np.abs(self.A).T @ np.abs(lambda_) + np.abs(self.data).T @ np.abs(residual)
        reach = np.abs(self.data).T @ (np.abs(self.b) + np.abs(self.data) @ np.abs(x))
        missed = np.abs(self.data.T @ residual - self.A.T @ lambda_)
        missed = np.maximum(missed - rounding_of_a_sum(self.b.size + x.size) * reach, 0.0)
        over = max(over, largest(ratio(missed, beside)))
        return certify_squares(
            math.hypot(delta, math.sqrt(2.0 * apart)), slack, self.objective(x, z), size, tol,
            primal=largest(ratio(miss, terms)),
            dual=max(over, relative_distance(delta, size), ratio(largest(left), length + math.sqrt(self.rho) * size)),
        )  # fmt: skip


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
        As for :func:`lasso`: `rho`, `relaxation`, `tol`, `max_iter`, `warm_start`, and those of
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
