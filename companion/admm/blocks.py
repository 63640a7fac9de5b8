"""The blocks of consensus ADMM: everything that touches the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from companion.checks import as_matrix, as_scalar, as_vector, check_range
from companion.engine.arithmetic import EPS, largest

__all__ = ["Block", "LeastSquaresBlock", "SquaredHingeBlock", "half_square"]

_NEWTON_STEPS = 100


class Block(ABC):
    r"""The rows :math:`(A_i, b_i)` and their loss :math:`f_i`; it lives where the rows live.

    A block may remember a factorisation or its last solution to go faster. Its answers must not depend on what it
    remembers: a block lost with its worker is built again from the rows.

    Parameters
    ----------
    A : ndarray of shape (m, n)
        Rows of the data, finite float64.
    b : ndarray of shape (m,)
        Targets or labels.
    """

    def __init__(self, A: np.ndarray, b: np.ndarray) -> None:
        self.A = as_matrix(A, "A")
        self.b = as_vector(b, "b", len(self.A))
        check_range(largest(self.b), "b")

    @abstractmethod
    def prox(self, v: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float]:
        r"""Return :math:`x = \arg\min_x f_i(x) + \frac{1}{2}\sum_j w_j (x_j - v_j)^2` and :math:`f_i(x)`."""

    @abstractmethod
    def loss_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        r"""Return :math:`f_i(x)` and :math:`\nabla f_i(x)`, computed from the rows."""

    @abstractmethod
    def curvature(self) -> np.ndarray:
        r"""Return the diagonal of the Hessian of :math:`f_i`, or a bound: it sets the weights of the columns."""

    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        r"""Return :math:`A_i^\top A_i` and :math:`A_i^\top b_i`; only for the loss :math:`\|A_i x - b_i\|_2^2 / 2`."""
        raise TypeError(f"the loss of {type(self).__name__} is not quadratic")

    def __sizeof__(self) -> int:
        # Dask moves what looks small, and a plain object looks like 50 bytes. Say how large the arrays are.
        arrays = [value for value in vars(self).values() if isinstance(value, np.ndarray)]
        return object.__sizeof__(self) + sum(array.nbytes for array in arrays)


class LeastSquaresBlock(Block):
    r"""A block with :math:`f_i(x) = \frac{1}{2}\|A_i x - b_i\|_2^2`.

    Each rho costs one Cholesky factorisation: of :math:`A_i^\top A_i + W`, or, when the block has fewer rows than
    columns, of the smaller :math:`A_i W^{-1} A_i^\top + I`, with W = diag(w). A step then costs two triangular solves.

    Parameters
    ----------
    A : ndarray of shape (m, n)
        Rows of the data.
    b : ndarray of shape (m,)
        Targets.
    """

    def __init__(self, A: np.ndarray, b: np.ndarray) -> None:
        super().__init__(A, b)
        self.fat = self.A.shape[0] < self.A.shape[1]
        self.Atb = self.A.T @ self.b
        self.AtA = None if self.fat else self.A.T @ self.A
        self._factored: tuple[bytes, Any] = (b"", None)

    def prox(self, v: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float]:
        r"""Return :math:`v + (A^\top A + W)^{-1} A^\top (b - A v)` and the loss there."""
        factor = self._factor(w)
        if self.AtA is None:  # (A'A + W)^{-1} A' = W^{-1} A' (A W^{-1} A' + I)^{-1}
            x = v + self.A.T @ cho_solve(factor, self.b - self.A @ v) / w
            return x, half_square(self.A @ x - self.b)
        x = v + cho_solve(factor, self.Atb - self.AtA @ v)
        return x, float(x @ (self.AtA @ x) / 2 - x @ self.Atb + half_square(self.b))

    def _factor(self, w: np.ndarray) -> Any:
        key = w.tobytes()
        if self._factored[0] != key:
            self._factored = key, _factor_hessian(self.A, w, self.AtA)
        return self._factored[1]

    def loss_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        r"""Return :math:`\frac{1}{2}\|r\|_2^2` and :math:`A^\top r` with :math:`r = A x - b`."""
        r = self.A @ x - self.b
        return half_square(r), self.A.T @ r

    def curvature(self) -> np.ndarray:
        r"""Return the diagonal of :math:`A^\top A`."""
        return _square_columns(self.A)

    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        r"""Return :math:`A^\top A` and :math:`A^\top b`: with b'b they hold all of the loss."""
        return (self.A.T @ self.A if self.AtA is None else self.AtA), self.Atb


