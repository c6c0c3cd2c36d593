"""``np.kron``: products of all elements of two matrices, blocks of one for each element of the other."""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node
from ...array.rewriting import called
from ...array.value import FULL, NEW
from ..rewriting.patterns import Bindings
from ..rewriting.rules import Rule, rule_pass


def _kron(graph: Graph, node: Node, found: Bindings) -> Node | None:
    a, b, wide = found["a"], found["b"], found["wide"]
    if a.ndim != 2 or b.ndim != 2 or node.type.is_extension:
        return None
    is_of_blocks = tuple(found["spread"]) == (FULL, NEW, FULL, NEW) and tuple(found["inner"]) == (FULL, NEW, FULL)
    sizes = tuple(one * other for one, other in zip(a.shape, b.shape, strict=True))
    is_whole = wide.shape == (a.shape[0], b.shape[0], a.shape[1], b.shape[1]) and node.shape == sizes
    return called(graph, "np.kron", (a, b), node) if is_of_blocks and is_whole else None


RULES = (Rule("reshape((wide := multiply(expand(a, index=spread), expand(b, index=inner))))", _kron, once=("wide",)),)

kroneckers = rule_pass(__name__, "Raise them.", RULES)
