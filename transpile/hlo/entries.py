"""Modules with a modified entry computation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from .ir import Computation, HloModule, Instruction, with_instructions

_OF_OTHER_SHAPES = ("entry_computation_layout", "input_output_alias", "buffer_donor")


def with_entry(module: HloModule, entry: Computation) -> HloModule:
    """Return the module with another entry, whose parameters and results may differ."""
    computations = tuple(entry if each is module.entry else each for each in module.computations)
    header = {name: value for name, value in module.header.items() if name not in _OF_OTHER_SHAPES}
    return replace(module, computations=computations, entry=entry, header=header)


def with_replaced(entry: Computation, made: Mapping[Instruction, Sequence[Instruction]]) -> Computation:
    """Return the entry with several instructions in place of one; the last of them has its value."""
    new: dict[Instruction, Instruction] = {}
    instructions: list[Instruction] = []
    for old in entry.instructions:
        if old in made:
            written = [*made[old]]
        else:
            attributes = {name: with_instructions(value, new) for name, value in old.attributes.items()}
            written = [replace(old, operands=tuple(new[each] for each in old.operands), attributes=attributes)]
        instructions += written
        new[old] = written[-1]
    return Computation(entry.name, tuple(instructions), new[entry.root], entry.execution_thread, entry.span)


def numbered(parameter: Instruction, number: int) -> Instruction:
    """Return a parameter with another number."""
    return replace(parameter, attributes={**parameter.attributes, "parameter_number": number})
