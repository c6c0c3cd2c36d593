"""What a target says by a function of its own prelude where NumPy has a word for it."""

from __future__ import annotations

from ...targets.base import OwnCall, Target
from ..array.node import Node, Slot
from ..array.program import Function, Program
from ..array.rewriting import rewrite


def own_functions(program: Program, target: Target) -> None:
    """Put calls in place of the operations that the target has functions for."""
    for function in program.functions:
        rewrite(function, lambda node, operands, function=function: _called(function, target, node, operands))  # type: ignore[misc]


def _called(function: Function, target: Target, node: Node, operands: tuple[Node, ...]) -> Node | None:
    call: OwnCall | None = target.own_function(node)
    if call is None:
        return None
    arguments = call.arguments or tuple(Slot(k) for k in range(len(operands)))
    return function.graph.add(
        "prelude",
        operands,
        shape=node.shape,
        element_type=node.element_type,
        interval=node.interval,
        function=call.function,
        arguments=arguments,
        keywords=dict(call.keywords),
    )
