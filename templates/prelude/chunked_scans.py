"""Scans along an axis that is cut: each chunk has a total, and continues from the
totals of the chunks before it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import dask.array as da
import numpy as np

from .chunked import as_chunked
from .chunked_names import name_for
from .chunked_tasks import array_of_tasks, one_of
from .memory import MEMORY
from .tiles import TILE_BYTES, block_of, left_in_file, rows_of
from .windows import associative_scan

Scan = Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]]


def accumulate_in_chunks(
    function: np.ufunc, x: Any, axis: int, dtype: Any = None
) -> da.Array:
    """Return ``function.accumulate(x, axis, dtype)`` of a lazy array: each chunk
    continues from the one before it.
    """
    pieces = as_chunked(x).pieces()
    dtype = np.dtype(dtype or pieces.dtype)
    name = name_for(f"{function.__name__}-accumulate", function, pieces, axis, dtype)
    tasks: dict[Any, Any] = {}
    for place in np.ndindex(*pieces.numblocks):
        before = (*place[:axis], place[axis] - 1, *place[axis + 1 :])
        carry = (f"{name}-last", *before) if place[axis] else None
        task = partial(accumulated, function, axis, dtype)
        tasks[name, *place] = (task, (pieces.name, *place), carry)
        tasks[f"{name}-last", *place] = (partial(last_of, axis), (name, *place))
    return array_of_tasks(name, tasks, [pieces], pieces.chunks, dtype)


@np.errstate(all="ignore")
def accumulated(
    function: np.ufunc, axis: int, dtype: np.dtype, block: Any, carry: np.ndarray | None
) -> np.ndarray:
    """Return ``function.accumulate`` of a block, continued from the end of the block
    before.
    """
    x = left_in_file(block)
    result = MEMORY.room(x.shape, dtype)
    step = max(1, x.shape[axis] * TILE_BYTES // max(1, x.nbytes))
    for start in range(0, x.shape[axis], step):
        rows = slice(start, start + step)
        part = result[(slice(None),) * axis + (rows,)]
        function.accumulate(rows_of(x, axis, rows), axis, dtype, out=part)
        if carry is not None:
            function(carry, part, out=part)
        carry = last_of(axis, part)
    return result


def last_of(axis: int, block: np.ndarray) -> np.ndarray:
    """Return a copy of the last element of a block along an axis, as an axis of length
    1.
    """
    return block[(slice(None),) * axis + (slice(-1, None),)].copy()


def cumulative_in_chunks(
    operands: Any,
    inits: Any,
    combine: Callable[..., Any],
    *,
    axis: int = 0,
    reverse: bool = False,
) -> Any:
    """Return ``cumulative`` of lazy arrays."""
    several = isinstance(operands, tuple)
    operands, inits = (operands, inits) if several else ((operands,), (inits,))
    scan = partial(associative_scan, combine=combine, axis=axis, reverse=reverse)
    results = scan_in_chunks(scan, combine, operands, inits, axis, reverse)
    return results if several else results[0]


def associative_scan_in_chunks(
    operands: Sequence[Any],
    combine: Callable[..., Any],
    *,
    axis: int = 0,
    reverse: bool = False,
) -> tuple[da.Array, ...]:
    """Return ``associative_scan`` of lazy arrays."""
    scan = partial(associative_scan, combine=combine, axis=axis, reverse=reverse)
    return scan_in_chunks(scan, combine, operands, (), axis, reverse)


def scan_in_chunks(
    scan: Scan,
    combine: Callable[..., Any],
    operands: Sequence[Any],
    inits: Sequence[Any],
    axis: int,
    reverse: bool = False,
) -> tuple[da.Array, ...]:
    """Return ``scan`` of each chunk of the operands along an axis, combined with the
    totals of the chunks visited before. The chunks are visited from the end if
    ``reverse``. All results are combined with ``inits``.

    The operands are read twice; computed ones are put into files first.
    """
    arrays = [as_chunked(x) for x in operands]
    chunks, ndim = arrays[0].chunks, len(arrays[0].chunks)
    letters, meta = "ijklmnopqr"[:ndim], np.empty(0, object)
    pieces: list[Any] = []
    firsts: list[Any] = []
    for x in arrays:
        pieces += x.recut(chunks).in_files(), letters
    total = partial(total_of_part, scan, axis, reverse)
    totals = da.blockwise(total, letters, *pieces, meta=meta)
    before = totals_before(combine, totals, axis, reverse)
    for x in inits:
        firsts += x, "" if isinstance(x, da.Array) else None
    results = da.blockwise(
        partial(scanned_part, scan, combine, len(arrays), reverse),
        letters,
        *pieces,
        before,
        letters,
        *firsts,
        align_arrays=False,
        meta=meta,
    )
    return tuple(
        one_of(results, k, np.empty(0, x.array.dtype)) for k, x in enumerate(arrays)
    )


@np.errstate(all="ignore")
def total_of_part(
    scan: Scan, axis: int, reverse: bool, *blocks: Any
) -> list[np.ndarray]:
    """Return the last element of the scan of each operand's block, as an axis of length
    1.
    """
    last = slice(1) if reverse else slice(-1, None)
    scanned = scan([block_of(x) for x in blocks])
    return [x[(slice(None),) * axis + (last,)].copy() for x in scanned]


def totals_before(
    combine: Callable[..., Any], totals: da.Array, axis: int, reverse: bool
) -> da.Array:
    """Return for each chunk the total of the chunks visited before, None for the first.
    Each total is computed from the one before, so there are no more tasks than chunks.
    """
    name = name_for("totals_before", combine, totals, axis, reverse)
    tasks: dict[Any, Any] = {}
    for place in np.ndindex(*totals.numblocks):
        number = place[axis] + (1 if reverse else -1)
        other = (*place[:axis], number, *place[axis + 1 :])
        is_first = number not in range(totals.numblocks[axis])
        keys = (None, None) if is_first else ((name, *other), (totals.name, *other))
        tasks[name, *place] = (partial(carried_total, combine, reverse), *keys)
    return array_of_tasks(name, tasks, [totals], totals.chunks, totals.dtype)


@np.errstate(all="ignore")
def carried_total(
    combine: Callable[..., Any], reverse: bool, carry: Any, total: Any
) -> Any:
    """Return a total combined with the carried one, or as it is if the carried one is
    None.
    """
    return total if carry is None else combined(combine, carry, total, reverse)


@np.errstate(all="ignore")
def scanned_part(
    scan: Scan, combine: Callable[..., Any], count: int, reverse: bool, *given: Any
) -> tuple[np.ndarray, ...]:
    """Return the results for a chunk of ``count`` arrays, from its blocks, the total of
    the chunks before it, and initial values.
    """
    carry, *inits = given[count:]
    results = scan([block_of(x) for x in given[:count]])
    if carry is not None:
        results = combined(combine, carry, results, reverse)
    if inits:
        first = [np.full_like(x, init) for x, init in zip(results, inits, strict=True)]
        results = combined(combine, first, results)
    return tuple(results)


def combined(
    combine: Callable[..., Any],
    carry: Sequence[np.ndarray],
    parts: Sequence[np.ndarray],
    reverse: bool = False,
) -> list[np.ndarray]:
    """Return carry and parts combined in order. The parts come first if ``reverse``."""
    made = combine(*parts, *carry) if reverse else combine(*carry, *parts)
    made = made if isinstance(made, tuple) else (made,)
    return [np.broadcast_to(x, part.shape) for x, part in zip(made, parts, strict=True)]
