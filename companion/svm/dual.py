"""The dual program of a machine or of a tube as matrices."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from companion.engine.arithmetic import Bounds
from companion.engine.certificate import BoxProgram, bound_multipliers, certify
from companion.results import Certificate, Record

__all__ = ["Array", "DualProgram", "Terms"]

Array = np.ndarray
Terms = tuple[float, ...]  # of an objective


@dataclass(frozen=True, eq=False, repr=False)
class DualProgram(Record):
    r"""The program ``min 1/2 a'Pa + q'a  s.t. A a = c, 0 <= a <= upper`` for the multipliers a = (lambda, mu).

    Parameters
    ----------
    P : ndarray of shape (n, n)
        The matrix of signed inner products, and what the program adds to it. (Inside the package: its rows on demand.)
    q : ndarray of shape (n,)
        Of a machine: zero, or -1 in the programs without nu. Of a tube: (y, -y), plus epsilon where it is fixed.
    A : ndarray of shape (m, n)
        The rows :math:`s^\top`, where b is free, and :math:`\mathbf 1^\top`, where :math:`\eta` or :math:`\epsilon` is.
    c : ndarray of shape (m,)
        Right-hand sides.
    upper : float or ndarray of shape (n,)
        Bound of the multipliers: K or C/m, or infinity where slacks are squared or absent; with weights one of each.
    price : float or ndarray of shape (n,), optional
        The text's K, :math:`K_s` or C: what the primal objective has the slacks multiplied by.
    eta : float, optional
        The :math:`\eta` (or :math:`-\epsilon`) that the program is for, where it is no variable, and the sum of the
        multipliers no equation.
    largest_sum : float
        What their sum may not exceed, where no equation says it: in a tube whose :math:`\epsilon` is 0.

    Examples
    --------
    >>> from companion.datasets import xor
    >>> from companion.svm import SVMs2
    >>> program = SVMs2(K=1.0).dual_program(xor().X, xor().y)
    >>> P, q, A, c = program.standard_form()
    >>> A.astype(int)
    array([[ 1,  1, -1, -1,  0,  0,  0,  0],
           [ 1,  0,  0,  0,  1,  0,  0,  0],
           [ 0,  1,  0,  0,  0,  1,  0,  0],
           [ 0,  0,  1,  0,  0,  0,  1,  0],
           [ 0,  0,  0,  1,  0,  0,  0,  1]])
    """

    P: Any
    q: np.ndarray
    A: np.ndarray
    c: np.ndarray
    upper: Any
    price: Any = field(default=None, repr=False)
    eta: float | None = field(default=None, repr=False)
    largest_sum: float = field(default=math.inf, repr=False)

    @classmethod
    def of(
        cls, P: Any, q: Any, *equations: tuple[Any, float], upper: Bounds, price: Bounds | None = None,
        eta: float | None = None,
    ) -> DualProgram:  # fmt: skip
        """Return the program with these equations, each a row and its right-hand side; a number stands for a vector.

        Right-hand sides and bounds are those of the data; P may have another unit.
        """
        n, square = P.shape[0], getattr(P, "unit", 1.0) ** 2
        A = np.array([np.broadcast_to(row, n) for row, _ in equations], dtype=float)
        c, q = (
            np.array([side * square for _, side in equations], dtype=float),
            np.broadcast_to(q, n),
        )
        return cls(P, q.astype(float), A.reshape(-1, n), c, upper * square, price, eta)

    @property
    def total(self) -> float:
        """The sum of the multipliers of the data, infinite where no equation says what it is."""
        unit = getattr(self.P, "unit", 1.0)
        return float(self.c[-1]) / unit**2 if self.eta is None else math.inf

    def certify(self, a: np.ndarray, y: np.ndarray, Pa: np.ndarray, tol: float) -> Certificate:
        """Return the certificate of multipliers a, with the multipliers y of the equations and the product P a.

        Parameters
        ----------
        a, Pa : ndarray of shape (n,)
        y : ndarray of shape (m,)
        tol : float
            Tolerance of the certificate.
        """
        box = self.in_box()
        z = bound_multipliers(Pa + self.q + y @ self.A, a, box.lower, box.upper)
        return certify(box, a, y, *z, float(tol), Pa)

    def in_box(self, P: Any = None) -> BoxProgram:
        """Return the program as the engine has it, if need be with P in another form."""
        zero = np.zeros(self.q.size)
        P = self.P if P is None else P
        return BoxProgram(P, self.q, self.A, self.c, zero, zero + self.upper)

    def standard_form(
        self, gamma: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        r"""Return P, q, A, c of the text's form ``A x = c, x >= 0``, for :func:`companion.admm.qsolve1`.

        A finite upper bound becomes n slack variables :math:`(\alpha, \beta)` and n equations
        :math:`\lambda + \alpha = K \mathbf 1`, :math:`\mu + \beta = K \mathbf 1`.

        Parameters
        ----------
        gamma : bool
            False: the sum of the multipliers is an equation (the text's :math:`A_2`, and :math:`A_3` with b
            penalized). For :math:`\nu \le 1` that changes no optimal value (with a tube's squared slacks it may); for
            a larger :math:`\nu` a tube may get :math:`\epsilon < 0`. True: one more variable :math:`\gamma \ge 0` is
            added to that sum (the text's A).

        Raises
        ------
        ValueError
            If `gamma` is asked for where the program has no such equation.
        """
        if gamma and not (self.A[-1:] == 1.0).all(axis=1).any():
            raise ValueError(
                "gamma is the multiplier of eta >= 0 or epsilon >= 0; here these are fixed"
            )
        m, n = self.A.shape
        slacks = n if np.isfinite(self.upper).all() else 0
        N = n + slacks + int(gamma)
        P, q, A = np.zeros((N, N)), np.zeros(N), np.zeros((m + slacks, N))
        P[:n, :n], q[:n], A[:m, :n] = self.P, self.q, self.A
        A[m:, :n], A[m:, n : n + slacks] = np.eye(slacks, n), np.eye(slacks)
        if gamma:
            A[m - 1, -1] = 1.0
        return P, q, A, np.concatenate([self.c, np.full(slacks, self.upper)])
