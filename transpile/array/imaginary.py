"""Complex numbers whose real part is known to be 0."""

from __future__ import annotations

import math

from .node import Node, literal_value


def imaginary_place(node: Node) -> float | None:
    """Return the imaginary literal by which a real number is multiplied, possibly divided by a positive literal, if the
    real part of the result is 0 or NaN; else None. It is negative if the imaginary part may be -0.
    """
    while node.opcode in ("reshape", "expand"):
        (node, *_) = node.operands
    if node.opcode == "divide" and node.operands[1].is_literal:
        divisor = complex(literal_value(node.operands[1]))
        is_positive = divisor.imag == 0 and math.copysign(1, divisor.imag) > 0 and 0 < divisor.real < math.inf
        return imaginary_place(node.operands[0]) if is_positive else None
    if node.opcode != "multiply":
        return None
    for real, literal in (node.operands, node.operands[::-1]):
        real = real.operands[0] if real.opcode == "convert" else real
        if literal.is_literal and not real.is_literal and not real.type.is_complex:
            number = complex(literal_value(literal))
            is_imaginary = number.real == 0 and 0 < abs(number.imag) < math.inf
            has_minus = math.copysign(1, number.real) < 0
            return (-abs(number.imag) if has_minus else number.imag) if is_imaginary else None
    return None
