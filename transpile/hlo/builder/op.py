"""A value inside a builder, with Python's operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from ..ir import Instruction
from ..shape_rules.common import refuse, shape_text
from ..shapes import ArrayShape, Shape, TupleShape


class Operations(Protocol):
    """The operations of a builder that operators stand for."""

    name: str

    def _element(self, op: XlaOp, index: object) -> XlaOp: ...
    def _index(self, op: XlaOp, index: tuple[object, ...]) -> XlaOp: ...
    def neg(self, operand: Operand, /) -> XlaOp: ...
    def not_(self, operand: Operand, /) -> XlaOp: ...
    def abs(self, operand: Operand, /) -> XlaOp: ...
    def add(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...
    def sub(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...
    def mul(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...
    def div(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...
    def rem(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...
    def pow(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...
    def dot(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...
    def and_(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...
    def or_(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...
    def xor(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...
    def shift_left(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...
    def shift_right_arithmetic(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...
    def shift_right_logical(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...
    def eq(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...
    def ne(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...
    def lt(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...
    def le(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...
    def gt(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...
    def ge(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...


class XlaOp:
    """The result of an operation, as an operand of the next ones.

    Operators stand for the operations of the same meaning: ``a + b`` is ``builder.add(a, b)``, ``a @ b`` is ``dot``,
    ``a < b`` is ``lt``, ``~a`` is ``not_``; ``a >> b`` keeps the sign of signed integers. The other operand may be a
    Python number, which takes this one's element type. ``a[1:3, 0]`` slices an array, ``a[1]`` takes an element of
    a tuple, and a tuple unpacks: ``first, second = t``. ``==`` compares elements, so an ``XlaOp`` is hashed by identity
    and has no truth value.
    """

    __slots__ = ("builder", "instruction")
    __array_ufunc__ = None  # so that ``array + op`` asks the op

    def __init__(self, builder: Operations, instruction: Instruction) -> None:
        self.builder = builder
        self.instruction = instruction

    @property
    def shape(self) -> Shape:
        return self.instruction.shape

    @property
    def array_shape(self) -> ArrayShape:
        """The shape of an array; refuses (XP210) a tuple or a token."""
        shape = self.shape
        if not isinstance(shape, ArrayShape):
            refuse("XP210", f"an array is wanted, but {self.instruction.name} is {shape_text(shape)}")
        return shape

    def __repr__(self) -> str:
        return f"<XlaOp {self.instruction.name}: {shape_text(self.shape)}>"

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> NoReturn:
        raise TypeError("an XlaOp has no truth value before it runs: use conditional or select")

    def __array__(self, *arguments: object, **options: object) -> NoReturn:
        raise TypeError("an XlaOp has no values before it runs")

    def __len__(self) -> int:
        """The number of elements of a tuple, or the size of an array's first dimension."""
        if isinstance(self.shape, TupleShape):
            return len(self.shape.elements)
        if not self.array_shape.dimensions:
            raise TypeError("a scalar has no length")
        return self.array_shape.dimensions[0]

    def __iter__(self) -> Iterator[XlaOp]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index: object) -> XlaOp:
        if isinstance(self.shape, TupleShape):
            return self.builder._element(self, index)
        return self.builder._index(self, index if isinstance(index, tuple) else (index,))

    def __pos__(self) -> XlaOp:
        return self

    def __neg__(self) -> XlaOp:
        return self.builder.neg(self)

    def __invert__(self) -> XlaOp:
        return self.builder.not_(self)

    def __abs__(self) -> XlaOp:
        return self.builder.abs(self)

    def __add__(self, other: Operand) -> XlaOp:
        return self.builder.add(self, other)

    def __radd__(self, other: Operand) -> XlaOp:
        return self.builder.add(other, self)

    def __sub__(self, other: Operand) -> XlaOp:
        return self.builder.sub(self, other)

    def __rsub__(self, other: Operand) -> XlaOp:
        return self.builder.sub(other, self)

    def __mul__(self, other: Operand) -> XlaOp:
        return self.builder.mul(self, other)

    def __rmul__(self, other: Operand) -> XlaOp:
        return self.builder.mul(other, self)

    def __truediv__(self, other: Operand) -> XlaOp:
        return self.builder.div(self, other)

    def __rtruediv__(self, other: Operand) -> XlaOp:
        return self.builder.div(other, self)

    def __mod__(self, other: Operand) -> XlaOp:
        return self.builder.rem(self, other)

    def __rmod__(self, other: Operand) -> XlaOp:
        return self.builder.rem(other, self)

    def __pow__(self, other: Operand) -> XlaOp:
        return self.builder.pow(self, other)

    def __rpow__(self, other: Operand) -> XlaOp:
        return self.builder.pow(other, self)

    def __matmul__(self, other: Operand) -> XlaOp:
        return self.builder.dot(self, other)

    def __rmatmul__(self, other: Operand) -> XlaOp:
        return self.builder.dot(other, self)

    def __and__(self, other: Operand) -> XlaOp:
        return self.builder.and_(self, other)

    def __rand__(self, other: Operand) -> XlaOp:
        return self.builder.and_(other, self)

    def __or__(self, other: Operand) -> XlaOp:
        return self.builder.or_(self, other)

    def __ror__(self, other: Operand) -> XlaOp:
        return self.builder.or_(other, self)

    def __xor__(self, other: Operand) -> XlaOp:
        return self.builder.xor(self, other)

    def __rxor__(self, other: Operand) -> XlaOp:
        return self.builder.xor(other, self)

    def __lshift__(self, other: Operand) -> XlaOp:
        return self.builder.shift_left(self, other)

    def __rlshift__(self, other: Operand) -> XlaOp:
        return self.builder.shift_left(other, self)

    def __rshift__(self, other: Operand) -> XlaOp:
        if self.array_shape.element_type.is_signed:
            return self.builder.shift_right_arithmetic(self, other)
        return self.builder.shift_right_logical(self, other)

    def __eq__(self, other: Operand) -> XlaOp:  # type: ignore[override]
        return self.builder.eq(self, other)

    def __ne__(self, other: Operand) -> XlaOp:  # type: ignore[override]
        return self.builder.ne(self, other)

    def __lt__(self, other: Operand) -> XlaOp:
        return self.builder.lt(self, other)

    def __le__(self, other: Operand) -> XlaOp:
        return self.builder.le(self, other)

    def __gt__(self, other: Operand) -> XlaOp:
        return self.builder.gt(self, other)

    def __ge__(self, other: Operand) -> XlaOp:
        return self.builder.ge(self, other)


Operand = XlaOp | bool | int | float | complex | np.generic | npt.NDArray[Any] | Sequence[Any]
"""What an operation takes: an op of the same builder, or a number, an array or a list that becomes a constant."""
