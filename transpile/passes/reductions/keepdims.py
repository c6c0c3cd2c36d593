"""``x.max(axis=-1)[..., None]`` as ``x.max(axis=-1, keepdims=True)``, also through arithmetic between the two."""

from __future__ import annotations

from typing import Any

from ...array.live import live_nodes
from ...array.node import Node
from ...array.program import Function, roots, tree_nodes
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.traversal import dependencies, topological
from ...array.value import FULL, NEW, getitem

Index = tuple[Any, ...]


def keepdims(function: Function, _: Support) -> None:
    """Move unit axes that users insert after a reduction into the reduction."""
    accepted = _accepted(function) if live_nodes(function).of(("expand",)) else {}
    if not accepted:
        return
    graph = function.graph

    made: set[Node] = set()

    def rule(node: Node) -> Node | None:
        if node.opcode == "expand" and node.operands[0] in made:
            return node.operands[0]
        index = accepted.get(node)
        if index is None:
            return None
        new = keeping(node, index)
        made.add(new)
        return new

    def keeping(node: Node, index: Index) -> Node:
        if _keeps(node):
            parts, given = node.operands, {**node.parameters, "keepdims": True}
        else:
            given = node.parameters
            parts = tuple(
                part if part in made or not part.ndim else getitem(graph, part, _for_last_axes(index, part.ndim))
                for part in node.operands
            )
        return graph.add(node.opcode, parts, element_type=node.element_type, interval=node.interval, **given)

    rewrite(function, {"expand", *(node.opcode for node in accepted)}, rule)


def _keeps(node: Node) -> bool:
    """Return whether a node is a reduction that can keep its reduced axes."""
    return "keepdims" in node.operation.parameters


def _for_last_axes(index: Index, ndim: int) -> Index:
    """Return the part of an index for the last ``ndim`` axes; broadcasting adds the axes before them."""
    start, left = len(index), ndim
    while left:
        start -= 1
        left -= index[start] == FULL
    return index[start:]


def _accepted(function: Function) -> dict[Node, Index]:
    """Return the nodes that take the unit axes of their users, with the index that inserts them."""
    nodes = topological(roots(function))
    wanted = _unanimous(function, nodes)
    accepted: dict[Node, Index] = {}
    for node in nodes:
        index = wanted.get(node)
        if index is None:
            continue
        if _keeps(node):
            if not node.parameters.get("keepdims") and index == _restoring(node):
                accepted[node] = index
        elif any(operand in accepted and accepted[operand] == index for operand in node.operands):
            accepted[node] = index
    # An operand may only be accepted if all its users are, or expand it.
    users: dict[Node, list[Node]] = {}
    for node in nodes:
        for operand in node.operands:
            users.setdefault(operand, []).append(node)
    changed = True
    while changed:
        lost = [
            node for node in accepted if any(user.opcode != "expand" and user not in accepted for user in users[node])
        ]
        for node in lost:
            del accepted[node]
        changed = bool(lost)
    return accepted


def _restoring(node: Node) -> Index:
    """Return the index that inserts unit axes where a reduction removed them."""
    axes = node.parameters["axes"]
    return tuple(NEW if axis in axes else FULL for axis in range(node.operands[0].ndim))


def _unanimous(function: Function, nodes: list[Node]) -> dict[Node, Index]:
    """Return, for each reduction or element-wise node, the one index by which all its users expand it, directly
    or not.
    """
    demands: dict[Node, set[Index | None]] = {}
    for root in tree_nodes(function.results):
        demands.setdefault(root, set()).add(None)
    wanted: dict[Node, Index] = {}
    for node in reversed(nodes):
        own = demands.get(node, set())
        index = next(iter(own)) if len(own) == 1 else None
        if index is not None and (_keeps(node) or node.operation.is_elementwise):
            wanted[node] = index
        for operand in dependencies(node):
            demands.setdefault(operand, set()).add(_demand(node, operand, wanted.get(node)))
    return wanted


def _demand(user: Node, operand: Node, index: Index | None) -> Index | None:
    """Return the index by which a user expands an operand; None if it does not."""
    if user.opcode == "expand":
        return tuple(user.parameters["index"])
    if user.operation.is_elementwise and operand.ndim == user.ndim and user.ndim:
        return index
    return None
