"""Operations for which the prelude has a function that is faster on NumPy."""

from math import prod
from typing import Any

from ...transpile.array.node import Node, Slot, Ufunc
from ..base import OwnCall

_LONG_ROW = 32  # elements that are combined at once rather than by the ufunc's ``at``


_LEAST_UPDATES = 2**12  # elements for which Numba's loops are worth their start
_SCATTERED = frozenset("s8 s16 s32 s64 u8 u16 u32 u64 f32 f64".split())
_COMBINERS = frozenset("add multiply maximum minimum".split())
_GENERATORS = {
    "random_bits": "compiled_bits",
    "random_uniform": "compiled_uniform",
    "random_normal": "compiled_normal",
}


def compiled_function(node: Node) -> OwnCall | None:
    """Return the call of the function with loops of Numba that stands for a node, or None."""
    if max(prod(each.shape) for each in (node, *node.operands)) < _LEAST_UPDATES:
        return None
    if node.opcode == "prelude" and node.parameters["function"] in _GENERATORS:
        return OwnCall(_GENERATORS[node.parameters["function"]], node.parameters["arguments"])
    return _scatter(node)


def _scatter(node: Node) -> OwnCall | None:
    if node.opcode == "update_at":
        index: tuple[Any, ...] = node.parameters["index"]
        is_inside = all(each.interval is not None and each.interval[0] >= 0 for each in node.operands[2:])
        arguments = (Slot(0), index if len(index) > 1 else index[0], Slot(1), node.parameters["ufunc"])
    elif node.opcode == "prelude" and node.parameters["function"] == "scatter_at":
        arguments, is_inside = node.parameters["arguments"], True
        index = arguments[1] if isinstance(arguments[1], tuple) else arguments[1:2]
    else:
        return None
    combiner = arguments[3].opcode if len(arguments) > 3 else "add"
    is_known = combiner in _COMBINERS and node.type.name in _SCATTERED and node.operands[1].type is node.type
    is_plain = all(isinstance(part, Slot) for part in index)
    return OwnCall("scatter_in_order", arguments) if is_known and is_plain and is_inside else None


def own_function(node: Node) -> OwnCall | None:
    """The call of the prelude that stands for a node, or None."""
    if node.opcode != "prelude" or node.parameters["function"] != "scatter_at":
        return None
    arguments = node.parameters["arguments"]
    index = arguments[1] if isinstance(arguments[1], tuple) else arguments[1:2]
    is_plain = all(isinstance(part, Slot) for part in index) and isinstance(arguments[-1], Ufunc)
    is_long = prod(node.shape[len(index) :]) >= _LONG_ROW
    return OwnCall("scatter_rows", arguments) if is_plain and is_long else None
