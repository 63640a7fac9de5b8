r"""Kernel ridge regression: programs KRR2 and KRR6'."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from scipy import linalg

from companion.arguments import check_choice
from companion.arithmetic import EPS, apart, exact_product, largest
from companion.checks import as_scalar, as_weights, renamed
from companion.engine.certificate import certify_squares, relative_step, rounding_of_a_sum
from companion.kernels import Kernel
from companion.kernels.vectors import KernelMixin, own_points
from companion.regression.intercept import shift
from companion.regression.regressor import Regressor
from companion.regression.ridge import cholesky, solve_ridge, warn_if_missed
from companion.results import TOLERANCE, Certificate

# Below this fraction of the trace the eigenvalues are taken. Above it Cholesky errs by eps/1e-13 = 2e-3 of alpha, the
# step of refinement squares that, and the gap is of second order in it: 3e-11.
_SMALL_K = 1e-13


class KernelRidge(KernelMixin, Regressor):
    r"""Ridge regression in the feature space of a kernel.

    .. math:: & \min_{w, b, \xi} \; \|\xi\|_2^2 + K \langle w, w \rangle \\
        & \text{subject to} \quad y_i - \langle w, \varphi(x_i) \rangle - b = \xi_i

    with b = 0 (``intercept="none"``) or b free (``"free"``). With the matrix :math:`G_{ij} = \kappa(x_i, x_j)` and the
    centring matrix :math:`C = I - \mathbf 1\mathbf 1^\top/m`, the dual variables solve

    .. math:: (G + K I)\, \alpha &= y, \quad \text{or} \\
              (CGC + K I)\, \alpha &= Cy,

    and :math:`w = \sum_i \alpha_i \varphi(x_i)`, so that :math:`f(x) = \sum_i \alpha_i \kappa(x_i, x) + b`.

    Parameters
    ----------
    K : float
        The penalty, >= 0. For K = 0, the solution of smallest norm among those of the least error.
    kernel : str, Kernel or callable
        See :func:`companion.kernels.as_kernel`; ``"precomputed"`` takes ``k(X)`` in `fit` and ``k(X_new, X)`` in
        `predict`.
    kernel_params : dict or None
        The parameters of a kernel given by its name, for example ``{"sigma": 2.0}``.
    intercept : {"none", "free"}
        Programs KRR2 and KRR6'. (A penalized intercept is ``kernel + Constant(1)`` without one.)

    Attributes
    ----------
    alpha_ : ndarray of shape (m,)
        Dual variables; their sum is 0 when b is free. Also ``dual_coef_``.
    b_ : float
        Intercept :math:`\bar y - \frac1m \mathbf 1^\top G \alpha`. Also ``intercept_``.
    xi_ : ndarray of shape (m,)
        Residuals, :math:`K \alpha`.
    w_ : ndarray of shape (d,) or None
        The weights, when the kernel has explicit features and at most half as many as there are points; then no m x m
        matrix is formed.
    norm_ : float
        The norm of w in feature space.
    objective_ : float
        The minimum.
    kernel_ : Kernel
        The kernel.
    X_fit_ : ndarray of shape (m, n)
        The training points.
    certificate_ : Certificate
        Residuals and duality gap.
    n_features_in_ : int
        n.

    Raises
    ------
    ValueError
        If K < 0, an option is unknown, or :math:`G + K I` is not positive definite.

    Warns
    -----
    ConvergenceWarning
        If the certificate is not good, or w has fewer than seven digits.

    Notes
    -----
    Source: Section 19.3, programs KRR2 and KRR6', and SP Section 1.2. The text has
    :math:`b = \bar y - \frac1m \mathbf 1^\top \widehat G \alpha` with the centred matrix. That is always
    :math:`\bar y`, since :math:`\widehat G \mathbf 1 = 0`; it goes with the centred kernel in f. Here f uses the kernel
    itself, and :math:`\mathbf 1^\top\alpha = 0` makes both the same function.

    Examples
    --------
    >>> model = KernelRidge(K=0.1, kernel="poly", kernel_params={"degree": 2}, intercept="free")
    >>> model.fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 0.0, 1.0, 4.0]).predict([[4.0]]).round(3)
    array([8.606])
    >>> model.certificate_.ok, bool(abs(model.alpha_.sum()) < 1e-12)
    (True, True)
    """

    K: float = 1.0
    _: KW_ONLY
    kernel: str | Kernel | Callable = "linear"
    kernel_params: dict[str, Any] | None = None
    intercept: str = "none"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        r"""Solve the program.

        Parameters
        ----------
        X : array-like of shape (m, n), or (m, m) for a precomputed kernel
            Points.
        y : array-like of shape (m,)
            Values.
        sample_weight : array-like of shape (m,), optional
            Weights :math:`s_i \ge 0`: the loss is :math:`\sum_i s_i \xi_i^2`, and :math:`s_i \xi_i = K \alpha_i`.

        Returns
        -------
        KernelRidge
            Itself.
        """
        K = as_scalar(self.K, "K", at_least=0)
        check_choice(self.intercept, "intercept", ("none", "free"))
        self.kernel_ = self._named_kernel()
        X, y = self._read(X, y)
        weights = as_weights(sample_weight, y.size)
        self.X_fit_ = own_points(X, self.kernel_)
        Phi = self.kernel_.features(X, limit=len(X) // 2)
        if Phi is None or np.iscomplexobj(Phi):
            w_error = self._fit_gram(X, y, K, weights)
        else:  # ridge regression on the features
            found = solve_ridge(Phi, y, K, self.intercept, weights)
            self.w_, self.b_, self.alpha_, self.xi_ = found.w, found.b, found.alpha, found.xi
            self.objective_, self.certificate_ = found.objective, found.certificate
            self.norm_, w_error = float(linalg.norm(found.w)), found.w_error
        warn_if_missed(self.certificate_, K, w_error, self.w_ is not None)
        return self

    def _fit_gram(
        self, X: np.ndarray, y: np.ndarray, K: float, weights: np.ndarray | None
    ) -> float:
        """Solve for alpha in R^m; return about by how much rounding has changed w in feature space.

        Points and values are multiplied by the roots r of their weights, and so is the column of ones that b
        multiplies. The second step of refinement is not taken: it is all rounding, and as large as the rounding that
        alpha has.
        """
        G, free = self.kernel_(X), self.intercept == "free"
        if np.iscomplexobj(G):
            raise ValueError(f"kernel ridge regression needs a real kernel, got {self.kernel_!r}")
        r = np.ones(y.size) if weights is None else np.sqrt(weights)

        def middle(v: np.ndarray) -> np.ndarray:
            return v - np.multiply.outer(r, r @ v) / (r @ r) if free else v

        lost = EPS * float(r**2 @ np.abs(G.diagonal()))  # also where all is centred away
        solve, basis = _inverse(lambda: middle(middle(r[:, None] * G * r).T), K, lost)
        shifted = shift(y[:, None], y, self.intercept, 0.0, weights)  # the points are not needed
        target, mean = shifted.y, shifted.y_mean

        def step(alpha: np.ndarray) -> np.ndarray:  # CGC alpha is CG alpha, alpha being centred
            return middle(solve(target - middle(r * (G @ (r * alpha))) - K * alpha))

        alpha = step(np.zeros(y.size))
        alpha += step(alpha)
        left = r * step(alpha)
        self.w_, self.alpha_ = None, r * alpha
        size_of_b = abs(mean) if target.any() else 0.0  # one value is exact
        for exact in (False, True):  # the second where rounding of the large terms hides the fit
            fit, lost = G @ self.alpha_, rounding_of_a_sum(y.size) * linalg.norm(self.alpha_)
            errors = lost * linalg.norm(G, axis=1)
            if exact:  # in blocks of rows, for the memory that it takes
                blocks = (G[i : i + 200] for i in range(0, len(G), 200))
                fit = np.concatenate([exact_product(block, self.alpha_) for block in blocks])
                errors = EPS * np.abs(fit)
            residual = target - middle(r * fit)
            self.b_ = mean - float(r**2 @ fit / (r @ r)) if free else 0.0
            self.xi_ = y - fit - self.b_
            self.norm_ = math.sqrt(max(self.alpha_ @ fit, 0.0))
            self.objective_ = float(residual @ residual + K * (self.alpha_ @ fit))
            errors += EPS * size_of_b
            self.certificate_ = self._certify(G, target, residual, K, basis, errors, alpha, r)
            if self.certificate_.ok:
                break
        size = math.sqrt(largest(r**2 * G.diagonal()))  # of the largest feature vector
        moved = math.sqrt(max(left @ (G @ left), 0.0))
        return relative_step(moved, self.norm_, size, float(linalg.norm(target)), K)

    def _certify(
        self, G: np.ndarray, y: np.ndarray, residual: np.ndarray, K: float, basis: Any, summed: np.ndarray,
        alpha: np.ndarray, r: np.ndarray,
    ) -> Certificate:  # fmt: skip
        r"""Certify alpha as its own dual point, made feasible: its mean is taken off, where b is free.

        Then the gap is :math:`\|\xi - K\alpha\|^2`, and K times the square of what the mean was in feature space. For
        K = 0 the residual has to be orthogonal to every fit. In a `basis` of the fits, the gap is the square of what
        is not.

        All that refers to the matrix of the kernel, of which G is the rounded one, and to the product :math:`G\alpha`,
        which is rounded, too. If :math:`\delta` is what the fit is wrong by, then the objective is wrong by

        .. math:: \|\xi - \delta\|^2 + K \alpha^\top(G\alpha + \delta) - \|\xi\|^2 - K \alpha^\top G\alpha
            = (K\alpha - 2\xi)^\top \delta + \|\delta\|^2 ,

        which is not of the second order in :math:`\delta`, as the gap is. An entry of the matrix is an inner product
        of n terms in feature space, :math:`|\varphi(x_i)| |\varphi(x_j)|` at most, or a function of n terms that has
        no larger error. So :math:`\delta_i` is bounded by what the product and b may have `summed`, plus
        :func:`rounding_of_a_sum` of n terms times
        :math:`|\varphi(x_i)| (\sum_j \alpha_j^2 |\varphi(x_j)|^2)^{1/2}` for the entries: those have independent
        errors, but for the symmetry, which counts them twice. Their part is 0 where G was given.
        """
        norm, sizes = linalg.norm, np.sqrt(np.maximum(G.diagonal(), 0.0))
        entry = 0.0 if self.kernel == "precomputed" else rounding_of_a_sum(self.n_features_in_)
        errors = r * (summed + 2.0 * entry * float(norm(sizes * self.alpha_)) * sizes)
        rounding = float(norm(errors))
        rounding += EPS * float(norm(y))
        if K > 0.0:
            off = float(r @ alpha / (r @ r)) if self.intercept == "free" else 0.0
            distance = math.hypot(
                float(norm(residual - K * (alpha - off * r))) + rounding,
                math.sqrt(K * abs(float(r**2 @ G @ r**2))) * off,
            )
        else:
            distance = float(norm(basis.T @ residual)) + rounding
        wrong = float(norm((K * alpha - 2.0 * residual) * errors)) + float(norm(errors)) ** 2
        value, size = 0.5 * self.objective_, float(norm(y))
        return certify_squares(distance, np.zeros(0), value, size, TOLERANCE, missed=0.5 * wrong)

    def _f(self, X: np.ndarray) -> np.ndarray:
        if self.w_ is not None:
            return self.kernel_.features(X) @ self.w_ + self.b_
        return self.kernel_(X, self.X_fit_) @ self.alpha_ + self.b_

    dual_coef_ = renamed(lambda model: model.alpha_, "The dual variables `alpha_`")


def _inverse(
    matrix: Callable[[], np.ndarray], K: float, lost: float
) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray | None]:
    """Return what solves (S + K I) x = y, by Cholesky in the memory of S; where K is tiny, by the eigenvectors, too."""
    S = matrix()
    small = max(float(np.trace(S)), 0.0) * _SMALL_K
    if small < K:
        with suppress(linalg.LinAlgError):
            return cholesky(S, K), None
    values, V = linalg.eigh(matrix(), check_finite=False)
    rounding = len(S) * max(EPS * abs(float(values[-1])), lost)
    if small < K or values[0] < -max(1e-9 * abs(values[-1]), rounding):
        given, limit = apart(K, max(-float(values[0]), small, K) + rounding, 1.0)
        raise ValueError(
            f"the kernel is not positive definite on these points (eigenvalue {values[0]:.4g}), and K = {given} is too "
            f"small: {limit} is enough"
        )
    keep = values > rounding
    V, values = V[:, keep], values[keep]
    return lambda y: V @ ((V.T @ y) / (values + K)), V
