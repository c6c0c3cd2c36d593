"""Shape rules of the element-wise operations (operation-semantics seed, Element-wise sections)."""

from __future__ import annotations

from collections.abc import Callable

from ..element_types import C64, C128, F32, F64, PRED, ElementType
from ..opcodes import OPCODES
from ..shapes import ArrayShape, Shape
from .common import (
    Operation,
    Rule,
    array_of,
    declared_array,
    dynamic_flags,
    require_same_sizes,
    require_same_type,
    require_type,
    shape_text,
    with_type,
)

_Allowed = tuple[Callable[[ElementType], bool], str]

_FLOAT: _Allowed = (lambda t: t.is_floating, "floating-point")
_FLOAT_OR_COMPLEX: _Allowed = (lambda t: t.is_floating or t.is_complex, "floating-point or complex")
_SIGNED: _Allowed = (lambda t: t.is_signed or t.is_floating or t.is_complex, "signed integer, float or complex")
_TAKES: dict[str, _Allowed] = {  # by the words of rows of opcodes
    "floating": _FLOAT,
    "inexact": _FLOAT_OR_COMPLEX,
    "integer": (lambda t: t.is_integral, "integer"),
    "bits": (lambda t: t.is_integral or t is PRED, "pred or integer"),
    "signed": _SIGNED,
    "number": (lambda t: t is not PRED, "numeric"),
    "any": (lambda t: True, "any"),
}


def _real_part(allowed: _Allowed) -> Rule:
    """Return the rule of an operation whose result for complex elements has the type of their parts."""

    def rule(op: Operation) -> Shape:
        operand = op.array(0)
        require_type(op, operand, *allowed)
        return with_type(operand, operand.element_type.real)

    return rule


def _is_finite(op: Operation) -> Shape:
    operand = op.array(0)
    require_type(op, operand, *_FLOAT)
    return with_type(operand, PRED)


def _joined(op: Operation, shapes: tuple[ArrayShape, ...]) -> ArrayShape:
    """Return the common shape of element-wise operands, dynamic if any of them is; HLO has no implicit broadcast."""
    require_same_sizes(op, shapes)
    dynamic = [any(flags) for flags in zip(*map(dynamic_flags, shapes), strict=True)]
    return array_of(shapes[0].element_type, shapes[0].dimensions, dynamic)


def _of_types(allowed: _Allowed) -> Rule:
    def rule(op: Operation) -> Shape:
        operands = op.arrays()
        require_type(op, operands[0], *allowed)
        if len(operands) == 1:
            return operands[0].without_layout()
        require_same_type(op, operands)
        return _joined(op, operands)

    return rule


def _complex(op: Operation) -> Shape:
    operands = op.arrays()
    require_type(op, operands[0], lambda t: t is F32 or t is F64, "f32 or f64")
    element_type = require_same_type(op, operands)
    return with_type(_joined(op, operands), C64 if element_type is F32 else C128)


def _stochastic_convert(op: Operation) -> Shape | None:
    operand, random = op.arrays()
    require_type(op, operand, *_FLOAT)
    if not random.element_type.is_unsigned:
        op.refuse("XP211", f"the random bits have to be unsigned integers, not {random.element_type}")
    if random.element_type.bits != operand.element_type.bits:
        op.refuse("XP212", f"{random.element_type} random bits for {operand.element_type} elements: widths differ")
    require_same_sizes(op, (operand, random))
    declared = declared_array(op)
    return None if declared is None else with_type(operand, declared.element_type)


def default_comparison(element_type: ElementType) -> str:
    """Return the default ``type`` of a compare of this element type."""
    if element_type.is_floating or element_type.is_complex:
        return "FLOAT"
    return "SIGNED" if element_type.is_signed else "UNSIGNED"


def _compare(op: Operation) -> Shape:
    operands = op.arrays()
    element_type = require_same_type(op, operands)
    allowed = {default_comparison(element_type)} | ({"TOTALORDER"} if element_type.is_floating else set())
    if (kind := op["type"]) is not None and kind not in allowed:
        op.refuse("XP211", f"type={kind} does not fit {element_type}, which has {' or '.join(sorted(allowed))}")
    if element_type.is_complex and op["direction"] not in ("EQ", "NE"):
        op.refuse("XP211", f"complex numbers have no order, so direction={op['direction']} means nothing")
    return with_type(_joined(op, operands), PRED)


def _clamp(op: Operation) -> Shape:
    low, operand, high = op.arrays()
    require_same_type(op, (low, operand, high))
    for bound in (low, high):
        if not bound.is_scalar:
            require_same_sizes(op, (operand, bound), "operand and bound")
    return operand.without_layout()


def _select(op: Operation) -> Shape:
    predicate = op.array(0, "the predicate")
    require_type(op, predicate, lambda t: t is PRED, "pred")
    on_true, on_false = op.arrays(1)
    require_same_type(op, (on_true, on_false), "branches")
    require_same_sizes(op, (on_true, on_false), "branches")
    if predicate.is_scalar:
        return on_true.without_layout()
    require_same_sizes(op, (on_true, predicate), "branches and predicate")
    return with_type(_joined(op, (on_true, on_false)), on_true.element_type)


def _convert(op: Operation) -> Shape | None:
    operand, declared = op.array(0), declared_array(op)
    return None if declared is None else with_type(operand, declared.element_type)


def _bitcast_convert(op: Operation) -> Shape | None:
    operand, declared = op.array(0), declared_array(op)
    if declared is None:
        return None
    return bitcast_converted(op, operand, declared.element_type)


def bitcast_converted(op: Operation, operand: ArrayShape, target: ElementType) -> ArrayShape:
    """Return the shape of a bitcast-convert: a narrower type adds a minor dimension, a wider one removes it."""
    source = operand.element_type
    if source.is_complex != target.is_complex:
        op.refuse("XP211", f"between complex and real types: {source} to {target}")
    narrow, wide = sorted((source.bits, target.bits))
    if wide % narrow:
        op.refuse("XP211", f"the widths of {source} and {target} do not divide")
    ratio, dynamic = wide // narrow, dynamic_flags(operand)
    if ratio == 1:
        return with_type(operand, target)
    if target.bits < source.bits:
        return array_of(target, (*operand.dimensions, ratio), (*dynamic, False))
    if not operand.dimensions or operand.dimensions[-1] != ratio:
        op.refuse("XP213", f"from {source} to {target} the last dimension has to be {ratio}: {shape_text(operand)}")
    return array_of(target, operand.dimensions[:-1], dynamic[:-1])


def _reduce_precision(op: Operation) -> Shape:
    operand = op.array(0)
    require_type(op, operand, *_FLOAT)
    if op["exponent_bits"] < 1:
        op.refuse("XP218", f"exponent_bits has to be at least 1, not {op['exponent_bits']}")
    if op["mantissa_bits"] < 0:
        op.refuse("XP218", f"mantissa_bits cannot be negative: {op['mantissa_bits']}")
    return operand.without_layout()


RULES: dict[str, Rule] = {
    **{name: _of_types(_TAKES[row.takes]) for name, row in OPCODES.items() if row.takes},
    "abs": _real_part(_SIGNED),
    "real": _real_part(_FLOAT_OR_COMPLEX),
    "imag": _real_part(_FLOAT_OR_COMPLEX),
    "is-finite": _is_finite,
    "complex": _complex,
    "stochastic-convert": _stochastic_convert,
    "compare": _compare,
    "clamp": _clamp,
    "select": _select,
    "convert": _convert,
    "bitcast-convert": _bitcast_convert,
    "reduce-precision": _reduce_precision,
}
