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
from typing import NamedTuple

import numpy as np

from companion.arguments import check_choice
from companion.arithmetic import CANCELS, EPS, accurate_product, largest

INTERCEPTS = ("none", "free", "penalized")


class Shifted(NamedTuple):
    r"""Data whose program has no intercept any more.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        :math:`\hat X`.
    y : ndarray of shape (m,)
        :math:`\hat y`.
    x_mean : ndarray of shape (n,)
        Means of the columns of the given X.
    y_mean : float
        Mean of the given y.
    fraction : float
        The fraction t of the means that was subtracted.
    mass : float
        The number m of points, or the sum of their weights.
    given : ndarray of shape (m, n)
        X as it was given.
    """

    X: np.ndarray
    y: np.ndarray
    x_mean: np.ndarray
    y_mean: float
    fraction: float
    mass: float
    given: np.ndarray

    def intercept(self, w: np.ndarray) -> float:
        """Return the best b for the weights w."""
        # m/(m + C) = 1 - (1 - t)^2
        return float(self.fraction * (2.0 - self.fraction) * (self.y_mean - self.x_mean @ w))

    def residual(self, w: np.ndarray) -> np.ndarray:
        r"""Return :math:`\hat y - \hat X w`; rounded once, where most digits of its terms cancel."""
        X, w = self.X[:, w != 0.0], w[w != 0.0]
        xi = self.y - X @ w
        terms = float(np.abs(w) @ np.abs(X).max(axis=0, initial=0.0))
        if terms <= CANCELS * largest(xi):
            return xi
        return accurate_product(np.column_stack([self.y, X]), np.append(1.0, -w))[0]

    def correlations(self, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r"""Return :math:`\hat X^\top \xi` without weights, from X as given, and a bound of its rounding."""
        total = -self.fraction * math.fsum(residual)
        terms, factors = np.column_stack([self.given.T, self.x_mean]), np.append(residual, total)
        c, _, lost = accurate_product(terms, factors)
        return c, lost + EPS * (np.abs(c) + 2.0 * np.abs(self.x_mean * total))

    def size_of_b(self, w: np.ndarray) -> float:
        r"""Return the norm of the vector :math:`b \mathbf 1`, the terms of b without their signs; 0 if b is exact."""
        if not self.y.any():  # one value: b is that, and w = 0
            return 0.0
        return math.sqrt(self.mass) * (abs(self.y_mean) + float(np.abs(self.x_mean) @ np.abs(w)))

    def unshift(self, residual: np.ndarray) -> np.ndarray:
        r"""Return :math:`y - Xw - b\mathbf 1`, from :math:`\hat y - \hat X w`."""
        return residual - self.fraction * residual.mean()


def shift(
    X: np.ndarray, y: np.ndarray, intercept: str, C: float, weights: np.ndarray | None = None
) -> Shifted:
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
    weights : ndarray of shape (m,), optional
        What the squares of :math:`\xi` are multiplied by; not for a penalized b.

    Returns
    -------
    Shifted

    Examples
    --------
    >>> data = shift(np.array([[1.0], [3.0]]), np.array([2.0, 8.0]), "free", 0.0)
    >>> data.X.ravel(), data.y, data.intercept(np.array([3.0]))
    (array([-1.,  1.]), array([-3.,  3.]), -1.0)
    """
    check_choice(intercept, "intercept", INTERCEPTS)
    m, n = X.shape
    Z, mean, t, mass = np.empty((m, n + 1), order="F"), np.zeros(n + 1), 0.0, float(m)
    Z[:, :n], Z[:, n] = X, y  # coordinate descent goes along columns
    if intercept == "free":
        mean, t = _centre(Z, weights), 1.0
    elif intercept == "penalized":
        # 1 - sqrt(C/(m + C)), without the difference that cancels where C is large
        mean, t = Z.mean(axis=0), m / (m + C) / (1.0 + math.sqrt(C / (m + C)))
        Z -= t * mean
    if weights is not None:
        mass = float(weights.sum())
        Z *= np.sqrt(weights)[:, None]
    return Shifted(Z[:, :n], Z[:, n], mean[:n], float(mean[n]), t, mass, X)


def _centre(Z: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Subtract the means of the columns, and return them; nothing is left of a column of one value."""
    part = np.full(len(Z), 1.0 / len(Z)) if weights is None else weights / weights.sum()
    constant = (Z[0] == Z[-1]).nonzero()[0]
    constant = constant[(Z[:, constant] == Z[0, constant]).all(axis=0)]
    mean, value = np.zeros(Z.shape[1]), Z[0, constant]
    for _ in range(2):  # far from the origin, the first mean is rounded
        left = part @ Z
        Z -= left
        mean += left
    Z[:, constant], mean[constant] = 0.0, value
    return mean
