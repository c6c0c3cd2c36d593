"""Structural equality of modules and computations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .attributes import ReplicaGroups
from .ir import Computation, HloModule, Instruction, callees_first


def structurally_equal(a: HloModule, b: HloModule, *, labels: bool = True) -> bool:
    """Return whether two modules have the same computations, instruction by instruction, in the same order.

    Operands and called computations are compared by position, literals bit by bit. With ``labels=False``, names,
    metadata and stack frames are ignored. Spans, user sources and the notation of replica groups are always ignored.
    """
    return _Comparison(labels).modules(a, b)


def compute_alike(a: Computation, b: Computation) -> bool:
    """Return whether two computations, with all that they call, are equal except for names and metadata."""
    return _Comparison(labels=False).callees(callees_first(a), callees_first(b))


class _Comparison:
    def __init__(self, labels: bool) -> None:
        self._labels = labels
        # Positions of computations and instructions in each module, by identity: the modules may share them.
        self._places_a: dict[int, int] = {}
        self._places_b: dict[int, int] = {}

    def modules(self, a: HloModule, b: HloModule) -> bool:
        if self._labels and (a.name, a.stack_frames) != (b.name, b.stack_frames):
            return False
        self._number(a.computations, b.computations)
        if not self._same_place(a.entry, b.entry) or not self._mappings(a.header, b.header):
            return False
        return self.callees(a.computations, b.computations)

    def callees(self, a: Sequence[Computation], b: Sequence[Computation]) -> bool:
        """Return whether computations, callees before callers, are equal one by one."""
        self._number(a, b)
        return len(a) == len(b) and all(map(self._computations, a, b))

    def _computations(self, a: Computation, b: Computation) -> bool:
        if len(a.instructions) != len(b.instructions) or a.execution_thread != b.execution_thread:
            return False
        if self._labels and a.name != b.name:
            return False
        self._number(a.instructions, b.instructions)
        return self._same_place(a.root, b.root) and all(map(self._instructions, a.instructions, b.instructions))

    def _instructions(self, a: Instruction, b: Instruction) -> bool:
        if a.opcode != b.opcode or a.shape != b.shape or len(a.operands) != len(b.operands):
            return False
        if self._labels and (a.name, a.metadata) != (b.name, b.metadata):
            return False
        return all(map(self._same_place, a.operands, b.operands)) and self._mappings(a.attributes, b.attributes)

    def _mappings(self, a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
        return a.keys() == b.keys() and all(self._values(a[key], b[key]) for key in a)

    def _values(self, a: Any, b: Any) -> bool:
        if type(a) is not type(b):
            return False
        if isinstance(a, np.ndarray):
            return bool(a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes())
        if type(a) is tuple:  # not a named tuple
            return len(a) == len(b) and all(map(self._values, a, b))
        if isinstance(a, (Computation, Instruction)):
            return self._same_place(a, b)
        if isinstance(a, ReplicaGroups):
            return bool(a.groups == b.groups)
        return bool(a == b)

    def _number(self, a: Sequence[Any], b: Sequence[Any]) -> None:
        self._places_a.update((id(item), index) for index, item in enumerate(a))
        self._places_b.update((id(item), index) for index, item in enumerate(b))

    def _same_place(self, a: Computation | Instruction, b: Computation | Instruction) -> bool:
        return self._places_a.get(id(a)) == self._places_b.get(id(b))
