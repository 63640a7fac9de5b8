r"""The lasso: programs lasso1 to lasso4, their duals, and the path over tau."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from tqdm.auto import tqdm

from companion.admm.proximal import soft_threshold
from companion.admm.quadratic import LowRank, solve_qp
from companion.admm.splitting import Iterate, admm
from companion.certificates import Certificate
from companion.checks import (
    as_matrix,
    as_scalar,
    as_vector,
    check_count,
    forget_feature_names,
    is_plain_data,
    reject_masked,
)
from companion.engine.arithmetic import largest as largest_of
from companion.engine.arithmetic import ratio
from companion.exceptions import ConvergenceWarning
from companion.regression.intercept import Shifted, check_intercept, shift
from companion.regression.ridge import solve_ridge
from companion.regression.working_set import Solution, WorkingSet, duality_gap, is_unique
from companion.results import ADMMResult, Problem, QPResult, Record

__all__ = ["DualSolution", "L1Path", "Lasso", "lasso_admm", "lasso_dual", "lasso_path", "tau_max"]

_SOLVERS = ("newton", "admm", "dual")
_LEAST_TOL = 1e-9  # a certificate is not measured by less


# ---------------------------------------------------------------------------------------------
# The text's ADMM
# ---------------------------------------------------------------------------------------------


def _admm(
    data: Shifted,
    K: float,
    tau: float,
    *,
    rho: float | None = None,
    tol: float,
    **options: Any,
) -> ADMMResult:
    """Run the three lines: a linear system, a soft threshold, the multipliers' update."""
    Z, y = data.X, data.y
    n = Z.shape[1]
    natural = float(np.vdot(Z.T, Z.T)) / n + K
    rho = (natural or 1.0) if rho is None else as_scalar(rho, "rho", above=0)
    gram = Z.T @ Z
    gram[np.diag_indices(n)] += K + rho
    factor, Zy = linalg.cho_factor(gram, overwrite_a=True), Z.T @ y

    def objective(x: np.ndarray, z: np.ndarray) -> float:
        r = y - Z @ z
        return float(0.5 * (r @ r + K * (z @ z)) + tau * np.abs(z).sum())

    return admm(
        lambda v, rho: linalg.cho_solve(factor, Zy + rho * v),
        lambda v, rho: soft_threshold(-v, tau / rho),
        A=1,
        B=-1,
        c=np.zeros(n),
        rho=rho,
        tol_abs=tol / np.sqrt(n),
        tol_rel=0.0,
        objective=objective,
        **options,
    )


def lasso_admm(
    X: ArrayLike,
    y: ArrayLike,
    tau: float,
    *,
    K: float = 0.0,
    intercept: str = "free",
    C: float = 1.0,
    rho: float | None = None,
    relaxation: float = 1.0,
    tol: float = 1e-8,
    max_iter: int = 10_000,
    z0: ArrayLike | None = None,
    u0: ArrayLike | None = None,
    keep_iterates: bool = False,
) -> ADMMResult:
    r"""Solve the lasso, or the elastic net, by the text's ADMM.

    On the shifted data (centred, when b is free), with the scaled multiplier u,

    .. math::

        x^{k+1} &= (\hat X^\top \hat X + (K + \rho) I)^{-1} \\
                & \qquad (\hat X^\top \hat y + \rho (z^k - u^k)) \\
        z^{k+1} &= S_{\tau/\rho}(x^{k+1} + u^k) \\
        u^{k+1} &= u^k + x^{k+1} - z^{k+1}.

    Parameters
    ----------
    X : array-like of shape (m, n)
    y : array-like of shape (m,)
    tau, K : float
        Penalties, tau > 0, K >= 0.
    intercept : {"free", "none", "penalized"}
        As in :class:`Lasso`.
    C : float
        The penalty on a penalized b.
    rho : float, optional
        Penalty parameter of ADMM. Default: the mean square norm of the columns.
    relaxation : float
        Over-relaxation, in (0, 2).
    tol : float
        The run stops when the norms of the primal and of the dual residual are at most this.
    max_iter : int
        Largest number of steps.
    z0, u0 : array-like of shape (n,), optional
        The start, zero by default.
    keep_iterates : bool
        Whether the iterates go into the history.

    Returns
    -------
    ADMMResult
        The weights, with exact zeros, are `z`. The certificate is made from them; it is relative, so it may call a run
        good that missed the absolute `tol`, and the reverse. ``converged`` is the stopping rule's verdict.

    Notes
    -----
    Source: Section 16.8 (4), Problem 16.7, Example 19.3. The elastic net needs no larger system than the lasso; the
    text solves it through a dual program in 2(n + m) variables.

    Examples
    --------
    >>> result = lasso_admm([[2.0, 0.0], [0.0, 1.0]], [3.0, 1.0], 1.0, intercept="none", rho=1.0)
    >>> result.z.round(6), result.converged, result.certificate.ok
    (array([1.25, 0.  ]), True, True)
    """
    data = _data(X, y, intercept, C)
    K, tau = as_scalar(K, "K", at_least=0), as_scalar(tau, "tau", above=0)
    tol = as_scalar(tol, "tol", above=0)
    run = _admm(
        data,
        K,
        tau,
        rho=rho,
        relaxation=relaxation,
        tol=tol,
        max_iter=max_iter,
        z0=z0,
        u0=u0,
        keep_iterates=keep_iterates,
    )
    found = _measure(data, run.z, K, tau, tol, run.n_iter)
    y = np.asarray(y, dtype=np.float64)
    residual = y - data.given @ run.z - data.intercept(run.z)
    difference = float(np.linalg.norm(residual - data.unshift(found.residual)))
    largest = float(np.abs(data.correlation).max())
    return replace(
        run,
        certificate=_certify(data, found, difference, largest, tau, tol),
        problem=Problem(
            "lasso by ADMM",
            {"X": data.given, "y": y, "K": K, "tau": tau, "C": C, "intercept": intercept},
        ),
    )


