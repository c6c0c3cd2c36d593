"""Runs of rows of lengths that only the device knows: the host does not wait."""

import cupy as cp


def copy_ragged_rows(
    source: cp.ndarray,
    target: cp.ndarray,
    source_starts: cp.ndarray,
    sizes: cp.ndarray,
    target_starts: cp.ndarray,
) -> cp.ndarray:
    """Return ``target`` with ``sizes[k]`` rows of ``source`` from ``source_starts[k]``
    copied to ``target_starts[k]``.
    """
    if len(source) == 0:
        return target.copy()
    rows = cp.arange(len(target))
    # The row of the source for each of the target, or -1.
    taken = cp.full(len(target), -1)
    for start, size, place in zip(source_starts, sizes, target_starts, strict=True):
        here = (rows >= place) & (rows < place + size)
        taken = cp.where(here, rows - place + start, taken)
    inside = (taken >= 0).reshape((-1,) + (1,) * (target.ndim - 1))
    rows = cp.take(source, cp.clip(taken, 0, len(source) - 1), axis=0)
    return cp.where(inside, rows, target).astype(target.dtype, copy=False)


def rows_of_runs(
    x: cp.ndarray, starts: cp.ndarray, sizes: cp.ndarray, places: cp.ndarray
) -> tuple[cp.ndarray, cp.ndarray]:
    """Return the rows of ``x`` that a member gets: all of them, since the host does not
    know the sizes of its runs. Return also the [starts, sizes, places] of the runs.
    """
    return x, cp.stack([starts, sizes, places])


def room_for_runs(x: cp.ndarray, sizes: cp.ndarray) -> cp.ndarray:
    """Return memory for a member's rows: for all of an array like ``x``."""
    return cp.empty_like(x)
