"""The parser of one instruction: ``ROOT %name = shape opcode(operands), attributes``.

An instruction's span goes from its name to the end of its operands. Operands may be typed, may be elements of a tuple
(``%p#0``), or whole instructions without attributes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from .attribute_reader import AttributeReader
from .ir import Computation, Instruction, OpMetadata
from .lexer import NAME, Cursor, quote
from .literals import left_out, parse_literal
from .opcodes import OPCODES, OpSpec
from .parser_state import ParserState, Scope, did_you_mean
from .shape_parser import SHAPE_TEXT, TYPE_NAMES, looks_like_shape, parse_shape
from .shapes import ArrayShape, Shape, TupleShape, compatible
from .source import HloSyntaxError, Span, XlaToPythonError

# `ROOT %name = shape opcode(`, the form of nearly every instruction.
_HEAD = re.compile(rf"(?:(ROOT)\s+)?({NAME.pattern})\s+=\s+({SHAPE_TEXT})\s+([a-z][a-z\-]*+)\(", re.ASCII)
_ROOT = re.compile(r"ROOT\b(?!\s*=)")
_OPCODE = re.compile(r"[a-z][\w\-]*+(?=\s*\()", re.ASCII)
_PLAIN_OPERANDS = re.compile(r"([\w.\-%,\s]*+)\)", re.ASCII)
_OPERAND_NAME = re.compile(r"[\w.\-]+", re.ASCII)
_TUPLE_INDEX = re.compile(r"#\s*(\d{1,9})(?!\d)")
_NO_ATTRIBUTES: Mapping[str, Any] = MappingProxyType({})
_ASYNC_ATTRIBUTES = OPCODES["async-start"].attributes
_REQUIRED = {
    opcode: tuple(key for key, spec in row.attributes.items() if spec.is_required) for opcode, row in OPCODES.items()
}
_PARTS = ("start", "update", "done")
_STARTS = ("async-start", "async-update")
# Attributes of any instruction that affect the operation.
_MEANING = {"backend_config", "frontend_attributes"}
# Element-wise operations whose operands need not have the result's type.
_CHANGES_TYPE = {
    *("abs", "bitcast-convert", "clamp", "compare", "complex", "convert"),
    *("imag", "is-finite", "real", "select", "stochastic-convert"),
}
_CALLING = {"call": "to_apply", "fusion": "calls"}
_NAMED = {key: re.compile(rf"[^\n]*?\b{key}\s*=\s*%?([A-Za-z_][\w.\-]*)", re.ASCII) for key in _CALLING.values()}


class _Head(NamedTuple):
    """The part of an instruction before its operands."""

    name: str
    span: Span  # of the name, or of the opcode if there is no name
    shape: Shape | None
    opcode: str
    opcode_start: int
    is_root: bool = False
    is_operand: bool = False  # nested in another instruction's operands: no attributes follow


class InstructionParser:
    def __init__(self, state: ParserState, attributes: AttributeReader) -> None:
        self._state = state
        self._text = state.text
        self._cursor = state.cursor
        self._attributes = attributes

    def parse(self, scope: Scope) -> Instruction:
        """Parse the next instruction and add it to ``scope``. Raises ``HloSyntaxError``.

        An operation without a name, ``f32[4] add(..)``, gets a name.
        """
        cursor = self._cursor
        if self._state.is_lone and self.looks_like_operation():
            return self._rest(scope, self._operation(None, False))
        head = self._head()
        if head.name in TYPE_NAMES:
            message, hint = f"{quote(head.name)} is a type, not a name", f"call it `{head.name}_`"
            raise cursor.error("XP102", message, *head.span, hint)
        instruction = self._rest(scope, head)
        if head.name in scope.names:
            message = f"{quote(head.name)} is defined twice in computation {quote(scope.computation)}"
            raise cursor.error("XP114", message, *head.span)
        scope.names[head.name] = instruction
        if head.is_root:
            if scope.root is not None:
                message = f"computation {quote(scope.computation)} has two roots"
                raise cursor.error("XP119", message, *head.span, label="the second ROOT")
            scope.root = instruction
        return instruction

    def _head(self) -> _Head:
        """Parse ``ROOT %name = shape opcode(``; the shape may be missing."""
        cursor = self._cursor
        match = _HEAD.match(self._text, cursor.skip())
        shape = cursor.shapes.get(match[3]) if match is not None else None
        if match is not None and shape is not None:
            cursor.position = match.end()
            return _Head(
                match[2].removeprefix("%"), Span(*match.span(2)), shape, match[4], match.start(4), bool(match[1])
            )
        is_root = cursor.match(_ROOT) is not None
        name, span = self._state.name("the name of an instruction")
        if self._text.startswith("=", span.end) and not self._text.startswith("%", span.start):
            hint = "write a space before `=`: `name=` is how attributes are written"
            raise cursor.error("XP102", f"{quote(name + '=')} is not a name", span.start, span.end + 1, hint)
        cursor.expect("=", "after the name of the instruction")
        return self._operation((name, span), is_root)

    def _operation(self, named: tuple[str, Span] | None, is_root: bool) -> _Head:
        """Parse ``shape opcode(``; the shape may be missing. An operation without a name is named after its opcode."""
        cursor = self._cursor
        shape = self._state.shape() if looks_like_shape(cursor) else None
        start = cursor.skip()
        opcode = cursor.expect_match(_OPCODE, "an opcode with operands in parentheses")
        name, span = named or (opcode, Span(start, cursor.position))
        cursor.expect("(")
        return _Head(name, span, shape, opcode, start, is_root)

    def looks_like_operation(self) -> bool:
        """Return whether a shape and an opcode follow, without a name before them."""
        if not looks_like_shape(self._cursor):
            return False
        ahead = Cursor(self._state.source, self._cursor.position)
        try:
            parse_shape(ahead)
        except HloSyntaxError:
            return False
        return ahead.match(_OPCODE) is not None

    def _rest(self, scope: Scope, head: _Head) -> Instruction:
        """Parse the operands and attributes after ``opcode(``."""
        cursor, shape, opcode = self._cursor, head.shape, head.opcode
        spec = OPCODES.get(opcode)
        if spec is None:
            return self._short_async(scope, head)
        attributes: dict[str, Any] = {}
        operands: tuple[Instruction, ...] = ()
        if opcode == "constant":
            attributes["literal"] = self._literal(head.name, shape)
        elif opcode == "parameter":
            attributes["parameter_number"] = self._parameter_number(scope)
        else:
            operands = self._operands(scope, opcode, shape)
        span = Span(head.span.start, cursor.position)
        fewest, most = spec.arity
        if len(operands) < fewest or (most is not None and len(operands) > most):
            self._refuse_operand_count(spec, len(operands), span)
        if self._state.is_lone and not head.is_operand:
            assume_called(self._state, opcode, operands, shape)
        metadata = None
        if not head.is_operand and self._text.startswith(",", cursor.skip()):
            written, metadata = self._attributes.read(scope, head.name, opcode, spec.attributes)
            attributes.update(written)
        if "order" in attributes:
            self._order_as_type(attributes, operands, span)
        self._check_required(spec, attributes, span)
        if shape is None:
            shape = self._infer(opcode, operands, attributes, span)
        instruction = Instruction(head.name, opcode, shape, operands, attributes or _NO_ATTRIBUTES, metadata, span)
        if opcode == "parameter":
            scope.parameters[attributes["parameter_number"]] = instruction
        return scope.add(instruction)

    def _short_async(self, scope: Scope, head: _Head) -> Instruction:
        cursor, opcode = self._cursor, head.opcode
        form = async_form(opcode)
        if form is None:
            message, hint = f"unknown opcode {quote(opcode)}", did_you_mean(opcode, OPCODES)
            raise cursor.error("XP110", message, head.opcode_start, head.opcode_start + len(opcode), hint)
        operands = self._operands(scope, form.wrapped.opcode, head.shape)
        span = Span(head.span.start, cursor.position)
        attributes: dict[str, Any] = {}
        metadata = None
        if not head.is_operand:
            allowed = {**_ASYNC_ATTRIBUTES, **form.wrapped.attributes}
            attributes, metadata = self._attributes.read(scope, head.name, opcode, allowed)
        if form.part != "start":
            arguments = (head.name, head.shape, operands, attributes, metadata, span)
            return scope.add(wait_for(self._state, form, *arguments))
        self._check_required(form.wrapped, attributes, span)
        if head.shape is None:
            raise cursor.error("XP140", f"{opcode} needs its shape before the opcode", *span)
        started = (head.name, head.shape, operands, attributes, metadata, span)
        return scope.add(start_asynchronously(self._state, form.wrapped, *started))

    def _literal(self, name: str, shape: Shape | None) -> Any:
        cursor = self._cursor
        if looks_like_shape(cursor) and not cursor.looking_at("("):
            declared = self._state.shape()  # constant(f32[2] {1, 2}): how older dumps wrote arrays
            shape = shape or declared
        if shape is None:
            raise cursor.error("XP140", "a constant needs its shape before the opcode")
        known, start = self._state.literals.get(name), cursor.skip()
        literal = parse_literal(cursor, shape) if known is None else left_out(cursor, shape, known)
        if isinstance(literal, np.ndarray) and literal.ndim and self._text[start] not in "{." and literal.any():
            message = f"this number is the first element of {shape}; XLA takes all others as 0"
            self._state.notes += cursor.error("XP131", message, start, cursor.position).diagnostics
        cursor.expect(")", "after the literal")
        return literal

    def _parameter_number(self, scope: Scope) -> int:
        cursor = self._cursor
        start = cursor.skip()
        number = cursor.integer("a parameter number")
        if number < 0:
            raise cursor.error("XP115", "a parameter number cannot be negative", start)
        if number in scope.parameters:
            message = f"computation {quote(scope.computation)} has two parameters {number}"
            raise cursor.error("XP115", message, start)
        cursor.expect(")", "after the parameter number")
        return number

    def _refuse_operand_count(self, spec: OpSpec, count: int, span: Span) -> None:
        fewest, most = spec.arity
        expected = f"{fewest}" if most == fewest else f"at least {fewest}" if most is None else f"{fewest} to {most}"
        message = f"{spec.opcode} takes {expected} operand{'s' if expected != '1' else ''}, not {count}"
        raise self._cursor.error("XP111", message, *span)

    def _check_required(self, spec: OpSpec, attributes: Mapping[str, Any], span: Span) -> None:
        missing = [key for key in _REQUIRED[spec.opcode] if key not in attributes]
        if missing:
            message = f"{spec.opcode} needs {' and '.join(quote(key) for key in missing)}"
            raise self._cursor.error("XP122", message, *span)

    def _order_as_type(self, attributes: dict[str, Any], operands: tuple[Instruction, ...], span: Span) -> None:
        """Replace ``order=TOTAL``, which jaxlib 0.11 writes, by ``type=TOTALORDER``; for integers, by nothing."""
        if "type" in attributes:
            raise self._cursor.error("XP121", "a compare has `type` or `order`, not both", *span)
        shape = operands[0].shape
        if attributes.pop("order") == "TOTAL" and isinstance(shape, ArrayShape) and shape.element_type.is_floating:
            attributes["type"] = "TOTALORDER"

    def _infer(self, opcode: str, operands: tuple[Instruction, ...], attributes: dict[str, Any], span: Span) -> Shape:
        from .shape_inference import infer_shape  # imported here, because nearly every text has all its shapes

        try:
            shape = infer_shape(opcode, [operand.shape for operand in operands], attributes)
        except XlaToPythonError as error:
            source = self._state.source
            placed = [replace(diagnostic, span=span, source=source) for diagnostic in error.diagnostics]
            raise type(error)(*placed) from None
        if shape is None:
            raise self._cursor.error("XP140", f"{opcode} needs its shape before the opcode", *span)
        return shape

    # -- operands

    def _operands(self, scope: Scope, opcode: str, result: Shape | None) -> tuple[Instruction, ...]:
        """Parse the operands after ``(``, and the closing parenthesis. ``result`` is the shape of the instruction."""
        cursor = self._cursor
        plain = _PLAIN_OPERANDS.match(self._text, cursor.position)
        if plain is not None:
            names = _OPERAND_NAME.findall(plain[1])
            found = [scope.names.get(name) for name in names]
            # Anything unusual is parsed below, which reports errors with their places.
            if None not in found and plain[1].count(",") == max(len(names) - 1, 0):
                cursor.position = plain.end()
                return tuple(found)  # type: ignore[arg-type]
        operands: list[Instruction] = []
        while not cursor.accept(")"):
            if operands:
                cursor.expect(",", "between operands")
                if cursor.accept(")"):
                    break
            operands.append(self._operand(scope, opcode, result))
        return tuple(operands)

    def _operand(self, scope: Scope, opcode: str, result: Shape | None) -> Instruction:
        cursor, state = self._cursor, self._state
        start = cursor.skip()
        declared = state.shape() if looks_like_shape(cursor) else None
        nested = cursor.match(_OPCODE)
        if nested is not None:
            cursor.expect("(")
            cursor.enter(start)
            opcode = nested.group()
            span = Span(start, nested.end())
            head = _Head(state.fresh_name(opcode), span, declared, opcode, nested.start(), is_operand=True)
            operand = self._rest(scope, head)
            cursor.leave()
            return operand
        name, span = state.name("an operand")
        known = scope.names.get(name)
        if known is not None:
            operand = known
        elif state.is_lone:
            operand = assume_operand(state, scope, name, span, declared, opcode, result)
        else:
            raise state.undefined_instruction(scope, name, span)
        while (index := cursor.match(_TUPLE_INDEX)) is not None:
            operand = self._element(scope, operand, int(index[1]), Span(start, cursor.position))
        if declared is not None and declared is not operand.shape and not compatible(declared, operand.shape):
            raise cursor.error("XP141", f"{quote(name)} has shape {operand.shape}, not {declared}", start)
        return operand

    def _element(self, scope: Scope, operand: Instruction, index: int, span: Span) -> Instruction:
        """Return ``%p#0`` as a ``get-tuple-element(%p), index=0``."""
        if not isinstance(operand.shape, TupleShape) or index >= len(operand.shape.elements):
            message = f"{quote(operand.name)} of shape {operand.shape} has no element {index}"
            raise self._cursor.error("XP141", message, *span)
        name = self._state.fresh_name("get-tuple-element")
        shape = operand.shape.elements[index]
        return scope.add(Instruction(name, "get-tuple-element", shape, (operand,), {"index": index}, None, span))


# -- the short form of an asynchronous operation


class AsyncForm(NamedTuple):
    wrapped: OpSpec  # the operation that runs asynchronously
    part: str  # start, update or done


def async_form(opcode: str) -> AsyncForm | None:
    """Return the meaning of a short form such as ``negate-start``; ``None`` for any other word."""
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
    """Return the ``async-start`` for ``wrapped`` over ``operands``; its result ``shape`` is ((operands), result,
    context..).
    """
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
    """Return the ``async-update`` or ``async-done`` of an operation that was started before, possibly outside of a loop
    that carries it.
    """
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
    """Return whether an instruction starts this operation, or takes a started one out of a tuple, which a loop may
    carry.
    """
    called = started.attributes.get("calls") if started.opcode in _STARTS else None
    starts_it = isinstance(called, Computation) and called.root.opcode == wrapped.opcode
    return starts_it or started.opcode == "get-tuple-element"


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
