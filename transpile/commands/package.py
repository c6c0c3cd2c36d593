"""``xla2py package SOURCE... -o DIR``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from ..errors import Diagnostic, UsageError
from ..options import SETTINGS
from ..settings import load_settings
from ..target import require_targets
from .options import Command, choose, setting_options
from .terminal import note, working, write_table

ACTION_NEEDED = 1
_NAMED = re.compile(r"([A-Za-z_]\w*)=(.+)", re.DOTALL)


@click.command(cls=Command)
@click.argument("programs", metavar="[NAME=]SOURCE...", nargs=-1)
@click.option("-o", "--output", metavar="DIR", help="The folder to create for the project.")
@click.option("--name", default="", metavar="NAME", help="The name of the package. Default: the name of the folder.")
@click.option("--check", metavar="DIR", help="Exit with 1 if the package in DIR is not up to date with its sources.")
@click.option("--update", metavar="DIR", help="Rewrite what changed in the package in DIR, and merge your edits.")
@click.option("--discard-edits", is_flag=True, help="With --update, discard your edits.")
@click.option(
    "--value-and-grad",
    type=click.IntRange(0),
    metavar="ARGUMENT",
    help="Add value_and_grad for SciPy's minimize(jac=True), by the argument with this number.",
)
@setting_options(*SETTINGS)
def command(
    programs: tuple[str, ...],
    output: str | None,
    name: str,
    check: str | None,
    update: str | None,
    discard_edits: bool,
    value_and_grad: int | None,
    **given: Any,
) -> int:
    """Write a project that pip can install, with a function for each SOURCE.

    SOURCE is what emit takes: a file, or a JAX function with its arguments, 'module:function(f32[4,8])'. The project
    has the modules, the command `python -m NAME in.npz -o out.npz`, a README, and tests against the results that XLA
    gives now. Neither running nor testing it needs JAX or xla2py.
    """
    wanted = [word for word in (output, check, update) if word is not None]
    if len(wanted) != 1 or bool(programs) != (output is not None):
        raise UsageError(Diagnostic("XP402", "give SOURCE... with -o DIR, or one of --check DIR and --update DIR"))
    if check is not None:
        return _checked(Path(check))
    if update is not None:
        return _updated(Path(update), discard_edits)
    return _written(programs, Path(str(output)), name, value_and_grad, given)


def _written(
    programs: tuple[str, ...], folder: Path, name: str, value_and_grad: int | None, given: dict[str, Any]
) -> int:
    from ..vendoring.packages import package_all

    target, *others = require_targets(choose(given, load_settings(Path.cwd()))["target"])
    if others:
        raise click.UsageError("a package is for one target: give -t one name")
    options = {each: value for each in SETTINGS if (value := given[each.replace("-", "_")]) is not None}
    options.pop("target", None)
    with working(f"packaging {', '.join(programs)}"):
        package_all(list(map(_named, programs)), (), folder, name, target, options, value_and_grad)
    place = folder if folder.is_absolute() else f"./{folder}"  # pip takes a bare name for a package of an index
    note(f"wrote {folder}: 'pip install {place}' installs it, 'pytest {folder}' runs its tests")
    return 0


def _named(word: str) -> tuple[str, str]:
    """Return the name in ``NAME=SOURCE``, or an empty string, and the source."""
    found = _NAMED.fullmatch(word)
    return (found[1], found[2]) if found is not None and not Path(word).exists() else ("", word)


def _checked(folder: Path) -> int:
    from ..vendoring.packages import inspect_package

    found = inspect_package(folder)
    rows = [(each.module.output, each.state.value, each.module.source) for each in found]
    write_table(("file", "state", "source"), rows)
    return ACTION_NEEDED if any(each.needs_action for each in found) else 0


def _updated(folder: Path, discard_edits: bool) -> int:
    from ..vendoring import Outcome
    from ..vendoring.packages import update_package

    with working(f"updating {folder}"):
        outcomes = update_package(folder, discard_edits=discard_edits)
    for output, outcome in outcomes.items():
        click.echo(f"{output}: {outcome.value}")
    return ACTION_NEEDED if Outcome.CONFLICT in outcomes.values() else 0
