"""Element-wise operations: one node each, NumPy broadcasting in place of HLO's."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...array.intervals import fits, type_interval
from ...array.node import Slot, literal_value
from ...array.operation import Interval
from ...array.value import Value
from ...hlo.element_types import ELEMENT_TYPES, F32, PRED, S8, U8, ElementType
from ...hlo.ir import Instruction
from ...hlo.opcodes import ELEMENTWISE
from ...hlo.shapes import ArrayShape
from .flooring import floored
from .folding import compared, fold
from .lowering import FunctionLowering, lowers
from .variants import Site, prelude_function

_DIRECT = sorted(ELEMENTWISE - {"convert", "bitcast-convert"})  # those with one rule
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


def apply(
    lowering: FunctionLowering,
    opcode: str,
    element_type: ElementType,
    operands: tuple[Value, ...],
    shape: tuple[int, ...],
    parameters: dict[str, Any],
) -> Value:
    """The element-wise operation in the form that is right for its element types."""
    # The predicate of select and the bounds of clamp may be scalars.
    operands = tuple([v if v.shape == shape else Value.repeated(v.node, shape) for v in operands])
    types = tuple([value.node.element_type or element_type for value in operands])
    if opcode == "compare" and parameters.get("type") == "TOTALORDER" and types[0].is_floating:
        keys = tuple(_total_order_key(lowering, value) for value in operands)
        direction = {"direction": parameters["direction"]}
        return lowering.elementwise("compare", PRED, *keys, shape=shape, **direction)
    if opcode in _IN_BYTES and any(map(is_sub_byte, types)):
        return _in_bytes(lowering, opcode, element_type, operands, shape, parameters)
    if opcode == "convert" and not casts_directly(types[0], element_type):
        middle = F32 if types[0].is_floating or element_type.is_floating else S8
        return converted(lowering, converted(lowering, operands[0], middle), element_type)
    if opcode == "add":
        for value, other in (operands, operands[::-1]):
            negated = _negated(lowering, value)
            if negated is not None and not other.node.is_literal and not other.node.is_python_int:
                return lowering.elementwise("subtract", element_type, other, negated, shape=shape)
    if opcode == "clamp" and element_type.is_extension:  # np.clip widens what NumPy does not know
        low, x, high = operands
        inner = lowering.elementwise("maximum", element_type, x, low, shape=shape)
        return lowering.elementwise("minimum", element_type, inner, high, shape=shape)
    if all(value.node.is_literal for value in operands):
        folded = fold(opcode, [literal_value(value.node) for value in operands], element_type, parameters)
        if folded is not None:
            return Value.repeated(lowering.graph.literal(folded, element_type), shape)
    form = prelude_function(opcode, Site(tuple([v.node for v in operands]), types, element_type, parameters))
    if form is None:
        return lowering.elementwise(opcode, element_type, *operands, shape=shape, **parameters)
    return lowering.elementwise("prelude", element_type, *operands, shape=shape, **form)


# What NumPy does to integers narrower than a byte in int8 or uint8; they are wrapped to their own width afterwards.
_IN_BYTES = frozenset("abs add and clamp maximum minimum multiply negate not or shift-left sign subtract xor".split())


def is_sub_byte(element_type: ElementType) -> bool:
    return element_type.bits < 8 and element_type.is_integral


def _in_bytes(
    lowering: FunctionLowering,
    opcode: str,
    element_type: ElementType,
    operands: tuple[Value, ...],
    shape: tuple[int, ...],
    parameters: dict[str, Any],
) -> Value:
    byte = S8 if element_type.is_signed else U8
    wide = tuple(converted(lowering, value, byte) for value in operands)
    return converted(lowering, apply(lowering, opcode, byte, wide, shape, parameters), element_type)


def casts_directly(source: ElementType, result: ElementType) -> bool:
    """Tell whether ml_dtypes has a cast between the two."""
    if is_sub_byte(source) or is_sub_byte(result):
        return not (source.is_extension and result.is_extension) or source is result
    narrow = source.is_extension and result.is_extension and min(source.bits, result.bits) <= 8
    return not (narrow and "f8e8m0fnu" in (source.name, result.name))


def _negated(lowering: FunctionLowering, value: Value) -> Value | None:
    """``y`` of ``-y``, ``c`` of a constant ``-c``: ``x + -y`` is written ``x - y``, which is the same in every bit."""
    if value.node.opcode == "negate" and not value.node.is_python_int:
        (operand,) = value.node.operands
        return Value(operand, value.axes, value.shape)
    constant = _literal(value)
    if constant is None or constant.dtype.kind not in "if" or not constant < 0 or np.isinf(constant):
        return None
    if constant.dtype.kind == "i" and int(constant) == np.iinfo(constant.dtype).min:
        return None
    return Value(lowering.graph.literal(-constant, value.node.type), value.axes, value.shape)


def _total_order_key(lowering: FunctionLowering, value: Value) -> Value:
    bits = value.node.type.bits
    key = ELEMENT_TYPES[f"s{bits if bits >= 16 else 32}"]
    return lowering.elementwise("prelude", key, value, shape=value.shape, function="total_order_key")


@lowers("convert")
def convert(lowering: FunctionLowering, instruction: Instruction, operand: Value) -> Value:
    return converted(lowering, operand, instruction.array_shape.element_type)


def converted(lowering: FunctionLowering, value: Value, element_type: ElementType) -> Value:
    """Convert a value to an element type, unless it has it already."""
    node = value.node
    source = node.element_type
    if source is element_type and not node.is_python_int:
        return value
    if node.is_python_int and element_type.is_integral and node.interval and fits(node.interval, element_type):
        typed = lowering.graph.add("retype", (node,), element_type=element_type)
        return Value(typed, value.axes, value.shape)
    if node.is_python_int:
        scalar = lowering.graph.add("scalar", (node,), element_type=element_type)
        return Value(scalar, value.axes, value.shape)
    assert source is not None
    if node.is_literal:
        folded = fold("convert", [literal_value(node)], element_type, {})
        if folded is not None:
            return Value.repeated(lowering.graph.literal(folded, element_type), value.shape)
    if source.is_complex and not element_type.is_complex and element_type is not PRED:
        return converted(lowering, lowering.elementwise("real", source.real, value, shape=value.shape), element_type)
    if element_type is PRED:
        zero = Value.repeated(lowering.graph.literal(0, source), value.shape)
        return lowering.elementwise("compare", PRED, value, zero, shape=value.shape, direction="NE")
    return apply(lowering, "convert", element_type, (value,), value.shape, {})


# -- what intervals and constants prove


def _literal(value: Value) -> np.ndarray | None:
    return literal_value(value.node) if value.node.is_literal else None


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
    left, right = _bounds(a), _bounds(b)
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
    holds, fails = proofs[instruction["direction"]]
    if not holds and not fails:
        return None
    return Value.repeated(lowering.graph.literal(holds, PRED), instruction.array_shape.dimensions)


def _mask(value: Value) -> Value | None:
    """The mask that numbers were converted from."""
    node = value.node
    is_converted = node.opcode == "convert" and node.operands[0].element_type is PRED
    return Value(node.operands[0], value.axes, value.shape) if is_converted else None


def _compared_mask(lowering: FunctionLowering, direction: str, mask: Value, number: np.ndarray) -> Value | None:
    """Lower the comparison of a mask's 0 and 1 with a number: JAX chooses a branch for each element by ``mask < 1``."""
    none, one = (np.asarray(each).astype(number.dtype) for each in (0, 1))
    if none != 0 or one != 1:  # not every type has both
        return None
    off, on = bool(compared(direction, none, number)), bool(compared(direction, one, number))
    if off == on:
        return Value.repeated(lowering.graph.literal(on, PRED), mask.shape)
    return mask if on else lowering.elementwise("not", PRED, mask, shape=mask.shape)


