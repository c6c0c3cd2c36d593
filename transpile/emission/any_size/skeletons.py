"""What programs must have alike to have one text: cheaper to compare than to emit them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ...hlo.ir import Computation, HloModule, Instruction
from ...hlo.shapes import ArrayShape

_VIEWS = frozenset(("broadcast", "reshape", "slice", "transpose"))  # at some sizes they change nothing and are left out


def numbers_that_differ(module: HloModule, other: HloModule) -> frozenset[float]:
    """Return the whole numbers among the floats of a program that the same one at other sizes has others for."""
    pairs = list(zip(module.instructions(), other.instructions(), strict=False))
    if any(one.opcode != another.opcode for one, another in pairs):
        return frozenset()
    constants = [pair for pair in pairs if pair[0].opcode == "constant"]
    numbers = ((_whole_number(one), _whole_number(another)) for one, another in constants)
    return frozenset(number for number, another in numbers if number is not None and number != another)


def sizes_in_both(module: HloModule, other: HloModule) -> frozenset[int]:
    """Return the sizes of axes in a program that the same one at other sizes has, too."""
    return _sizes(module) & _sizes(other)


def bits_at(module: HloModule, sizes: Mapping[str, int], others: Mapping[str, int]) -> int:
    """Return how many bits the largest array of a program takes at other sizes, as far as its axes have one each."""
    other = {number: others[name] for name, number in sizes.items()}
    shapes = {each.shape for each in module.instructions() if isinstance(each.shape, ArrayShape)}
    return max((prod(other.get(n, n) for n in each.dimensions) * each.element_type.bits for each in shapes), default=0)


def _sizes(module: HloModule) -> frozenset[int]:
    shapes = (each.shape for each in module.instructions() if isinstance(each.shape, ArrayShape))
    return frozenset(size for shape in shapes for size in shape.dimensions)


def _whole_number(constant: Instruction) -> float | None:
    shape, literal = constant.shape, constant["literal"]
    if not isinstance(shape, ArrayShape) or shape.dimensions or not shape.element_type.is_floating:
        return None
    return float(literal) if float(literal).is_integer() else None


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
