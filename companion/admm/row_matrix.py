"""A positive semidefinite matrix whose rows are computed when they are needed, and then kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["RowMatrix"]


class RowMatrix:
    r"""A positive semidefinite matrix :math:`P = D K D`, D diagonal, given by a function that computes parts of K.

    A product :math:`P x` needs the rows of K for :math:`x_i \neq 0` only. In the dual program of a support
    vector machine these are the rows of the support vectors: the matrix of a large problem is never whole.

    Parameters
    ----------
    part : callable
        ``part(i, j)`` returns the entries of K with row indices i and column indices j as a new array, and
        ``part(i, i)`` a symmetric one.
    diagonal : ndarray of shape (n,)
        The diagonal of K.
    factors : ndarray of shape (n,)
        The diagonal of D.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 3.0])
    >>> K = lambda i, j: np.exp(-(np.subtract.outer(x[i], x[j]) ** 2))
    >>> P = RowMatrix(K, np.ones(3), np.array([1.0, 1.0, -1.0]))
    >>> (P @ np.array([0.0, 1.0, 0.0])).round(4), P.n_rows
    (array([ 0.3679,  1.    , -0.0183]), 1)
    """

    __array_ufunc__ = None  # let x @ P raise instead of building an array of objects

    def __init__(
        self,
        part: Callable[[np.ndarray, np.ndarray], np.ndarray],
        diagonal: np.ndarray,
        factors: np.ndarray,
    ) -> None:
        self._part, self._of_K, self._factors = part, diagonal, factors
        self._known = np.zeros(diagonal.size, dtype=bool)
        self._rows: list[tuple[np.ndarray, np.ndarray]] = []  # indices, and these rows of K
        self._last: tuple[np.ndarray, np.ndarray] = (np.zeros(0), np.zeros(0))

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (n, n) of the matrix."""
        return self._of_K.size, self._of_K.size

    @property
    def n_rows(self) -> int:
        """Number of rows that are known."""
        return int(np.count_nonzero(self._known))

    def __repr__(self) -> str:
        n = self._of_K.size
        return f"RowMatrix({n} x {n}, {self.n_rows} rows known)"

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        x_last, product = self._last
        if np.array_equal(x, x_last):  # the certificate asks for what the solver computed
            return product.copy()
        missing = np.flatnonzero((x != 0.0) & ~self._known)
        if missing.size:
            self._rows.append((missing, self._part(missing, np.arange(x.size))))
            self._known[missing] = True
        Dx, product = self._factors * x, np.zeros(x.size)
        for index, rows in self._rows:
            product += Dx[index] @ rows
        product *= self._factors
        self._last = x.copy(), product
        return product.copy()

    def diagonal(self) -> np.ndarray:
        """Return the diagonal of the matrix."""
        return self._of_K * self._factors**2

    def toarray(self) -> np.ndarray:
        """Return the whole matrix, of shape (n, n)."""
        everything = np.arange(self._of_K.size)
        return self.part(everything, everything)

    def part(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return a block of the matrix."""
        if not (rows.size and columns.size):
            return np.zeros((rows.size, columns.size))
        entries = self._part(rows, columns)
        entries *= self._factors[rows, None]
        entries *= self._factors[columns]
        return entries

    def rows(self, index: np.ndarray) -> np.ndarray:
        """Return whole rows of the matrix, which are not kept."""
        return self.part(index, np.arange(self._of_K.size))

    def restricted(self, index: np.ndarray) -> RowMatrix:
        """Return the principal submatrix with the given rows and columns, not computed yet."""

        def part(i: np.ndarray, j: np.ndarray) -> np.ndarray:
            rows = index[i]
            return self._part(rows, rows if i is j else index[j])

        return RowMatrix(part, self._of_K[index], self._factors[index])

    def scaled(self, factors: np.ndarray) -> RowMatrix:
        """Return ``diag(factors) P diag(factors)``, not computed yet."""
        return RowMatrix(self._part, self._of_K, self._factors * factors)