# ---------------------------------------------------------------------------------------------
# The estimators
# ---------------------------------------------------------------------------------------------


class L1Regression(RegressorMixin, BaseEstimator):
    r"""What :class:`Lasso` and :class:`ElasticNet` share.

    .. math:: & \min_{w, b, \xi} \; \tfrac12 \|\xi\|_2^2 + \tfrac K2 \|w\|_2^2 + \tau \|w\|_1 \\
        & \text{subject to} \quad y - Xw - b\mathbf 1 = \xi
    """

    tau: float
    intercept: str
    C: float
    solver: str
    tol: float
    max_iter: int

    def _penalties(self) -> tuple[float, float]:
        """Return K and tau."""
        raise NotImplementedError

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
        L1Regression
            Itself.
        """
        K, tau = self._penalties()
        C = as_scalar(self.C, "C", above=0)
        tol, max_iter = as_scalar(self.tol, "tol", above=0), check_count(self.max_iter, "max_iter")
        intercept = check_intercept(self.intercept)
        if self.solver not in _SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(_SOLVERS)}, got {self.solver!r}")
        if is_plain_data(X, y):
            forget_feature_names(self, X.shape[1])
        else:
            reject_masked(X, "X")
            reject_masked(y, "y")
            X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
            X = as_matrix(X, "X")
        y = as_vector(y, "y")  # objects become NaN only here

        data = shift(X, y, intercept, C)
        working_set = None
        if tau == 0.0:
            ridge = solve_ridge(data.X, data.y, K, "none")
            c = data.X.T @ ridge.xi - K * ridge.w
            gap = 0.5 * ridge.certificate.gap * ridge.objective
            found = Solution(ridge.w, ridge.xi, c, 0.5 * ridge.objective, gap, 1, True)
        elif self.solver == "newton":
            working_set = WorkingSet.of(data, K)
            found = working_set.solve(tau, tol, max_iter)
        else:
            found = self._slow(data, K, tau, tol, max_iter)

        self.w_, self.b_ = found.w, data.intercept(found.w)
        self.support_ = self.w_.nonzero()[0]
        if 2 * self.support_.size < self.w_.size:
            self.xi_ = y - X[:, self.support_] @ self.w_[self.support_] - self.b_
        else:
            self.xi_ = y - X @ self.w_ - self.b_
        self.lambda_ = data.unshift(found.residual)
        if working_set is None:
            correlation = data.correlation
            self.unique_ = is_unique(data.X, found.c, tau, K)
        else:
            correlation = working_set.correlation
            self.unique_ = working_set.is_unique(found.c, tau)
        self.tau_max_ = largest_of(correlation)
        self.objective_, self.n_iter_ = found.objective, max(found.n_iter, 1)
        difference = float(np.linalg.norm(self.xi_ - self.lambda_))
        if tau == 0.0:
            self.certificate_ = replace(ridge.certificate, tolerance=max(tol, _LEAST_TOL))
        else:
            self.certificate_ = _certify(data, found, difference, self.tau_max_, tau, tol)
        if not found.converged:
            _warn(found, tol, f"max_iter = {max_iter}")
        elif not self.certificate_.ok and tau > 0.0:
            warnings.warn(
                f"the duality gap meets tol = {tol:g}, but {self.certificate_} does not; scale the data",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _slow(self, data: Shifted, K: float, tau: float, tol: float, max_iter: int) -> Solution:
        """Solve by the primal ADMM, or through the dual quadratic program."""
        if self.solver == "dual":
            dual = self._dual(data, K, tau)
            return _measure(data, dual.w, K, tau, tol, n_iter=dual.qp.n_iter)

        def good(step: Iterate) -> bool:
            return step.k % 10 == 0 and _measure(data, step.z, K, tau, tol, n_iter=0).converged

        with warnings.catch_warnings():  # what counts is the gap
            warnings.simplefilter("ignore", ConvergenceWarning)
            run = _admm(data, K, tau, tol=0.0, max_iter=max_iter, relaxation=1.6, callback=good)
        return _measure(data, run.z, K, tau, tol, n_iter=run.n_iter)

    def _dual(self, data: Shifted, K: float, tau: float) -> DualSolution:
        """Solve the dual program on the shifted data."""
        raise NotImplementedError

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


class Lasso(L1Regression):
    r"""Least squares with a penalty on the sum of the absolute weights.

    .. math:: & \min_{w, b, \xi} \; \tfrac12 \|\xi\|_2^2 + \tau \|w\|_1 \\
        & \text{subject to} \quad y - Xw - b\mathbf 1 = \xi

    with b = 0 (``intercept="none"``), b free (``"free"``), or the further term :math:`\tfrac C2 b^2` in the
    objective (``"penalized"``). The dual problem projects y on a polytope,

    .. math:: & \min_\lambda \; \tfrac12 \|y - \lambda\|_2^2 \\
        & \text{subject to} \quad \|X^\top \lambda\|_\infty \le \tau,

    with the further constraint :math:`\mathbf 1^\top\lambda = 0` for a free b, or the further term
    :math:`(\mathbf 1^\top\lambda)^2 / (2C)` in the objective for a penalized one; and :math:`\xi = \lambda`.

    Parameters
    ----------
    tau : float
        The penalty, >= 0. From ``tau_max_`` on, w = 0. At tau = 0, the least-squares solution of smallest norm.
    intercept : {"free", "none", "penalized"}
        What happens to b: programs lasso3, lasso2 and lasso4.
    C : float
        The penalty on b, > 0, for ``intercept="penalized"``.
    solver : {"newton", "admm", "dual"}
        ``"newton"`` is a working set with Newton's method on the signs, ``"admm"`` the text's ADMM on the primal
        problem, ``"dual"`` the quadratic program above, from whose multipliers w is read. All three give the same w;
        the last two are for comparison, on problems with some hundred columns.
    tol : float
        Tolerance of the duality gap relative to the objective.
    max_iter : int
        Largest number of linear systems (or ADMM steps).

    Attributes
    ----------
    w_ : ndarray of shape (n,)
        Weights, with exact zeros. Also ``coef_``.
    b_ : float
        Intercept. Also ``intercept_``.
    xi_ : ndarray of shape (m,)
        Residuals :math:`y - Xw - b\mathbf 1`.
    lambda_ : ndarray of shape (m,)
        The dual solution; equal to the residuals.
    support_ : ndarray of int
        Indices of the nonzero weights.
    tau_max_ : float
        The smallest tau with w = 0: :math:`\|X^\top y\|_\infty`, of the centred data when b is free.
    unique_ : bool
        Whether w is proved to be the only solution (Xw always is the only fit). False with repeated columns, for
        example.
    objective_ : float
        The minimum.
    n_iter_ : int
        Number of linear systems (or ADMM steps).
    certificate_ : Certificate
        Residuals and duality gap.
    n_features_in_ : int
        n.

    Raises
    ------
    ValueError
        If tau < 0 or an option is unknown.

    Warns
    -----
    ConvergenceWarning
        If the gap misses `tol`, or the certificate its tolerance.

    Notes
    -----
    Source: Section 19.5, programs lasso1, lasso2, Dlasso2, lasso3, Dlasso3, lasso4. The text gives lasso4 the dual of
    lasso2; the term :math:`(\mathbf 1^\top\lambda)^2/(2C)` is missing there. scikit-learn divides the objective by m:
    its alpha is tau/m.

    Examples
    --------
    >>> X = [[-10, 11], [-6, 5], [-2, 4], [0, 0], [1, 2], [2, -5], [6, -4], [10, -6]]
    >>> y = [0, -2.5, 0.5, -2, 2.5, -4.2, 1, 4]
    >>> model = Lasso(tau=10).fit(X, y)
    >>> model.w_.round(4), round(model.b_, 4), round(model.tau_max_, 6)
    (array([0.6103, 0.5282]), -0.626, 54.1875)
    >>> Lasso(tau=54.1875).fit(X, y).w_
    array([0., 0.])
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        intercept: str = "free",
        C: float = 1.0,
        solver: str = "newton",
        tol: float = 1e-10,
        max_iter: int = 10_000,
    ) -> None:
        self.tau = tau
        self.intercept = intercept
        self.C = C
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def _penalties(self) -> tuple[float, float]:
        return 0.0, as_scalar(self.tau, "tau", at_least=0)

    def _dual(self, data: Shifted, K: float, tau: float) -> DualSolution:
        return lasso_dual(data.X, data.y, tau, intercept="none")


