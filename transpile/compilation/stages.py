"""The stages from HLO to a target's program, in one list. The text after each may be printed; most may be disabled."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from ..array.live import live_nodes
from ..array.program import Program
from ..array.support import Support
from ..array.verifier import Verifier
from ..dataclass import dataclass
from ..errors import Diagnostic, UsageError
from ..hlo.ir import HloModule
from ..hlo.printer import print_module
from ..options import FUSED, OWN, READABLE, Options
from ..passes import PIPELINE, ArrayPass
from ..passes.algebra.signs import signs
from ..passes.calls.argument_parts import call_elements, call_views
from ..passes.calls.custom_call_definitions import composed, expanding, is_expanded
from ..passes.calls.inlining import inline_joinable, inlining, of_any_shape
from ..passes.calls.interfaces import interfaces
from ..passes.calls.same_functions import same_functions
from ..passes.calls.scopes_through_calls import scopes_through_calls
from ..passes.calls.target_functions import own_functions, own_functions_of
from ..passes.constants.through_calls import constants_through_calls
from ..passes.library_semantics.edges import LIBRARY, SINGULARITIES, edges
from ..passes.loops.added_parts import added_parts
from ..passes.loops.chosen_updates import chosen_updates
from ..passes.loops.guarded_places import guarded_places
from ..passes.loops.interval_masks import interval_masks, multiples
from ..passes.loops.kept_states import kept_states
from ..passes.loops.own_arrays import own_arrays
from ..passes.loops.python_integers import python_integers
from ..passes.loops.whole_rows import whole_rows
from ..passes.outlining.by_call_stack import Originals, outlining
from ..passes.outlining.by_components import repeats
from ..passes.outlining.by_dependence_chain import layers
from ..passes.own_results import own_results
from ..passes.special_functions import special_functions
from ..passes.to_array import LOWERING_CHOICES, ModuleLowering, Options as LoweringOptions
from ..target import Kernels, Limits, Plan, Target

HLO, ARRAY = "hlo", "array"  # the dialects

Observer = Callable[[str, str], None]  # receives a stage's name and the program after it as text
Begin = Callable[[str], None]  # receives the name of the next stage
Condition = Callable[["Draft"], bool]


@dataclass(slots=True)
class Draft:
    """A program on its way through the stages: a module and, after lowering, functions.

    ``originals`` are the given instructions that those of the rewritten ``module`` stand for; ``support`` is what the
    target supports in the requested style.
    """

    given: HloModule
    target: Target
    options: Options
    module: HloModule
    support: Support
    originals: Originals = field(default_factory=dict)
    lowered: Program | None = None
    plan: Plan | None = None
    verifier: Verifier = field(default_factory=Verifier)

    @property
    def program(self) -> Program:
        """The functions of the array dialect."""
        assert self.lowered is not None, "the module has not been lowered yet"
        return self.lowered

    def text(self) -> str:
        """Return the text of the draft in its current dialect."""
        from ..array.printer import print_program  # few programs are printed

        return print_module(self.module) if self.lowered is None else print_program(self.lowered)


def _always(draft: Draft) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Stage:
    """One step from a draft in one dialect to a draft in another, or in the same.

    ``choices`` are the names of optional parts of the stage. A stage that ``is_needed`` cannot be disabled itself.
    """

    name: str
    takes: str
    gives: str
    run: Callable[[Draft], object]
    applies: Condition = _always
    is_needed: bool = False
    choices: tuple[str, ...] = ()

    @property
    def optional_names(self) -> tuple[str, ...]:
        """The names under which the stage and its optional parts can be disabled."""
        return (*(() if self.is_needed else (self.name,)), *self.choices)


def _has_definitions(draft: Draft) -> bool:
    return any(is_expanded(instruction, draft.options.custom_calls) for instruction in draft.module.instructions())


def _expand(draft: Draft) -> None:
    hooks = draft.options.custom_calls
    draft.module, draft.originals = expanding(draft.module, lambda call: is_expanded(call, hooks))


def _complete_scopes(draft: Draft) -> None:
    draft.module, made = scopes_through_calls(draft.module)
    draft.originals = composed(made, draft.originals)


def _name_special_functions(draft: Draft) -> None:
    """Replace special functions by calls, except those that kernels fuse better as element-wise instructions."""
    kernels = None if _works_in_chunks(draft) else kernels_in(draft.options.style, draft.target)
    fuses = kernels.fuses if kernels is not None else None
    draft.module, made = special_functions(draft.module, draft.support, fuses)
    draft.originals = composed(made, draft.originals)


def _outline(draft: Draft) -> None:
    draft.module, made = outlining(draft.module, around_loops=_writes_slices(draft))
    draft.originals = composed(made, draft.originals)


def _store_types(draft: Draft) -> None:
    from ..passes.storage_types import legalize_storage_types  # few targets lack types

    lacks, hooks = draft.target.lacks, draft.options.custom_calls
    draft.module, draft.originals = legalize_storage_types(draft.module, lacks, hooks, draft.originals)


def _lower(draft: Draft) -> None:
    options = LoweringOptions(
        draft.options.disable_passes, draft.options.custom_calls, draft.support, draft.options.precision
    )
    program = ModuleLowering(draft.module, options).lower()
    program.given = draft.given
    for function in program.functions:
        function.originals = draft.originals
    draft.lowered = program


def _over_functions(array_pass: ArrayPass, applies: Condition = _always) -> Stage:
    def run(draft: Draft) -> None:
        for function in draft.program.functions:
            array_pass(function, draft.support)

    return Stage(array_pass.__name__, ARRAY, ARRAY, run, applies)


def _over_program(program_pass: Callable[[Program], object], applies: Condition = _always) -> Stage:
    return Stage(program_pass.__name__, ARRAY, ARRAY, lambda draft: program_pass(draft.program), applies)


def _fusion(name: str, function: str = "") -> Callable[..., Any]:
    """Return the pass of a file in ``passes/fusion``, or another ``function``, imported only for programs with
    kernels.
    """
    found: Callable[..., Any] = getattr(import_module(f"..passes.fusion.{name}", __package__), function or name)
    return found


def _for_kernels(name: str, asks: Callable[[Kernels], Any] | None, applies: Condition) -> Stage:
    """Return the stage of a fusion pass over functions; ``asks`` gives its argument from the target's kernels."""

    def run(draft: Draft) -> None:
        kernels = _kernels(draft)
        assert kernels is not None
        for function in draft.program.functions:
            _fusion(name)(function, *([] if asks is None else [asks(kernels)]))

    return Stage(name, ARRAY, ARRAY, run, applies)


