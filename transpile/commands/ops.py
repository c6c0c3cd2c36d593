"""``xla2py ops``."""

from __future__ import annotations

import click

from ..target import require_targets, target_names
from .options import Command, setting_options
from .terminal import write_table


@click.command(cls=Command)
@setting_options("target")
def command(target: tuple[str, ...] | None) -> None:
    """List XLA's operations and what each target does with them."""
    from ..emission.module.support_table import coverage
    from ..hlo.opcodes import OPCODES

    targets = target_names() if target is None else require_targets(target)
    tables = [coverage(name) for name in targets]
    rows = [(name, spec.topic, *(table[name] for table in tables)) for name, spec in OPCODES.items()]
    write_table(("operation", "topic", *targets), rows)
