r"""What a solved dual program says about the hyperplanes: w, the margins, the slacks, and how exactly it says it.

With :math:`g = P a` at the solution a, the margin of a point, :math:`s_i f(x_i)`, is an entry of g without the terms
that the program adds to the inner products, less :math:`s_i b`. A number that is nearly 0 is compared with the terms
that cancel in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from companion.certificates import max_norm
from companion.svm.dual import DualProgram, Units
from companion.svm.points import Normal, Points
from companion.svm.slab import Slab

__all__ = ["FLOOR", "Recovered", "over"]

_EPS = float(np.finfo(float).eps)
_NEARLY_ZERO = 1e-12  # below this part of its terms, a linear program decides whether a'Pa is 0
# Where the optimal value is nearly 0, a gap is compared with this part of the terms that cancel in it.
FLOOR = 1e-5


@dataclass(frozen=True, eq=False)
class Recovered:
    """The solution of a machine, in the units in which its dual program was solved.

    Parameters
    ----------
    points : Points
    dual : DualProgram
        The program that was solved.
    a, g : ndarray of shape (n,)
        The multipliers, and P a.
    slab : Slab
        b and eta.
    units : Units
    penalized : bool
        Whether the primal objective contains b.
    squared : bool
        Whether it contains the squares of the slacks.
    """

    points: Points
    dual: DualProgram
    a: np.ndarray
    g: np.ndarray
    slab: Slab
    units: Units
    penalized: bool
    squared: bool

    @cached_property
    def bias(self) -> float:
        """A penalized b in the unit of the weights, of which it is one; 0 if it is not penalized."""
        if not self.penalized:
            return 0.0
        unit = self.units.features
        return float(np.ldexp(self.slab.b, -unit if self.dual.penalize_b else unit))

    @cached_property
    def constant(self) -> float:
        """The feature whose weight a penalized b is: 1, in the unit of the features."""
        return 2.0 ** min(-self.units.features, 0)

    @cached_property
    def inner(self) -> np.ndarray:
        """The entries of g without what squared slacks add."""
        return self.g - self.dual.ridge * self.a if self.dual.ridge else self.g

    @cached_property
    def margin(self) -> np.ndarray:
        r"""The margins :math:`s_i f(x_i)`; where P contains :math:`ss^\top`, g contains b."""
        return self.inner if self.dual.penalize_b else self.inner - self.points.s * self.slab.b

    @cached_property
    def normal(self) -> Normal:
        """The normal w."""
        b_squared = self.bias * self.bias if self.dual.penalize_b else 0.0
        return self.points.normal(self.a, float(self.a @ self.inner) - b_squared, self.penalized)

    @cached_property
    def norm_error(self) -> float:
        """About by how much rounding has changed the norm of w, relative to it.

        Where only inner products are known, the norm is the root of a sum in which terms of the size of the squared
        lengths cancel.
        """
        norm, (Z, _) = self.normal.norm, self.points.features(self.penalized)
        if norm == 0.0:
            return 0.0
        if Z is None:
            return 0.5 * _EPS * (float(self.a @ self.lengths) / norm) ** 2
        return _EPS * float(self.a @ np.linalg.norm(Z, axis=1)) / norm

    @cached_property
    def slack(self) -> np.ndarray:
        """The slacks. Only points whose multiplier is at its bound have one; that of others is rounding."""
        if self.squared:
            return self.dual.ridge * self.a
        return np.where(self.a < self.dual.upper, 0.0, self._below_hyperplane)

    @cached_property
    def _below_hyperplane(self) -> np.ndarray:
        return np.maximum(self.slab.eta - self.margin, 0.0)

    # -- sizes

    @cached_property
    def lengths(self) -> np.ndarray:
        """The lengths of all features, with those that the program adds."""
        return np.sqrt(np.maximum(self.dual.P.diagonal(), 0.0))

    @cached_property
    def size(self) -> float:
        """The size of the terms of a margin."""
        b = abs(self.bias) * self.constant if self.dual.penalize_b else abs(self.slab.b)
        return max_norm(self.g) + self.slab.eta + b

    @cached_property
    def reach(self) -> float:
        """The length of w if no terms of its sum cancelled.

        It is 0 where w = 0 is no question, without nu. A penalized b has to keep its digits beside long features, and
        so its own reach counts.
        """
        if max_norm(self.dual.q) > 0.0:
            return 0.0
        if self.dual.penalize_b:
            return self.constant * float(self.a.sum())
        return float(self.a @ self.lengths)

    @property
    def nearly_vanishes(self) -> bool:
        """Whether a'Pa is so small, beside the terms that cancel in it, that it may be zero but for rounding."""
        return float(self.a @ self.g) <= _NEARLY_ZERO * float(self.a @ self.lengths) ** 2

    def miss(self) -> float:
        """Return by how much the hyperplanes miss the points that should lie on them, relative to the terms.

        With squared slacks these are all points with a positive multiplier; without, no point below its hyperplane
        may have a multiplier below the bound. A penalized b has to fit together with w.
        """
        longest = self.constant if self.dual.penalize_b else max_norm(self.lengths)
        floored = max(self.size, FLOOR * longest * self.reach)
        if self.squared:
            off = np.where(self.a > 0.0, self.margin + self.slack - self.slab.eta, 0.0)
            miss = over(max_norm(off), self.size)
        else:
            off = np.where(self.a < self.dual.upper, self._below_hyperplane, 0.0)
            miss = over(max_norm(off), floored)
        w, one = self.normal.w, self.constant
        if self.dual.penalize_b and w is not None:
            Z, _ = self.points.features(penalize_b=True)
            by_weights = self.points.s * (Z @ w - one * one * self.slab.b)
            miss = max(miss, over(max_norm(self.inner - by_weights), floored))
        return miss


def over(value: float, size: float) -> float:
    """Return value / size, or the value itself if there is nothing to compare it with."""
    return value / size if size > 0.0 else value
