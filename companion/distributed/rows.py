"""The rows of consensus ADMM: what the caller gave as blocks, and how a worker makes one block of it by itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from companion.checks import as_matrix, as_vector

__all__ = ["Objective", "blocks_of_rows", "build_block", "is_lazy", "one_task_each"]


class Objective(Protocol):
    """What the blocks need of :class:`companion.admm.ConsensusObjective`."""

    def block(self, A: np.ndarray, b: np.ndarray) -> Any:
        """Return the loss that these rows make."""


def one_task_each(given: Any, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return what makes each block in one task, where no block needs what another one makes; the rows otherwise.

    The caller's futures have been made. As separate tasks A_i and b_i may be loaded on two workers, and one of them
    then travels.
    """
    from dask import delayed, get
    from distributed.client import futures_of

    if futures_of(given) or not any(is_lazy(part) for pair in rows for part in pair):
        return rows
    bundles = [delayed(list(pair) if len(pair) == 2 else pair[0]) for pair in rows]
    graphs = [dict(bundle.dask.cull({bundle.key})) for bundle in bundles]
    if sum(map(len, graphs)) > len(set().union(*graphs)):
        return rows
    return [(partial(get, graph, bundle.key),) for graph, bundle in zip(graphs, bundles)]


def build_block(objective: Objective, i: int, *pair: Any) -> Any:
    """Return block i, from its two arrays or from the pair of them, after all checks."""
    if len(pair) == 1:
        pair = pair[0]() if callable(pair[0]) else pair[0]
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
        return _collections(*blocks)
    if isinstance(blocks, np.ndarray) or not isinstance(blocks, Sequence):
        raise TypeError(f"blocks must be a list of pairs (A_i, b_i), got {type(blocks).__name__}")
    if not blocks:
        raise ValueError("blocks must hold at least one pair (A_i, b_i), got none")
    for i, item in enumerate(blocks):
        if not (_is_pair(item) or is_lazy(item)):
            raise TypeError(
                f"blocks must be a list of pairs (A_i, b_i); blocks[{i}] is of type "
                f"{type(item).__name__}. For a single block write [(A, b)]"
            )
    return [tuple(item) if _is_pair(item) else (item,) for item in blocks]


def _collections(A: Any, b: Any) -> list[tuple[Any, ...]]:
    """Return the parts of two dask collections as pairs of delayed objects, or of a frame with the name of b.

    Optimised apart, dask may read several files into one partition of a Series but not of a DataFrame. The simplified
    expressions keep the partitions, and read no column that is not used.
    """
    if isinstance(b, str):
        columns = [str(name) for name in getattr(A, "columns", ())]
        if columns.count(b) != 1:
            names = ", ".join(columns)
            raise ValueError(
                f"b must name one column of a dask DataFrame, got {b!r}; A has: {names}"
            )
        return [(part, b) for part in A.to_delayed()]
    arrays = hasattr(A, "chunks")
    dimensions = getattr(A, "ndim", 0), getattr(b, "ndim", 0)
    if dimensions != (2, 1) or hasattr(b, "chunks") != arrays:
        raise TypeError(
            "A and b must be a matrix and a vector of dask arrays, or a dask DataFrame and Series, "
            f"got {type(A).__name__} and {type(b).__name__} of {dimensions} dimensions"
        )
    if arrays and A.numblocks[1] != 1:
        raise ValueError(
            f"A must be chunked by rows only, got {A.numblocks[1]} chunks of columns; "
            "use A.rechunk({1: -1})"
        )
    counts = [part.numblocks[0] if arrays else part.npartitions for part in (A, b)]
    if counts[0] != counts[1]:
        raise ValueError(f"A and b must have the same row chunks or partitions, got {counts}")
    if arrays:
        return list(zip(A.to_delayed().ravel(), b.to_delayed()))
    return list(zip(*(part.simplify().to_delayed(optimize_graph=False) for part in (A, b))))


def _is_pair(item: Any) -> bool:
    return isinstance(item, (tuple, list)) and len(item) == 2


def is_lazy(item: Any) -> bool:
    """Whether this is a dask collection or a future, without importing dask."""
    return hasattr(type(item), "__dask_graph__") or type(item).__module__.startswith("distributed.")
