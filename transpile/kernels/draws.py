"""Draws: random numbers that a kernel computes from a key and the number of the element."""

from __future__ import annotations

from ..array.node import Node
from ..dataclass import dataclass

_FUNCTIONS = frozenset(("random_bits", "random_uniform", "random_normal"))


@dataclass(frozen=True, slots=True)
class Draw:
    """Random numbers from ``key``: bits, or floats in [``low``, ``high``) made of these, possibly made normal."""

    key: Node
    limits: tuple[float, ...] | None = None
    is_normal: bool = False


def draw_of(node: Node) -> Draw | None:
    """Return the draw that an operation is; None for any other operation."""
    if node.opcode != "prelude" or node.parameters["function"] not in _FUNCTIONS:
        return None
    (key,), (_, _, *limits) = node.operands, node.parameters["arguments"]
    if node.parameters["function"] == "random_bits":
        return Draw(key)
    if node.parameters["function"] == "random_normal":
        return Draw(key, (-0.99999994, 1.0), is_normal=True)
    return Draw(key, tuple(limits + [0.0, 1.0][len(limits) :]))
