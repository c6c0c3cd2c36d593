"""Associative scans: raises the HLO of ``jax.lax.associative_scan`` to a call.

The HLO combines neighbours, scans the pairs, combines their results with the elements in between, and interleaves both:
a ladder of slices and pads, half as long at each level. It is recognised from its last level down. The combination of
the pairs of one level is the pattern for all others. Only combinations of elements are recognised, since their text
fits any length. An array of one number is written as that number, which may be another one at each level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...array.graph import Graph
from ...array.node import Slot, Ufunc
from ...array.operations import RUNNING
from ...array.rewriting import prelude_call
from ...array.support import Support
from ...dataclass import dataclass
from ...hlo.attributes import PaddingDimension, Raw, SliceDimension, WindowDimension
from ...hlo.custom_calls.special_functions import ASSOCIATIVE_SCAN, LINEAR_RECURRENCE
from ...hlo.element_types import C64, C128, F32, F64
from ...hlo.ir import Computation, Instruction
from ...hlo.opcodes import ELEMENTWISE
from ...hlo.shapes import ArrayShape, TupleShape
from ...walks import reached
from ..constants.folding import fold
from ..outlining.traced_calls import described
from ..reductions.prefixes import LARGEST
from ..to_array.elementwise import accumulated_type
from ..to_array.reduction import identity
from .rewriting import Calls, gone

_MOST = 100  # operations of a combination
LEFT, RIGHT = "left", "right"
Key = tuple[str, bytes]  # a number: its type and its bits
Numbers = Mapping[Key, Instruction]  # for a number of one level, its counterpart in the next
_OPCODES = ("multiply", "add")
_TYPES = (F32, F64, C64, C128)


class Place(NamedTuple):
    """An instruction, and the arguments of the parameters of the computations around it."""

    instruction: Instruction
    given: Mapping[Instruction, Place]


_OUTSIDE: Mapping[Instruction, Place] = {}


@dataclass(slots=True)
class Level:
    """The arrays of one level, all of one length: their scans, the pairs of neighbours, and the scans of these
    (``odd``).
    """

    length: int
    axis: int
    scans: dict[Instruction, Instruction]
    pairs: dict[Instruction, Instruction] = field(default_factory=dict)
    odd: dict[Instruction, Instruction] = field(default_factory=dict)
    numbers: dict[tuple[str, bytes], Instruction] = field(default_factory=dict)  # those of the next level

    def side(self, instruction: Instruction) -> tuple[str, Instruction] | None:
        """Return the side of the neighbours that an instruction slices, and their array; or None."""
        for side, start, limit in ((LEFT, 0, self.length - 1), (RIGHT, 1, self.length)):
            source = sliced(instruction, self.axis, SliceDimension(start, limit, 2))
            if source is not None and source.array_shape.dimensions[self.axis] == self.length:
                return side, source
        return None


@dataclass(frozen=True, slots=True)
class Scan:
    """A scan of several arrays along an axis, its used results, and the scans ``inside`` of it."""

    arrays: tuple[Instruction, ...]
    results: dict[Instruction, int]
    inside: frozenset[Instruction]
    combine: Computation
    axis: int

    def running(self) -> Calls:
        """Return the reduce-window that replaces the only result, if a library has a cumulative function for it."""
        root = self.combine.root
        if not _has_library_function((root,), self.combine.parameters):
            return {}
        ((result, _),), (array,) = self.results.items(), self.arrays
        element_type, size = array.array_shape.element_type, array.array_shape.dimensions[self.axis]
        first = identity(root.opcode, element_type)
        if first is None or accumulated_type(element_type) is not element_type:
            return {}
        number = Instruction("none", "constant", ArrayShape(element_type, ()), attributes={"literal": first})
        along = WindowDimension(size, padding_low=size - 1)
        window = tuple(along if k == self.axis else WindowDimension(1) for k in range(array.array_shape.rank))
        attributes = {"window": window, "to_apply": self.combine}
        return {result: result.replace(opcode="reduce-window", operands=(array, number), attributes=attributes)}

    def calls(self) -> Calls:
        """Return the replacements of the results: elements of one call."""
        shapes = TupleShape(tuple(array.shape for array in self.arrays))
        attributes = {
            "custom_call_target": ASSOCIATIVE_SCAN,
            "to_apply": self.combine,
            "backend_config": Raw(str(self.axis)),
        }
        call = Instruction("associative_scan", "custom-call", shapes, self.arrays, attributes)
        return {
            result: result.replace(opcode="get-tuple-element", operands=(call,), attributes={"index": k})
            for result, k in self.results.items()
        }

    def recurrence(self, supports: Support) -> Calls:
        """Return the call that replaces the only result if the scan is a linear recurrence."""
        if len(self.results) != 1:
            return {}
        ((result, k),) = self.results.items()
        call = recurrence_call(result, k, self.arrays, self.combine, self.axis, supports)
        return {} if call is None else {result: call}


def scan_calls(computation: Computation, supports: Support, *, of_elements: bool = True) -> Calls:
    """Return the calls that replace the results of a computation's scans, if the target supports them.

    A scan with other users of its inner values, such as gradients, stays. Without ``of_elements``, scans by a function
    of elements stay too.
    """
    found: Calls = {}
    for scan in associative_scans(computation):
        calls = scan.running() or scan.recurrence(supports)
        if not calls and of_elements and _is_supported(scan, supports):
            calls = scan.calls()
        if calls and scan.inside <= gone(computation, calls).keys():
            found |= calls
    return found


def associative_scans(computation: Computation) -> Iterator[Scan]:
    """Yield the scans in a computation."""
    found = {each: halves for each in computation.instructions if (halves := interleaved(each)) is not None}
    place = {each: (1, k) for k, each in enumerate(computation.instructions)} if found else {}
    place.update((each, (0, k)) for k, each in enumerate(computation.parameters))
    inner = {halves.odd for halves in found.values()}
    alone = {each: _levels({halves.first: each}, halves.axis) for each, halves in found.items() if each not in inner}
    waiting = sorted((each for each in alone if alone[each]), key=lambda each: len(alone[each][0].pairs))
    while waiting:
        result = waiting.pop()
        levels, halves = alone[result], found[result]
        beside = {
            found[each].first: each
            for each in waiting
            if found[each].first in levels[0].pairs and found[each].axis == halves.axis
        }
        together = _levels(beside | {halves.first: result}, halves.axis) if beside else []
        levels = together if together and not _depend(together[0].pairs, together[0].scans.values()) else levels
        waiting = [each for each in waiting if each not in levels[0].scans.values()]
        combined = _combination(levels, place)
        if combined is not None:
            yield combined


def _depend(arrays: Iterable[Instruction], others: Iterable[Instruction]) -> bool:
    """Return whether any array depends on any of the others."""
    sought = set(others)
    return any(each in sought for each in reached(arrays, lambda instruction: instruction.operands))


def _levels(scans: dict[Instruction, Instruction], axis: int) -> list[Level]:
    """Return the levels of the scans of some arrays; none if they are not scans."""
    levels: list[Level] = []
    length = next(iter(scans)).array_shape.dimensions[axis]
    while length >= 2:
        level = Level(length, axis, scans)
        if not _are_scans(level):
            return []
        levels.append(level)
        length //= 2
        scans = {level.pairs[source]: odd for source, odd in level.odd.items()}
    return levels if len(levels) > 1 and _are_alike(levels) else []


def _are_scans(level: Level) -> bool:
    """Return whether all scans of a level consist of the scans of its pairs, and record these."""
    evens: list[tuple[Instruction, Instruction]] = []  # the pairs of an array, and its elements at even places
    for source, scan in level.scans.items():
        halves = interleaved(scan)
        if halves is None or halves.axis != level.axis or halves.first is not source:
            return False
        if not _note(level, source, halves.odd) or (halves.even is None) != (level.length == 2):
            return False
        if halves.even is not None:
            evens.append((level.pairs[source], halves.even))
    binds = _binds_even(level)
    return all(_matches(_outside(pairs), _outside(even), level, binds) for pairs, even in evens)


def _note(level: Level, source: Instruction, odd: Instruction) -> bool:
    """Record the scan of the pairs of an array; return whether it agrees with earlier ones."""
    halves = interleaved(odd) if level.length > 3 else None
    if level.length > 3 and halves is None:
        return False
    pairs = odd if halves is None else halves.first
    return level.odd.setdefault(source, odd) is odd and level.pairs.setdefault(source, pairs) is pairs


def _is_supported(scan: Scan, supports: Support) -> bool:
    """Return whether the target has a function for a scan."""
    graph = Graph()
    shapes = [array.array_shape for array in scan.arrays]
    given = tuple(graph.parameter(each.dimensions, each.element_type, graph.root) for each in shapes)
    slots = tuple(Slot(k) for k in range(len(given)))
    arguments = (slots, Ufunc("add"))  # support does not depend on the combination
    keywords = {"axis": scan.axis}
    return supports(prelude_call(graph, "associative_scan", given, arguments, keywords))


_Binds = Callable[[str, Instruction, Place], bool]  # a side, its array, and the place that must correspond


def _binds_even(level: Level) -> _Binds:
    """Return the binding of elements at even positions: the left side is the scan of the pairs before each, the right
    one the array itself.
    """

    def binds(side: str, source: Instruction, place: Place) -> bool:
        instruction = place.instruction
        if side == RIGHT:
            return sliced(instruction, level.axis, SliceDimension(2, level.length, 2)) is source
        if level.length % 2 == 0:
            before = sliced(instruction, level.axis, SliceDimension(0, (level.length - 1) // 2))
            return before is not None and _note(level, source, before)
        return _note(level, source, instruction)

    return binds


def _are_alike(levels: list[Level]) -> bool:
    """Return whether the pairs of all levels are combined alike, and record those of arrays that are used but not
    scanned.
    """
    while True:
        count = sum(len(level.pairs) for level in levels)
        for level, inner in pairwise(levels):
            for pairs in list(level.pairs.values()):
                pattern, further = _outside(pairs), inner.pairs.get(pairs)
                binds = _binds_pairs(level, inner)
                if further and not _matches(pattern, _outside(further), level, binds, level.numbers):
                    return False
        if sum(len(level.pairs) for level in levels) == count:
            return True


def _binds_pairs(level: Level, inner: Level) -> _Binds:
    """Return the binding of neighbours among the pairs to the neighbours of the arrays."""

    def binds(side: str, source: Instruction, place: Place) -> bool:
        found = inner.side(place.instruction)
        return found is not None and found[0] == side and level.pairs.setdefault(source, found[1]) is found[1]

    return binds


def _matches(
    pattern: Place,
    place: Place,
    level: Level,
    binds: _Binds,
    numbers: dict[tuple[str, bytes], Instruction] | None = None,
) -> bool:
    """Return whether a place computes the same as the pattern, with the neighbours of a level bound by ``binds``.

    If ``numbers`` are given, a number may correspond to another one, always the same, which is recorded there.
    """
    waiting = [(pattern, place)]
    seen: set[tuple[Instruction, Instruction]] = set()
    for _ in range(_MOST):
        if not waiting:
            return True
        pattern, place = (_resolved(each) for each in waiting.pop())
        pair = pattern.instruction, place.instruction
        if pair in seen:
            continue
        if pattern.given is place.given is _OUTSIDE:
            seen.add(pair)
        side = level.side(pattern.instruction)
        if side is not None:
            if not binds(*side, place):
                return False
            continue
        if numbers is not None and is_number(pattern.instruction) and is_number(place.instruction):
            noted = numbers.setdefault(key_of(pattern.instruction), place.instruction)
            if key_of(noted) != key_of(place.instruction):
                return False
            continue
        if not _is_alike(pattern.instruction, place.instruction):
            return False
        operands = zip(pattern.instruction.operands, place.instruction.operands, strict=True)
        waiting += [(Place(a, pattern.given), Place(b, place.given)) for a, b in operands]
    return False


def _is_alike(a: Instruction, b: Instruction) -> bool:
    """Return whether two instructions do the same to elements."""
    if a.opcode != b.opcode or not (a.opcode in ELEMENTWISE or is_number(a)):
        return False
    if a.array_shape.element_type is not b.array_shape.element_type:
        return False
    return a.attributes is b.attributes or described(_of_element(a)) == described(_of_element(b))


def _of_element(instruction: Instruction) -> Mapping[str, Any]:
    """Return the attributes of an instruction for one element."""
    attributes = instruction.attributes
    return {"literal": attributes["literal"].reshape(())} if is_number(instruction) else attributes


def _outside(instruction: Instruction) -> Place:
    """Return the place of an instruction outside of called functions."""
    return Place(instruction, _OUTSIDE)


def _resolved(place: Place) -> Place:
    """Return the place that computes an element, inside called functions and behind broadcasts of scalars."""
    instruction, given = place
    while True:
        if instruction in given:
            instruction, given = given[instruction]
        elif instruction.opcode == "call" and isinstance(instruction.shape, ArrayShape):
            callee: Computation = instruction["to_apply"]
            operands = [Place(operand, given) for operand in instruction.operands]
            instruction, given = callee.root, dict(zip(callee.parameters, operands, strict=True))
        elif instruction.opcode == "broadcast" and instruction.operands[0].array_shape.is_scalar:
            (instruction,) = instruction.operands
        else:
            return Place(instruction, given)


# -- the combination


def _combination(levels: Sequence[Level], place: Mapping[Instruction, tuple[int, int]]) -> Scan | None:
    """Return the scan of the outermost level's arrays, in order, after arrays of one number; None if the combination is
    unknown, or a library has a function for it.
    """
    level = levels[0]
    read = sorted(level.pairs, key=place.__getitem__)
    growing = growing_numbers([level.numbers for level in levels], read[0].array_shape.dimensions)
    if growing is None:
        return None
    filled = {key: number.array() for key, number in growing.items()}
    arrays = [*filled.values(), *read]
    values: dict[tuple[str, Instruction], Instruction] = {}
    for side in (LEFT, RIGHT):
        for array in arrays:
            shape = ArrayShape(array.array_shape.element_type, ())
            number = {"parameter_number": len(values)}
            name = f"{side}_{array.name.partition('.')[0]}" if array.opcode == "parameter" else side
            values[side, array] = Instruction(f"{name}.{len(values)}", "parameter", shape, attributes=number)
    parameters = list(values.values())
    instructions = list(parameters)
    made: dict[Instruction, Instruction] = {}

    def scalar(place: Place, depth: int = 0) -> Instruction:
        """Return the instruction for one element. Raises KeyError if it depends on anything but elements of the
        arrays.
        """
        instruction, given = _resolved(place)
        side = level.side(instruction)
        if side is not None:
            return values[side]
        if is_number(instruction) and key_of(instruction) in filled:
            return values[RIGHT, filled[key_of(instruction)]]
        if instruction in made and given is _OUTSIDE:
            return made[instruction]
        is_too_large = depth > _MOST or len(instructions) > _MOST
        if is_too_large or not (instruction.opcode in ELEMENTWISE or is_number(instruction)):
            raise KeyError(instruction)
        operands = tuple(scalar(Place(operand, given), depth + 1) for operand in instruction.operands)
        shape = ArrayShape(instruction.array_shape.element_type, ())
        name = f"{instruction.name}.{len(instructions)}"
        attributes = _of_element(instruction)
        made[instruction] = instruction.replace(name=name, shape=shape, operands=operands, attributes=attributes)
        instructions.append(made[instruction])
        return made[instruction]

    def grown(key: tuple[str, bytes], number: GrowingNumber) -> Instruction:
        """Return the combination of two elements of an array of one number."""
        both = values[LEFT, filled[key]], values[RIGHT, filled[key]]
        instructions.append(Instruction(f"{number.opcode}.{len(instructions)}", number.opcode, both[0].shape, both))
        return instructions[-1]

    try:
        states = [scalar(_outside(level.pairs[array])) for array in read]
    except KeyError:
        return None
    results = (*(grown(key, number) for key, number in growing.items()), *states)
    if _has_library_function(results, parameters) and level.length <= LARGEST:
        return None  # the pass prefixes finds it by its stretches
    root = results[0]
    if len(results) > 1:
        root = Instruction("results", "tuple", TupleShape(tuple(each.shape for each in results)), results)
        instructions.append(root)
    combine = Computation("combine", tuple(instructions), root)
    found = {scan: arrays.index(source) for source, scan in level.scans.items()}
    return Scan(tuple(arrays), found, frozenset(level.odd.values()), combine, level.axis)


def _has_library_function(results: Sequence[Instruction], parameters: Sequence[Instruction]) -> bool:
    """Return whether the results are the cumulative sum, product, maximum or minimum of one array."""
    return len(results) == 1 and results[0].opcode in RUNNING and set(results[0].operands) == set(parameters)


# -- arrays of one number


class GrowingNumber(NamedTuple):
    """A number that changes from level to level, the opcode that combines two of it, and the shape of its array."""

    number: Instruction
    opcode: str
    dimensions: tuple[int, ...]

    def array(self) -> Instruction:
        """Return the array of the number in the outermost level."""
        element_type = self.number.array_shape.element_type
        literal = {"literal": self.number["literal"].reshape(())}
        number = Instruction("number", "constant", ArrayShape(element_type, ()), attributes=literal)
        shape = ArrayShape(element_type, self.dimensions)
        return Instruction("filled", "broadcast", shape, (number,), {"dimensions": ()})


def key_of(number: Instruction) -> Key:
    """Return the type and the bits of a number."""
    return str(number.array_shape.element_type), number["literal"].tobytes()


def growing_numbers(levels: Sequence[Numbers], dimensions: tuple[int, ...]) -> dict[Key, GrowingNumber] | None:
    """Return the numbers of the outermost level that change in later levels; None if one follows no rule."""
    found: dict[Key, GrowingNumber] = {}
    for key in levels[0]:
        chain = list(_chain(levels, key))
        if all(key_of(number) == key for number in chain):
            continue
        opcode = next((opcode for opcode in _OPCODES if _follows(chain, key, opcode)), None)
        if opcode is None:
            return None
        first = chain[0]
        number = first.replace(attributes={"literal": _array(first, key)})
        found[key] = GrowingNumber(number, opcode, dimensions)
    return found


def _array(number: Instruction, key: Key) -> np.ndarray:
    return np.frombuffer(key[1], number.array_shape.element_type.dtype).reshape(())


def _chain(levels: Sequence[Numbers], key: Key) -> list[Instruction]:
    """Return the counterparts of a number of the outermost level in the next levels."""
    chain: list[Instruction] = []
    for numbers in levels:
        if key not in numbers:
            break
        chain.append(numbers[key])
        key = key_of(chain[-1])
    return chain


def _follows(chain: Sequence[Instruction], key: Key, opcode: str) -> bool:
    """Return whether each number is the previous one combined with itself."""
    for number in chain:
        last, element_type = _array(number, key), number.array_shape.element_type
        wanted = fold(opcode, [last, last], element_type, {})
        if wanted is None or wanted.tobytes() != key_of(number)[1]:
            return False
        key = key_of(number)
    return True


# -- one level: interleaved halves


class Halves(NamedTuple):
    """The parts of an interleaved array: its first element, the even positions after it, and the odd positions."""

    first: Instruction
    even: Instruction | None
    odd: Instruction
    axis: int


def interleaved(instruction: Instruction) -> Halves | None:
    """Return the halves that ``add``, or ``or`` for booleans, interleaves: each has gaps where the other has elements.
    Or None.
    """
    if instruction.opcode not in ("add", "or") or any(each.opcode != "pad" for each in instruction.operands):
        return None
    even, odd = instruction.operands
    if any(not _is_zero(each.operands[1]) for each in (even, odd)):
        return None
    gaps = [axis for axis, padding in enumerate(even["padding"]) if padding.interior]
    if len(gaps) != 1:
        return None
    (axis,) = gaps
    difference = even.operands[0].array_shape.dimensions[axis] - odd.operands[0].array_shape.dimensions[axis]
    if difference not in (0, 1):
        return None
    for half, own in ((even, (0, 1 - difference, 1)), (odd, (1, difference, 1))):
        wanted = [PaddingDimension(*own) if k == axis else PaddingDimension(0, 0) for k in range(len(half["padding"]))]
        if list(half["padding"]) != wanted:
            return None
    joined, rest = even.operands[0], None
    if joined.opcode == "concatenate" and len(joined.operands) == 2 and joined["dimensions"] == (axis,):
        joined, rest = joined.operands
    first = sliced(joined, axis, SliceDimension(0, 1))
    return None if first is None or first.shape != instruction.shape else Halves(first, rest, odd.operands[0], axis)


def _is_zero(instruction: Instruction) -> bool:
    while instruction.opcode == "convert":
        (instruction,) = instruction.operands
    return is_number(instruction) and not instruction["literal"].any()


def sliced(instruction: Instruction, axis: int, part: SliceDimension) -> Instruction | None:
    """Return the array that an instruction slices along one axis only, or None."""
    if instruction.opcode != "slice" or instruction["slice"][axis] != part:
        return None
    (source,) = instruction.operands
    wanted = [SliceDimension(0, size) for size in source.array_shape.dimensions]
    wanted[axis] = part
    return source if list(instruction["slice"]) == wanted else None


def is_number(instruction: Instruction) -> bool:
    """Return whether an instruction is a constant of one element, which JAX does not broadcast."""
    return instruction.opcode == "constant" and instruction.array_shape.size == 1


# -- linear recurrences of which only the states are used


def recurrence_call(
    result: Instruction, wanted: int, arrays: Sequence[Instruction], combine: Computation, axis: int, supports: Support
) -> Instruction | None:
    """Return the call that replaces result ``wanted`` of a scan of two arrays, if that is a linear recurrence and the
    target has a function for it.
    """
    if not supports.features.has_linear_recurrences or len(arrays) != 2 or not _is_linear(combine, wanted):
        return None
    factors, terms = arrays[1 - wanted], arrays[wanted]
    types = {factors.array_shape.element_type, terms.array_shape.element_type}
    if len(types) > 1 or types.isdisjoint(_TYPES) or factors.array_shape.dimensions != terms.array_shape.dimensions:
        return None
    attributes = {"custom_call_target": LINEAR_RECURRENCE, "backend_config": Raw(str(axis))}
    return result.replace(opcode="custom-call", operands=(factors, terms), attributes=attributes)


def _is_linear(combine: Computation, wanted: int) -> bool:
    """Return whether two elements (f, t) and (g, u) become (f g, g t + u), with the second as the wanted one."""
    parameters, results = combine.parameters, combine.root.operands
    if combine.root.opcode != "tuple" or len(results) != 2 or len(parameters) != 4:
        return False
    f, g = parameters[1 - wanted], parameters[3 - wanted]
    t, u = parameters[wanted], parameters[2 + wanted]
    state = results[wanted]
    products = [each for each in state.operands if _is(each, "multiply", g, t)]
    return _is(results[1 - wanted], "multiply", f, g) and bool(products) and _is(state, "add", products[0], u)


def _is(instruction: Instruction, opcode: str, a: Instruction, b: Instruction) -> bool:
    """Return whether an instruction combines two others, in either order."""
    return instruction.opcode == opcode and instruction.operands in ((a, b), (b, a))
