"""Masks by row and column number, ``np.tri`` and ``np.eye``, and the triangles and diagonals that they select."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...array.graph import Graph
from ...array.node import Node, Slot, literal_value
from ...array.rewriting import called
from ...array.value import FULL, NEW
from ...hlo.element_types import PRED
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, Rule, rule_pass

_TURNED = {"GE": "LE", "GT": "LT", "LE": "GE", "LT": "GT", "EQ": "EQ", "NE": "NE"}
# For a comparison of row + offset with column: the mask, its diagonal minus ``offset``, and whether it is negated.
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
    mask = graph.add(opcode, (), shape=node.shape, element_type=PRED, diagonal=left[1] - right[1] + shift)
    return graph.add("not", (mask,)) if is_rest else mask


def _ramp(node: Node) -> tuple[bool, int] | None:
    """Return (whether it numbers the rows, the first number) of ``np.arange(n) + k`` along one of two axes; or None."""
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
    """Return the mask as numbers, or None."""
    if node.type.is_extension:
        return None
    return graph.add(
        found["mask"].opcode, (), shape=node.shape, element_type=node.element_type, **found["mask"].parameters
    )


def _triangle(graph: Graph, node: Node, found: Bindings, opcode: str, past: int) -> Node | None:
    x, mask, zero = found["x"], found["mask"], found["ZERO"]
    if x.shape != node.shape or x.shape[-2:] != mask.shape or not _is_zero(zero):
        return None
    diagonal = mask.parameters["diagonal"] + past
    return graph.add(opcode, (x,), diagonal=diagonal)


def _diagonal(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the diagonal for ``x[.., i, i + k]`` of all rows that have such an element; or None."""
    x, row, column = found["x"], _ramp(found["i"]), _ramp(found["j"])
    index = node.parameters["index"]
    places = [axis for axis, item in enumerate(index) if isinstance(item, Slot)]
    if row is None or column is None or [index[axis] for axis in places] != [Slot(1), Slot(2)] or len(index) != x.ndim:
        return None
    if places != [x.ndim - 2, x.ndim - 1] or found["i"].ndim != 1 or found["j"].ndim != 1:
        return None
    if any(item != FULL for item in index[:-2]):
        return None
    offset, (rows, columns) = column[1] - row[1], x.shape[-2:]
    if min(row[1], column[1]) != 0 or node.shape[-1] != min(rows + min(offset, 0), columns - max(offset, 0)):
        return None
    axes = {"axis1": x.ndim - 2, "axis2": x.ndim - 1} if x.ndim > 2 else {}
    return graph.add("diagonal", (x,), interval=node.interval, offset=offset, axes=axes)


def _on_diagonal(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return ``np.diag`` of a vector for a select, by the mask of a diagonal, of the vector in all columns or rows; or
    None.
    """
    x, offset = found["x"], found["mask"].parameters["diagonal"]
    rows, columns = node.shape if node.ndim == 2 else (0, 1)
    if rows != columns or x.shape not in ((rows,), (1, rows), (rows, 1)) or not _is_zero(found["ZERO"]):
        return None
    in_column = x.shape == (rows, 1)
    if x.ndim == 2:
        if x.opcode != "expand":
            return None
        (x,) = x.operands
    if offset:
        low = offset < 0 if in_column else offset > 0
        widths = ((abs(offset), 0),) if low else ((0, abs(offset)),)
        if x.opcode != "pad" or tuple(map(tuple, x.parameters["widths"])) != widths or not _is_zero(x.operands[1]):
            return None
        x = x.operands[0]
    if x.ndim != 1:
        return None
    return called(graph, "np.diag", (x,), node, *((offset,) if offset else ()))


def _is_zero(node: Node) -> bool:
    """Return whether a node is 0 without a sign."""
    if not node.is_literal or literal_value(node):
        return False
    value = literal_value(node).astype(complex)
    return not np.signbit(value.real) and not np.signbit(value.imag)


def _trace(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the trace for a sum of the diagonal that a mask selects of the last two axes, or None."""
    x, kept, offset = found["x"], found["kept"], found["mask"].parameters["diagonal"]
    last = (kept.ndim - 2, kept.ndim - 1)
    if x.shape != kept.shape or tuple(node.parameters["axes"]) != last or node.parameters.get("keepdims"):
        return None
    if not _is_zero(found["ZERO"]) or node.type.is_extension or (node.type.is_floating and node.type.bits < 32):
        return None
    axes = {"axis1": last[0], "axis2": last[1]} if kept.ndim > 2 else {}
    dtype = {"dtype": node.type} if node.type.is_integral else {}
    return called(graph, "np.trace", (x,), node, *((offset,) if offset else ()), **axes, **dtype)


def _scaled(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return a mask times a positive number; None for negative ones, for which the other elements would be -0."""
    mask, number = found["mask"], found["NUMBER"]
    if node.shape != mask.shape or not 0 < literal_value(number) < np.inf:
        return None
    ones = graph.add(mask.opcode, (), shape=node.shape, element_type=node.element_type, **mask.parameters)
    return graph.add("multiply", (ones, number))


RULES = (
    Rule("advanced_index(x, i, j)", _diagonal),
    Rule("compare(a, b)", _mask),
    Rule("convert((mask := tri()))", _typed),
    Rule("convert((mask := eye()))", _typed),
    *(FloatRule(f"select((mask := {name}()), NUMBER, 0)", _scaled) for name in ("tri", "eye")),
    Rule("select((mask := eye()), x, ZERO)", _on_diagonal),
    Rule("sum((kept := select((mask := eye()), x, ZERO)))", _trace, once=("kept",)),
    Rule("select((mask := tri()), x, ZERO)", partial(_triangle, opcode="tril", past=0)),
    Rule("select(not_((mask := tri())), ZERO, x)", partial(_triangle, opcode="tril", past=0)),
    Rule("select((mask := tri()), ZERO, x)", partial(_triangle, opcode="triu", past=1)),
    Rule("select(not_((mask := tri())), x, ZERO)", partial(_triangle, opcode="triu", past=1)),
)

triangles = rule_pass(__name__, "Raise comparisons of row numbers with column numbers.", RULES)
