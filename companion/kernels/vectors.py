r"""Kernels of vectors: linear, polynomial, Gaussian, sigmoid, bilinear."""

from __future__ import annotations

import math
from functools import partial, reduce
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import comb

from companion.checks import as_scalar, check_count
from companion.kernels.arithmetic import base, squared_norms
from companion.kernels.features import LARGEST_DEGREE, polynomial_features
from companion.kernels.functions import Kernel, NoFeatures, OfValues, parameter
from companion.kernels.given import ExplicitKernel
from companion.kernels.points import as_vectors, both, real_or_complex, rows_of_both

__all__ = ["Bilinear", "Gaussian", "Linear", "Polynomial", "Sigmoid"]

# |x - y|^2 = |x|^2 + |y|^2 - 2 <x, y> is one matrix product, many times faster than the differences if there are many
# features. Its rounding is some eps (|x|^2 + |y|^2), which 2 sigma^2 divides: relative to the kernel, some eps _LONG.
_MANY = 16  # features
_LONG = 64.0  # |x|^2/(2 sigma^2)


class Linear(ExplicitKernel):
    r"""The linear kernel :math:`\kappa(x, y) = \langle x, y \rangle` on :math:`\mathbb{R}^n` or :math:`\mathbb{C}^n`.

    Notes
    -----
    Source: Example 17.5; SP Example 1. On :math:`\mathbb{C}^n`,
    :math:`\langle x, y\rangle = \sum_i x_i \overline{y_i}`.

    Examples
    --------
    >>> Linear()([[1, 2], [3, 4]])
    array([[ 5., 11.],
           [11., 25.]])
    >>> Linear()([1, 1j], [1j, 1])
    0j
    """

    is_linear = True

    def _phi(self, X: Any) -> np.ndarray:
        return as_vectors(X)

    def _formula(self, x: str, y: str) -> str:
        return f"<{x}, {y}>"


class Polynomial(OfValues):
    r"""The polynomial kernel :math:`\kappa(x, y) = (\gamma \langle x, y \rangle + R)^d`.

    Parameters
    ----------
    d : int
        Degree, at least 1.
    R : float
        Nonnegative constant; ``R=0`` gives the homogeneous kernel.
    gamma : float
        Positive factor of the inner product; 1 in the text.

    Notes
    -----
    Source: Examples 17.4 and 17.5. The feature space has dimension :math:`\binom{n+d}{d}`, or
    :math:`\binom{n+d-1}{d}` when R = 0: see :func:`companion.kernels.polynomial_features`.

    Examples
    --------
    >>> k = Polynomial(2, R=1.0)
    >>> k, k([1, 2], [3, 4])
    ((<x, y> + 1)^2, 144.0)
    """

    d: int = parameter(check_count, default=2)
    R: float = parameter(partial(as_scalar, at_least=0.0), default=1.0)
    gamma: float = parameter(partial(as_scalar, above=0.0), default=1.0)
    kernel = Linear()

    def _of(self, t: np.ndarray) -> np.ndarray:
        return reduce(np.multiply, [self.gamma * t + self.R] * self.d)

    def _features(self, X: Any, limit: float) -> np.ndarray:
        P = as_vectors(X)
        n = P.shape[1] - (self.R == 0)
        if self.d > LARGEST_DEGREE or comb(n + self.d, self.d) > limit:
            raise NoFeatures
        return polynomial_features(math.sqrt(self.gamma) * P, self.d, self.R)

    def _formula(self, x: str, y: str) -> str:
        inner = f"<{x}, {y}>" if self.gamma == 1 else f"{self.gamma:.6g} <{x}, {y}>"
        return base(f"{inner} + {self.R:.6g}" if self.R else inner) + f"^{self.d}"


class Gaussian(Kernel):
    r"""The Gaussian kernel :math:`\kappa(x, y) = e^{-\|x - y\|^2 / (2\sigma^2)}`.

    Parameters
    ----------
    sigma : float
        Width, positive, in the units of the data. Scikit-learn's ``gamma`` is :math:`1/(2\sigma^2)`.

    Notes
    -----
    Source: Definition 17.4, Proposition 17.7 (3). For complex points the distance is that of :math:`\mathbb{C}^n`.

    Examples
    --------
    >>> k = Gaussian(2.0)
    >>> k
    exp(-|x - y|^2/(2*2^2))
    >>> round(k([0.0, 0.0], [0.0, 2.0]), 6)
    0.606531
    """

    sigma: float = parameter(partial(as_scalar, above=0.0), default=1.0)

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        P, Q = rows_of_both(as_vectors, X, Y)
        if np.iscomplexobj(P) or np.iscomplexobj(Q):
            P, Q = (np.hstack([Z.real, Z.imag]) for Z in (P, Q))
        K = self._by_products(P, Q) if P.shape[1] >= _MANY else None
        if K is None:
            K = cdist(P, Q, "sqeuclidean")
            K /= -2.0 * self.sigma**2
        return np.exp(K, out=K)

    def _diagonal(self, X: Any) -> np.ndarray:
        return np.ones(len(as_vectors(X)))

    def _by_products(self, P: np.ndarray, Q: np.ndarray) -> np.ndarray | None:
        """Return -|x - y|^2/(2 sigma^2) by one matrix product, if it loses no more than two digits."""
        c = Q.mean(axis=0)  # only lengths count, and they are least around the centre
        U, V = both(lambda Z: (Z - c) / self.sigma, P, Q)
        p, q = both(lambda Z: 0.5 * squared_norms(Z), U, V)
        if max(p.max(), q.max()) > _LONG:
            return None
        K = U @ V.T
        K -= np.add.outer(p, q)
        np.minimum(K, 0.0, out=K)
        if P is Q:
            np.fill_diagonal(K, 0.0)
        return K

    def _formula(self, x: str, y: str) -> str:
        return f"exp(-|{x} - {y}|^2/(2*{self.sigma:.6g}^2))"


