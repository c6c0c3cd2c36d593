"""Shapes and layouts, as in the shapes-and-layouts seeds.

A shape has the element type and sizes of a value; its layout is its arrangement in memory. Values and NumPy code depend
on the layout in one place only: ``bitcast``, which reinterprets the physical buffer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from ..dataclass import dataclass
from .element_types import ElementType

UNBOUNDED = -1  # the size of a dimension written ``?``


@dataclass(frozen=True, slots=True)
class Layout:
    """The arrangement of an array in memory.

    ``minor_to_major[0]`` is the fastest-varying dimension. ``tiles`` are applied left to right; a tile size of ``None``
    is ``*`` (the whole dimension is merged into the next). Everything else is kept as read.
    """

    minor_to_major: tuple[int, ...]
    tiles: tuple[tuple[int | None, ...], ...] = ()
    tail_padding_alignment_in_elements: int = 1  # L(n)
    element_size_in_bits: int = 0  # E(n); 0: the type's own width
    memory_space: int = 0  # S(n)
    dim_level_types: tuple[str, ...] = ()  # D(D,C~+)
    index_primitive_type: str | None = None  # #(u32)
    pointer_primitive_type: str | None = None  # *(u32)
    split_configs: tuple[tuple[int, tuple[int, ...]], ...] = ()  # SC(dimension:index,..)
    physical_shape: Shape | None = None  # P(..)
    dynamic_shape_metadata_prefix_bytes: int = 0  # M(n)
    padded_dimensions: tuple[int, ...] = ()  # legacy: size of each dimension with its padding
    padding_value: str | None = None  # legacy

    @staticmethod
    @lru_cache(64)
    def default(rank: int) -> Layout:
        """Return the layout from major to minor: ``{rank-1, .., 0}``, NumPy's C order."""
        return Layout(tuple(range(rank - 1, -1, -1)))

    @property
    def is_default(self) -> bool:
        return self == Layout.default(len(self.minor_to_major))

    def __str__(self) -> str:
        return layout_text(self)


@dataclass(frozen=True, slots=True)
class Shape:
    """The base class of shapes. ``==`` compares layouts, too; :func:`compatible` ignores them."""


@dataclass(frozen=True, slots=True)
class ArrayShape(Shape):
    """``f32[4,<=8]{1,0}``: element type, sizes (upper bounds if dynamic), which sizes are dynamic, layout.

    ``dynamic`` is either empty (all static) or has one flag per dimension.
    """

    element_type: ElementType
    dimensions: tuple[int, ...]
    dynamic: tuple[bool, ...] = ()
    layout: Layout | None = None

    @property
    def rank(self) -> int:
        return len(self.dimensions)

    @property
    def size(self) -> int:
        """The number of elements (of the bound, if dynamic)."""
        return math.prod(self.dimensions)

    @property
    def is_scalar(self) -> bool:
        return not self.dimensions

    @property
    def is_dynamic(self) -> bool:
        return any(self.dynamic) or UNBOUNDED in self.dimensions

    @property
    def layout_or_default(self) -> Layout:
        return self.layout if self.layout is not None else Layout.default(self.rank)

    def without_layout(self) -> ArrayShape:
        return self if self.layout is None else replace(self, layout=None)

    def __str__(self) -> str:
        return _array_text(self)


@dataclass(frozen=True, slots=True)
class TupleShape(Shape):
    """``(f32[2], s32[])``."""

    elements: tuple[Shape, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.elements))})"


@dataclass(frozen=True, slots=True)
class TokenShape(Shape):
    """``token[]``: orders side effects, carries no data."""

    def __str__(self) -> str:
        return "token[]"


@dataclass(frozen=True, slots=True)
class OpaqueShape(Shape):
    """``opaque[]``."""

    def __str__(self) -> str:
        return "opaque[]"


@dataclass(frozen=True, slots=True)
class BufferShape(Shape):
    """``b(f32[8])``: a mutable buffer holding an array."""

    element: ArrayShape

    def __str__(self) -> str:
        return f"b({self.element})"


TOKEN = TokenShape()