def _bounds(value: Value) -> Interval | None:
    """Return what is known of the numbers of an integer node; that they are not negative of unsigned ones."""
    interval, element_type = value.node.interval, value.node.type
    return type_interval(element_type) if interval is None and element_type.is_unsigned else interval


def _compared_with_itself(lowering: FunctionLowering, direction: str, value: Value) -> Value | None:
    """Lower the comparison of a value with itself: only NaN differs."""
    if direction not in ("EQ", "NE"):
        return None
    is_nan = lowering.elementwise("isnan", PRED, value, shape=value.shape)
    return is_nan if direction == "NE" else lowering.elementwise("not", PRED, is_nan, shape=value.shape)


def _simpler_select(
    lowering: FunctionLowering, instruction: Instruction, which: Value, a: Value, b: Value
) -> Value | None:
    chosen = _literal(which)
    if chosen is not None:
        return a if chosen else b
    on, off = _literal(a), _literal(b)
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
    """Tell whether a mask is a comparison, maybe spread out; the author's own negations stay."""
    while instruction.opcode in ("broadcast", "reshape"):
        (instruction,) = instruction.operands
    return instruction.opcode == "compare"


def _further(above: bool, otherwise: Callable[..., Value | None]) -> Callable[..., Value | None]:
    """The larger, or the smaller, of integers of which one always is."""

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
    """1 and 0, which a mask converts to."""
    return on.dtype.kind in "iuf" and bool(on == 1) and not off and not np.signbit(off.astype(float))


