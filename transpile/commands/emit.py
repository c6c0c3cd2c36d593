"""``xla2py emit FILE...``."""

from __future__ import annotations

import difflib
import keyword
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from ..dataclass import dataclass
from ..errors import Diagnostic, UsageError, XlaToPythonError
from ..files import read_bytes
from ..frontends.functions import is_reference
from ..frontends.witnesses import Witnesses
from ..hlo.device_groups import device_count
from ..hlo.ir import HloModule
from ..hlo.shardings import AFTER_PARTITIONER
from ..hlo.source import UnsupportedError
from ..options import SETTINGS
from ..settings import load_settings
from ..target import load_target, require_targets
from .modules import expanded, has_folder, readers, run_all, shown_name
from .options import Command, choose, function_option, is_debugging, setting_options, sizes_option
from .terminal import note, stages

if TYPE_CHECKING:
    from ..emission import GeneratedModule

    Deliver = Callable[[GeneratedModule, Path | None], int]

STALE = 1
STDOUT = "-"
_MANY_LEAVES = 24  # leaves of trees that are separate arguments
SPMD = "spmd"  # one program for all devices


@dataclass(frozen=True, slots=True)
class Job:
    """A program to emit for a target; without a destination, to stdout."""

    source: str
    target: str
    destination: Path | None


@click.command(cls=Command)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@setting_options(*SETTINGS)
@click.option(
    "-o",
    "--output",
    metavar="FILE|DIR",
    help="The file to write. For several results, or if FILE is a folder, a folder. Default: - (stdout).",
)
@sizes_option
@function_option
@click.option(
    "--devices",
    type=click.Choice([SPMD]),
    help="Refuse a program on whole arrays, and say how to get the program of one device.",
)
@click.option("--diff", is_flag=True, help="Write nothing; show how files would change, and exit with 1 if they would.")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a file is missing or would change.")
@click.option("--force", is_flag=True, help="Overwrite files that you edited or that xla2py did not write.")
@click.option("--html", metavar="PAGE", help="Also write an HTML page with HLO, Python and source side by side.")
@click.option(
    "--print-after", metavar="PASS", help="Show the program on stderr after a pass, or after every pass (all)."
)
@click.option(
    "--explain-names", is_flag=True, help="Show on stderr where each value's name comes from, and the names it beat."
)
def command(
    files: tuple[str, ...],
    output: str | None,
    sizes: tuple[str, ...],
    function: str | None,
    devices: str | None,
    diff: bool,
    check: bool,
    force: bool,
    html: str | None,
    print_after: str | None,
    explain_names: bool,
    **given: Any,
) -> int:
    """Turn HLO into Python source, on stdout or in files.

    FILE is HLO text, a serialized HloModuleProto, StableHLO, or a serialized jax.export; a folder of such files, as
    --xla_dump_to writes it; `-` for stdin; or a JAX function or method with the types of its arguments,
    'module:function(f32[4,8], int32[])', 'module:model.step(f32[8])', or trees of them, '({"w": f32[4,8]}, [s32[]])'. A
    64-bit type, f64[4], switches on JAX_ENABLE_X64. Constants of more than 64 elements are saved in an .npz file beside
    the Python file, and those above 64 MiB as .npy files in a folder there.

    A name in place of a size stands for any size, 'module:function(f32[B,64])'. You can also pass several FILEs of one
    program and name the sizes that differ with --sizes.
    """
    options = choose(given, load_settings(Path.cwd()))
    output = None if output == STDOUT else _as_folder(output) if has_folder(files) else output
    files = tuple(expanded(files))
    programs = readers(files, sizes, function, options["weights"])
    jobs = plan(list(programs), require_targets(options.pop("target")), output)
    if (diff or check) and output is None:
        raise UsageError(Diagnostic("XP402", "--diff and --check compare with files: name them with -o"))
    if html is not None and len(jobs) > 1:
        raise UsageError(Diagnostic("XP642", f"{html} cannot show {len(jobs)} results"))
    if print_after is not None or explain_names:
        options["observe"] = _printing(print_after, explain_names)
    if devices == SPMD:
        programs = {source: partial(_partitioned, source, read) for source, read in programs.items()}
    _note_limits(options, {job.target for job in jobs})
    deliver = partial(_compare, show=diff) if diff or check else partial(_save, force=force)
    if html is not None:
        deliver = partial(_save_page, page=Path(html), force=force, then=deliver)
    return run_all(
        [
            partial(_emit, read, [job for job in jobs if job.source == source], function, options, deliver)
            for source, read in programs.items()
        ]
    )


