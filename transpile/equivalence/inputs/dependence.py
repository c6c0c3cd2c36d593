"""The instructions that an array of a program's result depends on."""

from __future__ import annotations

from collections.abc import Sequence

from ...hlo.ir import HloModule, Instruction


def computed_by(module: HloModule, path: Sequence[int]) -> list[Instruction]:
    """Return the instructions that the array at ``path`` of a module's result may depend on, with those of called
    computations.
    """
    root, rest = module.entry.root, list(path)
    while rest and root.opcode == "tuple":
        root = root.operands[rest.pop(0)]
    found: dict[int, Instruction] = {}
    work = [root]
    while work:
        instruction = work.pop()
        if id(instruction) in found:
            continue
        found[id(instruction)] = instruction
        work.extend(instruction.operands)
        work.extend(called.root for called in instruction.called)
    return list(found.values())
