"""What programs must have alike to have one text: cheaper to compare than to emit them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod

from ...hlo.ir import Computation, HloModule, Instruction
from ...hlo.shapes import ArrayShape

_VIEWS = frozenset(("broadcast", "reshape", "slice", "transpose"))  # at some sizes they change nothing and are left out


def numbers_that_differ(module: HloModule, other: HloModule) -> frozenset[float]:
    """Return the whole numbers among the floats of a program that the same one at other sizes has others for."""
    pairs = _floats(module, other)
    return frozenset(number for number, another in pairs if number.is_integer() and number != another)


def numbers_by_chance(module: HloModule, other: HloModule, sizes: Collection[int]) -> frozenset[float]:
    """Return the floats of a program that are one of its ``sizes`` or one by it, but the same at other sizes, too."""
    pairs = _floats(module, other)
    return frozenset(one for one, another in pairs if one == another and one and {one, 1 / one} & {*sizes})


def _floats(module: HloModule, other: HloModule) -> list[tuple[float, float]]:
    """The floats in a program beside those in the same one at other sizes; none where these do not correspond."""
    pairs = list(zip(module.instructions(), other.instructions(), strict=False))
    if any(one.opcode != another.opcode for one, another in pairs):
        return []
    constants = [(_float(one), _float(another)) for one, another in pairs if one.opcode == "constant"]
    return [(one, another) for one, another in constants if one is not None and another is not None]


def bits_at(module: HloModule, sizes: Mapping[str, int], others: Mapping[str, int]) -> int:
    """Return how many bits the largest array of a program takes at other sizes, as far as its axes have one each."""
    other = {number: others[name] for name, number in sizes.items()}
    shapes = {each.shape for each in module.instructions() if isinstance(each.shape, ArrayShape)}
    return max((prod(other.get(n, n) for n in each.dimensions) * each.element_type.bits for each in shapes), default=0)


def sizes_of(module: HloModule) -> frozenset[int]:
    """Return the sizes of all axes in a program."""
    shapes = (each.shape for each in module.instructions() if isinstance(each.shape, ArrayShape))
    return frozenset(size for shape in shapes for size in shape.dimensions)


def _float(constant: Instruction) -> float | None:
    shape = constant.shape
    is_number = isinstance(shape, ArrayShape) and not shape.dimensions and shape.element_type.is_floating
    return float(constant["literal"]) if is_number else None


def skeleton(module: HloModule) -> int:
    """Return a hash of the opcodes that a program's result is computed with.

    At equal sizes a program may compute once what it computes twice at others: that makes no difference.
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
