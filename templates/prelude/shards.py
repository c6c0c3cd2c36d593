"""Arrays that are sharded over the devices of a mesh.

A mesh is ``{"data": 2, "model": 4}``, the sizes of its axes; `devices` has its devices
in row-major order. A sharding names for each dimension the axes that shard it, the
major one first: ``("data", None)``, ``(("data", "model"), None)``.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np

Mesh = Mapping[str, int]
Devices = Sequence[int]


def parts_of_devices(sharding: Any, mesh: Mesh, devices: Devices) -> tuple[Any, Any]:
    """Return the number of parts of each dimension, and by device those of its own."""
    dimensions = [(axes,) if isinstance(axes, str) else axes or () for axes in sharding]
    counts = [prod(mesh[axis] for axis in axes) for axes in dimensions]
    numbers: dict[int, tuple[int, ...]] = {}
    for device, position in zip(devices, np.ndindex(*mesh.values()), strict=True):
        place = dict(zip(mesh, position, strict=True))
        numbers[device] = tuple(
            reduce(lambda number, axis: number * mesh[axis] + place[axis], axes, 0)
            for axes in dimensions
        )
    return counts, [numbers[device] for device in range(len(devices))]


def split_arrays(
    arrays: Sequence[Any], shardings: Mapping[str, Any], mesh: Mesh, devices: Devices
) -> list[list[Any]]:
    """Return the arguments of each device, cut from whole arrays; those whose sharding
    is None stay whole. Raises ValueError for an array that cannot be divided evenly.
    """
    if len(arrays) != len(shardings):
        raise ValueError(f"expected {', '.join(shardings)}; got {len(arrays)} arrays")
    split: list[list[Any]] = [[] for _ in devices]
    for array, (name, sharding) in zip(arrays, shardings.items(), strict=True):
        if sharding is None:
            for own in split:
                own.append(array)
            continue
        counts, numbers = parts_of_devices(sharding, mesh, devices)
        if np.ndim(array) != len(counts):
            raise ValueError(f"{name}: {np.ndim(array)} dimensions, not {len(counts)}")
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
        part = dict(zip(numbers, shards, strict=True))
        for axis, count in reversed([*enumerate(counts)]):
            rows = {n[:axis]: [part[*n[:axis], k] for k in range(count)] for n in part}
            part = {n: row[0] for n, row in rows.items()}
            if count > 1:
                part = {n: np.concatenate(row, axis) for n, row in rows.items()}
        joined.append(part[()])
    return tuple(joined) if is_tuple else joined[0]