def leaves(shape: Shape) -> Iterator[tuple[tuple[int, ...], Shape]]:
    """Yield the non-tuple parts of a shape with their tuple index, in order, without recursion."""
    stack: list[tuple[tuple[int, ...], Shape]] = [((), shape)]
    while stack:
        index, part = stack.pop()
        if isinstance(part, TupleShape):
            stack.extend(((*index, i), part.elements[i]) for i in range(len(part.elements) - 1, -1, -1))
        else:
            yield index, part


def without_layouts(shape: Shape) -> Shape:
    """Return the shape without any layout."""
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(map(without_layouts, shape.elements)))
    return shape.without_layout() if isinstance(shape, ArrayShape) else shape


def compatible(a: Shape, b: Shape, *, ignore_float_width: bool = False) -> bool:
    """Return whether shapes are equal apart from layouts and which sizes are dynamic, at any depth of a tuple (XLA's
    ``Compatible``).

    A size written ``?`` is compatible with any other.
    """
    pairs = [(a, b)]
    while pairs:
        left, right = pairs.pop()
        if left is right:
            continue
        if isinstance(left, TupleShape) and isinstance(right, TupleShape):
            if len(left.elements) != len(right.elements):
                return False
            pairs.extend(zip(left.elements, right.elements, strict=True))
        elif isinstance(left, BufferShape) and isinstance(right, BufferShape):
            pairs.append((left.element, right.element))
        elif isinstance(left, ArrayShape) and isinstance(right, ArrayShape):
            if not _compatible_arrays(left, right, ignore_float_width):
                return False
        elif type(left) is not type(right):
            return False
    return True


def _compatible_arrays(a: ArrayShape, b: ArrayShape, ignore_float_width: bool) -> bool:
    if a.element_type is not b.element_type and not (
        ignore_float_width and a.element_type.is_floating and b.element_type.is_floating
    ):
        return False
    if a.dimensions == b.dimensions:
        return True
    return a.rank == b.rank and all(
        x == y or UNBOUNDED in (x, y) for x, y in zip(a.dimensions, b.dimensions, strict=True)
    )


def dimension_texts(shape: ArrayShape) -> list[str]:
    """Return each size in HLO's notation: ``4``, ``<=4`` or ``?``."""
    dynamic = shape.dynamic or (False,) * shape.rank
    return [
        "?" if size == UNBOUNDED else f"<={size}" if is_dynamic else str(size)
        for size, is_dynamic in zip(shape.dimensions, dynamic, strict=True)
    ]


def _array_text(shape: ArrayShape) -> str:
    text = f"{shape.element_type.name}[{','.join(dimension_texts(shape))}]"
    return text if shape.layout is None else text + layout_text(shape.layout)


def layout_text(layout: Layout) -> str:
    """Return ``{1,0:T(8,128)(2,1)S(1)}``; the empty string for a scalar's default layout."""
    parts = []
    if layout.dim_level_types:
        parts.append(f"D({','.join(layout.dim_level_types)})")
    if layout.tiles:
        tiles = "".join(f"({','.join('*' if n is None else str(n) for n in tile)})" for tile in layout.tiles)
        parts.append(f"T{tiles}")
    if layout.tail_padding_alignment_in_elements != 1:
        parts.append(f"L({layout.tail_padding_alignment_in_elements})")
    if layout.index_primitive_type:
        parts.append(f"#({layout.index_primitive_type})")
    if layout.pointer_primitive_type:
        parts.append(f"*({layout.pointer_primitive_type})")
    if layout.element_size_in_bits:
        parts.append(f"E({layout.element_size_in_bits})")
    if layout.memory_space:
        parts.append(f"S({layout.memory_space})")
    if layout.split_configs:
        configs = "".join(f"({dim}:{','.join(map(str, indices))})" for dim, indices in layout.split_configs)
        parts.append(f"SC{configs}")
    if layout.physical_shape is not None:
        parts.append(f"P({layout.physical_shape})")
    if layout.dynamic_shape_metadata_prefix_bytes:
        parts.append(f"M({layout.dynamic_shape_metadata_prefix_bytes})")
    if layout.padded_dimensions:
        parts.append(f"padded_dimensions({','.join(map(str, layout.padded_dimensions))})")
    if layout.padding_value:
        parts.append(f"padding_value({layout.padding_value})")
    order = ",".join(map(str, layout.minor_to_major))
    if not order and not parts:
        return ""
    return f"{{{order}{':' + ''.join(parts) if parts else ''}}}"
