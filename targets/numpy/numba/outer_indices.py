"""Indices of gathers that are the same in every step of the innermost loops: they are computed around these, as LLVM
cannot tell that nothing which a step writes changes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....transpile.array.node import Node
from ....transpile.array.traversal import topological
from ....transpile.kernels.kernel import Kernel


def outer_indices(nodes: Sequence[Node], kernel: Kernel, axes: Sequence[int]) -> dict[int, list[Node]]:
    """Return what is computed inside of how many loops over ``axes``, of the nodes of a kernel in their order."""
    depth: dict[Node, int] = {}
    for node in nodes:
        own = (axes.index(axis) + 1 for axis in _axes(node, kernel) if axis in axes)
        depth[node] = max((*own, *(depth.get(operand, len(axes)) for operand in node.operands)), default=0)
    root = kernel.function.graph.root
    gathers = [node for node in nodes if "strides" in node.parameters]
    given = [index for node in gathers for index in node.operands[1:] if depth[index] < depth[node]]
    needed, found = set(topological(given)), dict[int, list[Node]]()
    users: dict[Node, int] = {}
    for node in nodes:
        if node in needed or node in gathers:
            for operand in node.operands:
                users[operand] = users.get(operand, 0) + 1
    for node in nodes:
        is_computed = bool(node.operands) and node.opcode != "read"
        if node in needed and is_computed and node.region is root and (node in given or users[node] > 1):
            found.setdefault(max(depth[node], 1), []).append(node)
    return found


def _axes(node: Node, kernel: Kernel) -> Iterator[int | None]:
    """The axes of the loop that a node asks for itself."""
    if node.opcode == "parameter" and node not in kernel.whole and node.shape == kernel.loop:
        yield from range(len(kernel.loop))
    yield from (index.axis for index in node.parameters.get("indices", ()) if index is not None)
    yield from (each.index.axis for test in node.parameters.get("tests", ()) for each in test)
