"""The dual program of a machine as matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from companion.results import Record

__all__ = ["DualProgram"]


@dataclass(frozen=True, eq=False, repr=False)
class DualProgram(Record):
    r"""The program ``min 1/2 a'Pa + q'a  s.t. A a = c, 0 <= a <= upper`` for the multipliers a = (lambda, mu).

    Parameters
    ----------
    P : ndarray of shape (n, n)
        The matrix of signed inner products, and what the program adds to it. (Inside the package: its rows on demand.)
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

    P: Any
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
        if not np.isfinite(self.upper):
            return self.P, self.q, self.A, self.c
        n, m = self.q.size, self.c.size
        P = np.zeros((2 * n, 2 * n))
        P[:n, :n] = self.P
        A = np.block([[self.A, np.zeros((m, n))], [np.eye(n), np.eye(n)]])
        c = np.concatenate([self.c, np.full(n, self.upper)])
        return P, np.concatenate([self.q, np.zeros(n)]), A, c
