"""What collectives move about on one replica."""

import cupy as cp


def copy_ragged_rows(
    source: cp.ndarray,
    target: cp.ndarray,
    source_starts: cp.ndarray,
    sizes: cp.ndarray,
    target_starts: cp.ndarray,
) -> cp.ndarray:
    """``target`` with ``sizes[k]`` rows of ``source`` from ``source_starts[k]`` copied to ``target_starts[k]``."""
    rows = cp.arange(len(target))
    result = target
    for start, size, place in zip(source_starts, sizes, target_starts, strict=True):
        inside = ((rows >= place) & (rows < place + size)).reshape((-1,) + (1,) * (target.ndim - 1))
        copied = cp.take(source, cp.clip(rows - place + start, 0, len(source) - 1), axis=0)
        result = cp.where(inside, copied, result)
    return result