def _simpler_clamp(
    lowering: FunctionLowering, instruction: Instruction, low: Value, x: Value, high: Value
) -> Value | None:
    bounds, below, above = x.node.interval, low.node.interval, high.node.interval
    if bounds and below and above and below[1] <= bounds[0] and bounds[1] <= above[0]:
        return x
    return None


def _neutral(test: Callable[[np.ndarray], bool], *, left: bool = True) -> Callable[..., Value | None]:
    """A rule for a binary operation that gives back the other operand where one is a certain constant."""

    def rule(lowering: FunctionLowering, instruction: Instruction, a: Value, b: Value) -> Value | None:
        constant = _literal(b)
        if constant is not None and test(constant):
            return a
        constant = _literal(a) if left else None
        return b if constant is not None and test(constant) else None

    return rule


def _absorbing(
    test: Callable[[np.ndarray], bool], otherwise: Callable[..., Value | None]
) -> Callable[..., Value | None]:
    """A rule for an operation of which a certain constant is the result whatever the other operand is."""

    def rule(lowering: FunctionLowering, instruction: Instruction, a: Value, b: Value) -> Value | None:
        for value in (a, b):
            constant = _literal(value)
            if constant is not None and constant.dtype.kind == "b" and test(constant):
                return value
        return otherwise(lowering, instruction, a, b)

    return rule


def _simpler_and(lowering: FunctionLowering, instruction: Instruction, a: Value, b: Value) -> Value | None:
    """Simplify a conjunction: what is below or above a number is not equal to it, and what has no other bits than a
    mask of low ones keeps all of them.
    """
    for value, mask in ((a, _literal(b)), (b, _literal(a))):
        highest = -1 if value.node.interval is None or value.node.interval[0] < 0 else value.node.interval[1]
        if mask is not None and mask.dtype.kind in "iu" and 0 <= highest <= mask and not int(mask) & (int(mask) + 1):
            return value
    for strict, other in ((a, b), (b, a)):
        directions = (strict.node.parameters.get("direction"), other.node.parameters.get("direction"))
        same = strict.axes == other.axes and strict.node.operands == other.node.operands
        if same and directions in (("LT", "NE"), ("GT", "NE")) and "type" not in other.node.parameters:
            return strict
    return _neutral(lambda constant: constant.dtype.kind == "b" and bool(constant))(lowering, instruction, a, b)