def _measure(
    data: Shifted, w: np.ndarray, K: float, tau: float, tol: float, n_iter: int
) -> Solution:
    """Return w with its residual, objective and gap."""
    residual = data.y - data.X @ w
    c = data.X.T @ residual - K * w
    value, gap = duality_gap(w, residual, c, K, tau)
    scale = max(value, 0.5e-4 * float(data.y @ data.y))
    excess = float(np.abs(c).max()) - tau
    reference = max(tau, 1e-4 * float(np.abs(data.correlation).max()))
    small = gap <= tol * scale and excess <= max(tol, _LEAST_TOL) * reference
    return Solution(w, residual, c, value, gap, n_iter, small)


def _certify(
    data: Shifted, found: Solution, difference: float, largest: float, tau: float, tol: float
) -> Certificate:
    """Certify a solution on the shifted data.

    `difference` is the distance of its residual from the one on the data as given, `largest` is tau_max.
    """
    w, c = found.w, found.c
    excess = max(largest_of(c) - tau, 0.0)
    product = largest_of(tau * np.abs(w) - w * c)
    reference = max(tau, 1e-4 * largest)
    scale = max(found.objective, 0.5e-4 * float(data.y @ data.y))
    size = float(np.linalg.norm(data.y)) + abs(data.y_mean) * np.sqrt(data.y.size)
    return Certificate(
        primal_residual=ratio(difference, size),
        dual_residual=ratio(excess, reference),
        complementarity=ratio(product, scale),
        gap=ratio(found.gap, scale),
        tolerance=max(tol, _LEAST_TOL),
    )


