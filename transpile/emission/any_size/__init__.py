"""Modules for any size: what the texts of a program at several sizes have in common.

Each text is what the program is at its sizes. Where they are the same but for numbers, the numbers are expressions of
the sizes. So the emission decides everything at known sizes, and what it decides differently at another is seen.
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
_CHUNKS = 8  # of an axis where nothing but their length is known
_APART = 3  # chunks, by which one axis is longer than another: then none is the rest of another


def emit_any_size(
    witnesses: Witnesses, emit: Callable[..., GeneratedModule], options: Mapping[str, Any]
) -> GeneratedModule:
    """Emit a module that takes arguments of any sizes, from a program at several.

    ``emit`` emits the program at some sizes and takes ``options``, among them the ``target``. Raises
    ``UnsupportedError``: XP424 where the texts differ in more than numbers that the sizes give, XP426 on targets and
    for programs whose form hangs on sizes.
    """
    options = {**options, "target": written_as(options["target"], witnesses.modules[0])}
    _require_support(witnesses, options)
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
    """Yield the fields of other writers, where the first finds no text.

    Numbers may follow from sizes in steps that are no short expression: these stay in the text. Positions along an axis
    may go beyond what they are compared with only where the axis is long: then nothing is proved of them by small
    sizes, or small ones are left out.
    """
    bounds: list[dict[str, Any]] = [{}]
    if first.may_be_far():
        reach = {"sizes_reach": MOST_POSITIONS}
        bounds += [reach, {"is_far": True}, {**reach, "is_far": True}]
    elif first.settles():
        bounds += [{"is_far": True}]
    for own in bounds:
        if own:
            yield own
        if first.has_free_numbers():
            yield {**own, "works_out": False}


def _require_support(witnesses: Witnesses, options: Mapping[str, Any]) -> None:
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
    """Return the sizes that chunks are planned for: those of the largest program where there are no others to choose
    from; where chunks have a number of elements, some that are larger.

    Raises ``UsageError`` (XP425) where nobody says which they are.
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
    """Tell whether the functions of a style can take any sizes."""
    kernels = kernels_in(options["style"], options["target"])
    return kernels is None or kernels.any_size is not None
