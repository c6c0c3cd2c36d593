"""Python functions that were traced several times: the copies of their instructions in one computation.

JAX inlines every call of a plain Python function. The stack tables still say which call an instruction comes from; the
instructions of two calls are copies if they agree in everything but their inputs. A call in a Python loop has the same
frames in every iteration: there copies are distinguished by their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...dataclass import dataclass
from ...hlo.ir import Computation, Instruction, callees_first
from ...hlo.opcodes import OPCODES
from ...hlo.shapes import ArrayShape
from ...hlo.stack_frames import CallChains

Label = tuple[
    Any, ...
]  # equal for corresponding instructions of all copies: number of a place, number of the instruction
Copy = dict[Label, Instruction]
_Traced = tuple[str, str, bool]  # the file and the name of a function, and whether this is its gradient
_Inside = tuple[list[tuple[Label, Instruction]], list[Instruction]]  # of a call: those that compute, and the structure

# Instructions that cannot be moved, or are not characteristic by themselves.
_STAYING = frozenset(("parameter", "domain", "after-all", "add-dependency", "rng", "rng-get-and-update-state"))
_LEAVES = frozenset(("constant", "iota"))
STRUCTURE = _LEAVES | frozenset(("broadcast", "reshape", "transpose", "bitcast", "tuple", "get-tuple-element"))
_AROUND_CONVOLUTIONS = frozenset(("reshape", "transpose"))
_RUNNING = frozenset(("call", "while"))  # their computations count where they stand
_REPEATED = frozenset(("broadcast", "reshape", "convert"))  # on a constant, as cheap as the constant


@dataclass(frozen=True, slots=True)
class Activations:
    """One Python function: its name, and the instructions of its calls.

    ``is_gradient``: whether they are of its gradient. ``structure`` are broadcasts, reshapes and the like from inside
    the calls: they belong to the copy that uses them.
    """

    function_name: str
    is_gradient: bool
    copies: list[Copy]
    callers: list[int]  # the frame that contains each call
    structure: frozenset[Instruction]

    @property
    def identity(self) -> tuple[object, ...]:
        """A key that stays equal for the same copies when other parts of the computation are rewritten."""
        names = frozenset(frozenset(instruction.name for instruction in copy.values()) for copy in self.copies)
        return self.function_name, self.is_gradient, names


def work(instructions: Iterable[Instruction]) -> int:
    """The number of instructions that compute something, including those of called computations.

    A convolution is written as a call of several lines, and each reshape or transpose around it as one more: these
    count, too.
    """
    opcodes = _opcodes(instructions)
    uncounted = STRUCTURE - _AROUND_CONVOLUTIONS if opcodes["convolution"] else STRUCTURE
    return sum(count for opcode, count in opcodes.items() if opcode not in uncounted)


def _opcodes(instructions: Iterable[Instruction]) -> Counter[str]:
    """How often each opcode stands; calls and loops count as the instructions of their computations."""
    given = list(instructions)
    of_computations: dict[Computation, Counter[str]] = {}
    for computation in callees_first(*_called_by(given), called=lambda each: _called_by(each.instructions)):
        inner = [i for i in computation.instructions if i.opcode != "parameter"]
        of_computations[computation] = _counted(inner, of_computations)
    return _counted(given, of_computations)


def _called_by(instructions: Iterable[Instruction]) -> list[Computation]:
    return [each for instruction in instructions if instruction.opcode in _RUNNING for each in instruction.called]


def _counted(instructions: list[Instruction], of_computations: Mapping[Computation, Counter[str]]) -> Counter[str]:
    found = Counter(instruction.opcode for instruction in instructions if instruction.opcode != "call")
    for computation in _called_by(instructions):
        found += of_computations[computation]
    return found


def is_movable(instruction: Instruction) -> bool:
    """Whether an instruction can be moved into a function, with everything that it calls: static sizes, no side effect,
    no communication with other replicas.
    """
    inner = (i for computation in callees_first(*instruction.called) for i in computation.instructions)
    return _is_movable_alone(instruction) and all(_is_movable_alone(i) for i in inner if i.opcode != "parameter")


def _is_movable_alone(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    if opcode in _STAYING or opcode.startswith("async") or OPCODES[opcode].topic == "communication":
        return False
    if any(isinstance(shape, ArrayShape) and shape.is_dynamic for shape in instruction.element_shapes):
        return False
    return not instruction.attributes.get("custom_call_has_side_effect")


class Numbers:
    """Numbers in place of values that are expensive to compare: equal values get equal numbers."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._of_attributes: dict[int, tuple[Mapping[str, Any], int]] = {}
        self._kinds: dict[tuple[int, ...], tuple[Instruction, int | None, bool]] = {}

    def kind(self, instruction: Instruction) -> tuple[int | None, bool]:
        """The number of an instruction's operation and traced name, None if it cannot be moved; and whether it belongs
        to a gradient.
        """
        key = id(instruction.shape), id(instruction.attributes), id(instruction.metadata)
        known = self._kinds.get(key)
        if known is None or known[0].opcode != instruction.opcode:
            op_name = instruction.metadata.op_name if instruction.metadata is not None else ""
            says = instruction.opcode, instruction.shape, op_name.rsplit("/", 1)[-1]
            number = self.of(says) if is_movable(instruction) else None
            known = self._kinds[key] = (
                instruction,
                number,
                "transpose(" in op_name,
            )  # kept alive, so that its ids stay unique
        return known[1:]

    def of(self, value: Any) -> int:
        """The number of a hashable value."""
        return self._numbers.setdefault(value, len(self._numbers))

    def of_attributes(self, instruction: Instruction) -> int:
        """The number of the value of an instruction's attributes."""
        attributes = instruction.attributes
        known = self._of_attributes.get(id(attributes))
        if known is None:  # the mapping is kept alive, so that its id stays unique
            known = self._of_attributes[id(attributes)] = attributes, self.of(described(attributes))
        return known[1]


