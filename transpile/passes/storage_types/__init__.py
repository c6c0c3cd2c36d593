"""Legalizes element types that a target has no dtype for: they are carried in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...hlo.ir import HloModule, callees_first
from .operations import SPECIAL
from .rewriting import Originals, StorageRewriter, has_type

__all__ = ["legalize_storage_types"]


def legalize_storage_types(
    module: HloModule, lacks: frozenset[str], hooks: Mapping[str, str], originals: Originals
) -> tuple[HloModule, Originals]:
    """Return the module without the element types in ``lacks``, and the originals of its instructions.

    A module without these types is returned unchanged. Functions in ``hooks`` get the carriers.
    """
    if not any(has_type(instruction.shape, lacks) for instruction in module.instructions()):
        return module, originals
    work = StorageRewriter(lacks, hooks, originals, SPECIAL)
    made = {computation: work.computation(computation, work.instruction) for computation in module.computations}
    computations = tuple(callees_first(*work.wide.values(), *made.values()))
    return replace(module, computations=computations, entry=made[module.entry]), work.originals
