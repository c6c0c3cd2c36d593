"""The pattern of an index that may be negative: JAX adds the size of the axis to negative ones, then clamps."""

from __future__ import annotations

from ...array.affine import affine, integer_value
from ...array.node import Node, literal_value
from ..rewriting.patterns import Bindings, pattern

# Patterns that bind the index ``i``, the index ``wrapped`` and the literals SIZE and LAST.
WRAPPED = "(wrapped := select(compare(i, 0, direction='LT'), add(i, SIZE), i))"
CLAMPED = f"clamp(0, {WRAPPED}, LAST)"


def is_of_axis(found: Bindings, size: int) -> bool:
    """Return whether the literals SIZE and LAST, as far as they are bound, are those of an axis of this size."""
    wanted = {"SIZE": size, "LAST": size - 1}
    return all(int(literal_value(found[name])) == number for name, number in wanted.items() if name in found)


def wrapped_counter(node: Node) -> tuple[Node, int] | None:
    """Return (i, size) if a node is ``i + size if i < 0 else i`` of a Python int ``i``, or None."""
    found = pattern("select(compare(x, 0, direction='LT'), more, same)").match(node)
    if found is None:
        return None
    i, more, same = (_counted(found[name]) for name in ("x", "more", "same"))
    if not i.is_python_int or same is not i:
        return None
    if more.is_python_int:
        (terms, constant), (others, total) = affine(i), affine(more)
        return (i, total - constant) if terms == others else None
    added = pattern("add(x, SIZE)").match(more)  # which wraps around, but not where i is negative
    size = None if added is None or _counted(added["x"]) is not i else integer_value(added["SIZE"])
    return (i, size) if size is not None and size > 0 else None


def _counted(node: Node) -> Node:
    """Return the Python int of which a number is made, or the number."""
    return node.operands[0] if node.opcode == "scalar" else node