def _use_library_edges(draft: Draft) -> None:
    program = draft.program
    used = [name for function in program.functions for name in edges(function, draft.support)]
    program.edges = tuple(dict.fromkeys(used))


def _calls_functions(draft: Draft) -> bool:
    return draft.support.features.functions_are_called


def _merge_repeats(draft: Draft) -> None:
    repeats(draft.program, of_one_shape=_writes_kernels(draft))


def _compiles_whole(draft: Draft) -> bool:
    kernels = _kernels(draft)
    return kernels is not None and bool(kernels.most_in_whole) and not _works_in_chunks(draft)


def _compile_whole(draft: Draft) -> None:
    _fusion("whole_functions")(draft.program, _kernels(draft))


def _scatters_in_one_thread(draft: Draft) -> bool:
    return _compiles_whole(draft) and draft.options.threads in ("", "1")


def _scatter_in_loops(draft: Draft) -> None:
    for function in draft.program.functions:
        _fusion("scatter_loops")(function, _kernels(draft))


def _has_loop_forms(draft: Draft) -> bool:
    kernels = _kernels(draft)
    return kernels is not None and kernels.loop_form is not None and not _works_in_chunks(draft)


def _give_loop_forms(draft: Draft) -> None:
    kernels = _kernels(draft)
    assert kernels is not None
    assert kernels.loop_form is not None
    _fusion("loop_forms")(draft.program, kernels.loop_form)


def _writes_slices(draft: Draft) -> bool:
    return not _writes_kernels(draft) and not _works_in_chunks(draft)


def _count_in_python(draft: Draft) -> None:
    program, functions = draft.program, draft.program.functions
    may_be_arrays = of_any_shape(program)
    for function in functions:
        if function not in may_be_arrays and (function.block_of or not _works_in_chunks(draft)):
            python_integers(function, draft.support)


def _saves_launches(draft: Draft) -> bool:
    kernels = _kernels(draft)
    return kernels is not None and kernels.saves_launches


def _has_own_functions(draft: Draft) -> bool:
    target = draft.target
    own = (target.own_function, target.readable_function)
    return any(own) or _writes_kernels(draft) or bool(draft.options.allow) or draft.options.graph


