"""Lazy arrays whose chunks are computed by tasks of our own."""

from collections.abc import Mapping, Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask.highlevelgraph import HighLevelGraph


def array_of_tasks(
    name: str, tasks: Mapping[Any, Any], given: Sequence[Any], chunks: Any, dtype: Any
) -> da.Array:
    """The array in ``chunks`` whose keys are ``(name, *place)`` in ``tasks``.

    The tasks take blocks of the dask arrays that are among ``given``.
    """
    lazy: list[Any] = [x for x in given if isinstance(x, da.Array)]
    graph = HighLevelGraph.from_collections(name, tasks, lazy)
    return da.Array(graph, name, chunks, meta=np.empty((0,) * len(chunks), dtype))


def part_of(found: Any, number: int) -> Any:
    """One of several results of a task, which may be alone in lists."""
    while isinstance(found, list):
        (found,) = found
    return found[number]
