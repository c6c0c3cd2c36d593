"""``y * y`` of a ``y`` that nothing else reads is ``np.square(y)``: no name is needed for it."""

from __future__ import annotations

from ..array.node import Node
from ..array.operations import CALLED_BY_NAME
from ..array.program import Function, roots
from ..array.rewriting import rewrite
from ..array.traversal import topological, use_counts


def squares(function: Function) -> None:
    """Raise products of a value with itself."""
    uses = use_counts(topological(roots(function)), roots(function))
    graph = function.graph

    def rule(node: Node, operands: tuple[Node, ...]) -> Node | None:
        if not _is_square(node, uses):
            return None
        made = graph.add("square", operands[:1])
        return None if graph.refuses(made) else made

    rewrite(function, rule)


def _is_square(node: Node, uses: dict[Node, int]) -> bool:
    if node.opcode != "multiply" or node.operands[0] is not node.operands[1]:
        return False
    (factor, _) = node.operands
    numeric = node.type.is_floating or node.type.is_complex
    if not numeric or node.type.is_extension or factor.ndim == 0 or uses[factor] != 2:
        return False
    return factor.operation.is_elementwise and factor.opcode not in ("convert", *CALLED_BY_NAME)
