"""The basis of shape rules: the operation they check, errors, and shared checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NoReturn

import ml_dtypes

from ...dataclass import dataclass
from ..attributes import Window
from ..element_types import ElementType
from ..ir import Computation
from ..opcodes import COMMON_ATTRIBUTES, OPCODES
from ..shapes import ArrayShape, BufferShape, Shape, TupleShape, compatible
from ..source import Diagnostic, HloVerificationError

_LONGEST_SHAPE_TEXT = 160  # characters of a shape in a message


@dataclass(frozen=True, slots=True)
class Operation:
    """An instruction as a rule sees it.

    ``declared`` is the shape in the text, or ``None`` if it is to be inferred. Replica and partition counts are those
    of the module; 1 also means "not known", as in XLA.
    """

    opcode: str
    operands: tuple[Shape, ...]
    attributes: Mapping[str, Any]
    declared: Shape | None = None
    replica_count: int = 1
    num_partitions: int = 1

    def __getitem__(self, attribute: str) -> Any:
        """Return the attribute's value, or its default; refuse (XP202) a missing required attribute."""
        value = self.attributes.get(attribute)
        if value is not None:
            return value
        spec = OPCODES[self.opcode].attributes.get(attribute) or COMMON_ATTRIBUTES[attribute]
        if spec.is_required:
            refuse("XP202", f"{self.opcode} needs the attribute {attribute}")
        return spec.default

    def refuse(self, code: str, message: str, hint: str | None = None) -> NoReturn:
        """Raise the error with the name of this operation and the rule it breaks."""
        refuse(code, f"{self.opcode}: {message}", hint)

    def array(self, index: int, role: str = "") -> ArrayShape:
        """Return operand ``index``; refuse (XP210) one that is not an array."""
        shape = self.operands[index]
        if not isinstance(shape, ArrayShape):
            name = role or f"operand {index}"
            self.refuse("XP210", f"{name} has to be an array, but is {shape_text(shape)}")
        return shape

    def arrays(self, start: int = 0, stop: int | None = None) -> tuple[ArrayShape, ...]:
        """Return operands ``start`` to ``stop``; refuse (XP210) one that is not an array."""
        return tuple(self.array(index) for index in range(*slice(start, stop).indices(len(self.operands))))


Rule = Callable[[Operation], Shape | None]
"""Gives the shape an operation must have, or ``None`` where only the declared shape says it."""


def refuse(code: str, message: str, hint: str | None = None) -> NoReturn:
    raise HloVerificationError(Diagnostic(code, message, hint=hint))


# -- shapes ------------------------------------------------------------------------------------------------------------


def shape_text(shape: Shape) -> str:
    """Return a shape for people: without layouts, cut if it is long, at any nesting depth."""
    parts: list[str] = []
    length = 0
    stack: list[Shape | str] = [shape]
    while stack and length < _LONGEST_SHAPE_TEXT:
        part = stack.pop()
        if isinstance(part, TupleShape):
            stack.append(")")
            for position, element in reversed(list(enumerate(part.elements[:_LONGEST_SHAPE_TEXT]))):
                stack.append(element)
                if position:
                    stack.append(", ")
            part = "("
        text = part if isinstance(part, str) else str(bare(part))
        parts.append(text)
        length += len(text)
    return "".join(parts) + (".." if stack else "")


def bare(shape: Shape) -> Shape:
    """Return a non-tuple shape without its layout."""
    if isinstance(shape, BufferShape):
        return BufferShape(shape.element.without_layout())
    return shape.without_layout() if isinstance(shape, ArrayShape) else shape


def array_parts(shape: Shape) -> Iterator[ArrayShape]:
    """Yield the arrays of a shape, at any depth of a tuple."""
    stack = [shape]
    while stack:
        part = stack.pop()
        if isinstance(part, TupleShape):
            stack.extend(reversed(part.elements))
        elif isinstance(part, ArrayShape):
            yield part


def dynamic_flags(shape: ArrayShape) -> tuple[bool, ...]:
    return shape.dynamic or (False,) * shape.rank


def array_of(element_type: ElementType, dimensions: Iterable[int], dynamic: Iterable[bool] = ()) -> ArrayShape:
    """Return an array shape; flags that are all false are left out, as in :class:`ArrayShape`."""
    flags = tuple(dynamic)
    return ArrayShape(element_type, tuple(dimensions), flags if any(flags) else ())


def with_type(shape: ArrayShape, element_type: ElementType) -> ArrayShape:
    return ArrayShape(element_type, shape.dimensions, shape.dynamic)


