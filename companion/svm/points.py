r"""The two classes of points as a dual program sees them: signs, features, and the matrix of inner products.

With :math:`s_i = +1` for a blue point and -1 for a red one, every dual program of the chapter has the matrix

.. math:: \mathbf K_{ij} = s_i s_j\, \kappa(x_i, x_j), \qquad \mathbf K =
    \begin{pmatrix} \kappa(u_i, u_j) & -\kappa(u_i, v_j) \\ -\kappa(v_i, u_j) & \kappa(v_i, v_j) \end{pmatrix}

when the blue points come first. The order does not matter here: points stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from companion.admm.low_rank import LowRank
from companion.checks import as_vector
from companion.engine.arithmetic import EPS, largest
from companion.kernels import Gaussian, Kernel, Linear, Polynomial, Sigmoid
from companion.kernels.given import Precomputed
from companion.kernels.gram import centre

__all__ = ["Normal", "Points", "SignedKernel", "as_signs", "kernel_options", "make_points"]

_MANY_FEATURES = 100  # explicit features are worth having up to this number, or up to one per point
_ZERO_FEATURES = 1e-13  # |w| is zero up to rounding below this part of sum a_i |phi(x_i)|
_ZERO_GRAM = 1e-7  # the same when only inner products are known: |w|^2 has the rounding of |phi|^2


class Normal(NamedTuple):
    """The vector w, its norm, its inner product with the features' origin, and the norm's relative error."""

    w: np.ndarray | None
    norm: float
    shift: float = 0.0
    error: float = 0.0


@dataclass(frozen=True, eq=False)
class Points:
    r"""Training points, their signs, and what the kernel says about them.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The points, or a Gram matrix.
    s : ndarray of shape (n,)
        +1 for blue, -1 for red.
    kernel : Kernel
        The kernel.
    Phi : ndarray of shape (n, N) or None
        Explicit features from `origin` on, where they are known and few.
    origin : ndarray of shape (N,) or 0
        The mean of the features where b is free: :math:`s^\top a = 0` allows it, and it spares digits.
    centred : bool
        Whether the Gram matrix is that of the features from their mean on. A kernel that is only conditionally
        positive definite has no other, and where :math:`s^\top a = 0` the dual program needs no other.
    """

    X: np.ndarray
    s: np.ndarray
    kernel: Kernel
    Phi: np.ndarray | None = None
    origin: np.ndarray | float = 0.0
    centred: bool = False

    @property
    def n(self) -> int:
        """Number of points, p + q."""
        return self.s.size

    @cached_property
    def blue(self) -> np.ndarray:
        """Indices of the blue points."""
        return (self.s > 0).nonzero()[0]

    @cached_property
    def red(self) -> np.ndarray:
        """Indices of the red points."""
        return (self.s < 0).nonzero()[0]

    @property
    def fewest(self) -> int:
        """Number of points of the smaller class, min(p, q)."""
        return min(self.blue.size, self.red.size)

    @cached_property
    def gram(self) -> np.ndarray:
        """The Gram matrix, which has to be real."""
        if self.Phi is not None:
            return self.Phi @ self.Phi.T
        G = _real(self.kernel(self.X), self.kernel)
        return centre(G) if self.centred else G

    def inner(self, index: np.ndarray) -> np.ndarray:
        """Return the rows of the Gram matrix with these indices as a new array."""
        if self.Phi is not None:
            return self.Phi[index] @ self.Phi.T
        known = self.centred or self.kernel.is_precomputed or "gram" in vars(self)
        if known or index.size == self.n:
            return self.gram[index]
        return self.kernel(self.X[index], self.X)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The squared lengths of the features."""
        if self.Phi is not None:
            return np.einsum("ij,ij->i", self.Phi, self.Phi)
        known = self.centred or self.kernel.is_precomputed
        return self.gram.diagonal() if known else self.kernel.diagonal(self.X).real

    def for_libsvm(self) -> tuple[np.ndarray, dict[str, Any]]:
        """Return points, or a Gram matrix, and the kernel as libsvm calls it."""
        options = kernel_options(self.kernel)
        if self.centred or options["kernel"] not in ("linear", "poly", "rbf"):
            return self.gram, {"kernel": "precomputed"}
        return self.X, options

    def normal(self, a: np.ndarray, quadratic: float) -> Normal:
        r"""Return :math:`w = \sum_i s_i a_i \varphi(x_i)` and its norm, which is 0 when it is nothing but rounding.

        Parameters
        ----------
        a : ndarray of shape (n,)
            Multipliers, of any sign.
        quadratic : float
            :math:`a^\top \mathbf K a`, which is :math:`\|w\|^2` where no features are known.
        """
        c = self.s * a
        reach = float(np.abs(a) @ np.sqrt(np.maximum(self.diagonal, 0.0)))
        if self.Phi is None:
            norm = float(np.sqrt(max(quadratic, 0.0)))
            if norm <= _ZERO_GRAM * reach:
                return Normal(None, 0.0)
            shift = float(c @ self.kernel(self.X).mean(axis=1)) if self.centred else 0.0
            return Normal(None, norm, shift, 0.5 * EPS * (reach / norm) ** 2)
        w = c @ self.Phi
        norm = float(np.linalg.norm(w))
        if norm <= _ZERO_FEATURES * reach:
            return Normal(np.zeros_like(w), 0.0)
        return Normal(w, norm, float(np.sum(w * self.origin)), EPS * reach / norm)


