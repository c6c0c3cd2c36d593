"""The program of one device put into a form that XLA runs on each of several.

XLA partitions a program of several partitions when it compiles it, and refuses one that it has partitioned before
where it asks for its partition. Replicas run what they are given: so each device becomes a replica.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from ...hlo.attributes import ReplicaGroups
from ...hlo.device_groups import device_count, device_groups, device_pairs
from ...hlo.ir import HloModule, Instruction
from ...hlo.shapes import ArrayShape, Shape
from .reference_rewrites import NOTES, Rewriter, rewritten, without_layouts

Operands = tuple[Instruction, ...]
_GROUPED = "all-gather all-reduce all-to-all collective-broadcast ragged-all-to-all reduce-scatter".split()


def partitions_as_replicas(module: HloModule) -> HloModule:
    """The program of one device as :func:`.reference_rewrites.rewrite_for_xla` writes it, each device a replica.

    Partition ``p`` of replica ``r`` is replica ``r * num_partitions + p``. Shardings that the program has kept are
    notes, and a collective that is done in two steps is one.
    """
    return rewritten(module, _OfOneDevice(module), {"replica_count": device_count(module)})


class _OfOneDevice(Rewriter):
    def __init__(self, module: HloModule) -> None:
        super().__init__(NOTES | {"sharding", "channel_id", "use_global_device_ids"})
        self.sizes = module.replica_count, module.num_partitions

    def _grouped(self, old: Instruction, operands: Operands) -> Instruction:
        groups = device_groups(old, *self.sizes)
        listed = ",".join("{" + ",".join(map(str, group)) + "}" for group in groups)
        return self._collective(old, operands, replica_groups=ReplicaGroups(groups, "{" + listed + "}"))

    def _permute(self, old: Instruction, operands: Operands) -> Instruction:
        return self._collective(old, operands, source_target_pairs=device_pairs(old, *self.sizes))

    def _collective(self, old: Instruction, operands: Operands, **devices: Any) -> Instruction:
        """Run a collective at once where it is only started: what ends it gives its result."""
        shape: Shape = old.shape
        if old.opcode in ("all-gather-start", "collective-permute-start"):
            shape = shape.elements[1]  # type: ignore[attr-defined]
        attributes = {key: self._remapped(value) for key, value in old.attributes.items() if key not in self.dropped}
        opcode = old.opcode.removesuffix("-start")
        return self._add(old.name, opcode, without_layouts(shape), operands, **attributes | devices)

    def _partition_id(self, old: Instruction, operands: Operands) -> Instruction:
        return self._number_of_device(old, "remainder")

    def _replica_id(self, old: Instruction, operands: Operands) -> Instruction:
        return self._number_of_device(old, "divide")

    def _number_of_device(self, old: Instruction, opcode: str) -> Instruction:
        device = self._add(f"{old.name}.device", "replica-id", old.shape, ())
        assert isinstance(old.shape, ArrayShape)
        literal = np.array(self.sizes[1], old.shape.element_type.dtype)
        partitions = self._add(f"{old.name}.partitions", "constant", old.shape, (), literal=literal)
        return self._add(old.name, opcode, old.shape, (device, partitions))

    RULES: ClassVar[Mapping[str, Callable[..., Instruction]]] = {
        **Rewriter.RULES,
        **dict.fromkeys([*_GROUPED, "all-gather-start", "all-reduce-start"], _grouped),
        **dict.fromkeys(["collective-permute", "collective-permute-start"], _permute),
        **dict.fromkeys(["all-gather-done", "all-reduce-done", "collective-permute-done"], Rewriter._first_operand),
        "partition-id": _partition_id,
        "replica-id": _replica_id,
    }
