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
