r"""Kernels of vectors and feature maps: linear, polynomial, Gaussian, sigmoid, bilinear; what ``kernel=`` means."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial, reduce
from inspect import signature
from typing import Any, Self, dataclass_transform

import numpy as np
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.special import comb

from companion.arguments import check_kind
from companion.checks import as_scalar, as_symmetric, as_vectors, check_count, rows_of_both
from companion.kernels.features import polynomial_features
from companion.kernels.functions import Kernel, NoFeatures, parameter
from companion.kernels.given import FromGram, Precomputed


class Linear(Kernel):
    r"""The linear kernel :math:`\kappa(x, y) = \langle x, y \rangle` on :math:`\mathbb{R}^n` or :math:`\mathbb{C}^n`.

    Notes
    -----
    Source: Example 17.5; SP Example 1. On :math:`\mathbb{C}^n`,
    :math:`\langle x, y\rangle = \sum_i x_i \overline{y_i}`.

    Examples
    --------
    >>> Linear()([[1, 2], [3, 4]])
    array([[ 5., 11.],
           [11., 25.]])
    >>> Linear()([1, 1j], [1j, 1])
    0j
    """

    formula = "<{x}, {y}>"
    is_linear = True

    def _phi(self, X: Any) -> np.ndarray:
        """Return the features, a row for each point."""
        return as_vectors(X)

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        P, Q = rows_of_both(self._phi, X, Y)
        return P @ Q.conj().T

    def _features(self, X: Any, limit: float) -> np.ndarray:
        return self._phi(X)


def FeatureMap(phi: Callable) -> Kernel:
    r"""Return the kernel :math:`\kappa(x, y) = \langle \varphi(x), \varphi(y) \rangle` of a feature map.

    Parameters
    ----------
    phi : callable
        The feature map: takes one point, returns a vector of :math:`\mathbb{R}^N` or :math:`\mathbb{C}^N`
        (or a number, N = 1). Points may be anything.

    Returns
    -------
    Kernel
        The linear kernel, composed with `phi`.

    Notes
    -----
    Source: Definition 17.1, Proposition 17.1. With a number-valued :math:`\varphi = f` it is
    :math:`f(x)\overline{f(y)}`, Proposition 17.6 (3).

    Examples
    --------
    The quadratic kernel through :math:`\mathbb{R}^3` (Example 17.2):

    >>> from companion.kernels import Polynomial
    >>> k = FeatureMap(lambda x: (x[0]**2, x[1]**2, 2**0.5 * x[0] * x[1]))
    >>> k
    <phi(x), phi(y)>
    >>> round(k([1.0, 2.0], [3.0, 4.0]), 6), Polynomial(2, R=0.0)([1.0, 2.0], [3.0, 4.0])
    (121.0, 121.0)
    """
    return Linear().compose(check_kind(phi, "phi"))


class Polynomial(Kernel):
    r"""The polynomial kernel :math:`\kappa(x, y) = (\gamma \langle x, y \rangle + R)^d`.

    Parameters
    ----------
    d : int
        Degree, at least 1.
    R : float
        Nonnegative constant; ``R=0`` gives the homogeneous kernel.
    gamma : float
        Positive factor of the inner product; 1 in the text.

    Notes
    -----
    Source: Examples 17.4 and 17.5. The feature space has dimension :math:`\binom{n+d}{d}`, or
    :math:`\binom{n+d-1}{d}` when R = 0: see :func:`companion.kernels.polynomial_features`.

    Examples
    --------
    >>> k = Polynomial(2, R=1.0)
    >>> k, k([1, 2], [3, 4])
    ((<x, y> + 1)^2, 144.0)
    """

    d: int = parameter(check_count, default=2)
    R: float = parameter(partial(as_scalar, at_least=0.0), default=1.0)
    gamma: float = parameter(partial(as_scalar, above=0.0), default=1.0)

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        return reduce(np.multiply, [self.gamma * Linear()._matrix(X, Y) + self.R] * self.d)

    def _features(self, X: Any, limit: float) -> np.ndarray:
        P = as_vectors(X)
        if comb(P.shape[1] - (self.R == 0) + self.d, self.d) > limit:
            raise NoFeatures
        return polynomial_features(math.sqrt(self.gamma) * P, self.d, self.R)

    def _formula(self, x: str, y: str) -> str:
        inner = self.gamma * Linear()
        return ((inner + self.R if self.R else inner) ** self.d)._formula(x, y)


class Gaussian(Kernel):
    r"""The Gaussian kernel :math:`\kappa(x, y) = e^{-\|x - y\|^2 / (2\sigma^2)}`.

    Parameters
    ----------
    sigma : float
        Width, positive, in the units of the data. Scikit-learn's ``gamma`` is :math:`1/(2\sigma^2)`.

    Notes
    -----
    Source: Definition 17.4, Proposition 17.7 (3). For complex points the distance is that of :math:`\mathbb{C}^n`.

    Examples
    --------
    >>> k = Gaussian(2.0)
    >>> k
    exp(-|x - y|^2/(2*2^2))
    >>> round(k([0.0, 0.0], [0.0, 2.0]), 6)
    0.606531
    """

    formula = "exp(-|{x} - {y}|^2/(2*{sigma:.6g}^2))"
    sigma: float = parameter(partial(as_scalar, above=0.0), default=1.0)

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        P, Q = rows_of_both(as_vectors, X, Y)
        if np.iscomplexobj(P) or np.iscomplexobj(Q):
            P, Q = (np.hstack([Z.real, Z.imag]) for Z in (P, Q))
        # of differences: nothing cancels; those of equal sets once
        K = pdist(P, "sqeuclidean") if P is Q else cdist(P, Q, "sqeuclidean")
        np.exp(np.divide(K, -2.0 * self.sigma**2, out=K), out=K)
        if P is Q:
            K = squareform(K)
            np.fill_diagonal(K, 1.0)
        return K

    def _diagonal(self, X: Any) -> np.ndarray:
        return np.ones(len(as_vectors(X)))


class Sigmoid(Kernel):
    r"""The sigmoid kernel :math:`\kappa(x, y) = \tanh(a \langle x, y \rangle + b)`: **not** positive definite.

    Parameters
    ----------
    a : float
        Positive slope.
    b : float
        Offset.

    Notes
    -----
    On the line, :math:`\tanh(a\,xy + b) = \sum_k c_k (xy)^k` near 0. Coefficients that annihilate all
    powers below k, placed at points of size :math:`\varepsilon`, leave :math:`c_k\,\varepsilon^{2k}` times
    a square. So every :math:`c_k` would have to be nonnegative. With :math:`T = \tanh b`, :math:`c_0 \ge 0`
    needs :math:`T \ge 0`, :math:`c_2 \ge 0` needs :math:`T \le 0`, and at :math:`T = 0` one has
    :math:`c_3 = -a^3/3 < 0`.

    Examples
    --------
    >>> k = Sigmoid(1.0, 0.0)
    >>> k, k.positive_definite
    (tanh(<x, y>), False)
    >>> bool(np.linalg.eigvalsh(k([[1.0], [2.0]]))[0] < 0)
    True
    """

    a: float = parameter(partial(as_scalar, above=0.0), default=1.0)
    b: float = parameter(as_scalar, default=0.0)
    positive_definite = False

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        return np.tanh(self.a * Linear()._matrix(X, Y) + self.b)

    def _formula(self, x: str, y: str) -> str:
        inner = f"<{x}, {y}>" if self.a == 1 else f"{self.a:.6g} <{x}, {y}>"
        offset = f" {'+' if self.b > 0 else '-'} {abs(self.b):.6g}" if self.b else ""
        return f"tanh({inner}{offset})"


def _semidefinite(value: Any, name: str) -> np.ndarray:
    B = as_symmetric(value, name)
    lowest, highest = np.linalg.eigvalsh(B)[[0, -1]]
    if lowest < -1e-12 * max(highest, -lowest):
        given = f"got eigenvalue {lowest:.4g}"
        raise ValueError(f"Proposition 17.6 (5) needs a positive semidefinite B, {given}")
    B.flags.writeable = False
    return B


class Bilinear(Linear):
    r"""The kernel :math:`\kappa(x, y) = x^\top B y` of a positive semidefinite matrix B.

    Parameters
    ----------
    B : array-like of shape (n, n)
        Symmetric positive semidefinite.

    Raises
    ------
    ValueError
        If B is not symmetric or has a negative eigenvalue.

    Notes
    -----
    Source: Proposition 17.6 (5). With :math:`B = R R^\top` the feature map is :math:`\varphi(x) = R^\top x`.

    Examples
    --------
    >>> round(Bilinear([[2, 1], [1, 2]])([1, 0], [1, 1]), 6)
    3.0
    >>> Bilinear([[0, 1], [1, 0]])
    Traceback (most recent call last):
    ...
    ValueError: Proposition 17.6 (5) needs a positive semidefinite B, got eigenvalue -1
    """

    formula = "{x}' B {y}"
    is_linear = False
    B: np.ndarray = parameter(_semidefinite)

    def _phi(self, X: Any) -> np.ndarray:
        P = as_vectors(X)
        if P.shape[1] != len(self.B):
            raise ValueError(f"points must have {len(self.B)} coordinates, got {P.shape[1]}")
        eigenvalues, U = np.linalg.eigh(self.B)
        return P @ (U * np.sqrt(np.maximum(eigenvalues, 0.0)))


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


_signature = cache(signature)  # 30 us


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
        if kernel not in _NAMED:
            raise ValueError(f"kernel must be one of {', '.join(_NAMED)}, got {kernel!r}")
        make = _NAMED[kernel]
        known = _signature(make).parameters if params else {}
        if unknown := sorted(params.keys() - known):
            accepted = ", ".join(known) or "no parameter"
            raise TypeError(f"kernel {kernel!r} accepts {accepted}, got {', '.join(unknown)}")
        return make(**{key: value for key, value in params.items() if value is not None})
    if params:
        raise TypeError(f"{sorted(params)} belong to a kernel given by its name, got {kernel!r}")
    if isinstance(kernel, Kernel):
        return kernel
    kinds = f"a name ({', '.join(_NAMED)}), a Kernel object or a callable"
    check_kind(kernel, "kernel", kinds, lambda k: callable(k) and not isinstance(k, type))
    return FromGram(kernel)


@dataclass_transform(eq_default=False)
class KernelMixin:
    """An estimator whose fields are its parameters, among them ``kernel`` and ``kernel_params``.

    `set_params` takes ``kernel__sigma``, say.
    """

    kernel: str | Kernel | Callable
    kernel_params: dict[str, Any] | None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclass(eq=False, repr=False)(cls)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        kernel = self.kernel
        tags.input_tags.pairwise = getattr(kernel, "is_precomputed", kernel == "precomputed")
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
        if not isinstance(self.kernel_params, dict | None):
            raise TypeError(f"kernel_params must be a dict or None, got {self.kernel_params!r}")
        return as_kernel(self.kernel, **(self.kernel_params or {}))
