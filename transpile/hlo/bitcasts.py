"""``bitcast``: the effect of reinterpreting a physical buffer on the logical array.

A ``bitcast`` keeps the buffer and reads it under another shape and layout. If both layouts arrange the same digits of
the position, that is a transpose, a reshape, or both. With padding or uneven tiles, the result can only be computed
through the buffer (``from_buffer(to_buffer(array, source), result)``, or the bytes if widths differ).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from operator import mul
from typing import NamedTuple

from ..dataclass import dataclass
from .layouts import check_layout, element_bits, major_to_minor, physical_dimensions, tile_steps
from .shapes import ArrayShape


class BitcastSteps(NamedTuple):
    """``array.transpose(permutation_in).reshape(dimensions).transpose(permutation_out)``, in NumPy's terms.

    A permutation ``(0, 1, ..)`` does nothing, nor do ``dimensions`` equal to the sizes before them.
    """

    permutation_in: tuple[int, ...]
    dimensions: tuple[int, ...]
    permutation_out: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Digit:
    """Part of the index of one dimension: ``index // place_value % size``."""

    dimension: int
    place_value: int
    size: int


def bitcast_as_reshape_transpose(source: ArrayShape, result: ArrayShape) -> BitcastSteps | None:
    """Return a ``bitcast`` between two layouts as transpose, reshape, transpose; ``None`` if that is impossible.

    The steps are the fewest: one transpose or one reshape if that is enough. Unit dimensions cost nothing. ``None``
    means that elements change width, or that padding or tiles mix parts of dimensions in a way that only the buffer
    expresses. Raises ``HloVerificationError`` for a layout that does not fit its shape (see
    :func:`~.layouts.check_layout`).
    """
    check_layout(source)
    check_layout(result)
    if element_bits(source) != element_bits(result) or source.size != result.size:
        return None
    if not source.size:
        return BitcastSteps(_identity(source.rank), result.dimensions, _identity(result.rank))
    drop_out = _tiles_drop_out(source, result)
    sources = _untiled_digits(source) if drop_out else _tiled_digits(source)
    results = _untiled_digits(result) if drop_out else _tiled_digits(result)
    if sources is None or results is None:
        return None
    marks = sorted({*_place_values(sources), *_place_values(results)})
    if all(larger % smaller == 0 for smaller, larger in pairwise(marks)):
        return _arrange(source, result, _cut(sources, marks), _cut(results, marks))
    return _by_physical_order(source, result, sources, results)


def _tiles_drop_out(source: ArrayShape, result: ArrayShape) -> bool:
    """Return whether both sides have the same tiles over the same minor sizes, so that the untiled order decides."""
    left, right = source.layout_or_default, result.layout_or_default
    if left.padded_dimensions or right.padded_dimensions or left.tiles != right.tiles:
        return False
    if not left.tiles:
        return True
    first, other = tile_steps(source)[0], tile_steps(result)[0]
    covered = 2 * len(first.groups)  # axes the first tile leaves: further tiles must not reach beyond them
    return first.groups == other.groups and all(len(tile) <= covered for tile in left.tiles[1:])


# -- digits of the position in the buffer, most significant first


def _untiled_digits(shape: ArrayShape) -> list[_Digit]:
    order = major_to_minor(shape.layout_or_default)
    return [_Digit(d, 1, shape.dimensions[d]) for d in order if shape.dimensions[d] > 1]


def _tiled_digits(shape: ArrayShape) -> list[_Digit] | None:
    """Return the digits in physical order; ``None`` if there is padding or a tile cuts a digit unevenly."""
    if math.prod(physical_dimensions(shape)) != shape.size:
        return None
    axes = [[_Digit(d, 1, shape.dimensions[d])] for d in major_to_minor(shape.layout_or_default)]
    for step in tile_steps(shape):
        covered = sum(map(len, step.groups))
        axes = [[] for _ in range(len(step.leading) + covered - len(axes))] + axes
        leading, rest = axes[: len(step.leading)], axes[len(step.leading) :]
        outer, inner = [], []
        for group, tile in zip(step.groups, step.tile, strict=True):
            merged, rest = [digit for axis in rest[: len(group)] for digit in axis], rest[len(group) :]
            halves = _split(merged, tile)
            if halves is None:
                return None
            outer.append(halves[0])
            inner.append(halves[1])
        axes = leading + outer + inner
    return _coalesced([digit for axis in axes for digit in axis if digit.size > 1])


def _coalesced(digits: Sequence[_Digit]) -> list[_Digit]:
    """Return the digits with adjacent ones of one dimension merged if they are consecutive."""
    result: list[_Digit] = []
    for digit in digits:
        before = result[-1] if result else None
        if before and before.dimension == digit.dimension and before.place_value == digit.place_value * digit.size:
            result[-1] = _Digit(digit.dimension, digit.place_value, before.size * digit.size)
        else:
            result.append(digit)
    return result


