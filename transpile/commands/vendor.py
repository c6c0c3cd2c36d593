"""``xla2py vendor add|check|update|diff|eject``."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..emission.module.entry_point import CHECK_TREE_SIZES, CHECK_TREES
from ..options import SETTINGS
from ..settings import load_settings
from ..target import require_targets
from .modules import run_all
from .options import Command, Group, choose, setting_options, sizes_option
from .terminal import note, working, write_table

if TYPE_CHECKING:
    from ..equivalence.reports.results import ProgramReport
    from ..vendoring import Project, VendoredModule

    Act = Callable[[Project, VendoredModule], int]
ACTION_NEEDED = 1
DIFFERS, NOT_COMPARED = 1, 3


@click.group(cls=Group)
def command() -> None:
    """Keep generated modules in your own project, listed in its pyproject.toml.

    xla2py uses the nearest pyproject.toml, in this folder or above it. A folder in place of a module stands for all
    modules below it.
    """


def _each(paths: tuple[str, ...], act: Act) -> int:
    """Act on the modules that paths name, or on all modules of this folder's project; return the highest exit code."""
    from ..vendoring import find_project

    def in_project(folder: Path, wanted: list[Path]) -> int:
        project = find_project(folder)
        modules = project.below(wanted)
        if not modules:
            note(f"{project.path} lists no modules: xla2py vendor add")
        return run_all([partial(act, project, module) for module in modules])

    if not paths:
        return in_project(Path.cwd(), [])
    places = [Path(path) for path in paths]
    return run_all([partial(in_project, p if p.is_dir() else p.parent, [p]) for p in places])


modules_argument = click.argument("modules", metavar="[MODULE|FOLDER]...", nargs=-1)


@command.command(cls=Command)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("-o", "--output", metavar="MODULE", required=True, help="The Python file to write, below pyproject.toml.")
@sizes_option
@setting_options(*SETTINGS)
def add(files: tuple[str, ...], output: str, sizes: tuple[str, ...], **given: Any) -> int:
    """Emit FILE as a module of this project and list it in pyproject.toml.

    Several FILEs are one program at the sizes that --sizes gives. The options are recorded for later updates.
    """
    from ..vendoring import add_module, nearest_project

    place = Path(output)
    project = nearest_project(place.parent)
    options = {name: value for name in SETTINGS if (value := given[name.replace("-", "_")]) is not None}
    options.pop("target", None)
    target, *others = require_targets(choose(given, load_settings(project.folder))["target"])
    if others:
        raise click.UsageError("a module is for one target: give -t one name")
    if options.get("sources"):
        options["sources"] = str(Path(options["sources"]).resolve())
    source, *others = files
    with working(f"emitting {source} for {target}"):
        project, module = add_module(project, source, place, target, options, others=others, sizes=sizes)
    note(f"wrote {module.output} and listed it in {project.path}")
    return 0


@command.command(cls=Command)
@modules_argument
@click.option("--prove", is_flag=True, help="Compare edited modules with XLA on all kinds of inputs.")
@click.option(
    "--output-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="The format of the list on stdout.",
)
def check(modules: tuple[str, ...], prove: bool, output_format: str) -> int:
    """List the modules and their states; exit with 1 if one of them needs attention.

    The states are fresh, stale generator (a newer xla2py writes it differently; update at leisure), edited (not an
    error if the manifest says `edited = true`), stale source, conflict and missing. With --prove, also exit with 1 if
    an edited module computes other values than its source does on XLA, and with 3 if the two cannot be compared.
    """
    from ..vendoring import inspect_module

    found = []

    proofs: list[str] = []

    def act(project: Project, module: VendoredModule) -> int:
        freshness = inspect_module(project, module)
        found.append(freshness)
        proof, code = proved(project, module) if prove else ("", 0)
        proofs.append(proof)
        return ACTION_NEEDED if freshness.needs_action else code

    code = _each(modules, act)
    rows = [(f.module.output, f.state.value, f.is_edited, f.module.source) for f in found]
    if output_format == "json":
        keys = ("output", "state", "edited", "source", *(["proof"] if prove else []))
        told = [(*row, *([proof] if prove else [])) for row, proof in zip(rows, proofs, strict=True)]
        click.echo(json.dumps([dict(zip(keys, row, strict=True)) for row in told], indent=2))
    elif rows:
        shown = [
            (output, state + " and edited" * (edited and state.startswith("stale")), source)
            for output, state, edited, source in rows
        ]
        headings: tuple[str, ...] = ("module", "state", "source")
        if prove:
            headings = (*headings, "edits")
            shown = [(*row, proof) for row, proof in zip(shown, proofs, strict=True)]  # type: ignore[misc]
        write_table(headings, shown)
    return code


