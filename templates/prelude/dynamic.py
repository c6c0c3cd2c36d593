"""Arrays of which only a leading part is valid: dimensions with a bound and a dynamic
size.

The array has the bound's shape and its sizes are separate numbers. Element-wise
operations need no care; operations that mix positions along such an axis crop first and
extend afterwards. Source: the operation-semantics seed, SetDimensionSize and
DynamicReshape.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np


def crop(x: np.ndarray, sizes: Sequence[Any]) -> np.ndarray:
    """Return a view of the valid part of ``x``; a size of None means the whole axis."""
    ends = [size if size is None else max(int(size), 0) for size in sizes]
    return x[tuple(slice(end) for end in ends)]


def extend(x: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return ``x`` followed by zeros up to ``shape``."""
    result = np.zeros(shape, x.dtype)
    result[tuple(slice(n) for n in x.shape)] = x
    return result


def dynamic_reshape(
    x: np.ndarray, sizes: Sequence[Any], new_sizes: Sequence[Any], shape: Sequence[int]
) -> np.ndarray:
    """Return the part of ``x`` of ``sizes``, reshaped to ``new_sizes``, within the
    bounds ``shape``.
    """
    return extend(crop(x, sizes).reshape([int(size) for size in new_sizes]), shape)
