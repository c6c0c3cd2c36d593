"""Shardings of arrays on a mesh of devices, in Shardy's notation.

A mesh, ``#sdy.mesh<["data"=2, "model"=4]>``, is an array of devices whose axes have names. A sharding, ``<@mesh,
[{"data"}, {}]>``, lists for each dimension of an array the axes of the mesh that shard it, the major one first; along
all other axes the array is replicated. Source: the Shardy dialect of OpenXLA.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from ..dataclass import dataclass
from .device_groups import Groups
from .replica_groups import MAX_DEVICES

AFTER_PARTITIONER = (  # the hint for a program from before the partitioner
    "take it after XLA's partitioner: lowered.compile().as_text(), or --xla_dump_hlo_pass_re=spmd-partitioning"
)
_MESH = re.compile(r"([\w.\-]+)\s*=\s*#sdy\.mesh<\[([^\]]*)\](?:,\s*device_ids=\[([\d,\s]*)\])?>")
_AXIS = re.compile(r'"([^"]*)"\s*=\s*(\d{1,9})')
_SHARDING = re.compile(r"<@([\w.\-]+),\s*\[([^\]]*)\](?:,\s*(?:replicated|unreduced)=\{[^{}]*\})*>")
_DIMENSION = re.compile(r"\{([^{}]*)\}(?:p\d+)?")
_NAME = re.compile(r'"([^"]*)"')


@dataclass(frozen=True, eq=False)
class Mesh:
    """Device numbers as an array whose axes have names."""

    name: str
    axes: tuple[str, ...]
    devices: npt.NDArray[np.int64]

    @property
    def count(self) -> int:
        return self.devices.size

    def groups(self, axes: Sequence[int]) -> Groups:
        """Return the groups of devices along some axes; the first of these axes is the major one in each group."""
        others = [axis for axis in range(self.devices.ndim) if axis not in axes]
        size = prod(self.devices.shape[axis] for axis in axes)
        return tuple(map(tuple, self.devices.transpose(*others, *axes).reshape(-1, size).tolist()))


@dataclass(frozen=True)
class Sharding:
    """The axes of a mesh that shard each dimension of an array; ``()`` for a dimension that is not sharded."""

    mesh: Mesh
    dimensions: tuple[tuple[str, ...], ...]

    def shard_count(self, dimension: int) -> int:
        """Return the number of shards of a dimension."""
        return prod(self.mesh.devices.shape[axis] for axis in self._axes(dimension))

    def part(self, sizes: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the shard's sizes for an array of ``sizes``; None if the rank differs or a size is not divisible."""
        if len(sizes) != len(self.dimensions) or any(size % self.shard_count(d) for d, size in enumerate(sizes)):
            return None
        return tuple(size // self.shard_count(d) for d, size in enumerate(sizes))

    def whole(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Return the sizes of the whole array for a shard of ``sizes``."""
        return tuple(size * self.shard_count(d) for d, size in enumerate(sizes))

    @property
    def is_sharded(self) -> bool:
        """Whether any dimension is sharded."""
        return any(self.dimensions)

    def groups(self, dimension: int) -> Groups:
        """Return the groups of devices that together have all shards of a dimension, in the order of the shards."""
        return self.mesh.groups(self._axes(dimension))

    def places(self, dimension: int) -> tuple[int, ...]:
        """Return for each device number the index of its shard along a dimension."""
        places = [0] * self.mesh.count
        for group in self.groups(dimension):
            for place, device in enumerate(group):
                places[device] = place
        return tuple(places)

    def _axes(self, dimension: int) -> list[int]:
        return [self.mesh.axes.index(name) for name in self.dimensions[dimension]]


@dataclass(frozen=True)
class ShardLayout:
    """The shardings of a program's parameters and results on one mesh.

    ``parameters`` and ``results`` have the sharding of each array, None for a replicated one; ``results`` is None if
    the program does not specify them.
    """

    mesh: Mesh
    parameters: tuple[Sharding | None, ...]
    results: tuple[Sharding | None, ...] | None


def shard_layout(
    parameters: Sequence[Sharding | None], results: Sequence[Sharding | None] | None, mesh: Mesh | None = None
) -> ShardLayout | None:
    """Return the layout of some shardings; None if they are on different meshes. If nothing is sharded, all arrays are
    replicated on ``mesh``; without a ``mesh``, return None.
    """
    divided = [one for one in (*parameters, *(results or ())) if one is not None and one.is_sharded]
    meshes = {one.mesh for one in divided} or ({mesh} if mesh is not None else set())
    if len(meshes) != 1:
        return None
    used = [[one if one in divided else None for one in each] for each in (parameters, results or ())]
    return ShardLayout(meshes.pop(), tuple(used[0]), None if results is None else tuple(used[1]))


def parse_meshes(text: str) -> dict[str, Mesh]:
    """Return the meshes in the frontend attributes of a module, by name, except those that do not number all
    devices.
    """
    meshes = {}
    for name, axes_text, ids in _MESH.findall(text.replace('\\"', '"')):
        axes = [(axis, int(size)) for axis, size in _AXIS.findall(axes_text)]
        sizes = [size for _, size in axes]
        count = prod(sizes)
        if not 0 < count <= MAX_DEVICES or len({axis for axis, _ in axes}) < len(axes) or len(axes) > 32:
            continue
        numbers = [int(number) for number in re.findall(r"\d{1,9}", ids)] if ids else list(range(count))
        if sorted(numbers) == list(range(count)):
            devices = np.array(numbers, np.int64).reshape(sizes)
            meshes[name] = Mesh(name, tuple(axis for axis, _ in axes), devices)
    return meshes


def parse_shardings(text: str, meshes: Mapping[str, Mesh]) -> list[Sharding] | None:
    """Return the shardings of several values, ``#sdy.sharding_per_value<[..]>``; None if one is not supported: an
    unknown mesh, sub-axes, or an axis twice.
    """
    shardings = []
    body = text.replace('\\"', '"')
    found = list(_SHARDING.finditer(body))
    if len(found) != body.count("<@"):
        return None
    for mesh_name, dimensions_text in (match.group(1, 2) for match in found):
        mesh = meshes.get(mesh_name)
        if mesh is None or ":(" in dimensions_text:
            return None
        dimensions = tuple(tuple(_NAME.findall(part)) for part in _DIMENSION.findall(dimensions_text))
        named = [name for part in dimensions for name in part]
        if len(set(named)) < len(named) or not set(named) <= set(mesh.axes):
            return None
        shardings.append(Sharding(mesh, dimensions))
    return shardings
