"""Independent columns of a matrix, and the affine set of the solutions of A x = b."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from companion.arithmetic import CANCELS, EPS
from companion.checks import as_matrix, as_vector, count_axes
from companion.exceptions import InfeasibleProblemError


class AffineSet:
    r"""The set of all x with A x = b, as Q'x = d with orthonormal columns Q.

    Parameters
    ----------
    A : ndarray of shape (m, n)
        Any rank. The unit of an equation does not matter.
    b : ndarray of shape (m,)

    Attributes
    ----------
    rows, b : ndarray of shape (m, n) and (m,)
        The equations, each in the unit in which its row has length 1.
    Q, d : ndarray of shape (n, r) and (r,)
        The independent equations; the rows `kept` are R'Q'.
    shortest : ndarray of shape (n,)
        The point of smallest norm.

    Raises
    ------
    InfeasibleProblemError
        If there is no such x. The witness y has ``A'y = 0`` and ``y'b > 0``.

    Notes
    -----
    A dependent row is a sum :math:`a_i = \sum_j t_j a_j` of independent ones, and asks for
    :math:`b_i = \sum_j t_j b_j`. In the unit in which its length is 1, a row is known up to :math:`\delta`, the part
    that the factorisation itself changes of it, and that decides on the rank; a right side is known up to
    :math:`\delta` times the norm of the x that it comes from. So rounding changes each term, :math:`t_j a_j^\top x` or
    :math:`t_j b_j`, by at most :math:`\delta |t_j| |x|`, and the same on the left, since
    :math:`|a_i| \le \sum_j |t_j|`. The sides of an equation that has a solution x for some data that near differ by
    no more than :math:`4 \delta |x| \sum_j |t_j|`. With a larger difference there is no such x, not even one a
    thousand times as long as the shortest one, in whose products three digits cancel.
    """

    def __init__(self, A: np.ndarray, b: np.ndarray) -> None:
        sizes = lengths(A.T)
        self.rows, self.b = A / sizes[:, None], b / sizes
        self.Q, self.R, self.kept = orthonormal(self.rows.T)
        self.d = back_substitute(self.R, self.b[self.kept], trans=1)
        self.shortest = self.Q @ self.d
        others = np.delete(np.arange(len(A)), self.kept)
        T = back_substitute(self.R, self.Q.T @ self.rows[others].T)
        miss = self.b[others] - T.T @ self.b[self.kept]
        length = CANCELS * float(np.linalg.norm(self.shortest))
        over = np.abs(miss) - 4.0 * max(A.shape) * EPS * length * np.abs(T).sum(axis=0)
        if over.max(initial=0.0) > 0.0:
            i, y = int(np.argmax(over)), np.zeros(len(A))
            y[self.kept], y[others[i]], row = -T[:, i], 1.0, others[i]
            raise InfeasibleProblemError(
                f"no x satisfies A x = b: A has rank {self.kept.size}, and b is not in its column space "
                f"(row {row} is a sum of others, but b[{row}] misses theirs by {sizes[row] * abs(miss[i]):.2g})",
                witness=np.sign(miss[i]) * y / sizes,
            )

    def project(self, v: np.ndarray) -> np.ndarray:
        """Return the nearest point of the set."""
        return v - self.Q @ (self.Q.T @ v - self.d)


def orthonormal(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Q, R and a largest set `kept` of independent columns of A, with A[:, kept] = Q R.

    In columns of length 1, small is rounding.
    """
    sizes = lengths(A)
    Q, R, order = linalg.qr(A / sizes, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > max(A.shape) * EPS * diagonal.max(initial=0.0)))
    kept = order[:rank]
    return np.ascontiguousarray(Q[:, :rank]), R[:rank, :rank] * sizes[kept], kept


def back_substitute(R: np.ndarray, w: np.ndarray, trans: int = 0) -> np.ndarray:
    """Return R^{-1} w or R'^{-1} w for a triangular R, which may be empty."""
    return lapack.dtrtrs(R, w, trans=trans)[0] if w.size else w


def lengths(A: np.ndarray) -> np.ndarray:
    """Return the norms of the columns of A, 1 for a column of zeros."""
    norms = np.sqrt(np.einsum("ij,ij->j", A, A))
    return np.where(norms > 0, norms, 1.0)


def as_data(A: Any, b: Any, name: str = "b") -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix with at least one row and one column, and a number for each row, or raise an error."""
    A = as_matrix(A, "A")
    if A.size == 0:
        raise ValueError(f"A must have at least one row and one column, got shape {A.shape}")
    return A, as_vector(b, name, A.shape[0])


def as_rows(A: Any, b: Any, left: str, right: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and the right sides of linear constraints, none where they are None, or raise an error."""
    if (A is None) != (b is None):
        only = right if A is None else left
        raise ValueError(f"{left} and {right} must be given together, got only {only}")
    if A is None:
        return np.zeros((0, n)), np.zeros(0)
    A = np.reshape(A, (1, -1)) if count_axes(A, left) == 1 else A
    A = np.ascontiguousarray(as_matrix(A, left, (None, n)))
    return A, as_vector(b, right, A.shape[0])
