"""Functions take an array whose elements they read: ``f(y, theta)`` for ``f(y, theta[0], theta[1])``.

JAX computes what is the same in all rounds of a loop outside of it, also the elements that a function in the loop
reads. Elements that the author reads at the call stay arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from ...array.live import live_nodes
from ...array.node import Node
from ...array.program import Function, Program
from ...array.rewriting import rewrite, with_operands
from ...array.value import getitem
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
    array_of = {node: array for (_, node), array in zip(calls, sources, strict=True)}
    for caller in {caller for caller, _ in calls}:
        rewrite(caller, ("call",), partial(_given_array, caller, first, array_of))
    return drop_from_interface(program, called, {place: called.parameters[place] for place in found[1:]}, {})


def _given_array(caller: Function, place: int, array_of: Mapping[Node, Node], node: Node) -> Node | None:
    """Return a call with an array in place of its element; None for other nodes."""
    if node not in array_of:
        return None
    operands = (*node.operands[:place], array_of[node], *node.operands[place + 1 :])
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
