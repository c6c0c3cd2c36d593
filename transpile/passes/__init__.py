"""Rewrites on the way from HLO to the array dialect, in one tuple."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..array.program import Function, Program
from ..hlo.ir import HloModule
from .keepdims import keepdims
from .means import means
from .to_array import ModuleLowering, Options

ArrayPass = Callable[[Function], None]

# The passes over functions of the array dialect, in order. Each may be left out by name.
PIPELINE: tuple[ArrayPass, ...] = (means, keepdims)


def run_pipeline(
    module: HloModule, disabled: Sequence[str] = (), custom_calls: Mapping[str, str] | None = None
) -> Program:
    """Lower a verified module to the array dialect and rewrite it there."""
    program = ModuleLowering(module, Options(disabled, custom_calls)).lower()
    for array_pass in PIPELINE:
        if array_pass.__name__ not in disabled:
            for function in program.functions:
                array_pass(function)
    return program
