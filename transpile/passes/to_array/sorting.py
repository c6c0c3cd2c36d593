"""Lowers sort and topk: to ``np.sort`` and ``np.argsort`` if they agree, to stable sorts by keys, or by any
comparator.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...array.node import Node, Slot
from ...array.value import FULL, Value, getitem
from ...dataclass import dataclass
from ...hlo.element_types import S8, S32, U8
from ...hlo.ir import Computation, Instruction
from ...hlo.shapes import TupleShape
from .elementwise import converted, is_sub_byte
from .lowering import FunctionLowering, Lowered, lowers
from .reducers import canonical

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


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
        or _by_keys(lowering, nodes, axis, keys)
        or _by_comparator(lowering, instruction, nodes, axis)
    )
    return tuple(results) if isinstance(instruction.shape, TupleShape) else results[0]


def _axis(instruction: Instruction, rank: int) -> int:
    dimensions = instruction["dimensions"]
    return dimensions[0] if dimensions else rank - 1


def _numpy_orders(node: Node, key: SortKey) -> bool:
    """Return whether NumPy's own sort has this order: numbers, NaN last."""
    return (
        not node.type.is_extension and not node.type.is_complex and (key.order != "total" or not node.type.is_floating)
    )


def _plain_sort(
    lowering: FunctionLowering, nodes: Sequence[Node], axis: int, keys: list[SortKey] | None
) -> list[Value] | None:
    """Return ``np.sort`` for one operand and one key, reversed for a descending order; or None."""
    if len(nodes) != 1 or keys is None or len(keys) != 1 or not _numpy_orders(nodes[0], keys[0]):
        return None
    (node,) = nodes
    made = lowering.graph.add("sort", (node,), axis=axis)
    if keys[0].descending:
        made = getitem(lowering.graph, made, [(None, None, -1) if k == axis else FULL for k in range(node.ndim)])
    return [Value.of(made)]


def _argsort(
    lowering: FunctionLowering, operands: Sequence[Value], nodes: Sequence[Node], axis: int, keys: list[SortKey] | None
) -> list[Value] | None:
    """Return operands sorted by one key with a stable argsort, which replaces a sorted 0, 1, 2, ..; or None."""
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
            taken = (
                graph.add("take", (node, order), axis=0, clamped=False)
                if node.ndim == 1
                else graph.add("take_along_axis", (node, order), axis=axis)
            )
            results.append(Value.of(taken))
    return results


def _counts(value: Value, axis: int) -> bool:
    """Return whether a value is 0, 1, 2, .. along the axis, in an integer type."""
    return value.node.opcode == "arange" and value.axes[axis] == 0 and value.node.type.is_integral


def _by_keys(
    lowering: FunctionLowering, nodes: Sequence[Node], axis: int, keys: list[SortKey] | None
) -> list[Value] | None:
    if keys is None:
        return None
    key_nodes = tuple(_key_node(lowering, nodes[key.operand], key) for key in keys)
    count = len(key_nodes)
    arguments = (tuple(Slot(k) for k in range(count)), tuple(Slot(count + k) for k in range(len(nodes))), axis)
    operands = (*key_nodes, *nodes)
    return list(lowering.call_many("sort_by_keys", operands, arguments=arguments))


def _key_node(lowering: FunctionLowering, node: Node, key: SortKey) -> Node:
    """Return integers, or numbers without NaN, that ascend in the key's order."""
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
    """Return (values, indices) of the k largest or smallest along the last dimension; of equal ones, the lower index is
    first.
    """
    arguments = (Slot(0), k) if largest else (Slot(0), k, False)
    return lowering.call_many("top_k", (lowering.plain(operand),), arguments=arguments)


# -- the keys of comparators


@dataclass(frozen=True, slots=True)
class SortKey:
    """Operand ``operand`` (or a part of it), compared in an ``order``: ``value``, ``numbers`` or ``total``."""

    operand: int
    part: str  # "", "real" or "imag"
    order: str
    descending: bool


def sort_keys(computation: Computation, operand_count: int) -> list[SortKey] | None:
    """Return the keys of a comparator, most significant first, or None for other computations."""
    less: dict[str, SortKey] = {}
    equal: dict[str, tuple[int, str]] = {}
    for k in range(min(operand_count, len(_LETTERS) // 2)):
        for part in ("", "real", "imag"):
            left, right = (f"{part}({c})" if part else c for c in _LETTERS[2 * k : 2 * k + 2])
            for order, one, other, suffix in _spellings(left, right):
                less[f"({one} < {other}{suffix})"] = SortKey(k, part, order, False)
                less[f"({other} < {one}{suffix})"] = SortKey(k, part, order, True)
                for pair in ((one, other), (other, one)):
                    equal[f"({pair[0]} == {pair[1]}{suffix})"] = (k, part)
    return _lexicographic(canonical(computation), less, equal)


def _spellings(left: str, right: str) -> list[tuple[str, str, str, str]]:
    """Return (order, left key, right key, suffix of the comparison) for every known spelling of a key."""
    spelled = [("value", left, right, ""), ("total", left, right, " in total order")]
    numbers = [_jax_number(left), _jax_number(right)]
    spelled.append(("numbers", numbers[0], numbers[1], " in total order"))
    for bound in (127, 32767, 2147483647, 9223372036854775807):
        spelled.append(("total", _flipped(left, bound), _flipped(right, bound), ""))
        spelled.append(("numbers", _flipped(numbers[0], bound), _flipped(numbers[1], bound), ""))
    narrow = [_narrow_number(left), _narrow_number(right)]
    spelled.append(("numbers", _flipped(narrow[0], 32767), _flipped(narrow[1], 32767), ""))
    return spelled


def _jax_number(x: str) -> str:
    return f"select(({x} != {x}), nan, select((0.0 == {x}), 0.0, {x}))"


def _narrow_number(x: str) -> str:
    """Return the text of the same for bf16, after XLA has moved parts of it to f32."""
    return f"bf16[](select(({x} != {x}), nan, f32[](bf16[](select((0.0 == {x}), 0.0, {x})))))"


def _flipped(x: str, bound: int) -> str:
    """Return the text of a float's bits as an integer of the same order."""
    return f"select(({x} < 0), xor({bound}, {x}), {x})"


def _lexicographic(text: str, less: dict[str, SortKey], equal: dict[str, tuple[int, str]]) -> list[SortKey] | None:
    keys: list[SortKey] = []
    while text not in less:
        parts = _arguments(text, "or")
        key = next((less[part] for part in parts if part in less), None)
        rest = next((part for part in parts if part not in less), None)
        if key is None or rest is None or len(parts) != 2:
            return None
        keys.append(key)
        inner = _arguments(rest, "and")
        ties = [part for part in inner if equal.get(part) == (key.operand, key.part)]
        others = [part for part in inner if part not in ties]
        if len(ties) != 1 or len(others) != 1:
            return None
        text = others[0]
    return [*keys, less[text]]


def _arguments(text: str, function: str) -> list[str]:
    """Return the arguments of ``function(..)``; none for other text."""
    if not text.startswith(f"{function}("):
        return []
    parts, depth, start = [], 0, len(function) + 1
    for position in range(start, len(text) - 1):
        character = text[position]
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 2
    return [*parts, text[start:-1]]