def _warn(found: Solution, tol: float, limit: str) -> None:
    relative = found.gap / found.objective if found.objective else found.gap
    warnings.warn(
        f"no solution with relative duality gap {tol:.0e} within {limit}: the gap is {relative:.1e} "
        f"after {found.n_iter} steps",
        ConvergenceWarning,
        stacklevel=3,
    )


# ---------------------------------------------------------------------------------------------
# The path
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class L1Path(Record):
    """The lasso or elastic net solutions for many tau.

    Parameters
    ----------
    tau : ndarray of shape (k,)
        The penalties.
    w : ndarray of shape (k, n)
        One solution per row, with exact zeros.
    b : ndarray of shape (k,)
        The intercepts.
    n_nonzero : ndarray of shape (k,)
        Number of nonzero weights.
    objective : ndarray of shape (k,)
        The minima.
    gap : ndarray of shape (k,)
        Duality gaps, relative to the objective (or to 1e-4 of its value at w = 0, if that is more).
    n_iter : ndarray of shape (k,)
        Number of linear systems.
    converged : bool
        Whether all gaps met the tolerance.
    tau_max : float
        The smallest tau with w = 0.
    problem : Problem or None
        What was solved, so that the answer can be examined.
    """

    tau: np.ndarray
    w: np.ndarray
    b: np.ndarray
    n_nonzero: np.ndarray
    objective: np.ndarray
    gap: np.ndarray
    n_iter: np.ndarray
    converged: bool
    tau_max: float
    problem: Problem | None = field(default=None, repr=False)


