r"""What ``kernel=`` means: a name, a `Kernel`, a callable or a precomputed matrix, all turned into a `Kernel`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from companion.checks import as_matrix, as_scalar
from companion.kernels.functions import (
    _ATOM,
    Formula,
    Kernel,
    Points,
    _check_callable,
    _name,
    _value,
    _vectors,
)
from companion.kernels.vectors import Gaussian, Linear, Polynomial, Sigmoid

__all__ = ["FromGram", "Precomputed", "as_kernel", "own_points"]


@_value
class Precomputed(Kernel):
    """A Gram matrix that was computed elsewhere.

    Calling it returns its first argument: ``k(K)`` the square matrix, ``k(K_new, K)`` the matrix of shape
    (n_new, n) with the values at the new points against the fitted ones. It cannot be combined with other
    kernels.

    Examples
    --------
    >>> k = as_kernel("precomputed")
    >>> k([[2, 1], [1, 2]])
    array([[2., 1.],
           [1., 2.]])
    """

    _precomputed = True

    def __call__(self, X: Any, Y: Any = None) -> Any:
        """Return `X`, checked."""
        K = as_matrix(X, "the precomputed kernel matrix")
        n = K.shape[0] if Y is None else len(Y)
        if K.shape[1] != n:
            raise ValueError(
                f"the precomputed kernel matrix must have {n} columns, one per fitted point, got shape {K.shape}"
            )
        if Y is None and not np.allclose(K, K.T, rtol=0.0, atol=1e-6 * np.abs(K).max()):
            raise ValueError("the precomputed kernel matrix must be symmetric (Proposition 17.2)")
        return K

    def diagonal(self, X: Any) -> Any:
        """Return the diagonal of the square matrix `X`."""
        return self(X).diagonal().copy()

    def features(self, X: Any, limit: float = math.inf) -> np.ndarray | None:
        """Return None: a matrix alone names no features."""
        return None

    def _points(self, X: Any) -> Points:
        raise TypeError("a precomputed kernel cannot be combined with others; combine the matrices")

    def _block(self, P: Points, Q: Points) -> np.ndarray:
        return self._points(P)

    def _diagonal(self, P: Points) -> np.ndarray:
        return self._points(P)

    def _formula(self, x: str, y: str) -> Formula:
        return "precomputed", _ATOM

    @property
    def _definite(self) -> bool | None:
        return None


@_value
class FromGram(Kernel):
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

    function: Callable

    def __post_init__(self) -> None:
        _check_callable(self.function, "function")

    def _points(self, X: Any) -> Points:
        return _vectors(X) if isinstance(X, np.ndarray) else X

    def _matrix(self, P: Points, Q: Points | None) -> np.ndarray:
        return self._finite_block(
            P, P if Q is None else Q
        )  # one call: the function need not see blocks

    def _block(self, P: Points, Q: Points) -> np.ndarray:
        try:
            K = np.array(self.function(P, Q))
        except Exception as error:
            error.add_note(
                "A kernel function gets two matrices, a point in each row; for a function of one pair use "
                "companion.kernels.FromFunction."
            )
            raise
        if K.shape != (len(P), len(Q)) or K.dtype.kind not in "biufc":
            raise ValueError(
                f"a kernel function must return the matrix of shape {(len(P), len(Q))} of all pairs, got shape "
                f"{K.shape}; for a function of one pair use companion.kernels.FromFunction"
            )
        return K if np.iscomplexobj(K) else K.astype(np.float64)

    def _diagonal(self, P: Points) -> np.ndarray:
        return np.array([self._block(P[i : i + 1], P[i : i + 1])[0, 0] for i in range(len(P))])

    def _formula(self, x: str, y: str) -> Formula:
        return f"{_name(self.function, 'k')}({x}, {y})", _ATOM

    @property
    def _definite(self) -> bool | None:
        return None

    @property
    def _hermitian(self) -> bool:
        return False


def own_points(X: np.ndarray, kernel: Kernel) -> np.ndarray:
    """Return training points as a fitted model keeps them: a copy, which nobody changes after the fit.

    Rows of a Gram matrix are not looked at again.
    """
    return X if kernel.is_precomputed else X.copy()


_ALIASES = {"poly": "polynomial", "rbf": "gaussian"}
_ACCEPTED: dict[str, tuple[str, ...]] = {
    "linear": (),
    "polynomial": ("degree", "gamma", "coef0"),
    "gaussian": ("sigma", "gamma"),
    "sigmoid": ("gamma", "coef0"),
    "precomputed": (),
}


def as_kernel(kernel: str | Kernel | Callable = "linear", **params: Any) -> Kernel:
    r"""Turn anything that names a kernel into a `Kernel`: what ``kernel=`` means for every estimator here.

    Parameters
    ----------
    kernel : str, Kernel or callable
        * a `Kernel`: returned as it is;
        * ``"linear"``: :math:`\langle x, y\rangle`;
        * ``"poly"`` or ``"polynomial"``: :math:`(\gamma\langle x, y\rangle + c)^d` with ``degree`` (3),
          ``gamma`` (1), ``coef0`` (1);
        * ``"rbf"`` or ``"gaussian"``: :math:`e^{-\|x-y\|^2/(2\sigma^2)}` with ``sigma`` (1), or ``gamma``
          for :math:`e^{-\gamma\|x-y\|^2}`;
        * ``"sigmoid"``: :math:`\tanh(\gamma\langle x, y\rangle + c)` with ``gamma`` (1), ``coef0`` (0);
        * ``"precomputed"``: the data are rows of a Gram matrix;
        * a callable ``f(X, Y)`` that returns the whole matrix.
    **params
        The parameters of a kernel that is given by its name.

    Returns
    -------
    Kernel
        With everything a solver needs: ``k(X)`` and ``k(X_new, X)`` for the matrices, ``k.diagonal(X)``,
        ``k.features(X, limit)`` for a factor, and the flags ``k.is_linear``, ``k.is_precomputed``,
        ``k.positive_definite``.

    Raises
    ------
    ValueError
        If the name is not one of these.
    TypeError
        If `kernel` is something else, or a parameter does not belong to it.

    Examples
    --------
    >>> as_kernel("rbf", gamma=0.5)
    exp(-|x - y|^2/(2*1^2))
    >>> as_kernel("poly", degree=2, coef0=0)
    <x, y>^2
    >>> as_kernel(lambda X, Y: X @ Y.T).positive_definite is None
    True
    """
    if isinstance(kernel, str):
        return _named_kernel(kernel, params)
    if params:
        raise TypeError(
            f"parameters {sorted(params)} belong to a kernel given by its name, got {kernel!r}"
        )
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, type) or not callable(kernel):
        raise TypeError(
            f"kernel must be a name ({', '.join(_ACCEPTED)}), a Kernel object or a callable, got {kernel!r}"
        )
    return FromGram(kernel)


def _named_kernel(kernel: str, params: dict[str, Any]) -> Kernel:
    name = _ALIASES.get(kernel, kernel)
    if name not in _ACCEPTED:
        raise ValueError(
            f"kernel must be one of {', '.join((*_ACCEPTED, *_ALIASES))}, got {kernel!r}"
        )
    params = {key: value for key, value in params.items() if value is not None}
    unknown = sorted(set(params) - set(_ACCEPTED[name]))
    if unknown:
        accepted = ", ".join(_ACCEPTED[name]) or "no parameter"
        raise TypeError(f"kernel {kernel!r} accepts {accepted}, got {', '.join(unknown)}")
    if name == "linear":
        return Linear()
    if name == "precomputed":
        return Precomputed()
    if name == "polynomial":
        return Polynomial(
            params.get("degree", 3), params.get("coef0", 1.0), params.get("gamma", 1.0)
        )
    if name == "sigmoid":
        return Sigmoid(params.get("gamma", 1.0), params.get("coef0", 0.0))
    if "gamma" not in params:
        return Gaussian(params.get("sigma", 1.0))
    if "sigma" in params:
        raise TypeError("give sigma or gamma = 1/(2 sigma^2), not both")
    return Gaussian(1.0 / math.sqrt(2.0 * as_scalar(params["gamma"], "gamma", above=0.0)))
