"""Operations for which the prelude has a function that is faster on NumPy."""

from math import prod

from ...transpile.array.node import Node, Slot, Ufunc
from ..base import OwnCall

_LONG_ROW = 32  # elements that are combined at once rather than by the ufunc's ``at``


def own_function(node: Node) -> OwnCall | None:
    """The call of the prelude that stands for a node, or None."""
    if node.opcode != "prelude" or node.parameters["function"] != "scatter_at":
        return None
    arguments = node.parameters["arguments"]
    index = arguments[1] if isinstance(arguments[1], tuple) else arguments[1:2]
    is_plain = all(isinstance(part, Slot) for part in index) and isinstance(arguments[-1], Ufunc)
    is_long = prod(node.shape[len(index) :]) >= _LONG_ROW
    return OwnCall("scatter_rows", arguments) if is_plain and is_long else None
