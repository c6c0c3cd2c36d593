"""Layouts: the order, tiles and padding that place an array in linear memory.

The counterparts of XLA's ``LayoutUtil`` and ``ShapeUtil``. A layout is resolved in three steps: order the dimensions
from major to minor, widen them to the legacy ``padded_dimensions``, then apply each tile to the minor dimensions.
Source: the shapes-and-layouts seeds; tiles as in XLA's tiled-layout document. Linear indices and buffers are in
:mod:`.indexing`, ``bitcast`` in :mod:`.bitcasts`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence

from numpy.typing import DTypeLike

from ..dataclass import dataclass
from .element_types import PRED, ElementType, find_element_type
from .shapes import ArrayShape, Layout
from .source import Diagnostic, HloVerificationError, UnsupportedError

LARGEST_INDEX = 2**63 - 1  # XLA's indices are int64

MEMORY_SPACES = {0: "high-bandwidth memory (HBM)", 1: "vector memory (VMEM)", 5: "host memory"}


@dataclass(frozen=True, slots=True)
class TileStep:
    """One tile, resolved against the sizes it covers.

    ``leading`` major axes stay as they are. ``groups`` holds, for each size in ``tile``, the sizes that ``*`` merges
    into that one axis (a single size if nothing is merged). The result has the leading axes, the number of tiles of
    every group, then the tile itself.
    """

    leading: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    tile: tuple[int, ...]

    @property
    def merged(self) -> tuple[int, ...]:
        """The size of every group before it is cut into tiles."""
        return tuple(math.prod(group) for group in self.groups)

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of tiles that cover each group; the last tile may be partly padding."""
        return tuple(-(-size // tile) for size, tile in zip(self.merged, self.tile, strict=True))

    @property
    def result(self) -> tuple[int, ...]:
        return self.leading + self.counts + self.tile


def make_shape(
    element_type: ElementType | DTypeLike, dimensions: Iterable[int], minor_to_major: Iterable[int] | None = None
) -> ArrayShape:
    """Return an array shape with a layout, by default major to minor (``ShapeUtil::MakeShape``).

    ``element_type`` may be a name or a NumPy dtype. ``make_shape("f32", [2, 3], [0, 1])`` is column-major
    ``f32[2,3]{0,1}``. Raises ``HloVerificationError`` XP280 if ``minor_to_major`` is not a permutation, XP283 for an
    unknown element type or a negative size.
    """
    try:
        element_type = find_element_type(element_type)
    except ValueError as error:
        raise _error("XP283", str(error)) from None
    try:
        sizes = tuple(operator.index(size) for size in dimensions)
    except TypeError:
        raise _error("XP283", f"sizes have to be a sequence of integers, not {dimensions!r}") from None
    if any(size < 0 for size in sizes):
        raise _error("XP283", f"sizes must not be negative: {list(sizes)}")
    layout = Layout.default(len(sizes)) if minor_to_major is None else Layout(tuple(minor_to_major))
    shape = ArrayShape(element_type, sizes, layout=layout)
    check_layout(shape)
    return shape


def check_layout(shape: ArrayShape) -> None:
    """Raise ``HloVerificationError`` XP280 if the layout of a shape does not fit the shape.

    Raises XP281 if a linear index would not fit int64, and ``UnsupportedError`` XP380 if the shape has no linear index
    at all: an unbounded size, or a sparse dimension level.
    """
    layout = shape.layout_or_default
    order = layout.minor_to_major
    if sorted(order) != list(range(shape.rank)):
        raise _error("XP280", f"minor_to_major {list(order)} is not an order of {shape.rank} dimensions", shape)
    if any(size is not None and size < 1 for tile in layout.tiles for size in tile) or () in layout.tiles:
        raise _error("XP280", "every size of a tile must be positive", shape)
    if layout.tail_padding_alignment_in_elements < 1:
        raise _error("XP280", "tail_padding_alignment_in_elements must be positive", shape)
    if layout.padded_dimensions:
        if len(layout.padded_dimensions) != shape.rank:
            raise _error("XP280", f"padded_dimensions needs one size for each of {shape.rank} dimensions", shape)
        if any(padded < size for padded, size in zip(layout.padded_dimensions, shape.dimensions, strict=True)):
            raise _error("XP280", "padded_dimensions must not be smaller than the dimensions", shape)
    _check_dense(shape)
    _check_element_size(shape)
    if physical_size(shape) * element_bits(shape) > LARGEST_INDEX:
        raise _error("XP281", "the linear index of an element would not fit 64 bits", shape)


def _check_dense(shape: ArrayShape) -> None:
    levels = shape.layout_or_default.dim_level_types
    if any(level.rstrip("+~") != "D" for level in levels):
        raise UnsupportedError(Diagnostic("XP380", f"{shape}: a sparse dimension level has no linear index"))
    if any(size < 0 for size in shape.dimensions):
        raise UnsupportedError(Diagnostic("XP380", f"{shape}: an unbounded dimension has no linear index"))


def _check_element_size(shape: ArrayShape) -> None:
    bits = shape.layout_or_default.element_size_in_bits
    if not bits:
        return
    needed = 1 if shape.element_type == PRED else shape.element_type.bits
    if bits < needed or (bits not in (1, 2, 4) and bits % 8):
        raise _error("XP280", f"an element of {shape.element_type} cannot be stored in {bits} bits", shape)


# -- dimensions


def dimension_number(shape: ArrayShape, dimension: int) -> int:
    """Return a dimension number counted from 0; a negative one counts from the end (-1 is the last), as in Python.

    Raises ``HloVerificationError`` XP282 if there is no such dimension.
    """
    if not -shape.rank <= dimension < shape.rank:
        raise _error("XP282", f"there is no dimension {dimension}", shape)
    return dimension % shape.rank


def dimension_size(shape: ArrayShape, dimension: int) -> int:
    """Return the size of a dimension, which may be counted from the end (``ShapeUtil::GetDimension``)."""
    return shape.dimensions[dimension_number(shape, dimension)]


def true_rank(shape: ArrayShape) -> int:
    """Return the number of dimensions larger than 1."""
    return sum(size > 1 for size in shape.dimensions)


def major_to_minor(layout: Layout) -> tuple[int, ...]:
    """Return the dimension numbers from slowest- to fastest-varying."""
    return layout.minor_to_major[::-1]


def is_major_to_minor(layout: Layout) -> bool:
    """Return whether dimension 0 is the most major, then 1, ..: row-major, "dim 0 is major". Tiles do not matter."""
    return list(layout.minor_to_major) == sorted(layout.minor_to_major, reverse=True)


def is_minor_to_major(layout: Layout) -> bool:
    """Return whether dimension 0 is the most minor, then 1, ..: column-major, "dim 0 is minor". Tiles do not matter."""
    return list(layout.minor_to_major) == sorted(layout.minor_to_major)


def memory_space_name(memory_space: int) -> str:
    """Return the name of memory space ``S(n)``: 0, the default, is HBM, 1 VMEM, 5 the host; others are
    device-specific.
    """
    return MEMORY_SPACES.get(memory_space, f"device-specific memory space {memory_space}")


# -- sizes


def padded_dimensions(shape: ArrayShape) -> tuple[int, ...]:
    """Return the size of each dimension before tiling: its own, or the legacy ``padded_dimensions``."""
    return shape.layout_or_default.padded_dimensions or shape.dimensions


def tile_steps(shape: ArrayShape) -> list[TileStep]:
    """Return the tiles of a layout, each resolved against the axes that the previous one leaves."""
    layout = shape.layout_or_default
    sizes = [padded_dimensions(shape)[dimension] for dimension in major_to_minor(layout)]
    steps = []
    for tile in layout.tiles:
        sizes = [1] * (len(tile) - len(sizes)) + sizes
        step = _tile_step(sizes, tile)
        sizes = list(step.result)
        steps.append(step)
    return steps


def _tile_step(sizes: Sequence[int], tile: tuple[int | None, ...]) -> TileStep:
    leading = len(sizes) - len(tile)
    groups: list[tuple[int, ...]] = []
    tile_sizes: list[int] = []
    open_group: tuple[int, ...] = ()
    for size, tile_size in zip(sizes[leading:], tile, strict=True):
        open_group += (size,)
        if tile_size is not None:
            groups.append(open_group)
            tile_sizes.append(tile_size)
            open_group = ()
    if open_group:  # `*` on the most minor dimension: merged with nothing and not cut
        groups.append(open_group)
        tile_sizes.append(1)
    return TileStep(tuple(sizes[:leading]), tuple(groups), tuple(tile_sizes))


def physical_dimensions(shape: ArrayShape) -> tuple[int, ...]:
    """Return the sizes of the array in memory, major to minor, after padding and tiling.

    ``f32[3,5]{1,0:T(2,2)}`` gives ``(2, 3, 2, 2)``: two by three tiles of two by two. Tail padding is not included.
    """
    steps = tile_steps(shape)
    if steps:
        return steps[-1].result
    sizes = padded_dimensions(shape)
    return tuple(sizes[dimension] for dimension in major_to_minor(shape.layout_or_default))


def physical_size(shape: ArrayShape) -> int:
    """Return the number of elements of the buffer of a shape, including padding and tail padding."""
    size = math.prod(physical_dimensions(shape))
    alignment = shape.layout_or_default.tail_padding_alignment_in_elements
    return -(-size // alignment) * alignment


def element_bits(shape: ArrayShape) -> int:
    """Return the bits of one element in memory: ``E(n)``, or the whole bytes of the element type (8 for ``s4``)."""
    return shape.layout_or_default.element_size_in_bits or shape.element_type.dtype.itemsize * 8


def byte_size(shape: ArrayShape) -> int:
    """Return the bytes of the buffer of a shape, with padding (``ShapeUtil::ByteSizeOf``), rounded up to whole
    bytes.
    """
    return -(-physical_size(shape) * element_bits(shape) // 8)


def _error(code: str, message: str, shape: ArrayShape | None = None) -> HloVerificationError:
    return HloVerificationError(Diagnostic(code, message if shape is None else f"{shape}: {message}"))
