"""The loop of the l1 solvers: ADMM, interrupted now and then by an attempt to finish exactly."""

from __future__ import annotations

import math
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

_SMALLEST = float(np.finfo(np.float64).tiny)

_PENALTIES = 2.0**-900, 2.0**900  # the penalty parameter stays between them

Triple = tuple[np.ndarray, np.ndarray, np.ndarray]  # x, z and the multiplier lambda


class Units(NamedTuple):
    """Powers of two by which x, z and the objective of a problem as given exceed those of the problem as solved.

    The problems are homogeneous: with A and b multiplied by numbers, x, z and the multipliers are multiplied as well.
    Squares of entries near the ends of the floating-point range do not exist. So there the data are divided by powers
    of two, which rounds nothing, and the answer is multiplied.
    """

    x: int | np.ndarray = 0  # one power, or one for each entry
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

    @property
    def slope(self) -> int:
        """Exponent of the dual residual, whose size is that of the objective divided by x."""
        return self.objective - int(np.max(self.x))


def exponent(*arrays: np.ndarray) -> int:
    """Return the power of two by which arrays are divided before they are squared: 0 for numbers of usual size."""
    power = int(np.frexp(max(largest(a) for a in arrays))[1])
    return power if abs(power) > _TAME else 0


def exponents(A: np.ndarray) -> np.ndarray:
    """Return the same for each column of a matrix."""
    power = np.frexp(np.abs(A).max(axis=0))[1].astype(int)
    return np.where(np.abs(power) > _TAME, power, 0)


def in_units(value: float, power: int, name: str, heaviest: float = math.inf) -> float:
    """Return a penalty divided by a power of two, or raise an error if the data vanish beside it."""
    with np.errstate(over="ignore"):
        scaled = float(np.ldexp(value, -power))
    if power and not (scaled <= heaviest and scaled < math.inf):
        raise ValueError(
            f"{name} = {value:g} is too large for A and b of this size: it counts relative to A'b; "
            "multiply A or b by a constant"
        )
    return scaled


def _restored(value: Any, power: Any, name: str) -> Any:
    """Return value times a power of two, or raise an error if that is not a floating-point number."""
    if not np.any(power):
        return value
    given = np.ldexp(value, power)
    lost = np.abs(np.ldexp(given, -np.asarray(power)) - value)
    if not np.isfinite(given).all() or not largest(lost) <= 4 * EPS * largest(value):
        sizes = np.log10(2.0) * power + np.log10(np.maximum(np.abs(value), _SMALLEST))
        extreme = sizes.flat[np.abs(sizes).argmax()] if np.ndim(sizes) else sizes
        raise ValueError(
            f"{name} is of the size 1e{extreme:+.0f} for these A and b, which is beyond the floating-point numbers "
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

    def given(self, step: Iterate) -> Iterate:
        """Return a step of ADMM in the coordinates and units in which the problem was given."""
        units = self.units
        with np.errstate(over="ignore"):
            return Iterate(
                step.k,
                np.ldexp(self.original(step.x), units.x),
                np.ldexp(step.z, units.z),
                np.ldexp(step.u, units.z),
                float(np.ldexp(step.rho, units.rho)),
                float(np.ldexp(step.primal_residual, units.z)),
                float(np.ldexp(step.dual_residual, units.slope)),
            )

    def restore(self, result: ADMMResult, answer: Triple) -> ADMMResult:
        """Return the result with this answer, in the coordinates and units in which the problem was given."""
        x, z, lambda_ = answer
        units, history, rho = self.units, dict(result.history), result.rho
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if "x" in history:
                rows = np.array([self.original(row) for row in history["x"]])
                history["x"] = np.ldexp(rows, units.x)
            for name, power in {
                "primal_residual": units.z, "dual_residual": units.slope, "objective": units.objective,
                "rho": units.rho, "z": units.z, "u": units.z,
            }.items():  # fmt: skip
                if power and name in history:
                    history[name] = np.ldexp(history[name], power)
            if units.rho:
                rho = float(np.clip(np.ldexp(rho, units.rho), *_PENALTIES))
            u = _restored(lambda_, units.multiplier, "the multiplier") / rho
            if not np.isfinite(u).all():  # then the penalty counts for nothing
                rho = max(1.0, largest(lambda_))
                u = _restored(lambda_, units.multiplier, "the multiplier") / rho
            return replace(
                result,
                x=_restored(self.original(x), units.x, "the solution x"),
                z=_restored(z, units.z, "z"),
                u=u,
                rho=rho,
                objective=float(_restored(self.objective(x, z), units.objective, "the objective")),
                history=history,
            )


class _Watch:
    """Looks at the steps of ADMM now and then: is some answer that they suggest certified? The best one is kept."""

    def __init__(self, problem: L1Problem, tol: float, first_check: int, max_iter: int) -> None:
        self.problem, self.tol, self.max_iter = problem, tol, max_iter
        self.next_check, self.pattern = first_check, np.zeros(0)
        self.best: tuple[Certificate, Triple] | None = None

    def offer(self, answer: Triple) -> bool:
        """Certify an answer, keep it if it is the best; return whether it is a solution."""
        certificate = self.problem.certify(*answer, self.tol)
        if self.best is None or certificate.worst <= self.best[0].worst:
            self.best = certificate, answer
        return certificate.ok

    def certified(self, step: Iterate) -> bool:
        """Return whether an exact finish from this step, or the step itself, is a solution."""
        old, self.pattern = self.pattern, np.sign(step.z)
        settled = np.array_equal(old, self.pattern) or step.k == 1 or step.k >= 200
        found = any(self.offer(answer) for answer in self.problem.finished(step, settled))
        return found or self.offer(self.problem.plain(step))

    def __call__(self, step: Iterate) -> bool:
        """Return whether ADMM may stop after this step."""
        if step.k < min(self.next_check, self.max_iter):
            return False
        self.next_check = int(np.ceil(1.3 * max(self.next_check, 9))) + 1
        return self.certified(step) or step.k == self.max_iter


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
    rho = _penalty(problem, rho)
    tol = as_scalar(tol, "tol", above=0)
    max_iter = check_count(max_iter, "max_iter")
    if warm_start is not None:
        loop |= _start(problem, warm_start, rho)
    watch = _Watch(problem, tol, problem.first_check if warm_start is None else 1, max_iter)

    def stop(step: Iterate) -> bool:
        wanted = callback is not None and callback(problem.given(step))
        return bool(wanted) or (finish and watch(step))

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
        callback=stop if finish or callback is not None else None,
        **loop,
    )
    last = Iterate(result.n_iter, result.x, result.z, result.u, result.rho, 0.0, 0.0)
    if watch.best is None:
        watch.offer(problem.plain(last))
    assert watch.best is not None
    if finish and not watch.best[0].ok and result.status == "converged":
        watch.certified(last)
    certificate, answer = watch.best
    result = problem.restore(result, answer)
    status = _verdict(result, certificate, tol, max_iter) if finish else result.status
    return replace(
        result,
        certificate=certificate,
        problem=given,
        status=status,
        converged=status == "converged",
    )


