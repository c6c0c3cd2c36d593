"""Operations in loops, and in the functions that loops call, are written in the form in which the loop can be
compiled.
"""

from __future__ import annotations

from collections.abc import Callable

from ...array.graph import Graph
from ...array.live import live_nodes
from ...array.node import Node
from ...array.program import Function, Program, roots
from ...array.rewriting import rewrite
from ...array.traversal import topological
from ...walks import reached

Form = Callable[[Graph, Node], Node | None]


def loop_forms(program: Program, form: Form) -> None:
    """Replace nodes that are computed in every iteration of a loop by ``form(graph, node)``, where that is not None."""
    repeated = _repeated(program)
    for function in program.functions:

        def rule(node: Node, function: Function = function) -> Node | None:
            return form(function.graph, node) if function in repeated or node.region.is_in_loop else None

        rewrite(function, {node.opcode for node in live_nodes(function)}, rule)


def _repeated(program: Program) -> set[Function]:
    """The functions that loops call, directly or indirectly."""
    calls = {
        function: [node for node in topological(roots(function)) if node.opcode == "call"]
        for function in program.functions
    }
    called = [call.parameters["function"] for each in calls.values() for call in each if call.region.is_in_loop]
    return set(reached(called, lambda function: [call.parameters["function"] for call in calls.get(function, [])]))
