r"""Kernel principal component analysis (Section 17.4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from companion.arithmetic import EPS, is_symmetric, largest
from companion.checks import check_count, check_range, validated
from companion.engine.certificate import certify_terms, relative
from companion.exceptions import complain
from companion.kernels.functions import Kernel
from companion.kernels.gram import centre
from companion.kernels.vectors import KernelMixin, own_points
from companion.results import TOLERANCE, Certificate


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
    Source: Section 17.4. With the linear kernel this is ordinary PCA.

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

    n_components: int | None = None
    _: KW_ONLY
    kernel: str | Kernel | Callable = "linear"
    kernel_params: dict[str, Any] | None = None

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
        X = validated(self, X, ensure_min_samples=2)
        check_range(largest(X), "X")
        self.X_fit_ = own_points(X, kernel)
        K = kernel(X)
        if np.iscomplexobj(K):
            raise ValueError(f"kernel PCA needs a real kernel, got complex values of {kernel!r}")
        if not is_symmetric(K, 1e-6):
            raise ValueError(f"kernel PCA needs a symmetric kernel, and {kernel!r} is not")
        n, size = len(X), largest(K)
        self._means = K.mean(axis=0)
        K = centre(K, self._means)
        # a kernel that is positive definite needs no look at the other eigenvalues
        wanted = [max(n - r, 0), n - 1] if r and kernel.positive_definite is True else None
        values, V = linalg.eigh(K, subset_by_index=wanted)
        zero = 10 * n * EPS * size  # what rounding can do to an eigenvalue
        if values[0] < -max(zero, 1e-9 * values[-1]):
            given = f"it has the eigenvalue {values[0]:.4g} after centring"
            raise ValueError(f"the kernel matrix is not positive semidefinite: {given}")
        kept = np.flatnonzero(values > zero)[::-1][:r]
        if len(kept) == 0:
            raise ValueError("all points have the same image: there is no component")
        values, V = values[kept], V[:, kept]
        self._lost = EPS * n * size / float(values[0])
        if self._lost > TOLERANCE:
            error = f"an error of {self._lost:.0e} of the largest eigenvalue"
            complain(f"centring may leave {error}: the images lie together, far from the origin")
        self.eigenvalues_ = values
        self.eigenvectors_ = V * _signs(V)
        self.alpha_ = self.eigenvectors_ / np.sqrt(values)
        self.explained_variance_ = values / (n - 1)
        self.explained_variance_ratio_ = values / np.trace(K)
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
        X = validated(self, X, reset=False)
        return centre(self.kernel_(X, self.X_fit_), self._means) @ self.alpha_

    @property
    def certificate_(self) -> Certificate:
        r"""The proof that no other r directions carry more variance, computed when it is asked for.

        ``primal_residual`` is the largest entry of :math:`V^\top V - I`, and ``dual_residual`` the largest norm of
        :math:`\widehat{\mathbf K} v_k - \sigma_k^2 v_k` relative to :math:`\sigma_1^2`, with what rounding the
        kernel values may do to it. ``gap`` is what the largest eigenvalue of
        :math:`\widehat{\mathbf K} - V \Sigma^2 V^\top` could add to the sum of the kept ones, relative to that sum.
        """
        check_is_fitted(self)
        V, values = self.eigenvectors_, self.eigenvalues_
        K = centre(self.kernel_(self.X_fit_), self._means)
        off = K @ V - V * values
        K -= (V * values) @ V.T
        left = max(float(linalg.eigvalsh(K, subset_by_index=[len(K) - 1] * 2)[0]), 0.0)
        if self.n_components == len(values):  # not all that are not zero were wanted
            left = float(np.maximum(left - values, 0.0).sum())
        return certify_terms(
            0.0, left, float(values.sum()), TOLERANCE, primal=largest(V.T @ V - np.eye(len(values))),
            dual=relative(np.linalg.norm(off, axis=0), values[0]) + self._lost,
        )  # fmt: skip


def _signs(V: np.ndarray) -> np.ndarray:
    """Return the signs that make the first of the (nearly) largest entries of each column positive."""
    modulus = np.abs(V)
    first = np.argmax(modulus >= (1 - 1e-6) * modulus.max(axis=0), axis=0)
    return np.sign(V[first, np.arange(V.shape[1])])
