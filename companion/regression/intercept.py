r"""The intercept: every program with a b is one without b, on shifted data.

For fixed w, minimising :math:`\|y - Xw - b\mathbf 1\|_2^2 + C b^2` over b alone gives

.. math:: b = \frac{m}{m + C} (\bar y - \bar x^\top w),
    \qquad \bar x = X^\top \mathbf 1/m, \quad \bar y = \mathbf 1^\top y/m,

and what is left is :math:`\|\hat y - \hat X w\|_2^2` for the data from which the fraction
:math:`t = 1 - \sqrt{C/(m + C)}` of their means was subtracted,

.. math:: \hat X = X - t\, \mathbf 1 \bar x^\top, \qquad \hat y = y - t\, \bar y \mathbf 1 .

So C = 0 (a free b) centres the data, and C = infinity (no b) leaves them as they are. Nothing here depends on the
penalty on w: the same shift serves ridge regression, lasso and the elastic net.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from companion.engine.arithmetic import EPS, largest

__all__ = ["INTERCEPTS", "Shifted", "check_intercept", "correlate", "shift"]

_LOSS = 1e-13  # relative error of the largest correlation for which no copy of X is made
_CENTRED = 8.0 * EPS  # a mean below this part of the column's spread is rounding near the origin
_ROWS = 4096  # rows whose products are summed in one go

INTERCEPTS = ("none", "free", "penalized")


def check_intercept(value: object) -> str:
    """Return `value` if it names a treatment of the intercept, or raise an error."""
    if not isinstance(value, str) or value not in INTERCEPTS:
        raise ValueError(f"intercept must be one of {', '.join(INTERCEPTS)}, got {value!r}")
    return value


def correlate(X: np.ndarray, v: np.ndarray) -> np.ndarray:
    r"""Return :math:`X^\top v`, summed over blocks of rows.

    BLAS adds the rows of a matrix in C order one after the other, and the rounding of each sum grows with their
    number. In blocks it grows with the number of rows in one.

    Parameters
    ----------
    X : ndarray of shape (m, n)
    v : ndarray of shape (m,)

    Examples
    --------
    >>> correlate(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, -1.0]))
    array([-2., -2.])
    """
    if X.flags.f_contiguous or v.size <= _ROWS:
        return X.T @ v
    blocks = [slice(start, start + _ROWS) for start in range(0, v.size, _ROWS)]
    return np.sum([X[rows].T @ v[rows] for rows in blocks], axis=0)


def _left_over(centred: np.ndarray) -> np.ndarray:
    """Return the means of centred columns: far from the origin, the means that were subtracted had more rounding."""
    means, spread = centred.mean(axis=0), centred.max(axis=0) - centred.min(axis=0)
    return np.where(np.abs(means) > _CENTRED * spread, means, 0.0)


@dataclass(frozen=True, eq=False)
class Shifted:
    r"""Data whose program has no intercept any more.

    Parameters
    ----------
    given : ndarray of shape (m, n)
        X.
    y : ndarray of shape (m,)
        :math:`\hat y`.
    x_mean : ndarray of shape (n,)
        Means of the columns of the given X.
    y_mean : float
        Mean of the given y.
    fraction : float
        The fraction t of the means that was subtracted.
    """

    given: np.ndarray
    y: np.ndarray
    x_mean: np.ndarray
    y_mean: float
    fraction: float

    @cached_property
    def X(self) -> np.ndarray:
        r""":math:`\hat X`, in Fortran order; a new array, unless nothing is subtracted from an array in this order."""
        if self.fraction == 0.0:
            return np.asfortranarray(self.given)
        Z = np.empty(self.given.shape, order="F")
        np.subtract(self.given, self.offset, out=Z)
        if self.fraction == 1.0:  # what a constant column leaves behind is rounding
            Z[:, self.constant] = 0.0
            Z -= _left_over(Z)
        return Z

    @cached_property
    def correlation(self) -> np.ndarray:
        r""":math:`\hat X^\top \hat y`."""
        return self.X.T @ self.y if self.needs_copy else self._difference

    @cached_property
    def needs_copy(self) -> bool:
        r"""Whether products with :math:`\hat X` need it as an array.

        Otherwise :math:`X^\top r - t \bar x\, \mathbf 1^\top r` is as good. Far from the origin it is not: the
        difference would cancel.
        """
        if self.fraction == 0.0 or self.constant.size:
            return True
        size = math.sqrt(self.y.size) * largest(self.offset) * math.sqrt(self.y @ self.y)
        return EPS * size > _LOSS * largest(self._difference)

    @cached_property
    def _difference(self) -> np.ndarray:
        return correlate(self.given, self.y) - self.y.sum() * self.offset

    @property
    def offset(self) -> np.ndarray:
        """What is subtracted from each column."""
        return self.fraction * self.x_mean

    @cached_property
    def constant(self) -> np.ndarray:
        """Which columns have one value only."""
        X = self.given
        ends_agree = ((X[0] == X[-1]) & (X[0] == X[len(X) // 2])).nonzero()[0]
        return ends_agree[np.ptp(X[:, ends_agree], axis=0) == 0.0]

    def intercept(self, w: np.ndarray) -> float:
        """Return the best b for the weights w."""
        if self.fraction == 0.0:
            return 0.0
        # m/(m + C) = 1 - (1 - t)^2
        share = self.fraction * (2.0 - self.fraction)
        return float(share * (self.y_mean - self.x_mean @ w))

    def unshift(self, residual: np.ndarray) -> np.ndarray:
        r"""Return :math:`y - Xw - b\mathbf 1`, from :math:`\hat y - \hat X w`."""
        return residual - self.fraction * residual.mean() if self.fraction else residual


def shift(X: np.ndarray, y: np.ndarray, intercept: str, C: float) -> Shifted:
    r"""Return the data whose program without intercept has the solution w of the program with it.

    Parameters
    ----------
    X : ndarray of shape (m, n)
    y : ndarray of shape (m,)
    intercept : str
        ``"none"``, ``"free"`` or ``"penalized"``.
    C : float
        The penalty ``C b^2`` of a penalized intercept, in a program with the loss ``||xi||^2`` (or ``C/2 b^2`` with
        the loss ``1/2 ||xi||^2``).

    Returns
    -------
    Shifted
        The shifted matrix itself is computed when it is first asked for.

    Examples
    --------
    >>> data = shift(np.array([[1.0], [3.0]]), np.array([2.0, 8.0]), "free", 0.0)
    >>> data.X.ravel(), data.y, data.intercept(np.array([3.0]))
    (array([-1.,  1.]), array([-3.,  3.]), -1.0)
    """
    m = y.size
    if intercept == "none":
        return Shifted(X, y, np.zeros(X.shape[1]), 0.0, 0.0)
    x_mean, y_mean = X.mean(axis=0), float(y.mean())
    if intercept == "free":
        centred = y - y_mean
        return Shifted(X, centred - _left_over(centred), x_mean, y_mean, 1.0)
    # 1 - sqrt(C/(m + C)), without the difference that cancels where C is large
    fraction = m / (m + C) / (1.0 + math.sqrt(C / (m + C)))
    return Shifted(X, y - fraction * y_mean, x_mean, y_mean, fraction)