def _partitioned(source: str, read: Callable[[], HloModule | Witnesses]) -> HloModule | Witnesses:
    """Read a program for several devices. Raises UnsupportedError (XP362) for a program of one device."""
    module = read()
    if isinstance(module, HloModule) and device_count(module) == 1:
        tells = "annotates how its arrays are divided, and" if module.layout is not None else "is for one device: it"
        message = f"{shown_name(source)} {tells} computes whole arrays"
        raise UnsupportedError(Diagnostic("XP362", message, hint=AFTER_PARTITIONER))
    return module


def _note_limits(options: dict[str, Any], targets: set[str]) -> None:
    """Show a note if limits are given that none of the targets uses."""
    given = [f"--{name}" for name in ("memory", "chunks") if options[name]]
    if given and all(load_target(name).arrange is None for name in targets):
        note(f"{' and '.join(given)} without effect: {', '.join(sorted(targets))} does not work in chunks")


def plan(sources: Sequence[str], targets: Sequence[str], output: str | None) -> list[Job]:
    """Return the file that each program is written to for each target.

    In a folder it is ``NAME.py``, or ``NAME_TARGET.py`` for several targets. Raises ``UsageError`` (XP402) if several
    results would share a file or stdout.
    """
    pairs = [(source, target) for source in dict.fromkeys(sources) for target in targets]
    if output is None or not _is_folder(output, len(pairs)):
        if len(pairs) > 1:
            message = f"{len(pairs)} results cannot all go to {output or 'stdout'}"
            raise UsageError(Diagnostic("XP402", message, hint="name a folder with -o DIR"))
        return [Job(source, target, None if output is None else Path(output)) for source, target in pairs]
    jobs: dict[Path, Job] = {}
    for source, target in pairs:
        suffix = f"_{target}" if len(targets) > 1 else ""
        destination = Path(output, f"{module_name(source)}{suffix}.py")
        if destination in jobs:
            message = f"{jobs[destination].source} and {source} would both be written to {destination}"
            raise UsageError(Diagnostic("XP402", message, hint="emit them into different folders"))
        jobs[destination] = Job(source, target, destination)
    return list(jobs.values())


def _as_folder(output: str | None) -> str | None:
    """Return the output for programs of a folder, even for one: a folder, unless it is a Python file."""
    return output if output is None or output.endswith(".py") else f"{output}/"


def _is_folder(output: str, results: int) -> bool:
    return not output.endswith(".py") and (results > 1 or output.endswith(("/", "\\")) or Path(output).is_dir())


def module_name(source: str) -> str:
    """Return the importable name of the Python file for a source: ``my_model_v2`` for ``my-model.v2.hlo``."""
    from ..frontends.sniffing import SUFFIXES

    endings = "|".join(map(re.escape, (*SUFFIXES, ".txt", ".before_optimizations")))
    stem = re.sub(rf"({endings})\b", "", shown_name(source))
    stem = re.sub(r"^.*:|\(.*$", "", stem) if is_reference(source) else stem
    name = re.sub(r"\W+", "_", stem).strip("_")
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"module_{name}".rstrip("_")


def _emit(
    read: Callable[[], HloModule | Witnesses],
    jobs: Sequence[Job],
    function: str | None,
    options: dict[str, Any],
    deliver: Deliver,
) -> int:
    """Emit one program for its targets; return the exit code. The command in a module names the ``function``, too."""
    from ..emission.module.header import with_more_words
    from ..emission.module.shared_helpers import helpers_in_files

    module = read()
    if not options["nested"]:
        _note_leaves(module)

    def emit_for(job: Job) -> int:
        helpers = options["helpers"] if job.destination is None else helpers_in_files(options, module)
        generated = generate(module, job.target, shown_name(job.source), {**options, "helpers": helpers})
        if function is not None:
            text = with_more_words(generated.source, f" --function {quote(function)}", without="")
            generated = replace(generated, source=text)
        return deliver(generated, job.destination)

    return run_all([partial(emit_for, job) for job in jobs])


