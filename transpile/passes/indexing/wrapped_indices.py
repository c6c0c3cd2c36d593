"""The pattern of an index that may be negative: JAX adds the size of the axis to negative ones, then clamps."""

from __future__ import annotations

from ...array.node import literal_value
from ..rewriting.patterns import Bindings

# Patterns that bind the index ``i``, the index ``wrapped`` and the literals SIZE and LAST.
WRAPPED = "(wrapped := select(compare(i, 0, direction='LT'), add(i, SIZE), i))"
CLAMPED = f"clamp(0, {WRAPPED}, LAST)"


def is_of_axis(found: Bindings, size: int) -> bool:
    """Return whether the literals SIZE and LAST, as far as they are bound, are those of an axis of this size."""
    wanted = {"SIZE": size, "LAST": size - 1}
    return all(int(literal_value(found[name])) == number for name, number in wanted.items() if name in found)