def scalar(element_type: ElementType) -> ArrayShape:
    return ArrayShape(element_type, ())


def is_scalar(shape: Shape, element_type: ElementType | None = None) -> bool:
    return (
        isinstance(shape, ArrayShape)
        and not shape.dimensions
        and (element_type is None or shape.element_type is element_type)
    )


def one_or_tuple(shapes: Sequence[Shape]) -> Shape:
    """Return the shape of a variadic operation's result: the one array, or a tuple."""
    return shapes[0] if len(shapes) == 1 else TupleShape(tuple(shapes))


def declared_array(op: Operation) -> ArrayShape | None:
    """Return the declared shape or ``None``; refuse (XP210) one that is not an array."""
    if op.declared is not None and not isinstance(op.declared, ArrayShape):
        refuse("XP210", f"{op.opcode} gives an array, but is declared as {shape_text(op.declared)}")
    return op.declared


def sizes_text(sizes: Iterable[int]) -> str:
    return f"{{{','.join(map(str, sizes))}}}"


# -- element types -----------------------------------------------------------------------------------------------------


def require_type(op: Operation, shape: ArrayShape, allowed: Callable[[ElementType], bool], wanted: str) -> None:
    """Refuse (XP211) an element type that the operation does not allow."""
    if not allowed(shape.element_type):
        refuse("XP211", f"{op.opcode} takes {wanted} elements, not {shape.element_type}")


def require_same_type(op: Operation, shapes: Sequence[ArrayShape], what: str = "operands") -> ElementType:
    """Return the element type of all shapes; refuse (XP212) different types, because HLO never converts implicitly."""
    first = shapes[0].element_type
    for other in shapes[1:]:
        if other.element_type is not first:
            op.refuse(
                "XP212",
                f"the element types of the {what} differ: {first} and {other.element_type}",
                hint="HLO does not convert implicitly: insert a convert",
            )
    return first


def require_same_sizes(op: Operation, shapes: Sequence[ArrayShape], what: str = "operands") -> None:
    """Refuse (XP213) unless all shapes have the same sizes."""
    for other in shapes[1:]:
        if other.dimensions != shapes[0].dimensions:
            op.refuse("XP213", f"the shapes of the {what} differ: {shape_text(shapes[0])} and {shape_text(other)}")


def wider(a: ElementType, b: ElementType) -> ElementType:
    """Return XLA's ``HigherPrecisionType``: complex over real, float over integer, more range, more digits, more
    bits.
    """
    return max(a, b, key=_precision)


def _precision(element_type: ElementType) -> tuple[bool, int, int, int, bool]:
    part = element_type.real
    limits = ml_dtypes.finfo(part.dtype) if part.is_floating else None
    exponent, digits = (limits.maxexp, limits.nmant) if limits else (-1, -1)
    return element_type.is_complex, exponent, digits, part.bits, element_type.is_signed


def accumulated_type(op: Operation, natural: ElementType) -> ElementType:
    """Return the result type of a dot or convolution: the declared one (``preferred_element_type``), if any."""
    declared = declared_array(op)
    if declared is None or declared.element_type is natural:
        return natural
    preferred = declared.element_type
    if not natural.is_floating and preferred.bits < natural.bits:
        op.refuse("XP211", f"the result type {preferred} is narrower than the operands' {natural}")
    return preferred


# -- dimension numbers -------------------------------------------------------------------------------------------------


def require_rank(op: Operation, shape: ArrayShape, at_least: int, role: str) -> None:
    if shape.rank < at_least:
        op.refuse("XP214", f"{role} needs at least {at_least} dimensions, but is {shape_text(shape)}")


def require_dimension(op: Operation, dimension: int, rank: int, what: str) -> None:
    if not 0 <= dimension < rank:
        op.refuse("XP215", f"{what} {dimension} is not in [0, {rank})")


def require_dimensions(
    op: Operation, dimensions: Sequence[int], rank: int, what: str, *, increasing: bool = False
) -> None:
    """Refuse (XP215) dimension numbers that are out of range, repeated or, if asked, not increasing."""
    for dimension in dimensions:
        require_dimension(op, dimension, rank, what)
    if len(set(dimensions)) != len(dimensions):
        op.refuse("XP215", f"{what} {sizes_text(dimensions)} names a dimension twice")
    if increasing and any(b <= a for a, b in pairwise(dimensions)):
        op.refuse("XP215", f"{what} {sizes_text(dimensions)} must be increasing")


# -- windows -----------------------------------------------------------------------------------------------------------


