"""The outline of a function that was traced several times: the instructions that its copies have in common."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from ...hlo.ir import Computation, Instruction
from .copies import Outline, Rows, connected, saving
from .traced_calls import STRUCTURE, Activations, Constants, Label, Numbers, work

_LEAST_WORK = 5  # operations of a function worth its name
_MOST_VALUES = 24  # inputs and outputs
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class Readers:
    """The users of the instructions of computations, and the instructions' positions."""

    def __init__(self, computations: Iterable[Computation]) -> None:
        self.roots: set[Instruction] = set()
        self.order: dict[Instruction, int] = {}
        for computation in computations:
            self.roots.add(computation.root)
            self.order.update((each, k) for k, each in enumerate(computation.instructions, len(self.order)))
        self.users: dict[Instruction, list[tuple[Instruction, int]]] = {}  # with the index of the operand
        for instruction in self.order:
            for k, operand in enumerate(instruction.operands):
                self.users.setdefault(operand, []).append((instruction, k))

    def readers(self, instruction: Instruction) -> list[Instruction | None]:
        """The users of an instruction, with None for the caller of the computation."""
        users: list[Instruction | None] = [user for user, _ in self.users.get(instruction, ())]
        return [*users, None] if instruction in self.roots else users


def most_saved(found: Activations) -> int:
    """An upper bound of what an outline of copies saves: all their operations are kept, and a call lists one value."""
    first = found.copies[0].values()
    return _saved(len(found.copies), work([*first, *found.structure]), 1)


def saved(outline: Outline[Instruction]) -> int:
    """The saving of an outline; 0 if calls would list too many values, or none of its results is read."""
    each = work(row[0] for row in outline.rows)
    return _saved(outline.count, each, outline.values) if outline.values <= _MOST_VALUES and outline.outputs else 0


def _saved(copies: int, each: int, values: int) -> int:
    return saving(copies, each, values) if each >= _LEAST_WORK else 0


def common_body(
    around: Readers, found: Activations, constants: Constants, numbers: Numbers
) -> Outline[Instruction] | None:
    """The largest common body of the copies; None if their function has no name, or each copy is several calls."""
    if not _IDENTIFIER.fullmatch(short(found.function_name)):
        return None
    _absorb(around, found, numbers)
    first = found.copies[0]
    labels = sorted(first, key=lambda label: around.order[first[label]])
    rows = Rows(tuple(copy[label] for copy in found.copies) for label in labels)
    while differing := rows.differing():
        rows.drop(differing)
    places = {instruction: label[0] for label, instruction in first.items()}
    if _are_several_calls([row[0] for row in rows.rows], places):
        return None
    return rows.outline(constants.are_one, around.readers)


def _are_several_calls(copy: Iterable[Instruction], places: Mapping[Instruction, int]) -> bool:
    """Whether independent components of a copy come from the same places: a map over a tree calls its function for
    arrays of several shapes, equally often for each shape.
    """
    parts = connected(copy, lambda instruction: instruction.operands)
    counts = Counter(frozenset(places[each] for each in part if work([each])) for part in parts)
    del counts[frozenset()]  # components that compute nothing
    return bool(counts) and min(counts.values()) > 1


def short(function_name: str) -> str:
    """The last part of a qualified name: ``attempt`` for ``solve.<locals>.attempt``."""
    return function_name.rsplit(".", 1)[-1]


def _absorb(around: Readers, found: Activations, numbers: Numbers) -> None:
    """Add broadcasts, reshapes and the like that only one copy uses to that copy, under a label derived from their
    user's.

    Those from outside the function that only transform inputs, such as ``b[0]``, stay outside.
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
        return instruction not in owner and instruction.opcode in STRUCTURE and instruction not in around.roots

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
        for label in common & absorbed  # the others are alike by construction of their labels and groups
        if len({(copy[label].opcode, copy[label].shape, numbers.of_attributes(copy[label])) for copy in copies}) > 1
    }
    for copy in copies:
        for label in set(copy) - common | differing:
            del copy[label]


class _Queue:
    """Instructions in the order of a key, each once; more may be added after the current one during iteration."""

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
