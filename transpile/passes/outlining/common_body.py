"""The outline of a function that was traced several times: what its copies have in common."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from ...dataclass import dataclass
from ...hlo.ir import Computation, Instruction
from .traced_calls import STRUCTURE, Activations, Constants, Copy, Label, Numbers, work

_LEAST_WORK = 5  # operations of a function worth its name
_MOST_VALUES = 24  # inputs and outputs
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Outline:
    """The common part of the copies of a function: the labels of its body in order, its inputs and outputs.

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
        each = work(self.found.copies[0][label] for label in self.body)
        values = len(self.inputs) + len(self.outputs)
        return _saving(len(self.found.copies), each, values) if values <= _MOST_VALUES and self.outputs else 0


def most_saved(found: Activations) -> int:
    """Return a bound of what an outline of copies saves: all their work stays, for one value."""
    return _saving(len(found.copies), work(found.copies[0].values()), 1)


def _saving(copies: int, each: int, values: int) -> int:
    return 2 * (copies - 1) * each - copies * values if each >= _LEAST_WORK else 0


class Surroundings:
    """The users of the instructions of a computation, and where they stand."""

    def __init__(self, computation: Computation) -> None:
        self.root = computation.root
        self.order = {instruction: k for k, instruction in enumerate(computation.instructions)}
        self.users: dict[Instruction, list[tuple[Instruction, int]]] = {}  # with the number of the operand
        for instruction in computation.instructions:
            for k, operand in enumerate(instruction.operands):
                self.users.setdefault(operand, []).append((instruction, k))


def common_body(around: Surroundings, found: Activations, constants: Constants, numbers: Numbers) -> Outline | None:
    """The largest common body of the copies; None where their function has no name, or each is several calls."""
    if not _IDENTIFIER.fullmatch(short(found.function_name)):
        return None
    copies = found.copies
    _absorb(around, found, numbers)
    while True:
        inside = [{instruction: label for label, instruction in copy.items()} for copy in copies]
        body = sorted(copies[0], key=lambda label: around.order[copies[0][label]])
        slots, inputs, differing = _inputs(copies, inside, body, constants)
        if not differing:
            break
        for copy in copies:
            for label in differing:
                del copy[label]
    if _are_several_calls(copies[0]):
        return None
    outputs = _outputs(around, copies)
    return Outline(found, body, inputs, slots, outputs)


def _are_several_calls(copy: Copy) -> bool:
    """Tell whether parts of a copy that have nothing to do with each other come from the same places: a map over a tree
    calls its function for arrays of several shapes, and for each shape as often.
    """
    leader = {instruction: instruction for instruction in copy.values()}

    def found(instruction: Instruction) -> Instruction:
        while leader[instruction] is not instruction:
            leader[instruction] = leader[leader[instruction]]
            instruction = leader[instruction]
        return instruction

    for instruction in copy.values():
        for operand in instruction.operands:
            if operand in leader:
                leader[found(operand)] = found(instruction)
    places: dict[Instruction, set[int]] = {}
    for (place, *_), instruction in copy.items():
        if work([instruction]):
            places.setdefault(found(instruction), set()).add(place)
    counts = Counter(map(frozenset, places.values()))
    return bool(counts) and min(counts.values()) > 1


def _inputs(
    copies: list[Copy], inside: list[dict[Instruction, Label]], body: list[Label], constants: Constants
) -> tuple[dict[tuple[Label, int], int], list[tuple[Instruction, ...]], set[Label]]:
    """Return which operands come from outside, in the order of the body, and the labels whose operands do so in some
    copies.
    """
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
    shapes_differ = {n for operands, n in inputs.items() if len({operand.shape for operand in operands}) > 1}
    differing |= {label for (label, k), n in slots.items() if n in shapes_differ}
    return slots, list(inputs), differing


def short(function_name: str) -> str:
    """``solve.<locals>.attempt`` is called ``attempt``."""
    return function_name.rsplit(".", 1)[-1]