def window_output(op: Operation, shape: ArrayShape, window: Window) -> ArrayShape:
    """Return the number of window positions in each dimension; refuse (XP216) a window that does not fit the shape."""
    if len(window) != shape.rank:
        op.refuse("XP216", f"a window of {len(window)} dimensions over {shape_text(shape)}")
    sizes = []
    for number, (size, dimension) in enumerate(zip(shape.dimensions, window, strict=True)):
        for value, what in (
            (dimension.size, "size"),
            (dimension.stride, "stride"),
            (dimension.base_dilation, "base dilation"),
            (dimension.window_dilation, "window dilation"),
        ):
            if value < 1:
                op.refuse("XP216", f"the window's {what} in dimension {number} is {value}, not positive")
        dilated = 0 if size == 0 else (size - 1) * dimension.base_dilation + 1
        padded = dilated + dimension.padding_low + dimension.padding_high
        if padded < 0:
            op.refuse("XP216", f"padding crops dimension {number} of {size} elements to {padded}")
        sizes.append(dimension.output_size(size))
    return array_of(shape.element_type, sizes, dynamic_flags(shape))


# -- called computations -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Signature:
    """A computation's parameter shapes, by number, and its root's shape."""

    name: str
    parameters: tuple[Shape, ...]
    result: Shape

    def __str__(self) -> str:
        return f"({', '.join(map(shape_text, self.parameters[:8]))}) -> {shape_text(self.result)}"


def signature(computation: Computation) -> Signature:
    found = [i for i in computation.instructions if i.opcode == "parameter"]
    found.sort(key=lambda i: int(i.attributes.get("parameter_number") or 0))
    return Signature(computation.name, tuple(i.shape for i in found), computation.root.shape)


def require_arity(op: Operation, computation: Signature, count: int, role: str) -> None:
    if len(computation.parameters) != count:
        op.refuse(
            "XP217",
            f"{role} {computation.name} has to take {count} parameters, but takes {len(computation.parameters)}",
        )


def require_parameters(op: Operation, computation: Signature, operands: Sequence[Shape], role: str) -> None:
    """Refuse (XP217) a computation that does not take exactly these shapes."""
    require_arity(op, computation, len(operands), role)
    for number, (parameter, operand) in enumerate(zip(computation.parameters, operands, strict=True)):
        if not compatible(parameter, operand):
            op.refuse(
                "XP217",
                f"parameter {number} of {role} {computation.name} is {shape_text(parameter)}, "
                f"but the operand is {shape_text(operand)}",
            )


def require_reducer(
    op: Operation,
    reducer: Signature,
    element_types: Sequence[ElementType],
    initial: Sequence[Shape],
    *,
    any_float_width: bool = False,
) -> tuple[ArrayShape, ...]:
    """Check XLA's reducer signature ``(T0, .., Tn, T0, .., Tn) -> (T0, .., Tn)``; return the accumulators' shapes.

    ``initial`` are the init values' shapes. ``any_float_width`` allows the reducer another float type than the arrays',
    as XLA does for scatter, select-and-scatter and the collectives.
    """
    count = len(element_types)
    require_arity(op, reducer, 2 * count, "the reducer")
    result = reducer.result
    accumulators = result.elements if isinstance(result, TupleShape) else (result,)
    if len(accumulators) != count or not all(is_scalar(a) for a in accumulators):
        wanted = "a scalar" if count == 1 else f"a tuple of {count} scalars"
        op.refuse("XP217", f"the reducer {reducer.name} has to give {wanted}, but is {reducer}")
    for i, (accumulator, element_type) in enumerate(zip(accumulators, element_types, strict=True)):
        expected = scalar(element_type)
        pairs = (
            (reducer.parameters[i], accumulator, False, f"parameter {i}"),
            (initial[i], accumulator, any_float_width, f"init value {i}"),
            (expected, reducer.parameters[count + i], any_float_width, f"operand {i}"),
            (accumulator, reducer.parameters[count + i], any_float_width, f"parameter {count + i}"),
        )
        for actual, wanted_shape, loose, what in pairs:
            if not compatible(actual, wanted_shape, ignore_float_width=loose):
                op.refuse("XP217", f"{what} ({shape_text(actual)}) does not fit the reducer {reducer.name}: {reducer}")
    return tuple(a for a in accumulators if isinstance(a, ArrayShape))


def same_count(a: ArrayShape, b: ArrayShape) -> bool:
    """Return whether two shapes have the same number of elements."""
    return math.prod(a.dimensions) == math.prod(b.dimensions)
