"""Removes reshapes around gathers and scatters, whose indices XLA flattened.

Optimised gathers take by flat indices: ``np.take(x, i.reshape(12), axis=0).reshape(3, 4, 8)`` is ``np.take(x, i,
axis=0)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import prod

from numpy import broadcast_shapes

from ...array.graph import Graph
from ...array.node import Node, Slot, literal_value
from ...array.program import Function
from ...array.rewriting import rewrite, with_operands
from ...array.support import Support
from ...array.value import FULL
from ..rewriting.patterns import Bindings
from ..rewriting.rules import Rule, apply_rules


def _reshaped(graph: Graph, x: Node, shape: tuple[int, ...]) -> Node:
    """Return an array in another shape, without earlier reshapes."""
    *_, x = _before_reshaping(x)
    if x.shape == shape:
        return x
    return graph.add("reshape", (x,), shape=shape)


def _plain(graph: Graph, node: Node, found: Bindings) -> Node | None:
    return _reshaped(graph, found["x"], node.shape)


def _without_unit_axes(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return a reshape in place of element 0 of unit axes, or None."""
    index = found["index"]
    if any(item != FULL and item != 0 for item in index) or prod(node.shape) != prod(found["x"].shape):
        return None
    return _reshaped(graph, found["x"], node.shape)


def _column(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return one of several arrays that are stacked along the last axis, or None."""
    stacked, *_ = found["columns"].operands
    *rows, last = found["index"]
    if stacked.opcode != "stack" or stacked.parameters["axis"] != stacked.ndim - 1:
        return None
    if found["columns"].shape[-1] != stacked.shape[-1] or not isinstance(last, int) or set(rows) - {FULL}:
        return None
    return _reshaped(graph, stacked.operands[last], node.shape)


def _taken(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return slices along one axis, taken by indices in their own shape; or None."""
    taken = found["taken"]
    x, index = taken.operands
    axis, parameters = taken.parameters["axis"], dict(taken.parameters)
    before, behind = x.shape[:axis], x.shape[axis + 1 :]
    given = _in_shape(index, node.shape[axis : len(node.shape) - len(behind)])
    if given is None or node.shape != before + given.shape + behind:
        return None
    return graph.add("take", (x, given), interval=node.interval, **parameters)


def _elements(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return elements gathered by indices in the result's shape, followed by whole axes; or None."""
    taken = found["taken"]
    x, *indices = taken.operands
    index, parameters = taken.parameters["index"], dict(taken.parameters)
    first = len(index) - len(indices)
    if index[first:] != tuple(Slot(k + 1) for k in range(len(indices))):
        return None
    before, behind = x.shape[:first], x.shape[len(index) :]
    flat = node.shape[len(before) : len(node.shape) - len(behind)]
    given = [in_shape for i in indices if (in_shape := _in_shape(i, flat)) is not None]
    if len(given) != len(indices) or node.shape != before + flat + behind:
        return None
    for place, one in enumerate(given):
        others = [other.shape for other in given[:place] + given[place + 1 :]]
        if one.opcode == "broadcast_to" and broadcast_shapes(one.operands[0].shape, *others) == flat:
            given[place] = one.operands[0]
    return graph.add("advanced_index", (x, *given), interval=node.interval, **parameters)


def _looked_up(graph: Graph, node: Node, found: Bindings) -> Node | None:
    make = {"take": _taken, "advanced_index": _elements}.get(found["taken"].opcode)
    return make(graph, node, found) if make is not None else None


def _scattered(graph: Graph, node: Node) -> Node | None:
    """Return a scatter with values and indices in their shape before a reshape, which keeps the order of elements; or
    None.
    """
    is_call = node.opcode == "prelude" and node.parameters["function"] == "scatter_at"
    operands = node.operands
    slots = tuple(Slot(2 + k) for k in range(len(operands) - 2))
    if not is_call and (node.opcode == "prelude" or node.parameters["index"] != slots):
        return None
    x, values, *indices = operands
    laid_out = indices[0].shape  # must be that of all indices, not only broadcast with them
    if any(index.shape != laid_out for index in indices) or (
        values.shape and values.shape[: len(laid_out)] != laid_out
    ):
        return None
    for shape in [index.shape for index in _before_reshaping(indices[0])][1:]:
        given = [_in_shape(index, shape) for index in indices]
        moved = _in_shape(values, shape + values.shape[len(laid_out) :]) if values.shape else values
        if moved is not None and None not in given:
            return with_operands(graph, node, (x, moved, *(index for index in given if index is not None)))
    return None


def _in_shape(x: Node, shape: tuple[int, ...]) -> Node | None:
    """Return an array as it was when it had this shape, or None."""
    return next((one for one in _before_reshaping(x) if one.shape == shape), None)


def _before_reshaping(x: Node) -> Iterator[Node]:
    yield x
    while x.opcode in ("reshape", "expand"):
        (x,) = x.operands
        yield x


def _clamped_before(graph: Graph, node: Node, found: Bindings) -> Node | None:
    """Return a clamp before a reshape in place of one after it; no clamp if bounds prove it dead."""
    x = found["x"]
    low, high = (int(literal_value(found[name])) for name in ("LOW", "HIGH"))
    if x.interval is not None and low <= x.interval[0] and x.interval[1] <= high:
        clamped = x
    else:
        clamped = graph.add("clamp", (found["LOW"], x, found["HIGH"]), interval=(low, high))
    return _reshaped(graph, clamped, node.shape)


RULES = (
    Rule("reshape(reshape(x))", _plain),
    Rule("reshape(expand(x))", _plain),
    Rule("getitem((columns := reshape(stacked)), index=index)", _column),
    Rule("getitem((x := reshape(wide)), index=index)", _without_unit_axes),
    Rule("clamp(LOW, reshape(x), HIGH)", _clamped_before, when=lambda element_type: element_type.is_integral),
    Rule("reshape(taken)", _looked_up, once=("taken",)),
)


def reshapes(function: Function, supports: Support) -> None:
    """Gather and scatter by indices in their own shape."""
    apply_rules(function, RULES, supports)
    rewrite(function, ("prelude", "setitem", "update_at"), partial(_scattered, function.graph), supports)
