"""Lowers collectives to methods of the group of devices, and infeed, outfeed and transfers to calls of host functions.

If every device is in a group of its own, as in a module for one device, a collective is the identity with the right
shape. Host functions are passed to the program, and called in program order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...array.node import DeviceGroups, DevicePairs, Node, Slot, Ufunc
from ...array.value import FULL, Value, getitem
from ...hlo.device_groups import Groups, Named, device_count, device_groups, device_pairs, named_by
from ...hlo.element_types import U32
from ...hlo.ir import Instruction
from ...hlo.shapes import ArrayShape, TupleShape
from ...hlo.source import Diagnostic, UnsupportedError
from .control import flattened, unflattened
from .elementwise import accumulated_type, converted
from .lowering import FunctionLowering, Lowered, lowers
from .pieces import pieces_of

_REDUCING = {"reduce-scatter": "reduce_scatter", "collective-reduce": "collective_reduce"}  # methods of the group


def _groups(lowering: FunctionLowering, instruction: Instruction) -> Groups | None:
    """Return the groups of devices; None if each is alone. Raises UnsupportedError XP304 if a device is in no group."""
    groups = _checked_groups(lowering, instruction)
    attribute = instruction.attributes.get("replica_groups")
    named = {number for group in attribute.groups for number in group} if attribute is not None else set()
    noun, count = _named_by(lowering, instruction)
    left_out = next((number for number in range(count) if named and number not in named), None)
    if left_out is not None:
        message = f"{noun} {left_out} is in none of the groups of {instruction.opcode}"
        raise UnsupportedError(Diagnostic("XP304", message, instruction.span))
    return None if _are_alone(groups) else groups


def _require_first_as_root(instruction: Instruction) -> None:
    """Raise UnsupportedError XP304 if the root of a group is chosen at run time."""
    if instruction.attributes.get("has_dynamic_root"):
        message = f"{instruction.opcode} with a root that is an operand is not supported"
        raise UnsupportedError(Diagnostic("XP304", message, instruction.span, hint="the first of a group is its root"))


def _are_alone(groups: Groups) -> bool:
    return all(len(group) == 1 for group in groups)


def _named_by(lowering: FunctionLowering, instruction: Instruction) -> Named:
    module = lowering.module.module
    return named_by(instruction.opcode, instruction.attributes, module.replica_count, module.num_partitions)


def _checked_groups(lowering: FunctionLowering, instruction: Instruction) -> Groups:
    module = lowering.module.module
    attribute = instruction.attributes.get("replica_groups")
    if attribute is not None:
        _require_named(lowering, instruction, (number for group in attribute.groups for number in group))
    return device_groups(instruction, module.replica_count, module.num_partitions)


def _require_named(lowering: FunctionLowering, instruction: Instruction, numbers: Iterable[int]) -> None:
    """Raise UnsupportedError XP304 if an instruction names a replica, partition or device that the module does not
    have.
    """
    (noun, count), highest = _named_by(lowering, instruction), max(numbers, default=0)
    if highest >= count:
        meaning = f" (with a channel_id, the numbers of {instruction.opcode} are partitions)"
        message = f"{instruction.opcode} names {noun} {highest}{meaning if noun == 'partition' else ''}"
        raise _too_few(instruction, f"{message}, and the module is for {_number_of(count, noun)}")


def _require_parts(instruction: Instruction, groups: Groups | None, whole: ArrayShape, part: ArrayShape) -> None:
    """Raise UnsupportedError XP304 unless one array consists of as many of another as a group has devices."""
    (dimension,), size = instruction["dimensions"], len(groups[0]) if groups else 1
    if whole.dimensions[dimension] != size * part.dimensions[dimension]:
        wanted = whole.dimensions[dimension] // max(part.dimensions[dimension], 1)
        message = f"the shapes of {instruction.opcode} are for groups of {wanted} devices"
        raise _too_few(instruction, f"{message}, and the module has groups of {size}")


def _too_few(instruction: Instruction, message: str) -> UnsupportedError:
    hint = "say in the HloModule line how many there are: replica_count=N or num_partitions=N"
    return UnsupportedError(Diagnostic("XP304", message, instruction.span, hint=hint))


def _number_of(count: int, noun: str) -> str:
    return f"one {noun}" if count == 1 else f"{count} {noun}s"


def _collective(
    lowering: FunctionLowering,
    instruction: Instruction,
    method: str,
    operands: Sequence[Node],
    shapes: Sequence[ArrayShape],
    *statics: Any,
    arguments: tuple[Any, ...] | None = None,
    **keywords: Any,
) -> tuple[Value, ...]:
    """Return the results of a method of the group, called in the order of side effects."""
    channel = instruction.attributes.get("channel_id")
    slots = tuple(Slot(k) for k in range(len(operands)))
    return lowering.effect(
        "collective",
        tuple(operands),
        shapes,
        method=method,
        arguments=(*(slots if arguments is None else arguments), *statics),
        keywords=keywords,
        channel=instruction if channel is None else channel,
    )


def _of_groups(lowering: FunctionLowering, groups: Groups) -> dict[str, Any]:
    """Return the keyword for groups; none for a single group of all devices in order."""
    everyone = tuple(range(device_count(lowering.module.module)))
    return {} if groups == (everyone,) else {"groups": DeviceGroups(groups)}


def _each(
    lowering: FunctionLowering,
    instruction: Instruction,
    method: str,
    operands: Sequence[Value],
    results: Sequence[Any],
    *statics: Any,
    **keywords: Any,
) -> Lowered:
    """Return the results of the same call for every operand, as a tuple if there are several."""
    values: list[Value] = []
    for operand, shape in zip(operands, results, strict=True):
        node = lowering.plain(operand)
        wanted = ArrayShape(node.type, shape.dimensions)
        values += _collective(lowering, instruction, method, [node], [wanted], *statics, **keywords)
    return values[0] if len(values) == 1 else tuple(values)


def _axis(axis: int) -> dict[str, int]:
    return {"axis": axis} if axis else {}


def _as_shape_says(instruction: Instruction, operands: Sequence[Value]) -> Lowered:
    return operands[0] if isinstance(instruction.shape, ArrayShape) else tuple(operands)


@lowers("all-reduce", "all-reduce-start", "collective-reduce", "reduce-scatter")
def reducing(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Lowered:
    """Lower a reduction: narrow floats are combined in float32 and rounded once."""
    _require_first_as_root(instruction)
    groups = _groups(lowering, instruction)
    if instruction.opcode == "reduce-scatter":
        for given, result in zip(instruction.operands, instruction.element_shapes, strict=True):
            assert isinstance(result, ArrayShape)
            _require_parts(instruction, groups, given.array_shape, result)
    if groups is None:
        return _as_shape_says(instruction, operands)
    combine = lowering.combiner(instruction["to_apply"])
    scatters = instruction.opcode == "reduce-scatter"
    keywords = {**(_axis(instruction["dimensions"][0]) if scatters else {}), **_of_groups(lowering, groups)}
    method = _REDUCING.get(instruction.opcode, "all_reduce")
    results = []
    for operand, shape in zip(operands, instruction.element_shapes, strict=True):
        own = operand.node.type
        wide = converted(lowering, operand, accumulated_type(own)) if isinstance(combine, Ufunc) else operand
        result = _each(lowering, instruction, method, [wide], [shape], combine, **keywords)
        results.append(converted(lowering, result, own))
    return _as_shape_says(instruction, results)


@lowers("all-gather", "all-gather-start")
def all_gather(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Lowered:
    """Lower a gather. ``-start`` gives (operands, results), of which ``-done`` takes the results."""
    starts = instruction.opcode == "all-gather-start"
    given: Lowered = operands[0] if len(operands) == 1 else operands
    groups = _groups(lowering, instruction)
    shape = instruction.shape.elements[1] if starts else instruction.shape  # type: ignore[attr-defined]
    shapes = shape.elements if isinstance(shape, TupleShape) else (shape,)
    for operand, result in zip(instruction.operands, shapes, strict=True):
        assert isinstance(result, ArrayShape)
        _require_parts(instruction, groups, result, operand.array_shape)
    if groups is None:
        return (given, given) if starts else given
    keywords = {**_axis(instruction["dimensions"][0]), **_of_groups(lowering, groups)}
    gathered = _each(lowering, instruction, "all_gather", operands, shapes, **keywords)
    return (given, gathered) if starts else gathered


@lowers("all-gather-done", "collective-permute-done")
def second_of_start(lowering: FunctionLowering, instruction: Instruction, operand: Lowered) -> Lowered:
    return operand[1]


@lowers("all-reduce-done")
def all_reduce_done(lowering: FunctionLowering, instruction: Instruction, operand: Lowered) -> Lowered:
    return operand


@lowers("all-to-all")
def all_to_all(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Lowered:
    """Lower an exchange. Without dimensions, operand ``i`` goes to member ``i`` of the group."""
    groups = _groups(lowering, instruction)
    dimensions = instruction["dimensions"]
    size = len(groups[0]) if groups else 1
    if dimensions is None and len(operands) != size:
        message = f"all-to-all of {len(operands)} operands is for groups of as many devices"
        raise _too_few(instruction, f"{message}, and the module has groups of {size}")
    if groups is None:
        return _as_shape_says(instruction, operands)
    keywords = _of_groups(lowering, groups)
    if dimensions is not None:
        keywords = {**_axis(dimensions[0]), **keywords}
        return _each(lowering, instruction, "all_to_all", operands, [instruction.array_shape], **keywords)
    pieces = pieces_of(lowering.graph, operands)
    if pieces is not None:
        keywords = {**_axis(pieces.axis), **keywords}
        array = lowering.strong(pieces.array)
        whole = ArrayShape(array.type, array.shape)
        (arrived,) = _collective(lowering, instruction, "all_to_all", [array], [whole], **keywords)
        first = operands[0]
        items = (getitem(lowering.graph, arrived.node, index) for index in pieces.indices)
        return tuple(Value(item, first.axes, first.shape) for item in items)
    parts = lowering.graph.add("stack", tuple(lowering.strong(lowering.plain(operand)) for operand in operands), axis=0)
    (arrived,) = _collective(
        lowering, instruction, "all_to_all", [parts], [ArrayShape(parts.type, parts.shape)], **keywords
    )
    rest = [FULL] * (parts.ndim - 1)
    return tuple(Value.of(getitem(lowering.graph, arrived.node, (k, *rest))) for k in range(len(operands)))


@lowers("collective-broadcast")
def collective_broadcast(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Lowered:
    """Lower a broadcast; a device in no group receives zeros."""
    _require_first_as_root(instruction)
    groups = _checked_groups(lowering, instruction)
    if _are_alone(groups) and len(groups) == device_count(lowering.module.module):
        return _as_shape_says(instruction, operands)
    keywords = _of_groups(lowering, groups)
    return _each(lowering, instruction, "collective_broadcast", operands, instruction.element_shapes, **keywords)


@lowers("collective-permute", "collective-permute-start")
def collective_permute(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Lowered:
    """Lower a permutation of devices; a device that is no target receives zeros."""
    if instruction.attributes.get("slice_sizes") is not None:
        message = f"{instruction.opcode} of slices in place is not supported"
        raise UnsupportedError(Diagnostic("XP301", message, instruction.span))
    module = lowering.module.module
    pairs = device_pairs(instruction, module.replica_count, module.num_partitions)
    _require_named(lowering, instruction, (number for pair in instruction["source_target_pairs"] for number in pair))
    given: Lowered = operands[0] if len(operands) == 1 else operands
    if device_count(module) == 1:
        zeros = tuple(Value.repeated(lowering.graph.literal(0, v.node.type), v.shape) for v in operands)
        received = given if pairs else zeros[0] if len(zeros) == 1 else zeros
    else:
        shapes = [ArrayShape(operand.node.type, operand.shape) for operand in operands]
        received = _each(lowering, instruction, "collective_permute", operands, shapes, DevicePairs(pairs))
    return received if instruction.opcode == "collective-permute" else (given, received)


@lowers("ragged-all-to-all")
def ragged_all_to_all(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Value:
    """Lower a ragged exchange. The sizes to receive follow from the other devices' sizes to send."""
    groups = _groups(lowering, instruction)
    nodes = tuple(lowering.plain(value) for value in operands[:5])
    shape = ArrayShape(nodes[1].type, nodes[1].shape)
    if groups is None:
        return lowering.call("copy_ragged_rows", nodes)
    keywords = _of_groups(lowering, groups)
    (result,) = _collective(lowering, instruction, "ragged_all_to_all", nodes, [shape], **keywords)
    return result


@lowers("replica-id", "partition-id")
def identifier(lowering: FunctionLowering, instruction: Instruction) -> Value:
    module = lowering.module.module
    count = module.replica_count if instruction.opcode == "replica-id" else module.num_partitions
    if count == 1:
        return Value.of(lowering.graph.literal(np.uint32(0), U32))
    return Value.of(lowering.graph.add(instruction.opcode, interval=(0, count - 1)))


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