class SquaredHingeBlock(Block):
    r"""A block with :math:`f_i(w) = K \sum_j \max(0, 1 - b_j\, a_j^\top w)^2`, the :math:`a_j` being the rows.

    The loss is quadratic between the hinges. Newton's method with a line search finds the right piece in a few
    steps and is then exact. The Cholesky factor is kept as long as the same rows violate the margin.

    Parameters
    ----------
    A : ndarray of shape (m, n)
        Rows of the data.
    b : ndarray of shape (m,)
        Labels, -1 or +1.
    K : float
        Weight of the loss.
    """

    def __init__(self, A: np.ndarray, b: np.ndarray, K: float) -> None:
        super().__init__(A, b)
        self.K = as_scalar(K, "K", above=0.0)
        self._last: np.ndarray | None = None
        self._piece: tuple[tuple[bytes, bytes], np.ndarray, Any] | None = None

    def prox(self, v: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float]:
        r"""Return the proximal point of v, by Newton's method from the last one, and the loss there."""
        x = v if self._last is None else self._last
        slack = self._slack(x)
        for _ in range(_NEWTON_STEPS):
            active = slack > 0
            from_loss, from_v = self._gradient(slack), w * (x - v)
            gradient = from_loss + from_v
            if np.linalg.norm(gradient) <= 1e-14 * (
                np.linalg.norm(from_loss) + np.linalg.norm(from_v)
            ):
                break
            d = -self._solve_hessian(active, w, gradient)
            t = self._step_length(slack, x - v, d, w, gradient @ d)
            x = x + t * d
            slack = self._slack(x)
            if t == 1 and np.array_equal(slack > 0, active):
                break  # a full step inside one quadratic piece ends at the minimum
        self._last = x
        return x, self._loss(slack)

    def loss_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        r"""Return :math:`K \|\xi\|_2^2` and :math:`-2K A^\top (b \xi)` with :math:`\xi = (1 - b \, A x)_+`."""
        slack = self._slack(x)
        return self._loss(slack), self._gradient(slack)

    def curvature(self) -> np.ndarray:
        r"""Return the diagonal of :math:`2K A^\top A`, the Hessian where every row violates the margin."""
        return 2 * self.K * _square_columns(self.A)

    def _slack(self, x: np.ndarray) -> np.ndarray:
        return 1 - self.b * (self.A @ x)

    def _loss(self, slack: np.ndarray) -> float:
        return 2 * self.K * half_square(np.maximum(slack, 0))

    def _gradient(self, slack: np.ndarray) -> np.ndarray:
        return -2 * self.K * (self.A.T @ (self.b * np.maximum(slack, 0)))

    def _solve_hessian(self, active: np.ndarray, w: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return H^{-1} q with H = 2K A_I'A_I + W, where I are the active rows."""
        key = active.tobytes(), w.tobytes()
        if self._piece is None or self._piece[0] != key:
            A_I = np.sqrt(2 * self.K) * self.A[active]
            fat = A_I.shape[0] < A_I.shape[1]
            factor = _factor_hessian(A_I, w, None if fat else A_I.T @ A_I)
            self._piece = key, (A_I if fat else A_I[:0]), factor
        _, A_I, factor = self._piece
        if A_I.shape[0]:  # the matrix inversion lemma
            return (q - A_I.T @ cho_solve(factor, A_I @ (q / w))) / w
        return cho_solve(factor, q) if active.any() else q / w

    def _step_length(
        self, slack: np.ndarray, from_v: np.ndarray, d: np.ndarray, w: np.ndarray, slope: float
    ) -> float:
        """Halve t from 1 until the step along d decreases the proximal objective enough."""
        change = -self.b * (self.A @ d)

        def objective(t: float) -> float:
            return self._loss(slack + t * change) + half_square(np.sqrt(w) * (from_v + t * d))

        t, start = 1.0, objective(0.0)
        rounding = 4 * EPS * start
        while objective(t) > start + 1e-4 * t * slope + rounding and t > 1e-10:
            t /= 2
        return t


def _factor_hessian(A: np.ndarray, w: np.ndarray, AtA: np.ndarray | None) -> Any:
    """Return the Cholesky factor of A'A + W or, when A'A is not given, of A W^{-1} A' + I."""
    H = (A / w) @ A.T + np.eye(A.shape[0]) if AtA is None else AtA + np.diag(w)
    try:
        return cho_factor(H, lower=True)
    except LinAlgError as error:
        raise ValueError(
            f"rho is too small for a block with {A.shape[0]} rows and {A.shape[1]} columns: "
            "its Hessian plus rho is not positive definite in floating point"
        ) from error


def _square_columns(A: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", A, A)


def half_square(v: np.ndarray) -> float:
    """Return half the squared length of v."""
    return float(v @ v) / 2
