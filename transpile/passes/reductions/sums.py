"""Merges reductions in two steps: XLA cuts long axes into pieces, reduces these, and then their results. Also raises
the maximum of two stacked arrays to ``np.maximum(a, b)``, and a product with ones to a sum.
"""

from __future__ import annotations

from typing import Any

from ...array.graph import Graph
from ...array.node import Node
from ...array.operations import REDUCTIONS
from ...array.value import FULL, NEW, getitem
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, Rule, rule_pass


def _together(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return one reduction for a reduction of a reduction, or None."""
    x, inner, outer = found["x"], found["inner"], found["outer"]
    if found["part"].element_type is not node.element_type:
        return None
    kept = [axis for axis in range(x.ndim) if axis not in inner]
    axes = tuple(sorted({*inner, *(kept[axis] for axis in outer)}))
    return graph.add(node.opcode, (x,), element_type=node.element_type, interval=node.interval, axes=axes)


def _of_whole(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the reduction over all pieces that axes were cut into, or None."""
    x, pieces = found["x"], found["pieces"]
    axes: list[int] = []
    for axis, run in cuts(x.shape, pieces.shape) or ():
        gone = [piece in found["axes"] for piece in run]
        if len(run) > 1 and any(gone) and not all(gone):
            return None
        axes += [axis] if gone and all(gone) else []
    shape = tuple(size for axis, size in enumerate(x.shape) if axis not in axes)
    if not axes or shape != node.shape:
        return None
    return graph.add(node.opcode, (x,), element_type=node.element_type, interval=node.interval, axes=tuple(axes))


def cuts(whole: tuple[int, ...], pieces: tuple[int, ...]) -> list[tuple[int, list[int]]] | None:
    """Return, for each axis of ``whole``, its size and the axes of ``pieces`` that it is cut into; None if an axis is
    neither cut nor kept.
    """
    found: list[tuple[int, list[int]]] = []
    at = 0
    for axis, size in enumerate(whole):
        run: list[int] = []
        product = 1
        while at < len(pieces) and (product < size or (not run and pieces[at] == size)):
            product *= pieces[at]
            run.append(at)
            at += 1
        if product != size or not run:
            return None
        found.append((axis, run))
    return found if at == len(pieces) else None


def _of_two(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the maximum or minimum of two stacked arrays, or None."""
    if found["axes"] != (found["axis"],):
        return None
    opcode = {"max": "maximum", "min": "minimum"}[node.opcode]
    return graph.add(opcode, (found["a"], found["b"]), interval=node.interval)


def _of_product(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return the sum of columns or rows for a matrix product with a row or a column of ones, or None."""
    left, right = node.operands
    ones, x, axis = (left, right, 0) if left.opcode == "ones" else (right, left, left.ndim - 1)
    if ones.opcode != "ones" or x.opcode == "ones" or max(ones.ndim, x.ndim) > 2:
        return None
    keepdims: dict[str, Any] = {"keepdims": True} if ones.ndim == 2 else {}
    total = graph.add("sum", (x,), element_type=node.element_type, axes=(axis,), **keepdims)
    return total if total.shape == node.shape else None


def _of_column(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return what is reduced along an axis that was only added so that a function could be called, or None."""
    x, axes = found["x"], found["axes"]
    if x.opcode != "prelude" or x.element_type is not node.element_type:
        return None
    added = [part.parameters["index"] for part in x.operands if part.opcode == "expand" and part.ndim == x.ndim]
    if not any(all(index[axis] == NEW for axis in axes) for index in added if len(index) == x.ndim):
        return None
    is_one = all(x.shape[axis] == 1 for axis in axes)
    return getitem(graph, x, [0 if axis in axes else FULL for axis in range(x.ndim)]) if is_one else None


def _whole(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return an array of which an index drops axes of one element that another index inserts again, or None."""
    x, (part,) = found["x"], node.operands
    is_whole = len(part.operands) == 1 and all(item in (FULL, 0) for item in part.parameters["index"])
    return x if is_whole and x.shape == node.shape else None


RULES = tuple(
    rule
    for name in REDUCTIONS.values()
    for rule in (
        Rule(f"{name}((part := {name}(x, axes=inner)), axes=outer)", _together, once=("part",)),
        Rule(f"{name}((pieces := reshape(x)), axes=axes)", _of_whole, once=("pieces",)),
        Rule(f"{name}(x, axes=axes)", _of_column),
    )
) + tuple(Rule(f"{name}(stack(a, b, axis=axis), axes=axes)", _of_two) for name in ("max", "min"))
RULES += (FloatRule("matmul(x, y)", _of_product), Rule("expand(getitem(x))", _whole))

sums = rule_pass(__name__, "Raise reductions in steps to one operation.", RULES)