def _penalty(problem: L1Problem, rho: float | None) -> float:
    """Return the penalty in the units of the problem."""
    if rho is None:
        return problem.rho
    given = np.ldexp(as_scalar(rho, "rho", above=0), -problem.units.rho)
    return float(np.clip(given, *_PENALTIES))


def _start(problem: L1Problem, warm_start: ADMMResult, rho: float) -> dict[str, np.ndarray]:
    """Return the arguments with which ADMM starts from an earlier result."""
    if not isinstance(warm_start, ADMMResult):
        raise TypeError(f"warm_start must be an ADMMResult, got {type(warm_start).__name__}")
    units = problem.units
    lambda_ = np.ldexp(warm_start.rho * warm_start.u, -units.multiplier)
    return {"z0": np.ldexp(warm_start.z, -units.z), "u0": lambda_ / rho}


def _verdict(result: ADMMResult, certificate: Certificate, tol: float, max_iter: int) -> str:
    """Return the status that the certificate gives; warn if ADMM ended without a solution."""
    if certificate.ok:
        return "converged"
    status = result.status
    if result.n_iter >= max_iter or status == "converged":
        status = "max_iter"
        warnings.warn(
            f"no certified solution after {result.n_iter} steps of ADMM: {certificate}, "
            f"wanted {tol:.0e}; raise max_iter or change rho (now {result.rho:.3g})",
            ConvergenceWarning,
            stacklevel=4,
        )
    return status


def relative(value: float, scale: float) -> float:
    """Return value / scale for a residual: 0 when the value is, infinite when only the scale is 0."""
    if not value > 0:
        return float("nan") if np.isnan(value) else 0.0
    return float(value / scale) if scale > 0 else float("inf")


def largest(v: np.ndarray) -> float:
    """Return the largest absolute value."""
    return float(np.abs(v).max(initial=0.0))


def shrunk(v: np.ndarray, c: float | np.ndarray) -> np.ndarray:
    """Return :func:`companion.admm.soft_threshold` of a vector that ADMM has made."""
    return v - np.minimum(np.maximum(v, -c), c)


def rows_of(A: np.ndarray) -> int:
    """Return the number of rows of a matrix that has at least one row and one column."""
    if A.size == 0:
        raise ValueError(f"A must have at least one row and one column, got shape {A.shape}")
    return A.shape[0]
