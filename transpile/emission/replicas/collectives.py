"""What a module for several replicas has besides its body: the group that the body is given, and what runs it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from ...array.node import HostName, Node
from ...array.operations import OPERATIONS
from ...array.program import Program, roots
from ...array.traversal import nested_roots, topological
from ...dataclass import dataclass
from ...hlo.device_groups import device_count
from ...hlo.ir import Instruction
from ..expression import Renderer
from ..parts import Part

GROUP = "g"  # what the body calls the group
ENTRY = "replica"
HOST_FUNCTIONS = tuple(name for name, row in OPERATIONS.items() if row.asks_host)  # handed to the program by its caller
# The class of the prelude that has each runner.
_RUN_BY = {"run_local": "InThreads", "run_replicas": "OnWorkers", "run_nccl": "OverNccl", "run_mpi": "OnRanks"}
# The classes of the prelude that have the methods a body calls.
_CLASSES = {
    "all_reduce": "AllReduce",
    "reduce_scatter": "ReduceScatter",
    "all_gather": "AllGather",
    "all_to_all": "AllToAll",
    "all_to_all_of_tuple": "AllToAllOfTuple",
    "ragged_all_to_all": "RaggedAllToAll",
    "collective_permute": "CollectivePermute",
    "collective_broadcast": "CollectiveBroadcast",
    "collective_reduce": "CollectiveReduce",
    "send": "Channels",
    "recv": "Channels",
}


@dataclass(frozen=True, slots=True)
class Replicas(Part):
    """The calls of one replica's body to the others, and the runners that a target offers."""

    replicas: int
    partitions: int
    runners: tuple[str, ...]
    classes: tuple[str, ...]  # of the prelude, which the group is made of
    channels: frozenset[int | Instruction] = field(
        default_factory=frozenset
    )  # that calls share of which each device may come by another
    resumable: frozenset[Node] = field(default_factory=frozenset)  # loops that can go on from a snapshot
    host: tuple[str, ...] = ()  # the functions that the body takes from the host

    @property
    def count(self) -> int:
        return self.replicas * self.partitions

    @property
    def names(self) -> set[str]:
        return {GROUP, ENTRY, "Group", "Replicas", "PROGRAM", *self.runners}

    @property
    def run_by(self) -> Sequence[str]:
        """The classes of the prelude that have the runners."""
        return [_RUN_BY[runner] for runner in self.runners]

    @property
    def prelude_names(self) -> Sequence[str]:
        return [*self.classes, *self.run_by]

    @property
    def public(self) -> Sequence[str]:
        return self.runners

    def behind(self, renderer: Renderer) -> list[str]:
        return [renderer.statement("program", self)]

    def summary(self) -> str:
        """A line of the module's docstring."""
        if self.partitions == 1:
            return f"One of {self.replicas} replicas."
        if self.replicas == 1:
            return f"One of {self.partitions} partitions."
        return f"One of {self.replicas} replicas of {self.partitions} partitions each."


def replicas_of(program: Program, runners: tuple[str, ...]) -> Replicas | None:
    """Return how a program talks to its other replicas; None for a program of one."""
    module = program.module
    if device_count(module) == 1:
        return None
    nodes = list(collectives(program))
    methods = {node.parameters.get("method", node.opcode) for node in nodes}
    classes = sorted({_CLASSES[method] for method in methods}) or ["Replica"]
    uses = Counter(node.parameters["channel"] for node in nodes if node.opcode == "collective")
    # Elsewhere all devices come by the same calls in the same order, and the line of a call says which one it is.
    branching = {node.parameters["channel"] for node in nodes if node.opcode == "collective" and _in_branch(node)}
    shared = frozenset(channel for channel in branching if uses[channel] > 1)
    resumable = _resumable(program) if {"run_replicas", "run_mpi"} & set(runners) else frozenset()
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
    """Return the functions of the host that the live nodes of a function call."""
    opcodes = {node.opcode for node in nodes}
    return [name for name in HOST_FUNCTIONS if name in opcodes]


def callback_names(nodes: Iterable[Node]) -> list[str]:
    """Return the functions that the live nodes of a function call where it is handed them."""
    arguments = (a for node in nodes for a in node.parameters.get("arguments", ()))
    return list(dict.fromkeys(argument.name for argument in arguments if isinstance(argument, HostName)))


def _in_branch(node: Node) -> bool:
    return any(region.kind == "branch" for region in node.region.path())


def _resumable(program: Program) -> frozenset[Node]:
    """The outermost loops among whose operations are collectives; none where the host cannot be asked again, or a
    message is under way from one iteration to the next."""
    nodes = topological(roots(program.entry))
    if any(node.operation.asks_host for node in nodes):
        return frozenset()
    if _carries_messages(nodes):
        return frozenset()
    root = program.entry.graph.root
    loops = [node for node in nodes if node.opcode == "loop" and node.region is root]
    return frozenset(loop for loop in loops if any(map(_communicates, topological(nested_roots(loop)))))


def _carries_messages(nodes: Sequence[Node]) -> bool:
    """Tell whether a transfer may be sent in one iteration of a loop, or before it, and received in another."""
    places = {(node.parameters["channel"], node.region) for node in nodes if node.opcode in ("send", "recv")}
    return len(places) > len({channel for channel, _ in places})


def _communicates(node: Node) -> bool:
    return node.operation.has_effect and not node.operation.asks_host


def collectives(program: Program) -> Iterator[Node]:
    """Yield the nodes that exchange something with other replicas."""
    for function in program.functions:
        for node in topological(roots(function)):
            if _communicates(node):
                yield node
