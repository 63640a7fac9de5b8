r"""Kernels on subsets of a set (Examples 17.6 and 17.7).

A point is a Python set. A list of sets is a list of points. A row of zeros and ones stands for a set too,
so that these kernels work in estimators that want a numeric matrix.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from companion.checks import as_matrix, as_scalar, as_vector, both
from companion.kernels.functions import Kernel, parameter

__all__ = ["Agreement", "Intersection", "Subset", "UnionComplement"]


class _SetKernel(Kernel):
    """A kernel on subsets of a set D, which the keys of mu are, where there is a mu."""

    mu: ClassVar[Any] = None

    @abstractmethod
    def _value(self, A: frozenset, B: frozenset) -> float:
        """Return the value at two sets."""

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        X, Y = both(self._sets, X, Y)
        return np.array([[self._value(A, B) for B in Y] for A in X], dtype=np.float64)

    def _sets(self, X: Any) -> list[frozenset]:
        D = None if self.mu is None else list(self.mu)
        if isinstance(X, np.ndarray) and X.ndim == 2:
            names = D or list(range(X.shape[1]))
            rows = as_matrix(X, "X", (None, len(names)))
            if not np.isin(rows, (0.0, 1.0)).all():
                raise ValueError("a row that stands for a set must hold zeros and ones only")
            X = [{d for d, inside in zip(names, row) if inside} for row in rows]
        for A in X:
            if not isinstance(A, (set, frozenset)):
                raise TypeError(f"a point must be a set, got {type(A).__name__} {A!r}")
            if D is not None and not A.issubset(D):
                raise ValueError(f"{set(A)} is not a subset of {D}")
        return [frozenset(A) for A in X]


class Subset(_SetKernel):
    r"""The subset kernel :math:`\kappa(A, B) = 2^{|A \cap B|}`: the number of common subsets of A and B.

    Notes
    -----
    Source: Example 17.6, Problem 17.3. Explicit features: :func:`companion.kernels.subset_features`.

    Examples
    --------
    >>> k = Subset()
    >>> k, k({1, 2, 3}, {2, 3, 4})
    (2^|x & y|, 4.0)
    """

    def _value(self, A: frozenset, B: frozenset) -> float:
        return 2.0 ** len(A & B)

    def _formula(self, x: str, y: str) -> str:
        return f"2^|{x} & {y}|"


def _weights(mu: Any, name: str) -> dict[Any, float]:
    """Return the measure of each element."""
    if not isinstance(mu, Mapping):
        mu = dict(enumerate(as_vector(mu, name)))
    if not mu:
        raise ValueError("mu must give the weight of at least one element, got none")
    return {e: as_scalar(w, f"mu({e!r})", at_least=0.0) for e, w in mu.items()}


class _MeasureKernel(_SetKernel):
    """A kernel on the subsets of a finite set D with a measure mu."""

    mu: Mapping = parameter(_weights)  # type: ignore[misc]

    def _measure(self, A: frozenset) -> float:
        return sum(self.mu[element] for element in A)


class Intersection(_MeasureKernel):
    r"""The intersection kernel :math:`\kappa(A, B) = \mu(A \cap B)`.

    Parameters
    ----------
    mu : mapping or sequence of float
        The measure of each element of D: a mapping from elements to nonnegative weights, or a sequence of
        weights, for D = {0, 1, ...}.

    Notes
    -----
    Source: Example 17.7. The feature map sends a set to its indicator function in :math:`L^2_\mu(D)`.

    Examples
    --------
    >>> k = Intersection({"a": 0.5, "b": 0.25, "c": 0.25})
    >>> k, k({"a", "b"}, {"b", "c"})
    (mu(x & y), 0.25)
    """

    def _value(self, A: frozenset, B: frozenset) -> float:
        return self._measure(A & B)

    def _formula(self, x: str, y: str) -> str:
        return f"mu({x} & {y})"


class UnionComplement(_MeasureKernel):
    r"""The union complement kernel :math:`\kappa(A, B) = \mu(\overline{A} \cap \overline{B}) = \mu(D) - \mu(A \cup B)`.

    Parameters
    ----------
    mu : mapping or sequence of float
        The measure of each element of D, as for `Intersection`. The text takes :math:`\mu(D) = 1`; any
        finite measure will do.

    Notes
    -----
    Source: Example 17.7.

    Examples
    --------
    >>> k = UnionComplement({"a": 0.5, "b": 0.25, "c": 0.25})
    >>> k, round(k({"b"}, {"b", "c"}), 6)
    (mu(D - (x | y)), 0.5)
    """

    def _value(self, A: frozenset, B: frozenset) -> float:
        return self._measure(frozenset(self.mu) - (A | B))

    def _formula(self, x: str, y: str) -> str:
        return f"mu(D - ({x} | {y}))"


class Agreement(_MeasureKernel):
    r"""The agreement kernel :math:`\kappa(A, B) = \mu(D) - \mu(A - B) - \mu(B - A)`.

    It is the sum of the intersection kernel and the union complement kernel.

    Parameters
    ----------
    mu : mapping or sequence of float
        The measure of each element of D, as for `Intersection`.

    Notes
    -----
    Source: Example 17.7.

    Examples
    --------
    >>> k = Agreement({"a": 0.5, "b": 0.25, "c": 0.25})
    >>> k, k({"a", "b"}, {"b", "c"})
    (mu(D) - mu(x - y) - mu(y - x), 0.25)
    """

    def _value(self, A: frozenset, B: frozenset) -> float:
        return self._measure(frozenset(self.mu) - (A ^ B))

    def _formula(self, x: str, y: str) -> str:
        return f"mu(D) - mu({x} - {y}) - mu({y} - {x})"
