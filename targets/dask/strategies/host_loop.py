"""The strategy of loops and branches that ``main`` itself runs, on lazy arrays."""

from __future__ import annotations

from collections.abc import Iterator

from ....transpile.array.node import Node
from ....transpile.array.program import Branch, Loop
from ....transpile.array.traversal import body_and_captured
from ..planning.axis_classes import Axis, AxisClasses
from ..planning.chunks import Chunks
from ..planning.strategy import ArrayStrategy


class HostLoop(ArrayStrategy):
    """``main`` runs a loop or a branch whose values have several chunks."""

    name = "host_loop"

    def same_chunks(self, node: Node, classes: AxisClasses) -> Iterator[tuple[Axis, Axis]]:
        for source, targets in _handed_on(node, classes):
            for target in targets:
                for axis in range(target.ndim):
                    yield (targets[0], axis), (source if target is targets[0] else target, axis)

    def is_feasible(self, node: Node, chunks: Chunks) -> bool:
        if not node.operation.has_body:
            return False
        body, captured = body_and_captured(node)
        return any(map(chunks.is_cut, (*node.operands, *body, *captured)))

    def propagated(self, node: Node, chunks: Chunks) -> Iterator[tuple[Node, tuple[bool, ...]]]:
        """Yield the cut axes: an axis that is cut stays cut in all iterations and afterwards."""
        yield node, chunks.is_cut_along[node]
        cut = chunks.is_cut_along
        for source, targets in _handed_on(node, chunks.classes):
            for target in targets:
                yield target, tuple(a or b for a, b in zip(cut[target], cut[source], strict=True))


def _handed_on(node: Node, classes: AxisClasses) -> Iterator[tuple[Node, list[Node]]]:
    """Yield each value that goes into a loop or out of a branch, with the nodes that stand for it there."""
    if node.opcode == "loop":
        loop: Loop = node.parameters["loop"]
        for k, carry in enumerate(loop.carries):
            targets = [carry.parameter, *classes.items(node, k)]
            yield carry.initial, targets
            if carry.following is not None:
                yield carry.following, targets
    branches: tuple[Branch, ...] = node.parameters.get("branches", ())
    for branch in branches:
        for k, result in enumerate(branch.results):
            yield result, classes.items(node, k)
