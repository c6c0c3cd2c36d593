"""Writing vendored modules; a person's edits are merged with the new text, never lost.

The generated text is kept in the folder ``.xla2py`` beside pyproject.toml, a file for each module, named by the hash in
the module's header: it is the common ancestor of the next merge. The new ancestor is written first, then the constants,
then the module, and then the old ancestor is removed. So an interrupted update leaves either the old or the new module,
each with its ancestor.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import Any

from ..dataclass import dataclass
from ..emission import GeneratedModule, body_sha256
from ..emission.module.header import without_header
from ..emission.module.helper_modules import require_names
from ..emission.module.shared_helpers import stem
from ..errors import Diagnostic, UsageError
from ..files import file_error, read_bytes, write_atomically
from ..frontends.functions import is_reference
from ..options import Value
from .freshness import VendoredFile, generated_helpers, read_vendored, regenerate
from .manifest import (
    HELPERS,
    LINE_LENGTH,
    Project,
    VendoredModule,
    is_inside,
    relative_name,
    with_module,
    without_module,
)
from .merge import TextFile, has_conflicts, merge

BASES = ".xla2py"


class Outcome(Enum):
    """The outcome of an update."""

    UNCHANGED = "unchanged"
    CREATED = "created"
    UPDATED = "updated"
    MERGED = "merged with your edits"
    CONFLICT = "merged, with conflicts to resolve"


@dataclass(frozen=True, slots=True)
class Update:
    """A module before and after an update, not yet written. ``old`` is None if there is no file."""

    outcome: Outcome
    old: VendoredFile | None
    new: str
    generated: GeneratedModule
    conflicts: int = 0


def add_module(
    project: Project,
    source: str,
    output: Path,
    target: str,
    options: Mapping[str, Value],
    *,
    others: Sequence[str] = (),
    sizes: Sequence[str] = (),
    facts: Mapping[str, Any] | None = None,
) -> tuple[Project, VendoredModule]:
    """Emit ``source`` to ``output`` and list it in the manifest; return the new project and entry.

    ``source`` is a path or a function, ``module:function(shapes)``, that can be imported from the project's folder;
    names in its shapes are free sizes. Sizes that differ between it and the ``others``, dumps of the same program, are
    free, too. ``sizes`` are words such as ``B=3,5,7``, or the sizes that chunks are planned for, ``B=1000000``.
    ``facts`` are further keys of the manifest, for a function of a package: ``function``, ``doc``, ``imports``,
    ``gradient``.

    Raises ``UsageError``: XP702 if the output is outside the project or listed already, XP403 if the file was edited or
    not written by xla2py; and the errors of reading and emitting the source.
    """
    first, *further = (name if is_reference(name) else relative_name(project, Path(name)) for name in (source, *others))
    place = relative_name(project, output)
    module = VendoredModule(first, place, target, options=options, others=tuple(further), sizes=tuple(sizes))
    module = replace(module, **(facts or {}))
    if not is_inside(module.output):
        message = f"{output} is not a .py file below {project.folder}, the folder of the project"
        raise UsageError(Diagnostic("XP702", message, hint="name a place inside the project with -o"))
    if any(module.output == other.output for other in project.modules):
        hint = f"xla2py vendor update {module.output}"
        raise UsageError(Diagnostic("XP702", f"{module.output} is vendored already", hint=hint))
    old = read_vendored(project, module)
    if old is not None and old.is_edited:
        problem = "was edited since xla2py wrote it" if old.recorded else "was not written by xla2py"
        hint = "name another file with -o, or move this one away"
        raise UsageError(Diagnostic("XP403", f"{output} {problem}", hint=hint))
    update = prepare_update(project, module)
    project = share_helpers(project, module, update.generated)
    write_update(project, module, update)
    return with_module(project, module), module


def update_module(project: Project, module: VendoredModule, *, discard_edits: bool = False) -> Outcome:
    """Write a module anew if something changed; return the outcome. Raises the errors of :func:`prepare_update`."""
    update = prepare_update(project, module, discard_edits=discard_edits)
    write_update(share_helpers(project, module, update.generated), module, update)
    return update.outcome


def share_helpers(project: Project, module: VendoredModule, generated: GeneratedModule) -> Project:
    """Add the helpers that a module imports to their files and list these, before the module is written.

    Return the project. Edits of a file are merged. An edited file that is not listed belongs to its owner, and only
    has to have the names. Raises ``UsageError`` (XP706) if it lacks some, or if the edits conflict with new helpers.
    """
    for target in generated.helpers:
        project = _share_helpers_of(target, project, module, generated.names_from(target))
    return project


def _share_helpers_of(target: str, project: Project, module: VendoredModule, names: Collection[str]) -> Project:
    """Add helpers to the file of a target."""
    place = project.place(module.output).with_name(f"{stem(target)}.py")
    output = relative_name(project, place)
    entry = next((each for each in project.modules if each.output == output), None)
    shared = entry or VendoredModule(HELPERS, output, target, options=_line_length(module))
    old = read_vendored(project, shared)
    if old is not None and entry is None and old.is_edited:
        require_names(place, old.file.text, names)
        return project
    update = prepare_update(project, shared, names=names)
    if update.conflicts:
        message = f"{output} was edited where what {module.output} needs of it is new"
        raise UsageError(
            Diagnostic(
                "XP706", message, hint="move what you wrote to a file of your own, or add the module with --helpers own"
            )
        )
    write_update(project, shared, update)
    return project if entry is not None else with_module(project, shared)


def _line_length(module: VendoredModule) -> dict[str, Value]:
    """Return the line length of a module, as an option of the file of helpers that it adds."""
    return {name: value for name, value in module.options.items() if name == LINE_LENGTH}


def prepare_update(
    project: Project, module: VendoredModule, *, discard_edits: bool = False, names: Collection[str] = ()
) -> Update:
    """Return what an update would write; ``names`` are helpers that a file of helpers must have in addition.

    Raises ``UsageError``: XP704 if the file still has marks of a conflict, XP705 if it was edited and the ancestor is
    lost; and the errors of reading and emitting the source.
    """
    generated = generated_helpers(project, module, names) if module.is_helpers else regenerate(project, module)
    old = read_vendored(project, module)
    if old is None:
        return Update(Outcome.CREATED, None, generated.source, generated)
    if discard_edits or not old.is_edited:
        outcome = Outcome.UNCHANGED if old.file.text == generated.source else Outcome.UPDATED
        return Update(outcome, old, generated.source, generated)
    if has_conflicts(old.file.text):
        message = f"{module.output} still has the marks of a conflict"
        raise UsageError(Diagnostic("XP704", message, hint="choose between the versions, then update again"))
    base = ancestor(project, module, old, generated)
    if base is None:
        message = f"{module.output} was edited, and what xla2py had written is not known any more"
        hint = "eject it to keep the edits, or update with --discard-edits"
        raise UsageError(Diagnostic("XP705", message, hint=hint))
    merged = merge(base, old.file.text, generated.source)
    outcome = Outcome.CONFLICT if merged.conflicts else Outcome.MERGED
    if merged.text == old.file.text:
        outcome = Outcome.UNCHANGED
    return Update(outcome, old, merged.text, generated, merged.conflicts)


def ancestor(project: Project, module: VendoredModule, old: VendoredFile, generated: GeneratedModule) -> str | None:
    """Return the text that xla2py had written before a module was edited, or None if it is lost."""
    recorded = old.recorded.get("body", "")
    if recorded == body_sha256(generated.source):
        return generated.source
    path = _base_path(project, module, recorded)
    if not path.is_file():
        return None
    base = TextFile.decode(read_bytes(path), path).text
    return base if body_sha256(base) == recorded else None


def write_update(project: Project, module: VendoredModule, update: Update) -> None:
    """Write the module and its files, in the order that the docstring of this file explains."""
    path = project.place(module.output)
    generated = update.generated
    base = _base_path(project, module, body_sha256(generated.source))
    write_if_new(base, generated.source.encode())
    for sidecar in generated.sidecars(path):
        if not sidecar.is_current():
            sidecar.write()
    if update.outcome is not Outcome.UNCHANGED:
        file = update.old.file if update.old is not None else TextFile("")
        write_atomically(path, file.encode(update.new))
    _remove_bases(project, module, keep=base)


def eject_module(project: Project, module: VendoredModule) -> Project:
    """Remove a module from the manifest, and the header from its file; return the project.

    The file, with any edits, and its constants stay. Raises ``UsageError`` (XP401) if a file cannot be written.
    """
    old = read_vendored(project, module)
    if old is not None and old.recorded:
        write_atomically(old.path, old.file.encode(without_header(old.file.text)))
    _remove_bases(project, module, keep=None)
    return without_module(project, module)


def write_if_new(path: Path, content: bytes) -> None:
    """Write a file unless it already has these bytes."""
    if not path.is_file() or read_bytes(path) != content:
        write_atomically(path, content)


def _base_path(project: Project, module: VendoredModule, body: str) -> Path:
    return project.folder / BASES / f"{_base_stem(module)}-{body[:16]}.base"


def _base_stem(module: VendoredModule) -> str:
    """Return ``src/kernels/mlp.py`` as one file name."""
    return ".".join(PurePosixPath(module.output).with_suffix("").parts)


def _remove_bases(project: Project, module: VendoredModule, *, keep: Path | None) -> None:
    folder = project.folder / BASES
    for path in sorted(folder.glob(f"{_base_stem(module)}-*.base")):
        if path != keep and len(path.stem) == len(_base_stem(module)) + 17:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise file_error("remove", path, error) from error
