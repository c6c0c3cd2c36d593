"""Collectives on one replica, and the host's infeed and outfeed.

On one replica a collective is the identity of the right shape, once its groups are seen to name no other replica.
Infeed and outfeed call the functions handed to ``main``, in program order.
"""

from __future__ import annotations

from ...array.value import Value
from ...hlo.element_types import U32
from ...hlo.ir import Instruction
from ...hlo.shapes import ArrayShape, TupleShape
from ...hlo.source import Diagnostic, UnsupportedError
from .control import flattened, unflattened
from .lowering import FunctionLowering, Lowered, lowers


def _require_one_replica(instruction: Instruction) -> None:
    """Raise where the groups name other replicas than the one there is."""
    groups = instruction.attributes.get("replica_groups")
    if groups is not None and any(len(group) > 1 for group in groups.groups):
        message = f"{instruction.opcode} over {groups.text or groups.groups} needs more than one replica"
        raise UnsupportedError(Diagnostic("XP304", message, instruction.span))


@lowers("all-reduce", "all-reduce-start", "reduce-scatter", "all-gather", "all-to-all", "collective-broadcast")
def collective(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Lowered:
    _require_one_replica(instruction)
    return operands[0] if isinstance(instruction.shape, ArrayShape) else tuple(operands)


@lowers("all-gather-start")
def all_gather_start(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Lowered:
    """(operands, results), of which the -done takes the results."""
    _require_one_replica(instruction)
    value: Lowered = operands[0] if len(operands) == 1 else tuple(operands)
    return value, value


@lowers("all-gather-done", "collective-permute-done")
def second_of_start(lowering: FunctionLowering, instruction: Instruction, operand: Lowered) -> Lowered:
    return operand[1]


@lowers("collective-permute", "collective-permute-start")
def collective_permute(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Lowered:
    """Replica 0 receives from itself, or zeros where nobody sends to it."""
    pairs = instruction["source_target_pairs"]
    if any(replica != 0 for pair in pairs for replica in pair):
        message = f"{instruction.opcode} between replicas {pairs} needs more than one replica"
        raise UnsupportedError(Diagnostic("XP304", message, instruction.span))
    value = operands[0]
    received = value if (0, 0) in pairs else Value.repeated(lowering.graph.literal(0, value.node.type), value.shape)
    return received if instruction.opcode == "collective-permute" else (value, received)


@lowers("ragged-all-to-all")
def ragged_all_to_all(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Value:
    """On one replica: rows of the input copied to their places in the output."""
    _require_one_replica(instruction)
    shape = instruction.array_shape
    nodes = tuple(lowering.plain(value) for value in operands[:5])
    return lowering.call("copy_ragged_rows", nodes, shape.dimensions, shape.element_type)


@lowers("replica-id", "partition-id")
def replica_id(lowering: FunctionLowering, instruction: Instruction) -> Value:
    return Value.of(lowering.graph.literal(0, U32))


@lowers("infeed")
def infeed(lowering: FunctionLowering, instruction: Instruction, token: Lowered) -> Lowered:
    shape = instruction.shape
    assert isinstance(shape, TupleShape)
    data = shape.elements[0]
    shapes = [data] if isinstance(data, ArrayShape) else list(data.elements)  # type: ignore[attr-defined]
    if not shapes:
        return (), None
    values = lowering.effect("infeed", (), shapes, config=instruction["infeed_config"])
    return unflattened(data, iter(values)), None


@lowers("outfeed")
def outfeed(lowering: FunctionLowering, instruction: Instruction, data: Lowered, token: Lowered) -> Lowered:
    nodes = tuple(lowering.plain(value) for value in flattened(data))
    lowering.effect("outfeed", nodes, [], config=instruction["outfeed_config"])
    return None
