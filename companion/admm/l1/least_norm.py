r"""The point of smallest l1-norm in an affine space: least absolute deviations and basis pursuit.

Both are one linear program. It minimises :math:`\|z\|_1` over an affine space with the directions V: the deviations
:math:`A x - b`, or the solutions of :math:`A z = b`. The dual variable :math:`\lambda` lies in :math:`V^\perp` and in
the cube :math:`\|\lambda\|_\infty \le 1`; at a solution :math:`\lambda^\top z = \|z\|_1`.

The simplex method of HiGHS guesses which entries of z are zero, before ADMM does.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import linalg

from companion.admm.affine import AffineSet, back_substitute, orthonormal
from companion.admm.l1.problem import L1Problem, Triple, solve
from companion.admm.losses import rows_of
from companion.admm.proximal import soft_threshold
from companion.admm.splitting import Iterate
from companion.arithmetic import largest, linear_program, ratio
from companion.checks import as_matrix, as_vector
from companion.engine.certificate import certify_terms, rounding_of_a_sum
from companion.results import ADMMResult, Certificate, Problem

__all__ = ["basis_pursuit", "least_absolute_deviations"]

# Dense programs without a bound that could be left out: presolve finds nothing, and takes a third to half of the time.
SIMPLEX: dict[str, Any] = {"method": "highs-ds", "options": {"presolve": False}}


class LeastNorm(L1Problem):
    """Minimise |z|_1 over an affine space."""

    first_check = 1
    Q: np.ndarray  # orthonormal columns: the directions are their span, or its complement
    shortest: np.ndarray  # the z of smallest 2-norm

    def z_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return S_{1/rho}(-v)."""
        return soft_threshold(-v, 1 / rho)

    def objective(self, x: np.ndarray, z: np.ndarray) -> float:
        """Return |z|_1."""
        return float(np.abs(z).sum())

    @abstractmethod
    def vertex(self, shortest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a z and a multiplier from the linear program, the unit being that of this z of smallest 2-norm."""

    def guesses(self, step: Iterate) -> Iterator[Triple]:
        """Yield a vertex at first, later the iterate."""
        if not (self.Q.size and self.shortest.any()):  # no choice, or the solution is 0
            yield step.x, self.shortest, 0 * self.shortest
        elif step.k == 1:
            unit = float(np.abs(self.shortest).mean())
            z, lambda_ = self.vertex(self.shortest / unit)
            yield step.x, unit * z, lambda_
        yield from super().guesses(step)


class _LeastAbsolute(LeastNorm):
    """Minimise |z|_1 subject to A x - z = b."""

    def vertex(self, shortest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Minimise -shortest'lambda in the cube where Q'lambda = 0; the z are its reduced costs."""
        zero = np.zeros(self.kept.size)
        found = linear_program(-shortest, A_eq=self.Q.T, b_eq=zero, bounds=(-1, 1), **SIMPLEX)
        return -(found.lower.marginals + found.upper.marginals), found.x

    def x_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return (A'A)^{-1} A'v from A = QR."""
        return self._coefficients(self.Q.T @ v)

    def __init__(self, A: np.ndarray, b: np.ndarray) -> None:
        self.A, self.b, self.c = A, b, b
        self.Q, self.R, self.kept = orthonormal(A)
        self.shortest = self.Q @ (self.Q.T @ b) - b  # the deviations of the least squares fit
        # A deviation of no more than rounding of its own terms is none: z = 0 there, and what is missed is reported.
        rows = np.sqrt(np.einsum("ij,ij->i", self.Q, self.Q))
        unit = rounding_of_a_sum(self.kept.size)
        self.zero = unit * (np.abs(b) + rows * float(np.linalg.norm(b)))
        self.shortest[np.abs(self.shortest) <= self.zero] = 0
        # The threshold 1 / rho separates the rows that are fitted from the others: guess it by
        # the least squares fit, as the size of its 2 rank smallest deviations.
        deviations = np.sort(np.abs(self.shortest))
        middle = deviations[min(2 * self.kept.size, b.size - 1)]
        self.rho = 1 / (middle + largest(self.zero) or 1.0)

    def finished(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, k: int) -> Triple:
        """Move z along Q until its rows of zeros vanish, and lambda in these rows until Q'lambda = 0."""
        w, zero = self.Q.T @ (z + self.b), z == 0
        for _ in range(2):
            w = w - nearest(self.Q[zero], self.Q[zero] @ w - self.b[zero])
        z = self.Q @ w - self.b
        z[zero | (np.abs(z) <= self.zero)] = 0
        if not z.any():  # every row is fitted: the value is 0, which no multiplier needs to prove
            return self._coefficients(w), z, np.zeros_like(z)
        lambda_ = np.where(z == 0, lambda_, np.sign(z))
        lambda_[z == 0] -= nearest(self.Q[z == 0].T, self.Q.T @ lambda_)
        return self._coefficients(w), z, lambda_

    def _coefficients(self, w: np.ndarray) -> np.ndarray:
        """Return the x with A x = Q w that is 0 where a column depends on the others."""
        x = np.zeros(self.A.shape[1])
        x[self.kept] = back_substitute(self.R, w)
        return x

    def certify(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, tol: float) -> Certificate:
        """Compare |z|_1 with -b'lambda: what divides them is |z_i| - lambda_i z_i, and what the constraints miss.

        These are z = A x - b, in which rounding counts, too, times lambda; and A'lambda = 0, times x.
        """
        fit, lost = self.A @ x, self.Q.T @ lambda_
        terms, miss = np.abs(self.A) @ np.abs(x) + np.abs(self.b), np.abs(fit - self.b - z)
        dual = max(largest(lambda_) - 1, largest(lost), 0.0)
        rest = float(np.abs(lambda_) @ (miss + rounding_of_a_sum(x.size) * terms))
        rest += float(np.abs(lost) @ np.abs(self.Q.T @ fit))
        slack, primal = np.abs(z) - lambda_ * z, largest(ratio(miss, terms))
        return certify_terms(slack, rest, self.objective(x, z), tol, primal=primal, dual=dual)


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
    of ADMM the simplex method proposes which rows are fitted, later ADMM does; the exact finish fits them.

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


class _BasisPursuit(LeastNorm):
    """Minimise |z|_1 subject to x in C and x - z = 0; C, where A x = b, is where Q'x = d."""

    def vertex(self, shortest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Minimise the sum of z+ and z- where Q'(z+ - z-) is Q'shortest."""
        Q, one = self.Q.T, np.ones(2 * len(self.Q))
        found = linear_program(one, A_eq=np.hstack([Q, -Q]), b_eq=Q @ shortest, **SIMPLEX)
        return np.subtract(*np.split(found.x, 2)), self.Q @ found.eqlin.marginals

    def x_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return the projection of v onto C."""
        return self.set.project(v)

    def __init__(self, A: np.ndarray, b: np.ndarray) -> None:
        self.set = AffineSet(A, b)
        self.Q, self.shortest, self.c = self.set.Q, self.set.shortest, np.zeros(A.shape[1])
        self.rho = self.c.size / float(np.abs(self.shortest).sum()) if self.shortest.any() else 1.0

    def finished(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, k: int) -> Triple:
        """Move the other entries of z until Q'z = d, and lambda = Q y until it is sign z there."""
        x, S = z.copy(), z != 0
        x[S] -= nearest(self.Q[S].T, self.Q.T @ x - self.set.d)
        x[np.abs(x) <= 1e-12 * largest(x)] = 0  # rounding
        S, y = np.flatnonzero(x), self.Q.T @ lambda_
        lambda_ = self.Q @ (y - nearest(self.Q[S], self.Q[S] @ y - np.sign(x[S])))
        return x, x, lambda_

    def certify(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, tol: float) -> Certificate:
        """Compare |x|_1 with b'nu, A'nu = lambda: what divides them is |x_i| - lambda_i x_i, and nu'(A x - b)."""
        C, nu = self.set, np.zeros_like(self.set.b)
        nu[C.kept] = back_substitute(C.R, self.Q.T @ lambda_)
        slope, miss = C.rows.T @ nu, np.abs(C.rows @ x - C.b)
        terms = np.abs(C.rows) @ np.abs(x) + np.abs(C.b)
        dual = max(largest(slope) - 1, largest(lambda_ - slope), 0.0)
        rest = float(np.abs(nu) @ (miss + rounding_of_a_sum(x.size) * terms))
        slack, primal = np.abs(x) - slope * x, largest(ratio(miss, terms))
        return certify_terms(slack, rest, self.objective(x, x), tol, primal=primal, dual=dual)


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
    The certificate measures its feasibility and the gap. After the first step of ADMM the simplex
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


def nearest(M: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return the shortest d that makes |M d - r| smallest."""
    return linalg.lstsq(M, r, lapack_driver="gelsy", check_finite=False)[0]