def _use_own_functions(draft: Draft) -> None:
    target, kernels = draft.target, _kernels(draft)
    imported = {*draft.options.allow, *(kernels.requires if kernels is not None else ())}
    packages = [package for name, package in target.packages.items() if name in imported]
    of_packages = [package.own_function for package in packages]
    if kernels is None:
        of_packages += [package.readable_function for package in packages]
    after = target.readable_function if kernels is None else None
    of_large = () if draft.given.free_sizes else (target.own_function, after)  # faster on large arrays
    captured = target.graphs.own_function if draft.options.graph and target.graphs is not None else None
    if captured is not None:
        own_functions(draft.program, captured)
    # A call would hide operations from the planning of chunks; block functions get their calls later.
    if kernels is not None and kernels.own_function is not None and not _works_in_chunks(draft):
        _fusion("compiled_loops", "own_functions_around_loops")(draft.program, kernels)
    for own in (*of_packages, *of_large):
        if own is not None:
            own_functions(draft.program, own)
    deciding = packages if draft.options.edge_cases == LIBRARY and kernels is None else []
    if sum(own_functions(draft.program, package.edge_function) for package in deciding):
        draft.program.edges += (SINGULARITIES,)


def kernels_in(style: str, target: Target) -> Kernels | None:
    """Return the way a target writes kernels in a style, or None. In ``fused``, everything that kernels can compute is
    fused.
    """
    if style == READABLE or target.kernels is None:
        return None
    if style == FUSED:
        return replace(target.kernels, pays=lambda *_: True, leaves=lambda _: False, most_in_whole=0)
    return target.kernels


def _kernels(draft: Draft) -> Kernels | None:
    kernels = kernels_in(draft.options.style, draft.target)
    return kernels.at_any_size() if kernels is not None and draft.given.free_sizes else kernels


def _writes_kernels(draft: Draft) -> bool:
    return _kernels(draft) is not None


def _works_in_chunks(draft: Draft) -> bool:
    return draft.target.arrange is not None


def _writes_kernels_of_whole_arrays(draft: Draft) -> bool:
    return _writes_kernels(draft) and not _works_in_chunks(draft)


def _multiplies_parts(draft: Draft) -> bool:
    return _writes_kernels_of_whole_arrays(draft) and not draft.given.free_sizes and not _saves_launches(draft)


def _cut_into_chunks(draft: Draft) -> None:
    assert draft.target.arrange is not None
    kernels = _kernels(draft)
    beside = kernels.compiler_bytes if kernels is not None else 0
    options = draft.options
    limits = Limits(options.memory, options.chunks, options.threads)
    draft.lowered, draft.plan = draft.target.arrange(draft.program, limits, compiler_bytes=beside)


def _update_in_blocks(draft: Draft) -> None:
    """Update arrays where they are in block functions, whose arrays are NumPy's."""
    features = replace(draft.support.features, arrays_are_mutable=True)
    for function in draft.program.functions:
        if function.block_of:
            chosen_updates(function, replace(draft.support, features=features))


def _fuse(draft: Draft) -> None:
    """Fuse operations on arrays; in programs with chunks, only those of block functions."""
    from ..kernels.verifier import verify_kernels
    from ..passes.fusion import fuse
    from ..passes.fusion.compiled_loops import call_nothing_in_loops

    kernels = _kernels(draft)
    assert kernels is not None
    functions = draft.program.functions
    if _works_in_chunks(draft):
        functions = [function for function in functions if function.block_of]
        for function in functions:
            own_functions_of(function, kernels.own_function)
    else:
        inline_joinable(draft.program, kernels.joins)
        call_nothing_in_loops(draft.program, kernels)
    fuse(functions, kernels, draft.options.threads or "1")
    for function in functions:
        if any(node.parameters["loop"].is_compiled for node in live_nodes(function).of(("loop",))):
            own_arrays(function, draft.support)  # with what scatters have become there
    if verifies(draft):
        for function in functions:
            verify_kernels(function)


def _own_results(draft: Draft) -> None:
    own_results(draft.program, draft.support)


