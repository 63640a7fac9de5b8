r"""The blocks of one place, and what changes there: the copies :math:`x_i` and the multipliers :math:`u_i`.

A :class:`Team` answers for all its blocks at once. :class:`InProcess` is the one team of a run without a cluster. Its
methods are those of :class:`companion.distributed.cluster.OnCluster`: ``total`` adds up what the teams answer, ``each``
returns their answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from companion.distributed.rows import Objective, build_block, is_lazy

__all__ = ["InProcess", "Team"]


class Team:
    """Some of the blocks, with their numbers.

    Between two steps a team keeps w = x + u; the u of the next step is w - z.
    """

    def __init__(self, numbers: Sequence[int], blocks: Sequence[Any]) -> None:
        self.numbers, self.blocks = list(numbers), list(blocks)

    def columns(self) -> list[tuple[int, int]]:
        """Return the number of each block and of its columns."""
        return [(i, block.n) for i, block in zip(self.numbers, self.blocks)]

    def curvature(self) -> tuple[np.ndarray]:
        """Return the sum of the curvatures."""
        return (np.sum([block.curvature for block in self.blocks], axis=0),)

    def sums(self) -> tuple[Any, Any]:
        """Return the upper half of the sum of the A'A, row by row, and the sum of the A'b."""
        AtA, Atb = zip(*(block.sums() for block in self.blocks))
        upper = np.triu_indices(len(Atb[0]))
        return sum(part[upper] for part in AtA), sum(Atb)

    def begin(
        self, turn: int, d: np.ndarray, z: np.ndarray, rho: float, warm: bool
    ) -> tuple[np.ndarray]:
        r"""Begin at x_i = z; return the sum of the u_i.

        They are 0, or :math:`u_i = -\nabla f_i(z) / (\rho d)`, which belong to a z that is known; d are the weights of
        the columns.
        """
        self.turn, self.d, self.rho = turn, d, rho
        self.x = np.tile(z, (len(self.blocks), 1))
        u = -self._gradients(z) / (rho * d) if warm else 0 * self.x
        self.w = self.x + u
        return (u.sum(axis=0),)

    def step(self, turn: int, z: np.ndarray, rho: float) -> tuple[np.ndarray, np.ndarray]:
        r"""End a step with its z, take the next one up to its :math:`w_i = x_i + u_i`, and return their sum.

        The second part of the answer are the sums of :math:`f_i(x_i)`, of the squares of x_i - z weighted by d, of
        those of x_i weighted by d, and of w_i - z weighted by d^2: the norms of ADMM are made from them.
        """
        if turn != self.turn + 1:
            raise RepeatedStepError(f"step {turn} after step {self.turn}")
        d, u = self.d, (self.rho / rho) * (self.w - z)
        with np.errstate(over="ignore", invalid="ignore"):
            x = np.array([b.prox(z - u_i, rho * d) for b, u_i in zip(self.blocks, u)])
            loss = sum(block.estimate(x_i) for block, x_i in zip(self.blocks, x))
            self.turn, self.rho, self.x, self.w = turn, rho, x, x + u
            y, xx, v = (np.square(a).sum(axis=0) for a in (x - z, x, self.w - z))
            return self.w.sum(axis=0), np.array([loss, d @ y, d @ xx, d**2 @ v])

    def loss_and_gradient(self, z: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the sums of f_i(z), of its gradients, and of their squares."""
        gradients = self._gradients(z)
        loss = sum(block.value(z) for block in self.blocks)
        return loss, gradients.sum(axis=0), np.square(gradients).sum(axis=0)

    def _gradients(self, z: np.ndarray) -> np.ndarray:
        return np.array([block.gradient(z) for block in self.blocks])

    def state(self, z: np.ndarray, rho: float) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Return the number, x and u of each block, for the last z and rho."""
        return list(zip(self.numbers, self.x, (self.rho / rho) * (self.w - z)))


class RepeatedStepError(RuntimeError):
    """A step that a team has taken already, or not been prepared for."""


class InProcess:
    """All blocks in this process."""

    def __init__(self, rows: list[Any], objective: Objective) -> None:
        if any(is_lazy(part) for pair in rows for part in pair):
            raise TypeError(
                "blocks holds dask objects; client=dask.distributed.Client(...) runs them"
            )
        blocks = [build_block(objective, i, *pair) for i, pair in enumerate(rows)]
        self.team = Team(range(len(rows)), blocks)

    def total(self, method: str, *arguments: Any) -> Any:
        """Return what the team answers."""
        return getattr(self.team, method)(*arguments)

    def each(self, method: str, *arguments: Any) -> list[Any]:
        """Return the answers about all blocks."""
        return list(getattr(self.team, method)(*arguments))
