"""The dual program of a machine as matrices, and the units in which it is solved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from companion.admm import LowRank
from companion.admm.row_matrix import RowMatrix
from companion.results import Record

__all__ = ["DualProgram", "Units"]


@dataclass(frozen=True, eq=False, repr=False)
class DualProgram(Record):
    r"""The program ``min 1/2 a'Pa + q'a  s.t. A a = c, 0 <= a <= upper`` for the multipliers a = (lambda, mu).

    Parameters
    ----------
    P : ndarray of shape (n, n) or LowRank
        The matrix of signed inner products, and what the program adds to it.
    q : ndarray of shape (n,)
        Zero, or -1 in the programs without nu.
    A : ndarray of shape (m, n)
        The rows :math:`s^\top` and :math:`\mathbf 1^\top`, or one of them.
    c : ndarray of shape (m,)
        Right-hand sides.
    upper : float
        K, or infinity where slacks are squared or absent.
    ridge : float
        The multiple 1/(2K) of the identity that P contains.
    penalize_b : bool
        Whether P contains :math:`ss^\top`.

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

    P: np.ndarray | LowRank | RowMatrix
    q: np.ndarray
    A: np.ndarray
    c: np.ndarray
    upper: float
    ridge: float = 0.0
    penalize_b: bool = False

    def standard_form(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        r"""Return P, q, A, c of the text's form ``x >= 0``, for :func:`companion.admm.qsolve1`.

        A finite upper bound becomes n slack variables :math:`(\alpha, \beta)` and n equations
        :math:`\lambda + \alpha = K \mathbf 1`, :math:`\mu + \beta = K \mathbf 1`. The sum of the multipliers stays an
        equation (the text's :math:`A_2`): its variant with the multiplier :math:`\gamma` has the same solution.
        """
        P = self.P if isinstance(self.P, np.ndarray) else self.P.toarray()
        if not np.isfinite(self.upper):
            return P, self.q, self.A, self.c
        n, m = self.q.size, self.c.size
        P_a = np.zeros((2 * n, 2 * n))
        P_a[:n, :n] = P
        A = np.block([[self.A, np.zeros((m, n))], [np.eye(n), np.eye(n)]])
        c = np.concatenate([self.c, np.full(n, self.upper)])
        return P_a, np.concatenate([self.q, np.zeros(n)]), A, c


class Units(NamedTuple):
    r"""Units in which a dual program is solved, as exponents of 2: of the features and of the multipliers.

    With :math:`\varphi = 2^e \varphi'` and :math:`a = 2^f a'`, the weights w have the unit :math:`2^{e + f}`, and b,
    eta and the slacks :math:`2^{2e + f}`. Both exponents are 0 except where squares would not fit into float64.
    """

    features: int = 0
    multipliers: int = 0

    @property
    def weights(self) -> int:
        """The unit of w."""
        return self.features + self.multipliers

    @property
    def levels(self) -> int:
        """The unit of b, eta and the slacks."""
        return 2 * self.features + self.multipliers

    def of(self, dual: DualProgram) -> DualProgram:
        """Return the program in these units; its matrix has that of the features already."""
        if self == (0, 0):
            return dual
        return replace(
            dual,
            q=np.ldexp(dual.q, -self.levels),
            c=np.ldexp(dual.c, -self.multipliers),
            upper=float(np.ldexp(dual.upper, -self.multipliers)),
            ridge=float(np.ldexp(dual.ridge, -2 * self.features)),
        )
