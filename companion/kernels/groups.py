r"""Kernels on groups: the remark at the end of Section 17.3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from companion.checks import as_matrix, as_vectors, both, real_or_complex
from companion.kernels.arithmetic import check_callable, name_of
from companion.kernels.functions import Kernel, parameter
from companion.kernels.given import FromFunction

__all__ = ["CyclicKernel", "GroupKernel"]


class GroupKernel(Kernel):
    r"""The kernel :math:`\kappa(s, t) = p(t^{-1} s)` of a function p on a group.

    Parameters
    ----------
    p : callable
        Function on the group.
    multiply : callable
        ``multiply(s, t)`` is the group's product.
    inverse : callable
        ``inverse(s)``.

    Notes
    -----
    Source: the remark on groups at the end of Section 17.3. If :math:`p(s) = \langle U(s) x_0, x_0 \rangle`
    for a unitary representation U, then :math:`\kappa(s, t) = \langle U(s) x_0, U(t) x_0 \rangle`: the
    feature map is :math:`s \mapsto U(s) x_0`.

    Examples
    --------
    The number of fixed points of a permutation, on the symmetric group :math:`S_3`:

    >>> from itertools import permutations
    >>> S3 = list(permutations(range(3)))
    >>> k = GroupKernel(lambda s: sum(i == j for i, j in enumerate(s)),
    ...                 multiply=lambda s, t: tuple(s[i] for i in t),
    ...                 inverse=lambda s: tuple(np.argsort(s)))
    >>> abs(np.linalg.eigvalsh(k(S3)).round(6))
    array([0., 3., 3., 3., 3., 6.])
    """

    p: Callable = parameter(check_callable)
    multiply: Callable = parameter(check_callable)
    inverse: Callable = parameter(check_callable)
    positive_definite = None

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        return FromFunction(lambda s, t: self.p(self.multiply(self.inverse(t), s)))._matrix(X, Y)

    def _formula(self, x: str, y: str) -> str:
        return f"{name_of(self.p, 'p')}({y}^-1 {x})"


def _values_on_the_group(p: Any, name: str) -> np.ndarray:
    """Return a vector that cannot be changed."""
    p = real_or_complex(p, name, ndim=1).copy()
    if p.size == 0:
        raise ValueError("p must have a value for each element of the group, got none")
    p.flags.writeable = False
    return p


class CyclicKernel(Kernel):
    r"""The kernel :math:`\kappa(s, t) = p(s - t)` on the cyclic group :math:`\mathbb{Z}/n`.

    Parameters
    ----------
    p : array-like of shape (n,)
        The values p(0), ..., p(n-1), real or complex.

    Notes
    -----
    The characters of the group diagonalise it: :math:`p(s) = \sum_k \hat p_k e^{2\pi i k s/n}`. The kernel
    is positive definite if and only if all :math:`\hat p_k \ge 0`, and then
    :math:`\varphi(s)_k = \sqrt{\hat p_k}\, e^{2\pi i k s/n}`. Source: the remark on groups at the end of
    Section 17.3, for :math:`\mathbb{Z}/n`.

    Examples
    --------
    >>> k = CyclicKernel([2, 1, 0, 1])
    >>> k([[0], [1], [2], [3]])
    array([[2., 1., 0., 1.],
           [1., 2., 1., 0.],
           [0., 1., 2., 1.],
           [1., 0., 1., 2.]])
    >>> k.positive_definite, CyclicKernel([1, 1, 0, 1]).positive_definite
    (True, False)
    """

    p: np.ndarray = parameter(_values_on_the_group)

    @property
    def spectrum(self) -> np.ndarray:
        """The coefficients of p over the characters: its discrete Fourier transform divided by n.

        Examples
        --------
        >>> CyclicKernel([2, 1, 0, 1]).spectrum.real
        array([1. , 0.5, 0. , 0.5])
        """
        return np.fft.fft(self.p) / len(self.p)

    def _integers(self, X: Any) -> np.ndarray:
        s = as_matrix(as_vectors(X), "X", (None, 1))
        if (s != np.round(s)).any():
            raise ValueError(f"points must be integers modulo {len(self.p)}")
        return s.astype(np.int64)

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        s, t = both(self._integers, X, Y)
        return self.p[(s - t.T) % len(self.p)]

    def _formula(self, x: str, y: str) -> str:
        return f"p({x} - {y} mod {len(self.p)})"

    @property
    def positive_definite(self) -> bool | None:
        """Whether all coefficients over the characters are real and nonnegative."""
        tolerance = 1e-12 * np.abs(self.p).max()
        weights = self.spectrum
        return bool(np.abs(weights.imag).max() <= tolerance and weights.real.min() >= -tolerance)
