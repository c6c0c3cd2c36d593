"""Names for the groups and pairs of devices of a program: along axes of its mesh, or used by several calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...array.node import DeviceGroups, DevicePairs, Node
from ...dataclass import dataclass
from ...hlo.shardings import Mesh
from ..expression import Renderer
from ..naming.identifiers import Names
from ..parts import Part

Devices = DeviceGroups | DevicePairs


@dataclass(frozen=True, slots=True)
class NamedDevices(Part):
    """The constants at the top of a module that name the devices of collectives."""

    by_name: Mapping[Devices, str]

    @property
    def names(self) -> set[str]:
        return set(self.by_name.values())

    def constants(self, renderer: Renderer) -> list[str]:
        return [renderer.statement("named_devices", name, devices) for devices, name in self.by_name.items()]


def named_devices(nodes: Sequence[Node], mesh: Mesh | None, axes: Mapping[str, str]) -> NamedDevices:
    """Return the names of the devices of collectives among ``nodes``; ``axes`` has the text's names of mesh axes."""
    found: dict[Devices, str] = {}
    names = Names(set())
    for devices, uses in Counter(_devices(nodes)).items():
        along = _axis_name(devices, mesh, axes) if mesh is not None else None
        kind = "PAIRS" if isinstance(devices, DevicePairs) else "GROUPS"
        if along is not None or uses > 1:
            found[devices] = names.fresh(along or kind)
    return NamedDevices(found)


def _devices(nodes: Sequence[Node]) -> Iterator[Devices]:
    for node in nodes:
        parameters = node.parameters
        given = (*parameters.get("arguments", ()), *parameters.get("keywords", {}).values(), parameters.get("pairs"))
        yield from (each for each in given if isinstance(each, DeviceGroups | DevicePairs))


def _axis_name(devices: Devices, mesh: Mesh, axes: Mapping[str, str]) -> str | None:
    """Return ``MODEL_GROUPS`` for the groups along an axis, or None for any other groups or pairs.

    It is ``MODEL_RING`` if each member sends to the next, and ``MODEL_RING_BACK`` if it sends to the one before.
    """
    if isinstance(devices, DeviceGroups):
        along = _varying(devices.lists[0], mesh) if devices.lists and devices.lists[0] else []
        is_whole = along and set(devices.lists) == set(mesh.groups(along))
        return f"{_words(along, mesh, axes)}_GROUPS" if is_whole else None
    for axis, size in enumerate(mesh.devices.shape):
        pairs = {pair for ring in mesh.groups([axis]) for pair in zip(ring, (*ring[1:], ring[0]), strict=True)}
        for sent, ending in ((pairs, ""), ({(target, source) for source, target in pairs}, "_BACK")):
            if size > 2 and set(devices.lists) == sent:
                return f"{_words([axis], mesh, axes)}_RING{ending}"
    return None


def _varying(group: Sequence[int], mesh: Mesh) -> list[int]:
    """Return the axes of the mesh along which the devices of a group lie."""
    places = np.argwhere(np.isin(mesh.devices, group))
    return [axis for axis in range(mesh.devices.ndim) if places.size and np.ptp(places[:, axis])]


def _words(along: Sequence[int], mesh: Mesh, axes: Mapping[str, str]) -> str:
    return "_".join(axes[mesh.axes[axis]] for axis in along).upper()
