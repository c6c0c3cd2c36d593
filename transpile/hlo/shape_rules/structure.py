"""Shape rules of leaves and of data movement: reshape, slice, pad, dynamic sizes and the rest."""

from __future__ import annotations

import numpy as np

from ..element_types import PRED, S32, from_dtype
from ..shapes import TOKEN, ArrayShape, Shape, TokenShape, TupleShape, compatible
from .common import (
    Operation,
    Rule,
    array_of,
    declared_array,
    dynamic_flags,
    is_scalar,
    refuse,
    require_dimension,
    require_dimensions,
    require_rank,
    require_same_type,
    same_count,
    scalar,
    shape_text,
    sizes_text,
    with_type,
)

_LARGEST_SIZE = 2**31 - 1  # get- and set-dimension-size count in s32


def _parameter(op: Operation) -> None:
    if op["parameter_number"] < 0:
        op.refuse("XP218", f"the number of a parameter cannot be negative: {op['parameter_number']}")


def literal_shape(literal: object) -> Shape:
    """Return the shape of a constant's value: a NumPy array, or a (nested) tuple of them."""
    if literal is None:
        return TOKEN
    if not isinstance(literal, tuple):
        array = np.asarray(literal)
        return array_of(from_dtype(array.dtype), array.shape)
    # The depth is that of the text, which the parser bounds.
    return TupleShape(tuple(literal_shape(part) for part in literal))


def _constant(op: Operation) -> Shape | None:
    literal = op.attributes.get("literal")
    if literal is None:
        if isinstance(op.declared, TokenShape):
            return TOKEN
        refuse("XP202", f"{op.opcode} needs the attribute literal")
    return literal_shape(literal)


def _iota(op: Operation) -> None:
    if op.declared is None:
        return
    declared = declared_array(op)
    assert declared is not None
    if declared.element_type is PRED:
        refuse("XP211", f"{op.opcode} gives numbers, not pred")
    require_rank(op, declared, 1, "the result")
    require_dimension(op, op["iota_dimension"], declared.rank, "iota_dimension")


def _bitcast(op: Operation) -> None:
    """Refuse (XP213) a bitcast that changes the size in bytes, unless layouts may pad it."""
    operand, declared = op.operands[0], op.declared
    if isinstance(operand, ArrayShape) and isinstance(declared, ArrayShape):
        layouts_pad = any(s.layout is not None and (s.layout.tiles or s.is_dynamic) for s in (operand, declared))
        if not layouts_pad and _bits(operand) != _bits(declared):
            op.refuse("XP213", f"{shape_text(operand)} and {shape_text(declared)} do not have the same size in memory")
    elif declared is not None and not compatible(operand, declared):
        op.refuse("XP213", f"{shape_text(operand)} cannot be seen as {shape_text(declared)}")


def _bits(shape: ArrayShape) -> int:
    return shape.size * shape.element_type.bits


def _reshape(op: Operation) -> Shape | None:
    operand, declared = op.array(0), declared_array(op)
    if declared is None:
        return None
    if not same_count(operand, declared):
        op.refuse(
            "XP213", f"{shape_text(operand)} has {operand.size} elements, {shape_text(declared)} has {declared.size}"
        )
    return array_of(operand.element_type, declared.dimensions, declared.dynamic)


def _dynamic_reshape(op: Operation) -> Shape | None:
    declared = declared_array(op)
    for number in range(1, len(op.operands)):
        if not is_scalar(op.operands[number], S32):
            op.refuse("XP213", f"size {number - 1} has to be s32[], not {shape_text(op.operands[number])}")
    if declared is None:
        return None
    if len(op.operands) != declared.rank + 1:
        op.refuse("XP201", f"{declared.rank} result dimensions need as many sizes, not {len(op.operands) - 1}")
    return _reshape(op)


