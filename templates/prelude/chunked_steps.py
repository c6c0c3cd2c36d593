"""Loops over the rows of chunked arrays: a task runs the steps of one chunk, and
loop-carried values go from task to task.
"""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import dask.array as da
import numpy as np

from .chunked import as_chunked, spans_of
from .chunked_names import name_for, phase_of
from .chunked_neighbours import block_key
from .chunked_tasks import array_of_tasks
from .tiles import block_of


def loop_in_chunks(
    function: Callable[..., Any],
    *,
    carries: Sequence[Any] = (),
    rows: Sequence[Any] = (),
    whole: Sequence[Any] = (),
    out: Sequence[da.Array] = (),
    axes: Sequence[int] = (),
    reverse: bool = False,
    numbered: bool = False,
) -> Any:
    """Return the ``carries`` after all steps, and the arrays like ``out`` that the
    steps write; ``function`` runs the steps of a chunk.

    ``function`` takes the range of the steps' numbers if ``numbered``, the ``carries``
    of the steps before, a chunk of each of ``rows``, and ``whole``. Steps go along the
    first axis of ``rows`` and ``out`` or along ``axes``, and start at the end if
    ``reverse``.
    """
    axes = axes or (0,) * (len(rows) + len(out))
    (first, *_), count = map(as_chunked, (*rows, *out)), len(rows)
    lengths = first.chunks[axes[0]]
    pieces = [in_rows(x, k, lengths) for x, k in zip(rows, axes[:count], strict=True)]
    starts = [da.asarray(x).rechunk(-1) for x in carries]
    shared = [x.rechunk(-1) if isinstance(x, da.Array) else x for x in whole]
    given = (function, starts, pieces, shared, lengths, axes, reverse, numbered)
    name = name_for(function.__name__, *given)
    carried = f"{name}-carried"
    tasks: dict[Any, Any] = {}
    before: Any = [block_key(x) for x in starts]
    chunks = list(enumerate(spans_of(lengths)))
    for k, span in reversed(chunks) if reverse else chunks:
        blocks = [key_of(x, axis, k) for x, axis in zip(pieces, axes, strict=False)]
        blocks += map(block_key, shared)
        steps = range(span.start, span.stop) if numbered else None
        tasks[name, k] = (steps_of_chunk, function, steps, before, blocks)
        if starts:
            tasks[carried, k] = (itemgetter(0), (name, k))
            before = (carried, k)
    needed, ones = [*starts, *pieces, *shared], ((1,) * len(lengths),)
    done = array_of_tasks(name, tasks, needed, ones, object)
    results: list[da.Array] = []
    for at, x in enumerate(starts):
        last = {(0,) * x.ndim: (itemgetter(at), before)}
        results.append(array_of_parts(done, len(results), last, x, x.chunks))
    for at, (x, axis) in enumerate(zip(out, axes[count:], strict=True)):
        parts = {
            key_of(x, axis, k)[1:]: (itemgetter(at + 1), (name, k))
            for k in range(len(lengths))
        }
        cuts = cut_along(x.shape, axis, lengths)
        results.append(array_of_parts(done, len(results), parts, x, cuts))
    return tuple(results) if len(results) > 1 else results[0]


def steps_of_chunk(
    function: Callable[..., Any], steps: range | None, carries: Any, blocks: Any
) -> tuple[Any, ...]:
    """Return the carries for the next chunk, and the chunks that the steps write."""
    numbers = [] if steps is None else [steps]
    made = function(*numbers, *carries, *map(block_of, blocks))
    results = made if isinstance(made, tuple) else (made,)
    count = len(carries)  # which are copied: a row would keep its whole chunk alive
    return [np.array(x) for x in results[:count]], *results[count:]


def in_rows(x: Any, axis: int, lengths: Sequence[int]) -> da.Array:
    """Return an array in chunks along one axis, which the tasks that need them read."""
    chunked = as_chunked(x)
    return chunked.recut(cut_along(chunked.array.shape, axis, lengths)).in_files()


def cut_along(
    shape: Sequence[int], axis: int, lengths: Sequence[int]
) -> tuple[tuple[int, ...], ...]:
    """Return the chunks of an array that is cut along one axis."""
    return tuple(tuple(lengths) if k == axis else (n,) for k, n in enumerate(shape))


def key_of(x: da.Array, axis: int, k: int) -> tuple[Any, ...]:
    """Return the key of the ``k``-th chunk along an axis."""
    return x.name, *(k if j == axis else 0 for j in range(x.ndim))


def array_of_parts(
    source: da.Array, number: int, parts: dict[Any, Any], like: da.Array, chunks: Any
) -> da.Array:
    """Return the result with a number: an array of the type of another, whose chunks,
    by their places, are made by tasks from the results of another array's tasks.
    """
    name = name_for(phase_of(source), source, number)
    tasks: dict[Any, Any] = {(name, *place): task for place, task in parts.items()}
    return array_of_tasks(name, tasks, [source], chunks, like.dtype)
