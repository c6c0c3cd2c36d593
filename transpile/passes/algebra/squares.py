"""``y * y``, for a ``y`` that nothing else reads, is ``np.square(y)``, which needs no name for ``y``."""

from __future__ import annotations

from collections.abc import Callable

from ...array.live import live_nodes
from ...array.node import Node
from ...array.operations import CALLED_BY_NAME
from ...array.program import Function
from ...array.rewriting import rewrite
from ...array.support import Support


def squares(function: Function, supports: Support) -> None:
    """Raise products of a value with itself."""
    graph, uses = function.graph, live_nodes(function).count

    def rule(node: Node) -> Node | None:
        if not _is_square(node, uses):
            return None
        return graph.add("square", node.operands[:1])

    rewrite(function, ("multiply",), rule, supports)


def _is_square(node: Node, uses: Callable[[Node], int]) -> bool:
    if node.operands[0] is not node.operands[1]:
        return False
    (factor, _) = node.operands
    numeric = node.type.is_floating or node.type.is_complex
    if not numeric or node.type.is_extension or factor.ndim == 0 or uses(factor) != 2:
        return False
    return factor.operation.is_elementwise and factor.opcode not in ("convert", *CALLED_BY_NAME)
