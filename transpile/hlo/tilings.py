"""Shardings in HLO's own notation, ``{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}``.

Such a tiling lists the devices of all shards of an array, without a mesh. This module finds a mesh with the fewest axes
that express all tilings of a program. Source: XLA's HloSharding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod

import numpy as np
import numpy.typing as npt

from .replica_groups import MAX_DEVICES
from .shardings import Mesh, Sharding

Tiles = npt.NDArray[np.int64]  # devices by their shard's index along each dimension, then by replica
Digit = tuple[int, int]  # the number of shards, and the stride of their device numbers

_TILING = re.compile(
    r"\{devices=\[([\d,]+)\](?:<=\[([\d,]+)\](?:T\(([\d,]+)\))?|([\d,]+))(\s+last_tile_dim_replicate)?"
    r"(?:\s+metadata=\{[^{}]*\})?\}"
)
_REPLICATED = re.compile(r"\{\s*replicated\s*(?:metadata=\{[^{}]*\})?\}")


def parse_tiling(text: str, rank: int, count: int) -> Tiles | None:
    """Return the devices of a sharding of an array of some rank; None if the text is not a tiling for ``count``
    devices.
    """
    if _REPLICATED.fullmatch(text):
        return np.arange(count).reshape(*[1] * rank, count)
    match = _TILING.fullmatch(text)
    if match is None or not 0 < count <= MAX_DEVICES:
        return None
    sizes, order, turned, listed = ([int(word) for word in (match[k] or "").split(",") if word] for k in range(1, 5))
    sizes += [] if match[5] else [1]
    if len(sizes) != rank + 1 or prod(sizes) != count or (order and prod(order) != count):
        return None
    if sorted(turned) != list(range(len(order))) and turned:
        return None
    devices = np.array(listed, np.int64) if listed else np.arange(count).reshape(order)
    if sorted(devices.flat) != list(range(count)):
        return None
    return (devices.transpose(turned) if turned else devices).reshape(sizes)


def shardings_of(tilings: Sequence[Tiles], known: Mapping[str, int] | None = None) -> list[Sharding] | None:
    """Return the tilings as shardings on one mesh; None if no mesh expresses all of them.

    ``known`` are the axis sizes of the program's own mesh, by name: its names are used if the sizes agree.
    """
    digits = [[_digits(_line(tiles, d)) for d in range(tiles.ndim - 1)] for tiles in tilings]
    count = tilings[0].size
    cuts = {1, count}
    for each in digits:
        for dimension in each:
            if dimension is None:
                return None
            cuts.update(cut for size, step in dimension for cut in (step, size * step))
    own = {name: size for name, size in (known or {}).items() if size > 1}
    if prod(own.values()) == count:
        cuts.update(count // prod(list(own.values())[:k]) for k in range(len(own)))
    ordered = sorted(cuts)
    if any(high % low for low, high in pairwise(ordered)):
        return None
    steps = ordered[-2::-1] or [1]  # strides of the axes, the major one first
    sizes = [high // low for low, high in pairwise(ordered)][::-1] or [1]
    axes = tuple(f"axis_{k}" for k in range(len(steps))) if len(steps) > 1 else ("devices",)
    if list(own.values()) == sizes:
        axes = tuple(own)
    mesh = Mesh("mesh", axes, np.arange(count).reshape(sizes))
    found = [Sharding(mesh, tuple(tuple(_axes(dimension or (), steps, axes)) for dimension in each)) for each in digits]
    return found if all(map(_agree, found, tilings)) else None


def _line(tiles: Tiles, dimension: int) -> npt.NDArray[np.int64]:
    """Return the device numbers along one dimension, relative to the first device."""
    index: list[int | slice] = [0] * tiles.ndim
    index[dimension] = slice(None)
    return tiles[tuple(index)] - tiles.flat[0]


def _digits(line: npt.NDArray[np.int64]) -> list[Digit] | None:
    """Return the mixed-radix digits of the device numbers along a line, the minor one first; None if they have no such
    form.
    """
    found: list[Digit] = []
    while line.size > 1:
        step = int(line[1])
        if step <= 0:
            return None
        run = next((k for k in range(line.size, 1, -1) if line.size % k == 0 and _is_run(line, k, step)), 0)
        if not run:
            return None
        found.append((run, step))
        line = line[::run]
    return found


def _is_run(line: npt.NDArray[np.int64], size: int, step: int) -> bool:
    rows = line.reshape(-1, size)
    return bool((rows - rows[:, :1] == np.arange(size) * step).all())


def _axes(digits: Sequence[Digit], steps: Sequence[int], axes: Sequence[str]) -> list[str]:
    """Return the names of the mesh axes that the digits cover, the major one first."""
    return [
        name
        for size, low in reversed(digits)
        for step, name in zip(steps, axes, strict=True)
        if low <= step < low * size
    ]


def _agree(sharding: Sharding, tiles: Tiles) -> bool:
    """Return whether a sharding assigns the same shard to each device as a tiling."""
    for dimension in range(tiles.ndim - 1):
        places = np.empty(tiles.size, np.int64)
        shape = [1] * tiles.ndim
        shape[dimension] = -1
        places[tiles] = np.arange(tiles.shape[dimension]).reshape(shape)
        if tuple(places.tolist()) != sharding.places(dimension):
            return False
    return True
