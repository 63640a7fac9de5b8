r"""Global consensus ADMM: one model, the rows of the data in N places.

The problem is

.. math:: \min_x \; \sum_{i=1}^N f_i(x) + g(x),

where the loss :math:`f_i` is made from a block of rows :math:`(A_i, b_i)` and g is the penalty. Give each block
its own copy :math:`x_i` and ask that all copies agree with one z:

.. math:: \min_{x_1, \dots, x_N, z} \; \sum_{i=1}^N f_i(x_i) + g(z) \quad \text{s.t.} \quad x_i - z = 0.

This is a problem for :func:`companion.admm.admm`, with all copies stacked in place of x. The x-update falls apart into
N proximal steps that need one block each; the z-update needs only the mean of the :math:`x_i + u_i`. The constraint is
weighted by columns, so that the units of a column do not matter.

What is minimised is a :class:`ConsensusObjective`: it says which :class:`~companion.admm.losses.SmoothLoss` the rows of
a block make, and what g is.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import sparse

from companion.admm.loop import complain
from companion.admm.losses import LeastSquaresLoss, SmoothLoss, SquaredHingeLoss, half_square
from companion.admm.proximal import soft_threshold
from companion.admm.splitting import admm
from companion.arithmetic import largest, ratio
from companion.checks import as_matrix, as_scalar, as_vector
from companion.results import ADMMResult, Certificate, Problem

__all__ = [
    "ConsensusObjective", "LassoObjective", "RidgeObjective", "SquaredHingeObjective", "consensus",
]  # fmt: skip


class ConsensusObjective(ABC):
    r"""A loss for the blocks and a penalty g for the centre: :math:`\sum_i f_i(x) + g(x)`.

    Objectives are small frozen objects. The penalty is a sum over the coordinates.

    Examples
    --------
    Least squares with :math:`x \ge 0`, a penalty that is not in this module. Its proximal operator is the projection.

    >>> import numpy as np
    >>> from companion.admm import ConsensusObjective, LeastSquaresLoss, consensus
    >>> class NonnegativeLeastSquares(ConsensusObjective):
    ...     def block(self, A, b):
    ...         return LeastSquaresLoss(A, b)
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

    @abstractmethod
    def block(self, A: np.ndarray, b: np.ndarray) -> SmoothLoss:
        """Return the loss that these rows make, or raise if b does not fit it."""

    @abstractmethod
    def penalty(self, z: np.ndarray) -> float:
        """Return g(z)."""

    @abstractmethod
    def penalty_prox(self, v: np.ndarray, t: np.ndarray) -> np.ndarray:
        r"""Return :math:`\arg\min_z g(z) + \sum_j (z_j - v_j)^2 / (2 t_j)`."""

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


