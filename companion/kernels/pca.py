r"""Kernel principal component analysis (Section 17.4)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from companion.arithmetic import EPS, largest
from companion.checks import as_matrix, check_count, check_range, reject_masked
from companion.exceptions import ConvergenceWarning
from companion.kernels.functions import Kernel
from companion.kernels.gram import centre
from companion.kernels.vectors import KernelMixin, own_points
from companion.results import TOLERANCE, Certificate

__all__ = ["KernelPCA"]


class KernelPCA(KernelMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Principal components of the images :math:`\varphi(x_i)` of the data, known through a kernel only.

    With :math:`\widehat{\mathbf K} v_k = \sigma_k^2 v_k` and the dual variables
    :math:`\alpha_k = v_k / \sigma_k`, the principal direction is
    :math:`u_k = \sum_i (\alpha_k)_i\, \hat\varphi(x_i)`, and the kth kernel principal component of a point
    is

    .. math::

        \langle \hat\varphi(x), u_k \rangle = \sum_{i=1}^n (\alpha_k)_i\, \hat\kappa(x, x_i) .

    Parameters
    ----------
    n_components : int or None
        Number of components. None, and any number above the rank r of :math:`\widehat{\mathbf K}`, gives
        all r.
    kernel : str, Kernel or callable
        See :func:`companion.kernels.as_kernel`; ``"precomputed"`` takes ``k(X)`` in `fit` and ``k(X_new,
        X)`` in `transform`.
    kernel_params : dict or None
        The parameters of a kernel given by its name, for example ``{"sigma": 2.0}``.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (r,)
        The nonzero eigenvalues :math:`\sigma_1^2 \ge \dots \ge \sigma_r^2` of the centred kernel matrix.
    eigenvectors_ : ndarray of shape (n, r)
        The unit eigenvectors :math:`v_k`. The sign makes the first of the largest entries positive.
    alpha_ : ndarray of shape (n, r)
        The dual variables :math:`\alpha_k`.
    explained_variance_ : ndarray of shape (r,)
        :math:`\sigma_k^2 / (n - 1)`, the variance of the kth component.
    explained_variance_ratio_ : ndarray of shape (r,)
        Shares of the total variance, the trace of :math:`\widehat{\mathbf K}`.
    n_components_ : int
        Number of components kept.
    kernel_ : Kernel
        The kernel.
    certificate_ : Certificate
        Residuals of the eigenvectors, and what other directions could add.

    Raises
    ------
    ValueError
        If the kernel matrix has a negative eigenvalue, is not real, or all points have the same image.

    Warns
    -----
    ConvergenceWarning
        If centring leaves fewer than nine digits of the largest eigenvalue.

    Notes
    -----
    Source: Section 17.4. When the kernel has explicit features, at most half as many as there are
    points, a singular value decomposition of the centred features replaces the n x n matrix. For the linear
    kernel it always does: this is ordinary PCA. When a few components of a large matrix are wanted, Lanczos
    iterations find them, and a second run on the deflated matrix makes sure that no repeated eigenvalue was
    missed.

    Examples
    --------
    >>> pca = KernelPCA(kernel="poly", kernel_params={"degree": 2})
    >>> Y = pca.fit_transform([[0.0], [1.0], [2.0]])
    >>> pca.eigenvalues_.round(6)
    array([12.45252 ,  0.214147])
    >>> Y.round(4)
    array([[-2.1717, -0.2483],
           [-0.554 ,  0.3708],
           [ 2.7257, -0.1225]])
    >>> pca.transform([[2.0]]).round(4)
    array([[ 2.7257, -0.1225]])
    >>> pca.certificate_.ok
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: str | Kernel | Callable = "linear",
        kernel_params: dict[str, Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params

    def fit(self, X: Any, y: Any = None) -> KernelPCA:
        """Find the principal directions.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) for a precomputed kernel
            Data.
        y : None
            Ignored.

        Returns
        -------
        KernelPCA
            Itself.
        """
        r = None if self.n_components is None else check_count(self.n_components, "n_components")
        self.kernel_ = kernel = self._named_kernel()
        reject_masked(X, "X")
        X = as_matrix(validate_data(self, X, dtype=np.float64, ensure_min_samples=2), "X")
        check_range(largest(X), "X")
        self.X_fit_ = own_points(X, kernel)
        # the matrix of points far from the origin has lost what centring leaves
        Phi = kernel.features(X, limit=np.inf if kernel.is_linear else len(X) // 2)
        A = kernel(X) if Phi is None else Phi
        if np.iscomplexobj(A):
            raise ValueError(f"kernel PCA needs a real kernel, got complex values of {kernel!r}")
        if not np.isfinite(A).all():
            raise ValueError(f"the features of {kernel!r} overflow at these points; scale the data")
        self._means = A.mean(axis=0)
        if Phi is None:
            values, V, total = _of_matrix(A, self._means, r, kernel.positive_definite is True)
            U, lost = None, len(X) * largest(A)
        else:
            values, V, U, total = _of_features(A, self._means, r)
            lost = 2.0 * math.sqrt(A.size * values.max(initial=0.0)) * largest(A)
        if len(values) == 0:
            raise ValueError("all points have the same image: there is no component")
        self._lost = float(EPS * lost / values[0])
        if self._lost > TOLERANCE:
            digits = f"{max(-math.log10(self._lost), 0.0):.0f} digits of the largest eigenvalue"
            warnings.warn(
                f"centring may leave only {digits}: the images lie close together, far from the origin",
                ConvergenceWarning,
                stacklevel=2,
            )
        signs = _signs(V)
        self.eigenvalues_ = values
        self.eigenvectors_ = V * signs
        self.alpha_ = self.eigenvectors_ / np.sqrt(values)
        self._directions = None if U is None else U * signs
        self.explained_variance_ = values / (len(X) - 1)
        self.explained_variance_ratio_ = values / total
        self.n_components_ = self._n_features_out = len(values)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        r"""Fit and return the components :math:`Y_k = \sigma_k v_k` of the data.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) for a precomputed kernel
            Data.
        y : None
            Ignored.

        Returns
        -------
        ndarray of shape (n, r)
            One row per point.
        """
        self.fit(X)
        return self.eigenvectors_ * np.sqrt(self.eigenvalues_)

    def transform(self, X: Any) -> np.ndarray:
        """Return the kernel principal components of new points.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) for a precomputed kernel
            Points.

        Returns
        -------
        ndarray of shape (m, r)
            One row per point.
        """
        check_is_fitted(self)
        reject_masked(X, "X")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if self._directions is not None:
            return (self.kernel_.features(X) - self._means) @ self._directions
        K = self.kernel_(X, self.X_fit_)
        return centre(K, self._means) @ self.alpha_

    @property
    def certificate_(self) -> Certificate:
        r"""The proof that no other r directions carry more variance, computed when it is asked for.

        ``primal_residual`` is the largest entry of :math:`V^\top V - I`, and ``dual_residual`` the largest norm of
        :math:`\widehat{\mathbf K} v_k - \sigma_k^2 v_k` relative to :math:`\sigma_1^2`, with what rounding the
        kernel values may do to it. ``gap`` is what the largest eigenvalue of
        :math:`\widehat{\mathbf K} - V \Sigma^2 V^\top` could add to the sum of the kept ones, relative to that sum.
        """
        check_is_fitted(self)
        X, V = self.X_fit_, self.eigenvectors_
        values = self.eigenvalues_
        if self._directions is None:
            K = centre(self.kernel_(X), self._means)
            off = K @ V - V * values
            K -= (V * values) @ V.T
        else:
            Phi = self.kernel_.features(X)
            assert Phi is not None
            Z = Phi - self._means
            off = Z @ (Z.T @ V) - V * values
            K = Z.T @ Z - (self._directions * values) @ self._directions.T
        left = max(float(linalg.eigvalsh(K, subset_by_index=[len(K) - 1] * 2)[0]), 0.0)
        if self.n_components == len(values):  # not all that are not zero were wanted
            left = float(np.maximum(left - values, 0.0).sum())
        return Certificate(
            primal_residual=largest(V.T @ V - np.eye(len(values))),
            dual_residual=float(np.linalg.norm(off, axis=0).max() / values[0]) + self._lost,
            complementarity=0.0,
            gap=left / float(values.sum()),
            tolerance=TOLERANCE,
        )


def _of_features(
    Phi: np.ndarray, means: np.ndarray, r: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return r eigenvalues with eigenvectors and directions, and the sum of all eigenvalues, from the features."""
    V, sigma, U = linalg.svd(Phi - means, full_matrices=False)
    kept = sigma > len(Phi) * EPS * largest(Phi)
    values = sigma[kept] ** 2
    return values[:r], V[:, kept][:, :r], U[kept][:r].T, values.sum()


