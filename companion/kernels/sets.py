r"""Kernels on subsets of a set (Examples 17.6 and 17.7).

A point is a Python set. A list of sets is a list of points. A row of zeros and ones stands for a set too,
so that these kernels work in estimators that want a numeric matrix.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from companion.checks import as_matrix, as_scalar, as_vector
from companion.kernels.features import subset_features
from companion.kernels.functions import Kernel
from companion.kernels.given import ExplicitKernel

__all__ = ["Agreement", "Intersection", "Subset", "UnionComplement"]


def _indicators(X: Any, ground: Sequence[Hashable]) -> np.ndarray:
    """Return the sets X as rows of zeros and ones, one column per element of the ground set."""
    if isinstance(X, np.ndarray) and X.ndim == 2:
        rows = as_matrix(X, "X", (None, len(ground)))
        if not np.isin(rows, (0.0, 1.0)).all():
            raise ValueError("a row that stands for a set must hold zeros and ones only")
        return rows
    column = {element: j for j, element in enumerate(ground)}
    rows = np.zeros((len(X), len(ground)))
    for i, points in enumerate(X):
        for element in _as_set(points):
            if element not in column:
                raise ValueError(f"{element!r} is not in the ground set {list(ground)}")
            rows[i, column[element]] = 1.0
    return rows


def _as_set(points: Any) -> frozenset:
    if isinstance(points, (set, frozenset)):
        return frozenset(points)
    raise TypeError(f"a point must be a set, got {type(points).__name__} {points!r}")


class Subset(Kernel):
    r"""The subset kernel :math:`\kappa(A, B) = 2^{|A \cap B|}`: the number of common subsets of A and B.

    Parameters
    ----------
    ground : sequence of hashable, optional
        The set D of which the points are subsets. Needed for ``features`` and for zero-one rows with named
        columns only.

    Notes
    -----
    Source: Example 17.6, Problem 17.3. Explicit features: :func:`companion.kernels.subset_features`.

    Examples
    --------
    >>> k = Subset()
    >>> k, k({1, 2, 3}, {2, 3, 4})
    (2^|x & y|, 4.0)
    """

    ground: Sequence[Hashable] | None = None

    def __post_init__(self) -> None:
        if self.ground is not None:
            object.__setattr__(self, "ground", tuple(dict.fromkeys(self.ground)))

    def _points(self, X: Any) -> Any:
        if self.ground is not None:
            return _indicators(X, self.ground)
        if isinstance(X, np.ndarray) and X.ndim == 2:
            return _indicators(X, range(X.shape[1]))
        return [_as_set(points) for points in X]

    def _block(self, P: Any, Q: Any) -> np.ndarray:
        if isinstance(P, list) != isinstance(Q, list):
            raise TypeError(
                "give both sides as sets or both as zero-one rows, or name the ground set"
            )
        if isinstance(P, list):
            ground = list(frozenset().union(*P, *Q))
            P, Q = _indicators(P, ground), _indicators(Q, ground)
        sizes = P @ Q.T
        return np.exp2(sizes, out=sizes)

    def _diagonal(self, P: Any) -> np.ndarray:
        sizes = [len(p) for p in P] if isinstance(P, list) else P.sum(axis=1)
        return np.exp2(np.asarray(sizes, dtype=float))

    def _features(self, P: Any, limit: float) -> np.ndarray | None:
        if self.ground is None or len(self.ground) > 1000 or 2.0 ** len(self.ground) > limit:
            return None
        rows = [{d for d, inside in zip(self.ground, row) if inside} for row in P]
        return subset_features(rows, self.ground)

    def _formula(self, x: str, y: str) -> str:
        return f"2^|{x} & {y}|"


class _MeasureKernel(ExplicitKernel):
    """A kernel on the subsets of a finite set with a measure: its features are functions in L^2 of the measure."""

    mu: dict[Hashable, float]

    def __post_init__(self) -> None:
        mu = self.mu
        if not isinstance(mu, Mapping):
            mu = dict(enumerate(as_vector(mu, "mu")))
        if not mu:
            raise ValueError("mu must give the weight of at least one element, got none")
        weights = {e: as_scalar(w, f"mu({e!r})", at_least=0.0) for e, w in mu.items()}
        object.__setattr__(self, "mu", weights)

    def _points(self, X: Any) -> np.ndarray:
        inside = _indicators(X, tuple(self.mu))
        weights = np.array(list(self.mu.values()))
        return np.sqrt(self._weigh(inside, weights))

    def _weigh(self, inside: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the squares of the features of sets that are given by their indicators."""
        raise NotImplementedError


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

    mu: Any

    def _weigh(self, inside: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return inside * weights

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

    mu: Any

    def _weigh(self, inside: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return (1.0 - inside) * weights

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

    mu: Any

    def _weigh(self, inside: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.hstack([inside, 1.0 - inside]) * np.tile(weights, 2)

    def _formula(self, x: str, y: str) -> str:
        return f"mu(D) - mu({x} - {y}) - mu({y} - {x})"
