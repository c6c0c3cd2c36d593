"""``(a.T @ b.T).T`` is ``b @ a``: a matrix product is turned round where that leaves fewer transposes.

The arithmetic between a product and the transposes that read it is turned with it.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node
from ...array.program import Function, roots
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.traversal import dependencies, topological
from ...array.value import permute

Users = Mapping[Node, list[Node | None]]


def products(function: Function, _: Support) -> None:
    """Turn products round, each with what is computed from it element by element."""
    live = live_nodes(function)
    if not live.of(("matmul",)) or not live.of(("transpose",)):
        return
    users: dict[Node, list[Node | None]] = {}
    order = topological(roots(function))
    for node in order:
        for operand in dependencies(node):
            users.setdefault(operand, []).append(node)
    for root in roots(function):
        users.setdefault(root, []).append(None)
    turned: set[Node] = set()
    for node in order:
        if node.opcode == "matmul" and all(operand.ndim >= 2 for operand in node.operands):
            group = _group(node, users)
            if group and _is_simpler(node, group, users):
                turned |= group
    if not turned:
        return
    graph = function.graph

    made: set[Node] = set()

    def rule(node: Node) -> Node | None:
        if node in turned:
            new = _turned(graph, node)
            made.add(new)
            return new
        if node.opcode == "transpose" and node.operands[0] in made:
            swap = _swap(node.ndim)
            return permute(graph, node.operands[0], [swap[axis] for axis in node.parameters["axes"]])
        return None

    rewrite(function, {"transpose", *(node.opcode for node in turned)}, rule)
    graph.turned.update((node, _swap(node.ndim)) for node in turned)


def _swap(ndim: int) -> tuple[int, ...]:
    return (*range(ndim - 2), ndim - 1, ndim - 2)


def _group(product: Node, users: Users) -> set[Node]:
    """The product and the arithmetic on it, if all that reads them from outside are transposes; else nothing."""
    group = {product}
    waiting = [product]
    while waiting:
        for user in users.get(waiting.pop(), ()):
            if user is None or user in group or user.opcode == "transpose":
                if user is None:
                    return set()
                continue
            others = [operand for operand in user.operands if operand not in group and operand.ndim]
            if not user.operation.is_elementwise or others or user.region is not product.region:
                return set()
            group.add(user)
            waiting.append(user)
    return group


def _is_simpler(product: Node, group: set[Node], users: Users) -> bool:
    """Fewer transposes are left."""
    swap = _swap(product.ndim)
    before = after = 0
    for operand in product.operands:
        is_turned = operand.opcode == "transpose"
        before += is_turned
        after += not (is_turned and operand.parameters["axes"] == _swap(operand.ndim))
    outside = {user for node in group for user in users.get(node, ()) if user is not None and user not in group}
    for user in outside:
        before += 1
        after += tuple(user.parameters["axes"]) != swap
    return bool(outside) and after < before


def _turned(graph: Graph, node: Node) -> Node:
    operands = node.operands
    if node.opcode == "matmul":
        left, right = operands
        operands = permute(graph, right, _swap(right.ndim)), permute(graph, left, _swap(left.ndim))
    own = node.element_type
    return graph.add(node.opcode, operands, element_type=own, interval=node.interval, **node.parameters)
