"""``xla2py lockstep FILE``."""

from __future__ import annotations

from pathlib import Path

import click

from ...targets.base import require_targets
from .modules import read_module, shown_name
from .options import Command
from .terminal import note, working

DIFFERS = 1


@click.command(cls=Command)
@click.argument("source", metavar="FILE")
@click.option("-t", "--target", default="numpy", show_default=True, help="The array library to run on.")
@click.option("--args", "arguments", metavar="IN.npz", help="Arguments, by parameter name or as arr_0, arr_1, ..")
@click.option("--seed", default=0, show_default=True, help="Seed of the arguments that are made without --args.")
@click.option("--edited", metavar="FILE.py", help="Run this edited form of what is emitted without options.")
def command(source: str, target: str, arguments: str | None, seed: int, edited: str | None) -> int:
    """Run emitted code beside XLA and name the first instruction that introduces an error.

    Each instruction is computed by XLA from the operands that emitted code had, so that what an instruction only
    inherits is not held against it. Exit code 1 where something differs.
    """
    from ..emission import emit
    from ..equivalence.inputs import nest
    from ..equivalence.lockstep import lockstep
    from ..equivalence.lockstep_recorder import record
    from ..equivalence.participants import Workers
    from ..files import read_bytes
    from .arrays import arguments_for

    require_targets([target])
    module = read_module(source)
    inputs, _ = arguments_for(module, arguments, seed)
    text = read_bytes(Path(edited)).decode() if edited is not None else None
    emitted = emit(module, target, name=shown_name(source))
    nested = nest([parameter.shape for parameter in module.entry.parameters], inputs)
    with Workers() as workers, working(f"running {shown_name(source)} on {target} and XLA"):
        run = workers.worker(target)
        found = lockstep(
            module, emitted, nested, text, record=lambda probed, values: run.ask(record, probed, list(values)).value
        )
    for divergence in found.divergences[:1]:
        click.echo(str(divergence))
        if divergence.source:
            click.echo(f"  from {divergence.source}")
        if divergence.inside:
            names = ", ".join(instruction.name for instruction in divergence.inside)
            click.echo(f"  or from what has no value of its own in emitted code: {names}")
    later = len(found.divergences) - 1
    note(f"{found.checked} comparisons" + (f", {later} more errors introduced later" if later > 0 else ""))
    if found.unchecked:
        note(f"not checked, as XLA refuses them: {', '.join(found.unchecked)}")
    if found.failure:
        note(f"the run ended early: {found.failure}")
    return DIFFERS if found.divergences or found.failure else 0
