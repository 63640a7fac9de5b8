r"""Global consensus ADMM: one model, the rows of the data in N places.

The problem is

.. math:: \min_x \; \sum_{i=1}^N f_i(x) + g(x),

where the loss :math:`f_i` is made from a block of rows :math:`(A_i, b_i)` and g is the penalty. Give each block
its own copy :math:`x_i` and ask that all copies agree with one z:

.. math:: \min_{x_1, \dots, x_N, z} \; \sum_{i=1}^N f_i(x_i) + g(z) \quad \text{s.t.} \quad x_i - z = 0.

This is the form of :func:`companion.admm.splitting.admm`, with A = 1 and B minus a stack of identities. The
x-update falls apart into N proximal steps that need one block each; the z-update needs only the mean of the
:math:`x_i + u_i`. So a step is written here once more, for the same loop: the :math:`x_i` and :math:`u_i` stay where
the rows are, and the norms of the stopping rule are made from sums. The constraint is weighted by columns, so that the
units of a column do not matter.

What is minimised is a :class:`~companion.admm.objectives.ConsensusObjective`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from companion.admm.loop import repeat
from companion.admm.objectives import ConsensusObjective, LeastSquaresObjective
from companion.admm.splitting import LOGGED, Iterate, Rule
from companion.arithmetic import beyond, largest, ratio
from companion.checks import as_scalar, as_vector, check_count
from companion.distributed.cluster import OnCluster, StateLostError
from companion.distributed.rows import blocks_of_rows
from companion.distributed.teams import InProcess
from companion.exceptions import ConvergenceWarning
from companion.results import ADMMResult, Certificate, Problem

__all__ = ["consensus"]

# No exact finish follows: three digits fewer than the loop is asked for.
_CERTIFICATE_TOLERANCE = 1e-6
# ADMM measures residuals in other units than the certificate: it may miss this many tolerances.
_EXPLAINED = 1e3
_EXPECTED = 300  # iterations; real columns, which are correlated, take hundreds and more


def consensus(
    blocks: Any,
    objective: ConsensusObjective,
    *,
    method: str = "auto",
    rho: float = 1.0,
    adaptive: bool = True,
    tol_abs: float = 1e-9,
    tol_rel: float = 1e-9,
    max_iter: int = 10_000,
    client: Any = None,
    warm_start: ADMMResult | Iterate | None = None,
    callback: Callable[[Iterate], Any] | None = None,
) -> ADMMResult:
    r"""Minimise :math:`\sum_i f_i(x) + g(x)`, each loss :math:`f_i` made from its own block of rows.

    The rows stay where they are. In each iteration z goes out and the sum of the :math:`x_i + u_i` comes back:

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
    method : {"auto", "admm", "sums"}
        ``"admm"`` is the iteration. ``"sums"`` is for the quadratic losses of ridge and lasso: the
        :math:`A_i^\top A_i` and :math:`A_i^\top b_i` are added up once, and the problem with n rows that they make is
        solved here, exactly. ``"auto"`` takes the sums on a cluster when they are fewer numbers, n (n + 3) / 2, than
        300 iterations send and receive, 2 n each, which is n < 1,197. An argument that speaks of iterations,
        `warm_start` or `callback`, asks for ADMM.
    rho : float
        Penalty parameter at the start, > 0, in units of the curvature: 1 fits most data.
    adaptive : bool
        Whether rho is balanced on the way: doubled or halved where one residual is more than twice the other. Each new
        rho costs one factorisation per block.
    tol_abs, tol_rel : float
        Tolerances of the stopping rule of :func:`companion.admm.admm`.
    max_iter : int
        Largest number of iterations.
    client : dask.distributed.Client, optional
        Where the blocks live; this process by default. The workers need this package installed.
    warm_start : ADMMResult or Iterate, optional
        An earlier result, or what `callback` was called with: the run goes on from its z and rho, whatever became of
        the cluster or the process that it comes from. (After ``np.savez("run", z=step.z, rho=step.rho)`` in the
        callback it is ``np.load("run.npz").f``.)
    callback : callable, optional
        Called with an :class:`~companion.admm.splitting.Iterate` after each iteration; the run stops when it returns
        True. In one process its x and u are the stacks of all :math:`x_i` and :math:`\sqrt{d} \, u_i`; on a cluster
        these stay on the workers, and x and u are empty.

    Returns
    -------
    ADMMResult
        `z` of shape (n,) is the answer. `x` and `u` of shape (N, n) have one row per block, collected once at the end;
        ``rho * u[i]`` is the multiplier of :math:`x_i = z`, which is :math:`-\nabla f_i(x_i)`. `objective`
        is :math:`\sum_i f_i(z) + g(z)`,
        computed from the rows; in `history` it has :math:`f_i(x_i)`. `certificate` has the disagreement of the
        :math:`x_i` with z, the length of a proximal gradient step from z, and the duality gap, from one last sum over
        the blocks. Its complementarity is 0: the dual point is made from z. `status` is ``"solved from the sums"``,
        with 0 iterations, where that road was taken. `problem` has the blocks;
        None if they live on a cluster.

    Warns
    -----
    ConvergenceWarning
        When `max_iter` is reached, or the certificate misses its tolerance although `tol_abs` and `tol_rel` do not
        exceed it. (An objective without a conjugate has no finite gap, and no warning.)

    Raises
    ------
    ValueError, TypeError
        If there is no block, a block is empty or not a pair, the blocks have different numbers of columns, an entry
        is not finite, or b does not fit the objective. The message names the block.
    ImportError
        If `client` is given and ``dask.distributed`` is not installed.
    RuntimeError
        If the cluster is gone, has had no worker for five minutes, or lost a block that it cannot compute again.

    Notes
    -----
    Source: named at the end of Section 16.8; Boyd et al. (2010), Sections 7.1 and 8.2.

    The weights d make the iteration indifferent to the units of the columns, not to columns that are nearly
    collinear: these slow it down, as every first-order method; with a factor that is common to all columns it takes
    thousands of steps. Centre the columns before you split the rows, take the sums where n allows it.

    **What travels.** The calling process sends z once per iteration and receives one sum, 2 n numbers however many
    blocks there are. The workers pass z on, and add up the :math:`x_i + u_i` in a tree. The weights d travel once.
    A block is loaded and prepared in one task, on one worker, and stays there. Collections whose chunks share work,
    after a shuffle or ``rechunk``, are the exception: dask moves these chunks once, before the first step.

    **Losing a worker.** A block is an ordinary dask future, so that dask computes it again, from its source, on
    another worker when its worker dies. The :math:`x_i` and :math:`u_i` there are lost; the calling process has z and
    rho. All blocks then begin again at :math:`x_i = z` with the multipliers that belong to it,
    :math:`u_i = -\nabla f_i(z) / (\rho d)`, the interrupted step is repeated, and the run goes on: by other steps, to
    the same answer. Futures made by ``client.scatter`` are lost with their worker: give ``dask.delayed`` loaders
    instead. Arrays of this process are sent once, and the scheduler keeps them so that it can send them again; for
    large data let the workers load their own rows.

    **Losing the scheduler.** When the scheduler is started again at its address, or the cluster is restarted, the
    client connects anew, the blocks are built again, and the run goes on in the same way. When the client gives up
    (its own `timeout`), the run fails and says so. A new run, on any cluster or on none, goes on
    from the last step that a `callback` kept; the answer is the same up to the tolerances.

    **A slow block.** The iteration is synchronous: its answer does not depend on who is fast, its time is that of the
    slowest thread of a worker, which steps through its blocks in turn. A slow network is waited for.

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
    if method not in ("auto", "admm", "sums"):
        raise ValueError(f"method must be 'auto', 'admm' or 'sums', got {method!r}")
    if method == "sums" and not isinstance(objective, LeastSquaresObjective):
        name = type(objective).__name__
        raise ValueError(f"method 'sums' needs a LeastSquaresObjective, and {name} is none")
    rho, rows = as_scalar(rho, "rho", above=0), blocks_of_rows(blocks)
    teams: Any = (
        InProcess(rows, objective) if client is None else OnCluster(blocks, rows, objective, client)
    )
    problem = None if client else Problem("consensus", {"blocks": rows, "objective": objective})
    run = _Run(teams, objective, rho, problem)
    if warm_start is not None:
        run.z = as_vector(warm_start.z, "z of warm_start", run.n)
        run.rho = as_scalar(warm_start.rho, "rho of warm_start", above=0)
    fewer = client is not None and (run.n + 3) / 2 < 2 * _EXPECTED
    steps_wanted = method == "admm" or not (warm_start is callback is None)
    if isinstance(objective, LeastSquaresObjective) and (
        method == "sums" or (fewer and not steps_wanted)
    ):
        run.z = objective.from_sums(*run.sums())
        run.begin()
        result = run.result("solved from the sums", {name: np.zeros(0) for name in LOGGED})
        _warn_if_missed(result, 0.0)
        return result

    run.begin(warm=warm_start is not None)
    adapt_steps = check_count(max_iter, "max_iter") // 2 if adaptive else 0
    rule = Rule(run.N * run.n, run.N * run.n, tol_abs, tol_rel, steps=adapt_steps, mu=2.0)

    def step(k: int) -> tuple[str, tuple[float, ...]]:
        taken = run.step()
        if taken is None:
            return "diverged", ()
        r, s, r_size, s_size, value = taken
        row = (r, s, value, run.rho)
        if rule.holds(r, s, r_size, s_size):
            return "converged", row
        if callback is not None and callback(run.iterate(k, r, s)):
            return "stopped by callback", row
        run.rescale(rule.factor(k, r, s))
        return "", row

    status, history = repeat(step, LOGGED, max_iter, "another rho may help", stacklevel=3)
    result = run.result(status, history)
    if status == "converged":
        _warn_if_missed(result, max(tol_abs, tol_rel))
    return result


