"""Positions that a loop counts: ``x[i // 2]``. HLO's counter has an integer type, which a library's index does not
need. Elements at positions along several axes are read at once: ``best[i, state]`` for ``best[i][state]``.
"""

from __future__ import annotations

from typing import Any

from ...array.graph import Graph
from ...array.intervals import fits
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node, Slot, literal_value
from ...array.operations import OPERATIONS
from ...array.program import Function
from ...array.rewriting import rewrite, with_operands
from ...array.support import Support
from ...array.value import FULL, NEW
from ..rewriting.users import Uses, index_places
from .wrapped_indices import wrapped_counter

_INDEXED = tuple(name for name, row in OPERATIONS.items() if row.takes_positions)
_CUT = ("divide", "remainder")  # truncate, as Python does for numbers that are not negative


def counted_places(function: Function, supports: Support) -> None:
    """Write indices that are computed from counters as Python ints."""
    graph = function.graph

    def rule(node: Node) -> Node | None:
        changed = {
            place: index
            for place in index_places(node)
            if not (given := node.operands[place]).is_python_int
            and not given.is_literal
            and (index := as_python_int(graph, given)) is not None
        }
        operands = tuple(changed.get(place, operand) for place, operand in enumerate(node.operands))
        return with_operands(graph, node, operands) if changed else None

    rewrite(function, _INDEXED, rule, supports)
    uses = Uses(function)

    def stored_at(node: Node) -> Node | None:
        """The counter in place of a number that only says where loops store something."""
        return as_python_int(graph, node) if all(use.kind == "index" for use in uses(node)) else None

    rewrite(function, ("scalar",), stored_at, supports)
    if supports.features.elements_are_numbers:
        live = live_nodes(function)
        rewrite(function, ("compare",), lambda node: _compared(graph, live, node), supports)
        rewrite(function, ("getitem",), lambda node: _at_once(graph, live, node), supports)


def _compared(graph: Graph, live: LiveNodes, node: Node) -> Node | None:
    """``i == j`` of counters in place of numbers of the library, where the truth only chooses."""
    users = live.users(node)
    chooses = all(user.opcode in ("select", "conditional") and node not in user.operands[1:] for user in users)
    if node.ndim or live.is_root(node) or not chooses or any(operand.is_python_int for operand in node.operands):
        return None
    if any(wrapped_counter(user) is not None for user in users):
        return None  # an index, which is recognised as it is
    numbers = [as_python_int(graph, operand) for operand in node.operands]
    given = tuple(number for number in numbers if number is not None)
    return with_operands(graph, node, given) if len(given) == 2 else None


def _at_once(graph: Graph, live: LiveNodes, node: Node) -> Node | None:
    """``x[i, k]`` in place of ``x[i][k]``, where all places are numbers."""
    inner = node.operands[0]
    if inner.opcode != "getitem" or live.count(inner) != 1 or inner.region is not node.region:
        return None
    places = (*inner.operands[1:], *node.operands[1:])
    outer = list(node.parameters["index"])
    if not node.operands[1:] or any(place.ndim for place in places) or NEW in (*inner.parameters["index"], *outer):
        return None
    index: list[Any] = []
    operands: list[Node] = []
    for item in inner.parameters["index"]:
        reader, item = (node, outer.pop(0)) if item == FULL and outer else (inner, item)
        if isinstance(item, tuple):
            return None
        if isinstance(item, Slot):
            operands.append(reader.operands[item.index])
            item = Slot(len(operands))
        index.append(item)
    return graph.add("getitem", (inner.operands[0], *operands), index=(*index, *outer))


def as_python_int(graph: Graph, node: Node) -> Node | None:
    """Return the same integer as a Python int; None if it depends on anything but Python ints and literals."""
    if node.is_python_int:
        return node
    if node.ndim or node.element_type is None or not node.type.is_integral:
        return None
    if node.is_literal:
        return graph.integer(int(literal_value(node)))
    if node.opcode == "scalar":
        (counter,) = node.operands
        return counter if counter.interval is not None and fits(counter.interval, node.type) else None
    if node.operation.python_int is None or len(node.operands) != 2:
        return None
    parts = [as_python_int(graph, part) for part in node.operands]
    numbers = tuple(part for part in parts if part is not None and part.interval is not None)
    if len(numbers) < len(parts):
        return None
    if node.opcode in _CUT and (numbers[0].interval[0] < 0 or numbers[1].interval[0] <= 0):  # type: ignore[index]
        return None
    number = graph.add(node.opcode, numbers, element_type=node.type)
    return number if number.interval is not None else None  # the typed integer might wrap around
