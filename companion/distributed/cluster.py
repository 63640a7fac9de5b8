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
from typing import TYPE_CHECKING, Any

import numpy as np

from companion.checks import as_scalar
from companion.distributed.rows import build_block, one_source_each
from companion.distributed.teams import RepeatedStepError, Team

if TYPE_CHECKING:
    from companion.admm.objectives import ConsensusObjective

__all__ = ["OnCluster", "StateLostError"]

_POLL_SECONDS = 0.5
_REPEATS = 3  # of one question, after the teams were lost
_BRANCHES = 8  # of the tree


class StateLostError(Exception):
    """The x_i and u_i of some blocks are gone; the blocks will be built again, the state is the caller's to restore."""


class OnCluster:
    """Teams on the workers of a cluster, as futures."""

    def __init__(
        self,
        given: Any,
        rows: list[tuple[Any, ...]],
        objective: ConsensusObjective,
        client: Any,
        worker_timeout: float,
        block_timeout: float | None,
    ) -> None:
        try:
            from distributed import Client
            from distributed.client import futures_of
        except ImportError as error:
            raise ImportError(
                "consensus(..., client=...) needs Dask, which is optional: "
                "pip install 'companion[distributed]', or pip install 'dask[array]' distributed"
            ) from error
        if not isinstance(client, Client) or client.asynchronous:
            raise TypeError(
                "client must be a synchronous dask.distributed.Client, "
                f"got {'an asynchronous one' if isinstance(client, Client) else type(client)}"
            )
        self.client: Any = client
        self.worker_timeout = as_scalar(worker_timeout, "worker_timeout", above=0)
        self.block_timeout = (
            np.inf if block_timeout is None else as_scalar(block_timeout, "block_timeout", above=0)
        )
        self.objective = objective
        self.futures = futures_of(given)  # of the caller; what they hold, no graph can make again
        self.sources = rows if self.futures else one_source_each(rows)
        self.blocks: list[Any] | None = None
        self.teams: list[tuple[str, list[int], Any]] = []  # worker, numbers of the blocks, future
        self.losses: Counter[str] = Counter()

    def total(self, method: str, *arguments: Any) -> Any:
        """Return the sum of what the teams answer, entry by entry."""
        return self._ask(method, arguments, add=True)

    def each(self, method: str, *arguments: Any) -> list[Any]:
        """Return the answers about all blocks, in the order of the blocks where they begin with a number."""
        answers = [item for part in self._ask(method, arguments, add=False) for item in part]
        return (
            sorted(answers, key=lambda item: item[0]) if isinstance(answers[0], tuple) else answers
        )

    def _ask(self, method: str, arguments: tuple[Any, ...], add: bool) -> Any:
        from distributed import KilledWorker

        self.last_seen = time.monotonic()
        try:
            if not self.teams:
                self._place_teams()
            steps, total = self._submit(method, arguments, add)
            answer = self._gather(total if add else steps, steps)
        except KilledWorker as error:
            raise RuntimeError(
                f"the workers that ran {error.task} died again and again; "
                "does a block fit into the memory of a worker?"
            ) from error
        except Exception as error:
            if not self._is_loss(error):
                raise
            self.losses[method] += 1
            self._recover(error, last=self.losses[method] > _REPEATS)
            raise StateLostError from error
        self.losses[method] = 0
        return answer[0] if add else answer

    # Questions.

    def _place_teams(self) -> None:
        """Build the blocks where they are not, and make a team of the blocks on each thread of a worker."""
        from dask import delayed
        from distributed import wait

        if self.blocks is None:
            build = delayed(build_block, pure=False)
            self.blocks = self.client.compute(
                [build(self.objective, i, *source) for i, source in enumerate(self.sources)]
            )
        waiting = True
        while waiting:
            try:
                with self.client.as_current():
                    waiting = bool(wait(self.blocks, timeout=_POLL_SECONDS).not_done)
            except TimeoutError:
                self._watch([], 0.0)
        for block in self.blocks:
            if block.status == "error":
                block.result()
        holders, threads = self.client.who_has(self.blocks), self.client.nthreads()
        places: dict[str, list[int]] = {}
        for i, block in enumerate(self.blocks):
            if not holders[block.key]:
                raise CancelledError(f"block {i} has left its worker")
            places.setdefault(min(holders[block.key]), []).append(i)
        teams = []
        for address, here in places.items():
            n_teams = min(len(here), threads.get(address, 1))
            for numbers in (here[k::n_teams] for k in range(n_teams)):
                blocks = [self.blocks[i] for i in numbers]
                team = self.client.submit(Team, numbers, blocks, workers=[address], pure=False)
                teams.append((address, numbers, team))
        self.teams = teams

    def _submit(
        self, method: str, arguments: tuple[Any, ...], add: bool
    ) -> tuple[list[Any], list[Any]]:
        """Return futures of the answers of the teams, and of their sum where it is wanted."""
        import dask

        name = f"{method}-{uuid.uuid4().hex}"
        shared = f"arguments-{name}"
        graph: dict[Any, Any] = {shared: (_Arguments, list(arguments))}
        where: dict[Any, list[str]] = {shared: []}
        steps = []
        for i, (address, _, team) in enumerate(self.teams):
            steps.append(f"{name}-{i}")
            graph[steps[-1]], where[steps[-1]] = (_answer, team, method, shared), [address]
        level, depth = steps, 0
        while add and len(level) > 1:
            above = []
            for i in range(0, len(level), _BRANCHES):
                above.append(f"sum-{name}-{depth}-{i}")
                graph[above[-1]], where[above[-1]] = (_add, level[i : i + _BRANCHES]), []
            level, depth = above, depth + 1
        with dask.annotate(workers=where.__getitem__):
            futures = self.client.get(graph, [*steps, level[0]], sync=False)
        return futures[:-1], futures[-1:]

    def _gather(self, futures: list[Any], steps: list[Any]) -> list[Any]:
        """Return the results, however long they take to come here; fail when they cannot come any more."""

        async def gather() -> list[Any]:
            return await self.client.gather(futures, asynchronous=True)

        began = time.monotonic()
        coming = asyncio.run_coroutine_threadsafe(gather(), self.client.loop.asyncio_loop)
        try:
            while True:
                try:
                    return coming.result(timeout=min(_POLL_SECONDS, self.block_timeout))
                except TimeoutError:
                    if coming.done():
                        raise  # a block's own time-out, not ours
                self._watch(steps, time.monotonic() - began)
        finally:
            if not coming.done():
                coming.cancel()

    def _watch(self, steps: list[Any], seconds: float) -> None:
        """Raise an error if what is waited for cannot come: no worker, a team lost, a block too slow."""
        if self.client.status != "running":
            raise CancelledError("the connection to the scheduler is lost")
        threads = self.client.nthreads()
        if threads:
            self.last_seen = time.monotonic()
        elif time.monotonic() - self.last_seen >= self.worker_timeout:
            raise RuntimeError(
                f"the cluster has had no worker for worker_timeout = {self.worker_timeout:g} s"
            )
        if not steps:
            return
        if lost := {address for address, _, _ in self.teams} - set(threads):
            raise CancelledError(f"workers {lost} are lost")
        if seconds >= self.block_timeout:
            waiting = [team for team, step in zip(self.teams, steps) if not step.done()]
            if late := sorted(i for _, numbers, _ in waiting for i in numbers):
                raise RuntimeError(
                    f"blocks {late} have not answered within block_timeout = {self.block_timeout:g} s"
                )

    # Losses.

    def _is_loss(self, error: Exception) -> bool:
        """Whether teams, futures or the scheduler are gone, and the error is not a block's own."""
        if isinstance(error, (CancelledError, asyncio.CancelledError, RepeatedStepError)):
            return True
        if self.client.status != "running":
            return True
        return isinstance(error, OSError) and not self._scheduler_answers()  # as comms raise

    def _scheduler_answers(self) -> bool:
        try:
            self.client.nthreads()
        except Exception:
            return False
        return bool(self.client.status == "running")

    def _recover(self, error: BaseException, last: bool) -> None:
        """Wait for the client to connect again and forget the teams, or say why that does not help."""
        while self.client.status == "connecting":
            time.sleep(0.05)
        if not self._scheduler_answers():
            raise RuntimeError(
                "the connection to the cluster's scheduler is lost "
                f"(the client's status is {self.client.status!r})"
            ) from error
        if any(future.cancelled() for future in self.futures):
            raise RuntimeError(
                "a block was lost with its worker and dask has no recipe to compute it again: "
                "client.scatter leaves none, and persist() leaves none when the scheduler is restarted; "
                "give blocks as dask.delayed loaders, as collections or as arrays"
            ) from error
        if last:
            raise RuntimeError(f"the blocks were lost {_REPEATS + 1} times in one step") from error
        self.teams = []
        if self.blocks is not None and any(block.cancelled() for block in self.blocks):
            self.blocks = None


class _Arguments:
    """Arguments of one question, as one value that Dask does not look into."""

    def __init__(self, values: Any) -> None:
        self.values = tuple(values)

    def __sizeof__(self) -> int:
        arrays = (a.nbytes for a in self.values if isinstance(a, np.ndarray))
        return object.__sizeof__(self) + sum(arrays)


def _answer(team: Team, method: str, arguments: _Arguments) -> Any:
    return getattr(team, method)(*arguments.values)


def _add(answers: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(sum(parts) for parts in zip(*answers))
