"""A program at several sizes, from which modules for any size are made."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from shlex import quote
from typing import Any

from ..dataclass import dataclass
from ..errors import Diagnostic, OpenSizes, UsageError, XlaToPythonError
from ..hlo.ir import HloModule
from ..hlo.shapes import ArrayShape, leaves
from .functions import load_function
from .signatures import shown_sizes

Assignment = Mapping[str, int]  # a number for each free size
Sizes = Mapping[str, Sequence[int]]  # the values of each free size in several programs

FEWEST = 3  # programs needed to find the expression of a number
_CHOSEN = (  # a row per free size: a prime first, no number twice in a column; the last two for difficult programs
    (13, 18, 23, 97),
    (17, 25, 19, 88),
    (19, 16, 29, 83),
    (23, 20, 27, 78),
    (29, 24, 14, 73),
    (31, 27, 17, 102),
)
_FIRST = 2  # of these are read at first
MOST = len(_CHOSEN)  # the maximum number of free sizes
_FACTORS = (1, 2, 4, 8, 16, 64)  # for functions that only take multiples
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
NAME = re.compile(r"[A-Za-z]\w*")


@dataclass(frozen=True, slots=True)
class _Programs(Sequence[HloModule]):
    """A program at several sizes, read at each size on demand."""

    columns: Sequence[Assignment]
    at: Callable[[Assignment], HloModule]

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, number: Any) -> Any:
        return self.at(self.columns[number])


@dataclass(frozen=True, slots=True)
class Witnesses:
    """A program at several sizes; ``sizes`` has the numbers of each name in the order of ``modules``.

    ``at`` reads the program at other sizes, if that is possible. If the sizes were chosen and not given, there are two
    modules, each read on demand, and ``further_sizes`` for when these do not suffice. ``planned`` are the sizes that
    chunks are planned for, on targets with chunks; empty if not given. ``command`` is the part of the command line
    behind the first source that reads the program again.
    """

    modules: Sequence[HloModule]
    sizes: Mapping[str, tuple[int, ...]]
    at: Callable[[Assignment], HloModule] | None = None
    command: str = ""
    further_sizes: tuple[Assignment, ...] = ()
    planned: Assignment = field(default_factory=dict)

    def planned_for(self, **sizes: int) -> Witnesses:
        """Return the program with a plan for other sizes: ``planned_for(N=10_000_000)`` has chunks that suit this
        number of rows.

        Raises ``UsageError`` (XP425) if these are not all of its sizes, or a number is not positive.
        """
        _require_names(sizes, tuple(self.sizes))
        if wrong := [f"{name}={number}" for name, number in sizes.items() if number < 1]:
            raise UsageError(Diagnostic("XP425", f"{wrong[0]} is not a size"))
        command = _option({name: (number,) for name, number in sizes.items()})
        return replace(self, planned=dict(sizes), command=command)

    def assignment(self, number: int) -> dict[str, int]:
        """Return the sizes of one of the modules."""
        return {name: values[number] for name, values in self.sizes.items()}

    def program(self, sizes: Assignment) -> HloModule:
        """Return the program at some sizes; without ``at``, these must be the sizes of one of the modules."""
        if self.at is not None:
            return self.at(sizes)
        return next(module for number, module in enumerate(self.modules) if self.assignment(number) == sizes)

    def label(self, number: int) -> str:
        """Return the sizes of one of the modules for people."""
        return shown_sizes(self.assignment(number))

    @property
    def steps(self) -> dict[str, int]:
        """The greatest common divisor of the numbers of each name; nothing is known about sizes that are not
        multiples.
        """
        return {name: math.gcd(*values) for name, values in self.sizes.items()}


def free_sizes(reference: str) -> tuple[str, ...]:
    """Return the names of sizes in ``module:function(f32[B,T,64])``, in order; empty for any other word."""
    _, opening, shapes = reference.partition("(")
    words = (word.strip() for inside in _BRACKETS.findall(shapes) for word in inside.split(","))
    return tuple(dict.fromkeys(word for word in words if opening and NAME.fullmatch(word)))


def function_at_sizes(
    reference: str,
    folder: Path,
    sizes: Mapping[str, tuple[int, ...]] | None = None,
    gradient: str = "",
    weights: str = "",
) -> Witnesses:
    """Return the programs of ``module:function(f32[B,T,64])`` at chosen sizes, or at those of ``sizes``. One number per
    size is a size to plan for.

    ``gradient`` and ``weights`` are as for :func:`.functions.load_function`. Raises the errors of that function, and
    ``UsageError`` (XP425) for sizes of other names.
    """
    return at_named_sizes(
        free_sizes(reference), lambda chosen: load_function(reference, folder, chosen, gradient, weights), sizes
    )


def at_named_sizes(
    names: Sequence[str], at: Callable[[Assignment], HloModule], sizes: Mapping[str, tuple[int, ...]] | None = None
) -> Witnesses:
    """Return the program that ``at`` reads, at chosen sizes, or at those of ``sizes``, as in
    :func:`function_at_sizes`.
    """
    planned = are_planned(sizes or {})
    if sizes:
        _require_names(sizes, names)
    found = witnesses(names, at, None if planned else sizes)
    if planned:
        return found.planned_for(**{name: number for name, (number,) in (sizes or {}).items()})
    return replace(found, command=_option(sizes) if sizes else "")


def are_planned(sizes: Mapping[str, Sequence[int]]) -> bool:
    """Return whether sizes are those that chunks are planned for, and not those of several programs."""
    return bool(sizes) and all(len(numbers) == 1 for numbers in sizes.values())


def _require_names(sizes: Collection[str], names: Sequence[str]) -> None:
    """Raise ``UsageError`` (XP425) for sizes of other names than those that are free."""
    if set(sizes) != set(names):
        given, free = ", ".join(sizes) or "none", ", ".join(names) or "none"
        raise UsageError(Diagnostic("XP425", f"sizes are given for {given}, and the free ones are {free}"))


def witnesses(
    names: Sequence[str], at: Callable[[Assignment], HloModule], sizes: Mapping[str, tuple[int, ...]] | None = None
) -> Witnesses:
    """Return a program at given sizes, or at chosen ones: small, or their least multiples at which it can be read.

    Raises the error of ``at`` at the small sizes if no multiples work.
    """
    if sizes:
        return _read(sizes, at)
    if len(names) > MOST:
        raise UsageError(Diagnostic("XP425", f"{len(names)} sizes are free; at most {MOST} can be"))
    chosen = dict(zip(names, _CHOSEN, strict=False))
    at, problem = _remembered(at), None
    for factor in _FACTORS:
        if (found := _problem(chosen, dict.fromkeys(names, factor), at)) is not None:
            problem = problem or found
            continue
        factors = _needed_factors(chosen, factor, at)
        sizes = {name: tuple(k * factors[name] for k in numbers) for name, numbers in chosen.items()}
        first = _when_asked({name: numbers[:_FIRST] for name, numbers in sizes.items()}, at)
        others = zip(*(numbers[_FIRST:] for numbers in sizes.values()), strict=True)
        return _per_device(
            replace(first, further_sizes=tuple(dict(zip(sizes, numbers, strict=True)) for numbers in others))
        )
    assert problem is not None
    raise problem


def _per_device(found: Witnesses) -> Witnesses:
    """Return the program with the sizes of shards in place of those of sharded axes."""
    parts = {name: _parts(found.modules, numbers) for name, numbers in found.sizes.items()}
    if set(parts.values()) == {1}:
        return found
    whole = found.at
    assert whole is not None
    return replace(
        found,
        sizes={name: tuple(number // parts[name] for number in numbers) for name, numbers in found.sizes.items()},
        at=lambda sizes: whole({name: number * parts[name] for name, number in sizes.items()}),
        further_sizes=tuple(
            {name: number // parts[name] for name, number in own.items()} for own in found.further_sizes
        ),
    )


def _parts(modules: Sequence[HloModule], numbers: Sequence[int]) -> int:
    """Return the number of shards of an axis that no device has as a whole; 1 if there is none."""
    devices = modules[0].replica_count * modules[0].num_partitions
    if devices == 1:
        return 1
    entries = ([p.shape for p in module.entry.parameters] for module in modules)
    shapes = [[shape.dimensions for shape in own if isinstance(shape, ArrayShape)] for own in entries]
    axes = {column for rows in zip(*shapes, strict=True) for column in zip(*rows, strict=False)}
    possible = (parts for parts in range(1, devices + 1) if not any(number % parts for number in numbers))
    return next((parts for parts in possible if tuple(number // parts for number in numbers) in axes), 1)


def _remembered(at: Callable[[Assignment], HloModule]) -> Callable[[Assignment], HloModule]:
    """Return ``at`` with a cache by sizes."""
    known: dict[tuple[tuple[str, int], ...], HloModule] = {}

    def read(sizes: Assignment) -> HloModule:
        key = tuple(sorted(sizes.items()))
        if key not in known:
            known[key] = at(sizes)
        return known[key]

    return read


def _read(sizes: Mapping[str, tuple[int, ...]], at: Callable[[Assignment], HloModule]) -> Witnesses:
    found = _when_asked(sizes, at)
    return replace(found, modules=tuple(found.modules))


def _when_asked(sizes: Mapping[str, tuple[int, ...]], at: Callable[[Assignment], HloModule]) -> Witnesses:
    columns = tuple(dict(zip(sizes, column, strict=True)) for column in zip(*sizes.values(), strict=True))
    return Witnesses(_Programs(columns, at), sizes, at)


def _needed_factors(
    chosen: Mapping[str, tuple[int, ...]], factor: int, at: Callable[[Assignment], HloModule]
) -> dict[str, int]:
    """Return the factor of each size, 1 for those that can be small."""
    needed = dict.fromkeys(chosen, factor)
    for name in chosen if factor > 1 else ():
        tried = {**needed, name: 1}
        if _problem(chosen, tried, at) is None:
            needed = tried
    return needed


def _problem(
    chosen: Mapping[str, tuple[int, ...]], factors: Assignment, at: Callable[[Assignment], HloModule]
) -> XlaToPythonError | None:
    """Return the error of reading the program at multiples of the first chosen sizes; None if it can be read."""
    try:  # the first sizes are primes, which are not multiples by chance
        at({name: numbers[0] * factors[name] for name, numbers in chosen.items()})
    except XlaToPythonError as error:
        return error
    return None


def files_at_sizes(
    modules: Sequence[HloModule], sizes: Mapping[str, tuple[int, ...]], names: Sequence[str] = ()
) -> Witnesses:
    """Return the program from dumps of it, in the order of the numbers of each size; ``names`` are the names of the
    files.

    Raises ``UsageError`` (XP425) if the dumps are not as many as the numbers, or if no argument has an axis of a
    number.
    """
    if len(modules) < FEWEST:
        raise UsageError(Diagnostic("XP425", f"sizes need at least {FEWEST} programs, not {len(modules)}"))
    if not sizes:
        raise UsageError(Diagnostic("XP425", f"there are {len(modules)} programs and no sizes"))
    for name, own in sizes.items():
        if len(own) != len(modules):
            raise UsageError(Diagnostic("XP425", f"{name} has {len(own)} numbers for {len(modules)} programs"))
    for name, own in sizes.items():
        for position, (module, number) in enumerate(zip(modules, own, strict=True)):
            if number not in _axes(module) and module.num_partitions * module.replica_count == 1:
                program = names[position] if names else f"program {position + 1}"
                message = f"no argument of {program} has an axis of {number}, which {name} is there"
                raise UsageError(Diagnostic("XP425", message))
    others = "".join(f" {quote(name)}" for name in names[1:])
    return Witnesses(tuple(modules), sizes, command=others + _option(sizes))


def _axes(module: HloModule) -> set[int]:
    """Return the sizes of all axes of the arguments."""
    shapes = (shape for each in module.entry.parameters for _, shape in leaves(each.shape))
    return {size for shape in shapes if isinstance(shape, ArrayShape) for size in shape.dimensions}


def _option(sizes: Mapping[str, tuple[int, ...]]) -> str:
    return "".join(f" --sizes {name}={','.join(map(str, numbers))}" for name, numbers in sizes.items())


def parse_sizes(words: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return numbers by name from words such as ``B=3,5,7``; one number per name is a size to plan chunks for.

    Raises ``UsageError`` (XP425) for invalid words, too few numbers, or numbers that do not distinguish the names.
    """
    found: dict[str, tuple[int, ...]] = {}
    for word in words:
        name, _, listed = word.partition("=")
        parts = listed.split(",")
        if not NAME.fullmatch(name) or name in found or not all(part.isdigit() and int(part) > 1 for part in parts):
            message = f"'{word}' gives no sizes to a name"
            raise UsageError(Diagnostic("XP425", message, hint="for example B=3,5,7, each above 1"))
        found[name] = tuple(map(int, parts))
    if are_planned(found):
        return found
    counts = {len(numbers) for numbers in found.values()}
    if len(counts) > 1 or min(counts, default=FEWEST) < FEWEST:
        raise UsageError(Diagnostic("XP425", f"each size has as many numbers as the others, at least {FEWEST}"))
    for name, numbers in found.items():
        if len(set(numbers)) < len(numbers) or list(found.values()).count(numbers) > 1:
            raise UsageError(
                Diagnostic("XP425", f"the numbers of {name} are not all different, or another size has them")
            )
    return found


def or_at_sizes(
    read: Callable[..., HloModule], sizes: Mapping[str, tuple[int, ...]] | None = None
) -> HloModule | Witnesses:
    """Return the program from ``read()``. If its sizes are symbolic, return the program at chosen numbers, or at those
    in ``sizes``, from ``read(sizes=..)``.

    Raises what ``read`` raises, and ``UsageError`` (XP425) for ``sizes`` of other names.
    """
    try:
        return read()
    except OpenSizes as found:
        return at_named_sizes(found.names, lambda chosen: read(sizes=chosen), sizes)


def at_one_size(read: Callable[..., HloModule], sizes: Mapping[str, tuple[int, ...]]) -> HloModule:
    """Return the program from ``read()``, whose sizes are symbolic, at the one number that ``sizes`` has of each.

    Raises what ``read`` raises, and ``UsageError`` (XP425) for ``sizes`` of other names or several numbers.
    """
    if not are_planned(sizes):
        raise UsageError(Diagnostic("XP425", "each size has one number here"))
    names: tuple[str, ...] = ()
    try:
        read()
    except OpenSizes as found:
        names = found.names
    _require_names(sizes, names)
    return read(sizes={name: number for name, (number,) in sizes.items()})
