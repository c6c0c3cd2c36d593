"""Element-wise operations of the builder.

Source: operation-semantics seed, the element-wise sections; the implicit broadcasts are those of the broadcasting seed.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..broadcasting import Step, plan_broadcast, stretch_steps
from ..shape_rules.common import Operation, is_scalar, refuse, shape_text
from ..shape_rules.elementwise import bitcast_converted, default_comparison
from ..shapes import ArrayShape, TupleShape
from .arguments import integer, integers
from .core import BuilderCore, Type, as_array_shape, as_element_type
from .op import Operand, XlaOp

Dimensions = Sequence[int] | None


class ElementwiseOperations(BuilderCore):
    """Binary operations and comparisons take ``broadcast_dimensions``, needed between operands of different rank."""

    # -- unary

    def abs(self, operand: Operand) -> XlaOp:
        """Absolute value; for complex numbers the real magnitude."""
        return self._unary("abs", operand)

    def acos(self, operand: Operand) -> XlaOp:
        """Inverse cosine."""
        return self._unary("acos", operand)

    def acosh(self, operand: Operand) -> XlaOp:
        """Inverse hyperbolic cosine."""
        return self._unary("acosh", operand)

    def asin(self, operand: Operand) -> XlaOp:
        """Inverse sine."""
        return self._unary("asin", operand)

    def asinh(self, operand: Operand) -> XlaOp:
        """Inverse hyperbolic sine."""
        return self._unary("asinh", operand)

    def atanh(self, operand: Operand) -> XlaOp:
        """Inverse hyperbolic tangent."""
        return self._unary("atanh", operand)

    def cbrt(self, operand: Operand) -> XlaOp:
        """Cube root."""
        return self._unary("cbrt", operand)

    def ceil(self, operand: Operand) -> XlaOp:
        """Smallest integer not below."""
        return self._unary("ceil", operand)

    def clz(self, operand: Operand) -> XlaOp:
        """Number of leading zero bits."""
        return self._unary("count-leading-zeros", operand)

    def cos(self, operand: Operand) -> XlaOp:
        """Cosine."""
        return self._unary("cosine", operand)

    def cosh(self, operand: Operand) -> XlaOp:
        """Hyperbolic cosine."""
        return self._unary("cosh", operand)

    def erf(self, operand: Operand) -> XlaOp:
        """Error function."""
        return self._unary("erf", operand)

    def exp(self, operand: Operand) -> XlaOp:
        """``e**x``."""
        return self._unary("exponential", operand)

    def exp2(self, operand: Operand) -> XlaOp:
        """``2**x``."""
        return self._unary("exp2", operand)

    def expm1(self, operand: Operand) -> XlaOp:
        """``e**x - 1``, exact near 0."""
        return self._unary("exponential-minus-one", operand)

    def floor(self, operand: Operand) -> XlaOp:
        """Largest integer not above."""
        return self._unary("floor", operand)

    def imag(self, operand: Operand) -> XlaOp:
        """Imaginary part; 0 for real numbers."""
        return self._unary("imag", operand)

    def is_finite(self, operand: Operand) -> XlaOp:
        """Tell whether neither infinite nor NaN."""
        return self._unary("is-finite", operand)

    def log(self, operand: Operand) -> XlaOp:
        """Natural logarithm."""
        return self._unary("log", operand)

    def log1p(self, operand: Operand) -> XlaOp:
        """``log(1 + x)``, exact near 0."""
        return self._unary("log-plus-one", operand)

    def log2(self, operand: Operand) -> XlaOp:
        """Logarithm to base 2."""
        return self._unary("log2", operand)

    def logistic(self, operand: Operand) -> XlaOp:
        """``1 / (1 + e**-x)``."""
        return self._unary("logistic", operand)

    def neg(self, operand: Operand) -> XlaOp:
        """``-x``."""
        return self._unary("negate", operand)

    def not_(self, operand: Operand) -> XlaOp:
        """Logical not of pred, bitwise not of integers."""
        return self._unary("not", operand)

    def population_count(self, operand: Operand) -> XlaOp:
        """Number of set bits."""
        return self._unary("popcnt", operand)

    def real(self, operand: Operand) -> XlaOp:
        """Real part; real numbers themselves."""
        return self._unary("real", operand)

    def round(self, operand: Operand) -> XlaOp:
        """Round to the nearest integer, halves away from zero."""
        return self._unary("round-nearest-afz", operand)

    def round_nearest_even(self, operand: Operand) -> XlaOp:
        """Round to the nearest integer, halves to the even one."""
        return self._unary("round-nearest-even", operand)

    def rsqrt(self, operand: Operand) -> XlaOp:
        """``1 / sqrt(x)``."""
        return self._unary("rsqrt", operand)

    def sign(self, operand: Operand) -> XlaOp:
        """-1, 0 or 1; keeps -0 and NaN; ``x / abs(x)`` for complex numbers."""
        return self._unary("sign", operand)

    def sin(self, operand: Operand) -> XlaOp:
        """Sine."""
        return self._unary("sine", operand)

    def sinh(self, operand: Operand) -> XlaOp:
        """Hyperbolic sine."""
        return self._unary("sinh", operand)

    def sqrt(self, operand: Operand) -> XlaOp:
        """Square root."""
        return self._unary("sqrt", operand)

    def tan(self, operand: Operand) -> XlaOp:
        """Tangent."""
        return self._unary("tan", operand)

    def tanh(self, operand: Operand) -> XlaOp:
        """Hyperbolic tangent."""
        return self._unary("tanh", operand)

    # -- unary with arguments

    def convert_element_type(self, operand: Operand, new_element_type: Type) -> XlaOp:
        """Convert the elements' values: to integers rounded toward zero and saturated, to pred ``x != 0``."""
        op = self._operand(operand)
        declared = ArrayShape(as_element_type(new_element_type), op.array_shape.dimensions, op.array_shape.dynamic)
        return self._instruction("convert", (op,), {}, declared)

    def bitcast_convert_type(self, operand: Operand, new_element_type: Type) -> XlaOp:
        """Reinterpret the elements' bits; a narrower type adds a last dimension, a wider one takes it away."""
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
        """Complex conjugate."""
        op = self._operand(operand)
        return self.complex(self.real(op), self.neg(self.imag(op)))

    def square(self, operand: Operand) -> XlaOp:
        """``x * x``."""
        op = self._operand(operand)
        return self.mul(op, op)

    def reciprocal(self, operand: Operand) -> XlaOp:
        """``1 / x``."""
        return self.div(1, self._operand(operand))

    # -- binary

    def add(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Sum; for pred, logical or."""
        return self._binary("add", lhs, rhs, broadcast_dimensions)

    def and_(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Logical and of pred, bitwise and of integers."""
        return self._binary("and", lhs, rhs, broadcast_dimensions)

    def atan2(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Angle of the point ``(rhs, lhs)``."""
        return self._binary("atan2", lhs, rhs, broadcast_dimensions)

    def complex(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Complex number from real and imaginary part."""
        return self._binary("complex", lhs, rhs, broadcast_dimensions)

    def div(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Quotient; for integers, rounded toward zero."""
        return self._binary("divide", lhs, rhs, broadcast_dimensions)

    def max(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """The larger; NaN wins."""
        return self._binary("maximum", lhs, rhs, broadcast_dimensions)

    def min(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """The smaller; NaN wins."""
        return self._binary("minimum", lhs, rhs, broadcast_dimensions)

    def mul(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Product; for pred, logical and."""
        return self._binary("multiply", lhs, rhs, broadcast_dimensions)

    def mulhi(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """High half of the double-width product of integers."""
        return self._binary("mulhi", lhs, rhs, broadcast_dimensions)

    def or_(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Logical or of pred, bitwise or of integers."""
        return self._binary("or", lhs, rhs, broadcast_dimensions)

    def pow(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """``lhs ** rhs``."""
        return self._binary("power", lhs, rhs, broadcast_dimensions)

    def rem(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Remainder with the dividend's sign."""
        return self._binary("remainder", lhs, rhs, broadcast_dimensions)

    def shift_left(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Shift to higher bits; 0 if the amount is the width or more."""
        return self._binary("shift-left", lhs, rhs, broadcast_dimensions)

    def shift_right_arithmetic(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Shift to lower bits, filled with the sign."""
        return self._binary("shift-right-arithmetic", lhs, rhs, broadcast_dimensions)

    def shift_right_logical(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Shift to lower bits, filled with zeros."""
        return self._binary("shift-right-logical", lhs, rhs, broadcast_dimensions)

    def sub(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Difference."""
        return self._binary("subtract", lhs, rhs, broadcast_dimensions)

    def xor(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Logical or bitwise exclusive or."""
        return self._binary("xor", lhs, rhs, broadcast_dimensions)

    # -- comparisons

    def eq(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Tell whether lhs is equal to rhs; IEEE, so false for NaN."""
        return self._comparison("EQ", lhs, rhs, broadcast_dimensions)

    def ne(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Tell whether lhs is not equal to rhs; IEEE, so true for NaN."""
        return self._comparison("NE", lhs, rhs, broadcast_dimensions)

    def ge(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Tell whether lhs is greater or equal to rhs; IEEE, so false for NaN."""
        return self._comparison("GE", lhs, rhs, broadcast_dimensions)

    def gt(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Tell whether lhs is greater than rhs; IEEE, so false for NaN."""
        return self._comparison("GT", lhs, rhs, broadcast_dimensions)

    def le(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Tell whether lhs is less or equal to rhs; IEEE, so false for NaN."""
        return self._comparison("LE", lhs, rhs, broadcast_dimensions)

    def lt(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Tell whether lhs is less than rhs; IEEE, so false for NaN."""
        return self._comparison("LT", lhs, rhs, broadcast_dimensions)

    def eq_total_order(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Compare as :meth:`eq` does, with -NaN < -inf < .. < -0 < +0 < .. < inf < NaN."""
        return self._comparison("EQ", lhs, rhs, broadcast_dimensions, total=True)

    def ne_total_order(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Compare as :meth:`ne` does, with -NaN < -inf < .. < -0 < +0 < .. < inf < NaN."""
        return self._comparison("NE", lhs, rhs, broadcast_dimensions, total=True)

    def ge_total_order(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Compare as :meth:`ge` does, with -NaN < -inf < .. < -0 < +0 < .. < inf < NaN."""
        return self._comparison("GE", lhs, rhs, broadcast_dimensions, total=True)

    def gt_total_order(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Compare as :meth:`gt` does, with -NaN < -inf < .. < -0 < +0 < .. < inf < NaN."""
        return self._comparison("GT", lhs, rhs, broadcast_dimensions, total=True)

    def le_total_order(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Compare as :meth:`le` does, with -NaN < -inf < .. < -0 < +0 < .. < inf < NaN."""
        return self._comparison("LE", lhs, rhs, broadcast_dimensions, total=True)

    def lt_total_order(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions = None) -> XlaOp:
        """Compare as :meth:`lt` does, with -NaN < -inf < .. < -0 < +0 < .. < inf < NaN."""
        return self._comparison("LT", lhs, rhs, broadcast_dimensions, total=True)

    # -- three operands

    def clamp(self, min: Operand, operand: Operand, max: Operand) -> XlaOp:
        """``min(max(operand, min), max)``; the bounds may be scalars."""
        op = self._operand(operand)
        low, high = self._operand(min, like=op), self._operand(max, like=op)
        shape = op.array_shape
        bounds = [self._stretched_scalar(bound, shape) for bound in (low, high)]
        return self._instruction("clamp", (bounds[0], op, bounds[1]), {})

    def select(self, pred: Operand, on_true: Operand, on_false: Operand) -> XlaOp:
        """Elements of ``on_true`` where ``pred`` is true, else of ``on_false``; a scalar chooses arrays or tuples."""
        chooser, yes = self._operand(pred), self._operand(on_true)
        no = self._operand(on_false, like=yes)
        if not isinstance(yes.shape, TupleShape):
            return self._instruction("select", (self._stretched_scalar(chooser, yes.array_shape), yes, no), {})
        if not is_scalar(chooser.shape):
            refuse("XP213", f"select: tuples need a scalar predicate, not {shape_text(chooser.shape)}")
        if not isinstance(no.shape, TupleShape) or len(no.shape.elements) != len(yes.shape.elements):
            refuse(
                "XP213",
                f"select: the branches have to have one shape: {shape_text(yes.shape)}, {shape_text(no.shape)}",
            )
        return self._packed([self.select(chooser, yes[i], no[i]) for i in range(len(yes.shape.elements))])

    # -- how they are made

    def _unary(self, opcode: str, operand: Operand) -> XlaOp:
        return self._instruction(opcode, (self._operand(operand),), {})

    def _binary(
        self, opcode: str, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions, **attributes: str | None
    ) -> XlaOp:
        # A Python number takes its type from the other operand.
        left = self._operand(lhs, like=rhs if isinstance(rhs, XlaOp) else None)
        right = self._operand(rhs, like=left)
        shapes = as_array_shape(opcode, left.shape), as_array_shape(opcode, right.shape)
        dimensions = None if broadcast_dimensions is None else integers(opcode, broadcast_dimensions)
        plan = plan_broadcast(opcode, *shapes, dimensions)
        operands = (self._stretched(left, plan.lhs), self._stretched(right, plan.rhs))
        return self._instruction(opcode, operands, attributes)

    def _comparison(
        self, direction: str, lhs: Operand, rhs: Operand, broadcast_dimensions: Dimensions, *, total: bool = False
    ) -> XlaOp:
        kind = "TOTALORDER" if total and self._is_floating(lhs, rhs) else None
        return self._binary("compare", lhs, rhs, broadcast_dimensions, direction=direction, type=kind)

    def _is_floating(self, *operands: Operand) -> bool:
        """Integers have one order only, so XLA compares them alike in both ways."""
        shapes = [operand.shape for operand in operands if isinstance(operand, XlaOp)]
        return all(isinstance(s, ArrayShape) and default_comparison(s.element_type) == "FLOAT" for s in shapes)

    def _stretched(self, op: XlaOp, steps: Sequence[Step]) -> XlaOp:
        """Carry out one side of a broadcast plan."""
        for step in steps:
            opcode = "reshape" if step.dimensions is None else "broadcast"
            op = self._instruction(opcode, (op,), {"dimensions": step.dimensions}, step.shape)
        return op

    def _stretched_scalar(self, op: XlaOp, shape: ArrayShape) -> XlaOp:
        """Broadcast a scalar to a shape's sizes; any other op as it is."""
        return self._stretched(op, stretch_steps(op.array_shape, shape)) if is_scalar(op.shape) else op
