"""The sizes at which programs are read in addition to the witnesses: small ones, and much larger ones.

The instructions of a program tell, without emitting it, below which sizes its text must differ, how long an axis must
be for all numbers that its positions are compared with to lie within it, and which programs cannot have one text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ...frontends.witnesses import MOST, Assignment, Sizes
from ...hlo.ir import Computation, HloModule, Instruction
from ...hlo.shapes import ArrayShape, TupleShape

_CALLS = frozenset(("call", "conditional", "get-tuple-element", "tuple", "while"))
_VIEWS = frozenset(("broadcast", "reshape", "transpose"))
_SLICES = frozenset(("dynamic-slice", "slice"))
_WINDOWED = frozenset(("convolution", "reduce-window", "scatter", "select-and-scatter"))
_TWO = 2  # a size less this is the index of the element before the last
_FEW = 4  # elements: a slice that takes or leaves no more of an axis is taken to do so at all sizes
_ALONG: dict[str, Callable[[Instruction], Sequence[int]]] = {  # axes of the first operand, or else of the result
    "cholesky": lambda each: (-1,),
    "dot": lambda each: each["lhs_contracting_dims"],
    "fft": lambda each: range(-len(each["fft_length"]), 0),
    "iota": lambda each: (each["iota_dimension"],),
    "sort": lambda each: each["dimensions"],
    "transpose": lambda each: (0, 1) if each["dimensions"] == (1, 0) else (),  # a row becomes a column
}
# Rows of sizes that are tried until one works; none is below the bounds. 0 is missing, as JAX traces nothing but the
# shape of the result there. Programs at equal sizes often share values that others compute twice.
_LEAST = (
    (1,) * MOST,
    (2,) * MOST,
    (3, 4, 5, 6, 7, 8),
    (4, 5, 6, 7, 8, 9),
    (6,) * MOST,
    (5, 7, 6, 8, 9, 10),
    (7, 9, 8, 11, 10, 12),
)
_SO_MANY_STEPS = (3, 4, 5, 6, 7, 8)  # multiples of the steps, tried last: their quotients may equal other sizes
# Much larger sizes show which decisions depend on the magnitude of a size; the second row is for programs whose arrays
# would have too many elements at the first. These sizes are even, as the first witnesses are odd, and lie farther
# apart, so no difference recurs. A table of so many rows and columns either exceeds any memory or is small.
_FAR = ((499_974, 498_948, 497_912, 496_894, 495_868, 494_838), (4_098, 4_206, 4_322, 4_444, 4_564, 4_686))
_LARGEST = 2**29  # elements: the sizes tried are more than twice as many, which still fit 32-bit positions
_NUMBERS = 2**30  # larger numbers are sentinels for "no position"
_MEET = frozenset(
    ("add", "call", "clamp", "compare", "divide", "maximum", "minimum", "multiply", "remainder", "subtract")
)
_HANDED = frozenset(("get-tuple-element", "parameter"))  # may be counters or positions from a loop or a caller
_AS_IT_IS = frozenset(("broadcast", "convert", "copy", "reshape"))
_FOLLOWS = (_MEET - {"compare"}) | _AS_IT_IS | frozenset(("abs", "ceil", "floor", "negate", "slice", "transpose"))
_NO_OPS = frozenset(("broadcast", "reshape", "slice", "transpose"))  # no-ops at some sizes, and left out there


def least_sizes(modules: Sequence[HloModule], sizes: Sizes) -> dict[str, int]:
    """Return a lower bound of each size, from a program at one or several sizes.

    The bound is 1 for sizes along which no operation combines elements. If there are none, and no number of the program
    follows from sizes, it is 1 for sizes along which elements are only reduced. It is 2 for the others. It is larger if
    an axis would be no longer than a slice of it, if a slice that leaves out a fixed number of elements would have
    fewer than two, or if a number that is a fixed amount less than a size would be 0. From a single program, only small
    numbers of elements and small differences are taken to be the same at all sizes.
    """
    together, added = set[int](), set[int]()
    for instruction in modules[0].instructions():
        (added if instruction.opcode == "reduce" else together).update(_together(instruction))
    first = {name: numbers[0] for name, numbers in sizes.items()}
    may_be_one = {name for name, number in first.items() if number not in together}
    apart = {name for name in may_be_one if first[name] not in added}
    if not apart and _have_numbers_of_sizes(modules, sizes):
        may_be_one = set()
    least = {name: 1 if name in (apart or may_be_one) else 2 for name in sizes}
    for name, number in (*_cut(modules, sizes), *_counted_down(modules, sizes)):
        least[name] = max(least[name], number)
    return least


def _together(instruction: Instruction) -> Iterator[int]:
    """Yield the sizes of the axes along which an operation combines or reorders elements."""
    opcode, shape = instruction.opcode, instruction.shape
    result = shape.elements[0] if isinstance(shape, TupleShape) and opcode == "reduce" else shape
    shapes = [each.shape.dimensions for each in instruction.operands if isinstance(each.shape, ArrayShape)]
    if not isinstance(result, ArrayShape) or opcode in _CALLS:
        return
    for axis in _ALONG[opcode](instruction) if opcode in _ALONG else ():
        yield [*shapes, result.dimensions][0][axis]
    for own in shapes if opcode not in _VIEWS else ():
        yield from own if opcode in _WINDOWED else Counter(own) - Counter(result.dimensions)


def _have_numbers_of_sizes(modules: Sequence[HloModule], sizes: Sizes) -> bool:
    """Return whether programs contain numbers that follow from sizes; for one program: a size or its reciprocal."""
    numbers = [tuple(number for _, number in _numbers(module)) for module in modules]
    if len(modules) > 1:
        return len({tuple(map(str, own)) for own in numbers}) > 1
    likely = {number for own in sizes.values() for number in (own[0], np.float32(1 / own[0]), np.float64(1 / own[0]))}
    return any(number in likely for number in numbers[0])


def _numbers(module: HloModule) -> Iterator[tuple[bool, Any]]:
    """Yield the scalar constants of a program, each with whether it is an integer."""
    for each in module.instructions():
        if each.opcode == "constant" and isinstance(each.shape, ArrayShape) and not each.shape.rank:
            yield each.shape.element_type.is_integral, each["literal"][()]


def _counted_down(modules: Sequence[HloModule], sizes: Sizes) -> Iterator[tuple[str, int]]:
    """Yield the sizes of which the program contains the size less two, with the least size for which that is not 0."""
    others = {size - less for own in sizes.values() for size in own for less in (0, 1)}
    rows = [[number for is_integral, number in _numbers(module) if is_integral] for module in modules]
    for numbers in set(zip(*rows, strict=False)):
        for name, own in sizes.items():
            missing = {size - int(number) for size, number in zip(own, numbers, strict=True)}
            if missing == {_TWO} and not others & {*numbers}:
                yield name, _TWO + 1


def _cut(modules: Sequence[HloModule], sizes: Sizes) -> Iterator[tuple[str, int]]:
    """Yield the names of sizes that a program slices, with the least size at which the slice is proper.

    If the slice's length depends on the size, that is the least at which it has two elements.
    """
    names = {numbers: name for name, numbers in sizes.items()}
    for row in zip(*(module.instructions() for module in modules), strict=False):
        if len({each.opcode for each in row}) > 1:
            return
        if row[0].opcode not in _SLICES:
            continue
        wholes = zip(*(each.operands[0].array_shape.dimensions for each in row), strict=False)
        parts = zip(*(each.array_shape.dimensions for each in row), strict=False)
        for whole, part in zip(wholes, parts, strict=False):
            missing = {all_of - some for all_of, some in zip(whole, part, strict=True)}
            is_few = len(modules) > 1 or min(*missing, part[0]) <= _FEW
            if whole not in names or whole == part or not is_few:
                continue
            if len(missing) == 1 and (len(modules) > 1 or min(missing) < part[0]):
                yield names[whole], missing.pop() + 2
            elif len(set(part)) == 1:
                yield names[whole], part[0] + 1


def small_sizes(
    module: HloModule, steps: Mapping[str, int], bounds: Assignment, most: Assignment
) -> list[dict[str, int]]:
    """Return sizes from ``bounds`` to ``most``, multiples of ``steps``, in the order in which they are tried.

    If the program has several sizes, those that equal the length of another axis come late.
    """
    tried = ([max(pair) for pair in zip(bounds.values(), numbers, strict=False)] for numbers in _LEAST)
    rows = zip(steps.items(), _SO_MANY_STEPS, strict=False)
    last = {name: min(number * step, most[name]) for (name, step), number in rows}
    fixed = sizes_of(module) - {1, 2} if len(most) > 1 else frozenset()
    possible = [_multiples(numbers, steps, most) for numbers in tried]
    return [*sorted(possible, key=lambda sizes: not fixed.isdisjoint(sizes.values())), last]


def _multiples(numbers: Sequence[int], steps: Mapping[str, int], most: Assignment) -> dict[str, int]:
    """Return the least multiples of the steps that are at least the given numbers, limited by ``most``."""
    rows = zip(steps.items(), numbers, strict=False)
    return {name: min(-(-number // step) * step, most[name]) for (name, step), number in rows}


def far_sizes(reached: Sequence[int]) -> list[tuple[int, ...]]:
    """Return much larger sizes, the largest first, some beyond ``reached``, which :func:`reaches` returns."""
    longer = (2 * wanted for wanted in reached if 2 * wanted > min(_FAR[-1]))
    rows = {*_FAR, *(tuple(wanted + number for number in _FAR[-1]) for wanted in longer)}
    return sorted(rows, reverse=True)


def reaches(module: HloModule, other: HloModule) -> tuple[int, ...]:
    """Return a safe and a likely lower bound of axis lengths on which the program treats positions alike.

    No position-dependent number exceeds the product of all numbers with which positions are compared, multiplied and so
    on (safe), nor, as a rule, the largest of them (likely). If positions are multiplied, the length at which 32 bits
    overflow counts, too. Numbers that differ at ``other`` sizes follow from the sizes, and do not count.
    """
    fixed = set(_lengths(module)) & set(_lengths(other))
    numbers = set(_met(module, fixed)) & set(_met(other, fixed))
    sizes = {max(number, 1 / number) for _, number in numbers} | {1.0}
    beyond = [2**31 / number for opcode, number in numbers if opcode == "multiply" and number > 1]
    wanted = (max(at_least, *beyond) if beyond else at_least for at_least in (prod(sizes), max(sizes)))
    return tuple(int(min(number, _LARGEST)) for number in wanted)


def _lengths(module: HloModule) -> Iterator[int]:
    """Return the lengths of the axes of a program's iotas."""
    return (_length(each) for each in module.instructions() if each.opcode == "iota")


