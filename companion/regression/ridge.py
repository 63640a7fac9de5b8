r"""Ridge regression, with or without an intercept: programs RR1, RR2, RR3 = RR6' and RR3b.

All of them minimise

.. math:: \|\xi\|_2^2 + K \|w\|_2^2 \; [\, + K b^2 \,] \quad \text{subject to} \quad y - Xw - b\mathbf 1 = \xi .

A free b centres the data (:mod:`companion.regression.intercept`), a penalized one is the weight of one more column of
ones: RR3b is RR2 for the matrix :math:`[X\ \mathbf 1]`. What is left is one linear system.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from tqdm.auto import tqdm

from companion.certificates import Certificate
from companion.checks import as_matrix, as_scalar, as_vector, reject_masked
from companion.engine.arithmetic import EPS, ratio
from companion.exceptions import ConvergenceWarning
from companion.regression.intercept import check_intercept, shift
from companion.results import Record

__all__ = [
    "FLOOR",
    "RidgePath",
    "RidgeRegression",
    "RidgeSolution",
    "certify_ridge",
    "ridge_path",
    "solve_ridge",
    "warn_if_missed",
]

_SOLVERS = ("auto", "primal", "dual", "svd", "kkt")
_SMALL_K = (
    1e-11  # below this fraction of ||X||_F^2, Cholesky's squared condition number is too large
)
_PIVOT = (
    16.0 * EPS
)  # a pivot of Cholesky's method below sqrt(n) times this part of its diagonal is rounding
_TOLERANCE = 1e-9  # of the certificate
FLOOR = 1e-5  # a residual vector is compared with at least this fraction of y
_FEW_DIGITS = 1e-7  # the relative error of w from which on there is a warning


class RidgeRegression(RegressorMixin, BaseEstimator):
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
    solver : {"auto", "primal", "dual", "svd", "kkt"}
        ``"primal"`` solves the n x n system :math:`(X^\top X + K I) w = X^\top y`, ``"dual"`` the m x m system
        :math:`(XX^\top + K I)\alpha = y`, both by Cholesky and one step of refinement; ``"svd"`` needs neither
        product. ``"auto"`` takes the smaller system, or the SVD when K is tiny or
        the system too ill conditioned. ``"kkt"`` solves the text's program DRR3 for a free b as it stands, without
        centring.

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
        What ``"auto"`` chose.
    certificate_ : Certificate
        Residuals and duality gap on the data as given.
    w_error_ : float
        About by how much rounding has changed w, relative to w with each weight times the norm of its column.
    n_features_in_ : int
        n.

    Raises
    ------
    ValueError
        If K < 0, an option is unknown, or ``"kkt"`` meets K = 0 or an intercept that is not free.

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

    def __init__(self, K: float = 1.0, *, intercept: str = "free", solver: str = "auto") -> None:
        self.K = K
        self.intercept = intercept
        self.solver = solver

    def fit(self, X: Any, y: Any) -> Self:
        """Solve the program.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Points.
        y : array-like of shape (m,)
            Values.

        Returns
        -------
        RidgeRegression
            Itself.
        """
        K = as_scalar(self.K, "K", at_least=0)
        intercept = check_intercept(self.intercept)
        if self.solver not in _SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(_SOLVERS)}, got {self.solver!r}")
        reject_masked(X, "X")
        reject_masked(y, "y")
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        X, y = as_matrix(X, "X"), as_vector(y, "y")  # objects become NaN only here
        found = solve_ridge(X, y, K, intercept, self.solver)
        self.w_, self.b_, self.alpha_, self.xi_ = found.w, found.b, found.alpha, found.xi
        self.objective_, self.certificate_, self.solver_, self.w_error_ = found[4:]
        return self

    def predict(self, X: Any) -> np.ndarray:
        r"""Return :math:`f(x) = w^\top x + b` for each row of X.

        Parameters
        ----------
        X : array-like of shape (k, n)
            Points.

        Returns
        -------
        ndarray of shape (k,)
        """
        check_is_fitted(self)
        reject_masked(X, "X")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return X @ self.w_ + self.b_

    @property
    def coef_(self) -> np.ndarray:
        """The weights `w_`, by scikit-learn's name."""
        return self.w_

    @property
    def intercept_(self) -> float:
        """The intercept `b_`, by scikit-learn's name."""
        return self.b_


