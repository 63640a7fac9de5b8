r"""The point of smallest l1-norm in an affine space: least absolute deviations and basis pursuit.

Both are one linear program. It minimises :math:`\|z\|_1` over an affine space with the directions V: the deviations
:math:`A x - b`, or the solutions of :math:`A z = b`. The dual variable :math:`\lambda` lies in :math:`V^\perp` and in
the cube :math:`\|\lambda\|_\infty \le 1`; at a solution :math:`\lambda^\top z = \|z\|_1`.

The text solves both by ADMM (the page of Section 16.8 does, step by step). Here the simplex method of HiGHS says which
entries of z are zero, two systems of equations give z and :math:`\lambda` to rounding, and their values prove them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from companion.admm.affine import AffineSet, as_data, back_substitute, orthonormal
from companion.admm.splitting import complain
from companion.arithmetic import ROUNDING, accurate_product, largest, linear_program
from companion.checks import as_scalar
from companion.engine.certificate import certify_terms, relative, rounding_of, rounding_of_a_sum
from companion.results import ADMMResult, Certificate, Problem

# Dense programs without a bound that could be left out: presolve finds nothing, and takes a third to half of the time.
_SIMPLEX: dict[str, Any] = {"method": "highs-ds", "options": {"presolve": False}}


def least_absolute_deviations(A: Any, b: Any, *, tol: float = 1e-8) -> ADMMResult:
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
    tol : float
        Tolerance of the certificate.

    Returns
    -------
    ADMMResult
        `x` is a solution, `z` its deviations ``A x - b`` with exact zeros where a row is fitted, ``rho * u`` the
        multiplier :math:`\lambda` (a dual solution).

    Warns
    -----
    ConvergenceWarning
        If the certificate misses `tol` (`converged` is then False): where the deviations are so small a part of their
        terms that rounding x to float64 changes their sum by more than `tol`, as of a noise below 1e-8 of the data.

    Raises
    ------
    ValueError, TypeError
        For input of the wrong shape, sign or kind.

    Notes
    -----
    Source: Section 16.8(1). The dual is: maximise :math:`-b^\top \lambda` subject to :math:`A^\top \lambda = 0`,
    :math:`\|\lambda\|_\infty \le 1`. The certificate measures its feasibility and the gap. The updates
    are those of the text; the solution comes from the simplex method, applied to the dual, which says which rows are
    fitted, and from two systems of equations, which fit them. ``n_iter`` counts the steps of the simplex method.

    Examples
    --------
    A single coefficient: the median, whatever the outlier is.

    >>> from companion.admm import least_absolute_deviations
    >>> result = least_absolute_deviations([[1], [1], [1]], [1, 2, 10])
    >>> result.x.round(6), result.z.round(6) + 0.0, result.certificate.ok
    (array([2.]), array([ 1.,  0., -8.]), True)
    """
    (A, b), tol = as_data(A, b), as_scalar(tol, "tol", above=0)
    (Q, R, kept), x, n_iter = orthonormal(A), np.zeros(A.shape[1]), 0
    data, one = np.c_[A, -b], np.ones(1)
    x[kept] = back_substitute(R, Q.T @ b)
    z, lambda_ = accurate_product(data, np.r_[x, one])[0], np.zeros_like(b)  # of least squares
    # A deviation of no more than rounding of its own terms is none: z = 0 there, and what is missed is reported.
    rows = np.sqrt(np.einsum("ij,ij->i", Q, Q))
    none = rounding_of_a_sum(kept.size) * (np.abs(b) + rows * float(np.linalg.norm(b)))
    z *= (np.abs(z) > none).any()
    if z.any() and kept.size:
        # the dual: minimise -z'lambda in the cube where Q'lambda = 0
        origin, unit = np.zeros(kept.size), float(np.abs(z).mean())
        found = linear_program(-z / unit, A_eq=Q.T, b_eq=origin, bounds=(-1, 1), **_SIMPLEX)
        z, lambda_, n_iter = found.lower.marginals + found.upper.marginals, found.x, int(found.nit)
        x[kept] += unit * back_substitute(R, found.eqlin.marginals)
    # the rows of zeros are fitted, b = A x there; a coefficient that cancels to rounding of its own terms is 0
    zero = z == 0
    inverse, rank = linalg.pinv(Q[zero], rtol=ROUNDING, return_rank=True, check_finite=False)
    inverse, x = back_substitute(R, inverse), x * (rank < kept.size)
    sizes = np.abs(x[kept]) + np.abs(inverse) @ np.abs(b[zero])
    for _ in range(2):
        x[kept] -= inverse @ accurate_product(data[zero], np.r_[x, one])[0]
    x[kept] = np.where(np.abs(x[kept]) > rounding_of(A.size) * sizes, x[kept], 0.0)
    fit, _, noise = accurate_product(data, np.r_[x, one])
    zero |= (np.abs(fit) <= none) | (lambda_ * fit < 0)
    z = np.where(zero, 0.0, fit)
    if z.any():  # if not, the value is 0, which no multiplier needs to prove
        lambda_ = np.where(zero, lambda_, np.sign(z))
        lambda_[zero] -= _nearest(Q[zero].T, Q.T @ lambda_)
    else:
        lambda_ = np.zeros_like(z)
    # |A x - b|_1 and -b'lambda differ by |f_i| - lambda_i f_i in each row, and by what Q'lambda and a lambda_i beyond 1
    # gain along A(x - x*), which is no longer than 2 |A x - b|_1
    terms, value = np.abs(A) @ np.abs(x) + np.abs(b), float(np.abs(fit).sum())
    lost, beyond = float(np.linalg.norm(Q.T @ lambda_)), max(largest(lambda_) - 1, 0.0)
    products = np.abs(fit) - lambda_ * fit
    gap = float(np.abs(products).sum()) + 2 * noise * b.size + (2 * lost + beyond) * value
    certificate = certify_terms(
        products, gap, value if z.any() else terms.sum(), tol, primal=relative(fit - z, terms),
        dual=max(beyond, largest(Q.T @ lambda_)),
    )  # fmt: skip
    given = Problem("least absolute deviations", {"A": A, "b": b})
    told = f"; A x - b is {relative(value, terms.sum()):.1e} of its terms, so that each rounding of x counts"
    return proved(x, z, lambda_, float(np.abs(z).sum()), n_iter, certificate, given, told)


