"""Certificates of optimality: numbers that prove an answer, computed from the problem's data alone."""

from __future__ import annotations

from dataclasses import dataclass

from companion.results import Record

__all__ = ["Certificate"]


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Record):
    """Four relative residuals that are all zero exactly at a solution.

    Parameters
    ----------
    primal_residual : float
        How far the point is from satisfying the constraints.
    dual_residual : float
        How far the multipliers are from satisfying the stationarity condition.
    complementarity : float
        Largest product of a slack and its multiplier.
    gap : float
        Difference of the primal and the dual objective.
    tolerance : float
        What each of the four is compared with.
    """

    primal_residual: float
    dual_residual: float
    complementarity: float
    gap: float
    tolerance: float

    @property
    def worst(self) -> float:
        """The largest of the four residuals."""
        return max(self.primal_residual, self.dual_residual, self.complementarity, self.gap)

    @property
    def ok(self) -> bool:
        """Whether all four residuals are within the tolerance."""
        return bool(self.worst <= self.tolerance)

    def _rows(self) -> list[tuple[str, str]]:
        values = {
            "primal_residual": self.primal_residual,
            "dual_residual": self.dual_residual,
            "complementarity": self.complementarity,
            "gap": self.gap,
        }
        rows = [(n, "ok" if v <= self.tolerance else f"{v:.1e}") for n, v in values.items()]
        return [*rows, ("tolerance", f"{self.tolerance:.0e}"), ("ok", str(self.ok))]

    def __str__(self) -> str:
        return f"every residual <= {self.tolerance:.0e}" if self.ok else f"worst residual {self.worst:.1e}"