class RidgeSolution(NamedTuple):
    """A solution of a program of ridge regression, its value, its proof, and how it was found."""

    w: np.ndarray
    b: float
    alpha: np.ndarray
    xi: np.ndarray
    objective: float
    certificate: Certificate
    solver: str
    w_error: float


def solve_ridge(
    X: np.ndarray, y: np.ndarray, K: float, intercept: str, solver: str = "auto"
) -> RidgeSolution:
    """Solve ridge regression for data that are known to be good; warn where the certificate misses."""
    free, n = intercept == "free", X.shape[1]
    Z = np.column_stack([X, np.ones(y.size)]) if intercept == "penalized" else X
    if solver in ("primal", "dual", "kkt") and K == 0.0:
        raise ValueError(f"solver={solver!r} needs K > 0; for K = 0 use 'svd' or 'auto'")
    if solver == "kkt" and not free:
        raise ValueError(f"solver='kkt' is for intercept='free', got intercept={intercept!r}")
    data = shift(Z, y, "free" if free else "none", 0.0)
    choice = _cheapest(data.X, K) if solver == "auto" else solver
    with np.errstate(over="ignore"):  # dual variables that overflow are refused
        while True:
            if choice == "kkt":
                w, b, alpha, correction = _solve_kkt(X, y, K)
            else:
                w, alpha, correction = _solve(data.X, data.y, K, choice)
                b = data.intercept(w)
            xi = y - Z @ w - b
            certificate = certify_ridge(Z, y, K, free, w, b, xi)
            if certificate.ok or solver != "auto" or choice == "svd":
                break
            choice = "svd"
    if not np.isfinite(alpha).all():
        raise ValueError(
            f"the dual variables, the residuals over K = {K:g}, overflow; K is too small"
        )
    w_error = _relative(correction[:n], w[:n], data.X[:, :n], data.y)
    warn_if_missed(certificate, K, w_error)
    objective = float(xi @ xi + K * (w @ w))
    b = float(w[n]) if intercept == "penalized" else b
    return RidgeSolution(w[:n], b, alpha, xi, objective, certificate, choice, w_error)


def warn_if_missed(certificate: Certificate, K: float, w_error: float = 0.0) -> None:
    """Warn the caller of `fit` if a certificate is not good, or w has few digits."""
    if not certificate.ok:
        warnings.warn(
            f"the solution for K = {K:g} misses tol = {certificate.tolerance:g} ({certificate}); the data are badly "
            "conditioned, or of very different sizes: scale them, or raise K",
            ConvergenceWarning,
            stacklevel=4,
        )
    elif w_error > _FEW_DIGITS:
        warnings.warn(
            f"the fit for K = {K:g} is right, but rounding has changed its weights w by about {w_error:.0e} of their "
            "size: features are nearly dependent or of very different sizes, and weights that differ much fit almost "
            "equally well; raise K, leave out what depends on others, or scale them",
            ConvergenceWarning,
            stacklevel=4,
        )


def _column_norms(Z: np.ndarray) -> np.ndarray:
    return np.sqrt(np.einsum("ij,ij->j", Z, Z))


def _relative(correction: np.ndarray, w: np.ndarray, Z: np.ndarray, y: np.ndarray) -> float:
    """Return the size of a correction of w, both measured by what they do to the fit."""
    size = _column_norms(Z)
    change, whole = (float((size * np.abs(v)).max()) for v in (correction, w))
    return ratio(change, max(whole, FLOOR * float(np.linalg.norm(y))))


def _cheapest(Z: np.ndarray, K: float) -> str:
    """Return the solver that is cheapest among those that are accurate."""
    if float(np.linalg.norm(Z)) ** 2 * _SMALL_K < K:
        return "primal" if Z.shape[1] <= Z.shape[0] else "dual"
    return "svd"


