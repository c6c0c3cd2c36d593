"""The smallest sizes at which a program may have the same text as at larger ones, as far as its instructions tell.

Smaller sizes need not be emitted to see that their text differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...frontends.witnesses import Sizes
from ...hlo.ir import HloModule, Instruction
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
