"""XLA's explicit broadcasting as a plan of HLO instructions.

HLO itself never broadcasts implicitly. The builder follows the broadcasting seed: a lower-rank operand is first mapped
onto the dimensions of the higher-rank one (``broadcast_dimensions``), then dimensions of size 1 are stretched.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..dataclass import dataclass
from .shape_rules.common import array_of, dynamic_flags, refuse, shape_text, sizes_text, with_type
from .shapes import ArrayShape


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction of a plan: a broadcast if ``dimensions`` is given, else a reshape."""

    shape: ArrayShape
    dimensions: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class BroadcastPlan:
    """The steps that bring each operand of an element-wise operation to the common shape, and that shape.

    The element type of ``shape`` is the lhs'; each side's steps keep its own.
    """

    lhs: tuple[Step, ...]
    rhs: tuple[Step, ...]
    shape: ArrayShape


def plan_broadcast(
    name: str, lhs: ArrayShape, rhs: ArrayShape, broadcast_dimensions: Sequence[int] | None = None
) -> BroadcastPlan:
    """Plan the broadcast of two operands of the operation ``name``.

    ``broadcast_dimensions[i]`` is the dimension of the higher-rank operand that dimension ``i`` of the lower-rank one
    belongs to; it is required unless the ranks are equal or one operand is a scalar. Raises ``HloVerificationError``:
    XP230 for missing or wrong broadcast dimensions, XP213 for sizes that are neither equal nor 1.
    Source: broadcasting seed.
    """
    lhs, rhs = lhs.without_layout(), rhs.without_layout()
    if lhs.rank == rhs.rank:
        if broadcast_dimensions and tuple(broadcast_dimensions) != tuple(range(lhs.rank)):
            refuse(
                "XP230",
                f"{name}: operands of equal rank take no broadcast_dimensions but the identity, "
                f"not {sizes_text(broadcast_dimensions)}",
            )
        result = _joined(name, lhs, rhs)
        return BroadcastPlan(stretch_steps(lhs, result), stretch_steps(rhs, result), result)
    lower, higher = (lhs, rhs) if lhs.rank < rhs.rank else (rhs, lhs)
    is_plain_scalar = lower.is_scalar and not broadcast_dimensions
    dimensions = () if is_plain_scalar else _checked(name, lower, higher, broadcast_dimensions)
    mapped = _mapped(lower, higher, dimensions)
    result = _joined(name, mapped, higher)
    lower_steps = (Step(mapped, dimensions), *stretch_steps(mapped, result))
    higher_steps = stretch_steps(higher, result)
    first, second = (lower_steps, higher_steps) if lower is lhs else (higher_steps, lower_steps)
    return BroadcastPlan(first, second, with_type(result, lhs.element_type))


def stretch_steps(operand: ArrayShape, result: ArrayShape) -> tuple[Step, ...]:
    """Return the steps that stretch the operand's dimensions of size 1: a reshape that removes them, then a
    broadcast.
    """
    if operand.dimensions == result.dimensions:
        return ()
    kept = [d for d in range(operand.rank) if operand.dimensions[d] == result.dimensions[d]]
    flags = dynamic_flags(operand)
    without_ones = array_of(operand.element_type, (operand.dimensions[d] for d in kept), (flags[d] for d in kept))
    steps = () if without_ones.rank == operand.rank else (Step(without_ones),)
    return (*steps, Step(with_type(result, operand.element_type), tuple(kept)))


def _checked(
    name: str, lower: ArrayShape, higher: ArrayShape, broadcast_dimensions: Sequence[int] | None
) -> tuple[int, ...]:
    if broadcast_dimensions is None or not len(broadcast_dimensions):
        refuse(
            "XP230",
            f"{name}: {shape_text(lower)} and {shape_text(higher)} differ in rank, so broadcast_dimensions are needed",
            hint="XLA does not guess, unlike NumPy: say which dimension each dimension belongs to",
        )
    dimensions = tuple(broadcast_dimensions)
    if len(dimensions) != lower.rank:
        refuse(
            "XP230",
            f"{name}: {len(dimensions)} broadcast_dimensions for the {lower.rank} dimensions of {shape_text(lower)}",
        )
    for dimension in dimensions:
        if not 0 <= dimension < higher.rank:
            refuse("XP230", f"{name}: broadcast dimension {dimension} is not in [0, {higher.rank})")
    if any(b <= a for a, b in pairwise(dimensions)):
        refuse("XP230", f"{name}: broadcast_dimensions {sizes_text(dimensions)} must be strictly increasing")
    for source, target in enumerate(dimensions):
        small, large = lower.dimensions[source], higher.dimensions[target]
        if small != large and 1 not in (small, large):
            refuse(
                "XP230",
                f"{name}: dimension {source} of {shape_text(lower)} has {small} elements, "
                f"dimension {target} of {shape_text(higher)} has {large}",
            )
    return dimensions


def _mapped(lower: ArrayShape, higher: ArrayShape, dimensions: tuple[int, ...]) -> ArrayShape:
    """Return the lower-rank operand at the higher rank, with the other operand's sizes in unmapped dimensions."""
    sizes, flags = list(higher.dimensions), list(dynamic_flags(higher))
    for source, target in enumerate(dimensions):
        sizes[target], flags[target] = lower.dimensions[source], dynamic_flags(lower)[source]
    return array_of(lower.element_type, sizes, flags)


def _joined(name: str, a: ArrayShape, b: ArrayShape) -> ArrayShape:
    """Return the common shape of two operands of equal rank whose sizes are equal or 1."""
    sizes = []
    for number, (x, y) in enumerate(zip(a.dimensions, b.dimensions, strict=True)):
        if x != y and 1 not in (x, y):
            refuse("XP213", f"{name}: dimension {number} of {shape_text(a)} and {shape_text(b)} is neither equal nor 1")
        sizes.append(y if x == 1 else x)
    dynamic = [x or y for x, y in zip(dynamic_flags(a), dynamic_flags(b), strict=True)]
    return array_of(a.element_type, sizes, dynamic)
