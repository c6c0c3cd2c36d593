"""Signed integers that may overflow, which is undefined in C++: a compiler may assume that ``x + 1 > x``."""

from __future__ import annotations

from collections.abc import Sequence

from ....transpile.array.node import Node
from ....transpile.hlo.element_types import S32, S64, U32, U64

WITHOUT_SIGN = {S32: U32, S64: U64}
_OVERFLOWS = frozenset("add subtract multiply negate sum prod".split())
# The low bits of these results depend only on the low bits of the operands, so an operand may overflow.
_OF_LOW_BITS = _OVERFLOWS | frozenset("and or xor not shift-left".split())


def to_wrap(nodes: Sequence[Node]) -> frozenset[Node]:
    """Return the nodes to compute in unsigned arithmetic, of the nodes of a kernel (operands first): those that may
    overflow, with a user that needs more than the low bits.
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
