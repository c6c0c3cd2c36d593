"""Kernels of block functions in the style ``fast``: NumPy's compiled loops, over blocks of any size."""

from __future__ import annotations

from dataclasses import replace

from ....transpile.target import TEMPLATES
from ...numpy.kernels import KERNELS as OF_ARRAYS

_COMPILER_BYTES = 256 << 20  # Numba's 50 MiB, and its data of some twenty compiled functions

# Blocks are parts of large arrays, whatever their own size, and the threads are Dask's.
KERNELS = replace(
    OF_ARRAYS.at_any_size(),
    compiles=lambda node: False,
    compiler_bytes=_COMPILER_BYTES,
    any_size={},
    prelude=TEMPLATES / "dask" / "loops",
)