def _length(iota: Instruction) -> int:
    axis: int = iota["iota_dimension"]
    return iota.array_shape.dimensions[axis]


def _met(module: HloModule, fixed: Collection[int]) -> Iterator[tuple[str, float]]:
    """Yield the operations that combine positions with numbers: opcode and the number's absolute value.

    Positions are those along axes whose length is not in ``fixed``.
    """
    for computation in module.computations:
        positions = _positions(computation, fixed, is_entry=computation is module.entry)
        for instruction in computation.instructions:
            if instruction.opcode in _MEET and not positions.isdisjoint(instruction.operands):
                for number in map(_number, instruction.operands):
                    if number is not None and 0 < abs(number) < _NUMBERS:
                        yield instruction.opcode, abs(number)


def _positions(computation: Computation, fixed: Collection[int], *, is_entry: bool) -> set[Instruction]:
    """Return the instructions whose results are, or follow from, positions along an axis of no ``fixed`` length."""
    found: set[Instruction] = set()
    for instruction in computation.instructions:
        is_given = not is_entry and instruction.opcode in _HANDED and _is_signed(instruction)
        is_next = instruction.opcode in _FOLLOWS and not found.isdisjoint(instruction.operands)
        is_row = instruction.opcode == "iota" and _length(instruction) not in fixed
        if is_row or is_given or is_next:
            found.add(instruction)
    return found


