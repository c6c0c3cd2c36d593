"""Cholesky factors and triangular systems of matrices in square tiles. A task computes
a tile, and reads the tiles that it needs one after the other; tiles lie in files until
all tasks that need them are done.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import dask.array as da
import numpy as np

from .chunked import Chunked
from .chunked_names import name_for
from .chunked_tasks import array_of_tasks
from .linalg import cholesky, triangular_solve
from .precision import working_dtype
from .tiles import block_of
from .tiles_in_files import Stored, in_files


def cholesky_in_chunks(a: Chunked | da.Array, lower: bool = True) -> da.Array:
    """Return ``cholesky`` of matrices that are cut, one column of tiles after the
    other.
    """
    *batch, _, sizes = a.chunks
    tiles, count = tiles_of(a, (*batch, sizes, sizes)), len(sizes)
    name = name_for("cholesky", tiles, lower)
    work = f"{name}-tiles"
    task = partial(factor_tile, lower=lower)
    last_task = partial(result_tile, lower=lower, dtype=tiles.dtype)
    tasks: dict[Any, Any] = {}
    for place in np.ndindex(*tiles.numblocks[:-2]):
        for i, j in np.ndindex(count, count):
            row, column = (i, j) if lower else (j, i)
            found = (work, *place, row, column) if row >= column else None
            last = (work, *place, count - 1, count - 1)
            sides = (sizes[i], sizes[j])
            tasks[name, *place, i, j] = (last_task, found, last, *sides, i == j)
            if found is None:
                continue
            corner = (work, *place, column, column) if row > column else None
            left, above = (
                [(work, *place, k, n) for n in range(column)] for k in (row, column)
            )
            tasks[found] = (task, (tiles.name, *place, i, j), left, above, corner)
    return array_of_tasks(name, tasks, [tiles], tiles.chunks, tiles.dtype)


def factor_tile(
    a: Any,
    left: Sequence[Stored],
    above: Sequence[Stored],
    corner: Stored | None,
    lower: bool,
) -> Stored:
    """Return a tile of a lower factor, from the tile of the matrix, the tiles to the
    left of it, those to the left of the diagonal tile above it, and this diagonal tile
    (None if it is the result).
    """
    tile = block_of(a) if lower else block_of(a).conj().mT
    rest = tile.astype(working_dtype(tile.dtype))
    for one, other in zip(left, above, strict=True):
        rest -= one.read() @ other.read().conj().mT
    if corner is None:
        return Stored(cholesky(rest))
    return Stored(triangular_solve(corner.read(), rest.conj().mT, lower=True).conj().mT)


def result_tile(
    tile: Stored | None,
    last: Stored,
    rows: int,
    columns: int,
    is_corner: bool,
    lower: bool,
    dtype: Any,
) -> np.ndarray:
    """Return a tile of the result: 0 on the other side of the diagonal, else NaN in all
    tiles of a matrix whose ``last`` tile has NaN.
    """
    corner = last.read()
    if tile is None:
        return np.zeros((*corner.shape[:-2], rows, columns), dtype)
    found = tile.read()
    failed = np.isnan(corner).any(axis=(-2, -1))
    found = np.where(failed[..., None, None], corner.dtype.type(np.nan), found)
    found = np.tril(found) if is_corner else found
    return (found if lower else found.conj().mT).astype(dtype, copy=False)


def triangular_solve_in_chunks(
    a: Chunked | da.Array,
    b: Chunked | da.Array,
    lower: bool = False,
    unit_diagonal: bool = False,
) -> da.Array:
    """Return ``triangular_solve`` with matrices that are cut, tile by tile."""
    *batch, _, sizes = a.chunks
    tiles = tiles_of(a, (*batch, sizes, sizes))
    given = tiles_of(b, (*batch, sizes, b.chunks[-1]))
    keywords: dict[str, Any] = {"lower": lower, "unit_diagonal": unit_diagonal}
    task = partial(solution_tile, **keywords)
    order = range(len(sizes)) if lower else range(len(sizes) - 1, -1, -1)
    name = name_for("triangular_solve", tiles, given, keywords)
    work = f"{name}-tiles"
    tasks: dict[Any, Any] = {}
    for *place, i, column in np.ndindex(*given.numblocks):
        known = list(order)[: order.index(i)]
        at = (*place, i, column)
        tasks[work, *at] = (
            task,
            (given.name, *at),
            (tiles.name, *place, i, i),
            [(tiles.name, *place, i, k) for k in known],
            [(work, *place, k, column) for k in known],
        )
        tasks[name, *at] = (partial(read_as, dtype=given.dtype), (work, *at))
    return array_of_tasks(name, tasks, [tiles, given], given.chunks, given.dtype)


def solution_tile(
    b: Any,
    corner: Any,
    factors: Sequence[Any],
    known: Sequence[Stored],
    **keywords: Any,
) -> Stored:
    """Return a tile of the solution, from the tile of the right-hand sides, the
    matrix's tile on the diagonal, and its tiles beside the ``known`` tiles of the
    solution.
    """
    corner, tile = block_of(corner), block_of(b)
    rest = tile.astype(
        np.result_type(working_dtype(corner.dtype), working_dtype(tile.dtype))
    )
    for factor, part in zip(factors, known, strict=True):
        rest -= block_of(factor) @ part.read()
    return Stored(triangular_solve(corner, rest, **keywords))


def read_as(tile: Stored, dtype: Any) -> np.ndarray:
    """Return a tile that lies in a file, in a given type."""
    return tile.read().astype(dtype, copy=False)


def tiles_of(a: Chunked | da.Array, chunks: Any) -> da.Array:
    """Return an array in other chunks, which are in files."""
    if isinstance(a, Chunked):
        return a.recut(chunks).in_files()
    return in_files(a.rechunk(chunks))
