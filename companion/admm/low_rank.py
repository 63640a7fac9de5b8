"""A positive semidefinite matrix given by its factor, and never formed."""

from __future__ import annotations

import numpy as np

from companion.checks import as_matrix, as_vector, count_axes

__all__ = ["LowRank"]


class LowRank:
    r"""The positive semidefinite matrix :math:`P = G G^\top + \operatorname{diag}(d)`.

    A linear kernel on `n` points of dimension `r` gives such a matrix: with the labelled points
    :math:`s_i x_i` as the rows of `G`, :math:`P_{ij} = s_i s_j \langle x_i, x_j \rangle`. Everything
    that a solver needs costs `n r` or `n r^2`, and memory stays proportional to `G`.

    Parameters
    ----------
    G : array-like of shape (n, r)
        The factor.
    diagonal : float or array-like of shape (n,), optional
        The nonnegative numbers `d`; a scalar stands for a multiple of the identity.

    Raises
    ------
    ValueError
        If `diagonal` has a negative entry, or a shape or an entry is not acceptable.

    Examples
    --------
    >>> import numpy as np
    >>> P = LowRank([[1.0], [2.0]], diagonal=0.5)
    >>> P.toarray()
    array([[1.5, 2. ],
           [2. , 4.5]])
    >>> P @ np.array([1.0, 1.0])
    array([3.5, 6.5])
    """

    __array_ufunc__ = None  # let x @ P raise instead of building an array of objects

    def __init__(self, G: np.ndarray, diagonal: float | np.ndarray | None = None) -> None:
        self.G = as_matrix(G, "G")
        n = self.G.shape[0]
        one = diagonal is None or count_axes(diagonal, "diagonal") == 0
        d = as_vector(0.0 if diagonal is None else diagonal, "diagonal", 1 if one else n)
        self.d = np.full(n, d[0]) if one else d
        if (self.d < 0.0).any():
            i = int(np.argmin(self.d))
            raise ValueError(f"diagonal must be nonnegative, got {self.d[i]:g} at [{i}]")

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (n, n) of the matrix."""
        return self.d.size, self.d.size

    def __repr__(self) -> str:
        n, r = self.G.shape
        return f"LowRank({n} x {n}, rank {r}{' plus a diagonal' if self.d.any() else ''})"

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        d = self.d if np.ndim(x) == 1 else self.d[:, None]
        return self.G @ (self.G.T @ x) + d * x

    def diagonal(self) -> np.ndarray:
        """Return the diagonal of the matrix."""
        return np.einsum("ij,ij->i", self.G, self.G) + self.d

    def toarray(self) -> np.ndarray:
        """Return the matrix itself, of shape (n, n)."""
        dense = self.G @ self.G.T
        dense[np.diag_indices_from(dense)] += self.d
        return dense
