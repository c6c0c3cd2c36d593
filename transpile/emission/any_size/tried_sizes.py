"""The sizes at which programs are read in addition to the witnesses: small ones, and much larger ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...frontends.witnesses import MOST, Assignment
from ...hlo.ir import HloModule
from .skeletons import sizes_of

# Rows of sizes that are tried until one works; none is below the bounds. 0 is missing, as JAX traces nothing but the
# shape of the result there. Programs at equal sizes often share values that others compute twice.
_LEAST = (
    (1,) * MOST,
    (2,) * MOST,
    (3, 4, 5, 6, 7, 8),
    (4, 5, 6, 7, 8, 9),
    (6,) * MOST,
    (5, 7, 6, 8, 9, 10),
    (7, 9, 8, 11, 10, 12),
)
_SO_MANY_STEPS = (3, 4, 5, 6, 7, 8)  # multiples of the steps, tried last: their quotients may equal other sizes

# Much larger sizes show which decisions depend on the magnitude of a size; the second row is for programs whose arrays
# would have too many elements at the first. These sizes are even, as the first witnesses are odd, and lie farther
# apart, so no difference recurs. A table of so many rows and columns either exceeds any memory or is small.
_FAR = (
    (499_974, 498_948, 497_912, 496_894, 495_868, 494_838),
    (4_098, 4_206, 4_322, 4_444, 4_564, 4_686),
)


def small_sizes(
    module: HloModule, steps: Mapping[str, int], bounds: Assignment, most: Assignment
) -> list[dict[str, int]]:
    """Return sizes from ``bounds`` to ``most``, multiples of ``steps``, in the order in which they are tried.

    If the program has several sizes, those that equal the length of another axis come late.
    """
    tried = ([max(pair) for pair in zip(bounds.values(), numbers, strict=False)] for numbers in _LEAST)
    rows = zip(steps.items(), _SO_MANY_STEPS, strict=False)
    last = {name: min(number * step, most[name]) for (name, step), number in rows}
    fixed = sizes_of(module) - {1, 2} if len(most) > 1 else frozenset()
    possible = [_multiples(numbers, steps, most) for numbers in tried]
    return [*sorted(possible, key=lambda sizes: not fixed.isdisjoint(sizes.values())), last]


def _multiples(numbers: Sequence[int], steps: Mapping[str, int], most: Assignment) -> dict[str, int]:
    """Return the least multiples of the steps that are at least the given numbers, limited by ``most``."""
    rows = zip(steps.items(), numbers, strict=False)
    return {name: min(-(-number // step) * step, most[name]) for (name, step), number in rows}


def far_sizes(reached: Sequence[int]) -> list[tuple[int, ...]]:
    """Return much larger sizes, the largest first, some beyond ``reached``, which :func:`.reach.reaches` returns."""
    longer = (2 * wanted for wanted in reached if 2 * wanted > min(_FAR[-1]))
    rows = {*_FAR, *(tuple(wanted + number for number in _FAR[-1]) for wanted in longer)}
    return sorted(rows, reverse=True)
