"""Values in a builder, with Python's operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from ..ir import Instruction
from ..shape_rules.common import refuse, shape_text
from ..shapes import ArrayShape, Shape, TupleShape


class Operations(Protocol):
    """The builder's operations for Python's operators."""

    name: str

    def _element(self, op: XlaOp, index: object) -> XlaOp: ...
    def _index(self, op: XlaOp, index: tuple[object, ...]) -> XlaOp: ...
    def shift_right_arithmetic(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...
    def shift_right_logical(self, lhs: Operand, rhs: Operand, /) -> XlaOp: ...


def _of_one(name: str) -> Callable[[XlaOp], XlaOp]:
    return lambda self: getattr(self.builder, name)(self)


def _of_two(name: str) -> Callable[[XlaOp, Operand], XlaOp]:
    return lambda self, other: getattr(self.builder, name)(self, other)


def _reflected(name: str) -> Callable[[XlaOp, Operand], XlaOp]:
    return lambda self, other: getattr(self.builder, name)(other, self)


class XlaOp:
    """The result of an operation, as an operand of the next ones.

    Operators are the operations of the same meaning: ``a + b`` is ``builder.add(a, b)``, ``a @ b`` is ``dot``, ``a <
    b`` is ``lt``, ``~a`` is ``not_``; ``a >> b`` keeps the sign of signed integers. The other operand may be a Python
    number, which takes this one's element type. ``a[1:3, 0]`` slices an array, ``a[1]`` takes an element of a tuple,
    and a tuple unpacks: ``first, second = t``. ``==`` compares elements, so an ``XlaOp`` is hashed by identity and has
    no truth value.
    """

    __slots__ = ("builder", "instruction")
    __array_ufunc__ = None  # so that ``array + op`` calls the op's operator

    def __init__(self, builder: Operations, instruction: Instruction) -> None:
        self.builder = builder
        self.instruction = instruction

    @property
    def shape(self) -> Shape:
        return self.instruction.shape

    @property
    def array_shape(self) -> ArrayShape:
        """The shape of an array; raises HloVerificationError (XP210) for a tuple or a token."""
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
        """Return the number of elements of a tuple, or the size of an array's first dimension."""
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

    __neg__, __invert__, __abs__ = _of_one("neg"), _of_one("not_"), _of_one("abs")
    __add__, __radd__ = _of_two("add"), _reflected("add")
    __sub__, __rsub__ = _of_two("sub"), _reflected("sub")
    __mul__, __rmul__ = _of_two("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _of_two("div"), _reflected("div")
    __mod__, __rmod__ = _of_two("rem"), _reflected("rem")
    __pow__, __rpow__ = _of_two("pow"), _reflected("pow")
    __matmul__, __rmatmul__ = _of_two("dot"), _reflected("dot")
    __and__, __rand__ = _of_two("and_"), _reflected("and_")
    __or__, __ror__ = _of_two("or_"), _reflected("or_")
    __xor__, __rxor__ = _of_two("xor"), _reflected("xor")
    __lshift__, __rlshift__ = _of_two("shift_left"), _reflected("shift_left")
    __lt__, __le__, __gt__, __ge__ = _of_two("lt"), _of_two("le"), _of_two("gt"), _of_two("ge")
    __eq__, __ne__ = _of_two("eq"), _of_two("ne")  # type: ignore[assignment]

    def __rshift__(self, other: Operand) -> XlaOp:
        if self.array_shape.element_type.is_signed:
            return self.builder.shift_right_arithmetic(self, other)
        return self.builder.shift_right_logical(self, other)


Operand = XlaOp | bool | int | float | complex | np.generic | npt.NDArray[Any] | Sequence[Any]
"""What an operation takes: an op of the same builder, or a number, an array or a list that becomes a constant."""
