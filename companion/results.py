"""What the solvers return: frozen records with a readable summary.

A record carries a `Certificate` where the problem has a dual.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from companion.engine.certificate import Certificate
from companion.records import Record

__all__ = [
    "ADMMResult", "Certificate", "FixedPointResult", "MultiplierResult", "Outcome", "Problem", "QPResult", "Record",
]  # fmt: skip

History = dict[str, np.ndarray]

# What a certificate has to meet where no tolerance is asked for: nine of the sixteen digits of float64. The others are
# for sums of thousands of terms (three or four digits) and for data whose own rounding is enlarged (three).
TOLERANCE = 1e-9
# From this relative error on there is a warning: fewer digits than float32 has are left.
FEW_DIGITS = 1e-7


class Problem(Record):
    """The problem that a result is the answer to, as it was given: references, no copies.

    Parameters
    ----------
    name : str
        For example ``"quadratic program"`` or ``"basis pursuit"``.
    data : dict
        The arguments that make up the problem, by their names.

    Examples
    --------
    >>> from companion.admm import solve_qp
    >>> solve_qp([[2.0]], [-4.0], upper=1.0).problem
    Problem
      name  quadratic program
      data  P, q, A, b, G, h, lower, upper
    """

    name: str
    data: dict[str, Any]


class Outcome(Record):
    """What the outcomes of all methods have: how it ended, after how many steps, and of which problem.

    Parameters
    ----------
    status : str
        Why it ended.
    n_iter : int
        Number of steps.
    history : dict of ndarray
        What was recorded at each step.
    problem : Problem or None
        What was solved, so that the answer can be examined.
    """

    status: str = field(kw_only=True)
    n_iter: int = field(kw_only=True)
    history: History = field(default_factory=dict, kw_only=True)
    problem: Problem | None = field(default=None, repr=False, kw_only=True)

    @property
    def converged(self) -> bool:
        """Whether it ended by the rule that was asked for: what `status` says."""
        return self.status in ("converged", "solved", "small change")


class MultiplierResult(Outcome):
    r"""Outcome of dual ascent or of the method of multipliers on ``min J(u)  s.t. A u = b``.

    Parameters
    ----------
    u : ndarray of shape (n,)
        The last primal point.
    lambda_ : ndarray of shape (m,)
        The last multiplier of ``A u = b`` (Lagrangian :math:`J(u) + \lambda^\top (A u - b)`).
    n_iter : int
        Number of updates of `lambda_`.
    status : str
        ``"converged"`` where ``||A u - b||`` met the tolerance, ``"max_iter"`` or ``"diverged"``.
    history : dict of ndarray
        One entry per iterate: ``u``, ``lambda_``, ``primal_residual``, and ``objective`` /
        ``dual_objective`` when J is given.
    """

    u: np.ndarray
    lambda_: np.ndarray


class ADMMResult(Outcome):
    r"""Outcome of ADMM on ``min f(x) + g(z)  s.t. A x + B z = c``.

    Parameters
    ----------
    x, z : ndarray
        The last iterates. Which of the two carries the structure (sparsity, sign) is the one with
        the simple g: `z`.
    u : ndarray
        Scaled multiplier: the multiplier of the constraint is :math:`\lambda = \rho u`.
    rho : float
        Penalty parameter at the end.
    objective : float
        f(x) + g(z), NaN when no objective was given.
    n_iter : int
        Number of iterations done.
    status : str
        ``"converged"`` where both residuals met their tolerances, ``"max_iter"``, ``"diverged"`` or
        ``"stopped by callback"``; of a function that asks for a certificate also ``"not certified"`` or
        ``"inaccurate"``.
    history : dict of ndarray
        ``primal_residual``, ``dual_residual``, ``objective``, ``rho``: one entry per iteration.
    certificate : Certificate or None
        Residuals and duality gap, for the problems whose dual is known (the l1 problems,
        ``lasso_admm``, ``consensus``); None where f and g are functions of the reader's.
    problem : Problem or None
        What was solved, so that the answer can be examined; with the certificate.
    """

    x: np.ndarray
    z: np.ndarray
    u: np.ndarray
    rho: float
    objective: float
    certificate: Certificate | None = None


class QPResult(Outcome):
    r"""Outcome of ``min 1/2 x'Px + q'x  s.t. A x = b, G x <= h, lower <= x <= upper``.

    At a solution :math:`P x + q + A^\top y + G^\top z - z_\mathrm{lower} + z_\mathrm{upper} = 0` with all z's
    nonnegative, and a positive entry of a z only where there is no slack.

    Parameters
    ----------
    x : ndarray of shape (n,)
        The solution; feasible for the bounds exactly. Where a bound's multiplier is positive, the entry is ``==``
        to it; where it is 0 (a degenerate program), the entry may end beside its bound by rounding.
    y : ndarray of shape (p,)
        Multipliers of ``A x = b``.
    z_lower, z_upper : ndarray of shape (n,)
        Multipliers of the bounds.
    z : ndarray of shape (k,) or None
        Multipliers of ``G x <= h``, where it was given.
    objective : float
        ``1/2 x'Px + q'x``.
    n_iter : int
        Number of iterations of the first-order or interior-point phase.
    status : str
        ``"solved"`` where the certificate met its tolerance, ``"max_iter"`` or ``"inaccurate"``; of ``qsolve1``, whose
        own rule says when it is ``"solved"``, also ``"rounding"``.
    certificate : Certificate
        Relative residuals and duality gap, recomputed from the problem's data.
    history : dict of ndarray
        Residuals per iteration (empty for direct solves).
    problem : Problem or None
        What was solved, so that the answer can be examined. The arrays are those that were given, not
        copies: to change them is to change the problem.
    Px : ndarray of shape (n,) or None
        The product of P and x, where it is known.
    """

    x: np.ndarray
    y: np.ndarray
    z_lower: np.ndarray
    z_upper: np.ndarray
    objective: float
    certificate: Certificate
    z: np.ndarray | None = None
    Px: np.ndarray | None = field(default=None, repr=False)


class FixedPointResult(Outcome):
    r"""Outcome of a fixed-point iteration: Krasnosel'skii-Mann, proximal point, proximal gradient.

    Parameters
    ----------
    x : ndarray
        The last iterate, of the shape of the starting point.
    objective : float
        Value of the objective at `x`, NaN when no objective was given.
    n_iter : int
        Number of iterations done.
    status : str
        ``"converged"`` where the residual met the tolerance, ``"max_iter"`` or ``"diverged"``.
    history : dict of ndarray
        One entry per iteration: ``residual``, ``step``, and ``objective`` when an objective is
        given.
    """

    x: np.ndarray
    objective: float
