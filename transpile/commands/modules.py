"""Reading the programs that commands work on, and doing several things with one report for each that fails."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import XlaToPythonError
from ..hlo.ir import HloModule
from .terminal import report, working

STDIN = "-"


def read_module(argument: str) -> HloModule:
    """Load and verify a file, or stdin for ``-``. Raises ``XlaToPythonError`` with places in it."""
    from ..frontends import load
    from ..hlo.verifier import verify

    name = "<stdin>" if argument == STDIN else argument
    with working(f"reading {name}"):
        module = load(sys.stdin.buffer.read() if argument == STDIN else Path(argument), name=name)
        verify(module, module.source)
    return module


def shown_name(argument: str) -> str:
    """What headers call a source: its file name without folders, which differ between machines."""
    return "stdin" if argument == STDIN else Path(argument).name


def run_all(actions: Sequence[Callable[[], int]]) -> int:
    """Run all actions, report the errors of each, and give the highest exit code."""
    highest = 0
    for action in actions:
        try:
            code = action()
        except XlaToPythonError as error:
            report(error)
            code = error.exit_code
        highest = max(highest, code)
    return highest