def tau_max(X: ArrayLike, y: ArrayLike, *, intercept: str = "free", C: float = 1.0) -> float:
    r"""Return the smallest tau for which the lasso has w = 0: :math:`\|\hat X^\top \hat y\|_\infty`.

    Parameters
    ----------
    X : array-like of shape (m, n)
    y : array-like of shape (m,)
    intercept : {"free", "none", "penalized"}
        As in :class:`Lasso`; for a free b the data are centred first.
    C : float
        The penalty on a penalized b.

    Returns
    -------
    float

    Notes
    -----
    Source: Section 19.5. It is the same for the elastic net, whatever K.

    Examples
    --------
    >>> X, y = [[1.0], [2.0], [3.0]], [1.0, 2.0, 4.0]
    >>> round(tau_max(X, y), 6), round(tau_max(X, y, intercept="none"), 6)
    (3.0, 17.0)
    """
    data = _data(X, y, intercept, C)
    return float(np.abs(data.correlation).max())


def lasso_path(
    X: ArrayLike,
    y: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    n_taus: int = 100,
    eps: float = 1e-3,
    K: float = 0.0,
    intercept: str = "free",
    C: float = 1.0,
    tol: float = 1e-10,
    max_iter: int = 10_000,
    progress: bool = False,
) -> L1Path:
    r"""Solve the lasso, or the elastic net with a fixed K, for many tau.

    Each solution starts from the one before, and all share one Gram matrix.

    Parameters
    ----------
    X : array-like of shape (m, n)
        Points.
    y : array-like of shape (m,)
        Values.
    tau : array-like of shape (k,), optional
        Penalties, each > 0, in any order. Default: `n_taus` values from ``tau_max`` to ``eps * tau_max`` with a
        constant ratio.
    n_taus : int
        Number of values when `tau` is not given.
    eps : float
        Ratio of the last to the first of them.
    K : float
        The penalty on ``||w||^2 / 2``.
    intercept : {"free", "none", "penalized"}
        As in :class:`Lasso`.
    C : float
        The penalty on a penalized b.
    tol : float
        Tolerance of each relative duality gap.
    max_iter : int
        Largest number of linear systems for each tau.
    progress : bool
        Whether a progress bar is shown.

    Returns
    -------
    L1Path
        In the order of `tau`.

    Raises
    ------
    ValueError
        If a shape does not fit or a penalty is out of range.

    Warns
    -----
    ConvergenceWarning
        If some gap misses `tol`.

    Notes
    -----
    Source: Section 19.5, Example 19.3. Between the values of tau where a weight becomes zero or stops to be zero, the
    solution of the lasso is an affine function of tau, by the text's ``(**_4)``.

    Examples
    --------
    >>> path = lasso_path([[2.0, 0.0], [0.0, 1.0]], [3.0, 1.0], [6.0, 2.0, 0.5], intercept="none")
    >>> path.w.round(4)
    array([[0.   , 0.   ],
           [1.   , 0.   ],
           [1.375, 0.5  ]])
    """
    data = _data(X, y, intercept, C)
    K = as_scalar(K, "K", at_least=0)
    tol, max_iter = as_scalar(tol, "tol", above=0), check_count(max_iter, "max_iter")
    working_set = WorkingSet.of(data, K)
    largest = float(np.abs(working_set.correlation).max())
    if tau is None:
        n_taus = check_count(n_taus, "n_taus")
        eps = as_scalar(eps, "eps", above=0, below=1)
        if largest == 0.0:
            raise ValueError("w = 0 for every tau: y is constant or orthogonal to X; give tau")
        taus = largest * np.geomspace(1.0, eps, n_taus)
    else:
        taus = as_vector(tau, "tau")
        if taus.size == 0:
            raise ValueError("tau must hold at least one value, got none")
        for value in taus:
            as_scalar(value, "tau", above=0)

    found: list[Solution | None] = [None] * taus.size
    order: Iterable[int] = np.argsort(-taus, kind="stable").tolist()
    for i in tqdm(order, desc="lasso path") if progress else order:
        found[i] = working_set.solve(float(taus[i]), tol, max_iter)
    solutions = [solution for solution in found if solution is not None]

    converged = all(s.converged for s in solutions)
    if not converged:
        _warn(max(solutions, key=lambda s: s.gap), tol, f"max_iter = {max_iter}")
    w = np.array([s.w for s in solutions]).reshape(taus.size, -1)
    value = np.array([s.objective for s in solutions])
    scale = np.maximum(value, working_set.smallest_value)
    gap = np.array([s.gap for s in solutions])
    return L1Path(
        tau=taus,
        w=w,
        b=np.array([data.intercept(row) for row in w]),
        n_nonzero=np.count_nonzero(w, axis=1),
        objective=value,
        gap=ratio(gap, scale),
        n_iter=np.array([s.n_iter for s in solutions], dtype=np.intp),
        converged=converged,
        tau_max=largest,
        problem=Problem(
            "lasso path", {"X": X, "y": y, "K": K, "C": C, "intercept": intercept, "tol": tol}
        ),
    )


