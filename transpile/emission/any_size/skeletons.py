"""Cheap comparisons of programs: what must agree for two programs to have one text, without emitting them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod

from ...hlo.ir import Computation, HloModule, Instruction
from ...hlo.shapes import ArrayShape

_VIEWS = frozenset(("broadcast", "reshape", "slice", "transpose"))  # no-ops at some sizes, and left out there


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
        hashes[instruction] = operands[0] if instruction.opcode in _VIEWS else hash(own)
    return hashes[computation.root]
