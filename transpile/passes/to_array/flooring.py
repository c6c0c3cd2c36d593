"""Python's ``//`` and ``%`` of integers by a positive number, as JAX makes them of HLO's, which cut towards 0."""

from __future__ import annotations

from ...array.node import Interval, literal_value
from ...array.value import Value
from ..matching import match_operands
from .lowering import FunctionLowering

_REST = "(rest := prelude.int_remainder(x, DIVISOR))"
_REMAINDER = (
    f"select(and_(compare({_REST}, 0, direction='LT'), compare(rest, 0, direction='NE')), add(rest, DIVISOR), rest)"
)
_QUOTIENTS = tuple(
    f"select(and_(compare(sign(x), 1, direction='NE'), compare({rest}, 0, direction='NE')),"
    f" subtract((cut := {quotient}), 1), cut)"
    for rest, quotient in (
        ("prelude.int_remainder(x, DIVISOR)", "prelude.int_divide(x, DIVISOR)"),
        ("remainder(x, DIVISOR)", "divide(x, DIVISOR)"),  # of numbers that are not negative
    )
)


def floored(lowering: FunctionLowering, which: Value, a: Value, b: Value) -> Value | None:
    """What a select of integers is, if it corrects a quotient or a remainder that was cut."""
    if not which.axes == a.axes == b.axes or b.node.element_type is None or not b.node.type.is_integral:
        return None
    if b.node.is_python_int:
        return None
    for pattern in (_REMAINDER, *_QUOTIENTS):
        found = match_operands(pattern, (which.node, a.node, b.node))
        if found is None or not (divisor := int(literal_value(found["DIVISOR"]))) > 0:
            continue
        x, is_rest = found["x"], pattern is _REMAINDER
        interval: Interval | None = (0, divisor - 1) if is_rest else None
        if x.interval is not None and not is_rest:
            interval = x.interval[0] // divisor, x.interval[1] // divisor
        opcode = "remainder" if is_rest else "divide"
        node = lowering.graph.add(opcode, (x, found["DIVISOR"]), b.node.shape, b.node.element_type, interval=interval)
        return Value(node, b.axes, b.shape)
    return None
