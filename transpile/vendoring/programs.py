"""The programs that the modules of a project come from."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import takewhile

import numpy as np

from ..emission.weights import with_weights
from ..frontends import load_program, safetensors
from ..frontends.functions import is_reference, load_function
from ..frontends.hlo_proto import LARGE
from ..frontends.witnesses import (
    Assignment,
    Witnesses,
    files_at_sizes,
    free_sizes,
    function_at_sizes,
    or_at_sizes,
    parse_sizes,
)
from ..hlo.ir import HloModule
from ..hlo.verifier import verify
from .manifest import Project, VendoredModule

PROGRAMS = "programs"  # the folder of a package's programs that did not come from files


def is_large(array: np.ndarray) -> bool:
    """Return whether a constant goes to a file beside the text of a program, or is passed to XLA as an argument."""
    return array.nbytes >= LARGE and safetensors.can_hold(array)


def program_of(project: Project, module: VendoredModule) -> HloModule | Witnesses:
    """Return the program that a module comes from, at several sizes if some are free; the result is cached.

    Raises the errors of ``load`` and ``verify``, and UsageError (XP425) for invalid sizes.
    """
    if module.output not in project.programs:
        weights = str(module.options.get("weights", project.settings.values.get("weights", "")))
        program = _read(project, module, weights)
        program = with_weights(program, weights) if weights else program
        project.programs[module.output] = _with_distinct_names(project, module, program)
    found: HloModule | Witnesses = project.programs[module.output]
    return found


def _with_distinct_names(
    project: Project, module: VendoredModule, program: HloModule | Witnesses
) -> HloModule | Witnesses:
    """Return the program of a function with the constant names of earlier functions in the package for equal arrays.

    A name that an earlier function uses for another array gets the function's own name as a prefix.
    """
    if isinstance(program, Witnesses) or not module.function:
        return program
    known: dict[str, str] = {}
    for each in takewhile(lambda each: each.output != module.output, project.modules):
        before = program_of(project, each) if each.function else None
        known = {**(before.constant_names if isinstance(before, HloModule) else {}), **known}
    taken, own = set(known.values()), program.constant_names
    fresh = {digest: f"{module.function}.{name}" if name in taken else name for digest, name in own.items()}
    return replace(program, constant_names={digest: known.get(digest, name) for digest, name in fresh.items()})


def _read(project: Project, module: VendoredModule, weights: str) -> HloModule | Witnesses:
    sizes = parse_sizes(module.sizes)
    imports = project.folder / module.imports
    if free_sizes(module.source):
        return function_at_sizes(module.source, imports, sizes or None, module.gradient, weights)
    names = (module.source, *module.others)

    def read(name: str, sizes: Assignment | None = None) -> HloModule:
        if is_reference(name):
            program = load_function(name, imports, gradient=module.gradient, weights=weights)
        else:
            program = load_program(name, project.folder, sizes=sizes)
        verify(program, program.source)
        return program

    first = or_at_sizes(partial(read, module.source), sizes)
    if isinstance(first, Witnesses) or not (sizes or module.others):
        return first
    return files_at_sizes([first, *map(read, module.others)], sizes, names)
