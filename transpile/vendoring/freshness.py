"""The freshness of a vendored module: whether its file is what xla2py would write today."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from enum import Enum
from pathlib import Path

from ..dataclass import dataclass
from ..emission import GeneratedModule, body_sha256, emit
from ..emission.module.header import recorded_hashes, with_command
from ..emission.module.helper_modules import names_in_folder, placed
from ..emission.module.shared_helpers import helper_files, helpers_file, helpers_in_files, stem
from ..files import read_bytes
from ..options import keywords
from .manifest import Project, VendoredModule
from .merge import TextFile, has_conflicts
from .package_files import package_file
from .programs import program_of


class State(Enum):
    """The worst state of a module: its source, the generator, or a person's edits changed since it was written."""

    FRESH = "fresh"
    STALE_GENERATOR = "stale generator"  # xla2py writes the same source differently now
    EDITED = "edited"
    STALE_SOURCE = "stale source"
    CONFLICT = "conflict"  # it has conflict marks from an update
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Freshness:
    """The state of a module. ``is_edited`` may also be set for a stale source or generator."""

    module: VendoredModule
    state: State
    is_edited: bool = False

    @property
    def needs_action(self) -> bool:
        """Whether the module should be updated or ejected: not for a newer generator, nor for intended edits."""
        meant = self.state is State.EDITED and self.module.edited
        return self.state not in (State.FRESH, State.STALE_GENERATOR) and not meant


@dataclass(frozen=True, slots=True)
class VendoredFile:
    """The present file of a module. ``recorded`` has the ``source`` and ``body`` hashes in its header."""

    path: Path
    file: TextFile
    recorded: dict[str, str]

    @property
    def is_edited(self) -> bool:
        return self.recorded.get("body") != body_sha256(self.file.text)


def read_vendored(project: Project, module: VendoredModule) -> VendoredFile | None:
    """Return the file of a module, or None if it is missing. Raises ``UsageError`` (XP401, XP703) if unreadable."""
    path = project.place(module.output)
    if not path.exists():
        return None
    file = TextFile.decode(read_bytes(path), path)
    return VendoredFile(path, file, recorded_hashes(file.text))


def regenerate(project: Project, module: VendoredModule) -> GeneratedModule:
    """Return the module that xla2py writes now. Raises the errors of ``load``, ``verify`` and ``emit``."""
    if module.is_helpers:
        return generated_helpers(project, module)
    if module.is_of_package:
        return package_file(project, module)
    program = program_of(project, module)
    options = keywords({**project.settings.values, **module.options})
    options |= {"helpers": helpers_in_files(options, program), "weights": ""}  # the program has its weights
    generated = emit(program, module.target, name=module.source, **options)
    if module.function:
        return replace(generated, source=with_command(generated.source, "xla2py package --update ."))
    return generated.placed_in(project.place(module.output).parent)


def as_edited(project: Project, module: VendoredModule) -> GeneratedModule | None:
    """Return the module as edited, with constants, or None if neither it nor its helpers were edited."""
    file = read_vendored(project, module)
    if file is None or module.is_helpers or module.is_of_package or has_conflicts(file.file.text):
        return None
    generated = regenerate(project, module)
    places = {target: file.path.with_name(f"{stem(target)}.py") for target in generated.helpers}
    helpers = {target: TextFile.decode(read_bytes(place), place).text for target, place in places.items()}
    edited = [text for text in helpers.values() if recorded_hashes(text).get("body") != body_sha256(text)]
    if not file.is_edited and not edited:
        return None
    return replace(generated, source=file.file.text, helpers=helpers, functions=(), program=None)


def generated_helpers(project: Project, module: VendoredModule, names: Collection[str] = ()) -> GeneratedModule:
    """Return the file of helpers that xla2py writes now: ``names``, and all that modules beside it import."""
    place, target, line_length = project.place(module.output), module.target, project.line_length(module)
    text = helpers_file({*names, *names_in_folder(place.parent, target)}, target, line_length)
    generated = GeneratedModule(placed(text, target, place.parent), place.stem, target, line_length=line_length)
    return replace(generated, helpers=helper_files(text, target, line_length))


def inspect_module(project: Project, module: VendoredModule) -> Freshness:
    """Compare a module's file with its source and this generator. Raises the errors of :func:`regenerate`."""
    file = read_vendored(project, module)
    generated = regenerate(project, module)
    if file is None:
        return Freshness(module, State.MISSING)
    if has_conflicts(file.file.text):
        return Freshness(module, State.CONFLICT, is_edited=True)
    now = recorded_hashes(generated.source)
    is_edited = file.is_edited
    if file.recorded.get("source") != now["source"]:
        return Freshness(module, State.STALE_SOURCE, is_edited)
    if not has_constants(file.path, generated):
        return Freshness(module, State.MISSING, is_edited)
    if is_edited:
        return Freshness(module, State.EDITED, is_edited)
    return Freshness(module, State.FRESH if file.recorded["body"] == now["body"] else State.STALE_GENERATOR)


def has_constants(path: Path, generated: GeneratedModule) -> bool:
    """Return whether the sidecars that a module needs are present and current."""
    return all(sidecar.is_current() for sidecar in generated.sidecars(path))
