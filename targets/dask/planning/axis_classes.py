"""The equivalence classes of the axes of a function: the axes of a class are cut alike."""

from __future__ import annotations

from collections.abc import Sequence

from ....transpile.array.node import Node
from ....transpile.array.program import Function, Loop, roots
from ....transpile.array.traversal import body_and_captured, topological
from .axis_maps import axis_maps
from .nodes import shape_of
from .scans import Scan, scan_of

Axis = tuple[Node, int]


def nodes_of(function: Function) -> list[Node]:
    """Return the nodes of a function that may be cut, operands first. Carries that a loop only writes are included,
    though the loop's body does not use them.
    """
    needed = topological(roots(function))
    loops: list[Loop] = [node.parameters["loop"] for node in needed if node.opcode == "loop"]
    carried = dict.fromkeys(carry.parameter for loop in loops for carry in loop.carries)
    return list(carried | dict.fromkeys(needed))


class AxisClasses:
    """A union-find of axes, with the facts about a function that do not depend on chunks.

    ``nodes`` are in order, operands first; ``axis_maps`` has the axis maps of each node; ``scans`` are the loops that
    run over arrays in steps that fit ``memory`` bytes. With free sizes, ``planned`` are the shapes of the nodes at the
    sizes of the plan, from which byte counts follow.
    """

    def __init__(
        self, function: Function, memory: int | None = None, planned: Sequence[tuple[int, ...]] | None = None
    ) -> None:
        self.nodes = nodes_of(function)
        self._planned = dict(zip(self.nodes, planned, strict=True)) if planned is not None else {}
        self.axis_maps = {node: axis_maps(node) for node in self.nodes}
        self.scans: dict[Node, Scan] = {}
        self._items: dict[tuple[Node, int], list[Node]] = {}
        self._parents: dict[Axis, Axis] = {}
        for node in self.nodes:
            if node.opcode == "item":
                self._items.setdefault((node.operands[0], node.parameters["index"]), []).append(node)
            if node.opcode == "loop":
                scan = scan_of(node, *body_and_captured(node), self.planned_shape, memory)
                if scan is not None:
                    self.scans[node] = scan

    def planned_shape(self, node: Node) -> tuple[int, ...]:
        """Return the shape of an array at the sizes of the plan."""
        return self._planned.get(node) or shape_of(node)

    def items(self, node: Node, index: int) -> list[Node]:
        """Return the ``item`` nodes of one of the results of a node."""
        return self._items.get((node, index), [])

    def find(self, node: Node, axis: int) -> Axis:
        """Return the representative of an axis's class."""
        found = start = (node, axis)
        while found in self._parents:
            found = self._parents[found]
        while start != found:  # path compression
            self._parents[start], start = found, self._parents[start]
        return found

    def join(self, left: Axis, right: Axis) -> None:
        """Merge the classes of two axes."""
        left, right = self.find(*left), self.find(*right)
        if left != right:
            self._parents[right] = left
