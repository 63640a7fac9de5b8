r"""Kernels that a reader gives: by a function of a pair, of whole matrices, or as a matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from companion.arguments import check_kind
from companion.arithmetic import is_symmetric
from companion.checks import as_matrix, as_vectors, both, count_axes
from companion.kernels.functions import Kernel, name_of, parameter


class FromFunction(Kernel):
    r"""A kernel given by its formula on a pair of points.

    Parameters
    ----------
    function : callable
        ``function(x, y)`` returns the number :math:`\kappa(x, y)`. It is called once per pair.
    positive_definite : bool or None
        What is known about it.

    Examples
    --------
    >>> k = FromFunction(lambda x, y: min(x[0], y[0]))
    >>> k([[1.0], [3.0], [2.0]])
    array([[1., 1., 1.],
           [1., 3., 2.],
           [1., 2., 2.]])
    """

    function: Callable = parameter(check_kind)
    positive_definite: bool | None = None

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        values = [[self.function(x, y) for y in Y] for x in X]
        return self._numbers(values, (len(X), len(Y)), "one number per pair of points")

    def _numbers(self, values: Any, shape: tuple[int, int], wanted: str) -> np.ndarray:
        count_axes(values, f"{self!r}")
        K = np.array(values)
        if K.shape != shape or K.dtype.kind not in "biufc":
            raise ValueError(f"{self!r} must return {wanted}, got {K.dtype} of shape {K.shape}")
        return K.astype(np.complex128 if np.iscomplexobj(K) else np.float64, copy=False)

    def _formula(self, x: str, y: str) -> str:
        return f"{name_of(self.function, 'k')}({x}, {y})"


class Precomputed(Kernel):
    """A Gram matrix that was computed elsewhere.

    Calling it returns its first argument: ``k(K)`` the square matrix, ``k(K_new, K)`` the matrix of shape
    (n_new, n) with the values at the new points against the fitted ones. It cannot be combined with other
    kernels.

    Examples
    --------
    >>> from companion.kernels import as_kernel
    >>> k = as_kernel("precomputed")
    >>> k([[2, 1], [1, 2]])
    array([[2., 1.],
           [1., 2.]])
    """

    formula = "precomputed"
    is_precomputed = True
    positive_definite = None

    def __call__(self, X: Any, Y: Any = None) -> Any:
        """Return `X`, checked."""
        K = as_matrix(X, "the precomputed kernel matrix")
        n = K.shape[0] if Y is None else len(Y)
        if K.shape[1] != n:
            raise ValueError(
                f"the precomputed kernel matrix must have {n} columns, one per fitted point, got shape {K.shape}"
            )
        if Y is None and not is_symmetric(K, 1e-6):
            raise ValueError("the precomputed kernel matrix must be symmetric (Proposition 17.2)")
        return K

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        raise TypeError("a precomputed kernel cannot be combined with others; combine the matrices")

    def _diagonal(self, X: Any) -> np.ndarray:
        return self(X).diagonal().copy()


class FromGram(FromFunction):
    """A kernel given by a function that returns whole matrices, the callable that scikit-learn's SVC takes.

    Parameters
    ----------
    function : callable
        ``function(X, Y)`` returns the matrix of shape (n, m) of the values at all pairs of rows.

    Examples
    --------
    >>> k = FromGram(lambda X, Y: (X @ Y.T) ** 2)
    >>> k([[1.0, 2.0]], [[3.0, 4.0]])
    array([[121.]])
    """

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        P, Q = both(lambda Z: as_vectors(Z) if isinstance(Z, np.ndarray) else Z, X, Y)
        shape = len(P), len(Q)
        wanted = (
            f"the matrix of shape {shape} of all pairs (else use companion.kernels.FromFunction)"
        )
        return self._numbers(self.function(P, Q), shape, wanted)
