"""Masks by row and column number, ``np.tri`` and ``np.eye``, and what they select: triangles and diagonals."""

from __future__ import annotations

from ..array.node import Graph, Node, literal_value
from ..array.program import Function
from ..array.value import FULL, NEW
from ..hlo.element_types import PRED
from .matching import Bindings
from .rules import Rule, apply_rules

_TURNED = {"GE": "LE", "GT": "LT", "LE": "GE", "LT": "GT", "EQ": "EQ", "NE": "NE"}
# row + offset compared with column: what it is, how far the diagonal is from ``offset``, and whether it is the rest.
_MASKS = {
    "GE": ("tri", 0, False),
    "GT": ("tri", -1, False),
    "LT": ("tri", 0, True),
    "LE": ("tri", -1, True),
    "EQ": ("eye", 0, False),
    "NE": ("eye", 0, True),
}


def _mask(graph: Graph, node: Node, found: Bindings) -> Node | None:
    left, right = _ramp(found["a"]), _ramp(found["b"])
    direction = node.parameters["direction"]
    if left is None or right is None or node.parameters.get("type") == "TOTALORDER":
        return None
    if not left[0]:
        left, right, direction = right, left, _TURNED[direction]
    if not left[0] or right[0] or 0 in node.shape:
        return None
    opcode, shift, is_rest = _MASKS[direction]
    mask = graph.add(opcode, (), node.shape, PRED, diagonal=left[1] - right[1] + shift)
    return graph.add("not", (mask,), node.shape, PRED) if is_rest else mask


def _ramp(node: Node) -> tuple[bool, int] | None:
    """(whether it numbers the rows, the number of the first) of ``np.arange(n) + k``, along one axis of two."""
    if node.opcode == "add" and node.interval is not None:
        for one, other in (node.operands, node.operands[::-1]):
            base = _ramp(one)
            if base is not None and other.is_literal:
                return base[0], base[1] + int(literal_value(other))
        return None
    if node.opcode == "subtract" and node.interval is not None and node.operands[1].is_literal:
        base = _ramp(node.operands[0])
        return (base[0], base[1] - int(literal_value(node.operands[1]))) if base is not None else None
    if node.opcode == "arange" and node.element_type is not None and node.type.is_integral:
        return False, 0
    if node.opcode == "expand" and tuple(node.parameters["index"]) == (FULL, NEW):
        base = _ramp(node.operands[0])
        return (True, base[1]) if base is not None and node.operands[0].ndim == 1 else None
    return None


def _typed(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """The mask as numbers."""
    if node.type.is_extension:
        return None
    return graph.add(found["mask"].opcode, (), node.shape, node.element_type, **found["mask"].parameters)


def _lower(graph: Graph, node: Node, found: Bindings) -> Node | None:
    return _triangle(graph, node, found, "tril", 0)


def _upper(graph: Graph, node: Node, found: Bindings) -> Node | None:
    return _triangle(graph, node, found, "triu", 1)


def _triangle(graph: Graph, node: Node, found: Bindings, opcode: str, past: int) -> Node | None:
    x, mask = found["x"], found["mask"]
    if x.shape != node.shape or x.shape[-2:] != mask.shape:
        return None
    diagonal = mask.parameters["diagonal"] + past
    return graph.add(opcode, (x,), node.shape, node.element_type, diagonal=diagonal)


def _diagonal(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """``x[i, i]`` of all the rows that have a diagonal element."""
    x, i = found["x"], found["i"]
    if i.opcode != "arange" or x.ndim != 2 or i.parameters["stop"] != min(x.shape):
        return None
    return graph.add("diagonal", (x,), node.shape, node.element_type, interval=node.interval)


RULES = (
    Rule("advanced_index(x, i, i)", _diagonal),
    Rule("compare(a, b)", _mask),
    Rule("convert((mask := tri()))", _typed),
    Rule("convert((mask := eye()))", _typed),
    Rule("select((mask := tri()), x, 0)", _lower),
    Rule("select(not_((mask := tri())), 0, x)", _lower),
    Rule("select((mask := tri()), 0, x)", _upper),
    Rule("select(not_((mask := tri())), x, 0)", _upper),
)


def triangles(function: Function) -> None:
    """Raise comparisons of row numbers with column numbers."""
    apply_rules(function, RULES)
