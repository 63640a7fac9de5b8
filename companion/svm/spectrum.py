r"""The spectrum of an indefinite kernel matrix: how to mend it, and how a rank-one term moves it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg.lapack import dlasd4

from companion.admm import project_psd
from companion.arithmetic import EPS, largest
from companion.checks import as_matrix, as_symmetric

__all__ = ["RankOneSpectrum", "nearest_psd", "spectrum_transform"]


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


class RankOneSpectrum:
    r"""The negative part of :math:`K_0 + \tau z z^\top` for many z, after one eigendecomposition of :math:`K_0`.

    With :math:`K_0 = V D V^\top` and :math:`u = V^\top z` the eigenvalues are the roots of the secular equation

    .. math:: 1 + \tau \sum_j \frac{u_j^2}{d_j - \lambda} = 0,

    one between each two neighbours :math:`d_i < d_{i+1}` and one above the last, with the eigenvectors
    :math:`(D - \lambda_i)^{-1} u` in the basis V. Only the negative roots are needed, and no eigenvector is stored:
    a new z costs :math:`n^2` instead of :math:`n^3`.

    Parameters
    ----------
    K0 : ndarray of shape (n, n)
        Symmetric.

    Attributes
    ----------
    d : ndarray of shape (n,)
        Eigenvalues of K0, ascending.
    V : ndarray of shape (n, n)
        Eigenvectors, one per column.

    Examples
    --------
    >>> import numpy as np
    >>> spectrum = RankOneSpectrum(np.array([[0.0, 2.0], [2.0, 0.0]]))
    >>> z = np.array([1.0, 0.0])
    >>> squares, Nz = spectrum.negative_part(spectrum.V.T @ z, 1.0)
    >>> lowest = np.linalg.eigvalsh([[1.0, 2.0], [2.0, 0.0]])[0]
    >>> bool(np.isclose(squares, lowest**2))
    True
    """

    def __init__(self, K0: np.ndarray) -> None:
        self.d, self.V = np.linalg.eigh(as_symmetric(K0, "K0"))

    def negative_part(self, u: np.ndarray, tau: float) -> tuple[float, np.ndarray]:
        r"""Return :math:`\sum_{\lambda_i < 0} \lambda_i^2` and :math:`V^\top N z`, for the negative part -N.

        Parameters
        ----------
        u : ndarray of shape (n,)
            :math:`V^\top z`.
        tau : float
            The factor :math:`\tau > 0`.
        """
        d, weight = self.d, tau * u * u
        noise = EPS * max(abs(float(d[0])), abs(float(d[-1])), float(weight.sum()))
        # equal eigenvalues act as one, with the sum of their weights; the others of the group stay where they are
        first = np.flatnonzero(np.append(True, np.diff(d) > 4.0 * noise))
        group = np.repeat(np.arange(first.size), np.diff(np.append(first, d.size)))
        pole, c = d[first], np.add.reduceat(weight, first)
        below = np.minimum(pole, 0.0)
        squares = float(((np.bincount(group) - 1) * below**2).sum())
        # a direction that z hardly has is an eigenvector as it is
        kept = np.sqrt(c * c.sum()) > noise
        squares += float((below[~kept] ** 2).sum())
        factor = np.where(kept, 0.0, -below)  # N u = factor * u, group by group
        p, c = pole[kept], c[kept]
        count = _negative_roots(p, c)
        if count:
            root, gaps = _secular_roots(p, c, count)
            ratio = c / gaps
            size = np.abs(root) / np.einsum("ij,ij->i", ratio, 1.0 / gaps)
            factor[kept] = -(size @ (1.0 / gaps))
            squares += float(root @ root)
        return squares, factor[group] * u


def _negative_roots(p: np.ndarray, c: np.ndarray) -> int:
    """Return how many roots of ``1 + sum c / (p - x) = 0`` are negative."""
    below = int(np.searchsorted(p, 0.0))  # poles < 0
    if below == 0 or (below < p.size and p[below] == 0.0):
        return below
    return below if 1.0 + float((c / p).sum()) > 0.0 else below - 1


def _secular_roots(p: np.ndarray, c: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the first roots x_i of ``1 + sum_j c_j / (p_j - x) = 0``, and all differences ``p_j - x_i``.

    LAPACK seeks the square roots y of ``x - p_0``, and finds ``D_j - y`` and ``D_j + y`` with all their digits.
    """
    if p.size == 1:
        return p + c, -c[:, None]
    D, total = np.sqrt(p - p[0]), float(c.sum())
    z = np.sqrt(c / total)
    found = [dlasd4(i, D, z, rho=total) for i in range(count)]
    gaps = np.array([less * more for less, _, more, _ in found])
    # the square roots of poles that nearly agree have lost digits: Newton, from the next pole
    anchor = np.abs(gaps).argmin(axis=1)
    distance, x = p - p[anchor, None], -gaps[np.arange(count), anchor]
    for _ in range(4):
        ratio = c / (distance - x[:, None])
        slope = np.einsum("ij,ij->i", ratio, 1.0 / (distance - x[:, None]))
        x -= (1.0 + ratio.sum(axis=1)) / slope
    return p[anchor] + x, distance - x[:, None]