def _broadcast(op: Operation) -> Shape | None:
    operand, declared, dimensions = op.array(0), declared_array(op), op["dimensions"]
    if len(dimensions) != operand.rank:
        op.refuse(
            "XP215",
            f"dimensions {sizes_text(dimensions)} has to name a result dimension "
            f"for each of the {operand.rank} dimensions of {shape_text(operand)}",
        )
    if declared is None:
        return None
    require_dimensions(op, dimensions, declared.rank, "dimensions")
    for source, target in enumerate(dimensions):
        if operand.dimensions[source] != declared.dimensions[target]:
            op.refuse(
                "XP213",
                f"dimension {source} has {operand.dimensions[source]} elements, but result dimension "
                f"{target} has {declared.dimensions[target]}",
                hint="HLO's broadcast does not stretch a 1: reshape it away first",
            )
    return array_of(operand.element_type, declared.dimensions, declared.dynamic)


def _transpose(op: Operation) -> Shape:
    operand, permutation = op.array(0), op["dimensions"]
    if sorted(permutation) != list(range(operand.rank)):
        op.refuse("XP215", f"{sizes_text(permutation)} is not a permutation of the dimensions of {shape_text(operand)}")
    flags = dynamic_flags(operand)
    return array_of(operand.element_type, (operand.dimensions[d] for d in permutation), (flags[d] for d in permutation))


def _reverse(op: Operation) -> Shape:
    operand = op.array(0)
    require_dimensions(op, op["dimensions"], operand.rank, "dimension")
    return operand.without_layout()


def _shuffle(op: Operation) -> Shape:
    operand, shifts = op.array(0), op["shifts"]
    require_dimensions(op, op["dimensions"], operand.rank, "dimension")
    if not shifts or len(shifts) != len(op["dimensions"]):
        op.refuse("XP215", f"a shift is needed for each of one or more dimensions, not {len(shifts)}")
    return operand.without_layout()


def _concatenate(op: Operation) -> Shape:
    operands = op.arrays()
    if len(op["dimensions"]) != 1:
        refuse("XP215", f"{op.opcode} joins along one dimension, not {sizes_text(op['dimensions'])}")
    (dimension,), first = op["dimensions"], operands[0]
    require_dimension(op, dimension, first.rank, "dimension")
    require_same_type(op, operands)
    for other in operands[1:]:
        if other.rank != first.rank or any(
            a != b for d, (a, b) in enumerate(zip(first.dimensions, other.dimensions, strict=True)) if d != dimension
        ):
            op.refuse("XP213", f"{shape_text(first)} and {shape_text(other)} differ outside dimension {dimension}")
    sizes = list(first.dimensions)
    sizes[dimension] = sum(operand.dimensions[dimension] for operand in operands)
    dynamic = [any(flags) for flags in zip(*map(dynamic_flags, operands), strict=True)]
    return array_of(first.element_type, sizes, dynamic)


