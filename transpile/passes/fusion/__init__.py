"""Fusion: operations that one loop nest can do become kernels (``transpile/kernels``), for targets that have them.

``regions`` decides what joins, for all targets alike: a target says which operations its kernels do, and how large they
may be. ``building`` makes kernels of the regions, ``loops`` moves loops around kernels into them.
"""

from __future__ import annotations

from ....targets.base import Kernels
from ...array.live import live_nodes
from ...array.program import Program
from .building import KernelBuilder, call_kernel
from .loops import kernel_loops
from .regions import RegionFinder


def fuse(program: Program, kernels: Kernels) -> None:
    """Fuse, in every function of a program, the operations that a target has kernels for."""
    for function in program.functions:
        regions = RegionFinder(function, kernels).found()
        kernels_made = [KernelBuilder(function, region).kernel() for region in regions]
        for region, kernel in zip(regions, kernels_made, strict=True):
            call_kernel(function, region, kernel)
        if regions:
            live_nodes(function).flush()
            function.live = None  # kernels stand where their first result was, which may be before what they need
            kernel_loops(function)
