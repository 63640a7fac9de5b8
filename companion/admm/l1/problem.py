"""Guess, finish, prove: what all the l1 problems of Section 16.8 share."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from companion.admm.splitting import Iterate, admm
from companion.arithmetic import EPS
from companion.checks import as_scalar, check_count
from companion.exceptions import ConvergenceWarning
from companion.results import ADMMResult, Certificate, Problem

_STALE = 20  # looks, ten at an iterate and ten at its finish: after as many, ADMM has made eighteen times the steps
_LATE = 200  # from this step on a pattern that still changes is tried, too

Triple = tuple[np.ndarray, np.ndarray, np.ndarray]  # x, z and the multiplier lambda


class L1Problem(ABC):
    """An l1 problem in ADMM form: minimise f(x) + g(z) subject to A x + B z = c."""

    A: Any = 1.0
    B: Any = -1.0
    c: Any = 0.0
    rho: float = 1.0  # the default penalty, from the data
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

    def plain(self, step: Iterate) -> Triple:
        """Return the answer that the iterate itself gives: x, the z that fits it, and the multiplier."""
        return step.x, np.dot(self.A, step.x) - self.c, step.rho * step.u

    def guesses(self, step: Iterate) -> Iterator[Triple]:
        """Yield points that show which entries of z are zero: the iterate does."""
        yield step.x, step.z, step.rho * step.u

    @abstractmethod
    def finished(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, k: int) -> Triple:
        """Return the solution of the linear system that is left when the zeros and signs of z are known.

        Zeros and signs that turn out wrong may be corrected, the more often the more steps k ADMM has made.
        """

    @abstractmethod
    def certify(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, tol: float) -> Certificate:
        """Measure how far x, z and the multiplier are from proving each other optimal."""

    def useful(self, z: np.ndarray, lambda_: np.ndarray) -> float:
        """Return the tau above which nothing changes, where z and the multiplier show it, or else infinity."""
        return np.inf

    def original(self, x: np.ndarray) -> np.ndarray:
        """Return x in the coordinates in which the problem was given."""
        return x


def solve(
    problem: L1Problem,
    given: Problem | None,
    *,
    rho: float | None = None,
    relaxation: float = 1.6,
    tol: float = 1e-8,
    max_iter: int = 20_000,
    warm_start: ADMMResult | None = None,
    callback: Callable[[Iterate], Any] | None = None,
    **loop: Any,
) -> ADMMResult:
    """Run ADMM on the problem until an exact finish, or the iterate itself, is certified.

    The options are described at :func:`companion.admm.lasso`.
    """
    rho = problem.rho if rho is None else as_scalar(rho, "rho", above=0)
    tol, max_iter = as_scalar(tol, "tol", above=0), check_count(max_iter, "max_iter")
    next_check = problem.first_check
    if warm_start is not None:
        if not isinstance(warm_start, ADMMResult):
            raise TypeError(f"warm_start must be an ADMMResult, got {type(warm_start).__name__}")
        loop |= {"z0": warm_start.z, "u0": warm_start.rho * warm_start.u / rho}
        next_check = 1
    answers: list[tuple[Certificate, Triple]] = []
    pattern = np.zeros(0)  # of zeros and signs, when last looked at

    def solved(step: Iterate) -> bool:
        """Return whether an answer that the iterate suggests, or the iterate itself, is a solution."""
        nonlocal pattern
        before, pattern = pattern, np.sign(step.z)
        settled = step.k == 1 or step.k >= _LATE or np.array_equal(before, pattern)
        finished = (problem.finished(*guess, step.k) for guess in problem.guesses(step) if settled)
        for answer in chain(finished, [problem.plain(step)]):
            answers.append((problem.certify(*answer, tol), answer))
            if answers[-1][0].ok:
                return True
        return False

    def stop(step: Iterate) -> bool:
        """Look at a step of ADMM now and then."""
        nonlocal next_check
        if callback is not None and callback(step._replace(x=problem.original(step.x))):
            return True
        if step.k < min(next_check, max_iter):
            return False
        next_check = step.k + 1 + step.k // 3
        return solved(step) or step.k == max_iter or useful() < np.inf

    def useful() -> float:
        """Return the largest useful tau, if the weight is above it and many looks have not helped."""
        best = min(answers, key=lambda answer: answer[0].worst)[1]
        return problem.useful(*best[1:]) if len(answers) > _STALE else np.inf

    result = admm(
        problem.x_update, problem.z_update, problem.A, problem.B, problem.c,
        rho=rho, relaxation=relaxation, max_iter=max_iter, objective=problem.objective,
        tol_abs=0.0, tol_rel=EPS, callback=stop, **loop,
    )  # fmt: skip
    if result.status == "converged" or not answers:  # ADMM stands still, or the caller stopped it
        solved(Iterate(result.n_iter, result.x, result.z, result.u, result.rho, 0.0, 0.0))
    best = min(range(len(answers)), key=lambda i: answers[i][0].worst)
    certificate, (x, z, lambda_) = answers[best]
    status = "converged" if certificate.ok else result.status
    enough = useful()
    if not certificate.ok and (
        status == "converged" or result.n_iter == max_iter or enough < np.inf
    ):
        status = "max_iter"
        advice = f"raise max_iter or change rho (now {result.rho:.3g})"
        if best < len(answers) - _STALE:
            advice = "more steps have not helped: the value is small beside its terms, and the rest is their rounding"
        if enough < np.inf:
            advice = f"the weight enlarges the rounding of zeros; every tau above {1.01 * enough:.3g} has this solution"
        warnings.warn(
            f"no certified solution after {result.n_iter} steps of ADMM: {certificate}, wanted {tol:g}; {advice}",
            ConvergenceWarning,
            stacklevel=3,
        )
    history = dict(result.history)
    if "x" in history:
        history["x"] = np.array([problem.original(row) for row in history["x"]])
    return replace(
        result, x=problem.original(x), z=z, u=lambda_ / result.rho, objective=problem.objective(x, z),
        certificate=certificate, problem=given, status=status, converged=certificate.ok, history=history,
    )  # fmt: skip
