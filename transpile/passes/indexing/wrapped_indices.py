"""The index that JAX makes of one that may be negative: the size of the axis added where it is, then clamped."""

from __future__ import annotations

from ...array.node import literal_value
from ..rewriting.patterns import Bindings

# Patterns that bind the index ``i``, the index ``wrapped`` and the literals SIZE and LAST.
WRAPPED = "(wrapped := select(compare(i, 0, direction='LT'), add(i, SIZE), i))"
CLAMPED = f"clamp(0, {WRAPPED}, LAST)"


def is_of_axis(found: Bindings, size: int) -> bool:
    """Tell whether the literals of a match, or those that it has, are those of an axis of this size."""
    wanted = {"SIZE": size, "LAST": size - 1}
    return all(int(literal_value(found[name])) == number for name, number in wanted.items() if name in found)
