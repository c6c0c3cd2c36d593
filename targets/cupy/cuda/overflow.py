"""Whole numbers that may overflow, which C++ takes for impossible: a compiler may hold ``x + 1 > x`` for true."""

from __future__ import annotations

from collections.abc import Sequence

from ....transpile.array.node import Node
from ....transpile.hlo.element_types import S32, S64, U32, U64

WITHOUT_SIGN = {S32: U32, S64: U64}
_OVERFLOWS = frozenset("add subtract multiply negate sum prod".split())
# The low bits of these results depend on the low bits of the operands alone, so an operand may have overflowed.
_OF_LOW_BITS = _OVERFLOWS | frozenset("and or xor not shift-left".split())


def to_wrap(nodes: Sequence[Node]) -> frozenset[Node]:
    """The nodes to compute without a sign, of those of a kernel (operands first): they may overflow, and something else
    than their low bits is asked for.
    """
    asked: set[Node] = set()
    for node in reversed(nodes):
        if node.opcode == "select" and node not in asked:
            asked.add(node.operands[0])
        elif node.opcode not in _OF_LOW_BITS:
            asked.update(node.operands)
    return frozenset(
        node
        for node in asked
        if node.opcode in _OVERFLOWS and node.element_type in WITHOUT_SIGN and node.interval is None
    )
