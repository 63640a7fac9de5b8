r"""Global consensus ADMM: one model, the rows of the data in N places.

The problem is

.. math:: \min_x \; \sum_{i=1}^N f_i(x) + g(x),

where the loss :math:`f_i` is made from a block of rows :math:`(A_i, b_i)` and g is the penalty. Give each block
its own copy :math:`x_i` and ask that all copies agree with one z:

.. math:: \min_{x_1, \dots, x_N, z} \; \sum_{i=1}^N f_i(x_i) + g(z) \quad \text{s.t.} \quad x_i - z = 0.

This is the form of :func:`companion.admm.splitting.admm`, with A = 1 and B minus a stack of identities. The
x-update falls apart into N proximal steps that need one block each; the z-update needs only the mean of the
:math:`x_i + u_i`. The constraint is weighted by columns, so that the units of a column do not matter.

A :class:`Block` holds the rows and knows the loss. A :class:`ConsensusObjective` says which kind of block, and
what g is. A new penalty is a subclass of :class:`ConsensusObjective`; a new loss is a subclass of :class:`Block`.
"""

from __future__ import annotations

import math
import os
import uuid
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator

from companion.admm.cluster import InProcess, OnCluster, blocks_of_rows
from companion.admm.l1.losses import check_squares
from companion.admm.proximal import soft_threshold
from companion.admm.splitting import Iterate, admm
from companion.certificates import Certificate
from companion.checks import as_matrix, as_scalar, as_vector, check_count
from companion.exceptions import ConvergenceWarning
from companion.results import ADMMResult, Problem

__all__ = [
    "Block",
    "ConsensusObjective",
    "LassoObjective",
    "LeastSquaresBlock",
    "RidgeObjective",
    "SquaredHingeBlock",
    "SquaredHingeObjective",
    "consensus",
]

_CERTIFICATE_TOLERANCE = 1e-6
# ADMM measures residuals in other units than the certificate: it may miss this many tolerances.
_EXPLAINED = 1e3
_NEWTON_STEPS = 100


# Blocks: everything that touches the rows.


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
        check_squares(self.A, "A", smallest=0.0)
        check_squares(self.b, "b")

    @abstractmethod
    def prox(self, v: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float]:
        r"""Return :math:`x = \arg\min_x f_i(x) + \frac{1}{2}\sum_j w_j (x_j - v_j)^2` and :math:`f_i(x)`."""

    @abstractmethod
    def loss_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        r"""Return :math:`f_i(x)` and :math:`\nabla f_i(x)`, computed from the rows."""

    @abstractmethod
    def curvature(self) -> np.ndarray:
        r"""Return the diagonal of the Hessian of :math:`f_i`, or a bound: it sets the weights of the columns."""

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
            return x, _half_square(self.A @ x - self.b)
        x = v + cho_solve(factor, self.Atb - self.AtA @ v)
        return x, float(x @ (self.AtA @ x) / 2 - x @ self.Atb + _half_square(self.b))

    def _factor(self, w: np.ndarray) -> Any:
        key = w.tobytes()
        if self._factored[0] != key:
            self._factored = key, _factor_hessian(self.A, w, self.AtA)
        return self._factored[1]

    def loss_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        r"""Return :math:`\frac{1}{2}\|r\|_2^2` and :math:`A^\top r` with :math:`r = A x - b`."""
        r = self.A @ x - self.b
        return _half_square(r), self.A.T @ r

    def curvature(self) -> np.ndarray:
        r"""Return the diagonal of :math:`A^\top A`."""
        return _square_columns(self.A)


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
            if _norm(gradient) <= 1e-14 * (_norm(from_loss) + _norm(from_v)):
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
        return 2 * self.K * _half_square(np.maximum(slack, 0))

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
            return self._loss(slack + t * change) + _half_square(np.sqrt(w) * (from_v + t * d))

        t, start = 1.0, objective(0.0)
        rounding = 4 * np.finfo(float).eps * start
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


# Objectives: the block's loss and the central penalty.


