"""The median of an even number of elements: half the sum of the two middle ones, or NaN if there is any.

``jnp.median`` of an odd number adds the middle element to itself, which overflows where ``np.median`` does not, so it
stays.
"""

from __future__ import annotations

from ...array.graph import Graph
from ...array.node import Node
from ...array.value import FULL
from ..rewriting.patterns import Bindings
from ..rewriting.rules import FloatRule, rule_pass


def _median(graph: Graph, node: Node, found: Bindings) -> Node | None:
    x, axis, flags = found["x"], found["axis"], found["flags"]
    if flags.opcode == "expand":
        (flags,) = flags.operands
    size = x.shape[axis]
    finds_nan = (
        flags.opcode == "any"
        and flags.parameters["axes"] == (axis,)
        and flags.operands[0].opcode == "isnan"
        and flags.operands[0].operands[0] is x
    )
    middle = {tuple(FULL if k != axis else place for k in range(x.ndim)) for place in (size // 2 - 1, size // 2)}
    if not finds_nan or size % 2 or {_whole(found[name], x.ndim) for name in ("one", "other")} != middle:
        return None
    return graph.add("median", (x,), axis=axis)


def _whole(index: tuple[object, ...], ndim: int) -> tuple[object, ...]:
    return (*index, *(FULL,) * (ndim - len(index)))


_ORDERED = "(ordered := sort(select(flags, nan, x), axis=axis))"

RULES = (FloatRule(f"multiply(add(getitem({_ORDERED}, index=one), getitem(ordered, index=other)), 0.5)", _median),)

medians = rule_pass(__name__, "Raise medians.", RULES)
