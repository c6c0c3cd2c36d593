"""How modules for Dask run: on chunked arrays, with lazy results."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...transpile.target import Library


def _in_blocks(array: Any) -> Any:
    """Return a dask array with two blocks along each dimension, of different sizes if the dimension is odd."""
    return import_module("dask.array").from_array(array, chunks=tuple(max(1, size - size // 2) for size in array.shape))


def _computed(results: Any, in_this_thread: bool) -> Any:
    """Return the values of lazy results. ``in_this_thread`` keeps the floating-point settings of this thread."""
    scheduler = {"scheduler": "synchronous"} if in_this_thread else {}
    return import_module("dask").compute(results, **scheduler)


LIBRARY = Library(
    packages=("dask", "distributed"),
    requires=("dask", "distributed"),
    prepare=lambda: import_module("dask.array"),
    cut=_in_blocks,
    materialise=_computed,
)