class _Run:
    """The calling process's side of a run: z, rho, the mean of the u_i, and questions to those who have the rest."""

    def __init__(
        self, teams: Any, objective: ConsensusObjective, rho: float, problem: Problem | None
    ) -> None:
        self.teams, self.objective, self.problem = teams, objective, problem
        self.turn, self.begun = 0, False
        columns = self.ask("columns", each=True)
        self.N, self.n = len(columns), columns[0][1]
        for i, n in columns:
            if n != self.n:
                raise ValueError(
                    "all blocks must have the same number of columns, "
                    f"got {self.n} in blocks[0] and {n} in blocks[{i}]"
                )
        d = self.ask("curvature")[0] / self.N
        self.d = np.where(d > 0, d, d[d > 0].mean() if (d > 0).any() else 1.0)
        self.z, self.rho = np.zeros(self.n), rho

    def ask(self, method: str, *arguments: Any, each: bool = False) -> Any:
        """Return the sum of the answers, or all of them; where teams are lost, restore them and ask again."""
        while True:
            try:
                return (self.teams.each if each else self.teams.total)(method, *arguments)
            except StateLostError:
                if self.begun and method != "begin":
                    self.begin()

    def begin(self, warm: bool = True) -> None:
        """Let all blocks begin at z, with u = 0 or the multipliers that belong to z."""
        (u,) = self.ask("begin", self.turn, self.d, self.z, self.rho, warm)
        self.u_mean, self.begun = u / self.N, True

    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of the A'A and of the A'b."""
        upper, Atb = self.ask("sums")
        AtA = np.zeros((self.n, self.n))
        AtA[np.triu_indices(self.n)] = upper
        return AtA + np.triu(AtA, 1).T, Atb

    def step(self) -> tuple[float, float, float, float, float] | None:
        """Take a step; return the norms of r and s, what they are compared with, and the objective; None if not finite.

        The norms over all blocks are made from sums of squares about the z before, which is known where they are
        added: about x_i - z nothing cancels, since x_i - z and z - z_before become small together.
        """
        N, d, before, rho = self.N, self.d, self.z, self.rho
        w, (loss, y, x, v) = self.ask("step", self.turn + 1, before, rho)
        self.turn += 1
        z = self.objective.penalty_prox(w / N, 1 / (N * rho * d))
        u_mean = w / N - z
        moved, off = z - before, w / N - self.u_mean - before  # mean of x - before
        r = y + N * (d @ (moved * (moved - 2 * off)))
        s = N * (d**2 @ moved**2)
        u = v + d**2 @ (moved * (N * moved - 2 * (w - N * before)))
        if not np.isfinite([r, s, u]).all():
            self.begin()
            return None
        self.z, self.u_mean = z, u_mean
        r, s, u, x, Bz = (math.sqrt(max(square, 0.0)) for square in (r, s, u, x, N * (d @ z**2)))
        return r, rho * s, max(x, Bz), rho * u, float(loss + self.objective.penalty(z))

    def rescale(self, factor: float) -> None:
        """Multiply rho, divide the u_i; the teams learn of it with the next step."""
        self.rho, self.u_mean = factor * self.rho, self.u_mean / factor

    def iterate(self, k: int, r: float, s: float) -> Iterate:
        """Return what a callback sees."""
        x = u = np.empty((0, self.n))
        if self.problem is not None:
            x, u = self.state()
        return Iterate(k, x.ravel(), self.z, (u * np.sqrt(self.d)).ravel(), self.rho, r, s)

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the x_i and the u_i."""
        _, x, u = zip(*self.ask("state", self.z, self.rho, each=True))
        return np.array(x), np.array(u)

    def result(self, status: str, log: dict[str, np.ndarray]) -> ADMMResult:
        """Return the result with its certificate, from one more sum over the blocks."""
        loss, gradient, squares = self.ask("loss_and_gradient", self.z)
        x, u = self.state()
        certificate = self._certify(x, loss, gradient, np.sqrt(squares / self.N))
        n_iter = len(log["rho"])
        return ADMMResult(
            x, self.z, self.d * u, float(self.rho), float(loss + self.objective.penalty(self.z)), n_iter,
            status == "converged" or (n_iter == 0 and certificate.ok), status, log, certificate, self.problem,
        )  # fmt: skip

    def _certify(
        self, x: np.ndarray, loss: float, gradient: np.ndarray, typical: np.ndarray
    ) -> Certificate:
        """Return how far the copies differ, z is from stationary, and the objective is from its lower bound.

        Lengths are compared with that of z, or of the `typical` gradient of a block. In units of the columns all have
        the unit of sqrt(f). Neither a solution z = 0 nor gradients that cancel make what they are compared with 0.
        """
        z, root, t = self.z, np.sqrt(self.d), 1 / (self.N * self.d)
        step = z - self.objective.penalty_prox(z - t * gradient, t)
        primal = loss + self.objective.penalty(z)
        dual = self.objective.dual_value(z, loss, gradient)
        gap = math.inf
        if math.isfinite(primal - dual):
            gap = ratio(max(primal - dual, 0.0), max(abs(primal), abs(dual)))
        length = max(largest(root * z), largest(typical / root), 1e-6 * math.sqrt(abs(primal)))
        copies, stationary = (ratio(largest(root * v), length) for v in (x - z, step))
        return Certificate(copies, stationary, 0.0, gap, _CERTIFICATE_TOLERANCE)


def _warn_if_missed(result: ADMMResult, tol: float) -> None:
    """Warn about an answer that ADMM takes for one, if its tolerance does not explain what the certificate misses.

    An infinite gap is that of a penalty without a conjugate.
    """
    assert result.certificate is not None
    level = max(result.certificate.tolerance, _EXPLAINED * tol)
    if level < result.certificate.worst < math.inf:
        warnings.warn(
            f"ADMM met its tolerances, but the certificate misses {beyond(np.inf, level)[1]} ({result.certificate}): "
            "one of loss and penalty is lost in rounding beside the other; scale A and b, or change the penalty",
            ConvergenceWarning,
            stacklevel=3,
        )
