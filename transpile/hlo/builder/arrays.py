"""Operations of the builder that make, move, slice and join arrays.

Source: operation-semantics seed, the sections of the same names.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, overload

from ..attributes import SliceDimension
from ..element_types import S32
from ..shape_rules.common import array_of, dynamic_flags, refuse, shape_text, sizes_text
from ..shapes import ArrayShape, Shape
from .arguments import (
    PaddingConfig,
    PaddingConfigDimension,
    as_shape,
    bind_form,
    expected,
    integer,
    integers,
    is_integer,
)
from .core import BuilderCore, Type, as_array_shape, as_element_type
from .op import Operand, XlaOp

Ints = Sequence[int]
_RESHAPE = (("new_sizes",), ("dimensions", "new_sizes"), ("new_sizes", "dimensions"))
Indices = Sequence[Operand] | XlaOp


class ArrayOperations(BuilderCore):
    # -- shape

    @overload
    def reshape(self, operand: Operand, new_sizes: Ints) -> XlaOp: ...
    @overload
    def reshape(self, operand: Operand, dimensions: Ints, new_sizes: Ints) -> XlaOp: ...
    def reshape(self, operand: Operand, *arguments: Any, **keywords: Any) -> XlaOp:
        """Reshape: ``reshape(operand, new_sizes)`` or ``reshape(operand, dimensions, new_sizes)``.

        ``dimensions`` is the order in which the operand's dimensions are collapsed, slowest first; by default 0, 1, ..
        """
        named = bind_form("reshape", _RESHAPE, arguments, keywords)
        op, new_sizes = self._operand(operand), integers("reshape", named["new_sizes"])
        rank = op.array_shape.rank
        order = integers("reshape", named.get("dimensions", range(rank)))
        if sorted(order) != list(range(rank)):
            text = f"{sizes_text(order)} is not a permutation of the dimensions of {shape_text(op.shape)}"
            refuse("XP215", f"reshape: {text}")
        if order != tuple(range(rank)):
            op = self.transpose(op, order)
        return self._reshaped(op, new_sizes)

    def collapse(self, operand: Operand, dimensions: Ints) -> XlaOp:
        """Merge consecutive dimensions, given in order, into one."""
        op = self._operand(operand)
        sizes, dimensions = op.array_shape.dimensions, integers("collapse", dimensions)
        if len(dimensions) < 2:
            return op
        if list(dimensions) != list(range(dimensions[0], dimensions[0] + len(dimensions))):
            refuse("XP215", f"collapse: {sizes_text(dimensions)} are not consecutive dimensions in order")
        if dimensions[0] < 0 or dimensions[-1] >= len(sizes):
            refuse("XP215", f"collapse: {sizes_text(dimensions)} are not dimensions of {shape_text(op.shape)}")
        first, last = dimensions[0], dimensions[-1]
        return self._reshaped(op, (*sizes[:first], math.prod(sizes[first : last + 1]), *sizes[last + 1 :]))

    def transpose(self, operand: Operand, permutation: Ints) -> XlaOp:
        """Transpose: dimension ``i`` of the result is dimension ``permutation[i]`` of the operand."""
        return self._instruction(
            "transpose", (self._operand(operand),), {"dimensions": integers("transpose", permutation)}
        )

    def rev(self, operand: Operand, dimensions: Ints) -> XlaOp:
        """Reverse the order of elements along the dimensions."""
        return self._instruction("reverse", (self._operand(operand),), {"dimensions": integers("rev", dimensions)})

    def rotate(self, operand: Operand, dimensions: Ints, shifts: Ints) -> XlaOp:
        """Rotate dimensions: element ``shifts[i]`` of ``dimensions[i]`` comes first, and the elements before it
        last.
        """
        along = {"dimensions": integers("rotate", dimensions), "shifts": integers("rotate", shifts)}
        return self._instruction("shuffle", (self._operand(operand),), {"mode": "rotate", **along})

    def broadcast(self, operand: Operand, broadcast_sizes: Ints) -> XlaOp:
        """Repeat the operand along new dimensions on the left."""
        op, broadcast_sizes = self._operand(operand), integers("broadcast", broadcast_sizes)
        shape = op.array_shape
        if any(size < 0 for size in broadcast_sizes):
            refuse("XP218", f"broadcast: sizes cannot be negative: {sizes_text(broadcast_sizes)}")
        count = len(broadcast_sizes)
        flags = (*(False,) * count, *dynamic_flags(shape))
        declared = array_of(shape.element_type, (*broadcast_sizes, *shape.dimensions), flags)
        return self._instruction("broadcast", (op,), {"dimensions": tuple(range(count, count + shape.rank))}, declared)

    def broadcast_in_dim(self, operand: Operand, out_dim_size: Ints, broadcast_dimensions: Ints) -> XlaOp:
        """Broadcast the operand to ``out_dim_size``: dimension ``i`` becomes ``broadcast_dimensions[i]``, 1
        stretches.
        """
        op = self._operand(operand)
        shape = op.array_shape
        name = "broadcast_in_dim"
        out_dim_size, broadcast_dimensions = integers(name, out_dim_size), integers(name, broadcast_dimensions)
        rank = len(out_dim_size)
        if len(broadcast_dimensions) != shape.rank:
            refuse("XP230", f"{name}: {len(broadcast_dimensions)} broadcast_dimensions for {shape_text(shape)}")
        if any(b <= a for a, b in pairwise(broadcast_dimensions)):
            refuse(
                "XP230", f"{name}: broadcast_dimensions {sizes_text(broadcast_dimensions)} must be strictly increasing"
            )
        for source, target in enumerate(broadcast_dimensions):
            if not 0 <= target < rank:
                refuse("XP230", f"{name}: broadcast dimension {target} is not in [0, {rank})")
            if shape.dimensions[source] not in (1, out_dim_size[target]):
                refuse(
                    "XP230",
                    f"{name}: dimension {source} has {shape.dimensions[source]} elements, "
                    f"but result dimension {target} has {out_dim_size[target]}",
                )
        growing = {d for d, t in enumerate(broadcast_dimensions) if shape.dimensions[d] != out_dim_size[t]}
        if growing:
            op = self._reshaped(op, [n for d, n in enumerate(shape.dimensions) if d not in growing])
        flags = [False] * rank
        for source, target in enumerate(broadcast_dimensions):
            flags[target] = dynamic_flags(shape)[source]
        declared = array_of(shape.element_type, out_dim_size, flags)
        targets = tuple(t for d, t in enumerate(broadcast_dimensions) if d not in growing)
        return self._instruction("broadcast", (op,), {"dimensions": targets}, declared)

    # -- joining and cutting

    def concat_in_dim(self, operands: Sequence[Operand], dimension: int) -> XlaOp:
        """Join arrays that differ only in the size of ``dimension``."""
        return self._instruction(
            "concatenate", self._operands(operands), {"dimensions": (integer("concatenate", dimension),)}
        )

    def slice(self, operand: Operand, start_indices: Ints, limit_indices: Ints, strides: Ints | None = None) -> XlaOp:
        """Slice elements ``start, start + stride, .. < limit`` of each dimension; strides are 1 by default."""
        op = self._operand(operand)
        start_indices, limit_indices = integers("slice", start_indices), integers("slice", limit_indices)
        strides = (1,) * len(start_indices) if strides is None else integers("slice", strides)
        if not len(start_indices) == len(limit_indices) == len(strides):
            refuse(
                "XP214", f"slice: {len(start_indices)} starts, {len(limit_indices)} limits and {len(strides)} strides"
            )
        ranges = zip(start_indices, limit_indices, strides, strict=True)
        return self._instruction("slice", (op,), {"slice": tuple(SliceDimension(*part) for part in ranges)})

    def slice_in_dim(self, operand: Operand, start_index: int, limit_index: int, stride: int, dimension: int) -> XlaOp:
        """Slice one dimension, keep the others whole."""
        op = self._operand(operand)
        ranges = [SliceDimension(0, size) for size in op.array_shape.dimensions]
        start_index, limit_index, stride, dimension = integers(
            "slice_in_dim", (start_index, limit_index, stride, dimension)
        )
        if not 0 <= dimension < len(ranges):
            refuse("XP215", f"slice_in_dim: dimension {dimension} is not in [0, {len(ranges)})")
        ranges[dimension] = SliceDimension(start_index, limit_index, stride)
        return self._instruction("slice", (op,), {"slice": tuple(ranges)})

    def dynamic_slice(self, operand: Operand, start_indices: Indices, slice_sizes: Ints) -> XlaOp:
        """Slice ``slice_sizes`` elements from integer starts known at run time, clamped to be in bounds.

        The starts are one scalar per dimension, or a vector.
        """
        op = self._operand(operand)
        operands = (op, *self._starts(op, start_indices))
        return self._instruction(
            "dynamic-slice", operands, {"dynamic_slice_sizes": integers("dynamic-slice", slice_sizes)}
        )

    def dynamic_update_slice(self, operand: Operand, update: Operand, start_indices: Indices) -> XlaOp:
        """Return the operand with ``update`` written at start indices as in :meth:`dynamic_slice`."""
        op = self._operand(operand)
        operands = (op, self._operand(update, like=op), *self._starts(op, start_indices))
        return self._instruction("dynamic-update-slice", operands, {})

    def pad(self, operand: Operand, padding_value: Operand, padding_config: PaddingConfig) -> XlaOp:
        """Put ``padding_value`` between and around the elements; negative edges crop."""
        op = self._operand(operand)
        operands = (op, self._operand(padding_value, like=op))
        config = expected("pad", PaddingConfig, padding_config)
        return self._instruction("pad", operands, {"padding": config.attribute()})

    def pad_in_dim(self, operand: Operand, padding_value: Operand, dimension: int, pad_lo: int, pad_hi: int) -> XlaOp:
        """Pad the edges of one dimension."""
        op = self._operand(operand)
        dimensions = [PaddingConfigDimension()] * op.array_shape.rank
        dimension = integer("pad_in_dim", dimension)
        if not 0 <= dimension < len(dimensions):
            refuse("XP215", f"pad_in_dim: dimension {dimension} is not in [0, {len(dimensions)})")
        dimensions[dimension] = PaddingConfigDimension(pad_lo, pad_hi)
        return self.pad(op, padding_value, PaddingConfig(dimensions))

    # -- making arrays

    @overload
    def iota(self, shape: Shape, iota_dimension: int) -> XlaOp: ...
    @overload
    def iota(self, element_type: Type, size: int) -> XlaOp: ...
    def iota(self, *arguments: Any, **keywords: Any) -> XlaOp:
        """Count 0, 1, .. along a dimension: ``iota(shape, iota_dimension)``, or ``iota(type, size)`` for a vector."""
        has_shape = "shape" in keywords or isinstance(next(iter(arguments), None), Shape)
        form = ("shape", "iota_dimension") if has_shape else ("element_type", "size")
        first, number = bind_form("iota", (form,), arguments, keywords).values()
        declared = first if has_shape else ArrayShape(as_element_type(first), (integer("iota", number),))
        dimension = integer("iota", number) if has_shape else 0
        return self._instruction("iota", (), {"iota_dimension": dimension}, as_shape("iota", declared))

    def copy(self, operand: Operand) -> XlaOp:
        """Copy the operand into a buffer of its own."""
        return self._instruction("copy", (self._operand(operand),), {})

    # -- sizes known at run time

    def get_dimension_size(self, operand: Operand, dimension: int) -> XlaOp:
        """Return the size of a dimension as s32: at run time if it is dynamic."""
        return self._instruction(
            "get-dimension-size", (self._operand(operand),), {"dimensions": (integer("get-dimension-size", dimension),)}
        )

    def set_dimension_size(self, operand: Operand, size: Operand, dimension: int) -> XlaOp:
        """Make a dimension dynamic, with ``size`` (s32) valid elements; the array keeps its bound."""
        op, length = self._operand(operand), self._operand(size)
        dimension = integer("set-dimension-size", dimension)
        return self._instruction("set-dimension-size", (op, length), {"dimensions": (dimension,)})

    def remove_dynamic_dimension(self, operand: Operand, dimension: int) -> XlaOp:
        """Make a dynamic dimension static again, at its bound."""
        op = self._operand(operand)
        shape, dimension = op.array_shape, integer("remove_dynamic_dimension", dimension)
        if not 0 <= dimension < shape.rank:
            refuse("XP215", f"remove_dynamic_dimension: dimension {dimension} is not in [0, {shape.rank})")
        flags = [flag and d != dimension for d, flag in enumerate(dynamic_flags(shape))]
        declared = array_of(shape.element_type, shape.dimensions, flags)
        size = self.constant(shape.dimensions[dimension], S32)
        return self._instruction("set-dimension-size", (op, size), {"dimensions": (dimension,)}, declared)

    def dynamic_reshape(
        self, operand: Operand, dim_sizes: Sequence[Operand], new_size_bounds: Ints, dims_are_dynamic: Sequence[bool]
    ) -> XlaOp:
        """Reshape to sizes (s32) known at run time, within ``new_size_bounds``."""
        op, new_size_bounds = self._operand(operand), integers("dynamic_reshape", new_size_bounds)
        if len(new_size_bounds) != len(dims_are_dynamic):
            refuse("XP214", f"dynamic_reshape: {len(new_size_bounds)} bounds, but {len(dims_are_dynamic)} flags")
        declared = array_of(op.array_shape.element_type, new_size_bounds, dims_are_dynamic)
        return self._instruction("dynamic-reshape", (op, *self._operands(list(dim_sizes))), {}, declared)

    # -- helpers

    def _reshaped(self, op: XlaOp, sizes: Ints) -> XlaOp:
        """Reshape; a dynamic dimension stays dynamic if its size and the elements before it stay the same."""
        shape = op.array_shape
        flags = [False] * len(sizes)
        for d, is_dynamic in enumerate(dynamic_flags(shape)):
            if is_dynamic:
                before = math.prod(shape.dimensions[:d])
                same = [e for e, n in enumerate(sizes) if n == shape.dimensions[d] and math.prod(sizes[:e]) == before]
                if not same:
                    refuse("XP213", f"reshape: dynamic dimension {d} of {shape_text(shape)} is split or merged")
                flags[same[0]] = True
        return self._instruction("reshape", (op,), {}, array_of(shape.element_type, sizes, flags))

    def _starts(self, op: XlaOp, start_indices: Indices) -> list[XlaOp]:
        """Return one scalar start per dimension; a vector of starts, an older form of HLO, is taken apart."""
        if isinstance(start_indices, XlaOp):
            if start_indices.array_shape.dimensions != (op.array_shape.rank,):
                text = f"{shape_text(start_indices.shape)} are not the starts of {shape_text(op.shape)}"
                refuse("XP201", f"dynamic-slice: {text}", hint="one scalar a dimension, or a vector of them")
            return list(self._operand(start_indices))
        scalars = [index for index in start_indices if isinstance(index, XlaOp)]
        like = scalars[0] if scalars else None
        return [self._operand(index, like=like) for index in start_indices]

    def _index(self, op: XlaOp, index: tuple[object, ...]) -> XlaOp:
        """Return ``op[1:3, 0, ..., ::2]``: slices, and integers that remove their dimension; negative ones count from
        the end.
        """
        sizes = as_array_shape("slice", op.shape).dimensions
        dots = [i for i, part in enumerate(index) if part is Ellipsis]
        if len(dots) > 1 or len(index) - len(dots) > len(sizes):
            refuse("XP214", f"slice: {len(index)} indices for {shape_text(op.shape)}")
        at = dots[0] if dots else len(index)
        whole = (slice(None),) * (len(sizes) - len(index) + len(dots))
        parts = (*index[:at], *whole, *index[at + 1 :])
        ranges, kept = [], []
        for dimension, (part, size) in enumerate(zip(parts, sizes, strict=True)):
            if isinstance(part, slice):
                start, limit, stride = part.indices(size)
                if stride < 1:
                    refuse("XP218", f"slice: the stride of dimension {dimension} is {stride}", hint="use rev")
                ranges.append(SliceDimension(start, max(start, limit), stride))
                kept.append(dimension)
            elif is_integer(part) and -size <= part < size:
                start = operator.index(part) % size
                ranges.append(SliceDimension(start, start + 1))
            elif is_integer(part):
                refuse("XP218", f"slice: index {part} of the {size} elements of dimension {dimension}")
            else:
                refuse("XP232", f"slice: {part!r} is not a constant index", hint="use dynamic_slice or gather")
        cut = self._instruction("slice", (op,), {"slice": tuple(ranges)})
        if len(kept) == len(sizes):
            return cut
        return self._reshaped(cut, [cut.array_shape.dimensions[d] for d in kept])
