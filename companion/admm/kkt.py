r"""The linear algebra of quadratic programs: one factorisation of a KKT matrix, then cheap solves.

Every solver of this package that meets a quadratic program solves systems with the matrix

.. math:: \begin{pmatrix} P + \operatorname{diag}(s) & A^\top \\ A & 0 \end{pmatrix}

for some shift ``s > 0``: the penalty :math:`\rho` of ADMM, the barrier's curvature of an interior-point method,
or a tiny ridge on the free variables of an active-set step. The leading block is factored once (Cholesky, or
the Woodbury identity when ``P`` is low rank) and the rows of ``A`` are eliminated by their Schur complement.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.blas import dsymv, dsyrk
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dtrtri, spotrf, spotrs

from companion.admm.low_rank import LowRank
from companion.admm.row_matrix import RowMatrix

__all__ = ["BoxQP", "FactoredKKT", "factor_kkt", "symmetric_product"]


_INDEPENDENT = 1e-3  # a unit row with such a part orthogonal to the others is independent of them
_MODERATE = (1e-15, 1e15)  # numbers whose multiples by reasonable ones fit into single precision
_FEW = 8  # a change of fewer than n / 8 variables is multiplied by their rows of P only
_STRIP = 128  # rows that are gathered at once


def symmetric_product(P: np.ndarray | LowRank | RowMatrix, x: np.ndarray) -> np.ndarray:
    """Return ``P x``, reading one triangle of a large array."""
    if isinstance(P, np.ndarray) and x.size >= 100:
        return dsymv(1.0, P.T, x, lower=1)
    return P @ x


@dataclass(frozen=True, eq=False)
class BoxQP:
    """The program ``min 1/2 x'Px + q'x  s.t. A x = b, lower <= x <= upper``, with checked arrays."""

    P: np.ndarray | LowRank | RowMatrix
    q: np.ndarray
    A: np.ndarray
    b: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def product(self, x: np.ndarray) -> np.ndarray:
        """Return ``P x``, reading one triangle of a dense P."""
        return symmetric_product(self.P, x)

    def product_of_change(self, dx: np.ndarray) -> np.ndarray:
        """Return ``P dx`` for a dx with many zeros."""
        moved = dx.nonzero()[0]
        return self.product_of_part(dx[moved], moved) if moved.size else dx

    def product_of_part(self, values: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Return ``P dx`` for a dx with the given values at an index, and zeros elsewhere."""
        if isinstance(self.P, np.ndarray) and index.size < self.q.size / _FEW:
            return values @ self.P.take(index, 0)
        dx = np.zeros(self.q.size)
        dx[index] = values
        return self.product(dx)

    def gradient(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the gradient of the Lagrangian, ``P x + q + A'y``."""
        return self.product(x) + self.q + y @ self.A

    def part(self, index: np.ndarray) -> np.ndarray | LowRank | RowMatrix:
        """Return the rows and columns `index` of P, as a matrix of the same kind."""
        if isinstance(self.P, np.ndarray):
            return self.P[np.ix_(index, index)]
        return self.P.restricted(index)

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return a block of P as an array."""
        if isinstance(self.P, np.ndarray):
            return self.P[np.ix_(rows, columns)]
        return self.P.part(rows, columns)

    def origin(self) -> np.ndarray:
        """Return the point of the box nearest to 0."""
        return np.minimum(np.maximum(0.0, self.lower), self.upper)

    @cached_property
    def roots(self) -> np.ndarray:
        """The square roots of the diagonal of P: ``|P_ij|`` is at most ``roots[i] roots[j]``."""
        return np.sqrt(np.maximum(self.P.diagonal(), 0.0))

    @cached_property
    def absolute_rows(self) -> np.ndarray:
        """The absolute values of A."""
        return np.abs(self.A)

    @cached_property
    def mean_curvature(self) -> float:
        """trace(P)/n, the scale of P and the natural penalty parameter."""
        return float(self.P.diagonal().sum()) / self.q.size if self.q.size else 0.0

    def learn_from(self, other: BoxQP) -> bool:
        """Take over what is known about P and A, if the other program has the same and q; return whether it has."""
        if other.P is not self.P:
            return False
        for mine, its in ((self.q, other.q), (self.A, other.A)):
            if mine is not its and not np.array_equal(mine, its):
                return False
        for fact in ("roots", "mean_curvature", "absolute_rows"):
            if fact in vars(other):
                vars(self)[fact] = vars(other)[fact]
        return True


class _DenseBlock:
    """Cholesky factor of ``P + diag(shift)``."""

    def __init__(
        self,
        P: np.ndarray,
        shift: np.ndarray | float,
        A: np.ndarray,
        weight: float,
        overwrite: bool,
    ) -> None:
        M = P.T if overwrite else P.T.copy(order="F")
        np.einsum("ii->i", M)[:] += shift
        if weight and A.size:
            M = dsyrk(weight, A, beta=1.0, c=M, trans=1, lower=1, overwrite_c=1)
        info = 0
        self.factor: np.ndarray = M
        if M.size:
            self.factor, info = dpotrf(M, lower=1, clean=0, overwrite_a=1)
        if info != 0:
            raise np.linalg.LinAlgError("P + diag(shift) is not positive definite")

    def solve(self, r: np.ndarray) -> np.ndarray:
        return dpotrs(self.factor, r, lower=1)[0] if r.size else r


class _SingleBlock:
    """Cholesky factor of ``P + shift I`` in single precision: half the work, and seven digits."""

    def __init__(self, P: np.ndarray, shift: float) -> None:
        M = P.T.astype(np.float32, order="F")
        np.einsum("ii->i", M)[:] += np.float32(shift)
        self.factor, info = spotrf(M, lower=1, clean=0, overwrite_a=1)
        if info != 0 or not np.isfinite(self.factor.diagonal()).all():
            raise np.linalg.LinAlgError("P + shift I is not positive definite in single precision")

    def solve(self, r: np.ndarray) -> np.ndarray:
        return spotrs(self.factor, r.astype(np.float32), lower=1)[0].astype(float)


class _LowRankBlock:
    """Woodbury identity for ``G G' + D``: one Cholesky factorisation of ``I + G'D^-1 G``."""

    def __init__(self, P: LowRank, shift: np.ndarray | float, A: np.ndarray, weight: float) -> None:
        self.root = np.sqrt(P.d + shift)
        G = np.hstack([P.G, np.sqrt(weight) * A.T]) if weight else P.G
        self.W = G / self.root[:, None]
        C = self.W.T @ self.W
        np.einsum("ii->i", C)[:] += 1.0
        self.factor, info = dpotrf(C, lower=1, clean=0)
        if info != 0 or not np.isfinite(C).all():
            raise np.linalg.LinAlgError("I + G' D^-1 G is not positive definite")

    def solve(self, r: np.ndarray) -> np.ndarray:
        root = self.root if r.ndim == 1 else self.root[:, None]
        t = r / root
        if self.W.shape[1]:
            t -= self.W @ dpotrs(self.factor, self.W.T @ t, lower=1)[0]
        return t / root


class FactoredKKT:
    """Solver for ``[[M, A'], [A, 0]]`` with a factored positive definite M.

    Rows of A that depend on others (a row with only zeros, say) are left out: then ``null`` has
    the combinations ``t`` with ``A't = 0`` as its columns, and ``solve`` returns the multipliers
    without a component along them. With ``independent=True`` the rows are known to be independent.
    """

    def __init__(
        self,
        block: _DenseBlock | _SingleBlock | _LowRankBlock,
        A: np.ndarray,
        weight: float = 0.0,
        independent: bool = False,
    ) -> None:
        self.block, self.A, self.weight = block, A, weight
        self.null: np.ndarray | None = None
        self.rows: np.ndarray | None = None  # of P, where they were needed anyway
        k = A.shape[0]
        if not k:
            return
        self.V = block.solve(A.T)
        S = A @ self.V
        factor, info = dpotrf(S, lower=1)
        # A row that depends on others has a pivot that is small beside its own diagonal entry.
        pivots = factor.diagonal() ** 2
        if info == 0 and (independent or (pivots > _INDEPENDENT**2 * S.diagonal()).all()):
            self.root = dtrtri(factor, lower=1)[0].T
        else:
            self._leave_out_dependent_rows(S)
        self.inverse = self.root @ self.root.T  # of the Schur complement

    def _leave_out_dependent_rows(self, S: np.ndarray) -> None:
        """Find ``root`` with ``root root'`` the pseudo-inverse of the Schur complement."""
        scale = np.sqrt(np.maximum(S.diagonal(), 0.0))
        scale = np.divide(1.0, scale, out=np.zeros(scale.size), where=scale > 0.0)
        S = (S + S.T) / 2.0 * scale * scale[:, None]
        values, vectors = np.linalg.eigh(S) if scale.size > 1 else (S[0], np.ones((1, 1)))
        kept = values > 1e-13 * max(float(values[-1]), 0.0)
        vectors = vectors * scale[:, None]
        self.root = vectors[:, kept] / np.sqrt(values[kept])
        if not kept.all():
            zero_rows = np.flatnonzero(scale == 0.0)
            dependent = vectors[:, ~kept]
            dependent = dependent[:, np.abs(dependent).max(axis=0) > 0.0]
            norms = np.linalg.norm(dependent, axis=0)
            self.null = np.hstack([np.eye(scale.size)[:, zero_rows], dependent / norms])

    def solve(self, r: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``(dx, dy)`` with ``M dx + A'dy = r`` and ``A dx = s``."""
        if not s.size:
            return self.block.solve(r), s
        t = self.block.solve(r + self.weight * (s @ self.A) if self.weight else r)
        dy = self.inverse @ (self.A @ t - s)
        return t - self.V @ dy, dy

    def product(self, problem: BoxQP, step: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Return the change of ``P x`` when the free variables change by `step`."""
        if self.rows is not None:
            return step @ self.rows
        return problem.product_of_part(step, free)

    @classmethod
    def in_single_precision(cls, problem: BoxQP, shift: float) -> FactoredKKT | None:
        """Return the system with seven digits of P + shift I, or None where P is no array or these do not do."""
        if not isinstance(problem.P, np.ndarray) or not _MODERATE[0] < shift < _MODERATE[1]:
            return None
        try:
            return cls(_SingleBlock(problem.P, shift), problem.A, independent=True)
        except np.linalg.LinAlgError:
            return None

    def matrix_of_solutions(self) -> np.ndarray | None:
        """Return the lower triangle of the matrix S with ``dx = S r`` for s = 0, if M is dense."""
        if not isinstance(self.block, _DenseBlock):
            return None
        S = dpotri(self.block.factor, lower=1)[0]
        if self.A.size:
            S = dsyrk(-1.0, self.V @ self.root, beta=1.0, c=S, lower=1, overwrite_c=1)
        return S


def factor_kkt(
    problem: BoxQP,
    shift: np.ndarray | float,
    free: np.ndarray | None = None,
    weight: float = 0.0,
    independent: bool = False,
) -> FactoredKKT:
    """Factor the KKT matrix of `problem`, with `shift` added to the diagonal of P.

    Parameters
    ----------
    problem : BoxQP
    shift : float or ndarray
        Positive numbers.
    free : ndarray of int, optional
        Indices of the variables that take part; all of them if not given.
    weight : float
        Factor P + weight A'A instead, relative to the size of A. The solution is the same, since
        A x is given, but the Schur complement stays well conditioned where P is singular.
    independent : bool
        Whether the rows of A are known to be independent.

    Raises
    ------
    numpy.linalg.LinAlgError
        If ``P + diag(shift)`` is not positive definite.
    """
    P, A = problem.P, problem.A
    part, rows = False, None
    if free is not None and free.size < problem.q.size:
        part = True
        A = A.take(free, axis=1)
        if isinstance(P, np.ndarray) and 2 * free.size <= P.shape[0]:
            rows = P.take(free, 0)
            P = rows.take(free, 1)
        elif isinstance(P, np.ndarray):
            P = _square_part(P, free)
        else:
            P = P.restricted(free)
    if isinstance(P, RowMatrix):
        P, part = P.toarray(), True
    size = float(np.vdot(A, A)) if weight else 0.0
    weight = weight / size if size > 0.0 else 0.0
    block: _DenseBlock | _LowRankBlock
    if isinstance(P, LowRank):
        small = P.d.size <= 2 * P.G.shape[1]
        if small:
            block = _DenseBlock(P.toarray(), shift, A, weight, overwrite=True)
        else:
            block = _LowRankBlock(P, shift, A, weight)
    else:
        block = _DenseBlock(P, shift, A, weight, overwrite=part)
    kkt = FactoredKKT(block, A, weight, independent)
    if rows is not None:
        kkt.rows = rows
    return kkt


def _square_part(P: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return the rows and columns of an index, strip by strip: beside the result little memory is held."""
    part = np.empty((index.size, index.size), P.dtype)
    for start in range(0, index.size, _STRIP):
        strip = index[start : start + _STRIP]
        part[start : start + _STRIP] = P.take(strip, 0).take(index, 1)
    return part
