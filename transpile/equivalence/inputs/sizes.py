"""The sizes at which a module for any size is compared with XLA; they differ from those that it was made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain

from ...emission.module.generated import GeneratedModule
from ...errors import XlaToPythonError
from ...frontends.signatures import shown_sizes
from ...frontends.witnesses import Assignment, Sizes, Witnesses
from ...hlo.ir import HloModule

FEWEST = 10  # sizes
_LARGE = 521
# A row has the sizes of the names in order: primes, powers of two, equal ones; no text was made at these.
_ROWS = (
    (7, 11, 5, 3, 13, 17),
    (8, 4, 16, 2, 32, 64),
    (37, 31, 41, 43, 29, 47),
    (64, 128, 32, 16, 8, 256),
    (12,) * 6,
    (3, 2, 7, 5, 11, 4),
    (20, 9, 6, 10, 4, 15),
    (127, 33, 65, 17, 12, 9),
)
_FURTHER = ((9, 6, 15, 20, 14, 10), (30, 21, 19, 12, 7, 8), (25, 36, 11, 9, 5, 14))  # in place of duplicates


def programs_to_check(witnesses: Witnesses, emitted: Sequence[GeneratedModule]) -> Iterator[tuple[str, HloModule]]:
    """Yield a program at sizes that all its emitted modules accept, each with a text such as ``B = 7, T = 11``.

    Dumps have only their own sizes. If nothing was emitted, only the first program is yielded, so that the report
    mentions it. Sizes at which the function cannot be traced are left out.
    """
    if not emitted or witnesses.at is None:
        own = [(witnesses.label(number), module) for number, module in enumerate(witnesses.modules)]
        yield from own if emitted else own[:1]
        return
    ranges = {name: max((each.sizes[name] for each in emitted), key=lambda own: own.start) for name in witnesses.sizes}
    for sizes in sizes_to_check(ranges, witnesses.sizes):
        with suppress(XlaToPythonError):
            yield shown_sizes(sizes), witnesses.at(sizes)


def sizes_to_check(possible: Mapping[str, range], tried: Sizes) -> list[dict[str, int]]:
    """Return at least ten assignments of sizes: the smallest possible, primes, powers of two, equal ones, and a large
    one for each name.

    A name that only accepts multiples gets multiples. All assignments differ from the ``tried`` ones.
    """
    found: list[dict[str, int]] = []
    known = [dict(zip(tried, numbers, strict=True)) for numbers in zip(*tried.values(), strict=True)]
    further = (dict(zip(possible, row, strict=False)) for row in _FURTHER)
    for wanted in chain(_wanted(possible), (row for row in further if len(found) < FEWEST)):
        sizes = {name: _possible(possible[name], number) for name, number in wanted.items()}
        if sizes not in found and sizes not in known:
            found.append(sizes)
    return found


def _wanted(possible: Mapping[str, range]) -> Iterator[Assignment]:
    yield dict.fromkeys(possible, 0)
    for row in _ROWS:
        yield dict(zip(possible, row, strict=False))
    for name in possible:
        yield {**dict(zip(possible, _ROWS[0], strict=False)), name: _LARGE}


def _possible(allowed: range, number: int) -> int:
    """Return the smallest allowed size of at least ``number`` steps, or of at least ``number`` if that is large."""
    steps = -(-(number * (allowed.step if number < _LARGE else 1) - allowed.start) // allowed.step)
    return allowed[max(steps, 0)]
