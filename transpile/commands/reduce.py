"""``xla2py reduce FILE``."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ...targets.base import require_targets
from ..errors import Diagnostic, UsageError
from ..files import write_atomically
from .modules import read_module
from .options import Command
from .terminal import note

if TYPE_CHECKING:
    from ..equivalence.checking import Checker
    from ..equivalence.reduction import IsInteresting, Reduction
    from ..hlo.ir import HloModule

_ORACLE_SECONDS = 300.0


@click.command(cls=Command)
@click.argument("source", metavar="FILE")
@click.option("-t", "--target", default="numpy", show_default=True, help="The array library that differs from XLA.")
@click.option("--args", "arguments", metavar="IN.npz", help="Arguments, by parameter name or as arr_0, arr_1, ..")
@click.option("--seed", default=0, show_default=True, help="Seed of the arguments that are made without --args.")
@click.option(
    "--oracle",
    metavar="SCRIPT",
    help="Run as SCRIPT case.hlo case.npz; exit code 0 says that the case still shows the problem.",
)
@click.option("--retries", default=1, show_default=True, help="How often a smaller case must show it again.")
@click.option("-o", "--output", metavar="OUT.hlo", help="Where the smallest case goes; its arguments go beside it.")
def command(
    source: str,
    target: str,
    arguments: str | None,
    seed: int,
    oracle: str | None,
    retries: int,
    output: str | None,
) -> None:
    """Find the smallest program that still differs from XLA, or that an oracle of your own still accepts.

    Writes FILE.reduced.hlo and FILE.reduced.npz, and again whenever a smaller case is found, so that an interrupted
    reduction leaves the best so far. Reduce that to go on.
    """
    from ..equivalence.checking import Checker, Plan
    from ..equivalence.reduction import reduce_module
    from .arrays import arguments_for

    require_targets([target])
    module = read_module(source)
    inputs, _ = arguments_for(module, arguments, seed)
    place = Path(output) if output is not None else Path(source).with_suffix(".reduced.hlo")

    def write(reduction: Reduction) -> None:
        _write(place, reduction.module, reduction.inputs)
        note(f"{reduction.instructions} instructions after {reduction.tried} cases")

    with Checker(Plan(targets=(target,))) as checker, tempfile.TemporaryDirectory() as folder:
        question = _asked(oracle, Path(folder)) if oracle is not None else _differs(checker)
        try:
            reduced = reduce_module(module, inputs, question, confirmations=retries, on_progress=write)
        except KeyboardInterrupt:
            note(f"interrupted; the best so far is {place}")
            raise
    _write(place, reduced.module, reduced.inputs)
    click.echo(_again(place, target, oracle))


def _differs(checker: Checker) -> IsInteresting:
    """Whether the target and XLA, which has to run it, differ on a case."""

    def is_interesting(module: HloModule, inputs: list[np.ndarray[Any, Any]]) -> bool:
        report = checker.check(module, inputs=inputs)
        return report.differs and not any(run.failure for case in report.cases if (run := case.run("xla")))

    return is_interesting


def _asked(oracle: str, folder: Path) -> IsInteresting:
    """What a script of the user's says about a case, by its exit code."""
    script = Path(oracle).resolve()
    if not script.is_file():
        raise UsageError(Diagnostic("XP401", f"there is no script {oracle}"))

    def is_interesting(module: HloModule, inputs: list[np.ndarray[Any, Any]]) -> bool:
        place = folder / "case.hlo"
        _write(place, module, inputs)
        try:
            done = subprocess.run(
                [str(script), str(place), str(place.with_suffix(".npz"))],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                stdin=subprocess.DEVNULL,
                timeout=_ORACLE_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return False
        except OSError as error:
            raise UsageError(Diagnostic("XP401", f"cannot run {oracle}: {error.strerror}")) from error
        return done.returncode == 0

    return is_interesting


def _write(place: Path, module: HloModule, inputs: Sequence[np.ndarray[Any, Any]]) -> None:
    """A case as two files: its HLO, and its arguments as arr_0, arr_1, ..."""
    from ..hlo.printer import print_module
    from .arrays import write_results

    write_atomically(place, print_module(module).encode())
    write_results(place.with_suffix(".npz"), {f"arr_{k}": array for k, array in enumerate(inputs)})


def _again(place: Path, target: str, oracle: str | None) -> str:
    """The command that shows the problem on the smallest case."""
    arguments = place.with_suffix(".npz")
    if oracle is not None:
        return shlex.join([oracle, str(place), str(arguments)])
    return shlex.join(["xla2py", "check", str(place), "-t", target, "--args", str(arguments)])
