"""Chapter 16: dual ascent, the method of multipliers, ADMM and proximal methods."""

from companion.admm.multipliers import (
    augmented_lagrangian,
    dual_ascent,
    dual_decomposition,
    dual_function,
    method_of_multipliers,
    quadratic_argmin,
)
from companion.results import ADMMResult, FixedPointResult, MultiplierResult, QPResult

__all__ = [
    "ADMMResult",
    "FixedPointResult",
    "MultiplierResult",
    "QPResult",
    "augmented_lagrangian",
    "dual_ascent",
    "dual_decomposition",
    "dual_function",
    "method_of_multipliers",
    "quadratic_argmin",
]