STAGES: tuple[Stage, ...] = (
    Stage("definitions", HLO, HLO, _expand, _has_definitions, is_needed=True),
    Stage("scopes_through_calls", HLO, HLO, _complete_scopes),
    Stage("special_functions", HLO, HLO, _name_special_functions),
    Stage("outlining", HLO, HLO, _outline, _calls_functions),
    Stage("storage_types", HLO, HLO, _store_types, lambda draft: bool(draft.target.lacks), is_needed=True),
    Stage("to_array", HLO, ARRAY, _lower, is_needed=True, choices=LOWERING_CHOICES),
    _over_program(constants_through_calls, _calls_functions),
    *map(_over_functions, PIPELINE),
    Stage("edges", ARRAY, ARRAY, _use_library_edges, lambda draft: draft.options.edge_cases == LIBRARY, is_needed=True),
    _over_program(inlining),
    Stage("repeats", ARRAY, ARRAY, _merge_repeats, _calls_functions),
    _over_program(layers, _calls_functions),
    _over_program(interfaces, _calls_functions),
    _over_functions(whole_rows, _writes_slices),
    _over_program(call_elements, _calls_functions),
    _over_program(same_functions, _calls_functions),
    _over_program(call_views, _calls_functions),
    _over_functions(kept_states, _writes_slices),
    _over_functions(guarded_places, _writes_slices),
    _over_functions(added_parts, _writes_slices),
    _over_functions(signs),
    _over_functions(interval_masks, _writes_slices),
    _over_functions(multiples, _writes_kernels_of_whole_arrays),
    Stage("whole_functions", ARRAY, ARRAY, _compile_whole, _compiles_whole),
    Stage("scatter_loops", ARRAY, ARRAY, _scatter_in_loops, _scatters_in_one_thread),
    Stage("loop_forms", ARRAY, ARRAY, _give_loop_forms, _has_loop_forms),
    _over_functions(chosen_updates, lambda draft: not _works_in_chunks(draft)),
    _for_kernels("open_triangles", lambda kernels: kernels.joins, _writes_kernels_of_whole_arrays),
    _for_kernels("one_hots", None, _writes_kernels_of_whole_arrays),
    _for_kernels("joined_products", None, _multiplies_parts),
    _for_kernels("early_gathers", lambda kernels: kernels.fuses, _writes_kernels_of_whole_arrays),
    _for_kernels("vector_products", lambda kernels: kernels.reduces, _saves_launches),
    _for_kernels("early_slices", lambda kernels: kernels.fuses, _saves_launches),
    _for_kernels("whole_updates", lambda kernels: kernels.fuses, _saves_launches),
    Stage("own_functions", ARRAY, ARRAY, _use_own_functions, _has_own_functions, is_needed=True),
    Stage("chunks", ARRAY, ARRAY, _cut_into_chunks, _works_in_chunks, is_needed=True),
    Stage("block_updates", ARRAY, ARRAY, _update_in_blocks, _works_in_chunks),
    Stage("python_integers", ARRAY, ARRAY, _count_in_python, lambda draft: not _writes_kernels(draft)),
    Stage("kernels", ARRAY, ARRAY, _fuse, _writes_kernels, is_needed=True),
    Stage("own_results", ARRAY, ARRAY, _own_results, lambda draft: draft.options.results == OWN, is_needed=True),
)

# The optional parts of the emission.
EMISSION_CHOICES = ("chains", "releases", "cutting")


def stage_names() -> tuple[str, ...]:
    """Return the names of all stages, in order."""
    return tuple(stage.name for stage in STAGES)


def optional_names() -> tuple[str, ...]:
    """Return the names that can be disabled: stages, their optional parts, and optional parts of the emission."""
    return (*(name for stage in STAGES for name in stage.optional_names), *EMISSION_CHOICES)


def require_names(given: Iterable[str], known: tuple[str, ...]) -> None:
    """Raise UsageError (XP641) for the first given name that is not a known pass."""
    for name in given:
        if name not in known:
            close = get_close_matches(name, known, 1)
            hint = f"did you mean '{close[0]}'? " if close else ""
            message = f"there is no pass '{name}'"
            raise UsageError(Diagnostic("XP641", message, hint=f"{hint}the passes are: {', '.join(known)}"))


def verifies(draft: Draft) -> bool:
    """Return whether the program of a draft is verified after each of its stages."""
    return draft.options.debug


def run_stages(draft: Draft, stages: Iterable[Stage], observe: Observer | None, begin: Begin | None) -> None:
    """Run the stages that apply to the draft and are not disabled; ``begin`` receives the name of each before it runs,
    ``observe`` the text after it.

    Raises InvalidProgramError if a verified draft breaks a rule after a stage.
    """
    for stage in stages:
        is_left_out = not stage.is_needed and stage.name in draft.options.disable_passes
        if is_left_out or not stage.applies(draft):
            continue
        if begin is not None:
            begin(stage.name)
        stage.run(draft)
        if verifies(draft) and draft.lowered is not None:
            draft.verifier.verify(draft.lowered, stage.name)
        if observe is not None:
            observe(stage.name, draft.text())
