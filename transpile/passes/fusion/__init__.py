"""Fusion: operations that one loop nest can compute become kernels (``transpile/kernels``), for targets that have them.

``regions`` decides what is fused, in the same way for all targets: a target says which operations its kernels support,
and how large they may be. ``building`` makes kernels of the regions, ``loops`` moves loops around kernels into them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...array.live import live_nodes
from ...array.program import Function
from ...kernels.kernel import Kernel
from ...target import Kernels
from ..calls.inlining import handed_on
from .backwards import turn_around, turn_back
from .building import KernelBuilder, call_kernel
from .compiled_loops import compiled_loops, mark_compiled
from .loops import kernel_loops
from .own_masks import own_masks
from .recomputing import compute_again
from .regions import RegionFinder
from .sums import sum_in_kernels
from .variances import split_variances
from .whole_functions import stand_for_results


def _made_by_caller(kernel: Kernel, least: int | None) -> list[int]:
    """The indices of the results of at least ``least`` bytes, and of an array that is the only result."""
    if least is None:
        return []
    if len(kernel.shapes) == 1:
        return [0] if kernel.shapes[0] else []
    sizes = [prod(shape) * node.type.bits // 8 for node, shape in zip(kernel.outputs, kernel.shapes, strict=True)]
    return [number for number, size in enumerate(sizes) if size >= least]


def fuse(functions: Sequence[Function], kernels: Kernels, parallel: str) -> None:
    """Fuse, in each function, the operations that a target has kernels for; large loops run in ``parallel`` parts."""
    # Functions passed to other functions may be given arrays of another shape than in the program.
    handed = set() if kernels.take_any_shape else handed_on(functions)
    for function in functions:
        if function in handed:
            continue
        split_variances(function, kernels)
        if kernels.cut_lines:
            own_masks(function)
        turn_around(function, kernels)
        loops = compiled_loops(function, kernels)
        finder = RegionFinder(function, kernels, loops)
        regions = finder.found()
        if kernels.recomputes:
            regions = compute_again(finder, regions)
        kernels_made = [KernelBuilder(function, region, kernels.cut_lines).kernel() for region in regions]
        stacked = {
            store.value for node in live_nodes(function).of(("loop",)) for store in node.parameters["loop"].stores
        }
        for region, kernel in zip(regions, kernels_made, strict=True):
            if kernels.parallel_from is not None and prod(kernel.loop) >= kernels.parallel_from:
                kernel.parallel = parallel
            kernel.caller_allocated = _made_by_caller(kernel, kernels.bytes_by_caller)
            if stacked.isdisjoint(kernel.outputs):
                kernel.at_once = kernels.at_once(kernel)
            call_kernel(function, region, kernel)
        if regions:
            live_nodes(function).flush()
            function.live = None  # kernels stand where their first result was, which may be before their operands
            kernel_loops(function)
        if kernels.sums:
            sum_in_kernels(function, kernels)
        turn_back(function)
        mark_compiled(function, loops, kernels)
        stand_for_results(function)
