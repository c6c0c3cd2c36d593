"""Rewrites on the way from HLO to the array dialect, in one tuple."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches

from ..array.node import Node
from ..array.printer import print_program
from ..array.program import Function, Program
from ..errors import Diagnostic, UsageError
from ..hlo.ir import HloModule
from ..hlo.printer import print_module
from .aranges import aranges
from .carrying import carrying
from .clips import clips
from .convolutions import convolutions
from .counts import counts
from .crosses import crosses
from .decompositions import decompositions
from .determinants import determinants
from .differences import differences
from .factorisations import factorisations
from .factors import factors
from .fills import fills
from .filters import filters
from .gaps import gaps
from .gelus import gelus
from .idioms import idioms
from .indices import indices
from .inlining import inlining
from .keepdims import keepdims
from .linspaces import linspaces
from .magnitudes import magnitudes
from .means import means
from .medians import medians
from .norms import norms
from .outlining import Originals, outlining
from .paddings import paddings
from .polynomials import polynomials
from .pool_gradients import pool_gradients
from .prefixes import prefixes
from .products import products
from .promotions import promotions
from .quotients import quotients
from .remainders import remainders
from .repeats import repeats
from .reshapes import reshapes
from .rolls import rolls
from .searches import searches
from .sigmoids import sigmoids
from .softmaxes import softmaxes
from .softplus import softplus
from .solves import solves
from .squares import squares
from .sums import sums
from .threefry import threefry
from .tilings import tilings
from .to_array import ModuleLowering, Options
from .triangles import triangles
from .ufuncs import ufuncs
from .variances import variances

ArrayPass = Callable[[Function], None]

# The passes over functions of the array dialect, in order. Each may be left out by name.
PIPELINE: tuple[ArrayPass, ...] = (
    idioms,
    threefry,
    remainders,
    ufuncs,
    prefixes,
    searches,
    medians,
    solves,
    products,
    polynomials,
    convolutions,
    filters,
    crosses,
    counts,
    rolls,
    paddings,
    tilings,
    differences,
    sums,
    means,
    clips,
    keepdims,
    gaps,
    sigmoids,
    quotients,
    variances,
    norms,
    triangles,
    determinants,
    factorisations,
    decompositions,
    factors,
    softplus,
    softmaxes,
    gelus,
    magnitudes,
    linspaces,
    squares,
    reshapes,
    pool_gradients,
    fills,
    indices,
    aranges,
    promotions,
)


# What the way into the array dialect does beyond a plain translation, and can leave out.
LOWERING = ("axis_maps", "flooring", "functions", "gathers", "in_place", "loops", "normalizations", "scatters")

# What the emission does to the text, and can leave out.
EMISSION = ("chains", "releases")

TO_ARRAY = "to_array"

Observer = Callable[[str, str], None]  # told a pass's name and the program after it as text


def pass_names() -> tuple[str, ...]:
    """What may be left out, by name."""
    passes = (array_pass.__name__ for array_pass in PIPELINE)
    return (outlining.__name__, *LOWERING, *passes, inlining.__name__, repeats.__name__, *EMISSION)


def require_passes(names: Iterable[str], *others: str) -> None:
    """Raise UsageError (XP641) for the first name that is neither of a pass nor among the others."""
    known = (*others, *pass_names())
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, 1)
            hint = f"did you mean '{close[0]}'? " if close else ""
            message = f"there is no pass '{name}'"
            raise UsageError(Diagnostic("XP641", message, hint=f"{hint}the passes are: {', '.join(known)}"))


def run_pipeline(
    module: HloModule,
    disabled: Sequence[str] = (),
    custom_calls: Mapping[str, str] | None = None,
    refuses: Callable[[Node], str | None] = lambda node: None,
    observe: Observer | None = None,
    lacks: frozenset[str] = frozenset(),
) -> Program:
    """Lower a verified module to the array dialect and rewrite it there.

    What ``refuses`` gives a reason for is not raised: the target says it in more words. Element types of the names in
    ``lacks`` are carried in int8 and uint8. Raises UsageError (XP641) where
    no pass has a name of ``disabled``.
    """
    require_passes(disabled)
    given = module
    originals: Originals = {}
    if outlining.__name__ not in disabled:
        module, originals = outlining(module)
        if observe is not None:
            observe(outlining.__name__, print_module(module))
    carried, originals = carrying(module, lacks, custom_calls or {}, originals)
    if observe is not None and carried is not module:
        observe(carrying.__name__, print_module(carried))
    module = carried
    program = ModuleLowering(module, Options(disabled, custom_calls)).lower()
    program.given = given
    if observe is not None:
        observe(TO_ARRAY, print_program(program))
    for function in program.functions:
        function.graph.refuses = refuses
        function.originals = originals
    for array_pass in PIPELINE:
        if array_pass.__name__ not in disabled:
            for function in program.functions:
                array_pass(function)
            if observe is not None:
                observe(array_pass.__name__, print_program(program))
    if inlining.__name__ not in disabled:
        inlining(program)
        if observe is not None:
            observe(inlining.__name__, print_program(program))
    if repeats.__name__ not in disabled:
        repeats(program, refuses)
        if observe is not None:
            observe(repeats.__name__, print_program(program))
    return program
