"""Where the blocks of consensus ADMM live: in this process, or on the workers of a dask cluster.

:class:`InProcess` and :class:`OnCluster` have one method, ``each(method, ...)``. It calls a method of every block, the
j-th block with the j-th arguments, and returns what they return.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

import numpy as np

from companion.checks import as_matrix, as_scalar, as_vector

if TYPE_CHECKING:
    from companion.admm.consensus import Block, ConsensusObjective

__all__ = ["InProcess", "OnCluster", "blocks_of_rows"]

_POLL_SECONDS = 2.0
_REPEATS = 3  # of one step, after all blocks were lost with the scheduler
_SMALL = 100_000  # bytes: a handle of a file may go to every block, an array may not


class InProcess:
    """Blocks in this process."""

    def __init__(self, rows: list[Any], objective: ConsensusObjective) -> None:
        if any(_is_lazy(part) for pair in rows for part in pair):
            raise TypeError(
                "blocks holds dask objects; say where they run with "
                "client=dask.distributed.Client(...)"
            )
        self.blocks = [_build(objective, i, *pair) for i, pair in enumerate(rows)]

    def each(self, method: str, *arguments: Sequence[Any]) -> list[Any]:
        """Call the method of every block, the j-th block with the j-th arguments."""
        return [_call(block, method, *own) for block, *own in zip(self.blocks, *arguments)]


class OnCluster:
    """Blocks as futures on the workers of a dask cluster; the tasks go where the blocks are."""

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
        self.client = client
        self.worker_timeout = as_scalar(worker_timeout, "worker_timeout", above=0)
        self.block_timeout = (
            None if block_timeout is None else as_scalar(block_timeout, "block_timeout", above=0)
        )
        self.objective = objective
        self.futures = futures_of(given)  # of the caller; what they hold, no graph can make again
        self.sources = rows if self.futures else _one_source_each(rows)
        self.blocks: list[Any] | None = None

    def each(self, method: str, *arguments: Sequence[Any]) -> list[Any]:
        """Call the method of every block; once more, should the blocks be lost with the scheduler."""
        for attempt in range(_REPEATS + 1):
            try:
                return self._gather(self._submit(method, arguments), method)
            except Exception as error:
                if not self._is_loss(error):
                    raise
                self._recover(error, last=attempt == _REPEATS)
        raise AssertionError

    def _submit(self, method: str, arguments: Sequence[Sequence[Any]]) -> list[Any]:
        from dask import delayed

        if self.blocks is None:
            build = delayed(_build, pure=False)
            self.blocks = self.client.compute(
                [build(self.objective, i, *source) for i, source in enumerate(self.sources)]
            )
        # Each call is a task group of its own. In a group that is large beside the cluster dask takes the tasks
        # for sources of data, and places them without regard to where their blocks are.
        name = f"{method}-{uuid.uuid4().hex}"
        N = len(self.sources)
        return self.client.map(
            _call,
            self.blocks,
            [method] * N,
            *arguments,
            key=[(name, i) for i in range(N)],
            pure=False,
        )

    def _gather(self, futures: list[Any], method: str) -> list[Any]:
        """Wait for the results; fail, with the reason, when they cannot come any more."""
        from distributed import KilledWorker

        async def gather() -> list[Any]:
            return await self.client.gather(futures, asynchronous=True)

        began = last_seen = time.monotonic()
        limit = (
            np.inf if self.block_timeout is None or method == "curvature" else self.block_timeout
        )
        while True:
            try:
                return self.client.sync(gather, callback_timeout=min(_POLL_SECONDS, limit))
            except TimeoutError:
                if any(future.status == "error" for future in futures):
                    raise  # a block's own time-out, not ours
            except KilledWorker as error:
                raise RuntimeError(
                    f"the workers that ran {error.task} died again and again; "
                    "does a block fit into the memory of a worker?"
                ) from error
            if self.client.nthreads():
                last_seen = time.monotonic()
            elif time.monotonic() - last_seen >= self.worker_timeout:
                raise RuntimeError(
                    f"the cluster has had no worker for worker_timeout = {self.worker_timeout:g} s"
                )
            if time.monotonic() - began >= limit:
                late = [i for i, future in enumerate(futures) if not future.done()]
                if late:
                    raise RuntimeError(
                        f"blocks {late} have not answered within block_timeout = {limit:g} s"
                    )

    def _is_loss(self, error: Exception) -> bool:
        """Whether the futures or the scheduler are gone, and the error is not a block's own."""
        if isinstance(error, CancelledError) or self.client.status != "running":
            return True
        return isinstance(error, OSError) and not self._scheduler_answers()  # as comms raise

    def _scheduler_answers(self) -> bool:
        try:
            self.client.nthreads()
        except Exception:
            return False
        return bool(self.client.status == "running")

    def _recover(self, error: BaseException, last: bool) -> None:
        """Wait for the client to connect again, and forget the blocks, or say why that does not help."""
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
            raise RuntimeError(
                f"the blocks were lost with the scheduler {_REPEATS + 1} times in one step"
            ) from error
        self.blocks = None