@command.command(cls=Command)
@modules_argument
@click.option("--discard-edits", is_flag=True, help="Discard your edits.")
def update(modules: tuple[str, ...], discard_edits: bool) -> int:
    """Rewrite modules if their source, their settings or xla2py changed.

    Your edits are merged with the new text. If both changed the same lines, both versions stay in the file between
    marks, and the exit code is 1.
    """
    from ..vendoring import Outcome, update_module

    def act(project: Project, module: VendoredModule) -> int:
        with working(f"updating {module.output}"):
            outcome = update_module(project, module, discard_edits=discard_edits)
        click.echo(f"{module.output}: {outcome.value}")
        return ACTION_NEEDED if outcome is Outcome.CONFLICT else 0

    return _each(modules, act)


@command.command(cls=Command)
@modules_argument
@click.option("--edits", is_flag=True, help="Show your edits instead.")
def diff(modules: tuple[str, ...], edits: bool) -> int:
    """Show what an update would change, and write nothing; exit with 1 if it would change something."""
    from ..vendoring.update import ancestor, prepare_update

    def act(project: Project, module: VendoredModule) -> int:
        update = prepare_update(project, module)
        now = update.old.file.text if update.old is not None else ""
        pair = (now, update.new)
        if edits:
            base = ancestor(project, module, update.old, update.generated) if update.old is not None else None
            pair = (now if base is None else base, now)
        old, new = (text.splitlines(keepends=True) for text in pair)
        names = (f"{module.output} (generated)", module.output) if edits else (module.output, f"{module.output} (new)")
        click.echo("".join(difflib.unified_diff(old, new, *names)), nl=False)
        return ACTION_NEEDED if old != new else 0

    return _each(modules, act)


@command.command(cls=Command)
@click.argument("modules", metavar="MODULE...", nargs=-1, required=True)
def eject(modules: tuple[str, ...]) -> int:
    """Hand modules over to the project: they leave the manifest, and xla2py does not touch them again."""
    from ..vendoring import eject_module

    def act(project: Project, module: VendoredModule) -> int:
        eject_module(project, module)
        click.echo(f"{module.output} is yours; {project.path.name} lists it no more")
        return 0

    return _each(modules, act)


# -- the proof of an edited module


def proved(project: Project, module: VendoredModule) -> tuple[str, int]:
    """Run an edited module beside XLA on the inputs of every campaign; return the outcome in words, and the exit code.

    Nothing runs if neither the module nor its helpers were edited.
    """
    from ..equivalence.checking import Checker, Plan
    from ..equivalence.inputs.kinds import CAMPAIGNS
    from ..vendoring import as_edited, program_of, regenerate

    edited = as_edited(project, module)
    if edited is None:
        return "", 0
    if any(f"{check}(" in edited.source for check in (CHECK_TREES, CHECK_TREE_SIZES)):
        return "not proved: main takes trees", NOT_COMPARED
    plan = Plan((module.target,), campaigns=tuple(CAMPAIGNS))
    program = program_of(project, module)
    with Checker(plan) as checker:
        reports = checker.examine_module(program, edited, module.output)
        wrong = _wrong(reports, module.target)
        also = _wrong(checker.examine_module(program, regenerate(project, module)), module.target) if wrong else []
    if set(wrong) - set(also):
        return f"wrong on {', '.join(dict.fromkeys(each for each in wrong if each not in also))} inputs", DIFFERS
    if wrong:
        return f"not proved: what xla2py writes is another on {', '.join(dict.fromkeys(also))} inputs", NOT_COMPARED
    if not all(report.is_compared for report in reports):
        return "not proved: nothing to compare with", NOT_COMPARED
    return f"right on {sum(len(report.cases) for report in reports)} sets of inputs", 0


def _wrong(reports: Sequence[ProgramReport], target: str) -> list[str]:
    """Return the campaigns on which results differ or are missing."""
    cases = (case for report in reports for case in report.cases)
    return [case.campaign for case in cases if not case.status(target).is_good or case.differences(target)]
