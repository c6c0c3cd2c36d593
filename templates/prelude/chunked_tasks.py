"""Lazy arrays whose chunks are computed by custom tasks."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import dask.array as da
import numpy as np
from dask.highlevelgraph import HighLevelGraph
from dask.utils import has_keyword

from .chunked_names import phase_of


def array_of_tasks(
    name: str, tasks: Mapping[Any, Any], given: Sequence[Any], chunks: Any, dtype: Any
) -> da.Array:
    """Return the array in ``chunks`` whose keys are ``(name, *place)`` in ``tasks``.

    The tasks take blocks of the dask arrays that are among ``given``.
    """
    lazy: list[Any] = [x for x in given if isinstance(x, da.Array)]
    graph = HighLevelGraph.from_collections(name, tasks, lazy)
    return da.Array(graph, name, chunks, meta=np.zeros((0,) * len(chunks), dtype))


def item_of(
    parts: da.Array, number: int, letters: str, dtype: Any, **options: Any
) -> da.Array:
    """Return an item of each block, which holds several. ``letters`` are the axes of
    both arrays, ``"i->ij"``. ``options`` are those of ``da.blockwise``. The tasks are
    named after the block function.
    """
    own, found = letters.split("->")
    options |= {"token": phase_of(parts), "meta": np.empty(0, dtype)}
    item: da.Array = da.blockwise(itemgetter(number), found, parts, own, **options)
    return item


def one_of(found: da.Array, number: int, meta: np.ndarray) -> da.Array:
    """Return the array of each task's result ``number``, of the type of ``meta``."""
    options = {"number": number, "token": phase_of(found), "meta": meta}
    one: da.Array = da.map_blocks(part_of, found, **options)
    return one


def reduce_parts(
    parts: da.Array, function: Callable[..., Any], axis: Any = None, **keywords: Any
) -> da.Array:
    """Return ``function`` of the blocks' results along the axes, a few of them at a
    time. The tasks are named after the block function.
    """
    given = {"axis": axis, "dtype": parts.dtype, "name": phase_of(parts), **keywords}
    kept = {"dtype": parts.dtype} if has_keyword(function, "dtype") else {}
    fold = partial(silently, function, **kept)
    result: da.Array = da.reduction(parts, fold, fold, **given)
    return result


def silently(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Call a function without NumPy's warnings."""
    with np.errstate(all="ignore"):
        return function(*arguments, **keywords)


def part_of(found: Any, number: int) -> Any:
    """Return one of several results of a task, which may be wrapped in lists of one."""
    while isinstance(found, list):
        (found,) = found
    return found[number]
