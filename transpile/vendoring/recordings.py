"""Results of XLA for chosen inputs, recorded beside a package, and their agreement with its functions."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from ..dataclass import dataclass
from ..emission.weights import nonfinite
from ..equivalence.inputs.generate import make_inputs
from ..equivalence.reference.xla_process import run_hlo_in_child
from ..equivalence.verdicts.comparison import Budget, LeafResult, Status, compare_leaf
from ..equivalence.verdicts.perturbed_functions import with_moved_functions
from ..equivalence.verdicts.sensitivity import HEADROOM, OF_FUNCTIONS, OF_INPUTS, TRIALS, excused, moved
from ..equivalence.verdicts.tolerances import budgets_for
from ..errors import Diagnostic, UsageError, XlaToPythonWarning
from ..files import write_atomically
from ..frontends.witnesses import Witnesses
from ..hlo.element_types import from_dtype
from ..hlo.ir import HloModule
from ..hlo.printer import print_without_constants
from .arguments import argument_leaves
from .manifest import Project, VendoredModule
from .programs import is_large, program_of

Array = np.ndarray[Any, np.dtype[Any]]

FOLDER = Path("tests", "recorded")
SEEDS = (0, 1)  # of the recorded inputs
ILL_CONDITIONED = "rounding errors move the results farther than usual, and the tests allow for it"
_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Agreement:
    """The number of runs beside XLA, and the largest difference in them, beside the largest number of its array."""

    runs: int
    absolute: float
    largest: float

    @property
    def text(self) -> str:
        return f"{self.absolute:.2g}, of numbers up to {self.largest:.2g}" if self.absolute else "none"


def record(project: Project, module: VendoredModule, package: str) -> Agreement:
    """Run a function of a package beside XLA, and write the inputs, XLA's results and the tolerances.

    The first inputs are those that the function was traced with, as far as they are known. Warns of results that are
    not finite, of random inputs only if all are random, and of results that rounding errors move farther than the usual
    tolerance. Raises ``UsageError``: XP709 if the function fails or returns other values, XP460 if XLA is missing.
    """
    program = program_of(project, module)
    programs = program.modules if isinstance(program, Witnesses) else (program,)
    names = [leaf.name for leaf in argument_leaves(project, module)]
    differences: list[tuple[float, float]] = []
    results: dict[str, list[Array]] = {}
    runs = [(each, seed) for each in programs for seed in SEEDS]
    for number, (each, seed) in enumerate(runs):
        arguments = dict(zip(names, _inputs(each, seed), strict=True))
        inputs = list(arguments.values())
        expected = _in_xla(each, inputs)
        actual = _called(project, module, package, {name: wide(x) for name, x in arguments.items()})
        if len(actual) != len(expected):
            raise _differs(module, f"it gives {len(actual)} arrays, and XLA {len(expected)}")
        budgets = budgets_for(each)
        if module.gradient:  # __init__ returns value and gradient in float64
            actual = {name: x.astype(y.dtype) for (name, x), y in zip(actual.items(), expected, strict=True)}
        pairs = zip(actual.values(), expected, strict=True)
        given = [x.astype(y.dtype) if x.dtype == wide(y).dtype else x for x, y in pairs]
        verdicts = [compare_leaf(*leaf) for leaf in zip(expected, given, budgets, strict=True)]
        distances = [0.0] * len(verdicts)
        if not all(verdict.status.is_good for verdict in verdicts):
            verdicts, distances = _excused(verdicts, expected, given, each, inputs)
        for name, verdict, x in zip(actual, verdicts, expected, strict=True):
            if seed == SEEDS[0] or all(example is None for example in each.examples):
                results.setdefault(name, []).append(x)
            if np.isfinite(verdict.absolute):
                differences.append((verdict.absolute, _largest(x)))
            if not verdict.status.is_good:
                raise _differs(module, f"{name}: {verdict}")
        if any(distances):
            warnings.warn(f"{module.function}: {ILL_CONDITIONED}", XlaToPythonWarning, stacklevel=2)
        allowed = [_allowed(*leaf) for leaf in zip(expected, budgets, distances, strict=True)]
        recorded = dict(zip(actual, expected, strict=True))
        _write(project.folder / FOLDER / f"{module.function}-{number}.npz", arguments, recorded, allowed)
    _warn_of_nonfinite(module, results)
    worst = max(differences, key=lambda pair: pair[0] / (pair[1] or 1), default=(0.0, 0.0))
    return Agreement(len(runs), *worst)


def _inputs(program: HloModule, seed: int) -> list[Array]:
    """Return inputs for a seed, of the first those that the function was traced with."""
    made = make_inputs(program, seed)
    if seed != SEEDS[0] or len(program.examples) != len(made):
        return made
    return [x if example is None else example for x, example in zip(made, program.examples, strict=True)]


def forget(project: Project, module: VendoredModule) -> None:
    """Remove what is recorded of a function."""
    for path in _recorded(project, module):
        path.unlink()


def is_recorded(project: Project, module: VendoredModule) -> bool:
    """Return whether results of a function are recorded."""
    return any(_recorded(project, module))


def _recorded(project: Project, module: VendoredModule) -> Iterator[Path]:
    return (project.folder / FOLDER).glob(f"{module.function}-*.npz")


def _warn_of_nonfinite(module: VendoredModule, results: Mapping[str, Sequence[Array]]) -> None:
    told = [f"{name} has {odd}" for name, arrays in results.items() if (odd := nonfinite(arrays))]
    if told:
        message = f"{module.function}: {', '.join(told)} for the inputs in {FOLDER.as_posix()}, also in XLA"
        warnings.warn(message, XlaToPythonWarning, stacklevel=2)


def wide(array: Array) -> Array:
    """Return an array in a type that files can name and that represents all its numbers."""
    element_type = from_dtype(array.dtype)
    if not element_type.is_extension:
        return array
    return array.astype(np.int8 if element_type.is_integral else np.float32)


def _differs(module: VendoredModule, why: str) -> UsageError:
    hint = "xla2py check tells where; nothing was written"
    return UsageError(Diagnostic("XP709", f"{module.function} is not what XLA computes: {why}", hint=hint))


def _called(project: Project, module: VendoredModule, package: str, arguments: dict[str, Array]) -> dict[str, Array]:
    """Return the results of a function by name, from the package's own command in a separate process."""
    with tempfile.TemporaryDirectory() as folder:
        given, results = Path(folder, "in.npz"), Path(folder, "out.npz")
        np.savez(given, allow_pickle=False, **arguments)
        several = sum(bool(each.function) for each in project.modules) > 1
        function = [module.function] if several else []
        command = [sys.executable, "-m", package, *function, str(given), "-o", str(results)]
        environment = {
            **os.environ,
            "PYTHONPATH": str((project.folder / "src").resolve()),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NUMBA_CACHE_DIR": folder,
        }
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        if done.returncode:
            raise _differs(module, (done.stderr.strip().splitlines() or ["it failed"])[-1])
        with np.load(results, allow_pickle=False) as stored:
            return dict(stored)


