"""Raises Python's ``//`` and ``%`` of integers by a positive number, which JAX makes from HLO's truncating operations.

XLA writes quotients and remainders by a power of 2 as shifts and masks of the magnitude.
"""

from __future__ import annotations

from ...array.node import Node, literal_value
from ...array.operation import Interval
from ...array.value import Value
from ...hlo.element_types import ElementType
from ..rewriting.patterns import Bindings, match_operands
from .lowering import FunctionLowering

_REST = "(rest := prelude.int_remainder(x, DIVISOR))"
_REMAINDER = f"select(compare({_REST}, 0, direction='LT'), add(rest, DIVISOR), rest)"
_QUOTIENTS = tuple(
    f"select(and_(compare(sign(x), 1, direction='NE'), compare({rest}, 0, direction='NE')),"
    f" subtract((cut := {quotient}), 1), cut)"
    for rest, quotient in (
        ("prelude.int_remainder(x, DIVISOR)", "prelude.int_divide(x, DIVISOR)"),
        ("remainder(x, DIVISOR)", "divide(x, DIVISOR)"),  # for non-negative numbers
    )
)
_BELOW = "(below := compare(x, 0, direction='LT'))"
_SIZE = "(size := select(below, negate(x), x))"
# By function: the select that gives the result for the magnitude the sign of x.
_BY_POWER = {
    "int_remainder": f"select({_BELOW}, negate((cut := and_({_SIZE}, MASK))), cut)",
    "int_divide": f"select({_BELOW}, negate((cut := prelude.shift_right_logical({_SIZE}, SHIFT))), cut)",
}


def floored(lowering: FunctionLowering, which: Value, a: Value, b: Value) -> Value | None:
    """Return the ``//`` or ``%`` that a select of integers is, or None: the select corrects a truncated quotient or
    remainder, or is one by a power of 2.
    """
    if not which.axes == a.axes == b.axes or b.node.element_type is None or not b.node.type.is_integral:
        return None
    if b.node.is_python_int or "flooring" in lowering.module.options.disabled:
        return None
    operands = (which.node, a.node, b.node)
    return _corrected(lowering, operands, b) or _by_power(lowering, operands, b)


def _corrected(lowering: FunctionLowering, operands: tuple[Node, ...], b: Value) -> Value | None:
    for pattern in (_REMAINDER, *_QUOTIENTS):
        found = match_operands(pattern, operands)
        if found is None or not (divisor := int(literal_value(found["DIVISOR"]))) > 0:
            continue
        x, is_rest = found["x"], pattern is _REMAINDER
        interval: Interval | None = (0, divisor - 1) if is_rest else None
        if x.interval is not None and not is_rest:
            interval = x.interval[0] // divisor, x.interval[1] // divisor
        opcode = "remainder" if is_rest else "divide"
        node = lowering.graph.add(opcode, (x, found["DIVISOR"]), interval=interval)
        return Value(node, b.axes, b.shape)
    return None


def _by_power(lowering: FunctionLowering, operands: tuple[Node, ...], b: Value) -> Value | None:
    for function, pattern in _BY_POWER.items():
        found = match_operands(pattern, operands)
        divisor = _power_of_2(found, b.node.type) if found is not None else None
        if found is not None and divisor is not None:
            x, by = found["x"], lowering.graph.literal(divisor, b.node.type)
            values = (Value(x, b.axes, b.shape), Value.repeated(by, b.shape))
            return lowering.elementwise("prelude", b.node.type, *values, shape=b.shape, function=function)
    return None


def _power_of_2(found: Bindings, element_type: ElementType) -> int | None:
    """Return the divisor of a mask or a shift, or None."""
    if "SHIFT" in found:
        places = int(literal_value(found["SHIFT"]))
        return 1 << places if 0 < places < element_type.bits - 1 else None
    mask = int(literal_value(found["MASK"]))
    return mask + 1 if mask > 0 and not mask & (mask + 1) and mask.bit_length() < element_type.bits - 1 else None
