"""The checks of an emitted ``main`` that takes dask arrays, whose sizes may be unknown.

They replace the shared prelude's functions of these names.
"""

from typing import Any

import numpy as np

from ...prelude.checks import leaves_of


def check_arguments(dtype: str, shape: tuple[int, ...], /, **arguments: Any) -> None:
    """Raise TypeError for the first argument that has another dtype or shape."""
    for name, x in arguments.items():
        kind, size = getattr(x, "dtype", type(x).__name__), getattr(x, "shape", ())
        if kind != dtype or size != shape:
            hint = "; call its compute_chunk_sizes()" if np.isnan(size).any() else ""
            found = f"{kind}{[*size]}{hint}"
            raise TypeError(f"{name}: expected {dtype}{[*shape]}, got {found}")


def check_trees(tree: Any, signature: Any) -> None:
    """Raise TypeError for the first array that does not match ``signature``.

    Keys of ``signature`` that begin with a dot are attributes.
    """
    for place, x, (dtype, shape) in leaves_of(tree, signature):
        check_arguments(dtype, shape, **{place: x})


def describe(value: Any) -> str:
    """Return ``float32[4, 8]``, with a hint if sizes are unknown, or the type's name
    for anything but an array.
    """
    if isinstance(value, tuple | list):
        return f"({', '.join(map(describe, value))})"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        hint = "; call its compute_chunk_sizes()" if np.isnan(value.shape).any() else ""
        return f"{value.dtype}{list(value.shape)}{hint}"
    return type(value).__name__
