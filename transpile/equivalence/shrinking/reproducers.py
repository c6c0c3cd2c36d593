"""The smallest case of a difference, as two files that reproduce it."""

from __future__ import annotations

import io
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ...emission.functions.sidecars import storable
from ...files import write_atomically
from ...hlo.carriers import Array
from ...hlo.ir import HloModule
from ...hlo.printer import print_module
from ...options import option_words
from ..reports.results import ProgramReport, ReducedCase
from .shrink import IsInteresting, Reduction, reduce_module

_MOST_SHOWN = 64  # elements of an argument


class Examiner(Protocol):
    """A comparison of a target with XLA on a case."""

    def examine(self, module: HloModule, *, inputs: Sequence[Array] | None = None) -> ProgramReport: ...


def differs(examiner: Examiner) -> IsInteresting:
    """Return a predicate of cases: whether the target and XLA differ, and XLA can run the case."""

    def is_interesting(module: HloModule, inputs: list[Array]) -> bool:
        report = examiner.examine(module, inputs=inputs)
        return report.differs and not any(run.failure for case in report.cases if (run := case.run("xla")))

    return is_interesting


def reduce_case(
    module: HloModule, inputs: Sequence[Array], target: str, place: Path, examiner: Examiner, options: Mapping[str, Any]
) -> ReducedCase:
    """Reduce a program on which a target differs from XLA; write the smallest to ``place``, its arguments beside it.

    ``examiner`` compares only this target with XLA, with ``options`` of emission. Raises ``UsageError`` XP620 if they
    do not differ on these inputs.
    """

    def write(reduction: Reduction) -> None:
        write_case(place, reduction.module, reduction.inputs)

    found = reduce_module(module, inputs, differs(examiner), confirmations=0, on_progress=write)
    write(found)
    names = [parameter.name for parameter in found.module.entry.parameters]
    labels = names if len(names) == len(found.inputs) else [f"arr_{k}" for k in range(len(found.inputs))]
    shown = (f"{label} = {_shown(array)}" for label, array in zip(labels, found.inputs, strict=True))
    return ReducedCase(found.instructions, print_module(found.module), tuple(shown), again(place, target, options))


def write_case(place: Path, module: HloModule, inputs: Sequence[Array]) -> None:
    """Write a case as two files: its HLO, and beside it its arguments as ``arr_0``, ``arr_1``, ..."""
    arguments = io.BytesIO()
    np.savez(arguments, *map(storable, inputs), allow_pickle=False)
    write_atomically(place, print_module(module).encode())
    write_atomically(place.with_suffix(".npz"), arguments.getvalue())


def again(place: Path, target: str, options: Mapping[str, Any]) -> str:
    """Return the command that reproduces the difference on a written case."""
    words = ["xla2py", "check", str(place), "-t", target, *option_words(options)]
    return shlex.join([*words, "--args", str(place.with_suffix(".npz"))])


def _shown(array: Array) -> str:
    text = np.array2string(array, threshold=_MOST_SHOWN, edgeitems=3, separator=", ")
    return f"{array.dtype.name}{list(array.shape)} {text}"
