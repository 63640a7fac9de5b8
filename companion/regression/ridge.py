r"""Ridge regression, with or without an intercept: programs RR1, RR2, RR3 = RR6' and RR3b.

All of them minimise

.. math:: \|\xi\|_2^2 + K \|w\|_2^2 \; [\, + K b^2 \,] \quad \text{subject to} \quad y - Xw - b\mathbf 1 = \xi .

A free b centres the data (:mod:`companion.regression.intercept`), a penalized one is the weight of one more column of
ones: RR3b is RR2 for the matrix :math:`[X\ \mathbf 1]`. What is left is one linear system.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from companion.arithmetic import EPS
from companion.checks import as_scalar, as_vector, as_weights, check_range
from companion.engine.certificate import (
    certify_squares,
    relative,
    relative_step,
    rounding_of_a_fit,
    rounding_of_a_sum,
)
from companion.exceptions import complain
from companion.regression.intercept import Shifted, shift
from companion.regression.regressor import Regressor, as_data
from companion.results import FEW_DIGITS, TOLERANCE, Certificate, Record

# Below this fraction of ||X||^2 the singular values are taken. Above it Cholesky errs by eps/1e-11 = 2e-5 of w, and the
# step of refinement squares that: 5e-10 is below the tolerance.
_SMALL_K = 1e-11


class RidgeRegression(Regressor):
    r"""Least squares with a penalty on the squared norm of the weights.

    .. math:: & \min_{w, b, \xi} \; \|\xi\|_2^2 + K \|w\|_2^2 \\
        & \text{subject to} \quad y - Xw - b\mathbf 1 = \xi

    with b = 0 (``intercept="none"``), b free (``"free"``), or the further term :math:`K b^2` in the objective
    (``"penalized"``). The dual problem is

    .. math:: & \min_\alpha \; \alpha^\top (XX^\top + K I_m)\, \alpha - 2 \alpha^\top y, \\
        & \mathbf 1^\top \alpha = 0 \text{ when b is free,}

    and :math:`w = X^\top \alpha`, :math:`\xi = K \alpha`.

    Parameters
    ----------
    K : float
        The penalty, >= 0. K = 0 gives the least-squares solution of smallest norm, :math:`X^+ y`, which is the limit
        for K -> 0.
    intercept : {"free", "none", "penalized"}
        What happens to b: programs RR3, RR2 and RR3b.

    Attributes
    ----------
    w_ : ndarray of shape (n,)
        Weights. Also ``coef_``.
    b_ : float
        Intercept. Also ``intercept_``. For a free b it is the multiplier :math:`\mu` of
        :math:`\mathbf 1^\top \alpha = 0` (Proposition 19.2), for a penalized one :math:`\mathbf 1^\top \alpha`.
    alpha_ : ndarray of shape (m,)
        Dual variables, :math:`w = X^\top \alpha`. For K = 0 the ones of smallest norm.
    xi_ : ndarray of shape (m,)
        Residuals :math:`y - Xw - b\mathbf 1`.
    objective_ : float
        The minimum.
    solver_ : str
        What was solved: ``"primal"``, the n x n system :math:`(X^\top X + K I) w = X^\top y`, or ``"dual"``, the m x m
        system :math:`(XX^\top + K I)\alpha = y`, whichever is smaller, both by Cholesky and one step of refinement; or
        ``"svd"``, which needs neither product, when K is tiny.
    certificate_ : Certificate
        Residuals and duality gap on the data as given.
    n_features_in_ : int
        n.

    Raises
    ------
    ValueError
        If K < 0, or an option is unknown.

    Warns
    -----
    ConvergenceWarning
        If the certificate is not good, or w has fewer than seven digits: where columns are nearly dependent and K is
        tiny, the fit is right and w may not be. Columns that are dependent up to rounding count as dependent.

    Notes
    -----
    Source: Sections 19.1 and 19.2, programs RR1, RR2, RR3, DRR3, RR6', RR3b. RR3 and RR6' have the same solution, which
    the text leaves open: for fixed w the best b is :math:`\bar y - \bar x^\top w`, and with it RR3 is RR6' literally.
    The Gram matrix of RR3b is :math:`[X\ \mathbf 1][X\ \mathbf 1]^\top = XX^\top + \mathbf 1\mathbf 1^\top`, not the
    product with the transpose in front that is printed there.

    Examples
    --------
    Example 19.1 with K = 5, and Example 19.2.

    >>> X = [[-10, 11], [-6, 5], [-2, 4], [0, 0], [1, 2], [2, -5], [6, -4], [10, -6]]
    >>> y = [0, -2.5, 0.5, -2, 2.5, -4.2, 1, 4]
    >>> model = RidgeRegression(K=5).fit(X, y)
    >>> model.w_.round(4), round(model.b_, 4), model.certificate_.ok
    (array([0.9207, 0.8678]), -0.9619, True)
    >>> model = RidgeRegression(K=0.01, intercept="penalized").fit(X, y)
    >>> model.w_.round(4), round(model.b_, 4)
    (array([1.1706, 1.1401]), -1.2299)
    """

    def __init__(self, K: float = 1.0, *, intercept: str = "free") -> None:
        self.K = K
        self.intercept = intercept

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        r"""Solve the program.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Points.
        y : array-like of shape (m,)
            Values.
        sample_weight : array-like of shape (m,), optional
            Weights :math:`s_i \ge 0`: the loss is :math:`\sum_i s_i \xi_i^2`, and :math:`s_i \xi_i = K \alpha_i`. A
            point of weight 2 counts as two.

        Returns
        -------
        RidgeRegression
            Itself.
        """
        K = as_scalar(self.K, "K", at_least=0)
        X, y = self._read(X, y)
        found = solve_ridge(X, y, K, self.intercept, as_weights(sample_weight, y.size))
        warn_if_missed(found.certificate, K, found.w_error)
        self.w_, self.b_, self.alpha_, self.xi_ = found.w, found.b, found.alpha, found.xi
        self.objective_, self.certificate_ = found.objective, found.certificate
        self.solver_ = found.solver
        return self


# ---------------------------------------------------------------------------------------------
# One linear system
# ---------------------------------------------------------------------------------------------


class Inverse(NamedTuple):
    """The linear system of ridge regression, factored."""

    weights: Callable[[np.ndarray], np.ndarray]  # y -> (Z'Z + K I)^-1 Z'y
    apply: Callable[[np.ndarray], np.ndarray]  # g -> (Z'Z + K I)^-1 g
    # xi, w -> the norm of g = Z'xi - K w in (Z'Z + K I)^-1
    distance: Callable[[np.ndarray, np.ndarray], float]
    solver: str


def _by_cholesky(Z: np.ndarray, K: float) -> Inverse:
    """The n x n system (Z'Z + K I) w = Z'y, or the m x m system (Z Z' + K I) alpha = y with w = Z'alpha."""
    small = Z.shape[1] <= Z.shape[0]
    solve = cholesky(Z.T @ Z if small else Z @ Z.T, K)

    def weights(y: np.ndarray) -> np.ndarray:
        if small:
            w = solve(Z.T @ y)
            return w + solve(Z.T @ (y - Z @ w) - K * w)
        alpha = solve(y)
        return Z.T @ (alpha + solve(y - Z @ (Z.T @ alpha) - K * alpha))

    def apply(g: np.ndarray) -> np.ndarray:
        return solve(g) if small else (g - Z.T @ solve(Z @ g)) / K

    def distance(xi: np.ndarray, w: np.ndarray) -> float:  # no direction of g counts more than 1/K
        g = Z.T @ xi - K * w
        rounding = rounding_of_a_sum(len(xi)) * float(np.linalg.norm(Z) * np.linalg.norm(xi))
        rounding += EPS * K * float(np.linalg.norm(w))
        return math.sqrt(max(float(g @ apply(g)), 0.0)) + rounding / math.sqrt(K)

    return Inverse(weights, apply, distance, "primal" if small else "dual")


def _svd(basis: tuple[np.ndarray, np.ndarray, np.ndarray], K: float) -> Inverse:
    """The filter s/(s^2 + K) on the singular values of Z."""
    U, s, Vt = basis
    size = np.sqrt(s**2 + K)

    def distance(xi: np.ndarray, w: np.ndarray) -> float:  # U is orthonormal: small s lose nothing
        found = (s * (U.T @ xi) - K * (Vt @ w)) / size
        terms = float(np.linalg.norm(xi)) + math.sqrt(K) * float(np.linalg.norm(w))
        return float(np.linalg.norm(found)) + rounding_of_a_sum(len(xi)) * terms

    return Inverse(
        lambda y: (s / (s**2 + K) * (U.T @ y)) @ Vt,
        lambda g: ((Vt @ g) / (s**2 + K)) @ Vt,
        distance,
        "svd",
    )


def cholesky(S: np.ndarray, K: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return what solves (S + K I) x = g, in the memory of S: its transpose is in LAPACK's order."""
    S[np.diag_indices_from(S)] += K
    factor = linalg.cho_factor(S.T, lower=True, overwrite_a=True, check_finite=False)
    return lambda g: linalg.cho_solve(factor, g, check_finite=False)


def _singular_values(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return U, s and V' of the SVD of Z, without the singular values that are rounding."""
    U, s, Vt = linalg.svd(Z, full_matrices=False, check_finite=False)
    rank = int((s > EPS * max(Z.shape) * s.max(initial=0.0)).sum())
    return U[:, :rank], s[:rank], Vt[:rank]


# ---------------------------------------------------------------------------------------------
# The programs
# ---------------------------------------------------------------------------------------------


class RidgeSolution(NamedTuple):
    """A solution of a program of ridge regression, its value, its proof, and how it was found."""

    w: np.ndarray
    b: float
    alpha: np.ndarray
    xi: np.ndarray
    objective: float
    certificate: Certificate
    solver: str
    w_error: float  # about by how much rounding has changed w


class _RidgeProgram(NamedTuple):
    """A program of ridge regression: the points, with the column of ones of a penalized b, and the shifted data."""

    Z: np.ndarray
    y: np.ndarray
    intercept: str
    weights: float | np.ndarray
    data: Shifted


def _program(
    X: np.ndarray, y: np.ndarray, intercept: str, weights: np.ndarray | None = None
) -> _RidgeProgram:
    Z, inner = X, intercept
    if intercept == "penalized":
        Z, inner = np.column_stack([X, np.ones(y.size)]), "none"
    data = shift(Z, y, inner, 0.0, weights)
    return _RidgeProgram(Z, y, intercept, 1.0 if weights is None else weights, data)


def solve_ridge(
    X: np.ndarray, y: np.ndarray, K: float, intercept: str, weights: np.ndarray | None = None
) -> RidgeSolution:
    """Solve ridge regression for data that are known to be good."""
    check_range(K, "K")
    program = _program(X, y, intercept, weights)
    Z = program.data.X
    faint = float(np.vdot(Z, Z)) * _SMALL_K >= K
    return _solution(program, K, _svd(_singular_values(Z), K) if faint else _by_cholesky(Z, K))


def _solution(program: _RidgeProgram, K: float, inverse: Inverse) -> RidgeSolution:
    r"""Return what the factored system gives, with its certificate, and about by how much rounding has changed w.

    On the shifted data, half the gradient of the objective at w is minus :math:`g = \hat X^\top\xi - Kw`. The
    objective is quadratic, so that :math:`d = (\hat X^\top \hat X + K I)^{-1} g` leads to the minimum: it is what
    rounding changed w by, and :math:`g^\top d = |\hat X d|^2 + K |d|^2` is the gap, a squared distance of fits.
    Rounding of the residual and of b adds to it. A residual of the gradient is relative to what its column and y could
    give.
    """
    Z, y, intercept, weights, data = program
    w = inverse.weights(data.y)
    b, residual = data.intercept(w), data.residual(w)
    xi = y - Z @ w - b
    if K > 0.0:
        alpha = weights * xi / K
    else:
        alpha = np.sqrt(weights) * linalg.lstsq(data.X.T, w, cond=EPS * max(Z.shape))[0]
    objective = float(residual @ residual + K * (w @ w))

    spread = np.sqrt(np.einsum("ij,ij->j", data.X, data.X))
    size, g = float(np.linalg.norm(data.y)), data.X.T @ residual - K * w
    distance = inverse.distance(residual, w)
    distance += rounding_of_a_fit(size, w, spread, data.size_of_b(w))
    dual = relative(g, spread * size + K * np.abs(w))
    value, slack = 0.5 * objective, np.zeros(0)
    certificate = certify_squares(distance, slack, value, size, TOLERANCE, dual=dual)
    w_error = relative_step(inverse.apply(g), w, spread, size, K)
    if intercept == "penalized":
        w, b = w[:-1], float(w[-1])
    return RidgeSolution(w, b, alpha, xi, objective, certificate, inverse.solver, w_error)


def warn_if_missed(certificate: Certificate, K: float, w_error: float, by_w: bool = True) -> None:
    """Warn the caller of `fit` if a certificate is not good, or w has few digits."""
    if not certificate.ok:
        scale = "scale the data, or " * by_w
        complain(f"the solution for K = {K:g} has the {certificate}: {scale}raise K")
    elif w_error > FEW_DIGITS:
        complain(
            f"the fit for K = {K:g} is right, but its weights only to about {w_error:.0e}: features are nearly "
            "dependent or of very different sizes; raise K, leave some out, or scale them"
        )


# ---------------------------------------------------------------------------------------------
# Many K
# ---------------------------------------------------------------------------------------------


class RidgePath(Record):
    """The ridge solutions for many K.

    Parameters
    ----------
    K : ndarray of shape (k,)
        The penalties, as given.
    w : ndarray of shape (k, n)
        One solution per row.
    b : ndarray of shape (k,)
        The intercepts.
    xi_norm : ndarray of shape (k,)
        The norm of the residual vector; it grows with K.
    w_norm : ndarray of shape (k,)
        The norm of w; it falls with K when b is free or absent.
    degrees_of_freedom : ndarray of shape (k,)
        Trace of the matrix that maps y to the fitted values; 1 for the intercept is included.
    """

    K: np.ndarray
    w: np.ndarray
    b: np.ndarray
    xi_norm: np.ndarray
    w_norm: np.ndarray
    degrees_of_freedom: np.ndarray


def ridge_path(X: ArrayLike, y: ArrayLike, K: ArrayLike, *, intercept: str = "free") -> RidgePath:
    r"""Solve ridge regression for many K with one singular value decomposition.

    With :math:`\hat X = U \operatorname{diag}(s) V^\top`, each solution is

    .. math:: w = \sum_k \frac{s_k}{s_k^2 + K}\, (u_k^\top \hat y)\, v_k .

    Parameters
    ----------
    X : array-like of shape (m, n)
        Points.
    y : array-like of shape (m,)
        Values.
    K : array-like of shape (k,)
        Penalties, each >= 0.
    intercept : {"free", "none", "penalized"}
        As in :class:`RidgeRegression`.

    Returns
    -------
    RidgePath

    Raises
    ------
    ValueError
        If a shape does not fit or some K < 0.

    Warns
    -----
    ConvergenceWarning
        If the certificate of some solution is not good, or its w has fewer than seven digits.

    Notes
    -----
    Source: Section 19.1. The factor :math:`s/(s^2 + K)` is the filter that tends to :math:`1/s` as K -> 0
    (Proposition 19.1: the ridge operator tends to the pseudo-inverse). RR3b is RR2 for the matrix [X 1].

    Examples
    --------
    >>> path = ridge_path([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0], [0.0, 2.0])
    >>> path.w.ravel(), path.b.round(4)
    (array([1.5 , 0.75]), array([0.8333, 1.5833]))
    """
    X, y = as_data(X, y)
    penalties = as_vector(K, "K")
    for value in penalties:
        check_range(as_scalar(value, "K", at_least=0), "K")
    program = _program(X, y, intercept)
    basis = _singular_values(program.data.X)
    found = []
    for K_i in penalties.tolist():
        found.append(_solution(program, K_i, _svd(basis, K_i)))
        warn_if_missed(found[-1].certificate, K_i, found[-1].w_error)
    w, free = np.array([each.w for each in found]).reshape(-1, X.shape[1]), intercept == "free"
    filtered = basis[1] ** 2 / (basis[1] ** 2 + penalties[:, None])
    b, xi_norm = np.array([(each.b, np.linalg.norm(each.xi)) for each in found]).reshape(-1, 2).T
    freedom = filtered.sum(axis=1) + free
    return RidgePath(penalties, w, b, xi_norm, np.linalg.norm(w, axis=1), freedom)
