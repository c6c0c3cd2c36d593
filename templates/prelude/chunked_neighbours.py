"""Boxes of arrays in chunks, for tasks that also need neighbouring chunks."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import dask.array as da
import numpy as np

from .chunked import Chunked, spans_of
from .memory import MEMORY
from .tiles import block_of, left_in_file, put_part


def block_key(one: Any) -> Any:
    """Return the key of a lazy array in one chunk, and any other value as it is."""
    return (one.name, *(0,) * one.ndim) if isinstance(one, da.Array) else one


def blocks_around(x: Chunked, box: Sequence[slice]) -> Any:
    """Return the argument from which a task takes a box of an array: for a lazy array
    the blocks that overlap the box, as [their slices along each axis, their keys], else
    the array itself.
    """
    if not isinstance(x.array, da.Array):
        return x.array
    edges, numbers = [], []
    for lengths, part in zip(x.array.chunks, box, strict=True):
        reach = [
            (k, span)
            for k, span in enumerate(spans_of(lengths))
            if span.start < max(part.stop, part.start + 1) and part.start < span.stop
        ] or [(len(lengths) - 1, spans_of(lengths)[-1])]
        numbers.append([k for k, _ in reach])
        edges.append([span for _, span in reach])
    return [edges, [(x.array.name, *place) for place in product(*numbers)]]


def box_from(source: Any, box: Sequence[slice]) -> np.ndarray:
    """Return a box of an argument that ``blocks_around`` made."""
    if not isinstance(source, list):
        return np.asarray(source[tuple(box)])
    edges, blocks = source
    blocks = [left_in_file(block) for block in blocks]
    shape = [part.stop - part.start for part in box]
    result = MEMORY.room(shape, blocks[0].dtype)
    for places, block in zip(product(*edges), blocks, strict=True):
        inside, own = overlap(box, places, box)
        if len(blocks) == 1:
            return np.asarray(block_of(block[own]))
        put_part(result[inside], block, own)
    return result


def overlap(
    box: Sequence[slice], other: Sequence[slice], around: Sequence[slice]
) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Return the overlap of two boxes, relative to the box ``around`` the first and
    relative to the second.
    """
    inside, own = [], []
    for part, span, whole in zip(box, other, around, strict=True):
        start = max(part.start, span.start)
        stop = max(start, min(part.stop, span.stop))
        inside.append(slice(start - whole.start, stop - whole.start))
        own.append(slice(start - span.start, stop - span.start))
    return tuple(inside), tuple(own)
