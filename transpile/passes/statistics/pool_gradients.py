"""The gradient of pooling, which XLA's optimiser writes as a search for positions and a scatter to them, as one call.

The search reduces each window of ``x`` together with the coordinates of the elements, with -1 for none; then the
updates are added at the coordinates found.
"""

from __future__ import annotations

from math import prod
from typing import Any

from ...array.graph import Graph
from ...array.node import Node, Slot, Ufunc
from ...array.program import Function
from ...array.rewriting import prelude_call, rewrite
from ...array.support import Support
from ..rewriting.patterns import is_number, pattern

_STAYS = (
    "or_(and_(compare(chosen, element, direction=order), compare(place, -1, direction='NE')),"
    " not_(compare(other, -1, direction='NE')))"
)
_SELECTS = {"GE": "greater-equal", "GT": "greater", "LE": "less-equal", "LT": "less"}


def pool_gradients(function: Function, supports: Support) -> None:
    """Raise searches and scatters to ``select_and_scatter``."""
    graph = function.graph

    def rule(node: Node) -> Node | None:
        return _gradient(graph, node) if _calls(node, "scatter_at") else None

    rewrite(function, ("prelude",), rule, supports)


def _calls(node: Node, function: str) -> bool:
    return node.opcode == "prelude" and node.parameters["function"] == function


def _gradient(graph: Graph, scatter: Node) -> Node | None:
    into, updates, *places = scatter.operands
    search = places[0].operands[0] if places[0].opcode == "item" else into
    if into.opcode != "zeros" or scatter.parameters["arguments"][3:] != (Ufunc("add"),):
        return None
    if not _calls(search, "fold_windows") or updates.shape != places[0].shape:
        return None
    axes = range(into.ndim)
    if [(place.operands, place.parameters.get("index")) for place in places] != [((search,), 1 + k) for k in axes]:
        return None
    inputs, inits = search.operands[: 1 + len(axes)], search.operands[1 + len(axes) :]
    x, *coordinates = inputs
    counted = all(_counts(coordinate, axis) for axis, coordinate in enumerate(coordinates))
    nowhere = all(is_number(init, -1) for init in inits[1:])
    *_, step, window = search.parameters["arguments"]
    select = _select(step, len(axes))
    if x.shape != into.shape or not counted or not nowhere or select is None:
        return None
    keywords = search.parameters["keywords"]
    if "base_dilation" in keywords or "window_dilation" in keywords:
        return None
    chosen = {"select": select} if select != Ufunc("greater-equal") else {}
    return prelude_call(graph, "select_and_scatter", (x, updates), (Slot(0), Slot(1), window), chosen | keywords)


def _counts(node: Node, axis: int) -> bool:
    """Return whether the elements are their own coordinates along the axis."""
    size, behind = node.shape[axis], node.ndim - axis - 1
    if size == 1:
        return node.interval == (0, 0)
    while node.opcode == "broadcast_to":
        (node,) = node.operands
    row = node.operands[0] if node.opcode == "expand" else node
    in_place = node.shape[node.ndim - behind - 1 :] == (size, *(1,) * behind) and prod(node.shape) == size
    return in_place and row.opcode == "arange" and row.parameters == {"stop": size}


def _select(step: Any, count: int) -> Ufunc | None:
    """Return the ufunc by which the chosen element stays, from the step of a search with ``count`` coordinates; or
    None.
    """
    if not isinstance(step, Function) or len(step.parameters) != 2 * (1 + count) or not isinstance(step.results, tuple):
        return None
    chosen, elements = step.parameters[: 1 + count], step.parameters[1 + count :]
    stays = step.results[0].operands[0] if step.results[0].opcode == "select" else step.results[0]
    if [result.operands for result in step.results] != [(stays, *pair) for pair in zip(chosen, elements, strict=True)]:
        return None
    found = pattern(_STAYS).match(stays)
    if found is None or found["chosen"] is not chosen[0] or found["element"] is not elements[0]:
        return None
    known = found["place"] in chosen[1:] and found["other"] in elements[1:]
    opcode = _SELECTS.get(found["order"])
    return Ufunc(opcode) if known and opcode is not None else None