def _is_signed(instruction: Instruction) -> bool:
    """Return whether the result is an array of signed integers, as positions are in JAX."""
    shape = instruction.shape
    return isinstance(shape, ArrayShape) and shape.element_type.is_integral and shape.element_type.is_signed


def _number(instruction: Instruction) -> float | None:
    """Return the finite scalar constant that an instruction gives or broadcasts, or None."""
    while instruction.opcode in _AS_IT_IS:
        (instruction,) = instruction.operands
    shape = instruction.shape
    if instruction.opcode != "constant" or not isinstance(shape, ArrayShape) or shape.rank:
        return None
    kind = shape.element_type
    if not (kind.is_integral or kind.is_floating):
        return None
    number = float(np.asarray(instruction["literal"]))
    return number if np.isfinite(number) else None


def numbers_that_differ(module: HloModule, other: HloModule) -> frozenset[float]:
    """Return the integral float constants of a program whose values differ in the same program at other sizes."""
    pairs = _floats(module, other)
    return frozenset(number for number, another in pairs if number.is_integer() and number != another)


def numbers_by_chance(module: HloModule, other: HloModule, sizes: Collection[int]) -> frozenset[float]:
    """Return the float constants that equal one of ``sizes`` or its reciprocal, but do not change with the sizes."""
    pairs = _floats(module, other)
    return frozenset(one for one, another in pairs if one == another and one and {one, 1 / one} & {*sizes})


