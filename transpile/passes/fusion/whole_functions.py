"""Functions that are compiled as a whole, with what stands around their loops.

A call of the library on a few elements takes as long as hundreds of rounds of a compiled loop. So where all arrays are
small, the whole body of the function becomes that of a ``Loop`` that runs once, and is compiled as other loops are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from ...array.node import Node
from ...array.program import Carry, Function, Loop, Program, roots, tree_nodes
from ...array.result_trees import mapped
from ...array.traversal import body_and_captured, topological
from ...kernels.index_maps import is_view
from ...target import Kernels
from .compiled_loops import compiled_loops

_FEWEST_CALLS, _MOST_CALLS = 6, 96  # without a loop: that take longer than one of a compiled function, or to compile


def whole_functions(program: Program, kernels: Kernels) -> None:
    """Compile the entry as a whole if its arrays are small, and a loop is compiled anyway or it has many calls."""
    function, nodes = program.entry, topological(roots(program.entry))
    if not _is_small(function, nodes, kernels):
        return
    loops = compiled_loops(function, kernels, with_forms=True)
    calls = _calls_around(nodes, loops)
    if not (_FEWEST_CALLS <= calls <= _MOST_CALLS or (loops and calls)):
        return
    given, tables = function.results, [node for node in nodes if node.opcode == "array" and not node.region.depth]
    _enclose(function, [*function.parameters, *tables])
    if len(compiled_loops(function, kernels, with_forms=True)) != 1:
        function.graph.open([*function.parameters, *tables])
        function.results = given


def _is_small(function: Function, nodes: Iterable[Node], kernels: Kernels) -> bool:
    """Return whether a function computes nothing but numbers and small arrays."""
    if function.effect is not None or not all(map(_is_value, tree_nodes(function.results))):
        return False
    return all(prod(node.shape) <= kernels.most_in_whole for node in nodes)


def _is_value(node: Node) -> bool:
    return node.element_type is not None and not node.is_python_int


def _calls_around(nodes: Iterable[Node], loops: Sequence[Node]) -> int:
    """Return how many calls of the library stand outside of these loops."""
    inside = {part for loop in loops for part in body_and_captured(loop)[0]}
    return sum(node not in inside and _is_call(node) for node in nodes)


def _is_call(node: Node) -> bool:
    """Return whether the library computes something for a node."""
    is_moved = is_view(node) or node.opcode in ("item", "copy") or node.operation.is_filled
    is_made = node.operation.allocates and not node.operation.stands_alone
    return (bool(node.operands) or is_made) and not node.results and not is_moved


def _enclose(function: Function, outside: Sequence[Node]) -> None:
    """Make all of a function but some nodes the body of a loop that runs once, which carries the results."""
    graph = function.graph
    body = graph.enclose(outside)
    found = [node for node in dict.fromkeys(tree_nodes(function.results)) if node.region is body]
    loop = Loop(body)
    for node in found:
        initial = graph.add("empty", (), shape=node.shape, element_type=node.element_type, pinned=True)
        parameter = graph.parameter(node.shape, node.element_type, body)
        loop.carries.append(Carry(initial, parameter, node))
    starts = tuple(carry.initial for carry in loop.carries)
    types = tuple((node.shape, node.element_type) for node in found)
    whole = graph.typed("loop", starts, results=types, pinned=True, loop=loop)
    given = {}
    for index, node in enumerate(found):
        with graph.coming_as(node, graph):
            given[node] = graph.typed("item", (whole,), node.shape, node.element_type, index=index, stands_for=node)
    function.results = mapped(function.results, lambda node: given.get(node, node))
    function.live = None


def stand_for_results(function: Function) -> None:
    """Let the results of a function that is compiled as a whole have the values that it is computed from."""
    for item in tree_nodes(function.results):
        loop = item.operands[0].parameters.get("loop") if item.opcode == "item" else None
        if loop is not None and loop.runs_once:
            function.graph.record_replacement(loop.carries[item.parameters["index"]].following, item)
