"""The calls that the Dask target refuses although dask.array has them, since they hide operations that chunks can
share.
"""

from __future__ import annotations

from ...transpile.array.node import Node
from .planning.nodes import name_of

OPERATIONS = frozenset("median range std var".split())

# Library functions.
LIBRARY = frozenset(
    "bincount convolve correlate cross diff gradient kron linalg.cholesky linalg.det linalg.eigh linalg.eigvalsh "
    "linalg.norm linalg.slogdet linalg.solve linalg.svd linalg.svdvals nanargmax nanargmin nanmax nanmean nanmin "
    "nanprod nanstd nansum nanvar pad polyval repeat searchsorted tile trapezoid tril_indices triu_indices".split()
)

# Prelude functions.
FUNCTIONS = frozenset(
    "batch_norm_grad batch_norm_inference batch_norm_training get_or_fill log_softmax logsumexp softmax "
    "solve_transposed take_or_fill".split()
)

TABLES = {"library": LIBRARY, "prelude": FUNCTIONS}

LARGEST_TABLE = 16 << 20  # bytes of a table that each task may search


def refuses(node: Node) -> str | None:
    """Return the reason why the Dask target does not support a node, or None if it does."""
    if name_of(node) in ("search_sorted", "search_many") and node.operands[0].nbytes > LARGEST_TABLE:
        return "each task would need the whole table"
    hides = name_of(node) in TABLES[node.opcode] if node.opcode in TABLES else node.opcode in OPERATIONS
    return "it hides what can be computed in chunks" if hides else None
