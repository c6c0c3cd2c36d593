"""The core of the builder: instructions, operands, constants and sub-computations."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..element_types import C64, ELEMENT_TYPES, F32, PRED, S32, ElementType, find_element_type
from ..ir import Computation, HloModule, Instruction, callees_first, fresh_name, legal_name
from ..shape_inference import infer_shape, require_declared
from ..shape_rules.common import array_parts, refuse, shape_text, sizes_text
from ..shapes import ArrayShape, Shape, TupleShape
from ..verifier import verify
from .arguments import as_shape, integer
from .op import Operand, XlaOp

Type = ElementType | str | npt.DTypeLike
"""An element type: ``F32``, its HLO name ``"f32"``, or a NumPy dtype."""

_PYTHON_SCALARS = (bool, int, float, complex)
_PYTHON_TYPES = {"b": PRED, "i": S32, "u": S32, "O": S32, "f": F32, "c": C64}  # by the kind of the NumPy dtype


def as_element_type(type_: Type) -> ElementType:
    """Return the element type for a name, a dtype or an element type; refuse (XP232) anything else."""
    try:
        return find_element_type(type_)
    except ValueError as error:
        refuse("XP232", str(error), hint=f"known: {', '.join(ELEMENT_TYPES)}")


def as_array_shape(name: str, shape: Shape) -> ArrayShape:
    if not isinstance(shape, ArrayShape):
        refuse("XP210", f"{name}: an array is wanted, not {shape_text(shape)}")
    return shape


class BuilderCore:
    """The instructions of a computation, in order, and methods to add one."""

    def __init__(self, name: str) -> None:
        """Create an empty builder; ``name`` becomes the name of the module and the entry computation."""
        self.name = name
        self._instructions: list[Instruction] = []
        self._names: set[str] = set()
        self._counter = itertools.count(1)
        self._parameter_numbers: set[int] = set()
        self._last_token: XlaOp | None = None
        self._built: Computation | None = None  # cached, so that two calls of a builder call one computation

    # -- leaves

    def parameter(self, parameter_number: int, shape: Shape | str, name: str = "") -> XlaOp:
        """Add parameter ``parameter_number`` (from 0, each number once: XP205) of the computation."""
        parameter_number, shape = integer("parameter", parameter_number), as_shape("parameter", shape)
        if parameter_number in self._parameter_numbers or parameter_number < 0:
            problem = "is there already" if parameter_number >= 0 else "is negative"
            refuse("XP205", f"{self.name}: parameter {parameter_number} {problem}")
        self._parameter_numbers.add(parameter_number)
        attributes = {"parameter_number": parameter_number}
        return self._instruction("parameter", (), attributes, declared=shape, name=name or f"p{parameter_number}")

    def constant(self, value: npt.ArrayLike, element_type: Type | None = None) -> XlaOp:
        """Add an array constant. Without a type, Python numbers are pred, s32, f32 or c64, and an array keeps its
        dtype.
        """
        try:
            natural = _natural_type(value)
        except ValueError:
            refuse("XP232", f"{self.name}: the parts of a constant differ in length: {value!r:.80}")
        wanted = natural if element_type is None else as_element_type(element_type)
        if _scalar_kind(natural) > _scalar_kind(wanted):
            refuse("XP212", f"{self.name}: {natural} values cannot be a constant of type {wanted}")
        try:
            literal = np.array(value, wanted.dtype)
        except OverflowError:  # raised by NumPy for Python integers
            literal = None
        if literal is None or (wanted.is_integral and not np.array_equal(literal.astype(object), _objects(value))):
            refuse("XP232", f"{self.name}: a constant does not fit into {wanted}: {value!r:.80}")
        return self._instruction("constant", (), {"literal": literal})

    def constant_literal(self, literal: npt.ArrayLike) -> XlaOp:
        """Add an array constant, as :meth:`constant` (XLA's name)."""
        return self.constant(literal)

    def constant_r0(self, value: complex, element_type: Type) -> XlaOp:
        """Add a scalar constant."""
        return self.constant(value, element_type)

    def constant_r1(self, values: Sequence[complex], element_type: Type) -> XlaOp:
        """Add a vector constant."""
        return self.constant(values, element_type)

    def zero(self, element_type: Type) -> XlaOp:
        """Add a scalar 0."""
        return self.constant(0, element_type)

    def one(self, element_type: Type) -> XlaOp:
        """Add a scalar 1."""
        return self.constant(1, element_type)

    def min_value(self, element_type: Type) -> XlaOp:
        """Add the smallest value of a real type: minus infinity if it has one."""
        return self.constant(_extreme(as_element_type(element_type), smallest=True), element_type)

    def max_value(self, element_type: Type) -> XlaOp:
        """Add the largest value of a real type: infinity if it has one."""
        return self.constant(_extreme(as_element_type(element_type), smallest=False), element_type)

    # -- building

    def build(self, root: XlaOp | None = None, *, replica_count: int = 1, num_partitions: int = 1) -> HloModule:
        """Return the module whose entry computation has these operations; ``root`` is the last one by default.

        Raises one ``HloVerificationError`` with everything that is invalid, including replica groups. You can continue
        with this builder and build again.
        """
        entry = self.build_computation(root)
        counts = {"replica_count": replica_count, "num_partitions": num_partitions}
        for key, count in counts.items():
            if integer(key, count) < 1:
                refuse("XP218", f"{key} has to be positive, not {count}")
        header = {key: count for key, count in counts.items() if count != 1}
        module = HloModule(entry.name, tuple(callees_first(entry)), entry, header)
        verify(module)
        return module

    def build_computation(self, root: XlaOp | None = None) -> Computation:
        """Return the operations so far as a computation that others can call."""
        if not self._instructions:
            refuse("XP232", f"{self.name}: a computation needs at least one operation")
        last = self._instructions[-1] if root is None else self._operand(root).instruction
        built = self._built
        if built is None or built.root is not last or len(built.instructions) != len(self._instructions):
            built = self._built = Computation(legal_name(self.name), tuple(self._instructions), last)
        return built

    def _instruction(
        self,
        opcode: str,
        operands: Sequence[XlaOp],
        attributes: Mapping[str, Any],
        declared: Shape | None = None,
        name: str = "",
    ) -> XlaOp:
        """Add an instruction; its shape is inferred, or ``declared`` if the rules leave it open."""
        shape = infer_shape(opcode, [operand.shape for operand in operands], attributes, declared=declared)
        if shape is not None and declared is not None:
            require_declared(opcode, shape, declared)
        shape = declared if declared is not None else shape
        assert shape is not None, f"{opcode} has no rule for its shape"
        for part in array_parts(shape):
            if min(part.dimensions, default=0) < 0:
                refuse("XP218", f"{opcode}: sizes cannot be negative: {sizes_text(part.dimensions)}")
        instruction = Instruction(
            fresh_name(legal_name(name or f"{opcode}.{next(self._counter)}"), self._names),
            opcode,
            shape,
            tuple(operand.instruction for operand in operands),
            {key: value for key, value in attributes.items() if value is not None},
        )
        self._instructions.append(instruction)
        return XlaOp(self, instruction)  # type: ignore[arg-type]

    # -- operands

    def _operand(self, value: Operand, like: XlaOp | None = None) -> XlaOp:
        """Return the op for a value. Python numbers take the element type of ``like`` if that loses nothing."""
        if isinstance(value, XlaOp):
            owner: object = value.builder
            if owner is not self:
                refuse(
                    "XP231",
                    f"{value.instruction.name} belongs to the builder {value.builder.name}, not to {self.name}",
                    hint="pass it to the sub-computation as an operand",
                )
            return value
        if like is not None and isinstance(like.shape, ArrayShape) and _is_python(value):
            natural, wanted = _natural_type(value), like.shape.element_type
            if _scalar_kind(natural) > _scalar_kind(wanted) or (natural is PRED) != (wanted is PRED):
                refuse("XP212", f"{self.name}: {value!r} cannot be a constant of type {wanted}")
            return self.constant(value, wanted)
        if isinstance(value, str | bytes | None | dict):
            refuse("XP232", f"{self.name}: {value!r} is neither an operation nor a value for a constant")
        return self.constant(value)

    def _operands(self, values: Operand | Sequence[Operand]) -> list[XlaOp]:
        """Return the ops for one operand or a sequence of operands."""
        if isinstance(values, list | tuple):
            return [self._operand(value) for value in values]
        return [self._operand(values)]

    def _token(self) -> XlaOp:
        """Return the token that orders the next side effect behind the earlier ones."""
        if self._last_token is None:
            self._last_token = self._instruction("after-all", (), {})
        return self._last_token

    # -- sub-computations

    def _callee(self, function: Callee, parameters: Sequence[Shape], role: str) -> Computation:
        """Return the computation of a callee; a Python function is called with one op for each parameter shape."""
        if isinstance(function, Computation):
            return function
        if isinstance(function, HloModule):
            return function.entry
        if isinstance(function, BuilderCore):
            return function.build_computation()
        if not callable(function):
            refuse("XP232", f"{role}: a computation, a builder or a function is wanted, not {function!r}")
        name = getattr(function, "__name__", role)
        inner = type(self)(role if name == "<lambda>" else name)
        called: Callable[..., Any] = function
        if isinstance(getattr(function, "__self__", None), BuilderCore):  # b.max: in the computation's own builder
            called = getattr(inner, name)
        names = zip(parameters, _parameter_names(called), strict=False)
        arguments = [inner.parameter(number, shape, name) for number, (shape, name) in enumerate(names)]
        try:
            inspect.signature(called).bind(*arguments)
        except TypeError as problem:
            refuse("XP217", f"{role}: the function is called with {len(arguments)} arguments: {problem}")
        except ValueError:
            pass  # a built-in without a signature
        result = called(*arguments)
        return inner.build_computation(inner._packed(result))

    def _packed(self, result: Any) -> XlaOp:
        """Return the result of a Python function as one op: a tuple or list becomes a tuple."""
        if isinstance(result, tuple | list):
            parts = [self._packed(part) for part in result]
            return self._instruction("tuple", parts, {}, declared=TupleShape(tuple(part.shape for part in parts)))
        return self._operand(result)


Callee = Computation | HloModule | BuilderCore | Callable[..., Any]
"""A sub-computation: built, of another builder, or a Python function over :class:`~.op.XlaOp`."""


def _parameter_names(function: Callable[..., Any]) -> Iterator[str]:
    """Yield the names of a function's positional parameters, then ``p<number>``."""
    try:
        names = [
            parameter.name
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        names = []
    yield from names
    for number in itertools.count(len(names)):
        yield f"p{number}"


def _objects(value: npt.ArrayLike) -> npt.NDArray[np.object_]:
    return np.asarray(value).astype(object)


def _is_python(value: Any) -> bool:
    """Return whether a value consists of Python numbers, whose type is open: a number, or a list of them."""
    if isinstance(value, list | tuple):
        return all(_is_python(part) for part in value)
    return type(value) in _PYTHON_SCALARS


def _natural_type(value: npt.ArrayLike) -> ElementType:
    """Return the default element type of a constant."""
    array = np.asarray(value)
    return _PYTHON_TYPES[array.dtype.kind] if array.size and _is_python(value) else as_element_type(array.dtype)


def _scalar_kind(element_type: ElementType) -> int:
    return 3 if element_type.is_complex else 2 if element_type.is_floating else 1 if element_type.is_integral else 0


def _extreme(element_type: ElementType, *, smallest: bool) -> Any:
    if element_type is PRED:
        return not smallest
    if element_type.is_complex:
        refuse("XP211", f"{element_type} has no smallest or largest value")
    if element_type.is_integral:
        bits = element_type.bits - element_type.is_signed
        return (-(2**bits) if element_type.is_signed else 0) if smallest else 2**bits - 1
    infinity = np.asarray(-np.inf if smallest else np.inf).astype(element_type.dtype)
    if np.isinf(infinity.astype(np.float64)):
        return infinity
    limits = ml_dtypes.finfo(element_type.dtype)
    return limits.min if smallest else limits.max