class ConsensusObjective(ABC):
    r"""A loss for the blocks and a penalty g for the centre: :math:`\sum_i f_i(x) + g(x)`.

    Objectives are small frozen objects; they travel to the workers. Set ``separable = False`` in a subclass whose
    penalty is not a sum over coordinates (a norm of groups, say): all columns then get the same weight.

    Examples
    --------
    Least squares with :math:`x \ge 0`, a penalty that is not in this module. Its proximal operator is the projection.

    >>> import numpy as np
    >>> from companion.admm import ConsensusObjective, LeastSquaresBlock, consensus
    >>> class NonnegativeLeastSquares(ConsensusObjective):
    ...     def block(self, A, b):
    ...         return LeastSquaresBlock(A, b)
    ...     def penalty(self, z):
    ...         return 0.0 if (z >= 0).all() else np.inf
    ...     def penalty_prox(self, v, t):
    ...         return np.maximum(v, 0)
    ...     def penalty_conjugate(self, s):
    ...         return 0.0 if (s <= 1e-9).all() else np.inf
    >>> rows = [(np.array([[1.0, 2.0], [3.0, 4.0]]), [1.0, 1.0]), (np.array([[1.0, 0.0]]), [0.0])]
    >>> print(consensus(rows, NonnegativeLeastSquares()).z.round(4))
    [0.  0.3]
    """

    separable = True

    @abstractmethod
    def block(self, A: np.ndarray, b: np.ndarray) -> Block:
        """Return the block that holds these rows, or raise if b does not fit the loss."""

    @abstractmethod
    def penalty(self, z: np.ndarray) -> float:
        """Return g(z)."""

    @abstractmethod
    def penalty_prox(self, v: np.ndarray, t: Any) -> np.ndarray:
        r"""Return :math:`\arg\min_z g(z) + \sum_j (z_j - v_j)^2 / (2 t_j)`.

        The step t is a vector if the penalty is separable, and a number otherwise.
        """

    def penalty_conjugate(self, s: np.ndarray) -> float:
        r"""Return :math:`g^*(s) = \sup_z s^\top z - g(z)`.

        The default, infinity, is always an upper bound: the certificate then has an infinite gap and proves nothing.
        """
        return np.inf

    def dual_value(self, z: np.ndarray, loss: float, gradient: np.ndarray) -> float:
        r"""Return a lower bound of the minimum, from the loss and its gradient at z, summed over the blocks.

        It is the value :math:`f(z) - z^\top \nabla f(z) - g^*(-\nabla f(z))` of the Fenchel dual.
        """
        return loss - z @ gradient - self.penalty_conjugate(-gradient)


@dataclass(frozen=True)
class RidgeObjective(ConsensusObjective):
    r"""Ridge regression: :math:`\frac{1}{2}\|A x - b\|_2^2 + \frac{K}{2}\|x\|_2^2`.

    Parameters
    ----------
    K : float
        Weight of the penalty, > 0. The minimiser is that of the text's :math:`\|b - Ax\|_2^2 + K\|x\|_2^2`.

    Notes
    -----
    Source: Section 19.1, program (RR1) without intercept.
    """

    K: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "K", as_scalar(self.K, "K", above=0))

    def block(self, A: np.ndarray, b: np.ndarray) -> Block:
        """Return a least squares block."""
        return LeastSquaresBlock(A, b)

    def penalty(self, z: np.ndarray) -> float:
        r"""Return :math:`(K/2)\|z\|_2^2`."""
        return self.K * _half_square(z)

    def penalty_prox(self, v: np.ndarray, t: Any) -> np.ndarray:
        """Return v / (1 + K t)."""
        return v / (1 + self.K * t)

    def penalty_conjugate(self, s: np.ndarray) -> float:
        r"""Return :math:`\|s\|_2^2 / (2K)`."""
        return _half_square(s) / self.K


