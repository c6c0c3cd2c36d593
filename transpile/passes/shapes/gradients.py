"""``np.gradient``: JAX joins the differences of neighbours at both ends with those of the neighbours of each element
between, and divides by the spacing.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...array.graph import Graph
from ...array.node import Node, literal_value
from ...array.program import Function
from ...array.rewriting import called, rewrite
from ...array.support import Support
from ...array.value import FULL, NEW
from ..rewriting.patterns import Bindings, Pattern, pattern
from ..rewriting.rules import is_full_float
from .joins import part_of_axis

_LEAST = 4  # elements; fewer are written as a row
_DIFFERENCE = "subtract(getitem(x, index=later), getitem(x, index=earlier))"
_OF_END = tuple(map(pattern, (f"divide({_DIFFERENCE}, spacing)", _DIFFERENCE)))
_BETWEEN = tuple(
    map(
        pattern,
        (
            f"divide(multiply({_DIFFERENCE}, 0.5), spacing)",
            f"multiply({_DIFFERENCE}, 0.5)",
            f"divide({_DIFFERENCE}, TWICE)",
        ),
    )
)


def gradients(function: Function, supports: Support) -> None:
    """Raise central differences that are joined with one-sided ones at both ends."""
    graph = function.graph
    rewrite(function, ("concatenate",), lambda node: _gradient(graph, node), supports)


def _gradient(graph: Graph, node: Node) -> Node | None:
    axis, size = node.parameters["axis"], node.shape[node.parameters["axis"]]
    if len(node.operands) != 3 or not is_full_float(node.type) or size < _LEAST:
        return None
    ends, between = (node.operands[0], node.operands[2]), _matched(node.operands[1], _BETWEEN)
    added = (FULL,) * axis + (NEW,) + (FULL,) * (node.ndim - axis - 1)
    if between is None or any(end.opcode != "expand" or tuple(end.parameters["index"]) != added for end in ends):
        return None
    first, last = (_matched(end.operands[0], _OF_END) for end in ends)
    x: Node = between["x"]
    if first is None or last is None or x.shape != node.shape or not first["x"] is last["x"] is x:
        return None
    parts = [part_of_axis(between[name], axis, size) for name in ("later", "earlier")]
    rows = [_row(found[name], axis) for found in (first, last) for name in ("later", "earlier")]
    if parts != [range(2, size), range(size - 2)] or rows != [1, 0, size - 1, size - 2]:
        return None
    spacings = [found.get("spacing") for found in (first, last)]
    if spacings[0] is not spacings[1] or not _is_spacing(spacings[0], between):
        return None
    given = [x] if spacings[0] is None else [x, spacings[0]]
    return called(graph, "np.gradient", tuple(given), node, **({"axis": axis} if node.ndim > 1 else {}))


def _matched(node: Node, patterns: Iterable[Pattern]) -> Bindings | None:
    return next((found for each in patterns if (found := each.match(node)) is not None), None)


def _row(index: tuple[object, ...], axis: int) -> object:
    """Return the number of the row that an index selects along an axis, or None."""
    is_row = len(index) > axis and all(item == FULL for k, item in enumerate(index) if k != axis)
    return index[axis] if is_row else None


def _is_spacing(spacing: Node | None, between: Bindings) -> bool:
    """Return whether what the ends are divided by is half of what the differences of two steps are divided by."""
    if "TWICE" not in between:
        return between.get("spacing") is spacing and (spacing is None or not spacing.ndim)
    return (
        spacing is not None
        and spacing.is_literal
        and bool(literal_value(spacing) * 2 == literal_value(between["TWICE"]))
    )