def _slice(op: Operation) -> Shape:
    operand, parts = op.array(0), op["slice"]
    if len(parts) != operand.rank:
        op.refuse("XP214", f"{len(parts)} ranges for {shape_text(operand)}")
    sizes = []
    for number, (part, size) in enumerate(zip(parts, operand.dimensions, strict=True)):
        if part.stride < 1:
            op.refuse("XP218", f"the stride of dimension {number} is {part.stride}, not positive")
        if not 0 <= part.start <= part.limit <= size:
            op.refuse("XP218", f"[{part.start}:{part.limit}] is not within the {size} elements of dimension {number}")
        sizes.append(-(-(part.limit - part.start) // part.stride))
    dynamic = [flag and size != 1 for flag, size in zip(dynamic_flags(operand), sizes, strict=True)]
    return array_of(operand.element_type, sizes, dynamic)


def _pad(op: Operation) -> Shape:
    operand, value = op.arrays()
    padding = op["padding"]
    if not value.is_scalar:
        op.refuse("XP213", f"the padding value has to be a scalar, not {shape_text(value)}")
    if len(padding) != operand.rank:
        op.refuse("XP214", f"padding for {len(padding)} dimensions of {shape_text(operand)}")
    require_same_type(op, (operand, value), "operand and padding value")
    sizes = []
    for number, (part, size) in enumerate(zip(padding, operand.dimensions, strict=True)):
        if part.interior < 0:
            op.refuse("XP218", f"interior padding cannot be negative: {part.interior}")
        sizes.append(size + part.low + part.high + max(size - 1, 0) * part.interior)
        if sizes[-1] < 0:
            op.refuse("XP218", f"padding gives dimension {number} the negative size {sizes[-1]}")
    return array_of(operand.element_type, sizes, dynamic_flags(operand))


def _require_start_indices(op: Operation, operand: ArrayShape, first: int) -> None:
    """Refuse start indices other than one integer scalar per dimension, all of one type, or the legacy form: one
    vector.
    """
    indices = op.arrays(first)
    for index in indices:
        if not index.element_type.is_integral:
            op.refuse("XP211", f"start indices have to be integers, not {index.element_type}")
    if len(indices) == 1 and indices[0].rank == 1:
        if indices[0].dimensions[0] != operand.rank:
            op.refuse("XP214", f"{shape_text(indices[0])} start indices for {shape_text(operand)}")
        return
    if len(indices) != operand.rank:
        op.refuse("XP201", f"{len(indices)} start indices for {shape_text(operand)}")
    for index in indices:
        if not index.is_scalar:
            op.refuse("XP213", f"start indices have to be scalars, not {shape_text(index)}")
    if indices:
        require_same_type(op, indices, "start indices")


def _dynamic_slice(op: Operation) -> Shape:
    operand, sizes = op.array(0), op["dynamic_slice_sizes"]
    _require_start_indices(op, operand, 1)
    if len(sizes) != operand.rank:
        op.refuse("XP214", f"{len(sizes)} slice sizes for {shape_text(operand)}")
    for number, (wanted, size) in enumerate(zip(sizes, operand.dimensions, strict=True)):
        if not 0 <= wanted <= size:
            op.refuse("XP218", f"a slice of {wanted} from the {size} elements of dimension {number}")
    return array_of(operand.element_type, sizes)


def _dynamic_update_slice(op: Operation) -> Shape:
    operand, update = op.array(0), op.array(1, "the update")
    _require_start_indices(op, operand, 2)
    require_same_type(op, (operand, update), "operand and update")
    if update.rank != operand.rank:
        op.refuse("XP214", f"update {shape_text(update)} and operand {shape_text(operand)} differ in rank")
    for number, (wanted, size) in enumerate(zip(update.dimensions, operand.dimensions, strict=True)):
        if wanted > size:
            op.refuse("XP213", f"an update of {wanted} for the {size} elements of dimension {number}")
    flags = zip(dynamic_flags(operand), dynamic_flags(update), operand.dimensions, update.dimensions, strict=True)
    dynamic = [whole or (part and size == wanted) for whole, part, size, wanted in flags]
    return array_of(operand.element_type, operand.dimensions, dynamic)


def _sized_dimension(op: Operation, operand: ArrayShape) -> int:
    if len(op["dimensions"]) != 1:
        refuse("XP215", f"{op.opcode} looks at one dimension, not {sizes_text(op['dimensions'])}")
    dimension: int = op["dimensions"][0]
    require_dimension(op, dimension, operand.rank, "dimension")
    if operand.dimensions[dimension] > _LARGEST_SIZE:
        op.refuse("XP218", f"the size of dimension {dimension} of {shape_text(operand)} does not fit in s32")
    return dimension


def _get_dimension_size(op: Operation) -> Shape:
    _sized_dimension(op, op.array(0))
    return scalar(S32)


def _set_dimension_size(op: Operation) -> Shape:
    operand, size = op.arrays()
    dimension = _sized_dimension(op, operand)
    if not is_scalar(size, S32):
        op.refuse("XP213", f"the size has to be s32[], not {shape_text(size)}")
    flags = list(dynamic_flags(operand))
    flags[dimension] = True
    return array_of(operand.element_type, operand.dimensions, flags)


def _copy(op: Operation) -> Shape:
    operand = op.operands[0]
    return with_type(operand, operand.element_type) if isinstance(operand, ArrayShape) else operand


RULES: dict[str, Rule] = {
    "parameter": _parameter,
    "constant": _constant,
    "iota": _iota,
    "bitcast": _bitcast,
    "copy": _copy,
    "reshape": _reshape,
    "dynamic-reshape": _dynamic_reshape,
    "broadcast": _broadcast,
    "transpose": _transpose,
    "reverse": _reverse,
    "shuffle": _shuffle,
    "concatenate": _concatenate,
    "slice": _slice,
    "pad": _pad,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _dynamic_update_slice,
    "get-dimension-size": _get_dimension_size,
    "set-dimension-size": _set_dimension_size,
}
