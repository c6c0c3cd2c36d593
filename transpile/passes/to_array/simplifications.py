"""Lowers element-wise operations with a single rule, with simplifications for known operands."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...array.intervals import type_interval
from ...array.node import Node, literal_value
from ...array.operation import Interval
from ...array.value import Value
from ...hlo.element_types import PRED
from ...hlo.ir import Instruction
from ...hlo.opcodes import ELEMENTWISE
from ..constants.folding import compared
from ..constants.interpreter import known_value
from .elementwise import apply, literal_of
from .flooring import floored
from .known_branches import taken_by
from .lowering import FunctionLowering, lowers

_DIRECT = sorted(ELEMENTWISE - {"convert", "bitcast-convert"})  # those with one rule
_FEW = 4  # elements of a vector whose bounds are looked at one by one
_STATIC = ("direction", "type", "exponent_bits", "mantissa_bits")


@lowers(*_DIRECT)
def elementwise(lowering: FunctionLowering, instruction: Instruction, *operands: Any) -> Any:
    shape = instruction.array_shape
    simplify = _SIMPLER.get(instruction.opcode)
    simple = simplify(lowering, instruction, *operands) if simplify else None
    if simple is not None:
        return simple
    given = instruction.attributes
    parameters = {key: given[key] for key in _STATIC if given.get(key) is not None} if given else {}
    return apply(lowering, instruction.opcode, shape.element_type, operands, shape.dimensions, parameters)


def _simpler_compare(lowering: FunctionLowering, instruction: Instruction, a: Value, b: Value) -> Value | None:
    if (
        a.node is b.node
        and a.axes == b.axes
        and (a.node.type.is_floating or a.node.type.is_complex)
        and instruction["type"] != "TOTALORDER"
    ):
        return _compared_with_itself(lowering, instruction["direction"], a)
    direction = instruction["direction"]
    if a.node.element_type is PRED and b.node.is_literal and direction in ("EQ", "NE") and a.shape == b.shape:
        if bool(literal_value(b.node)) == (direction == "EQ"):
            return a
        return lowering.elementwise("not", PRED, a, shape=a.shape)
    mask = _mask(a)
    if mask is not None and b.node.is_literal and a.shape == b.shape and instruction["type"] != "TOTALORDER":
        return _compared_mask(lowering, direction, mask, literal_value(b.node))
    holds = _decided(direction, _bounds(a.node), _bounds(b.node))
    if holds is None:
        pairs = zip(_element_bounds(a), _element_bounds(b), strict=False)
        elements = {_decided(direction, left, right) for left, right in pairs}
        holds = elements.pop() if len(elements) == 1 else None
    return None if holds is None else Value.repeated(lowering.graph.literal(holds, PRED), a.shape)


def _decided(direction: str, left: Interval | None, right: Interval | None) -> bool | None:
    """Return the outcome of a comparison of all values of two intervals, or None."""
    if left is None or right is None:
        return None
    proofs: dict[str, tuple[bool, bool]] = {  # direction: (always true, always false)
        "LT": (left[1] < right[0], left[0] >= right[1]),
        "LE": (left[1] <= right[0], left[0] > right[1]),
        "GT": (left[0] > right[1], left[1] <= right[0]),
        "GE": (left[0] >= right[1], left[1] < right[0]),
        "EQ": (left == right and left[0] == left[1], left[1] < right[0] or left[0] > right[1]),
        "NE": (left[1] < right[0] or left[0] > right[1], left == right and left[0] == left[1]),
    }
    holds, fails = proofs[direction]
    return holds if holds or fails else None


def _mask(value: Value) -> Value | None:
    """Return the mask that numbers were converted from, or None."""
    node = value.node
    is_converted = node.opcode == "convert" and node.operands[0].element_type is PRED
    return Value(node.operands[0], value.axes, value.shape) if is_converted else None


def _compared_mask(lowering: FunctionLowering, direction: str, mask: Value, number: np.ndarray) -> Value | None:
    """Return the comparison of a mask's 0 and 1 with a number as a mask, or None: JAX selects branches by ``mask
    < 1``.
    """
    none, one = (np.asarray(each).astype(number.dtype) for each in (0, 1))
    if none != 0 or one != 1:  # not every type can represent both
        return None
    off, on = bool(compared(direction, none, number)), bool(compared(direction, one, number))
    if off == on:
        return Value.repeated(lowering.graph.literal(on, PRED), mask.shape)
    return mask if on else lowering.elementwise("not", PRED, mask, shape=mask.shape)


def _bounds(node: Node) -> Interval | None:
    """Return the known bounds of integers; those of the type if it is unsigned."""
    return type_interval(node.type) if node.interval is None and node.type.is_unsigned else node.interval


def _element_bounds(value: Value) -> list[Interval | None]:
    """Return the bounds of each element of a short vector that is a stack or a constant; else none."""
    node = value.node
    if node.shape != value.shape or node.ndim != 1 or node.shape[0] > _FEW or not node.type.is_integral:
        return []
    if node.opcode == "stack":
        return [_bounds(element) for element in node.operands]
    constant = known_value(node)
    return [] if constant is None else [(int(element), int(element)) for element in constant]


def _compared_with_itself(lowering: FunctionLowering, direction: str, value: Value) -> Value | None:
    """Return the comparison of a value with itself, which only NaN fails; or None."""
    if direction not in ("EQ", "NE"):
        return None
    is_nan = lowering.elementwise("isnan", PRED, value, shape=value.shape)
    return is_nan if direction == "NE" else lowering.elementwise("not", PRED, is_nan, shape=value.shape)


def _simpler_select(
    lowering: FunctionLowering, instruction: Instruction, which: Value, a: Value, b: Value
) -> Value | None:
    chosen = literal_of(which)
    taken = taken_by(which.node, 2, lowering.taken) if chosen is None else bool(chosen)
    if taken is not None:
        return a if taken else b
    on, off = literal_of(a), literal_of(b)
    if on is not None and off is not None and on.dtype == np.bool_ and bool(on) and not bool(off):
        return which if which.shape == a.shape else Value.repeated(which.node, a.shape)
    if a.node is b.node and a.axes == b.axes:
        return a
    if on is not None and off is not None and _is_counted(on, off):
        number = lowering.elementwise("convert", a.node.type, which, shape=which.shape)
        return number if which.shape == a.shape else Value.repeated(number.node, a.shape)
    if which.node.opcode == "not" and _is_compared(instruction.operands[0]):
        shape, opposite = instruction.array_shape, Value(which.node.operands[0], which.axes, which.shape)
        return apply(lowering, "select", shape.element_type, (opposite, b, a), shape.dimensions, {})
    return floored(lowering, which, a, b)


def _is_compared(instruction: Instruction) -> bool:
    """Return whether a mask is a comparison, perhaps broadcast; the author's own negations stay."""
    while instruction.opcode in ("broadcast", "reshape"):
        (instruction,) = instruction.operands
    return instruction.opcode == "compare"