@dataclass(frozen=True)
class LassoObjective(ConsensusObjective):
    r"""Lasso: :math:`\frac{1}{2}\|A x - b\|_2^2 + \tau\|x\|_1`.

    Parameters
    ----------
    tau : float
        Weight of the penalty, > 0.

    Notes
    -----
    Source: Section 16.8, problem (3); Section 19.4, program (lasso1).
    """

    tau: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", as_scalar(self.tau, "tau", above=0))

    def block(self, A: np.ndarray, b: np.ndarray) -> Block:
        """Return a least squares block."""
        return LeastSquaresBlock(A, b)

    def penalty(self, z: np.ndarray) -> float:
        r"""Return :math:`\tau\|z\|_1`."""
        return self.tau * float(np.abs(z).sum())

    def penalty_prox(self, v: np.ndarray, t: Any) -> np.ndarray:
        r"""Return the soft thresholding :math:`S_{\tau t}(v)`."""
        return soft_threshold(v, self.tau * t)

    def dual_value(self, z: np.ndarray, loss: float, gradient: np.ndarray) -> float:
        r"""Return the best dual value among the multiples of the residual.

        The dual is :math:`\max -\frac{1}{2}\|\theta\|_2^2 - b^\top\theta` subject to
        :math:`\|A^\top\theta\|_\infty \le \tau`. The residual :math:`r = Az - b` solves it up to a scale s near 1.
        With f the loss at z, :math:`\|r\|_2^2 = 2f` and :math:`b^\top r = z^\top\nabla f - 2f`, so that the value
        at :math:`s r` is :math:`-s^2 f - s (z^\top\nabla f - 2f)`: no block need send more than its gradient.
        """
        if loss == 0:
            return 0.0
        slope = 2 * loss - z @ gradient
        largest = self.tau / max(float(np.abs(gradient).max()), np.finfo(float).tiny)
        s = np.clip(slope / (2 * loss), -largest, largest)
        return float(s * slope - s**2 * loss)


@dataclass(frozen=True)
class SquaredHingeObjective(ConsensusObjective):
    r"""Linear l2-SVM: :math:`\frac{1}{2}\|w\|_2^2 + K \sum_j \max(0, 1 - b_j\, a_j^\top w)^2` with labels +-1.

    There is no intercept; a column of ones in every block adds one, which is then penalised with w.

    Parameters
    ----------
    K : float
        Weight of the loss, > 0 (``C`` of scikit-learn's ``LinearSVC``).

    Notes
    -----
    Section 18.13 squares the slacks too: program (SVM_s4) has this loss, with the margin as a variable.
    """

    K: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "K", as_scalar(self.K, "K", above=0))

    def block(self, A: np.ndarray, b: np.ndarray) -> Block:
        """Return a squared hinge block; the labels must be -1 or +1."""
        strange = b[np.abs(b) != 1]
        if strange.size:
            raise ValueError(f"labels must be -1 or +1, got {strange[0]:g}")
        return SquaredHingeBlock(A, b, self.K)

    def penalty(self, z: np.ndarray) -> float:
        r"""Return :math:`\frac{1}{2}\|z\|_2^2`."""
        return _half_square(z)

    def penalty_prox(self, v: np.ndarray, t: Any) -> np.ndarray:
        """Return v / (1 + t)."""
        return v / (1 + t)

    def penalty_conjugate(self, s: np.ndarray) -> float:
        r"""Return :math:`\frac{1}{2}\|s\|_2^2`."""
        return _half_square(s)


# The solver.


