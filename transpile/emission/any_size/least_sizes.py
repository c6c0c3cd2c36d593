"""The least sizes at which a program may have the text that it has at larger ones, as far as its instructions tell:
a program that need not be emitted to see that its text is another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from ...frontends.witnesses import Sizes
from ...hlo.ir import HloModule, Instruction
from ...hlo.shapes import ArrayShape, TupleShape

_CALLS = frozenset(("call", "conditional", "get-tuple-element", "tuple", "while"))
_VIEWS = frozenset(("broadcast", "reshape", "transpose"))
_SLICES = frozenset(("dynamic-slice", "slice"))
_WINDOWED = frozenset(("convolution", "reduce-window", "scatter", "select-and-scatter"))
_ALONG: dict[str, Callable[[Instruction], Sequence[int]]] = {  # axes of the first operand, or else of the result
    "cholesky": lambda each: (-1,),
    "dot": lambda each: each["lhs_contracting_dims"],
    "fft": lambda each: range(-len(each["fft_length"]), 0),
    "iota": lambda each: (each["iota_dimension"],),
    "sort": lambda each: each["dimensions"],
    "transpose": lambda each: (0, 1) if each["dimensions"] == (1, 0) else (),  # a row is a column
}


def least_sizes(modules: Sequence[HloModule], sizes: Sizes) -> dict[str, int]:
    """Return the least that each size may be, by a program at several.

    It is 1 for sizes along which no elements are taken together, as there is nothing to take together of one; also for
    those along which they are only added up, or the like, where there are no others and no number follows from sizes.
    It is 2 for the rest, and more where an axis would be no longer than a part of it, or all but so many elements of it
    would be less than two; one program does not tell that.
    """
    together, added = set[int](), set[int]()
    for instruction in modules[0].instructions():
        (added if instruction.opcode == "reduce" else together).update(_together(instruction))
    first = {name: numbers[0] for name, numbers in sizes.items()}
    may_be_one = {name for name, number in first.items() if number not in together}
    apart = {name for name in may_be_one if first[name] not in added}
    if not apart and len({tuple(_numbers(module)) for module in modules}) > 1:
        may_be_one = set()
    least = {name: 1 if name in (apart or may_be_one) else 2 for name in sizes}
    for name, number in _cut(modules, sizes) if len(modules) > 1 else ():
        least[name] = max(least[name], number)
    return least


def _together(instruction: Instruction) -> Iterator[int]:
    """The sizes of the axes along which an operation takes elements together, or turns them."""
    opcode, shape = instruction.opcode, instruction.shape
    result = shape.elements[0] if isinstance(shape, TupleShape) and opcode == "reduce" else shape
    shapes = [each.shape.dimensions for each in instruction.operands if isinstance(each.shape, ArrayShape)]
    if not isinstance(result, ArrayShape) or opcode in _CALLS:
        return
    for axis in _ALONG[opcode](instruction) if opcode in _ALONG else ():
        yield [*shapes, result.dimensions][0][axis]
    for own in shapes if opcode not in _VIEWS else ():
        yield from own if opcode in _WINDOWED else Counter(own) - Counter(result.dimensions)


def _numbers(module: HloModule) -> Iterator[str]:
    """The numbers in a program."""
    constants = (each for each in module.instructions() if each.opcode == "constant")
    return (str(each["literal"]) for each in constants if isinstance(each.shape, ArrayShape) and not each.shape.rank)


def _cut(modules: Sequence[HloModule], sizes: Sizes) -> Iterator[tuple[str, int]]:
    """Names of sizes of which a program takes a part, and the least of which there is one: where it hangs on the size,
    one of two elements.
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
            if whole in names and whole != part and len(missing) == 1:
                yield names[whole], missing.pop() + 2
            elif whole in names and len(set(part)) == 1:
                yield names[whole], part[0] + 1
