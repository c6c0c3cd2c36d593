"""Arrays that are divided among the devices of a mesh.

A mesh is ``{"data": 2, "model": 4}``, the sizes of its axes; `devices` has its devices,
where the last axis runs first. A sharding names for each dimension the axes that divide
it, the major one first: ``("data", None)``, ``(("data", "model"), None)``.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np


def shard_indices(
    shape: Sequence[int],
    sharding: Sequence[Any],
    mesh: dict[str, int],
    devices: Sequence[int],
) -> list[tuple[slice, ...]]:
    """Return by device which part of an array of some shape it has.

    Raises ValueError where a dimension is not divided evenly.
    """
    for size, parts in zip(shape, part_counts(sharding, mesh), strict=True):
        if size % parts:
            raise ValueError(f"{size} elements cannot be divided into {parts} parts")
    indices: dict[int, tuple[slice, ...]] = {}
    for position, device in enumerate(devices):
        place = {}
        for axis in reversed(mesh):
            position, place[axis] = divmod(position, mesh[axis])
        index = []
        for size, axes in zip(shape, dividing_axes(sharding), strict=True):
            number, parts = 0, 1
            for axis in axes:
                number, parts = number * mesh[axis] + place[axis], parts * mesh[axis]
            index.append(slice(number * size // parts, (number + 1) * size // parts))
        indices[device] = tuple(index)
    return [indices[device] for device in range(len(devices))]


def part_counts(sharding: Sequence[Any], mesh: dict[str, int]) -> list[int]:
    """Return into how many parts a sharding divides each dimension."""
    return [prod(mesh[axis] for axis in axes) for axes in dividing_axes(sharding)]


def dividing_axes(sharding: Sequence[Any]) -> list[tuple[str, ...]]:
    """Return the axes that divide each dimension, the major one first."""
    return [(axes,) if isinstance(axes, str) else axes or () for axes in sharding]


def split_arrays(
    arrays: Sequence[Any],
    shardings: Mapping[str, Any],
    mesh: dict[str, int],
    devices: Sequence[int],
) -> list[list[Any]]:
    """Return the arguments of each device, of whole arrays; those with a sharding None
    are for every device as they are. Raises ValueError with the name of an array that
    cannot be divided evenly.
    """
    split: list[list[Any]] = [[] for _ in devices]
    for array, (name, sharding) in zip(arrays, shardings.items(), strict=True):
        shards = [array] * len(split)
        if sharding is not None:
            try:
                indices = shard_indices(array.shape, sharding, mesh, devices)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
            shards = [array[index] for index in indices]
        for own, shard in zip(split, shards, strict=True):
            own.append(shard)
    return split


def join_arrays(
    results: Sequence[Any],
    shardings: Iterable[Any],
    mesh: dict[str, int],
    devices: Sequence[int],
) -> Any:
    """Return whole arrays of the results of all devices: one, or a tuple of several."""
    is_tuple = isinstance(results[0], tuple)
    by_result = list(zip(*results, strict=True)) if is_tuple else [results]
    joined = []
    for shards, sharding in zip(by_result, shardings, strict=True):
        if sharding is None or not sharding:
            joined.append(shards[0])
            continue
        counts = part_counts(sharding, mesh)
        places = shard_indices(counts, sharding, mesh, devices)
        parts = {
            tuple(number.start for number in place): shard
            for place, shard in zip(places, shards, strict=True)
        }
        joined.append(joined_parts(parts, counts))
    return tuple(joined) if is_tuple else joined[0]


def joined_parts(
    parts: Mapping[tuple[int, ...], Any],
    counts: Sequence[int],
    place: tuple[int, ...] = (),
) -> Any:
    """Return the array that parts make, by their places: side by side, axis by axis."""
    axis = len(place)
    if axis == len(counts):
        return parts[place]
    along = [joined_parts(parts, counts, (*place, k)) for k in range(counts[axis])]
    return np.concatenate(along, axis=axis) if len(along) > 1 else along[0]
