"""Runs of rows of different lengths. Source: XLA's RaggedAllToAll."""

import numpy as np


def copy_ragged_rows(
    source: np.ndarray,
    target: np.ndarray,
    source_starts: np.ndarray,
    sizes: np.ndarray,
    target_starts: np.ndarray,
) -> np.ndarray:
    """Return ``target`` with ``sizes[k]`` rows of ``source`` from ``source_starts[k]``
    copied to ``target_starts[k]``.
    """
    result = target.copy()
    for start, size, place in zip(source_starts, sizes, target_starts, strict=True):
        result[place : place + size] = source[start : start + size]
    return result


def rows_of_runs(
    x: np.ndarray, starts: np.ndarray, sizes: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of ``x`` that a member gets, run after run, and the [starts,
    sizes, places] of the runs in these rows.
    """
    runs = [x[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    ends = np.cumsum(sizes)
    return np.concatenate([x[:0], *runs]), np.stack([ends - sizes, sizes, places])


def room_for_runs(x: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return memory for the rows of runs of an array like ``x``."""
    return np.empty_like(x, shape=(int(sizes.sum()), *x.shape[1:]))
