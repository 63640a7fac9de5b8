r"""Global consensus ADMM: one model, the rows of the data in N places.

The problem is

.. math:: \min_x \; \sum_{i=1}^N f_i(x) + g(x),

where the loss :math:`f_i` is made from a block of rows :math:`(A_i, b_i)` and g is the penalty. Give each block
its own copy :math:`x_i` and ask that all copies agree with one z:

.. math:: \min_{x_1, \dots, x_N, z} \; \sum_{i=1}^N f_i(x_i) + g(z) \quad \text{s.t.} \quad x_i - z = 0.

This is a problem for :func:`companion.admm.admm`, with all copies stacked in place of x. The x-update falls apart into
N proximal steps that need one block each; the z-update needs only the mean of the :math:`x_i + u_i`. The constraint is
weighted by columns, so that the units of a column do not matter.

The losses are those of :mod:`companion.admm.losses`, one for each block, and the penalty is a small object.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from companion.admm.losses import SmoothLoss, half_square
from companion.admm.proximal import soft_threshold
from companion.admm.splitting import admm, complain
from companion.arguments import check_kind
from companion.arithmetic import largest
from companion.checks import as_array, as_scalar, as_vector
from companion.engine.certificate import certify_terms, relative, rounding_of_a_sum
from companion.results import ADMMResult, Problem, Record


class RidgePenalty(Record):
    r"""The penalty :math:`g(z) = \frac{K}{2}\|z\|_2^2`.

    Parameters
    ----------
    K : float
        Weight, > 0. With least squares the minimiser is that of the text's :math:`\|b - Ax\|_2^2 + K\|x\|_2^2`
        (Section 19.1, program (RR1) without intercept).
    """

    K: float

    def __post_init__(self) -> None:
        as_scalar(self.K, "K", above=0)

    def value(self, z: np.ndarray) -> float:
        """Return g(z)."""
        return self.K * half_square(z)

    def prox(self, v: np.ndarray, t: np.ndarray) -> np.ndarray:
        r"""Return :math:`\arg\min_z g(z) + \sum_j (z_j - v_j)^2 / (2 t_j)`, which is v / (1 + K t)."""
        return v / (1 + self.K * t)

    def dual(self, s: np.ndarray) -> tuple[float, float]:
        r"""Return a number t from 0 to 1 and the conjugate :math:`g^*(t s)`: here 1 and :math:`\|s\|_2^2 / (2K)`."""
        return 1.0, half_square(s) / self.K


class L1Penalty(Record):
    r"""The penalty :math:`g(z) = \tau\|z\|_1`.

    Parameters
    ----------
    tau : float
        Weight, > 0. With least squares this is the lasso of Section 16.8(4), and program (lasso1) of Section 19.4.
    """

    tau: float

    def __post_init__(self) -> None:
        as_scalar(self.tau, "tau", above=0)

    def value(self, z: np.ndarray) -> float:
        """Return g(z)."""
        return self.tau * float(np.abs(z).sum())

    def prox(self, v: np.ndarray, t: np.ndarray) -> np.ndarray:
        r"""Return the soft thresholding :math:`S_{\tau t}(v)`."""
        return soft_threshold(v, self.tau * t)

    def dual(self, s: np.ndarray) -> tuple[float, float]:
        r"""Return the largest t at which :math:`g^*(t s)` is finite, and its value, 0."""
        return self.tau / max(self.tau, largest(s)), 0.0


def consensus(
    losses: Sequence[Any], penalty: Any, *, workers: Callable[..., Any] = map, adaptive: bool = True,
    tol_abs: float = 1e-9, tol_rel: float = 1e-9, **options: Any,
) -> ADMMResult:  # fmt: skip
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
    losses : list of SmoothLoss
        One for each block, such as ``LeastSquaresLoss(A_i, b_i)``, or what `workers` takes for one, such as a future.
    penalty : RidgePenalty, L1Penalty or your own
        What has the methods of :class:`RidgePenalty`. Its `dual` serves the certificate; ``(1, inf)`` is always right,
        and then the gap is infinite and proves nothing. The penalty is a sum over the coordinates.
    workers : callable
        Map-like, as in :func:`scipy.optimize.differential_evolution`: the N proximal steps of an iteration are one call
        ``workers(step, losses, v, weights)``, by default in this process, one after the other. The ``map`` of an
        executor of ``concurrent.futures`` makes them at the same time. All that is asked of a block goes this way,
        so that a block can stay elsewhere.
    adaptive : bool
        Whether rho is balanced on the way, with mu = 2. Each new rho costs one factorisation per block.
    tol_abs, tol_rel : float
        Tolerances of the stopping rule of :func:`companion.admm.admm`; a thousandth of them, in a second run, where
        the certificate asks for more digits, as of a penalty that is faint beside the losses.
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
        When `max_iter` is reached, or the certificate misses its tolerance all the same. (A penalty without a
        conjugate has no finite gap, and no warning.)

    Raises
    ------
    ValueError, TypeError
        If there is no loss, or the losses have different numbers of columns.

    Notes
    -----
    Source: named at the end of Section 16.8; Boyd et al. (2010), Sections 7.1 and 8.2.

    The certificate's lower bound of the minimum, for every t from 0 to 1 and losses that are not negative, is the value
    :math:`t (f(z) - z^\top \nabla f(z)) - g^*(-t \nabla f(z))` of the Fenchel dual: no block need send more than its
    loss and gradient.

    The weights d make the iteration indifferent to the units of the columns, not to columns that are nearly
    collinear: these slow it down, as every first-order method; with a factor that is common to all columns it takes
    thousands of steps. Centre the columns before you split the rows. For ridge and lasso the sums of the
    :math:`A_i^\top A_i` and :math:`A_i^\top b_i` are another way, which needs no iteration.

    With Dask the losses are made on the workers and stay there::

        losses = client.map(LeastSquaresLoss, As, bs)
        consensus(losses, L1Penalty(tau), workers=lambda f, *a: client.gather(client.map(f, *a)))

    Examples
    --------
    The lasso with ten rows in two blocks of unequal size.

    >>> import numpy as np
    >>> from companion.admm import L1Penalty, LeastSquaresLoss, RidgePenalty, consensus
    >>> A = np.vander(np.linspace(-1, 1, 10), 4, increasing=True)
    >>> b = A @ np.array([1.0, 0.0, -2.0, 0.0])
    >>> losses = [LeastSquaresLoss(A[:3], b[:3]), LeastSquaresLoss(A[3:], b[3:])]
    >>> result = consensus(losses, L1Penalty(tau=0.1))
    >>> print(result.z.round(4) + 0.0)
    [ 0.9455  0.     -1.8907  0.    ]
    >>> result.converged, result.certificate.ok
    (True, True)

    Least squares with :math:`x \ge 0`, a penalty that is not in this module. Its proximal operator is the projection.

    >>> class Nonnegative:
    ...     def value(self, z):
    ...         return 0.0 if (z >= 0).all() else np.inf
    ...     def prox(self, v, t):
    ...         return np.maximum(v, 0)
    ...     def dual(self, s):
    ...         return 1.0, 0.0 if (s <= 1e-9).all() else np.inf
    >>> rows = [LeastSquaresLoss([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]), LeastSquaresLoss([[1.0, 0.0]], [0.0])]
    >>> print(consensus(rows, Nonnegative()).z.round(4))
    [0.  0.3]
    """
    check_kind(losses, "losses", "a list of at least one loss", len)
    own = "an L1Penalty, a RidgePenalty or your own with the same methods"
    check_kind(penalty, "penalty", own, lambda g: g.value and g.prox and g.dual)
    N, d = len(losses), list(check_kind(workers, "workers")(_curvature, losses))
    if len(sizes := {d_i.size for d_i in d}) > 1:
        raise ValueError(f"all losses must have the same number of columns, got {sorted(sizes)}")
    weights = np.mean(d, axis=0)
    positive = weights > 0
    weights = np.where(positive, weights, weights[positive].mean() if positive.any() else 1.0)
    n, root = weights.size, np.sqrt(weights)

    def x_update(v: np.ndarray, rho: float) -> np.ndarray:
        return np.hstack(list(workers(_prox, losses, v.reshape(N, n) / root, [rho * weights] * N)))

    def z_update(v: np.ndarray, rho: float) -> np.ndarray:
        return penalty.prox(-(v.reshape(N, n) / root).mean(axis=0), 1 / (N * rho * weights))

    one = sparse.diags_array(root)
    u0 = options.get("u0")
    if u0 is not None:  # as in a result
        u0 = as_vector(as_array(u0, "u0").ravel(), "u0", N * n) / np.tile(root, N)
    run = admm(
        x_update, z_update, sparse.block_diag([one] * N), -sparse.vstack([one] * N), 0.0, adaptive=adaptive, mu=2.0,
        tol_abs=tol_abs, tol_rel=tol_rel, **options | {"u0": u0},
    )  # fmt: skip
    x, z = run.x.reshape(N, n), run.z
    values, gradients = map(np.array, zip(*workers(_value_and_gradient, losses, [z] * N)))
    gradient, value = gradients.sum(axis=0), float(values.sum()) + penalty.value(z)
    # copies that differ, and the step of a proximal gradient method. A loss f >= 0 of curvature L has no slope above
    # sqrt(2 f L): that bounds the terms of the gradient, and sqrt(2 f / N) those of its step
    t = 1 / (N * weights)
    step, length = z - penalty.prox(z - t * gradient, t), math.sqrt(2 * float(values.sum()) / N)
    copies, stationary = (relative(root * v, largest(root * z) + length) for v in (x - z, step))
    scale, conjugate = penalty.dual(-gradient)
    rounding = rounding_of_a_sum(n) * (value + float(np.abs(gradient) @ np.abs(z)) + conjugate)
    gap = value - scale * float(values.sum() - z @ gradient) + conjugate + rounding
    tolerance = 1e-6 if max(tol_abs, tol_rel) <= 1e-9 else 1e3 * max(tol_abs, tol_rel)
    # the residuals of ADMM have other units than those of the certificate: they differ by less than a thousand
    certificate = certify_terms(0.0, gap, value, tolerance, primal=copies, dual=stationary)
    if run.converged and not (certificate.ok or math.isinf(gap)):
        if max(tol_abs, tol_rel) > 1e-12:  # the gradient of a faint penalty needs more digits
            options |= {"tol_abs": 1e-3 * tol_abs, "tol_rel": 1e-3 * tol_rel}
            return consensus(losses, penalty, workers=workers, adaptive=adaptive, **options)
        complain(
            f"ADMM met its tolerances, but the certificate misses {tolerance:g} ({certificate}): one of loss and "
            "penalty is lost in rounding beside the other; scale A and b, or change the penalty"
        )
    here = all(isinstance(loss, SmoothLoss) for loss in losses)  # or the workers know their names
    return replace(
        run, x=x, u=root * run.u.reshape(N, n), objective=value, certificate=certificate,
        problem=Problem("consensus", {"losses": losses, "penalty": penalty}) if here else None,
    )  # fmt: skip


def _curvature(loss: SmoothLoss) -> np.ndarray:
    check_kind(loss, "each of losses", "a SmoothLoss", lambda loss: isinstance(loss, SmoothLoss))
    return np.broadcast_to(loss.curvature, loss.n)


def _prox(loss: SmoothLoss, v: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return loss.prox(v, weights)


def _value_and_gradient(loss: SmoothLoss, z: np.ndarray) -> tuple[float, np.ndarray]:
    return loss.value(z), loss.gradient(z)
