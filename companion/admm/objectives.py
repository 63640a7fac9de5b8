r"""What consensus ADMM minimises: a loss for each block of rows, and one penalty.

A :class:`ConsensusObjective` says which :class:`~companion.admm.losses.SmoothLoss` the rows of a block make, and what g
is. A new penalty is a subclass of :class:`ConsensusObjective`; a new loss is a subclass of
:class:`~companion.admm.losses.SmoothLoss`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular

from companion.admm.l1 import lasso
from companion.admm.losses import LeastSquaresLoss, SmoothLoss, SquaredHingeLoss, half_square
from companion.admm.proximal import soft_threshold
from companion.arithmetic import EPS, largest
from companion.checks import as_scalar

__all__ = [
    "ConsensusObjective", "LassoObjective", "LeastSquaresObjective", "RidgeObjective", "SquaredHingeObjective",
]  # fmt: skip


class ConsensusObjective(ABC):
    r"""A loss for the blocks and a penalty g for the centre: :math:`\sum_i f_i(x) + g(x)`.

    Objectives are small frozen objects; they travel to the workers. The penalty is a sum over the coordinates.

    Examples
    --------
    Least squares with :math:`x \ge 0`, a penalty that is not in this module. Its proximal operator is the projection.

    >>> import numpy as np
    >>> from companion.admm import ConsensusObjective, LeastSquaresLoss, consensus
    >>> class NonnegativeLeastSquares(ConsensusObjective):
    ...     def block(self, A, b):
    ...         return LeastSquaresLoss(A, b)
    ...     def penalty(self, z):
    ...         return 0.0 if (z >= 0).all() else np.inf
    ...     def penalty_prox(self, v, t):
    ...         return np.maximum(v, 0)
    ...     def penalty_conjugate(self, s):
    ...         return 0.0 if (s <= 1e-9).all() else np.inf
    >>> rows = [(np.array([[1.0, 2.0], [3.0, 4.0]]), [1.0, 1.0]), (np.array([[1.0, 0.0]]), [0.0])]
    >>> print(consensus(rows, NonnegativeLeastSquares()).z.round(4))
    [0.  0.3]
    """

    @abstractmethod
    def block(self, A: np.ndarray, b: np.ndarray) -> SmoothLoss:
        """Return the loss that these rows make, or raise if b does not fit it."""

    @abstractmethod
    def penalty(self, z: np.ndarray) -> float:
        """Return g(z)."""

    @abstractmethod
    def penalty_prox(self, v: np.ndarray, t: np.ndarray) -> np.ndarray:
        r"""Return :math:`\arg\min_z g(z) + \sum_j (z_j - v_j)^2 / (2 t_j)`."""

    def penalty_conjugate(self, s: np.ndarray) -> float:
        r"""Return :math:`g^*(s) = \sup_z s^\top z - g(z)`.

        The default, infinity, is always an upper bound: the certificate then has an infinite gap and proves nothing.
        """
        return np.inf

    def dual_value(self, z: np.ndarray, loss: float, gradient: np.ndarray) -> float:
        r"""Return a lower bound of the minimum, from the loss and its gradient at z, summed over the blocks.

        It is the value :math:`f(z) - z^\top \nabla f(z) - g^*(-\nabla f(z))` of the Fenchel dual.
        """
        return loss - z @ gradient - self.penalty_conjugate(-gradient)


class LeastSquaresObjective(ConsensusObjective):
    r"""The loss :math:`\frac{1}{2}\|A x - b\|_2^2` and a penalty: the sums over the blocks are all that it needs."""

    def block(self, A: np.ndarray, b: np.ndarray) -> SmoothLoss:
        """Return the squares of the residuals."""
        return LeastSquaresLoss(A, b)

    @abstractmethod
    def from_sums(self, AtA: np.ndarray, Atb: np.ndarray) -> np.ndarray:
        r"""Return the minimiser, from the sums of the :math:`A_i^\top A_i` and the :math:`A_i^\top b_i`."""


class _Positive(ConsensusObjective):
    """An objective whose parameters are positive numbers."""

    def __post_init__(self) -> None:
        for parameter in fields(self):  # type: ignore[arg-type]  # the subclasses are dataclasses
            value = as_scalar(getattr(self, parameter.name), parameter.name, above=0)
            object.__setattr__(self, parameter.name, value)


class _SquaredLength(_Positive):
    """The penalty K/2 |z|^2; K is called `weight` here, since the text gives the letter to the loss as well."""

    weight: float = 1.0

    def penalty(self, z: np.ndarray) -> float:
        r"""Return :math:`(K/2)\|z\|_2^2`."""
        return self.weight * half_square(z)

    def penalty_prox(self, v: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return v / (1 + K t)."""
        return v / (1 + self.weight * t)

    def penalty_conjugate(self, s: np.ndarray) -> float:
        r"""Return :math:`\|s\|_2^2 / (2K)`."""
        return half_square(s) / self.weight