def _absorb(around: Surroundings, found: Activations, numbers: Numbers) -> None:
    """Broadcasts, reshapes and the like that serve one copy only belong to it, under the label of what they serve.

    What comes from another place than the function stays outside where it works on what is given: ``b[0]``.
    """
    copies, order = found.copies, around.order
    owner = {instruction: n for n, copy in enumerate(copies) for instruction in copy.values()}
    label_of = {instruction: label for copy in copies for label, instruction in copy.items()}
    absorbed: set[Label] = set()

    def take(instruction: Instruction, number: int, label: Label) -> None:
        owner[instruction], label_of[instruction] = number, label
        absorbed.add(label)
        copies[number][label] = instruction

    def is_free(instruction: Instruction) -> bool:
        return instruction not in owner and instruction.opcode in STRUCTURE and instruction is not around.root

    operands = (operand for instruction in list(owner) for operand in instruction.operands)
    waiting = _Queue(filter(is_free, operands), lambda instruction: -order[instruction])  # users before their operands
    for instruction in waiting:
        if not is_free(instruction):
            continue
        serving = around.users.get(instruction, [])
        owners = {owner.get(user) for user, _ in serving}
        inner = (
            instruction in found.structure
            or instruction.opcode == "broadcast"
            or any(operand in owner for operand in instruction.operands)
        )
        if len(owners) == 1 and None not in owners and inner and instruction.operands:
            user, k = min(serving, key=lambda use: (repr(label_of[use[0]]), use[1]))
            take(instruction, owner[user], (*label_of[user], "operand", k))
            waiting.extend(filter(is_free, instruction.operands))
    users = (user for instruction in list(owner) for user, _ in around.users.get(instruction, []))
    waiting = _Queue(filter(is_free, users), order.__getitem__)
    for instruction in waiting:
        if not is_free(instruction) or len(instruction.operands) != 1:
            continue
        serving = around.users.get(instruction, [])
        if instruction in found.structure or serving:
            (operand,) = instruction.operands
            what = numbers.of((instruction.opcode, instruction.shape, instruction.attributes.get("index")))
            take(instruction, owner[operand], (*label_of[operand], "of", what))
            waiting.extend(user for user, _ in serving if is_free(user))
    common = set.intersection(*(set(copy) for copy in copies))
    differing = {
        label
        for label in common & absorbed  # the others are alike by their labels and what their group agrees in
        if len({(copy[label].opcode, copy[label].shape, numbers.of_attributes(copy[label])) for copy in copies}) > 1
    }
    for copy in copies:
        for label in set(copy) - common | differing:
            del copy[label]


class _Queue:
    """Instructions in the order of a key, each once; more may be added behind the one that is looked at."""

    def __init__(self, given: Iterable[Instruction], key: Callable[[Instruction], int]) -> None:
        self._key = key
        self._heap: list[tuple[int, Instruction]] = []
        self._seen: set[Instruction] = set()
        self.extend(given)

    def extend(self, more: Iterable[Instruction]) -> None:
        for instruction in more:
            if instruction not in self._seen:
                self._seen.add(instruction)
                heapq.heappush(self._heap, (self._key(instruction), instruction))

    def __iter__(self) -> Iterator[Instruction]:
        while self._heap:
            yield heapq.heappop(self._heap)[1]


def _outputs(around: Surroundings, copies: list[Copy]) -> list[Label]:
    """The labels that something outside of their copy reads, in some copy, in the order of the first."""
    owner = {instruction: n for n, copy in enumerate(copies) for instruction in copy.values()}
    read: set[Label] = set()
    for number, copy in enumerate(copies):
        for label, instruction in copy.items():
            outside = any(owner.get(user) != number for user, _ in around.users.get(instruction, []))
            if outside or instruction is around.root:
                read.add(label)
    return sorted(read, key=lambda label: around.order[copies[0][label]])