def _solve(
    Z: np.ndarray, y: np.ndarray, K: float, solver: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return w and alpha with (Z'Z + K I) w = Z'y, (Z Z' + K I) alpha = y, w = Z' alpha.

    The third part is what one more step of refinement would add to w: after the first it is all rounding, and as large
    as the rounding that w has.
    """
    if solver == "svd":
        U, s, _ = basis = _singular_values(Z)
        w, correction = _filtered(Z, y, K, basis)
        return w, (y - Z @ w) / K if K > 0.0 else U @ (U.T @ y / s**2), correction
    if solver == "primal":
        factor = _cholesky(Z.T @ Z, K)
        w = linalg.cho_solve(factor, Z.T @ y)
        w += linalg.cho_solve(factor, Z.T @ (y - Z @ w) - K * w)
        xi = y - Z @ w
        return w, xi / K, linalg.cho_solve(factor, Z.T @ xi - K * w)
    factor = _cholesky(Z @ Z.T, K)
    alpha = linalg.cho_solve(factor, y)
    alpha += linalg.cho_solve(factor, y - Z @ (Z.T @ alpha) - K * alpha)
    w = Z.T @ alpha
    return w, alpha, Z.T @ linalg.cho_solve(factor, y - Z @ w - K * alpha)


def _solve_kkt(
    X: np.ndarray, y: np.ndarray, K: float
) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
    r"""Solve DRR3: :math:`(XX^\top + K I)\alpha + \mu\mathbf 1 = y`, :math:`\mathbf 1^\top\alpha = 0`."""
    factor, middle = _cholesky(X @ X.T, K), y.mean()  # which is a part of mu
    Sy, S1 = linalg.cho_solve(factor, np.column_stack([y - middle, np.ones(y.size)])).T
    mu = Sy.sum() / S1.sum()
    alpha = Sy - mu * S1
    w = X.T @ alpha
    Sr = linalg.cho_solve(factor, y - middle - mu - X @ w - K * alpha)
    correction = X.T @ (Sr - (Sr.sum() + alpha.sum()) / S1.sum() * S1)
    return w, float(middle + mu), alpha, correction


def _cholesky(S: np.ndarray, K: float) -> tuple[np.ndarray, bool]:
    """Factor S + K I in the memory of S."""
    S[np.diag_indices_from(S)] += K
    smallest = _PIVOT * math.sqrt(len(S)) * S.diagonal()
    message = f"K = {K:g} is too small for a Cholesky factorisation of these data; use solver='svd'"
    try:
        factor = linalg.cho_factor(S, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError as error:
        raise ValueError(message) from error
    if (factor[0].diagonal() ** 2 <= smallest).any():
        raise ValueError(message)
    return factor


_Basis = tuple[np.ndarray, np.ndarray, np.ndarray]  # U, s and V', a singular value decomposition


def _singular_values(Z: np.ndarray) -> _Basis:
    """Return the SVD of Z without the singular values that are rounding."""
    U, s, Vt = linalg.svd(Z, full_matrices=False, check_finite=False)
    rank = int((s > EPS * max(Z.shape) * s.max(initial=0.0)).sum())
    return U[:, :rank], s[:rank], Vt[:rank]


def _filtered(
    Z: np.ndarray, y: np.ndarray, K: float, basis: _Basis
) -> tuple[np.ndarray, np.ndarray]:
    """Return w, and what a step of refinement would add to it; all of w where its digits are lost."""
    U, s, Vt = basis
    w = Vt.T @ (s / (s**2 + K) * (U.T @ y))
    if _small_columns(Z, s, K):
        return w, w
    return w, Vt.T @ (Vt @ (Z.T @ (y - Z @ w) - K * w) / (s**2 + K))


def _small_columns(Z: np.ndarray, s: np.ndarray, K: float) -> bool:
    """Return whether a small column was taken for rounding: its weight is lost, unless K makes it small, too."""
    rounding = EPS * max(Z.shape) * s.max(initial=0.0)
    if s.size == min(Z.shape) or rounding**2 <= _FEW_DIGITS * K:
        return False
    size = _column_norms(Z)
    return _singular_values(Z / np.where(size > 0.0, size, 1.0))[1].size > s.size


def certify_ridge(
    X: np.ndarray, y: np.ndarray, K: float, free: bool, w: np.ndarray, b: float, xi: np.ndarray
) -> Certificate:
    r"""Certify w and b with the dual point :math:`\alpha = \xi / K`.

    Stationarity in w is :math:`Kw = X^\top\xi`, in a free b it is :math:`\mathbf 1^\top\xi = 0`. With the misfit g of
    the first, the gap is :math:`\|g\|^2/K`, for a free b plus :math:`2b\,\mathbf 1^\top\xi`. Where K is tiny, that is
    the rounding of :math:`X^\top\xi` divided by K; then :func:`_least_gap` finds a better dual point.
    """
    y_size = float(np.linalg.norm(y))
    size = max(float(np.linalg.norm(xi)), FLOOR * y_size)
    total = abs(float(xi.sum())) if free else 0.0
    misfit = K * w - X.T @ xi
    relative = ratio(np.abs(misfit), _column_norms(X) * size + K * np.abs(w))
    value = max(float(xi @ xi + K * (w @ w)), FLOOR * y_size**2)
    if K > 0.0:
        gap = float(misfit @ misfit) / K + 2.0 * abs(b) * total
        if gap > _TOLERANCE * value:
            gap = min(gap, _least_gap(X, K, free, w, xi))
    else:
        gap = 2.0 * abs(float(xi @ (y - xi)))  # orthogonality of residual and fit
    return Certificate(
        primal_residual=ratio(float(np.linalg.norm(y - X @ w - b - xi)), y_size),
        dual_residual=max(float(relative.max()), ratio(total, math.sqrt(y.size) * size)),
        complementarity=0.0,
        gap=ratio(gap, value),
        tolerance=_TOLERANCE,
    )


def _least_gap(X: np.ndarray, K: float, free: bool, w: np.ndarray, xi: np.ndarray) -> float:
    r"""Return by how much w and the best b miss the minimum.

    For a quadratic program it is :math:`g^\top (Z^\top Z + K I)^{-1} g` with the gradient
    :math:`g = Kw - Z^\top\xi`, half of the true one. In the singular basis of Z every term is small by itself:

    .. math:: \sum_k \frac{(K v_k^\top w - s_k u_k^\top \xi)^2}{s_k^2 + K}, \qquad
        \text{plus } K \|w\|^2 \text{ for the part of w outside.}

    A free b is eliminated.
    """
    beside = 0.0
    if free:
        beside = xi.size * float(xi.mean()) ** 2
        X, xi = X - X.mean(axis=0), xi - xi.mean()
    U, s, Vt = _singular_values(X)
    inside = Vt @ w
    outside = w - inside @ Vt
    terms = (K * inside - s * (xi @ U)) ** 2 / (s**2 + K)
    return float(terms.sum() + K * (outside @ outside)) + beside


@dataclass(frozen=True, eq=False, repr=False)
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


def ridge_path(
    X: ArrayLike,
    y: ArrayLike,
    K: ArrayLike,
    *,
    intercept: str = "free",
    progress: bool = False,
) -> RidgePath:
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
    progress : bool
        Whether a progress bar is shown.

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
    X, y = as_matrix(X, "X"), as_vector(y, "y")
    if y.size != X.shape[0]:
        raise ValueError(f"y must have length {X.shape[0]}, one per row of X, got {y.size}")
    if X.size == 0:
        raise ValueError(f"X must have at least one row and one column, got shape {X.shape}")
    penalties = as_vector(K, "K")
    for value in penalties:
        as_scalar(value, "K", at_least=0)
    intercept = check_intercept(intercept)
    penalized, n = intercept == "penalized", X.shape[1]
    Z = np.column_stack([X, np.ones(y.size)]) if penalized else X
    data = shift(Z, y, "free" if intercept == "free" else "none", 0.0)
    basis = _singular_values(data.X)
    s = basis[1]
    weights, b = np.empty((penalties.size, n)), np.empty(penalties.size)
    xi_norm, freedom = np.empty(penalties.size), np.empty(penalties.size)
    steps: Iterable[float] = tqdm(penalties, desc="ridge path") if progress else penalties
    for i, K_i in enumerate(steps):
        w, correction = _filtered(data.X, data.y, K_i, basis)
        b_i = data.intercept(w)
        xi = y - Z @ w - b_i
        warn_if_missed(
            certify_ridge(Z, y, float(K_i), intercept == "free", w, b_i, xi),
            K_i,
            _relative(correction[:n], w[:n], data.X[:, :n], data.y),
        )
        weights[i], b[i] = w[:n], w[n] if penalized else b_i
        xi_norm[i] = np.linalg.norm(xi)
        freedom[i] = np.sum(s**2 / (s**2 + K_i)) + (intercept == "free")
    return RidgePath(
        K=penalties,
        w=weights,
        b=b,
        xi_norm=xi_norm,
        w_norm=np.linalg.norm(weights, axis=1),
        degrees_of_freedom=freedom,
    )
