"""``(a.T @ b.T).T`` is ``b @ a``: a matrix product is computed transposed where that leaves fewer transposes.

The arithmetic between a product and the transposes that read it is transposed with it. Gradients of weights are such
products: ``tensordot(d_y, x).T`` is ``tensordot(x, d_y)``, and ``(d_y[:, None] * x).T`` is ``x[:, None] * d_y``.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...array.graph import Graph
from ...array.live import LiveNodes, live_nodes
from ...array.node import Node
from ...array.program import Function, roots
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.traversal import dependencies, topological
from ...array.value import FULL, NEW, getitem, last_two_swapped, permute, transposed

Users = Mapping[Node, list[Node | None]]
Axes = tuple[int, ...]

_PRODUCTS = ("matmul", "tensordot")


def products(function: Function, _: Support) -> None:
    """Compute products transposed, each with the element-wise operations on it."""
    live = live_nodes(function)
    if not live.of(("transpose",)):
        return
    rewrite(function, ("transpose",), lambda node: _outer(function.graph, live, node))
    if not live.of(_PRODUCTS) or not live.of(("transpose",)):
        return
    users: dict[Node, list[Node | None]] = {}
    order = topological(roots(function))
    for node in order:
        for operand in dependencies(node):
            users.setdefault(operand, []).append(node)
    for root in roots(function):
        users.setdefault(root, []).append(None)
    turned: dict[Node, Axes] = {}  # with the axes that transpose a node's replacement to the node's value
    for node in order:
        back = _back(node)
        group = _group(node, users) if back is not None else set()
        if back is not None and group and _is_simpler(node, back, group, users):
            turned.update(dict.fromkeys(group, back))
    if not turned:
        return
    graph = function.graph

    made: dict[Node, Axes] = {}

    def rule(node: Node) -> Node | None:
        if node in turned:
            new = _turned(graph, node)
            made[new] = turned[node]
            return new
        if node.opcode == "transpose" and node.operands[0] in made:
            back = made[node.operands[0]]
            return permute(graph, node.operands[0], [back[axis] for axis in node.parameters["axes"]])
        return None

    rewrite(function, {"transpose", *(node.opcode for node in turned)}, rule)
    graph.turned.update(turned)


def _outer(graph: Graph, live: LiveNodes, node: Node) -> Node | None:
    """``b[:, None] * a`` for the transpose of ``a[:, None] * b``."""
    (product,) = node.operands
    if product.opcode != "multiply" or product.ndim != 2 or live.count(product) != 1:
        return None
    columns = [each for each in product.operands if each.opcode == "expand" and each.parameters["index"] == (FULL, NEW)]
    rows = [each for each in product.operands if each.ndim == 1]
    if len(columns) != 1 or len(rows) != 1:
        return None
    return graph.add("multiply", (getitem(graph, rows[0], (FULL, NEW)), columns[0].operands[0]))


def _back(node: Node) -> Axes | None:
    """The axes that transpose the swapped product back to a node's value; None for nodes that are no such product."""
    if node.opcode == "matmul" and all(operand.ndim >= 2 for operand in node.operands):
        return last_two_swapped(node.ndim)
    if node.opcode != "tensordot":
        return None
    (left, right), axes = node.operands, node.parameters["axes"]
    own, others = left.ndim - len(axes[0]), right.ndim - len(axes[1])
    return (*range(others, others + own), *range(others))


def _group(product: Node, users: Users) -> set[Node]:
    """The product and the arithmetic on it, if it is read from outside only by transposes or by sums over all elements;
    else nothing.
    """
    group = {product}
    waiting = [product]
    while waiting:
        for user in users.get(waiting.pop(), ()):
            if user is None:
                return set()
            if user in group or user.opcode == "transpose" or _is_of_all(user):
                continue
            if not user.operation.is_elementwise or user.region is not product.region:
                return set()
            group.add(user)
            waiting.append(user)
    needed = {operand for node in group - {product} for operand in node.operands if operand.ndim}
    return group if needed <= group else set()


def _is_of_all(user: Node) -> bool:
    """Whether a node reduces all elements to a number, whatever their order."""
    return user.opcode == "sum" and not user.ndim and user.type.is_floating and user.type.bits >= 32


def _is_simpler(product: Node, back: Axes, group: set[Node], users: Users) -> bool:
    """Whether fewer transposes are left."""
    before = after = 0
    for operand in product.operands if product.opcode == "matmul" else ():
        is_turned = operand.opcode == "transpose"
        before += is_turned
        after += not (is_turned and operand.parameters["axes"] == last_two_swapped(operand.ndim))
    outside = {user for node in group for user in users.get(node, ()) if user is not None and user not in group}
    transposes = [user for user in outside if user.opcode == "transpose"]
    for user in transposes:
        before += 1
        after += [back[axis] for axis in user.parameters["axes"]] != [*range(user.ndim)]
    return bool(transposes) and after < before


def _turned(graph: Graph, node: Node) -> Node:
    operands = node.operands
    if node.opcode == "matmul":
        left, right = operands
        operands = transposed(graph, right), transposed(graph, left)
    parameters = node.parameters
    if node.opcode == "tensordot":
        operands, parameters = operands[::-1], {**parameters, "axes": parameters["axes"][::-1]}
    return graph.add(node.opcode, operands, element_type=node.element_type, interval=node.interval, **parameters)
