"""The rows of consensus ADMM: what the caller gave as blocks, and how a worker makes one block of it by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from companion.checks import as_matrix, as_vector

if TYPE_CHECKING:
    from companion.admm.losses import SmoothLoss
    from companion.admm.objectives import ConsensusObjective

__all__ = ["blocks_of_rows", "build_block", "is_lazy", "one_source_each"]

_SMALL = 100_000  # bytes: a handle of a file may go to every block, an array may not


class _Recipe:
    """How a worker makes a pair (A_i, b_i) all by itself: a small graph, run in one task."""

    def __init__(self, graph: dict[Any, Any], key: Any) -> None:
        self.graph, self.key = graph, key

    def pair(self) -> Any:
        """Run the graph in the calling thread."""
        from dask import get

        return get(self.graph, self.key)


def one_source_each(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return one recipe per block, where no block needs what another one makes; the rows otherwise.

    As separate tasks A_i and b_i may be loaded on two workers, and one of them then travels.
    """
    from dask import delayed

    if not any(is_lazy(part) for pair in rows for part in pair):
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


def build_block(objective: ConsensusObjective, i: int, *pair: Any) -> SmoothLoss:
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
    kinds = f"got {type(A).__name__} and {type(b).__name__}"
    if isinstance(b, str):
        if not hasattr(A, "columns"):
            raise TypeError(f"a column is named, {b!r}: A must be a dask DataFrame, {kinds}")
        if list(A.columns).count(b) != 1:
            names = ", ".join(map(str, A.columns))
            raise ValueError(f"b must name one column of the frame, got {b!r}; there are: {names}")
        return [(part, b) for part in A.to_delayed()]
    arrays = hasattr(A, "chunks")
    if not (hasattr(A, "ndim") and hasattr(b, "npartitions") and hasattr(b, "chunks") == arrays):
        raise TypeError(f"A and b must be two dask arrays, or a dask DataFrame and Series, {kinds}")
    if A.ndim != 2 or b.ndim != 1:
        raise ValueError(
            f"A must be a matrix and b a vector, got collections of {A.ndim} and {b.ndim} dimensions"
        )
    if arrays and A.numblocks[1] != 1:
        raise ValueError(
            f"A must be chunked by rows only, got {A.numblocks[1]} chunks of columns; "
            "use A.rechunk({1: -1})"
        )
    rows = [part.chunks[0] if arrays else part.npartitions for part in (A, b)]
    unknown = arrays and np.isnan([*rows[0], *rows[1]]).any()
    if len(rows[0]) != len(rows[1]) if unknown else rows[0] != rows[1]:
        raise ValueError(
            f"A and b must have the same row chunks or partitions, got {rows[0]} and {rows[1]}"
        )
    if arrays:
        return list(zip(A.to_delayed().ravel(), b.to_delayed()))
    return list(zip(*(part.simplify().to_delayed(optimize_graph=False) for part in (A, b))))


def _is_pair(item: Any) -> bool:
    return isinstance(item, (tuple, list)) and len(item) == 2


def is_lazy(item: Any) -> bool:
    """Whether this is a dask collection or a future, told without importing dask."""
    return hasattr(type(item), "__dask_graph__") or type(item).__module__.startswith("distributed.")
