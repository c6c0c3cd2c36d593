"""From a module to a target's program: the only way there, for the emission, inspection, documents and tests."""

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

    ``target`` is the one that the program is written for: for a program of several replicas it may not be the
    one that was asked for. ``refusals`` are everything that the target cannot express; where there are any, the program
    has not been through the target's own stages, and where the module could not be lowered, there is none. ``plan``
    is how a program runs in chunks, on targets where programs do.
    """

    module: HloModule
    target: Target
    refusals: tuple[Refusal, ...] = ()
    lowered: Program | None = None
    plan: Plan | None = None

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return one for each instruction that the target cannot express, those of one reason together."""
        found = in_groups(refusal.diagnostic for refusal in self.refusals)
        return tuple(replace(diagnostic, source=diagnostic.source or self.module.source) for diagnostic in found)

    @property
    def program(self) -> Program:
        """The target's program. Raises UnsupportedError with all diagnostics where the target cannot express it."""
        self.require_support()
        assert self.lowered is not None
        return self.lowered

    def require_support(self, *more: Diagnostic) -> None:
        """Raise UnsupportedError with all diagnostics, and more of the caller's, if there are any."""
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
    """Lower a verified module and give it the form in which the target runs it.

    ``observe`` is told the name of each stage and the program after it as text, ``begin`` the name before a stage runs.
    Raises UsageError (XP641) for a disabled stage that there is not, UnsupportedError (XP740) where no chunks are small
    enough for the limits.
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
    """Return what a target supports in a style: where there are kernels, nothing that would stand in their way."""
    kernels, sizes_are_fixed = kernels_in(options.style, target), not module.free_sizes
    is_trusted = options.edge_cases == LIBRARY and target.features.indices_are_free
    # A rewrite that only large arrays get would give different text at different sizes.
    are_passes = target.features.operations_are_passes and kernels is None and sizes_are_fixed
    features = replace(
        target.features,
        indices_are_trusted=is_trusted,
        sizes_are_fixed=sizes_are_fixed,
        operations_are_passes=are_passes,
        chance_numbers=module.chance_numbers,
    )
    if kernels is None:
        return Support((target.refuses,), features)
    kernels = kernels if sizes_are_fixed else kernels.at_any_size()
    return Support((target.refuses, lambda node: None if kernels.leaves(node) else kernels.refuses(node)), features)


@contextmanager
def _at_source(module: HloModule) -> Iterator[None]:
    """Give the diagnostics of an UnsupportedError the text that their places are in."""
    try:
        yield
    except UnsupportedError as error:
        raise UnsupportedError(*(replace(d, source=d.source or module.source) for d in error.diagnostics)) from None
