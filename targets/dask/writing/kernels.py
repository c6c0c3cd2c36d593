"""Block functions in the style ``fast``: the loops of NumPy, over blocks of any size."""

from __future__ import annotations

from dataclasses import replace

from ....transpile.array.node import Node
from ....transpile.target import TEMPLATES
from ...numpy.kernels import KERNELS as OF_ARRAYS


def _compiles_nothing(node: Node) -> bool:
    return False


_COMPILER_BYTES = 256 << 20  # of Numba, 50 MiB, and of what it keeps of some twenty functions that it compiles

# Blocks come from large arrays, whatever their own size, and threads are Dask's.
KERNELS = replace(
    OF_ARRAYS.at_any_size(),
    compiles=_compiles_nothing,
    compiler_bytes=_COMPILER_BYTES,
    any_size={},
    prelude=TEMPLATES / "dask" / "loops",
)