def _of_matrix(
    K: np.ndarray, means: np.ndarray, r: int | None, positive: bool
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return r eigenvalues with eigenvectors, and the sum of all eigenvalues, from the kernel matrix."""
    n = len(K)
    zero = 10 * n * EPS * largest(K)  # what rounding can do to an eigenvalue
    K = centre(K, means)
    found = _lanczos(K, r) if r is not None and n >= 500 and r <= n // 20 and positive else None
    if found is None:
        eigenvalues, V = linalg.eigh(K)
        if eigenvalues[0] < -max(zero, 1e-9 * eigenvalues[-1]):
            given = f"it has the eigenvalue {eigenvalues[0]:.4g} after centring"
            raise ValueError(f"the kernel matrix is not positive semidefinite: {given}")
        found = eigenvalues[::-1], V[:, ::-1]
    eigenvalues, V = found
    kept = np.flatnonzero(eigenvalues > zero)[:r]
    return eigenvalues[kept], V[:, kept], np.trace(K)


def _lanczos(K: np.ndarray, r: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the r largest eigenvalues by Lanczos iterations, or None when one may have been missed.

    One starting vector sees one direction of each eigenspace. So the largest eigenvalue of what remains
    after deflation is computed from another start; if it exceeds one of those found, the answer is not
    trusted.
    """
    n = len(K)
    starts = np.random.default_rng(0).standard_normal((2, n))
    try:
        values, V = eigsh(K, k=r, which="LA", v0=starts[0])
        deflated = LinearOperator((n, n), matvec=lambda x: K @ x - V @ (values * (V.T @ x)))
        rest = eigsh(deflated, k=1, which="LA", v0=starts[1], return_eigenvectors=False)
    except ArpackNoConvergence:
        return None
    missed = rest[0] > values.min() + 1e-10 * values.max()
    return None if missed else (values[::-1], V[:, ::-1])


def _signs(V: np.ndarray) -> np.ndarray:
    """Return the signs that make the first of the (nearly) largest entries of each column positive."""
    modulus = np.abs(V)
    first = np.argmax(modulus >= (1 - 1e-6) * modulus.max(axis=0), axis=0)
    return np.sign(V[first, np.arange(V.shape[1])])
