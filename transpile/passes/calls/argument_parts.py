"""Moves parts and views of arguments from calls into functions, where all calls give the same ones.

``f(y, theta)`` for ``f(y, theta[0], theta[1])``: JAX computes what is the same in all rounds of a loop outside of it,
also the elements that a function in the loop reads. Elements that the author reads at the call stay arguments.

``norm(x, scale)`` for ``norm(x, scale[None])``: a layer and its gradient share the residuals that JAX keeps of the
layer, also such a view of the weights, which is outside of both. The gradient of a convolution reverses again what the
convolution has reversed.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import partial

from ...array.live import live_nodes
from ...array.node import Node
from ...array.operations.inference import broadcast
from ...array.program import Function, Program
from ...array.rewriting import rewrite, with_operands
from ...array.value import FULL, NEW, getitem
from ...hlo.stack_frames import CallChains
from .inlining import calls_of, handed_on
from .interfaces import drop_from_interface

Author = tuple[str, str]  # the file and the name of a function


def call_elements(program: Program) -> None:
    """Replace parameters for several elements of one array, which the function itself reads, by the array."""
    if len(program.functions) == 1 or not program.module.stack_frames:
        return
    chains = CallChains(program.module)
    kept = handed_on(program.functions)
    for called in program.functions[-2::-1]:  # callers first
        function: Function | None = None if called.block_of or called in kept or called.repeated else called
        while function is not None:
            function = _with_array(program, function, chains)


def _with_array(program: Program, called: Function, chains: CallChains) -> Function | None:
    """Return the function that takes one more array in place of its elements, or None if there is none."""
    calls = [(caller, node) for caller in program.functions for node in calls_of(caller, called)]
    authors = {_author(called, node, chains) for node in called.graph.origins if node.opcode != "parameter"} - {None}
    places: dict[tuple[Node, ...], list[int]] = {}  # of the elements of an array, by the array in each call
    for place in range(len(called.parameters)):
        elements = [(caller, node.operands[place]) for caller, node in calls]
        if _are_alike([node for _, node in elements]) and {_author(*each, chains) for each in elements} <= authors:
            places.setdefault(tuple(node.operands[0] for _, node in elements), []).append(place)
    sources, found = max(places.items(), key=lambda each: len(each[1]), default=((), []))
    if len(found) < 2:
        return None
    first, graph, source = found[0], called.graph, sources[0]
    caller, call = calls[0]
    own = graph.parameter(source.shape, source.element_type, graph.root, **called.parameters[first].parameters)
    live = live_nodes(called)
    for place in found:
        old, given = called.parameters[place], call.operands[place]
        with graph.coming_as(given, caller.graph), graph.recording() as made:
            element = graph.valued(getitem(graph, own, given.parameters["index"]), given, caller.graph)
        if old in live:
            live.replace(old, element, made)
    live.flush()
    called.parameters[first] = own
    for caller in {caller for caller, _ in calls}:
        rewrite(caller, ("call",), partial(_of_sources, caller, {node for _, node in calls}, {first}))
    return drop_from_interface(program, called, {place: called.parameters[place] for place in found[1:]}, {})


def _of_sources(caller: Function, calls: Set[Node], places: Set[int], node: Node) -> Node | None:
    """Return one of the calls with what some of its operands are parts or views of; None for other nodes."""
    if node not in calls:
        return None
    operands = tuple(each.operands[0] if k in places else each for k, each in enumerate(node.operands))
    return with_operands(caller.graph, node, operands)


def _are_alike(nodes: Sequence[Node]) -> bool:
    """Return whether nodes are the same element or row, at constant places, of arrays of one type."""
    indices = [node.parameters["index"] for node in nodes if node.opcode == "getitem" and len(node.operands) == 1]
    if len(indices) < len(nodes) or not all(isinstance(item, int) for item in indices[0]):
        return False
    arrays = (node.operands[0] for node in nodes)
    return len(set(indices)) == 1 and len({(array.shape, array.element_type) for array in arrays}) == 1


def _author(function: Function, node: Node, chains: CallChains) -> Author | None:
    """Return the innermost function of the source that a node comes from."""
    origin = function.graph.origins.get(node)
    frames = chains.of(origin) if origin is not None else ()
    if not frames:
        return None
    frame = chains.frames[frames[-1] - 1]
    return frame.file_name, frame.function_name


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
            rewrite(function, ("call",), partial(_of_sources, function, set(calls), places))


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
