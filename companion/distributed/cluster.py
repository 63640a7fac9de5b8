r"""Consensus ADMM on the workers of a Dask cluster: who has which blocks, what is asked, and what if one is lost.

Blocks are ordinary futures, so that Dask computes them again when their worker dies. On each thread of a worker the
blocks there make a :class:`~companion.distributed.teams.Team`, which is tied to the worker. One question is one small
graph: the arguments go to one worker, the others fetch them from there; each team answers in one task; the answers are
added up in a tree on the cluster. What passes through the calling process does not depend on the number of blocks.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import Counter
from concurrent.futures import CancelledError
from typing import Any

from companion.distributed.rows import Objective, build_block, one_task_each
from companion.distributed.teams import RepeatedStepError, Team

__all__ = ["OnCluster", "StateLostError"]

_POLL_SECONDS = 0.5
_NO_WORKER_SECONDS = 300.0  # without any worker, then the run fails
_REPEATS = 3  # of one question, after the teams were lost
_BRANCHES = 8  # of the tree


class StateLostError(Exception):
    """The x_i and u_i of some blocks are gone; the blocks will be built again, the state is the caller's to restore."""


class OnCluster:
    """Teams on the workers of a cluster, as futures."""

    def __init__(self, given: Any, rows: list[Any], objective: Objective, client: Any) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise ImportError(
                "consensus(..., client=...) needs Dask, which is optional: "
                "pip install 'optimization-companion[distributed]', or pip install 'dask[array]' distributed"
            ) from error
        if not isinstance(client, Client) or client.asynchronous:
            raise TypeError(
                f"client must be a synchronous dask.distributed.Client, got {client!r:.80}"
            )
        self.client: Any = client
        self.rows, self.objective = one_task_each(given, rows), objective
        self.blocks: list[Any] = []
        self.teams: list[tuple[str, Any]] = []  # worker, future
        self.losses: Counter[str] = Counter()

    def total(self, method: str, *arguments: Any) -> Any:
        """Return the sum of what the teams answer, entry by entry."""
        return self._ask(method, arguments, add=True)[0]

    def each(self, method: str, *arguments: Any) -> list[Any]:
        """Return the answers about all blocks, in their order: each begins with the number of its block."""
        answers = self._ask(method, arguments, add=False)
        return sorted((item for part in answers for item in part), key=lambda item: item[0])

    def _ask(self, method: str, arguments: tuple[Any, ...], add: bool) -> list[Any]:
        self.last_seen = time.monotonic()
        try:
            if not self.teams:
                self._place_teams()
            steps, total = self._submit(method, arguments, add)
            answer = self._gather(total if add else steps, steps)
        except Exception as error:
            if not self._is_loss(error):
                raise
            self.losses[method] += 1
            self._recover(error, last=self.losses[method] > _REPEATS)
            raise StateLostError from error
        self.losses[method] = 0
        return answer

    # Questions.

    def _place_teams(self) -> None:
        """Build the blocks where they are not, and make a team of the blocks on each thread of a worker."""
        from dask import delayed

        if not self.blocks:
            build = delayed(build_block, pure=False)
            self.blocks = self.client.compute(
                [build(self.objective, i, *pair) for i, pair in enumerate(self.rows)]
            )
        self._gather(self.client.map(type, self.blocks, pure=False), [])  # wait for them
        holders, threads = self.client.who_has(self.blocks), self.client.nthreads()
        places: dict[str, list[int]] = {}
        for i, block in enumerate(self.blocks):
            if not holders[block.key]:
                raise CancelledError(f"block {i} has left its worker")
            places.setdefault(min(holders[block.key]), []).append(i)
        self.teams = []
        for address, here in places.items():
            n_teams = min(len(here), threads.get(address, 1))
            for numbers in (here[k::n_teams] for k in range(n_teams)):
                blocks = [self.blocks[i] for i in numbers]
                team = self.client.submit(Team, numbers, blocks, workers=[address], pure=False)
                self.teams.append((address, team))

    def _submit(
        self, method: str, arguments: tuple[Any, ...], add: bool
    ) -> tuple[list[Any], list[Any]]:
        """Return futures of the answers of the teams, and of their sum: one small graph."""
        import dask

        name = f"{method}-{uuid.uuid4().hex}"
        graph: dict[Any, Any] = {f"arguments-{name}": (tuple, list(arguments))}
        where: dict[Any, list[str]] = {}
        for i, (address, team) in enumerate(self.teams):
            graph[f"{name}-{i}"] = (_answer, team, method, f"arguments-{name}")
            where[f"{name}-{i}"] = [address]
        level = steps = list(where)
        while add and len(level) > 1:
            parts = [level[i : i + _BRANCHES] for i in range(0, len(level), _BRANCHES)]
            level = [f"sum-{name}-{len(graph) + i}" for i in range(len(parts))]
            graph |= {key: (_add, part) for key, part in zip(level, parts)}
        with dask.annotate(workers=lambda key: where.get(key, [])):
            futures = self.client.get(graph, [*steps, level[0]], sync=False)
        return futures[:-1], futures[-1:]

    def _gather(self, futures: list[Any], steps: list[Any]) -> list[Any]:
        """Return the results, however long they take to come here; fail when they cannot come any more."""

        async def gather() -> list[Any]:
            return await self.client.gather(futures, asynchronous=True)

        coming = asyncio.run_coroutine_threadsafe(gather(), self.client.loop.asyncio_loop)
        try:
            while True:
                try:
                    return coming.result(timeout=_POLL_SECONDS)
                except TimeoutError:
                    if coming.done():
                        raise  # a block's own time-out, not ours
                self._watch(steps)
        finally:
            coming.cancel()

    def _watch(self, steps: list[Any]) -> None:
        """Raise an error if what is waited for cannot come: no worker, or a team lost."""
        if self.client.status != "running":
            raise CancelledError("the connection to the scheduler is lost")
        threads = self.client.nthreads()
        if threads:
            self.last_seen = time.monotonic()
        elif time.monotonic() - self.last_seen >= _NO_WORKER_SECONDS:
            raise RuntimeError(f"the cluster has had no worker for {_NO_WORKER_SECONDS:g} s")
        if steps and not {address for address, _ in self.teams} <= set(threads):
            raise CancelledError("a worker is lost")

    # Losses.

    def _is_loss(self, error: Exception) -> bool:
        """Whether teams, futures or the scheduler are gone, and the error is not a block's own."""
        if (
            isinstance(error, (CancelledError, RepeatedStepError))
            or self.client.status != "running"
        ):
            return True
        return isinstance(error, OSError) and not self._scheduler_answers()  # as comms raise

    def _scheduler_answers(self) -> bool:
        try:
            self.client.nthreads()
        except Exception:
            return False
        return bool(self.client.status == "running")

    def _recover(self, error: Exception, last: bool) -> None:
        """Wait for the client to connect again and forget the teams, or say why that does not help."""
        while self.client.status == "connecting":
            time.sleep(0.05)
        if not self._scheduler_answers():
            raise RuntimeError(
                "the connection to the cluster's scheduler is lost "
                f"(the client's status is {self.client.status!r})"
            ) from error
        if last:
            raise RuntimeError(
                f"the blocks were lost {_REPEATS + 1} times in one step; Dask can't make futures of client.scatter "
                "again, nor persisted ones after a restart: give dask.delayed loaders, collections or arrays"
            ) from error
        self.teams = []
        if any(block.cancelled() for block in self.blocks):
            self.blocks = []


def _answer(team: Team, method: str, arguments: tuple[Any, ...]) -> Any:
    return getattr(team, method)(*arguments)


def _add(answers: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(sum(parts) for parts in zip(*answers))