def _split(digits: list[_Digit], tile: int) -> tuple[list[_Digit], list[_Digit]] | None:
    """Split an axis into the tile number and the position in the tile; ``None`` if a tile cuts a digit unevenly."""
    outer, inner = list(digits), []
    while tile > 1:
        digit = outer.pop()
        if tile % digit.size == 0:
            inner.append(digit)
            tile //= digit.size
        elif digit.size % tile == 0:
            inner.append(_Digit(digit.dimension, digit.place_value, tile))
            outer.append(_Digit(digit.dimension, digit.place_value * tile, digit.size // tile))
            tile = 1
        else:
            return None
    return outer, inner[::-1]


def _place_values(digits: Sequence[_Digit]) -> list[int]:
    """Return the stride of each digit in the buffer, from 1 up to the size of the whole buffer."""
    return list(accumulate((digit.size for digit in reversed(digits)), mul, initial=1))


def _cut(digits: Sequence[_Digit], marks: Sequence[int]) -> list[_Digit]:
    """Return the digits cut at every place value in ``marks``, each a multiple of the one before."""
    pieces = []
    for digit, worth in zip(reversed(digits), _place_values(digits), strict=False):
        inside = [mark for mark in marks if worth <= mark <= worth * digit.size]
        for low, high in pairwise(inside):
            pieces.append(_Digit(digit.dimension, digit.place_value * low // worth, high // low))
    return pieces[::-1]


# -- from digits to transposes and reshapes


def _arrange(
    source: ArrayShape, result: ArrayShape, sources: Sequence[_Digit], results: Sequence[_Digit]
) -> BitcastSteps | None:
    """Return the cheapest steps through an order of digits in which the dimensions of both sides are whole; ``None`` if
    there is none.
    """
    source_groups, result_groups = _groups(source, sources), _groups(result, results)
    orders = [[i for group in source_groups for i in group], [i for group in result_groups for i in group]]
    if orders[0] == orders[1]:
        return BitcastSteps(_identity(source.rank), result.dimensions, _identity(result.rank))
    found = []
    for order in (*orders, list(range(len(sources)))):
        into, onto = _dimension_order(source_groups, order), _dimension_order(result_groups, order)
        if into is not None and onto is not None:
            found.append(_steps(result, into, onto))
    return min(found, key=lambda steps: _cost(source, steps), default=None)


def _by_physical_order(
    source: ArrayShape, result: ArrayShape, sources: Sequence[_Digit], results: Sequence[_Digit]
) -> BitcastSteps | None:
    """Return the steps through the array in physical order, for sides whose sizes have no common factors; ``None`` if a
    dimension is split.
    """
    into = _dimension_order(_groups(source, sources), range(len(sources)))
    onto = _dimension_order(_groups(result, results), range(len(results)))
    return None if into is None or onto is None else _steps(result, into, onto)


def _groups(shape: ArrayShape, digits: Sequence[_Digit]) -> list[list[int]]:
    """Return for each dimension the positions of its digits in memory, most significant digit first."""
    positions = sorted(range(len(digits)), key=lambda i: -digits[i].place_value)
    return [[i for i in positions if digits[i].dimension == dimension] for dimension in range(shape.rank)]


def _dimension_order(groups: Sequence[Sequence[int]], order: Sequence[int]) -> tuple[int, ...] | None:
    """Return the dimensions in the order of their digits in ``order``; ``None`` if the digits of a dimension are not
    adjacent.

    A unit dimension has no digits and stays behind the dimension before it.
    """
    place = {digit: at for at, digit in enumerate(order)}
    keys, latest = [], -1
    for group in groups:
        at = [place[digit] for digit in group]
        if at and at != list(range(at[0], at[0] + len(at))):
            return None
        latest = at[0] if at else latest
        keys.append(latest)
    return tuple(sorted(range(len(groups)), key=keys.__getitem__))


def _steps(result: ArrayShape, into: tuple[int, ...], onto: tuple[int, ...]) -> BitcastSteps:
    sizes = tuple(result.dimensions[dimension] for dimension in onto)
    return BitcastSteps(into, sizes, tuple(onto.index(dimension) for dimension in range(result.rank)))


def _cost(source: ArrayShape, steps: BitcastSteps) -> int:
    sizes = tuple(source.dimensions[dimension] for dimension in steps.permutation_in)
    return (
        (steps.permutation_in != _identity(source.rank))
        + (steps.dimensions != sizes)
        + (steps.permutation_out != _identity(len(steps.permutation_out)))
    )


def _identity(rank: int) -> tuple[int, ...]:
    return tuple(range(rank))
