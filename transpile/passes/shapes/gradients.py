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
from ...array.value import FULL, NEW, getitem, transposed
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
    """Return the gradient that a concatenation computes. Of a transpose, JAX's slices become slices of the operand, so
    the part between the ends is a transpose, and the gradient is that along the other axis.
    """
    if len(node.operands) != 3 or not is_full_float(node.type):
        return None
    axis, between = node.parameters["axis"], node.operands[1]
    is_turned = between.opcode == "transpose" and between.ndim == 2
    added = tuple(NEW if k == axis else FULL for k in range(node.ndim))
    if any(end.opcode != "expand" or tuple(end.parameters["index"]) != added for end in node.operands[::2]):
        return None
    parts = [node.operands[0].operands[0], between.operands[0] if is_turned else between, node.operands[2].operands[0]]
    axis, shape = (1 - axis, node.shape[::-1]) if is_turned else (axis, node.shape)
    given = _of_parts(graph, parts, axis, shape)
    if given is None:
        return None
    along = {"axis": axis} if node.ndim > 1 else {}
    if not is_turned:
        return called(graph, "np.gradient", given, node, **along)
    return transposed(graph, called(graph, "np.gradient", given, between.operands[0], **along))


def _of_parts(graph: Graph, parts: list[Node], axis: int, shape: tuple[int, ...]) -> tuple[Node, ...] | None:
    """Return the operands of ``np.gradient``, an array of ``shape`` and its spacing, of which both ends and the part
    between are the differences along an axis; None if they are not.
    """
    patterns = (_OF_END, _BETWEEN, _OF_END)
    first, between, last = (_matched(part, each) for part, each in zip(parts, patterns, strict=True))
    if first is None or between is None or last is None or not first["x"] is last["x"] is between["x"]:
        return None
    x: Node = between["x"]
    indices = [found[name] for found in (between, first, last) for name in ("later", "earlier")]
    if x.ndim == len(shape) + 1:  # all read the same row of it
        place = next((k for k, item in enumerate(indices[0]) if isinstance(item, int)), None)
        if place is None or any(index[place : place + 1] != (indices[0][place],) for index in indices):
            return None
        x = getitem(graph, x, (FULL,) * place + (indices[0][place],))
        indices = [index[:place] + index[place + 1 :] for index in indices]
    size = shape[axis]
    if size < _LEAST or x.shape != shape:
        return None
    slices, rows = indices[:2], [_row(index, axis) for index in indices[2:]]
    if [part_of_axis(each, axis, size) for each in slices] != [range(2, size), range(size - 2)]:
        return None
    if rows != [1, 0, size - 1, size - 2]:
        return None
    spacing = first.get("spacing")
    if last.get("spacing") is not spacing or not _is_spacing(spacing, between):
        return None
    return (x,) if spacing is None else (x, spacing)


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
