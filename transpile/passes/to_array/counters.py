"""Loop counters and arithmetic on them, as Python ints in a normal form such as ``48 - i``."""

from __future__ import annotations

from ...array.affine import affine, combined, extreme, loop_of
from ...array.graph import Graph
from ...array.node import Node, literal_value
from ...array.operation import Interval
from ...array.operations import OPERATIONS
from ...hlo.element_types import ElementType


def counted(graph: Graph, opcode: str, nodes: tuple[Node, ...], element_type: ElementType) -> Node | None:
    """Return ``opcode`` of Python ints and constants as one Python int; None if it may leave its type."""
    if opcode == "negate":
        opcode, nodes = "subtract", (graph.integer(0), *nodes)
    if opcode == "clamp":
        low, x, high = nodes
        at_least = counted(graph, "maximum", (x, low), element_type)
        return counted(graph, "minimum", (at_least, high), element_type) if at_least is not None else None
    row = OPERATIONS.get(opcode)
    if row is None or row.python_int is None or not (row.wraps or row.is_idempotent):
        return None
    if not all((node.is_python_int or node.is_literal) and node.interval for node in nodes):
        return None
    rule = row.interval
    interval = rule(nodes, {}, element_type) if rule is not None and element_type.is_integral else None
    if interval is None:
        return None
    if row.is_idempotent and (extremum := _known_extremum(opcode, nodes)) is not None:
        return from_affine(graph, *affine(extremum), element_type)
    total = combined(opcode, *map(affine, nodes)) if row.wraps else None
    if total is None:
        nodes = tuple(graph.integer(int(literal_value(node))) if node.is_literal else node for node in nodes)
        return graph.add(opcode, nodes, element_type=element_type, interval=interval)
    return from_affine(graph, *total, element_type)


def _known_extremum(opcode: str, nodes: tuple[Node, ...]) -> Node | None:
    """Return the operand that intervals tell to be the maximum or the minimum of two, or None."""
    for node, other in (nodes, nodes[::-1]):
        assert node.interval is not None and other.interval is not None
        (low, high), (least, most) = node.interval, other.interval
        if low >= most if opcode == "maximum" else high <= least:
            return node
    return None


def from_affine(graph: Graph, terms: dict[Node, int], constant: int, element_type: ElementType | None) -> Node:
    """Return an affine sum as a Python int of the element type: positive terms first, then negative ones."""
    whole = constant
    if not terms:
        assert element_type is not None
        return graph.literal(constant, element_type)
    pieces = sorted(((coefficient, node) for node, coefficient in terms.items()), key=lambda p: (p[0] < 0, p[1].number))
    total: Node | None = None
    if constant and pieces[0][0] < 0:
        total, constant = graph.integer(constant), 0
    for coefficient, node in pieces:
        term = node if abs(coefficient) == 1 else _sum(graph, "multiply", graph.integer(abs(coefficient)), node)
        if total is None:
            total = term if coefficient > 0 else _sum(graph, "subtract", graph.integer(0), term)
        else:
            total = _sum(graph, "add" if coefficient > 0 else "subtract", total, term)
    assert total is not None
    if constant:
        total = _sum(graph, "add" if constant > 0 else "subtract", total, graph.integer(abs(constant)))
    if total.element_type is element_type:
        return total
    if total in terms:
        return graph.add("retype", (total,), element_type=element_type)
    interval = _narrowed(total.interval, terms, whole)
    return graph.add(total.opcode, total.operands, element_type=element_type, interval=interval)


def _narrowed(interval: Interval | None, terms: dict[Node, int], constant: int) -> Interval | None:
    """Return the interval of a sum, narrowed by the bounds of its counters: ``i - j`` is positive if j < i."""
    if interval is None or not any(loop_of(node) for node in terms):
        return interval
    return max(interval[0], extreme(terms, constant, -1)), min(interval[1], extreme(terms, constant, 1))


def _sum(graph: Graph, opcode: str, left: Node, right: Node) -> Node:
    (a, b), (c, d) = left.interval or (0, 0), right.interval or (0, 0)
    assert left.interval is not None and right.interval is not None
    if opcode == "multiply":
        interval = min(a * c, a * d, b * c, b * d), max(a * c, a * d, b * c, b * d)
    else:
        interval = (a + c, b + d) if opcode == "add" else (a - d, b - c)
    return graph.add(opcode, (left, right), interval=interval)