def _simpler_negate(lowering: FunctionLowering, instruction: Instruction, operand: Value) -> Value | None:
    """``--x`` is ``x``, also where it wraps."""
    node = operand.node
    return Value(node.operands[0], operand.axes, operand.shape) if node.opcode == "negate" else None


def _simpler_remainder(lowering: FunctionLowering, instruction: Instruction, a: Value, b: Value) -> Value | None:
    """Simplify a remainder: nothing is left of integers divided by 1 or -1, and all of what is smaller than the
    divisor. What may be negative is left to be corrected, as in ``(i - 1) % n``.
    """
    divisor = _literal(b)
    if divisor is None or divisor.dtype.kind not in "iu":
        return None
    if abs(int(divisor)) == 1:
        return Value.repeated(lowering.graph.literal(0, b.node.type), b.shape)
    is_smaller = a.node.interval is not None and a.node.interval[0] >= 0 and a.node.interval[1] < divisor
    return a if is_smaller else None


def _simpler_shift(lowering: FunctionLowering, instruction: Instruction, a: Value, b: Value) -> Value | None:
    """Simplify a shift by the width or more, which leaves no bit. Constants stay, as keys are known by their seeds."""
    places = _literal(b)
    if places is None or _literal(a) is not None or 0 <= int(places) < a.node.type.bits:
        return None
    return Value.repeated(lowering.graph.literal(0, a.node.type), a.shape)


def _is_integer_zero(constant: np.ndarray) -> bool:
    return constant.dtype.kind in "iu" and not constant


def _is_one(constant: np.ndarray) -> bool:
    return constant.dtype.kind in "iuf" and constant == 1


_SIMPLER: dict[str, Callable[..., Value | None]] = {
    "compare": _simpler_compare,
    "select": _simpler_select,
    "clamp": _simpler_clamp,
    "add": _neutral(_is_integer_zero),
    "subtract": _neutral(_is_integer_zero, left=False),
    "multiply": _neutral(_is_one),
    "divide": _neutral(_is_one, left=False),
    "maximum": _further(True, _neutral(lambda constant: constant.dtype.kind == "f" and constant == -np.inf)),
    "minimum": _further(False, _neutral(lambda constant: constant.dtype.kind == "f" and constant == np.inf)),
    "and": _absorbing(operator.not_, _simpler_and),
    "negate": _simpler_negate,
    "or": _absorbing(bool, _neutral(lambda constant: constant.dtype.kind == "b" and not constant)),
    "remainder": _simpler_remainder,
    **dict.fromkeys(("shift-left", "shift-right-logical"), _simpler_shift),
    "power": _neutral(_is_one, left=False),
}


@lowers("bitcast-convert")
def bitcast_convert(lowering: FunctionLowering, instruction: Instruction, operand: Value) -> Value:
    shape = instruction.array_shape
    if operand.node.element_type is shape.element_type:
        return operand
    if operand.node.element_type is PRED:
        operand = converted(lowering, operand, U8)
    if shape.element_type is PRED:
        octets = instruction.replace(shape=ArrayShape(U8, shape.dimensions))
        return converted(lowering, bitcast_convert(lowering, octets, operand), PRED)
    if operand.node.element_type is shape.element_type:
        return operand
    source = operand.node.type
    if source.bits == shape.element_type.bits and source.bits >= 8:
        return lowering.elementwise("view", shape.element_type, operand, shape=shape.dimensions)
    node = lowering.plain(operand)
    packed = min(source.bits, shape.element_type.bits) < 8
    function = "bitcast_convert_packed" if packed else "bitcast_convert"
    return lowering.call(function, (node,), arguments=(Slot(0), shape.element_type))


def accumulated_type(element_type: ElementType) -> ElementType:
    """Return the type that sums and dots of a type are computed in."""
    if is_sub_byte(element_type):
        return S8 if element_type.is_signed else U8
    return F32 if element_type.is_low_precision else element_type