def _in_xla(program: HloModule, inputs: Sequence[Array], seed: int | None = None) -> list[Array]:
    """Return XLA's results; with a seed, for inputs and weights that are moved by rounding errors."""
    text, weights = print_without_constants(program, is_large, as_parameters=True)
    arrays = [*inputs, *weights.values()]
    return run_hlo_in_child(text, *(arrays if seed is None else moved(arrays, seed)))


def _excused(
    verdicts: Sequence[LeafResult],
    expected: Sequence[Array],
    actual: Sequence[Array],
    program: HloModule,
    inputs: Sequence[Array],
) -> tuple[list[LeafResult], list[float]]:
    """Return the verdicts, with floats made ``close`` that rounding errors in the inputs or functions move as far, and
    for each result how far they may move it.
    """
    with_other_functions = [with_moved_functions(program, seed) for seed in range(TRIALS)]
    of_functions = [_in_xla(other, inputs) for other in with_other_functions if other is not None]
    of_inputs = [_in_xla(program, inputs, seed) for seed in range(TRIALS)]
    judged: Sequence[LeafResult] = verdicts
    for note, trials in ((OF_INPUTS, of_inputs), (OF_FUNCTIONS, of_functions)):
        judged = excused(judged, expected, actual, dict(enumerate(trials)).get, lambda seed: None, note)
    leaves = [
        (new, HEADROOM * max(_largest(wide(one) - wide(x)) for one in others))
        if old.status is Status.DIFFERS and _is_inexact(x)
        else (old, 0.0)
        for old, new, x, *others in zip(verdicts, judged, expected, *of_inputs, *of_functions, strict=True)
    ]
    return [verdict for verdict, _ in leaves], [distance for _, distance in leaves]


def _is_inexact(array: Array) -> bool:
    element_type = from_dtype(array.dtype)
    return element_type.is_floating or element_type.is_complex


def _write(
    path: Path, arguments: Mapping[str, Array], results: Mapping[str, Array], allowed: Sequence[tuple[float, float]]
) -> None:
    arrays = {f"arguments/{name}": wide(x) for name, x in arguments.items()}
    for (name, x), tolerance in zip(results.items(), allowed, strict=True):
        arrays[f"results/{name}"] = wide(x)
        arrays[f"allowed/{name}"] = np.array(tolerance)
    stream = io.BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **arrays)
    write_atomically(path, stream.getvalue())


def _allowed(expected: Array, budget: Budget, distance: float) -> tuple[float, float]:
    """Return the relative and the absolute tolerance of a result: the rule of comparisons in two numbers."""
    if not _is_inexact(expected):
        return 0.0, 0.0
    relative, absolute = budget.tolerance(expected.dtype)
    return relative, absolute + 4 * _eps(expected.dtype) * budget.terms * _largest(expected) + distance


def _largest(array: Array) -> float:
    """Return the largest absolute value of the finite elements."""
    values = np.abs(wide(array))
    return float(values[np.isfinite(values)].max(initial=0.0))


def _eps(dtype: np.dtype[Any]) -> float:
    """Return the distance from 1 to the next number of a float or complex type."""
    return float(ml_dtypes.finfo(from_dtype(dtype).real.dtype).eps)
