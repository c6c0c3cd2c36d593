"""Scatters into blocks as loops of Numba, in the place of the shared prelude's function
of this name.
"""

from typing import Any

import numpy as np

from ...numpy.prelude.scatters import COMBINERS, scatter_by_loops
from ...prelude.indexing import scatter_into
from ...prelude.tiles import TILE_BYTES


def scatter_by_tiles(
    result: np.ndarray, begin: int, indices: Any, values: Any, combine: Any
) -> None:
    """``scatter_into``, a few updates at a time, of rows that stand from ``begin``; of
    numbers that Numba has, one update after the other.
    """
    first, *others = np.broadcast_arrays(*map(np.atleast_1d, indices))
    behind = result.shape[1 + len(others) :]
    values = np.broadcast_to(values, first.shape + behind)
    is_number = result.dtype.kind in "iu" or result.dtype.name.startswith("float")
    has_loops = is_number and result.dtype.itemsize > 2 and combine in COMBINERS
    is_plain = result.flags.c_contiguous and values.dtype == result.dtype
    step = max(1, len(first) * TILE_BYTES // max(1, values.nbytes))
    for start in range(0, len(first), step):
        tile = slice(start, start + step)
        rows = first[tile].astype(np.int64) - begin
        index = (rows, *(i[tile] for i in others))
        if has_loops and is_plain:
            scatter_by_loops(result, index, values[tile], combine)
        else:
            scatter_into(result, index, values[tile], combine)
