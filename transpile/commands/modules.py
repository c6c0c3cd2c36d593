"""Reading the programs that commands take, and running several actions with a report for each that fails."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from ..errors import XlaToPythonError
from ..files import file_error
from ..frontends.functions import is_reference
from ..frontends.sniffing import programs_in
from ..frontends.witnesses import (
    Witnesses,
    at_one_size,
    files_at_sizes,
    free_sizes,
    function_at_sizes,
    or_at_sizes,
    parse_sizes,
)
from ..hlo.ir import HloModule
from .terminal import note, session, working

STDIN = "-"


def read_module(
    argument: str,
    function: str | None = None,
    sizes: Mapping[str, int] | None = None,
    content: bytes | None = None,
    weights: str = "",
) -> HloModule:
    """Load and verify a file, or stdin for ``-``, whose ``content`` may have been read before.

    ``function`` selects one of several functions in StableHLO, ``sizes`` are numbers for free sizes. Raises
    ``XlaToPythonError`` with places in the source.
    """
    from ..frontends import load, load_program
    from ..hlo.verifier import verify

    name = "<stdin>" if argument == STDIN else argument
    with working(f"reading {name}"):
        if argument == STDIN:
            module = load(_stdin() if content is None else content, name=name, function=function, sizes=sizes)
        else:
            module = load_program(argument, Path(), function=function, sizes=sizes, weights=weights)
        verify(module, module.source)
    for left_out in module.notes:
        note(f"{left_out.location}: {left_out.message}: it is left out")
    return module


def read_at_one_size(argument: str, function: str | None, sizes: Sequence[str]) -> HloModule:
    """Load and verify a file, an export of symbolic sizes at the numbers that words such as ``B=64`` give.

    Raises ``XlaToPythonError``; XP425 for sizes that are not those which the program leaves open.
    """
    if not sizes:
        return read_module(argument, function)
    content = _stdin() if argument == STDIN else None
    return at_one_size(partial(read_module, argument, function, content=content), parse_sizes(sizes))


def readers(
    files: Sequence[str], sizes: Sequence[str], function: str | None = None, weights: str = ""
) -> dict[str, Callable[[], HloModule | Witnesses]]:
    """Return a function that reads each program, by the program's first source.

    ``sizes`` are words such as ``B=3,5,7``: the files are dumps of one program at these sizes, or the first is a
    function with free sizes. ``weights`` is a checkpoint, which has the tree of an argument. Raises ``UsageError``
    (XP425) for malformed words.
    """
    at_sizes = parse_sizes(sizes)
    if len(files) > 1 and at_sizes and not free_sizes(files[0]):
        shown = [shown_name(name) for name in files]
        return {files[0]: lambda: files_at_sizes([read_module(name, function) for name in files], at_sizes, shown)}
    return {
        name: partial(_read_at_sizes, name, at_sizes, weights)
        if free_sizes(name)
        else partial(_read, name, at_sizes, function, weights)
        for name in files
    }


def _read(
    argument: str, sizes: Mapping[str, tuple[int, ...]], function: str | None, weights: str
) -> HloModule | Witnesses:
    """Load a file, or an export at several sizes. Raises ``XlaToPythonError``; XP425 for sizes if none are free."""
    content = _stdin() if argument == STDIN else None
    found = or_at_sizes(partial(read_module, argument, function, content=content, weights=weights), sizes)
    return files_at_sizes([found], sizes) if sizes and isinstance(found, HloModule) else found


def _read_at_sizes(argument: str, sizes: Mapping[str, tuple[int, ...]], weights: str) -> Witnesses:
    """Load a function with free sizes at the given sizes, or at chosen ones. Raises ``XlaToPythonError``."""
    with working(f"reading {argument}"):
        return function_at_sizes(argument, Path(), sizes or None, weights=weights)


def _stdin() -> bytes:
    """Return all of stdin. Raises UsageError (XP401) on an error of the system, or if stdin is closed."""
    if sys.stdin is None:
        raise file_error("read", "stdin", OSError(errno.EBADF, "it is closed"))
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise file_error("read", "stdin", error) from error


def shown_name(argument: str) -> str:
    """Return a source's name for headers: its file name without folders, which differ between machines."""
    if argument == STDIN:
        return "stdin"
    return argument if is_reference(argument) else Path(argument).name


def has_folder(arguments: Sequence[str]) -> bool:
    """Return whether one of the arguments is a folder, which stands for the programs in it."""
    return any(Path(argument).is_dir() for argument in arguments)


def expanded(arguments: Sequence[str]) -> list[str]:
    """Return the arguments, each once, with folders replaced by their programs. Raises as ``programs_in`` does."""
    found: dict[str, None] = {}
    for argument in arguments:
        folder = Path(argument)
        found.update(dict.fromkeys(map(str, programs_in(folder)) if folder.is_dir() else [argument]))
    return list(found)


def run_all(actions: Sequence[Callable[[], int]]) -> int:
    """Run all actions and report the errors of each; return the highest exit code."""
    highest = 0
    for action in actions:
        try:
            code = action()
        except XlaToPythonError as error:
            session().report(error)
            code = error.exit_code
        highest = max(highest, code)
    return highest