def _further(above: bool, otherwise: Callable[..., Value | None]) -> Callable[..., Value | None]:
    """Return the rule of a maximum or minimum of integers one of which is always the larger."""

    def rule(lowering: FunctionLowering, instruction: Instruction, a: Value, b: Value) -> Value | None:
        bounds, others = a.node.interval, b.node.interval
        if bounds is not None and others is not None and a.shape == b.shape:
            if (bounds[0] >= others[1]) if above else (bounds[1] <= others[0]):
                return a
            if (others[0] >= bounds[1]) if above else (others[1] <= bounds[0]):
                return b
        return otherwise(lowering, instruction, a, b)

    return rule


def _is_counted(on: np.ndarray, off: np.ndarray) -> bool:
    """Return whether two constants are 1 and 0, as in the conversion of a mask."""
    return on.dtype.kind in "iuf" and bool(on == 1) and not off and not np.signbit(off.astype(float))


def _simpler_clamp(
    lowering: FunctionLowering, instruction: Instruction, low: Value, x: Value, high: Value
) -> Value | None:
    bounds, below, above = x.node.interval, low.node.interval, high.node.interval
    if bounds and below and above and below[1] <= bounds[0] and bounds[1] <= above[0]:
        return x
    return None


def _neutral(test: Callable[[np.ndarray], bool], *, left: bool = True) -> Callable[..., Value | None]:
    """Return the rule by which a binary operation with an identity is its other operand."""

    def rule(lowering: FunctionLowering, instruction: Instruction, a: Value, b: Value) -> Value | None:
        constant = literal_of(b)
        if constant is not None and test(constant):
            return a
        constant = literal_of(a) if left else None
        return b if constant is not None and test(constant) else None

    return rule


def _absorbing(
    test: Callable[[np.ndarray], bool], otherwise: Callable[..., Value | None]
) -> Callable[..., Value | None]:
    """Return the rule by which a constant is the result of an operation with any other operand."""

    def rule(lowering: FunctionLowering, instruction: Instruction, a: Value, b: Value) -> Value | None:
        for value in (a, b):
            constant = literal_of(value)
            if constant is not None and constant.dtype.kind == "b" and test(constant):
                return value
        return otherwise(lowering, instruction, a, b)

    return rule


