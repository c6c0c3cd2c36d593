"""Fourier transforms along axes that are cut: tasks read their lines from files."""

from collections.abc import Sequence
from functools import partial
from math import prod

import dask.array as da
import numpy as np

from .tiles_recut import cut_into, recut, whole_along
from .transforms_in_files import by_lines, transform_of_long_lines


def fft_in_chunks(x: da.Array, kind: str, lengths: Sequence[int]) -> da.Array:
    """Return the "fft", "ifft", "rfft" or "irfft" over the last ``len(lengths)`` axes,
    of which any may be cut. The axes are transformed one after the other. The result is
    cut as ``x`` is.

    ``lengths`` are those of the signal.
    """
    first, last = x.ndim - len(lengths), x.ndim - 1
    axes = range(first, last + 1) if kind == "irfft" else range(last, first - 1, -1)
    for axis in axes:
        this = kind if axis == last else kind.replace("r", "")
        x = transform_along(x, axis, this, lengths[axis - first])
    return x


def transform_along(x: da.Array, axis: int, kind: str, n: int) -> da.Array:
    """Return the transform along one axis. If the axis is cut, tasks transform whole
    lines; lines that are longer than a chunk are transformed by parts.
    """
    chunks, complex_type = x.chunks, np.result_type(x.dtype, np.complex64)
    terms, dtype = n, complex_type
    if kind == "rfft":
        terms = n // 2 + 1
    elif kind == "irfft":
        dtype = complex_type.type(0).real.dtype
    sizes = chunks[axis]
    if terms != sum(sizes):
        sizes = cut_into(terms, max(sizes))
    is_cut = len(chunks[axis]) > 1
    room = max(1, prod(map(max, chunks)) * x.dtype.itemsize // complex_type.itemsize)
    if is_cut and n > room:
        return transform_of_long_lines(x, axis, kind, n, sizes, dtype, room)
    letters = "ijklmnopqr"[: x.ndim]
    spectrum: da.Array = da.blockwise(
        partial(by_lines, kind, n, axis),
        letters,
        recut(x, whole_along(chunks, axis, room)) if is_cut else x,
        letters,
        adjust_chunks={letters[axis]: terms},
        meta=np.zeros((0,) * x.ndim, dtype),
    )
    if not is_cut:
        return spectrum
    return recut(spectrum, (*chunks[:axis], sizes, *chunks[axis + 1 :]))
