r"""The tube of a regression: its matrix in the text's 2m multipliers, and its place.

A tube is a slab. The points of its blue margin, :math:`b - \epsilon`, have the multipliers :math:`\lambda`, those of
the red one, :math:`b + \epsilon`, have :math:`\mu`, and in the KKT conditions :math:`-\epsilon` stands where
:math:`\eta` does in a slab's.
"""

from __future__ import annotations

import numpy as np

from companion.admm.low_rank import LowRank
from companion.svm.points import SignedKernel
from companion.svm.slab import Interval, Slab, middle

__all__ = ["TubeKernel", "tube_between"]


class TubeKernel:
    r"""The matrix of the text's 2m multipliers :math:`(\lambda, \mu)`, row by row: K and -K, and the ridge.

    Parameters
    ----------
    K : SignedKernel
        Gram matrix, plus 1 where b is penalized, plus a multiple of the identity where slacks are squared.
    """

    def __init__(self, K: SignedKernel) -> None:
        self.K, self.m, self.ridge, self.constant = K, K.shape[0], K.ridge, K.constant
        self.s = np.repeat([1.0, -1.0], self.m)
        self.product = None if K.product is None else self._by_weights
        self.shape = (2 * self.m, 2 * self.m)

    def rows(self, index: np.ndarray) -> np.ndarray:
        """Return the rows with these indices as a new array."""
        at, here = index % self.m, np.arange(index.size)
        R = self.K.rows(at)
        R[here, at] -= self.ridge
        out = np.hstack([R, -R]) * self.s[index, None]
        out[here, index] += self.ridge
        return out

    def coefficients(self, a: np.ndarray) -> np.ndarray:
        """Return the coefficients of w for the multipliers a."""
        return a[self.m :] - a[: self.m]

    def separate(self, a: np.ndarray) -> np.ndarray:
        r"""Return multipliers with :math:`\lambda_i \mu_i = 0` and the same differences."""
        return a - np.tile(np.minimum(a[: self.m], a[self.m :]), 2)

    def slacks(self, slack: np.ndarray) -> np.ndarray:
        """Return the slacks of the points from those of the constraints."""
        return slack[: self.m] + slack[self.m :]

    def signed(self, inner: np.ndarray) -> np.ndarray:
        """Return the products of w with the images of the points as the rows of the program have them."""
        return np.concatenate([-inner, inner])

    def inner(self, a: np.ndarray, Pa: np.ndarray) -> np.ndarray:
        """Return the products of w with the images of the points from P a."""
        values = self.ridge * a[: self.m] - Pa[: self.m]
        return values - float(self.coefficients(a).sum()) if self.K.constant else values

    def _by_weights(self, a: np.ndarray) -> np.ndarray:
        """Return the product with a from the weights w."""
        assert self.K.product is not None
        delta = a[self.m :] - a[: self.m]
        inner = self.K.product(delta) - self.ridge * delta
        return np.concatenate([-inner, inner]) + self.ridge * a

    def diagonal(self) -> np.ndarray:
        """Return the diagonal."""
        return np.tile(self.K.diagonal(), 2)

    def factor(self) -> LowRank | None:
        """Return the matrix by its factor, if the kernel has few features."""
        K = self.K.factor()
        return None if K is None else LowRank(np.vstack([-K.G, K.G]), self.ridge)

    def toarray(self) -> np.ndarray:
        """Return the whole matrix."""
        return self.rows(np.arange(2 * self.m))


def tube_between(blue: Interval, red: Interval) -> Slab:
    r"""Return the tube for the ranges of :math:`b - \epsilon` and of :math:`b + \epsilon`.

    Where some pairs are not in order, the midpoints of the ranges of b and :math:`\epsilon` are optimal all the same.

    Examples
    --------
    >>> tube = tube_between((0.0, 1.0), (2.0, 2.0))
    >>> tube.b, tube.epsilon, tube.b_interval, tube.epsilon_interval
    (1.25, 0.75, (1.0, 1.5), (0.5, 1.0))
    """
    b_interval = (max(red[0], blue[0]) + blue[0]) / 2.0, (red[1] + min(blue[1], red[1])) / 2.0
    eta_interval = -max(red[1] - blue[0], 0.0) / 2.0, -max(red[0] - blue[1], 0.0) / 2.0
    b, eta = middle(b_interval), middle(eta_interval)
    if red[0] >= blue[1]:
        b, eta = (middle(blue) + middle(red)) / 2.0, (middle(blue) - middle(red)) / 2.0
    return Slab(b, eta, b_interval, eta_interval, blue, red)
