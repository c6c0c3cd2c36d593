"""The length that an axis must have for all numbers that its positions are compared with to lie within it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import prod

import numpy as np

from ...hlo.ir import Computation, HloModule, Instruction
from ...hlo.shapes import ArrayShape

_LARGEST = 2**29  # elements: the sizes tried are more than twice as many, which still fit 32-bit positions
_NUMBERS = 2**30  # larger numbers are sentinels for "no position"
_MEET = frozenset(
    ("add", "call", "clamp", "compare", "divide", "maximum", "minimum", "multiply", "remainder", "subtract")
)
_HANDED = frozenset(("get-tuple-element", "parameter"))  # may be counters or positions from a loop or a caller
_AS_IT_IS = frozenset(("broadcast", "convert", "copy", "reshape"))
_FOLLOWS = (_MEET - {"compare"}) | _AS_IT_IS | frozenset(("abs", "ceil", "floor", "negate", "slice", "transpose"))


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