def _floats(module: HloModule, other: HloModule) -> list[tuple[float, float]]:
    """Return pairs of the float constants of a program at two sizes; empty unless the instructions correspond."""
    pairs = list(zip(module.instructions(), other.instructions(), strict=False))
    if any(one.opcode != another.opcode for one, another in pairs):
        return []
    constants = [(_float(one), _float(another)) for one, another in pairs if one.opcode == "constant"]
    return [(one, another) for one, another in constants if one is not None and another is not None]


def bits_at(module: HloModule, sizes: Mapping[str, int], others: Mapping[str, int]) -> int:
    """Return the bits of the largest array of a program at other sizes, where axes are identified by their lengths."""
    other = {number: others[name] for name, number in sizes.items()}
    shapes = {each.shape for each in module.instructions() if isinstance(each.shape, ArrayShape)}
    return max((prod(other.get(n, n) for n in each.dimensions) * each.element_type.bits for each in shapes), default=0)


def sizes_of(module: HloModule) -> frozenset[int]:
    """Return the lengths of all axes in a program."""
    shapes = (each.shape for each in module.instructions() if isinstance(each.shape, ArrayShape))
    return frozenset(size for shape in shapes for size in shape.dimensions)


def _float(constant: Instruction) -> float | None:
    shape = constant.shape
    is_number = isinstance(shape, ArrayShape) and not shape.dimensions and shape.element_type.is_floating
    return float(constant["literal"]) if is_number else None


def skeleton(module: HloModule) -> int:
    """Return a hash of the opcodes in the def-use tree of a program's result.

    A common subexpression counts like its copies: at equal sizes, a program may share values that it computes twice at
    others.
    """
    known: dict[str, int] = {}
    for computation in module.computations:
        known[computation.name] = _of_root(computation, known)
    return known[module.entry.name]


def _of_root(computation: Computation, known: dict[str, int]) -> int:
    hashes: dict[Instruction, int] = {}
    for instruction in computation.instructions:
        operands = [hashes[operand] for operand in instruction.operands]
        called = [known[each.name] for each in instruction.called]
        own = (instruction.opcode, instruction.attributes.get("parameter_number"), *operands, *called)
        hashes[instruction] = operands[0] if instruction.opcode in _NO_OPS else hash(own)
    return hashes[computation.root]