@dataclass(frozen=True)
class RidgeObjective(_SquaredLength, LeastSquaresObjective):
    r"""Ridge regression: :math:`\frac{1}{2}\|A x - b\|_2^2 + \frac{K}{2}\|x\|_2^2`.

    Parameters
    ----------
    K : float
        Weight of the penalty, > 0. The minimiser is that of the text's :math:`\|b - Ax\|_2^2 + K\|x\|_2^2`.

    Notes
    -----
    Source: Section 19.1, program (RR1) without intercept.
    """

    K: float

    @property
    def weight(self) -> float:  # type: ignore[override]
        """The number K."""
        return self.K

    def from_sums(self, AtA: np.ndarray, Atb: np.ndarray) -> np.ndarray:
        """Return (A'A + K)^{-1} A'b."""
        return cho_solve(cho_factor(AtA + self.K * np.eye(Atb.size)), Atb)


@dataclass(frozen=True)
class LassoObjective(_Positive, LeastSquaresObjective):
    r"""Lasso: :math:`\frac{1}{2}\|A x - b\|_2^2 + \tau\|x\|_1`.

    Parameters
    ----------
    tau : float
        Weight of the penalty, > 0.

    Notes
    -----
    Source: Section 16.8, problem (4); Section 19.4, program (lasso1).
    """

    tau: float

    def from_sums(self, AtA: np.ndarray, Atb: np.ndarray) -> np.ndarray:
        """Return the lasso of :func:`companion.admm.lasso` on n rows: the factor L' of A'A = L L' and L^{-1} A'b."""
        d = AtA.diagonal()
        L = cholesky(AtA + np.diag(np.where(d > 0, 2 * EPS * d.size * d, 1.0)), lower=True)
        return lasso(L.T, solve_triangular(L, Atb, lower=True), self.tau).z

    def penalty(self, z: np.ndarray) -> float:
        r"""Return :math:`\tau\|z\|_1`."""
        return self.tau * float(np.abs(z).sum())

    def penalty_prox(self, v: np.ndarray, t: np.ndarray) -> np.ndarray:
        r"""Return the soft thresholding :math:`S_{\tau t}(v)`."""
        return soft_threshold(v, self.tau * t)

    def dual_value(self, z: np.ndarray, loss: float, gradient: np.ndarray) -> float:
        r"""Return the best dual value among the multiples of the residual.

        The dual is :math:`\max -\frac{1}{2}\|\theta\|_2^2 - b^\top\theta` subject to
        :math:`\|A^\top\theta\|_\infty \le \tau`. The residual :math:`r = Az - b` solves it up to a scale s near 1.
        With f the loss at z, :math:`\|r\|_2^2 = 2f` and :math:`b^\top r = z^\top\nabla f - 2f`, so that the value
        at :math:`s r` is :math:`-s^2 f - s (z^\top\nabla f - 2f)`: no block need send more than its gradient.
        """
        if loss == 0:
            return 0.0
        slope = 2 * loss - z @ gradient
        longest = self.tau / max(largest(gradient), np.finfo(float).tiny)
        s = np.clip(slope / (2 * loss), -longest, longest)
        return float(s * slope - s**2 * loss)


@dataclass(frozen=True)
class SquaredHingeObjective(_SquaredLength):
    r"""Linear l2-SVM: :math:`\frac{1}{2}\|w\|_2^2 + K \sum_j \max(0, 1 - b_j\, a_j^\top w)^2` with labels +-1.

    There is no intercept; a column of ones in every block adds one, which is then penalised with w.

    Parameters
    ----------
    K : float
        Weight of the loss, > 0 (``C`` of scikit-learn's ``LinearSVC``).

    Notes
    -----
    Section 18.13 squares the slacks too: program (SVM_s4) has this loss, with the margin as a variable.
    """

    K: float

    def block(self, A: np.ndarray, b: np.ndarray) -> SmoothLoss:
        """Return the squares of the slacks; the labels must be -1 or +1."""
        return SquaredHingeLoss(A, b, self.K)
