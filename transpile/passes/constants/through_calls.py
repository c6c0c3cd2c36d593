"""Moves constants through calls: into a function whose calls all pass the same one, and out of one that always returns
it.

JAX's derivative of a variance is such a case: the variance returns ``6 - ddof`` and ``6 - ddof > 0`` for its gradient.
Values that follow from such a number are folded here, so that they move on too, and ``where(True, x, 0)`` is ``x``.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...array.live import live_nodes
from ...array.node import Node, literal_value
from ...array.program import Function, Program
from ...array.rewriting import rewrite
from ..calls.inlining import calls_of, handed_on, used_functions
from ..calls.interfaces import drop_from_interface
from .constants import chosen
from .interpreter import value_of

_Constants = Mapping[int, Node]  # by the position of a parameter or a result


def constants_through_calls(program: Program) -> None:
    """Drop the parameters and results of functions that are one constant in all calls, until there are none."""
    fixed = {program.entry, *handed_on(program.functions)}
    waiting = [function for function in program.functions if function not in fixed]
    while waiting:
        changed = False
        for called in reversed(waiting):
            calls = [call for function in program.functions for call in calls_of(function, called)]
            arguments, results = _given(called, calls), _returned(called)
            if calls and (arguments or results):
                _move(program, called, arguments, results)
                changed = True
        if not changed:
            break
        used = used_functions(program)
        program.functions[:] = [function for function in program.functions if function in used]
        waiting = [function for function in program.functions if function not in fixed]


def _given(called: Function, calls: list[Node]) -> _Constants:
    """Return the parameters that are the same number or table in all calls."""
    constants: dict[int, Node] = {}
    for place in range(len(called.parameters)):
        first, *others = (call.operands[place] for call in calls) if calls else (None,)
        if first is not None and _is_constant(first) and all(_is_same(first, other) for other in others):
            constants[place] = first
    return constants


def _is_constant(node: Node) -> bool:
    return node.is_literal or node.opcode == "array"


def _is_same(one: Node, other: Node) -> bool:
    return other.opcode == one.opcode and one.parameters["constant"] == other.parameters["constant"]


def _returned(called: Function) -> _Constants:
    """Return the results that are numbers."""
    return {place: node for place, node in enumerate(called.flat_results) if node.is_literal}


def _move(program: Program, called: Function, arguments: _Constants, results: _Constants) -> None:
    """Replace a function by one without these constants as parameters and results."""
    made = {place: _made(called, constant) for place, constant in arguments.items()}
    callers = [caller for caller in program.functions if any(calls_of(caller, called))]
    function = drop_from_interface(program, called, made, results)
    for changed in (*([function] if arguments else ()), *(callers if results else ())):
        _fold(changed)


def _made(function: Function, constant: Node) -> Node:
    """Return a copy of another function's constant in this function."""
    if constant.is_literal:
        return function.graph.literal(literal_value(constant), constant.type)
    element_type, interval = constant.element_type, constant.interval
    return function.graph.add("array", element_type=element_type, interval=interval, **constant.parameters)


def _fold(function: Function) -> None:
    """Fold scalar operations on numbers, and selections by a number."""
    graph, live = function.graph, live_nodes(function)
    opcodes = {node.opcode for node in live if node.operation.is_elementwise}

    def rule(node: Node) -> Node | None:
        numbers = [literal_value(operand) for operand in node.operands if operand.is_literal]
        if node.opcode == "select" and node.operands[0].is_literal:
            return chosen(graph, node, {node.operands[0]: numbers[0]})
        if node.ndim or not numbers or len(numbers) < len(node.operands):
            return None
        value = value_of(node, numbers)
        return None if value is None else graph.literal(value, node.type)

    rewrite(function, opcodes, rule)
