"""Rewrites on the way from HLO to the array dialect, in one tuple."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..array.node import Node
from ..array.program import Function, Program
from ..hlo.ir import HloModule
from .clips import clips
from .factors import factors
from .idioms import idioms
from .keepdims import keepdims
from .means import means
from .outlining import Originals, outlining
from .products import products
from .quotients import quotients
from .rolls import rolls
from .sigmoids import sigmoids
from .softplus import softplus
from .solves import solves
from .squares import squares
from .sums import sums
from .threefry import threefry
from .to_array import ModuleLowering, Options
from .triangles import triangles
from .variances import variances

ArrayPass = Callable[[Function], None]

# The passes over functions of the array dialect, in order. Each may be left out by name.
PIPELINE: tuple[ArrayPass, ...] = (
    idioms,
    threefry,
    solves,
    products,
    rolls,
    sums,
    means,
    clips,
    keepdims,
    sigmoids,
    quotients,
    variances,
    triangles,
    factors,
    softplus,
    squares,
)


def run_pipeline(
    module: HloModule,
    disabled: Sequence[str] = (),
    custom_calls: Mapping[str, str] | None = None,
    refuses: Callable[[Node], str | None] = lambda node: None,
) -> Program:
    """Lower a verified module to the array dialect and rewrite it there.

    What ``refuses`` gives a reason for is not raised: the target says it in more words.
    """
    originals: Originals = {}
    if outlining.__name__ not in disabled:
        module, originals = outlining(module)
    program = ModuleLowering(module, Options(disabled, custom_calls)).lower()
    for function in program.functions:
        function.graph.refuses = refuses
        function.originals = originals
    for array_pass in PIPELINE:
        if array_pass.__name__ not in disabled:
            for function in program.functions:
                array_pass(function)
    return program