def consensus(
    blocks: Any,
    objective: ConsensusObjective,
    *,
    rho: float = 1.0,
    relaxation: float = 1.0,
    adaptive: bool = True,
    tol_abs: float = 1e-9,
    tol_rel: float = 1e-9,
    max_iter: int = 10_000,
    client: Any = None,
    worker_timeout: float = 60.0,
    block_timeout: float | None = None,
    start: ADMMResult | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int = 10,
    callback: Callable[[Iterate], Any] | None = None,
    progress: bool = False,
) -> ADMMResult:
    r"""Minimise :math:`\sum_i f_i(x) + g(x)`, each loss :math:`f_i` made from its own block of rows.

    The rows stay where they are. In each iteration a block receives two vectors of length n and returns one:

    .. math::

        x_i^{k+1} &= \arg\min_{x_i} f_i(x_i) \quad\text{(at block i)} \\
            &\; {} + (\rho/2)\|x_i - z^k + u_i^k\|_D^2 \\
        z^{k+1} &= \arg\min_z g(z) \\
            &\; {} + (N\rho/2)\bigl\|z - \tfrac{1}{N}\sum_i (x_i^{k+1} + u_i^k)\bigr\|_D^2 \\
        u_i^{k+1} &= u_i^k + x_i^{k+1} - z^{k+1},

    where :math:`\|v\|_D^2 = \sum_j d_j v_j^2` and :math:`d_j` is the curvature of the :math:`f_i` along column j,
    averaged over the blocks.

    Parameters
    ----------
    blocks : list of pairs (A_i, b_i), list of lazy pairs, or pair of dask collections
        The rows: `A_i` of shape (m_i, n), `b_i` of shape (m_i,), every block with at least one row. In one process
        these are arrays. With a `client` they can also be

        - ``dask.delayed`` objects or futures, for a pair as a whole or for its two members;
        - the tuple ``(A, b)`` of two dask arrays, A chunked by rows only: one chunk is one block. Unknown lengths are
          accepted;
        - the tuple ``(frame, "target")`` of a dask DataFrame, as from ``dask.dataframe.read_parquet``, and the name
          of the column that is b; all other columns are A. One partition is one block;
        - the tuple of a dask DataFrame and a dask Series with the same partitions.
    objective : ConsensusObjective
        :class:`RidgeObjective`, :class:`LassoObjective`, :class:`SquaredHingeObjective` or your own.
    rho : float
        Penalty parameter at the start, > 0, in units of the curvature: 1 fits most data.
    relaxation : float
        Over-relaxation in (0, 2), see :func:`companion.admm.admm`.
    adaptive : bool
        Whether rho is balanced on the way. Each new rho costs one factorisation per block.
    tol_abs, tol_rel : float
        Tolerances of the stopping rule of :func:`companion.admm.admm`.
    max_iter : int
        Largest number of iterations.
    client : dask.distributed.Client, optional
        Where the blocks live; this process by default. The workers need this package installed.
    worker_timeout : float
        Seconds to wait when the cluster has no worker at all, before the run fails.
    block_timeout : float, optional
        Seconds that a step may take on the cluster, after the first loading of the rows, before the run fails and
        names the blocks that have not answered. By default a step waits for its slowest block.
    start : ADMMResult, optional
        The result of an earlier run over the same blocks, with this objective or a similar one (the next tau of a
        path, say). The run starts from its `z`, `u` and `rho`.
    checkpoint : path, optional
        A file that keeps z, the :math:`u_i` and rho. A run that finds it there goes on from it, whatever became of
        the cluster or the process that wrote it; a file of another problem is an error.
    checkpoint_every : int
        Number of iterations between two writes of the file; it is also written at the end.
    callback : callable, optional
        Called with an :class:`~companion.admm.splitting.Iterate` after each iteration, with x and u the stacks of
        all :math:`x_i` and :math:`\sqrt{d} \, u_i`; the run stops when it returns True.
    progress : bool
        Whether a progress bar is shown.

    Returns
    -------
    ADMMResult
        `z` of shape (n,) is the answer. `x` and `u` of shape (N, n) have one row per block; :math:`\rho u_i` is the
        multiplier of :math:`x_i = z`, which is :math:`-\nabla f_i(x_i)`. `objective` is :math:`\sum_i f_i(z) + g(z)`,
        computed from the rows; in `history` it has :math:`f_i(x_i)`. `certificate` has the disagreement of the
        :math:`x_i` with z, the length of a proximal gradient step from z, and the duality gap, from one last sum over
        the blocks. Its complementarity is 0: the dual point is made from z. `problem` has the blocks, for
        :func:`companion.certificates.verify`; None if they live on a cluster.

    Warns
    -----
    ConvergenceWarning
        When `max_iter` is reached, or the certificate misses its tolerance although `tol_abs` and `tol_rel` do not
        exceed it. (An objective without a conjugate has no finite gap, and nobody is warned.)

    Raises
    ------
    ValueError, TypeError
        If there is no block, a block is empty or not a pair, the blocks have different numbers of columns, an entry
        is not finite, or b does not fit the objective. The message names the block. Also if `start` or the
        `checkpoint` does not fit the blocks and the objective.
    ImportError
        If `client` is given and ``dask.distributed`` is not installed.
    RuntimeError
        If the cluster is gone, has had no worker for `worker_timeout` seconds, lost a block that it cannot
        compute again, or if a block has not answered within `block_timeout` seconds.

    Notes
    -----
    Source: named at the end of Section 16.8; Boyd et al. (2010), Sections 7.1 and 8.2.

    The weights d make the iteration indifferent to the units of the columns, not to columns that are nearly
    collinear: these slow it down, as every first-order method. Centre the columns before you split the rows.

    **Losing a worker.** The calling process keeps everything that changes: z, the :math:`x_i`, the :math:`u_i`. A
    worker keeps only what follows from the rows: the block, its factorisation, a starting point for Newton's method. A
    block is an ordinary dask future, so that dask computes it again, from its source, on another worker when its
    worker dies; the interrupted step is repeated there, and the run goes on as if nothing had happened. Actors would
    be lost with their worker. So are futures made by ``client.scatter``: give ``dask.delayed`` loaders instead.
    Arrays of this process are sent once, and the scheduler keeps them so that it can send them again; for large
    data let the workers load their own rows.

    **Losing the scheduler.** When the scheduler is started again at its address, or the cluster is restarted, the
    client connects anew, the blocks are built again, and the interrupted step is repeated. When the client gives up
    (its own `timeout`), the run fails and says so. With a `checkpoint` a new run, on any cluster or on none, goes on
    where the old one stopped; the answer is the same up to the tolerances.

    **A slow block.** The iteration is synchronous: its answer does not depend on who is fast, its time is that of the
    slowest block. A block that never answers is what `block_timeout` is for. Many small blocks leave dask more
    freedom than few large ones, but each block costs the scheduler about a millisecond in each iteration.

    **What travels.** A block is loaded and prepared in one task, on one worker, and stays there. Collections whose
    chunks share work, after a shuffle or ``rechunk``, are the exception: dask moves these chunks once, before the
    first step.

    Examples
    --------
    The lasso with ten rows in two blocks of unequal size.

    >>> import numpy as np
    >>> from companion.admm import LassoObjective, consensus
    >>> A = np.vander(np.linspace(-1, 1, 10), 4, increasing=True)
    >>> b = A @ np.array([1.0, 0.0, -2.0, 0.0])
    >>> result = consensus([(A[:3], b[:3]), (A[3:], b[3:])], LassoObjective(tau=0.1))
    >>> print(result.z.round(4) + 0.0)
    [ 0.9455  0.     -1.8907  0.    ]
    >>> result.converged, result.certificate.ok
    (True, True)
    """
    if not isinstance(objective, ConsensusObjective):
        raise TypeError(
            "objective must be a ConsensusObjective such as LassoObjective(tau=0.1), "
            f"got {type(objective).__name__}"
        )
    max_iter = check_count(max_iter, "max_iter")
    rows = blocks_of_rows(blocks)
    if client is None:
        each = InProcess(rows, objective).each
    else:
        each = OnCluster(blocks, rows, objective, client, worker_timeout, block_timeout).each
    d = _column_weights(each("curvature"), objective.separable)
    root, N, n = np.sqrt(d), len(rows), d.size
    losses: Sequence[float] = [np.nan] * N
    z0, u0, rho = _start(start, root, N, rho)
    file = None
    if checkpoint is not None:
        file = _Checkpoint(checkpoint, checkpoint_every, d, N, objective)
        z0, u0, rho = file.read() or (z0, u0, rho)

    def x_update(v: np.ndarray, rho: float) -> np.ndarray:
        nonlocal losses
        xs, losses = zip(*each("prox", v.reshape(N, n) / root, [rho * d] * N))
        return np.concatenate(xs)

    def z_update(v: np.ndarray, rho: float) -> np.ndarray:
        t = 1 / (N * rho * d)
        v = -v.reshape(N, n).mean(axis=0) / root
        return objective.penalty_prox(v, t if objective.separable else float(t[0]))

    def after_step(iterate: Iterate) -> Any:
        if file is not None and iterate.k % file.every == 0:
            file.write(iterate.z, iterate.u, iterate.rho)
        return callback is not None and callback(iterate)

    def weigh(x: np.ndarray) -> np.ndarray:
        return (x.reshape(N, n) * root).ravel()

    result = admm(
        x_update,
        z_update,
        A=LinearOperator((N * n, N * n), matvec=weigh, rmatvec=weigh, dtype=float),
        B=LinearOperator((N * n, n), matvec=lambda z: -weigh(np.tile(z, N)), dtype=float),
        c=np.zeros(N * n),
        rho=rho,
        z0=z0,
        u0=u0,
        relaxation=relaxation,
        adaptive=adaptive,
        mu=5.0,
        adapt_steps=max_iter // 2,
        tol_abs=tol_abs,
        tol_rel=tol_rel,
        max_iter=max_iter,
        objective=lambda x, z: sum(losses) + objective.penalty(z),
        callback=after_step,
        progress=progress,
    )
    if file is not None and result.status != "diverged":
        file.write(result.z, result.u, result.rho)
    x, z = result.x.reshape(N, n), result.z
    losses, gradients = zip(*each("loss_and_gradient", [z] * N))
    certificate = _certify(objective, x, z, sum(losses), np.array(gradients), d)
    if result.converged:
        _warn_if_missed(certificate, max(tol_abs, tol_rel))
    return replace(
        result,
        x=x,
        u=root * result.u.reshape(N, n),
        objective=float(sum(losses) + objective.penalty(z)),
        certificate=certificate,
        problem=None if client else Problem("consensus", {"blocks": rows, "objective": objective}),
    )


