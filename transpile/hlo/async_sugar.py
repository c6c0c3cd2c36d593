"""``negate-start``, ``negate-update``, ``negate-done``: XLA's short form of an asynchronous operation.

Any opcode may be split like this. The short form says the same as ``async-start`` with a called computation of one
instruction, and that is what it becomes; opcodes such as ``copy-start`` that exist by themselves stay as they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .ir import Computation, Instruction, OpMetadata
from .lexer import quote
from .opcodes import OPCODES, OpSpec
from .parser_state import ParserState
from .shapes import Shape, TupleShape
from .source import Span

_PARTS = ("start", "update", "done")
_STARTS = ("async-start", "async-update")
# Of an instruction in general, but part of what the operation does.
_MEANING = {"backend_config", "frontend_attributes"}


class AsyncForm(NamedTuple):
    wrapped: OpSpec  # what runs asynchronously
    part: str  # start, update or done


def async_form(opcode: str) -> AsyncForm | None:
    """Return what a short form such as ``negate-start`` stands for, and ``None`` for any other word."""
    stem, _, part = opcode.rpartition("-")
    return AsyncForm(OPCODES[stem], part) if part in _PARTS and stem in OPCODES else None


def start_asynchronously(
    state: ParserState,
    wrapped: OpSpec,
    name: str,
    shape: Shape,
    operands: tuple[Instruction, ...],
    attributes: dict[str, Any],
    metadata: OpMetadata | None,
    span: Span,
) -> Instruction:
    """``async-start`` for ``wrapped`` over ``operands``; its result ``shape`` is ((operands), result, context..)."""
    if not isinstance(shape, TupleShape) or len(shape.elements) < 2:
        message = f"{wrapped.opcode}-start gives a tuple of its operands, its result and its contexts, not {shape}"
        raise state.cursor.error("XP141", message, *span)
    parameters = tuple(
        Instruction(f"operand.{number}", "parameter", operand.shape, (), {"parameter_number": number}, None, span)
        for number, operand in enumerate(operands)
    )
    own = {key: value for key, value in attributes.items() if key in wrapped.attributes or key in _MEANING}
    root = Instruction(wrapped.opcode, wrapped.opcode, shape.elements[1], parameters, own, metadata, span)
    thread = attributes.get("async_execution_thread", "main")
    called = Computation(state.fresh_name(f"async_{wrapped.opcode}"), (*parameters, root), root, thread, span)
    state.computations[called.name] = called
    rest = {key: value for key, value in attributes.items() if key not in wrapped.attributes}
    return Instruction(name, "async-start", shape, operands, {"calls": called, **rest}, metadata, span)


def wait_for(
    state: ParserState,
    form: AsyncForm,
    name: str,
    shape: Shape | None,
    operands: tuple[Instruction, ...],
    attributes: dict[str, Any],
    metadata: OpMetadata | None,
    span: Span,
) -> Instruction:
    """``async-update`` or ``async-done`` of an operation that was started before; a loop may have carried it here."""
    started = operands[0] if operands else None
    while started is not None and started.opcode == "async-update" and started.operands:
        started = started.operands[0]
    if len(operands) != 1 or started is None or not _may_be_start_of(form.wrapped, started):
        message = f"{quote(f'{form.wrapped.opcode}-{form.part}')} needs the {form.wrapped.opcode}-start it belongs to"
        raise state.cursor.error("XP111", message, *span)
    if shape is None:
        given = operands[0].shape
        if form.part == "done" and isinstance(given, TupleShape) and len(given.elements) > 1:
            given = given.elements[1]
        shape = given
    rest = {key: value for key, value in attributes.items() if key not in form.wrapped.attributes}
    return Instruction(name, f"async-{form.part}", shape, operands, rest, metadata, span)


def _may_be_start_of(wrapped: OpSpec, started: Instruction) -> bool:
    """Tell whether an instruction starts this operation, or takes what started it out of the tuple of a loop."""
    called = started.attributes.get("calls") if started.opcode in _STARTS else None
    starts_it = isinstance(called, Computation) and called.root.opcode == wrapped.opcode
    return starts_it or started.opcode == "get-tuple-element"
