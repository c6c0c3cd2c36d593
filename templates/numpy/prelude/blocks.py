"""Large arrays a block at a time, so that what lies between stays in the cache."""

from collections.abc import Callable

import numpy as np

BLOCK = 1 << 14  # elements


def in_blocks(
    function: Callable[[np.ndarray], np.ndarray], x: np.ndarray
) -> np.ndarray:
    """``function(x)`` of single elements, which is given no more of them at a time than
    the cache holds.
    """
    flat = x.reshape(-1)
    result = np.empty_like(flat)
    for start in range(0, flat.size, BLOCK):
        block = slice(start, start + BLOCK)
        result[block] = function(flat[block])
    return result.reshape(x.shape)


def rows_in_blocks(
    function: Callable[[np.ndarray], np.ndarray], x: np.ndarray
) -> np.ndarray:
    """``function(x)`` of single rows along the last axis, which is given no more of
    them at a time than the cache holds.
    """
    rows = x.reshape(-1, x.shape[-1])
    result = np.empty_like(rows)
    step = max(1, BLOCK // x.shape[-1])
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        result[block] = function(rows[block])
    return result.reshape(x.shape)
