"""Fourier transforms of lines that are longer than a chunk.

Sources: D. H. Bailey, FFTs in External or Hierarchical Memory, 1990; L. I. Bluestein, A
Linear Filtering Approach to the Computation of the Discrete Fourier Transform, 1970.
"""

from functools import partial
from itertools import accumulate, pairwise
from math import isqrt, prod
from typing import Any

import dask.array as da
import numpy as np

from .tiles import Tiled
from .tiles_in_files import Stored, in_files
from .tiles_recut import Sizes, cut_into

MOST_UNLIKE = 16  # the ratio, at most, of the two factors of a length


@np.errstate(all="ignore")
def by_lines(kind: str, n: int, axis: int, x: np.ndarray) -> np.ndarray:
    """Return a transform of ``np.fft``, of a few lines at a time: for float32 and
    complex64, NumPy needs four times their memory.
    """
    transform = getattr(np.fft, kind)
    others = [k for k in range(x.ndim) if k != axis]
    if not others:
        return np.asarray(transform(x, n, axis))
    longest = max(others, key=lambda k: x.shape[k])
    of_some = Tiled(lambda lines: transform(lines, n, axis), (longest,), longest)
    return np.asarray(of_some(x))


def transform_of_long_lines(
    x: da.Array, axis: int, kind: str, n: int, sizes: Sizes, dtype: Any, room: int
) -> da.Array:
    """Return the transform along an axis, with chunks of these ``sizes``, by tasks that
    have ``room`` for so many elements.
    """
    x, inverse = da.moveaxis(x, axis, -1), kind in ("ifft", "irfft")
    if kind == "irfft":  # the rest of the spectrum is its mirror image
        x = da.concatenate([x, x[..., (n - 1) // 2 : 0 : -1].conj()], axis=-1)
    rows = next(k for k in range(isqrt(n), 0, -1) if n % k == 0)
    if n // rows <= max(room // 4, MOST_UNLIKE * rows):
        spectrum = in_four_steps(x, (rows, n // rows), inverse, sizes, room)
    else:
        spectrum = by_convolution(x, inverse, sum(sizes), max(1, room // 4))
    letters, meta = "ijklmnopqr"[: x.ndim], np.zeros((0,) * x.ndim, dtype)
    spectrum = da.blockwise(in_type, letters, spectrum, letters, meta=meta, like=meta)
    moved: da.Array = da.moveaxis(spectrum.rechunk({x.ndim - 1: sizes}), -1, axis)
    return moved


def in_four_steps(
    x: da.Array,
    factors: tuple[int, int],
    inverse: bool,
    sizes: Sizes,
    room: int,
) -> da.Array:
    """Return the first terms, in chunks of these ``sizes``, of a transform of as many
    numbers as the ``factors`` [rows, columns] say; ``x`` is continued with 0.

    The numbers form a matrix, row by row. A task transforms some columns and multiplies
    each element by its root of unity, another transforms some rows of the result; the
    terms are its columns, one after the other.
    """
    rows, columns = factors
    kind = "ifft" if inverse else "fft"
    others, run, meta = "ijklmnopqr"[: x.ndim - 1], "x", np.empty(0, object)
    lines = prod(map(max, x.chunks[:-1]))
    width, height = (max(1, room // (lines * n)) for n in factors)
    edges = list(accumulate(x.chunks[-1], initial=0))
    by_columns = da.blockwise(
        partial(transformed_columns, kind, factors, edges, width),
        others + "y",
        in_files(x),
        others + run,
        da.arange(0, columns, width, chunks=1),
        "y",
        align_arrays=False,
        meta=meta,
    )
    by_rows = da.blockwise(
        partial(transformed_rows, kind, height),
        others + "z",
        by_columns,
        others + "y",
        da.arange(0, rows, height, chunks=1),
        "z",
        align_arrays=False,
        meta=meta,
    )
    terms: da.Array = da.blockwise(
        partial(terms_of_rows, list(accumulate(sizes, initial=0))),
        others + run,
        by_rows,
        others + "z",
        da.arange(len(sizes), chunks=1),
        run,
        align_arrays=False,
        adjust_chunks={run: sizes},
        meta=np.zeros((0,) * x.ndim, np.result_type(x.dtype, np.complex64)),
    )
    return terms


@np.errstate(all="ignore")
def transformed_columns(
    kind: str,
    factors: tuple[int, int],
    edges: list[int],
    width: int,
    blocks: list[Stored],
    first: np.ndarray,
) -> Stored:
    """Return some columns, transformed and multiplied by roots of unity; the ``blocks``
    of the rows end at ``edges``.
    """
    rows, columns = factors
    start, stop = first[0], min(first[0] + width, columns)
    shape = (*blocks[0].shape[:-1], rows, stop - start)
    signal = np.zeros(shape, blocks[0].dtype)
    for block, (begin, end) in zip(blocks, pairwise(edges), strict=True):
        numbers = block.array.mapped()  # a few pages of each row, until the next block
        for row in range(begin // columns, -(-end // columns)):
            at = row * columns
            i, j = max(begin, at + start), min(end, at + stop)
            if i < j:
                place = slice(i - at - start, j - at - start)
                signal[..., row, place] = numbers[..., i - begin : j - begin]
    spectrum = by_lines(kind, rows, signal.ndim - 2, signal)
    turn = (2j if kind == "ifft" else -2j) * np.pi / (rows * columns)
    for row in range(rows):
        spectrum[..., row, :] *= np.exp(turn * (row * np.arange(start, stop)))
    return Stored(spectrum)


@np.errstate(all="ignore")
def transformed_rows(
    kind: str, height: int, blocks: list[Stored], first: np.ndarray
) -> Stored:
    """Return some rows of the transformed columns, transformed as well."""
    part = slice(first[0], first[0] + height)
    rows = np.concatenate([block.array[..., part, :] for block in blocks], -1)
    return Stored(by_lines(kind, rows.shape[-1], rows.ndim - 1, rows))


@np.errstate(all="ignore")
def terms_of_rows(
    edges: list[int], blocks: list[Stored], number: np.ndarray
) -> np.ndarray:
    """Return a chunk of the terms, which are the columns of the transformed rows."""
    rows = sum(block.shape[-2] for block in blocks)
    start, stop = edges[number[0]], edges[number[0] + 1]
    first = start // rows
    part = slice(first, -(-stop // rows))
    columns = np.concatenate([block.array[..., part] for block in blocks], -2)
    terms = columns.mT.reshape(*columns.shape[:-2], -1)
    return terms[..., start - first * rows : stop - first * rows]


def by_convolution(x: da.Array, inverse: bool, count: int, room: int) -> da.Array:
    """Return the first ``count`` terms of a transform of any length. With jk = (j^2 +
    k^2 - (k - j)^2) / 2 it is a convolution with chirps, in complex128.
    """
    n, side = x.shape[-1], isqrt(2 * x.shape[-1] - 2) + 1
    size = side * side  # has room for distances from 1 - n to n - 1
    chirp = partial(chirp_at, n, inverse)
    answer = partial(chirp_around, n, inverse, size)
    of_signal, of_terms, longer = (cut_into(k, room) for k in (n, count, size))
    chirped, last = (
        da.arange(sum(c), chunks=(c,)).map_blocks(chirp, meta=np.empty(0, complex))
        for c in (of_signal, of_terms)
    )
    kernel = da.arange(size, chunks=(longer,))
    kernel = kernel.map_blocks(answer, meta=np.empty(0, complex))
    signals = (x.rechunk({x.ndim - 1: of_signal}) * chirped, kernel)
    one, other = (in_four_steps(y, (side, side), False, longer, room) for y in signals)
    found = in_four_steps(one * other, (side, side), True, of_terms, room)
    terms: da.Array = found * last / n if inverse else found * last
    return terms


def chirp_at(n: int, inverse: bool, places: np.ndarray) -> np.ndarray:
    """Return exp(-i pi k^2 / n) at a run of ``places`` k, conjugated for an
    ``inverse``.
    """
    first = int(places[0])
    beyond = places - first  # so that no product is too large for an integer
    turns = first * first % (2 * n) + 2 * first % (2 * n) * beyond + beyond * beyond
    chirp: np.ndarray = np.exp((1j if inverse else -1j) * np.pi / n * (turns % (2 * n)))
    return chirp


def chirp_around(n: int, inverse: bool, size: int, places: np.ndarray) -> np.ndarray:
    """Return the reciprocal of the chirp on both sides of 0 in a ring of ``size``
    places.
    """
    away = np.minimum(places, size - places)
    return np.where(away < n, chirp_at(n, not inverse, away), 0)


def in_type(x: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return the numbers in the type of others, their real parts if that is a real
    type.
    """
    if like.dtype.kind == "c":
        return x.astype(like.dtype, copy=False)
    return x.real.astype(like.dtype)