def _data(X: ArrayLike, y: ArrayLike, intercept: str, C: float) -> Shifted:
    """Check the data and shift them."""
    X, y = as_matrix(X, "X"), as_vector(y, "y")
    if y.size != X.shape[0]:
        raise ValueError(f"y must have length {X.shape[0]}, one per row of X, got {y.size}")
    if X.size == 0:
        raise ValueError(f"X must have at least one row and one column, got shape {X.shape}")
    return shift(X, y, check_intercept(intercept), as_scalar(C, "C", above=0))


# ---------------------------------------------------------------------------------------------
# The dual program
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class DualSolution(Record):
    r"""Outcome of a dual program: :func:`lasso_dual`, :func:`elastic_net_dual`.

    Parameters
    ----------
    lambda_ : ndarray of shape (m,)
        The dual solution, equal to the residual vector.
    w : ndarray of shape (n,)
        The weights that belong to it.
    b : float
        The intercept.
    objective : float
        The maximum of the dual function, equal to the minimum of the primal problem.
    qp : QPResult
        What the quadratic programming solver returned, with its certificate.
    """

    lambda_: np.ndarray
    w: np.ndarray
    b: float
    objective: float
    qp: QPResult


def lasso_dual(
    X: ArrayLike,
    y: ArrayLike,
    tau: float,
    *,
    intercept: str = "free",
    C: float = 1.0,
    tol: float = 1e-9,
) -> DualSolution:
    r"""Solve the dual program of the lasso: Dlasso2, Dlasso3, or the one of lasso4.

    .. math:: & \min_{\lambda, v} \; \tfrac12 \|y - \lambda\|_2^2 \; [\, + \tfrac1{2C} (\mathbf 1^\top\lambda)^2 \,] \\
        & \text{subject to} \quad X^\top\lambda = v, \; -\tau \le v_j \le \tau \\
        & \qquad [\, , \; \mathbf 1^\top \lambda = 0 \,]

    The multipliers of the equations are w and, for a free b, b.

    Parameters
    ----------
    X : array-like of shape (m, n)
    y : array-like of shape (m,)
    tau : float
        > 0.
    intercept : {"free", "none", "penalized"}
        Dlasso3 (with the equation), Dlasso2, or the dual of lasso4 (with the square).
    C : float
        The penalty on a penalized b.
    tol : float
        Tolerance of the certificate.

    Returns
    -------
    DualSolution

    Notes
    -----
    Source: Section 19.5, programs Dlasso2 and Dlasso3. The text's dual of lasso4 lacks the square. The text finds w
    from the dual solution by a second optimisation; the multipliers save it.

    Examples
    --------
    >>> solution = lasso_dual([[2.0, 0.0], [0.0, 1.0]], [3.0, 1.0], 1.0, intercept="none")
    >>> solution.lambda_.round(6), solution.w.round(6) + 0.0
    (array([0.5, 1. ]), array([1.25, 0.  ]))
    """
    X, y = as_matrix(X, "X"), as_vector(y, "y", np.shape(X)[0])
    tau, C = as_scalar(tau, "tau", above=0), as_scalar(C, "C", above=0)
    intercept = check_intercept(intercept)
    m, n = X.shape
    if intercept == "free":
        A = np.block([[X.T, -np.eye(n)], [np.ones((1, m)), np.zeros((1, n))]])
    else:
        A = np.hstack([X.T, -np.eye(n)])
    square = np.r_[np.ones(m), np.zeros(n)]
    column = square[:, None] / np.sqrt(C) if intercept == "penalized" else np.zeros((m + n, 1))
    bound = np.r_[np.full(m, np.inf), np.full(n, tau)]
    qp = solve_qp(
        LowRank(column, square),
        np.r_[-y, np.zeros(n)],
        A,
        np.zeros(len(A)),
        lower=-bound,
        upper=bound,
        tol=tol,
    )
    lambda_, v = qp.x[:m], qp.x[m:]
    w = np.where(np.abs(v) < tau, 0.0, qp.y[:n]) + 0.0
    b = {"none": 0.0, "free": float(qp.y[-1]), "penalized": float(lambda_.sum() / C)}[intercept]
    return DualSolution(lambda_, w, b, -qp.objective, qp)
