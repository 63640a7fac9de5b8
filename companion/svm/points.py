r"""The two classes of points as a dual program sees them: signs, features, and the matrix of inner products.

With :math:`s_i = +1` for a blue point and -1 for a red one, every dual program of the chapter has the matrix

.. math:: \mathbf K_{ij} = s_i s_j\, \kappa(x_i, x_j), \qquad \mathbf K =
    \begin{pmatrix} \kappa(u_i, u_j) & -\kappa(u_i, v_j) \\ -\kappa(v_i, u_j) & \kappa(v_i, v_j) \end{pmatrix}

when the blue points come first. The order does not matter here: points stay where they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from companion.admm import LowRank
from companion.admm.row_matrix import RowMatrix
from companion.kernels import Gaussian, Kernel, Polynomial
from companion.kernels.gram import centred_gram
from companion.scaling import largest

__all__ = ["Normal", "Points", "make_points"]

ROWS_FROM = 20  # number of points from which on libsvm guesses, and rows are computed when needed
_BLOCK = 64  # rows of a matrix that a processor's cache can hold
_MANY_FEATURES = 100  # explicit features are worth having up to this number, or up to one per point
_ZERO_FEATURES = 1e-13  # |w| is zero up to rounding below this part of sum a_i |phi(x_i)|
_ZERO_GRAM = 1e-7  # the same when only inner products are known: |w|^2 has the rounding of |phi|^2


class Normal(NamedTuple):
    """The vector w, its norm, and its inner product with the origin that the features were counted from."""

    w: np.ndarray | None
    norm: float
    shift: float


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
        Explicit features, where they are known and few.
    unit : int
        The exponent e of the unit :math:`2^e` in which features are measured: everything below speaks of
        :math:`2^{-e} \varphi`. It is 0 except for points whose squares do not fit into float64.
    centred : bool
        Whether inner products are those of the features from their mean on. A kernel that is only conditionally
        positive definite has no others, and where :math:`s^\top a = 0` the dual program needs no others.
    """

    X: np.ndarray
    s: np.ndarray
    kernel: Kernel
    Phi: np.ndarray | None
    unit: int = 0
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
    def p(self) -> int:
        """Number of blue points."""
        return self.blue.size

    @property
    def q(self) -> int:
        """Number of red points."""
        return self.red.size

    @cached_property
    def zeros(self) -> np.ndarray:
        """The vector of zeros."""
        return np.zeros(self.n)

    @cached_property
    def rows(self) -> np.ndarray:
        r"""The rows :math:`s^\top` and :math:`\mathbf 1^\top` of the equations in the dual programs."""
        return np.array([self.s, np.ones(self.n)])

    def in_unit(self, unit: int) -> Self:
        """Return the points with features measured in the unit 2^unit."""
        return self if unit == self.unit else replace(self, unit=unit)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The squared lengths of the features, in the unit 1."""
        if self.centred:
            return np.ldexp(self.gram().diagonal(), 2 * self.unit)
        return self.kernel.diagonal(self.X).real

    @cached_property
    def lengths(self) -> np.ndarray:
        """The lengths of the features, where only inner products of them are known."""
        return np.ldexp(np.sqrt(np.maximum(self.diagonal, 0.0)), -self.unit)

    @cached_property
    def size(self) -> float:
        r"""The largest coordinate of a feature vector, or the largest length where only those are known.

        Raises
        ------
        ValueError
            If the kernel overflows.
        """
        if self.Phi is None:
            return math.sqrt(largest(self.X if self.kernel.is_precomputed else self.diagonal))
        size = largest(self.Phi)
        if not math.isfinite(size):
            raise ValueError(
                f"the features of {self.kernel!r} overflow at these points; scale the data down"
            )
        return size

    def features(self, penalize_b: bool = False) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return the features from their mean on, and the mean; as they are, and None, when b is penalized."""
        if self.Phi is None:
            return None, None
        Phi = np.ldexp(self.Phi, -self.unit) if self.unit else self.Phi
        if penalize_b:
            return Phi, None
        mean = Phi.mean(axis=0)
        return Phi - mean, mean

    def gram(self) -> np.ndarray:
        """Return the Gram matrix, which has to be real."""
        G = self.kernel(self.X)
        if np.iscomplexobj(G):
            raise ValueError(f"a support vector machine needs a real kernel, got {self.kernel!r}")
        G = np.ldexp(G, -2 * self.unit) if self.unit else G
        return centred_gram(G)[0] if self.centred else G

    @cached_property
    def _means(self) -> np.ndarray:
        """The means of the rows of the matrix of inner products, where these are centred."""
        return np.ldexp(self.kernel(self.X).mean(axis=1), -2 * self.unit)

    def is_psd(self) -> bool:
        """Return whether the matrix of inner products is known to be positive semidefinite."""
        return self.Phi is not None or self.kernel.positive_definite is True

    def for_libsvm(self) -> tuple[np.ndarray, dict[str, Any]]:
        """Return points, or a Gram matrix, and the kernel as libsvm calls it."""
        kernel = self.kernel
        if isinstance(kernel, Gaussian):
            return self.X, {"kernel": "rbf", "gamma": 0.5 / kernel.sigma**2}
        if isinstance(kernel, Polynomial):
            return self.X, {"kernel": "poly", "degree": kernel.d, "coef0": kernel.R, "gamma": kernel.gamma}  # fmt: skip
        return self.gram(), {"kernel": "precomputed"}

    def _is_safe(self) -> bool:
        """Return whether the kernel matrix need not be looked at as a whole before it is used."""
        return self.kernel.positive_definite is True and not self.kernel.is_precomputed

    def _row_matrix(self, constant: float) -> RowMatrix:
        """Return the matrix of the signed kernel plus a constant; its rows are computed when needed."""
        X, s, kernel = self.X, self.s, self.kernel

        def part(i: np.ndarray, j: np.ndarray) -> np.ndarray:
            K = kernel(X[i]) if i is j else kernel(X[i], X[j])
            return K + constant if constant else K

        factors = np.ldexp(s, -self.unit) if self.unit else s
        return RowMatrix(part, kernel.diagonal(X) + constant, factors)

    def signed_matrix(
        self, *, penalize_b: bool = False, keep_origin: bool = False, ridge: float = 0.0
    ) -> np.ndarray | LowRank | RowMatrix:
        r"""Return :math:`\mathbf K`, plus :math:`ss^\top` when b is penalized, plus ridge times the identity.

        The term :math:`ss^\top` is the kernel :math:`\kappa + 1`: the constant is one more feature. Where b is
        free, :math:`s^\top a = 0` allows to subtract the mean of the features, which spares digits, unless the
        origin is kept. Few features stay a factor, and no n x n matrix is formed.
        """
        s = self.s
        F, _ = self.features(penalize_b or keep_origin)
        one = float(np.ldexp(1.0, -self.unit))  # the constant feature
        ridge = float(np.ldexp(ridge, -2 * self.unit))
        if F is None:
            if self.n >= ROWS_FROM and ridge == 0.0 and self._is_safe():
                return self._row_matrix(1.0 if penalize_b else 0.0)
            P = self.gram()
            P = P.copy() if self.kernel.is_precomputed and not self.unit else P
            if penalize_b:
                P += one * one
            for rows in range(0, self.n, _BLOCK):  # one pass through the memory
                block = P[rows : rows + _BLOCK]
                block *= s
                block *= s[rows : rows + _BLOCK, None]
        else:
            F = (np.column_stack([F, np.full(self.n, one)]) if penalize_b else F) * s[:, None]
            few = self.n - 1 if self.kernel.is_linear else self.n // 2
            if F.shape[1] <= max(few, 1):
                return LowRank(F, diagonal=ridge)
            P = F @ F.T
        if ridge > 0.0:
            P[np.diag_indices_from(P)] += ridge
        return P

    def normal(self, a: np.ndarray, quadratic: float, keep_origin: bool = False) -> Normal:
        r"""Return :math:`w = \sum_i s_i a_i \varphi(x_i)` and its norm, which is 0 when it is nothing but rounding.

        Parameters
        ----------
        a : ndarray of shape (n,)
            Multipliers, of any sign.
        quadratic : float
            :math:`a^\top \mathbf K a`, which is :math:`\|w\|^2` where no features are known.
        keep_origin : bool
            Whether features keep their origin.
        """
        Z, origin = self.features(keep_origin)
        if Z is None:
            w, norm, zero = None, math.sqrt(max(quadratic, 0.0)), _ZERO_GRAM
            lengths = self.lengths
            shift = float(self._means @ (self.s * a)) if self.centred else 0.0
        else:
            w, zero = (self.s * a) @ Z, _ZERO_FEATURES
            norm, lengths = _norm(w), _lengths(Z)
            shift = 0.0 if origin is None else float(w @ origin)
        if norm <= zero * float(np.abs(a) @ lengths):
            return Normal(None if w is None else np.zeros_like(w), 0.0, 0.0)
        return Normal(w, norm, shift)


def _norm(w: np.ndarray) -> float:
    """Return the norm of a vector, also where the squares of its entries underflow."""
    norm, size = float(np.linalg.norm(w)), largest(w)
    return norm if norm > 1e-150 or size == 0.0 else size * float(np.linalg.norm(w / size))


def _lengths(Z: np.ndarray) -> np.ndarray:
    """Return the norms of the rows of a matrix, also where the squares of its entries underflow."""
    lengths, size = np.sqrt(np.einsum("ij,ij->i", Z, Z)), largest(Z)
    if lengths.max(initial=0.0) > 1e-150 or size == 0.0:
        return lengths
    return size * _lengths(Z / size)


def make_points(X: np.ndarray, s: np.ndarray, kernel: Kernel) -> Points:
    """Collect what a dual program needs to know about the training points."""
    limit = np.inf if kernel.is_linear else max(len(X), _MANY_FEATURES)
    Phi = kernel.features(X, limit=limit)
    if Phi is not None and np.iscomplexobj(Phi):
        raise ValueError(f"a support vector machine needs a real kernel, got {kernel!r}")
    return Points(X, s, kernel, Phi)
