"""Element-wise operations of the builder.

Source: operation-semantics seed, the element-wise sections; the implicit broadcasts are those of the broadcasting seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, cast

from ..broadcasting import Step, plan_broadcast, stretch_steps
from ..shape_rules.common import Operation, is_scalar, refuse, shape_text
from ..shape_rules.elementwise import bitcast_converted, default_comparison
from ..shapes import ArrayShape, TupleShape
from .arguments import integer, integers
from .core import BuilderCore, Type, as_array_shape, as_element_type
from .op import Operand, XlaOp

Dimensions = Sequence[int] | None


class Unary(Protocol):
    """The type of a method of one operand."""

    def __call__(self, operand: Operand) -> XlaOp: ...


class Binary(Protocol):
    """The type of a method of two operands; ``broadcast_dimensions`` are given if their ranks differ."""

    def __call__(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp: ...


def _unary(opcode: str, meaning: str) -> Unary:
    def method(self: ElementwiseOperations, operand: Operand) -> XlaOp:
        return self._instruction(opcode, (self._operand(operand),), {})

    method.__doc__ = meaning
    return cast(Unary, method)


def _binary(opcode: str, meaning: str, **attributes: str) -> Binary:
    def method(
        self: ElementwiseOperations, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None
    ) -> XlaOp:
        return self._of_two(opcode, lhs, rhs, broadcast_dimensions, attributes)

    method.__doc__ = meaning
    return cast(Binary, method)


def _comparison(direction: str, meaning: str) -> Binary:
    return _binary("compare", f"Tell whether lhs is {meaning}.", direction=direction)


def _total_order(direction: str) -> Binary:
    meaning = f"Compare as :meth:`{direction.lower()}` does, with -NaN < -inf < .. < -0 < +0 < .. < inf < NaN."
    return _binary("compare", meaning, direction=direction, type="TOTALORDER")


class ElementwiseOperations(BuilderCore):
    """Element-wise operations; binary ones need ``broadcast_dimensions`` for operands of different rank."""

    # -- unary

    abs = _unary("abs", "Absolute value; for complex numbers the real magnitude.")
    acos = _unary("acos", "Inverse cosine.")
    acosh = _unary("acosh", "Inverse hyperbolic cosine.")
    asin = _unary("asin", "Inverse sine.")
    asinh = _unary("asinh", "Inverse hyperbolic sine.")
    atanh = _unary("atanh", "Inverse hyperbolic tangent.")
    cbrt = _unary("cbrt", "Cube root.")
    ceil = _unary("ceil", "Smallest integer not below.")
    clz = _unary("count-leading-zeros", "Number of leading zero bits.")
    cos = _unary("cosine", "Cosine.")
    cosh = _unary("cosh", "Hyperbolic cosine.")
    erf = _unary("erf", "Error function.")
    exp = _unary("exponential", "``e**x``.")
    exp2 = _unary("exp2", "``2**x``.")
    expm1 = _unary("exponential-minus-one", "``e**x - 1``, exact near 0.")
    floor = _unary("floor", "Largest integer not above.")
    imag = _unary("imag", "Imaginary part; 0 for real numbers.")
    is_finite = _unary("is-finite", "Tell whether neither infinite nor NaN.")
    log = _unary("log", "Natural logarithm.")
    log1p = _unary("log-plus-one", "``log(1 + x)``, exact near 0.")
    log2 = _unary("log2", "Logarithm to base 2.")
    logistic = _unary("logistic", "``1 / (1 + e**-x)``.")
    neg = _unary("negate", "``-x``.")
    not_ = _unary("not", "Logical not of pred, bitwise not of integers.")
    population_count = _unary("popcnt", "Number of set bits.")
    real = _unary("real", "Real part; real numbers themselves.")
    round = _unary("round-nearest-afz", "Round to the nearest integer, halves away from zero.")
    round_nearest_even = _unary("round-nearest-even", "Round to the nearest integer, halves to the even one.")
    rsqrt = _unary("rsqrt", "``1 / sqrt(x)``.")
    sign = _unary("sign", "-1, 0 or 1; keeps -0 and NaN; ``x / abs(x)`` for complex numbers.")
    sin = _unary("sine", "Sine.")
    sinh = _unary("sinh", "Hyperbolic sine.")
    sqrt = _unary("sqrt", "Square root.")
    tan = _unary("tan", "Tangent.")
    tanh = _unary("tanh", "Hyperbolic tangent.")

    # -- unary with arguments

    def convert_element_type(self, operand: Operand, new_element_type: Type) -> XlaOp:
        """Convert the elements' values: to integers rounded toward zero and saturated, to pred ``x != 0``."""
        op = self._operand(operand)
        declared = ArrayShape(as_element_type(new_element_type), op.array_shape.dimensions, op.array_shape.dynamic)
        return self._instruction("convert", (op,), {}, declared)

    def bitcast_convert_type(self, operand: Operand, new_element_type: Type) -> XlaOp:
        """Reinterpret the elements' bits; a narrower type adds a last dimension, a wider one removes it."""
        op = self._operand(operand)
        operation = Operation("bitcast-convert", (op.shape,), {})
        declared = bitcast_converted(operation, op.array_shape, as_element_type(new_element_type))
        return self._instruction("bitcast-convert", (op,), {}, declared)

    def stochastic_convert_type(self, operand: Operand, random: Operand, new_element_type: Type) -> XlaOp:
        """Convert with stochastic rounding: ``random`` are unsigned integers as wide as the operand's elements."""
        op = self._operand(operand)
        declared = ArrayShape(as_element_type(new_element_type), op.array_shape.dimensions, op.array_shape.dynamic)
        return self._instruction("stochastic-convert", (op, self._operand(random)), {}, declared)

    def reduce_precision(self, operand: Operand, *, exponent_bits: int, mantissa_bits: int) -> XlaOp:
        """Round to the nearest value of a format with this many bits, and back."""
        counts = {"exponent_bits": exponent_bits, "mantissa_bits": mantissa_bits}
        bits = {key: integer("reduce-precision", count) for key, count in counts.items()}
        return self._instruction("reduce-precision", (self._operand(operand),), bits)

    # -- compositions that XLA offers as operations

    def conj(self, operand: Operand) -> XlaOp:
        """Return the complex conjugate."""
        op = self._operand(operand)
        return self.complex(self.real(op), self.neg(self.imag(op)))

    def square(self, operand: Operand) -> XlaOp:
        """Return ``x * x``."""
        op = self._operand(operand)
        return self.mul(op, op)

    def reciprocal(self, operand: Operand) -> XlaOp:
        """Return ``1 / x``."""
        return self.div(1, self._operand(operand))

    # -- binary

    add = _binary("add", "Sum; for pred, logical or.")
    and_ = _binary("and", "Logical and of pred, bitwise and of integers.")
    atan2 = _binary("atan2", "Angle of the point ``(rhs, lhs)``.")
    complex = _binary("complex", "Complex number from real and imaginary part.")
    div = _binary("divide", "Quotient; for integers, rounded toward zero.")
    max = _binary("maximum", "The larger; NaN wins.")
    min = _binary("minimum", "The smaller; NaN wins.")
    mul = _binary("multiply", "Product; for pred, logical and.")
    mulhi = _binary("mulhi", "High half of the double-width product of integers.")
    or_ = _binary("or", "Logical or of pred, bitwise or of integers.")
    pow = _binary("power", "``lhs ** rhs``.")
    rem = _binary("remainder", "Remainder with the dividend's sign.")
    shift_left = _binary("shift-left", "Shift to higher bits; 0 if the amount is the width or more.")
    shift_right_arithmetic = _binary("shift-right-arithmetic", "Shift to lower bits, filled with the sign.")
    shift_right_logical = _binary("shift-right-logical", "Shift to lower bits, filled with zeros.")
    sub = _binary("subtract", "Difference.")
    xor = _binary("xor", "Logical or bitwise exclusive or.")

    # -- comparisons

    eq = _comparison("EQ", "equal to rhs; IEEE, so false for NaN")
    ne = _comparison("NE", "not equal to rhs; IEEE, so true for NaN")
    ge = _comparison("GE", "greater or equal to rhs; IEEE, so false for NaN")
    gt = _comparison("GT", "greater than rhs; IEEE, so false for NaN")
    le = _comparison("LE", "less or equal to rhs; IEEE, so false for NaN")
    lt = _comparison("LT", "less than rhs; IEEE, so false for NaN")
    eq_total_order = _total_order("EQ")
    ne_total_order = _total_order("NE")
    ge_total_order = _total_order("GE")
    gt_total_order = _total_order("GT")
    le_total_order = _total_order("LE")
    lt_total_order = _total_order("LT")

    # -- three operands

    def clamp(self, min: Operand, operand: Operand, max: Operand) -> XlaOp:
        """Return ``min(max(operand, min), max)``; the bounds may be scalars."""
        op = self._operand(operand)
        low, high = self._operand(min, like=op), self._operand(max, like=op)
        shape = op.array_shape
        bounds = [self._stretched_scalar(bound, shape) for bound in (low, high)]
        return self._instruction("clamp", (bounds[0], op, bounds[1]), {})

    def select(self, pred: Operand, on_true: Operand, on_false: Operand) -> XlaOp:
        """Return elements of ``on_true`` where ``pred`` is true, else of ``on_false``; a scalar chooses arrays or
        tuples.
        """
        chooser, yes = self._operand(pred), self._operand(on_true)
        no = self._operand(on_false, like=yes)
        if not isinstance(yes.shape, TupleShape):
            return self._instruction("select", (self._stretched_scalar(chooser, yes.array_shape), yes, no), {})
        if not is_scalar(chooser.shape):
            refuse("XP213", f"select: tuples need a scalar predicate, not {shape_text(chooser.shape)}")
        if not isinstance(no.shape, TupleShape) or len(no.shape.elements) != len(yes.shape.elements):
            refuse(
                "XP213", f"select: the branches have to have one shape: {shape_text(yes.shape)}, {shape_text(no.shape)}"
            )
        return self._packed([self.select(chooser, yes[i], no[i]) for i in range(len(yes.shape.elements))])

    # -- helpers

    def _of_two(
        self, opcode: str, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions, attributes: Mapping[str, str]
    ) -> XlaOp:
        # A Python number takes its type from the other operand.
        left = self._operand(lhs, like=rhs if isinstance(rhs, XlaOp) else None)
        right = self._operand(rhs, like=left)
        shapes = as_array_shape(opcode, left.shape), as_array_shape(opcode, right.shape)
        dimensions = None if broadcast_dimensions is None else integers(opcode, broadcast_dimensions)
        plan = plan_broadcast(opcode, *shapes, dimensions)
        operands = (self._stretched(left, plan.lhs), self._stretched(right, plan.rhs))
        # Integers have only one order, so XLA has no total order of them.
        is_floating = all(default_comparison(shape.element_type) == "FLOAT" for shape in shapes)
        kept = {key: value for key, value in attributes.items() if key != "type" or is_floating}
        return self._instruction(opcode, operands, kept)

    def _stretched(self, op: XlaOp, steps: Sequence[Step]) -> XlaOp:
        """Add the steps of one side of a broadcast plan."""
        for step in steps:
            opcode = "reshape" if step.dimensions is None else "broadcast"
            op = self._instruction(opcode, (op,), {"dimensions": step.dimensions}, step.shape)
        return op

    def _stretched_scalar(self, op: XlaOp, shape: ArrayShape) -> XlaOp:
        """Broadcast a scalar to a shape's sizes; return any other op unchanged."""
        return self._stretched(op, stretch_steps(op.array_shape, shape)) if is_scalar(op.shape) else op


for _name, _member in vars(ElementwiseOperations).items():
    if getattr(_member, "__name__", "") == "method":
        _member.__name__ = _name  # computations are named after the method that they consist of
