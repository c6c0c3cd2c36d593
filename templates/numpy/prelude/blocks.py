"""Large arrays in blocks, so that intermediate results stay in the cache."""

from collections.abc import Callable

import numpy as np

BLOCK = 1 << 14  # elements


def in_blocks(
    function: Callable[[np.ndarray], np.ndarray], x: np.ndarray
) -> np.ndarray:
    """Return ``function(x)`` of an element-wise function, which is called for no more
    elements at a time than the cache holds.
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
    """Return ``function(x)`` of a function of rows along the last axis, which is called
    for no more rows at a time than the cache holds.
    """
    rows = x.reshape(-1, x.shape[-1])
    result = np.empty_like(rows)
    step = max(1, BLOCK // x.shape[-1])
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        result[block] = function(rows[block])
    return result.reshape(x.shape)
