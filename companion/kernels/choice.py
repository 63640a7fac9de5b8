r"""What ``kernel=`` means: a name, a `Kernel`, a callable or a precomputed matrix, all turned into a `Kernel`."""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import signature
from typing import Any, Self

import numpy as np

from companion.checks import as_scalar
from companion.kernels.functions import Kernel
from companion.kernels.given import FromGram, Precomputed
from companion.kernels.vectors import Gaussian, Linear, Polynomial, Sigmoid

__all__ = ["KernelMixin", "as_kernel", "own_points"]


def own_points(X: np.ndarray, kernel: Kernel) -> np.ndarray:
    """Return training points as a fitted model keeps them: a copy, safe from later changes.

    Rows of a Gram matrix are not looked at again.
    """
    return X if kernel.is_precomputed else X.copy()


def _gaussian(sigma: float | None = None, gamma: float | None = None) -> Kernel:
    if gamma is None:
        return Gaussian(1.0 if sigma is None else sigma)
    if sigma is not None:
        raise TypeError("give sigma or gamma = 1/(2 sigma^2), not both")
    return Gaussian(1.0 / math.sqrt(2.0 * as_scalar(gamma, "gamma", above=0.0)))


_NAMED: dict[str, Callable[..., Kernel]] = {
    "linear": Linear,
    "poly": lambda degree=3, gamma=1.0, coef0=1.0: Polynomial(degree, coef0, gamma),
    "rbf": _gaussian,
    "sigmoid": lambda gamma=1.0, coef0=0.0: Sigmoid(gamma, coef0),
    "precomputed": Precomputed,
}
_NAMED |= {"polynomial": _NAMED["poly"], "gaussian": _NAMED["rbf"]}


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
        raise TypeError(f"{sorted(params)} belong to a kernel given by its name, got {kernel!r}")
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, type) or not callable(kernel):
        names = ", ".join(_NAMED)
        raise TypeError(
            f"kernel must be a name ({names}), a Kernel object or a callable, got {kernel!r}"
        )
    return FromGram(kernel)


def _named_kernel(kernel: str, params: dict[str, Any]) -> Kernel:
    if kernel not in _NAMED:
        raise ValueError(f"kernel must be one of {', '.join(_NAMED)}, got {kernel!r}")
    if params and (unknown := sorted(set(params) - set(signature(_NAMED[kernel]).parameters))):
        accepted = ", ".join(signature(_NAMED[kernel]).parameters) or "no parameter"
        raise TypeError(f"kernel {kernel!r} accepts {accepted}, got {', '.join(unknown)}")
    return _NAMED[kernel](**{key: value for key, value in params.items() if value is not None})


class KernelMixin:
    """An estimator with the parameters ``kernel`` and ``kernel_params``; `set_params` takes ``kernel__sigma``, say."""

    kernel: str | Kernel | Callable
    kernel_params: dict[str, Any] | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = self._named_kernel().is_precomputed
        return tags

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the kernel too: ``kernel__sigma``, whether it is an object or a name.

        Parameters
        ----------
        **params
            By their names.

        Returns
        -------
        estimator
            Itself.
        """
        paths = [path for path in params if path.startswith("kernel__")]
        named = {path.removeprefix("kernel__"): params.pop(path) for path in paths}
        super().set_params(**params)  # type: ignore[misc]
        if named and isinstance(self.kernel, Kernel):
            self.kernel = self.kernel.with_params(**named)
        elif named:
            self.kernel_params = (self.kernel_params or {}) | named
        return self

    def _named_kernel(self) -> Kernel:
        """Return the kernel that the parameters name."""
        return as_kernel(self.kernel, **(self.kernel_params or {}))
