"""Index arithmetic: multi-index <-> linear index, and array <-> physical buffer, for any dense layout.

The counterpart of XLA's ``IndexUtil``. A multi-index has one index per dimension and is independent of the layout; a
linear index counts elements of the buffer, including padding. Source: "Indexing into arrays" of the shapes-and-layouts
seeds; tiles as in XLA's tiled-layout document.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .element_types import Kind
from .layouts import (
    TileStep,
    byte_size,
    check_layout,
    element_bits,
    major_to_minor,
    padded_dimensions,
    physical_dimensions,
    physical_size,
    tile_steps,
)
from .shapes import ArrayShape
from .source import Diagnostic, XlaToPythonError

LARGEST_BUFFER = 2**32  # bytes; a tile of a few characters can request any size

# The legacy ``padding_value``: XLA's PaddingValue enumeration. The first two leave the value unspecified.
_PADDING_VALUES = {
    "INVALID_PAD": 0.0,
    "UNKNOWN_PAD": 0.0,
    "ZERO_PAD": 0.0,
    "ONE_PAD": 1.0,
    "LOWEST_PAD": -math.inf,
    "HIGHEST_PAD": math.inf,
}

_integer_limits: Callable[[Any], Any] = ml_dtypes.iinfo  # ml_dtypes is not fully typed
_float_limits: Callable[[Any], Any] = ml_dtypes.finfo

Indices = list[Any]  # one int64 array per physical axis


# -- indices


def linear_index(shape: ArrayShape, multi_index: Sequence[ArrayLike]) -> Any:
    """Return the linear index of an element in the buffer of ``shape``.

    ``multi_index`` has one integer, or one integer array, for each dimension; arrays are broadcast together. Returns an
    ``int``, or an int64 array. Raises ``XlaToPythonError`` XP580 for an index outside the shape, and as
    :func:`~.layouts.check_layout` does for a layout without linear indices.
    """
    check_layout(shape)
    if len(multi_index) != shape.rank:
        raise _error("XP580", f"{len(multi_index)} indices for {shape.rank} dimensions", shape)
    indices = [_as_indices(index, shape) for index in multi_index]
    for index, size in zip(indices, shape.dimensions, strict=True):
        if np.any((index < 0) | (index >= size)):
            raise _error("XP580", "an index is out of range", shape)
    axes: Indices = [indices[dimension] for dimension in major_to_minor(shape.layout_or_default)]
    for step in tile_steps(shape):
        axes = _tile_indices(axes, step)
    return _plain(np.asarray(_flatten(axes, physical_dimensions(shape))))


def multi_index(shape: ArrayShape, linear: ArrayLike) -> tuple[Any, ...]:
    """Return the multi-index of the element at a linear index of ``shape``; the inverse of :func:`linear_index`.

    ``linear`` is an integer or an integer array; the result holds ints or int64 arrays. Raises ``XlaToPythonError``
    XP580 for an index outside the buffer, or in the padding (see :func:`is_padding`).
    """
    indices, padding = _resolve(shape, linear)
    if np.any(padding):
        raise _error("XP580", "a linear index lies in the padding", shape)
    return tuple(_plain(index) for index in indices)


def is_padding(shape: ArrayShape, linear: ArrayLike) -> Any:
    """Return whether a linear index of ``shape`` is padding: a ``bool``, or a bool array if ``linear`` is an array."""
    _, padding = _resolve(shape, linear)
    return _plain(padding)


def _resolve(shape: ArrayShape, linear: ArrayLike) -> tuple[list[NDArray[np.int64]], NDArray[np.bool_]]:
    """Return the index in each dimension and whether the linear index is padding; the indices of padding are
    meaningless.
    """
    check_layout(shape)
    places = _as_indices(linear, shape)
    if np.any((places < 0) | (places >= physical_size(shape))):
        raise _error("XP580", "a linear index lies outside the buffer", shape)
    sizes = physical_dimensions(shape)
    padding = places >= math.prod(sizes)
    axes: Indices = _unflatten(np.where(padding, 0, places), sizes)
    for step in reversed(tile_steps(shape)):
        axes, beyond = _untile_indices(axes, step)
        padding = padding | beyond
    order = major_to_minor(shape.layout_or_default)
    axes = axes[len(axes) - shape.rank :]
    indices = [axes[order.index(dimension)] for dimension in range(shape.rank)]
    for index, size in zip(indices, shape.dimensions, strict=True):
        padding = padding | (index >= size)
    return indices, padding


def _tile_indices(axes: Indices, step: TileStep) -> Indices:
    minor = sum(map(len, step.groups))
    axes = [0] * (len(step.leading) + minor - len(axes)) + axes
    leading, rest = axes[: len(step.leading)], axes[len(step.leading) :]
    merged = []
    for group in step.groups:
        merged.append(_flatten(rest[: len(group)], group))
        rest = rest[len(group) :]
    outer = [index // tile for index, tile in zip(merged, step.tile, strict=True)]
    inner = [index % tile for index, tile in zip(merged, step.tile, strict=True)]
    return [*leading, *outer, *inner]


def _untile_indices(axes: Indices, step: TileStep) -> tuple[Indices, Any]:
    axes = axes[len(axes) - len(step.result) :]  # without the 1s that the next tile prepended
    start, groups = len(step.leading), len(step.groups)
    leading, outer, inner = axes[:start], axes[start : start + groups], axes[start + groups :]
    beyond: Any = False
    for index, group, tile, within in zip(outer, step.groups, step.tile, inner, strict=True):
        merged = index * tile + within
        beyond = beyond | (merged >= math.prod(group))
        leading = [*leading, *_unflatten(merged, group)]
    return leading, beyond


def _flatten(axes: Sequence[Any], sizes: Sequence[int]) -> Any:
    place: Any = np.int64(0)
    for index, size in zip(axes, sizes, strict=True):
        place = place * size + index
    return place


def _unflatten(place: Any, sizes: Sequence[int]) -> Indices:
    """Return the index along each axis. The most major one is unbounded, so that padding stays recognisable."""
    axes: Indices = []
    for size in sizes[:0:-1]:
        axes.append(place % max(size, 1))
        place = place // max(size, 1)
    return [place, *axes[::-1]] if sizes else []


def _as_indices(index: ArrayLike, shape: ArrayShape) -> NDArray[np.int64]:
    array = np.asarray(index)
    if array.dtype.kind not in "iu" and array.size:
        raise _error("XP580", f"an index must be an integer, not {array.dtype}", shape)
    if array.dtype == np.uint64 and array.size and array.max() >= 2**63:
        raise _error("XP580", "an index does not fit 64 bits", shape)
    return array.astype(np.int64)


def _plain(array: NDArray[Any]) -> Any:
    return array.item() if array.ndim == 0 else array


# -- buffers


def to_buffer(array: NDArray[Any], shape: ArrayShape) -> NDArray[Any]:
    """Return the elements of ``array`` in memory order, with padding: a rank-1 array.

    ``array`` has the sizes and the dtype of ``shape``. Padding holds the layout's legacy ``padding_value``, else 0.
    Raises ``XlaToPythonError`` XP581 if array and shape disagree, XP582 for a buffer above 4 GiB.
    """
    _check_buffer_size(shape)
    if array.shape != shape.dimensions or array.dtype != shape.element_type.dtype:
        raise _error("XP581", f"the array is {array.dtype}{list(array.shape)}", shape)
    fill = _padding_value(shape)
    array = _grow(array, padded_dimensions(shape), fill).transpose(major_to_minor(shape.layout_or_default))
    for step in tile_steps(shape):
        groups, full = len(step.groups), [n * t for n, t in zip(step.counts, step.tile, strict=True)]
        lead = len(step.leading)
        array = _grow(array.reshape(step.leading + step.merged), (*step.leading, *full), fill)
        pairs = [size for pair in zip(step.counts, step.tile, strict=True) for size in pair]
        array = array.reshape(*step.leading, *pairs)
        end = lead + 2 * groups
        array = array.transpose(*range(lead), *range(lead, end, 2), *range(lead + 1, end, 2))
    return _grow(array.reshape(-1), (physical_size(shape),), fill)


def from_buffer(buffer: NDArray[Any], shape: ArrayShape) -> NDArray[Any]:
    """Return the array whose elements are in ``buffer`` (rank 1, with padding); the inverse of :func:`to_buffer`.

    Raises ``XlaToPythonError`` XP581 if the buffer's length or dtype does not match ``shape``.
    """
    _check_buffer_size(shape)
    if buffer.shape != (physical_size(shape),) or buffer.dtype != shape.element_type.dtype:
        raise _error("XP581", f"the buffer is {buffer.dtype}{list(buffer.shape)}, not [{physical_size(shape)}]", shape)
    sizes = physical_dimensions(shape)
    array = buffer[: math.prod(sizes)]
    for step in reversed(tile_steps(shape)):
        array = array.reshape(step.result)  # drops the 1s that the next tile prepended
        lead, groups = len(step.leading), len(step.groups)
        pairs = [axis for group in range(groups) for axis in (lead + group, lead + groups + group)]
        array = array.transpose(*range(lead), *pairs)
        array = array.reshape(*step.leading, *(n * t for n, t in zip(step.counts, step.tile, strict=True)))
        array = _shrink(array, step.leading + step.merged)
        array = array.reshape(*step.leading, *(size for group in step.groups for size in group))
    order = major_to_minor(shape.layout_or_default)
    padded = padded_dimensions(shape)
    array = array.reshape([padded[dimension] for dimension in order])
    array = array.transpose([order.index(dimension) for dimension in range(shape.rank)])
    return np.ascontiguousarray(_shrink(array, shape.dimensions)).reshape(shape.dimensions)


def to_bytes(array: NDArray[Any], shape: ArrayShape) -> NDArray[np.uint8]:
    """Return the bytes of :func:`to_buffer`, little-endian; elements of ``E(1)``, ``E(2)`` and ``E(4)`` packed low bits
    first.

    A wider ``E(n)`` zero-extends each element. The result has ``byte_size(shape)`` bytes.
    """
    buffer = to_buffer(array, shape)
    bits, width = element_bits(shape), buffer.dtype.itemsize
    raw = np.ascontiguousarray(buffer).view(np.uint8).reshape(-1, width)
    if bits < 8:
        digits = np.unpackbits(raw, axis=1, count=bits, bitorder="little")
        return np.packbits(digits.reshape(-1), bitorder="little")
    return np.pad(raw, [(0, 0), (0, bits // 8 - width)]).reshape(-1)


def from_bytes(data: NDArray[np.uint8], shape: ArrayShape) -> NDArray[Any]:
    """Return the array in the bytes of a buffer; the inverse of :func:`to_bytes`.

    Raises ``XlaToPythonError`` XP581 if ``data`` does not have ``byte_size(shape)`` bytes.
    """
    _check_buffer_size(shape)
    if data.shape != (byte_size(shape),) or data.dtype != np.uint8:
        raise _error("XP581", f"the data is {data.dtype}{list(data.shape)}, not uint8[{byte_size(shape)}]", shape)
    bits, size, dtype = element_bits(shape), physical_size(shape), shape.element_type.dtype
    if bits < 8:
        digits = np.unpackbits(data, count=size * bits, bitorder="little").reshape(size, bits)
        raw = np.packbits(digits, axis=1, bitorder="little")
    else:
        raw = np.ascontiguousarray(data.reshape(size, bits // 8)[:, : dtype.itemsize])
    return from_buffer(raw.reshape(-1).view(dtype), shape)


def _grow(array: NDArray[Any], sizes: Sequence[int], fill: Any) -> NDArray[Any]:
    if array.shape == tuple(sizes):
        return array
    grown = np.full(sizes, fill, array.dtype)
    grown[tuple(slice(size) for size in array.shape)] = array
    return grown


def _shrink(array: NDArray[Any], sizes: Sequence[int]) -> NDArray[Any]:
    return array[tuple(slice(size) for size in sizes)]


def _check_buffer_size(shape: ArrayShape) -> None:
    check_layout(shape)
    if byte_size(shape) > LARGEST_BUFFER:
        raise _error("XP582", f"the buffer would take {byte_size(shape)} bytes", shape)


def _padding_value(shape: ArrayShape) -> Any:
    name = shape.layout_or_default.padding_value or "ZERO_PAD"
    if name not in _PADDING_VALUES:
        raise _error("XP581", f"{name!r} is not a padding value", shape)
    value, dtype = _PADDING_VALUES[name], shape.element_type.dtype
    if math.isfinite(value) or shape.element_type.kind is Kind.PRED:
        return dtype.type(value > 0 if shape.element_type.kind is Kind.PRED else value)
    if shape.element_type.is_integral:
        integers = _integer_limits(dtype)
        return dtype.type(integers.min if value < 0 else integers.max)
    floats = _float_limits(shape.element_type.real.dtype)
    infinite = dtype.type(value)
    return dtype.type(floats.min if value < 0 else floats.max) if np.isnan(infinite) else infinite


def _error(code: str, message: str, shape: ArrayShape) -> XlaToPythonError:
    return XlaToPythonError(Diagnostic(code, f"{shape}: {message}"))
