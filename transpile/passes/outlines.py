"""What the copies of a function that was traced several times have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..hlo.ir import Computation, Instruction
from .activations import STRUCTURE, Activations, Constants, Copy, Label, described, work

_LEAST_WORK = 5  # operations of a function worth its name
_MOST_VALUES = 24  # inputs and outputs
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Outline:
    """What the copies of a function have in common: the labels of its body in order, its inputs and outputs.

    ``inputs`` holds what each copy gets, ``sources`` where in the body: label and operand.
    """

    found: Activations
    body: list[Label]
    inputs: list[tuple[Instruction, ...]]
    slots: dict[tuple[Label, int], int]
    outputs: list[Label]

    @property
    def saving(self) -> int:
        """Operations that need not be read again, less the values that every call lists."""
        count = len(self.found.copies)
        each = work(self.found.copies[0][label] for label in self.body)
        values = len(self.inputs) + len(self.outputs)
        if each < _LEAST_WORK or values > _MOST_VALUES or not self.outputs:
            return 0
        return 2 * (count - 1) * each - count * values


def common_body(computation: Computation, found: Activations, constants: Constants) -> Outline | None:
    """The largest common body of the copies; None where their function has no name."""
    if not _IDENTIFIER.fullmatch(short(found.function_name)):
        return None
    copies = found.copies
    _absorb(computation, found)
    order = {instruction: k for k, instruction in enumerate(computation.instructions)}
    while True:
        inside = [{instruction: label for label, instruction in copy.items()} for copy in copies]
        body = sorted(copies[0], key=lambda label: order[copies[0][label]])
        slots, inputs, differing = _inputs(copies, inside, body, constants)
        if not differing:
            break
        for copy in copies:
            for label in differing:
                del copy[label]
    outputs = _outputs(computation, copies)
    return Outline(found, body, inputs, slots, outputs)


def _inputs(
    copies: list[Copy], inside: list[dict[Instruction, Label]], body: list[Label], constants: Constants
) -> tuple[dict[tuple[Label, int], int], list[tuple[Instruction, ...]], set[Label]]:
    """Which operands come from outside, in the order of the body; labels whose operands do so in some copies."""
    slots: dict[tuple[Label, int], int] = {}
    inputs: dict[tuple[Instruction, ...], int] = {}
    differing: set[Label] = set()
    for label in body:
        for k in range(len(copies[0][label].operands)):
            operands = tuple(copy[label].operands[k] for copy in copies)
            places = {own.get(operand) for own, operand in zip(inside, operands, strict=True)}
            if len(places) > 1:
                differing.add(label)
            elif places == {None}:
                keys = {constants.key(operand) for operand in operands}
                if len(keys) > 1 or None in keys:
                    slots[label, k] = inputs.setdefault(operands, len(inputs))
    shapes_differ = [o for o in inputs if len({operand.shape for operand in o}) > 1]
    differing |= {label for (label, k), n in slots.items() if list(inputs)[n] in shapes_differ}
    return slots, list(inputs), differing


def short(function_name: str) -> str:
    """``solve.<locals>.attempt`` is called ``attempt``."""
    return function_name.rsplit(".", 1)[-1]


def _absorb(computation: Computation, found: Activations) -> None:
    """Broadcasts, reshapes and the like that serve one copy only belong to it, under the label of what they serve.

    What comes from another place than the function stays outside where it works on what is given: ``b[0]``.
    """
    copies = found.copies
    users = _users(computation.instructions)
    owner = {instruction: n for n, copy in enumerate(copies) for instruction in copy.values()}
    label_of = {instruction: label for copy in copies for label, instruction in copy.items()}

    def take(instruction: Instruction, number: int, label: Label) -> None:
        owner[instruction], label_of[instruction] = number, label
        copies[number][label] = instruction

    for instruction in reversed(computation.instructions):
        if instruction in owner or instruction.opcode not in STRUCTURE or instruction is computation.root:
            continue
        serving = users.get(instruction, [])
        owners = {owner.get(user) for user, _ in serving}
        inner = (
            instruction in found.structure
            or instruction.opcode == "broadcast"
            or any(operand in owner for operand in instruction.operands)
        )
        if len(owners) == 1 and None not in owners and inner and instruction.operands:
            user, k = min(serving, key=lambda use: (repr(label_of[use[0]]), use[1]))
            take(instruction, owner[user], (*label_of[user], "operand", k))
    for instruction in computation.instructions:
        if instruction in owner or instruction.opcode not in STRUCTURE or len(instruction.operands) != 1:
            continue
        number = owner.get(instruction.operands[0])
        served = {owner.get(user) for user, _ in users.get(instruction, [])}
        if number is not None and instruction is not computation.root and (instruction in found.structure or served):
            label = (*label_of[instruction.operands[0]], "of", instruction.opcode, instruction.shape)
            take(instruction, number, (*label, instruction.attributes.get("index")))
    common = set.intersection(*(set(copy) for copy in copies))
    differing = {
        label
        for label in common
        if len({(copy[label].opcode, copy[label].shape, described(copy[label].attributes)) for copy in copies}) > 1
    }
    for copy in copies:
        for label in set(copy) - common | differing:
            del copy[label]


def _users(instructions: Iterable[Instruction]) -> dict[Instruction, list[tuple[Instruction, int]]]:
    found: dict[Instruction, list[tuple[Instruction, int]]] = {}
    for instruction in instructions:
        for k, operand in enumerate(instruction.operands):
            found.setdefault(operand, []).append((instruction, k))
    return found


def _outputs(computation: Computation, copies: list[Copy]) -> list[Label]:
    """The labels that something outside of their copy reads, in some copy, in the order of the first."""
    owner = {instruction: n for n, copy in enumerate(copies) for instruction in copy.values()}
    users = _users(computation.instructions)
    read: set[Label] = set()
    for number, copy in enumerate(copies):
        for label, instruction in copy.items():
            outside = any(owner.get(user) != number for user, _ in users.get(instruction, []))
            if outside or instruction is computation.root:
                read.add(label)
    order = {instruction: k for k, instruction in enumerate(computation.instructions)}
    return sorted(read, key=lambda label: order[copies[0][label]])
