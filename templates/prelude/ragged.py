"""What collectives move about on one replica.

Source: the operation-semantics seed, AllToAll; XLA's RaggedAllToAll.
"""

import numpy as np


def copy_ragged_rows(
    source: np.ndarray,
    target: np.ndarray,
    source_starts: np.ndarray,
    sizes: np.ndarray,
    target_starts: np.ndarray,
) -> np.ndarray:
    """``target`` with ``sizes[k]`` rows of ``source`` from ``source_starts[k]`` copied
    to ``target_starts[k]``.
    """
    result = target.copy()
    for start, size, place in zip(source_starts, sizes, target_starts, strict=True):
        result[place : place + size] = source[start : start + size]
    return result
