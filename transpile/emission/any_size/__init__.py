"""Modules for any size, unified from the texts of a program at several sizes.

Each text is the module at known sizes. If the texts differ only in numbers, these numbers are expressions of the sizes.
So the emission makes every decision at known sizes, and a decision that depends on them shows in the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from math import prod
from typing import Any

from ...compilation import kernels_in, written_as
from ...errors import Diagnostic, UnsupportedError, UsageError
from ...frontends.witnesses import Assignment, Witnesses
from ...options import SIZES
from ..module.entry_point import NO_CHECKS
from ..module.generated import GeneratedModule
from .writer import MOST_POSITIONS, Writer

_MANY = 1_000_000  # elements along an axis
_CHUNKS = 8  # per axis, where only the length of a chunk is known
_APART = 3  # chunks by which one axis is longer than the one before, so that none is the remainder of another


def emit_any_size(
    witnesses: Witnesses, emit: Callable[..., GeneratedModule], options: Mapping[str, Any]
) -> GeneratedModule:
    """Emit a module that takes arguments of any sizes, from a program at several sizes.

    ``emit`` emits the program at given sizes and takes ``options``, which include the ``target``. Raises
    ``UnsupportedError``: XP424 if the texts differ in more than numbers that follow from the sizes, XP426 for options,
    and for targets and programs whose form depends on sizes.
    """
    options = {**options, "target": written_as(options["target"], witnesses.modules[0])}
    _require_support(options)
    checks = NO_CHECKS if options["checks"] == NO_CHECKS else SIZES
    given = {**options, "checks": checks, "format": False, "observe": None}
    planned = {} if options["target"].arrange is None else _sizes_to_plan_for(witnesses, options)
    writer = partial(Writer, witnesses, emit, given, planned)
    first = writer()
    try:
        return first.module(options["format"], options["observe"])
    except UnsupportedError as error:
        for way in _other_ways(first):
            with suppress(UnsupportedError):
                return writer(**way).module(options["format"], options["observe"])
        raise error


def _other_ways(first: Writer) -> Iterator[dict[str, Any]]:
    """Yield the fields of other writers to try if the first finds no common text.

    With ``folds_sizes`` False, numbers that follow from the sizes by no short expression stay in the text.
    ``sizes_reach`` and ``is_for_large_sizes`` are for positions that exceed the numbers they are compared with only on
    long axes: then small sizes prove nothing about these positions, or are left out.
    """
    bounds: list[dict[str, Any]] = [{}]
    if first.may_be_far():
        reach = {"sizes_reach": MOST_POSITIONS}
        bounds += [reach, {"is_for_large_sizes": True}, {**reach, "is_for_large_sizes": True}]
    elif first.has_stable_skeleton():
        bounds += [{"is_for_large_sizes": True}]
    for own in bounds:
        if own:
            yield own
        if first.has_free_numbers():
            yield {**own, "folds_sizes": False}


def _require_support(options: Mapping[str, Any]) -> None:
    target = options["target"]
    problems = {
        f"{target.title} has no modules for any size in the style '{options['style']}'": not _reads_sizes(options),
        "modules for any size run in one thread: leave --threads out": (
            target.arrange is None and str(options["threads"]) not in ("", "1")
        ),
        "modules for any size have no replay: leave --graph out": options["graph"],
        "modules for any size cast nothing: leave --checks cast out": options["checks"] == "cast",
    }
    found = [message for message, is_so in problems.items() if is_so]
    if found:
        raise UnsupportedError(*(Diagnostic("XP426", message) for message in found))


def _sizes_to_plan_for(witnesses: Witnesses, options: Mapping[str, Any]) -> Assignment:
    """Return the sizes that chunks are planned for.

    These are the given ones; the sizes of the largest program, if the sizes of all programs are given (``at`` is None);
    or several chunks per axis, if chunks have a number of elements. Raises ``UsageError`` (XP425) if none of these is
    known.
    """
    sizes = dict(witnesses.planned)
    if witnesses.at is None:
        count = range(len(witnesses.modules))
        return max((witnesses.assignment(number) for number in count), key=lambda own: prod(own.values()))
    if not sizes and options["chunks"].isdecimal():
        length = int(options["chunks"])
        sizes = {name: length * (_CHUNKS + _APART * number) for number, name in enumerate(witnesses.sizes)}
    for name, step in witnesses.steps.items() if sizes else ():  # equal sizes would have another program
        while list(sizes.values()).count(sizes[name]) > 1 or sizes[name] % step:
            sizes[name] += 1
    if not sizes:
        example = " ".join(f"--sizes {name}={_MANY}" for name in witnesses.sizes)
        message = f"chunks of {options['target'].title} are planned for sizes, and none are given"
        hint = f"say so: {example}, planned_for(..) in Python, or --chunks with a number of elements"
        raise UsageError(Diagnostic("XP425", message, hint=hint))
    return sizes


def _reads_sizes(options: Mapping[str, Any]) -> bool:
    """Return whether the functions of the style can take any sizes."""
    kernels = kernels_in(options["style"], options["target"])
    return kernels is None or kernels.any_size is not None
