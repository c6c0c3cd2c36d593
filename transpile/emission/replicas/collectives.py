"""The parts of a module for several replicas besides its body: its group, the runners, and the names of devices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

import numpy as np

from ...array.node import DeviceGroups, DevicePairs, HostName, Node
from ...array.operations import OPERATIONS
from ...array.program import Program, roots
from ...array.traversal import nested_roots, topological
from ...dataclass import dataclass
from ...hlo.device_groups import device_count
from ...hlo.ir import Instruction
from ...hlo.shardings import Mesh
from ..expression import Renderer
from ..naming.identifiers import Names
from ..parts import Part

GROUP = "g"  # the body's name of the group
ENTRY = "replica"
HOST_FUNCTIONS = tuple(name for name, row in OPERATIONS.items() if row.asks_host)  # passed to the program by its caller
# The prelude class of each method that a body may call.
_CLASSES = {
    "all_reduce": "AllReduce",
    "reduce_scatter": "ReduceScatter",
    "all_gather": "AllGather",
    "all_to_all": "AllToAll",
    "ragged_all_to_all": "RaggedAllToAll",
    "collective_permute": "CollectivePermute",
    "collective_broadcast": "CollectiveBroadcast",
    "collective_reduce": "CollectiveReduce",
    "send": "Channels",
    "recv": "Channels",
}


@dataclass(frozen=True, slots=True)
class Replicas(Part):
    """The collectives in one replica's body, and the runners that a target offers."""

    replicas: int
    partitions: int
    runners: Mapping[str, str]  # and the prelude class of each
    classes: tuple[str, ...]  # the prelude classes that the group derives from
    channels: frozenset[int | Instruction] = field(
        default_factory=frozenset
    )  # shared by several calls, of which devices may execute different ones
    resumable: frozenset[Node] = field(default_factory=frozenset)  # loops that can go on from a snapshot
    host: tuple[str, ...] = ()  # the host functions that the body takes

    @property
    def count(self) -> int:
        return self.replicas * self.partitions

    @property
    def names(self) -> set[str]:
        return {GROUP, ENTRY, "Group", "Replicas", "PROGRAM", *self.runners}

    @property
    def prelude_names(self) -> Sequence[str]:
        return [*self.classes, *self.runners.values()]

    @property
    def public(self) -> Sequence[str]:
        return [*self.runners]

    def behind(self, renderer: Renderer) -> list[str]:
        return [renderer.statement("program", self)]

    def summary(self) -> str:
        """Return a line of the module's docstring."""
        if self.partitions == 1:
            return f"One of {self.replicas} replicas."
        if self.replicas == 1:
            return f"One of {self.partitions} partitions."
        return f"One of {self.replicas} replicas of {self.partitions} partitions each."


def replicas_of(program: Program, runners: Mapping[str, str]) -> Replicas | None:
    """Return how a program communicates with its other replicas, or None for a program of one."""
    module = program.module
    if device_count(module) == 1:
        return None
    nodes = list(collectives(program))
    methods = {node.parameters.get("method", node.opcode) for node in nodes}
    classes = sorted({_CLASSES[method] for method in methods}) or ["Replica"]
    uses = Counter(node.parameters["channel"] for node in nodes if node.opcode == "collective")
    # Outside branches, all devices execute the same calls in the same order, and the line identifies a call.
    branching = {node.parameters["channel"] for node in nodes if node.opcode == "collective" and _in_branch(node)}
    shared = frozenset(channel for channel in branching if uses[channel] > 1)
    resumable = _resumable(program) if {"run_replicas", "run_mpi"} & {*runners} else frozenset()
    classes += ["Resumable"] if resumable else []
    return Replicas(
        module.replica_count,
        module.num_partitions,
        runners,
        tuple(sorted(classes)),
        shared,
        resumable,
        tuple(host_functions(topological(roots(program.entry)))),
    )


def host_functions(nodes: Iterable[Node]) -> list[str]:
    """Return the host functions that the live nodes of a function call."""
    opcodes = {node.opcode for node in nodes}
    return [name for name in HOST_FUNCTIONS if name in opcodes]


def callback_names(nodes: Iterable[Node]) -> list[str]:
    """Return the user's functions that live nodes call and that are passed to ``main`` by name."""
    arguments = (a for node in nodes for a in node.parameters.get("arguments", ()))
    return list(dict.fromkeys(argument.name for argument in arguments if isinstance(argument, HostName)))


def called_back(program: Program) -> list[str]:
    """Return the user's functions that a program calls."""
    return callback_names(topological(roots(program.entry)))


def _in_branch(node: Node) -> bool:
    return any(region.kind == "branch" for region in node.region.path())


def _resumable(program: Program) -> frozenset[Node]:
    """Return the outermost loops that contain collectives.

    There are none if the program asks the host, which cannot be repeated, or if a message is in flight across
    iterations.
    """
    nodes = topological(roots(program.entry))
    if any(node.operation.asks_host for node in nodes):
        return frozenset()
    if _carries_messages(nodes):
        return frozenset()
    root = program.entry.graph.root
    loops = [node for node in nodes if node.opcode == "loop" and node.region is root]
    return frozenset(loop for loop in loops if any(map(_communicates, topological(nested_roots(loop)))))


def _carries_messages(nodes: Sequence[Node]) -> bool:
    """Return whether a transfer may be sent in one iteration of a loop, or outside it, and received in another."""
    places = {(node.parameters["channel"], node.region) for node in nodes if node.opcode in ("send", "recv")}
    return len(places) > len({channel for channel, _ in places})


def _communicates(node: Node) -> bool:
    return node.operation.has_effect and not node.operation.asks_host


def collectives(program: Program) -> Iterator[Node]:
    """Yield the nodes that communicate with other replicas."""
    for function in program.functions:
        for node in topological(roots(function)):
            if _communicates(node):
                yield node


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
