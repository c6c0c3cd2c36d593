"""``xla2py fuzz``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import Diagnostic, UsageError
from ..options import READABLE, STYLES
from ..target import load_target, require_targets
from .options import COUNT, SEED, Command, campaigns_option, limits_of_runs, words
from .terminal import counting, note, note_twins, write_table

if TYPE_CHECKING:
    from ..equivalence.reference.worker import Limits
    from ..fuzzing.fuzzer import Progress

DIFFERS = 1
HARMLESS = "equal", "close", "unsupported", "not compared"


@click.command(cls=Command)
@click.option(
    "--ops",
    metavar="NAMES",
    callback=words,
    help="Only try programs with one of these operations, separated by commas.",
)
@click.option("--any-size", is_flag=True, help="Compare modules for any size with modules for each size.")
@click.option("--seeds", type=COUNT, default=200, show_default=True, metavar="N", help="The number of programs to try.")
@click.option(
    "--first-seed", type=SEED, metavar="N", default=0, show_default=True, help="The seed of the first program."
)
@click.option(
    "-t",
    "--target",
    default="numpy",
    show_default=True,
    callback=words,
    metavar="NAMES",
    help="The array libraries, separated by commas.",
)
@click.option(
    "--style",
    type=click.Choice(STYLES),
    default=READABLE,
    show_default=True,
    help="The style of the modules; fused makes a kernel wherever one is possible, even if it does not pay.",
)
@campaigns_option("Kinds of inputs, in turn")
@limits_of_runs
@click.option("-o", "--output", default="fuzz", show_default=True, metavar="DIR", help="The folder for what is found.")
def command(
    ops: tuple[str, ...] | None,
    any_size: bool,
    seeds: int,
    first_seed: int,
    target: tuple[str, ...],
    style: str,
    campaigns: tuple[str, ...],
    timeout: float,
    memory_limit: int,
    output: str,
) -> int:
    """Run random programs on XLA and on targets, and sort the differences into buckets.

    Programs are valid and small, and the same seed gives the same program. A bucket is an operation, an element type
    and a pattern. For each bucket, the output folder gets the first program, its inputs, and the command that
    reproduces the difference. Run the same command again to continue. Exits with 1 if anything was found.

    With --any-size, programs have one to three free sizes, and the module for any size is compared with NumPy's module
    for each of five sizes. Nothing is written, and only --seeds, --first-seed, --style, one --target and the limits
    apply.
    """
    from ..emission import require_style
    from ..equivalence.checking import named_campaigns
    from ..equivalence.reference.participants import Workers
    from ..equivalence.reference.worker import MIB, Limits
    from ..fuzzing.fuzzer import fuzz, resume
    from ..hlo.opcodes import OPCODES

    if any_size:
        if ops or len(target) != 1 or campaigns != ("ordinary",):
            raise click.UsageError("--any-size draws operations and inputs of its own, for one target")
        (name,) = require_targets(target)
        require_style(style, load_target(name))
        note_twins(target)
        return _any_size(range(first_seed, first_seed + seeds), style, name, Limits(timeout, memory_limit * MIB))
    unknown = sorted(set(ops or ()) - set(OPCODES))
    if unknown:
        raise UsageError(Diagnostic("XP606", f"there is no operation '{unknown[0]}'", hint="'xla2py ops' lists them"))
    for name in require_targets(target):
        require_style(style, load_target(name))
    note_twins(target)
    folder = Path(output)
    progress = resume(folder, ops or (), target, named_campaigns(campaigns), style, first_seed)
    if progress.next_seed > first_seed:
        note(f"going on at seed {progress.next_seed}")
    last_seed = first_seed + seeds
    with Workers(Limits(timeout, memory_limit * MIB)) as workers, counting(seeds, "programs") as advance:
        for _ in fuzz(progress, last_seed, workers, folder):
            advance(f"seed {progress.next_seed}, {len(progress.buckets)} buckets", progress.programs)
    _show(progress, folder)
    return DIFFERS if progress.buckets else 0


def _any_size(seeds: range, style: str, target: str, limits: Limits) -> int:
    """Compare the programs of some seeds at several sizes, and show the outcome."""
    from ..equivalence.reference.participants import Workers
    from ..fuzzing.any_size import Tally, compare_any_size

    tally = Tally()
    with Workers(limits) as workers, counting(len(seeds), "programs") as advance:
        for seed in seeds:
            compare_any_size(seed, workers, tally, style, target)
            advance(f"seed {seed}, {len(tally.wrong)} wrong")
    click.echo(f"{len(seeds)} programs, {tally.agreeing} agree at every size, {len(tally.wrong)} do not")
    for cause, count in tally.refusals.most_common():
        click.echo(f"{count} have no module for any size: {cause}")
    for seed, difference in tally.wrong.items():
        click.echo(f"seed {seed}: {difference}")
    return DIFFERS if tally.wrong else 0


def _show(progress: Progress, folder: Path) -> None:
    rows = [
        (target, *(str(counts.get(word, 0)) for word in HARMLESS), str(_bad(counts)))
        for target, counts in progress.verdicts.items()
    ]
    click.echo(f"{progress.programs} programs, {len(progress.drawn)} operations")
    write_table(("target", *HARMLESS, "wrong"), rows)
    if progress.buckets:
        click.echo()
        buckets = sorted(progress.buckets.items(), key=lambda item: -len(item[1]))
        write_table(("bucket", "programs"), [(str(folder / name), str(len(seeds))) for name, seeds in buckets])


def _bad(counts: dict[str, int]) -> int:
    return sum(count for word, count in counts.items() if word not in HARMLESS)
