"""Elements by position, with the bounds rules of HLO.

Source: the operation-semantics seed, Gather, DynamicSlice, DynamicUpdateSlice.
"""

from collections.abc import Sequence
from typing import Any

from array_api_compat import array_namespace


def clamped_slices(starts: Sequence[Any], shape: Any, sizes: Sequence[int]) -> Any:
    """Return slices of ``sizes`` from ``starts``, moved so that they fit ``shape``."""
    firsts = [
        min(max(int(start), 0), n - size)
        for start, n, size in zip(starts, shape, sizes, strict=True)
    ]
    return tuple(slice(k, k + size) for k, size in zip(firsts, sizes, strict=True))


def dynamic_slice(x: Any, starts: Sequence[Any], sizes: Sequence[int]) -> Any:
    """Return ``sizes`` elements of ``x`` from ``starts``, which are clamped so that the
    slice fits.
    """
    return x[clamped_slices(starts, x.shape, sizes)]


def dynamic_update_slice(x: Any, update: Any, starts: Sequence[Any]) -> Any:
    """Copy of ``x`` with ``update`` written from ``starts``, which are clamped so that
    the update fits.
    """
    xp = array_namespace(x, update)
    result = xp.asarray(x, copy=True)
    result[clamped_slices(starts, x.shape, update.shape)] = update
    return result


def take_or_fill(x: Any, indices: Any, axis: int = 0, fill: Any = None) -> Any:
    """Return the elements of ``x`` at ``indices`` along ``axis``, and ``fill`` (NaN)
    where an index lies outside; negative indices count from the end.
    """
    xp = array_namespace(x, indices)
    n = x.shape[axis]
    inside = (indices >= -n) & (indices < n)
    places = xp.where(inside, xp.where(indices < 0, indices + n, indices), 0)
    taken = xp.take(x, xp.reshape(places, (-1,)), axis=axis)
    taken = xp.reshape(taken, x.shape[:axis] + indices.shape + x.shape[axis + 1 :])
    mask = xp.reshape(inside, inside.shape + (1,) * (x.ndim - axis - 1))
    return xp.where(mask, taken, xp.nan if fill is None else fill)


def get_or_fill(x: Any, index: tuple[Any, ...], fill: Any = None) -> Any:
    """Return ``x[index]``, element by element, and ``fill`` (NaN) where an index lies
    outside; negative indices count from the end.
    """
    xp = array_namespace(x)
    inside, place = True, 0
    for i, n in zip(index, x.shape, strict=True):
        inside = inside & ((i >= -n) & (i < n))
        place = place * n + xp.astype(xp.where(i < 0, i + n, i), xp.int64)
    place = xp.where(inside, place, 0)
    taken = xp.take(xp.reshape(x, (-1,)), xp.reshape(place, (-1,)), axis=0)
    taken = xp.reshape(taken, place.shape)
    return xp.where(inside, taken, xp.nan if fill is None else fill)


def scatter_at(x: Any, index: Any, values: Any, combine: Any = None) -> Any:
    """Return a copy of ``x`` with ``values`` at ``x[index]``, one after the other,
    combined in by a function if given; values outside are left out.

    ``index`` is an array of integers or a tuple of several, one for each of the first
    axes of ``x``.
    """
    xp = array_namespace(x)
    indices = xp.broadcast_arrays(*(index if isinstance(index, tuple) else (index,)))
    window = x.shape[len(indices) :]
    values = xp.broadcast_to(values, indices[0].shape + window)
    values = xp.reshape(values, (-1, *window))
    result = xp.asarray(x, copy=True)
    places = zip(*(xp.reshape(i, (-1,)) for i in indices), strict=True)
    for k, place in enumerate(places):
        place = tuple(map(int, place))
        if all(0 <= i < n for i, n in zip(place, x.shape, strict=False)):
            value, here = values[k, ...], (*place, ...)
            result[here] = value if combine is None else combine(result[here], value)
    return result
