r"""Gram matrices: the text's index order, centring in feature space, and the test for positive definiteness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from companion.arithmetic import EPS
from companion.checks import as_scalar, real_or_complex
from companion.exceptions import complain
from companion.kernels.functions import Kernel
from companion.kernels.vectors import as_kernel
from companion.results import FEW_DIGITS, Record


def gram(kernel: str | Kernel | Callable, X: Any, **params: Any) -> np.ndarray:
    r"""Return the Gram matrix :math:`K_S = (\kappa(x_j, x_i))_{i,j}` in the text's index order.

    Parameters
    ----------
    kernel : str, Kernel or callable
        See :func:`companion.kernels.as_kernel`.
    X : array-like of shape (n, d), or a list of n other points
        The points of S.
    **params
        The parameters of a kernel given by its name.

    Returns
    -------
    ndarray of shape (n, n)
        The transpose of ``kernel(X)``. The two differ for complex kernels only, where
        :math:`u^* K_S u = \sum_{i,j} \kappa(x_i, x_j)\, u_i \overline{u_j} = \|\sum_i u_i \varphi(x_i)\|^2`.

    Notes
    -----
    Source: Definition 17.2.

    Examples
    --------
    >>> k, S = as_kernel("linear"), [[1, 1], [2j, 0]]
    >>> bool(gram(k, S)[0, 1] == k(S[1], S[0]) == 2j)
    True
    >>> gram("rbf", [[0.0], [1.0]], sigma=1.0).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """
    K = as_kernel(kernel, **params)(X)
    if np.ndim(K) != 2:
        raise ValueError("gram needs a list of points (the rows of a matrix), got a single point")
    return K.T


def center_gram(K: Any, K_fit: Any = None) -> np.ndarray:
    r"""Return the Gram matrix of the centred features :math:`\varphi(x) - \mu`, from that of the features.

    .. math::

        \widehat{\mathbf K} = {} & \mathbf K - \tfrac1n \mathbf 1 \mathbf 1^\top \mathbf K
        - \tfrac1n \mathbf K \mathbf 1 \mathbf 1^\top \\
        & + \tfrac1{n^2} (\mathbf 1^\top \mathbf K \mathbf 1)\, \mathbf 1 \mathbf 1^\top .

    Parameters
    ----------
    K : array-like of shape (n, n), or (m, n)
        ``k(X)``, or ``k(X_new, X)`` when `K_fit` is given.
    K_fit : array-like of shape (n, n), optional
        ``k(X)`` for the n points whose centroid is :math:`\mu`.

    Returns
    -------
    ndarray of the shape of `K`
        The numbers :math:`\hat\kappa(x, x_i) = \langle \varphi(x) - \mu, \varphi(x_i) - \mu \rangle`.

    Warns
    -----
    ConvergenceWarning
        If the result has fewer than seven digits: the images of the points lie close together, far from the origin.

    Notes
    -----
    Source: Section 17.4. Means of rows and columns suffice; no matrix product is formed.

    Examples
    --------
    >>> K = np.array([[1.0, 1.0, 1.0], [1.0, 4.0, 9.0], [1.0, 9.0, 25.0]])
    >>> (9 * center_gram(K)).round(6)
    array([[ 43.,  10., -53.],
           [ 10.,   4., -14.],
           [-53., -14.,  67.]])
    >>> bool(np.allclose(center_gram(K[:1], K), center_gram(K)[:1]))
    True
    """
    K = real_or_complex(K, "K")
    K_fit = K if K_fit is None else real_or_complex(K_fit, "K_fit")
    n = len(K_fit)
    if K_fit.shape[1] != n or K.shape[1] != n or K.size == 0:
        given = f"got the shapes {K.shape} and {K_fit.shape}"
        raise ValueError(f"K must have as many columns as the square K_fit, {given}")
    centred = centre(K, K_fit.mean(axis=0))
    size, after = max(np.abs(K).max(), np.abs(K_fit).max()), np.abs(centred).max()
    if EPS * size > FEW_DIGITS * after:
        error = f"an error of {EPS * size:.0e} from K"
        complain(f"the result, {after:.0e}, has {error}; centre the data first")
    return centred


def centre(K: np.ndarray, column_means: np.ndarray) -> np.ndarray:
    """Centre k(X), or k(X_new, X), with the means of the columns of k(X)."""
    centred = K - column_means
    centred -= K.mean(axis=1)[:, None]
    centred += column_means.mean()
    return centred


class Definiteness(Record):
    r"""The answer of :func:`is_positive_definite`: true or false, with the proof.

    Parameters
    ----------
    positive_definite : bool
        Whether :math:`u^* K u \ge 0` for all u, up to rounding. The truth value of the record.
    reason : str
        What decided.
    smallest_eigenvalue : float
        Of the Hermitian part of K.
    largest_eigenvalue : float
        Of the Hermitian part of K.
    tolerance : float
        What counted as zero, relative to the largest absolute value of an eigenvalue.
    witness : ndarray or None
        When the answer is no: a unit vector u for which :math:`u^* K u` is negative, or not real. Its
        first large entry (at least half of the largest in absolute value) is positive.
    value : complex or None
        :math:`u^* K u` for the witness.

    Examples
    --------
    >>> answer = is_positive_definite([[2, 2], [1, 1]])
    >>> bool(answer), answer.reason
    (False, 'the matrix is not Hermitian: u* K u is not real for the witness u')
    """

    positive_definite: bool
    reason: str
    smallest_eigenvalue: float
    largest_eigenvalue: float
    tolerance: float
    witness: np.ndarray | None = None
    value: complex | None = None

    def __bool__(self) -> bool:
        return self.positive_definite


def is_positive_definite(K: Any, tol: float | None = None) -> Definiteness:
    r"""Decide whether :math:`u^* K u \ge 0` for all :math:`u \in \mathbb{C}^n`, and prove a "no" with a witness.

    "Positive definite" has the text's meaning: positive semidefinite in the language of matrices.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Real or complex.
    tol : float, optional
        Eigenvalues above ``-tol`` times the largest absolute value count as nonnegative. Default: 100 n times the
        machine epsilon, what rounding can do to a Gram matrix.

    Returns
    -------
    Definiteness
        True or false in an ``if``, with the fields ``reason``, ``smallest_eigenvalue``, ``witness``,
        ``value``.

    Notes
    -----
    Source: Definition 17.2, Propositions 17.2 and 17.3. A real matrix must be symmetric: [[1, 1], [-1, 1]]
    has :math:`u^\top K u = \|u\|^2` for real u, but not for complex u. The witness is an eigenvector: of
    the Hermitian part for its smallest eigenvalue, or of the skew-Hermitian part, for which :math:`u^* K u`
    is not real.

    Examples
    --------
    >>> bool(is_positive_definite([[2, 1], [1, 2]]))
    True
    >>> answer = is_positive_definite([[1, 2], [2, 1]])
    >>> bool(answer), round(answer.smallest_eigenvalue, 6), answer.witness.round(4)
    (False, -1.0, array([ 0.7071, -0.7071]))
    """
    K = real_or_complex(K, "K")
    n = len(K)
    if K.shape != (n, n) or n == 0:
        raise ValueError(f"K must be square, got shape {K.shape}")
    tol = 100 * n * EPS if tol is None else as_scalar(tol, "tol", at_least=0.0)
    eigenvalues, U = np.linalg.eigh((K + K.conj().T) / 2)
    skew = (K - K.conj().T) / 2j
    scale = max(abs(eigenvalues[0]), abs(eigenvalues[-1]), float(np.abs(skew).max()))
    smallest, largest = float(eigenvalues[0]), float(eigenvalues[-1])
    if np.abs(skew).max() > tol * scale:
        parts, V = np.linalg.eigh(skew)
        u = V[:, np.argmax(np.abs(parts))]
        reason = "the matrix is not Hermitian: u* K u is not real for the witness u"
    elif smallest < -tol * scale:
        u = U[:, 0]
        reason = "u* K u is negative for the witness u"
    else:
        return Definiteness(True, "no eigenvalue is negative", smallest, largest, tol)
    first = u[np.argmax(np.abs(u) > np.abs(u).max() / 2)]
    u = u * (abs(first) / first)
    value = complex(np.vdot(u, K @ u))
    return Definiteness(
        False, reason, smallest, largest, tol, u, value if value.imag else value.real
    )
