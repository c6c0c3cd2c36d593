"""Arrays that are sharded over the devices of a mesh.

A mesh is ``{"data": 2, "model": 4}``, the sizes of its axes; `devices` has its devices
in row-major order. A sharding names for each dimension the axes that shard it, the
major one first: ``("data", None)``, ``(("data", "model"), None)``.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

Mesh = Mapping[str, int]
Devices = Sequence[int]


def parts_of_devices(
    sharding: Sequence[Any], mesh: Mesh, devices: Devices
) -> tuple[list[int], list[tuple[int, ...]]]:
    """Return the number of parts of each dimension, and by device those of its own."""
    dimensions = [(axes,) if isinstance(axes, str) else axes or () for axes in sharding]
    numbers: dict[int, tuple[int, ...]] = {}
    for device, position in zip(devices, np.ndindex(*mesh.values()), strict=True):
        place = dict(zip(mesh, position, strict=True))
        number = [0] * len(dimensions)
        for dimension, axes in enumerate(dimensions):
            for axis in axes:
                number[dimension] = number[dimension] * mesh[axis] + place[axis]
        numbers[device] = tuple(number)
    counts = [prod(mesh[axis] for axis in axes) for axes in dimensions]
    return counts, [numbers[device] for device in range(len(devices))]


def split_arrays(
    arrays: Sequence[Any], shardings: Mapping[str, Any], mesh: Mesh, devices: Devices
) -> list[list[Any]]:
    """Return the arguments of each device, cut from whole arrays; those whose sharding
    is None stay whole. Raises ValueError for an array that cannot be divided evenly.
    """
    split: list[list[Any]] = [[] for _ in devices]
    for array, (name, sharding) in zip(arrays, shardings.items(), strict=True):
        if sharding is None:
            for own in split:
                own.append(array)
            continue
        counts, numbers = parts_of_devices(sharding, mesh, devices)
        for size, count in zip(array.shape, counts, strict=True):
            if size % count:
                told = f"{size} elements cannot be divided into {count} parts"
                raise ValueError(f"{name}: {told}")
        sizes = [n // count for n, count in zip(array.shape, counts, strict=True)]
        for own, number in zip(split, numbers, strict=True):
            each = zip(number, sizes, strict=True)
            own.append(array[tuple(slice(k * n, (k + 1) * n) for k, n in each)])
    return split


def join_arrays(
    results: Sequence[Any], shardings: Iterable[Any], mesh: Mesh, devices: Devices
) -> Any:
    """Return one or several whole arrays, joined from the results of all devices."""
    is_tuple = isinstance(results[0], tuple)
    by_result = list(zip(*results, strict=True)) if is_tuple else [results]
    joined = []
    for shards, sharding in zip(by_result, shardings, strict=True):
        counts, numbers = parts_of_devices(sharding or (), mesh, devices)
        parts = dict(zip(numbers, shards, strict=True))
        for axis, count in reversed([*enumerate(counts)]):
            rows = {
                n[:axis]: [parts[*n[:axis], k] for k in range(count)] for n in parts
            }
            parts = {
                number: row[0] if count == 1 else np.concatenate(row, axis)
                for number, row in rows.items()
            }
        joined.append(parts[()])
    return tuple(joined) if is_tuple else joined[0]
