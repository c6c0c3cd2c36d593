"""Runs of rows of different lengths. Source: XLA's RaggedAllToAll."""

from typing import Any

import numpy as np


def copy_ragged_rows(source: np.ndarray, target: np.ndarray, *runs: Any) -> np.ndarray:
    """Return ``target`` with rows of ``source``: ``runs`` are starts, sizes, places."""
    result = target.copy()
    for start, size, place in zip(*runs, strict=True):
        result[place : place + size] = source[start : start + size]
    return result


def rows_of_runs(x: Any, starts: Any, sizes: Any, places: Any) -> tuple[Any, Any]:
    """Return a member's runs of rows of ``x``, and their [starts, sizes, places]."""
    runs = [x[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    ends = np.cumsum(sizes)
    return np.concatenate([x[:0], *runs]), np.stack([ends - sizes, sizes, places])


def room_for_runs(x: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return memory for the rows of runs of an array like ``x``."""
    return np.empty_like(x, shape=(int(sizes.sum()), *x.shape[1:]))
