"""``np.bincount``: the number of occurrences of each integer, which JAX adds up one by one, without those out of
range.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node, Slot, Ufunc, literal_value
from ...array.program import Function
from ...array.rewriting import called
from ...array.support import Support
from ...array.value import getitem
from ...hlo.element_types import S64
from ..rewriting.patterns import Bindings, pattern
from ..rewriting.rules import Rule, apply_rules

_NOT_NEGATIVE = pattern("maximum(x, 0)")
_MOST_COUNTED = {"f32": 2**24, "f64": 2**53}  # the largest count that a float reaches by adding 1


def _counts(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the counts by ``np.bincount``, or None. Integers out of range are counted in an additional element, which
    is dropped.
    """
    zeros, numbers, one = _places(node)
    if not _is_number(zeros, 0) or not _is_number(one, 1) or numbers.ndim != 1 or numbers.interval is None:
        return None
    (size,) = node.shape if node.ndim == 1 else (0,)
    bounds, is_wide = numbers.interval, node.type.is_integral and node.type.bits >= 32
    is_exact = is_wide or numbers.shape[0] <= _MOST_COUNTED.get(node.type.name, 0)
    if bounds[0] < 0 or not size or not is_exact or numbers.type.name == "u64":
        return None
    largest = (1 << numbers.type.bits - 1) - 1
    if bounds[1] >= size > largest:
        return None
    if bounds[1] > size:
        numbers = _cut(graph, numbers, size)
    places = size + (bounds[1] >= size)
    counted = called(graph, "np.bincount", (numbers,), node, minlength=places)
    if node.type is not S64:
        counted = graph.add("convert", (counted,), element_type=node.element_type)
    return getitem(graph, counted, ((None, size, None),)) if places > size else counted


def _places(node: Node) -> list[Node]:
    """Return the array, the positions and the values of an addition at positions; the node three times for others."""
    if node.opcode == "update_at":
        array, value, *indices = node.operands
        is_sum = node.parameters["ufunc"] == Ufunc("add") and len(indices) == 1
        return [array, *indices, value] if is_sum else [node, node, node]
    *given, ufunc = node.parameters["arguments"]
    plain = ufunc == Ufunc("add") and not node.parameters["keywords"] and all(isinstance(item, Slot) for item in given)
    return [node.operands[item.index] for item in given] if plain and len(given) == 3 else [node, node, node]


def _is_number(node: Node, number: int) -> bool:
    """Return whether a node is the number, or an array filled with it."""
    value = node.operands[0] if node.operation.is_filled else node
    return value.is_literal and bool(literal_value(value) == number)


def _cut(graph: Graph, numbers: Node, size: int) -> Node:
    """Return numbers clamped to at most ``size``."""
    inner = _NOT_NEGATIVE.match(numbers)
    zero, most = (graph.literal(bound, numbers.type) for bound in (0, size))
    operands = (zero, inner["x"], most) if inner is not None else (numbers, most)
    opcode = "clamp" if inner is not None else "minimum"
    return graph.add(opcode, operands, interval=(0, size))


def _whole_counts(graph: Graph, node: Node, found: Bindings) -> Node | None:
    return _counts(graph, node, found) if node.type.is_integral else None


def _part(graph: Graph, node: Node, found: Bindings) -> Node:
    """Return a part of the counts."""
    return getitem(graph, found["left"], node.parameters["index"])


RULES, _OF_ANY_SIZE = (
    (
        *(Rule(f"{call}(a, b, c)", make) for call in ("prelude.scatter_at", "update_at")),
        Rule("getitem((left := getitem(convert(np.bincount(numbers)))))", _part, once=("left",)),
    )
    for make in (_counts, _whole_counts)
)


def bincount(function: Function, supports: Support) -> None:
    """Raise counts of non-negative integers."""
    apply_rules(function, RULES if supports.features.sizes_are_fixed else _OF_ANY_SIZE, supports)