class Constants:
    """Cheap instructions that depend on no inputs; equal ones have equal keys."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers
        self._keys: dict[Instruction, Any] = {}

    def key(self, instruction: Instruction) -> Any:
        """A hashable description, or None if the instruction is not a cheap constant."""
        if instruction not in self._keys:
            self._keys[instruction] = self._described(instruction)
        return self._keys[instruction]

    def are_one(self, column: tuple[Instruction, ...]) -> bool:
        """Whether all are the same constant."""
        keys = {self.key(instruction) for instruction in column}
        return len(keys) == 1 and None not in keys

    def _described(self, instruction: Instruction) -> Any:
        shape = instruction.shape
        if instruction.opcode == "constant" and instruction.array_shape.size != 1:
            return None
        if instruction.opcode in _LEAVES:
            return instruction.opcode, shape, self._numbers.of_attributes(instruction)
        if instruction.opcode in _REPEATED:
            inner = self.key(instruction.operands[0])
            return (
                None if inner is None else (instruction.opcode, shape, self._numbers.of_attributes(instruction), inner)
            )
        return None


def described(value: Any) -> Any:
    """A comparable form of an attribute's value; computations are described by their instructions."""
    if isinstance(value, Mapping):
        return tuple((key, described(item)) for key, item in sorted(value.items()))
    if isinstance(value, tuple | list):
        return tuple(map(described, value))
    if isinstance(value, np.ndarray):
        return value.dtype.name, value.shape, value.tobytes()
    if isinstance(value, Computation):
        places = {instruction: k for k, instruction in enumerate(value.instructions)}
        rows = [
            (i.opcode, i.shape, tuple(places[o] for o in i.operands), described(i.attributes))
            for i in value.instructions
        ]
        return tuple(rows), places[value.root]
    return repr(value)


def activations(instructions: Sequence[Instruction], chains: CallChains, numbers: Numbers) -> Iterator[Activations]:
    """The functions that were called where instructions stand, if theirs occur more than once, in matching copies."""
    places = {instruction: k for k, instruction in enumerate(instructions)}
    for (_, name, is_gradient), calls in _by_function(instructions, chains, numbers).items():
        structure = frozenset(instruction for _, given in calls.values() for instruction in given)
        known: set[frozenset[Instruction]] = set()  # copies that were yielded
        for copies in _splits([labelled for labelled, _ in calls.values()], places):
            alike: dict[Any, list[tuple[Copy, int]]] = {}
            for caller, each in zip(calls, copies, strict=True):
                for copy in filter(_may_save, each):
                    signature = frozenset((label, numbers.of_attributes(i)) for label, i in copy.items())
                    alike.setdefault(signature, []).append((copy, caller))
            for group in alike.values():
                inside = {frozenset(copy.values()) for copy, _ in group} if len(group) > 1 else set()
                if not known.issuperset(inside):
                    known |= inside
                    yield Activations(name, is_gradient, [c for c, _ in group], [c for _, c in group], structure)


def _may_save(copy: Copy) -> bool:
    """Whether a function may be worth its name: a single operation is not, unless it is a convolution."""
    return len(copy) > 1 or "convolution" in _opcodes(copy.values())


def _by_function(
    instructions: Sequence[Instruction], chains: CallChains, numbers: Numbers
) -> dict[_Traced, dict[int, _Inside]]:
    """The functions that were traced: for each, the instructions inside the call, by the caller's frame."""
    found: dict[_Traced, dict[int, _Inside]] = {}
    calls_of: dict[tuple[tuple[int, ...], bool], list[tuple[_Inside, int]]] = {}
    for instruction in _by_depth(instructions):
        kind, is_gradient = numbers.kind(instruction)
        if kind is None:
            continue
        chain = chains.of(instruction)
        if instruction.opcode == "while" and chain:
            chain = chains.once(chain[-1])
        calls = calls_of.get((chain, is_gradient))
        if calls is None:
            calls = calls_of[chain, is_gradient] = [
                (found.setdefault(function, {}).setdefault(caller, ([], [])), inner)
                for function, caller, inner in _calls(chain, is_gradient, chains, numbers)
            ]
        is_structure = instruction.opcode in STRUCTURE
        if is_gradient and instruction.opcode == "multiply":  # the gradients of both factors come from one place
            kind = numbers.of((kind, *(numbers.kind(operand)[1] for operand in instruction.operands)))
        for (labelled, structure), inner in calls:
            if is_structure:
                structure.append(instruction)
            else:
                labelled.append(((inner, kind), instruction))
    return found


