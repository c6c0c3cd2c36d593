"""Groups and pairs of many devices as loops that produce them, if possible.

Thousands of devices are grouped along the axes of a mesh: the first members of the groups count through some axes, the
members of each group through the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LONGEST_LISTED = 32  # numbers that are written as a list
_MOST_PATTERNS = 4  # pairs in a repeated pattern
_NAMES = "ijkmnpqrstuvw"


class Counter(NamedTuple):
    """The loop ``for name in range(0, length * step, step)``."""

    name: str
    step: int
    length: int


class CountedGroups(NamedTuple):
    """Groups that begin at ``start`` plus the counters of ``groups``; their members add the counters of ``members``."""

    start: int
    groups: tuple[Counter, ...]
    members: tuple[Counter, ...]


class CountedPairs(NamedTuple):
    """The ``pattern`` of pairs, shifted by each of the ``repeats``; or a ring, which sends to the member ``turn``
    further.
    """

    repeats: tuple[Counter, ...]
    pattern: tuple[tuple[int, int], ...]
    ring: Counter | None = None
    turn: int = 0


def counted_groups(groups: Sequence[Sequence[int]]) -> CountedGroups | None:
    """Return the loops over groups of equal size, or None if the groups are few or irregular."""
    if sum(map(len, groups)) <= LONGEST_LISTED or not groups[0]:
        return None
    first = [number - groups[0][0] for number in groups[0]]
    if any([number - group[0] for number in group] != first for group in groups):
        return None
    starts, members = _digits([group[0] - groups[0][0] for group in groups]), _digits(first)
    if starts is None or not members or len(starts) + len(members) > len(_NAMES):
        return None
    counters = tuple(Counter(name, *digit) for name, digit in zip(_NAMES, starts + members, strict=False))
    return CountedGroups(groups[0][0], counters[: len(starts)], counters[len(starts) :])


def counted_pairs(pairs: Sequence[tuple[int, int]]) -> CountedPairs | None:
    """Return the loops over pairs of (source, target), or None if the pairs are few or irregular."""
    if 2 * len(pairs) <= LONGEST_LISTED:
        return None
    period = next(p for p in range(1, len(pairs) + 1) if len(pairs) % p == 0 and _repeats(pairs, p))
    step = pairs[period][0] - pairs[0][0] if period < len(pairs) else 0
    repeats = (Counter(_NAMES[0], step, len(pairs) // period),) if step else ()
    pattern = tuple(pairs[:period])
    if repeats and period <= _MOST_PATTERNS:
        return CountedPairs(repeats, pattern)
    if period < 2:
        return None
    step, length = pattern[1][0] - pattern[0][0], period * (pattern[1][0] - pattern[0][0])
    ring, turn = Counter(_NAMES[len(repeats)], step, period), pattern[0][1]
    is_ring = step > 0 and all(
        (source, target) == (k * step, (k * step + turn) % length) for k, (source, target) in enumerate(pattern)
    )
    return CountedPairs(repeats, pattern, ring, turn) if is_ring else None


def _repeats(pairs: Sequence[tuple[int, int]], period: int) -> bool:
    """Return whether each pair is the one ``period`` before with both ends shifted by one constant."""
    if period == len(pairs):
        return True
    step = pairs[period][0] - pairs[0][0]
    return step > 0 and all(
        (source + step, target + step) == after for (source, target), after in zip(pairs, pairs[period:], strict=False)
    )


def _digits(numbers: Sequence[int]) -> list[tuple[int, int]] | None:
    """Return the (step, count) of nested counters that produce the numbers, the outermost first, or None."""
    if len(numbers) == 1:
        return []
    step = numbers[1]
    count = next((k for k, number in enumerate(numbers) if number != k * step), len(numbers))
    outer = numbers[::count]
    follows = all(number == outer[k // count] + k % count * step for k, number in enumerate(numbers))
    if step <= 0 or len(numbers) % count or not follows:
        return None
    rest = _digits(outer)
    return None if rest is None else [*rest, (step, count)]
