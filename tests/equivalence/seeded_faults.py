"""Faults seeded into emitted code or into what writes it, and what the checker, lockstep and the reducer make of each.

``python tests/equivalence/seeded_faults.py`` measures all of them and prints a table.
"""

from __future__ import annotations

import re
import shutil
import statistics
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import xla2py
from xla2py.transpile.emission import GeneratedModule
from xla2py.transpile.equivalence.inputs.generate import make_inputs, nest
from xla2py.transpile.equivalence.lockstep.run import Lockstep, lockstep
from xla2py.transpile.equivalence.reference.worker import Limits, Worker
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child
from xla2py.transpile.equivalence.shrinking.shrink import Reduction, reduce_module
from xla2py.transpile.equivalence.verdicts.comparison import compare, flatten
from xla2py.transpile.equivalence.verdicts.tolerances import budgets_for
from xla2py.transpile.hlo.ir import HloModule
from xla2py.transpile.hlo.printer import print_module

FOLDER = Path(__file__).parent / "faults"
PROGRAMS: dict[str, str] = tomllib.loads((FOLDER / "programs.toml").read_text())
PACKAGE = Path(xla2py.__file__).parent


@dataclass(frozen=True)
class Fault:
    """What stands in the place of the first match of ``find``, in a program; ``instruction`` is then wrong.

    Without a ``file``, ``find`` is a regular expression for emitted text. With one it is plain text in that file of the
    package (a template, a rule), and the process has to run a copy of the package with the fault: see
    :func:`measured`.
    """

    name: str
    program: str
    find: str
    replace: str
    instruction: str
    file: str = ""

    @property
    def module(self) -> HloModule:
        return xla2py.load(PROGRAMS[self.program].encode())

    def emitted(self, module: HloModule) -> GeneratedModule:
        """The module that is emitted, with the fault in its text."""
        emitted = xla2py.emit(module, constants="inline")
        return replace(emitted, source=self.seeded(emitted.source))

    def seeded(self, source: str) -> str:
        """Emitted text with the fault in it, or as it was where there is no place for it."""
        return source if self.file else re.sub(self.find, self.replace, source, count=1)

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


def _read(name: str) -> list[Fault]:
    return [Fault(**row) for row in tomllib.loads((FOLDER / name).read_text())["fault"]]


OF_TEXT = _read("faults.toml")
OF_SOURCES = _read("sources.toml")
FAULTS = [*OF_TEXT, *OF_SOURCES]


def run(emitted: GeneratedModule, module: HloModule, inputs: list[np.ndarray]) -> list[np.ndarray] | None:
    """The results of an emitted module, or None where it raises."""
    with np.errstate(all="ignore"):
        try:
            arguments = nest([parameter.shape for parameter in module.entry.parameters], inputs)
            results = emitted.load().main(*arguments)
        except Exception:
            return None
    return [np.asarray(leaf) for _, leaf in flatten(results)]


def changes(fault: Fault, clean: str) -> bool:
    """Whether the results of a program change in any bit from those of its clean text: found without the checker."""
    module = fault.module
    emitted, inputs = fault.emitted(module), fault.inputs(module)
    right, wrong = run(replace(emitted, source=clean), module, inputs), run(emitted, module, inputs)
    assert right is not None
    if wrong is None:
        return True
    return any(
        a.dtype != b.dtype or a.shape != b.shape or a.tobytes() != b.tobytes()
        for a, b in zip(right, wrong, strict=True)
    )


def is_found(fault: Fault, module: HloModule, inputs: list[np.ndarray]) -> bool:
    """Whether what is emitted for a program, with the fault in it, differs from XLA, or does not run.

    A text that does not take the fault, or does not run with it, is no finding, and neither is a program that a faulty
    rule gives a wrong shape, which stops its emission: a reduction must not end at another.
    """
    try:
        emitted = fault.emitted(module)
    except AssertionError:
        return False
    if not fault.file and emitted.source == xla2py.emit(module, constants="inline").source:
        return False
    results = run(emitted, module, inputs)
    if results is None:
        return bool(fault.file)
    expected = run_hlo_in_child(print_module(module), *inputs)
    return any(not leaf.status.is_good for leaf in compare(expected, results, budgets_for(module)))


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


@dataclass(frozen=True)
class Measured:
    """Whether a fault changes a result, whether the comparison with XLA finds it, the instruction that lockstep names
    first, with its line, and the instructions that a reduction leaves (0 where it was not asked for)."""

    changes: bool
    is_found: bool
    named: str
    line: int
    left: int


def measure(fault: Fault, clean: str, reduces: bool) -> Measured:
    """Measure a fault in this process; ``clean`` is the text of its program without it."""
    module = fault.module
    finds = is_found(fault, module, fault.inputs(module))
    first = in_lockstep(fault).first
    name, line = (first.instruction.name, first.line) if first is not None else ("nothing", 0)
    left = reduced(fault).instructions if finds and reduces else 0
    return Measured(changes(fault, clean), finds, name, line, left)


def measured(fault: Fault, reduces: bool = True) -> Measured:
    """Measure a fault; one of a template or a rule in a process that runs a copy of the package with the fault."""
    clean = xla2py.emit(fault.module, constants="inline").source
    if not fault.file:
        return measure(fault, clean, reduces)
    with tempfile.TemporaryDirectory() as folder:
        worker = Worker(environment={"PYTHONPATH": folder, "PYTHONSAFEPATH": "1"})  # nothing from the current folder
        copy_of_package(Path(folder) / "xla2py", fault)
        try:
            answer: Measured = worker.ask(measure, fault, clean, reduces, limits=Limits(600, None)).value
        finally:
            worker.stop()
    return answer


def copy_of_package(folder: Path, fault: Fault) -> None:
    """Write the package into a folder, with a fault in one of its files; the others are compiled already."""
    for name in ("transpile", "targets", "templates", "tests/equivalence"):
        shutil.copytree(PACKAGE / name, folder / name)
    shutil.copy(PACKAGE / "__init__.py", folder)
    text = (folder / fault.file).read_text("utf-8")
    (folder / fault.file).write_text(text.replace(fault.find, fault.replace, 1), "utf-8")


def main(names: list[str]) -> None:
    """Measure everything, or the faults of certain names, and print it as a table."""
    print("| fault | program | instruction | changes a result | found | lockstep names | left after reduction |")
    print("|---|---|---|---|---|---|---|")
    for kind, faults in {"emitted text": OF_TEXT, "templates and rules": OF_SOURCES}.items():
        started = time.perf_counter()
        rows = [(fault, measured(fault)) for fault in faults if not names or fault.name in names]
        for fault, result in rows:
            words = ["yes" if told else "no" for told in (result.changes, result.is_found)]
            print("|", " | ".join((fault.name, fault.program, fault.instruction, *words, result.named)), end="")
            print(f" | {result.left} |")
        sizes = [result.left for _, result in rows if result.left]
        counts = (
            sum(result.changes for _, result in rows),
            sum(result.is_found for _, result in rows),
            sum(result.named == fault.instruction for fault, result in rows),
        )
        if rows:
            print("\n{}: {} faults, {} change a result, {} are found, {} are named,".format(kind, len(rows), *counts))
            print(f"{statistics.median(sizes):g} instructions are left in the median, at most {max(sizes)},", end=" ")
            print(f"{time.perf_counter() - started:.0f} s\n")


if __name__ == "__main__":
    main(sys.argv[1:])
