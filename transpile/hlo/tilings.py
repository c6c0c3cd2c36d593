"""Shardings as the HLO text spells them, ``{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}``.

Such a tiling lists the devices of all parts of an array; it knows no mesh. Programs are divided along the axes of one
all the same: the fewest axes along which all tilings of a program divide their arrays. Source: XLA's HloSharding.
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

Tiles = npt.NDArray[np.int64]  # devices by the place of their part along each dimension, and those that have the same
Digit = tuple[int, int]  # how many places, and how far apart the devices of two neighbours are

_TILING = re.compile(
    r"\{devices=\[([\d,]+)\](?:<=\[([\d,]+)\](?:T\(([\d,]+)\))?|([\d,]+))(\s+last_tile_dim_replicate)?"
    r"(?:\s+metadata=\{[^{}]*\})?\}"
)
_REPLICATED = re.compile(r"\{\s*replicated\s*(?:metadata=\{[^{}]*\})?\}")


def parse_tiling(text: str, rank: int, count: int) -> Tiles | None:
    """Return the devices that a sharding of an array of some rank lists; None where it is no such or not of ``count``
    devices."""
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
    """Return the tilings as shardings of one mesh; None where there is no mesh whose axes divide all of them.

    ``known`` are the sizes of the axes of the program's own mesh, by name: they are taken where they do.
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
    steps = ordered[-2::-1] or [1]  # of the axes, the major one first
    sizes = [high // low for low, high in pairwise(ordered)][::-1] or [1]
    axes = tuple(f"axis_{k}" for k in range(len(steps))) if len(steps) > 1 else ("devices",)
    if list(own.values()) == sizes:
        axes = tuple(own)
    mesh = Mesh("mesh", axes, np.arange(count).reshape(sizes))
    found = [Sharding(mesh, tuple(tuple(_axes(dimension or (), steps, axes)) for dimension in each)) for each in digits]
    return found if all(map(_agree, found, tilings)) else None


def _line(tiles: Tiles, dimension: int) -> npt.NDArray[np.int64]:
    """Return the devices of the first parts along one dimension."""
    index: list[int | slice] = [0] * tiles.ndim
    index[dimension] = slice(None)
    return tiles[tuple(index)] - tiles.flat[0]


def _digits(line: npt.NDArray[np.int64]) -> list[Digit] | None:
    """Return the digits of the places along a line, the minor one first; None where devices are in no such order."""
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
    """Return the axes that digits are, the major one first."""
    return [
        name
        for size, low in reversed(digits)
        for step, name in zip(steps, axes, strict=True)
        if low <= step < low * size
    ]


def _agree(sharding: Sharding, tiles: Tiles) -> bool:
    """Tell whether a sharding gives each device the part that a tiling gives it."""
    for dimension in range(tiles.ndim - 1):
        places = np.empty(tiles.size, np.int64)
        shape = [1] * tiles.ndim
        shape[dimension] = -1
        places[tiles] = np.arange(tiles.shape[dimension]).reshape(shape)
        if tuple(places.tolist()) != sharding.places(dimension):
            return False
    return True
