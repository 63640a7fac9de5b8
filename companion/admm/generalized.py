"""The generalised lasso: a penalty on |F x|_1."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import null_space

from companion.admm.affine import as_data, lengths
from companion.admm.least_norm import proved
from companion.arithmetic import EPS, ROUNDING, exact_product, largest
from companion.checks import as_matrix, as_scalar
from companion.engine.certificate import (
    BoxProgram,
    certify_squares,
    relative,
    rounding_of,
    rounding_of_a_fit,
    rounding_of_a_sum,
)
from companion.engine.quadratic import solve_box
from companion.results import ADMMResult, Certificate, Problem


def generalized_lasso(A: Any, b: Any, F: Any, tau: float, *, tol: float = 1e-8) -> ADMMResult:
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
    tol : float
        Tolerance of the certificate.

    Returns
    -------
    ADMMResult
        `x` is the solution, `z` is F x with exact zeros, ``rho * u`` the multiplier :math:`\lambda`.

    Warns
    -----
    ConvergenceWarning
        If the certificate misses `tol` (`converged` is then False).

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

    The updates are those of the text; the solution comes from the dual program, whose variables :math:`\lambda` are in
    a box: it is a quadratic program as those of :func:`solve_qp`, whose iterations ``n_iter`` counts. Where F x = 0,
    every tau above the largest :math:`|\lambda_i|` has this solution. A tau far above it enlarges the rounding of F x:
    then the certificate may fail, and the warning names a tau that is enough.

    Examples
    --------
    >>> from companion.admm import generalized_lasso
    >>> result = generalized_lasso([[1, 0], [0, 1]], [0, 3], [[-1, 1]], tau=1)
    >>> result.x.round(6), result.z.round(6), result.certificate.ok
    (array([1., 2.]), array([1.]), True)
    """
    A, b = as_data(A, b)
    F = as_matrix(F, "F", (None, A.shape[1]))
    tau, tol = as_scalar(tau, "tau", at_least=0), as_scalar(tol, "tol", above=0)
    given = Problem("generalized lasso", {"A": A, "b": b, "F": F, "tau": tau})
    # with columns of length near 1, small is rounding; powers of two change no digit
    unit = np.exp2(np.round(np.log2(lengths(np.vstack([A, F])))))
    A, F = A / unit, F / unit
    weight = float(np.linalg.norm(A) / (np.linalg.norm(F) or 1.0)) or 1.0
    R = np.linalg.qr(np.vstack([A, weight * F]), mode="r")
    idle = null_space(R)  # A d = 0, F d = 0: x has no part there
    # With A = U S V' and the null space N of A: minimise |U'b - S^{-1} V'F'lambda|^2 subject to N'F'lambda = 0 and
    # |lambda_i| <= tau. The multipliers of the box are F x, and -N'x those of the equations. The variables are
    # lambda / tau: where tau is tiny, the equations would drown beside rounding of the rest.
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    rank = int(np.sum(s > max(A.shape) * EPS * s.max(initial=0.0)))
    V, U, N = Vt[:rank].T / s[:rank], U[:, :rank], null_space(np.vstack([Vt[:rank], idle.T]))
    G, U_b, most, nothing = F @ V, U.T @ b, np.ones(len(F)), np.zeros(N.shape[1])
    dual = solve_box(BoxProgram(tau * (G @ G.T), -(G @ U_b), (F @ N).T, nothing, -most, most))
    lambda_ = tau * dual.x
    x, sizes = V @ (U_b - G.T @ lambda_) - N @ dual.y, np.abs(U_b) + np.abs(G).T @ np.abs(lambda_)
    terms = np.abs(V) @ sizes + np.abs(N) @ np.abs(dual.y)
    x[np.abs(x) <= rounding_of(b.size + len(F)) * terms] = 0.0  # what cancels to rounding
    zero, size = dual.z_upper == dual.z_lower, float(np.linalg.norm(b))

    def judged(x: np.ndarray) -> tuple[Certificate, np.ndarray, np.ndarray, float]:
        """Return the certificate of x, x itself, F x with exact zeros, and the objective.

        With delta for the distance of b - A x from the nearest residual r with A'r = F'lambda, and solutions that are
        no longer than x in N, the gap is at most
        delta^2 / 2 + sum_i (tau |f_i'x| - lambda_i f_i'x) + 2 |N'F'lambda| |N'x|.
        Each term of the sum is convex in f_i'x, so its largest value within the rounding is at an end.
        """
        residual, at = b - A @ x, exact_product(F, x)
        z = np.where(zero, 0.0, at)
        value = float(residual @ residual / 2 + tau * np.abs(z).sum())
        terms, fits = np.abs(F) @ np.abs(x), np.abs(A) @ np.abs(x)
        slack = tau * np.abs(at) - lambda_ * at
        slack = np.maximum(slack, 0.0) + 2.0 * tau * EPS * np.abs(at)
        left, length = N.T @ (F.T @ lambda_), float(np.linalg.norm(lambda_))
        beyond = 2.0 * float(np.linalg.norm(left) * np.linalg.norm(N.T @ x))
        delta = float(np.linalg.norm(U.T @ residual - G.T @ lambda_))
        delta += rounding_of_a_fit(size, x, lengths(A))
        delta += rounding_of_a_sum(z.size) * float(np.linalg.norm(G)) * length
        # each column's own A'A x - A'b + F'lambda = 0 beside its terms: a small column counts as well
        beside = np.abs(F).T @ np.abs(lambda_) + np.abs(A).T @ (np.abs(b) + fits)
        stationary = relative(A.T @ residual - F.T @ lambda_, beside), relative(delta, size)
        certificate = certify_squares(
            delta, slack, value, size, tol, missed=beyond, primal=relative(at - z, terms),
            dual=max(*stationary, relative(left, length + weight * size)),
        )  # fmt: skip
        return certificate, x, z, value

    found = judged(x)
    if not found[0].ok:  # on a grid, equal entries of x / unit are equal
        step = np.exp2(np.ceil(np.log2(ROUNDING * max(largest(x), size, 1e-300))))
        grid = step * unit / unit.max()
        found = judged(np.round(x / grid) * grid)
    certificate, x, z, value = found
    enough = f"; every tau above {1.01 * largest(lambda_):.3g} has this solution"
    advice = enough if zero.all() else ""
    return proved(x / unit, z, lambda_, value, dual.n_iter, certificate, given, advice)
