"""Replaces instructions of a module by calls, and drops instructions that are no longer needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ...hlo.ir import Computation, HloModule, Instruction, callees_first, naming
from ...walks import operands_first

Calls = dict[Instruction, Instruction]  # replacements of a computation's instructions, with old operands
Originals = dict[Instruction, tuple[Instruction, ...]]


def with_calls(module: HloModule, calls: Mapping[Computation, Calls]) -> tuple[HloModule, Originals]:
    """Return the module with the calls of each computation, and the originals of its instructions.

    An operand of a call may be new: several results of one call are elements of it.
    """
    rewriting = _Rewriting(calls)
    for computation in callees_first(*module.computations):
        rewriting.made[computation] = rewriting.rewritten(computation)
    entry = rewriting.made[module.entry]
    needed = set(callees_first(entry))
    computations = callees_first(*(each for each in rewriting.made.values() if each in needed))
    return replace(module, computations=tuple(computations), entry=entry), rewriting.originals


class _Rewriting:
    def __init__(self, calls: Mapping[Computation, Calls]) -> None:
        self.calls = calls
        self.originals: Originals = {}
        self.made: dict[Computation, Computation] = {}

    def rewritten(self, computation: Computation) -> Computation:
        """Return a computation with its calls, which itself calls rewritten computations."""
        calls = self.calls.get(computation, {})
        operands = _operands(computation, calls)
        left_out = _gone(computation, calls, operands)
        made: dict[Instruction, Instruction] = {}
        places: dict[Instruction, Instruction] = {}  # replacements, also of dropped instructions
        for old in _ordered((each for each in computation.instructions if each not in left_out), operands):
            new = calls.get(old, old)
            for added in _added(new.operands, made):
                made[added] = naming(added, places, self.made).on(tuple(made[operand] for operand in added.operands))
                self.originals[made[added]] = (old,)
            made[old] = naming(new, places, self.made).on(tuple(made[operand] for operand in new.operands))
            whole = (old, *(each for each, root in left_out.items() if root is old))
            places.update(dict.fromkeys(whole, made[old]))
            self.originals[made[old]] = whole
        return replace(computation, instructions=tuple(made.values()), root=made[computation.root])


def _added(operands: Iterable[Instruction], made: Mapping[Instruction, Instruction]) -> Iterator[Instruction]:
    """Yield the new operands, each after its own operands."""
    for operand in operands:
        if operand not in made:
            yield from _added(operand.operands, made)
            yield operand


def gone(computation: Computation, calls: Calls) -> dict[Instruction, Instruction]:
    """Return the instructions that are not needed with these calls, each with the instruction that it was part of."""
    return _gone(computation, calls, _operands(computation, calls))


_Operands = Mapping[Instruction, tuple[Instruction, ...]]


def _operands(computation: Computation, calls: Calls) -> _Operands:
    """Return the old instructions that each instruction of a computation needs with these calls."""
    known = set(computation.instructions)

    def needs(instruction: Instruction) -> Iterator[Instruction]:
        for operand in instruction.operands:
            yield from (operand,) if operand in known else needs(operand)

    return {each: tuple(needs(calls.get(each, each))) for each in computation.instructions}


def _gone(computation: Computation, calls: Calls, operands: _Operands) -> dict[Instruction, Instruction]:
    users = Counter(operand for given in operands.values() for operand in given)
    users[computation.root] += 1
    found: dict[Instruction, Instruction] = {}
    for root in calls:
        waiting = list(root.operands)
        while waiting:
            instruction = waiting.pop()
            if users[instruction] or instruction in found or instruction.opcode == "parameter":
                continue
            found[instruction] = root
            users.subtract(operands[instruction])
            waiting += operands[instruction]
    return found


def _ordered(instructions: Iterable[Instruction], operands: _Operands) -> list[Instruction]:
    """Return instructions in topological order, otherwise in their own."""
    return operands_first(instructions, operands.__getitem__)
