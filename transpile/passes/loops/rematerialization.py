"""A loop's output whose rows are made of other rows that the loop stores, in a few cheap operations, is not stored: who
reads a row computes it, ``1 - tanhs[i]`` in place of ``differences[i]``. Derivatives are full of such rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.program import Function, Loop
from ...array.rewriting import rewrite, with_operands
from ...array.support import Support
from ...dataclass import dataclass
from .dead_carries import unread_carries
from .loop_rows import is_counted_store, is_row, row_at

_MOST_OPERATIONS = 3  # of one row


def rematerialization(function: Function, supports: Support) -> None:
    """Compute rows that are cheap again where loops read them."""
    if not supports.features.arrays_fit_memory:
        return
    graph, live = function.graph, live_nodes(function)
    outputs = {item: rows for loop in live.of(("loop",)) for item, rows in _cheap_outputs(graph, loop, live)}
    if not outputs:
        return

    def computed(node: Node) -> Node | None:
        rows = outputs.get(node.operands[0])
        return None if rows is None else _computed(graph, rows.value, rows.outputs, node)

    rewrite(function, ("getitem",), computed, supports)
    unread_carries(function, supports)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The ``value`` of a row of a loop's output, and the ``outputs`` that have other values of the same round."""

    value: Node
    outputs: dict[Node, Node]


def _cheap_outputs(graph: Graph, node: Node, live: LiveNodes) -> Iterator[tuple[Node, _Rows]]:
    """Yield the outputs of a loop that are only read by rows, and whose rows are cheap."""
    loop: Loop = node.parameters["loop"]
    stored = {store.value: loop.carries.index(store.carry) for store in loop.stores if is_counted_store(store, loop)}
    items = {item.parameters["index"]: item for item in live.users(node) if item.opcode == "item"}
    outputs: dict[Node, Node] = {}
    for value in sorted(stored, key=lambda value: value.number):
        item = items.get(stored[value])
        is_by_rows = item is not None and not live.is_root(item) and all(map(is_row, live.users(item)))
        if item is not None and is_by_rows and 0 < _operations(value, outputs) <= _MOST_OPERATIONS:
            yield item, _Rows(value, outputs)
        else:
            with graph.in_place_of(node):
                outputs[value] = graph.add("item", (node,), index=stored[value])


def _operations(value: Node, outputs: Mapping[Node, Node]) -> int:
    """Return of how many operations on ``outputs`` a value is; more than the most if others are needed."""
    if value.is_literal or value in outputs:
        return 0
    is_cheap = value.operation.is_elementwise and not value.operation.is_costly
    if not is_cheap or any(part.shape not in ((), value.shape) for part in value.operands):
        return _MOST_OPERATIONS + 1
    return 1 + sum(_operations(part, outputs) for part in value.operands)


def _computed(graph: Graph, value: Node, outputs: Mapping[Node, Node], row: Node) -> Node:
    """A value of the round whose ``row`` is read."""
    if value.is_literal:
        return value
    if value in outputs:
        return row_at(graph, outputs[value], row.operands[1])
    return with_operands(graph, value, tuple(_computed(graph, part, outputs, row) for part in value.operands))
