"""Faults seeded into emitted code, and what the checker, lockstep and the reducer make of each.

``python tests/equivalence/seeded_faults.py`` measures all of them and prints a table.
"""

from __future__ import annotations

import re
import statistics
import time
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import xla2py
from xla2py.transpile.emission import GeneratedModule
from xla2py.transpile.equivalence.budgets import budget_for
from xla2py.transpile.equivalence.comparison import compare, flatten
from xla2py.transpile.equivalence.inputs import make_inputs, nest
from xla2py.transpile.equivalence.lockstep import Lockstep, lockstep
from xla2py.transpile.equivalence.reduction import Reduction, reduce_module
from xla2py.transpile.equivalence.reference_process import run_hlo_in_child
from xla2py.transpile.hlo.ir import HloModule
from xla2py.transpile.hlo.printer import print_module

FOLDER = Path(__file__).parent / "faults"
PROGRAMS: dict[str, str] = tomllib.loads((FOLDER / "programs.toml").read_text())


@dataclass(frozen=True)
class Fault:
    """Text that is put in the place of the first match of ``find``, in a program; ``instruction`` is then wrong."""

    name: str
    program: str
    find: str
    replace: str
    instruction: str

    @property
    def module(self) -> HloModule:
        return xla2py.load(PROGRAMS[self.program].encode())

    def seeded(self, source: str) -> str:
        """The text with the fault in it, or as it was where there is no place for it."""
        return re.sub(self.find, self.replace, source, count=1)

    def inputs(self, module: HloModule) -> list[np.ndarray]:
        """Inputs that a fault can be seen on: with halves, negative and special values among them."""
        inputs = make_inputs(module, 5)
        return [_telling(k, array) for k, array in enumerate(inputs)]


def _telling(number: int, array: np.ndarray) -> np.ndarray:
    """Floats with halves, a large one and a NaN among them, integers of both signs, an index inside."""
    array = array.copy()
    if array.dtype == np.float32 and array.size >= 12:
        array.flat[:3] = (0.5, -2.5, 1.5)
        if array.shape == (4, 6):
            array.flat[4] = (1.5, 4.0)[number]
            array.flat[7] = (1.0, np.nan)[number]
    if array.shape == (12,) and array.dtype == np.int32:
        array[:] = np.arange(12) - 6 if number == 1 else 4 - np.arange(12) // 4
        array[9] = (0, 3, -2)[number]
    if array.shape == () and array.dtype == np.int32:
        array[...] = 3
    return array


FAULTS = [Fault(**row) for row in tomllib.loads((FOLDER / "faults.toml").read_text())["fault"]]


def run(emitted: GeneratedModule, source: str, module: HloModule, inputs: list[np.ndarray]) -> list[np.ndarray] | None:
    """The results of a text, or None where it raises."""
    with np.errstate(all="ignore"):
        try:
            arguments = nest([parameter.shape for parameter in module.entry.parameters], inputs)
            results = replace(emitted, source=source).load().main(*arguments)
        except Exception:
            return None
    return [np.asarray(leaf) for _, leaf in flatten(results)]


def changes(fault: Fault) -> bool:
    """Whether the results of a program change in any bit: found without the checker."""
    module, emitted = fault.module, xla2py.emit(fault.module)
    inputs = fault.inputs(module)
    right, wrong = (run(emitted, text, module, inputs) for text in (emitted.source, fault.seeded(emitted.source)))
    assert right is not None
    if wrong is None:
        return True
    return any(
        a.dtype != b.dtype or a.shape != b.shape or a.tobytes() != b.tobytes()
        for a, b in zip(right, wrong, strict=True)
    )


def is_found(fault: Fault, module: HloModule, inputs: list[np.ndarray]) -> bool:
    """Whether the emitted text of a program with the fault in it differs from XLA."""
    emitted = xla2py.emit(module, constants="inline")
    source = fault.seeded(emitted.source)
    if source == emitted.source:
        return False
    results = run(emitted, source, module, inputs)
    if results is None:
        return False
    expected = run_hlo_in_child(print_module(module), *inputs)
    return any(not leaf.status.is_good for leaf in compare(expected, results, budget_for(module)))


def in_lockstep(fault: Fault) -> Lockstep:
    """What a run in lockstep says of a program with the fault in it."""
    module, emitted = fault.module, xla2py.emit(fault.module)
    arguments = nest([parameter.shape for parameter in module.entry.parameters], fault.inputs(module))
    with np.errstate(all="ignore"):
        return lockstep(module, emitted, arguments, fault.seeded(emitted.source))


def reduced(fault: Fault) -> Reduction:
    """The smallest case that still shows the fault."""
    module = fault.module
    return reduce_module(
        module, fault.inputs(module), lambda module, inputs: is_found(fault, module, inputs), confirmations=0
    )


def main() -> None:
    """Measure everything and print it as a table."""
    started = time.perf_counter()
    found = named = changed = 0
    sizes: list[int] = []
    print("| fault | program | instruction | found | lockstep names | left after reduction |")
    print("|---|---|---|---|---|---|")
    for fault in FAULTS:
        module = fault.module
        does_change, finds = changes(fault), is_found(fault, module, fault.inputs(module))
        first = in_lockstep(fault).first
        name = first.instruction.name if first is not None else "nothing"
        size = reduced(fault).instructions if finds else 0
        changed, found, named = changed + does_change, found + finds, named + (name == fault.instruction)
        sizes += [size] if size else []
        print(
            f"| {fault.name} | {fault.program} | {fault.instruction} | {'yes' if finds else 'no'} | {name} | {size} |"
        )
    print(f"\n{len(FAULTS)} faults, {changed} change a result, {found} are found, {named} are named,", end=" ")
    print(f"{statistics.median(sizes):g} instructions are left in the median, at most {max(sizes)}")
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