def _calls(
    chain: tuple[int, ...], is_gradient: bool, chains: CallChains, numbers: Numbers
) -> Iterator[tuple[_Traced, int, int]]:
    """The functions that a chain of frames passes through, each at its outermost call: the caller's frame, and the
    number that identifies the source locations inside the call.
    """
    seen: set[_Traced] = set()
    for k in range(1, len(chain)):
        frame = chains.frames[chain[k] - 1]
        function = (frame.file_name, frame.function_name, is_gradient)
        if function not in seen:
            seen.add(function)
            frames = (chains.frames[n - 1] for n in chain[k:])
            inner = numbers.of(tuple((f.file_name, f.function_name, f.line, f.column) for f in frames))
            yield function, chain[k - 1], inner


def _by_depth(instructions: Sequence[Instruction]) -> list[Instruction]:
    """The instructions ordered by the longest path from a parameter: one copy's results come before the next copy,
    whatever the order of the text.
    """
    depth: dict[Instruction, int] = {}
    for instruction in instructions:
        deepest = 0
        for operand in instruction.operands:
            if depth[operand] > deepest:
                deepest = depth[operand]
        depth[instruction] = deepest + 1
    return sorted(instructions, key=depth.__getitem__)


_Labelled = list[tuple[Label, Instruction]]


def _splits(calls: Sequence[_Labelled], places: Mapping[Instruction, int]) -> Iterator[list[list[Copy]]]:
    """Yield the copies of each call site: in the order of depth, in that of the text, with what only some have.

    Where a copy has several instructions of one label, such as ``-0.5 * k * u``, of which the first depends on no
    other copy, the text tells them apart. What only some copies have is an operation along another axis.
    """
    first = list(map(_split, calls))
    yield first
    if all(len(copies) == 1 for copies in first):
        return
    orders = [(calls, first)]
    if any(label[-1] for copies in first for label in copies[0]):
        by_text = [sorted(labelled, key=lambda each: places[each[1]]) for labelled in calls]
        orders.append((by_text, list(map(_split, by_text))))
        yield orders[-1][1]
    if any(len(labelled) > sum(map(len, copies)) for labelled, copies in zip(calls, first, strict=True)):
        yield from (list(map(_with_rest, split, labelled)) for labelled, split in orders)


def _split(labelled: _Labelled) -> list[Copy]:
    """The copies that one call site produced: their number is the most common count of a label."""
    counts = Counter([label for label, _ in labelled])
    if not counts:
        return [{}]
    repeats = Counter(counts.values()).most_common(1)[0][0]
    copies: list[Copy] = [{} for _ in range(repeats)]
    seen = dict.fromkeys(counts, 0)
    for label, instruction in labelled:
        in_each, left = divmod(counts[label], repeats)
        if not left:
            copy, number = divmod(seen[label], in_each)
            copies[copy][(*label, number)] = instruction
            seen[label] += 1
    return copies


def _with_rest(copies: list[Copy], labelled: _Labelled) -> list[Copy]:
    """The copies, each with the other instructions whose operands and users belong to it alone."""
    owners = {instruction: k for k, copy in enumerate(copies) for instruction in copy.values()}
    rest = [(label, instruction) for label, instruction in labelled if instruction not in owners]
    beside = _neighbours([instruction for _, instruction in labelled]) if rest else {}
    found = [dict(copy) for copy in copies]
    is_new = bool(beside)
    while is_new:
        is_new = False
        for label, instruction in rest:
            around = {owners[each] for each in beside[instruction] if each in owners}
            if instruction not in owners and len(around) == 1:
                (owners[instruction],) = around
                copy = found[owners[instruction]]
                number = sum(each[: len(label)] == label for each in copy)
                copy[(*label, number)] = instruction
                is_new = True
    return found


def _neighbours(instructions: Sequence[Instruction]) -> dict[Instruction, set[Instruction]]:
    """The operands and users of each of the instructions among them, also through broadcasts and the like."""
    beside: dict[Instruction, set[Instruction]] = {instruction: set() for instruction in instructions}
    for user in instructions:
        waiting = list(user.operands)
        while waiting:
            operand = waiting.pop()
            if operand in beside:
                beside[user].add(operand)
                beside[operand].add(user)
            elif operand.opcode in STRUCTURE:
                waiting.extend(operand.operands)
    return beside
