"""The programs that the modules of a project come from."""

from __future__ import annotations

from ..frontends import load_program
from ..frontends.functions import is_reference, load_function
from ..frontends.tree_files import with_trees_beside
from ..frontends.witnesses import Witnesses, files_at_sizes, free_sizes, function_at_sizes, parse_sizes
from ..hlo.ir import HloModule
from ..hlo.verifier import verify
from .manifest import Project, VendoredModule


def program_of(project: Project, module: VendoredModule) -> HloModule | Witnesses:
    """The program that a module comes from, at several sizes where some are free. Raises what ``load`` and ``verify``
    raise, and UsageError (XP425) for sizes that are none.
    """
    sizes = parse_sizes(module.sizes)
    imports = project.folder / module.imports
    if free_sizes(module.source):
        return function_at_sizes(module.source, imports, sizes or None, module.gradient)
    names = (module.source, *module.others)
    programs = [
        load_function(name, imports, gradient=module.gradient)
        if is_reference(name)
        else with_trees_beside(load_program(name, project.folder), project.place(name))
        for name in names
    ]
    for program in programs:
        verify(program, program.source)
    return files_at_sizes(programs, sizes, names) if sizes or module.others else programs[0]
