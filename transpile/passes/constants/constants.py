"""Constant folding: replaces a node that depends on no argument by its value, a number or a short table.

Structure stays: ``np.arange``, ``np.eye`` and a step or two of arithmetic on them tell a reader more than their
numbers. So do functions of tables, ``np.exp([..])``, and values whose table would be a longer text.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Constant, Node, literal_value
from ...array.operations import CALLED_BY_NAME
from ...array.operations.inference import broadcast
from ...array.program import Function
from ...array.rewriting import rewrite, with_operands
from ...array.support import Support
from ...array.traversal import dependencies
from ...array.value import filled
from ...walks import reached
from ..algebra.signed_zeros import is_never_minus_zero
from ..rewriting.patterns import Bindings
from ..rewriting.rules import Make, Rule, apply_rules
from .interpreter import Array, adds_up_exactly, value_of
from .rounded import cut_call, cut_value, is_rounded

_LONGEST = 64  # elements of a table
_LINE = 72  # characters that a table may always have
_OF_STEP = 24  # characters that a table may have for each operation that it replaces
_MOST_WORK = 1_000_000  # elements that are computed for one function
_FEW = 8  # elements that a reader can take in at once
_STEPS_OF_STRUCTURE = 3


def constants(function: Function, supports: Support) -> None:
    """Fold nodes that depend on no argument, and selections with a constant mask."""
    live = live_nodes(function)
    fixed, graph = supports.features.sizes_are_fixed, function.graph
    values = _values(live, sizes_are_fixed=fixed, sizes_reach=graph.sizes_reach)
    wanted = _wanted(live, values, sizes_are_fixed=fixed)

    def rule(node: Node) -> Node | None:
        if node in wanted:
            new = _written(graph, node, values[node])
            values[new] = values[node]
            return new
        return (chosen(graph, node, values) if node.opcode == "select" else None) or _with_numbers(graph, node)

    numbers = [*wanted, *(node for node in live.of(("full", "zeros", "ones")) if node.operands[0].is_literal)]
    readers = {user.opcode for node in numbers for user in live.users(node) if user.operation.is_elementwise}
    rewrite(function, {node.opcode for node in wanted} | readers | {"select"}, rule, supports)
    apply_rules(function, _NEUTRAL, supports)


def _values(live: LiveNodes, *, sizes_are_fixed: bool, sizes_reach: int) -> dict[Node, Array]:
    """Return the values of all nodes that depend only on constants."""
    values: dict[Node, Array] = {}
    work = 0
    for node in live:
        is_free = node.opcode == "scalar" and not sizes_are_fixed  # such a number may depend on a size
        is_free = is_free or (sizes_reach > 0 and node.operation.counts)  # at another size, there may be more
        is_free = is_free or (
            not sizes_are_fixed and is_rounded(cut_call(node) or node)
        )  # the number would not show that it is log(n)
        is_kept = node.stands_alone and node.opcode not in ("setitem", "update_at")
        call = cut_call(node)
        read = call or node
        if is_free or is_kept or any(operand not in values for operand in dependencies(read)):
            continue
        given = [values[operand] for operand in read.operands]
        if not sizes_are_fixed and node.opcode == "sum" and node.type.is_floating and not adds_up_exactly(given[0]):
            continue
        value = value_of(node, given) if call is None else cut_value(call, given)
        work += 0 if value is None else value.size
        if work > _MOST_WORK:
            break
        if value is not None:
            values[node] = value
    return values


def _wanted(live: LiveNodes, values: Mapping[Node, Array], *, sizes_are_fixed: bool) -> set[Node]:
    """Return the nodes to fold: those that remaining nodes need, if the text gets no longer."""
    chosen: set[Node] = set()
    left: set[Node] = set()  # nodes with a value that are not folded
    for node in reversed(list(live)):
        if node not in values:
            continue
        if not (live.is_root(node) or any(user not in values or user in left for user in live.users(node))):
            continue
        if _is_shorter(node, values, live, sizes_are_fixed=sizes_are_fixed):
            chosen.add(node)
        else:
            left.add(node)
    return chosen


def _is_shorter(node: Node, values: Mapping[Node, Array], live: LiveNodes, *, sizes_are_fixed: bool) -> bool:
    """Return whether the value of a node is easier to read than its computation. With free sizes, positions are not
    folded, since their number may vary.
    """
    steps, leaves, parts = _cone(node)
    value = values[node]
    if not steps:
        return False
    is_number = not node.ndim or _is_uniform(value)
    if any(map(is_rounded, steps)):
        tables = (part for part in parts if part.ndim and part in steps)
        return is_number and all(user in parts for table in tables if table is not node for user in live.users(table))
    if is_number:
        return True
    if sizes_are_fixed and len(steps) > 1 and _repeats(value) > 1:
        return True
    if value.size > _LONGEST:
        return False
    if any(leaf.opcode == "eye" for leaf in leaves) and {step.opcode for step in steps} == {"multiply"}:
        return False  # 1e-9 * np.eye(2)
    has_structure = any(map(_is_structure, leaves))
    if has_structure and not sizes_are_fixed:
        return False
    is_structure = has_structure and len(steps) <= _STEPS_OF_STRUCTURE
    if is_structure and (value.size > _FEW or all(step.opcode == "convert" for step in steps)):
        return False
    return sum(len(str(number)) + 2 for number in value.flat) <= max(_LINE, _OF_STEP * len(steps))


def _is_structure(leaf: Node) -> bool:
    """Return whether a node counts positions or marks a diagonal."""
    return leaf.operation.is_generated and leaf.ndim > 0 and not leaf.operation.is_filled


def _cone(node: Node) -> tuple[set[Node], set[Node], set[Node]]:
    """Return the operations that compute a value, without views; its leaves; and all nodes that it depends on."""
    steps: set[Node] = set()
    leaves: set[Node] = set()
    seen = set(reached([node], lambda part: part.operands))
    for part in seen:
        if not part.operands or part.operation.is_filled:
            leaves.add(part)
        elif not part.operation.is_light and part.opcode not in ("reshape", "broadcast_to"):
            steps.add(part)
    return steps, leaves, seen


def _repeats(value: Array) -> int:
    """Return how often each position is repeated in ``[0, 0, 1, 1, ..]``; 0 for other values."""
    if value.ndim != 1 or value.dtype.kind not in "iu" or value.size < 2:
        return 0
    count = int(np.argmax(value != 0))
    return count if count and np.array_equal(value, np.arange(value.size) // count) else 0


def _is_uniform(value: Array) -> bool:
    first = value.flat[:1].tobytes()
    return value.size > 0 and value.tobytes() == first * value.size


def _written(graph: Graph, node: Node, value: Array) -> Node:
    """Return the node of a value: a number, a filled array, repeated positions, or a table."""
    if not node.ndim:
        return graph.literal(value, node.type)
    if _is_uniform(value):
        return filled(graph, graph.literal(value.flat[0], node.type), node.shape)
    interval = (int(value.min()), int(value.max())) if value.dtype.kind in "iu" else None
    if (count := _repeats(value)) > 1:
        last = value.size - 1
        positions = graph.add("arange", (), element_type=node.element_type, interval=(0, last), stop=value.size)
        return graph.add("divide", (positions, graph.literal(count, node.type)), interval=interval)
    return graph.add(
        "array", element_type=node.element_type, interval=interval, constant=Constant.of(np.ascontiguousarray(value))
    )


def chosen(graph: Graph, node: Node, values: Mapping[Node, Array]) -> Node | None:
    """Return the operand that a uniform mask selects, broadcast if it has fewer elements; None for other masks."""
    mask, x, y = node.operands
    value = values.get(mask)
    if value is None or not _is_uniform(value):
        return None
    taken = x if value.flat[0] else y
    if taken.element_type is not node.element_type or taken.is_python_int:
        return None
    if taken.shape == node.shape:
        return taken
    return (
        filled(graph, taken, node.shape) if taken.is_literal else graph.add("broadcast_to", (taken,), shape=node.shape)
    )


def _with_numbers(graph: Graph, node: Node) -> Node | None:
    """Return an operation with numbers in place of filled arrays, if another operand has the shape; or None."""
    if not node.operation.is_elementwise or node.opcode in CALLED_BY_NAME or node.stands_alone:
        return None
    filled = [operand for operand in node.operands if operand.operation.is_filled and operand.operands[0].is_literal]
    others = [operand for operand in node.operands if operand not in filled and not operand.is_python_int]
    first = 1 if node.opcode == "select" else 0
    gives_type = any(operand in others and not operand.is_literal for operand in node.operands[first:])
    if not filled or not gives_type or broadcast(others) != node.shape:
        return None
    return with_operands(graph, node, tuple(x.operands[0] if x in filled else x for x in node.operands))


def _without(neutral: int) -> Make:
    """Return the right side of a rule that drops a number which changes nothing, not even the sign of a 0."""

    def itself(graph: Graph, node: Node, found: Bindings) -> Node | None:
        x, number = found["x"], literal_value(found["NUMBER"])
        return x if number == neutral and not np.signbit(number.real) and not x.is_python_int else None

    return itself


def _without_zero(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the other operand of an addition of 0, if it is never -0."""
    is_zero = literal_value(found["NUMBER"]) == 0 and node.type.is_floating
    return found["x"] if is_zero and is_never_minus_zero(found["x"]) else None


_NEUTRAL = (
    Rule("add(x, NUMBER)", _without_zero),
    Rule("subtract(x, NUMBER)", _without(0)),
    Rule("multiply(x, NUMBER)", _without(1)),
    Rule("divide(x, NUMBER)", _without(1)),
)
