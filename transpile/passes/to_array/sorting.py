"""sort and topk: ``np.sort`` and ``np.argsort`` where they are the same, stable sorts by keys, any comparator."""

from __future__ import annotations

from collections.abc import Sequence

from ...array.node import Node, Slot
from ...array.value import FULL, Value, getitem
from ...hlo.element_types import S8, S32, U8
from ...hlo.ir import Instruction
from ...hlo.shapes import TupleShape
from .comparators import SortKey, sort_keys
from .elementwise import converted, is_sub_byte
from .lowering import FunctionLowering, Lowered, lowers


@lowers("sort")
def sort(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Lowered:
    rank = len(operands[0].shape)
    if rank == 0 or operands[0].shape[_axis(instruction, rank)] <= 1:
        return tuple(operands) if isinstance(instruction.shape, TupleShape) else operands[0]
    axis = _axis(instruction, rank)
    keys = sort_keys(instruction["to_apply"], len(operands))
    nodes = tuple(lowering.plain(value) for value in operands)
    results = (
        _plain_sort(lowering, nodes, axis, keys)
        or _argsort(lowering, operands, nodes, axis, keys)
        or _by_keys(lowering, instruction, nodes, axis, keys)
        or _by_comparator(lowering, instruction, nodes, axis)
    )
    return tuple(results) if isinstance(instruction.shape, TupleShape) else results[0]


def _axis(instruction: Instruction, rank: int) -> int:
    dimensions = instruction["dimensions"]
    return dimensions[0] if dimensions else rank - 1


def _numpy_orders(node: Node, key: SortKey) -> bool:
    """NumPy's own sort has this order: numbers, NaN last."""
    return (
        not node.type.is_extension and not node.type.is_complex and (key.order != "total" or not node.type.is_floating)
    )


def _plain_sort(
    lowering: FunctionLowering, nodes: Sequence[Node], axis: int, keys: list[SortKey] | None
) -> list[Value] | None:
    """One operand, one key: ``np.sort``, turned round for a falling order."""
    if len(nodes) != 1 or keys is None or len(keys) != 1 or not _numpy_orders(nodes[0], keys[0]):
        return None
    (node,) = nodes
    made = lowering.graph.add("sort", (node,), axis=axis)
    if keys[0].descending:
        made = getitem(lowering.graph, made, [(None, None, -1) if k == axis else FULL for k in range(node.ndim)])
    return [Value.of(made)]


def _argsort(
    lowering: FunctionLowering,
    operands: Sequence[Value],
    nodes: Sequence[Node],
    axis: int,
    keys: list[SortKey] | None,
) -> list[Value] | None:
    """One key sorted with other operands: one stable argsort, which itself is a sorted 0, 1, 2, .."""
    if keys is None or len(keys) != 1:
        return None
    key = nodes[keys[0].operand]
    index_type = next((v.node.type for v in operands if _counts(v, axis)), None)
    if keys[0].descending or not _numpy_orders(key, keys[0]):
        if index_type is None:
            return None
        key = _key_node(lowering, key, keys[0])
    graph = lowering.graph
    interval = (0, key.shape[axis] - 1)
    order = graph.add("argsort", (key,), element_type=index_type or S32, interval=interval, axis=axis)
    results = []
    for value, node in zip(operands, nodes, strict=True):
        if _counts(value, axis) and value.node.type is order.element_type:
            results.append(Value.of(order))
        else:
            taken = graph.add("take_along_axis", (node, order), axis=axis)
            results.append(Value.of(taken))
    return results


def _counts(value: Value, axis: int) -> bool:
    """0, 1, 2, .. along the axis, in an integer type that holds it."""
    return value.node.opcode == "arange" and value.axes[axis] == 0 and value.node.type.is_integral


def _by_keys(
    lowering: FunctionLowering, instruction: Instruction, nodes: Sequence[Node], axis: int, keys: list[SortKey] | None
) -> list[Value] | None:
    if keys is None:
        return None
    key_nodes = tuple(_key_node(lowering, nodes[key.operand], key) for key in keys)
    count = len(key_nodes)
    arguments = (
        tuple(Slot(k) for k in range(count)),
        tuple(Slot(count + k) for k in range(len(nodes))),
        axis,
    )
    operands = (*key_nodes, *nodes)
    return list(lowering.call_many("sort_by_keys", operands, arguments=arguments))


def _key_node(lowering: FunctionLowering, node: Node, key: SortKey) -> Node:
    """Integers, or numbers without NaN, that rise as the key's order says."""
    value = Value.of(node)
    if key.part:
        value = lowering.elementwise(key.part, node.type.real, value, shape=node.shape)
    element_type = value.node.type
    if element_type.is_floating:
        function = "total_order_key" if key.order == "total" else "sort_key"
        value = lowering.call(function, (value.node,))
    elif is_sub_byte(element_type):
        value = converted(lowering, value, S8 if element_type.is_signed else U8)
    if not key.descending:
        return value.node
    return lowering.elementwise("not", value.node.type, value, shape=node.shape).node


def _by_comparator(
    lowering: FunctionLowering, instruction: Instruction, nodes: tuple[Node, ...], axis: int
) -> list[Value]:
    function = lowering.function_of(instruction["to_apply"])
    arguments = (tuple(Slot(k) for k in range(len(nodes))), axis, function)
    return list(lowering.call_many("sort_with", nodes, arguments=arguments))


@lowers("topk")
def topk(lowering: FunctionLowering, instruction: Instruction, operand: Value) -> Lowered:
    return top_k(lowering, instruction, operand, instruction["k"], largest=instruction["largest"])


def top_k(lowering: FunctionLowering, instruction: Instruction, operand: Value, k: int, *, largest: bool) -> Lowered:
    """(values, indices) of the k largest or smallest along the last dimension, ties to the lower index."""
    arguments = (Slot(0), k) if largest else (Slot(0), k, False)
    return lowering.call_many("top_k", (lowering.plain(operand),), arguments=arguments)
