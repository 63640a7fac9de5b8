r"""Kernels on subsets of a set (Examples 17.6 and 17.7).

A point is a Python set. A list of sets is a list of points.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Set
from typing import Any, ClassVar

import numpy as np

from companion.arguments import check_kind
from companion.checks import as_scalar, both
from companion.kernels.functions import Kernel, parameter


class _SetKernel(Kernel):
    """A kernel on sets; where it has a measure mu, on subsets of the set D of the keys of mu."""

    mu: ClassVar[Any] = None

    @abstractmethod
    def _value(self, A: Set, B: Set) -> float:
        """Return the value at two sets."""

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        X, Y = both(self._sets, X, Y)
        return np.array([[self._value(A, B) for B in Y] for A in X], dtype=np.float64)

    def _sets(self, X: Any) -> Any:
        for A in X:
            check_kind(A, "a point", "a set", lambda A: isinstance(A, set | frozenset))
            if self.mu is not None and not self.mu.keys() >= A:
                raise ValueError(f"{set(A)} is not a subset of {list(self.mu)}")
        return X


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

    formula = "2^|{x} & {y}|"

    def _value(self, A: Set, B: Set) -> float:
        return np.exp2(len(A & B))  # inf, of which the kernel says that it overflows


def _weights(mu: Any, name: str) -> dict[Any, float]:
    """Return the measure of each element."""
    check_kind(mu, name, "a dict of weights", lambda mu: mu and isinstance(mu, Mapping))
    return {e: as_scalar(w, f"mu({e!r})", at_least=0.0) for e, w in mu.items()}


class _MeasureKernel(_SetKernel):
    """A kernel on the subsets of a finite set D with a measure mu."""

    mu: Mapping = parameter(_weights)  # type: ignore[misc]

    def _measure(self, A: Set) -> float:
        return sum(self.mu[element] for element in A)


class Intersection(_MeasureKernel):
    r"""The intersection kernel :math:`\kappa(A, B) = \mu(A \cap B)`.

    Parameters
    ----------
    mu : mapping
        The measure of each element of D: from elements to nonnegative weights.

    Notes
    -----
    Source: Example 17.7. The feature map sends a set to its indicator function in :math:`L^2_\mu(D)`.

    Examples
    --------
    >>> k = Intersection({"a": 0.5, "b": 0.25, "c": 0.25})
    >>> k, k({"a", "b"}, {"b", "c"})
    (mu(x & y), 0.25)
    """

    formula = "mu({x} & {y})"

    def _value(self, A: Set, B: Set) -> float:
        return self._measure(A & B)


class UnionComplement(_MeasureKernel):
    r"""The union complement kernel :math:`\kappa(A, B) = \mu(\overline{A} \cap \overline{B}) = \mu(D) - \mu(A \cup B)`.

    Parameters
    ----------
    mu : mapping
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

    formula = "mu(D - ({x} | {y}))"

    def _value(self, A: Set, B: Set) -> float:
        return self._measure(self.mu.keys() - (A | B))


class Agreement(_MeasureKernel):
    r"""The agreement kernel :math:`\kappa(A, B) = \mu(D) - \mu(A - B) - \mu(B - A)`.

    It is the sum of the intersection kernel and the union complement kernel.

    Parameters
    ----------
    mu : mapping
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

    formula = "mu(D) - mu({x} - {y}) - mu({y} - {x})"

    def _value(self, A: Set, B: Set) -> float:
        return self._measure(self.mu.keys() - (A ^ B))