def _note_leaves(module: HloModule | Witnesses) -> None:
    """Show a note if ``main`` takes the many leaves of trees as separate arguments."""
    from ..emission.trees.argument_trees import leaf_paths

    if not isinstance(module, HloModule) or device_count(module) > 1:
        return
    paths = list(filter(None, leaf_paths(module)))
    if len(paths) >= _MANY_LEAVES:
        trees = ", ".join(dict.fromkeys(path.root for path in paths))
        note(f"main takes {len(paths)} arrays one by one: with --nested it takes the trees that they are of, {trees}")


def generate(module: HloModule | Witnesses, target: str, name: str, options: dict[str, Any]) -> GeneratedModule:
    """Emit a program, with a progress bar of stages. Raises ``XlaToPythonError`` with places in the source."""
    from ..compilation import stage_names
    from ..emission import emit

    with stages(f"emitting {name} for {target}", len(stage_names()) + 2) as begin:  # two more: writing and formatting
        try:
            return emit(module, target, name=name, debug=is_debugging(), begin=begin, **options)
        except XlaToPythonError as error:
            source = module.source if isinstance(module, HloModule) else None
            placed = (replace(d, source=d.source or source) for d in error.diagnostics)
            raise type(error)(*placed) from error


def _show(generated: GeneratedModule) -> int:
    click.echo(generated.source, nl=False)
    if generated.constants:
        size = sum(array.nbytes for array in generated.constants.values())
        note(f"{size} bytes of constants are not shown: -o FILE writes them, --constants inline keeps them in")
    return 0


def _printing(wanted: str | None, explain_names: bool) -> Callable[[str, str], None]:
    """Return the observer that prints the program after a pass, or after all passes, and the reasons for names.

    Raises UsageError (XP641) for an unknown pass.
    """
    from ..compilation import require_names, stage_names
    from ..emission.naming.hints import EXPLAINED

    require_names([wanted] if wanted else [], ("all", *stage_names()))

    def observe(name: str, text: str) -> None:
        if name == EXPLAINED:
            if explain_names:
                click.echo(text, err=True)
        elif wanted in (name, "all"):
            click.echo(f"// after {name}\n{text.rstrip()}\n", err=True)

    return observe


def _save_page(generated: GeneratedModule, destination: Path | None, *, page: Path, force: bool, then: Deliver) -> int:
    """Write the page, and also the module if it has a destination."""
    from ..pages import module_page, write_page

    write_page(module_page(generated), page, force=force)
    return then(generated, destination) if destination is not None else 0


def _save(generated: GeneratedModule, destination: Path | None, *, force: bool) -> int:
    if destination is None:
        return _show(generated)
    if not force:
        require_unedited(destination)
    generated.save(destination)
    return 0


def _compare(generated: GeneratedModule, destination: Path | None, *, show: bool) -> int:
    """Compare the files with the generated module; return ``STALE`` if they differ, else 0.

    Differences are printed if ``show``, else mentioned in a note.
    """
    assert destination is not None, "the command asks for one"
    generated = generated.placed_in(destination.parent)
    old = read_bytes(destination).decode("utf-8", "replace") if destination.exists() else ""
    is_stale = old != generated.source
    if show and is_stale:
        lines = (old.splitlines(keepends=True), generated.source.splitlines(keepends=True))
        click.echo("".join(difflib.unified_diff(*lines, str(destination), f"{destination} (new)")), nl=False)
    elif is_stale:
        note(f"{destination} is {'stale' if destination.exists() else 'missing'}")
    for sidecar in generated.sidecars(destination):
        if not sidecar.is_current():
            note(f"{sidecar.path} is {'stale' if sidecar.path.exists() else 'missing'}")
            is_stale = True
    return STALE if is_stale else 0


def require_unedited(path: Path) -> None:
    """Raise ``UsageError`` (XP403) if a file was edited, or not written by xla2py."""
    from ..emission.module.header import body_sha256, recorded_hashes

    text = read_bytes(path).decode("utf-8", "replace") if path.is_file() else ""
    if not text:
        return
    recorded = recorded_hashes(text).get("body", "")
    if recorded == body_sha256(text):
        return
    problem = "was edited since xla2py wrote it" if recorded else "was not written by xla2py"
    hint = "write to another file, see the difference with --diff, or overwrite it with --force"
    raise UsageError(Diagnostic("XP403", f"{path} {problem}", hint=hint))
