"""``xla2py explain CODE``."""

from __future__ import annotations

import click

from ..diagnostics import CATALOGUE, explanation_lines
from ..errors import Diagnostic, UsageError
from .options import Command
from .terminal import write_table


@click.command(cls=Command)
@click.argument("code", required=False)
def command(code: str | None) -> None:
    """Explain the error CODE: what it means, an example that raises it, and what to do.

    Without CODE, list all codes.
    """
    if code is None:
        write_table(("code", "meaning"), [(entry.code, entry.title) for entry in CATALOGUE.values()])
        return
    explanation = CATALOGUE.get(code.upper())
    if explanation is None:
        hint = "'xla2py explain' lists all codes"
        raise UsageError(Diagnostic("XP405", f"there is no error code '{code}'", hint=hint))
    click.echo("\n".join(explanation_lines(explanation)).rstrip())
