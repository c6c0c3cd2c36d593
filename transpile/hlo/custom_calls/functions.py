"""Element-wise functions that dialects above HLO call by name, and functions of XLA's library."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..builder import DotDimensionNumbers, XlaBuilder, XlaOp
from ..element_types import ELEMENT_TYPES
from .call import Call, CustomCall, Definition
from .fields import TEXT, ConfigError, Field, Kind

_COMPOSITES = ("acos", "acosh", "asin", "asinh", "atanh", "cosh", "erf", "sinh", "tan")
_MATH = {"Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Cosh": "cosh"}


def _operation(name: str) -> Definition:
    def definition(b: XlaBuilder, call: Call, x: XlaOp) -> XlaOp:
        operation: Callable[[XlaOp], XlaOp] = getattr(b, name)
        return operation(x)

    return definition


def _atan(b: XlaBuilder, call: Call, x: XlaOp) -> XlaOp:
    return b.atan2(x, b.one(x.array_shape.element_type))


def _next_after(b: XlaBuilder, call: Call, x: XlaOp, y: XlaOp) -> XlaOp:
    """Return the float next to ``x`` towards ``y``: as integers, the magnitudes of adjacent floats differ by 1."""
    element_type = x.array_shape.element_type
    if not element_type.is_floating or element_type.bits < 16:
        raise ConfigError(f"takes floating-point numbers of 16 bits and more, not {element_type}")
    integers = ELEMENT_TYPES[f"s{element_type.bits}"]
    lowest = int(np.iinfo(integers.dtype).min)
    sign, magnitude = b.constant(lowest, integers), b.constant(-lowest - 1, integers)
    bits, goal = (b.bitcast_convert_type(value, integers) for value in (x, y))
    size, goal_size = (b.and_(value, magnitude) for value in (bits, goal))
    goal_sign = b.and_(goal, sign)
    shrinks = b.or_(b.gt(size, goal_size), b.ne(b.and_(bits, sign), goal_sign))
    one = b.broadcast(b.one(integers), x.array_shape.dimensions)
    step = b.select(shrinks, b.neg(one), one)
    from_zero = b.select(b.eq(goal_size, 0), goal, b.or_(goal_sign, one))
    moved = b.select(b.eq(size, 0), from_zero, b.add(bits, step))
    moved = b.select(b.eq(x, y), goal, moved)
    is_nan = b.or_(b.ne(x, x), b.ne(y, y))
    nan = b.broadcast(b.constant(np.nan, element_type), x.array_shape.dimensions)
    return b.select(is_nan, nan, b.bitcast_convert_type(moved, element_type))


def _diagonal(b: XlaBuilder, call: Call, x: XlaOp) -> XlaOp:
    """Return the diagonal: every (k + 1)-th element of the leading square matrices with k rows."""
    *batch, m, n = x.array_shape.dimensions
    k, count = min(m, n), len(batch)
    square = b.slice(x, [0] * (count + 2), [*batch, k, k])
    return b.slice(b.reshape(square, [*batch, k * k]), [0] * (count + 1), [*batch, k * k], [1] * count + [k + 1])


def _einsum(b: XlaBuilder, call: Call, x: XlaOp, y: XlaOp) -> XlaOp:
    """Return ``ij,jk->ik``: letters for the dimensions of two operands and of the result."""
    letters, _, wanted = call[TEXT].replace(" ", "").partition("->")
    left, _, right = letters.partition(",")
    named = all(part.isalpha() and len(set(part)) == len(part) for part in (left, right) if part)
    ranks = (x.array_shape.rank, y.array_shape.rank)
    if not named or (len(left), len(right)) != ranks or not set(wanted) <= {*left, *right}:
        raise ConfigError(f"cannot read the subscripts {call[TEXT]!r} for {ranks[0]} and {ranks[1]} dimensions")
    x, left = _summed(b, x, left, right + wanted)
    y, right = _summed(b, y, right, left + wanted)
    shared = [letter for letter in left if letter in right]
    batch = [letter for letter in shared if letter in wanted]
    gone = [letter for letter in shared if letter not in wanted]
    numbers = DotDimensionNumbers(
        [left.index(c) for c in gone],
        [right.index(c) for c in gone],
        [left.index(c) for c in batch],
        [right.index(c) for c in batch],
    )
    made = [*batch, *(c for c in left if c not in shared), *(c for c in right if c not in shared)]
    if sorted(made) != sorted(wanted):
        raise ConfigError(f"cannot read the subscripts {call[TEXT]!r}")
    return b.transpose(b.dot_general(x, y, numbers), [made.index(c) for c in wanted])


def _summed(b: XlaBuilder, x: XlaOp, letters: str, kept: str) -> tuple[XlaOp, str]:
    """Return an operand summed along the dimensions that only it has, and its remaining letters."""
    alone = [d for d, letter in enumerate(letters) if letter not in kept]
    if not alone:
        return x, letters
    zero = b.zero(x.array_shape.element_type)
    return b.reduce(x, zero, b.add, alone), "".join(c for c in letters if c in kept)


FUNCTIONS: dict[str, CustomCall] = {
    **{
        f"{dialect}.{name}": CustomCall(("A[*] -> A[*]",), _operation(name))
        for dialect in ("mhlo", "chlo")
        for name in _COMPOSITES
    },
    **{f"xla_builder.math.{name}": CustomCall(("A[*] -> A[*]",), _operation(method)) for name, method in _MATH.items()},
    "xla_builder.math.Atan": CustomCall(("A[*] -> A[*]",), _atan),
    "xla_builder.math.NextAfter": CustomCall(("A[*] A[*] -> A[*]",), _next_after),
    "xla_builder.matrix.GetMatrixDiagonalViaGather": CustomCall(("A[*,m,n] -> A[*,min(m,n)]",), _diagonal),
    "xla_builder.matrix.Einsum": CustomCall(("A[?] A[?] -> A[?]",), _einsum, config={TEXT: Field(Kind.WORD)}),
}