class SignedKernel:
    r"""The matrix P of a dual program: :math:`s_i s_j (\kappa(x_i, x_j) + 1) + \frac1{2K}\delta_{ij}`, row by row.

    The term :math:`ss^\top` is the kernel :math:`\kappa + 1`: the constant is one more feature.

    Parameters
    ----------
    points : Points
    penalize_b : bool
        Whether the 1 is there.
    ridge : float
        The multiple of the identity.
    """

    def __init__(self, points: Points, *, penalize_b: bool = False, ridge: float = 0.0) -> None:
        self.points, self.s, self.ridge = points, points.s, ridge
        self.constant = 1.0 if penalize_b else 0.0
        self.shape = (points.n, points.n)
        self.product = None if points.Phi is None else self._by_weights

    def rows(self, index: np.ndarray) -> np.ndarray:
        """Return the rows with these indices as a new array."""
        R = self.points.inner(index)
        R += self.constant
        R *= self.s
        R *= self.s[index, None]
        R[np.arange(index.size), index] += self.ridge
        return R

    def _by_weights(self, a: np.ndarray) -> np.ndarray:
        """Return P a from the weights w."""
        Phi, signed = self.points.Phi, self.s * a
        values = Phi @ (signed @ Phi) + self.constant * float(signed.sum())
        return self.s * values + self.ridge * a

    def diagonal(self) -> np.ndarray:
        """Return the diagonal."""
        return self.points.diagonal + self.constant + self.ridge

    def factor(self) -> LowRank | None:
        """Return P by its factor, if that has at most half as many columns as rows."""
        Phi, n = self.points.Phi, self.points.n
        if Phi is None or Phi.shape[1] > n // 2:
            return None
        F = np.column_stack([Phi, np.ones(n)]) if self.constant else Phi
        return LowRank(F * self.s[:, None], self.ridge)

    def toarray(self) -> np.ndarray:
        """Return the whole matrix."""
        return self.rows(np.arange(self.points.n))


_OPTIONS: dict[type[Kernel], Callable[[Any], dict[str, Any]]] = {
    Linear: lambda k: {"kernel": "linear"},
    Polynomial: lambda k: {"kernel": "poly", "degree": k.d, "gamma": k.gamma, "coef0": k.R},
    Gaussian: lambda k: {"kernel": "rbf", "gamma": 0.5 / k.sigma**2},
    Sigmoid: lambda k: {"kernel": "sigmoid", "gamma": k.a, "coef0": k.b},
    Precomputed: lambda k: {"kernel": "precomputed"},
}


def kernel_options(kernel: Kernel) -> dict[str, Any]:
    """Return scikit-learn's names for a kernel; a kernel without a name is passed as a function."""
    return _OPTIONS.get(type(kernel), lambda k: {"kernel": k})(kernel)


def as_signs(y: Any, n: int | None = None) -> np.ndarray:
    """Return labels that have to be +1 and -1."""
    y = as_vector(y, "y", n)
    wrong = y[(y != 1.0) & (y != -1.0)]
    if wrong.size:
        raise ValueError(f"y must hold +1 and -1, got {wrong[0]:g}")
    return y


def make_points(X: np.ndarray, s: np.ndarray, kernel: Kernel, free_b: bool = False) -> Points:
    """Collect what a dual program needs to know about the training points."""
    limit = np.inf if kernel.is_linear else max(len(X), _MANY_FEATURES)
    Phi = kernel.features(X, limit=limit)
    if Phi is not None and not np.isfinite(largest(_real(Phi, kernel))):
        raise ValueError(
            f"the features of {kernel!r} overflow at these points; scale the data down"
        )
    if Phi is None or not free_b:
        return Points(X, s, kernel, Phi)
    mean = Phi.mean(axis=0)
    return Points(X, s, kernel, Phi - mean, mean)


def _real(values: np.ndarray, kernel: Kernel) -> np.ndarray:
    if np.iscomplexobj(values):
        raise ValueError(f"a support vector machine needs a real kernel, got {kernel!r}")
    return values
