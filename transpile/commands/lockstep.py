"""``xla2py lockstep FILE``."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import click

from ..hlo.device_groups import device_count
from ..options import option_words
from ..target import require_targets
from .modules import read_module, shown_name
from .options import Command, arguments_options, choose_for, one_target_options
from .terminal import note, working

DIFFERS = 1
NOT_COMPARED = 3


@click.command(cls=Command)
@click.argument("source", metavar="FILE")
@click.option("-t", "--target", metavar="NAME", default="numpy", show_default=True, help="The array library to run on.")
@arguments_options
@one_target_options
@click.option("--edited", metavar="FILE.py", help="Run this edited version of the emitted code.")
def command(source: str, target: str, arguments: str | None, seed: int, edited: str | None, **given: Any) -> int:
    """Run emitted code beside XLA and name the first instruction that introduces an error.

    XLA computes each instruction from the operands that the emitted code had, so an inherited error does not count.
    Inputs are drawn up to 8 times, until every branch, loop body and reducer has run. Exits with 1 if something
    differs, and with 3 if nothing could be compared.
    """
    from ..emission import emit
    from ..equivalence.inputs.coverage import MOST_DRAWS, Reach
    from ..equivalence.inputs.generate import make_inputs
    from ..equivalence.lockstep.origins import find_first_origin
    from ..equivalence.reference.participants import Workers
    from .arrays import arguments_for

    require_targets([target])
    options = choose_for(target, given)
    module = read_module(source)
    inputs, _ = arguments_for(module, arguments, seed)
    is_given = arguments is not None or bool(module.arguments)
    draws = chain([inputs], () if is_given else (make_inputs(module, seed + k) for k in range(1, MOST_DRAWS)))
    text = _edited(Path(edited)) if edited is not None else None
    emitted = emit(module, target, name=shown_name(source), **options)
    is_readable = target == "numpy" and not option_words(options)
    readable = emitted if is_readable else emit(module, "numpy", nested=False, custom_calls=options["custom_calls"])
    reach = Reach.of(readable, text if is_readable else None) if device_count(module) == 1 else None
    with Workers() as workers, working(f"running {shown_name(source)} on {target} and XLA"):
        found = find_first_origin(module, emitted, draws, workers, reach, source=text)
    if found.instruction or not found.checked:
        click.echo(str(found))
    for remark in found.remarks():
        note(remark)
    if found.instruction or found.failure:
        return DIFFERS
    return 0 if found.checked else NOT_COMPARED


def _edited(path: Path) -> str:
    """Return the text of an edited module. Raises ``UsageError`` (XP401) if it is not Python."""
    from ..errors import Diagnostic, UsageError
    from ..files import read_text

    text = read_text(path)
    try:
        compile(text, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise UsageError(Diagnostic("XP401", f"{path}, line {error.lineno}, is not Python: {error.msg}")) from error
    return text
