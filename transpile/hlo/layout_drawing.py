"""Drawings of how a shape lies in memory: order, tiles, padding, the linear index of each element.

The output of ``xla2py layout SHAPE``: plain text, at most about 100 columns wide.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from .indexing import is_padding, linear_index, multi_index
from .layouts import (
    byte_size,
    check_layout,
    element_bits,
    major_to_minor,
    memory_space_name,
    padded_dimensions,
    physical_dimensions,
    physical_size,
    tile_steps,
    true_rank,
)
from .shapes import ArrayShape, BufferShape, Shape, leaves

DRAWN_PLACES = 512  # larger buffers are described, not drawn
WIDTH = 100
PADDING = "."


def draw_layout(shape: Shape) -> str:
    """Return the layout of a shape as text: a summary, then, for a small array, each element at its position.

    A tuple is drawn part by part. Raises as :func:`~.layouts.check_layout` does.
    """
    parts = []
    for index, part in leaves(shape):
        heading = f"{{{','.join(map(str, index))}}}: {part}" if index else str(part)
        body = part.element if isinstance(part, BufferShape) else part
        lines = _array(body) if isinstance(body, ArrayShape) else ["holds no array"]
        parts.append("\n".join([heading, "", *lines]))
    return "\n\n".join(parts) if parts else f"{shape}\n\nholds no array"


def _array(shape: ArrayShape) -> list[str]:
    check_layout(shape)
    lines = [f"{label:<14}{text}" for label, text in _summary(shape)]
    if not shape.size or physical_size(shape) > DRAWN_PLACES:
        return lines
    grid = _grid(shape)
    return [*lines, "", *grid, "", *_memory(shape)] if grid else lines


def _summary(shape: ArrayShape) -> Iterator[tuple[str, str]]:
    layout = shape.layout_or_default
    bits, places = element_bits(shape), physical_size(shape)
    width = f"{bits // 8} byte{'s' * (bits > 8)}" if bits % 8 == 0 else f"{bits} bit{'s' * (bits > 1)}"
    bound = " (at its bounds)" if shape.is_dynamic else ""
    yield "elements", f"{shape.size:,} of {width}{bound}; rank {shape.rank}, true rank {true_rank(shape)}"
    padding = places - shape.size
    share = f", of which {padding:,} ({padding / places:.1%}) are padding" if padding else ", no padding"
    yield "buffer", f"{places:,} place{'s' * (places != 1)}, {byte_size(shape):,} bytes{share}"
    if shape.rank > 1:
        first, *others = layout.minor_to_major
        yield "order", f"dimension {first} varies fastest, then {', then '.join(map(str, others))}"
    if layout.padded_dimensions:
        yield "padded to", _sizes(padded_dimensions(shape))
    for tile, step in zip(layout.tiles, tile_steps(shape), strict=True):
        text = ",".join("*" if size is None else str(size) for size in tile)
        before, after = _sizes(step.leading + step.merged), _sizes(step.result)
        yield "tile", f"({text}) turns {before} into {after}"
    if layout.tail_padding_alignment_in_elements > 1:
        yield "tail padding", f"to a multiple of {layout.tail_padding_alignment_in_elements} elements"
    yield "memory space", memory_space_name(layout.memory_space)
    yield "linear index", _formula(shape)


def _sizes(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes)) or "a scalar"


def _formula(shape: ArrayShape) -> str:
    """Return the linear index of element ``[i0, i1, ..]`` as an expression."""
    order = major_to_minor(shape.layout_or_default)
    axes = ["0" if shape.dimensions[d] == 1 else f"i{d}" for d in order]
    for step in tile_steps(shape):
        covered = sum(map(len, step.groups))
        axes = ["0"] * (len(step.leading) + covered - len(axes)) + axes
        leading, rest = axes[: len(step.leading)], axes[len(step.leading) :]
        outer, inner = [], []
        for group, tile, size in zip(step.groups, step.tile, step.merged, strict=True):
            merged, rest = _sum(rest[: len(group)], group), rest[len(group) :]
            inside = f"({merged})" if " + " in merged else merged
            zero = merged == "0"
            outer.append("0" if zero or size <= tile else merged if tile == 1 else f"{inside} // {tile}")
            inner.append("0" if zero or tile == 1 else merged if size <= tile else f"{inside} % {tile}")
        axes = leading + outer + inner
    return _sum(axes, physical_dimensions(shape))


def _sum(axes: Sequence[str], sizes: Sequence[int]) -> str:
    terms = []
    for position, axis in enumerate(axes):
        stride = math.prod(sizes[position + 1 :])
        if axis != "0":
            operand = f"({axis})" if " " in axis and stride != 1 else axis
            terms.append(operand if stride == 1 else f"{operand} * {stride}")
    return " + ".join(terms) or "0"


def _grid(shape: ArrayShape) -> list[str]:
    """Return the linear index of each element, one table for each index of the leading dimensions; [] if too wide."""
    *leading, rows, columns = (1, 1, *shape.dimensions)[-max(shape.rank, 2) :]
    indices = list(np.indices(shape.dimensions, sparse=True))
    tables = np.reshape(linear_index(shape, indices), (*leading, rows, columns))
    row_tile, column_tile = _first_tile(shape)
    cell = len(str(physical_size(shape) - 1))
    lines = []
    for index in itertools.product(*map(range, leading)):
        if leading:
            lines += ["", f"[{', '.join(map(str, index))}, :, :]"]
        for row, places in enumerate(tables[index]):
            text = "".join(
                (" |" if column_tile and column and column % column_tile == 0 else "") + f" {place:{cell}}"
                for column, place in enumerate(places)
            )
            if row_tile and row and row % row_tile == 0:
                lines.append("-" * (len(text) + 1))
            lines.append(f" {text}")
    if max(map(len, lines)) > WIDTH:
        return []
    heading = "where each element lies"
    return [f"{heading} ({_sizes(shape.dimensions)})", *([] if leading else [""]), *lines]


def _first_tile(shape: ArrayShape) -> tuple[int | None, int | None]:
    """Return the number of rows and columns of the table that one tile of the first level covers; None for a dimension
    that it merges or does not cut.
    """
    steps = tile_steps(shape)
    extents: dict[int, int] = {}
    if steps and all(len(group) == 1 for group in steps[0].groups):
        tile = dict(zip(shape.layout_or_default.minor_to_major, reversed(steps[0].tile), strict=False))
        extents = {dimension: size for dimension, size in tile.items() if size > 1}
    return extents.get(shape.rank - 2), extents.get(shape.rank - 1)


def _memory(shape: ArrayShape) -> list[str]:
    """Return the contents of the buffer in order: the element at each position, or padding."""
    places = np.arange(physical_size(shape))
    padding = is_padding(shape, places)
    indices = multi_index(shape, places[~padding])
    names = iter(["[" + ",".join(map(str, element)) + "]" for element in zip(*indices, strict=True)] or ["[]"])
    cells = [PADDING if empty else next(names) for empty in padding]
    cell, label = max(map(len, cells)), len(str(len(places) - 1))
    across = physical_dimensions(shape)[-1] if shape.rank else 1
    per_line = _per_line(len(cells), across, (WIDTH - label - 2) // (cell + 1))
    lines = [
        f" {start:{label}} " + " ".join(f"{name:>{cell}}" for name in cells[start : start + per_line])
        for start in range(0, len(cells), per_line)
    ]
    return [f"the buffer, place by place ({PADDING} is padding)", "", *lines]


def _per_line(places: int, across: int, fits: int) -> int:
    """Return the number of positions on a line: whole runs of the most minor axis, if they fit."""
    fits = max(min(fits, 16), 1)
    if across > fits:
        return fits
    return min(places, fits // across * across) if across > 1 else min(places, fits)
