"""Device groups: the devices that take part in a collective together.

A device is one partition of one replica: ``replica_id * num_partitions + partition_id``. The meaning of the ids in
``replica_groups`` and ``source_target_pairs`` depends on ``channel_id`` and ``use_global_device_ids``. Source: XLA's
CollectiveOpGroupMode.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .ir import HloModule, Instruction

Groups = tuple[tuple[int, ...], ...]
Pairs = tuple[tuple[int, int], ...]

# With a channel, these run across partitions, and other collectives across replicas and partitions.
_ACROSS_PARTITIONS = frozenset(
    "all-to-all ragged-all-to-all collective-broadcast collective-permute collective-permute-start".split()
)


class Named(NamedTuple):
    """The meaning of the ids of a collective, and the number of such ids."""

    noun: str  # device, partition or replica
    total: int


def named_by(opcode: str, attributes: Mapping[str, Any], replicas: int, partitions: int) -> Named:
    """Return the meaning of the ids in the groups or pairs of a collective."""
    if attributes.get("use_global_device_ids"):
        return Named("device", replicas * partitions)
    if attributes.get("channel_id") is not None and opcode in _ACROSS_PARTITIONS:
        return Named("partition", partitions)
    return Named("replica", replicas)


def device_count(module: HloModule) -> int:
    """Return the number of devices that run the module together."""
    return module.replica_count * module.num_partitions


def device_noun(module: HloModule) -> str:
    """Return the word for the devices of a module: replica, partition or device."""
    if module.num_partitions == 1:
        return "replica"
    return "partition" if module.replica_count == 1 else "device"


def device_groups(instruction: Instruction, replicas: int, partitions: int) -> Groups:
    """Return the groups of devices of a collective, each in the order of its result."""
    noun, count = named_by(instruction.opcode, instruction.attributes, replicas, partitions)
    attribute = instruction.attributes.get("replica_groups")
    named: Sequence[Sequence[int]] = (attribute.groups if attribute is not None else ()) or [range(count)]
    if noun == "device":
        return _groups(named)
    if noun == "partition":
        return _groups([r * partitions + p for p in group] for r in range(replicas) for group in named)
    if instruction.attributes.get("channel_id") is None:
        return _groups([r * partitions + p for r in group] for p in range(partitions) for group in named)
    return _groups([r * partitions + p for r in group for p in range(partitions)] for group in named)


def _groups(groups: Iterable[Iterable[int]]) -> Groups:
    return tuple(tuple(group) for group in groups)


def device_pairs(instruction: Instruction, replicas: int, partitions: int) -> Pairs:
    """Return the (source, target) devices of a collective-permute."""
    pairs: Pairs = instruction["source_target_pairs"]
    across_partitions = instruction.attributes.get("channel_id") is not None
    return expanded(pairs, replicas, partitions, across_partitions)


def expanded(pairs: Pairs, replicas: int, partitions: int, across_partitions: bool) -> Pairs:
    """Return pairs of devices from pairs of partitions, for every replica, or from pairs of replicas, for every
    partition.
    """
    if across_partitions:
        return tuple((r * partitions + s, r * partitions + t) for r in range(replicas) for s, t in pairs)
    return tuple((s * partitions + p, t * partitions + p) for p in range(partitions) for s, t in pairs)
