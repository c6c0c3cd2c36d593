"""Lazy arrays of another shape, where axes that are cut are merged or split."""

from collections.abc import Iterator, Sequence
from itertools import chain
from math import prod
from typing import Any

import dask.array as da
import numpy as np

from .arrays_in_files import FileArray
from .chunked import Chunked, as_chunked
from .chunked_names import name_for
from .chunked_tasks import array_of_tasks
from .tiles import block_of
from .tiles_recut import cut_into, recut

Shape = tuple[int, ...]
Cuts = tuple[Shape, ...]  # the chunks along each axis


def reshape_in_chunks(
    x: Any, shape: Sequence[int], *, chunks: Sequence[int]
) -> da.Array:
    """Return ``np.reshape`` of a lazy array, in chunks of about as many elements as
    ``chunks``.

    A file is read in the new shape. Any other array is cut so that the elements of a
    chunk are contiguous in both shapes. Computed blocks that are cut in another way are
    put into files first.
    """
    x, shape = as_chunked(x), tuple(shape)
    planned = da.core.normalize_chunks(tuple(chunks), shape)
    if isinstance(x.array, FileArray | np.ndarray):
        return Chunked(x.array.reshape(shape), planned).read()
    groups = list(merged_axes(x.array.shape, shape))
    if any(min(old.stop - old.start, new.stop - new.start) > 1 for old, new in groups):
        flat = [prod(shape[new]) for _, new in groups]
        room = [prod(map(max, planned[new])) for _, new in groups]
        line = reshape_in_chunks(x, flat, chunks=room)
        return reshape_in_chunks(line, shape, chunks=chunks)
    cuts = []
    for old, new in groups:
        sizes = x.array.shape[old], shape[new]
        room = prod(map(max, planned[new]))
        cuts.append(as_they_are(x.chunks[old], *sizes) or in_runs(*sizes, room))
    before, after = (tuple(chain(*cut)) for cut in zip(*cuts, strict=True))
    if before == x.chunks:
        found = x.pieces()
    elif isinstance(x.array, da.Array):
        found = recut(x.read(), before)
    else:
        found = x.recut(before).pieces()
    result = in_shape(found, after)
    pairs = zip(after, planned, strict=True)
    is_whole = all(len(cut) == 1 for cut, plan in pairs if len(plan) == 1)
    return result if is_whole else recut(result, planned)


def merged_axes(old: Shape, new: Shape) -> Iterator[tuple[slice, slice]]:
    """Yield the smallest groups of axes that have as many elements in two shapes: the
    slice of the old axes, and the slice of the new ones.
    """
    i = k = 0
    while i < len(old) and k < len(new):
        first = i, k
        left, right, i, k = old[i], new[k], i + 1, k + 1
        while left != right:
            if left < right:
                left, i = left * old[i], i + 1
            else:
                right, k = right * new[k], k + 1
        if prod(old[i:]) == prod(new[k:]) == 1:  # axes of size 1 at the end
            i, k = len(old), len(new)
        yield slice(first[0], i), slice(first[1], k)


def as_they_are(cuts: Cuts, old: Shape, new: Shape) -> tuple[Cuts, Cuts] | None:
    """Return the chunks of merged or split axes before and after the reshape if these
    can stay, because the elements of each chunk are contiguous, else None.
    """
    for axis, size in enumerate(old if len(old) >= len(new) else new):
        if len(old) >= len(new):
            own = cuts[axis]
        else:
            before, behind = prod(new[:axis]), prod(new[axis + 1 :])
            own = tuple(n // behind for n in cuts[0][: len(cuts[0]) // before])
        pair = runs_along(axis, own, old, new)
        if sum(own) == size and pair[0] == cuts:
            return pair
    return None


def in_runs(old: Shape, new: Shape, room: int) -> tuple[Cuts, Cuts]:
    """Return chunks of merged or split axes before and after the reshape, each of at
    most ``room`` elements, which are contiguous.
    """
    several = old if len(old) >= len(new) else new
    axis = next(k for k in range(len(several)) if prod(several[k + 1 :]) <= room)
    own = cut_into(several[axis], room // prod(several[axis + 1 :]))
    return runs_along(axis, own, old, new)


def runs_along(axis: int, own: Shape, old: Shape, new: Shape) -> tuple[Cuts, Cuts]:
    """Return chunks of merged or split axes before and after the reshape, if one of the
    several axes is cut, those before it are cut into single elements, and those behind
    it are whole.
    """
    several = old if len(old) >= len(new) else new
    before, behind = several[:axis], several[axis + 1 :]
    runs = *((1,) * n for n in before), own, *((n,) for n in behind)
    line = (tuple(n * prod(behind) for n in own) * prod(before),)
    return (runs, line) if len(old) >= len(new) else (line, runs)


def in_shape(x: da.Array, chunks: Cuts) -> da.Array:
    """Return an array whose chunks have another shape, in the order of both."""
    name = name_for("reshape", x, chunks)
    places = np.ndindex(*map(len, x.chunks)), np.ndindex(*map(len, chunks))
    tasks = {}
    for old, new in zip(*places, strict=True):
        shape = tuple(sizes[k] for sizes, k in zip(chunks, new, strict=True))
        tasks[name, *new] = of_other_shape, (x.name, *old), shape
    return array_of_tasks(name, tasks, [x], chunks, x.dtype)


def of_other_shape(block: Any, shape: Shape) -> np.ndarray:
    """Return a block in another shape."""
    return np.asarray(block_of(block)).reshape(shape)