class Sigmoid(OfValues):
    r"""The sigmoid kernel :math:`\kappa(x, y) = \tanh(a \langle x, y \rangle + b)`: **not** positive definite.

    Parameters
    ----------
    a : float
        Positive slope.
    b : float
        Offset.

    Notes
    -----
    On the line, :math:`\tanh(a\,xy + b) = \sum_k c_k (xy)^k` near 0. Coefficients that annihilate all
    powers below k, placed at points of size :math:`\varepsilon`, leave :math:`c_k\,\varepsilon^{2k}` times
    a square. So every :math:`c_k` would have to be nonnegative. With :math:`T = \tanh b`, :math:`c_0 \ge 0`
    needs :math:`T \ge 0`, :math:`c_2 \ge 0` needs :math:`T \le 0`, and at :math:`T = 0` one has
    :math:`c_3 = -a^3/3 < 0`.

    Examples
    --------
    >>> k = Sigmoid(1.0, 0.0)
    >>> k, k.positive_definite
    (tanh(<x, y>), False)
    >>> bool(np.linalg.eigvalsh(k([[1.0], [2.0]]))[0] < 0)
    True
    """

    a: float = parameter(partial(as_scalar, above=0.0), default=1.0)
    b: float = parameter(as_scalar, default=0.0)
    kernel = Linear()
    positive_definite = False

    def _of(self, t: np.ndarray) -> np.ndarray:
        if np.iscomplexobj(t):
            raise TypeError("X must be real: tanh has poles in the complex plane")
        return np.tanh(self.a * t + self.b)

    def _formula(self, x: str, y: str) -> str:
        inner = f"<{x}, {y}>" if self.a == 1 else f"{self.a:.6g} <{x}, {y}>"
        offset = f" {'+' if self.b > 0 else '-'} {abs(self.b):.6g}" if self.b else ""
        return f"tanh({inner}{offset})"


def _semidefinite(B: Any, name: str) -> np.ndarray:
    """Return a positive semidefinite matrix that cannot be changed, or raise an error."""
    B = real_or_complex(B, name).copy()
    if B.shape[0] != B.shape[1]:
        raise ValueError(f"B must be square, got shape {B.shape}")
    if not np.allclose(B, B.conj().T, rtol=0.0, atol=1e-12 * np.abs(B).max()):
        raise ValueError("Proposition 17.6 (5) needs a symmetric (or Hermitian) B")
    lowest, highest = np.linalg.eigvalsh(B)[[0, -1]]
    if lowest < -1e-12 * max(highest, -lowest):
        given = f"got eigenvalue {lowest:.4g}"
        raise ValueError(f"Proposition 17.6 (5) needs a positive semidefinite B, {given}")
    B.flags.writeable = False
    return B


class Bilinear(ExplicitKernel):
    r"""The kernel :math:`\kappa(x, y) = x^\top B y` of a positive semidefinite matrix B.

    Parameters
    ----------
    B : array-like of shape (n, n)
        Symmetric positive semidefinite; or Hermitian, and then :math:`\kappa(x, y) = y^* B x`.

    Raises
    ------
    ValueError
        If B is not Hermitian or has a negative eigenvalue.

    Notes
    -----
    Source: Proposition 17.6 (5). With :math:`B = R R^*` the feature map is :math:`\varphi(x) = R^* x`.

    Examples
    --------
    >>> round(Bilinear([[2, 1], [1, 2]])([1, 0], [1, 1]), 6)
    3.0
    >>> Bilinear([[0, 1], [1, 0]])
    Traceback (most recent call last):
    ...
    ValueError: Proposition 17.6 (5) needs a positive semidefinite B, got eigenvalue -1
    """

    B: np.ndarray = parameter(_semidefinite)

    def _phi(self, X: Any) -> np.ndarray:
        P = as_vectors(X)
        if P.shape[1] != len(self.B):
            raise ValueError(f"points must have {len(self.B)} coordinates, got {P.shape[1]}")
        eigenvalues, U = np.linalg.eigh(self.B)
        kept = eigenvalues > 1e-15 * eigenvalues[-1]
        return P @ (U[:, kept] * np.sqrt(eigenvalues[kept])).conj()

    def _formula(self, x: str, y: str) -> str:
        return f"{y}^* B {x}" if np.iscomplexobj(self.B) else f"{x}' B {y}"