class _Squares(ConsensusObjective):
    """The loss 1/2 |A x - b|^2 and the penalty K/2 |z|^2; a subclass may replace one of the two."""

    weight: float = 1.0  # the K of the penalty; a machine has its K in the loss

    def __post_init__(self) -> None:
        for parameter in fields(self):  # type: ignore[arg-type]  # the subclasses are dataclasses
            value = as_scalar(getattr(self, parameter.name), parameter.name, above=0)
            object.__setattr__(self, parameter.name, value)

    def block(self, A: np.ndarray, b: np.ndarray) -> SmoothLoss:
        """Return the squares of the residuals."""
        return LeastSquaresLoss(A, b)

    def penalty(self, z: np.ndarray) -> float:
        r"""Return :math:`(K/2)\|z\|_2^2`."""
        return self.weight * half_square(z)

    def penalty_prox(self, v: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return v / (1 + K t)."""
        return v / (1 + self.weight * t)

    def penalty_conjugate(self, s: np.ndarray) -> float:
        r"""Return :math:`\|s\|_2^2 / (2K)`."""
        return half_square(s) / self.weight


@dataclass(frozen=True)
class RidgeObjective(_Squares):
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

    @property
    def weight(self) -> float:  # type: ignore[override]
        """The number K."""
        return self.K


@dataclass(frozen=True)
class LassoObjective(_Squares):
    r"""Lasso: :math:`\frac{1}{2}\|A x - b\|_2^2 + \tau\|x\|_1`.

    Parameters
    ----------
    tau : float
        Weight of the penalty, > 0.

    Notes
    -----
    Source: Section 16.8, problem (4); Section 19.4, program (lasso1).
    """

    tau: float

    def penalty(self, z: np.ndarray) -> float:
        r"""Return :math:`\tau\|z\|_1`."""
        return self.tau * float(np.abs(z).sum())

    def penalty_prox(self, v: np.ndarray, t: np.ndarray) -> np.ndarray:
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
        longest = self.tau / max(largest(gradient), np.finfo(float).tiny)
        s = np.clip(slope / (2 * loss), -longest, longest)
        return float(s * slope - s**2 * loss)


@dataclass(frozen=True)
class SquaredHingeObjective(_Squares):
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

    def block(self, A: np.ndarray, b: np.ndarray) -> SmoothLoss:
        """Return the squares of the slacks; the labels must be -1 or +1."""
        return SquaredHingeLoss(A, b, self.K)


def consensus(
    blocks: Sequence[Any],
    objective: ConsensusObjective,
    *,
    workers: Callable[..., Any] = map,
    adaptive: bool = True,
    tol_abs: float = 1e-9,
    tol_rel: float = 1e-9,
    **options: Any,
) -> ADMMResult:
    r"""Minimise :math:`\sum_i f_i(x) + g(x)`, each loss :math:`f_i` made from its own block of rows.

    The rows stay where they are. In each iteration z goes out and the :math:`x_i` come back:

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
    blocks : list of pairs (A_i, b_i)
        The rows: `A_i` of shape (m_i, n), `b_i` of shape (m_i,), every block with at least one row. Instead of a pair a
        block can be a loss, as ``objective.block(A_i, b_i)`` returns it, or what `workers` takes for one, such as a
        future.
    objective : ConsensusObjective
        :class:`RidgeObjective`, :class:`LassoObjective`, :class:`SquaredHingeObjective` or your own.
    workers : callable
        Map-like, as in :func:`scipy.optimize.differential_evolution`: the N proximal steps of an iteration are one call
        ``workers(step, blocks, v, weights)``, by default in this process, one after the other. The ``map`` of an
        executor of ``concurrent.futures`` makes them at the same time. All that is asked of a block goes this way,
        so that a block can stay elsewhere.
    adaptive : bool
        Whether rho is balanced on the way, with mu = 2. Each new rho costs one factorisation per block.
    tol_abs, tol_rel : float
        Tolerances of the stopping rule of :func:`companion.admm.admm`.
    **options
        Other options of :func:`companion.admm.admm`: `rho` (in units of the curvature: 1 fits most data), `max_iter`,
        `callback` and so on. The x of an :class:`Iterate` is all copies, one after the other.

    Returns
    -------
    ADMMResult
        `z` of shape (n,) is the answer. `x` and `u` of shape (N, n) have one row per block; ``rho * u[i]`` is the
        multiplier of :math:`x_i = z`, which is :math:`-\nabla f_i(x_i)`. `objective` is :math:`\sum_i f_i(z) + g(z)`.
        `certificate` has the disagreement of the :math:`x_i` with z, the length of a proximal gradient step from z,
        and the duality gap. Its complementarity is 0: the dual point is made from z.

    Warns
    -----
    ConvergenceWarning
        When `max_iter` is reached, or the certificate misses its tolerance all the same. (An objective without a
        conjugate has no finite gap, and no warning.)

    Raises
    ------
    ValueError, TypeError
        If there is no block, a block is empty or not a pair, the blocks have different numbers of columns, an entry
        is not finite, or b does not fit the objective. The message names the block.

    Notes
    -----
    Source: named at the end of Section 16.8; Boyd et al. (2010), Sections 7.1 and 8.2.

    The weights d make the iteration indifferent to the units of the columns, not to columns that are nearly
    collinear: these slow it down, as every first-order method; with a factor that is common to all columns it takes
    thousands of steps. Centre the columns before you split the rows. For ridge and lasso the sums of the
    :math:`A_i^\top A_i` and :math:`A_i^\top b_i` are another way, which needs no iteration.

    With Dask the losses are made on the workers and stay there::

        losses = client.map(objective.block, As, bs)
        consensus(losses, objective, workers=lambda f, *a: client.gather(client.map(f, *a)))

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
        given = type(objective).__name__
        raise TypeError(
            f"objective must be a ConsensusObjective such as LassoObjective(tau=0.1), got {given}"
        )
    if isinstance(blocks, np.ndarray) or not isinstance(blocks, Sequence):
        raise TypeError(f"blocks must be a list of pairs (A_i, b_i), got {type(blocks).__name__}")
    if not blocks:
        raise ValueError("blocks must hold at least one pair (A_i, b_i), got none")
    losses = [_loss(objective, i, block) for i, block in enumerate(blocks)]
    N, d = len(losses), list(workers(_curvature, losses))
    for i, d_i in enumerate(d):
        if d_i.size != d[0].size:
            raise ValueError(
                "all blocks must have the same number of columns, "
                f"got {d[0].size} in blocks[0] and {d_i.size} in blocks[{i}]"
            )
    weights = np.mean(d, axis=0)
    positive = weights > 0
    weights = np.where(positive, weights, weights[positive].mean() if positive.any() else 1.0)
    n, root = weights.size, np.sqrt(weights)

    def x_update(v: np.ndarray, rho: float) -> np.ndarray:
        return np.concatenate(
            list(workers(_prox, losses, v.reshape(N, n) / root, [rho * weights] * N))
        )

    def z_update(v: np.ndarray, rho: float) -> np.ndarray:
        mean = (v.reshape(N, n) / root).mean(axis=0)
        return objective.penalty_prox(-mean, 1 / (N * rho * weights))

    one = sparse.diags_array(root)
    if options.get("u0") is not None:  # as in a result
        options["u0"] = (np.reshape(options["u0"], (N, n)) / root).ravel()
    run = admm(
        x_update, z_update, sparse.block_diag([one] * N), -sparse.vstack([one] * N), 0.0, adaptive=adaptive, mu=2.0,
        tol_abs=tol_abs, tol_rel=tol_rel, **options,
    )  # fmt: skip
    x, z = run.x.reshape(N, n), run.z
    values, gradients = map(np.array, zip(*workers(_value_and_gradient, losses, [z] * N)))
    gradient, value = gradients.sum(axis=0), float(values.sum()) + objective.penalty(z)
    # copies that differ, and the step of a proximal gradient method, beside the lengths of z and of a step of one block
    t = 1 / (N * weights)
    steps = x - z, z - objective.penalty_prox(z - t * gradient, t)
    typical = largest(np.sqrt(np.square(gradients).mean(axis=0)) / root)
    length = max(largest(root * z), typical, 1e-6 * math.sqrt(abs(value)))
    copies, stationary = (ratio(largest(root * v), length) for v in steps)
    dual, gap = objective.dual_value(z, float(values.sum()), gradient), math.inf
    if math.isfinite(value - dual):
        gap = ratio(max(value - dual, 0.0), max(abs(value), abs(dual)))
    tolerance = 1e-6 if max(tol_abs, tol_rel) <= 1e-9 else 1e3 * max(tol_abs, tol_rel)
    # the residuals of ADMM have other units than those of the certificate: they differ by less than a thousand
    certificate = Certificate(copies, stationary, 0.0, gap, tolerance)
    if run.converged and not (certificate.ok or gap == math.inf):
        complain(
            f"ADMM met its tolerances, but the certificate misses {tolerance:g} ({certificate}): one of loss and "
            "penalty is lost in rounding beside the other; scale A and b, or change the penalty"
        )
    elsewhere = any(loss is block for loss, block in zip(losses, blocks))
    return replace(
        run, x=x, u=root * run.u.reshape(N, n), objective=value, certificate=certificate,
        problem=None if elsewhere else Problem("consensus", {"blocks": blocks, "objective": objective}),
    )  # fmt: skip


def _loss(objective: ConsensusObjective, i: int, block: Any) -> Any:
    """Return the loss of block i: made from its pair, which is checked, or what was given in place of a pair."""
    pair = isinstance(block, (tuple, list))
    if isinstance(block, np.ndarray) or (pair and len(block) != 2):
        raise TypeError(
            f"blocks must be a list of pairs (A_i, b_i); blocks[{i}] is of type "
            f"{type(block).__name__}. For a single block write [(A, b)]"
        )
    if not pair:
        return block
    A = as_matrix(block[0], f"A of blocks[{i}]")
    if not A.size:
        raise ValueError(f"A of blocks[{i}] is empty, its shape is {A.shape}; leave the block out")
    b = as_vector(block[1], f"b of blocks[{i}]", A.shape[0])
    try:
        return objective.block(A, b)
    except ValueError as error:
        raise ValueError(f"blocks[{i}]: {error}") from error


def _curvature(loss: SmoothLoss) -> np.ndarray:
    return np.broadcast_to(loss.curvature, loss.n)


def _prox(loss: SmoothLoss, v: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return loss.prox(v, weights)


def _value_and_gradient(loss: SmoothLoss, z: np.ndarray) -> tuple[float, np.ndarray]:
    return loss.value(z), loss.gradient(z)
