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
from ...array.rewriting import copied, rewrite
from ..calls.inlining import calls_of, handed_on, used_functions
from ..calls.interfaces import drop_from_interface
from .constants import chosen
from .interpreter import value_of

_Constants = Mapping[int, Node]  # by the position of a parameter or a result
_MOST_MADE = 10  # operations and numbers of an array that a function and its gradient both make


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
        first, *others = (_source(call.operands[place]) for call in calls) if calls else (None,)
        if first is not None and all(other is not None and _is_same(first, other) for other in others):
            constants[place] = first
    return constants


def _source(given: Node) -> Node | None:
    """Return what a function can make itself instead of taking it as an operand: a constant, or an array made of
    numbers alone that another function returns, such as a mask for its gradient. None for other operands.
    """
    call = given.operands[0] if given.opcode == "item" else given
    if call is given or call.opcode != "call":
        return given if given.is_literal or given.opcode == "array" else None
    result: Node = call.parameters["function"].flat_results[given.parameters["index"]]
    return result if _is_generated(result) else None


def _is_generated(node: Node) -> bool:
    """Return whether an array is made of numbers alone, by few cheap operations."""
    waiting, seen = [node], {node}
    while waiting:
        made = waiting.pop()
        row = made.operation
        is_cheap = row.is_generated or row.is_view or (row.is_elementwise and not row.is_costly)
        if len(seen) > _MOST_MADE or not (made.is_literal or (is_cheap and (made.operands or row.is_generated))):
            return False
        waiting += [operand for operand in made.operands if operand not in seen]
        seen.update(made.operands)
    return not node.is_literal


def _is_same(one: Node, other: Node) -> bool:
    if one is other:
        return True
    form, others = ((each.opcode, each.shape, each.element_type, each.parameters) for each in (one, other))
    is_alike = form == others and len(one.operands) == len(other.operands)
    return is_alike and all(map(_is_same, one.operands, other.operands))


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
    operands = tuple(_made(function, operand) for operand in constant.operands)
    return copied(function.graph, constant, operands, constant.interval, constant.parameters)


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
