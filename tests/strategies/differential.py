"""Random programs on XLA and as emitted code, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import xla2py
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child
from xla2py.transpile.equivalence.verdicts.comparison import Budget, Status, compare_leaf, flatten
from xla2py.transpile.errors import UnsupportedError
from xla2py.transpile.fuzzing.program import RandomProgram, batch_text

BATCH = 50  # programs in one XLA module: compiling them one by one takes thirty times as long
EXACT = Budget(relative=0, absolute=0)
ROUNDED = Budget()


@dataclass(frozen=True)
class Failure:
    """A program whose emitted code does not do what XLA does, and why."""

    program: RandomProgram
    reason: str

    def __str__(self) -> str:
        return f"{self.program.name}: {self.reason}\n\n{self.program.text}"


def failures(programs: Sequence[RandomProgram], target: str = "numpy", chunks: str = "") -> Iterator[Failure]:
    """Run programs, whose names must differ, on XLA and as emitted code for a target; yield those that disagree.
    ``chunks`` are as ``emit`` takes them.

    NumPy must run all of them; another target may refuse some.
    """
    for start in range(0, len(programs), BATCH):
        batch = programs[start : start + BATCH]
        inputs = [array for program in batch for array in program.inputs]
        expected = iter(run_hlo_in_child(batch_text(batch), *inputs))
        for program in batch:
            reason = disagreement(program, [next(expected) for _ in range(program.result_count)], target, chunks)
            if reason:
                yield Failure(program, reason)


def disagreement(
    program: RandomProgram, expected: Sequence[np.ndarray], target: str = "numpy", chunks: str = ""
) -> str:
    """How the emitted code's behaviour differs from the expected results; empty where it does not."""
    arguments = [array.copy() for array in program.inputs]
    try:
        actual = xla2py.emit(program.text, target=target, format=False, chunks=chunks).load().main(*arguments)
    except UnsupportedError as error:
        return "" if target != "numpy" else str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    complaints = [
        f"argument {number} was modified"
        for number, (before, after) in enumerate(zip(program.inputs, arguments, strict=True))
        if before.tobytes() != after.tobytes()
    ]
    leaves = flatten(actual)
    if len(leaves) != len(expected):
        return f"{len(expected)} results expected, {len(leaves)} found"
    for number, (want, (path, have)) in enumerate(zip(expected, leaves, strict=True)):
        budget = ROUNDED if number in program.rounded else EXACT
        result = compare_leaf(want, as_array(have), budget, path)
        if result.status is not Status.EQUAL and not (number in program.rounded and result.status.is_good):
            complaints.append(str(result))
    return "\n".join(complaints)


def as_array(value: Any) -> np.ndarray:
    """A result of any target as a NumPy array. CuPy keeps its arrays on the device, Dask computes them late."""
    for method in ("compute", "get"):
        if hasattr(value, method):
            value = getattr(value, method)()
    return np.asarray(value)
