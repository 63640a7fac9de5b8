"""What the regressions share: how data come in, and f(x) = w'x + b by scikit-learn's names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from companion.checks import as_matrix, as_vector, read_data, renamed, validated


def as_data(X: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the points and values that a function was given, or raise an error that says what does not fit."""
    X = as_matrix(X, "X")
    y = as_vector(y, "y", len(X))
    if X.size == 0:
        raise ValueError(f"X must have at least one row and one column, got shape {X.shape}")
    return X, y


class Regressor(RegressorMixin, BaseEstimator):
    """A regression with the weights `w_` and the intercept `b_`."""

    w_: np.ndarray | None
    b_: float

    def _read(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Check the training data."""
        X, y = read_data(self, X, y, y_numeric=True)
        return X, as_vector(y, "y")

    def predict(self, X: Any) -> np.ndarray:
        r"""Return f(x) for each row of X.

        Parameters
        ----------
        X : array-like of shape (k, n)
            Points; with a precomputed kernel, the matrix of the kernel of these and the training points.

        Returns
        -------
        ndarray of shape (k,)
        """
        check_is_fitted(self)
        return self._f(validated(self, X, reset=False))

    def _f(self, X: np.ndarray) -> np.ndarray:
        return X @ self.w_ + self.b_

    coef_ = renamed(lambda model: model.w_, "The weights `w_`")
    intercept_ = renamed(lambda model: model.b_, "The intercept `b_`")
