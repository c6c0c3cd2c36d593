"""The author's order of parameters: functions take the author's parameters first, and closed-over values after them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...array.graph import Graph
from ...array.node import Node
from ...array.program import Function, Program
from ...array.rewriting import rewrite
from ...passes.calls.inline_one import handed_on
from .scopes import GRADIENT
from .source import SourceNames


def in_authors_order(program: Program, names: SourceNames) -> None:
    """Put the parameters of functions, and the operands of their calls, into the order of the source."""
    fixed = handed_on(program.functions)
    for function in program.functions[:-1]:
        name = names.contexts.of_called(function)
        is_written = not (function.repeated or function.block_of or function.origin or name.startswith(GRADIENT))
        if is_written and function not in fixed:
            order = names.functions.order(function.computation, name)
            parameters = function.parameters
            places = sorted(range(len(parameters)), key=lambda k: order[parameters[k].parameters["argument"]])
            if places != sorted(places):
                _reorder(program, function, places)


def _reorder(program: Program, function: Function, places: Sequence[int]) -> None:
    function.parameters = [function.parameters[place] for place in places]
    function.live = None
    for caller in program.functions:
        rewrite(caller, ("call",), partial(_reordered, caller.graph, function, places, set()))


def _reordered(graph: Graph, function: Function, places: Sequence[int], done: set[Node], node: Node) -> Node | None:
    """Return a call with its operands in the order of ``places``, or None.

    The new call is pinned: it must not become one with an equal call that is still to be reordered.
    """
    if node.parameters["function"] is not function or node in done:
        return None
    operands = tuple(node.operands[place] for place in places)
    shape, element_type, results = node.shape, node.element_type, node.results
    new = graph.typed("call", operands, shape, element_type, results=results, pinned=True, **node.parameters)
    done.add(new)
    return new
