"""``xla2py check FILE...``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import Diagnostic, UsageError, XlaToPythonError
from ..files import write_atomically
from ..frontends.witnesses import Witnesses
from ..hlo.ir import HloModule
from ..options import SETTINGS
from ..settings import CHECK_SETTINGS, load_settings
from ..target import load_target, require_targets
from .modules import STDIN, expanded, readers, shown_name
from .options import (
    SEED,
    Command,
    campaigns_option,
    choose,
    function_option,
    limits_of_runs,
    setting_options,
    sizes_option,
    words,
)
from .terminal import counting, note, note_twins, session

if TYPE_CHECKING:
    from ..equivalence.checking import Checker
    from ..equivalence.reports.results import CheckReport, ProgramReport

DIFFERS = 1
NOT_COMPARED = 3
FORMATS = ("text", "json", "junit", "html")


@click.command(cls=Command)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@setting_options(*SETTINGS)
@click.option(
    "--reference",
    default="xla",
    show_default=True,
    callback=words,
    metavar="NAMES",
    help="What to compare with: xla, interpreter, both separated by a comma, or none.",
)
@campaigns_option("Kinds of inputs")
@click.option("--seed", type=SEED, metavar="N", default=0, show_default=True, help="The seed of the inputs.")
@sizes_option
@function_option
@click.option(
    "--args", "arguments", metavar="IN.npz", help="The inputs, named after the parameters or arr_0, arr_1, .."
)
@limits_of_runs
@click.option("--known", metavar="FILE.toml", help=CHECK_SETTINGS["known"].help)
@click.option("--lockstep", is_flag=True, help="For each target that differs, name the first wrong instruction.")
@click.option(
    "--reduce", "folder", metavar="DIR", help="For each target that differs, write the smallest such program to DIR."
)
@click.option(
    "--report",
    "reports",
    metavar="FILE",
    multiple=True,
    help="Also write a report: .html, .json, .xml (JUnit) or .txt.",
)
@click.option(
    "--output-format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="The format of the report on stdout.",
)
def command(
    files: tuple[str, ...],
    reference: tuple[str, ...],
    campaigns: tuple[str, ...],
    seed: int,
    sizes: tuple[str, ...],
    function: str | None,
    arguments: str | None,
    timeout: float,
    memory_limit: int,
    known: str | None,
    lockstep: bool,
    folder: str | None,
    reports: tuple[str, ...],
    output_format: str,
    **given: Any,
) -> int:
    """Run programs on array libraries and on XLA, each in its own process, and compare the results.

    FILE is what `xla2py emit` takes: a file, a folder, or a function. If names stand for sizes, the module is compared
    at several sizes, among them primes, powers of two and large ones; with dumps, at the sizes that --sizes gives.
    Exits with 1 if results differ or a target crashes or hangs, and with 3 if nothing differs but a program could not
    be compared.
    """
    from ..emission import require_style
    from ..equivalence.checking import Checker, Plan, named_campaigns, named_references
    from ..equivalence.reference.worker import MIB, Limits
    from ..equivalence.reports.formats import WRITERS
    from ..equivalence.verdicts.known_differences import read_known_differences

    settings = load_settings(Path.cwd())
    options = choose(given, settings)
    known_file = known or str(settings["known"])
    plan = Plan(
        tuple(require_targets(options.pop("target"))),
        named_references(reference),
        named_campaigns(campaigns),
        seed,
        options=options,
        known=read_known_differences(Path(known_file)) if known_file else (),
        lockstep=lockstep,
        reduce_into=None if folder is None else Path(folder),
    )
    for target in plan.targets:
        require_style(options["style"], load_target(target))
    destinations = [(Path(name), _writer(name, WRITERS)) for name in reports]
    programs = readers(expanded(files), sizes, function)
    note_twins(plan.targets)
    with Checker(plan, Limits(timeout, memory_limit * MIB)) as checker:
        code = _check_all(checker, programs, arguments)
        result = checker.report()
    for path, write in destinations:
        write_atomically(path, write(result).encode())
    if result.programs or output_format != "text":  # unreadable programs have been reported already
        click.echo(WRITERS[output_format](result), nl=False)
    return max(code, _exit_code(result))


def _check_all(
    checker: Checker, programs: Mapping[str, Callable[[], HloModule | Witnesses]], arguments: str | None
) -> int:
    """Check every program; return the highest exit code of those that cannot be read, which are reported at once."""
    from .arrays import read_arguments

    highest = 0
    with counting(len(programs), "checking") as advance:
        for name, read in programs.items():
            advance(shown_name(name))
            try:
                module = read()
                if isinstance(module, Witnesses) and module.at is None:
                    note("dumps are checked at their own sizes; a function would be at others")
                first = module.modules[0] if isinstance(module, Witnesses) else module
                inputs = None if arguments is None else read_arguments(Path(arguments), first)
                checker.check(module, "" if name == STDIN else name, inputs)
            except XlaToPythonError as error:
                session().report(error)
                highest = max(highest, error.exit_code)
    return highest


def _writer(name: str, writers: dict[str, Callable[[CheckReport], str]]) -> Callable[[CheckReport], str]:
    suffixes = {".html": "html", ".json": "json", ".xml": "junit", ".txt": "text"}
    suffix = Path(name).suffix
    if suffix not in suffixes:
        hint = f"reports end in {', '.join(suffixes)}"
        raise UsageError(Diagnostic("XP604", f"the ending of {name} does not say what report it is", hint=hint))
    return writers[suffixes[suffix]]


def _exit_code(result: CheckReport) -> int:
    def code(program: ProgramReport) -> int:
        return DIFFERS if program.differs else 0 if program.is_compared else NOT_COMPARED

    codes = {code(program) for program in result.programs}
    return DIFFERS if DIFFERS in codes else max(codes, default=0)
