"""The loop of the l1 solvers: ADMM, interrupted now and then by an attempt to finish exactly."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from companion.admm.splitting import Iterate, admm
from companion.certificates import Certificate
from companion.checks import as_scalar, check_count
from companion.exceptions import ConvergenceWarning
from companion.results import ADMMResult, Problem

EPS = float(np.finfo(np.float64).eps)

# A gap is compared with the objective, or with this part of the size of its terms where that is larger: where
# these cancel, rounding is all that is left.
FLOOR = 1e-6

# The same for a gradient, which is compared with the multiplier.
SLOPE_FLOOR = 1e-4

# Data whose largest entry is within these powers of two are taken as they are.
_TAME = 250

_PENALTIES = 2.0**-900, 2.0**900  # the penalty parameter stays between them

Triple = tuple[np.ndarray, np.ndarray, np.ndarray]  # x, z and the multiplier lambda


class Units(NamedTuple):
    """Powers of two by which x, z and the objective of a problem as given exceed those of the problem as solved.

    The problems are homogeneous: with A and b multiplied by numbers, x, z and the multipliers are multiplied as well.
    Squares of entries near the ends of the floating-point range do not exist. So there the data are divided by powers
    of two, which rounds nothing, and the answer is multiplied.
    """

    x: int = 0
    z: int = 0
    objective: int = 0

    @property
    def multiplier(self) -> int:
        """Exponent of the multiplier of A x + B z = c."""
        return self.objective - self.z

    @property
    def rho(self) -> int:
        """Exponent of the penalty parameter: lambda = rho u, and u is of the size of z."""
        return self.objective - 2 * self.z

    def given(self, step: Iterate) -> Iterate:
        """Return a step of ADMM in the units of the problem as given."""
        return Iterate(
            step.k,
            np.ldexp(step.x, self.x),
            np.ldexp(step.z, self.z),
            np.ldexp(step.u, self.z),
            float(np.ldexp(step.rho, self.rho)),
            float(np.ldexp(step.primal_residual, self.z)),
            float(np.ldexp(step.dual_residual, self.objective - self.x)),
        )

    def restore(
        self, result: ADMMResult, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, value: float
    ) -> ADMMResult:
        """Return the result with this answer, in the units of the problem as given."""
        exponents = {
            "primal_residual": self.z, "dual_residual": self.objective - self.x, "objective": self.objective,
            "rho": self.rho, "x": self.x, "z": self.z, "u": self.z,
        }  # fmt: skip
        history = result.history
        if any(self):
            history = {name: np.ldexp(v, exponents[name]) for name, v in history.items()}
        rho = (
            float(np.clip(np.ldexp(result.rho, self.rho), *_PENALTIES)) if self.rho else result.rho
        )
        return replace(
            result,
            x=_restored(x, self.x, "the solution x"),
            z=_restored(z, self.z, "z"),
            u=_restored(lambda_, self.multiplier, "the multiplier") / rho,
            rho=rho,
            objective=float(_restored(value, self.objective, "the objective")),
            history=history,
        )


def exponent(*arrays: np.ndarray) -> int:
    """Return the power of two by which arrays are divided before they are squared: 0 for numbers of usual size."""
    power = int(np.frexp(max(largest(a) for a in arrays))[1])
    return power if abs(power) > _TAME else 0


def in_units(value: float, power: int, name: str) -> float:
    """Return a penalty divided by a power of two, or raise an error if it overflows."""
    scaled = float(np.ldexp(value, -power))
    if not np.isfinite(scaled):
        raise ValueError(
            f"{name} = {value:g} is too large for A and b of this size: it counts relative to A'b; "
            "multiply A or b by a constant"
        )
    return scaled


def _restored(value: Any, power: int, name: str) -> Any:
    """Return value times a power of two, or raise an error if that is not a floating-point number."""
    with np.errstate(over="ignore", under="ignore"):
        given = np.ldexp(value, power)
        lost = largest(np.ldexp(given, -power) - value) if np.isfinite(given).all() else np.inf
    if power and not lost <= 4 * EPS * largest(value):
        decimal = np.log10(2.0) * power + np.log10(largest(value))
        raise ValueError(
            f"{name} is of the size 1e{decimal:+.0f} for these A and b, which is beyond the floating-point numbers "
            "(1e-307 to 1e+308); multiply A or b by a constant"
        )
    return given


class L1Problem(ABC):
    """An l1 problem in ADMM form: minimise f(x) + g(z) subject to A x + B z = c.

    It may be stated in other `units` than the problem that was given.
    """

    A: Any = 1.0
    B: Any = -1.0
    c: Any = 0.0
    rho: float = 1.0  # the default penalty, from the data
    units = Units()
    first_check = 10  # the first step of ADMM after which an exact finish is tried

    @abstractmethod
    def x_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return the first update of ADMM."""

    @abstractmethod
    def z_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return the second update of ADMM."""

    @abstractmethod
    def objective(self, x: np.ndarray, z: np.ndarray) -> float:
        """Return f(x) + g(z)."""

    @abstractmethod
    def plain(self, step: Iterate) -> Triple:
        """Return the answer that the iterate itself gives."""

    @abstractmethod
    def finished(self, step: Iterate, settled: bool) -> Iterator[Triple]:
        """Yield exact answers for the zero pattern of the iterate; `settled`: it has not changed."""

    @abstractmethod
    def certify(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, tol: float) -> Certificate:
        """Measure how far x, z and the multiplier are from proving each other optimal."""

    def original(self, x: np.ndarray) -> np.ndarray:
        """Return x in the coordinates in which the problem was given."""
        return x


def run(
    problem: L1Problem,
    *,
    given: Problem | None,
    rho: float | None,
    relaxation: float,
    tol: float,
    max_iter: int,
    finish: bool,
    warm_start: ADMMResult | None,
    callback: Callable[[Iterate], Any] | None = None,
    **loop: Any,
) -> ADMMResult:
    """Run ADMM on the problem until an exact finish, or the iterate itself, is certified."""
    units = problem.units
    if rho is None:
        rho = problem.rho
    else:
        rho = float(np.clip(np.ldexp(as_scalar(rho, "rho", above=0), -units.rho), *_PENALTIES))
    tol = as_scalar(tol, "tol", above=0)
    max_iter = check_count(max_iter, "max_iter")
    if warm_start is not None:
        if not isinstance(warm_start, ADMMResult):
            raise TypeError(f"warm_start must be an ADMMResult, got {type(warm_start).__name__}")
        lambda_ = np.ldexp(warm_start.rho * warm_start.u, -units.multiplier)
        loop |= {"z0": np.ldexp(warm_start.z, -units.z), "u0": lambda_ / rho}

    best: tuple[Certificate, Triple] | None = None
    pattern, next_check = np.zeros(0), problem.first_check if warm_start is None else 1

    def certified(step: Iterate) -> bool:
        """Say whether some answer is certified at this step; keep the best one."""
        nonlocal best, pattern
        old, pattern = pattern, np.sign(step.z)
        settled = np.array_equal(old, pattern) or step.k == 1 or step.k >= 200
        for answer in (*problem.finished(step, settled), problem.plain(step)):
            certificate = problem.certify(*answer, tol)
            if best is None or certificate.worst <= best[0].worst:
                best = certificate, answer
            if certificate.ok:
                return True
        return False

    def watch(step: Iterate) -> bool:
        nonlocal next_check
        if callback is not None and callback(units.given(step)):
            return True
        if not finish or step.k < min(next_check, max_iter):
            return False
        next_check = int(np.ceil(1.3 * max(next_check, 9))) + 1
        return certified(step) or step.k == max_iter

    result = admm(
        problem.x_update,
        problem.z_update,
        problem.A,
        problem.B,
        problem.c,
        rho=rho,
        relaxation=relaxation,
        tol_abs=0.0 if finish else tol,
        tol_rel=EPS if finish else tol,
        max_iter=max_iter,
        objective=problem.objective,
        callback=watch if finish or callback is not None else None,
        **loop,
    )
    last = Iterate(result.n_iter, result.x, result.z, result.u, result.rho, 0.0, 0.0)
    if not finish or best is None:
        answer = problem.plain(last)
        best = problem.certify(*answer, tol), answer
    if finish and not best[0].ok and result.status == "converged":
        certified(last)
    certificate, (x, z, lambda_) = best
    converged, status = result.converged, result.status
    if finish and certificate.ok:
        converged, status = True, "converged"
    elif finish:
        converged = False
        status = status if result.n_iter < max_iter and status != "converged" else "max_iter"
    if finish and status == "max_iter":
        warnings.warn(
            f"no certified solution after {result.n_iter} steps of ADMM: {certificate}, "
            f"wanted {tol:.0e}; raise max_iter or change rho (now {result.rho:.3g})",
            ConvergenceWarning,
            stacklevel=3,
        )
    return replace(
        units.restore(result, problem.original(x), z, lambda_, problem.objective(x, z)),
        converged=converged,
        status=status,
        certificate=certificate,
        problem=given,
    )


def relative(value: float, scale: float) -> float:
    """Return value / scale for a residual: 0 when the value is, infinite when only the scale is 0."""
    if not value > 0:
        return float("nan") if np.isnan(value) else 0.0
    return float(value / scale) if scale > 0 else float("inf")


def largest(v: np.ndarray) -> float:
    """Return the largest absolute value."""
    return float(np.abs(v).max(initial=0.0))


def rows_of(A: np.ndarray) -> int:
    """Return the number of rows of a matrix that has at least one row and one column."""
    if A.size == 0:
        raise ValueError(f"A must have at least one row and one column, got shape {A.shape}")
    return A.shape[0]