def _simpler_and(lowering: FunctionLowering, instruction: Instruction, a: Value, b: Value) -> Value | None:
    """Return a simpler conjunction, or None: ``x < c`` and ``x > c`` imply ``x != c``, and a mask of low bits keeps a
    value that has no others.
    """
    for value, mask in ((a, literal_of(b)), (b, literal_of(a))):
        highest = -1 if value.node.interval is None or value.node.interval[0] < 0 else value.node.interval[1]
        if mask is not None and mask.dtype.kind in "iu" and 0 <= highest <= mask and not int(mask) & (int(mask) + 1):
            return value
    for strict, other in ((a, b), (b, a)):
        directions = (strict.node.parameters.get("direction"), other.node.parameters.get("direction"))
        same = strict.axes == other.axes and strict.node.operands == other.node.operands
        if same and directions in (("LT", "NE"), ("GT", "NE")) and "type" not in other.node.parameters:
            return strict
    return _neutral(lambda constant: constant.dtype.kind == "b" and bool(constant))(lowering, instruction, a, b)


def _simpler_opposite(lowering: FunctionLowering, instruction: Instruction, operand: Value) -> Value | None:
    """Return ``x`` for ``--x`` (which may wrap) or ``~~x``, or None."""
    node = operand.node
    return Value(node.operands[0], operand.axes, operand.shape) if node.opcode == instruction.opcode else None


def _simpler_remainder(lowering: FunctionLowering, instruction: Instruction, a: Value, b: Value) -> Value | None:
    """Return a simpler remainder, or None: by 1 or -1 it is 0, and a smaller non-negative integer is its own. Negative
    integers are left for a correction, as in ``(i - 1) % n``.
    """
    divisor = literal_of(b)
    if divisor is None or divisor.dtype.kind not in "iu":
        return None
    if abs(int(divisor)) == 1:
        return Value.repeated(lowering.graph.literal(0, b.node.type), b.shape)
    is_smaller = a.node.interval is not None and a.node.interval[0] >= 0 and a.node.interval[1] < divisor
    return a if is_smaller else None


def _simpler_shift(lowering: FunctionLowering, instruction: Instruction, a: Value, b: Value) -> Value | None:
    """Return 0 for a shift by the width or more, or None. Constants stay, since keys are recognised by their seeds."""
    places = literal_of(b)
    if places is None or literal_of(a) is not None or 0 <= int(places) < a.node.type.bits:
        return None
    return Value.repeated(lowering.graph.literal(0, a.node.type), a.shape)


def _simpler_complex(lowering: FunctionLowering, instruction: Instruction, real: Value, imag: Value) -> Value | None:
    """Return the complex constant of two real ones, or None."""
    parts = literal_of(real), literal_of(imag)
    if parts[0] is None or parts[1] is None:
        return None
    number = np.asarray(complex(parts[0], parts[1])).astype(instruction.array_shape.element_type.dtype)
    return Value.repeated(lowering.graph.literal(number, instruction.array_shape.element_type), real.shape)


def _is_integer_zero(constant: np.ndarray) -> bool:
    return constant.dtype.kind in "iu" and not constant


def _is_one(constant: np.ndarray) -> bool:
    return constant.dtype.kind in "iufc" and constant == 1


_SIMPLER: dict[str, Callable[..., Value | None]] = {
    "compare": _simpler_compare,
    "select": _simpler_select,
    "clamp": _simpler_clamp,
    "add": _neutral(_is_integer_zero),
    "complex": _simpler_complex,
    "subtract": _neutral(_is_integer_zero, left=False),
    "multiply": _neutral(_is_one),
    "divide": _neutral(_is_one, left=False),
    "maximum": _further(True, _neutral(lambda constant: constant.dtype.kind == "f" and constant == -np.inf)),
    "minimum": _further(False, _neutral(lambda constant: constant.dtype.kind == "f" and constant == np.inf)),
    "and": _absorbing(operator.not_, _simpler_and),
    **dict.fromkeys(("negate", "not"), _simpler_opposite),
    "or": _absorbing(bool, _neutral(lambda constant: constant.dtype.kind == "b" and not constant)),
    "remainder": _simpler_remainder,
    **dict.fromkeys(("shift-left", "shift-right-logical"), _simpler_shift),
    "power": _neutral(_is_one, left=False),
}