def _column_weights(curvatures: list[np.ndarray], separable: bool) -> np.ndarray:
    """Return the mean curvature of each column; where there is none, and without separability, one for all."""
    for i, curvature in enumerate(curvatures):
        if curvature.size != curvatures[0].size:
            raise ValueError(
                "all blocks must have the same number of columns, "
                f"got {curvatures[0].size} in blocks[0] and {curvature.size} in blocks[{i}]"
            )
    d = np.mean(curvatures, axis=0)
    average = d[d > 0].mean() if (d > 0).any() else 1.0
    return np.where(d > 0, d, average) if separable else np.full(d.size, average)


def _start(
    start: ADMMResult | None, root: np.ndarray, N: int, rho: float
) -> tuple[np.ndarray | None, np.ndarray | None, float]:
    """Return the z, the weighted multipliers and the rho that an earlier result ends with."""
    if start is None:
        return None, None, rho
    if not isinstance(start, ADMMResult):
        raise TypeError(f"start must be the result of consensus, got {type(start).__name__}")
    if np.shape(start.u) != (N, root.size):
        raise ValueError(
            f"start must come from {N} blocks with {root.size} columns, its u has shape {np.shape(start.u)}"
        )
    return start.z, (start.u / root).ravel(), start.rho


class _Checkpoint:
    """The state of a run in a file: z, the weighted multipliers, rho, and what they belong to."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        every: int,
        d: np.ndarray,
        N: int,
        objective: ConsensusObjective,
    ) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"checkpoint must be a path, got {type(path).__name__}")
        self.path = Path(path)
        self.every = check_count(every, "checkpoint_every")
        self.d, self.N, self.objective = d, N, _describe_objective(objective)
        if not self.path.parent.is_dir():
            raise ValueError(f"checkpoint must lie in a folder that exists, got {str(path)!r}")

    def read(self) -> tuple[np.ndarray, np.ndarray, float] | None:
        """Return the state, or nothing when there is no file yet."""
        if not self.path.exists():
            return None
        try:
            with open(self.path, "rb") as stream:
                file = np.load(stream, allow_pickle=False)
                saved = {name: file[name] for name in ("z", "u", "rho", "d", "objective")}
        except (OSError, ValueError, LookupError, EOFError, BadZipFile) as error:
            raise ValueError(f"{self.path} is not a checkpoint of consensus") from error
        if str(saved["objective"]) != self.objective:
            raise ValueError(
                f"{self.path} is a checkpoint of {saved['objective']}, got {self.objective}; "
                "delete the file or name another"
            )
        n = self.d.size
        if saved["d"].size != n or saved["u"].size != self.N * n:
            columns = saved["d"].size
            raise ValueError(
                f"{self.path} is a checkpoint of {saved['u'].size // columns} blocks with {columns} columns, "
                f"got {self.N} blocks with {n} columns"
            )
        if not np.allclose(saved["d"], self.d, rtol=1e-9, atol=0):
            raise ValueError(f"{self.path} is a checkpoint of other data: their columns differ")
        return saved["z"], saved["u"], float(saved["rho"])

    def write(self, z: np.ndarray, u: np.ndarray, rho: float) -> None:
        """Replace the file, in one step: a reader finds the old state or the new one."""
        new = self.path.with_name(f"{self.path.name}.{uuid.uuid4().hex}.new")
        with open(new, "wb") as file:
            np.savez(file, z=z, u=u, rho=rho, d=self.d, objective=np.array(self.objective))
        os.replace(new, self.path)


def _describe_objective(objective: ConsensusObjective) -> str:
    """Return the class and its values, without the address that a plain object prints."""
    values = ", ".join(
        f"{name}={value!r}" for name, value in sorted(getattr(objective, "__dict__", {}).items())
    )
    return f"{type(objective).__name__}({values})"


def _certify(
    objective: ConsensusObjective,
    x: np.ndarray,
    z: np.ndarray,
    loss: float,
    gradients: np.ndarray,
    d: np.ndarray,
) -> Certificate:
    """Return how far the copies differ, z is from stationary, and the objective is from its lower bound."""
    gradient, t = gradients.sum(axis=0), 1 / (len(x) * d)
    step = z - objective.penalty_prox(z - t * gradient, t if objective.separable else float(t[0]))
    primal, dual = loss + objective.penalty(z), objective.dual_value(z, loss, gradient)
    root = np.sqrt(d)
    # root * z has the unit of sqrt(f). Neither a solution z = 0 nor gradients that cancel make the length 0.
    length = max(
        np.abs(root * z).max(), np.abs(gradients / root).max(), 1e-6 * np.sqrt(np.abs(primal))
    )
    return Certificate(
        primal_residual=_relative(np.abs(root * (x - z)).max(), length),
        dual_residual=_relative(np.abs(root * step).max(), length),
        complementarity=0.0,
        gap=_relative(max(primal - dual, 0.0), max(abs(primal), abs(dual))),
        tolerance=_CERTIFICATE_TOLERANCE,
    )


def _warn_if_missed(certificate: Certificate, tol: float) -> None:
    """Warn about an answer that ADMM takes for one, if its tolerance does not explain what the certificate misses.

    An infinite gap is that of a penalty without a conjugate.
    """
    level = max(certificate.tolerance, _EXPLAINED * tol)
    if level < certificate.worst < math.inf:
        warnings.warn(
            f"ADMM met its tolerances, but the certificate misses {level:g} ({certificate}): one of "
            "loss and penalty is lost in rounding beside the other; scale A and b, or change the penalty",
            ConvergenceWarning,
            stacklevel=3,
        )


def _norm(v: np.ndarray) -> float:
    return float(np.linalg.norm(v))


def _half_square(v: np.ndarray) -> float:
    return float(v @ v) / 2


def _relative(value: float, scale: float) -> float:
    if value == 0:
        return 0.0
    return float(value / scale) if scale > 0 and np.isfinite(value) else np.inf