def basis_pursuit(A: Any, b: Any, *, tol: float = 1e-8) -> ADMMResult:
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
    tol : float
        Tolerance of the certificate.

    Returns
    -------
    ADMMResult
        `x` (and `z`) is a solution with exact zeros, ``rho * u`` the multiplier :math:`\lambda = A^\top y`, y a dual
        solution.

    Warns
    -----
    ConvergenceWarning
        If the certificate misses `tol` (`converged` is then False).

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
    The certificate measures its feasibility and the gap. The updates are those of the text; the
    solution comes from the simplex method, which says which entries of x are not zero, and from :math:`A x = b`, solved
    for these. ``n_iter`` counts the steps of the simplex method.

    Examples
    --------
    >>> from companion.admm import basis_pursuit
    >>> result = basis_pursuit([[1, 2]], [2])
    >>> result.x.round(6), round(result.objective, 6), result.certificate.ok
    (array([0., 1.]), 1.0, True)
    """
    (A, b), tol = as_data(A, b), as_scalar(tol, "tol", above=0)
    C = AffineSet(A, b)
    Q, x, n_iter = C.Q, C.shortest.copy(), 0
    y = np.zeros(Q.shape[1])
    if Q.size and x.any():
        one, unit = np.ones(2 * x.size), float(np.abs(x).mean())
        found = linear_program(one, A_eq=np.hstack([Q.T, -Q.T]), b_eq=Q.T @ x / unit, **_SIMPLEX)
        x, y = unit * np.subtract(*np.split(found.x, 2)), found.eqlin.marginals
        n_iter = int(found.nit)
        S = x != 0
        x[S] -= _nearest(Q[S].T, Q.T @ x - C.d)
        x[np.abs(x) <= ROUNDING * largest(x)] = 0
        S = x != 0
        y = y - _nearest(Q[S], Q[S] @ y - np.sign(x[S]))
    # |x|_1 and b'nu: what divides them is |x_i| - (A'nu)_i x_i, and the residual of A x = b times nu
    nu = np.zeros_like(C.b)
    nu[C.kept] = back_substitute(C.R, y)
    lambda_, slope, miss = Q @ y, C.rows.T @ nu, np.abs(C.rows @ x - C.b)
    terms = np.abs(C.rows) @ np.abs(x) + np.abs(C.b)
    products = np.abs(x) - slope * x
    gap = float(np.abs(products).sum() + np.abs(nu) @ (miss + rounding_of_a_sum(x.size) * terms))
    certificate = certify_terms(
        products, gap, float(np.abs(x).sum()), tol, primal=relative(miss, terms),
        dual=max(largest(slope) - 1, largest(lambda_ - slope), 0.0),
    )  # fmt: skip
    given = Problem("basis pursuit", {"A": A, "b": b})
    return proved(x, x, lambda_, float(np.abs(x).sum()), n_iter, certificate, given)


def _nearest(M: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return the shortest d that makes |M d - r| smallest."""
    return linalg.lstsq(M, r, cond=ROUNDING, lapack_driver="gelsy", check_finite=False)[0]


def proved(
    x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, value: float, n_iter: int, certificate: Certificate,
    given: Problem, advice: str = "",
) -> ADMMResult:  # fmt: skip
    """Return the result for rho = 1, and warn if it is not proved."""
    if not certificate.ok:
        complain(f"no certified solution: {certificate}{advice}")
    status = "converged" if certificate.ok else "inaccurate"
    return ADMMResult(
        x, z, lambda_, 1.0, value, certificate, status=status, n_iter=n_iter, problem=given
    )
