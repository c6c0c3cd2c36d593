"""Rewrites that the reducers are made of: of calls and computations, and of what instructions carry along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...hlo.ir import Computation, Instruction, with_called
from .cases import ordered

NOTES = frozenset(
    ("backend_config", "control-predecessors", "frontend_attributes", "metadata", "origin", "sharding", "statistics")
)


def without_unpacking(root: Instruction) -> Instruction:
    """Return the root with what is taken out of a tuple that is made here replaced by that element."""
    made: dict[Instruction, Instruction] = {}
    for instruction in ordered(root):
        operands = tuple(made[operand] for operand in instruction.operands)
        changed = instruction if operands == instruction.operands else instruction.replace(operands=operands)
        if changed.opcode == "get-tuple-element" and operands[0].opcode == "tuple":
            changed = operands[0].operands[changed["index"]]
        made[instruction] = changed
    return made[root]


def called_by(root: Instruction) -> list[Computation]:
    """The computations that a root needs, callers first, each once."""
    found: dict[Computation, None] = {}
    stack = [computation for instruction in ordered(root) for computation in instruction.called]
    while stack:
        computation = stack.pop(0)
        if computation not in found:
            found[computation] = None
            stack += [inner for instruction in computation.instructions for inner in instruction.called]
    return list(found)


def with_root(computation: Computation, root: Instruction) -> Computation:
    """A computation of the same parameters with another root."""
    return replace(computation, instructions=tuple(ordered(*computation.parameters, root)), root=root)


def with_computation(root: Instruction, old: Computation, new: Computation) -> Instruction:
    """The root with another computation called in the place of one, wherever that is."""
    made = {old: new}
    for computation in reversed(called_by(root)):  # callees first
        if computation not in made:
            changed = _calling(computation.root, made)
            made[computation] = computation if changed is computation.root else with_root(computation, changed)
    return _calling(root, made)


def _calling(root: Instruction, made: dict[Computation, Computation]) -> Instruction:
    changes: dict[Instruction, Instruction] = {}

    def exchange(old: Computation) -> Computation:
        return made.get(old, old)

    for instruction in ordered(root):
        attributes = {key: with_called(value, exchange) for key, value in instruction.attributes.items()}
        operands = tuple(changes.get(operand, operand) for operand in instruction.operands)
        if operands != instruction.operands or any(attributes[k] is not v for k, v in instruction.attributes.items()):
            changes[instruction] = instruction.replace(attributes=attributes, operands=operands)
    return changes.get(root, root)


def without_notes(
    instructions: Sequence[Instruction], computations: dict[Computation, Computation]
) -> dict[Instruction, Instruction]:
    """Instructions without metadata and notes, which call what takes the place of their computations."""
    made: dict[Instruction, Instruction] = {}

    def exchange(old: Computation) -> Computation:
        return computations.get(old, old)

    for instruction in instructions:
        kept = {k: with_called(v, exchange) for k, v in instruction.attributes.items() if k not in NOTES}
        operands = tuple(made[operand] for operand in instruction.operands)
        made[instruction] = instruction.replace(attributes=kept, operands=operands, metadata=None)
    return made
