"""The spectrum of an indefinite kernel matrix, and how to mend it."""

from __future__ import annotations

from typing import Any

import numpy as np

from companion.admm import project_psd
from companion.arithmetic import EPS, largest
from companion.checks import as_matrix, as_symmetric

__all__ = ["nearest_psd", "spectrum_transform"]


def nearest_psd(A: Any) -> np.ndarray:
    r"""Return the positive semidefinite matrix that is nearest in the Frobenius norm, :math:`A_+`.

    With :math:`A = \sum_i \lambda_i v_i v_i^\top` it is :math:`\sum_i \max(\lambda_i, 0)\, v_i v_i^\top`.

    Parameters
    ----------
    A : array-like of shape (n, n)
        Symmetric.

    Raises
    ------
    ValueError
        If A is not symmetric; :func:`companion.admm.project_psd` takes any square matrix.

    Notes
    -----
    Source: YCG (4). A is mapped to :math:`A_+` with Lipschitz constant 1 in the Frobenius norm.

    Examples
    --------
    >>> nearest_psd([[0, 2], [2, 0]]).round(8)
    array([[1., 1.],
           [1., 1.]])
    """
    return project_psd(as_symmetric(A, "A"))


def spectrum_transform(K: Any, how: str = "clip", rows: Any = None) -> Any:
    r"""Make a symmetric matrix positive semidefinite by changing its eigenvalues alone.

    =============  ================================================================
    ``clip``       :math:`\max(\lambda, 0)`: "denoise"
    ``flip``       :math:`|\lambda|`
    ``shift``      :math:`\lambda - \min(\lambda_{\min}, 0)`
    ``square``     :math:`\lambda^2`
    ``diffusion``  :math:`e^\lambda`
    =============  ================================================================

    Parameters
    ----------
    K : array-like of shape (n, n)
        Symmetric.
    how : str
        One of the names above.
    rows : array-like of shape (m, n), optional
        Kernel values of m new points with the n old ones.

    Returns
    -------
    ndarray of shape (n, n), or a pair
        The new matrix; with `rows`, also the new values of the new points, shape (m, n).

    Raises
    ------
    ValueError
        If K is not symmetric, or a large eigenvalue overflows in ``"diffusion"``.

    Notes
    -----
    Source: YCG Section 1 (all but square). The new values are ``rows @ T`` with the matrix T for which the transform
    of K is K T, up to a multiple of the identity: adding to the diagonal does not concern pairs of different points.

    Examples
    --------
    >>> K = [[0.0, 2.0], [2.0, 0.0]]
    >>> spectrum_transform(K, "flip").round(8)
    array([[2., 0.],
           [0., 2.]])
    >>> spectrum_transform(K, "clip", rows=[[2.0, 0.0]])[1].round(8)
    array([[1., 1.]])
    """
    K = as_symmetric(K, "K")
    d, V = np.linalg.eigh(K)
    d[np.abs(d) <= len(d) * EPS * largest(d)] = 0.0  # below this an eigenvalue has no sign
    with np.errstate(over="ignore", invalid="ignore"):
        grown = np.where(d == 0.0, 1.0, np.expm1(d) / d)
    transforms = {  # t and c for the new eigenvalues d t + c
        "clip": (np.where(d > 0.0, 1.0, 0.0), 0.0),
        "flip": (np.sign(d), 0.0),
        "shift": (np.ones_like(d), -float(d.min(initial=0.0))),
        "square": (d, 0.0),
        "diffusion": (grown, 1.0),
    }
    if how not in transforms:
        raise ValueError(f"how must be one of {', '.join(transforms)}, got {how!r}")
    factor, constant = transforms[how]
    if not np.isfinite(factor).all():
        raise ValueError(
            f"exp overflows at the eigenvalue {d[-1]:.4g} of K; scale K, to at most 700"
        )
    new = (V * np.maximum(d * factor + constant, 0.0)) @ V.T
    new = 0.5 * (new + new.T)
    if rows is None:
        return new
    return new, as_matrix(rows, "rows", (None, len(K))) @ (V * factor) @ V.T
