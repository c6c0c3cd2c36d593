"""Assumptions for an instruction without a module, as documents quote them: undefined names are taken for granted.

``add.1 = f32[4] add(f32[4] a, f32[4] b)`` becomes a computation whose parameters are ``a`` and ``b``. The body of a
computation that it calls by name is unknown, and becomes a custom call of that name.
"""

from __future__ import annotations

import re

from .ir import Computation, Instruction
from .lexer import quote
from .opcodes import OPCODES
from .parser_state import ParserState, Scope
from .shapes import Shape
from .source import Span

# Element-wise operations whose operands need not have the result's type.
_CHANGES_TYPE = {
    *("abs", "bitcast-convert", "clamp", "compare", "complex", "convert"),
    *("imag", "is-finite", "real", "select", "stochastic-convert"),
}
_CALLING = {"call": "to_apply", "fusion": "calls"}
_NAMED = {key: re.compile(rf"[^\n]*?\b{key}\s*=\s*%?([A-Za-z_][\w.\-]*)", re.ASCII) for key in _CALLING.values()}


def assume_operand(
    state: ParserState, scope: Scope, name: str, span: Span, declared: Shape | None, opcode: str, result: Shape | None
) -> Instruction:
    """Return a new parameter for an undefined operand. Raises XP140 if its shape is unknown."""
    keeps_shape = OPCODES[opcode].is_elementwise and opcode not in _CHANGES_TYPE
    shape = declared or (result if keeps_shape else None)
    if shape is None:
        hint = f"write it before the name: f32[4] {name}"
        raise state.cursor.error("XP140", f"the shape of operand {quote(name)} is unknown", *span, hint)
    number = len(scope.parameters)
    parameter = Instruction(name, "parameter", shape, (), {"parameter_number": number}, None, span)
    scope.names[name] = scope.parameters[number] = parameter
    return scope.add(parameter)


def assume_called(state: ParserState, opcode: str, operands: tuple[Instruction, ...], result: Shape | None) -> None:
    """Define the computation that the attributes of a call or fusion name, if it is not defined."""
    key = _CALLING.get(opcode)
    match = _NAMED[key].match(state.text, state.cursor.position) if key else None
    if match is None or match[1] in state.computations or result is None:
        return
    span = Span(match.start(1), match.end(1))
    parameters = tuple(
        Instruction(f"operand.{number}", "parameter", operand.shape, (), {"parameter_number": number}, None, span)
        for number, operand in enumerate(operands)
    )
    root = Instruction("result", "custom-call", result, parameters, {"custom_call_target": match[1]}, None, span)
    state.computations[match[1]] = Computation(match[1], (*parameters, root), root, span=span)
