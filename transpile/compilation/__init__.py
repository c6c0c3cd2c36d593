"""``compile``: from a module to a target's program. Emission, inspection, documents and tests all use this function."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from ..array.program import Program
from ..array.support import Support
from ..dataclass import dataclass
from ..errors import Diagnostic, UnsupportedError
from ..hlo.ir import HloModule
from ..options import Options
from ..passes.library_semantics.edges import LIBRARY
from ..target import Plan, Target
from .stages import (
    EMISSION_CHOICES,
    STAGES,
    Begin,
    Draft,
    Observer,
    kernels_in,
    optional_names,
    require_names,
    run_stages,
    stage_names,
)
from .support import Refusal, capture_refusals, in_groups, module_refusals, program_refusals, written_as

__all__ = [
    "EMISSION_CHOICES",
    "Compilation",
    "Refusal",
    "compile",
    "kernels_in",
    "optional_names",
    "require_names",
    "stage_names",
    "written_as",
]

_FIRST_OF_TARGET = next(k for k, stage in enumerate(STAGES) if stage.name == "own_functions")


@dataclass(frozen=True, slots=True)
class Compilation:
    """A module compiled for a target: the program, its plan and its diagnostics.

    ``target`` is the target that the program is written for; for a program of several replicas it may differ from the
    requested one. ``refusals`` are all operations that the target does not support. If there are any, the target's own
    stages have not run on the program; if the module could not be lowered, there is no program. ``plan`` is the plan of
    a program in chunks, on targets that run programs in chunks.
    """

    module: HloModule
    target: Target
    refusals: tuple[Refusal, ...] = ()
    lowered: Program | None = None
    plan: Plan | None = None

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The diagnostics of all refusals, grouped by message."""
        found = in_groups(refusal.diagnostic for refusal in self.refusals)
        return tuple(replace(diagnostic, source=diagnostic.source or self.module.source) for diagnostic in found)

    @property
    def program(self) -> Program:
        """The target's program. Raises UnsupportedError with all diagnostics if the target does not support it."""
        self.require_support()
        assert self.lowered is not None
        return self.lowered

    def require_support(self, *more: Diagnostic) -> None:
        """Raise UnsupportedError with all diagnostics and the caller's, if there are any."""
        found = (*self.diagnostics, *more)
        if found:
            raise UnsupportedError(*found)


def compile(
    module: HloModule,
    target: Target,
    options: Options | None = None,
    observe: Observer | None = None,
    begin: Begin | None = None,
) -> Compilation:
    """Compile a verified module to the target's program.

    ``observe`` receives the name of each stage and the text of the program after it, ``begin`` the name before a stage
    runs. Raises UsageError (XP641) for an unknown name among the disabled passes, UnsupportedError (XP740) if no chunks
    are small enough for the limits.
    """
    options = options or Options()
    require_names(options.disable_passes, optional_names())
    target = written_as(target, module)
    refused = tuple(module_refusals(module, options.custom_calls))
    if refused:
        return Compilation(module, target, refused)
    draft = Draft(module, target, options, module, _support(module, target, options))
    with _at_source(module):
        run_stages(draft, STAGES[:_FIRST_OF_TARGET], observe, begin)
    refused = tuple(program_refusals(draft.program, target))
    if options.graph and not refused:
        refused = tuple(capture_refusals(draft.program, target))
    if refused:
        return Compilation(module, target, refused, draft.lowered)
    with _at_source(module):
        run_stages(draft, STAGES[_FIRST_OF_TARGET:], observe, begin)
    return Compilation(module, target, (), draft.lowered, draft.plan)


def _support(module: HloModule, target: Target, options: Options) -> Support:
    """Return what a target supports in a style. Kernels, if any, must support a node, too, or leave it to the
    library.
    """
    kernels, sizes_are_fixed = kernels_in(options.style, target), not module.free_sizes
    is_trusted = options.edge_cases == LIBRARY and target.features.indices_are_free
    # A rewrite of large arrays only would give different text at different sizes.
    are_passes = target.features.operations_are_passes and kernels is None and sizes_are_fixed
    features = replace(
        target.features,
        indices_are_trusted=is_trusted,
        sizes_are_fixed=sizes_are_fixed,
        operations_are_passes=are_passes,
        coincidental_numbers=module.coincidental_numbers,
    )
    if kernels is None:
        return Support((target.refuses,), features)
    kernels = kernels if sizes_are_fixed else kernels.at_any_size()
    return Support((target.refuses, lambda node: None if kernels.leaves(node) else kernels.refuses(node)), features)


@contextmanager
def _at_source(module: HloModule) -> Iterator[None]:
    """Attach the module's text to the diagnostics of an UnsupportedError, for their spans."""
    try:
        yield
    except UnsupportedError as error:
        raise UnsupportedError(*(replace(d, source=d.source or module.source) for d in error.diagnostics)) from None