class _Recipe:
    """How a worker makes a pair (A_i, b_i) all by itself: a small graph, run in one task."""

    def __init__(self, graph: dict[Any, Any], key: Any) -> None:
        self.graph, self.key = graph, key

    def pair(self) -> Any:
        """Run the graph in the calling thread."""
        from dask import get

        return get(self.graph, self.key)


def _one_source_each(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return one recipe per block, where no block needs what another one makes; the rows otherwise.

    As separate tasks A_i and b_i may be loaded on two workers, and one of them then travels.
    """
    from dask import delayed

    if not any(_is_lazy(part) for pair in rows for part in pair):
        return rows
    graphs, keys = [], []
    for pair in rows:
        bundle = delayed(list(pair) if len(pair) == 2 else pair[0])
        graphs.append(dict(bundle.dask.cull({bundle.key})))
        keys.append(bundle.key)
    uses = Counter(key for graph in graphs for key in graph)
    shared = {key: graph[key] for graph in graphs for key in graph if uses[key] > 1}
    if not all(_is_small_constant(node) for node in shared.values()):
        return rows
    return [(_Recipe(graph, key),) for graph, key in zip(graphs, keys)]


def _is_small_constant(node: Any) -> bool:
    """Whether a node of a dask graph needs no other one and is small: the handle of a file, say."""
    from distributed.protocol.pickle import dumps

    return not getattr(node, "dependencies", ()) and len(dumps(node)) < _SMALL


def _call(block: Block, method: str, *arguments: Any) -> Any:
    return getattr(block, method)(*arguments)


def _build(objective: ConsensusObjective, i: int, *pair: Any) -> Block:
    """Return block i, from its two arrays or from the pair of them, after all checks."""
    if len(pair) == 1:
        pair = pair[0].pair() if isinstance(pair[0], _Recipe) else pair[0]
        if not _is_pair(pair):
            raise TypeError(f"blocks[{i}] must give a pair (A, b), got {type(pair).__name__}")
    frame, target = pair
    if isinstance(target, str) and target in getattr(frame, "columns", ()):
        pair = frame.drop(columns=target), frame[target]
    A = as_matrix(pair[0], f"A of blocks[{i}]")
    if not A.size:
        raise ValueError(
            f"A of blocks[{i}] is empty, its shape is {A.shape}; leave the block out, or repartition"
        )
    b = as_vector(pair[1], f"b of blocks[{i}]", A.shape[0])
    try:
        return objective.block(A, b)
    except ValueError as error:
        raise ValueError(f"blocks[{i}]: {error}") from error


def blocks_of_rows(blocks: Any) -> list[tuple[Any, ...]]:
    """Return one tuple per block: (A_i, b_i), or one lazy object that will be the pair."""
    if _is_pair(blocks) and hasattr(type(blocks[0]), "to_delayed"):
        A, b = blocks
        if isinstance(b, str):
            return _partitions_with_target(A, b)
        if hasattr(A, "npartitions") and not hasattr(A, "chunks"):
            return _partitions(A, b)
        return _chunks(A, b)
    if isinstance(blocks, np.ndarray) or not isinstance(blocks, Sequence):
        raise TypeError(f"blocks must be a list of pairs (A_i, b_i), got {type(blocks).__name__}")
    if not blocks:
        raise ValueError("blocks must hold at least one pair (A_i, b_i), got none")
    for i, item in enumerate(blocks):
        if not (_is_pair(item) or _is_lazy(item)):
            raise TypeError(
                f"blocks must be a list of pairs (A_i, b_i); blocks[{i}] is of type "
                f"{type(item).__name__}. For a single block write [(A, b)]"
            )
    return [tuple(item) if _is_pair(item) else (item,) for item in blocks]


def _partitions_with_target(frame: Any, target: str) -> list[tuple[Any, ...]]:
    """Return the partitions of a dask DataFrame, each with the name of the column that is b."""
    if getattr(frame, "ndim", 0) != 2 or not hasattr(frame, "columns"):
        raise TypeError(
            f"a column is named, {target!r}: A must be a dask DataFrame, got {type(frame).__name__}"
        )
    if list(frame.columns).count(target) != 1:
        raise ValueError(
            f"b must name one column of the frame, got {target!r}; there are: {', '.join(map(str, frame.columns))}"
        )
    return [(part, target) for part in frame.to_delayed()]


def _partitions(A: Any, b: Any) -> list[tuple[Any, ...]]:
    """Return the partitions of a dask DataFrame and a dask Series as pairs of delayed objects.

    Optimised apart, dask may read several files into one partition of the Series but not of the DataFrame. The
    simplified expressions keep the partitions, and read no column that is not used.
    """
    if not hasattr(b, "npartitions") or hasattr(b, "chunks"):
        raise TypeError(
            f"with a dask DataFrame A, b must be a dask Series or the name of a column, got {type(b).__name__}"
        )
    if not hasattr(A, "ndim"):
        raise TypeError(f"A must be a dask array or DataFrame, got {type(A).__name__}")
    if A.ndim != 2 or b.ndim != 1:
        raise ValueError(
            f"A must be a matrix and b a vector, got dask frames of {A.ndim} and {b.ndim} dimensions"
        )
    if A.npartitions != b.npartitions:
        raise ValueError(
            f"A and b must have the same partitions, got {A.npartitions} and {b.npartitions}"
        )
    lazy = [part.simplify().to_delayed(optimize_graph=False) for part in (A, b)]
    return list(zip(*lazy))


def _chunks(A: Any, b: Any) -> list[tuple[Any, ...]]:
    """Return the row chunks of two dask arrays as pairs of delayed objects."""
    for part in (A, b):
        if not hasattr(part, "chunks"):
            raise TypeError(f"A and b must both be dask arrays, got {type(part).__name__}")
    if A.ndim != 2 or b.ndim != 1:
        raise ValueError(
            f"A must be a matrix and b a vector, got arrays of {A.ndim} and {b.ndim} dimensions"
        )
    if A.numblocks[1] != 1:
        raise ValueError(
            f"A must be chunked by rows only, got {A.numblocks[1]} chunks of columns; "
            "use A.rechunk({1: -1})"
        )
    known = not (np.isnan(A.shape[0]) or np.isnan(b.shape[0]))
    if A.chunks[0] != b.chunks[0] if known else A.numblocks[0] != b.numblocks[0]:
        raise ValueError(
            f"A and b must have the same row chunks, got {A.chunks[0]} and {b.chunks[0]}; "
            "use b.rechunk(A.chunks[0])"
        )
    return list(zip(A.to_delayed().ravel(), b.to_delayed()))


def _is_pair(item: Any) -> bool:
    return isinstance(item, (tuple, list)) and len(item) == 2


def _is_lazy(item: Any) -> bool:
    """Whether this is a dask collection or a future, told without importing dask."""
    return hasattr(type(item), "__dask_graph__") or type(item).__module__.startswith("distributed.")
