"""``xla2py reduce FILE``."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ..errors import Diagnostic, UsageError
from ..target import require_targets
from .modules import read_module
from .options import RETRIES, Command, arguments_options, choose_for, one_target_options
from .terminal import note

if TYPE_CHECKING:
    from ..equivalence.shrinking.shrink import IsInteresting, Reduction
    from ..hlo.ir import HloModule

_ORACLE_SECONDS = 300.0


@click.command(cls=Command)
@click.argument("source", metavar="FILE")
@click.option(
    "-t",
    "--target",
    metavar="NAME",
    default="numpy",
    show_default=True,
    help="The array library that differs from XLA.",
)
@arguments_options
@one_target_options
@click.option(
    "--oracle",
    metavar="SCRIPT",
    help="A program, run as SCRIPT case.hlo case.npz, that exits with 0 if the case still shows the problem.",
)
@click.option(
    "--retries",
    type=RETRIES,
    metavar="N",
    default=1,
    show_default=True,
    help="How often a smaller case must reproduce the problem.",
)
@click.option(
    "-o", "--output", metavar="OUT.hlo", help="The file for the smallest case; its arguments are saved beside it."
)
def command(
    source: str,
    target: str,
    arguments: str | None,
    seed: int,
    oracle: str | None,
    retries: int,
    output: str | None,
    **given: Any,
) -> None:
    """Find the smallest program that still differs from XLA, or that your own oracle still accepts.

    Writes FILE.reduced.hlo and FILE.reduced.npz whenever it finds a smaller case. If you interrupt it, they hold the
    best case so far; reduce that file to continue.
    """
    from ..equivalence.checking import Checker, Plan
    from ..equivalence.shrinking.reproducers import again, differs, write_case
    from ..equivalence.shrinking.shrink import reduce_module
    from .arrays import arguments_for

    require_targets([target])
    options = choose_for(target, given)
    module = read_module(source)
    inputs, _ = arguments_for(module, arguments, seed)
    place = Path(output) if output is not None else Path(source).with_suffix(".reduced.hlo")

    def write(reduction: Reduction) -> None:
        write_case(place, reduction.module, reduction.inputs)
        note(f"{reduction.instructions} instructions after {reduction.tried} cases")

    with Checker(Plan(targets=(target,), options=options)) as checker, tempfile.TemporaryDirectory() as folder:
        question = _asked(oracle, Path(folder)) if oracle is not None else differs(checker)
        try:
            reduced = reduce_module(module, inputs, question, confirmations=retries, on_progress=write)
        except KeyboardInterrupt:
            note(f"interrupted; the best so far is {place}")
            raise
    write_case(place, reduced.module, reduced.inputs)
    arguments = str(place.with_suffix(".npz"))
    click.echo(shlex.join([oracle, str(place), arguments]) if oracle is not None else again(place, target, options))


def _asked(oracle: str, folder: Path) -> IsInteresting:
    """Return the test of a case by the user's script: whether its exit code is 0."""
    from ..equivalence.shrinking.reproducers import write_case

    script = Path(oracle).resolve()
    if not script.is_file():
        raise UsageError(Diagnostic("XP401", f"there is no script {oracle}"))

    def is_interesting(module: HloModule, inputs: list[np.ndarray[Any, Any]]) -> bool:
        place = folder / "case.hlo"
        write_case(place, module, inputs)
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
