"""Moves views that add or reverse axes from arguments into functions: ``norm(x, scale)`` for ``norm(x, scale[None])``.

A layer and its gradient share the residuals that JAX keeps of the layer, also such a view of the weights, which is
outside of both. The gradient of a convolution reverses again what the convolution has reversed.
"""

from __future__ import annotations

from functools import partial

from ...array.live import live_nodes
from ...array.node import Node
from ...array.operations.inference import broadcast
from ...array.program import Function, Program
from ...array.rewriting import rewrite, with_operands
from ...array.value import FULL, NEW, getitem
from .inlining import calls_of, handed_on

_REVERSED = (None, None, -1)
_WHOLE = (FULL, NEW)


def call_views(program: Program) -> None:
    """Move views that add or reverse axes from the arguments of functions into the functions, callers first."""
    if len(program.functions) == 1:
        return
    kept = handed_on(program.functions)
    for called in reversed(program.functions[:-1]):
        calls = [node for function in program.functions for node in calls_of(function, called)]
        if not calls or called.block_of or called in kept:
            continue
        places = {k for k in range(len(called.parameters)) if _are_views([call.operands[k] for call in calls])}
        for place in places:
            _take(called, place, calls[0].operands[place])
        for function in program.functions if places else ():
            rewrite(function, ("call",), partial(_of_sources, function, called, places))


def _are_views(operands: list[Node]) -> bool:
    """Return whether the operands of all calls are views with the same index."""
    return all(_is_view(node) and node.parameters["index"] == operands[0].parameters["index"] for node in operands)


def _is_view(node: Node) -> bool:
    """Return whether a node is all elements of its operand, with additional axes or in the opposite order."""
    if node.opcode != "getitem" or len(node.operands) != 1:
        return node.opcode == "expand"
    index = node.parameters["index"]
    return _REVERSED in index and all(item in (*_WHOLE, _REVERSED) for item in index)


def _take(called: Function, place: int, view: Node) -> None:
    """Change a parameter to the source of a view, and make the view in the function."""
    graph, old, (source,) = called.graph, called.parameters[place], view.operands
    own = graph.parameter(source.shape, source.element_type, graph.root, **old.parameters, interval=source.interval)
    with graph.recording() as made:
        inside = getitem(graph, own, view.parameters["index"])
    called.parameters[place] = own
    if called.repeated:
        given = tuple(each.operands[0] if _is_view(each) else each for each in called.repeated[place])
        called.repeated = (*called.repeated[:place], given, *called.repeated[place + 1 :])
    called.live = None
    live = live_nodes(called)
    if old in live:
        live.replace(old, inside, made)
        live.flush()
    rewrite(called, ("getitem", "expand"), partial(_of_view, called))


def _of_view(called: Function, node: Node) -> Node | None:
    """Return a part of a view as a part of its source: ``scale[None][0]`` as ``scale``, and ``(x * scale[None])[0]`` as
    ``x * scale``.
    """
    view = node.operands[0] if len(node.operands) == 1 else node
    if view is not node and _is_view(view):
        made = getitem(called.graph, view, node.parameters["index"])
        return made if made.shape == node.shape else None
    index = node.parameters["index"]
    count = view.ndim - node.ndim
    drops_first = count > 0 and index[:count] == (0,) * count and set(index[count:]) <= {FULL}
    if not drops_first or not view.operation.is_elementwise or live_nodes(called).count(view) > 1:
        return None
    operands = tuple(_without_first(operand, count, node.ndim) for operand in view.operands)
    known = tuple(operand for operand in operands if operand is not None)
    if len(known) < len(operands) or broadcast(known) != node.shape:
        return None
    kind = view.element_type if view.operation.element_type is None else None
    return called.graph.add(view.opcode, known, element_type=kind, **view.parameters)


def _without_first(operand: Node, count: int, ndim: int) -> Node | None:
    """Return an operand of an element-wise operation without ``count`` leading unit axes; None if it is not such a
    view.
    """
    if operand.ndim <= ndim:
        return operand
    index = operand.parameters["index"] if operand.opcode == "expand" else ()
    is_view = index[:count] == (NEW,) * count and set(index[count:]) <= {FULL}
    return operand.operands[0] if is_view and operand.ndim == ndim + count else None


def _of_sources(function: Function, called: Function, places: set[int], node: Node) -> Node | None:
    if node.parameters["function"] is not called or not all(_is_view(node.operands[k]) for k in places):
        return None
    operands = tuple(each.operands[0] if k in places else each for k, each in enumerate(node.operands))
    return with_operands(function.graph, node, operands)
