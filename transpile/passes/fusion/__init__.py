"""Fusion: operations that one loop nest can do become kernels (``transpile/kernels``), for targets that have them.

``regions`` decides what joins, for all targets alike: a target says which operations its kernels do, and how large they
may be. ``building`` makes kernels of the regions, ``loops`` moves loops around kernels into them.
"""

from __future__ import annotations

from ....targets.base import Kernels
from ...array.program import Program
from ...array.rewriting import rewrite_parts
from .building import call_kernel
from .loops import kernel_loops
from .regions import RegionFinder


def fuse(program: Program, kernels: Kernels) -> None:
    """Fuse, in every function of a program, the operations that a target has kernels for."""
    for function in program.functions:
        regions = RegionFinder(function, kernels).found()
        if regions:
            rewrite_parts(
                function,
                regions,
                lambda region, made, function=function: call_kernel(function, region, made),  # type: ignore[misc]
            )
            kernel_loops(function)
