"""Guess, finish, prove: what the lassos of Section 16.8 share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from companion.admm.loop import complain
from companion.admm.splitting import Iterate, admm
from companion.arithmetic import EPS
from companion.checks import as_scalar, check_count
from companion.results import ADMMResult, Certificate, Problem

__all__ = ["L1Problem", "Triple", "solve"]

Triple = tuple[np.ndarray, np.ndarray, np.ndarray]  # x, z and the multiplier lambda
_STALE = 10  # looks, each at a third more steps: after as many, ADMM has made thirteen times the steps of the first


class L1Problem(ABC):
    """Minimise f(x) + g(z) subject to A x - z = c, with the updates of ADMM, an exact finish and a certificate."""

    A: Any = 1.0
    c: Any = 0.0
    rho: float = 1.0  # the default penalty, from the data

    @abstractmethod
    def x_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return argmin f(x) + rho/2 |A x - v|^2."""

    @abstractmethod
    def z_update(self, v: np.ndarray, rho: float) -> np.ndarray:
        """Return argmin g(z) + rho/2 |z + v|^2."""

    @abstractmethod
    def objective(self, x: np.ndarray, z: np.ndarray) -> float:
        """Return f(x) + g(z)."""

    @abstractmethod
    def finished(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, k: int) -> Triple:
        """Solve for x, z and lambda exactly, if their zeros and signs are right; k is the step that they are from."""

    @abstractmethod
    def certify(self, x: np.ndarray, z: np.ndarray, lambda_: np.ndarray, tol: float) -> Certificate:
        """Return the certificate of x, z and lambda."""

    def original(self, x: np.ndarray) -> np.ndarray:
        """Return x in the units in which the problem was given."""
        return x

    def useful(self, z: np.ndarray, lambda_: np.ndarray) -> float:
        """Return the weight above which nothing changes, where z and the multiplier show it, or infinity."""
        return np.inf


def solve(
    problem: L1Problem,
    given: Problem | None,
    *,
    rho: float | None = None,
    relaxation: float = 1.6,
    tol: float = 1e-8,
    max_iter: int = 20_000,
    **loop: Any,
) -> ADMMResult:
    """Run ADMM until the exact finish of an iterate is certified; return the best answer found.

    The options are described at :func:`companion.admm.lasso`.
    """
    rho = problem.rho if rho is None else as_scalar(rho, "rho", above=0)
    tol, max_iter = as_scalar(tol, "tol", above=0), check_count(max_iter, "max_iter")
    answers: list[tuple[Certificate, Triple]] = []
    next_look = min(10, max_iter)  # the patterns of the first steps are far from right

    def solved(step: Iterate) -> bool:
        nonlocal next_look
        if step.k < next_look:
            return False
        next_look = min(step.k + 1 + step.k // 3, max_iter)
        answer = problem.finished(step.x, step.z, step.rho * step.u, step.k)
        answers.append((problem.certify(*answer, tol), answer))
        stale = len(answers) > _STALE and problem.useful(*answer[1:]) < np.inf
        return answers[-1][0].ok or step.k == max_iter or stale

    result = admm(
        problem.x_update, problem.z_update, problem.A, -1.0, problem.c, rho=rho, relaxation=relaxation,
        max_iter=max_iter, objective=problem.objective, tol_abs=0.0, tol_rel=EPS, callback=solved, **loop,
    )  # fmt: skip
    if result.converged:  # ADMM stands still
        next_look = 0
        solved(Iterate(result.n_iter, result.x, result.z, result.u, result.rho, 0.0, 0.0))
    certificate, (x, z, lambda_) = min(answers, key=lambda answer: answer[0].worst)
    if not certificate.ok:
        advice = f"raise max_iter, change rho (now {result.rho:.3g}), or measure in other units"
        if (enough := problem.useful(z, lambda_)) < np.inf:
            advice = f"the weight enlarges the rounding of zeros; every tau above {1.01 * enough:.3g} has this solution"
        complain(
            f"no certified solution after {result.n_iter} steps of ADMM: {certificate}, wanted {tol:g}; {advice}"
        )
    return replace(
        result, x=problem.original(x), z=z, u=lambda_ / result.rho, objective=problem.objective(x, z), problem=given,
        certificate=certificate, status="converged" if certificate.ok else "max_iter", converged=certificate.ok,
    )  # fmt: skip
