"""Arrays in other chunks, by way of files."""

from functools import partial
from itertools import accumulate, pairwise, product
from math import prod
from typing import Any

import dask.array as da
import numpy as np

from .chunked_names import name_for, phase_of
from .chunked_tasks import array_of_tasks
from .tiles_in_files import Stored, in_files

Sizes = tuple[int, ...]  # of the chunks along an axis
Slices = tuple[slice, ...]


def recut(x: da.Array, chunks: tuple[Sizes, ...]) -> da.Array:
    """An array in other chunks. Its own lie in files until all have read their parts of
    them.
    """
    stored, name = in_files(x), name_for(phase_of(x), "recut", x, chunks)
    along = [overlaps(*pair) for pair in zip(x.chunks, chunks, strict=True)]
    tasks: dict[Any, Any] = {}
    for place in product(*(range(len(sizes)) for sizes in chunks)):
        shape = tuple(sizes[k] for sizes, k in zip(chunks, place, strict=True))
        parts = list(
            product(*(found[k] for found, k in zip(along, place, strict=True)))
        )
        keys = [(stored.name, *(number for number, _, _ in part)) for part in parts]
        sources = [tuple(source for _, source, _ in part) for part in parts]
        targets = [tuple(target for _, _, target in part) for part in parts]
        tasks[name, *place] = (partial(joined, shape, sources, targets), keys)
    return array_of_tasks(name, tasks, [stored], chunks, x.dtype)


def joined(
    shape: tuple[int, ...],
    sources: list[Slices],
    targets: list[Slices],
    blocks: list[Stored],
) -> np.ndarray:
    """A block made of parts of others."""
    result = np.empty(shape, blocks[0].dtype)
    for source, target, block in zip(sources, targets, blocks, strict=True):
        result[target] = block.read()[source]
    return result


def overlaps(old: Sizes, new: Sizes) -> list[list[tuple[int, slice, slice]]]:
    """Return for each new chunk along an axis the numbers of the old ones that have a
    part of it, where this lies in the old one and where in the new.
    """
    found = []
    for start, stop in pairwise(accumulate(new, initial=0)):
        ends = enumerate(pairwise(accumulate(old, initial=0)))
        shared = [(k, a, max(a, start), min(b, stop)) for k, (a, b) in ends]
        found.append(
            [
                (k, slice(i - a, j - a), slice(i - start, j - start))
                for k, a, i, j in shared
                if i < j
            ]
        )
    return found


def whole_along(chunks: tuple[Sizes, ...], axis: int, room: int) -> tuple[Sizes, ...]:
    """Chunks that are whole along an axis, and along the others cut further, the
    longest first, until no chunk has more elements than there is ``room`` for.
    """
    new = [*chunks[:axis], (sum(chunks[axis]),), *chunks[axis + 1 :]]
    while (size := prod(map(max, new))) > room:
        others = [k for k, sizes in enumerate(new) if k != axis and max(sizes) > 1]
        if not others:
            break
        longest = max(others, key=lambda k: max(new[k]))
        length = max(1, max(new[longest]) * room // size)
        new[longest] = cut_into(sum(new[longest]), length)
    return tuple(new)


def cut_into(size: int, length: int) -> Sizes:
    """Chunks of ``length`` along an axis of ``size``, and the rest."""
    return (length,) * (size // length) + ((size % length,) if size % length else ())
